/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/backoff.h"

#include <assert.h>

#include "src/fabric/planted.h"

uint64_t rail_backoff_grow(struct fabric *f, uint64_t *backoff)
{
    uint64_t random = 0;
    assert(f && backoff && *backoff <= RAIL_BACKOFF_LAST);
    *backoff = *backoff ? *backoff * 2 : RAIL_BACKOFF_FIRST;
    if (*backoff > RAIL_BACKOFF_LAST)
        *backoff = RAIL_BACKOFF_LAST;
    if (PLANTED(rail_backoff_flat))
        *backoff = RAIL_BACKOFF_FIRST;
    fabric_entropy(f, &random, sizeof random);
    return *backoff + random % (*backoff / 4 + 1);
}
