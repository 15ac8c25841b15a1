/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/pkey.h"

#include <assert.h>

#include "src/fabric/planted.h"

bool fabric_pkey_empty(uint16_t pkey)
{
    if (PLANTED(fabric_pkey_limited_zero_used))
        return pkey == 0;
    return (pkey & FABRIC_PKEY_PARTITION) == 0;
}

bool fabric_pkey_full(uint16_t pkey)
{
    return ((pkey & FABRIC_PKEY_FULL) != 0) != PLANTED(fabric_pkey_bit_inverted);
}

const char *fabric_pkey_membership(uint16_t pkey)
{
    return fabric_pkey_full(pkey) ? "full" : "limited";
}

bool fabric_pkey_same_partition(uint16_t a, uint16_t b)
{
    if (PLANTED(fabric_pkey_membership_identifies))
        return a == b;
    return !fabric_pkey_empty(a) && ((a ^ b) & FABRIC_PKEY_PARTITION) == 0;
}

bool fabric_pkey_match(uint16_t a, uint16_t b)
{
    if (PLANTED(fabric_pkey_limited_pair_passes))
        return fabric_pkey_same_partition(a, b);
    return fabric_pkey_same_partition(a, b) && (fabric_pkey_full(a) || fabric_pkey_full(b));
}

bool fabric_pkey_find(const uint16_t *table, size_t count, uint16_t wanted, uint16_t *index)
{
    assert((table || count == 0) && index && count <= UINT16_MAX);
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (!fabric_pkey_same_partition(table[i], wanted))
            continue;
        if (!found)
            *index = (uint16_t)i;
        found = true;
        if (!fabric_pkey_full(table[i]))
            continue;
        *index = (uint16_t)i;
        return true;
    }
    return found;
}

bool fabric_lid_valid(uint32_t lid)
{
    if (PLANTED(fabric_lid_multicast_accepted))
        return lid >= 1 && lid <= UINT16_MAX;
    return lid >= 1 && lid <= FABRIC_LID_MAX;
}
