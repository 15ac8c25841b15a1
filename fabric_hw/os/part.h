/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pluggable part of an instance: who serves devices, memory and queue pairs. fabric_hw/rdma is
 * one; an instance without a part has no device.
 *
 * All of it is called in the thread of the instance. A part keeps its own handles; the numbers of
 * one type of handle come from one side only, so they need not differ from those of the other.
 */
#ifndef FABRIC_HW_OS_PART_H
#define FABRIC_HW_OS_PART_H

#include "src/fabric/fabric.h"

struct os_part {
    const char *name; /* "rdma" */
    /* The members that it serves, from device_list to ah_destroy but for dcb_query; a null one
     * behaves as without a device. Each finds its own state by os_part_state(f). */
    const struct fabric_ops *ops;
    /* open: `f` is ready but for this part. Errors end the making of the instance. */
    enum fabric_error (*open)(struct fabric *f, void *context, void **state);
    /* close: everything of it ends; it reports nothing any more. */
    void (*close)(void *state);
    /* guarantees: adds its bits and numbers to those of the operating system. */
    void (*guarantees)(void *state, struct fabric_guarantees *out);
    /* collect: called by every poll that finds nothing queued, before it waits: looks into queues
     * that no descriptor tells of and pushes what is there. Null: there are none. */
    void (*collect)(void *state);
    /* keep: whether an event pushed earlier is still to be told, now that it is polled; it may be
     * changed. */
    bool (*keep)(void *state, struct fabric_event *event);
};

/* For parts. `f` is the instance, never a layer over it. */

void *os_part_state(struct fabric *f);

/* Queues an event; its time is set here. */
void os_push(struct fabric *f, const struct fabric_event *event);

/* A descriptor to be watched. `ready` is called with the set of EPOLLIN, EPOLLOUT, EPOLLERR,
 * EPOLLHUP and EPOLLRDHUP that holds; it may unwatch and free its own source, and no other one. */
struct os_source {
    void (*ready)(struct os_source *source, uint32_t events);
};
/* `events` as for epoll_ctl, with EPOLLET where edges are wanted. Errors: resources_exhausted. */
enum fabric_error os_watch(struct fabric *f, int fd, uint32_t events, struct os_source *source);
void os_unwatch(struct fabric *f, int fd);

#endif
