/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work requests into the queues (chapter 11.4.1). A refused one leaves no trace.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

#define MAX_MESSAGE (1ull << 31) /* chapter 9.2 */
#define MAX_PACKETS 0x300000     /* with all before it inside half of the PSN space */

static uint64_t total(const struct hca_sge *sges, uint32_t count)
{
    uint64_t length = 0;
    for (uint32_t i = 0; i < count; i++)
        length += sges[i].length;
    return length;
}

static enum fabric_error check_send(const struct qp_state *qp, const struct hca_send_wr *wr)
{
    bool reads = rules_is_read_or_atomic(wr->opcode);
    bool atomic = reads && wr->opcode != HCA_WR_RDMA_READ;
    if (!rules_may_post_send(qp->type, qp->state) || !rules_send_opcode(qp->type, wr->opcode))
        return ERR_INVALID_ARGUMENT;
    if (wr->sge_count > qp->max_send_sge)
        return ERR_INVALID_ARGUMENT;
    uint64_t length = total(wr->sges, wr->sge_count);
    if (length > MAX_MESSAGE || (atomic && length != 8))
        return ERR_INVALID_ARGUMENT;
    uint32_t mtu = fabric_mtu_bytes(qp->attr.path_mtu);
    if (mtu && length / mtu >= MAX_PACKETS && !PLANTED(hca_message_unbounded))
        return ERR_INVALID_ARGUMENT;
    if ((wr->flags & HCA_SEND_INLINE) && (reads || length > qp->max_inline))
        return ERR_INVALID_ARGUMENT;
    if (reads && qp->attr.max_rd_atomic == 0)
        return ERR_INVALID_ARGUMENT;
    if ((qp->type == HCA_QP_UD || qp->type == HCA_QP_DCI) && !wr->ah.id)
        return ERR_INVALID_ARGUMENT;
    if (qp->sq_head - qp->sq_polled >= qp->sq_limit && !PLANTED(hca_queue_never_full))
        return ERR_QUEUE_FULL;
    return FABRIC_OK;
}

enum fabric_error hca_post_send(struct hca *hca, hca_qp handle, const struct hca_send_wr *wr)
{
    assert(wr && (wr->sges || wr->sge_count == 0));
    struct qp_state *qp = qp_find(hca, handle);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = check_send(qp, wr);
    if (error)
        return error;
    struct qp_context *ctx = context_of(hca, qp);
    send_ring_put(&hca->state, qp, wr);
    if (qp->state == FABRIC_QPS_ERR || qp->state == FABRIC_QPS_SQE)
        qp_flush_sends(ctx);
    else
        context_ready(ctx);
    return FABRIC_OK;
}

static enum fabric_error check_recv(const struct recv_ring *rq, const struct hca_recv_wr *wr,
                                    uint32_t released)
{
    if (!rq->ring)
        return ERR_QUEUE_FULL;
    if (wr->sge_count > rq->max_sge || total(wr->sges, wr->sge_count) > MAX_MESSAGE)
        return ERR_INVALID_ARGUMENT;
    return rq->head - released >= rq->limit ? ERR_QUEUE_FULL : FABRIC_OK;
}

enum fabric_error hca_post_recv(struct hca *hca, hca_qp handle, const struct hca_recv_wr *wr)
{
    assert(wr && (wr->sges || wr->sge_count == 0));
    struct qp_state *qp = qp_find(hca, handle);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    if (!rules_may_post_recv(qp->type, qp->state, qp->srq != 0))
        return ERR_INVALID_ARGUMENT;
    enum fabric_error error = check_recv(&qp->rq, wr, qp->rq.polled);
    if (error)
        return error;
    recv_ring_put(&hca->state.arena, &qp->rq, wr);
    if (qp->state == FABRIC_QPS_ERR)
        qp_flush_recvs(context_of(hca, qp));
    return FABRIC_OK;
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
    recv_ring_drop(&hca->state.arena, &srq->rq);
    table_put(&hca->state.arena, &hca->state.device->srqs, handle.id);
    return FABRIC_OK;
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

enum fabric_error hca_srq_post_recv(struct hca *hca, hca_srq handle, const struct hca_recv_wr *wr)
{
    assert(wr && (wr->sges || wr->sge_count == 0));
    struct srq_state *srq = srq_find(hca, handle);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    /* A receive taken from the shared queue makes room at once: it is a queue pair's then. */
    enum fabric_error error = check_recv(&srq->rq, wr, srq->rq.tail);
    if (error)
        return error;
    recv_ring_put(&hca->state.arena, &srq->rq, wr);
    return FABRIC_OK;
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
