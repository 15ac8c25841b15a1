/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of events, what is watched, and the one place that waits. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "fabric_hw/os/state.h"
#include "src/fabric/planted.h"

#define AT_ONCE 256 /* descriptors looked at in one go */

uint64_t os_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * OS_SECOND + (uint64_t)now.tv_nsec;
}

/* ------------------------------------------------------------------ the queue */

static struct fabric_event *at(const struct os_queue *queue, size_t place)
{
    assert(place < queue->count);
    return &queue->events[(queue->head + place) & (queue->capacity - 1)];
}

static void grow(struct os_queue *queue)
{
    size_t capacity = queue->capacity ? queue->capacity * 2 : 256;
    struct fabric_event *grown = malloc(capacity * sizeof(*grown));
    assert(grown); /* an event that is owed and cannot be kept breaks the contract */
    for (size_t i = 0; i < queue->count; i++)
        grown[i] = *at(queue, i);
    free(queue->events);
    *queue = (struct os_queue){grown, 0, queue->count, capacity};
}

struct fabric_event *os_queued(struct os_fabric *os, size_t place)
{
    return at(&os->queue, place);
}

static void arm(struct os_fabric *os);

void os_push(struct fabric *f, const struct fabric_event *event)
{
    struct os_fabric *os = os_of(f);
    struct os_queue *queue = event->type == FABRIC_EVENT_IO_DONE ? &os->stored : &os->queue;
    if (queue->count == queue->capacity)
        grow(queue);
    queue->count++;
    struct fabric_event *place = at(queue, queue->count - 1);
    *place = *event;
    if (!os->polling)
        os->now = os_clock();
    place->time = os->now;
    arm(os);
}

static void take_from(struct os_fabric *os, struct os_queue *queue, struct fabric_event *events,
                      size_t capacity, size_t *count)
{
    while (queue->count > 0 && *count < capacity) {
        struct fabric_event *out = &events[*count];
        *out = *at(queue, 0);
        queue->head = (queue->head + 1) & (queue->capacity - 1);
        queue->count--;
        if (!os_keep(os, out))
            continue;
        if (out->time < os->told && !PLANTED(os_overtaken_events_are_old))
            out->time = os->told; /* what came later was told first */
        os->told = out->time;
        (*count)++;
    }
}

/* A stream may have megabytes to be received. Where storage is in use its requests and completions
 * do not wait for several of those: they come first, and one other event at a time. */
static void take(struct os_fabric *os, struct fabric_event *events, size_t capacity, size_t *count)
{
    bool stores = os_io_turn(os) && !PLANTED(os_storage_waits);
    take_from(os, &os->stored, events, capacity, count);
    bool bounded = stores && *count < capacity;
    take_from(os, &os->queue, events, bounded ? *count + 1 : capacity, count);
}

/* ------------------------------------------------------------------ what is watched */

enum fabric_error os_watch(struct fabric *f, int fd, uint32_t events, struct os_source *source)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    assert(fd >= 0 && source->ready);
    return epoll_ctl(os_of(f)->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? FABRIC_OK
                                                                      : ERR_RESOURCES_EXHAUSTED;
}

void os_unwatch(struct fabric *f, int fd)
{
    int result = epoll_ctl(os_of(f)->epoll, EPOLL_CTL_DEL, fd, NULL);
    assert(result == 0);
}

/* The descriptor of others' loops must also tell of timers and of what is queued already. */
static void arm(struct os_fabric *os)
{
    if (os->timer.fd < 0 || os->polling)
        return;
    uint64_t first = os->queue.count + os->stored.count ? 1 : os_alarms_first(&os->alarms);
    if (first == os->armed)
        return;
    struct itimerspec spec = {{0, 0}, {0, 0}}; /* zero: never */
    if (first != UINT64_MAX) {
        first = first ? first : 1;
        spec.it_value.tv_sec = (time_t)(first / OS_SECOND);
        spec.it_value.tv_nsec = (long)(first % OS_SECOND);
    }
    int result = timerfd_settime(os->timer.fd, TFD_TIMER_ABSTIME, &spec, NULL);
    assert(result == 0);
    os->armed = first;
}

bool os_set_alarm(struct os_fabric *os, struct os_alarm *alarm, uint64_t deadline,
                  void (*due)(struct os_alarm *alarm))
{
    bool set = os_alarm_set(&os->alarms, alarm, deadline, due);
    arm(os);
    return set;
}

int os_fabric_descriptor(struct fabric *f)
{
    struct os_fabric *os = os_of(f);
    if (os->timer.fd >= 0)
        return os->epoll;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0 && !os_watch(f, fd, EPOLLIN, &os->timer.source)) {
        os->timer.fd = fd;
        os->armed = UINT64_MAX;
        arm(os);
    } else if (fd >= 0) {
        close(fd);
    }
    return os->epoll;
}

/* ------------------------------------------------------------------ waiting */

/* Looks for what comes soon. */
static int look(struct os_fabric *os, struct epoll_event *ready, uint64_t now, uint64_t until)
{
    const uint64_t end = until - now < OS_SPIN_TIME ? until : now + OS_SPIN_TIME;
    int count;
    do {
        count = epoll_wait(os->epoll, ready, AT_ONCE, 0);
    } while (count == 0 && os_clock() < end);
    os_spin_was(&os->spin, count > 0);
    return count > 0 ? count : 0;
}

/* Until `until` (ns); fewer nanoseconds than the system can count are rounded up. */
static int wait_for(struct os_fabric *os, struct epoll_event *ready, uint64_t until)
{
    uint64_t now = os_clock();
    int found = until > now && os_spin_is_due(&os->spin) ? look(os, ready, now, until) : 0;
    if (found)
        return found;
    now = os_clock();
    uint64_t left = until > now ? until - now : 0;
    struct timespec time = {(time_t)(left / OS_SECOND), (long)(left % OS_SECOND)};
    bool endless = until == UINT64_MAX;
    int count = epoll_pwait2(os->epoll, ready, AT_ONCE, endless ? NULL : &time, NULL);
    if (count < 0 && (errno == ENOSYS || errno == EPERM)) { /* a kernel or a sandbox without it */
        uint64_t ms = left > OS_MS * 1000000 ? 1000000 : (left + OS_MS - 1) / OS_MS;
        count = epoll_wait(os->epoll, ready, AT_ONCE, endless ? -1 : (int)ms);
    }
    assert(count >= 0 || errno == EINTR);
    return count < 0 ? 0 : count;
}

static void refill(struct os_fabric *os, uint64_t deadline)
{
    struct epoll_event ready[AT_ONCE];
    os->now = os_clock();
    if (os->part && os->part->collect)
        os->part->collect(os->part_state);
    (void)os_io_turn(os);
    uint64_t first = os_alarms_first(&os->alarms), until = first < deadline ? first : deadline;
    int count = wait_for(os, ready, os->queue.count + os->stored.count ? 0 : until);
    os->now = os_clock();
    for (int i = 0; i < count; i++) {
        struct os_source *source = ready[i].data.ptr;
        source->ready(source, ready[i].events);
    }
    os_alarms_run(&os->alarms, os->now);
}

enum fabric_error os_poll(struct fabric *f, struct fabric_event *events, size_t capacity,
                          uint64_t deadline, size_t *count)
{
    struct os_fabric *os = os_of(f);
    *count = 0;
    os->polling = true;
    take(os, events, capacity, count);
    while (*count == 0) {
        refill(os, deadline);
        take(os, events, capacity, count);
        if (os->now >= deadline)
            break;
    }
    os->polling = false;
    arm(os);
    return FABRIC_OK;
}

static void on_woken(struct os_source *source, uint32_t events)
{
    struct os_wake *wake = (struct os_wake *)source;
    struct os_fabric *os =
        (struct os_fabric *)((char *)wake - offsetof(struct os_fabric, wake)); /* the only one */
    const struct fabric_event event = {.type = FABRIC_EVENT_WOKEN};
    uint64_t count;
    (void)events;
    if (read(wake->fd, &count, sizeof(count)) == sizeof(count) && !PLANTED(os_wake_unheard))
        os_push(&os->head, &event);
}

static void on_timer(struct os_source *source, uint32_t events)
{
    struct os_wake *timer = (struct os_wake *)source;
    struct os_fabric *os = (struct os_fabric *)((char *)timer - offsetof(struct os_fabric, timer));
    uint64_t count;
    (void)events;
    if (read(timer->fd, &count, sizeof(count)) == sizeof(count))
        os->armed = UINT64_MAX; /* it went off; what is due is found by the alarms themselves */
}

/* Safe in a signal handler: one system call, errno as before. */
enum fabric_error os_wake(struct fabric *f)
{
    const uint64_t one = 1;
    int before = errno;
    ssize_t written = write(os_of(f)->wake.fd, &one, sizeof(one));
    (void)written; /* a full counter wakes just as well */
    errno = before;
    return FABRIC_OK;
}

enum fabric_error os_loop_open(struct os_fabric *os)
{
    os->timer = (struct os_wake){{on_timer}, -1};
    os->wake = (struct os_wake){{on_woken}, -1};
    os->epoll = epoll_create1(EPOLL_CLOEXEC);
    os->now = os_clock();
    if (os->epoll < 0)
        return ERR_RESOURCES_EXHAUSTED;
    os->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (os->wake.fd < 0)
        return ERR_RESOURCES_EXHAUSTED;
    return os_watch(&os->head, os->wake.fd, EPOLLIN, &os->wake.source);
}

void os_loop_close(struct os_fabric *os)
{
    if (os->timer.fd >= 0)
        close(os->timer.fd);
    if (os->wake.fd >= 0)
        close(os->wake.fd);
    if (os->epoll >= 0)
        close(os->epoll);
    os_alarms_free(&os->alarms);
    free(os->queue.events);
    free(os->stored.events);
}
