/* SPDX-License-Identifier: Apache-2.0 */
/* The subnet as discovered: nodes, ports, links, routes to them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sm_state.h"

void *sm_grow(void *old, size_t count, size_t size)
{
    void *new = realloc(old, count * size);

    if (!new)
        abort();
    return new;
}

void sm_view_clear(struct sm_view *view)
{
    free(view->nodes);
    free(view->ports);
    free(view->switches);
    guid_map_clear(&view->by_guid);
    *view = (struct sm_view){0};
}

static size_t room_for(size_t room, size_t needed)
{
    if (room == 0)
        room = 64;
    while (room < needed)
        room *= 2;
    return room;
}

static void reserve(struct sm_view *view, size_t ports)
{
    if (view->node_count == view->node_room) {
        view->node_room = room_for(view->node_room, view->node_count + 1);
        view->nodes = sm_grow(view->nodes, view->node_room, sizeof *view->nodes);
    }
    if (view->port_count + ports > view->port_room) {
        view->port_room = room_for(view->port_room, view->port_count + ports);
        view->ports = sm_grow(view->ports, view->port_room, sizeof *view->ports);
    }
    if (view->switch_count == view->switch_room) {
        view->switch_room = room_for(view->switch_room, view->switch_count + 1);
        view->switches = sm_grow(view->switches, view->switch_room, sizeof *view->switches);
    }
}

uint32_t sm_view_add(struct sm_view *view, const struct mad_node_info *info)
{
    uint32_t index = (uint32_t)view->node_count;
    size_t ports = (size_t)info->num_ports + 1;
    struct sm_node *node;

    reserve(view, ports);
    node = &view->nodes[view->node_count++];
    memset(node, 0, sizeof *node);
    node->guid = info->node_guid;
    node->first_port = (uint32_t)view->port_count;
    node->sw = SM_NONE;
    node->type = info->node_type;
    node->num_ports = info->num_ports;
    node->partition_cap = info->partition_cap;
    for (size_t i = 0; i < ports; i++) {
        view->ports[view->port_count++] =
            (struct sm_vport){.node = index, .peer = SM_NONE, .record = SM_NONE, .num = (uint8_t)i};
    }
    if (info->node_type == MAD_NODE_SWITCH) {
        node->sw = (uint32_t)view->switch_count;
        view->switches[view->switch_count++] = index;
    }
    guid_map_put(&view->by_guid, info->node_guid, index);
    return index;
}

uint32_t sm_view_find(const struct sm_view *view, uint64_t node_guid)
{
    return guid_map_get(&view->by_guid, node_guid);
}

void sm_view_link(struct sm_view *view, uint32_t a, uint32_t b)
{
    assert(a != b && a < view->port_count && b < view->port_count);
    view->ports[a].peer = b;
    view->ports[b].peer = a;
}

struct sm_node *sm_node_of(struct sm *sm, uint32_t port)
{
    assert(port < sm->view.port_count);
    return &sm->view.nodes[sm->view.ports[port].node];
}

uint32_t sm_own_port(const struct sm *sm)
{
    if (sm->view.node_count == 0)
        return SM_NONE;
    return sm->view.nodes[0].first_port + net_port_num(sm->port);
}

/* The way out of the node of `port` through that port. */
static uint8_t route_through(const struct sm *sm, uint32_t port, uint8_t *path)
{
    const struct sm_node *node = &sm->view.nodes[sm->view.ports[port].node];

    memcpy(path, node->path, node->hops);
    path[node->hops] = sm->view.ports[port].num;
    return (uint8_t)(node->hops + 1);
}

uint8_t sm_view_route(const struct sm *sm, uint32_t port, uint8_t *path)
{
    const struct sm_vport *target = &sm->view.ports[port];
    const struct sm_node *node = &sm->view.nodes[target->node];

    assert(port < sm->view.port_count);
    if (node->type == MAD_NODE_SWITCH) {
        memcpy(path, node->path, node->hops);
        return node->hops;
    }
    if (port == sm_own_port(sm) || target->peer == SM_NONE)
        return 0;
    return route_through(sm, target->peer, path);
}

bool sm_has_lid(const struct sm *sm, uint32_t port)
{
    const struct sm_vport *p = &sm->view.ports[port];

    assert(port < sm->view.port_count);
    if (sm->view.nodes[p->node].type == MAD_NODE_SWITCH)
        return p->num == 0;
    return p->num != 0 && p->known;
}
