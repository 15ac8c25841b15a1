/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/layer_delay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/layer.h"
#include "src/fabric/planted.h"

#define BATCH 32

struct held {
    struct fabric_event event; /* its time is when it becomes due */
    uint64_t order;            /* of arrival; breaks ties */
};

struct delay {
    struct layer layer;
    struct layer_delay_rule rules[LAYER_DELAY_RULES];
    size_t rule_count;
    struct held *held; /* by time, then arrival */
    size_t held_count, held_capacity;
    uint64_t arrivals;
    uint64_t last; /* time of the latest event given out */
    fabric_timer alarm;
    uint64_t alarm_at;
};

static struct delay *delay_of(struct fabric *f)
{
    return (struct delay *)f;
}

static uint64_t delay_for(const struct delay *delay, const struct fabric_event *event)
{
    for (size_t i = 0; i < delay->rule_count; i++) {
        const struct layer_delay_rule *rule = &delay->rules[i];
        if (!(rule->events & 1u << event->type))
            continue;
        if (event->type == FABRIC_EVENT_ASYNC && rule->async_types &&
            !(rule->async_types & 1u << event->u.async.type))
            continue;
        return rule->by;
    }
    return 0;
}

/* The object an event belongs to, as a number that is different for different objects. */
static uint64_t object_of(const struct fabric_event *event)
{
    uint32_t id = 0;
    uint64_t class = event->type;
    switch (event->type) {
    case FABRIC_EVENT_COMPLETION:
        id = event->u.wc.qp.id;
        break;
    case FABRIC_EVENT_ASYNC:
        id = event->u.async.device.id;
        break;
    case FABRIC_EVENT_WINDOW_OPENED:
    case FABRIC_EVENT_WINDOW_REVOKED:
        id = event->u.window.window.id;
        class = FABRIC_EVENT_WINDOW_OPENED;
        break;
    case FABRIC_EVENT_RESOLVED:
        id = event->u.resolved.device.id;
        break;
    case FABRIC_EVENT_TIMER:
        id = event->u.timer.timer.id;
        break;
    case FABRIC_EVENT_ACCEPTED:
    case FABRIC_EVENT_CONNECTED:
    case FABRIC_EVENT_READABLE:
    case FABRIC_EVENT_WRITABLE:
    case FABRIC_EVENT_CLOSED:
        id = event->u.stream.stream.id;
        class = FABRIC_EVENT_ACCEPTED;
        break;
    case FABRIC_EVENT_HTTP_REQUEST:
        id = event->u.http.http.id;
        break;
    default:
        break;
    }
    return class << 32 | id;
}

static bool make_room(struct delay *delay)
{
    if (delay->held_count < delay->held_capacity)
        return true;
    size_t capacity = delay->held_capacity * 2 + BATCH;
    struct held *grown = realloc(delay->held, capacity * sizeof(*grown));
    if (!grown)
        return false;
    delay->held = grown;
    delay->held_capacity = capacity;
    return true;
}

/* Keeps an event. `held` has room. */
static void hold(struct delay *delay, const struct fabric_event *event)
{
    uint64_t by = delay_for(delay, event);
    uint64_t due = event->time > UINT64_MAX - by ? UINT64_MAX : event->time + by;
    size_t place = delay->held_count;
    assert(delay->held_count < delay->held_capacity);
    for (size_t i = 0; i < delay->held_count; i++) {
        bool same = object_of(&delay->held[i].event) == object_of(event);
        if (same && delay->held[i].event.time > due && !PLANTED(fabric_delay_overtakes))
            due = delay->held[i].event.time;
    }
    while (place > 0 && delay->held[place - 1].event.time > due)
        place--;
    memmove(&delay->held[place + 1], &delay->held[place],
            (delay->held_count - place) * sizeof(*delay->held));
    delay->held[place] = (struct held){*event, delay->arrivals++};
    delay->held[place].event.time = PLANTED(fabric_delay_not_at_all) ? event->time : due;
    delay->held_count++;
}

static bool is_alarm(struct delay *delay, const struct fabric_event *event)
{
    if (event->type != FABRIC_EVENT_TIMER || !delay->alarm.id ||
        event->u.timer.timer.id != delay->alarm.id)
        return false;
    delay->alarm.id = 0;
    return true;
}

/* Takes in what the fabric below has, and returns whether there was anything. Without memory to
 * hold more nothing is taken: it stays below. */
static bool take_in(struct delay *delay, uint64_t deadline, enum fabric_error *error)
{
    struct fabric_event events[BATCH];
    size_t room = 0, count = 0;
    if (make_room(delay))
        room = delay->held_capacity - delay->held_count;
    if (room == 0)
        return false;
    room = room < BATCH ? room : BATCH;
    *error = fabric_poll(delay->layer.next, events, room, deadline, &count);
    for (size_t i = 0; i < count; i++) {
        if (!is_alarm(delay, &events[i]))
            hold(delay, &events[i]);
    }
    return count > 0;
}

/* The first `count` events leave. */
static void drop_first(struct delay *delay, size_t count)
{
    assert(count <= delay->held_count);
    delay->held_count -= count;
    memmove(delay->held, delay->held + count, delay->held_count * sizeof(*delay->held));
}

static size_t give_out(struct delay *delay, struct fabric_event *events, size_t capacity,
                       uint64_t now)
{
    size_t count = 0;
    while (count < capacity && count < delay->held_count && delay->held[count].event.time <= now) {
        events[count] = delay->held[count].event;
        if (events[count].time < delay->last)
            events[count].time = delay->last;
        delay->last = events[count].time;
        count++;
    }
    drop_first(delay, count);
    return count;
}

/* A timer below for the first event that is held, so that the program is woken for it. */
static void set_alarm(struct delay *delay)
{
    uint64_t first = delay->held_count ? delay->held[0].event.time : FABRIC_FOREVER;
    bool pending;
    if (delay->alarm.id && delay->alarm_at == first)
        return;
    if (delay->alarm.id)
        (void)fabric_timer_cancel(delay->layer.next, delay->alarm, &pending);
    delay->alarm.id = 0;
    delay->alarm_at = first;
    if (first != FABRIC_FOREVER && !PLANTED(fabric_delay_never_wakes) &&
        fabric_timer_set(delay->layer.next, first, 0, &delay->alarm) != FABRIC_OK)
        delay->alarm.id = 0;
}

static enum fabric_error poll(struct fabric *f, struct fabric_event *events, size_t capacity,
                              uint64_t deadline, size_t *count)
{
    struct delay *delay = delay_of(f);
    struct fabric *next = delay->layer.next;
    enum fabric_error error = FABRIC_OK;
    uint64_t now, until = 0;
    for (;;) {
        bool more = take_in(delay, until, &error);
        (void)fabric_now(next, &now);
        *count = error ? 0 : give_out(delay, events, capacity, now);
        set_alarm(delay);
        if (error || *count > 0 || now >= deadline || (until > 0 && !more))
            return error;
        until = deadline; /* nothing was there: wait, as long as something comes in */
        if (!delay->alarm.id && delay->alarm_at < until)
            until = delay->alarm_at;
    }
}

static enum fabric_error destroy(struct fabric *f)
{
    struct delay *delay = delay_of(f);
    enum fabric_error error = fabric_destroy(delay->layer.next);
    free(delay->held);
    free(delay);
    return error;
}

/* Throws away the held events that `match` finds; returns how many there were. */
static size_t drop(struct delay *delay, bool (*match)(const struct fabric_event *, uint32_t),
                   uint32_t id)
{
    size_t kept = 0, before = delay->held_count;
    for (size_t i = 0; i < before; i++) {
        if (!match(&delay->held[i].event, id))
            delay->held[kept++] = delay->held[i];
    }
    delay->held_count = PLANTED(fabric_delay_keeps_the_dead) ? before : kept;
    return before - kept;
}

static bool is_timer(const struct fabric_event *event, uint32_t id)
{
    return event->type == FABRIC_EVENT_TIMER && event->u.timer.timer.id == id;
}

static bool is_stream(const struct fabric_event *event, uint32_t id)
{
    return event->type >= FABRIC_EVENT_ACCEPTED && event->type <= FABRIC_EVENT_CLOSED &&
           event->u.stream.stream.id == id;
}

static bool is_qp_event(const struct fabric_event *event, uint32_t id)
{
    return event->type == FABRIC_EVENT_ASYNC && event->u.async.qp.id == id;
}

static bool is_cq_event(const struct fabric_event *event, uint32_t id)
{
    return event->type == FABRIC_EVENT_ASYNC && event->u.async.cq.id == id;
}

static bool is_srq_event(const struct fabric_event *event, uint32_t id)
{
    return event->type == FABRIC_EVENT_ASYNC && event->u.async.srq.id == id;
}

static bool is_device_event(const struct fabric_event *event, uint32_t id)
{
    return (event->type == FABRIC_EVENT_ASYNC && event->u.async.device.id == id) ||
           (event->type == FABRIC_EVENT_RESOLVED && event->u.resolved.device.id == id);
}

static bool is_request(const struct fabric_event *event, uint32_t id)
{
    return event->type == FABRIC_EVENT_HTTP_REQUEST && event->u.http.http.id == id;
}

static bool is_opening(const struct fabric_event *event, uint32_t id)
{
    return event->type == FABRIC_EVENT_WINDOW_OPENED && event->u.window.window.id == id;
}

static enum fabric_error timer_cancel(struct fabric *f, fabric_timer timer, bool *was_pending)
{
    struct delay *delay = delay_of(f);
    size_t dropped = drop(delay, is_timer, timer.id);
    enum fabric_error error = fabric_timer_cancel(delay->layer.next, timer, was_pending);
    *was_pending = *was_pending || dropped > 0;
    return error;
}

static enum fabric_error stream_close(struct fabric *f, fabric_stream stream, bool reset)
{
    drop(delay_of(f), is_stream, stream.id);
    return fabric_stream_close(layer_next(f), stream, reset);
}

static enum fabric_error stream_set_cookie(struct fabric *f, fabric_stream stream, uint64_t cookie)
{
    struct delay *delay = delay_of(f);
    for (size_t i = 0; i < delay->held_count; i++) {
        struct fabric_event *event = &delay->held[i].event;
        if (is_stream(event, stream.id) && event->type != FABRIC_EVENT_ACCEPTED)
            event->u.stream.cookie = cookie;
    }
    return fabric_stream_set_cookie(delay->layer.next, stream, cookie);
}

static enum fabric_error http_close(struct fabric *f, fabric_http http)
{
    drop(delay_of(f), is_request, http.id);
    return fabric_http_close(layer_next(f), http);
}

static enum fabric_error qp_destroy(struct fabric *f, fabric_qp qp)
{
    drop(delay_of(f), is_qp_event, qp.id);
    return fabric_qp_destroy(layer_next(f), qp);
}

static enum fabric_error cq_destroy(struct fabric *f, fabric_cq cq)
{
    drop(delay_of(f), is_cq_event, cq.id);
    return fabric_cq_destroy(layer_next(f), cq);
}

static enum fabric_error srq_destroy(struct fabric *f, fabric_srq srq)
{
    drop(delay_of(f), is_srq_event, srq.id);
    return fabric_srq_destroy(layer_next(f), srq);
}

/* An opening that failed has no handle below any more: its revocation ends here. */
static enum fabric_error window_revoke(struct fabric *f, fabric_window window)
{
    struct delay *delay = delay_of(f);
    for (size_t i = 0; i < delay->held_count; i++) {
        struct fabric_event *event = &delay->held[i].event;
        if (is_opening(event, window.id) && event->u.window.error) {
            event->type = FABRIC_EVENT_WINDOW_REVOKED;
            event->u.window.error = FABRIC_OK;
            return FABRIC_OK;
        }
    }
    drop(delay, is_opening, window.id);
    return fabric_window_revoke(delay->layer.next, window);
}

static enum fabric_error device_close(struct fabric *f, fabric_device device)
{
    struct delay *delay = delay_of(f);
    for (size_t i = 0; i < delay->held_count; i++) {
        struct fabric_event *event = &delay->held[i].event;
        if (event->type != FABRIC_EVENT_WINDOW_OPENED || event->u.window.device.id != device.id)
            continue;
        event->u.window.rkey = 0;
        event->u.window.error = ERR_DEVICE_REMOVED;
    }
    drop(delay, is_device_event, device.id);
    return fabric_device_close(layer_next(f), device);
}

enum fabric_error layer_delay_create(struct fabric *next, struct fabric **out)
{
    assert(next && out);
    struct delay *delay = calloc(1, sizeof(*delay));
    if (!delay)
        return ERR_RESOURCES_EXHAUSTED;
    layer_init(&delay->layer, next);
    struct fabric_ops *ops = &delay->layer.ops;
    ops->poll = poll;
    ops->destroy = destroy;
    ops->timer_cancel = timer_cancel;
    ops->stream_close = stream_close;
    ops->stream_set_cookie = stream_set_cookie;
    ops->http_close = http_close;
    ops->qp_destroy = qp_destroy;
    ops->cq_destroy = cq_destroy;
    ops->srq_destroy = srq_destroy;
    ops->window_revoke = window_revoke;
    ops->device_close = device_close;
    delay->alarm_at = FABRIC_FOREVER;
    *out = &delay->layer.head;
    return FABRIC_OK;
}

enum fabric_error layer_delay_add(struct fabric *f, const struct layer_delay_rule *rule)
{
    struct delay *delay = delay_of(f);
    assert(f && rule && rule->events && f->ops->poll == poll);
    if (delay->rule_count == LAYER_DELAY_RULES)
        return ERR_RESOURCES_EXHAUSTED;
    delay->rules[delay->rule_count++] = *rule;
    return FABRIC_OK;
}

/* The order of arrival is kept: with all times equal it alone decides. */
static int by_arrival(const void *a, const void *b)
{
    uint64_t x = ((const struct held *)a)->order, y = ((const struct held *)b)->order;
    return x < y ? -1 : x > y;
}

void layer_delay_clear(struct fabric *f)
{
    struct delay *delay = delay_of(f);
    assert(f && f->ops->poll == poll);
    delay->rule_count = 0;
    if (delay->held_count == 0)
        return;
    qsort(delay->held, delay->held_count, sizeof(*delay->held), by_arrival);
    for (size_t i = 0; i < delay->held_count; i++)
        delay->held[i].event.time = delay->last;
    set_alarm(delay);
}

size_t layer_delay_held(const struct fabric *f)
{
    assert(f && f->ops->poll == poll);
    return ((const struct delay *)f)->held_count;
}
