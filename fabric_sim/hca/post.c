/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine does about work requests; shared receive queues and address handles.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>

#include "fabric_sim/hca/queue.h"

#include "src/fabric/planted.h"

static void look_at_sends(struct hca *hca, const struct qp_state *qp)
{
    struct qp_context *ctx = context_of(hca, qp);
    if (qp->state == FABRIC_QPS_ERR || qp->state == FABRIC_QPS_SQE)
        qp_flush_sends(ctx);
    else
        context_ready(ctx);
}

enum fabric_error hca_post_send(struct hca *hca, hca_qp handle, const struct hca_send_wr *wr)
{
    struct qp_state *qp = qp_find(hca, handle);
    enum fabric_error error = queue_post_send(&hca->state, qp, wr);
    if (!error && hca->use_messages)
        message_run_local(context_of(hca, qp));
    if (!error && queue_send_rings(qp))
        look_at_sends(hca, qp);
    return error;
}

enum fabric_error hca_post_recv(struct hca *hca, hca_qp handle, const struct hca_recv_wr *wr)
{
    struct qp_state *qp = qp_find(hca, handle);
    enum fabric_error error = queue_post_recv(&hca->state, qp, wr);
    if (!error && queue_recv_rings(qp))
        qp_flush_recvs(context_of(hca, qp));
    return error;
}

static void doorbell(struct hca *hca, struct qp_state *qp)
{
    qp->rung = false;
    if (queue_send_rings(qp) && !PLANTED(hca_doorbell_unheard))
        look_at_sends(hca, qp);
    if (queue_recv_rings(qp))
        qp_flush_recvs(context_of(hca, qp));
}

void hca_qp_doorbell(struct hca *hca, hca_qp handle)
{
    struct qp_state *qp = state_qp(&hca->state, handle.id);
    if (qp)
        doorbell(hca, qp);
}

static void tell(struct hca *hca, struct cq_state *cq)
{
    bool tells = cq->tells && !PLANTED(hca_cq_doorbell_unheard);
    cq->tells = false;
    if (tells && hca->notify.asked)
        hca->notify.asked(hca->notify.context, hca, cq->context);
}

void hca_cq_doorbell(struct hca *hca, hca_cq handle)
{
    struct cq_state *cq = table_find(&hca->state.arena, &hca->state.device->cqs, handle.id);
    if (cq)
        tell(hca, cq);
}

void hca_doorbells(struct hca *hca)
{
    for (uint32_t i = 0; i < hca->state.device->cqs.used; i++) {
        struct cq_state *cq = table_at(&hca->state.arena, &hca->state.device->cqs, i);
        if (cq->slot.id)
            tell(hca, cq);
    }
    for (uint32_t i = 0; i < hca->state.device->qps.used; i++) {
        struct qp_state *qp = table_at(&hca->state.arena, &hca->state.device->qps, i);
        if (qp->slot.id)
            doorbell(hca, qp);
    }
}

/* ------------------------------------------------------------------ shared receive queues */

static struct srq_state *srq_find(const struct hca *hca, hca_srq handle)
{
    struct srq_state *srq = table_find(&hca->state.arena, &hca->state.device->srqs, handle.id);
    assert(srq);
    return srq;
}

enum fabric_error hca_srq_create(struct hca *hca, hca_pd pd, uint32_t max_wr, uint32_t max_sge,
                                 uint64_t context, hca_srq *out)
{
    struct pd_state *domain = table_find(&hca->state.arena, &hca->state.device->pds, pd.id);
    assert(domain && out);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    if (max_wr == 0 || max_wr > hca->profile->max_qp_wr || max_sge > hca->profile->max_sge)
        return ERR_INVALID_ARGUMENT;
    struct srq_state *srq = table_take(&hca->state.arena, &hca->state.device->srqs);
    if (!srq)
        return ERR_RESOURCES_EXHAUSTED;
    if (!recv_ring_init(&hca->state.arena, &srq->rq, max_wr, max_sge ? max_sge : 1)) {
        table_put(&hca->state.arena, &hca->state.device->srqs, srq->slot.id);
        return ERR_RESOURCES_EXHAUSTED;
    }
    srq->pd = pd.id;
    srq->context = context;
    domain->users++;
    out->id = srq->slot.id;
    return FABRIC_OK;
}

enum fabric_error hca_srq_destroy(struct hca *hca, hca_srq handle)
{
    struct srq_state *srq = srq_find(hca, handle);
    if (srq->users)
        return ERR_INVALID_ARGUMENT;
    struct pd_state *pd = table_find(&hca->state.arena, &hca->state.device->pds, srq->pd);
    assert(pd && pd->users > 0);
    pd->users--;
    xrc_leave(hca, srq);
    recv_ring_drop(&hca->state.arena, &srq->rq);
    table_put(&hca->state.arena, &hca->state.device->srqs, handle.id);
    return FABRIC_OK;
}

void hca_srq_query(const struct hca *hca, hca_srq handle, struct hca_srq_info *out)
{
    const struct srq_state *srq = srq_find(hca, handle);
    assert(out);
    *out = (struct hca_srq_info){srq->rq.limit, srq->rq.max_sge, srq->srq_limit,
                                 state_srq_number(&hca->state, srq)};
}

enum fabric_error hca_srq_set_limit(struct hca *hca, hca_srq handle, uint32_t limit)
{
    struct srq_state *srq = srq_find(hca, handle);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    if (limit > srq->rq.limit)
        return ERR_INVALID_ARGUMENT;
    srq->srq_limit = limit;
    return FABRIC_OK;
}

enum fabric_error hca_srq_post_recv(struct hca *hca, hca_srq srq, const struct hca_recv_wr *wr)
{
    return queue_post_srq_recv(&hca->state, srq_find(hca, srq), wr);
}

/* ------------------------------------------------------------------ address handles */

enum fabric_error hca_ah_create(struct hca *hca, hca_pd pd, const struct fabric_av *av, hca_ah *out)
{
    struct pd_state *domain = table_find(&hca->state.arena, &hca->state.device->pds, pd.id);
    assert(domain && av && out);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    if (av->port_num < 1 || av->port_num > hca->state.device->port_count)
        return ERR_INVALID_ARGUMENT;
    enum fabric_error error = rules_av(av, port_of(hca, av->port_num)->info);
    if (error)
        return error;
    struct ah_state *ah = table_take(&hca->state.arena, &hca->state.device->ahs);
    if (!ah)
        return ERR_RESOURCES_EXHAUSTED;
    state_copy_av(&ah->av, av);
    ah->pd = pd.id;
    domain->users++;
    out->id = ah->slot.id;
    return FABRIC_OK;
}

void hca_ah_destroy(struct hca *hca, hca_ah handle)
{
    struct ah_state *ah = table_find(&hca->state.arena, &hca->state.device->ahs, handle.id);
    assert(ah);
    struct pd_state *pd = table_find(&hca->state.arena, &hca->state.device->pds, ah->pd);
    assert(pd && pd->users > 0);
    pd->users--;
    table_put(&hca->state.arena, &hca->state.device->ahs, handle.id);
}
