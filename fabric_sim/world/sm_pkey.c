/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions and service levels: policy per port, and which tables must be set. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

#define MEMBERSHIP 0x8000u

static bool same_partition(uint16_t a, uint16_t b)
{
    return ((a ^ b) & 0x7FFF) == 0;
}

static uint16_t index_of(const uint16_t *table, uint16_t pkey)
{
    assert(table);
    for (uint16_t i = 0; i < PORT_PKEYS; i++)
        if (table[i] && same_partition(table[i], pkey))
            return i;
    return SM_INDEX_ANY;
}

/* Where the partition is already, else the wish where that is free, else the first hole. */
static bool place(uint16_t *table, uint16_t pkey, uint16_t wish)
{
    uint16_t at = index_of(table, pkey);

    assert(pkey != 0);
    if (PLANTED(sm_index_ignored))
        wish = SM_INDEX_ANY;
    if (at == SM_INDEX_ANY && wish < PORT_PKEYS && table[wish] == 0)
        at = wish;
    for (uint16_t i = 0; at == SM_INDEX_ANY && i < PORT_PKEYS; i++)
        if (table[i] == 0)
            at = i;
    if (at == SM_INDEX_ANY)
        return false;
    table[at] = pkey;
    return true;
}

void sm_wanted_pkeys(const struct sm *sm, const struct sm_record *record, uint16_t *out)
{
    bool limited = sm->config.default_limited;

    assert(out);
    if (record && record->pkeys) {
        memcpy(out, record->pkeys, PORT_PKEYS * sizeof *out);
        return;
    }
    memset(out, 0, PORT_PKEYS * sizeof *out);
    if (PLANTED(sm_default_full))
        limited = false;
    out[0] = limited ? SM_DEFAULT_PKEY : SM_DEFAULT_PKEY | MEMBERSHIP;
    for (size_t i = 0; i < sm->partition_count; i++)
        place(out, sm->partitions[i].pkey, sm->partitions[i].index);
}

/* A switch port's table has one block: keys beyond it go into its holes. */
bool sm_wanted_enforced(const struct sm *sm, const struct sm_record *record, uint16_t *out)
{
    size_t hole = 0;
    bool fits = true;

    sm_wanted_pkeys(sm, record, out);
    for (size_t i = MAD_PKEYS_PER_BLOCK; i < PORT_PKEYS; i++) {
        while (hole < MAD_PKEYS_PER_BLOCK && out[hole])
            hole++;
        if (out[i] && hole < MAD_PKEYS_PER_BLOCK && !PLANTED(sm_enforces_first_block))
            out[hole] = out[i];
        else if (out[i])
            fits = false;
    }
    return fits;
}

/* The blocks of the port's table that differ from what it had are to be set. */
static void mark_dirty(const struct sm *sm, struct sm_record *record, const uint16_t *before)
{
    uint16_t now[PORT_PKEYS];

    sm_wanted_pkeys(sm, record, now);
    for (unsigned block = 0; block < SM_PKEY_BLOCKS; block++) {
        size_t at = block * (size_t)MAD_PKEYS_PER_BLOCK;

        if (memcmp(now + at, before + at, MAD_PKEYS_PER_BLOCK * sizeof *now) == 0)
            continue;
        record->pkeys_dirty |= (uint8_t)(1u << block);
        record->enforce_dirty = true;
    }
}

/* Gives the port the table `edited` as its own and has it set. */
static void store(struct sm *sm, struct sm_record *record, const uint16_t *edited)
{
    uint16_t before[PORT_PKEYS];

    assert(edited != record->pkeys);
    sm_wanted_pkeys(sm, record, before);
    if (!record->pkeys)
        record->pkeys = sm_grow(NULL, PORT_PKEYS, sizeof *record->pkeys);
    memcpy(record->pkeys, edited, sizeof before);
    mark_dirty(sm, record, before);
    sm_reconfigure(sm);
}

bool sm_pkey_set(struct sm *sm, uint64_t port_guid, uint16_t pkey, uint16_t index)
{
    struct sm_record *record = sm_record_get(sm, port_guid);
    uint16_t table[PORT_PKEYS];

    sm_wanted_pkeys(sm, record, table);
    if (index == SM_INDEX_ANY) {
        if (pkey == 0 || !place(table, pkey, SM_INDEX_ANY))
            return false;
    } else if (index < PORT_PKEYS) {
        table[index] = pkey;
    } else {
        return false;
    }
    store(sm, record, table);
    return true;
}

bool sm_pkey_remove(struct sm *sm, uint64_t port_guid, uint16_t pkey)
{
    struct sm_record *record = sm_record_get(sm, port_guid);
    uint16_t table[PORT_PKEYS], at;

    sm_wanted_pkeys(sm, record, table);
    at = index_of(table, pkey);
    if (at == SM_INDEX_ANY)
        return false;
    table[at] = 0;
    if (PLANTED(sm_remove_closes_hole)) {
        memmove(table + at, table + at + 1, (size_t)(PORT_PKEYS - 1 - at) * sizeof *table);
        table[PORT_PKEYS - 1] = 0;
    }
    store(sm, record, table);
    return true;
}

bool sm_pkey_move(struct sm *sm, uint64_t port_guid, uint16_t pkey, uint16_t index)
{
    struct sm_record *record = sm_record_get(sm, port_guid);
    uint16_t table[PORT_PKEYS], at, moved;

    sm_wanted_pkeys(sm, record, table);
    at = index_of(table, pkey);
    if (at == SM_INDEX_ANY || index >= PORT_PKEYS || (table[index] != 0 && index != at))
        return false;
    moved = table[at];
    table[at] = 0;
    if (PLANTED(sm_move_copies))
        table[at] = moved;
    table[index] = moved;
    store(sm, record, table);
    return true;
}

bool sm_pkey_limited(struct sm *sm, uint64_t port_guid, uint16_t pkey, bool limited)
{
    struct sm_record *record = sm_record_get(sm, port_guid);
    uint16_t table[PORT_PKEYS], at;

    sm_wanted_pkeys(sm, record, table);
    at = index_of(table, pkey);
    if (at == SM_INDEX_ANY)
        return false;
    if (PLANTED(sm_limited_full))
        limited = false;
    table[at] = (uint16_t)(limited ? table[at] & ~MEMBERSHIP : table[at] | MEMBERSHIP);
    store(sm, record, table);
    return true;
}

bool sm_partition_add(struct sm *sm, uint16_t pkey, uint16_t index)
{
    uint16_t(*before)[PORT_PKEYS];

    assert(sm->partition_count <= PORT_PKEYS);
    if ((pkey & 0x7FFF) == 0 || (index >= PORT_PKEYS && index != SM_INDEX_ANY))
        return false;
    before = sm_grow(NULL, sm->record_count + 1, sizeof *before);
    for (size_t i = 0; i < sm->record_count; i++)
        sm_wanted_pkeys(sm, &sm->records[i], before[i]);
    sm->partitions = sm_grow(sm->partitions, sm->partition_count + 1, sizeof *sm->partitions);
    sm->partitions[sm->partition_count++] = (struct sm_partition){pkey, index};
    for (size_t i = 0; i < sm->record_count; i++) {
        if (sm->records[i].pkeys)
            place(sm->records[i].pkeys, pkey, index);
        mark_dirty(sm, &sm->records[i], before[i]);
    }
    free(before);
    sm_reconfigure(sm);
    return true;
}

void sm_pkey_table(const struct sm *sm, uint64_t port_guid, uint16_t *out)
{
    sm_wanted_pkeys(sm, sm_record_find(sm, port_guid), out);
}

static bool is_switch(const struct sm *sm, uint32_t port)
{
    return sm->view.nodes[sm->view.ports[port].node].type == MAD_NODE_SWITCH;
}

static void queue_enforced(struct sm *sm, uint32_t port)
{
    const struct sm_vport *p = &sm->view.ports[port];
    uint16_t keys[PORT_PKEYS];

    assert(p->record < sm->record_count);
    if (!sm_wanted_enforced(sm, &sm->records[p->record], keys) && !PLANTED(sm_enforces_too_much))
        return;
    if (sm->config.enforce_partitions && p->peer != SM_NONE && is_switch(sm, p->peer) &&
        sm->records[p->record].enforce_dirty)
        sm_request(sm, SM_OP_SET_ENFORCED, p->peer, 0);
}

void sm_queue_pkeys(struct sm *sm)
{
    for (uint32_t i = 0; i < sm->view.port_count; i++) {
        const struct sm_vport *port = &sm->view.ports[i];

        if (!sm_has_lid(sm, i) || is_switch(sm, i))
            continue;
        for (uint16_t block = 0; block < SM_PKEY_BLOCKS; block++)
            if ((sm->records[port->record].pkeys_dirty & 1u << block) &&
                block * MAD_PKEYS_PER_BLOCK < sm->view.nodes[port->node].partition_cap)
                sm_request(sm, SM_OP_SET_PKEYS, i, block);
        queue_enforced(sm, i);
    }
}

/* ---------------------------------------------------------------- service levels */

static uint8_t vl_count(uint8_t code)
{
    return (uint8_t)(code >= 5 ? 15 : code ? 1u << (code - 1) : 1);
}

/* Data VLs that every link of the node at `port` has. */
static uint8_t common_vls(const struct sm *sm, uint32_t port)
{
    const struct sm_node *node = &sm->view.nodes[sm->view.ports[port].node];
    uint8_t least = 5;

    assert(node->num_ports > 0);
    for (uint32_t i = 1; i <= node->num_ports; i++) {
        const struct sm_vport *p = &sm->view.ports[node->first_port + i];
        const struct sm_vport *peer;
        uint8_t code;

        if (p->peer == SM_NONE || !p->known)
            continue;
        peer = &sm->view.ports[p->peer];
        code = p->info.vl_cap < peer->info.vl_cap ? p->info.vl_cap : peer->info.vl_cap;
        least = code < least ? code : least;
    }
    least = vl_count(least);
    if (sm->config.max_oper_vls && sm->config.max_oper_vls < least)
        least = vl_count((uint8_t)(sm->config.max_oper_vls >= 8   ? 4
                                   : sm->config.max_oper_vls >= 4 ? 3
                                   : sm->config.max_oper_vls >= 2 ? 2
                                                                  : 1));
    return least;
}

static void base_map(struct sm *sm, uint32_t port, uint8_t *vls)
{
    const struct sm_record *record = &sm->records[sm->view.ports[port].record];
    uint8_t count = common_vls(sm, port);

    assert(count >= 1 && count <= 15);
    if (record->sl_map && !PLANTED(sm_sl_map_ignored)) {
        memcpy(vls, record->sl_map, PORT_SLS);
        return;
    }
    if (sm->has_sl_map) {
        memcpy(vls, sm->sl_map, PORT_SLS);
        return;
    }
    for (unsigned sl = 0; sl < PORT_SLS; sl++)
        vls[sl] = (uint8_t)(PLANTED(sm_sl_map_beyond) ? sl % 15 : sl % count);
}

void sm_wanted_sl_map(struct sm *sm, uint32_t port, uint8_t *vls)
{
    base_map(sm, port, vls);
    for (unsigned sl = 0; sl < PORT_SLS; sl++)
        if (sm->sl_lanes[sl] != SM_SL_BY_MAP)
            vls[sl] = sm->sl_lanes[sl];
}

void sm_queue_sl_maps(struct sm *sm)
{
    for (uint32_t i = 0; i < sm->view.port_count; i++)
        if (sm_has_lid(sm, i) && !sm->records[sm->view.ports[i].record].sl_map_done)
            sm_request(sm, SM_OP_SET_SL_MAP, i, 0);
}

static void set_maps_again(struct sm *sm)
{
    for (size_t i = 0; i < sm->record_count; i++)
        sm->records[i].sl_map_done = false;
}

void sm_sl_set(struct sm *sm, uint8_t sl, uint8_t vl)
{
    assert(sl < PORT_SLS && (vl < 16 || vl == SM_SL_BY_MAP));
    sm->sl_lanes[sl] = vl;
    set_maps_again(sm);
    sm_reconfigure(sm);
}

void sm_sl_map_set(struct sm *sm, uint64_t port_guid, const uint8_t *vls)
{
    struct sm_record *record;

    for (unsigned sl = 0; sl < PORT_SLS; sl++)
        assert(vls[sl] < 16);
    if (port_guid == 0) {
        memcpy(sm->sl_map, vls, PORT_SLS);
        sm->has_sl_map = true;
        set_maps_again(sm);
    } else {
        record = sm_record_get(sm, port_guid);
        if (!record->sl_map)
            record->sl_map = sm_grow(NULL, PORT_SLS, 1);
        memcpy(record->sl_map, vls, PORT_SLS);
        record->sl_map_done = false;
    }
    sm_reconfigure(sm);
}

void sm_mtu_set(struct sm *sm, uint64_t port_guid, uint8_t mtu)
{
    assert(mtu >= FABRIC_MTU_256 && mtu <= FABRIC_MTU_4096);
    if (port_guid == 0)
        sm->mtu_limit = mtu;
    else
        sm_record_get(sm, port_guid)->mtu_limit = mtu;
    sm_reconfigure(sm);
}
