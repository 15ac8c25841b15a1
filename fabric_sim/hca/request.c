/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the packets of send requests (chapters 9.4, 9.7.3).
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/hca/header.h"
#include "src/fabric/planted.h"

/* Several entries go into one buffer, so that a packet refers to one stretch of memory. */
static bool gather(struct qp_context *ctx, struct send_wqe *wqe, struct send_slot *slot)
{
    const struct hca_sge *sges = send_wqe_sges(wqe);
    slot->gathered = malloc(wqe->length);
    if (!slot->gathered)
        abort();
    uint32_t at = 0;
    for (uint32_t i = 0; i < wqe->sge_count; i++) {
        if (sges[i].length == 0)
            continue;
        const struct key_state *key = state_key(&ctx->hca->state, sges[i].lkey);
        assert(key && at + sges[i].length <= wqe->length);
        if (!memory_read(ctx, key, sges[i].addr, slot->gathered + at, sges[i].length))
            return false;
        at += sges[i].length;
    }
    slot->payload = payload_new(ctx->hca->net, slot->gathered, wqe->length);
    return true;
}

/* False: the memory is out of reach. */
static bool refer(struct qp_context *ctx, struct send_wqe *wqe, struct send_slot *slot)
{
    const struct hca_sge *sges = send_wqe_sges(wqe);
    if (wqe->flags & HCA_SEND_INLINE) {
        const uint8_t *bytes = send_wqe_inline(ctx->qp, wqe);
        slot->payload = payload_new(ctx->hca->net, bytes, wqe->length);
    } else if (wqe->sge_count == 1) {
        const struct key_state *key = state_key(&ctx->hca->state, sges[0].lkey);
        assert(key);
        slot->payload = memory_payload(ctx, key, sges[0].addr, wqe->length);
    } else {
        return gather(ctx, wqe, slot);
    }
    return slot->payload != NULL;
}

/* Checks local memory and assigns PSNs. False: the request fails locally, with nothing sent. */
bool request_prepare(struct qp_context *ctx, struct send_wqe *wqe, struct send_slot *slot)
{
    struct requester *req = ctx->req;
    bool reads = rules_is_read_or_atomic(wqe->opcode);
    uint32_t access = reads ? HCA_ACCESS_LOCAL_WRITE : 0;
    assert(!wqe->started && !slot->payload);
    bool valid = (wqe->flags & HCA_SEND_INLINE) ||
                 memory_local(ctx, send_wqe_sges(wqe), wqe->sge_count, access);
    if (!valid || (!reads && wqe->length && !refer(ctx, wqe, slot))) {
        wqe->local_error = FABRIC_WC_LOC_PROT_ERR;
        return false;
    }
    wqe->start_psn = wqe->first_psn = req->next_psn;
    if (ctx->qp->type == HCA_QP_DCI && !req->connected)
        wqe->first_psn = rules_psn_add(wqe->first_psn, 1); /* one for the connect */
    wqe->last_psn =
        rules_psn_add(wqe->first_psn, rules_psn_span(wqe->opcode, wqe->length, ctx->path->mtu) - 1);
    req->next_psn = rules_psn_add(wqe->last_psn, 1);
    req->tx_psn = wqe->start_psn;
    wqe->started = true;
    return true;
}

static struct packet *build_connect(struct qp_context *ctx, uint32_t psn)
{
    struct packet *packet = context_packet(ctx, DC_CONNECT, psn);
    packet->va = ctx->req->connection;
    return packet;
}

static struct packet *build_read(struct qp_context *ctx, const struct send_wqe *wqe, uint32_t psn)
{
    uint32_t offset = (uint32_t)rules_psn_diff(psn, wqe->first_psn) * ctx->path->mtu;
    struct packet *packet = context_packet(ctx, BTH_READ_REQUEST, psn);
    packet->va = wqe->remote_addr + offset;
    packet->rkey = wqe->rkey;
    packet->dma_length = wqe->length - offset;
    packet->ack_request = true;
    return packet;
}

static struct packet *build_atomic(struct qp_context *ctx, const struct send_wqe *wqe, uint32_t psn)
{
    bool swap = wqe->opcode == HCA_WR_ATOMIC_CMP_AND_SWP;
    struct packet *packet = context_packet(ctx, swap ? BTH_COMPARE_SWAP : BTH_FETCH_ADD, psn);
    packet->va = wqe->remote_addr;
    packet->rkey = wqe->rkey;
    packet->swap_add = swap ? wqe->swap : wqe->compare_add;
    packet->compare = swap ? wqe->compare_add : 0;
    packet->ack_request = true;
    return packet;
}

static struct packet *build_message(struct qp_context *ctx, const struct send_wqe *wqe,
                                    const struct send_slot *slot, uint32_t psn)
{
    uint32_t offset = (uint32_t)rules_psn_diff(psn, wqe->first_psn) * ctx->path->mtu;
    bool last = psn == wqe->last_psn;
    uint8_t operation = header_operation(wqe->opcode, psn == wqe->first_psn, last);
    struct packet *packet = context_packet(ctx, operation, psn);
    uint32_t left = wqe->length - offset;
    packet->payload_length = left < ctx->path->mtu ? left : ctx->path->mtu;
    packet->payload_offset = offset;
    if (packet->payload_length)
        packet->payload = payload_ref(slot->payload);
    packet->va = wqe->remote_addr;
    packet->rkey = wqe->rkey;
    packet->dma_length = wqe->length;
    packet->imm = wqe->imm;
    packet->ack_request = last && ctx->path->transport != BTH_UC; /* chapter 9.8.2 */
    packet->solicited = last && (wqe->flags & HCA_SEND_SOLICITED);
    return packet;
}

struct packet *request_build(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    struct send_wqe *wqe = send_ring_at(&ctx->hca->state.arena, ctx->qp, req->tx);
    const struct send_slot *slot = requester_slot(ctx, req->tx);
    uint32_t psn = req->tx_psn;
    assert(wqe->started && rules_psn_diff(wqe->last_psn, psn) >= 0);
    struct packet *packet;
    uint32_t next = rules_psn_add(psn, 1);
    if (psn != wqe->first_psn && rules_psn_diff(psn, wqe->first_psn) < 0) {
        packet = build_connect(ctx, psn);
    } else if (wqe->opcode == HCA_WR_RDMA_READ) {
        packet = build_read(ctx, wqe, psn);
        next = rules_psn_add(wqe->last_psn, 1);
    } else if (rules_is_read_or_atomic(wqe->opcode)) {
        packet = build_atomic(ctx, wqe, psn);
    } else {
        packet = build_message(ctx, wqe, slot, psn);
    }
    if (ctx->qp->type == HCA_QP_XRC_INI)
        packet->srq = PLANTED(hca_xrc_numberless) ? 0 : wqe->dest_qp;
    if (packet->ack_request)
        req->awaited_psn = rules_psn_add(next, RULES_PSN_MASK); /* next - 1 */
    req->tx_psn = next;
    if (rules_psn_diff(next, req->sent_psn) > 0)
        req->sent_psn = next;
    if (rules_psn_diff(next, wqe->last_psn) > 0)
        req->tx++;
    packet_finish(port_of(ctx->hca, ctx->path->port_num), packet);
    return packet;
}
