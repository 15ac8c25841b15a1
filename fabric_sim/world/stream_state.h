/* SPDX-License-Identifier: Apache-2.0 */
/* What stream.c (hosts, addresses, connecting, faults) and stream_pipe.c (bytes) share. */
#ifndef FABRIC_SIM_WORLD_STREAM_STATE_H
#define FABRIC_SIM_WORLD_STREAM_STATE_H

#include "fabric_sim/world/stream.h"

#define STREAM_LATENCY 15000     /* ns, one way */
#define STREAM_JITTER 10000      /* ns */
#define STREAM_NS_PER_KIB 328    /* 25 Gbit/s */
#define STREAM_NS_PER_PACKET 250 /* where the interfaces have an MTU */
#define STREAM_SEGMENT_MAX 65536 /* bytes that arrive at once, at most */
#define SECOND UINT64_C(1000000000)
#define STREAM_GIVE_UP (924 * SECOND) /* unanswered for so long: RFC 1122, chapter 4.2.3.5 */
#define STREAM_BACKOFF_MAX (120 * SECOND)

struct byte_queue { /* zero is empty */
    uint8_t *bytes;
    size_t head, length, capacity;
};
void byte_queue_put(struct byte_queue *queue, const void *bytes, size_t length);
void byte_queue_take(struct byte_queue *queue, void *out, size_t length); /* null: drops them */
void byte_queue_free(struct byte_queue *queue);

enum stream_state {
    STREAM_OPENING, /* connect was called, nothing came back yet */
    STREAM_OPEN,
    STREAM_BROKEN, /* CLOSED was said */
};

struct stream {
    struct stream *previous, *next; /* all streams of the net, in the order of their making */
    struct stream *next_gone;
    struct stream_host *host, *remote;
    struct stream *peer; /* null: not there yet, or gone */
    const struct stream_owner *owner;
    uint64_t tag;
    enum stream_state state;
    uint16_t port, remote_port;
    bool gone;         /* memory alone: whoever called an owner may still look at it */
    bool closed;       /* by its owner: the handle is gone */
    bool shut;         /* its owner sends no more */
    bool end_sent;     /* and the peer was told */
    bool end_arrived;  /* the peer sends no more */
    bool wants_read;   /* READABLE is owed for the next bytes */
    bool wants_write;  /* WRITABLE is owed when there is room */
    size_t window;     /* bytes under way and not yet received, at most */
    size_t segment;    /* bytes that the scheduled arrival carries */
    uint64_t stalled;  /* since when nothing passes, 0: not */
    unsigned attempts; /* of connecting */
    sim_event arrival, writable, connecting, give_up, reset;
    struct byte_queue out; /* accepted, not arrived */
    struct byte_queue in;  /* arrived, not received */
};

struct stream_listener {
    struct stream_listener *next;
    struct stream_host *host;
    const struct stream_owner *owner;
    uint64_t tag;
    uint32_t address; /* 0: any */
    uint16_t port;
};

struct stream_host {
    struct stream_host *next;
    struct stream_net *net;
    char name[FABRIC_NAME_MAX];
    uint32_t address;
    uint32_t mtu; /* of its interface; 0: does not matter */
    bool off, no_link;
    uint16_t next_port;
    struct stream_listener *listeners;
};

struct stream_fault { /* between a and b; b null: all others */
    struct stream_host *a, *b;
    bool blocked;
    uint64_t bytes_per_second, latency;
};

struct stream_net {
    struct sim *sim;
    struct stream_host *hosts, **hosts_end;
    uint32_t next_address;
    struct stream *first, *last;
    struct stream *gone; /* freed by the event `sweep` */
    sim_event sweep;
    struct stream_fault *faults;
    size_t fault_count;
};

/* ---- stream.c */
struct stream *stream_new(struct stream_host *host, const struct stream_owner *owner, uint64_t tag);
/* Takes the stream out of the world; its memory lasts until the event that runs is over, because
 * an owner that is being told may close any stream. */
void stream_free(struct stream *stream);
/* Whether anything gets through between the two now. */
bool stream_passes(const struct stream_host *a, const struct stream_host *b);
/* ns for `bytes` from a to b, without the jitter; `first` adds the latency. */
uint64_t stream_delay(const struct stream_host *a, const struct stream_host *b, size_t bytes,
                      bool first);
void stream_cancel(struct stream *stream, sim_event *event);
void stream_tell(struct stream *stream, enum stream_event event, enum fabric_error error);

/* ---- stream_pipe.c */
void stream_established(struct stream *stream);
/* Schedules what is next under way from `stream`, if anything is and can. */
void stream_go_on(struct stream *stream, bool first);
/* The connection ends here with an error; what was under way is lost, what had arrived maybe. */
void stream_break(struct stream *stream, enum fabric_error error);
/* Frees a closed stream that has nothing left to do. */
void stream_settle(struct stream *stream);

#endif
