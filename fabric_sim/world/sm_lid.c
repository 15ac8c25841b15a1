/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LIDs: what a GUID once got it keeps (also while it is away), else what its port has already, else
 * the lowest free one, in ascending order of GUIDs. A port with LMC l owns 2^l LIDs from an aligned
 * base on (chapter 4.1.3); usable are 0x0001 to 0xBFFF.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

struct used { /* a bit per LID; only unicast ones are given out */
    uint64_t bits[0x10000 / 64];
};

static bool fits(const struct used *used, uint32_t lid, uint8_t lmc)
{
    uint32_t count = 1u << lmc;
    uint32_t last = PLANTED(sm_lid_above) ? 0xFFFFu : LID_UNICAST_LAST;

    assert(lmc < 8);
    if (lid == 0 || lid % count != 0 || lid + count - 1 > last)
        return false;
    for (uint32_t i = lid; i < lid + count; i++)
        if (used->bits[i / 64] >> (i % 64) & 1)
            return false;
    return true;
}

static void occupy(struct used *used, uint32_t lid, uint8_t lmc)
{
    uint32_t count = PLANTED(sm_lmc_overlap) ? 1 : 1u << lmc;

    assert(lid != 0 && lid <= LID_UNICAST_LAST && lmc < 8);
    for (uint32_t i = lid; i < lid + count; i++)
        used->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static uint8_t wanted_lmc(const struct sm *sm, uint32_t port)
{
    return sm_node_of((struct sm *)sm, port)->type == MAD_NODE_SWITCH ? 0 : sm->config.lmc;
}

/* Remembered LIDs stay reserved; those that do not fit any more are dropped. */
static void reserve_remembered(struct sm *sm, struct used *used)
{
    for (size_t i = 0; i < sm->record_count; i++) {
        struct sm_record *record = &sm->records[i];

        if (record->lid && fits(used, record->lid, record->lmc))
            occupy(used, record->lid, record->lmc);
        else
            record->lid = 0;
    }
}

/* LMC changed: ports whose base is not aligned to it, or collides, get a new one later. */
static void apply_lmc(struct sm *sm)
{
    for (uint32_t i = 0; i < sm->view.port_count; i++) {
        struct sm_record *record;

        if (!sm_has_lid(sm, i))
            continue;
        record = &sm->records[sm->view.ports[i].record];
        record->lmc = wanted_lmc(sm, i);
    }
}

static void adopt(struct sm *sm, struct used *used, uint32_t port)
{
    struct sm_record *record = &sm->records[sm->view.ports[port].record];
    uint16_t lid = sm->view.ports[port].info.lid;

    assert(sm_has_lid(sm, port));
    if (record->lid || sm->reassign || !fits(used, lid, record->lmc))
        return;
    record->lid = lid;
    if (!PLANTED(sm_lid_twice))
        occupy(used, lid, record->lmc);
}

static uint16_t lowest_free(const struct sm *sm, const struct used *used, uint8_t lmc)
{
    uint32_t step = 1u << lmc;
    uint32_t lid = (sm->config.first_lid + step - 1) / step * step;

    assert(sm->config.first_lid != 0);
    while (lid <= LID_UNICAST_LAST && !fits(used, lid, lmc))
        lid += step;
    return lid <= LID_UNICAST_LAST ? (uint16_t)lid : 0;
}

static int by_guid(const void *a, const void *b)
{
    const struct sm_record *const *left = a, *const *right = b;

    return ((*left)->guid > (*right)->guid) - ((*left)->guid < (*right)->guid);
}

/* Ports of the view that have none yet, ascending by GUID. */
static size_t collect_pending(struct sm *sm, struct sm_record **pending)
{
    size_t count = 0;

    assert(pending);
    for (uint32_t i = 0; i < sm->view.port_count; i++)
        if (sm_has_lid(sm, i) && sm->records[sm->view.ports[i].record].lid == 0)
            pending[count++] = &sm->records[sm->view.ports[i].record];
    if (!PLANTED(sm_lid_order))
        qsort(pending, count, sizeof *pending, by_guid);
    return count;
}

/* The space is full: those who are away lose theirs. False when that frees nothing. */
static bool forget_absent(struct sm *sm, struct used *used)
{
    bool any = false;

    for (size_t i = 0; i < sm->record_count; i++) {
        if (sm->records[i].lid == 0 || sm->records[i].seen == sm->sweep_number)
            continue;
        sm->records[i].lid = 0;
        any = true;
    }
    memset(used, 0, sizeof *used);
    reserve_remembered(sm, used);
    return any;
}

static void assign_pending(struct sm *sm, struct used *used)
{
    struct sm_record **pending = sm_grow(NULL, sm->record_count + 1, sizeof(struct sm_record *));
    size_t count = collect_pending(sm, pending);

    assert(count <= sm->record_count);
    for (size_t i = 0; i < count; i++) {
        uint16_t lid = lowest_free(sm, used, pending[i]->lmc);

        if (lid == 0 && forget_absent(sm, used))
            lid = lowest_free(sm, used, pending[i]->lmc);
        if (lid == 0) {
            sm->failed = true;
            continue;
        }
        pending[i]->lid = lid;
        occupy(used, lid, pending[i]->lmc);
    }
    free(pending);
}

void sm_lids_assign(struct sm *sm)
{
    struct used used = {{0}};

    if (sm->reassign)
        for (size_t i = 0; i < sm->record_count; i++)
            sm->records[i].lid = 0;
    apply_lmc(sm);
    reserve_remembered(sm, &used);
    for (uint32_t i = 0; i < sm->view.port_count; i++)
        if (sm_has_lid(sm, i))
            adopt(sm, &used, i);
    assign_pending(sm, &used);
}

/* ---------------------------------------------------------------- on demand */

uint16_t sm_lid_of(const struct sm *sm, uint64_t port_guid)
{
    const struct sm_record *record = sm_record_find(sm, port_guid);

    return record ? record->lid : 0;
}

static bool overlap(uint32_t a, uint8_t a_lmc, uint32_t b, uint8_t b_lmc)
{
    assert(a_lmc < 8 && b_lmc < 8);
    return a < b + (1u << b_lmc) && b < a + (1u << a_lmc);
}

bool sm_lid_set(struct sm *sm, uint64_t port_guid, uint16_t lid)
{
    struct sm_record *record = sm_record_get(sm, port_guid);
    struct used nothing = {{0}};

    if (!fits(&nothing, lid, record->lmc))
        return false;
    for (size_t i = 0; i < sm->record_count; i++) {
        struct sm_record *other = &sm->records[i];

        if (other != record && other->lid && overlap(other->lid, other->lmc, lid, record->lmc))
            other->lid = 0;
    }
    if (!PLANTED(sm_relid_ignored))
        record->lid = lid;
    sm_reconfigure(sm);
    return true;
}

bool sm_lid_swap(struct sm *sm, uint64_t port_guid_a, uint64_t port_guid_b)
{
    struct sm_record *a = sm_record_find(sm, port_guid_a), *b = sm_record_find(sm, port_guid_b);
    uint16_t lid;

    if (!a || !b || !a->lid || !b->lid || a->lmc != b->lmc)
        return false;
    lid = a->lid;
    a->lid = b->lid;
    if (PLANTED(sm_swap_one_sided))
        b->lid = 0;
    else
        b->lid = lid;
    sm_reconfigure(sm);
    return true;
}

bool sm_lmc_set(struct sm *sm, uint8_t lmc)
{
    if (lmc > 7)
        return false;
    sm->config.lmc = lmc;
    sm_reconfigure(sm);
    return true;
}

void sm_prefix_set(struct sm *sm, uint64_t prefix)
{
    sm->config.subnet_prefix = prefix;
    sm_reconfigure(sm);
}
