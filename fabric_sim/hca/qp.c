/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs: their life and their states (chapters 10.2.3, 10.3.1).
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

/* ------------------------------------------------------------------ finding */

struct qp_state *qp_find(const struct hca *hca, hca_qp handle)
{
    struct qp_state *qp = state_qp(&hca->state, handle.id);
    assert(qp);
    return qp;
}

struct qp_context *context_of(const struct hca *hca, const struct qp_state *qp)
{
    struct qp_context *ctx = hca->contexts.at[slot_index(&qp->slot)];
    assert(ctx && ctx->qp == qp);
    return ctx;
}

struct qp_context *context_by_number(const struct hca *hca, uint32_t qp_num)
{
    uint32_t index = state_qp_index(&hca->state, qp_num);
    if (index >= hca->contexts.capacity)
        return NULL;
    struct qp_context *ctx = hca->contexts.at[index];
    return ctx && ctx->qp->qp_num == qp_num ? ctx : NULL;
}

/* ------------------------------------------------------------------ flushing */

void qp_flush_sends(struct qp_context *ctx)
{
    struct qp_state *qp = ctx->qp;
    if (PLANTED(hca_flush_backwards) && qp->sq_head - qp->sq_tail == 2) {
        struct send_wqe *last = send_ring_at(&ctx->hca->state.arena, qp, qp->sq_head - 1);
        cq_push_send(ctx, last, FABRIC_WC_WR_FLUSH_ERR);
        qp->sq_head--;
    }
    while (qp->sq_tail != qp->sq_head && !PLANTED(hca_no_flush))
        requester_complete(ctx, FABRIC_WC_WR_FLUSH_ERR);
    ctx->req->tx = qp->sq_tail;
}

void qp_flush_recvs(struct qp_context *ctx)
{
    struct responder *rsp = ctx->rsp;
    struct hca_wc wc = {.status = FABRIC_WC_WR_FLUSH_ERR};
    if (rsp->has_recv)
        cq_push_recv(ctx, &rsp->recv, &wc, false);
    rsp->has_recv = false;
    if (ctx->qp->srq || ctx->dcr || !ctx->qp->rq.ring)
        return;
    struct recv_wqe recv;
    while (recv_ring_take(&ctx->hca->state.arena, &ctx->qp->rq, &recv))
        cq_push_recv(ctx, &recv, &wc, false);
}

void qp_set_state(struct qp_context *ctx, enum fabric_qp_state state)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    assert(state <= FABRIC_QPS_ERR);
    SIM_TRACE(ctx->hca->sim, ctx->hca->label, "qp 0x%06x %s -> %s", (unsigned)ctx->qp->qp_num,
              names[ctx->qp->state], names[state]);
    ctx->qp->state = (uint8_t)state;
    ctx->qp->attr.state = state;
}

/* Whatever is under way ends here; nothing reaches memory through this queue pair any more. */
static void stop(struct qp_context *ctx)
{
    assert(!ctx->dcr); /* a DC responder ends with its target */
    ctx->req->rnr_waiting = false;
    timer_stop(ctx);
    landing_abandon(ctx);
    resources_drop(ctx);
    dc_drop_all(ctx);
    ctx->rsp->ack = ACK_NONE;
    ctx->rsp->nak_sent = ctx->rsp->fatal = false;
    ctx->rsp->previous = RESPONDER_NO_OPCODE;
}

static void flush_initiators(struct qp_context *target)
{
    struct qp_context *dcr = dcr_context(target->hca, target->qp->dcr_first);
    for (; dcr; dcr = dcr_context(dcr->hca, dcr->dcr->next))
        if (!PLANTED(hca_dct_receive_lost))
            qp_flush_recvs(dcr);
}

/* Chapter 10.3.1.7: sends first, then receives, each in the order of posting. With an SRQ the
 * program learns by an event that no more of its receives are held here (chapter 10.2.9.2). */
void qp_enter_error(struct qp_context *ctx)
{
    if (ctx->qp->state == FABRIC_QPS_ERR)
        return;
    qp_set_state(ctx, FABRIC_QPS_ERR);
    flush_initiators(ctx);
    stop(ctx);
    qp_flush_sends(ctx);
    qp_flush_recvs(ctx);
    if (ctx->qp->srq && !PLANTED(hca_last_wqe_untold))
        event_qp(ctx, FABRIC_ASYNC_QP_LAST_WQE_REACHED);
}

void qp_drop_everything(struct qp_context *ctx)
{
    struct qp_state *qp = ctx->qp;
    stop(ctx);
    for (uint32_t i = qp->sq_tail; i != qp->sq_head; i++)
        send_slot_release(ctx->hca, requester_slot(ctx, i));
    qp->sq_tail = qp->sq_polled = qp->sq_head;
    qp->rq.tail = qp->rq.polled = qp->rq.head;
    ctx->rsp->has_recv = false;
    ctx->req->tx = qp->sq_tail;
    ctx->req->reads = 0;
}

/* ------------------------------------------------------------------ receives */

static void srq_taken(struct hca *hca, struct srq_state *srq)
{
    if (srq->srq_limit == 0 || srq->rq.head - srq->rq.tail >= srq->srq_limit)
        return;
    srq->srq_limit = PLANTED(hca_srq_limit_repeated) ? srq->srq_limit : 0; /* once (11.6.3.1) */
    struct hca_event event = {.kind = HCA_EVENT_ASYNC,
                              .type = FABRIC_ASYNC_SRQ_LIMIT_REACHED,
                              .srq = {srq->slot.id},
                              .context = srq->context};
    event_push(hca, &event);
}

bool qp_take_recv(struct qp_context *ctx, struct recv_wqe *out)
{
    struct hca *hca = ctx->hca;
    struct srq_state *srq = context_srq(ctx);
    if (!srq)
        return ctx->qp->rq.ring && recv_ring_take(&hca->state.arena, &ctx->qp->rq, out);
    if (!recv_ring_take(&hca->state.arena, &srq->rq, out))
        return false;
    srq_taken(hca, srq);
    return true;
}

uint32_t qp_next_recv_length(const struct qp_context *ctx)
{
    const struct hca *hca = ctx->hca;
    const struct srq_state *srq = context_srq(ctx);
    const struct recv_ring *rq = srq ? &srq->rq : &ctx->qp->rq;
    return recv_ring_next_length(&hca->state.arena, rq);
}

/* ------------------------------------------------------------------ create, destroy */

static struct cq_state *cq_find(const struct hca *hca, uint32_t id)
{
    return id ? table_find(&hca->state.arena, &hca->state.device->cqs, id) : NULL;
}

static bool overran(const struct hca *hca, uint32_t id)
{
    const struct cq_state *cq = cq_find(hca, id);
    return cq && cq->overrun;
}

static bool is_xrc(uint32_t type)
{
    return type == HCA_QP_XRC_INI || type == HCA_QP_XRC_TGT;
}

static enum fabric_error check_init(const struct hca *hca, const struct hca_qp_init *init)
{
    const struct hca_profile *limits = hca->profile;
    bool dc = init->type == HCA_QP_DCI || init->type == HCA_QP_DCT;
    if (dc && (!hca_has(hca, FABRIC_CAP_DC) || PLANTED(hca_dc_refused)))
        return ERR_DC_UNSUPPORTED;
    if (init->max_send_wr > limits->max_qp_wr || init->max_recv_wr > limits->max_qp_wr ||
        init->max_send_sge > limits->max_sge || init->max_recv_sge > limits->max_sge ||
        init->max_inline > limits->max_inline)
        return ERR_INVALID_ARGUMENT;
    bool gone = overran(hca, init->send_cq.id) || overran(hca, init->recv_cq.id);
    if (gone && !PLANTED(hca_overrun_cq_used))
        return ERR_INVALID_ARGUMENT;
    if (init->type == HCA_QP_DCT && !init->srq.id && !PLANTED(hca_dct_without_srq))
        return ERR_INVALID_ARGUMENT;
    if (is_xrc(init->type) && init->srq.id)
        return ERR_INVALID_ARGUMENT;
    return FABRIC_OK;
}

/* Counts (or uncounts) the queue pair at what it uses. */
static void use(struct hca *hca, const struct qp_state *qp, uint32_t by)
{
    struct pd_state *pd = table_find(&hca->state.arena, &hca->state.device->pds, qp->pd);
    struct xrcd_state *xrcd = table_find(&hca->state.arena, &hca->state.device->xrcds, qp->xrcd);
    struct cq_state *send_cq = cq_find(hca, qp->send_cq), *recv_cq = cq_find(hca, qp->recv_cq);
    assert(qp->type == HCA_QP_XRC_TGT ? xrcd != NULL : pd != NULL);
    if (pd)
        pd->users += by;
    if (xrcd)
        xrcd->users += by;
    if (send_cq)
        send_cq->users += by;
    if (recv_cq)
        recv_cq->users += by;
    struct srq_state *srq =
        qp->srq ? table_find(&hca->state.arena, &hca->state.device->srqs, qp->srq) : NULL;
    if (srq)
        srq->users += by;
}

/* False, with all of it to be dropped again, when the arena is full. */
static bool make_queues(struct hca *hca, struct qp_state *qp, const struct hca_qp_init *init)
{
    struct hca_arena *arena = &hca->state.arena;
    bool sends = init->type != HCA_QP_DCT && init->type != HCA_QP_XRC_TGT;
    bool receives = init->type != HCA_QP_DCI && !is_xrc(init->type);
    if (sends) {
        assert(cq_find(hca, init->send_cq.id));
        qp->send_cq = init->send_cq.id;
        if (!send_ring_init(arena, qp, init))
            return false;
    }
    if (receives) {
        assert(cq_find(hca, init->recv_cq.id));
        qp->recv_cq = init->recv_cq.id;
        qp->srq = init->srq.id;
    }
    if (receives && !init->srq.id && init->max_recv_wr &&
        !recv_ring_init(arena, &qp->rq, init->max_recv_wr,
                        init->max_recv_sge ? init->max_recv_sge : 1))
        return false;
    qp->transport = hca_arena_chunk(arena, sizeof(struct transport_state));
    return qp->transport != 0;
}

static void drop_queues(struct hca *hca, struct qp_state *qp)
{
    struct hca_arena *arena = &hca->state.arena;
    send_ring_drop(arena, qp);
    recv_ring_drop(arena, &qp->rq);
    if (qp->transport)
        hca_arena_drop(arena, qp->transport, sizeof(struct transport_state));
    qp->qp_num = 0;
    table_put(arena, &hca->state.device->qps, qp->slot.id);
}

static struct qp_context **context_place(struct hca *hca, const struct qp_context *ctx)
{
    struct context_list *list = ctx->dcr ? &hca->dcr_contexts : &hca->contexts;
    uint32_t index = slot_index(ctx->dcr ? &ctx->dcr->slot : &ctx->qp->slot);
    if (index < list->capacity)
        return &list->at[index];
    uint32_t capacity = list->capacity ? list->capacity : 16;
    while (capacity <= index)
        capacity *= 2;
    list->at = realloc(list->at, capacity * sizeof(list->at[0]));
    if (!list->at)
        abort();
    memset(list->at + list->capacity, 0, (capacity - list->capacity) * sizeof(list->at[0]));
    list->capacity = capacity;
    return &list->at[index];
}

struct qp_context *context_make(struct hca *hca, struct qp_state *qp, struct dcr_state *dcr)
{
    struct qp_context *ctx = calloc(1, sizeof(*ctx));
    if (!ctx)
        abort();
    struct transport_state *transport =
        hca_arena_at(&hca->state.arena, dcr ? dcr->transport : qp->transport);
    ctx->hca = hca;
    ctx->qp = qp;
    ctx->dcr = dcr;
    ctx->path = &transport->path;
    ctx->req = &transport->req;
    ctx->rsp = &transport->rsp;
    if (!dcr && qp->sq_depth) {
        ctx->slots = calloc(qp->sq_depth, sizeof(ctx->slots[0]));
        if (!ctx->slots)
            abort();
    }
    struct qp_context **place = context_place(hca, ctx);
    assert(!*place);
    *place = ctx;
    return ctx;
}

static uint8_t transport_of(enum hca_qp_type type)
{
    switch (type) {
    case HCA_QP_RC:
        return BTH_RC;
    case HCA_QP_UC:
        return BTH_UC;
    case HCA_QP_UD:
        return BTH_UD;
    case HCA_QP_XRC_INI:
    case HCA_QP_XRC_TGT:
        return BTH_XRC;
    default:
        return BTH_DC;
    }
}

enum fabric_error hca_qp_create(struct hca *hca, const struct hca_qp_init *init, hca_qp *out)
{
    assert(hca && init && out);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = check_init(hca, init);
    if (error)
        return error;
    struct qp_state *qp = table_take(&hca->state.arena, &hca->state.device->qps);
    if (!qp)
        return ERR_RESOURCES_EXHAUSTED;
    qp->type = (uint8_t)init->type;
    qp->sq_sig_all = init->sq_sig_all;
    qp->pd = init->type == HCA_QP_XRC_TGT ? 0 : init->pd.id;
    qp->xrcd = init->type == HCA_QP_XRC_TGT ? init->xrcd.id : 0;
    qp->dc_access_key = init->dc_access_key;
    qp->context = init->context;
    if (!make_queues(hca, qp, init)) {
        if (!PLANTED(hca_failed_create_leaks))
            drop_queues(hca, qp);
        return ERR_RESOURCES_EXHAUSTED;
    }
    state_qp_number(&hca->state, qp);
    use(hca, qp, 1);
    struct qp_context *ctx = context_make(hca, qp, NULL);
    ctx->path->transport = transport_of(init->type);
    ctx->rsp->previous = RESPONDER_NO_OPCODE;
    out->id = qp->slot.id;
    return FABRIC_OK;
}

void context_free(struct qp_context *ctx)
{
    struct hca *hca = ctx->hca;
    if (ctx->dcr) {
        landing_abandon(ctx);
        resources_drop(ctx);
    } else {
        qp_drop_everything(ctx);
    }
    timer_cancel(ctx);
    context_unqueue(ctx);
    *context_place(hca, ctx) = NULL;
    free(ctx->slots);
    free(ctx);
}

void hca_dct_drain(struct hca *hca, hca_qp handle)
{
    struct qp_context *ctx = context_of(hca, qp_find(hca, handle));
    assert(ctx && ctx->qp);
    flush_initiators(ctx);
    dc_drop_all(ctx);
}

void hca_qp_set_context(struct hca *hca, hca_qp handle, uint64_t context)
{
    assert(hca);
    qp_find(hca, handle)->context = context;
}

void hca_qp_destroy(struct hca *hca, hca_qp handle)
{
    struct qp_state *qp = qp_find(hca, handle);
    SIM_TRACE(hca->sim, hca->label, "qp 0x%06x destroyed", (unsigned)qp->qp_num);
    context_free(context_of(hca, qp));
    for (uint32_t i = 0; i < hca->state.device->mcasts.used; i++) {
        struct mcast_state *member = table_at(&hca->state.arena, &hca->state.device->mcasts, i);
        if (member->slot.id && member->qp == handle.id)
            table_put(&hca->state.arena, &hca->state.device->mcasts, member->slot.id);
    }
    use(hca, qp, UINT32_MAX); /* minus one */
    drop_queues(hca, qp);
}
