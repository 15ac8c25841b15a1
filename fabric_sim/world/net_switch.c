/* SPDX-License-Identifier: Apache-2.0 */
/* An InfiniBand switch (vol. 1, chapter 18): which port, which lane, and who may pass. */
#include "fabric_sim/world/net_state.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"

#define LID_MULTICAST 0xC000
#define LID_PERMISSIVE 0xFFFF
#define LFT_STEP 64u /* entries of one block of the table, as it is managed */

void net_switch_set_latency(struct net_node *sw, uint64_t latency)
{
    assert(sw->kind != NET_HCA);
    sw->latency = latency;
    for (uint8_t num = 1; num <= sw->port_count; num++) {
        struct net_port *peer = sw->ports[num].peer;
        if (peer)
            peer->pass_latency = peer->latency + latency;
    }
}

void net_switch_set_hoq_life(struct net_node *sw, uint64_t life)
{
    assert(life > 0);
    sw->hoq_life = life;
}

/* ------------------------------------------------------------------ tables */

uint8_t net_lft_get(const struct net_node *sw, uint16_t lid)
{
    return lid < sw->lft_size ? sw->lft[lid] : NET_PORT_NONE;
}

void net_lft_set(struct net_node *sw, uint16_t lid, uint8_t port_num)
{
    assert(lid < NET_LFT_SIZE);
    if (lid >= sw->lft_size) {
        if (port_num == NET_PORT_NONE)
            return;
        uint32_t size = (lid / LFT_STEP + 1) * LFT_STEP;
        if (size < sw->lft_size * 2)
            size = sw->lft_size * 2;
        sw->lft = net_memory_grow(sw->net, sw->lft, sw->lft_size, size);
        memset(sw->lft + sw->lft_size, NET_PORT_NONE, size - sw->lft_size);
        sw->lft_size = size;
    }
    sw->lft[lid] = port_num;
    sw->net->way_epoch++;
}

void net_lft_set_top(struct net_node *sw, uint16_t top)
{
    assert(sw->kind == NET_SWITCH);
    sw->lft_top = top;
    sw->net->way_epoch++;
}

uint8_t net_lft_forwards(const struct net_node *sw, uint16_t lid)
{
    if (lid > sw->lft_top && !PLANTED(world_lft_top_ignored))
        return NET_PORT_NONE;
    return net_lft_get(sw, lid);
}

/* The first entry whose MLID is not lower. */
static size_t mft_place(const struct net_node *sw, uint16_t mlid)
{
    size_t low = 0, high = sw->mft_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sw->mft[middle].mlid < mlid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct net_mft_entry *mft_find(const struct net_node *sw, uint16_t mlid)
{
    size_t at = mft_place(sw, mlid);
    return at < sw->mft_count && sw->mft[at].mlid == mlid ? &sw->mft[at] : NULL;
}

uint16_t net_mft_get(const struct net_node *sw, uint16_t mlid, uint8_t position)
{
    assert(position < NET_MFT_POSITIONS);
    const struct net_mft_entry *entry = mft_find(sw, mlid);
    return entry ? entry->masks[position] : 0;
}

static struct net_mft_entry *mft_insert(struct net_node *sw, uint16_t mlid)
{
    size_t at = mft_place(sw, mlid), size = sizeof(*sw->mft);
    assert(at <= sw->mft_count);
    if (sw->mft_count == sw->mft_capacity) {
        size_t old = sw->mft_capacity, capacity = old ? old * 2 : 4;
        sw->mft = net_memory_grow(sw->net, sw->mft, old * size, capacity * size);
        sw->mft_capacity = capacity;
    }
    memmove(&sw->mft[at + 1], &sw->mft[at], (sw->mft_count - at) * size);
    sw->mft_count++;
    sw->mft[at] = (struct net_mft_entry){.mlid = mlid};
    return &sw->mft[at];
}

void net_mft_set(struct net_node *sw, uint16_t mlid, uint8_t position, uint16_t mask)
{
    assert(mlid >= LID_MULTICAST && mlid < LID_PERMISSIVE && position < NET_MFT_POSITIONS);
    size_t at = mft_place(sw, mlid);
    bool known = at < sw->mft_count && sw->mft[at].mlid == mlid;
    if (!known && mask == 0)
        return;
    struct net_mft_entry *entry = known ? &sw->mft[at] : mft_insert(sw, mlid);
    entry->masks[position] = mask;
}

void net_sl_map_set(struct net_port *out, uint8_t in_port, const uint8_t sl_to_vl[PORT_SLS])
{
    struct net_node *node = out->node;
    size_t count = (size_t)node->port_count + 1;
    assert(in_port <= node->port_count);
    if (!out->sl_maps) {
        out->sl_maps = net_memory(node->net, count * sizeof(*out->sl_maps));
        for (size_t i = 0; i < count; i++)
            memset(out->sl_maps[i], NET_PORT_NONE, PORT_SLS);
    }
    memcpy(out->sl_maps[in_port], sl_to_vl, PORT_SLS);
    node->net->way_epoch++;
}

uint8_t net_sl_map_get(const struct net_port *out, uint8_t in_port, uint8_t sl)
{
    assert(sl < PORT_SLS && in_port <= out->node->port_count);
    if (PLANTED(world_sl_ignored))
        return 0;
    if (out->sl_maps && out->sl_maps[in_port][sl] != NET_PORT_NONE)
        return out->sl_maps[in_port][sl];
    return net_sl_to_vl(out, sl);
}

/* ------------------------------------------------------------------ partitions */

static bool has_pkey(const struct port_info *info, uint16_t pkey)
{
    for (uint16_t i = 0; i < info->pkey_count && i < PORT_PKEYS; i++)
        if (fabric_pkey_match(info->pkeys[i], pkey))
            return true;
    return false;
}

/* Subnet management carries no P_Key that counts (vol. 1, chapter 10.9.8). */
static bool pkey_passes(struct net_port *port, bool enforces, struct packet *packet,
                        uint64_t *counter)
{
    if (!enforces || packet->vl == NET_VL15 || has_pkey(port->info, packet->pkey) ||
        PLANTED(world_pkey_not_enforced))
        return true;
    struct net *net = port->node->net;
    if (net->pkey_handler)
        net->pkey_handler(net->pkey_context, port, packet);
    net_discard(port, packet, counter, "pkey");
    return false;
}

/* ------------------------------------------------------------------ forwarding */

/* Sends on one packet; the lane is that of its SL here, not the one it came by. */
static void leave(struct net_port *in, struct net_port *out, struct packet *packet)
{
    struct port_info *info = out->info;
    uint8_t vl = packet->vl == NET_VL15 ? NET_VL15 : net_sl_map_get(out, in->num, packet->sl);
    if (vl >= NET_VL15 && packet->vl != NET_VL15) {
        net_discard(out, packet, &info->counters.xmit_discards, "sl");
        return;
    }
    if (!net_may_leave(out, vl, packet))
        return;
    if (!pkey_passes(out, info->partition_enforce_out, packet,
                     &info->counters.xmit_constraint_errors))
        return;
    if (vl == NET_VL15 && out->lanes[vl] && out->lanes[vl]->length >= NET_VL15_QUEUE)
        net_discard(out, packet, &info->counters.vl15_dropped, "vl15");
    else
        net_transmit_or_queue(out, vl, packet);
}

static void relay_error(struct net_port *in, struct packet *packet, const char *reason)
{
    net_discard(in, packet, &in->info->counters.rcv_switch_relay_errors, reason);
}

/* Every copy but the original is free of the buffer that the packet came into. */
static void relay_multicast(struct net_port *in, struct packet *packet)
{
    struct net_node *sw = in->node;
    const struct net_mft_entry *entry = mft_find(sw, packet->dlid);
    struct net_port *last = NULL;
    for (uint8_t num = 1; entry && num <= sw->port_count; num++) {
        bool member = entry->masks[num / 16] & 1u << num % 16;
        if (!member || (num == in->num && !PLANTED(world_multicast_returns)))
            continue;
        if (last)
            leave(in, last, net_clone(sw->net, packet));
        last = &sw->ports[num];
    }
    if (last)
        leave(in, last, packet);
    else
        relay_error(in, packet, "mlid");
}

static bool is_own_lid(const struct net_node *sw, uint16_t lid)
{
    const struct port_info *info = sw->ports[0].info;
    return info->lid != 0 && lid >> info->lmc == info->lid >> info->lmc;
}

void net_switch_relay(struct net_port *in, struct packet *packet)
{
    struct net_node *sw = in->node;
    assert(sw->kind == NET_SWITCH);
    if (packet->is_mad && (packet->dlid == LID_PERMISSIVE || is_own_lid(sw, packet->dlid))) {
        net_mad_arrived(in, packet);
        return;
    }
    if (!pkey_passes(in, in->info->partition_enforce_in, packet,
                     &in->info->counters.rcv_constraint_errors))
        return;
    if (packet->dlid >= LID_MULTICAST && packet->dlid != LID_PERMISSIVE) {
        relay_multicast(in, packet);
        return;
    }
    uint8_t num = net_lft_forwards(sw, packet->dlid);
    if (num == NET_PORT_NONE && PLANTED(world_lft_unset_forwards))
        num = sw->port_count;
    if (num == 0 || num > sw->port_count)
        relay_error(in, packet, "lft");
    else if (num == in->num && !PLANTED(world_packet_returns))
        relay_error(in, packet, "back");
    else
        leave(in, &sw->ports[num], packet);
}
