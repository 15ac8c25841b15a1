/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Ethernet network: switches that know behind which port a GID is. Real switches learn it from
 * traffic; these look it up in the ports' GID tables over the cables that are up, the shortest way,
 * and keep what they found until anything changes. Multicast is not carried.
 */
#include "fabric_sim/world/net_state.h"

#include <assert.h>
#include <string.h>

#include <xxhash.h>

#include "src/fabric/gid.h"

#define CACHE_FIRST 16

static struct net_gid_entry *cache_place(const struct net_node *node, const union fabric_gid *gid)
{
    assert(node->gid_capacity > node->gid_count); /* else the search would not end */
    size_t at = XXH3_64bits(gid->raw, sizeof(gid->raw)) & (node->gid_capacity - 1);
    while (node->gids[at].used && !fabric_gid_equal(&node->gids[at].gid, gid))
        at = (at + 1) & (node->gid_capacity - 1);
    return &node->gids[at];
}

static void cache_grow(struct net_node *node)
{
    struct net_gid_entry *old = node->gids;
    size_t old_capacity = node->gid_capacity, size = sizeof(*old);
    node->gid_capacity = old_capacity ? old_capacity * 2 : CACHE_FIRST;
    node->gids = net_memory(node->net, node->gid_capacity * size);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].used)
            *cache_place(node, &old[i].gid) = old[i];
    net_memory_free(node->net, old, old_capacity * size);
}

static bool port_has_gid(const struct net_port *port, const union fabric_gid *gid)
{
    const struct port_info *info = port->info;
    if (info->link_layer == FABRIC_LINK_LAYER_INFINIBAND &&
        fabric_gid_prefix(gid) == info->gid_prefix) {
        union fabric_gid own = fabric_gid_make(info->gid_prefix, info->guid);
        if (fabric_gid_equal(&own, gid))
            return true;
    }
    for (uint16_t i = 0; i < info->gid_count && i < PORT_GIDS; i++)
        if (fabric_gid_equal(&info->gids[i].gid, gid))
            return true;
    return false;
}

/* Puts the peers of one node that were not seen yet at the end of the search; returns the port that
 * has the GID, null when none here has. */
static struct net_port *search_node(struct net_node *at, struct net_node ***end,
                                    const union fabric_gid *gid, uint8_t first)
{
    for (uint8_t num = 1; num <= at->port_count; num++) {
        struct net_port *port = &at->ports[num];
        if (!port->link_up || (first == 0 && at->search_first != 0 && at->search_first != num))
            continue;
        struct net_node *next = port->peer->node;
        if (next->kind == NET_HCA && port_has_gid(port->peer, gid)) {
            at->search_first = first ? first : num;
            return port->peer;
        }
        if (next->kind == NET_HCA || next->kind == NET_ROUTER || next->visited == at->visited)
            continue;
        next->visited = at->visited;
        next->search_first = first ? first : num;
        next->search_next = NULL;
        **end = next;
        *end = &next->search_next;
    }
    return NULL;
}

/* Breadth first over the switches, ports in ascending order: the shortest way, always the same. */
static void search(struct net_node *node, const union fabric_gid *gid, uint8_t only_port,
                   struct net_gid_entry *out)
{
    node->visited = ++node->net->searches;
    assert(only_port <= node->port_count);
    node->search_first = only_port;
    node->search_next = NULL;
    struct net_node **end = &node->search_next;
    for (struct net_node *at = node; at; at = at->search_next) {
        struct net_port *found = search_node(at, &end, gid, at == node ? 0 : at->search_first);
        if (!found)
            continue;
        assert(at->search_first > 0 && at->search_first <= node->port_count);
        out->port_num = at->search_first;
        out->lid = found->info->lid;
        return;
    }
}

const struct net_gid_entry *net_gid_find(struct net_node *node, const union fabric_gid *gid,
                                         uint8_t only_port)
{
    if (node->gid_epoch != node->net->address_epoch) {
        if (node->gids)
            memset(node->gids, 0, node->gid_capacity * sizeof(*node->gids));
        node->gid_count = 0;
        node->gid_epoch = node->net->address_epoch;
    }
    if (node->gid_count * 2 >= node->gid_capacity)
        cache_grow(node);
    struct net_gid_entry *entry = cache_place(node, gid);
    if (!entry->used) {
        *entry = (struct net_gid_entry){.gid = *gid, .port_num = NET_PORT_NONE, .used = true};
        node->gid_count++;
        search(node, gid, only_port, entry);
    }
    return entry;
}

bool net_port_reaches_gid(struct net_port *port, const union fabric_gid *gid)
{
    struct net_gid_entry found = {.port_num = NET_PORT_NONE};
    assert(port && gid);
    search(port->node, gid, port->num, &found);
    return found.port_num != NET_PORT_NONE;
}

void net_ethernet_relay(struct net_port *in, struct packet *packet)
{
    struct net_node *sw = in->node;
    assert(sw->kind == NET_ETHERNET_SWITCH);
    uint64_t *relay_errors = &in->info->counters.rcv_switch_relay_errors;
    if (!packet->is_global) {
        net_discard(in, packet, relay_errors, "local");
        return;
    }
    uint8_t num = net_gid_find(sw, &packet->dgid, 0)->port_num;
    if (num == NET_PORT_NONE || num == in->num) {
        net_discard(in, packet, relay_errors, "gid");
        return;
    }
    struct net_port *out = &sw->ports[num];
    if (net_may_leave(out, packet->vl, packet))
        net_transmit_or_queue(out, packet->vl, packet);
}
