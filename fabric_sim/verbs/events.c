/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that programs read from descriptors. What an object still has in a pipe when it is
 * destroyed must not be read any more, and what was read must have been acknowledged
 * (ibv_destroy_cq(3), ibv_get_async_event(3)).
 */
#include <assert.h>

#include "fabric_sim/simfabric/outbox.h"
#include "fabric_sim/verbs/plugin.h"

_Static_assert((int)FABRIC_ASYNC_CQ_ERR == IBV_EVENT_CQ_ERR, "one numbering of events");
_Static_assert((int)FABRIC_ASYNC_PORT_ACTIVE == IBV_EVENT_PORT_ACTIVE, "one numbering of events");
_Static_assert((int)FABRIC_ASYNC_GID_CHANGE == IBV_EVENT_GID_CHANGE, "one numbering of events");

uint32_t channel_handle(struct plugin_context *context, const struct ibv_comp_channel *channel)
{
    assert(context);
    uint32_t handle = 0;
    pthread_mutex_lock(&context->lock);
    for (struct plugin_channel *one = context->channels; channel && one; one = one->next) {
        if (one->fd == channel->fd)
            handle = one->handle;
    }
    pthread_mutex_unlock(&context->lock);
    return handle;
}

/* The daemon puts records into pipes with the lock held. */
void events_forget(const struct plugin_context *context, int fd, size_t record, const void *object)
{
    assert(fd >= 0 && object);
    if (!shared_lock(context->shared))
        return;
    outbox_forget(fd, record, (uint64_t)(uintptr_t)object);
    shared_unlock(context->shared);
}

void events_await(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
                  const atomic_uint *reported)
{
    pthread_mutex_lock(mutex);
    while (*completed != atomic_load(reported))
        pthread_cond_wait(cond, mutex);
    pthread_mutex_unlock(mutex);
}

void plugin_cq_event(struct ibv_cq *cq)
{
    atomic_fetch_add(&((struct plugin_cq *)cq)->reported, 1);
}

void plugin_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    (void)context;
    switch (event->event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        atomic_fetch_add(&((struct plugin_qp *)event->element.qp)->reported, 1);
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        atomic_fetch_add(&((struct plugin_srq *)event->element.srq)->reported, 1);
        break;
    default: /* of a port or of the device; CQ_ERR is counted by nobody */
        break;
    }
}
