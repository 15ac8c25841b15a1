/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work queues and completion queues: rings in chunks of the arena, positions in the object they
 * belong to. Counters run on and wrap; the entry is the counter modulo the depth.
 */
#include "fabric_sim/hca/state.h"

#include <string.h>

#include "src/fabric/planted.h"

/* The position moves once the entry is whole: for readers without the lock, and for the next owner
 * of a lock whose holder died. */
static inline void ring_publish(uint32_t *position, uint32_t value)
{
    __atomic_store_n(position, value, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ receives */

uint32_t ring_depth(uint32_t limit)
{
    assert(limit <= 1u << 30);
    uint32_t depth = 1;
    while (depth < limit)
        depth *= 2;
    return depth;
}

/* wr_id, sge_count, length, then the entries. */
struct recv_head {
    uint64_t wr_id;
    uint32_t sge_count, length;
};

uint32_t recv_stride(uint32_t max_sge)
{
    assert(max_sge <= FABRIC_MAX_SGE);
    return (uint32_t)(sizeof(struct recv_head) + max_sge * sizeof(struct hca_sge));
}

static uint64_t recv_ring_bytes(const struct recv_ring *rq)
{
    return (uint64_t)rq->depth * recv_stride(rq->max_sge);
}

bool recv_ring_init(struct hca_arena *arena, struct recv_ring *rq, uint32_t max_wr,
                    uint32_t max_sge)
{
    assert(max_wr > 0);
    memset(rq, 0, sizeof(*rq));
    rq->limit = max_wr;
    rq->depth = ring_depth(max_wr);
    rq->max_sge = max_sge;
    rq->ring = hca_arena_chunk(arena, recv_ring_bytes(rq));
    return rq->ring != 0;
}

void recv_ring_drop(struct hca_arena *arena, struct recv_ring *rq)
{
    if (rq->ring)
        hca_arena_drop(arena, rq->ring, recv_ring_bytes(rq));
    memset(rq, 0, sizeof(*rq));
}

static uint8_t *recv_at(const struct hca_arena *arena, const struct recv_ring *rq, uint32_t counter)
{
    uint8_t *base = hca_arena_at(arena, rq->ring);
    return base + (size_t)(counter & (rq->depth - 1)) * recv_stride(rq->max_sge);
}

void recv_ring_put(const struct hca_arena *arena, struct recv_ring *rq,
                   const struct hca_recv_wr *wr)
{
    assert(wr->sge_count <= rq->max_sge && rq->head - rq->tail < rq->depth);
    uint8_t *at = recv_at(arena, rq, rq->head);
    struct recv_head head = {.wr_id = wr->wr_id, .sge_count = wr->sge_count};
    for (uint32_t i = 0; i < wr->sge_count; i++)
        head.length += wr->sges[i].length;
    memcpy(at, &head, sizeof(head));
    if (wr->sge_count)
        memcpy(at + sizeof(head), wr->sges, wr->sge_count * sizeof(wr->sges[0]));
    ring_publish(&rq->head, rq->head + 1);
}

bool recv_ring_take(const struct hca_arena *arena, struct recv_ring *rq, struct recv_wqe *out)
{
    if (rq->head == rq->tail)
        return false;
    const uint8_t *at = recv_at(arena, rq, rq->tail++);
    struct recv_head head;
    memcpy(&head, at, sizeof(head));
    assert(head.sge_count <= FABRIC_MAX_SGE);
    out->wr_id = head.wr_id;
    out->sge_count = head.sge_count;
    out->length = head.length;
    memcpy(out->sges, at + sizeof(head), head.sge_count * sizeof(out->sges[0]));
    return true;
}

/* Bytes that the oldest receive takes; 0 when there is none. */
uint32_t recv_ring_next_length(const struct hca_arena *arena, const struct recv_ring *rq)
{
    if (rq->head == rq->tail)
        return 0;
    struct recv_head head;
    memcpy(&head, recv_at(arena, rq, rq->tail), sizeof(head));
    return head.length;
}

/* ------------------------------------------------------------------ sends */

static uint64_t send_ring_bytes(const struct qp_state *qp)
{
    return (uint64_t)qp->sq_depth * qp->sq_stride;
}

bool send_ring_init(struct hca_arena *arena, struct qp_state *qp, const struct hca_qp_init *init)
{
    assert(!qp->sq);
    qp->sq_limit = init->max_send_wr;
    qp->sq_depth = ring_depth(init->max_send_wr ? init->max_send_wr : 1);
    qp->max_send_sge = init->max_send_sge ? init->max_send_sge : 1;
    qp->max_inline = init->max_inline;
    qp->sq_stride =
        (uint32_t)(sizeof(struct send_wqe) + qp->max_send_sge * sizeof(struct hca_sge)) +
        (init->max_inline + 7) / 8 * 8;
    qp->sq = hca_arena_chunk(arena, send_ring_bytes(qp));
    return qp->sq != 0;
}

void send_ring_drop(struct hca_arena *arena, struct qp_state *qp)
{
    if (qp->sq)
        hca_arena_drop(arena, qp->sq, send_ring_bytes(qp));
    qp->sq = 0;
}

struct send_wqe *send_ring_at(const struct hca_arena *arena, const struct qp_state *qp,
                              uint32_t counter)
{
    uint8_t *base = hca_arena_at(arena, qp->sq);
    return (struct send_wqe *)(void *)(base +
                                       (size_t)(counter & (qp->sq_depth - 1)) * qp->sq_stride);
}

struct hca_sge *send_wqe_sges(struct send_wqe *wqe)
{
    return (struct hca_sge *)(void *)(wqe + 1);
}

uint8_t *send_wqe_inline(const struct qp_state *qp, struct send_wqe *wqe)
{
    return (uint8_t *)(send_wqe_sges(wqe) + qp->max_send_sge);
}

static void copy_inline(const struct qp_state *qp, struct send_wqe *wqe,
                        const struct hca_send_wr *wr)
{
    uint8_t *to = send_wqe_inline(qp, wqe);
    for (uint32_t i = 0; i < wr->sge_count; i++) {
        if (wr->sges[i].length)
            memcpy(to, (const void *)(uintptr_t)wr->sges[i].addr, wr->sges[i].length);
        to += wr->sges[i].length;
    }
}

void send_ring_put(struct hca_state *state, struct qp_state *qp, const struct hca_send_wr *wr)
{
    assert(qp->sq_head - qp->sq_tail < qp->sq_depth && wr->sge_count <= qp->max_send_sge);
    struct send_wqe *wqe = send_ring_at(&state->arena, qp, qp->sq_head);
    memset(wqe, 0, sizeof(*wqe));
    wqe->wr_id = wr->wr_id;
    if (PLANTED(hca_address_in_arena))
        wqe->av.grh.flow_label = (uint32_t)((uintptr_t)wqe >> 12);
    wqe->remote_addr = wr->remote_addr;
    wqe->compare_add = wr->compare_add;
    wqe->swap = wr->swap;
    wqe->dc_access_key = wr->dc_access_key;
    for (uint32_t i = 0; i < wr->sge_count; i++)
        wqe->length += wr->sges[i].length;
    wqe->imm = wr->imm;
    wqe->rkey = wr->rkey;
    wqe->dest_qp = wr->dest_qp & 0xffffff;
    wqe->qkey = wr->qkey;
    wqe->opcode = (uint8_t)wr->opcode;
    wqe->flags = (uint8_t)wr->flags;
    wqe->sge_count = (uint8_t)wr->sge_count;
    if (wr->opcode == HCA_WR_BIND_MW) {
        wqe->remote_addr = wr->bind.addr;
        wqe->compare_add = wr->bind.length;
        wqe->swap = wr->bind.access;
        wqe->imm = wr->bind.mw.id;
        wqe->qkey = wr->bind.lkey;
    }
    if (wr->ah.id) {
        const struct ah_state *ah = table_find(&state->arena, &state->device->ahs, wr->ah.id);
        assert(ah);
        state_copy_av(&wqe->av, &ah->av);
    }
    if (wr->flags & HCA_SEND_INLINE)
        copy_inline(qp, wqe, wr);
    else if (wr->sge_count)
        memcpy(send_wqe_sges(wqe), wr->sges, wr->sge_count * sizeof(wr->sges[0]));
    ring_publish(&qp->sq_head, qp->sq_head + 1);
}

/* ------------------------------------------------------------------ completions */

bool cq_ring_init(struct hca_arena *arena, struct cq_state *cq, uint32_t depth)
{
    assert(depth > 0 && !cq->ring);
    cq->limit = depth;
    cq->depth = ring_depth(depth);
    cq->ring = hca_arena_chunk(arena, (uint64_t)cq->depth * sizeof(struct cqe));
    return cq->ring != 0;
}

bool cq_ring_resize(struct hca_arena *arena, struct cq_state *cq, uint32_t depth)
{
    struct cq_state fresh = {.ring = 0};
    assert(cq->tail - cq->head <= depth);
    if (!cq_ring_init(arena, &fresh, depth))
        return false;
    const struct cqe *from = hca_arena_at(arena, cq->ring);
    struct cqe *to = hca_arena_at(arena, fresh.ring);
    for (uint32_t i = cq->head; i != cq->tail && !PLANTED(hca_resizing_forgets); i++)
        to[i & (fresh.depth - 1)] = from[i & (cq->depth - 1)];
    cq_ring_drop(arena, cq);
    cq->ring = fresh.ring;
    cq->depth = fresh.depth;
    cq->limit = fresh.limit;
    return true;
}

void cq_ring_drop(struct hca_arena *arena, struct cq_state *cq)
{
    hca_arena_drop(arena, cq->ring, (uint64_t)cq->depth * sizeof(struct cqe));
    cq->ring = 0;
}

static void copy_wc(struct hca_wc *to, const struct hca_wc *from)
{
    to->wr_id = from->wr_id;
    to->context = from->context;
    to->qp = from->qp;
    to->qp_num = from->qp_num;
    to->vendor_err = from->vendor_err;
    to->byte_len = from->byte_len;
    to->imm = from->imm;
    to->src_qp = from->src_qp;
    to->slid = from->slid;
    to->pkey_index = from->pkey_index;
    to->sl = from->sl;
    to->dlid_path_bits = from->dlid_path_bits;
    to->status = from->status;
    to->opcode = from->opcode;
    to->is_send = from->is_send;
    to->with_imm = from->with_imm;
    to->with_grh = from->with_grh;
    to->with_inv = from->with_inv;
}

bool cq_ring_put(struct hca_state *state, struct cq_state *cq, const struct hca_wc *wc, uint32_t qp,
                 uint32_t release, uint64_t now)
{
    bool overran = cq->overrun && !PLANTED(hca_overrun_forgiven);
    uint32_t limit = PLANTED(hca_cq_ring_is_limit) ? cq->depth : cq->limit;
    if (overran || cq->tail - cq->head >= limit) {
        cq->overrun = true;
        return false;
    }
    struct cqe *ring = hca_arena_at(&state->arena, cq->ring);
    struct cqe *cqe = &ring[cq->tail & (cq->depth - 1)];
    copy_wc(&cqe->wc, wc);
    cqe->wc.time = now;
    cqe->qp = qp;
    cqe->release = release;
    ring_publish(&cq->tail, cq->tail + 1);
    return true;
}

/* A polled completion makes room in the queue it came from (chapter 10.8.6). */
static void release_posts(const struct hca_state *state, const struct cqe *cqe)
{
    struct qp_state *qp = state_qp(state, cqe->qp);
    if (!qp)
        return;
    /* Never back: a reset may have let go of more meanwhile. */
    uint32_t *polled = cqe->wc.is_send ? &qp->sq_polled : &qp->rq.polled;
    if ((int32_t)(cqe->release - *polled) > 0)
        *polled = cqe->release;
}

bool cq_ring_take(struct hca_state *state, struct cq_state *cq, struct hca_wc *out)
{
    if (cq->head == cq->tail)
        return false;
    const struct cqe *ring = hca_arena_at(&state->arena, cq->ring);
    const struct cqe *cqe = &ring[cq->head & (cq->depth - 1)];
    release_posts(state, cqe);
    *out = cqe->wc;
    ring_publish(&cq->head, cq->head + 1);
    return true;
}
