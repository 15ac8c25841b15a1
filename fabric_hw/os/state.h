/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the instance share; nobody outside this room includes it. */
#ifndef FABRIC_HW_OS_STATE_H
#define FABRIC_HW_OS_STATE_H

#include <assert.h>

#include "fabric_hw/os/address.h"
#include "fabric_hw/os/alarm.h"
#include "fabric_hw/os/handles.h"
#include "fabric_hw/os/os.h"
#include "fabric_hw/os/part.h"
#include "fabric_hw/os/spin.h"
#include "fabric_hw/os/workers.h"

#define OS_IO_ALIGN 4096 /* what O_DIRECT asks for, at most */
#define OS_MS UINT64_C(1000000)
#define OS_SECOND UINT64_C(1000000000)

struct os_stream;
struct os_listener;
struct os_file;
struct os_io;
struct os_http;

struct os_queue { /* events not yet polled: a ring */
    struct fabric_event *events;
    size_t head, count, capacity; /* capacity is a power of two or 0 */
};

struct os_wake {
    struct os_source source;
    int fd;
};

struct os_log {
    int fd;
    bool json;
    uint64_t dropped; /* lines since the last that was written */
    bool torn;        /* of the last line only the beginning was written */
    enum fabric_log_level level;
};

struct os_fabric {
    struct fabric head;
    struct fabric_ops ops; /* ours, with what the part serves */
    const struct os_part *part;
    void *part_state;
    char *sysroot, *sysfs;    /* "" without one */
    struct os_address source; /* of outgoing streams; its length is 0 where none was asked for */
    struct os_log log;
    bool no_io_uring;

    int epoll;
    uint64_t now;  /* of the latest look at the clock inside poll */
    uint64_t told; /* the time of the latest event that was polled: times never go back */
    bool polling;  /* inside poll: what is pushed needs no arming */
    struct os_spin spin;
    struct os_wake wake, timer;
    uint64_t armed; /* when the timer descriptor goes off; only where timer.fd is open */
    struct os_queue queue, stored; /* stored: completions of storage requests, which come first */
    struct os_alarms alarms;
    struct os_handles handles;

    struct os_listener *listeners;
    struct os_stream *streams; /* also those that only linger */
    struct os_timer *free_timers;
    struct os_workers *names; /* null until a name is looked up */
    char unknown[64];         /* the name that was last said to be unknown */
    uint64_t unknown_said;    /* ns; 0: never */
    struct os_io *io;         /* null until storage is used */
    struct os_http *https;
};

static inline struct os_fabric *os_of(struct fabric *f)
{
    return (struct os_fabric *)f;
}

/* ---- loop.c */
uint64_t os_clock(void); /* ns, monotonic */
void os_loop_close(struct os_fabric *os);
enum fabric_error os_loop_open(struct os_fabric *os);
/* Sets an alarm of the instance's own; false when memory is out. */
bool os_set_alarm(struct os_fabric *os, struct os_alarm *alarm, uint64_t deadline,
                  void (*due)(struct os_alarm *alarm));
/* The event at a place of the queue, from 0. */
struct fabric_event *os_queued(struct os_fabric *os, size_t place);

/* ---- keep.c: whether a queued event is still to be told, now that it is polled. */
bool os_keep(struct os_fabric *os, struct fabric_event *event);

/* ---- log.c */
void os_log_open(struct os_log *log, const struct os_fabric_options *options);
__attribute__((format(printf, 3, 4))) void os_say(struct os_fabric *os, enum fabric_log_level level,
                                                  const char *format, ...);

/* ---- errno.c: the error of the table for an errno; INTERNAL for one that nobody foresaw. */
enum fabric_error os_error(int number);

/* ---- stream.c, timer.c, io.c, http.c: see their headers */
bool os_timer_keep(struct os_fabric *os, const struct fabric_event *event);
void os_timers_close(struct os_fabric *os);
bool os_stream_keep(struct os_fabric *os, struct fabric_event *event);
void os_streams_close(struct os_fabric *os);
void os_listeners_close(struct os_fabric *os);
void os_io_close(struct os_fabric *os);
/* Hands requests to the kernel that were only collected, and takes completions that are there.
 * Whether any file is open. */
bool os_io_turn(struct os_fabric *os);
bool os_http_keep(struct os_fabric *os, const struct fabric_event *event);
void os_http_close_all(struct os_fabric *os);

/* ---- no_device.c: the members of the table that need a device, without one. */
extern const struct fabric_ops os_no_device;

/* The members of the table, by file. */
#define X(upper, lower, parameters, arguments, fault) enum fabric_error os_##lower parameters;
#include "src/fabric/ops.def"
#undef X

#endif
