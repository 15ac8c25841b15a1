/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/verbs/plugin.h"
#include "src/fabric/planted.h"

_Static_assert((int)FABRIC_QPS_ERR == IBV_QPS_ERR, "one numbering of states");
_Static_assert((int)HCA_QP_DEST_QPN == IBV_QP_DEST_QPN, "one numbering of attributes");
_Static_assert((int)FABRIC_MTU_4096 == IBV_MTU_4096, "one numbering of MTUs");

#define PSN 0xffffffu

bool plugin_qp_type(enum ibv_qp_type type, uint32_t *out)
{
    if (type == IBV_QPT_RC)
        *out = HCA_QP_RC;
    else if (type == IBV_QPT_UC)
        *out = HCA_QP_UC;
    else if (type == IBV_QPT_UD)
        *out = HCA_QP_UD;
    else if (type == IBV_QPT_XRC_SEND)
        *out = HCA_QP_XRC_INI;
    else
        return false;
    return true;
}

static uint32_t cq_handle(const struct ibv_cq *cq)
{
    return cq ? ((const struct plugin_cq *)cq)->handle : 0;
}

static void write_init(const struct ibv_pd *pd, const struct ibv_qp_init_attr *attr,
                       const struct plugin_kind *kind, struct protocol_request *request)
{
    request->u.qp.type = kind->type;
    request->u.qp.dc_access_key = kind->dc_access_key;
    request->u.qp.xrcd = kind->xrcd;
    request->u.qp.pd = pd ? ((const struct plugin_pd *)pd)->handle : 0;
    request->u.qp.send_cq = cq_handle(attr->send_cq);
    request->u.qp.recv_cq = cq_handle(attr->recv_cq);
    request->u.qp.srq = attr->srq ? ((const struct plugin_srq *)attr->srq)->handle : 0;
    request->u.qp.max_send_wr = attr->cap.max_send_wr;
    request->u.qp.max_recv_wr = attr->srq ? 0 : attr->cap.max_recv_wr;
    request->u.qp.max_send_sge = attr->cap.max_send_sge;
    request->u.qp.max_recv_sge = attr->srq ? 0 : attr->cap.max_recv_sge;
    request->u.qp.max_inline = attr->cap.max_inline_data;
    request->u.qp.sq_sig_all = attr->sq_sig_all != 0;
}

/* libibverbs fills nothing of a new queue pair. */
static void fill(struct plugin_qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *public = &qp->qp.qp;
    qp->cap = attr->cap;
    qp->sq_sig_all = attr->sq_sig_all != 0;
    public->qp_context = attr->qp_context;
    public->pd = pd;
    public->send_cq = attr->send_cq;
    public->recv_cq = attr->recv_cq;
    public->srq = attr->srq;
    public->qp_type = attr->qp_type;
}

struct ibv_qp *plugin_adopt_qp(struct ibv_context *context, struct plugin_qp *qp,
                               const struct plugin_kind *kind, const struct protocol_reply *reply)
{
    struct ibv_qp *public = &qp->qp.qp;
    qp->handle = public->handle = reply->u.made.handle;
    qp->id = reply->u.made.id;
    qp->type = kind->type;
    qp->state = state_qp(&context_of_plugin(context)->state, qp->id);
    assert(qp->state);
    public->context = context;
    public->qp_num = reply->u.made.key;
    public->state = (enum ibv_qp_state)qp->state->state;
    pthread_mutex_init(&public->mutex, NULL);
    pthread_cond_init(&public->cond, NULL);
    return public;
}

struct ibv_qp *plugin_make_qp(struct ibv_context *context, struct ibv_pd *pd,
                              const struct ibv_qp_init_attr *attr, const struct plugin_kind *kind)
{
    assert(context && attr && kind);
    struct protocol_request request = client_request(PROTOCOL_CREATE_QP);
    struct protocol_reply reply;
    struct plugin_qp *qp = calloc(1, sizeof(*qp));
    write_init(pd, attr, kind, &request);
    request.u.qp.cookie = (uint64_t)(uintptr_t)qp;
    int error = qp ? plugin_call(context_of_plugin(context), &request, &reply, NULL) : ENOMEM;
    if (error) {
        free(qp);
        errno = error;
        return NULL;
    }
    fill(qp, pd, attr);
    return plugin_adopt_qp(context, qp, kind, &reply);
}

struct ibv_qp *plugin_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct plugin_kind kind = {.type = HCA_QP_RC};
    assert(pd && attr);
    if (plugin_qp_type(attr->qp_type, &kind.type))
        return plugin_make_qp(pd->context, pd, attr, &kind);
    errno = EOPNOTSUPP;
    return NULL;
}

/* Only what the mask names is read: the rest of the structure may be anything. */
static void write_attr(const struct ibv_qp_attr *from, int mask, struct protocol_qp_attr *to)
{
    to->state = mask & IBV_QP_STATE ? from->qp_state : 0;
    to->cur_state = mask & IBV_QP_CUR_STATE ? from->cur_qp_state : 0;
    to->en_sqd_async_notify =
        mask & IBV_QP_EN_SQD_ASYNC_NOTIFY ? from->en_sqd_async_notify != 0 : 0;
    to->port_num = mask & IBV_QP_PORT ? from->port_num : 0;
    to->pkey_index = mask & IBV_QP_PKEY_INDEX ? from->pkey_index : 0;
    to->access = mask & IBV_QP_ACCESS_FLAGS ? from->qp_access_flags & 0x1f : 0;
    to->qkey = mask & IBV_QP_QKEY ? from->qkey : 0;
    to->path_mtu = mask & IBV_QP_PATH_MTU ? from->path_mtu : 0;
    to->dest_qp_num = mask & IBV_QP_DEST_QPN ? from->dest_qp_num & PSN : 0;
    to->rq_psn = mask & IBV_QP_RQ_PSN ? from->rq_psn & PSN : 0;
    to->sq_psn = mask & IBV_QP_SQ_PSN ? from->sq_psn & PSN : 0;
    to->max_rd_atomic = mask & IBV_QP_MAX_QP_RD_ATOMIC ? from->max_rd_atomic : 0;
    to->max_dest_rd_atomic = mask & IBV_QP_MAX_DEST_RD_ATOMIC ? from->max_dest_rd_atomic : 0;
    to->min_rnr_timer = mask & IBV_QP_MIN_RNR_TIMER ? from->min_rnr_timer : 0;
    to->timeout = mask & IBV_QP_TIMEOUT ? from->timeout : 0;
    to->retry_cnt = mask & IBV_QP_RETRY_CNT ? from->retry_cnt : 0;
    to->rnr_retry = mask & IBV_QP_RNR_RETRY ? from->rnr_retry : 0;
    if (mask & IBV_QP_AV)
        plugin_put_av(&from->ah_attr, &to->av);
}

/* Nobody is told any more of what was posted before a reset, as drivers do it. */
static bool purge(struct plugin_context *context, const struct ibv_qp *qp)
{
    const struct ibv_cq *cqs[] = {qp->send_cq, qp->recv_cq};
    if (!shared_lock(context->shared))
        return false;
    for (int i = 0; i < 2; i++) {
        const struct plugin_cq *cq = (const struct plugin_cq *)(const void *)cqs[i];
        if (cq)
            queue_purge(&context->state, cq->state,
                        ((const struct plugin_qp *)(const void *)qp)->id);
    }
    shared_unlock(context->shared);
    return true;
}

/* What programs may say of the half that an XRC queue pair has not; the kernel does not look at it
 * either, and perftest says it. */
static int without_ignored(uint32_t type, int mask)
{
    if (type == HCA_QP_XRC_INI && !PLANTED(verbs_xrc_half_judged))
        return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (type == HCA_QP_XRC_TGT)
        return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
    return mask;
}

int plugin_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    assert(qp && attr);
    const struct plugin_qp *of = (struct plugin_qp *)qp;
    struct protocol_request request = client_request(PROTOCOL_MODIFY_QP);
    struct protocol_reply reply;
    request.u.modify.handle = of->handle;
    mask = without_ignored(of->type, mask);
    request.u.modify.mask = (uint32_t)mask;
    write_attr(attr, mask, &request.u.modify.attr);
    int error = plugin_call(context_of_plugin(qp->context), &request, &reply, NULL);
    if (!error && (mask & IBV_QP_STATE))
        qp->state = attr->qp_state;
    if (!error && qp->state == IBV_QPS_RTR && of->type == HCA_QP_DCT &&
        !PLANTED(verbs_target_numberless))
        qp->qp_num = of->state->qp_num; /* a DC target has none before */
    bool reset = !error && (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET;
    return reset && !purge(context_of_plugin(qp->context), qp) ? EIO : error;
}

static void read_attr(const struct protocol_qp_attr *from, struct ibv_qp_attr *to)
{
    *to = (struct ibv_qp_attr){.qp_state = from->state,
                               .cur_qp_state = from->cur_state,
                               .path_mtu = from->path_mtu,
                               .path_mig_state = IBV_MIG_MIGRATED,
                               .qkey = from->qkey,
                               .rq_psn = from->rq_psn,
                               .sq_psn = from->sq_psn,
                               .dest_qp_num = from->dest_qp_num,
                               .qp_access_flags = from->access,
                               .pkey_index = (uint16_t)from->pkey_index,
                               .en_sqd_async_notify = (uint8_t)from->en_sqd_async_notify,
                               .max_rd_atomic = (uint8_t)from->max_rd_atomic,
                               .max_dest_rd_atomic = (uint8_t)from->max_dest_rd_atomic,
                               .min_rnr_timer = (uint8_t)from->min_rnr_timer,
                               .port_num = (uint8_t)from->port_num,
                               .timeout = (uint8_t)from->timeout,
                               .retry_cnt = (uint8_t)from->retry_cnt,
                               .rnr_retry = (uint8_t)from->rnr_retry};
    plugin_get_av(&from->av, &to->ah_attr);
}

int plugin_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                    struct ibv_qp_init_attr *init)
{
    assert(qp && attr && init);
    struct plugin_qp *of = (struct plugin_qp *)qp;
    struct protocol_request request = client_request(PROTOCOL_QUERY_QP);
    struct protocol_reply reply;
    (void)mask; /* all of it is given */
    request.u.handle = of->handle;
    int error = plugin_call(context_of_plugin(qp->context), &request, &reply, NULL);
    if (error)
        return error;
    read_attr(&reply.u.qp.attr, attr);
    attr->cap = of->cap;
    attr->sq_draining = (uint8_t)reply.u.qp.sq_draining;
    qp->state = attr->qp_state;
    *init = (struct ibv_qp_init_attr){.qp_context = qp->qp_context,
                                      .send_cq = qp->send_cq,
                                      .recv_cq = qp->recv_cq,
                                      .srq = qp->srq,
                                      .cap = of->cap,
                                      .qp_type = qp->qp_type,
                                      .sq_sig_all = of->sq_sig_all};
    return 0;
}

int plugin_destroy_qp(struct ibv_qp *qp)
{
    struct plugin_qp *of = (struct plugin_qp *)qp;
    struct plugin_context *context = context_of_plugin(qp->context);
    int error = plugin_end(context, PROTOCOL_DESTROY_QP, of->handle);
    if (error)
        return error;
    events_forget(context, qp->context->async_fd, sizeof(struct protocol_async), qp);
    events_await(&qp->mutex, &qp->cond, &qp->events_completed, &of->reported);
    batch_free(of->batch);
    pthread_cond_destroy(&qp->cond);
    pthread_mutex_destroy(&qp->mutex);
    free(of);
    return 0;
}

static int join_group(struct ibv_qp *qp, enum protocol_op op, const union ibv_gid *gid,
                      uint16_t lid)
{
    struct protocol_request request = client_request(op);
    struct protocol_reply reply;
    request.u.mcast.handle = ((struct plugin_qp *)qp)->handle;
    request.u.mcast.mlid = lid;
    memcpy(request.u.mcast.gid, gid->raw, sizeof(request.u.mcast.gid));
    return plugin_call(context_of_plugin(qp->context), &request, &reply, NULL);
}

int plugin_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    return join_group(qp, PROTOCOL_ATTACH_MCAST, gid, lid);
}

int plugin_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    return join_group(qp, PROTOCOL_DETACH_MCAST, gid, lid);
}
