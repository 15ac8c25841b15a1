/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of the program; a timer that is due waits in the queue of events until it is polled. */
#include <stddef.h>
#include <stdlib.h>

#include "fabric_hw/os/state.h"
#include "src/fabric/planted.h"

struct os_timer {
    struct os_alarm alarm; /* first: it is found by it */
    struct os_fabric *os;
    uint32_t id;
    uint64_t cookie;
    struct os_timer *next_free;
};

static struct os_timer *take_free(struct os_fabric *os)
{
    struct os_timer *timer = os->free_timers;
    if (!timer)
        return calloc(1, sizeof(*timer));
    os->free_timers = timer->next_free;
    *timer = (struct os_timer){0};
    return timer;
}

static void give_back(struct os_timer *timer)
{
    timer->next_free = timer->os->free_timers;
    timer->os->free_timers = timer;
}

static void on_due(struct os_alarm *alarm)
{
    struct os_timer *timer = (struct os_timer *)alarm;
    const struct fabric_event event = {.type = FABRIC_EVENT_TIMER,
                                       .u.timer = {{timer->id}, timer->cookie}};
    os_push(&timer->os->head, &event);
}

enum fabric_error os_timer_set(struct fabric *f, uint64_t deadline, uint64_t cookie,
                               fabric_timer *out)
{
    struct os_fabric *os = os_of(f);
    struct os_timer *timer = take_free(os);
    if (!timer)
        return ERR_RESOURCES_EXHAUSTED;
    timer->os = os;
    timer->cookie = cookie;
    timer->id = os_handles_new(&os->handles, OS_TIMER, timer);
    if (!timer->id) {
        give_back(timer);
        return ERR_RESOURCES_EXHAUSTED;
    }
    if (!os_set_alarm(os, &timer->alarm, deadline, on_due)) {
        os_handles_remove(&os->handles, timer->id);
        give_back(timer);
        return ERR_RESOURCES_EXHAUSTED;
    }
    out->id = timer->id;
    return FABRIC_OK;
}

enum fabric_error os_timer_cancel(struct fabric *f, fabric_timer handle, bool *was_pending)
{
    struct os_fabric *os = os_of(f);
    struct os_timer *timer = os_handles_find(&os->handles, handle.id, OS_TIMER);
    *was_pending = timer != NULL;
    if (!timer)
        return FABRIC_OK;
    os_alarm_cancel(&os->alarms, &timer->alarm);
    os_handles_remove(&os->handles, timer->id);
    give_back(timer);
    return FABRIC_OK;
}

bool os_timer_keep(struct os_fabric *os, const struct fabric_event *event)
{
    struct os_timer *timer = os_handles_find(&os->handles, event->u.timer.timer.id, OS_TIMER);
    if (!timer)
        return PLANTED(os_cancelled_timer_fires);
    os_handles_remove(&os->handles, timer->id);
    give_back(timer);
    return true;
}

/* Those still set, those that are due, and those that nobody uses. */
void os_timers_close(struct os_fabric *os)
{
    for (size_t i = 0; i < os->queue.count; i++) {
        const struct fabric_event *event = os_queued(os, i);
        if (event->type == FABRIC_EVENT_TIMER)
            (void)os_timer_keep(os, event);
    }
    for (size_t i = 0; i < os->alarms.count; i++) {
        if (os->alarms.heap[i].alarm->due == on_due)
            free(os->alarms.heap[i].alarm);
    }
    os->alarms.count = 0;
    while (os->free_timers) {
        struct os_timer *timer = os->free_timers;
        os->free_timers = timer->next_free;
        free(timer);
    }
}
