/* SPDX-License-Identifier: Apache-2.0 */
/* Whether packets are needed at all: the way that they would take, as things are now. */
#include "fabric_sim/world/net_state.h"

#include <assert.h>

#include "src/fabric/planted.h"

#define PLAIN_RATE 100000u  /* Mbit/s: a slower link is there to be felt */
#define PLAIN_LATENCY 1000u /* ns of a cable: a longer one, too */
#define HOPS 64u

/* What leaves here on `vl` arrives at the far end, and at once. */
static bool is_plain_link(const struct net_port *port, uint8_t vl)
{
    const struct net_port *peer = port->peer;
    const struct net_lane *lane = port->lanes[vl];
    if (!peer || vl >= NET_VL15 || !(port->usable & 1u << vl) || !peer->takes_data)
        return false;
    if (peer->info->state != FABRIC_PORT_ACTIVE || (lane && lane->stalled))
        return false;
    if (port->faulty && !net_fault_is_over(port) && !PLANTED(world_way_through_fault))
        return false;
    bool slow = port->rate_mbps < PLAIN_RATE || port->latency > PLAIN_LATENCY;
    return !slow || PLANTED(world_way_slow);
}

/* The port by which a switch sends it on; null: it does not, or looks into it first. */
static const struct net_port *next_port(const struct net_port *in, uint16_t dlid)
{
    const struct net_node *sw = in->node;
    uint8_t num = net_lft_forwards(sw, dlid);
    if (in->info->partition_enforce_in || num == 0 || num > sw->port_count || num == in->num)
        return NULL;
    const struct net_port *out = &sw->ports[num];
    return out->info->partition_enforce_out ? NULL : out;
}

bool net_plain_way(const struct net_port *from, uint16_t dlid, uint8_t sl, struct net_way *out)
{
    assert(from->node->kind == NET_HCA && out);
    const struct net_port *port = from;
    uint8_t vl = net_sl_to_vl(from, sl);
    *out = (struct net_way){.mtu = UINT32_MAX};
    for (unsigned hop = 0; hop < HOPS; hop++) {
        if (!is_plain_link(port, vl))
            return false;
        if (port->mtu_bytes < out->mtu)
            out->mtu = port->mtu_bytes;
        struct net_port *in = port->peer;
        out->to = in;
        if (in->node->kind == NET_HCA)
            return true;
        port = in->node->kind == NET_SWITCH ? next_port(in, dlid) : NULL;
        if (!port)
            return false;
        vl = net_sl_map_get(port, in->num, sl);
    }
    return false;
}

uint64_t net_way_epoch(const struct net *net)
{
    return net->address_epoch + net->way_epoch;
}
