/* SPDX-License-Identifier: Apache-2.0 */
/* Cables, training, power, and what a change of attributes means for the wire. */
#include "fabric_sim/world/net_state.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/av.h"
#include "src/fabric/planted.h"

#define DEFAULT_RATE 100000 /* Mbit/s */
#define DEFAULT_LATENCY 100 /* ns */
#define ETHERNET_LANES 0xff

static uint8_t smaller(uint8_t a, uint8_t b)
{
    if (a == 0 || b == 0)
        return a ? a : b; /* 0 is no limit */
    return a < b ? a : b;
}

static bool is_ethernet(const struct net_port *port)
{
    return port->info->link_layer == FABRIC_LINK_LAYER_ETHERNET;
}

/* What a port in this state lets out (vol. 1, chapter 7.2.7). */
static uint16_t usable_lanes(const struct net_port *port)
{
    const struct port_info *info = port->info;
    unsigned data, lanes = info->oper_vls ? info->oper_vls : 1;
    if (!port->link_up || info->state < FABRIC_PORT_INIT)
        return 0;
    data = is_ethernet(port) ? ETHERNET_LANES : (1u << lanes) - 1;
    if (info->state == FABRIC_PORT_ACTIVE || PLANTED(world_init_sends_data) ||
        (info->state == FABRIC_PORT_ARMED && PLANTED(world_armed_sends_data)))
        return (uint16_t)((data & 0x7fffu) | 1u << NET_VL15);
    return 1u << NET_VL15;
}

/* Ethernet drops what the far end's interface would not take; InfiniBand trusts NeighborMTU. */
static uint32_t payload_limit(const struct net_port *port)
{
    uint8_t mtu = smaller(port->info->active_mtu, port->info->mtu_cap);
    if (PLANTED(world_mtu_not_checked))
        return UINT32_MAX;
    mtu = smaller(mtu, smaller(port->link_mtu, port->fault_mtu));
    if (port->peer) {
        mtu = smaller(mtu, port->peer->info->mtu_cap);
        if (is_ethernet(port))
            mtu = smaller(mtu, port->peer->info->active_mtu);
    }
    return mtu ? fabric_mtu_bytes((enum fabric_mtu)mtu) : 0;
}

void net_port_refresh(struct net_port *port)
{
    const struct port_info *info = port->info;
    port->usable = usable_lanes(port);
    port->mtu_bytes = payload_limit(port);
    port->takes_data =
        port->link_up && (info->state == FABRIC_PORT_ARMED || info->state == FABRIC_PORT_ACTIVE ||
                          PLANTED(world_init_takes_data));
}

static const char *state_name(uint8_t state)
{
    static const char *const names[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"};
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

void net_port_changed(struct net_port *port, const struct port_info *before)
{
    assert(before && before != port->info && port->info->port_num == port->num);
    struct net_node *node = port->node;
    port->info->attributes_epoch++;
    node->net->address_epoch++;
    net_port_refresh(port);
    if (port->peer)
        net_port_refresh(port->peer);
    if (before->state != port->info->state)
        SIM_TRACE(node->net->sim, node->name, "port %u state %s to %s", (unsigned)port->num,
                  state_name(before->state), state_name(port->info->state));
    if (node->owner.changed)
        node->owner.changed(node->owner.context, port, before);
    if (node->net->change_handler)
        node->net->change_handler(node->net->change_context, port);
    net_purge(port, (uint16_t)~port->usable);
}

static void set_state(struct net_port *port, enum fabric_port_state state)
{
    if (port->info->state == state)
        return;
    struct port_info before = *port->info;
    assert(state == FABRIC_PORT_DOWN || port->link_up);
    port->info->state = (uint8_t)state;
    net_port_changed(port, &before);
}

/* A data packet at an ARMED port says that the far end is ACTIVE (vol. 1, chapter 7.2.7). */
void net_port_triggered(struct net_port *port)
{
    assert(port->link_up && port->info->state == FABRIC_PORT_ARMED);
    if (!PLANTED(world_armed_waits))
        set_state(port, FABRIC_PORT_ACTIVE);
}

/* ------------------------------------------------------------------ training */

static bool can_train(const struct net_port *port)
{
    const struct net_port *peer = port->peer;
    bool disabled = peer && (port->info->disabled || peer->info->disabled);
    return peer && !port->link_up && port->cable_up && port->node->powered && peer->node->powered &&
           (!disabled || PLANTED(world_disabled_trains));
}

/* Both ends are up before either owner is told, so that either may send at once. */
static void train(struct net_port *a)
{
    if (!can_train(a))
        return;
    struct net_port *ends[2] = {a, a->peer};
    uint8_t mtu = smaller(a->info->mtu_cap, a->peer->info->mtu_cap);
    for (size_t i = 0; i < 2; i++) {
        ends[i]->link_up = true;
        ends[i]->busy_until = 0;
    }
    for (size_t i = 0; i < 2; i++) {
        struct net_port *port = ends[i];
        struct port_info before = *port->info;
        if (!port->link_up)
            return; /* whom the first end told took it down again */
        if (!is_ethernet(port) || port->info->active_mtu == 0)
            port->info->active_mtu = mtu;
        port->info->rate_mbps = port->rate_mbps;
        port->info->state = is_ethernet(port) ? FABRIC_PORT_ACTIVE : FABRIC_PORT_INIT;
        net_port_changed(port, &before);
    }
}

/* What is on the wire is lost (the epoch tells); credits begin anew when it comes back. */
static void link_lost(struct net_port *a)
{
    if (!a->link_up)
        return;
    struct net_port *ends[2] = {a, a->peer};
    for (size_t i = 0; i < 2; i++) {
        ends[i]->link_up = false;
        if (!PLANTED(world_wire_survives_down))
            ends[i]->link_epoch++;
        ends[i]->info->counters.link_downed++;
    }
    for (size_t i = 0; i < 2; i++) {
        net_port_refresh(ends[i]);
        set_state(ends[i], FABRIC_PORT_DOWN);
        net_purge(ends[i], UINT16_MAX);
        for (uint8_t vl = 0; vl < PORT_VLS; vl++)
            if (ends[i]->lanes[vl])
                net_lane_reset(ends[i]->lanes[vl]);
    }
}

static void cable_end(struct net_port *port, struct net_port *peer, const struct net_link *link)
{
    assert(!port->peer && (port->num > 0));
    port->peer = peer;
    port->latency = link && link->latency ? link->latency : DEFAULT_LATENCY;
    port->pass_latency = port->latency + peer->node->latency;
    port->rate_mbps = link && link->rate_mbps ? link->rate_mbps : DEFAULT_RATE;
    port->link_mtu = link ? (uint8_t)link->mtu : 0;
    port->cable_up = true;
    if (peer->node->kind == NET_ETHERNET_SWITCH)
        port->info->link_layer = FABRIC_LINK_LAYER_ETHERNET;
}

void net_connect(struct net_port *a, struct net_port *b, const struct net_link *link)
{
    assert(a != b && a->node->net == b->node->net);
    cable_end(a, b, link);
    cable_end(b, a, link);
    assert(is_ethernet(a) == is_ethernet(b));
    a->node->net->address_epoch++;
    train(a);
}

void net_link_set_up(struct net_port *end, bool up)
{
    assert(end->peer);
    if (end->cable_up == up)
        return;
    end->cable_up = end->peer->cable_up = up;
    if (up)
        train(end);
    else
        link_lost(end);
}

void net_port_set_disabled(struct net_port *port, bool disabled)
{
    assert(port->num > 0);
    if (port->info->disabled == disabled)
        return;
    port->info->disabled = disabled;
    if (disabled)
        link_lost(port);
    else
        train(port);
}

/* What a subnet manager had set. */
static void forget_settings(struct net_port *port)
{
    struct port_info *info = port->info;
    assert(port->sl_maps == NULL || port->node->kind != NET_HCA);
    info->lid = info->sm_lid = 0;
    info->lmc = info->sm_sl = info->oper_vls = info->disabled = 0;
    info->partition_enforce_in = info->partition_enforce_out = 0;
    if (port->node->kind != NET_SWITCH && PLANTED(world_power_keeps_pkeys))
        return;
    memset(info->pkeys, 0, sizeof(info->pkeys));
    info->pkeys[0] = NET_DEFAULT_PKEY;
    memset(info->sl_to_vl, 0, sizeof(info->sl_to_vl));
    for (size_t i = 0; port->sl_maps && i <= port->node->port_count; i++)
        memset(port->sl_maps[i], NET_PORT_NONE, PORT_SLS);
}

static void power_lost(struct net_node *node)
{
    if (node->kind == NET_ETHERNET_SWITCH || PLANTED(world_power_keeps_tables))
        return;
    for (unsigned num = 0; num <= node->port_count; num++)
        if (!is_ethernet(&node->ports[num]))
            forget_settings(&node->ports[num]);
    if (node->lft_size)
        memset(node->lft, NET_PORT_NONE, node->lft_size);
    node->mft_count = 0;
    node->net->address_epoch++;
    if (node->net->power_handler)
        node->net->power_handler(node->net->power_context, node);
}

void net_node_set_power(struct net_node *node, bool on)
{
    if (node->powered == on)
        return;
    node->powered = on;
    if (!on)
        power_lost(node);
    SIM_TRACE(node->net->sim, node->name, "power %s", on ? "on" : "off");
    for (uint8_t num = 1; num <= node->port_count; num++) {
        if (on)
            train(&node->ports[num]);
        else
            link_lost(&node->ports[num]);
    }
}

void net_link_set_mtu(struct net_port *end, enum fabric_mtu mtu)
{
    assert(end->peer);
    end->fault_mtu = end->peer->fault_mtu = (uint8_t)mtu;
    end->node->net->way_epoch++;
    net_port_refresh(end);
    net_port_refresh(end->peer);
}
