/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that programs read from descriptors. What an object still has in a pipe when it is
 * destroyed must not be read any more, and what was read must have been acknowledged
 * (ibv_destroy_cq(3), ibv_get_async_event(3)).
 */
#define _GNU_SOURCE /* O_CLOEXEC with open */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* The writing end of the pipe that `fd` reads. */
static int reopen(int fd)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

/* As many records as are there now go once round: read, and written again unless forgotten. */
void events_forget(int fd, size_t record, const void *object)
{
    const uint64_t cookie = (uint64_t)(uintptr_t)object;
    int waiting = 0;
    uint8_t bytes[16];
    uint64_t first;
    assert(record <= sizeof(bytes));
    if (ioctl(fd, FIONREAD, &waiting) != 0 || waiting <= 0)
        return;
    int back = reopen(fd);
    for (; back >= 0 && waiting >= (int)record; waiting -= (int)record) {
        if (read(fd, bytes, record) != (ssize_t)record)
            break;
        memcpy(&first, bytes, sizeof(first));
        if (first != cookie)
            (void)!write(back, bytes, record); /* there is room: it was just taken out */
    }
    if (back >= 0)
        close(back);
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
