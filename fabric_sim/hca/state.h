/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device remembers, as fixed-layout structures without pointers in chunks that are named by
 * number. A chunk never moves, so a pointer taken from an index stays good while the object lives.
 * Host addresses occur only as plain numbers (key_state.host) and in no decision.
 *
 * Here: tables' items, rings, attributes, ring positions. Not here but in struct hca and
 * struct qp_context (engine.h), which belong to one process: the heads of the tables and the
 * scrambles, and of each queue pair the PSNs, the MSN, retries left, responder resources and the
 * connection of an initiator. Chunks are found by number through an array of addresses. So another
 * process cannot map a device yet, and an engine can take over a queue pair only within the
 * process. In flight packets, payload references and timers are the packet engine's own and stay
 * outside in any case.
 */
#ifndef FABRIC_SIM_HCA_STATE_H
#define FABRIC_SIM_HCA_STATE_H

#include "fabric_sim/hca/hca.h"

/* ------------------------------------------------------------------ arena and tables */

struct hca_arena {
    uint8_t **chunks; /* by number; 0 is none */
    size_t *sizes;
    uint32_t count, capacity;
    uint32_t free_number; /* lowest number that may be free */
    size_t bytes;
};

void hca_arena_free(struct hca_arena *arena);
uint32_t hca_arena_chunk(struct hca_arena *arena,
                         size_t bytes); /* zeroed; aborts when memory is out */
void hca_arena_drop(struct hca_arena *arena, uint32_t chunk);
void *hca_arena_at(const struct hca_arena *arena, uint32_t chunk);

/* Head of every object in a table. */
struct slot {
    uint32_t id; /* handle while live, else 0: generation in bits 31..20, index + 1 below */
    uint32_t generation;
    uint32_t next_free; /* index + 1 */
};

#define TABLE_FIRST 16u /* items of the first chunk; each further one doubles the table */
#define TABLE_CHUNKS 17

/* Slots are given out again in the order in which they were freed, so that a value made from one
 * stays unused as long as possible. */
struct table {
    uint32_t item_size, max;
    uint32_t used; /* indices below were given out at least once */
    uint32_t live;
    uint32_t free_head, free_tail; /* index + 1 */
    uint32_t free_count;
    uint32_t chunks[TABLE_CHUNKS];
};

void table_init(struct table *table, uint32_t item_size, uint32_t max);
/* Null when the table is full; else zeroed but for its slot. */
void *table_take(struct hca_arena *arena, struct table *table);
void table_put(struct hca_arena *arena, struct table *table, uint32_t id);
void *table_at(const struct hca_arena *arena, const struct table *table, uint32_t index);
/* Null when the handle is not live. */
void *table_find(const struct hca_arena *arena, const struct table *table, uint32_t id);
uint32_t slot_index(const struct slot *slot);

/* A bijection on numbers of some bits, drawn from the seed: what strangers see of an index. */
struct scramble {
    uint32_t multiply, inverse, add, mask;
};
struct scramble scramble_make(uint64_t draw, unsigned bits);
uint32_t scramble(const struct scramble *s, uint32_t value);
uint32_t unscramble(const struct scramble *s, uint32_t value);

/* ------------------------------------------------------------------ objects */

struct pd_state {
    struct slot slot;
    uint32_t users;
};

enum key_kind { KEY_MR, KEY_MW };

struct key_state {
    struct slot slot;
    uint32_t key;  /* value of lkey and rkey */
    uint8_t kind;  /* enum key_kind */
    bool revoking; /* still valid, but about to end */
    bool waits;    /* a window that grants nothing yet */
    uint32_t pd;   /* id */
    uint32_t access;
    uint32_t mr;      /* id of a window's region */
    uint32_t windows; /* of a region */
    uint64_t iova, length;
    uint64_t host; /* address of the first byte in the process that registered it */
    uint64_t context;
    uint64_t revoke_event; /* of a window that is revoking: the scheduled end */
};

struct cqe {
    struct hca_wc wc;
    uint32_t release; /* posts of that queue up to here are no longer outstanding once polled */
    uint32_t qp;      /* id; 0 when nothing is released */
};

struct cq_state {
    struct slot slot;
    uint32_t depth; /* power of two */
    uint32_t limit; /* entries as asked for */
    uint32_t head, tail;
    uint32_t ring; /* chunk of struct cqe */
    uint32_t users;
    bool overrun;
    uint64_t context;
};

struct recv_wqe {
    uint64_t wr_id;
    uint32_t sge_count;
    uint32_t length;
    struct hca_sge sges[FABRIC_MAX_SGE];
};

/* A ring of receives; max_sge entries are stored each. */
struct recv_ring {
    uint32_t ring; /* chunk; 0 when there is none */
    uint32_t depth, limit;
    uint32_t max_sge;
    uint32_t head, tail; /* posted, taken */
    uint32_t polled;     /* completions of these were polled */
};

struct srq_state {
    struct slot slot;
    struct recv_ring rq;
    uint32_t pd;
    uint32_t users;
    uint32_t srq_limit; /* 0: not armed */
    uint64_t context;
};

struct ah_state {
    struct slot slot;
    uint32_t pd;
    struct fabric_av av;
};

/* Followed by max_send_sge entries, then max_inline bytes. */
struct send_wqe {
    uint64_t wr_id;
    uint64_t remote_addr, compare_add, swap;
    uint64_t dc_access_key;
    struct fabric_av av; /* UD, DCI */
    uint32_t length, imm, rkey, dest_qp, qkey;
    uint8_t opcode; /* enum hca_wr_opcode */
    uint8_t flags, sge_count;
};

struct qp_state {
    struct slot slot;
    uint8_t type;  /* enum hca_qp_type */
    uint8_t state; /* enum fabric_qp_state */
    bool sq_sig_all;
    bool sq_drained; /* in SQD, and reported */
    uint32_t qp_num; /* its own for life; shown by a DCT only from RTR on */
    uint32_t pd, send_cq, recv_cq, srq;
    struct hca_qp_attr attr;
    uint64_t dc_access_key, context;
    uint32_t sq; /* chunk of the send ring */
    uint32_t sq_depth, sq_limit, sq_stride, max_send_sge, max_inline;
    uint32_t sq_head, sq_tail; /* posted, complete */
    uint32_t sq_polled;        /* completions of these were polled */
    struct recv_ring rq;
};

struct mcast_state {
    struct slot slot;
    union fabric_gid gid;
    uint16_t mlid;
    uint32_t qp; /* id */
};

/* ------------------------------------------------------------------ rings */

uint32_t ring_depth(uint32_t limit); /* the power of two that holds it */
uint32_t recv_stride(uint32_t max_sge);
void recv_ring_init(struct hca_arena *arena, struct recv_ring *rq, uint32_t max_wr,
                    uint32_t max_sge);
void recv_ring_drop(struct hca_arena *arena, struct recv_ring *rq);
void recv_ring_put(const struct hca_arena *arena, struct recv_ring *rq,
                   const struct hca_recv_wr *wr);
bool recv_ring_take(const struct hca_arena *arena, struct recv_ring *rq, struct recv_wqe *out);
uint32_t recv_ring_next_length(const struct hca_arena *arena, const struct recv_ring *rq);
struct send_wqe *send_ring_at(const struct hca_arena *arena, const struct qp_state *qp,
                              uint32_t counter);
struct hca_sge *send_wqe_sges(struct send_wqe *wqe);
uint8_t *send_wqe_inline(const struct qp_state *qp, struct send_wqe *wqe);

#endif
