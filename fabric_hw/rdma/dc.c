/* SPDX-License-Identifier: Apache-2.0 */
/* DC through mlx5dv: initiators that reach any target, targets that serve any initiator. Made,
 * moved and posted to otherwise than RC; destroyed the same. */
#define _GNU_SOURCE
#include <endian.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

#define SEND_OPS                                                                                   \
    ((uint64_t)(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |                   \
                IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ))

static struct ibv_qp *create_dci(struct rdma_device *device, struct ibv_qp_init_attr_ex *init)
{
    struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
                                     .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI}};
    init->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init->send_ops_flags = SEND_OPS;
    return device->rdma->calls->mlx5dv_create_qp(device->context, init, &dv);
}

/* A target takes its receives from the shared queue alone. */
static struct ibv_qp *create_dct(struct rdma_device *device, struct ibv_qp_init_attr_ex *init,
                                 const struct rdma_srq *srq, uint64_t access_key)
{
    struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
                                     .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT}};
    dv.dc_init_attr.dct_access_key = access_key;
    init->srq = srq->srq;
    return device->rdma->calls->mlx5dv_create_qp(device->context, init, &dv);
}

struct ibv_qp *rdma_dc_create(struct rdma_device *device, const struct fabric_qp_init *init,
                              struct rdma_qp *qp)
{
    const struct verbs_calls *calls = device->rdma->calls;
    struct ibv_qp_init_attr_ex made = {.qp_context = qp,
                                       .send_cq = qp->send_cq->cq,
                                       .recv_cq = qp->recv_cq->cq,
                                       .qp_type = IBV_QPT_DRIVER,
                                       .comp_mask = IBV_QP_INIT_ATTR_PD,
                                       .pd = device->pd};
    if (init->type == FABRIC_QP_DCT)
        return create_dct(device, &made, qp->srq, init->dc_access_key);
    made.sq_sig_all = init->sq_sig_all;
    made.cap.max_send_wr = init->max_send_wr ? init->max_send_wr : 1;
    made.cap.max_send_sge = qp->max_send_sge;
    made.cap.max_inline_data = init->max_inline;
    struct ibv_qp *dci = create_dci(device, &made);
    if (!dci)
        return NULL;
    qp->ex = calls->qp_to_qp_ex(dci);
    qp->mlx5 = calls->mlx5dv_qp_ex_from_ibv_qp_ex(qp->ex);
    return dci;
}

bool rdma_dc_probe(struct rdma_device *device, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr_ex init = {.send_cq = cq,
                                       .recv_cq = cq,
                                       .cap = {.max_send_wr = 1, .max_send_sge = 1},
                                       .qp_type = IBV_QPT_DRIVER,
                                       .comp_mask = IBV_QP_INIT_ATTR_PD,
                                       .pd = device->pd};
    struct ibv_qp *dci = create_dci(device, &init);
    if (dci)
        device->rdma->calls->destroy_qp(dci);
    return dci != NULL;
}

/* An initiator has no peer of its own, so no address and no access; a target has no retries. */
int rdma_dc_modify(struct rdma_qp *qp, const struct fabric_qp_attr *attr)
{
    struct ibv_qp_attr to = {.qp_state = (enum ibv_qp_state)attr->state,
                             .port_num = attr->port_num,
                             .pkey_index = attr->pkey_index};
    bool target = qp->type == FABRIC_QP_DCT;
    int mask = IBV_QP_STATE;
    switch (attr->state) {
    case FABRIC_QPS_INIT:
        mask |= IBV_QP_PORT | IBV_QP_PKEY_INDEX | (target ? IBV_QP_ACCESS_FLAGS : 0);
        to.qp_access_flags =
            (attr->access & FABRIC_ACCESS_LOCAL_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0u) |
            (attr->access & FABRIC_ACCESS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0u) |
            (attr->access & FABRIC_ACCESS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0u);
        break;
    case FABRIC_QPS_RTR:
        mask |= IBV_QP_PATH_MTU | (target ? IBV_QP_AV | IBV_QP_MIN_RNR_TIMER : 0);
        to.path_mtu = (enum ibv_mtu)attr->path_mtu;
        to.min_rnr_timer = attr->min_rnr_timer;
        if (target)
            rdma_ah_attr(&attr->av, &to.ah_attr);
        break;
    case FABRIC_QPS_RTS:
        mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_MAX_QP_RD_ATOMIC;
        to.sq_psn = attr->sq_psn;
        to.timeout = attr->timeout;
        to.retry_cnt = attr->retry_cnt;
        to.rnr_retry = attr->rnr_retry;
        to.max_rd_atomic = attr->max_rd_atomic;
        break;
    default:
        break;
    }
    return qp->object.device->rdma->calls->modify_qp(qp->qp, &to, mask);
}

static void set_operation(struct ibv_qp_ex *ex, const struct fabric_send_wr *wr)
{
    switch (wr->opcode) {
    case FABRIC_WR_SEND:
        ibv_wr_send(ex);
        break;
    case FABRIC_WR_SEND_WITH_IMM:
        ibv_wr_send_imm(ex, htobe32(wr->imm));
        break;
    case FABRIC_WR_RDMA_WRITE:
        ibv_wr_rdma_write(ex, wr->rkey, wr->remote_iova);
        break;
    case FABRIC_WR_RDMA_WRITE_WITH_IMM:
        ibv_wr_rdma_write_imm(ex, wr->rkey, wr->remote_iova, htobe32(wr->imm));
        break;
    default:
        assert(wr->opcode == FABRIC_WR_RDMA_READ);
        ibv_wr_rdma_read(ex, wr->rkey, wr->remote_iova);
    }
}

static void set_data(struct rdma_qp *qp, const struct fabric_send_wr *wr)
{
    struct ibv_sge sges[FABRIC_MAX_SGE];
    struct ibv_data_buf buffers[FABRIC_MAX_SGE];
    if (!(wr->flags & FABRIC_SEND_INLINE)) {
        rdma_sges(qp->object.device, wr->sges, sges, wr->sge_count, false);
        ibv_wr_set_sge_list(qp->ex, wr->sge_count, sges);
        return;
    }
    for (uint32_t i = 0; i < wr->sge_count; i++)
        buffers[i] = (struct ibv_data_buf){wr->sges[i].addr, wr->sges[i].length};
    ibv_wr_set_inline_data_list(qp->ex, wr->sge_count, buffers);
}

int rdma_dc_post(struct rdma_qp *qp, uint64_t wr_id, const struct fabric_send_wr *wr,
                 struct ibv_ah *ah)
{
    struct ibv_qp_ex *ex = qp->ex;
    ibv_wr_start(ex);
    ex->wr_id = wr_id;
    ex->wr_flags = (wr->flags & FABRIC_SEND_FENCE ? IBV_SEND_FENCE : 0u) |
                   (wr->flags & FABRIC_SEND_SIGNALED ? IBV_SEND_SIGNALED : 0u) |
                   (wr->flags & FABRIC_SEND_SOLICITED ? IBV_SEND_SOLICITED : 0u);
    set_operation(ex, wr);
    mlx5dv_wr_set_dc_addr(qp->mlx5, ah, wr->dct_num,
                          PLANTED(rdma_dc_keyless) ? 0 : wr->dc_access_key);
    set_data(qp, wr);
    return ibv_wr_complete(ex);
}
