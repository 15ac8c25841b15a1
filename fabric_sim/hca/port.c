/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ports of a device. Queue pairs with something to send take turns per lane, one packet each
 * (HA-2.9); a packet without credit waits and its lane with it.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "fabric_sim/hca/header.h"
#include "src/fabric/planted.h"

#define LOOPBACK_DELAY 500 /* ns, a packet to a queue pair of the same port */

struct hca_port *port_of(struct hca *hca, uint8_t port_num)
{
    assert(port_num >= 1 && port_num <= hca->state.device->port_count);
    return &hca->ports[port_num - 1];
}

/* ------------------------------------------------------------------ trace */

void packet_trace(struct hca *hca, const char *what, const struct packet *packet,
                  const char *reason)
{
    const struct rules_opcode *op = rules_opcode(packet->opcode);
    SIM_TRACE(hca->sim, hca->label,
              "%s %s_%s slid=%u dlid=%u sl=%u vl=%u dqpn=0x%06x psn=%u pkey=0x%04x len=%u%s%s%s",
              what, rules_transport_name(packet->opcode), op->name, (unsigned)packet->slid,
              (unsigned)packet->dlid, (unsigned)packet->sl, (unsigned)packet->vl,
              (unsigned)packet->dest_qp, (unsigned)packet->psn, (unsigned)packet->pkey,
              (unsigned)packet->payload_length, packet->is_global ? " grh" : "",
              reason ? " reason=" : "", reason ? reason : "");
}

void packet_drop(struct hca *hca, struct packet *packet, const char *reason)
{
    if (sim_trace_on(hca->sim))
        packet_trace(hca, "drop", packet, reason);
    net_free(hca->net, packet);
}

/* ------------------------------------------------------------------ building */

void packet_finish(const struct hca_port *port, struct packet *packet)
{
    packet->wire_bytes =
        header_wire_bytes(packet, port->info->link_layer == FABRIC_LINK_LAYER_ETHERNET);
}

/* Attributes of the port are read for each packet, so that a change acts at once. */
struct packet *context_packet(struct qp_context *ctx, uint8_t operation, uint32_t psn)
{
    struct hca *hca = ctx->hca;
    struct hca_port *port = port_of(hca, ctx->path->port_num);
    struct packet *packet = net_alloc(hca->net);
    header_fill(packet, port->info, ctx->qp, ctx->path, operation, psn);
    if (ctx->path->transport == BTH_DC) {
        packet->dc_key = ctx->req->dc_key;
        packet->qkey = (uint32_t)(ctx->dcr ? ctx->dcr->connection : ctx->req->connection);
    }
    return packet;
}

/* ------------------------------------------------------------------ sending */

static void receive_and_answer(struct hca_port *port, struct packet *packet);

static void loop_due(void *object, uint64_t unused)
{
    (void)unused;
    struct hca_port *port = object;
    struct packet *packet = port->loop_head;
    assert(packet && packet->waiting_since <= sim_now(port->hca->sim));
    port->loop_head = packet->next;
    packet->next = NULL;
    port->loop = port->loop_head
                     ? sim_at(port->hca->sim, port->loop_head->waiting_since, loop_due, port, 0)
                     : 0;
    receive_and_answer(port, packet);
}

/* The net never sees the packet, so its own member is free to hold the time of arrival. */
static void loop_back(struct hca_port *port, struct packet *packet)
{
    packet->waiting_since = sim_now(port->hca->sim) + LOOPBACK_DELAY;
    packet->next = NULL;
    if (port->loop_head)
        port->loop_tail->next = packet;
    else
        port->loop_head = packet;
    port->loop_tail = packet;
    if (!port->loop)
        port->loop = sim_at(port->hca->sim, packet->waiting_since, loop_due, port, 0);
}

/* With its lane chosen. False: no credit; the packet stays the caller's. */
static bool port_resend(struct hca_port *port, struct packet *packet)
{
    if (!sim_trace_on(port->hca->sim))
        return net_send(port->net_port, packet);
    struct packet header = *packet; /* the net owns the packet once it was sent */
    if (!net_send(port->net_port, packet))
        return false;
    packet_trace(port->hca, "tx", &header, NULL);
    return true;
}

/* False: no credit; the packet stays the caller's. */
static bool port_send(struct hca_port *port, struct packet *packet)
{
    struct hca *hca = port->hca;
    packet->vl = net_sl_to_vl(port->net_port, packet->sl);
    if (PLANTED(hca_sl_without_lane_sent) && packet->vl >= 15)
        packet->vl = 0;
    if (packet->vl >= 15) { /* chapter 7.6.6: the SL may not be used here */
        port->info->counters.xmit_discards++;
        packet_drop(hca, packet, "SL not mapped");
        return true;
    }
    if (header_loops_back(port->info, packet)) {
        if (sim_trace_on(hca->sim))
            packet_trace(hca, "tx", packet, "loopback");
        loop_back(port, packet);
        return true;
    }
    return port_resend(port, packet);
}

/* The lane of the next packet: UD and DC initiators name an SL per request. */
static uint8_t lane_of(struct qp_context *ctx, const struct hca_port *port)
{
    uint8_t sl = ctx->path->av.sl;
    bool per_request =
        ctx->qp->type == HCA_QP_UD || (ctx->qp->type == HCA_QP_DCI && !ctx->req->connected);
    if (per_request && ctx->req->tx != ctx->qp->sq_head)
        sl = send_ring_at(&ctx->hca->state.arena, ctx->qp, ctx->req->tx)->av.sl;
    uint8_t vl = net_sl_to_vl(port->net_port, sl);
    return vl < 15 ? vl : 0; /* what has no lane is dropped on the way out, in turn */
}

static void lane_append(struct hca_port *port, struct qp_context *ctx, uint8_t vl)
{
    struct lane *lane = &port->lanes[vl];
    assert(!ctx->queued);
    ctx->queued = true;
    ctx->lane = vl;
    ctx->next_ready = NULL;
    if (lane->tail)
        lane->tail->next_ready = ctx;
    else
        lane->head = ctx;
    lane->tail = ctx;
    port->ready |= (uint16_t)(1u << vl);
}

static struct qp_context *lane_pop(struct hca_port *port, uint8_t vl)
{
    struct lane *lane = &port->lanes[vl];
    struct qp_context *ctx = lane->head;
    assert(ctx->queued);
    lane->head = ctx->next_ready;
    if (!lane->head) {
        lane->tail = NULL;
        port->ready &= (uint16_t) ~(1u << vl);
    }
    ctx->queued = false;
    ctx->next_ready = NULL;
    return ctx;
}

void context_unqueue(struct qp_context *ctx)
{
    if (!ctx->queued)
        return;
    struct lane *lane = &port_of(ctx->hca, ctx->path->port_num)->lanes[ctx->lane];
    struct qp_context *before = NULL;
    for (struct qp_context *at = lane->head; at != ctx; at = at->next_ready)
        before = at;
    if (before)
        before->next_ready = ctx->next_ready;
    else
        lane->head = ctx->next_ready;
    if (lane->tail == ctx)
        lane->tail = before;
    if (!lane->head)
        port_of(ctx->hca, ctx->path->port_num)->ready &= (uint16_t) ~(1u << ctx->lane);
    ctx->queued = false;
    ctx->next_ready = NULL;
}

static struct packet *context_next(struct qp_context *ctx)
{
    if (ctx->qp->type == HCA_QP_UD)
        return ud_next(ctx);
    if (ctx->qp->type == HCA_QP_UC)
        return uc_next(ctx);
    struct packet *packet = responder_next(ctx);
    if (packet || ctx->dcr)
        return packet;
    return requester_next(ctx);
}

static void lane_run(struct hca_port *port, uint8_t vl)
{
    struct lane *lane = &port->lanes[vl];
    if (lane->stalled && !port_resend(port, lane->stalled))
        return;
    lane->stalled = NULL;
    while (lane->head) {
        struct qp_context *ctx = lane_pop(port, vl);
        uint8_t now = lane_of(ctx, port);
        if (now != vl) {
            lane_append(port, ctx, now);
            continue;
        }
        struct packet *packet = context_next(ctx);
        if (!packet)
            continue;
        if (!ctx->queued)
            lane_append(port, ctx, vl);
        if (!port_send(port, packet)) {
            lane->stalled = packet;
            return;
        }
    }
}

/* Until no lane has work, or each that has waits for credit. A turn may move a queue pair to
 * another lane, hence the rounds. */
static void port_run(struct hca_port *port)
{
    unsigned waiting = 0;
    while (port->ready & ~waiting) {
        uint8_t vl = (uint8_t)__builtin_ctz(port->ready & ~waiting);
        if (!port->lanes[vl].stalled)
            lane_run(port, vl);
        if (port->lanes[vl].stalled)
            waiting |= 1u << vl;
    }
}

static void kick_due(void *object, uint64_t unused)
{
    (void)unused;
    struct hca_port *port = object;
    port->kick = 0;
    port_run(port);
}

void context_ready(struct qp_context *ctx)
{
    if (ctx->queued || ctx->path->port_num == 0)
        return;
    struct hca_port *port = port_of(ctx->hca, ctx->path->port_num);
    lane_append(port, ctx, lane_of(ctx, port));
    if (!port->kick && !port->running)
        port->kick = sim_in(ctx->hca->sim, 0, kick_due, port, 0);
}

void port_can_send(void *context, struct net_port *net_port, uint8_t vl)
{
    struct hca_port *port = port_of(context, net_port_num(net_port));
    if (vl < 15)
        lane_run(port, vl);
}

/* What the packet gives rise to goes out in this very event. */
static void receive_and_answer(struct hca_port *port, struct packet *packet)
{
    assert(!port->running);
    port->running = true;
    receive_packet(port->hca, port, packet);
    port->running = false;
    if (!port->kick)
        port_run(port);
}

void port_receive(void *context, struct net_port *net_port, struct packet *packet)
{
    receive_and_answer(port_of(context, net_port_num(net_port)), packet);
}

void port_close(struct hca_port *port)
{
    if (port->kick)
        sim_cancel(port->hca->sim, port->kick);
    if (port->loop)
        sim_cancel(port->hca->sim, port->loop);
    while (port->loop_head) {
        struct packet *packet = port->loop_head;
        port->loop_head = packet->next;
        net_free(port->hca->net, packet);
    }
    for (uint8_t vl = 0; vl < PORT_VLS; vl++) {
        if (port->lanes[vl].stalled)
            net_free(port->hca->net, port->lanes[vl].stalled);
        port->lanes[vl].stalled = NULL;
    }
}
