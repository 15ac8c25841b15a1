/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>

#include "fabric_sim/hca/completion.h"
#include "fabric_sim/hca/queue.h"
#include "src/fabric/planted.h"

static struct cq_state *cq_of(const struct hca *hca, uint32_t id)
{
    struct cq_state *cq = table_find(&hca->state.arena, &hca->state.device->cqs, id);
    assert(cq);
    return cq;
}

static bool overran(const struct hca *hca, uint32_t id)
{
    const struct cq_state *cq =
        id ? table_find(&hca->state.arena, &hca->state.device->cqs, id) : NULL;
    return cq && cq->overrun;
}

/* An overrun CQ takes its queue pairs with it (chapter 11.6.3.1), once nobody is in the middle of
 * a flush: also those that come into use later, at their first completion. */
static void overrun_due(void *object, uint64_t unused)
{
    (void)unused;
    struct hca *hca = object;
    hca->overrun = 0;
    for (uint32_t i = 0; i < hca->state.device->qps.used; i++) {
        const struct qp_state *qp = table_at(&hca->state.arena, &hca->state.device->qps, i);
        bool uses = qp->slot.id && (overran(hca, qp->send_cq) || overran(hca, qp->recv_cq));
        if (uses && !PLANTED(hca_overrun_spares) && qp->state != FABRIC_QPS_ERR &&
            qp->state != FABRIC_QPS_RESET)
            qp_enter_error(context_of(hca, qp));
    }
}

static void cq_overrun(struct hca *hca, const struct cq_state *cq, bool told)
{
    if (!hca->overrun && !(told && PLANTED(hca_overrun_cq_swallows)))
        hca->overrun = sim_in(hca->sim, 0, overrun_due, hca, 0);
    if (told ? !PLANTED(hca_cq_err_repeated) : PLANTED(hca_cq_err_untold))
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
    bool told = cq->overrun;
    if (!cq_ring_put(&hca->state, cq, wc, qp_id, release, sim_now(hca->sim))) {
        cq_overrun(hca, cq, told);
        return;
    }
    SIM_TRACE(hca->sim, hca->label, "cqe qp=0x%06x %s %s wr=%llu len=%u", (unsigned)wc->qp_num,
              wc->is_send ? "send" : "recv", fabric_wc_status_name(wc->status),
              (unsigned long long)wc->wr_id, (unsigned)wc->byte_len);
    if (hca->notify.completion)
        hca->notify.completion(hca->notify.context, hca, (hca_cq){cq_id}, solicited);
    bool matters = solicited || wc->status != FABRIC_WC_SUCCESS;
    if (hca->notify.asked && queue_tells(cq, matters))
        hca->notify.asked(hca->notify.context, hca, cq->context);
}

void cq_push_send(struct qp_context *ctx, const struct send_wqe *wqe, enum fabric_wc_status status)
{
    struct hca_wc wc = completion_of_send(ctx->qp, wqe, status);
    cq_push(ctx->hca, ctx->qp->send_cq, &wc, ctx->qp->slot.id, ctx->qp->sq_tail, false);
}

void cq_push_recv(struct qp_context *ctx, const struct recv_wqe *recv, struct hca_wc *wc,
                  bool solicited)
{
    completion_name_receive(wc, ctx->qp, recv);
    uint32_t cq = context_recv_cq(ctx);
    if (cq) /* else it went with the shared queue of XRC, and so did the receive */
        cq_push(ctx->hca, cq, wc, ctx->qp->slot.id, ctx->qp->rq.tail, solicited);
}

enum fabric_error hca_cq_create(struct hca *hca, uint32_t depth, uint64_t context, hca_cq *out)
{
    assert(hca && out);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    if (depth == 0 || depth > hca->profile->max_cqe)
        return ERR_INVALID_ARGUMENT;
    struct cq_state *cq = table_take(&hca->state.arena, &hca->state.device->cqs);
    if (!cq)
        return ERR_RESOURCES_EXHAUSTED;
    cq->context = context;
    if (!cq_ring_init(&hca->state.arena, cq, depth)) {
        table_put(&hca->state.arena, &hca->state.device->cqs, cq->slot.id);
        return ERR_RESOURCES_EXHAUSTED;
    }
    out->id = cq->slot.id;
    return FABRIC_OK;
}

enum fabric_error hca_cq_resize(struct hca *hca, hca_cq handle, uint32_t depth)
{
    struct cq_state *cq = cq_of(hca, handle.id);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    bool fits = cq->tail - cq->head <= depth || PLANTED(hca_resized_too_small);
    if (depth == 0 || depth > hca->profile->max_cqe || !fits || cq->overrun)
        return ERR_INVALID_ARGUMENT;
    return cq_ring_resize(&hca->state.arena, cq, depth) ? FABRIC_OK : ERR_RESOURCES_EXHAUSTED;
}

enum fabric_error hca_cq_destroy(struct hca *hca, hca_cq handle)
{
    struct cq_state *cq = cq_of(hca, handle.id);
    if (cq->users)
        return ERR_INVALID_ARGUMENT;
    cq_ring_drop(&hca->state.arena, cq);
    table_put(&hca->state.arena, &hca->state.device->cqs, handle.id);
    return FABRIC_OK;
}

size_t hca_cq_poll(struct hca *hca, hca_cq handle, struct hca_wc *wcs, size_t capacity)
{
    return queue_poll(&hca->state, cq_of(hca, handle.id), wcs, capacity);
}
