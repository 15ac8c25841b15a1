/* SPDX-License-Identifier: Apache-2.0 */
/* Transitions of queue pairs. Vol. 1, chapter 10.3.1. */
#include <string.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"

void rdma_ah_attr(const struct fabric_av *av, struct ibv_ah_attr *out)
{
    *out = (struct ibv_ah_attr){.dlid = av->dlid,
                                .sl = av->sl,
                                .src_path_bits = av->src_path_bits,
                                .is_global = av->is_global,
                                .port_num = av->port_num};
    if (!av->is_global)
        return;
    memcpy(out->grh.dgid.raw, av->grh.dgid.raw, sizeof(out->grh.dgid.raw));
    out->grh.flow_label = av->grh.flow_label;
    out->grh.sgid_index = av->grh.sgid_index;
    out->grh.hop_limit = av->grh.hop_limit;
    out->grh.traffic_class = av->grh.traffic_class;
}

static unsigned access_of(uint32_t access)
{
    unsigned flags = access & FABRIC_ACCESS_LOCAL_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0;
    flags |= access & FABRIC_ACCESS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0;
    flags |= access & FABRIC_ACCESS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0;
    return flags;
}

static bool offered(enum fabric_qp_type type, enum fabric_qp_state from, enum fabric_qp_state to)
{
    switch (to) {
    case FABRIC_QPS_RESET:
        return type != FABRIC_QP_DCT;
    case FABRIC_QPS_ERR:
        return type != FABRIC_QP_DCT && from != FABRIC_QPS_RESET;
    case FABRIC_QPS_INIT:
        return from == FABRIC_QPS_RESET || from == FABRIC_QPS_INIT;
    case FABRIC_QPS_RTR:
        return from == FABRIC_QPS_INIT;
    case FABRIC_QPS_RTS:
        return from == FABRIC_QPS_RTR && type != FABRIC_QP_DCT;
    default:
        return false;
    }
}

/* ------------------------------------------------------------------ asked before */

/* Verbs would answer both with EINVAL, or take an empty entry. */
static enum fabric_error check_init(struct rdma_qp *qp, const struct fabric_qp_attr *attr)
{
    struct rdma_device *device = qp->object.device;
    uint16_t pkey;
    if (!rdma_is_port(device, attr->port_num))
        return ERR_INVALID_ARGUMENT;
    const fabric_device handle = {device->id};
    enum fabric_error error =
        rdma_pkey_query(device->rdma->f, handle, attr->port_num, attr->pkey_index, &pkey);
    if (error)
        return error;
    return fabric_pkey_empty(pkey) && !PLANTED(rdma_pkey_empty_joined) ? ERR_PKEY_EMPTY : FABRIC_OK;
}

static enum fabric_error check_rtr(struct rdma_qp *qp, const struct fabric_qp_attr *attr)
{
    struct rdma_device *device = qp->object.device;
    struct fabric_port_attr port;
    bool addressed = qp->type != FABRIC_QP_DCI;
    if (fabric_mtu_bytes(attr->path_mtu) == 0)
        return ERR_INVALID_ARGUMENT;
    if (!addressed)
        return FABRIC_OK;
    const fabric_device handle = {device->id};
    enum fabric_error error = rdma_port_query(device->rdma->f, handle, attr->av.port_num, &port);
    if (error)
        return error;
    bool demanded =
        !PLANTED(rdma_grh_left_out) && port.flags & FABRIC_PORT_GRH_REQUIRED && !attr->av.is_global;
    return demanded ? ERR_GRH_UNAVAILABLE : FABRIC_OK;
}

static enum fabric_error check(struct rdma_qp *qp, const struct fabric_qp_attr *attr)
{
    if (!qp->qp)
        return ERR_DEVICE_REMOVED;
    if (!offered(qp->type, qp->state, attr->state))
        return ERR_INVALID_ARGUMENT;
    if (attr->state == FABRIC_QPS_INIT)
        return check_init(qp, attr);
    return attr->state == FABRIC_QPS_RTR ? check_rtr(qp, attr) : FABRIC_OK;
}

/* ------------------------------------------------------------------ carried out */

static int modify_rc(struct rdma_qp *qp, const struct fabric_qp_attr *attr)
{
    struct ibv_qp_attr to = {.qp_state = (enum ibv_qp_state)attr->state};
    int mask = IBV_QP_STATE;
    bool is_rxe = qp->object.device->is_rxe && !PLANTED(rdma_retry_endless);
    switch (attr->state) {
    case FABRIC_QPS_INIT:
        to.port_num = attr->port_num;
        to.pkey_index = attr->pkey_index;
        to.qp_access_flags = access_of(attr->access);
        mask |= IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
        break;
    case FABRIC_QPS_RTR:
        to.path_mtu = (enum ibv_mtu)attr->path_mtu;
        rdma_ah_attr(&attr->av, &to.ah_attr);
        to.dest_qp_num = attr->dest_qp_num;
        to.rq_psn = attr->rq_psn;
        to.max_dest_rd_atomic = attr->max_dest_rd_atomic;
        to.min_rnr_timer = attr->min_rnr_timer;
        mask |= IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        break;
    case FABRIC_QPS_RTS:
        to.sq_psn = attr->sq_psn;
        to.timeout = attr->timeout;
        to.retry_cnt = attr->retry_cnt;
        if (is_rxe && attr->retry_cnt == 7) /* without end there, seven by specification */
            to.retry_cnt = 6;
        if (is_rxe && attr->timeout > 0 && attr->timeout < RDMA_RXE_ACK_TIMEOUT)
            to.timeout = RDMA_RXE_ACK_TIMEOUT;
        to.rnr_retry = attr->rnr_retry;
        to.max_rd_atomic = attr->max_rd_atomic;
        mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_MAX_QP_RD_ATOMIC;
        break;
    default:
        break;
    }
    return qp->object.device->rdma->calls->modify_qp(qp->qp, &to, mask);
}

int rdma_qp_to_error(struct rdma_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    return qp->object.device->rdma->calls->modify_qp(qp->qp, &attr, IBV_QP_STATE);
}

/* Verbs drop what is under way, the contract flushes it: through ERR, as far as the device tells in
 * time, the rest by us. */
static void before_reset(struct rdma_qp *qp)
{
    if (qp->state != FABRIC_QPS_RESET && !qp->dead)
        (void)rdma_qp_to_error(qp);
    (void)rdma_cq_drain(qp->send_cq);
    if (qp->recv_cq != qp->send_cq)
        (void)rdma_cq_drain(qp->recv_cq);
    if (!PLANTED(rdma_reset_drops))
        rdma_flush_all(qp);
}

static void after(struct rdma_qp *qp, enum fabric_qp_state state)
{
    struct rdma_device *device = qp->object.device;
    qp->state = state;
    if (state == FABRIC_QPS_RESET) {
        qp->dead = false;
        qp->epoch++;
        qp->sends.given = qp->sends.next;
        qp->receives.given = qp->receives.next;
    } else if (state == FABRIC_QPS_ERR) {
        qp->dead = true;
    } else if (state == FABRIC_QPS_RTR && qp->type == FABRIC_QP_DCT) {
        qp->qp_num = qp->qp->qp_num; /* it has one from now on */
        (void)rdma_numbers_set(&device->qp_nums, qp->qp_num, qp);
    }
}

enum fabric_error rdma_qp_modify(struct fabric *f, fabric_qp handle,
                                 const struct fabric_qp_attr *attr)
{
    struct rdma_qp *qp = rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_QP);
    enum fabric_error error = check(qp, attr);
    if (error)
        return error;
    if (attr->state == FABRIC_QPS_RESET)
        before_reset(qp);
    int number = qp->type == FABRIC_QP_RC ? modify_rc(qp, attr) : rdma_dc_modify(qp, attr);
    if (number)
        return rdma_failed(qp->object.device, "ibv_modify_qp", number);
    after(qp, attr->state);
    return FABRIC_OK;
}
