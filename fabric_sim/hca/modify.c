/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

static void copy_identity(struct hca_qp_attr *to, const struct hca_qp_attr *from, uint32_t mask)
{
    if (mask & HCA_QP_PORT)
        to->port_num = from->port_num;
    if (mask & HCA_QP_PKEY_INDEX)
        to->pkey_index = from->pkey_index;
    if (mask & HCA_QP_ACCESS_FLAGS)
        to->access = from->access;
    if (mask & HCA_QP_QKEY)
        to->qkey = from->qkey;
    if (mask & HCA_QP_EN_SQD_ASYNC_NOTIFY)
        to->en_sqd_async_notify = from->en_sqd_async_notify;
}

static void copy_path(struct hca_qp_attr *to, const struct hca_qp_attr *from, uint32_t mask)
{
    if (mask & HCA_QP_PATH_MTU)
        to->path_mtu = from->path_mtu;
    if (mask & HCA_QP_AV)
        state_copy_av(&to->av, &from->av);
    if (mask & HCA_QP_DEST_QPN)
        to->dest_qp_num = from->dest_qp_num;
    if (mask & HCA_QP_RQ_PSN)
        to->rq_psn = from->rq_psn;
    if (mask & HCA_QP_SQ_PSN)
        to->sq_psn = from->sq_psn;
}

static void copy_limits(struct hca_qp_attr *to, const struct hca_qp_attr *from, uint32_t mask)
{
    if (mask & HCA_QP_MAX_QP_RD_ATOMIC)
        to->max_rd_atomic = from->max_rd_atomic;
    if (mask & HCA_QP_MAX_DEST_RD_ATOMIC)
        to->max_dest_rd_atomic = from->max_dest_rd_atomic;
    if (mask & HCA_QP_MIN_RNR_TIMER)
        to->min_rnr_timer = from->min_rnr_timer;
    if (mask & HCA_QP_TIMEOUT)
        to->timeout = from->timeout;
    if (mask & HCA_QP_RETRY_CNT)
        to->retry_cnt = from->retry_cnt;
    if (mask & HCA_QP_RNR_RETRY)
        to->rnr_retry = from->rnr_retry;
}

/* What the engine keeps of the attributes. */
static void adopt(struct qp_context *ctx, uint32_t mask)
{
    const struct hca_qp_attr *attr = &ctx->qp->attr;
    assert(attr->port_num <= ctx->hca->state.device->port_count);
    if (mask & HCA_QP_PORT) {
        context_unqueue(ctx);
        ctx->path->port_num = attr->port_num;
    }
    if (mask & HCA_QP_AV)
        ctx->path->av = attr->av;
    if (mask & HCA_QP_DEST_QPN)
        ctx->path->dest_qp = attr->dest_qp_num;
    if (mask & HCA_QP_PATH_MTU)
        ctx->path->mtu = fabric_mtu_bytes(attr->path_mtu);
}

static void enter(struct qp_context *ctx, enum fabric_qp_state from, enum fabric_qp_state to)
{
    switch (to) {
    case FABRIC_QPS_RESET:
        if (PLANTED(hca_reset_completes))
            qp_enter_error(ctx);
        qp_set_state(ctx, to);
        qp_drop_everything(ctx);
        context_unqueue(ctx);
        return;
    case FABRIC_QPS_ERR:
        qp_enter_error(ctx);
        return;
    case FABRIC_QPS_RTR:
        qp_set_state(ctx, to);
        responder_reset(ctx);
        return;
    case FABRIC_QPS_RTS:
        if (from == to)
            return;
        qp_set_state(ctx, to);
        ctx->qp->sq_drained = false;
        if (from == FABRIC_QPS_RTR)
            requester_reset(ctx);
        context_ready(ctx);
        return;
    case FABRIC_QPS_SQD:
        if (from == to)
            return;
        qp_set_state(ctx, to);
        requester_check_drained(ctx);
        return;
    case FABRIC_QPS_INIT:
        qp_set_state(ctx, to);
        return;
    case FABRIC_QPS_SQE:
        break;
    }
    assert(0 && "no transition leads there");
}

enum fabric_error hca_qp_modify(struct hca *hca, hca_qp handle, const struct hca_qp_attr *attr,
                                uint32_t mask)
{
    assert(attr);
    struct qp_state *qp = qp_find(hca, handle);
    struct qp_context *ctx = context_of(hca, qp);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    uint8_t port_num = (mask & HCA_QP_PORT) ? attr->port_num : qp->attr.port_num;
    bool exists = port_num >= 1 && port_num <= hca->state.device->port_count;
    struct rules_limits limits = {.ports = hca->state.device->port_count,
                                  .max_rd_atomic = hca->profile->max_rd_atomic,
                                  .max_init_rd_atomic = hca->profile->max_init_rd_atomic,
                                  .rtr_mtu_checked = hca_has(hca, FABRIC_CAP_RTR_MTU_CHECKED)};
    enum fabric_error error = rules_qp_modify(qp->type, qp->state, attr, mask, &limits,
                                              exists ? port_of(hca, port_num)->info : NULL);
    if (error)
        return error;
    enum fabric_qp_state from = qp->state;
    copy_identity(&qp->attr, attr, mask);
    copy_path(&qp->attr, attr, mask);
    copy_limits(&qp->attr, attr, mask);
    adopt(ctx, mask);
    if (mask & HCA_QP_STATE)
        enter(ctx, from, attr->state);
    return FABRIC_OK;
}

enum fabric_error hca_qp_query(const struct hca *hca, hca_qp handle, struct hca_qp_info *out)
{
    assert(out);
    const struct qp_state *qp = qp_find(hca, handle);
    const struct transport_state *transport = state_transport(&hca->state, qp);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    bool numbered =
        qp->type != HCA_QP_DCT || qp->state >= FABRIC_QPS_RTR || PLANTED(hca_dct_number_early);
    *out = (struct hca_qp_info){.attr = qp->attr,
                                .type = qp->type,
                                .qp_num = numbered ? qp->qp_num : 0,
                                .sq_outstanding = qp->sq_head - qp->sq_polled,
                                .rq_outstanding = qp->rq.head - qp->rq.polled,
                                .sq_draining = qp->state == FABRIC_QPS_SQD && !qp->sq_drained};
    if (qp->state >= FABRIC_QPS_RTR)
        out->attr.rq_psn = transport->rsp.epsn;
    if (qp->state >= FABRIC_QPS_RTS)
        out->attr.sq_psn = transport->req.next_psn;
    return FABRIC_OK;
}

static struct mcast_state *member_find(const struct hca *hca, hca_qp qp,
                                       const union fabric_gid *gid, uint16_t mlid)
{
    for (uint32_t i = 0; i < hca->state.device->mcasts.used; i++) {
        struct mcast_state *member = table_at(&hca->state.arena, &hca->state.device->mcasts, i);
        if (member->slot.id && member->qp == qp.id && member->mlid == mlid &&
            memcmp(&member->gid, gid, sizeof(*gid)) == 0)
            return member;
    }
    return NULL;
}

enum fabric_error hca_qp_attach(struct hca *hca, hca_qp handle, const union fabric_gid *gid,
                                uint16_t mlid)
{
    const struct qp_state *qp = qp_find(hca, handle);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    if (qp->type != HCA_QP_UD || gid->raw[0] != 0xff)
        return ERR_INVALID_ARGUMENT; /* chapter 10.5.2: multicast GIDs, unreliable datagrams */
    if (member_find(hca, handle, gid, mlid) && !PLANTED(hca_attached_twice))
        return FABRIC_OK;
    struct mcast_state *member = table_take(&hca->state.arena, &hca->state.device->mcasts);
    if (!member)
        return ERR_RESOURCES_EXHAUSTED;
    member->gid = *gid;
    member->mlid = mlid;
    member->qp = handle.id;
    return FABRIC_OK;
}

void hca_qp_detach(struct hca *hca, hca_qp handle, const union fabric_gid *gid, uint16_t mlid)
{
    assert(gid);
    const struct mcast_state *member = member_find(hca, handle, gid, mlid);
    if (member)
        table_put(&hca->state.arena, &hca->state.device->mcasts, member->slot.id);
}
