/* SPDX-License-Identifier: Apache-2.0 */
/* One fabric: its queue of events, clock, timers, randomness and log. */
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/front.h"
#include "src/fabric/planted.h"

#define EPOCH UINT64_C(1767225600000000000) /* 2026-01-01, ns since 1970 */
#define READY_SPREAD 1000                   /* ns until a program looks at its events, at most */
#define HOUR INT64_C(3600000000000)

static const struct fabric_ops front_ops = {
#define X(upper, lower, parameters, arguments, fault) .lower = front_##lower,
#include "src/fabric/ops.def"
#undef X
};

void front_object_add(struct sim_fabric *f, struct front_object *object, enum handle_kind kind,
                      struct front_object **list)
{
    assert(f && kind != HANDLE_NONE);
    object->f = f;
    object->kind = kind;
    object->id = handles_new(&f->handles, kind, object);
    object->list = list;
    object->next = *list;
    if (*list)
        (*list)->previous = object;
    *list = object;
}

void front_object_drop(struct front_object *object)
{
    assert(handles_find(&object->f->handles, object->id, object->kind) == object);
    *(object->previous ? &object->previous->next : object->list) = object->next;
    if (object->next)
        object->next->previous = object->previous;
    handles_remove(&object->f->handles, object->id);
    free(object);
}

struct fabric *sim_fabric_create(struct sim_host *host, fabric_caps caps,
                                 const struct sim_fabric_hooks *hooks)
{
    struct sim_fabric *f = calloc(1, sizeof(*f));
    struct sim_fabric **place = &host->fabrics;
    assert(f && host);
    fabric_init(&f->head, &front_ops);
    while (*place)
        place = &(*place)->next;
    *place = f;
    f->host = host;
    f->sim = host->world->sim;
    f->serial = ++host->last_serial;
    f->caps = sim_host_caps(host, caps);
    if (hooks)
        f->hooks = *hooks;
    return &f->head;
}

/* Everything of it in the world ends. */
static void tear_down(struct sim_fabric *f)
{
    front_http_end(f);
    front_streams_end(f);
    while (f->devices)
        front_device_end((struct front_device *)f->devices);
    if (f->disk)
        disk_user_destroy(f->disk);
    f->disk = NULL;
    sim_cancel(f->sim, f->timer_event);
    sim_cancel(f->sim, f->ready_event);
    f->timer_event = f->ready_event = 0;
    for (size_t i = 0; i < f->queue_count; i++) { /* timers that are due */
        const struct front_event *entry = front_queue_at(f, i);
        if (entry->event.type == FABRIC_EVENT_TIMER)
            free(handles_find(&f->handles, entry->event.u.timer.timer.id, HANDLE_TIMER));
    }
    for (size_t i = 0; i < f->timer_count; i++)
        free(f->heap[i]);
    f->queue_count = f->timer_count = 0;
    handles_free(&f->handles);
}

void sim_fabric_kill(struct fabric *fabric)
{
    struct sim_fabric *f = front_of(fabric);
    assert(!f->killed && fabric->ops == &front_ops);
    tear_down(f);
    f->killed = true;
    fabric->ops = &front_dead_ops;
}

enum fabric_error front_destroy(struct fabric *fabric)
{
    struct sim_fabric *f = front_of(fabric);
    struct sim_fabric **place = &f->host->fabrics;
    if (!f->killed)
        tear_down(f);
    while (*place != f)
        place = &(*place)->next;
    *place = f->next;
    free(f->heap);
    free(f->queue);
    free(f);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ the queue */

struct front_event *front_queue_at(const struct sim_fabric *f, size_t position)
{
    assert(position < f->queue_count);
    return &f->queue[(f->queue_head + position) & (f->queue_capacity - 1)];
}

static void on_ready(void *object, uint64_t arg)
{
    struct sim_fabric *f = object;
    (void)arg;
    f->ready_event = 0;
    if (f->queue_count && f->hooks.ready)
        f->hooks.ready(f->hooks.context, &f->head);
}

/* Programs look when they are scheduled: a little later. */
static void announce(struct sim_fabric *f)
{
    if (!f->ready_event && f->hooks.ready)
        f->ready_event = sim_in(f->sim, sim_random_below(f->sim, READY_SPREAD), on_ready, f, 0);
}

static struct front_event *push(struct sim_fabric *f)
{
    if (f->queue_count == f->queue_capacity) {
        size_t capacity = f->queue_capacity ? f->queue_capacity * 2 : 16;
        struct front_event *grown = calloc(capacity, sizeof(*grown));
        assert(grown);
        for (size_t i = 0; i < f->queue_count; i++)
            grown[i] = *front_queue_at(f, i);
        free(f->queue);
        f->queue = grown;
        f->queue_head = 0;
        f->queue_capacity = capacity;
    }
    struct front_event *entry = front_queue_at(f, f->queue_count++);
    *entry = (struct front_event){0};
    announce(f);
    return entry;
}

void front_push(struct sim_fabric *f, const struct fabric_event *event)
{
    struct front_event *entry = push(f);
    assert(!f->killed); /* nothing of it is left in the world */
    entry->event = *event;
    entry->event.time = sim_now(f->sim);
}

void front_push_reminder(struct sim_fabric *f, fabric_cq cq)
{
    struct front_event *entry = push(f);
    entry->reminder = true;
    entry->event = (struct fabric_event){.type = FABRIC_EVENT_COMPLETION, .u.wc.cq = cq};
}

bool sim_fabric_has_events(const struct fabric *f)
{
    return ((const struct sim_fabric *)f)->queue_count > 0;
}

bool front_take_opened(struct sim_fabric *f, uint32_t window)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->queue_count; i++) {
        const struct front_event entry = *front_queue_at(f, i);
        bool found = entry.event.type == FABRIC_EVENT_WINDOW_OPENED &&
                     entry.event.u.window.window.id == window;
        if (!found)
            *front_queue_at(f, kept++) = entry;
    }
    bool taken = kept < f->queue_count;
    f->queue_count = kept;
    return taken;
}

static bool lives(const struct sim_fabric *f, uint32_t id, enum handle_kind kind)
{
    return handles_find(&f->handles, id, kind) != NULL;
}

static bool async_lives(const struct sim_fabric *f, const struct fabric_async *async)
{
    return lives(f, async->device.id, HANDLE_DEVICE) &&
           (!async->qp.id || lives(f, async->qp.id, HANDLE_QP)) &&
           (!async->cq.id || lives(f, async->cq.id, HANDLE_CQ)) &&
           (!async->srq.id || lives(f, async->srq.id, HANDLE_SRQ));
}

/* Whether the event is still to be told. Timers end here; a stream's cookie is the latest one. */
static bool still_due(struct sim_fabric *f, struct fabric_event *event)
{
    struct front_timer *timer;
    struct front_stream *stream;
    switch (event->type) {
    case FABRIC_EVENT_TIMER:
        timer = handles_find(&f->handles, event->u.timer.timer.id, HANDLE_TIMER);
        if (!timer)
            return PLANTED(front_cancelled_timer_fires);
        handles_remove(&f->handles, timer->id);
        free(timer);
        return true;
    case FABRIC_EVENT_ASYNC:
        return async_lives(f, &event->u.async) || PLANTED(front_events_of_destroyed);
    case FABRIC_EVENT_WINDOW_OPENED:
        return front_window_polled(f, event);
    case FABRIC_EVENT_RESOLVED:
        return lives(f, event->u.resolved.device.id, HANDLE_DEVICE);
    case FABRIC_EVENT_ACCEPTED:
        stream = handles_find(&f->handles, event->u.stream.stream.id, HANDLE_STREAM);
        if (stream)
            stream->accepted_by = 0;
        return stream != NULL;
    case FABRIC_EVENT_CONNECTED:
    case FABRIC_EVENT_READABLE:
    case FABRIC_EVENT_WRITABLE:
    case FABRIC_EVENT_CLOSED:
        stream = handles_find(&f->handles, event->u.stream.stream.id, HANDLE_STREAM);
        if (stream)
            event->u.stream.cookie = stream->cookie;
        return stream != NULL;
    case FABRIC_EVENT_HTTP_REQUEST:
        return lives(f, event->u.http.request.id, HANDLE_HTTP_REQUEST) ||
               PLANTED(front_http_closed_told);
    case FABRIC_EVENT_WOKEN:
        f->woken = false;
        return true;
    default:
        return true;
    }
}

enum fabric_error front_poll(struct fabric *fabric, struct fabric_event *events, size_t capacity,
                             uint64_t deadline, size_t *count)
{
    struct sim_fabric *f = front_of(fabric);
    f->calls_in_a_row = 0;
    (void)deadline; /* time passes between calls */
    *count = 0;
    while (f->queue_count && *count < capacity) {
        struct front_event entry = *front_queue_at(f, 0);
        f->queue_head = (f->queue_head + 1) & (f->queue_capacity - 1);
        f->queue_count--;
        if (entry.reminder && !front_take_completion(f, &entry))
            continue;
        if (entry.event.type == FABRIC_EVENT_COMPLETION)
            front_settle(f, &entry);
        else if (!entry.settled && !still_due(f, &entry.event))
            continue;
        events[(*count)++] = entry.event;
    }
    if (f->queue_count)
        announce(f);
    return FABRIC_OK;
}

enum fabric_error front_wake(struct fabric *fabric)
{
    struct sim_fabric *f = front_of(fabric);
    const struct fabric_event event = {.type = FABRIC_EVENT_WOKEN};
    if (!f->woken)
        front_push(f, &event);
    f->woken = true;
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ what one is told */

enum fabric_error front_guarantees(struct fabric *fabric, struct fabric_guarantees *out)
{
    const struct sim_fabric *f = front_of(fabric);
    const struct disk_config *disk = disk_config(f->host->disk);
    *out = (struct fabric_guarantees){.caps = f->caps,
                                      .write_tear_unit = UINT32_MAX,
                                      .storage_tear_unit = disk->tear_unit,
                                      .storage_align = disk->align,
                                      .ack_timeout_stretch = 1,
                                      .iova_align = 1};
    for (size_t i = 0; i < f->host->device_count; i++) { /* the least of what they promise */
        const struct hca_profile *profile = f->host->devices[i]->init.profile;
        uint64_t floor =
            profile->ack_timeout_floor ? UINT64_C(4096) << profile->ack_timeout_floor : 0;
        if (profile->write_tear_unit < out->write_tear_unit)
            out->write_tear_unit = profile->write_tear_unit;
        if (floor > out->ack_timeout_floor)
            out->ack_timeout_floor = floor;
        if (profile->ack_timeout_stretch > out->ack_timeout_stretch)
            out->ack_timeout_stretch = profile->ack_timeout_stretch;
        if (profile->iova_align > out->iova_align)
            out->iova_align = profile->iova_align;
    }
    if (f->host->device_count == 0)
        out->write_tear_unit = 0;
    return FABRIC_OK;
}

enum fabric_error front_now(struct fabric *fabric, uint64_t *out)
{
    *out = sim_now(front_of(fabric)->sim);
    return FABRIC_OK;
}

/* For people only, so nothing may depend on it: now and then it jumps. */
enum fabric_error front_realtime(struct fabric *fabric, uint64_t *out)
{
    struct sim_fabric *f = front_of(fabric);
    if (sim_random_below(f->sim, 64) == 0)
        f->host->clock_offset += (int64_t)sim_random_below(f->sim, 2 * (uint64_t)HOUR) - HOUR;
    *out = EPOCH + sim_now(f->sim) + (uint64_t)f->host->clock_offset;
    return FABRIC_OK;
}

enum fabric_error front_entropy(struct fabric *fabric, void *buf, size_t length)
{
    struct sim_fabric *f = front_of(fabric);
    uint8_t *out = buf;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t bits = sim_random(f->sim);
        for (size_t j = i; j < length && j < i + 8; j++, bits >>= 8)
            out[j] = (uint8_t)bits;
    }
    return FABRIC_OK;
}

enum fabric_error front_log(struct fabric *fabric, enum fabric_log_level level, const char *line)
{
    static const char *const names[] = {"DEBUG", "INFO", "WARN", "ERROR"};
    struct sim_fabric *f = front_of(fabric);
    SIM_TRACE(f->sim, f->host->name, "log %s %s", names[level], line);
    if (f->hooks.log)
        f->hooks.log(f->hooks.context, level, line);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ timers */

static bool before(const struct front_timer *a, const struct front_timer *b)
{
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->order < b->order;
}

static void heap_set(struct sim_fabric *f, size_t place, struct front_timer *timer)
{
    assert(place < f->timer_capacity);
    f->heap[place] = timer;
    timer->place = place;
}

static void heap_up(struct sim_fabric *f, size_t place)
{
    struct front_timer *timer = f->heap[place];
    for (; place && before(timer, f->heap[(place - 1) / 2]); place = (place - 1) / 2)
        heap_set(f, place, f->heap[(place - 1) / 2]);
    heap_set(f, place, timer);
}

static void heap_down(struct sim_fabric *f, size_t place)
{
    struct front_timer *timer = f->heap[place];
    for (;;) {
        size_t child = 2 * place + 1;
        if (child + 1 < f->timer_count && before(f->heap[child + 1], f->heap[child]))
            child++;
        if (child >= f->timer_count || !before(f->heap[child], timer))
            break;
        heap_set(f, place, f->heap[child]);
        place = child;
    }
    heap_set(f, place, timer);
}

static void heap_remove(struct sim_fabric *f, struct front_timer *timer)
{
    size_t place = timer->place;
    assert(place < f->timer_count && f->heap[place] == timer);
    struct front_timer *last = f->heap[--f->timer_count];
    timer->place = SIZE_MAX;
    if (last == timer)
        return;
    heap_set(f, place, last);
    heap_up(f, place);
    heap_down(f, last->place);
}

static void arm(struct sim_fabric *f);

static void on_timer(void *object, uint64_t arg)
{
    struct sim_fabric *f = object;
    uint64_t now = sim_now(f->sim);
    (void)arg;
    f->timer_event = 0;
    while (f->timer_count && f->heap[0]->deadline <= now) {
        struct front_timer *timer = f->heap[0];
        const struct fabric_event event = {.type = FABRIC_EVENT_TIMER,
                                           .u.timer = {{timer->id}, timer->cookie}};
        heap_remove(f, timer);
        front_push(f, &event);
    }
    arm(f);
}

/* One event for the earliest. */
static void arm(struct sim_fabric *f)
{
    uint64_t now = sim_now(f->sim);
    assert(f->timer_count <= f->timer_capacity);
    sim_cancel(f->sim, f->timer_event);
    f->timer_event = 0;
    if (f->timer_count == 0 || f->heap[0]->deadline == FABRIC_FOREVER)
        return;
    uint64_t at = f->heap[0]->deadline > now ? f->heap[0]->deadline : now;
    f->timer_event = sim_at(f->sim, at, on_timer, f, 0);
}

enum fabric_error front_timer_set(struct fabric *fabric, uint64_t deadline, uint64_t cookie,
                                  fabric_timer *out)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_timer *timer = calloc(1, sizeof(*timer));
    assert(timer);
    if (f->timer_count == f->timer_capacity) {
        f->timer_capacity = f->timer_capacity * 2 + 8;
        f->heap = realloc(f->heap, f->timer_capacity * sizeof(struct front_timer *));
        assert(f->heap);
    }
    timer->id = handles_new(&f->handles, HANDLE_TIMER, timer);
    timer->deadline = PLANTED(front_timer_early) && deadline > 1000 ? deadline - 1000 : deadline;
    timer->cookie = cookie;
    timer->order =
        PLANTED(front_timers_unordered) ? UINT64_MAX - ++f->timer_order : ++f->timer_order;
    heap_set(f, f->timer_count++, timer);
    heap_up(f, timer->place);
    if (timer->place == 0)
        arm(f);
    out->id = timer->id;
    return FABRIC_OK;
}

enum fabric_error front_timer_cancel(struct fabric *fabric, fabric_timer handle, bool *was_pending)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_timer *timer = handles_find(&f->handles, handle.id, HANDLE_TIMER);
    assert(handle.id <= f->handles.last); /* was given out */
    *was_pending = timer != NULL;
    if (!timer)
        return FABRIC_OK;
    if (timer->place != SIZE_MAX) {
        bool first = timer->place == 0;
        heap_remove(f, timer);
        if (first)
            arm(f);
    }
    handles_remove(&f->handles, timer->id); /* one that is queued already is left out by poll */
    free(timer);
    return FABRIC_OK;
}
