/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share; nobody outside includes it. */
#ifndef FABRIC_HW_RDMA_STATE_H
#define FABRIC_HW_RDMA_STATE_H

#include <assert.h>

#include "fabric_hw/rdma/calls.h"
#include "fabric_hw/rdma/handles.h"
#include "fabric_hw/rdma/ledger.h"
#include "fabric_hw/rdma/rdma.h"

struct rdma;
struct rdma_device;
struct rdma_resolver;

/* The head of everything that has a handle and belongs to a device; a ring around the device's. */
struct rdma_object {
    struct rdma_object *previous, *next;
    struct rdma_device *device;
    uint32_t id;
    enum rdma_kind kind;
};

struct rdma_mr {
    struct rdma_object object;
    struct ibv_mr *mr; /* null once its device is lost */
    uint8_t *addr;
    uint64_t length, iova;
    uint32_t access, lkey;
    uint32_t windows; /* over it, not revoked yet */
};

struct rdma_cq {
    struct rdma_object object; /* id 0: the device's own, of bindings */
    struct ibv_cq *cq;         /* null once its device is lost */
    uint32_t users;            /* queue pairs */
    uint32_t unacknowledged;   /* events read from the channel */
    bool armed;                /* the channel will tell of the next completion */
};

struct rdma_srq {
    struct rdma_object object;
    struct ibv_srq *srq; /* null once its device is lost */
    uint32_t users;
    uint32_t max_sge;
    uint64_t *wr_ids; /* by place */
    uint32_t *free_places;
    uint32_t free_count;
};

struct rdma_qp {
    struct rdma_object object;
    enum fabric_qp_type type;
    struct ibv_qp *qp;         /* null once its device is lost */
    struct ibv_qp_ex *ex;      /* DCI */
    struct mlx5dv_qp_ex *mlx5; /* DCI */
    struct rdma_cq *send_cq, *recv_cq;
    struct rdma_srq *srq;
    uint64_t cookie;
    enum fabric_qp_state state; /* as the caller may know it */
    bool dead;                  /* the device has moved it to ERR, or was told to */
    uint32_t epoch;             /* grows with every reset */
    uint32_t qp_num;
    uint32_t max_send_sge, max_recv_sge, max_inline;
    bool sq_sig_all;
    struct rdma_ledger sends, receives;
};

struct rdma_ah {
    struct rdma_object object;
    struct ibv_ah *ah; /* null once its device is lost */
};

/* A memory window of the device; its key is new with every binding. */
struct rdma_mw {
    struct rdma_mw *next;
    struct ibv_mw *mw;
    uint32_t bindings; /* since its keys began anew */
    uint64_t rested;   /* ns; from then on its keys may begin anew */
};

enum rdma_window_state {
    RDMA_WINDOW_WAITS,   /* to be bound */
    RDMA_WINDOW_BINDING, /* the device has the request */
    RDMA_WINDOW_OPEN,
    RDMA_WINDOW_LEAVES, /* waits to be unbound */
    RDMA_WINDOW_UNBINDING,
};

struct rdma_window {
    struct rdma_object object;
    struct rdma_window *waiting; /* the next one that waits */
    struct rdma_mr *mr;
    struct rdma_mw *mw;  /* null: lent by a region */
    struct ibv_mr *lent; /* that stands in for a window; null: by a window */
    uint64_t iova, length, cookie;
    uint32_t access;
    enum rdma_window_state state;
    uint32_t key_before; /* of the binding under way, should it fail */
    bool revoked;        /* while it was being bound */
    bool told;           /* WINDOW_OPENED was polled */
    bool failed_once;    /* to be unbound */
};

#define RDMA_BIND_DEPTH 256 /* bindings that the device has at once */

/* On rxe a shorter ACK time-out is this long. Its timer runs while it sends or receives a message
 * of hundreds of packets, which takes longer than the time-outs that are made for adapters. */
#define RDMA_RXE_ACK_TIMEOUT 17 /* code: 537 ms */
#define RDMA_RXE_ACK_TIMEOUT_FLOOR                                                                 \
    UINT64_C(500000000) /* ns; the kernel rounds down to its ticks                                 \
                         */

/* Bindings pass through a queue pair of the device's own, connected to itself: windows of type 1
 * belong to the protection domain, so that any queue pair there may serve their keys, also a DC
 * target, which has no send queue to bind through. */
struct rdma_bind {
    struct rdma_cq cq;
    struct ibv_qp *qp; /* null until the first window */
    bool ready;        /* in RTS */
    uint64_t retry_at; /* ns; until then it is not tried again */
    uint64_t pause;    /* ns before that; 0: it has not failed */
    uint32_t outstanding;
    struct rdma_window *first, *last; /* that wait */
    struct rdma_mw *unused;
    struct rdma_mw *resting, *resting_last; /* longest first */
    struct rdma_burnt {                     /* places of keys whose window was given back */
        uint32_t place;
        uint64_t until;
    } burnt[16];
    uint32_t burnt_next;
};

/* Keys of regions that stood in for windows: see lend.c. */
struct rdma_rest { /* zero is empty */
    struct rdma_keys {
        uint32_t *keys; /* 0: empty; at most half of them are not */
        size_t count, capacity;
    } young, old;
    uint64_t since; /* ns; when the young one was begun */
    size_t lent;    /* keys under way, whose place in the young one is reserved */
};

/* A device that was opened. */
struct rdma_device {
    struct rdma *rdma;
    struct rdma_device *next;
    uint32_t id; /* 0 once it was closed and only look-ups keep it */
    char name[FABRIC_NAME_MAX];
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct os_source async, completions; /* their descriptors are watched unless removed */
    bool watched_async, watched_channel;
    bool removed; /* DEVICE_FATAL was read: nothing of the device is left but the context */
    bool dc, windows;
    bool is_rxe;            /* whose timers need help: see modify.c */
    uint32_t look_ups;      /* under way */
    struct rdma_object all; /* the ring of its objects */
    struct rdma_numbers lkeys, qp_nums;
    struct ibv_device_attr limits;
    struct fabric_device_attr attr;
    struct rdma_bind bind;
    struct rdma_rest rest;
};

struct rdma {
    struct fabric *f;
    struct rdma_options options;
    const struct verbs_calls *calls;
    struct rdma_handles handles;
    struct rdma_device *devices;
    struct rdma_resolver *resolver; /* null until the first look-up */
    struct os_source busy;          /* an always readable descriptor, with busy_poll */
    int busy_fd;
    fabric_caps caps;
    uint64_t ack_timeout_floor; /* ns */
};

static inline struct rdma *rdma_of(struct fabric *f)
{
    return os_part_state(f);
}

/* ---- part.c */
uint64_t rdma_clock(struct rdma *r);
struct rdma_device *rdma_device_get(struct rdma *r, uint32_t id);
/* Adds an object to its device under a new handle; false when there is none left. */
bool rdma_object_add(struct rdma_object *object, enum rdma_kind kind, struct rdma_device *device);
/* Takes it out again; its memory is the caller's. */
void rdma_object_drop(struct rdma_object *object);

/* ---- errno.c */
/* The error for what a verb left in errno; writes a line for who debugs. */
enum fabric_error rdma_failed(struct rdma_device *device, const char *verb, int number);

/* ---- device.c */
/* The device is gone: everything of it ends, what it owes is pushed. */
void rdma_device_lose(struct rdma_device *device);
/* Frees a closed device that no look-up uses any more. */
void rdma_device_release(struct rdma_device *device);
void rdma_device_end(struct rdma_device *device);
/* Everything that was made on it, in the right order, with what it owes. */
void rdma_device_clear(struct rdma_device *device, bool forget);

/* ---- async.c */
bool rdma_async_watch(struct rdma_device *device);
bool rdma_async_keep(struct rdma *r, const struct fabric_async *async);

/* ---- port.c */
bool rdma_is_port(const struct rdma_device *device, uint8_t port_num);

/* ---- memory.c */
void rdma_mr_end(struct rdma_mr *mr);
void rdma_mr_forget(struct rdma_mr *mr);
/* Entries as the device wants them, addresses as the keys understand them. */
void rdma_sges(const struct rdma_device *device, const struct fabric_sge *from, struct ibv_sge *to,
               uint32_t count, bool is_inline);

/* ---- bind.c */
struct rdma_mw *rdma_mw_take(struct rdma_device *device);
void rdma_mw_put(struct rdma_device *device, struct rdma_mw *mw);
/* Gives a window back to the device for good: nothing can use its key afterwards. */
void rdma_mw_burn(struct rdma_device *device, struct rdma_mw *mw);
/* The queue pair that bindings pass through, made or mended; false when that is not possible. */
bool rdma_bind_ready(struct rdma_device *device);
/* A request failed: what is under way is flushed, and then it is mended. */
void rdma_bind_failed(struct rdma_device *device);
void rdma_bind_close(struct rdma_device *device);

/* ---- lend.c */
/* Registers the range under a key of its own, window->lent; false when that is not possible. */
bool rdma_lend(struct rdma_window *window);
/* Deregisters it: nothing can use its key afterwards. */
void rdma_lent_back(struct rdma_window *window);
void rdma_rest_free(struct rdma_rest *rest);

/* ---- window.c */
/* The completion of a binding. */
void rdma_window_bound(struct rdma_device *device, const struct ibv_wc *wc);
/* The device is closed, or lost: then the handle stays for who has it. */
void rdma_window_end(struct rdma_window *window);
void rdma_window_forget(struct rdma_window *window);
bool rdma_window_keep(struct rdma *r, const struct fabric_event *event);

/* ---- queue.c */
bool rdma_cq_open(struct rdma_device *device, struct rdma_cq *cq, uint32_t depth);
void rdma_cq_close(struct rdma_cq *cq);
void rdma_cq_end(struct rdma_cq *cq);
void rdma_srq_end(struct rdma_srq *srq);
void rdma_srq_forget(struct rdma_srq *srq);

/* ---- complete.c */
/* Pushes what is in the queue; returns how many completions there were. */
uint32_t rdma_cq_drain(struct rdma_cq *cq);
bool rdma_channel_watch(struct rdma_device *device);
/* Looks into every queue of the device and arms them. */
void rdma_collect_device(struct rdma_device *device);
/* Pushes a flush for what the device was not given, once everything before it is told. */
void rdma_make_up(struct rdma_qp *qp, bool is_send);
/* Pushes a flush for everything that is owed. */
void rdma_flush_all(struct rdma_qp *qp);
/* A completion is polled. */
void rdma_completion_polled(struct rdma *r, const struct fabric_wc *wc);

/* ---- qp.c */
void rdma_qp_end(struct rdma_qp *qp);
/* Without its device: what it owes is pushed, the handle stays. */
void rdma_qp_forget(struct rdma_qp *qp);
/* The device says that it is in ERR: makes sure of it, so that everything is flushed. */
void rdma_qp_failed(struct rdma_qp *qp);

/* ---- modify.c */
void rdma_ah_attr(const struct fabric_av *av, struct ibv_ah_attr *out);
/* The move to ERR, without looking at what comes of it. */
int rdma_qp_to_error(struct rdma_qp *qp);

/* ---- dc.c */
struct ibv_qp *rdma_dc_create(struct rdma_device *device, const struct fabric_qp_init *init,
                              struct rdma_qp *qp);
int rdma_dc_modify(struct rdma_qp *qp, const struct fabric_qp_attr *attr);
int rdma_dc_post(struct rdma_qp *qp, uint64_t wr_id, const struct fabric_send_wr *wr,
                 struct ibv_ah *ah);
bool rdma_dc_probe(struct rdma_device *device, struct ibv_cq *cq);

/* ---- ah.c, resolve.c */
void rdma_ah_end(struct rdma_ah *ah);
void rdma_ah_forget(struct rdma_ah *ah);
void rdma_resolver_close(struct rdma *r);
bool rdma_device_links_ethernet(struct rdma_device *device, uint8_t port_num);

/* The members of the table, by file. */
#define X(upper, lower, parameters, arguments, fault) enum fabric_error rdma_##lower parameters;
#include "src/fabric/ops.def"
#undef X

#endif
