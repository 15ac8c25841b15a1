/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work requests into the queues (chapter 11.4.1), completions out of them. A refused request leaves
 * no trace.
 */
#include "fabric_sim/hca/queue.h"

#include "fabric_sim/hca/rules.h"
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
    bool local = rules_is_local(wr->opcode);
    if (wr->sge_count > qp->max_send_sge || (local && wr->sge_count))
        return ERR_INVALID_ARGUMENT;
    uint64_t length = total(wr->sges, wr->sge_count);
    if (length > MAX_MESSAGE || (atomic && length != 8))
        return ERR_INVALID_ARGUMENT;
    uint32_t mtu = fabric_mtu_bytes(qp->attr.path_mtu);
    if (mtu && length / mtu >= MAX_PACKETS && !PLANTED(hca_message_unbounded))
        return ERR_INVALID_ARGUMENT;
    if ((wr->flags & HCA_SEND_INLINE) && (reads || local || length > qp->max_inline))
        return ERR_INVALID_ARGUMENT;
    if (reads && qp->attr.max_rd_atomic == 0)
        return ERR_INVALID_ARGUMENT;
    if ((qp->type == HCA_QP_UD || qp->type == HCA_QP_DCI) && !wr->ah.id)
        return ERR_INVALID_ARGUMENT;
    if (qp->sq_head - qp->sq_polled >= qp->sq_limit && !PLANTED(hca_queue_never_full))
        return ERR_QUEUE_FULL;
    return FABRIC_OK;
}

enum fabric_error queue_post_send(struct hca_state *state, struct qp_state *qp,
                                  const struct hca_send_wr *wr)
{
    assert(wr && (wr->sges || wr->sge_count == 0));
    if (state->device->removed)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = check_send(qp, wr);
    if (!error)
        send_ring_put(state, qp, wr);
    return error;
}

bool queue_send_rings(const struct qp_state *qp)
{
    return qp->sq_head != qp->sq_tail;
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

enum fabric_error queue_post_recv(struct hca_state *state, struct qp_state *qp,
                                  const struct hca_recv_wr *wr)
{
    assert(wr && (wr->sges || wr->sge_count == 0));
    if (state->device->removed)
        return ERR_DEVICE_REMOVED;
    if (!rules_may_post_recv(qp->type, qp->state, qp->srq != 0))
        return ERR_INVALID_ARGUMENT;
    enum fabric_error error = check_recv(&qp->rq, wr, qp->rq.polled);
    if (!error)
        recv_ring_put(&state->arena, &qp->rq, wr);
    return error;
}

bool queue_recv_rings(const struct qp_state *qp)
{
    return qp->state == FABRIC_QPS_ERR;
}

enum fabric_error queue_post_srq_recv(struct hca_state *state, struct srq_state *srq,
                                      const struct hca_recv_wr *wr)
{
    assert(wr && (wr->sges || wr->sge_count == 0));
    if (state->device->removed)
        return ERR_DEVICE_REMOVED;
    /* A receive taken from the shared queue makes room at once: it is a queue pair's then. */
    enum fabric_error error = check_recv(&srq->rq, wr, srq->rq.tail);
    if (!error)
        recv_ring_put(&state->arena, &srq->rq, wr);
    return error;
}

/* ------------------------------------------------------------------ completions */

size_t queue_poll(struct hca_state *state, struct cq_state *cq, struct hca_wc *wcs, size_t capacity)
{
    assert(wcs || capacity == 0);
    size_t count = 0;
    while (count < capacity && cq_ring_take(state, cq, &wcs[count]))
        count++;
    return count;
}

void queue_purge(struct hca_state *state, struct cq_state *cq, uint32_t qp)
{
    assert(cq->slot.id && qp);
    struct cqe *ring = hca_arena_at(&state->arena, cq->ring);
    const uint32_t mask = cq->depth - 1, end = cq->tail;
    uint32_t to = cq->head;
    for (uint32_t from = cq->head; from != end; from++) {
        if (ring[from & mask].wc.qp.id == qp && !PLANTED(hca_purge_keeps))
            continue;
        ring[to++ & mask] = ring[from & mask];
    }
    __atomic_store_n(&cq->tail, to, __ATOMIC_RELEASE);
}

bool queue_is_empty(const struct cq_state *cq)
{
    return __atomic_load_n(&cq->tail, __ATOMIC_ACQUIRE) == cq->head;
}

void queue_arm(struct cq_state *cq, bool solicited_only)
{
    if (!solicited_only)
        cq->armed = CQ_ARMED_NEXT;
    else if (cq->armed == CQ_NOT_ARMED || PLANTED(hca_arming_forgets))
        cq->armed = CQ_ARMED_SOLICITED;
}

bool queue_tells(struct cq_state *cq, bool solicited_or_failed)
{
    bool tells =
        cq->armed == CQ_ARMED_NEXT || (cq->armed == CQ_ARMED_SOLICITED && solicited_or_failed);
    if (tells && !PLANTED(hca_arming_lasts))
        cq->armed = CQ_NOT_ARMED;
    return tells;
}
