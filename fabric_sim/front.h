/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the front share: host.c, device.c and fabric*.c. */
#ifndef FABRIC_SIM_FRONT_H
#define FABRIC_SIM_FRONT_H

#include <assert.h>

#include "fabric_sim/fabric.h"
#include "fabric_sim/handles.h"

struct sim_fabric;

/* ------------------------------------------------------------------ world, hosts, devices */

struct sim_world {
    struct sim *sim;
    struct net *net;
    struct sma *sma; /* null before the first sim_world_sma */
    struct stream_net *streams;
    const struct sim_outside *outside; /* null: programs are fabrics */
    fabric_caps caps;
    struct sim_host **hosts;
    size_t host_count;
    struct handles by_node; /* net node index + 1 -> device */
};

struct sim_host {
    struct sim_world *world;
    char name[FABRIC_NAME_MAX];
    struct stream_host *streams;
    char control[16]; /* interface of its address; empty: none that is shown */
    struct disk *disk;
    struct sim_device **devices; /* in the order of adding */
    size_t device_count;
    struct sim_fabric *fabrics; /* in the order of creation */
    uint32_t last_serial;
    int64_t clock_offset; /* ns */
};

struct event_faults {
    uint32_t hold; /* set of 1 << enum fabric_async_type */
    uint32_t lose, lose_count, twice, twice_count;
    struct hca_event *held;
    size_t held_count, held_capacity;
};

struct sim_device {
    struct sim_host *host;
    struct hca_init init;
    char name[FABRIC_NAME_MAX];
    struct net_node *node;
    struct hca *hca;     /* null while removed */
    struct hca *removed; /* its remains, until it returns */
    sim_event returning;
    struct sysfs_device sysfs;
    struct handles cqs; /* number of the HCA's -> struct front_cq */
    struct front_device *openers;
    struct event_faults faults;
};

/* Bits that a fabric on this host may claim. */
fabric_caps sim_host_caps(const struct sim_host *host, fabric_caps mask);
/* The interface of that name on a present device, and its device (may be null); null: none. */
struct sysfs_port *front_interface(const struct sim_host *host, const char *name, size_t length,
                                   struct sim_device **device);
struct sim_fabric *sim_host_fabric(const struct sim_host *host, uint32_t serial);

/* ------------------------------------------------------------------ things of one fabric */

struct front_object { /* first member of each */
    uint32_t id;
    enum handle_kind kind;
    struct sim_fabric *f;
    struct front_object **list; /* that it is in */
    struct front_object *previous, *next;
};

struct front_way { /* a peer whose link address was found */
    struct fabric_av av;
    uint64_t time;
};

struct front_device {
    struct front_object object;
    struct sim_device *of;
    struct hca *hca; /* null once removed */
    hca_pd pd;
    struct front_object *things; /* made on it, latest first */
    struct front_device *next_opener;
    struct front_way *ways; /* oldest first; those of the last second */
    size_t way_count, way_capacity;
    bool silent; /* no more of its asynchronous events */
};

struct front_mr {
    struct front_object object;
    struct front_device *device;
    hca_mr mr;
    uint32_t windows;
};

struct front_window {
    struct front_object object;
    struct front_device *device;
    struct front_mr *mr;
    hca_mw mw; /* id 0: it has ended at the device */
    uint64_t cookie;
    uint32_t rkey;
    sim_event opening;       /* 0: WINDOW_OPENED is in the queue or was polled */
    enum fabric_error error; /* why it could not be opened */
    bool revoking;
};

struct front_ah {
    struct front_object object;
    struct front_device *device;
    hca_ah ah;
};

struct front_cq {
    struct front_object object;
    struct front_device *device;
    hca_cq cq;
    uint32_t users;
};

/* Accepted posts that nobody was told the end of. The device sees their position as wr_id, since
 * those of programs may be addresses. */
struct ledger_entry {
    uint64_t wr_id;
    bool done;
};
struct ledger {
    struct ledger_entry *entries;
    uint32_t capacity;    /* a power of two, or 0 */
    uint64_t first, next; /* positions */
};

struct front_srq {
    struct front_object object;
    struct front_device *device;
    hca_srq srq;
    uint32_t users;
    struct ledger receives;
};

struct front_qp {
    struct front_object object;
    struct front_device *device;
    hca_qp qp;
    enum fabric_qp_type type;
    uint32_t qp_num;
    uint64_t cookie;
    struct front_cq *send_cq, *recv_cq;
    struct front_srq *srq;
    struct ledger sends, receives;
};

struct front_timer {
    uint32_t id;
    uint64_t deadline, order, cookie;
    size_t place; /* in the heap; SIZE_MAX when due and queued */
};

struct front_listener {
    struct front_object object;
    struct stream_listener *listener;
    uint64_t cookie;
};

struct front_stream {
    struct front_object object;
    struct stream *stream;
    uint64_t cookie;
    uint32_t accepted_by; /* listener of an ACCEPTED event not yet polled */
};

/* ------------------------------------------------------------------ a fabric */

/* An event waits in the queue as it is, or as a reminder to look when it is polled: into a
 * completion queue (so that it is the device that overruns), or whether its object still lives. */
struct front_event {
    bool reminder; /* u.wc.cq names the completion queue to take the oldest from */
    bool settled;  /* a completion that the ledger knows about already; a window that is gone */
    struct fabric_event event;
};

struct sim_fabric {
    struct fabric head;
    struct sim_host *host;
    struct sim_fabric *next;
    struct sim *sim;
    uint32_t serial; /* upper half of the contexts that it gives to devices */
    uint32_t calls_in_a_row;
    fabric_caps caps;
    struct sim_fabric_hooks hooks;
    struct handles handles;
    struct front_object *devices, *listeners, *streams, *https;
    struct front_event *queue; /* ring */
    size_t queue_head, queue_count, queue_capacity;
    struct front_timer **heap; /* by deadline, then by order of setting */
    size_t timer_count, timer_capacity;
    uint64_t timer_order;
    sim_event timer_event, ready_event;
    struct stream_owner stream_owner;
    struct disk_user *disk;
    bool woken, killed;
};

/* The table of a fabric whose program was killed. */
extern const struct fabric_ops front_dead_ops;

/* Every operation comes by here. So many calls without a look at the events are a program that goes
 * round in a circle inside one of them, where nothing else can end it. */
#define FRONT_CALLS_IN_A_ROW 10000000u

static inline struct sim_fabric *front_of(struct fabric *fabric)
{
    struct sim_fabric *f = (struct sim_fabric *)fabric;
    f->calls_in_a_row++;
    assert(f->calls_in_a_row < FRONT_CALLS_IN_A_ROW && "a program that never comes to an end");
    return f;
}

static inline uint64_t front_context(const struct sim_fabric *f, uint32_t id)
{
    return (uint64_t)f->serial << 32 | id;
}

/* Gives the object its handle and puts it at the head of `list`. */
void front_object_add(struct sim_fabric *f, struct front_object *object, enum handle_kind kind,
                      struct front_object **list);
/* Takes handle and place away and frees the object. */
void front_object_drop(struct front_object *object);

/* Queues an event that happened now. */
void front_push(struct sim_fabric *f, const struct fabric_event *event);
void front_push_reminder(struct sim_fabric *f, fabric_cq cq);
struct front_event *front_queue_at(const struct sim_fabric *f, size_t position);

/* fabric_queue.c: makes the event of the completion that a reminder stands for. False: none. */
bool front_take_completion(struct sim_fabric *f, struct front_event *entry);
/* The ledger forgets what an event that is polled now has told. */
void front_settle(struct sim_fabric *f, struct front_event *entry);
/* What a completion queue still holds is taken out of the device and waits in the queue. */
void front_drain(struct sim_fabric *f, struct front_cq *cq);
/* Ends a queue pair: what was accepted is reported as flushed. */
void front_qp_end(struct front_qp *qp);
/* Everything accepted on the removed device was flushed there: take it over, let go of the device.
 */
void front_device_detach(struct front_device *device);
/* device_close without a word about asynchronous events. */
void front_device_end(struct front_device *device);
void front_streams_end(struct sim_fabric *f);
void front_http_end(struct sim_fabric *f);

/* fabric_device.c: whether WINDOW_OPENED is still to be told; after an error the window ends. */
bool front_window_polled(struct sim_fabric *f, struct fabric_event *event);
/* fabric.c: takes the WINDOW_OPENED of this window out of the queue; false when there is none. */
bool front_take_opened(struct sim_fabric *f, uint32_t window);

/* fabric_resolve.c: whether somebody would answer; always so where nobody is asked. */
bool front_reaches(const struct front_device *device, const struct fabric_av *av);
/* The same for the move to RTR and address handles: a success of the last second still counts. */
bool front_knows_way(const struct front_device *device, const struct fabric_av *av);
/* A look-up ends with its device: without a word, or told that the device was removed. */
void front_resolve_end(struct front_object *object);
void front_resolve_detach(struct front_object *object);

void front_on_completion(void *context, struct hca *hca, hca_cq cq, bool solicited);
void front_on_event(void *context, struct hca *hca);
/* An asynchronous event or the end of a window, for the fabrics that it concerns. */
void front_deliver(struct sim_device *device, const struct hca_event *event);

/* The members of the table, by file. */
#define X(upper, lower, parameters, arguments, fault) enum fabric_error front_##lower parameters;
#include "src/fabric/ops.def"
#undef X

#endif
