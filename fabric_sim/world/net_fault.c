/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong on a wire, one direction at a time. */
#include "fabric_sim/world/net_state.h"

#include <assert.h>

#include "src/fabric/planted.h"

#define MILLION 1000000u
#define OVERTAKEN_BY_MAX 8 /* packet times that a reordered packet is late, at most */

/* Without a fault the wire is exact again only when nothing delayed is still on it. */
static bool any(const struct net_fault *fault)
{
    return fault->delay || fault->jitter || fault->loss || fault->reorder || fault->duplicate ||
           fault->cut;
}

static bool swallows(struct sim *sim, const struct net_fault *fault)
{
    if (fault->cut)
        return true;
    return fault->loss && sim_chance(sim, fault->loss) && !PLANTED(world_loss_ignored);
}

/* A packet that is late lets others pass and does not move the time before which they arrive. */
static uint64_t arrival_time(struct net_port *from, uint64_t arrival)
{
    struct sim *sim = from->node->net->sim;
    struct net_fault *fault = &from->fault;
    arrival += fault->delay;
    if (fault->jitter)
        arrival += sim_random_below(sim, fault->jitter + 1);
    if (arrival < fault->last_arrival && !PLANTED(world_jitter_overtakes))
        arrival = fault->last_arrival;
    if (fault->reorder && sim_chance(sim, fault->reorder) && !PLANTED(world_reorder_never)) {
        uint64_t times = sim_random_between(sim, 1, OVERTAKEN_BY_MAX);
        return arrival + times * (from->cached_ns + from->latency);
    }
    fault->last_arrival = arrival;
    return arrival;
}

void net_fly_faulty(struct net_port *from, struct packet *packet, uint64_t arrival)
{
    struct net *net = from->node->net;
    struct net_fault *fault = &from->fault;
    assert(from->faulty && arrival >= net_now(from));
    if (!any(fault) && arrival >= fault->last_arrival)
        from->faulty = false;
    if (swallows(net->sim, fault)) {
        net->losses++;
        SIM_TRACE(net->sim, from->node->name, "port %u lost psn %u", (unsigned)from->num,
                  (unsigned)packet->psn);
        net_release(packet, arrival);
        net_free(net, packet);
        return;
    }
    arrival = arrival_time(from, arrival);
    net_fly(from, packet, arrival);
    if (fault->duplicate && sim_chance(net->sim, fault->duplicate) &&
        !PLANTED(world_duplicate_ignored))
        net_fly(from, net_clone(net, packet), arrival);
}

bool net_fault_is_over(const struct net_port *port)
{
    return !any(&port->fault) && net_now(port) >= port->fault.last_arrival;
}

/* The fault of one direction, with the part of it that is about to change. */
static struct net_fault *fault_of(struct net_port *from)
{
    assert(from->peer && from->peer->peer == from);
    from->faulty = true;
    from->node->net->way_epoch++;
    if (PLANTED(world_cut_both_ways))
        from->peer->faulty = true;
    return &from->fault;
}

void net_link_set_loss(struct net_port *from, uint32_t ppm)
{
    assert(ppm <= MILLION);
    fault_of(from)->loss = ppm;
}

void net_link_set_cut(struct net_port *from, bool cut)
{
    fault_of(from)->cut = cut;
    if (PLANTED(world_cut_both_ways))
        from->peer->fault.cut = cut;
}

void net_link_set_delay(struct net_port *from, uint64_t extra, uint64_t jitter)
{
    struct net_fault *fault = fault_of(from);
    fault->delay = extra;
    fault->jitter = jitter;
    net_lane_resize(from);
}

void net_link_set_reorder(struct net_port *from, uint32_t ppm)
{
    assert(ppm <= MILLION);
    fault_of(from)->reorder = ppm;
}

void net_link_set_duplicate(struct net_port *from, uint32_t ppm)
{
    assert(ppm <= MILLION);
    fault_of(from)->duplicate = ppm;
}
