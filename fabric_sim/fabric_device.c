/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, ports, memory and address handles of a fabric. */
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/front.h"
#include "src/fabric/planted.h"

#define MAX_WINDOW_SIZE (UINT64_C(1) << 31)
/* Those of struct fabric_port_counters up to xmit_constraint_errors. */
#define COUNTED ((UINT64_C(1) << 15) - 1)
#define OPENING_MIN 500 /* ns: a work request to the device itself */
#define OPENING_SPREAD 5000

static struct front_device *device_of(struct fabric *f, fabric_device device)
{
    return handles_get(&front_of(f)->handles, device.id, HANDLE_DEVICE);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

enum fabric_error front_device_list(struct fabric *fabric, char (*names)[FABRIC_NAME_MAX],
                                    size_t capacity, size_t *count)
{
    const struct sim_host *host = front_of(fabric)->host;
    char(*all)[FABRIC_NAME_MAX] = calloc(host->device_count + 1, sizeof(*all));
    size_t present = 0;
    assert(all);
    for (size_t i = 0; i < host->device_count; i++) {
        if (host->devices[i]->hca)
            memcpy(all[present++], host->devices[i]->name, FABRIC_NAME_MAX);
    }
    qsort(all, present, sizeof(*all), by_name);
    if (capacity)
        memcpy(names, all, (present < capacity ? present : capacity) * sizeof(*all));
    *count = present;
    free(all);
    return FABRIC_OK;
}

enum fabric_error front_device_open(struct fabric *fabric, const char *name, fabric_device *out)
{
    struct sim_fabric *f = front_of(fabric);
    struct sim_device *of = sim_device_find(f->host, name);
    hca_pd pd;
    if (!of)
        return ERR_NOT_FOUND;
    if (!of->hca)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = hca_pd_alloc(of->hca, &pd);
    if (error)
        return error;
    struct front_device *device = calloc(1, sizeof(*device));
    struct front_device **place = &of->openers;
    assert(device);
    device->of = of;
    device->hca = of->hca;
    device->pd = pd;
    while (*place)
        place = &(*place)->next_opener;
    *place = device;
    front_object_add(f, &device->object, HANDLE_DEVICE, &f->devices);
    out->id = device->object.id;
    return FABRIC_OK;
}

enum fabric_error front_device_query(struct fabric *fabric, fabric_device handle,
                                     struct fabric_device_attr *out)
{
    const struct front_device *device = device_of(fabric, handle);
    if (!device->hca)
        return ERR_DEVICE_REMOVED;
    hca_device_query(device->hca, out);
    out->max_window_size = MAX_WINDOW_SIZE;
    out->caps &= front_of(fabric)->caps;
    return FABRIC_OK;
}

enum fabric_error front_port_query(struct fabric *fabric, fabric_device handle, uint8_t port_num,
                                   struct fabric_port_attr *out)
{
    const struct front_device *device = device_of(fabric, handle);
    return device->hca ? hca_port_query(device->hca, port_num, out) : ERR_DEVICE_REMOVED;
}

enum fabric_error front_gid_query(struct fabric *fabric, fabric_device handle, uint8_t port_num,
                                  uint32_t index, struct fabric_gid_entry *out)
{
    const struct front_device *device = device_of(fabric, handle);
    return device->hca ? hca_gid_query(device->hca, port_num, index, out) : ERR_DEVICE_REMOVED;
}

enum fabric_error front_pkey_query(struct fabric *fabric, fabric_device handle, uint8_t port_num,
                                   uint32_t index, uint16_t *out)
{
    const struct front_device *device = device_of(fabric, handle);
    return device->hca ? hca_pkey_query(device->hca, port_num, index, out) : ERR_DEVICE_REMOVED;
}

enum fabric_error front_counters_query(struct fabric *fabric, fabric_device handle,
                                       uint8_t port_num, struct fabric_port_counters *out)
{
    const struct front_device *device = device_of(fabric, handle);
    if (!device->hca)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = hca_counters_query(device->hca, port_num, out);
    if (!error)
        out->present = COUNTED;
    return error;
}

/* An interface that is not there, or is no Ethernet, has none. */
enum fabric_error front_dcb_query(struct fabric *fabric, const char *netdev, struct fabric_dcb *out)
{
    const struct sim_host *host = front_of(fabric)->host;
    const struct sysfs_port *port = front_interface(host, netdev, strlen(netdev), NULL);
    *out = (struct fabric_dcb){.known = true};
    if (port && port->info->link_layer == FABRIC_LINK_LAYER_ETHERNET && port->dcb.present &&
        !PLANTED(front_dcb_absent))
        *out = port->dcb;
    out->known = true;
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ memory */

enum fabric_error front_mr_register(struct fabric *fabric, fabric_device handle,
                                    const struct fabric_mr_init *init, fabric_mr *out,
                                    struct fabric_mr_keys *keys)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_device *device = device_of(fabric, handle);
    uint32_t key;
    hca_mr made;
    if (init->kind != FABRIC_MEM_HOST)
        return ERR_NOT_SUPPORTED;
    if (!device->hca)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = hca_mr_register(device->hca, device->pd, init->addr, init->length,
                                              init->iova, init->access, 0, &made, &key);
    if (error)
        return error;
    struct front_mr *mr = calloc(1, sizeof(*mr));
    assert(mr);
    mr->device = device;
    mr->mr = made;
    front_object_add(f, &mr->object, HANDLE_MR, &device->things);
    out->id = mr->object.id;
    *keys = (struct fabric_mr_keys){key, key};
    return FABRIC_OK;
}

enum fabric_error front_mr_deregister(struct fabric *fabric, fabric_mr handle)
{
    struct front_mr *mr = handles_get(&front_of(fabric)->handles, handle.id, HANDLE_MR);
    assert(mr->windows == 0); /* programmer error */
    if (mr->device->hca && !PLANTED(front_region_stays))
        (void)hca_mr_deregister(mr->device->hca, mr->mr);
    front_object_drop(&mr->object);
    return FABRIC_OK;
}

/* Queues OPENED; what there is to tell stands in the window. */
static void say_opened(struct front_window *window)
{
    const struct fabric_event event = {.type = FABRIC_EVENT_WINDOW_OPENED,
                                       .u.window = {{window->object.id},
                                                    {window->device->object.id},
                                                    window->cookie,
                                                    window->error ? 0 : window->rkey,
                                                    window->error}};
    assert(!window->revoking && !window->opening);
    front_push(window->object.f, &event);
}

static void on_opened(void *object, uint64_t arg)
{
    struct front_window *window = object;
    (void)arg;
    window->opening = 0;
    hca_mw_grant(window->device->hca, window->mw, true);
    say_opened(window);
}

enum fabric_error front_window_open(struct fabric *fabric, fabric_mr handle, uint64_t iova,
                                    uint64_t length, uint32_t access, uint64_t cookie,
                                    fabric_window *out)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_mr *mr = handles_get(&f->handles, handle.id, HANDLE_MR);
    struct front_device *device = mr->device;
    if (!device->hca)
        return ERR_DEVICE_REMOVED;
    if (length > MAX_WINDOW_SIZE)
        return ERR_INVALID_ARGUMENT;
    struct front_window *window = calloc(1, sizeof(*window));
    assert(window);
    front_object_add(f, &window->object, HANDLE_WINDOW, &device->things);
    enum fabric_error error =
        hca_mw_open(device->hca, mr->mr, iova, length, access, front_context(f, window->object.id),
                    &window->mw, &window->rkey);
    if (error) {
        front_object_drop(&window->object);
        return error;
    }
    if (!PLANTED(front_window_grants_early))
        hca_mw_grant(device->hca, window->mw, false);
    window->device = device;
    window->mr = mr;
    window->cookie = cookie;
    window->opening = sim_in(f->sim, OPENING_MIN + sim_random_below(f->sim, OPENING_SPREAD),
                             on_opened, window, 0);
    mr->windows++;
    out->id = window->object.id;
    return FABRIC_OK;
}

/* The window is over before it was told to be open; false when it was told, or waits to be. */
static bool stop_opening(struct front_window *window)
{
    bool stopped = window->opening != 0;
    if (stopped)
        sim_cancel(window->object.f->sim, window->opening);
    window->opening = 0;
    return stopped;
}

static void drop_window(struct front_window *window)
{
    assert(window->mr->windows > 0);
    window->mr->windows--;
    front_object_drop(&window->object);
}

bool front_window_polled(struct sim_fabric *f, struct fabric_event *event)
{
    struct front_window *window =
        handles_find(&f->handles, event->u.window.window.id, HANDLE_WINDOW);
    if (!window || (window->revoking && !PLANTED(front_opened_after_revoke)))
        return false;
    if (event->u.window.error)
        drop_window(window);
    return true;
}

/* Says that the window has ended, and forgets it. */
static void window_ended(struct front_window *window)
{
    const struct fabric_event event = {
        .type = FABRIC_EVENT_WINDOW_REVOKED,
        .u.window = {{window->object.id}, {window->device->object.id}, window->cookie, 0, 0}};
    assert(window->revoking);
    front_push(window->object.f, &event);
    drop_window(window);
}

enum fabric_error front_window_revoke(struct fabric *fabric, fabric_window handle)
{
    struct front_window *window = handles_get(&front_of(fabric)->handles, handle.id, HANDLE_WINDOW);
    assert(!window->revoking); /* the handle is the fabric's now */
    if (stop_opening(window) && PLANTED(front_opened_after_revoke))
        say_opened(window);
    window->revoking = true;
    if (window->device->hca && window->mw.id)
        hca_mw_revoke(window->device->hca, window->mw);
    else if (!PLANTED(front_removed_window_forgotten))
        window_ended(window);
    return FABRIC_OK;
}

enum fabric_error front_ah_create(struct fabric *fabric, fabric_device handle,
                                  const struct fabric_av *av, fabric_ah *out)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_device *device = device_of(fabric, handle);
    hca_ah made;
    if (!device->hca)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = hca_ah_create(device->hca, device->pd, av, &made);
    if (!error && !front_knows_way(device, av)) {
        hca_ah_destroy(device->hca, made);
        error = ERR_UNREACHABLE;
    }
    if (error)
        return error;
    struct front_ah *ah = calloc(1, sizeof(*ah));
    assert(ah);
    ah->device = device;
    ah->ah = made;
    front_object_add(f, &ah->object, HANDLE_AH, &device->things);
    out->id = ah->object.id;
    return FABRIC_OK;
}

enum fabric_error front_ah_destroy(struct fabric *fabric, fabric_ah handle)
{
    struct front_ah *ah = handles_get(&front_of(fabric)->handles, handle.id, HANDLE_AH);
    if (ah->device->hca)
        hca_ah_destroy(ah->device->hca, ah->ah);
    front_object_drop(&ah->object);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ events */

static struct front_cq *cq_of(const struct sim_device *device, hca_cq cq)
{
    return cq.id ? handles_find(&device->cqs, cq.id, HANDLE_CQ) : NULL;
}

static void deliver_to(struct front_device *opener, const struct hca_event *event)
{
    struct sim_fabric *f = opener->object.f;
    struct fabric_event told = {.type = FABRIC_EVENT_ASYNC};
    struct fabric_async *async = &told.u.async;
    uint32_t id = (uint32_t)event->context;
    const struct front_qp *qp = event->qp.id ? handles_find(&f->handles, id, HANDLE_QP) : NULL;
    const struct front_cq *cq = cq_of(opener->of, event->cq);
    assert(event->type < FABRIC_ASYNC_COUNT);
    *async = (struct fabric_async){
        .type = event->type, .device = {opener->object.id}, .port_num = event->port_num};
    if (event->qp.id) {
        if (!qp)
            return;
        async->qp.id = id;
        async->cookie = qp->cookie;
    }
    if (cq)
        async->cq.id = cq->object.id;
    if (event->srq.id)
        async->srq.id = id;
    front_push(f, &told);
}

void front_deliver(struct sim_device *device, const struct hca_event *event)
{
    const struct sim_outside *outside = device->host->world->outside;
    uint32_t serial = (uint32_t)(event->context >> 32);
    if (outside) {
        outside->event(outside->context, device, event);
        return;
    }
    if (event->kind == HCA_EVENT_MW_REVOKED) {
        struct sim_fabric *f = sim_host_fabric(device->host, serial);
        struct front_window *window =
            f ? handles_find(&f->handles, (uint32_t)event->context, HANDLE_WINDOW) : NULL;
        if (window && window->revoking)
            window_ended(window);
        else if (window)
            window->mw.id = 0;
        return;
    }
    bool of_one = event->qp.id || event->cq.id || event->srq.id;
    for (struct front_device *opener = device->openers; opener; opener = opener->next_opener) {
        if (!opener->silent && (!of_one || opener->object.f->serial == serial))
            deliver_to(opener, event);
        if (event->type == FABRIC_ASYNC_DEVICE_FATAL && !PLANTED(front_events_after_fatal))
            opener->silent = true;
    }
}

/* ------------------------------------------------------------------ the end */

/* Everything of one kind that was made on the device. */
static void each(struct front_device *device, enum handle_kind kind,
                 void (*act)(struct front_object *object))
{
    struct front_object *object = device->things, *next;
    assert(kind != HANDLE_NONE && act);
    for (; object; object = next) {
        next = object->next;
        if (object->kind == kind)
            act(object);
    }
}

static void end_qp(struct front_object *object)
{
    front_qp_end((struct front_qp *)object);
}

/* What it still owes is the event of a revocation or of an opening, under a handle that is gone. */
static void end_window(struct front_object *object)
{
    struct front_window *window = (struct front_window *)object;
    if (window->device->hca && window->mw.id)
        hca_mw_end(window->device->hca, window->mw);
    if (window->revoking && !PLANTED(front_close_forgets_revocations)) {
        window_ended(window);
        return;
    }
    bool owed = stop_opening(window) || front_take_opened(object->f, object->id);
    window->error = ERR_DEVICE_REMOVED;
    if (owed) {
        say_opened(window);
        front_queue_at(object->f, object->f->queue_count - 1)->settled = true;
    }
    drop_window(window);
}

static void end_mr(struct front_object *object)
{
    (void)front_mr_deregister(&object->f->head, (fabric_mr){object->id});
}

static void end_ah(struct front_object *object)
{
    (void)front_ah_destroy(&object->f->head, (fabric_ah){object->id});
}

static void end_srq(struct front_object *object)
{
    (void)front_srq_destroy(&object->f->head, (fabric_srq){object->id});
}

static void end_cq(struct front_object *object)
{
    (void)front_cq_destroy(&object->f->head, (fabric_cq){object->id});
}

void front_device_end(struct front_device *device)
{
    struct front_device **place = &device->of->openers;
    each(device, HANDLE_QP, end_qp);
    each(device, HANDLE_SRQ, end_srq);
    each(device, HANDLE_CQ, end_cq);
    each(device, HANDLE_WINDOW, end_window);
    each(device, HANDLE_MR, end_mr);
    each(device, HANDLE_AH, end_ah);
    each(device, HANDLE_RESOLVE, front_resolve_end);
    assert(!device->things);
    if (device->hca)
        (void)hca_pd_dealloc(device->hca, device->pd);
    while (*place != device)
        place = &(*place)->next_opener;
    *place = device->next_opener;
    free(device->ways);
    front_object_drop(&device->object);
}

enum fabric_error front_device_close(struct fabric *fabric, fabric_device handle)
{
    front_device_end(device_of(fabric, handle));
    return FABRIC_OK;
}

static void detach_cq(struct front_object *object)
{
    struct front_cq *cq = (struct front_cq *)object;
    assert(object->kind == HANDLE_CQ && cq->device->hca);
    front_drain(object->f, cq);
    handles_remove(&cq->device->of->cqs, cq->cq.id);
}

/* A window that nobody revoked yet is told to have ended when somebody does. */
static void detach_window(struct front_object *object)
{
    struct front_window *window = (struct front_window *)object;
    if (window->mw.id)
        hca_mw_end(window->device->hca, window->mw);
    window->mw.id = 0;
    if (window->revoking) {
        window_ended(window);
    } else if (stop_opening(window)) {
        window->error = ERR_DEVICE_REMOVED;
        say_opened(window);
    }
}

/* Packets under way may refer to the region; the program will take its memory back. */
static void detach_mr(struct front_object *object)
{
    struct front_mr *mr = (struct front_mr *)object;
    assert(object->kind == HANDLE_MR);
    (void)hca_mr_deregister(mr->device->hca, mr->mr);
}

void front_device_detach(struct front_device *device)
{
    assert(device->hca);
    each(device, HANDLE_CQ, detach_cq);
    each(device, HANDLE_WINDOW, detach_window);
    each(device, HANDLE_MR, detach_mr);
    each(device, HANDLE_RESOLVE, front_resolve_detach);
    device->hca = NULL;
}
