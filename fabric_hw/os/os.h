/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric contract on this operating system: sockets, files, clock, netlink, HTTP. It knows no
 * RDMA; what serves the verbs is a part that is plugged in (part.h), and without one there is no
 * device.
 *
 * Threads: everything of an instance happens in the thread that uses it, but for names looked up
 * and, without io_uring, storage requests, which have a few threads of their own; those touch
 * nothing but their request and block every signal. The end of an instance waits for storage, not
 * for names: a look-up that hangs ends by itself later.
 */
#ifndef FABRIC_HW_OS_OS_H
#define FABRIC_HW_OS_OS_H

#include "src/fabric/fabric.h"

struct os_part;

enum os_log_form {
    OS_LOG_AUTO, /* text on a terminal, JSON elsewhere */
    OS_LOG_TEXT,
    OS_LOG_JSON, /* one object a line: timestamp, level, message */
};

struct os_fabric_options {
    const char *sysroot; /* stands before the paths of system files; null: none. With one there is
                          * no netlink: no interface has DCB, no stream an interface name */
    const char *source;  /* IP address that outgoing streams come from; null: the system's choice */
    const char *sysfs;   /* stands for /sys alone, as SYSFS_PATH does for libibverbs; null: /sys.
                          * Where   there is a sysroot it means nothing */
    int log_fd;          /* where log lines go; stays the caller's and open. -1: nowhere */
    enum os_log_form log_form;
    enum fabric_log_level log_level; /* lines below it are dropped */
    bool no_io_uring;                /* threads do the storage I/O */
    const struct os_part *part;      /* the verbs; null: there is no device */
    void *part_context;              /* handed to part->open */
};

/* An instance; strings of `options` are copied. Ended by fabric_destroy. Errors:
 * resources_exhausted, invalid_argument (a source that is no IP address), and those of the part;
 * nothing is left behind then. */
enum fabric_error os_fabric_create(const struct os_fabric_options *options, struct fabric **out);

/* A descriptor that is readable when fabric_poll would give an event, for a loop of the caller's;
 * it belongs to `f`, which is no layer over one. From the first call on timers arm it too. */
int os_fabric_descriptor(struct fabric *f);

/* The error of storage for an errno, also for files that a program reads by itself: those of
 * io_submit and IO_DONE. */
enum fabric_error os_io_error(int number);

/* From which level on lines are written. */
void os_fabric_set_log_level(struct fabric *f, enum fabric_log_level level);

#endif
