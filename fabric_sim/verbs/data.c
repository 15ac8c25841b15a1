/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting and polling, in the thread of the program, on the arena of the device.
 */
#define _DEFAULT_SOURCE /* endian.h */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "fabric_sim/verbs/plugin.h"

#define POLL 16          /* completions taken at once */
#define IDLE_YIELD 16u   /* polls that find nothing before the processor is offered to others */
#define IDLE_LOOK 65536u /* and before one looks after the daemon */

static int errno_of(enum fabric_error error)
{
    switch (error) {
    case FABRIC_OK:
        return 0;
    case ERR_QUEUE_FULL:
        return ENOMEM;
    case ERR_DEVICE_REMOVED:
        return EIO;
    default:
        return EINVAL;
    }
}

/* ------------------------------------------------------------------ doorbells */

/* With the lock held. The flag keeps a queue pair that was rung from being rung again before the
 * daemon came to look. */
static bool ring(struct plugin_context *context, const struct plugin_qp *qp)
{
    assert(qp->state->slot.id == qp->id);
    if (qp->state->rung)
        return false;
    qp->state->rung = true;
    return shared_ring(context->shared, context->device, qp->id);
}

static void wake(const struct plugin_context *context)
{
    const uint64_t one = 1;
    (void)!write(context->doorbell, &one, sizeof(one)); /* full is as good as rung */
}

/* After posts: gives the lock back, and lets the daemon look where it has to. */
static void end_posts(struct plugin_context *context, const struct plugin_qp *qp, bool rings,
                      bool wakes)
{
    wakes = (rings && ring(context, qp)) || wakes;
    shared_unlock(context->shared);
    if (wakes)
        wake(context);
}

/* After sends: what this thread can carry itself it does; false: the lock is lost. */
static bool end_sends(struct plugin_context *context, const struct plugin_qp *qp)
{
    bool wakes = false;
    if (!messages_carry(context, qp, &wakes))
        return false;
    end_posts(context, qp, queue_send_rings(qp->state), wakes);
    return true;
}

/* ------------------------------------------------------------------ sends */

static bool opcode_of(enum ibv_wr_opcode opcode, enum hca_wr_opcode *out)
{
    switch (opcode) {
    case IBV_WR_RDMA_WRITE:
        *out = HCA_WR_RDMA_WRITE;
        return true;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        *out = HCA_WR_RDMA_WRITE_WITH_IMM;
        return true;
    case IBV_WR_SEND:
        *out = HCA_WR_SEND;
        return true;
    case IBV_WR_SEND_WITH_IMM:
        *out = HCA_WR_SEND_WITH_IMM;
        return true;
    case IBV_WR_RDMA_READ:
        *out = HCA_WR_RDMA_READ;
        return true;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        *out = HCA_WR_ATOMIC_CMP_AND_SWP;
        return true;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        *out = HCA_WR_ATOMIC_FETCH_AND_ADD;
        return true;
    case IBV_WR_SEND_WITH_INV:
        *out = HCA_WR_SEND_WITH_INV;
        return true;
    case IBV_WR_BIND_MW:
        *out = HCA_WR_BIND_MW;
        return true;
    case IBV_WR_LOCAL_INV:
        *out = HCA_WR_LOCAL_INV;
        return true;
    default: /* segmentation, drivers' own: not offered */
        return false;
    }
}

static bool sges_of(const struct ibv_sge *from, int count, struct hca_sge *to)
{
    if (count < 0 || count > FABRIC_MAX_SGE)
        return false;
    for (int i = 0; i < count; i++)
        to[i] = (struct hca_sge){from[i].addr, from[i].length, from[i].lkey};
    return true;
}

_Static_assert(HCA_SEND_FENCE == (int)IBV_SEND_FENCE && HCA_SEND_INLINE == (int)IBV_SEND_INLINE,
               "one numbering of flags");

static bool request_of(const struct plugin_qp *qp, const struct ibv_send_wr *wr,
                       struct hca_sge *sges, struct hca_send_wr *out)
{
    const unsigned known =
        IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
    memset(out, 0, sizeof(*out));
    if (!opcode_of(wr->opcode, &out->opcode) || !sges_of(wr->sg_list, wr->num_sge, sges) ||
        (wr->send_flags & ~known))
        return false;
    out->wr_id = wr->wr_id;
    out->flags = wr->send_flags;
    out->sges = sges;
    out->sge_count = (uint32_t)wr->num_sge;
    out->imm = be32toh(wr->imm_data);
    if (out->opcode == HCA_WR_BIND_MW)
        return plugin_bind_of(wr->bind_mw.mw, IBV_MW_TYPE_2, wr->bind_mw.rkey,
                              &wr->bind_mw.bind_info, out);
    if (out->opcode == HCA_WR_SEND_WITH_INV || out->opcode == HCA_WR_LOCAL_INV) {
        out->rkey = wr->invalidate_rkey;
        return true;
    }
    if (qp->qp.qp.qp_type == IBV_QPT_UD) {
        const struct plugin_ah *ah = (const struct plugin_ah *)wr->wr.ud.ah;
        out->ah.id = ah ? ah->id : 0;
        out->dest_qp = wr->wr.ud.remote_qpn;
        out->qkey = wr->wr.ud.remote_qkey;
        return true;
    }
    if (qp->type == HCA_QP_XRC_INI)
        out->dest_qp = wr->qp_type.xrc.remote_srqn;
    if (out->opcode >= HCA_WR_ATOMIC_CMP_AND_SWP) {
        out->remote_addr = wr->wr.atomic.remote_addr;
        out->rkey = wr->wr.atomic.rkey;
        out->compare_add = wr->wr.atomic.compare_add;
        out->swap = wr->wr.atomic.swap;
    } else {
        out->remote_addr = wr->wr.rdma.remote_addr;
        out->rkey = wr->wr.rdma.rkey;
    }
    return true;
}

int plugin_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    assert(qp && bad);
    struct plugin_context *context = context_of_plugin(qp->context);
    struct plugin_qp *of = (struct plugin_qp *)qp;
    struct hca_sge sges[FABRIC_MAX_SGE];
    struct hca_send_wr request;
    int error = 0;
    *bad = wr;
    if (!shared_lock(context->shared))
        return EIO;
    for (; wr && !error; wr = wr->next) {
        *bad = wr;
        error = request_of(of, wr, sges, &request)
                    ? errno_of(queue_post_send(&context->state, of->state, &request))
                    : EINVAL;
    }
    return end_sends(context, of) ? error : EIO;
}

/* Nobody looks at the ring before the lock is given back: what was put there can be taken back. */
int plugin_post_all(struct plugin_qp *qp, const struct hca_send_wr *first, size_t count,
                    size_t stride)
{
    assert(qp && first && stride >= sizeof(*first));
    struct plugin_context *context = context_of_plugin(qp->qp.qp.context);
    const char *at = (const char *)first;
    int error = 0;
    if (!shared_lock(context->shared))
        return EIO;
    uint32_t head = qp->state->sq_head;
    for (size_t i = 0; i < count && !error; i++, at += stride)
        error = errno_of(queue_post_send(&context->state, qp->state,
                                         (const struct hca_send_wr *)(const void *)at));
    if (error)
        qp->state->sq_head = head;
    if (!error)
        return end_sends(context, qp) ? 0 : EIO;
    end_posts(context, qp, false, false);
    return error;
}

/* ------------------------------------------------------------------ receives */

static bool receive_of(const struct ibv_recv_wr *wr, struct hca_sge *sges, struct hca_recv_wr *out)
{
    *out =
        (struct hca_recv_wr){.wr_id = wr->wr_id, .sges = sges, .sge_count = (uint32_t)wr->num_sge};
    return sges_of(wr->sg_list, wr->num_sge, sges);
}

int plugin_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    assert(qp && bad);
    struct plugin_context *context = context_of_plugin(qp->context);
    struct plugin_qp *of = (struct plugin_qp *)qp;
    struct hca_sge sges[FABRIC_MAX_SGE];
    struct hca_recv_wr request;
    int error = 0;
    *bad = wr;
    if (!shared_lock(context->shared))
        return EIO;
    for (; wr && !error; wr = wr->next) {
        *bad = wr;
        error = receive_of(wr, sges, &request)
                    ? errno_of(queue_post_recv(&context->state, of->state, &request))
                    : EINVAL;
    }
    end_posts(context, of, queue_recv_rings(of->state), false);
    return error;
}

int plugin_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    assert(srq && bad);
    struct plugin_context *context = context_of_plugin(srq->context);
    struct plugin_srq *of = (struct plugin_srq *)srq;
    struct hca_sge sges[FABRIC_MAX_SGE];
    struct hca_recv_wr request;
    int error = 0;
    *bad = wr;
    if (!shared_lock(context->shared))
        return EIO;
    for (; wr && !error; wr = wr->next) {
        *bad = wr;
        error = receive_of(wr, sges, &request)
                    ? errno_of(queue_post_srq_recv(&context->state, of->state, &request))
                    : EINVAL;
    }
    shared_unlock(context->shared);
    return error;
}

/* ------------------------------------------------------------------ completions */

static enum ibv_wc_status status_of(uint8_t status)
{
    static const enum ibv_wc_status statuses[FABRIC_WC_STATUS_COUNT] = {
#define STATUS(name) [FABRIC_WC_##name] = IBV_WC_##name,
        FABRIC_WC_STATUSES(STATUS)
#undef STATUS
    };
    assert(status < FABRIC_WC_STATUS_COUNT);
    return statuses[status];
}

static enum ibv_wc_opcode wc_opcode_of(uint8_t opcode)
{
    static const enum ibv_wc_opcode opcodes[] = {
        [HCA_WC_SEND] = IBV_WC_SEND,
        [HCA_WC_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
        [HCA_WC_RDMA_READ] = IBV_WC_RDMA_READ,
        [HCA_WC_RECV] = IBV_WC_RECV,
        [HCA_WC_RECV_RDMA_WITH_IMM] = IBV_WC_RECV_RDMA_WITH_IMM,
        [HCA_WC_COMP_SWAP] = IBV_WC_COMP_SWAP,
        [HCA_WC_FETCH_ADD] = IBV_WC_FETCH_ADD,
        [HCA_WC_BIND_MW] = IBV_WC_BIND_MW,
        [HCA_WC_LOCAL_INV] = IBV_WC_LOCAL_INV,
    };
    assert(opcode < sizeof(opcodes) / sizeof(opcodes[0]));
    return opcodes[opcode];
}

static void completion_of(const struct hca_wc *from, struct ibv_wc *to)
{
    memset(to, 0, sizeof(*to));
    to->wr_id = from->wr_id;
    to->status = status_of(from->status);
    to->opcode = wc_opcode_of(from->opcode);
    to->vendor_err = from->vendor_err;
    to->byte_len = from->byte_len;
    if (from->with_inv)
        to->invalidated_rkey = from->imm;
    else
        to->imm_data = htobe32(from->imm);
    to->qp_num = from->qp_num;
    to->src_qp = from->src_qp;
    to->wc_flags = (from->with_imm ? IBV_WC_WITH_IMM : 0u) | (from->with_grh ? IBV_WC_GRH : 0u) |
                   (from->with_inv ? IBV_WC_WITH_INV : 0u);
    to->pkey_index = from->pkey_index;
    to->slid = from->slid;
    to->sl = from->sl;
    to->dlid_path_bits = from->dlid_path_bits;
}

/* Nothing to poll: 0, or -1 once the daemon is known to be gone. */
static int found_nothing(struct plugin_context *context)
{
    unsigned idle = atomic_fetch_add(&context->idle, 1);
    if (idle % IDLE_YIELD == IDLE_YIELD - 1)
        sched_yield(); /* the device that is waited for needs one too */
    if (idle % IDLE_LOOK == IDLE_LOOK - 1)
        plugin_look(context);
    return context->gone ? -1 : 0;
}

int plugin_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    assert(cq && (wc || count <= 0));
    struct plugin_context *context = context_of_plugin(cq->context);
    struct plugin_cq *of = (struct plugin_cq *)cq;
    struct hca_wc taken[POLL];
    int done = 0;
    if (queue_is_empty(of->state))
        return found_nothing(context);
    if (!shared_lock(context->shared))
        return -1;
    while (done < count) {
        size_t want = count - done < POLL ? (size_t)(count - done) : POLL;
        size_t got = queue_poll(&context->state, of->state, taken, want);
        for (size_t i = 0; i < got; i++)
            completion_of(&taken[i], &wc[done++]);
        if (got < want)
            break;
    }
    shared_unlock(context->shared);
    return done;
}

int plugin_take_completion(struct plugin_cq *cq)
{
    struct plugin_context *context = context_of_plugin(cq->cq.context);
    struct hca_wc taken;
    if (queue_is_empty(cq->state))
        return found_nothing(context) ? EIO : ENOENT;
    if (!shared_lock(context->shared))
        return EIO;
    size_t got = queue_poll(&context->state, cq->state, &taken, 1);
    shared_unlock(context->shared);
    if (got == 0)
        return ENOENT;
    completion_of(&taken, &cq->now);
    cq->time = taken.time;
    return 0;
}

int plugin_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    struct plugin_context *context = context_of_plugin(cq->context);
    if (!shared_lock(context->shared))
        return EIO;
    queue_arm(((struct plugin_cq *)cq)->state, solicited_only != 0);
    shared_unlock(context->shared);
    return 0;
}
