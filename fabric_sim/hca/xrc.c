/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended reliable connection (vol. 1, annex A14). An initiator sends, a target receives: for any
 * shared receive queue of its domain, whose number each request carries in its XRCETH. Between
 * them everything goes as over a reliable connection.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>

#include "src/fabric/planted.h"

static struct xrcd_state *xrcd_find(const struct hca *hca, uint32_t id)
{
    return table_find(&hca->state.arena, &hca->state.device->xrcds, id);
}

enum fabric_error hca_xrcd_alloc(struct hca *hca, hca_xrcd *out)
{
    assert(hca && out);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    const struct xrcd_state *xrcd = table_take(&hca->state.arena, &hca->state.device->xrcds);
    if (!xrcd)
        return ERR_RESOURCES_EXHAUSTED;
    out->id = xrcd->slot.id;
    return FABRIC_OK;
}

enum fabric_error hca_xrcd_dealloc(struct hca *hca, hca_xrcd handle)
{
    const struct xrcd_state *xrcd = xrcd_find(hca, handle.id);
    assert(xrcd);
    if (xrcd->users)
        return ERR_INVALID_ARGUMENT;
    table_put(&hca->state.arena, &hca->state.device->xrcds, handle.id);
    return FABRIC_OK;
}

static struct cq_state *cq_find(const struct hca *hca, uint32_t id)
{
    return table_find(&hca->state.arena, &hca->state.device->cqs, id);
}

enum fabric_error hca_srq_create_xrc(struct hca *hca, hca_pd pd, hca_xrcd xrcd, hca_cq cq,
                                     uint32_t max_wr, uint32_t max_sge, uint64_t context,
                                     hca_srq *out)
{
    struct xrcd_state *domain = xrcd_find(hca, xrcd.id);
    struct cq_state *queue = cq_find(hca, cq.id);
    assert(domain && queue);
    if (queue->overrun)
        return ERR_INVALID_ARGUMENT;
    enum fabric_error error = hca_srq_create(hca, pd, max_wr, max_sge, context, out);
    if (error)
        return error;
    struct srq_state *srq = table_find(&hca->state.arena, &hca->state.device->srqs, out->id);
    srq->xrcd = xrcd.id;
    srq->cq = cq.id;
    domain->users += !PLANTED(hca_xrc_domain_unheld);
    queue->users++;
    return FABRIC_OK;
}

void xrc_leave(struct hca *hca, const struct srq_state *srq)
{
    if (!srq->xrcd)
        return;
    struct xrcd_state *domain = xrcd_find(hca, srq->xrcd);
    struct cq_state *queue = cq_find(hca, srq->cq);
    assert(domain && queue && queue->users > 0);
    domain->users -= domain->users > 0;
    queue->users--;
}

bool xrc_enter(struct qp_context *ctx, const struct packet *packet)
{
    const struct srq_state *srq = state_srq_by_number(&ctx->hca->state, packet->srq);
    assert(ctx->qp->type == HCA_QP_XRC_TGT);
    if (!srq || (srq->xrcd != ctx->qp->xrcd && !PLANTED(hca_xrc_domain_unchecked))) {
        responder_nak(ctx, RULES_NAK_INVALID_REQUEST);
        return false;
    }
    ctx->rsp->srq = srq->slot.id;
    ctx->rsp->pd = PLANTED(hca_xrc_first_pd) && ctx->rsp->pd ? ctx->rsp->pd : srq->pd;
    return true;
}

struct srq_state *context_srq(const struct qp_context *ctx)
{
    uint32_t id = ctx->qp->type == HCA_QP_XRC_TGT ? ctx->rsp->srq : ctx->qp->srq;
    return id ? table_find(&ctx->hca->state.arena, &ctx->hca->state.device->srqs, id) : NULL;
}

uint32_t context_recv_cq(const struct qp_context *ctx)
{
    if (ctx->qp->type != HCA_QP_XRC_TGT)
        return ctx->qp->recv_cq;
    const struct srq_state *srq = context_srq(ctx);
    return srq ? srq->cq : 0;
}
