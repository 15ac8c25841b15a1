/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/rules.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/planted.h"

/* Both made of the subnet's prefix of their time. */
static bool follows_prefix(const struct port_info *before, const struct port_info *after,
                           uint16_t index)
{
    const union fabric_gid *was = &before->gids[index].gid, *is = &after->gids[index].gid;
    return fabric_gid_prefix(was) == before->gid_prefix &&
           fabric_gid_prefix(is) == after->gid_prefix && memcmp(was->raw + 8, is->raw + 8, 8) == 0;
}

/* Other than by the prefix. */
static bool gids_differ(const struct port_info *a, const struct port_info *b)
{
    for (uint16_t i = 0; i < PORT_GIDS; i++) {
        bool same = memcmp(&a->gids[i].gid, &b->gids[i].gid, sizeof(a->gids[i].gid)) == 0 ||
                    (follows_prefix(a, b, i) && !PLANTED(hca_prefix_as_gid));
        if (!same || a->gids[i].type != b->gids[i].type)
            return true;
    }
    return false;
}

/* What changed besides the state. A changed subnet prefix is no GID_CHANGE: it comes as
 * CLIENT_REREGISTER, for which the subnet manager asks, or which the prefix itself causes. */
static size_t attribute_events(const struct rules_event_profile *profile,
                               const struct port_info *before, const struct port_info *after,
                               enum fabric_async_type *out)
{
    size_t count = 0;
    bool prefix = before->gid_prefix != after->gid_prefix;
    if (memcmp(before->pkeys, after->pkeys, sizeof(before->pkeys)) != 0 &&
        !PLANTED(hca_pkey_change_lost))
        out[count++] = FABRIC_ASYNC_PKEY_CHANGE;
    bool lid = before->lid != after->lid || before->lmc != after->lmc;
    if (lid && !PLANTED(hca_lid_change_lost))
        out[count++] = FABRIC_ASYNC_LID_CHANGE;
    if (before->sm_lid != after->sm_lid && (profile->sm_change || PLANTED(hca_sm_change_always)))
        if (!PLANTED(hca_sm_change_never))
            out[count++] = FABRIC_ASYNC_SM_CHANGE;
    bool asked = !before->client_reregister && after->client_reregister;
    if ((asked && !PLANTED(hca_reregister_lost)) || (prefix && !PLANTED(hca_prefix_silent)))
        out[count++] = FABRIC_ASYNC_CLIENT_REREGISTER;
    bool hidden = PLANTED(hca_gid_change_lost) || (prefix && PLANTED(hca_prefix_hides_gid));
    if (gids_differ(before, after) && !hidden)
        out[count++] = FABRIC_ASYNC_GID_CHANGE;
    return count;
}

static bool raises_port_err(const struct rules_event_profile *profile, uint8_t before,
                            uint8_t after)
{
    if (before == after)
        return false;
    if (before == FABRIC_PORT_ACTIVE)
        return true;
    return profile->port_err_on_init && after == FABRIC_PORT_INIT && !PLANTED(hca_port_err_on_init);
}

/* The variant-th order of the items, by taking one out at a time. */
static void permute(enum fabric_async_type *items, size_t count, uint64_t variant)
{
    for (size_t i = 0; i + 1 < count; i++) {
        size_t pick = i + (size_t)(variant % (count - i));
        variant /= count - i;
        assert(pick < count);
        enum fabric_async_type taken = items[pick];
        items[pick] = items[i];
        items[i] = taken;
    }
}

size_t rules_port_events(const struct rules_event_profile *profile, const struct port_info *before,
                         const struct port_info *after, uint64_t variant,
                         enum fabric_async_type out[RULES_MAX_EVENTS])
{
    assert(profile && before && after && out);
    size_t count = 0;
    if (raises_port_err(profile, before->state, after->state))
        out[count++] = FABRIC_ASYNC_PORT_ERR;
    size_t first = count;
    count += attribute_events(profile, before, after, out + count);
    permute(out + first, count - first, variant);
    bool activated = before->state != FABRIC_PORT_ACTIVE && after->state == FABRIC_PORT_ACTIVE;
    if (activated && !PLANTED(hca_port_active_lost)) {
        out[count++] = FABRIC_ASYNC_PORT_ACTIVE;
        if (PLANTED(hca_active_first)) {
            out[count - 1] = out[0];
            out[0] = FABRIC_ASYNC_PORT_ACTIVE;
        }
    }
    assert(count <= RULES_MAX_EVENTS);
    return count;
}
