/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ports are set to. The order is that of production managers, and so is the order of the
 * events that HCAs derive from it: LID, SM LID, MTU and re-registration with the state unchanged;
 * then P_Keys and SL maps; then Armed; then Active.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

static uint8_t smaller(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static uint8_t vl_code(uint8_t vls)
{
    uint8_t code = 0;

    while (code < 5 && vls >= (code == 4 ? 15 : 1 << code))
        code++;
    return code;
}

static uint8_t limited_mtu(uint8_t mtu, uint8_t limit)
{
    return limit ? smaller(mtu, limit) : mtu;
}

/* The MTU limit of a port: switch ports have none of their own. */
static uint8_t own_limit(const struct sm *sm, const struct sm_vport *port)
{
    if (port->num == 0 || port->record == SM_NONE)
        return 0;
    return sm->records[port->record].mtu_limit;
}

/* NeighborMTU and OperationalVLs: what both ends can (chapter 14.2.5.6). */
static void want_link(const struct sm *sm, const struct sm_vport *port, struct mad_port_info *want)
{
    const struct sm_vport *peer;

    assert(port->num != 0);
    if (port->peer == SM_NONE || !sm->view.ports[port->peer].known)
        return;
    peer = &sm->view.ports[port->peer];
    if (PLANTED(sm_mtu_own_only))
        want->neighbor_mtu = port->info.mtu_cap;
    else
        want->neighbor_mtu = smaller(port->info.mtu_cap, peer->info.mtu_cap);
    want->neighbor_mtu = limited_mtu(want->neighbor_mtu, own_limit(sm, port));
    want->neighbor_mtu = limited_mtu(want->neighbor_mtu, own_limit(sm, peer));
    want->neighbor_mtu = limited_mtu(want->neighbor_mtu, sm->mtu_limit);
    want->oper_vls = smaller(port->info.vl_cap, peer->info.vl_cap);
    if (sm->config.max_oper_vls)
        want->oper_vls = smaller(want->oper_vls, vl_code(sm->config.max_oper_vls));
}

static bool is_switch_port(const struct sm *sm, const struct sm_vport *port)
{
    return sm->view.nodes[port->node].type == MAD_NODE_SWITCH;
}

static uint16_t own_lid(const struct sm *sm)
{
    return sm_lid_of(sm, sma_port_guid(sm->port));
}

static void want_address(const struct sm *sm, const struct sm_vport *port,
                         struct mad_port_info *want)
{
    const struct sm_record *record = &sm->records[port->record];

    assert(port->record < sm->record_count);
    want->lid = record->lid;
    want->lmc = record->lmc;
    want->master_sm_lid = own_lid(sm);
    want->master_sm_sl = 0;
    want->gid_prefix = sm->config.subnet_prefix;
    want->subnet_timeout = sm->config.subnet_timeout;
    want->m_key = sm->config.m_key;
    want->m_key_protect_bits = sm->config.m_key_protect;
    want->m_key_lease_period = sm->config.m_key_lease;
}

/* A switch port that faces an end, when its table has room for all keys of that end: one with less
 * would cut off partitions that the end is a member of. */
static bool must_enforce(const struct sm *sm, const struct sm_vport *port)
{
    const struct sm_vport *peer;
    uint16_t keys[PORT_PKEYS];

    assert(port);
    if (!sm->config.enforce_partitions || !is_switch_port(sm, port) || port->peer == SM_NONE)
        return false;
    peer = &sm->view.ports[port->peer];
    if (is_switch_port(sm, peer) || peer->record == SM_NONE)
        return false;
    return sm_wanted_enforced(sm, &sm->records[peer->record], keys) ||
           PLANTED(sm_enforces_too_much);
}

/* All that this port should have, its state unchanged. */
static void want_port_info(const struct sm *sm, uint32_t index, struct mad_port_info *want)
{
    const struct sm_vport *port = &sm->view.ports[index];
    bool enforce = must_enforce(sm, port);

    assert(index < sm->view.port_count);
    *want = port->info;
    want->port_state = FABRIC_PORT_NOP;
    want->port_phys_state = 0;
    want->client_reregister = false;
    if (port->record != SM_NONE)
        want_address(sm, port, want);
    if (port->num == 0)
        return;
    want_link(sm, port, want);
    want->partition_enforce_in = want->partition_enforce_out = enforce;
}

/* Clients register again after a new master came, their port came up or the prefix changed. */
static bool must_reregister(const struct sm *sm, const struct sm_vport *port)
{
    if (is_switch_port(sm, port) || !(port->info.capability_mask & MAD_CAP_CLIENT_REREGISTER))
        return false;
    if (PLANTED(sm_restart_quiet))
        return port->fresh;
    return sm->first_sweep || port->fresh || port->info.gid_prefix != sm->config.subnet_prefix;
}

static bool address_differs(const struct mad_port_info *a, const struct mad_port_info *b)
{
    return a->lid != b->lid || a->lmc != b->lmc || a->master_sm_lid != b->master_sm_lid ||
           a->master_sm_sl != b->master_sm_sl || a->gid_prefix != b->gid_prefix ||
           a->subnet_timeout != b->subnet_timeout || a->m_key != b->m_key ||
           a->m_key_protect_bits != b->m_key_protect_bits ||
           a->m_key_lease_period != b->m_key_lease_period;
}

static bool link_differs(const struct mad_port_info *a, const struct mad_port_info *b)
{
    return a->neighbor_mtu != b->neighbor_mtu || a->oper_vls != b->oper_vls ||
           a->partition_enforce_in != b->partition_enforce_in ||
           a->partition_enforce_out != b->partition_enforce_out;
}

static void queue_lid(struct sm *sm, uint32_t index)
{
    const struct sm_vport *port = &sm->view.ports[index];
    struct mad_port_info want;

    assert(index < sm->view.port_count);
    if (!sm_has_lid(sm, index) || sm->records[port->record].lid == 0)
        return;
    want_port_info(sm, index, &want);
    if (address_differs(&want, &port->info) || link_differs(&want, &port->info) ||
        must_reregister(sm, port))
        sm_request(sm, SM_OP_SET_LID, index, 0);
}

void sm_queue_lids(struct sm *sm)
{
    uint32_t own = sm_own_port(sm);

    queue_lid(sm, own); /* the others are told its LID */
    for (uint32_t i = 0; i < sm->view.port_count; i++)
        if (i != own)
            queue_lid(sm, i);
}

/* Both ends of a link that is up and known. */
static bool is_linked(const struct sm *sm, const struct sm_vport *port)
{
    return port->num != 0 && port->known && port->peer != SM_NONE &&
           sm->view.ports[port->peer].known && port->info.port_state >= FABRIC_PORT_INIT;
}

void sm_queue_links(struct sm *sm)
{
    struct mad_port_info want;

    for (uint32_t i = 0; i < sm->view.port_count; i++) {
        const struct sm_vport *port = &sm->view.ports[i];

        if (!is_linked(sm, port) || !is_switch_port(sm, port))
            continue;
        want_port_info(sm, i, &want);
        if (link_differs(&want, &port->info))
            sm_request(sm, SM_OP_SET_LINK, i, 0);
    }
}

void sm_queue_state(struct sm *sm, enum sm_op op)
{
    uint8_t from = op == SM_OP_SET_ARMED ? FABRIC_PORT_INIT : FABRIC_PORT_ARMED;

    assert(op == SM_OP_SET_ARMED || op == SM_OP_SET_ACTIVE);
    for (uint32_t i = 0; i < sm->view.port_count; i++) {
        const struct sm_vport *port = &sm->view.ports[i];
        bool addressed = port->record == SM_NONE || sm->records[port->record].lid != 0;

        if (is_linked(sm, port) && port->info.port_state == from && addressed)
            sm_request(sm, op, i, 0);
    }
}

/* ---------------------------------------------------------------- what a Set carries */

static void fill_port_info(struct sm *sm, const struct sm_request *request, uint8_t *data)
{
    const struct sm_vport *port = &sm->view.ports[request->port];
    struct mad_port_info want;

    assert(port->known);
    want_port_info(sm, request->port, &want);
    if (request->op == SM_OP_SET_LID)
        want.client_reregister = must_reregister(sm, port);
    else if (request->op == SM_OP_SET_ARMED)
        want.port_state = FABRIC_PORT_ARMED;
    else if (request->op == SM_OP_SET_ACTIVE)
        want.port_state = FABRIC_PORT_ACTIVE;
    if (PLANTED(sm_active_at_once) && request->op == SM_OP_SET_LID && port->num != 0 &&
        port->info.port_state == FABRIC_PORT_INIT)
        want.port_state = FABRIC_PORT_ARMED;
    mad_port_info_encode(data, &want);
}

static void fill_switch_info(struct sm *sm, const struct sm_request *request, uint8_t *data)
{
    const struct sm_record *record = &sm->records[sm->view.ports[request->port].record];
    struct mad_switch_info info = {
        .linear_fdb_top = record->lft_top,
        .life_time_value = 18,
        .port_state_change = request->op == SM_OP_CLEAR_CHANGE,
    };

    assert(record->lft_top <= LID_UNICAST_LAST);
    if (request->op == SM_OP_SET_TOP)
        info.linear_fdb_top = (uint16_t)(record->lft_size - 1);
    if (sm->group_count)
        info.multicast_fdb_top = (uint16_t)(LID_MULTICAST_FIRST + sm->group_count - 1);
    mad_switch_info_encode(data, &info);
}

static void fill_pkeys(struct sm *sm, const struct sm_request *request, uint8_t *data,
                       uint32_t *modifier)
{
    const struct sm_vport *port = &sm->view.ports[request->port];
    const struct sm_vport *end = port;
    uint16_t wanted[PORT_PKEYS];

    assert(request->arg < SM_PKEY_BLOCKS);
    *modifier = request->arg;
    if (request->op == SM_OP_SET_ENFORCED) {
        *modifier |= (uint32_t)port->num << 16;
        end = &sm->view.ports[port->peer];
    }
    if (request->op == SM_OP_SET_ENFORCED)
        (void)sm_wanted_enforced(sm, &sm->records[end->record], wanted);
    else
        sm_wanted_pkeys(sm, &sm->records[end->record], wanted);
    mad_pkeys_encode(data, wanted + request->arg * MAD_PKEYS_PER_BLOCK);
}

static void fill_sl_map(struct sm *sm, const struct sm_request *request, uint8_t *data,
                        uint32_t *modifier)
{
    uint8_t vls[PORT_SLS];

    sm_wanted_sl_map(sm, request->port, vls);
    mad_sl_to_vl_encode(data, vls);
    *modifier = sm->view.ports[request->port].num == 0 ? MAD_SL_MAP_ALL_PORTS : 0;
}

static void fill_lft(struct sm *sm, const struct sm_request *request, uint8_t *data,
                     uint32_t *modifier)
{
    const struct sm_record *record = &sm->records[sm->view.ports[request->port].record];

    assert(request->arg < record->lft_size / MAD_LFT_PER_BLOCK);
    memcpy(data, record->lft_wanted + request->arg * (size_t)MAD_LFT_PER_BLOCK, MAD_LFT_PER_BLOCK);
    *modifier = request->arg;
}

static void fill_mft(struct sm *sm, const struct sm_request *request, uint8_t *data,
                     uint32_t *modifier)
{
    uint16_t masks[MAD_MFT_PER_BLOCK];
    uint8_t block = (uint8_t)(request->arg & 0xFF), position = (uint8_t)(request->arg >> 8);

    sm_group_masks(sm, sm->view.ports[request->port].node, block, position, masks);
    mad_mft_encode(data, masks);
    *modifier = (uint32_t)position << 28 | block;
}

static void fill_sm_info(struct sm *sm, uint8_t *data)
{
    struct mad_sm_info info = {
        .guid = sma_port_guid(sm->port),
        .act_count = sm->act_count,
        .priority = sm->config.priority,
        .state = (uint8_t)sm->state,
    };

    assert(sm->config.priority < 16);
    mad_sm_info_encode(data, &info);
}

void sm_fill(struct sm *sm, const struct sm_request *request, uint8_t *data, uint32_t *modifier)
{
    switch ((enum sm_op)request->op) {
    case SM_OP_PORT:
    case SM_OP_POLL_PORT:
        *modifier = sm->view.ports[request->port].num;
        break;
    case SM_OP_PKEYS:
        *modifier = request->arg;
        break;
    case SM_OP_SET_LID:
    case SM_OP_SET_LINK:
    case SM_OP_SET_ARMED:
    case SM_OP_SET_ACTIVE:
        *modifier = sm->view.ports[request->port].num;
        fill_port_info(sm, request, data);
        break;
    case SM_OP_CLEAR_CHANGE:
    case SM_OP_SET_TOP:
        fill_switch_info(sm, request, data);
        break;
    case SM_OP_SET_PKEYS:
    case SM_OP_SET_ENFORCED:
        fill_pkeys(sm, request, data, modifier);
        break;
    case SM_OP_SET_SL_MAP:
        fill_sl_map(sm, request, data, modifier);
        break;
    case SM_OP_SET_LFT:
        fill_lft(sm, request, data, modifier);
        break;
    case SM_OP_SET_MFT:
        fill_mft(sm, request, data, modifier);
        break;
    case SM_OP_CONTROL:
        *modifier = request->arg;
        fill_sm_info(sm, data);
        break;
    case SM_OP_NODE:
    case SM_OP_SWITCH:
    case SM_OP_SM_INFO:
    case SM_OP_POLL_SWITCH:
    case SM_OP_POLL_SM:
        break;
    }
}

/* ---------------------------------------------------------------- what was set */

static void lft_was_set(struct sm *sm, const struct sm_request *request, const uint8_t *data)
{
    struct sm_record *record = &sm->records[sm->view.ports[request->port].record];

    assert(request->arg < record->lft_size / MAD_LFT_PER_BLOCK);
    if (!record->lft) {
        record->lft = sm_grow(NULL, record->lft_size, 1);
        memset(record->lft, NET_PORT_NONE, record->lft_size);
    }
    memcpy(record->lft + request->arg * (size_t)MAD_LFT_PER_BLOCK, data, MAD_LFT_PER_BLOCK);
}

static void pkeys_were_set(struct sm *sm, const struct sm_request *request, const uint8_t *data)
{
    struct sm_record *record = &sm->records[sm->view.ports[request->port].record];
    uint16_t wanted[PORT_PKEYS], set[MAD_PKEYS_PER_BLOCK];

    assert(request->arg < SM_PKEY_BLOCKS);
    sm_wanted_pkeys(sm, record, wanted); /* which may have changed again meanwhile */
    mad_pkeys_decode(data, set);
    if (memcmp(set, wanted + request->arg * MAD_PKEYS_PER_BLOCK, sizeof set) == 0)
        record->pkeys_dirty &= (uint8_t) ~(1u << request->arg);
}

static void enforced_was_set(const struct sm *sm, struct sm_record *record, const uint8_t *data)
{
    uint16_t wanted[PORT_PKEYS], set[MAD_PKEYS_PER_BLOCK];
    bool fits = sm_wanted_enforced(sm, record, wanted); /* may have changed again meanwhile */

    assert(record);
    mad_pkeys_decode(data, set);
    if ((fits && memcmp(set, wanted, sizeof set) == 0) || PLANTED(sm_enforced_unchecked))
        record->enforce_dirty = false;
}

static void sl_map_was_set(struct sm *sm, const struct sm_request *request, const uint8_t *data)
{
    uint8_t wanted[PORT_SLS], set[PORT_SLS];

    sm_wanted_sl_map(sm, request->port, wanted); /* which may have changed again meanwhile */
    mad_sl_to_vl_decode(data, set);
    if (memcmp(set, wanted, sizeof set) == 0)
        sm->records[sm->view.ports[request->port].record].sl_map_done = true;
}

void sm_was_set(struct sm *sm, const struct sm_request *request, const struct mad *mad)
{
    struct sm_vport *port = &sm->view.ports[request->port];
    const uint8_t *data = mad_data_const(mad);

    assert(request->port < sm->view.port_count);
    switch ((enum sm_op)request->op) {
    case SM_OP_SET_LID:
        port->fresh = false;
        mad_port_info_decode(data, &port->info);
        break;
    case SM_OP_SET_LINK:
    case SM_OP_SET_ARMED:
    case SM_OP_SET_ACTIVE:
        mad_port_info_decode(data, &port->info);
        break;
    case SM_OP_SET_PKEYS:
        pkeys_were_set(sm, request, data);
        break;
    case SM_OP_SET_ENFORCED:
        enforced_was_set(sm, &sm->records[sm->view.ports[port->peer].record], data);
        break;
    case SM_OP_SET_SL_MAP:
        sl_map_was_set(sm, request, data);
        break;
    case SM_OP_SET_TOP:
        sm->records[port->record].lft_top = (uint16_t)(sm->records[port->record].lft_size - 1);
        break;
    case SM_OP_SET_LFT:
        lft_was_set(sm, request, data);
        break;
    default:
        break;
    }
}
