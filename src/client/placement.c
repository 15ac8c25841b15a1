/* SPDX-License-Identifier: Apache-2.0 */
#include "src/client/placement.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "src/fabric/planted.h"

uint64_t placement_seed(const char *server)
{
    assert(server);
    return XXH3_64bits(server, strlen(server));
}

size_t placement_choose(const uint64_t *seeds, size_t count, const void *key, size_t key_length)
{
    assert(seeds && count && key && key_length);
    size_t best = 0;
    uint64_t highest = 0;
    if (PLANTED(client_placement_modulo))
        return (size_t)(XXH3_64bits(key, key_length) % count);
    for (size_t i = 0; i < count; i++) {
        uint64_t weight = XXH3_64bits_withSeed(key, key_length, seeds[i]);
        if (i == 0 || weight > highest) {
            highest = weight;
            best = i;
        }
    }
    return best;
}
