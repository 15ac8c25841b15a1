/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unreliable datagrams (chapter 9.8.3): one packet each, complete when sent, dropped in silence
 * where they cannot be received.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "fabric_sim/hca/completion.h"
#include "fabric_sim/hca/header.h"
#include "src/fabric/planted.h"

static struct packet *build(struct qp_context *ctx, struct send_wqe *wqe, struct send_slot *slot)
{
    struct requester *req = ctx->req;
    ctx->path->av = wqe->av;
    ctx->path->dest_qp = wqe->dest_qp;
    struct packet *packet =
        context_packet(ctx, header_operation(wqe->opcode, true, true), wqe->first_psn);
    packet->payload_length = wqe->length;
    if (wqe->length)
        packet->payload = payload_ref(slot->payload);
    packet->imm = wqe->imm;
    packet->solicited = (wqe->flags & HCA_SEND_SOLICITED) != 0;
    packet->qkey = header_qkey(ctx->qp, wqe->qkey);
    packet_finish(port_of(ctx->hca, ctx->path->port_num), packet);
    req->una_psn = req->sent_psn = req->next_psn;
    return packet;
}

struct packet *ud_next(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    struct qp_state *qp = ctx->qp;
    if (qp->state != FABRIC_QPS_RTS || req->tx == qp->sq_head)
        return NULL;
    struct send_wqe *wqe = send_ring_at(&ctx->hca->state.arena, qp, req->tx);
    struct send_slot *slot = requester_slot(ctx, req->tx);
    assert(req->tx == qp->sq_tail);
    ctx->path->mtu = fabric_mtu_bytes(port_of(ctx->hca, ctx->path->port_num)->info->active_mtu);
    if (wqe->length > ctx->path->mtu) {
        requester_fail(ctx, FABRIC_WC_LOC_LEN_ERR); /* chapter 9.8.3.1 */
        return NULL;
    }
    if (!request_prepare(ctx, wqe, slot)) {
        requester_fail(ctx, wqe->local_error);
        return NULL;
    }
    struct packet *packet = build(ctx, wqe, slot);
    req->tx++;
    requester_complete(ctx, FABRIC_WC_SUCCESS);
    return packet;
}

static bool store(struct qp_context *ctx, const struct recv_wqe *recv, const struct packet *packet)
{
    uint8_t grh[GRH_BYTES];
    header_grh(packet, grh);
    if (packet->is_global && !memory_scatter(ctx, recv->sges, recv->sge_count, 0, grh, GRH_BYTES))
        return false;
    uint32_t at = PLANTED(hca_ud_no_grh_room) ? 0 : GRH_BYTES;
    return packet->payload_length == 0 ||
           memory_scatter(ctx, recv->sges, recv->sge_count, at,
                          packet->payload->bytes + packet->payload_offset, packet->payload_length);
}

/* The packet stays the caller's: several queue pairs may take a multicast. */
void ud_receive(struct qp_context *ctx, struct hca_port *port, struct packet *packet)
{
    struct hca *hca = ctx->hca;
    if (packet->qkey != ctx->qp->attr.qkey && !PLANTED(hca_qkey_unchecked)) {
        port->info->counters.bad_qkey++; /* chapter 9.8.3.2 */
        event_trap(port, 258, packet, packet->qkey);
        return;
    }
    struct recv_wqe recv;
    if (qp_next_recv_length(ctx) < packet->payload_length + GRH_BYTES ||
        !qp_take_recv(ctx, &recv)) {
        SIM_TRACE(hca->sim, hca->label, "no receive qp=0x%06x", (unsigned)ctx->qp->qp_num);
        return;
    }
    bool stored = store(ctx, &recv, packet);
    struct hca_wc wc = completion_of_datagram(ctx->qp, port->info, packet);
    if (!stored)
        wc.status = FABRIC_WC_LOC_PROT_ERR;
    cq_push_recv(ctx, &recv, &wc, packet->solicited);
    if (!stored)
        qp_enter_error(ctx);
}
