/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/gid_pair.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/planted.h"

static bool usable(const struct fabric_usable_gid *gid)
{
    return (gid->type == FABRIC_GID_TYPE_ROCE_V2 || PLANTED(fabric_av_roce_v1)) &&
           fabric_gid_scope(&gid->gid) != FABRIC_GID_SCOPE_NONE;
}

size_t fabric_gid_common_bits(const union fabric_gid *a, const union fabric_gid *b)
{
    assert(a && b);
    for (size_t i = 0; i < 128; i++) {
        if (((a->raw[i / 8] ^ b->raw[i / 8]) >> (7 - i % 8)) & 1)
            return i;
    }
    return 128;
}

/* A pair of GIDs and what decides between pairs. All of it is the same whichever end looks. */
struct pair {
    size_t local, peer;
    enum fabric_gid_scope scope; /* the narrower of the two */
    size_t common;               /* leading bits they share: near before far, IPv4 before IPv6 */
    const union fabric_gid *low, *high;
};

static bool make_pair(const struct fabric_usable_gid *a, const struct fabric_usable_gid *b,
                      struct pair *out)
{
    if (!usable(a) || !usable(b))
        return false;
    if (fabric_gid_family(&a->gid) != fabric_gid_family(&b->gid))
        return false;
    enum fabric_gid_scope here = fabric_gid_scope(&a->gid), there = fabric_gid_scope(&b->gid);
    bool confined = here == FABRIC_GID_SCOPE_LINK_LOCAL || there == FABRIC_GID_SCOPE_LINK_LOCAL;
    if (confined && here != there && !PLANTED(fabric_av_link_local_reaches_all))
        return false;
    bool ordered = memcmp(a->gid.raw, b->gid.raw, sizeof(a->gid.raw)) <= 0;
    *out = (struct pair){.scope = here < there ? here : there,
                         .common = fabric_gid_common_bits(&a->gid, &b->gid),
                         .low = ordered ? &a->gid : &b->gid,
                         .high = ordered ? &b->gid : &a->gid};
    return true;
}

static bool better(const struct pair *a, const struct pair *b)
{
    if (a->scope != b->scope)
        return PLANTED(fabric_av_scope_ignored) ? false : a->scope > b->scope;
    if (PLANTED(fabric_av_tie_by_position))
        return a->local < b->local;
    if (a->common != b->common)
        return a->common > b->common;
    int order = memcmp(a->low->raw, b->low->raw, sizeof(a->low->raw));
    if (order == 0)
        order = memcmp(a->high->raw, b->high->raw, sizeof(a->high->raw));
    return order < 0;
}

bool fabric_gid_pair(const struct fabric_usable_gid *local, size_t local_count,
                     const struct fabric_usable_gid *peer, size_t peer_count, uint8_t *local_out,
                     uint8_t *peer_out)
{
    struct pair best = {0};
    bool found = false;
    assert(local && peer && local_out && peer_out);
    assert(local_count <= FABRIC_AV_MAX_GIDS && peer_count <= FABRIC_AV_MAX_GIDS);
    for (size_t n = 0; n < local_count * peer_count; n++) {
        struct pair pair;
        size_t i = n / peer_count, j = n % peer_count;
        if (!make_pair(&local[i], &peer[j], &pair))
            continue;
        pair.local = i;
        pair.peer = j;
        if (found && !better(&pair, &best))
            continue;
        best = pair;
        found = true;
    }
    if (!found)
        return false;
    *local_out = (uint8_t)best.local;
    *peer_out = (uint8_t)best.peer;
    return true;
}

size_t fabric_gid_pair_usable(const struct fabric_usable_gid *gids, size_t count)
{
    size_t found = 0;
    assert(gids || count == 0);
    for (size_t i = 0; i < count; i++)
        found += usable(&gids[i]) ? 1 : 0;
    return found;
}
