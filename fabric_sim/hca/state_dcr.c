/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The responders that DC targets keep, one an initiator, found by a hash of the initiator's name:
 * chains stay about one long, however many initiators there are.
 */
#include "fabric_sim/hca/state.h"

#include <string.h>
#include <xxhash.h>

#include "src/fabric/planted.h"

#define FIRST_BUCKETS 16u

static uint32_t hash_of(const struct dcr_name *name)
{
    struct {
        uint32_t target, initiator, dlid, is_global;
        union fabric_gid dgid;
    } bytes = {name->target, name->initiator, name->dlid, name->is_global, name->dgid};
    _Static_assert(sizeof(bytes) == 32, "no padding takes part");
    if (!name->is_global)
        memset(&bytes.dgid, 0, sizeof(bytes.dgid));
    return PLANTED(hca_dcr_one_bucket) ? 0 : (uint32_t)XXH3_64bits(&bytes, sizeof(bytes));
}

static struct dcr_state *dcr_at(const struct hca_state *state, uint32_t number)
{
    return table_at(&state->arena, &state->device->dcrs, number - 1);
}

static struct path_state *path_of(const struct hca_state *state, const struct dcr_state *dcr)
{
    struct transport_state *transport = hca_arena_at(&state->arena, dcr->transport);
    return &transport->path;
}

static struct dcr_name name_of(const struct hca_state *state, const struct dcr_state *dcr)
{
    const struct fabric_av *av = &path_of(state, dcr)->av;
    return (struct dcr_name){.target = dcr->target,
                             .initiator = dcr->initiator,
                             .is_global = av->is_global,
                             .dlid = av->dlid,
                             .dgid = av->grh.dgid};
}

static bool same_name(const struct dcr_name *a, const struct dcr_name *b)
{
    if (a->target != b->target || a->initiator != b->initiator || a->is_global != b->is_global ||
        a->dlid != b->dlid)
        return false;
    return !a->is_global || PLANTED(hca_dcr_gid_ignored) ||
           memcmp(&a->dgid, &b->dgid, sizeof(a->dgid)) == 0;
}

static uint32_t *bucket_of(const struct hca_state *state, const struct dcr_name *name)
{
    uint32_t *buckets = hca_arena_at(&state->arena, state->device->dcr_buckets);
    return &buckets[hash_of(name) & (state->device->dcr_bucket_count - 1)];
}

struct dcr_state *state_dcr_find(const struct hca_state *state, const struct dcr_name *name)
{
    if (!state->device->dcr_bucket_count)
        return NULL;
    uint32_t number = *bucket_of(state, name);
    while (number) {
        struct dcr_state *dcr = dcr_at(state, number);
        struct dcr_name own = name_of(state, dcr);
        if (same_name(&own, name))
            return dcr;
        number = dcr->hash_next;
    }
    return NULL;
}

static void hash_in(struct hca_state *state, struct dcr_state *dcr)
{
    struct dcr_name name = name_of(state, dcr);
    uint32_t *bucket = bucket_of(state, &name);
    dcr->hash_next = *bucket;
    *bucket = slot_index(&dcr->slot) + 1;
}

static void hash_out(struct hca_state *state, const struct dcr_state *dcr)
{
    struct dcr_name name = name_of(state, dcr);
    uint32_t *link = bucket_of(state, &name);
    const uint32_t number = slot_index(&dcr->slot) + 1;
    while (*link != number) {
        assert(*link);
        link = &dcr_at(state, *link)->hash_next;
    }
    *link = dcr->hash_next;
}

/* As many buckets as responders. When the arena is full the chains grow instead. */
static bool make_buckets(struct hca_state *state)
{
    struct device_state *device = state->device;
    uint32_t old = device->dcr_bucket_count;
    if (device->dcrs.live < old)
        return true;
    uint32_t count = old ? old * 2 : FIRST_BUCKETS;
    uint32_t chunk = hca_arena_chunk(&state->arena, (uint64_t)count * sizeof(uint32_t));
    if (!chunk)
        return old > 0;
    if (old)
        hca_arena_drop(&state->arena, device->dcr_buckets, (uint64_t)old * sizeof(uint32_t));
    device->dcr_buckets = chunk;
    device->dcr_bucket_count = count;
    for (uint32_t i = 0; i < device->dcrs.used; i++) {
        struct dcr_state *dcr = table_at(&state->arena, &device->dcrs, i);
        if (dcr->slot.id)
            hash_in(state, dcr);
    }
    return true;
}

static void append(struct hca_state *state, struct dcr_state *dcr)
{
    struct qp_state *target = state_qp(state, dcr->target);
    uint32_t number = slot_index(&dcr->slot) + 1;
    assert(target);
    dcr->previous = target->dcr_last;
    if (target->dcr_last)
        dcr_at(state, target->dcr_last)->next = number;
    else
        target->dcr_first = number;
    target->dcr_last = number;
    target->dcr_count++;
}

struct dcr_state *state_dcr_add(struct hca_state *state, const struct dcr_name *name)
{
    assert(state_qp(state, name->target));
    if (!make_buckets(state))
        return NULL;
    uint32_t chunk = hca_arena_chunk(&state->arena, sizeof(struct transport_state));
    if (!chunk)
        return NULL;
    struct dcr_state *dcr = table_take(&state->arena, &state->device->dcrs);
    if (!dcr) {
        hca_arena_drop(&state->arena, chunk, sizeof(struct transport_state));
        return NULL;
    }
    dcr->target = name->target;
    dcr->initiator = name->initiator;
    dcr->transport = chunk;
    struct path_state *path = path_of(state, dcr);
    path->dest_qp = name->initiator;
    path->av.is_global = name->is_global;
    path->av.dlid = name->dlid;
    path->av.grh.dgid = name->dgid;
    hash_in(state, dcr);
    append(state, dcr);
    return dcr;
}

void state_dcr_drop(struct hca_state *state, struct dcr_state *dcr)
{
    struct qp_state *target = state_qp(state, dcr->target);
    assert(target && target->dcr_count > 0);
    hash_out(state, dcr);
    if (dcr->previous)
        dcr_at(state, dcr->previous)->next = dcr->next;
    else
        target->dcr_first = dcr->next;
    if (dcr->next)
        dcr_at(state, dcr->next)->previous = dcr->previous;
    else
        target->dcr_last = dcr->previous;
    target->dcr_count--;
    hca_arena_drop(&state->arena, dcr->transport, sizeof(struct transport_state));
    table_put(&state->arena, &state->device->dcrs, dcr->slot.id);
}
