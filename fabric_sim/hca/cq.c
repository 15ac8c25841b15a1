/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>

#include "src/fabric/planted.h"

static struct cq_state *cq_of(const struct hca *hca, uint32_t id)
{
    struct cq_state *cq = table_find(&hca->arena, &hca->cqs, id);
    assert(cq);
    return cq;
}

static bool overran(const struct hca *hca, uint32_t id)
{
    const struct cq_state *cq = id ? table_find(&hca->arena, &hca->cqs, id) : NULL;
    return cq && cq->overrun;
}

/* An overrun CQ takes its queue pairs with it (chapter 11.6.3.1), once nobody is in the middle of
 * a flush: also those that come into use later, at their first completion. */
static void overrun_due(void *object, uint64_t unused)
{
    (void)unused;
    struct hca *hca = object;
    hca->overrun = 0;
    for (uint32_t i = 0; i < hca->qps.used; i++) {
        const struct qp_state *qp = table_at(&hca->arena, &hca->qps, i);
        bool uses = qp->slot.id && (overran(hca, qp->send_cq) || overran(hca, qp->recv_cq));
        if (uses && qp->state != FABRIC_QPS_ERR && qp->state != FABRIC_QPS_RESET)
            qp_enter_error(context_of(hca, qp));
    }
}

static void cq_overrun(struct hca *hca, struct cq_state *cq)
{
    bool told = cq->overrun;
    cq->overrun = true;
    if (!hca->overrun && !(told && PLANTED(hca_overrun_cq_swallows)))
        hca->overrun = sim_in(hca->sim, 0, overrun_due, hca, 0);
    if (told)
        return;
    struct hca_event event = {.kind = HCA_EVENT_ASYNC,
                              .type = FABRIC_ASYNC_CQ_ERR,
                              .cq = {cq->slot.id},
                              .context = cq->context};
    event_push(hca, &event);
}

void cq_push(struct hca *hca, uint32_t cq_id, const struct hca_wc *wc, uint32_t qp_id,
             uint32_t release, bool solicited)
{
    struct cq_state *cq = cq_of(hca, cq_id);
    if (cq->overrun || cq->tail - cq->head >= cq->limit) {
        cq_overrun(hca, cq);
        return;
    }
    struct cqe *ring = hca_arena_at(&hca->arena, cq->ring);
    struct cqe *cqe = &ring[cq->tail++ & (cq->depth - 1)];
    cqe->wc = *wc;
    cqe->wc.time = sim_now(hca->sim);
    cqe->qp = qp_id;
    cqe->release = release;
    SIM_TRACE(hca->sim, hca->label, "cqe qp=0x%06x %s %s wr=%llu len=%u", (unsigned)wc->qp_num,
              wc->is_send ? "send" : "recv", fabric_wc_status_name(wc->status),
              (unsigned long long)wc->wr_id, (unsigned)wc->byte_len);
    if (hca->notify.completion)
        hca->notify.completion(hca->notify.context, hca, (hca_cq){cq_id}, solicited);
}

static struct hca_wc wc_of(const struct qp_context *ctx, uint64_t wr_id,
                           enum fabric_wc_status status)
{
    return (struct hca_wc){.wr_id = wr_id,
                           .context = ctx->qp->context,
                           .qp = {ctx->qp->slot.id},
                           .qp_num = ctx->qp->qp_num,
                           .status = (uint8_t)status};
}

void cq_push_send(struct qp_context *ctx, const struct send_wqe *wqe, enum fabric_wc_status status)
{
    struct hca_wc wc = wc_of(ctx, wqe->wr_id, status);
    wc.is_send = true;
    wc.opcode = (uint8_t)rules_wc_opcode(wqe->opcode);
    if (status == FABRIC_WC_SUCCESS && rules_is_read_or_atomic(wqe->opcode))
        wc.byte_len = wqe->length;
    cq_push(ctx->hca, ctx->qp->send_cq, &wc, ctx->qp->slot.id, ctx->qp->sq_tail, false);
}

void cq_push_recv(struct qp_context *ctx, const struct recv_wqe *recv, struct hca_wc *wc,
                  bool solicited)
{
    struct hca_wc full = wc_of(ctx, recv->wr_id, wc->status);
    wc->wr_id = full.wr_id;
    wc->context = full.context;
    wc->qp = full.qp;
    wc->qp_num = full.qp_num;
    cq_push(ctx->hca, ctx->qp->recv_cq, wc, ctx->qp->slot.id, ctx->qp->rq.tail, solicited);
}

enum fabric_error hca_cq_create(struct hca *hca, uint32_t depth, uint64_t context, hca_cq *out)
{
    assert(hca && out);
    if (hca->removed)
        return ERR_DEVICE_REMOVED;
    if (depth == 0 || depth > hca->profile->max_cqe)
        return ERR_INVALID_ARGUMENT;
    struct cq_state *cq = table_take(&hca->arena, &hca->cqs);
    if (!cq)
        return ERR_RESOURCES_EXHAUSTED;
    cq->limit = depth;
    cq->depth = ring_depth(depth);
    cq->context = context;
    cq->ring = hca_arena_chunk(&hca->arena, cq->depth * sizeof(struct cqe));
    out->id = cq->slot.id;
    return FABRIC_OK;
}

enum fabric_error hca_cq_destroy(struct hca *hca, hca_cq handle)
{
    struct cq_state *cq = cq_of(hca, handle.id);
    if (cq->users)
        return ERR_INVALID_ARGUMENT;
    hca_arena_drop(&hca->arena, cq->ring);
    table_put(&hca->arena, &hca->cqs, handle.id);
    return FABRIC_OK;
}

/* A polled completion makes room in the queue it came from (chapter 10.8.6). */
static void release(struct hca *hca, const struct cqe *cqe)
{
    struct qp_state *qp = table_find(&hca->arena, &hca->qps, cqe->qp);
    if (!qp)
        return;
    /* Never back: a reset may have let go of more meanwhile. */
    uint32_t *polled = cqe->wc.is_send ? &qp->sq_polled : &qp->rq.polled;
    if ((int32_t)(cqe->release - *polled) > 0)
        *polled = cqe->release;
}

size_t hca_cq_poll(struct hca *hca, hca_cq handle, struct hca_wc *wcs, size_t capacity)
{
    assert(wcs || capacity == 0);
    struct cq_state *cq = cq_of(hca, handle.id);
    const struct cqe *ring = hca_arena_at(&hca->arena, cq->ring);
    size_t count = 0;
    while (count < capacity && cq->head != cq->tail) {
        const struct cqe *cqe = &ring[cq->head++ & (cq->depth - 1)];
        release(hca, cqe);
        wcs[count++] = cqe->wc;
    }
    return count;
}
