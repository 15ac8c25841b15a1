/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/nearest.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

#define MAX_WORD 63

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
    assert(a && b);
    size_t na = strlen(a), nb = strlen(b);
    if (na > MAX_WORD || nb > MAX_WORD)
        return MAX_WORD + 1;
    size_t cost[MAX_WORD + 1][MAX_WORD + 1];
    for (size_t i = 0; i <= na; i++) {
        for (size_t j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            size_t replace = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            cost[i][j] = least(replace, 1 + least(cost[i - 1][j], cost[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[na][nb];
}

/* The only name that begins with `word`, or null. */
static const char *only_completion(const char *word, const char *const *names, size_t count)
{
    size_t length = strlen(word);
    const char *found = NULL;
    for (size_t i = 0; i < count && length; i++) {
        if (strncmp(word, names[i], length) != 0)
            continue;
        if (found)
            return NULL;
        found = names[i];
    }
    return found;
}

const char *nearest_name(const char *word, const char *const *names, size_t count)
{
    assert(word && (names || count == 0));
    size_t limit = strlen(word) / 3;
    size_t best = limit ? limit + 1 : 2;
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = nearest_distance(word, names[i]);
        if (distance < best) {
            best = distance;
            found = names[i];
        }
    }
    if (!found && !PLANTED(config_beginning_unhelped))
        found = only_completion(word, names, count);
    return found;
}
