/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended reliable connections: domains, their shared receive queues and targets
 * (ibv_open_xrcd(3), ibv_create_srq_ex(3), ibv_open_qp(3)). An initiator is a queue pair as others.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fabric_sim/verbs/plugin.h"

/* The file says which domain is meant; what it is to hold is of no interest. */
static int write_file(const struct ibv_xrcd_init_attr *attr, struct protocol_request *request)
{
    const uint32_t both = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    struct stat status;
    if (attr->comp_mask != both || (attr->oflags & ~(O_CREAT | O_EXCL)))
        return EINVAL;
    if (attr->fd < 0)
        return attr->oflags & O_CREAT ? 0 : EINVAL;
    if (fstat(attr->fd, &status) != 0)
        return errno;
    request->u.xrcd.by_file = 1;
    request->u.xrcd.flags = (uint32_t)attr->oflags;
    request->u.xrcd.device = status.st_dev;
    request->u.xrcd.inode = status.st_ino;
    return 0;
}

struct ibv_xrcd *plugin_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
    assert(context && attr);
    struct protocol_request request = client_request(PROTOCOL_OPEN_XRCD);
    struct protocol_reply reply;
    struct plugin_xrcd *xrcd = calloc(1, sizeof(*xrcd));
    int error = xrcd ? write_file(attr, &request) : ENOMEM;
    if (!error)
        error = plugin_call(context_of_plugin(context), &request, &reply, NULL);
    if (error) {
        free(xrcd);
        errno = error;
        return NULL;
    }
    xrcd->xrcd.context = context;
    xrcd->handle = reply.u.made.handle;
    return &xrcd->xrcd;
}

int plugin_close_xrcd(struct ibv_xrcd *xrcd)
{
    struct plugin_xrcd *of = (struct plugin_xrcd *)xrcd;
    int error = plugin_end(context_of_plugin(xrcd->context), PROTOCOL_CLOSE_XRCD, of->handle);
    if (!error)
        free(of);
    return error;
}

/* ------------------------------------------------------------------ receive queues */

static bool write_srq(const struct ibv_srq_init_attr_ex *attr, struct protocol_request *request)
{
    const uint32_t xrc = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                         IBV_SRQ_INIT_ATTR_CQ;
    if (attr->comp_mask != xrc || attr->srq_type != IBV_SRQT_XRC)
        return false;
    request->u.srq.pd = ((const struct plugin_pd *)attr->pd)->handle;
    request->u.srq.xrcd = ((const struct plugin_xrcd *)attr->xrcd)->handle;
    request->u.srq.cq = ((const struct plugin_cq *)attr->cq)->handle;
    request->u.srq.max_wr = attr->attr.max_wr;
    request->u.srq.max_sge = attr->attr.max_sge;
    return true;
}

/* Basic ones come by ibv_create_srq; libibverbs fills nothing of others. */
struct ibv_srq *plugin_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
    assert(context && attr);
    struct plugin_context *of = context_of_plugin(context);
    struct protocol_request request = client_request(PROTOCOL_CREATE_SRQ);
    struct protocol_reply reply;
    struct plugin_srq *srq = calloc(1, sizeof(*srq));
    int error = !srq ? ENOMEM : write_srq(attr, &request) ? 0 : EOPNOTSUPP;
    request.u.srq.cookie = (uint64_t)(uintptr_t)srq;
    if (!error)
        error = plugin_call(of, &request, &reply, NULL);
    if (error) {
        free(srq);
        errno = error;
        return NULL;
    }
    srq->handle = srq->srq.handle = reply.u.made.handle;
    srq->state = table_find(&of->state.arena, &of->state.device->srqs, reply.u.made.id);
    assert(srq->state);
    srq->srq.context = context;
    srq->srq.srq_context = attr->srq_context;
    srq->srq.pd = attr->pd;
    pthread_mutex_init(&srq->srq.mutex, NULL);
    pthread_cond_init(&srq->srq.cond, NULL);
    return &srq->srq;
}

/* ------------------------------------------------------------------ targets */

struct ibv_qp *plugin_create_xrc_target(struct ibv_context *context,
                                        const struct ibv_qp_init_attr_ex *attr)
{
    assert(context && attr);
    if (attr->comp_mask != IBV_QP_INIT_ATTR_XRCD || !attr->xrcd) {
        errno = EINVAL;
        return NULL;
    }
    /* It has no queues: what is said of them is not looked at. */
    const struct ibv_qp_init_attr none = {.qp_context = attr->qp_context,
                                          .qp_type = IBV_QPT_XRC_RECV};
    const struct plugin_kind kind = {.type = HCA_QP_XRC_TGT,
                                     .xrcd = ((struct plugin_xrcd *)attr->xrcd)->handle};
    return plugin_make_qp(context, NULL, &none, &kind);
}

/* A target that another program made. */
struct ibv_qp *plugin_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
    assert(context && attr);
    const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    const struct plugin_kind kind = {.type = HCA_QP_XRC_TGT};
    struct protocol_request request = client_request(PROTOCOL_OPEN_QP);
    struct protocol_reply reply;
    struct plugin_qp *qp = calloc(1, sizeof(*qp));
    int error = qp ? 0 : ENOMEM;
    if ((attr->comp_mask & ~(uint32_t)IBV_QP_OPEN_ATTR_CONTEXT) != needed ||
        attr->qp_type != IBV_QPT_XRC_RECV)
        error = EINVAL;
    if (!error) {
        request.u.open_qp.cookie = (uint64_t)(uintptr_t)qp;
        request.u.open_qp.xrcd = ((struct plugin_xrcd *)attr->xrcd)->handle;
        request.u.open_qp.qp_num = attr->qp_num;
        error = plugin_call(context_of_plugin(context), &request, &reply, NULL);
    }
    if (error) {
        free(qp);
        errno = error;
        return NULL;
    }
    qp->qp.qp.qp_type = IBV_QPT_XRC_RECV;
    if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
        qp->qp.qp.qp_context = attr->qp_context;
    return plugin_adopt_qp(context, qp, &kind, &reply);
}
