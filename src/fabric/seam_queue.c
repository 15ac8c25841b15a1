/* SPDX-License-Identifier: Apache-2.0 */
/* The seam's functions about queues, queue pairs, posts and address handles. */
#include <assert.h>

#include "src/fabric/seam.h"
#include "src/fabric/seam_check.h"

#define MAX_24_BITS 0xffffffu
#define ANY_SEND_FLAG                                                                              \
    ((uint32_t)(FABRIC_SEND_FENCE | FABRIC_SEND_SIGNALED | FABRIC_SEND_SOLICITED |                 \
                FABRIC_SEND_INLINE))

enum fabric_error fabric_cq_create(struct fabric *f, fabric_device device, uint32_t depth,
                                   fabric_cq *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_CQ_CREATE);
    fabric_cq made = {0};
    assert(device.id && depth > 0 && out);
    enum fabric_error error = ops->cq_create(f, device, depth, &made);
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_CQ_CREATE, error);
}

enum fabric_error fabric_cq_destroy(struct fabric *f, fabric_cq cq)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_CQ_DESTROY);
    assert(cq.id);
    return seam_leave_sure(f, FABRIC_OP_CQ_DESTROY, ops->cq_destroy(f, cq));
}

enum fabric_error fabric_srq_create(struct fabric *f, fabric_device device, uint32_t max_wr,
                                    uint32_t max_sge, fabric_srq *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_SRQ_CREATE);
    fabric_srq made = {0};
    assert(device.id && max_wr > 0 && max_sge <= FABRIC_MAX_SGE && out);
    enum fabric_error error = ops->srq_create(f, device, max_wr, max_sge, &made);
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_SRQ_CREATE, error);
}

enum fabric_error fabric_srq_destroy(struct fabric *f, fabric_srq srq)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_SRQ_DESTROY);
    assert(srq.id);
    return seam_leave_sure(f, FABRIC_OP_SRQ_DESTROY, ops->srq_destroy(f, srq));
}

static void check_recv_wr(const struct fabric_recv_wr *wr)
{
    assert(wr && wr->sge_count <= FABRIC_MAX_SGE && (wr->sges || wr->sge_count == 0));
}

enum fabric_error fabric_srq_post_recv(struct fabric *f, fabric_srq srq,
                                       const struct fabric_recv_wr *wr)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_SRQ_POST_RECV);
    assert(srq.id);
    check_recv_wr(wr);
    return seam_leave(f, FABRIC_OP_SRQ_POST_RECV, ops->srq_post_recv(f, srq, wr));
}

static void check_qp_init(const struct fabric_qp_init *init)
{
    assert(init->type <= FABRIC_QP_DCT);
    assert(init->send_cq.id || init->type == FABRIC_QP_DCT);
    assert(init->recv_cq.id || init->type == FABRIC_QP_DCI);
    assert(init->srq.id || init->type != FABRIC_QP_DCT || PLANTED(fabric_seam_dct_without_srq));
    assert(!init->srq.id || init->type != FABRIC_QP_DCI);
    assert(init->max_send_sge <= FABRIC_MAX_SGE && init->max_recv_sge <= FABRIC_MAX_SGE);
}

enum fabric_error fabric_qp_create(struct fabric *f, fabric_device device,
                                   const struct fabric_qp_init *init, fabric_qp *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_QP_CREATE);
    fabric_qp made = {0};
    assert(device.id && init && out);
    check_qp_init(init);
    enum fabric_error error = ops->qp_create(f, device, init, &made);
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_QP_CREATE, error);
}

/* Ranges that no device widens; what depends on device and state is the backend's to refuse. */
static void check_qp_attr(const struct fabric_qp_attr *attr)
{
    switch (attr->state) {
    case FABRIC_QPS_RTR:
        assert(attr->dest_qp_num <= MAX_24_BITS && attr->rq_psn <= MAX_24_BITS);
        assert(attr->min_rnr_timer <= 31);
        break;
    case FABRIC_QPS_RTS:
        assert(attr->sq_psn <= MAX_24_BITS && attr->timeout <= 31);
        assert(attr->retry_cnt <= 7 && attr->rnr_retry <= 7);
        break;
    default:
        assert(attr->state <= FABRIC_QPS_ERR || PLANTED(fabric_seam_any_state));
    }
}

enum fabric_error fabric_qp_modify(struct fabric *f, fabric_qp qp,
                                   const struct fabric_qp_attr *attr)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_QP_MODIFY);
    assert(qp.id && attr);
    check_qp_attr(attr);
    return seam_leave(f, FABRIC_OP_QP_MODIFY, ops->qp_modify(f, qp, attr));
}

enum fabric_error fabric_qp_query(struct fabric *f, fabric_qp qp, struct fabric_qp_info *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_QP_QUERY);
    assert(qp.id && out);
    enum fabric_error error = ops->qp_query(f, qp, out);
    assert(error || (out->state <= FABRIC_QPS_ERR && out->qp_num <= MAX_24_BITS));
    return seam_leave(f, FABRIC_OP_QP_QUERY, error);
}

enum fabric_error fabric_qp_destroy(struct fabric *f, fabric_qp qp)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_QP_DESTROY);
    assert(qp.id);
    return seam_leave_sure(f, FABRIC_OP_QP_DESTROY, ops->qp_destroy(f, qp));
}

enum fabric_error fabric_qp_post_send(struct fabric *f, fabric_qp qp,
                                      const struct fabric_send_wr *wr)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_QP_POST_SEND);
    assert(qp.id && wr && wr->opcode <= FABRIC_WR_RDMA_READ);
    assert((wr->flags & ~ANY_SEND_FLAG) == 0 && wr->dct_num <= MAX_24_BITS);
    assert(wr->sge_count <= FABRIC_MAX_SGE || PLANTED(fabric_seam_too_many_entries));
    assert(wr->sges || wr->sge_count == 0);
    return seam_leave(f, FABRIC_OP_QP_POST_SEND, ops->qp_post_send(f, qp, wr));
}

enum fabric_error fabric_qp_post_recv(struct fabric *f, fabric_qp qp,
                                      const struct fabric_recv_wr *wr)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_QP_POST_RECV);
    assert(qp.id);
    check_recv_wr(wr);
    return seam_leave(f, FABRIC_OP_QP_POST_RECV, ops->qp_post_recv(f, qp, wr));
}

enum fabric_error fabric_resolve(struct fabric *f, fabric_device device, const struct fabric_av *av,
                                 uint64_t cookie)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_RESOLVE);
    assert(device.id && av && av->sl <= 15);
    return seam_leave(f, FABRIC_OP_RESOLVE, ops->resolve(f, device, av, cookie));
}

enum fabric_error fabric_ah_create(struct fabric *f, fabric_device device,
                                   const struct fabric_av *av, fabric_ah *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_AH_CREATE);
    fabric_ah made = {0};
    assert(device.id && av && out);
    enum fabric_error error = ops->ah_create(f, device, av, &made);
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_AH_CREATE, error);
}

enum fabric_error fabric_ah_destroy(struct fabric *f, fabric_ah ah)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_AH_DESTROY);
    assert(ah.id);
    return seam_leave_sure(f, FABRIC_OP_AH_DESTROY, ops->ah_destroy(f, ah));
}
