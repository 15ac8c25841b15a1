/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_hw/os/alarm.h"

#include <assert.h>
#include <stdlib.h>

#include "src/fabric/planted.h"

static bool before(const struct os_alarm_entry *a, const struct os_alarm_entry *b)
{
    if (a->deadline != b->deadline)
        return a->deadline < b->deadline;
    return PLANTED(os_alarms_unordered) ? a->order > b->order : a->order < b->order;
}

static void put(struct os_alarms *alarms, size_t place, struct os_alarm_entry entry)
{
    assert(place >= 1 && place <= alarms->count);
    alarms->heap[place - 1] = entry;
    entry.alarm->place = place;
}

static void move_up(struct os_alarms *alarms, size_t place)
{
    const struct os_alarm_entry entry = alarms->heap[place - 1], *heap = alarms->heap;
    for (; place > 1 && before(&entry, &heap[place / 2 - 1]); place /= 2)
        put(alarms, place, heap[place / 2 - 1]);
    put(alarms, place, entry);
}

static void move_down(struct os_alarms *alarms, size_t place)
{
    const struct os_alarm_entry entry = alarms->heap[place - 1], *heap = alarms->heap;
    for (;;) {
        size_t child = place * 2;
        if (child + 1 <= alarms->count && before(&heap[child], &heap[child - 1]))
            child++;
        if (child > alarms->count || !before(&heap[child - 1], &entry))
            break;
        put(alarms, place, heap[child - 1]);
        place = child;
    }
    put(alarms, place, entry);
}

bool os_alarm_set(struct os_alarms *alarms, struct os_alarm *alarm, uint64_t deadline,
                  void (*due)(struct os_alarm *alarm))
{
    assert(alarm->place == 0 && due);
    if (alarms->count == alarms->capacity) {
        size_t capacity = alarms->capacity * 2 + 16;
        struct os_alarm_entry *grown = realloc(alarms->heap, capacity * sizeof(*grown));
        if (!grown)
            return false;
        alarms->heap = grown;
        alarms->capacity = capacity;
    }
    const struct os_alarm_entry entry = {deadline, alarms->order++, alarm};
    alarm->due = due;
    alarms->count++;
    put(alarms, alarms->count, entry);
    move_up(alarms, alarms->count);
    return true;
}

void os_alarm_cancel(struct os_alarms *alarms, struct os_alarm *alarm)
{
    size_t place = alarm->place;
    if (place == 0)
        return;
    assert(place <= alarms->count && alarms->heap[place - 1].alarm == alarm);
    const struct os_alarm_entry last = alarms->heap[alarms->count - 1];
    alarms->count--;
    alarm->place = 0;
    if (last.alarm == alarm)
        return;
    put(alarms, place, last);
    move_up(alarms, place);
    move_down(alarms, last.alarm->place);
}

uint64_t os_alarms_first(const struct os_alarms *alarms)
{
    return alarms->count ? alarms->heap[0].deadline : UINT64_MAX;
}

void os_alarms_run(struct os_alarms *alarms, uint64_t now)
{
    uint64_t newer = alarms->order;
    while (alarms->count && alarms->heap[0].deadline <= now && alarms->heap[0].order < newer) {
        struct os_alarm *alarm = alarms->heap[0].alarm;
        os_alarm_cancel(alarms, alarm);
        alarm->due(alarm);
    }
}

void os_alarms_free(struct os_alarms *alarms)
{
    free(alarms->heap);
    *alarms = (struct os_alarms){0};
}
