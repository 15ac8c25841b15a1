/* SPDX-License-Identifier: Apache-2.0 */
/* What is to happen at a time: a heap by deadline and, among equals, by order of setting. */
#ifndef FABRIC_HW_OS_ALARM_H
#define FABRIC_HW_OS_ALARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct os_alarm { /* zero is not set */
    size_t place; /* in the heap, from 1; 0: not set */
    void (*due)(struct os_alarm *alarm);
};

/* What decides stands in the heap itself: alarms lie scattered in memory. */
struct os_alarm_entry {
    uint64_t deadline, order;
    struct os_alarm *alarm;
};

struct os_alarms { /* zero is empty */
    struct os_alarm_entry *heap;
    size_t count, capacity;
    uint64_t order;
};

/* Sets an alarm that is not set; it must stay where it is. False when memory is out. */
bool os_alarm_set(struct os_alarms *alarms, struct os_alarm *alarm, uint64_t deadline,
                  void (*due)(struct os_alarm *alarm));
void os_alarm_cancel(struct os_alarms *alarms, struct os_alarm *alarm); /* also one not set */
/* The earliest deadline; UINT64_MAX when there is none. */
uint64_t os_alarms_first(const struct os_alarms *alarms);
/* Calls `due` of every alarm that was set when this began and whose time has come, in order. */
void os_alarms_run(struct os_alarms *alarms, uint64_t now);
void os_alarms_free(struct os_alarms *alarms);

#endif
