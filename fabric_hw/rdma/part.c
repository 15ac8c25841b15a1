/* SPDX-License-Identifier: Apache-2.0 */
/* The part: made, ended, asked at every poll. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric_hw/rdma/state.h"

uint64_t rdma_clock(struct rdma *r)
{
    uint64_t now = 0;
    (void)r->f->ops->now(r->f, &now);
    return now;
}

struct rdma_device *rdma_device_get(struct rdma *r, uint32_t id)
{
    return rdma_handles_get(&r->handles, id, RDMA_DEVICE);
}

bool rdma_object_add(struct rdma_object *object, enum rdma_kind kind, struct rdma_device *device)
{
    object->id = rdma_handles_new(&device->rdma->handles, kind, object);
    if (!object->id)
        return false;
    object->kind = kind;
    object->device = device;
    object->previous = device->all.previous;
    object->next = &device->all;
    object->previous->next = object;
    device->all.previous = object;
    return true;
}

void rdma_object_drop(struct rdma_object *object)
{
    assert(object->id);
    rdma_handles_remove(&object->device->rdma->handles, object->id);
    object->previous->next = object->next;
    object->next->previous = object->previous;
    object->id = 0;
}

/* ------------------------------------------------------------------ open and close */

/* Stays readable: whoever waits for it never waits. */
static void on_busy(struct os_source *source, uint32_t events)
{
    assert(source && events);
}

static bool open_busy(struct rdma *r)
{
    r->busy_fd = -1;
    if (!r->options.busy_poll)
        return true;
    r->busy.ready = on_busy;
    r->busy_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    return r->busy_fd >= 0 && !os_watch(r->f, r->busy_fd, EPOLLIN, &r->busy);
}

/* It alone names its interface so. */
static bool is_rxe(struct fabric *f, const char *name)
{
    char path[FABRIC_PATH_MAX], text[FABRIC_NAME_MAX];
    size_t length;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", name);
    return f->ops->sysfile_read(f, path, text, sizeof(text), &length) == FABRIC_OK;
}

static bool has_infiniband(struct fabric *f, const char *name)
{
    char path[FABRIC_PATH_MAX], text[32] = "";
    size_t length;
    for (unsigned port = 1; port <= 2; port++) {
        snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/link_layer", name, port);
        if (!f->ops->sysfile_read(f, path, text, sizeof(text) - 1, &length) &&
            strncmp(text, "InfiniBand", strlen("InfiniBand")) == 0)
            return true;
    }
    return false;
}

/* Promises hold for the life of the instance: what is there at its start decides. */
static void find_promises(struct rdma *r)
{
    int count = 0;
    struct ibv_device **list = r->calls->get_device_list(&count);
    r->caps = FABRIC_CAP_RC | FABRIC_CAP_RD_ATOMIC;
    for (int i = 0; list && i < count; i++) {
        r->caps |= r->calls->mlx5dv_is_supported(list[i]) ? FABRIC_CAP_DC : 0;
        r->caps |= has_infiniband(r->f, list[i]->name) ? FABRIC_CAP_LID | FABRIC_CAP_PKEY : 0;
        if (is_rxe(r->f, list[i]->name))
            r->ack_timeout_floor = RDMA_RXE_ACK_TIMEOUT_FLOOR;
    }
    if (list)
        r->calls->free_device_list(list);
}

static enum fabric_error part_open(struct fabric *f, void *context, void **state)
{
    static const struct rdma_options defaults = {0};
    struct rdma *r = calloc(1, sizeof(*r));
    if (!r)
        return ERR_RESOURCES_EXHAUSTED;
    r->f = f;
    r->options = context ? *(const struct rdma_options *)context : defaults;
    r->calls = r->options.calls ? r->options.calls : &verbs_calls_real;
    if (!open_busy(r)) {
        if (r->busy_fd >= 0)
            close(r->busy_fd);
        free(r);
        return ERR_RESOURCES_EXHAUSTED;
    }
    /* A child of the program must not take pages from under the device. Where the kernel copies
     * pinned pages at a fork this does nothing; where nothing can be done only children that touch
     * the memory are unsafe, so it is no reason to refuse RDMA. */
    (void)r->calls->fork_init();
    find_promises(r);
    *state = r;
    return FABRIC_OK;
}

static void part_close(void *state)
{
    struct rdma *r = state;
    rdma_resolver_close(r);
    while (r->devices)
        rdma_device_end(r->devices);
    if (r->busy_fd >= 0) {
        os_unwatch(r->f, r->busy_fd);
        close(r->busy_fd);
    }
    rdma_handles_free(&r->handles);
    free(r);
}

static void part_guarantees(void *state, struct fabric_guarantees *out)
{
    const struct rdma *r = state;
    long page = sysconf(_SC_PAGESIZE);
    out->caps |= r->caps;
    out->ack_timeout_floor = r->ack_timeout_floor;
    out->ack_timeout_stretch = 4; /* vol. 1, chapter 9.7.6.1.3 */
    out->iova_align = page > 0 ? (uint32_t)page : 4096;
}

static void part_collect(void *state)
{
    struct rdma *r = state;
    for (struct rdma_device *device = r->devices; device; device = device->next) {
        if (device->id && !device->removed)
            rdma_collect_device(device);
    }
}

static bool part_keep(void *state, struct fabric_event *event)
{
    struct rdma *r = state;
    switch (event->type) {
    case FABRIC_EVENT_COMPLETION:
        rdma_completion_polled(r, &event->u.wc);
        return true;
    case FABRIC_EVENT_ASYNC:
        return rdma_async_keep(r, &event->u.async);
    case FABRIC_EVENT_WINDOW_OPENED:
        return rdma_window_keep(r, event);
    case FABRIC_EVENT_RESOLVED:
        return rdma_handles_find(&r->handles, event->u.resolved.device.id, RDMA_DEVICE) != NULL;
    default:
        assert(event->type == FABRIC_EVENT_WINDOW_REVOKED);
        return true;
    }
}

static const struct fabric_ops rdma_ops = {
    .device_list = rdma_device_list,
    .device_open = rdma_device_open,
    .device_close = rdma_device_close,
    .device_query = rdma_device_query,
    .port_query = rdma_port_query,
    .gid_query = rdma_gid_query,
    .pkey_query = rdma_pkey_query,
    .counters_query = rdma_counters_query,
    .mr_register = rdma_mr_register,
    .mr_deregister = rdma_mr_deregister,
    .window_open = rdma_window_open,
    .window_revoke = rdma_window_revoke,
    .cq_create = rdma_cq_create,
    .cq_destroy = rdma_cq_destroy,
    .srq_create = rdma_srq_create,
    .srq_destroy = rdma_srq_destroy,
    .srq_post_recv = rdma_srq_post_recv,
    .qp_create = rdma_qp_create,
    .qp_modify = rdma_qp_modify,
    .qp_query = rdma_qp_query,
    .qp_destroy = rdma_qp_destroy,
    .qp_post_send = rdma_qp_post_send,
    .qp_post_recv = rdma_qp_post_recv,
    .resolve = rdma_resolve,
    .ah_create = rdma_ah_create,
    .ah_destroy = rdma_ah_destroy,
};

const struct os_part rdma_part = {
    .name = "rdma",
    .ops = &rdma_ops,
    .open = part_open,
    .close = part_close,
    .guarantees = part_guarantees,
    .collect = part_collect,
    .keep = part_keep,
};
