/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous events: read without waiting until there is none, acknowledged at once. */
#include <fcntl.h>
#include <sys/epoll.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

/* Of which object it is, besides its device. */
enum subject { OF_DEVICE, OF_PORT, OF_QP, OF_CQ, OF_SRQ };

static enum subject subject_of(enum ibv_event_type type)
{
    switch (type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return OF_QP;
    case IBV_EVENT_CQ_ERR:
        return OF_CQ;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return OF_SRQ;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
        return OF_PORT;
    default:
        return OF_DEVICE;
    }
}

static enum fabric_async_type type_of(enum ibv_event_type type)
{
    switch ((int)type) {
#define FABRIC_ASYNC(name)                                                                         \
    case IBV_EVENT_##name:                                                                         \
        return FABRIC_ASYNC_##name;
#define IBV_EVENT_UNKNOWN (-1)
        FABRIC_ASYNC_TYPES(FABRIC_ASYNC)
#undef IBV_EVENT_UNKNOWN
#undef FABRIC_ASYNC
    default:
        return FABRIC_ASYNC_UNKNOWN;
    }
}

static bool ends_queue_pair(enum fabric_async_type type)
{
    return type == FABRIC_ASYNC_QP_FATAL || type == FABRIC_ASYNC_QP_REQ_ERR ||
           type == FABRIC_ASYNC_QP_ACCESS_ERR;
}

/* Its queue pairs end: what the queue has lost is made up for when they are reset or destroyed. */
static void overrun(struct rdma_device *device, const struct rdma_cq *cq)
{
    for (struct rdma_object *one = device->all.next; one != &device->all; one = one->next) {
        struct rdma_qp *qp = (struct rdma_qp *)one;
        if (one->kind == RDMA_QP && (qp->send_cq == cq || qp->recv_cq == cq))
            rdma_qp_failed(qp);
    }
}

/* Fills in the object; false for one of our own, of which nobody was told. */
static bool find_subject(struct rdma_device *device, const struct ibv_async_event *from,
                         struct fabric_async *to)
{
    switch (subject_of(from->event_type)) {
    case OF_PORT:
        to->port_num = (uint8_t)from->element.port_num;
        return true;
    case OF_QP: {
        struct rdma_qp *qp = from->element.qp->qp_context;
        if (!qp)
            return false;
        to->qp.id = qp->object.id;
        to->cookie = qp->cookie;
        if (ends_queue_pair(to->type))
            rdma_qp_failed(qp);
        return true;
    }
    case OF_CQ: {
        struct rdma_cq *cq = from->element.cq->cq_context;
        if (!cq || !cq->object.id)
            return false;
        to->cq.id = cq->object.id;
        overrun(device, cq);
        return true;
    }
    case OF_SRQ:
        to->srq.id = ((struct rdma_srq *)from->element.srq->srq_context)->object.id;
        return true;
    default:
        return true;
    }
}

/* DEVICE_FATAL is the last one. */
static void on_event(struct rdma_device *device, struct ibv_async_event *from)
{
    struct fabric_event event = {.type = FABRIC_EVENT_ASYNC};
    struct fabric_async *async = &event.u.async;
    async->type = type_of(from->event_type);
    async->device.id = device->id;
    async->raw = (uint32_t)from->event_type;
    bool tell = device->id && find_subject(device, from, async);
    device->rdma->calls->ack_async_event(from);
    if (tell)
        os_push(device->rdma->f, &event);
    if (async->type == FABRIC_ASYNC_DEVICE_FATAL)
        rdma_device_lose(device);
}

static void ready(struct os_source *source, uint32_t events)
{
    struct rdma_device *device =
        (struct rdma_device *)((char *)source - offsetof(struct rdma_device, async));
    struct ibv_async_event event;
    (void)events;
    while (!device->removed && device->rdma->calls->get_async_event(device->context, &event) == 0) {
        on_event(device, &event);
        if (PLANTED(rdma_async_one))
            break;
    }
}

/* The planted bug reads one event a wakeup, as edges allow nobody to. */
bool rdma_async_watch(struct rdma_device *device)
{
    int fd = device->context->async_fd, flags = fcntl(fd, F_GETFL);
    device->async.ready = ready;
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return false;
    uint32_t edges = PLANTED(rdma_async_one) ? EPOLLIN | EPOLLET : EPOLLIN;
    device->watched_async = !os_watch(device->rdma->f, fd, edges, &device->async);
    return device->watched_async;
}

bool rdma_async_keep(struct rdma *r, const struct fabric_async *async)
{
    if (!rdma_handles_find(&r->handles, async->device.id, RDMA_DEVICE))
        return PLANTED(rdma_async_after_close);
    if (async->srq.id)
        return rdma_handles_find(&r->handles, async->srq.id, RDMA_SRQ) != NULL;
    if (async->cq.id) {
        struct rdma_device *device = rdma_device_get(r, async->device.id);
        struct rdma_cq *cq = rdma_handles_find(&r->handles, async->cq.id, RDMA_CQ);
        for (struct rdma_object *one = device->all.next; one != &device->all; one = one->next) {
            struct rdma_qp *qp = (struct rdma_qp *)one;
            if (cq && one->kind == RDMA_QP && qp->dead && (qp->send_cq == cq || qp->recv_cq == cq))
                qp->state = FABRIC_QPS_ERR;
        }
        return cq != NULL;
    }
    if (!async->qp.id)
        return true;
    struct rdma_qp *qp = rdma_handles_find(&r->handles, async->qp.id, RDMA_QP);
    if (qp && qp->dead && ends_queue_pair(async->type))
        qp->state = FABRIC_QPS_ERR;
    return qp != NULL;
}
