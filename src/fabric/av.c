/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/av.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/gid_pair.h"
#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"

/* Enough for every hop a data centre has; 1 would pass on one link and fail across any router. */
#define HOP_LIMIT 64

struct question {
    const struct fabric_port_address *local, *peer;
    struct fabric_path path;
    char *detail;
};

__attribute__((format(printf, 3, 4))) static enum fabric_error
refuse(const struct question *q, enum fabric_error error, const char *format, ...)
{
    assert(error != FABRIC_OK);
    va_list values;
    va_start(values, format);
    if (q->detail)
        vsnprintf(q->detail, FABRIC_AV_DETAIL, format, values);
    va_end(values);
    return error;
}

static const char *link_layer_name(enum fabric_link_layer link_layer)
{
    if (link_layer == FABRIC_LINK_LAYER_INFINIBAND)
        return "InfiniBand";
    return link_layer == FABRIC_LINK_LAYER_ETHERNET ? "Ethernet" : "unknown";
}

static bool is_infiniband(const struct question *q)
{
    return q->local->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
}

static enum fabric_error judge_link_layer(struct question *q)
{
    enum fabric_link_layer here = q->local->link_layer, there = q->peer->link_layer;
    if (here == there &&
        (here == FABRIC_LINK_LAYER_INFINIBAND || here == FABRIC_LINK_LAYER_ETHERNET))
        return FABRIC_OK;
    if (PLANTED(fabric_av_link_layer_unread))
        return FABRIC_OK;
    return refuse(q, ERR_LINK_LAYER_MISMATCH,
                  "our port is %s, the peer's is %s; both must be InfiniBand or both Ethernet",
                  link_layer_name(here), link_layer_name(there));
}

static enum fabric_error judge_link(struct question *q, const struct fabric_port_address *port,
                                    const char *whose)
{
    bool up = is_infiniband(q)
                  ? port->state >= FABRIC_PORT_INIT && port->state <= FABRIC_PORT_ACTIVE
                  : port->state == FABRIC_PORT_ACTIVE;
    if (up || PLANTED(fabric_av_down_port_used))
        return FABRIC_OK;
    return refuse(q, ERR_PORT_DOWN, "%s port %u is in state %s, expected ACTIVE", whose,
                  port->port_num, fabric_port_state_name(port->state));
}

/* The base LID: the low LMC bits belong to the paths (vol. 1, chapter 4.1.3). */
static uint32_t base_lid(const struct fabric_port_address *port)
{
    return port->lid & ~((1u << port->lmc) - 1);
}

static bool has_lid(const struct fabric_port_address *port)
{
    if (PLANTED(fabric_av_no_lid_accepted))
        return true;
    return port->lmc <= 7 && fabric_lid_valid(base_lid(port)) &&
           fabric_lid_valid(base_lid(port) + (1u << port->lmc) - 1);
}

static enum fabric_error judge_lids(struct question *q)
{
    if (!has_lid(q->local))
        return refuse(q, ERR_NO_LID,
                      "our port %u has LID 0x%04x (LMC %u), expected 0x0001 to 0xbfff; the peer's "
                      "LID is 0x%04x",
                      q->local->port_num, q->local->lid, q->local->lmc, q->peer->lid);
    if (!has_lid(q->peer))
        return refuse(q, ERR_PEER_NO_LID,
                      "the peer's port %u has LID 0x%04x (LMC %u), expected 0x0001 to 0xbfff; our "
                      "LID is 0x%04x",
                      q->peer->port_num, q->peer->lid, q->peer->lmc, q->local->lid);
    return FABRIC_OK;
}

static enum fabric_error judge_active(struct question *q, const struct fabric_port_address *port,
                                      const char *whose)
{
    if (port->state == FABRIC_PORT_ACTIVE || PLANTED(fabric_av_not_active_used))
        return FABRIC_OK;
    return refuse(q, ERR_WAITING_FOR_SM,
                  "%s port %u has LID 0x%04x but is in state %s, expected "
                  "ACTIVE",
                  whose, port->port_num, port->lid, fabric_port_state_name(port->state));
}

static enum fabric_error judge_ports(struct question *q)
{
    enum fabric_error error = judge_link(q, q->local, "our");
    if (!error)
        error = judge_link(q, q->peer, "the peer's");
    if (error || !is_infiniband(q))
        return error;
    error = judge_lids(q);
    if (!error)
        error = judge_active(q, q->local, "our");
    if (!error)
        error = judge_active(q, q->peer, "the peer's");
    return error;
}

static enum fabric_error judge_subnet(struct question *q)
{
    if (!is_infiniband(q) || q->local->subnet_prefix == q->peer->subnet_prefix)
        return FABRIC_OK;
    if (PLANTED(fabric_av_other_subnet_reached))
        return FABRIC_OK;
    return refuse(q, ERR_SUBNET_MISMATCH,
                  "our subnet prefix is 0x%016" PRIx64 ", the peer's is 0x%016" PRIx64
                  "; both must be in one subnet (GID 0 of a host may be stale)",
                  q->local->subnet_prefix, q->peer->subnet_prefix);
}

static enum fabric_error judge_pkey(struct question *q)
{
    uint16_t here = q->local->pkey, there = q->peer->pkey;
    if (!is_infiniband(q) && !PLANTED(fabric_av_pkey_on_roce))
        return FABRIC_OK;
    q->path.pkey_index = q->local->pkey_index;
    if (PLANTED(fabric_av_pkey_unread))
        return FABRIC_OK;
    if (fabric_pkey_empty(here) || fabric_pkey_empty(there))
        return refuse(q, ERR_PKEY_EMPTY,
                      "our P_Key at index %u is 0x%04x, the peer's at index %u is 0x%04x; neither "
                      "may be empty",
                      q->local->pkey_index, here, q->peer->pkey_index, there);
    if (!fabric_pkey_same_partition(here, there))
        return refuse(q, ERR_PKEY_MISMATCH,
                      "our P_Key is 0x%04x, the peer's is 0x%04x; the low 15 bits must be equal",
                      here, there);
    if (!fabric_pkey_match(here, there))
        return refuse(q, ERR_PKEY_LIMITED_PAIR,
                      "our P_Key is 0x%04x and the peer's is 0x%04x, both limited; one must be "
                      "full (0x%04x)",
                      here, there, here | FABRIC_PKEY_FULL);
    return FABRIC_OK;
}

static enum fabric_mtu smaller_mtu(enum fabric_mtu a, enum fabric_mtu b)
{
    return a < b ? a : b;
}

/* What a port can take, or 0 when it named something that is no MTU. */
static enum fabric_mtu port_mtu(const struct fabric_port_address *port)
{
    if (!fabric_mtu_bytes(port->mtu) || !fabric_mtu_bytes(port->active_mtu))
        return (enum fabric_mtu)0;
    return smaller_mtu(port->mtu, port->active_mtu);
}

static enum fabric_error judge_mtu(struct question *q)
{
    enum fabric_mtu here = port_mtu(q->local), there = port_mtu(q->peer);
    if (!here || !there)
        return refuse(q, ERR_MTU_MISMATCH,
                      "our MTU codes are %d (active %d), the peer's %d (active %d); expected 1 to "
                      "5 (256 to 4096 bytes)",
                      (int)q->local->mtu, (int)q->local->active_mtu, (int)q->peer->mtu,
                      (int)q->peer->active_mtu);
    q->path.path_mtu = PLANTED(fabric_av_own_mtu) ? here : smaller_mtu(here, there);
    if (here != there)
        q->path.notes |= FABRIC_AV_NOTE_MTU_DIFFERS;
    return FABRIC_OK;
}

static uint8_t smaller(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* An initiator that wants READs needs resources at the responder, and somebody must be able to
 * READ: a block is stored by a READ. */
static enum fabric_error judge_rd_atomic(struct question *q)
{
    const struct fabric_port_address *l = q->local, *p = q->peer;
    uint8_t out = smaller(l->max_rd_atomic, p->max_dest_rd_atomic);
    uint8_t in = smaller(l->max_dest_rd_atomic, p->max_rd_atomic);
    bool refused = (l->max_rd_atomic && !out) || (p->max_rd_atomic && !in) || (!out && !in);
    q->path.max_rd_atomic = PLANTED(fabric_av_own_rd_atomic) ? l->max_rd_atomic : out;
    q->path.max_dest_rd_atomic = PLANTED(fabric_av_own_rd_atomic) ? l->max_dest_rd_atomic : in;
    if (!refused || PLANTED(fabric_av_rd_atomic_zero))
        return FABRIC_OK;
    return refuse(q, ERR_RD_ATOMIC_NONE,
                  "READ resources initiator/responder: ours %u/%u, the peer's %u/%u; a side that "
                  "READs needs 1 or more at both ends",
                  l->max_rd_atomic, l->max_dest_rd_atomic, p->max_rd_atomic, p->max_dest_rd_atomic);
}

static void take_pair(struct question *q, uint8_t local, uint8_t peer)
{
    struct fabric_av *av = &q->path.av;
    assert(local < q->local->gid_count && peer < q->peer->gid_count);
    q->path.local_gid = local;
    q->path.peer_gid = peer;
    av->is_global = true;
    av->grh.dgid = q->peer->gids[peer].gid;
    av->grh.sgid_index = PLANTED(fabric_av_sgid_index_unset) ? 0 : q->local->gids[local].index;
    av->grh.hop_limit = PLANTED(fabric_av_hop_limit_one) ? 1 : HOP_LIMIT;
}

static enum fabric_error choose_roce_pair(struct question *q)
{
    const struct fabric_port_address *l = q->local, *p = q->peer;
    size_t here = fabric_gid_pair_usable(l->gids, l->gid_count);
    size_t there = fabric_gid_pair_usable(p->gids, p->gid_count);
    uint8_t ours, theirs;
    if (here == 0 || there == 0)
        return refuse(q, ERR_GID_NONE,
                      "our port has %zu usable RoCE v2 GIDs of %u, the peer's %zu of %u; both need "
                      "one",
                      here, l->gid_count, there, p->gid_count);
    if (!fabric_gid_pair(l->gids, l->gid_count, p->gids, p->gid_count, &ours, &theirs)) {
        char our_text[FABRIC_GID_TEXT], their_text[FABRIC_GID_TEXT];
        fabric_gid_format(&l->gids[0].gid, our_text);
        fabric_gid_format(&p->gids[0].gid, their_text);
        return refuse(q, ERR_GID_FAMILY_MISMATCH,
                      "our best GID is %s, the peer's %s; expected one family, and link-local only "
                      "with link-local",
                      our_text, their_text);
    }
    take_pair(q, ours, theirs);
    q->path.av.grh.traffic_class = l->traffic_class;
    return FABRIC_OK;
}

/* The first InfiniBand GID in a list, or its length. */
static uint8_t infiniband_gid(const struct fabric_port_address *port)
{
    uint8_t i = 0;
    while (i < port->gid_count && port->gids[i].type != FABRIC_GID_TYPE_IB)
        i++;
    return i;
}

/* A receiver drops what does not agree with its own address vector about the GRH (vol. 1, chapter
 * 9.6.1.5.4), so one port's demand binds both. */
static enum fabric_error choose_infiniband_grh(struct question *q)
{
    bool here = (q->local->flags & FABRIC_PORT_GRH_REQUIRED) != 0;
    bool there = (q->peer->flags & FABRIC_PORT_GRH_REQUIRED) != 0;
    if (!here && (!there || PLANTED(fabric_av_grh_of_peer_ignored)) &&
        !PLANTED(fabric_av_grh_unasked))
        return FABRIC_OK;
    uint8_t ours = infiniband_gid(q->local), theirs = infiniband_gid(q->peer);
    if (ours == q->local->gid_count || theirs == q->peer->gid_count)
        return refuse(q, ERR_GRH_UNAVAILABLE,
                      "a GRH is demanded by our port: %s, by the peer's: %s; InfiniBand GID of our "
                      "port: %s, of the peer's: %s",
                      here ? "yes" : "no", there ? "yes" : "no",
                      ours == q->local->gid_count ? "none" : "known",
                      theirs == q->peer->gid_count ? "none" : "known");
    take_pair(q, ours, theirs);
    if (!here)
        q->path.notes |= FABRIC_AV_NOTE_GRH_BY_PEER;
    if (PLANTED(fabric_av_traffic_class_on_infiniband))
        q->path.av.grh.traffic_class = q->local->traffic_class;
    return FABRIC_OK;
}

/* Spreads pairs of ports over the paths that LMC gives. The exclusive or is the same at both ends,
 * so that our source LID is what the peer's vector has as its destination, and the other way
 * round. */
static uint32_t path_choice(const struct question *q)
{
    uint64_t mixed = q->local->port_guid ^ q->peer->port_guid;
    mixed ^= mixed >> 32;
    mixed ^= mixed >> 16;
    mixed ^= mixed >> 8;
    return (uint32_t)(mixed & 0x7f);
}

static void fill_lids(struct question *q)
{
    struct fabric_av *av = &q->path.av;
    uint32_t choice = path_choice(q);
    uint32_t there = choice & ((1u << q->peer->lmc) - 1);
    av->src_path_bits = (uint8_t)(choice & ((1u << q->local->lmc) - 1));
    if (PLANTED(fabric_av_path_bits_disagree))
        there = 0;
    av->dlid = (uint16_t)(base_lid(q->peer) | there);
}

static enum fabric_error choose_way(struct question *q)
{
    struct fabric_av *av = &q->path.av;
    av->port_num = PLANTED(fabric_av_port_of_peer) ? q->peer->port_num : q->local->port_num;
    av->sl = q->local->sl;
    if (q->local->sl != q->peer->sl)
        q->path.notes |= FABRIC_AV_NOTE_SL_DIFFERS;
    if (!is_infiniband(q))
        return choose_roce_pair(q);
    fill_lids(q);
    return choose_infiniband_grh(q);
}

enum fabric_error fabric_av_build(const struct fabric_port_address *local,
                                  const struct fabric_port_address *peer, struct fabric_path *out,
                                  char *detail)
{
    static enum fabric_error (*const steps[])(struct question *) = {
        judge_link_layer, judge_ports,     judge_subnet, judge_pkey,
        judge_mtu,        judge_rd_atomic, choose_way,
    };
    assert(local && peer && out);
    assert(local->gid_count <= FABRIC_AV_MAX_GIDS && peer->gid_count <= FABRIC_AV_MAX_GIDS);
    assert(local->port_num > 0 && local->sl <= 15);
    struct question q = {.local = local, .peer = peer, .detail = detail};
    if (detail)
        detail[0] = '\0';
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        enum fabric_error error = steps[i](&q);
        if (error)
            return error;
    }
    *out = q.path;
    return FABRIC_OK;
}

enum fabric_error fabric_av_target(const struct fabric_port_address *local, uint8_t *gid,
                                   struct fabric_av *out)
{
    assert(local && gid && out && local->port_num > 0 && local->sl <= 15);
    assert(local->gid_count <= FABRIC_AV_MAX_GIDS);
    bool infiniband = local->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    bool demanded = (local->flags & FABRIC_PORT_GRH_REQUIRED) != 0;
    struct fabric_av av = {.port_num = local->port_num, .sl = local->sl};
    uint8_t chosen = 0;
    if (infiniband && (!demanded || PLANTED(fabric_target_grh_unasked))) {
        *gid = FABRIC_AV_MAX_GIDS;
        *out = av;
        return FABRIC_OK;
    }
    while (chosen < local->gid_count &&
           local->gids[chosen].type != (infiniband ? FABRIC_GID_TYPE_IB : FABRIC_GID_TYPE_ROCE_V2))
        chosen++;
    if (chosen == local->gid_count)
        return infiniband ? ERR_GRH_UNAVAILABLE : ERR_GID_NONE;
    av.is_global = !PLANTED(fabric_target_without_grh);
    av.grh.sgid_index = local->gids[chosen].index;
    av.grh.hop_limit = PLANTED(fabric_target_hop_limit_one) ? 1 : HOP_LIMIT;
    av.grh.traffic_class = infiniband ? 0 : local->traffic_class;
    *gid = chosen;
    *out = av;
    return FABRIC_OK;
}
