/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions, address handles, completion queues, shared receive queues: made and
 * ended by the daemon.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/verbs/plugin.h"

/* Memory for an object; null, with errno set. */
static void *object_new(size_t size)
{
    assert(size > 0);
    void *object = calloc(1, size);
    if (!object)
        errno = ENOMEM;
    return object;
}

static bool made(struct plugin_context *context, const struct protocol_request *request,
                 struct protocol_reply *reply)
{
    int error = plugin_call(context, request, reply, NULL);
    errno = error ? error : errno;
    return error == 0;
}

/* ------------------------------------------------------------------ regions */

#define ACCESS_SERVED                                                                              \
    ((unsigned)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |        \
                IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND))
#define ACCESS_WITHOUT_MEANING ((unsigned)(IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE))

struct ibv_mr *plugin_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                             int access)
{
    assert(pd);
    struct protocol_request request = client_request(PROTOCOL_REG_MR);
    struct protocol_reply reply;
    unsigned bits = (unsigned)access & ~ACCESS_WITHOUT_MEANING;
    if (bits & ~ACCESS_SERVED) { /* on demand, zero-based */
        errno = EOPNOTSUPP;
        return NULL;
    }
    request.u.mr.pd = ((struct plugin_pd *)pd)->handle;
    request.u.mr.access = bits;
    request.u.mr.addr = (uint64_t)(uintptr_t)addr;
    request.u.mr.length = length;
    request.u.mr.iova = iova;
    struct plugin_mr *mr = object_new(sizeof(*mr));
    if (!mr || !made(context_of_plugin(pd->context), &request, &reply)) {
        free(mr);
        return NULL;
    }
    mr->mr.access = access;
    mr->handle = mr->mr.ibv_mr.handle = reply.u.made.handle;
    mr->mr.ibv_mr.lkey = mr->mr.ibv_mr.rkey = reply.u.made.key;
    return &mr->mr.ibv_mr;
}

_Static_assert((int)HCA_MR_TRANSLATION == IBV_REREG_MR_CHANGE_TRANSLATION &&
                   (int)HCA_MR_PD == IBV_REREG_MR_CHANGE_PD &&
                   (int)HCA_MR_ACCESS == IBV_REREG_MR_CHANGE_ACCESS,
               "one numbering of changes");

int plugin_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
                    int access)
{
    struct protocol_request request = client_request(PROTOCOL_REREG_MR);
    struct protocol_reply reply;
    unsigned bits = (unsigned)access & ~ACCESS_WITHOUT_MEANING;
    if ((flags & IBV_REREG_MR_CHANGE_ACCESS) && (bits & ~ACCESS_SERVED))
        return EOPNOTSUPP;
    request.u.mr.handle = ((struct plugin_mr *)mr)->handle;
    request.u.mr.changes = (uint32_t)flags;
    if (flags & IBV_REREG_MR_CHANGE_PD)
        request.u.mr.pd = ((struct plugin_pd *)pd)->handle;
    if (flags & IBV_REREG_MR_CHANGE_ACCESS)
        request.u.mr.access = bits;
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
        request.u.mr.addr = request.u.mr.iova = (uint64_t)(uintptr_t)addr;
        request.u.mr.length = length;
    }
    int error = plugin_call(context_of_plugin(mr->ibv_mr.context), &request, &reply, NULL);
    if (!error && (flags & IBV_REREG_MR_CHANGE_ACCESS))
        mr->access = access;
    return error;
}

int plugin_dereg_mr(struct verbs_mr *mr)
{
    struct plugin_mr *of = (struct plugin_mr *)mr;
    int error = plugin_end(context_of_plugin(mr->ibv_mr.context), PROTOCOL_DEREG_MR, of->handle);
    if (!error)
        free(of);
    return error;
}

/* ------------------------------------------------------------------ address handles */

void plugin_put_av(const struct ibv_ah_attr *from, struct protocol_av *to)
{
    memset(to, 0, sizeof(*to));
    to->dlid = from->dlid;
    to->sl = from->sl & 15;
    to->src_path_bits = from->src_path_bits;
    to->port_num = from->port_num;
    to->is_global = from->is_global != 0;
    if (!from->is_global)
        return;
    memcpy(to->dgid, from->grh.dgid.raw, sizeof(to->dgid));
    to->flow_label = from->grh.flow_label & 0xfffff;
    to->sgid_index = from->grh.sgid_index;
    to->hop_limit = from->grh.hop_limit;
    to->traffic_class = from->grh.traffic_class;
}

void plugin_get_av(const struct protocol_av *from, struct ibv_ah_attr *to)
{
    memset(to, 0, sizeof(*to));
    to->dlid = from->dlid;
    to->sl = from->sl;
    to->src_path_bits = from->src_path_bits;
    to->port_num = from->port_num;
    to->is_global = from->is_global;
    memcpy(to->grh.dgid.raw, from->dgid, sizeof(from->dgid));
    to->grh.flow_label = from->flow_label;
    to->grh.sgid_index = from->sgid_index;
    to->grh.hop_limit = from->hop_limit;
    to->grh.traffic_class = from->traffic_class;
}

struct ibv_ah *plugin_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    assert(pd && attr);
    struct protocol_request request = client_request(PROTOCOL_CREATE_AH);
    struct protocol_reply reply;
    struct plugin_ah *ah = object_new(sizeof(*ah));
    request.u.ah.pd = ((struct plugin_pd *)pd)->handle;
    plugin_put_av(attr, &request.u.ah.av);
    if (!ah || !made(context_of_plugin(pd->context), &request, &reply)) {
        free(ah);
        return NULL;
    }
    ah->handle = ah->ah.handle = reply.u.made.handle;
    ah->id = reply.u.made.id;
    return &ah->ah;
}

int plugin_destroy_ah(struct ibv_ah *ah)
{
    struct plugin_ah *of = (struct plugin_ah *)ah;
    int error = plugin_end(context_of_plugin(ah->context), PROTOCOL_DESTROY_AH, of->handle);
    if (!error)
        free(of);
    return error;
}

/* ------------------------------------------------------------------ completion queues */

struct ibv_cq *plugin_create_cq(struct ibv_context *context, int cqe,
                                struct ibv_comp_channel *channel, int comp_vector)
{
    assert(context);
    struct plugin_context *of = context_of_plugin(context);
    struct protocol_request request = client_request(PROTOCOL_CREATE_CQ);
    struct protocol_reply reply;
    if (cqe <= 0 || comp_vector != 0) {
        errno = EINVAL;
        return NULL;
    }
    struct plugin_cq *cq = object_new(sizeof(*cq));
    request.u.cq.cookie = (uint64_t)(uintptr_t)cq;
    request.u.cq.depth = (uint32_t)cqe;
    request.u.cq.channel = channel_handle(of, channel);
    if (!cq || !made(of, &request, &reply)) {
        free(cq);
        return NULL;
    }
    cq->handle = cq->cq.handle = reply.u.made.handle;
    cq->cq.cqe = (int)reply.u.made.size;
    cq->state = table_find(&of->state.arena, &of->state.device->cqs, reply.u.made.id);
    assert(cq->state);
    return &cq->cq;
}

int plugin_resize_cq(struct ibv_cq *cq, int cqe)
{
    struct protocol_request request = client_request(PROTOCOL_RESIZE_CQ);
    struct protocol_reply reply;
    if (cqe <= 0)
        return EINVAL;
    request.u.cq.handle = ((struct plugin_cq *)cq)->handle;
    request.u.cq.depth = (uint32_t)cqe;
    int error = plugin_call(context_of_plugin(cq->context), &request, &reply, NULL);
    if (!error)
        cq->cqe = (int)reply.u.made.size;
    return error;
}

int plugin_destroy_cq(struct ibv_cq *cq)
{
    struct plugin_cq *of = (struct plugin_cq *)cq;
    struct plugin_context *context = context_of_plugin(cq->context);
    int error = plugin_end(context, PROTOCOL_DESTROY_CQ, of->handle);
    if (error)
        return error;
    if (cq->channel)
        events_forget(context, cq->channel->fd, sizeof(struct protocol_completion), cq);
    events_forget(context, cq->context->async_fd, sizeof(struct protocol_async), cq);
    events_await(&cq->mutex, &cq->cond, &cq->comp_events_completed, &of->reported);
    free(of);
    return 0;
}

/* ------------------------------------------------------------------ shared receive queues */

struct ibv_srq *plugin_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    assert(pd && attr);
    struct plugin_context *context = context_of_plugin(pd->context);
    struct protocol_request request = client_request(PROTOCOL_CREATE_SRQ);
    struct protocol_reply reply;
    struct plugin_srq *srq = object_new(sizeof(*srq));
    request.u.srq.cookie = (uint64_t)(uintptr_t)srq;
    request.u.srq.pd = ((struct plugin_pd *)pd)->handle;
    if (attr->attr.max_wr == 0)
        attr->attr.max_wr = 1; /* at least as many as asked for (ibv_create_srq(3)) */
    request.u.srq.max_wr = attr->attr.max_wr;
    request.u.srq.max_sge = attr->attr.max_sge;
    if (!srq || !made(context, &request, &reply)) {
        free(srq);
        return NULL;
    }
    srq->handle = srq->srq.handle = reply.u.made.handle;
    srq->state = table_find(&context->state.arena, &context->state.device->srqs, reply.u.made.id);
    assert(srq->state);
    return &srq->srq;
}

int plugin_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
    struct protocol_request request = client_request(PROTOCOL_SET_SRQ_LIMIT);
    struct protocol_reply reply;
    if (mask & IBV_SRQ_MAX_WR)
        return EOPNOTSUPP; /* the device has no resizing */
    if (!(mask & IBV_SRQ_LIMIT))
        return 0;
    request.u.srq.handle = ((struct plugin_srq *)srq)->handle;
    request.u.srq.limit = attr->srq_limit;
    return plugin_call(context_of_plugin(srq->context), &request, &reply, NULL);
}

int plugin_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
    assert(srq && attr);
    struct protocol_request request = client_request(PROTOCOL_QUERY_SRQ);
    struct protocol_reply reply;
    request.u.handle = ((struct plugin_srq *)srq)->handle;
    int error = plugin_call(context_of_plugin(srq->context), &request, &reply, NULL);
    if (error)
        return error;
    *attr = (struct ibv_srq_attr){.max_wr = reply.u.srq.max_wr,
                                  .max_sge = reply.u.srq.max_sge,
                                  .srq_limit = reply.u.srq.limit};
    return 0;
}

int plugin_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
    assert(srq && number);
    *number = state_srq_number(&context_of_plugin(srq->context)->state,
                               ((struct plugin_srq *)srq)->state);
    return 0;
}

int plugin_destroy_srq(struct ibv_srq *srq)
{
    struct plugin_srq *of = (struct plugin_srq *)srq;
    struct plugin_context *context = context_of_plugin(srq->context);
    int error = plugin_end(context, PROTOCOL_DESTROY_SRQ, of->handle);
    if (error)
        return error;
    events_forget(context, srq->context->async_fd, sizeof(struct protocol_async), srq);
    events_await(&srq->mutex, &srq->cond, &srq->events_completed, &of->reported);
    free(of);
    return 0;
}
