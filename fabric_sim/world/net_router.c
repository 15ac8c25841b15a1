/* SPDX-License-Identifier: Apache-2.0 */
/* A router between subnets (vol. 1, chapter 19): by the GRH, hop by hop, with a static table. */
#include "fabric_sim/world/net_state.h"

#include <assert.h>

#include "src/fabric/gid.h"
#include "src/fabric/planted.h"

static struct net_route *route_find(const struct net_node *router, uint64_t prefix)
{
    for (size_t i = 0; i < router->route_count; i++)
        if (router->routes[i].prefix == prefix)
            return &router->routes[i];
    return NULL;
}

void net_route_set(struct net_node *router, uint64_t prefix, uint8_t port_num, uint16_t next_lid)
{
    assert(router->kind == NET_ROUTER && port_num > 0 && port_num <= router->port_count);
    struct net_route *route = route_find(router, prefix);
    if (!route) {
        if (router->route_count == router->route_capacity) {
            size_t old = router->route_capacity, capacity = old ? old * 2 : 4;
            size_t size = sizeof(*route);
            router->routes =
                net_memory_grow(router->net, router->routes, old * size, capacity * size);
            router->route_capacity = capacity;
        }
        route = &router->routes[router->route_count++];
    }
    *route = (struct net_route){prefix, port_num, next_lid};
    router->gid_epoch = 0; /* GIDs are cached by the port that the old route named */
}

/* The LID that the packet gets in the next subnet; 0: nobody there has that GID. */
static uint16_t next_lid(struct net_node *router, const struct net_route *route,
                         const union fabric_gid *dgid)
{
    if (route->next_lid)
        return route->next_lid;
    const struct net_gid_entry *entry = net_gid_find(router, dgid, route->port_num);
    return entry->port_num == route->port_num ? entry->lid : 0;
}

void net_router_relay(struct net_port *in, struct packet *packet)
{
    struct net_node *router = in->node;
    assert(router->kind == NET_ROUTER);
    uint64_t *relay_errors = &in->info->counters.rcv_switch_relay_errors;
    if (packet->is_mad) {
        net_mad_arrived(in, packet);
        return;
    }
    const struct net_route *route =
        packet->is_global ? route_find(router, fabric_gid_prefix(&packet->dgid)) : NULL;
    if (!route || packet->hop_limit <= 1) {
        net_discard(in, packet, relay_errors, route ? "hops" : "route");
        return;
    }
    struct net_port *out = &router->ports[route->port_num];
    packet->dlid = next_lid(router, route, &packet->dgid);
    packet->slid = out->info->lid;
    if (!PLANTED(world_hops_not_counted))
        packet->hop_limit--;
    uint8_t vl = net_sl_to_vl(out, packet->sl);
    if (packet->dlid == 0 || vl >= NET_VL15) {
        net_discard(in, packet, relay_errors, packet->dlid ? "sl" : "gid");
        return;
    }
    if (net_may_leave(out, vl, packet))
        net_transmit_or_queue(out, vl, packet);
}
