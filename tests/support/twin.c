/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/twin.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/twin_play.h"

struct twin {
    struct side sides[2]; /* packets, messages */
};

struct twin *twin_create(uint64_t seed)
{
    struct twin *twin = calloc(1, sizeof(*twin));
    assert(twin);
    side_create(&twin->sides[0], seed, false);
    side_create(&twin->sides[1], seed, true);
    return twin;
}

void twin_destroy(struct twin *twin)
{
    for (int i = 0; i < 2; i++)
        side_destroy(&twin->sides[i]);
    free(twin);
}

#define LINES 40 /* before the difference */

/* Where the two texts part: the lines before, and the line of each. */
static void tell(const char *a, const char *b, char *text)
{
    size_t at = 0, starts[LINES] = {0}, line = 0;
    for (; a[at] && a[at] == b[at]; at++)
        if (a[at] == '\n')
            starts[++line % LINES] = at + 1;
    size_t begin = line < LINES ? 0 : starts[(line + 1) % LINES], own = starts[line % LINES];
    assert(begin <= own);
    snprintf(text, TWIN_TEXT, "%.*spackets:  %.*s\nmessages: %.*s\n", (int)(own - begin), a + begin,
             (int)strcspn(a + own, "\n"), a + own, (int)strcspn(b + own, "\n"), b + own);
}

bool twin_play(struct twin *twin, uint64_t sequence, char *text)
{
    assert(twin && text);
    for (int i = 0; i < 2; i++)
        side_play(&twin->sides[i], sequence);
    if (strcmp(twin->sides[0].text, twin->sides[1].text) == 0)
        return true;
    tell(twin->sides[0].text, twin->sides[1].text, text);
    return false;
}

void twin_count(const struct twin *twin, uint64_t *posted, uint64_t *carried)
{
    *posted = twin->sides[1].posted;
    *carried = 0;
    for (int i = 0; i < SIDE_HOSTS; i++)
        *carried += hca_messages(twin->sides[1].w->host[i].hca);
}

const uint64_t *twin_statuses(const struct twin *twin)
{
    return twin->sides[0].statuses;
}
