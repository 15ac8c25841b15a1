/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow control of one lane (vol. 1, chapter 7.9), lazily: no flow-control packets travel. What
 * their effect would be is a ring of (time, blocks), read by the sender when it is short.
 */
#include "fabric_sim/world/net_state.h"

#include <assert.h>

#include "src/fabric/planted.h"

#define PACKET_MAX_BYTES 4352 /* the largest MTU and all headers */
#define BUFFER_PACKETS 8      /* that a receiver can hold beside what is under way */
#define TURNAROUND 1000       /* ns between a full buffer and the word of its being free */
#define RING_FIRST 16

/* Enough for a full rate over this cable, both ways, and a few packets more. */
static uint64_t lane_capacity(const struct net_port *port)
{
    uint64_t round_trip = 2 * (port->latency + port->fault.delay + port->fault.jitter) + TURNAROUND;
    uint64_t under_way = round_trip * port->rate_mbps / 8000;
    return (2 * under_way + BUFFER_PACKETS * PACKET_MAX_BYTES) / NET_BLOCK;
}

struct net_lane *net_lane_of(struct net_port *port, uint8_t vl)
{
    assert(vl < PORT_VLS);
    if (port->lanes[vl])
        return port->lanes[vl];
    struct net *net = port->node->net;
    struct net_lane *lane = net_memory(net, sizeof(*lane));
    lane->ring_size = RING_FIRST;
    lane->ring = net_memory(net, RING_FIRST * sizeof(*lane->ring));
    lane->capacity = lane_capacity(port);
    lane->credits = lane->capacity;
    port->lanes[vl] = lane;
    return lane;
}

void net_lane_free(struct net *net, struct net_lane *lane)
{
    if (!lane)
        return;
    net_memory_free(net, lane->ring, lane->ring_size * sizeof(*lane->ring));
    net_memory_free(net, lane, sizeof(*lane));
}

void net_lane_reset(struct net_lane *lane)
{
    assert(!lane->first);
    lane->credits = lane->capacity;
    lane->withheld = 0;
    lane->ring_count = 0;
}

void net_lane_resize(struct net_port *port)
{
    uint64_t capacity = lane_capacity(port);
    for (uint8_t vl = 0; vl < NET_VL15; vl++) {
        struct net_lane *lane = port->lanes[vl];
        if (!lane || lane->capacity >= capacity)
            continue;
        lane->credits += capacity - lane->capacity;
        lane->capacity = capacity;
    }
}

static struct net_credit *ring_at(const struct net_lane *lane, uint32_t position)
{
    return &lane->ring[(lane->ring_first + position) & (lane->ring_size - 1)];
}

static void ring_grow(struct net *net, struct net_lane *lane)
{
    uint32_t size = lane->ring_size * 2;
    struct net_credit *ring = net_memory(net, size * sizeof(*ring));
    for (uint32_t i = 0; i < lane->ring_count; i++)
        ring[i] = *ring_at(lane, i);
    net_memory_free(net, lane->ring, lane->ring_size * sizeof(*ring));
    lane->ring = ring;
    lane->ring_first = 0;
    lane->ring_size = size;
    assert((size & (size - 1)) == 0);
}

/* Sorted by time: packets of one buffer leave by different ports, and not in order. */
static void ring_insert(struct net *net, struct net_lane *lane, uint64_t time, uint64_t blocks)
{
    if (lane->ring_count == lane->ring_size)
        ring_grow(net, lane);
    uint32_t at = lane->ring_count++;
    for (; at > 0 && ring_at(lane, at - 1)->time > time; at--)
        *ring_at(lane, at) = *ring_at(lane, at - 1);
    *ring_at(lane, at) = (struct net_credit){time, blocks};
}

void net_credit_collect(struct net_lane *lane, uint64_t now)
{
    while (lane->ring_count > 0 && ring_at(lane, 0)->time <= now) {
        lane->credits += ring_at(lane, 0)->blocks;
        lane->ring_first = (lane->ring_first + 1) & (lane->ring_size - 1);
        lane->ring_count--;
    }
    assert(lane->credits <= lane->capacity);
}

uint64_t net_credit_time(const struct net_lane *lane, uint64_t blocks, uint64_t now)
{
    uint64_t credits = lane->credits;
    if (credits >= blocks || PLANTED(world_credit_unlimited))
        return now;
    for (uint32_t i = 0; i < lane->ring_count; i++) {
        credits += ring_at(lane, i)->blocks;
        if (credits >= blocks)
            return ring_at(lane, i)->time > now ? ring_at(lane, i)->time : now;
    }
    return NET_NEVER;
}

static void give_back(struct net_port *sender, uint8_t vl, uint64_t time, uint64_t blocks)
{
    struct net_lane *lane = net_lane_of(sender, vl);
    ring_insert(sender->node->net, lane, time, blocks);
    if (sender->queued & 1u << vl)
        net_wake_at(sender, time);
}

void net_release(struct packet *packet, uint64_t time)
{
    struct net_port *hold = packet->hold;
    packet->hold = NULL;
    if (!hold || hold->link_epoch != packet->link_epoch)
        return; /* after the link was down, both ends count anew */
    struct net_port *sender = hold->peer;
    struct net_lane *lane = net_lane_of(sender, packet->hold_vl);
    assert(sender && packet->hold_blocks > 0);
    if (lane->stalled)
        lane->withheld += packet->hold_blocks;
    else if (!PLANTED(world_credit_not_returned))
        give_back(sender, packet->hold_vl, time + hold->latency, packet->hold_blocks);
}

void net_lane_stats(const struct net_port *port, uint8_t vl, struct net_lane_stats *out)
{
    assert(vl < NET_VL15);
    struct net_lane *lane = port->lanes[vl];
    *out = (struct net_lane_stats){0};
    if (!lane)
        return;
    net_credit_collect(lane, net_now(port));
    *out = (struct net_lane_stats){
        .packets = lane->packets,
        .waited = lane->waited,
        .expired = lane->expired,
        .credits = lane->credits,
        .queued = lane->length,
    };
}

void net_lane_set_stalled(struct net_port *receiver, uint8_t vl, bool stalled)
{
    struct net_port *sender = receiver->peer;
    assert(sender && vl < NET_VL15);
    struct net_lane *lane = net_lane_of(sender, vl);
    lane->stalled = stalled;
    sender->node->net->way_epoch++;
    if (stalled || lane->withheld == 0)
        return;
    uint64_t blocks = lane->withheld;
    lane->withheld = 0;
    give_back(sender, vl, net_now(sender) + receiver->latency, blocks);
}
