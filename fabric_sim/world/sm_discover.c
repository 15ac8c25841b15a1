/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery: what the answers of a heavy sweep say, and what is asked next (chapter 14.4.4). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

void sm_discovery_start(struct sm *sm)
{
    assert(sm->outstanding == 0 && sm->queue_head == sm->queue_tail);
    sm_view_clear(&sm->view);
    sm->peer_count = 0;
    sm->heavy_wanted = false;
    sm->reconfigure_wanted = false; /* the phases that follow do that too */
    sm->failed = false;
    sm->look_again = false;
    sm->sweeping = true;
    sm->complete = false;
    sm->sweep_number++;
    sm->phase = SM_PHASE_DISCOVER;
    SIM_TRACE(sm->sim, net_node_name(net_port_node(sm->port)), "sm heavy sweep %u",
              (unsigned)sm->sweep_number);
    sm_request(sm, SM_OP_NODE, SM_NONE, 0);
}

static uint32_t record_index(struct sm *sm, uint64_t guid)
{
    return (uint32_t)(sm_record_get(sm, guid) - sm->records);
}

/* A node that was not known: where it is reached, what to ask it. */
static uint32_t add_node(struct sm *sm, const struct sm_request *request,
                         const struct mad_node_info *info)
{
    uint32_t index = sm_view_add(&sm->view, info);
    struct sm_node *node = &sm->view.nodes[index];

    assert(info->node_guid != 0);
    if (info->node_type != MAD_NODE_SWITCH)
        return index;
    if (request->port != SM_NONE) {
        const struct sm_node *from = sm_node_of(sm, request->port);

        memcpy(node->path, from->path, from->hops);
        node->path[from->hops] = sm->view.ports[request->port].num;
        node->hops = (uint8_t)(from->hops + 1);
    }
    sm->view.ports[node->first_port].record = record_index(sm, info->node_guid);
    sm_request(sm, SM_OP_SWITCH, node->first_port, 0);
    return index;
}

void sm_discovered_node(struct sm *sm, const struct sm_request *request, const uint8_t *data)
{
    struct mad_node_info info;
    struct sm_vport *port;
    uint32_t index, local;

    mad_node_info_decode(data, &info);
    index = info.node_guid ? sm_view_find(&sm->view, info.node_guid) : SM_NONE;
    if (info.node_guid == 0 || info.local_port_num > info.num_ports)
        return;
    if (index == SM_NONE)
        index = add_node(sm, request, &info);
    local = sm->view.nodes[index].first_port + info.local_port_num;
    if (local >= sm->view.port_count || local == request->port)
        return;
    if (request->port != SM_NONE)
        sm_view_link(&sm->view, request->port, local);
    port = &sm->view.ports[local];
    if (info.node_type == MAD_NODE_SWITCH || port->known || port->record != SM_NONE)
        return;
    port->record = record_index(sm, info.port_guid);
    sm_request(sm, SM_OP_PORT, local, 0);
}

void sm_discovered_switch(struct sm *sm, uint32_t port, const uint8_t *data)
{
    struct sm_record *record = &sm->records[sm->view.ports[port].record];
    struct mad_switch_info info;

    assert(sm->view.ports[port].num == 0 && sm->view.ports[port].record != SM_NONE);
    mad_switch_info_decode(data, &info);
    /* It came up anew with empty tables, or was away, when another manager may have set them. */
    if (info.linear_fdb_top == 0 ||
        (record->seen != sm->sweep_number - 1 && !PLANTED(sm_trusts_old_tables))) {
        free(record->lft);
        record->lft = NULL;
        record->sl_map_done = false;
    }
    record->lft_top = info.linear_fdb_top;
    if (info.port_state_change)
        sm_request(sm, SM_OP_CLEAR_CHANGE, port, 0);
    for (uint32_t i = 0; i <= sm_node_of(sm, port)->num_ports; i++)
        sm_request(sm, SM_OP_PORT, port + i, 0);
}

/* What is known of the port does not hold any more: read and set all of it. */
static void forget_settings(struct sm_record *record)
{
    record->pkeys_known = 0;
    record->pkeys_dirty = 0;
    record->enforce_dirty = true;
    record->sl_map_done = false;
}

static void read_pkeys(struct sm *sm, uint32_t port, const struct sm_record *record)
{
    uint16_t cap = sm_node_of(sm, port)->partition_cap;

    for (uint16_t block = 0; block < SM_PKEY_BLOCKS; block++)
        if (block * MAD_PKEYS_PER_BLOCK < cap && !(record->pkeys_known & 1 << block))
            sm_request(sm, SM_OP_PKEYS, port, block);
}

/* A port with a LID of its own. */
static void discovered_end(struct sm *sm, uint32_t index)
{
    struct sm_vport *port = &sm->view.ports[index];
    struct sm_record *record = &sm->records[port->record];
    bool is_switch = sm_node_of(sm, index)->type == MAD_NODE_SWITCH;

    assert(port->record < sm->record_count);
    port->fresh = record->seen == 0 || record->seen != sm->sweep_number - 1 ||
                  port->info.port_state == FABRIC_PORT_INIT;
    record->seen = sm->sweep_number;
    if (port->fresh)
        forget_settings(record);
    if (is_switch)
        return;
    read_pkeys(sm, index, record);
    if ((port->info.capability_mask & MAD_CAP_IS_SM) && index != sm_own_port(sm))
        sm_request(sm, SM_OP_SM_INFO, index, 0);
}

void sm_discovered_port(struct sm *sm, uint32_t index, const uint8_t *data)
{
    struct sm_vport *port = &sm->view.ports[index];
    const struct sm_node *node = sm_node_of(sm, index);
    bool passes = node->type == MAD_NODE_SWITCH || port->node == 0; /* others pass nothing on */

    assert(index < sm->view.port_count);
    mad_port_info_decode(data, &port->info);
    port->known = true;
    if (port->record != SM_NONE)
        discovered_end(sm, index);
    if (port->num == 0 || port->info.port_state < FABRIC_PORT_INIT)
        return;
    if (node->type == MAD_NODE_SWITCH && port->info.port_state == FABRIC_PORT_INIT)
        sm->records[sm->view.ports[node->first_port].record].sl_map_done = false;
    if (port->peer == SM_NONE && passes && node->hops < MAD_MAX_HOPS)
        sm_request(sm, SM_OP_NODE, index, 0);
}

void sm_discovered_pkeys(struct sm *sm, const struct sm_request *request, const uint8_t *data)
{
    struct sm_record *record = &sm->records[sm->view.ports[request->port].record];
    uint16_t wanted[PORT_PKEYS], found[MAD_PKEYS_PER_BLOCK];
    uint8_t bit = (uint8_t)(1 << request->arg);

    assert(request->arg < SM_PKEY_BLOCKS);
    sm_wanted_pkeys(sm, record, wanted);
    mad_pkeys_decode(data, found);
    record->pkeys_known |= bit;
    if (memcmp(found, wanted + request->arg * MAD_PKEYS_PER_BLOCK, sizeof found) != 0)
        record->pkeys_dirty |= bit;
}
