/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The responder (chapters 9.7.4, 9.7.5, 9.9.3): executes requests in PSN order, answers each by an
 * acknowledgement, which may stand for earlier ones too, or by responses.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "fabric_sim/hca/completion.h"
#include "src/fabric/planted.h"

void responder_reset(struct qp_context *ctx)
{
    struct responder *rsp = ctx->rsp;
    landing_abandon(ctx);
    resources_drop(ctx);
    memset(rsp, 0, sizeof(*rsp));
    rsp->epsn = ctx->qp->attr.rq_psn;
    rsp->previous = RESPONDER_NO_OPCODE;
}

void responder_ack(struct qp_context *ctx, uint32_t psn)
{
    struct responder *rsp = ctx->rsp;
    if (rsp->ack == ACK_NAK)
        return;
    rsp->ack = ACK_ACK; /* replaces one not yet sent: coalescing, chapter 9.7.5.1.2 */
    rsp->ack_psn = psn;
    rsp->ack_syndrome = RULES_ACK;
    context_ready(ctx);
}

static void send_nak(struct qp_context *ctx, uint8_t syndrome)
{
    struct responder *rsp = ctx->rsp;
    rsp->ack = ACK_NAK;
    rsp->ack_psn = rsp->epsn;
    rsp->ack_syndrome = syndrome;
    rsp->nak_sent = true;
    context_ready(ctx);
}

/* Chapter 9.9.3.1: the queue pair ends, but what was executed before is answered first. */
void responder_nak(struct qp_context *ctx, enum rules_nak nak)
{
    assert(nak != RULES_NAK_PSN_SEQUENCE);
    landing_abandon(ctx);
    send_nak(ctx, (uint8_t)(RULES_NAK | (uint8_t)nak));
    ctx->rsp->fatal = true;
}

/* After the NAK left: the affiliated event of chapter 11.6.3.1 and the error state. A DC target
 * lives on, only the responder for that initiator is gone. */
static void end_after_nak(struct qp_context *ctx, uint8_t syndrome)
{
    enum rules_nak nak = syndrome & 0x1f;
    if (ctx->dcr) {
        ctx->dcr->closed = true;
        resources_drop(ctx);
        if (ctx->rsp->has_recv)
            qp_flush_recvs(ctx);
        return;
    }
    if (nak == RULES_NAK_REMOTE_ACCESS && !PLANTED(hca_access_error_untold))
        event_qp(ctx, FABRIC_ASYNC_QP_ACCESS_ERR);
    else if (nak == RULES_NAK_INVALID_REQUEST && !ctx->rsp->recv_failed)
        event_qp(ctx, FABRIC_ASYNC_QP_REQ_ERR);
    qp_enter_error(ctx);
}

static struct packet *build_ack(struct qp_context *ctx)
{
    struct responder *rsp = ctx->rsp;
    bool nak = rsp->ack == ACK_NAK;
    uint8_t syndrome = rsp->ack_syndrome;
    rsp->ack = ACK_NONE;
    struct packet *packet = context_packet(ctx, BTH_ACKNOWLEDGE, rsp->ack_psn);
    packet->syndrome = syndrome;
    packet->msn = rsp->msn;
    packet_finish(port_of(ctx->hca, ctx->path->port_num), packet);
    if (nak && rsp->fatal)
        end_after_nak(ctx, syndrome);
    return packet;
}

struct packet *responder_next(struct qp_context *ctx)
{
    struct responder *rsp = ctx->rsp;
    if (ctx->qp->state < FABRIC_QPS_RTR || ctx->qp->state == FABRIC_QPS_ERR || rsp->silent ||
        (ctx->dcr && ctx->dcr->closed))
        return NULL;
    if (rsp->pending) {
        struct packet *packet = resource_next(ctx);
        if (packet || rsp->silent)
            return packet;
    }
    return rsp->ack == ACK_NONE ? NULL : build_ack(ctx);
}

/* ------------------------------------------------------------------ executing */

/* A receive for the message under way; without one the sender is told to wait (RNR NAK). */
static bool need_recv(struct qp_context *ctx)
{
    struct responder *rsp = ctx->rsp;
    if (rsp->has_recv)
        return true;
    if (qp_take_recv(ctx, &rsp->recv)) {
        rsp->has_recv = true;
        rsp->recv_offset = 0;
        return true;
    }
    send_nak(ctx, (uint8_t)(RULES_RNR_NAK | ctx->qp->attr.min_rnr_timer));
    return false;
}

/* The receive itself was wrong: it completes with the error, the sender gets the NAK. */
static void recv_error(struct qp_context *ctx, enum fabric_wc_status status, enum rules_nak nak)
{
    struct responder *rsp = ctx->rsp;
    assert(rsp->has_recv && status != FABRIC_WC_SUCCESS);
    struct hca_wc wc = {.status = (uint8_t)status};
    cq_push_recv(ctx, &rsp->recv, &wc, false);
    rsp->has_recv = false;
    rsp->recv_failed = true;
    responder_nak(ctx, nak);
}

void responder_complete_recv(struct qp_context *ctx, const struct packet *packet, bool write)
{
    struct responder *rsp = ctx->rsp;
    struct hca_wc wc =
        completion_of_message(packet, write, write ? rsp->write_length : rsp->recv_offset);
    rsp->has_recv = false;
    cq_push_recv(ctx, &rsp->recv, &wc, packet->solicited);
}

static bool execute_send(struct qp_context *ctx, const struct packet *packet,
                         const struct rules_opcode *op)
{
    struct responder *rsp = ctx->rsp;
    if (!need_recv(ctx))
        return false;
    if (packet->payload_length > rsp->recv.length - rsp->recv_offset) {
        recv_error(ctx, FABRIC_WC_LOC_LEN_ERR, RULES_NAK_INVALID_REQUEST);
        return false;
    }
    if (packet->payload_length &&
        !memory_scatter(ctx, rsp->recv.sges, rsp->recv.sge_count, rsp->recv_offset,
                        packet->payload->bytes + packet->payload_offset, packet->payload_length)) {
        recv_error(ctx, FABRIC_WC_LOC_PROT_ERR, RULES_NAK_REMOTE_OPERATION);
        return false;
    }
    rsp->recv_offset += packet->payload_length;
    if (op->ieth && !window_invalidate(ctx, packet->rkey)) {
        recv_error(ctx, FABRIC_WC_REM_INV_REQ_ERR, RULES_NAK_REMOTE_ACCESS);
        return false;
    }
    if (op->place & RULES_LAST)
        responder_complete_recv(ctx, packet, false);
    return true;
}

/* Chapter 9.7.4.1.5: rights of the queue pair, then of the key. Nothing is checked for an empty
 * one. */
bool responder_write_allowed(struct qp_context *ctx, const struct packet *packet)
{
    if (packet->dma_length == 0)
        return true;
    bool granted = (ctx->qp->attr.access & HCA_ACCESS_REMOTE_WRITE) != 0;
    return (granted || PLANTED(hca_qp_access_unchecked)) &&
           key_remote(ctx, packet->rkey, packet->va, packet->dma_length, HCA_ACCESS_REMOTE_WRITE);
}

void responder_write_begin(struct qp_context *ctx, const struct packet *packet)
{
    struct responder *rsp = ctx->rsp;
    rsp->rkey = packet->rkey;
    ctx->write_key = packet->dma_length ? state_key(&ctx->hca->state, packet->rkey) : NULL;
    rsp->write_va = packet->va;
    rsp->write_left = rsp->write_length = packet->dma_length;
    landing_begin(ctx);
}

/* Takes the packet when it returns true. */
static bool execute_write(struct qp_context *ctx, struct packet *packet,
                          const struct rules_opcode *op)
{
    struct responder *rsp = ctx->rsp;
    bool last = (op->place & RULES_LAST) != 0;
    if (op->place & RULES_FIRST) {
        if (!responder_write_allowed(ctx, packet)) {
            responder_nak(ctx, RULES_NAK_REMOTE_ACCESS);
            return false;
        }
        responder_write_begin(ctx, packet);
    }
    uint32_t length = packet->payload_length;
    if (last ? length != rsp->write_left : length > rsp->write_left) {
        responder_nak(ctx, RULES_NAK_INVALID_REQUEST);
        return false;
    }
    /* The key may have been taken back since the first packet. */
    if (length && !key_lives(ctx->write_key, rsp->rkey) && !PLANTED(hca_key_checked_once) &&
        !PLANTED(hca_stale_key)) {
        responder_nak(ctx, RULES_NAK_REMOTE_ACCESS);
        return false;
    }
    if (op->imm && !need_recv(ctx))
        return false;
    assert(length <= rsp->write_left);
    rsp->write_left -= length;
    if (op->imm) {
        struct packet header = *packet;
        landing_packet(ctx, packet);
        landing_end(ctx);
        responder_complete_recv(ctx, &header, true);
        return true;
    }
    landing_packet(ctx, packet);
    if (last)
        landing_end(ctx);
    return true;
}

void responder_comm_established(struct qp_context *ctx)
{
    if (ctx->rsp->comm_est)
        return;
    ctx->rsp->comm_est = true;
    if (ctx->qp->state == FABRIC_QPS_RTR && !ctx->dcr && !PLANTED(hca_comm_est_untold))
        event_qp(ctx, FABRIC_ASYNC_COMM_EST); /* chapter 11.6.3.1 */
}

static void execute(struct qp_context *ctx, struct packet *packet, const struct rules_opcode *op)
{
    struct responder *rsp = ctx->rsp;
    bool ack_request = packet->ack_request;
    uint8_t operation = packet->opcode & 0x1f;
    uint32_t psn = packet->psn;
    bool done;
    if (op->kind == RULES_SEND) {
        done = execute_send(ctx, packet, op);
        net_free(ctx->hca->net, packet);
    } else {
        done = execute_write(ctx, packet, op);
        if (!done)
            net_free(ctx->hca->net, packet);
    }
    if (!done)
        return;
    rsp->epsn = rules_psn_add(psn, 1);
    rsp->position++;
    bool last = (op->place & RULES_LAST) != 0;
    rsp->previous = last ? RESPONDER_NO_OPCODE : operation;
    if (last)
        rsp->msn = rules_psn_add(rsp->msn, 1);
    if (ack_request && !PLANTED(hca_ack_unsent))
        responder_ack(ctx, psn);
}

/* Chapter 9.7.5.1.4: sends and writes are answered again, not executed again. */
static void duplicate(struct qp_context *ctx, struct packet *packet, const struct rules_opcode *op)
{
    struct responder *rsp = ctx->rsp;
    if (PLANTED(hca_duplicate_executed) && op->kind == RULES_WRITE && op->place == RULES_ONLY) {
        responder_write_begin(ctx, packet);
        landing_packet(ctx, packet);
        return;
    }
    if (op->kind == RULES_READ || op->kind == RULES_ATOMIC)
        resource_duplicate(ctx, packet);
    else if (packet->ack_request && rsp->ack != ACK_NAK)
        responder_ack(ctx, rules_psn_add(rsp->epsn, RULES_PSN_MASK));
    packet_drop(ctx->hca, packet, "duplicate");
}

void responder_request(struct qp_context *ctx, struct packet *packet)
{
    struct responder *rsp = ctx->rsp;
    struct hca *hca = ctx->hca;
    const struct rules_opcode *op = rules_opcode(packet->opcode);
    if (rsp->fatal || rsp->silent) {
        packet_drop(hca, packet, rsp->fatal ? "responder in error" : "responder silent");
        return;
    }
    responder_comm_established(ctx);
    int32_t ahead = rules_psn_diff(packet->psn, rsp->epsn);
    if (ahead < 0) {
        duplicate(ctx, packet, op);
        return;
    }
    if (ahead > 0 && !PLANTED(hca_psn_gap)) {
        /* Chapter 9.7.5.2.8: one NAK, then silence until the expected PSN comes. */
        if (!rsp->nak_sent)
            send_nak(ctx, RULES_NAK | RULES_NAK_PSN_SEQUENCE);
        packet_drop(hca, packet, "PSN sequence");
        return;
    }
    rsp->nak_sent = false;
    if (rsp->ack == ACK_NAK)
        rsp->ack = ACK_NONE; /* not needed any more */
    if (op->kind == RULES_UNKNOWN || !rules_sequence(rsp->previous, packet->opcode & 0x1f) ||
        (op->payload && !rules_payload_length(op->place, packet->payload_length, ctx->path->mtu))) {
        responder_nak(ctx, RULES_NAK_INVALID_REQUEST);
        packet_drop(hca, packet, "invalid request");
        return;
    }
    if (ctx->qp->type == HCA_QP_XRC_TGT && !xrc_enter(ctx, packet)) {
        packet_drop(hca, packet, "XRC domain");
        return;
    }
    if (op->kind == RULES_READ)
        resource_read(ctx, packet);
    else if (op->kind == RULES_ATOMIC)
        resource_atomic(ctx, packet);
    else
        execute(ctx, packet, op);
}
