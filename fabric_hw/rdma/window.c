/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory windows: lent, told, taken back.
 *
 * A window is bound to its range, which makes its key, and bound to nothing to take the key back
 * (vol. 1, chapter 10.6.7.2.1). Both pass through the device's queue pair in the order in which
 * they were asked for, as many at once as it holds. Where nothing can be bound regions stand in for
 * windows: see lend.c.
 */
#include <stdlib.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

static void run(struct rdma_device *device);

static void push(struct rdma_window *window, enum fabric_event_type type, enum fabric_error error)
{
    struct fabric_event event = {.type = type};
    event.u.window.window.id = window->object.id;
    event.u.window.device.id = window->object.device->id;
    event.u.window.cookie = window->cookie;
    event.u.window.error = error;
    if (type == FABRIC_EVENT_WINDOW_OPENED && !error)
        event.u.window.rkey = window->lent ? window->lent->rkey : window->mw->mw->rkey;
    os_push(window->object.device->rdma->f, &event);
}

/* The handle is gone; its window is somebody else's by now. */
static void end(struct rdma_window *window)
{
    assert(window->mr->windows > 0);
    window->mr->windows--;
    rdma_object_drop(&window->object);
    free(window);
}

/* ------------------------------------------------------------------ the queue of those that wait
 */

static void wait(struct rdma_window *window, enum rdma_window_state state)
{
    struct rdma_bind *bind = &window->object.device->bind;
    window->state = state;
    window->waiting = NULL;
    if (bind->first)
        bind->last->waiting = window;
    else
        bind->first = window;
    bind->last = window;
}

static void wait_no_more(struct rdma_window *window)
{
    struct rdma_bind *bind = &window->object.device->bind;
    struct rdma_window *previous = NULL;
    for (struct rdma_window *one = bind->first; one != window; one = one->waiting) {
        assert(one);
        previous = one;
    }
    if (previous)
        previous->waiting = window->waiting;
    else
        bind->first = window->waiting;
    if (bind->last == window)
        bind->last = previous;
}

static bool waits(const struct rdma_window *window)
{
    return window->state == RDMA_WINDOW_WAITS || window->state == RDMA_WINDOW_LEAVES;
}

/* ------------------------------------------------------------------ binding */

static unsigned access_of(uint32_t access)
{
    unsigned flags = access & FABRIC_ACCESS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0;
    return flags | (access & FABRIC_ACCESS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0);
}

static int post(struct rdma_window *window)
{
    struct rdma_device *device = window->object.device;
    struct ibv_mw_bind bind = {.wr_id = window->object.id,
                               .send_flags = IBV_SEND_SIGNALED,
                               .bind_info = {.mr = window->mr->mr}}; /* rxe wants one always */
    if (window->state == RDMA_WINDOW_WAITS) {
        bind.bind_info.addr = window->iova;
        bind.bind_info.length = window->length;
        bind.bind_info.mw_access_flags = access_of(window->access);
    }
    window->key_before = window->mw->mw->rkey;
    return device->rdma->calls->bind_mw(device->bind.qp, window->mw->mw, &bind);
}

/* True when a region stands in for it. */
static bool lend(struct rdma_window *window)
{
    if (!rdma_lend(window))
        return false;
    window->state = RDMA_WINDOW_OPEN;
    push(window, FABRIC_EVENT_WINDOW_OPENED, FABRIC_OK);
    return true;
}

/* Nothing can be bound: what was to be opened is lent by a region; what was to be taken back goes
 * back to the device, which ends its key as well. */
static void give_up(struct rdma_device *device)
{
    struct rdma_bind *bind = &device->bind;
    while (bind->first) {
        struct rdma_window *window = bind->first;
        wait_no_more(window);
        if (window->state == RDMA_WINDOW_WAITS) {
            rdma_mw_put(device, window->mw);
            window->mw = NULL;
            if (lend(window))
                continue;
            push(window, FABRIC_EVENT_WINDOW_OPENED, ERR_RESOURCES_EXHAUSTED);
        } else {
            rdma_mw_burn(device, window->mw);
            push(window, FABRIC_EVENT_WINDOW_REVOKED, FABRIC_OK);
        }
        end(window);
    }
}

static void run(struct rdma_device *device)
{
    struct rdma_bind *bind = &device->bind;
    while (bind->first && bind->outstanding < RDMA_BIND_DEPTH) {
        struct rdma_window *window = bind->first;
        if (!rdma_bind_ready(device)) {
            if (bind->outstanding == 0)
                give_up(device);
            return;
        }
        if (post(window)) {
            bind->ready = false;
            if (bind->outstanding == 0)
                give_up(device);
            return;
        }
        wait_no_more(window);
        bool opens = window->state == RDMA_WINDOW_WAITS;
        window->state = opens ? RDMA_WINDOW_BINDING : RDMA_WINDOW_UNBINDING;
        window->mw->bindings++;
        bind->outstanding++;
    }
}

/* ------------------------------------------------------------------ what became of it */

static void taken_back(struct rdma_window *window)
{
    if (window->lent)
        rdma_lent_back(window);
    else
        rdma_mw_put(window->object.device, window->mw);
    push(window, FABRIC_EVENT_WINDOW_REVOKED, FABRIC_OK);
    end(window);
}

static void bound(struct rdma_window *window)
{
    if (window->state == RDMA_WINDOW_UNBINDING) {
        taken_back(window);
    } else if (window->revoked) {
        wait(window, RDMA_WINDOW_LEAVES);
    } else {
        window->state = RDMA_WINDOW_OPEN;
        push(window, FABRIC_EVENT_WINDOW_OPENED, FABRIC_OK);
    }
}

/* A flushed binding may have been carried out: a window that nobody was told of goes back; one that
 * is taken back is tried once more and then goes back too. The key that the library counted on for
 * is the old one again. */
static void unbound(struct rdma_window *window)
{
    struct rdma_device *device = window->object.device;
    window->mw->mw->rkey = window->key_before;
    if (window->state == RDMA_WINDOW_UNBINDING && !window->failed_once) {
        window->failed_once = true;
        wait(window, RDMA_WINDOW_LEAVES);
        return;
    }
    bool revoked = window->revoked || window->state == RDMA_WINDOW_UNBINDING;
    rdma_mw_burn(device, window->mw);
    if (revoked)
        push(window, FABRIC_EVENT_WINDOW_REVOKED, FABRIC_OK);
    else
        push(window, FABRIC_EVENT_WINDOW_OPENED, ERR_RESOURCES_EXHAUSTED);
    end(window);
}

void rdma_window_bound(struct rdma_device *device, const struct ibv_wc *wc)
{
    struct rdma_window *window =
        rdma_handles_find(&device->rdma->handles, (uint32_t)wc->wr_id, RDMA_WINDOW);
    if (!window || device->bind.outstanding == 0)
        return;
    device->bind.outstanding--;
    if (wc->status == IBV_WC_SUCCESS) {
        bound(window);
    } else {
        rdma_bind_failed(device);
        unbound(window);
    }
    run(device);
}

/* ------------------------------------------------------------------ the members of the table */

static enum fabric_error check(const struct rdma_mr *mr, uint64_t iova, uint64_t length,
                               uint32_t access)
{
    const struct rdma_device *device = mr->object.device;
    if (!mr->mr)
        return ERR_DEVICE_REMOVED;
    if (iova < mr->iova || iova - mr->iova >= mr->length || length > mr->length - (iova - mr->iova))
        return ERR_INVALID_ARGUMENT;
    if (access & FABRIC_ACCESS_REMOTE_WRITE && !(mr->access & FABRIC_ACCESS_LOCAL_WRITE))
        return ERR_INVALID_ARGUMENT;
    return length > device->attr.max_window_size ? ERR_INVALID_ARGUMENT : FABRIC_OK;
}

/* Binds it, or lets a region stand in for it; false when neither is possible. */
static bool open_window(struct rdma_window *window)
{
    struct rdma_device *device = window->object.device;
    struct rdma_bind *bind = &device->bind;
    if (!device->windows || (bind->outstanding == 0 && !rdma_bind_ready(device)))
        return lend(window);
    window->mw = rdma_mw_take(device);
    if (!window->mw)
        return false;
    wait(window, RDMA_WINDOW_WAITS);
    run(device);
    return true;
}

enum fabric_error rdma_window_open(struct fabric *f, fabric_mr handle, uint64_t iova,
                                   uint64_t length, uint32_t access, uint64_t cookie,
                                   fabric_window *out)
{
    struct rdma_mr *mr = rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_MR);
    struct rdma_device *device = mr->object.device;
    enum fabric_error error = check(mr, iova, length, access);
    if (error)
        return error;
    struct rdma_window *window = calloc(1, sizeof(*window));
    if (!window || !rdma_object_add(&window->object, RDMA_WINDOW, device)) {
        free(window);
        return ERR_RESOURCES_EXHAUSTED;
    }
    window->mr = mr;
    window->iova = iova;
    window->length = length;
    window->access = access;
    window->cookie = cookie;
    mr->windows++;
    out->id = window->object.id;
    if (open_window(window))
        return FABRIC_OK;
    out->id = 0;
    end(window);
    return ERR_RESOURCES_EXHAUSTED;
}

enum fabric_error rdma_window_revoke(struct fabric *f, fabric_window handle)
{
    struct rdma_window *window = rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_WINDOW);
    struct rdma_device *device = window->object.device;
    assert(!window->revoked); /* programmer error */
    window->revoked = true;
    if (device->removed) { /* nothing of it can be reached */
        push(window, FABRIC_EVENT_WINDOW_REVOKED, FABRIC_OK);
        end(window);
    } else if (window->state == RDMA_WINDOW_WAITS) {
        wait_no_more(window);
        taken_back(window);
    } else if (window->lent || (window->state == RDMA_WINDOW_OPEN && PLANTED(rdma_revoked_early))) {
        taken_back(window);
    } else if (window->state == RDMA_WINDOW_OPEN) {
        wait(window, RDMA_WINDOW_LEAVES);
        run(device);
    }
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ the end of the device */

/* Gives its window back; true when everything was told and the handle may go. */
static bool settle(struct rdma_window *window)
{
    struct rdma_device *device = window->object.device;
    bool opening = !window->told;
    if (window->mw && waits(window))
        wait_no_more(window);
    if (window->mw)
        rdma_mw_burn(device, window->mw);
    window->mw = NULL;
    if (window->lent)
        rdma_lent_back(window);
    if (window->revoked)
        push(window, FABRIC_EVENT_WINDOW_REVOKED, FABRIC_OK);
    else if (opening)
        push(window, FABRIC_EVENT_WINDOW_OPENED, ERR_DEVICE_REMOVED);
    return window->revoked || opening;
}

void rdma_window_end(struct rdma_window *window)
{
    if (!window->object.device->removed)
        (void)settle(window);
    end(window);
}

void rdma_window_forget(struct rdma_window *window)
{
    if (settle(window))
        end(window);
}

/* An opening is told unless its key was called back before anybody heard of it. */
bool rdma_window_keep(struct rdma *r, const struct fabric_event *event)
{
    struct rdma_window *window =
        rdma_handles_find(&r->handles, event->u.window.window.id, RDMA_WINDOW);
    if (event->u.window.error)
        return true;
    if (!window || window->revoked)
        return PLANTED(rdma_revoked_opening_told);
    window->told = true;
    return true;
}
