/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric that does what a test tells it: each operation returns a scripted error, constructors
 * give handles 1, 2, 3..., poll gives scripted events when their time has come. For the seam and
 * the layers, which must work over any fabric.
 */
#ifndef TESTS_SUPPORT_FAKE_FABRIC_H
#define TESTS_SUPPORT_FAKE_FABRIC_H

#include "src/fabric/fabric.h"

#define FAKE_EVENTS 64
#define FAKE_POSTS 64
#define FAKE_TIMERS 8

struct fake_post {
    fabric_qp qp;
    uint64_t wr_id;
    bool is_send, signaled;
};

struct fake_timer {
    uint32_t id;
    uint64_t deadline, cookie;
};

struct fake_fabric {
    struct fabric head;
    uint64_t now;
    uint64_t realtime;
    enum fabric_error error[FABRIC_OP_COUNT];
    uint64_t called[FABRIC_OP_COUNT];
    uint32_t handles;       /* the latest one given out */
    bool keeps_handle;      /* a constructor makes a handle also when it fails, or none at all */
    bool touches_on_error;  /* poll and streams report data beside an error */
    size_t claimed;         /* poll, stream_send and stream_recv claim so much more */
    bool ends_with_data;    /* stream_recv says bytes and the end at once */
    uint64_t handed_cookie; /* of the latest stream_set_cookie */
    struct fabric_event events[FAKE_EVENTS]; /* given out in order, each from its time on */
    size_t event_count;
    struct fake_post posts[FAKE_POSTS]; /* accepted, in order */
    size_t post_count;
    struct fake_timer timers[FAKE_TIMERS];
    enum fabric_qp_state qp_state; /* of every queue pair */
    fabric_qp modified;            /* the latest one */
    bool *destroyed_flag;          /* set by destroy, which frees the fabric */
};

/* On the heap, so that a layer may destroy it; `destroyed` may be null. */
struct fake_fabric *fake_fabric_new(bool *destroyed);

/* Adds an event that poll gives out from `time` on. */
struct fabric_event *fake_event(struct fake_fabric *fake, uint64_t time,
                                enum fabric_event_type type);

/* A successful completion of send or receive `wr_id`. */
void fake_completion(struct fake_fabric *fake, uint64_t time, fabric_qp qp, uint64_t wr_id,
                     bool is_send);

#endif
