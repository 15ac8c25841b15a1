/* SPDX-License-Identifier: Apache-2.0 */
/* A packet's way out of a port, over the wire and into the next port: the hot path. */
#include "fabric_sim/world/net_state.h"

#include <assert.h>

#include "fabric_sim/world/mad.h"
#include "src/fabric/planted.h"

/* ------------------------------------------------------------------ dropping */

void net_discard(struct net_port *port, struct packet *packet, uint64_t *counter,
                 const char *reason)
{
    struct net *net = port->node->net;
    net->discards++;
    if (counter)
        ++*counter;
    SIM_TRACE(net->sim, port->node->name, "port %u discard %s vl %u lid %u>%u psn %u",
              (unsigned)port->num, reason, (unsigned)packet->vl, (unsigned)packet->slid,
              (unsigned)packet->dlid, (unsigned)packet->psn);
    if (PLANTED(world_discard_keeps_buffer))
        packet->hold = NULL;
    net_release(packet, sim_now(net->sim));
    net_free(net, packet);
}

bool net_may_leave(struct net_port *port, uint8_t vl, struct packet *packet)
{
    uint64_t *counter = &port->info->counters.xmit_discards;
    bool lane_up = port->usable & 1u << vl;
    if (PLANTED(world_vl_not_operational))
        lane_up = port->usable;
    if (!lane_up) {
        net_discard(port, packet, counter, "lane");
        return false;
    }
    if (packet->payload_length > port->mtu_bytes && vl != NET_VL15) {
        net_discard(port, packet, counter, "mtu");
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ lanes */

static void lane_push(struct net_port *port, uint8_t vl, struct packet *packet)
{
    struct net_lane *lane = net_lane_of(port, vl);
    assert(port->usable & 1u << vl || PLANTED(world_vl_not_operational));
    assert(!lane->last == !lane->first);
    packet->next = NULL;
    packet->waiting_since = net_now(port);
    if (lane->last)
        lane->last->next = packet;
    else
        lane->first = packet;
    lane->last = packet;
    lane->length++;
    port->queued |= (uint16_t)(1u << vl);
}

static struct packet *lane_pop(struct net_port *port, uint8_t vl)
{
    struct net_lane *lane = port->lanes[vl];
    struct packet *packet = lane->first;
    uint64_t now = net_now(port);
    assert(packet && lane->length > 0 && packet->waiting_since <= now);
    lane->waited += now - packet->waiting_since;
    port->info->counters.xmit_wait += now - packet->waiting_since;
    lane->first = packet->next;
    lane->length--;
    if (lane->first) {
        lane->first->waiting_since = now; /* the head's life begins when it is the head */
    } else {
        assert(lane->length == 0);
        lane->last = NULL;
        port->queued &= (uint16_t) ~(1u << vl);
    }
    return packet;
}

/* Tells the owner that a lane it was refused has room. */
static void tell_can_send(struct net_port *port, uint8_t vl)
{
    struct net_owner *owner = &port->node->owner;
    if (!(port->refused & 1u << vl))
        return;
    port->refused &= (uint16_t) ~(1u << vl);
    if (owner->can_send)
        owner->can_send(owner->context, port, vl);
}

void net_purge(struct net_port *port, uint16_t lanes)
{
    for (uint8_t vl = 0; vl < PORT_VLS; vl++) {
        if (!(lanes & 1u << vl) || !port->lanes[vl])
            continue;
        while (port->queued & 1u << vl)
            net_discard(port, lane_pop(port, vl), &port->info->counters.xmit_discards, "purge");
        tell_can_send(port, vl);
    }
}

/* ------------------------------------------------------------------ transmitting */

static uint64_t time_on_wire(struct net_port *port, uint32_t bytes)
{
    if (bytes != port->cached_bytes) {
        port->cached_bytes = bytes;
        port->cached_ns =
            (uint32_t)(((uint64_t)bytes * 8000 + port->rate_mbps - 1) / port->rate_mbps);
    }
    return port->cached_ns;
}

static void trace_transmit(const struct net_port *port, const struct packet *packet)
{
    SIM_TRACE(port->node->net->sim, port->node->name,
              "port %u tx vl %u lid %u>%u op %#x qp %#x psn %u pkey %#x len %u%s",
              (unsigned)port->num, (unsigned)packet->vl, (unsigned)packet->slid,
              (unsigned)packet->dlid, (unsigned)packet->opcode, (unsigned)packet->dest_qp,
              (unsigned)packet->psn, (unsigned)packet->pkey, (unsigned)packet->payload_length,
              packet->is_mad ? " mad" : "");
}

static void arrive(void *object, uint64_t arg);

void net_fly(struct net_port *from, struct packet *packet, uint64_t arrival)
{
    sim_at(from->node->net->sim, arrival, arrive, from->peer, (uint64_t)(uintptr_t)packet);
}

/* The credits are there and the port is idle, or will be so soon that the choice is made. */
static void transmit(struct net_port *port, uint8_t vl, struct packet *packet)
{
    struct net *net = port->node->net;
    uint32_t blocks = net_blocks(packet);
    assert(port->peer && port->busy_until <= sim_now(net->sim) + NET_LOOKAHEAD);
    uint64_t end = net_port_free_at(port) + time_on_wire(port, packet->wire_bytes);
    port->busy_until = end;
    packet->vl = vl;
    net_release(packet, end);
    packet->link_epoch = port->link_epoch;
    if (vl != NET_VL15) {
        struct net_lane *lane = port->lanes[vl];
        assert(lane->credits >= blocks || PLANTED(world_credit_unlimited));
        lane->packets++;
        if (!PLANTED(world_credit_unlimited))
            lane->credits -= blocks;
        packet->hold = port->peer;
        packet->hold_blocks = (uint16_t)blocks;
        packet->hold_vl = vl;
    }
    if (PLANTED(world_credit_unlimited))
        packet->hold = NULL;
    net_arbitrate_sent(port, vl, blocks);
    port->info->counters.xmit_packets++;
    port->info->counters.xmit_data += packet->wire_bytes;
    net->hops++;
    trace_transmit(port, packet);
    if (port->faulty)
        net_fly_faulty(port, packet, end + port->pass_latency);
    else
        net_fly(port, packet, end + port->pass_latency);
}

/* Time from which the packet could go for all that its lane's credits say. */
static uint64_t credits_at(struct net_port *port, uint8_t vl, const struct packet *packet,
                           uint64_t now)
{
    if (vl == NET_VL15)
        return now;
    struct net_lane *lane = port->lanes[vl] ? port->lanes[vl] : net_lane_of(port, vl);
    uint32_t blocks = net_blocks(packet);
    if (lane->credits >= blocks)
        return now;
    net_credit_collect(lane, now);
    return net_credit_time(lane, blocks, now);
}

static void pump(void *object, uint64_t arg);

void net_wake_at(struct net_port *port, uint64_t time)
{
    struct sim *sim = port->node->net->sim;
    if (time < port->busy_until)
        time = port->busy_until;
    if (time >= port->wake_time)
        return;
    sim_cancel(sim, port->wake);
    port->wake_time = time;
    port->wake = sim_at(sim, time, pump, port, 0);
}

static bool expires(const struct net_port *port)
{
    return port->node->kind != NET_HCA && !PLANTED(world_hoq_for_ever);
}

/* Sets the event at which the next of the waiting packets can go, or has waited too long. */
static void arm(struct net_port *port)
{
    uint64_t now = net_now(port), due = NET_NEVER;
    if (port->queued && port->busy_until > now) {
        net_wake_at(port, port->busy_until);
        return;
    }
    for (unsigned lanes = port->queued; lanes; lanes &= lanes - 1) {
        uint8_t vl = (uint8_t)__builtin_ctz(lanes);
        const struct packet *first = port->lanes[vl]->first;
        uint64_t time = credits_at(port, vl, first, now);
        uint64_t end = first->waiting_since + port->node->hoq_life;
        if (expires(port) && end < time)
            time = end;
        due = time < due ? time : due;
    }
    if (due != NET_NEVER)
        net_wake_at(port, due > now ? due : now);
}

/* Discards what was at the head of its lane for longer than HOQLife (vol. 1, chapter 18.2.5.4): a
 * lane that does not move must not hold the buffers of others for ever. */
static void expire_heads(struct net_port *port, uint64_t now)
{
    for (unsigned lanes = port->queued; lanes; lanes &= lanes - 1) {
        uint8_t vl = (uint8_t)__builtin_ctz(lanes);
        struct net_lane *lane = port->lanes[vl];
        while (lane->first && now - lane->first->waiting_since >= port->node->hoq_life) {
            lane->expired++;
            net_discard(port, lane_pop(port, vl), &port->info->counters.xmit_discards, "hoq");
        }
        tell_can_send(port, vl);
    }
}

static uint16_t ready_lanes(struct net_port *port, uint64_t now)
{
    unsigned ready = 0;
    for (unsigned lanes = port->queued; lanes; lanes &= lanes - 1) {
        uint8_t vl = (uint8_t)__builtin_ctz(lanes);
        if (credits_at(port, vl, port->lanes[vl]->first, now) <= now)
            ready |= 1u << vl;
    }
    return (uint16_t)ready;
}

/* The port's event: somebody waited for it. */
static void pump(void *object, uint64_t arg)
{
    struct net_port *port = object;
    uint64_t now = net_now(port);
    (void)arg;
    port->wake_time = NET_NEVER;
    port->wake = 0;
    uint16_t ready = ready_lanes(port, now);
    if (ready && port->busy_until <= now) {
        uint8_t vl = net_arbitrate(port, ready);
        transmit(port, vl, lane_pop(port, vl));
        tell_can_send(port, vl);
    }
    if (expires(port))
        expire_heads(port, now);
    arm(port);
}

void net_transmit_or_queue(struct net_port *port, uint8_t vl, struct packet *packet)
{
    uint64_t now = net_now(port);
    if (!port->queued && port->busy_until <= now + NET_LOOKAHEAD &&
        credits_at(port, vl, packet, now) <= now) {
        transmit(port, vl, packet);
        return;
    }
    lane_push(port, vl, packet);
    if (port->busy_until > now)
        net_wake_at(port, port->busy_until);
    else
        arm(port);
}

bool net_send(struct net_port *port, struct packet *packet)
{
    assert(!packet->payload || packet->payload_length <= packet->payload->length);
    assert(packet->wire_bytes > 0 && packet->vl < PORT_VLS && !packet->hold);
    assert(!packet->is_mad || packet->mad);
    uint8_t vl = packet->vl;
    if (port->num == 0) {
        net_switch_relay(port, packet);
        return true;
    }
    if (!net_may_leave(port, vl, packet))
        return true;
    const struct net_lane *lane = port->lanes[vl];
    if (vl == NET_VL15 && lane && lane->length >= NET_VL15_QUEUE) {
        net_discard(port, packet, &port->info->counters.vl15_dropped, "vl15");
        return true;
    }
    if (vl != NET_VL15 && lane && lane->length >= NET_HOST_QUEUE) {
        port->refused |= (uint16_t)(1u << vl);
        return false;
    }
    net_transmit_or_queue(port, vl, packet);
    return true;
}

/* ------------------------------------------------------------------ arriving */

void net_mad_arrived(struct net_port *port, struct packet *packet)
{
    struct net *net = port->node->net;
    net_release(packet, sim_now(net->sim));
    if (net->mad_handler)
        net->mad_handler(net->mad_context, port, packet);
    else
        net_discard(port, packet, NULL, "unmanaged");
}

static void host_receive(struct net_port *port, struct packet *packet)
{
    struct net_owner *owner = &port->node->owner;
    struct net *net = port->node->net;
    net_release(packet, sim_now(net->sim));
    net->delivered++;
    if (owner->receive)
        owner->receive(owner->context, port, packet);
    else
        net_free(net, packet);
}

static void arrive(void *object, uint64_t arg)
{
    struct net_port *port = object;
    struct packet *packet = (struct packet *)(uintptr_t)arg;
    struct fabric_port_counters *counters = &port->info->counters;
    assert(packet->vl < PORT_VLS && (!packet->hold || packet->hold == port));
    if (packet->link_epoch != port->link_epoch) {
        packet->hold = NULL;
        net_discard(port, packet, NULL, "wire");
        return;
    }
    counters->rcv_packets++;
    counters->rcv_data += packet->wire_bytes;
    if (packet->vl != NET_VL15 && !port->takes_data) {
        net_discard(port, packet, NULL, "state");
        return;
    }
    if (packet->vl != NET_VL15 && port->info->state == FABRIC_PORT_ARMED)
        net_port_triggered(port);
    switch (port->node->kind) {
    case NET_HCA:
        if (packet->is_mad)
            net_mad_arrived(port, packet);
        else
            host_receive(port, packet);
        break;
    case NET_SWITCH:
        net_switch_relay(port, packet);
        break;
    case NET_ROUTER:
        net_router_relay(port, packet);
        break;
    case NET_ETHERNET_SWITCH:
        net_ethernet_relay(port, packet);
        break;
    }
}
