/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unreliable connections (chapter 9.8.2): a request is complete when its last packet left, nothing
 * is answered, and a message of which a packet is missing or wrong is dropped whole and in silence.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>

#include "src/fabric/planted.h"

struct packet *uc_next(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    struct packet *packet = requester_next(ctx);
    if (!packet || req->tx_psn != req->next_psn)
        return packet;
    assert(!packet->ack_request && req->tx == ctx->qp->sq_tail + 1);
    req->una_psn = req->next_psn;
    requester_complete(ctx, FABRIC_WC_SUCCESS);
    requester_check_drained(ctx);
    return packet;
}

/* The message under way is over. A receive that it took serves the next one, from its start. */
static void abandon(struct qp_context *ctx)
{
    struct responder *rsp = ctx->rsp;
    landing_abandon(ctx);
    rsp->previous = RESPONDER_NO_OPCODE;
    rsp->recv_offset = 0;
    if (PLANTED(hca_uc_receive_lost))
        rsp->has_recv = false;
}

static bool need_recv(struct qp_context *ctx)
{
    struct responder *rsp = ctx->rsp;
    if (rsp->has_recv)
        return true;
    rsp->recv_offset = 0;
    rsp->has_recv = qp_take_recv(ctx, &rsp->recv);
    return rsp->has_recv;
}

/* Only the receive itself being wrong is told, and to its own program (chapter 9.9.3.3). */
static void recv_error(struct qp_context *ctx)
{
    struct hca_wc wc = {.status = FABRIC_WC_LOC_PROT_ERR};
    cq_push_recv(ctx, &ctx->rsp->recv, &wc, false);
    ctx->rsp->has_recv = false;
    qp_enter_error(ctx);
}

static const char *take_send(struct qp_context *ctx, const struct packet *packet)
{
    struct responder *rsp = ctx->rsp;
    if (!need_recv(ctx))
        return "no receive";
    assert(rsp->recv_offset <= rsp->recv.length);
    if (packet->payload_length > rsp->recv.length - rsp->recv_offset)
        return "receive too small";
    if (packet->payload_length &&
        !memory_scatter(ctx, rsp->recv.sges, rsp->recv.sge_count, rsp->recv_offset,
                        packet->payload->bytes + packet->payload_offset, packet->payload_length)) {
        recv_error(ctx);
        return "receive memory";
    }
    rsp->recv_offset += packet->payload_length;
    return NULL;
}

/* Takes the packet when it returns null. */
static const char *take_write(struct qp_context *ctx, struct packet *packet,
                              const struct rules_opcode *op)
{
    struct responder *rsp = ctx->rsp;
    uint32_t length = packet->payload_length;
    if (op->place & RULES_FIRST) {
        if (!responder_write_allowed(ctx, packet))
            return "access";
        responder_write_begin(ctx, packet);
    }
    bool fits = (op->place & RULES_LAST) ? length == rsp->write_left : length <= rsp->write_left;
    if (!fits)
        return "length";
    if (length && !key_lives(ctx->write_key, rsp->rkey) && !PLANTED(hca_uc_stale_key))
        return "access";
    if (op->imm && !need_recv(ctx))
        return "no receive";
    rsp->write_left -= length;
    landing_packet(ctx, packet);
    return NULL;
}

/* The reason why the packet does not belong to a message that is still whole. */
static const char *out_of_place(struct qp_context *ctx, const struct packet *packet,
                                const struct rules_opcode *op)
{
    struct responder *rsp = ctx->rsp;
    bool starts = (op->place & RULES_FIRST) != 0;
    bool expected = packet->psn == rsp->epsn || PLANTED(hca_uc_gap_unseen);
    if (expected || !PLANTED(hca_uc_never_resumes))
        rsp->epsn = rules_psn_add(packet->psn, 1);
    if ((op->kind != RULES_SEND && op->kind != RULES_WRITE) || op->ieth)
        return "opcode";
    if (!starts && (!expected || rsp->previous == RESPONDER_NO_OPCODE ||
                    !rules_sequence(rsp->previous, packet->opcode & 0x1f)))
        return "PSN sequence";
    if (!rules_payload_length(op->place, packet->payload_length, ctx->path->mtu))
        return "length";
    return NULL;
}

void uc_request(struct qp_context *ctx, struct packet *packet)
{
    struct responder *rsp = ctx->rsp;
    const struct rules_opcode *op = rules_opcode(packet->opcode);
    struct packet header = *packet;
    responder_comm_established(ctx);
    const char *reason = out_of_place(ctx, packet, op);
    /* A first packet begins anew whatever came before (chapter 9.8.2.2.3). */
    if (reason || (op->place & RULES_FIRST))
        abandon(ctx);
    bool write = op->kind == RULES_WRITE;
    if (!reason)
        reason = write ? take_write(ctx, packet, op) : take_send(ctx, packet);
    if (reason) {
        if (ctx->qp->state != FABRIC_QPS_ERR)
            abandon(ctx);
        packet_drop(ctx->hca, packet, reason);
        return;
    }
    if (!write)
        net_free(ctx->hca->net, packet);
    bool last = (op->place & RULES_LAST) != 0;
    rsp->previous = last ? RESPONDER_NO_OPCODE : header.opcode & 0x1f;
    if (!last)
        return;
    if (write)
        landing_end(ctx);
    rsp->msn = rules_psn_add(rsp->msn, 1);
    if (!write || op->imm)
        responder_complete_recv(ctx, &header, write);
}
