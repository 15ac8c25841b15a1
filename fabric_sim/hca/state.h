/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device remembers (HA-2.8): fixed-layout structures in an arena, which refer to each other
 * by index, handle or chunk. They hold no pointer. With the rules they are all that is needed to
 * post, complete and revoke, so any engine, in this process or in another that maps the arena, can
 * take over a queue pair where the last one left it.
 *
 * Not here but with the packet engine (engine.h), which can make it anew from what is here: events
 * scheduled for the deadlines, packets and payload references, whose turn it is at a port, the
 * front's notifier, and pointers into the arena that were found once.
 *
 * Two things mean something only in the process that registered or posted: key_state.host, an
 * address as a plain number that decides nothing, and the wr_id and context of the program.
 * Whatever comes from a program is copied member by member, so that no stray bytes between members
 * come along: the same calls leave the same bytes.
 */
#ifndef FABRIC_SIM_HCA_STATE_H
#define FABRIC_SIM_HCA_STATE_H

#include "fabric_sim/hca/arena.h"
#include "fabric_sim/hca/hca.h"

/* ------------------------------------------------------------------ tables */

/* Head of every object in a table. */
struct slot {
    uint32_t id; /* handle while live, else 0: generation in bits 31..20, index + 1 below */
    uint32_t generation;
    uint32_t next_free; /* index + 1 */
};

#define TABLE_FIRST 16u /* items of the first chunk; each further one doubles the table */
#define TABLE_CHUNKS 17

/* Slots are given out again in the order in which they were freed, so that a value made from one
 * stays unused as long as possible; those of keys also only after a time, see state_key_take. */
struct table {
    uint32_t item_size, max;
    uint32_t used; /* indices below were given out at least once */
    uint32_t live;
    uint32_t free_head, free_tail; /* index + 1 */
    uint32_t free_count;
    uint32_t chunks[TABLE_CHUNKS];
};

void table_init(struct table *table, uint32_t item_size, uint32_t max);
/* Null when the table or the arena is full; else zeroed but for its slot. */
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
    bool unbound;  /* a window that a program allocated: bound to nothing, its key is not valid */
    uint8_t type;  /* enum hca_mw_type of such a window, else 0 */
    uint32_t qp;   /* id: a window of type 2 is bound to this queue pair alone */
    uint32_t pd;   /* id */
    uint32_t access;
    uint32_t mr;      /* id of a window's region */
    uint32_t windows; /* of a region */
    uint64_t iova, length;
    uint64_t host;  /* address of the first byte in the process that registered it */
    uint32_t owner; /* program whose address that is; 0: of the process with the engine */
    uint64_t context;
    uint64_t ended; /* when it was put back; ns */
    uint64_t rests; /* how long it stays so; ns */
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
    uint8_t armed; /* enum cq_armed */
    bool tells;    /* its program asked, and is still to be told (hca_cq_doorbell) */
    uint64_t context;
};

/* What the program wants to be told of, once (vol. 1, chapter 11.4.2.2). */
enum cq_armed { CQ_NOT_ARMED, CQ_ARMED_SOLICITED, CQ_ARMED_NEXT };

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

struct xrcd_state {
    struct slot slot;
    uint32_t users;
};

struct srq_state {
    struct slot slot;
    struct recv_ring rq;
    uint32_t pd;
    uint32_t xrcd, cq; /* of an XRC one, else 0 */
    uint32_t users;
    uint32_t srq_limit; /* 0: not armed */
    uint64_t context;
};

struct ah_state {
    struct slot slot;
    uint32_t pd;
    struct fabric_av av;
};

/* Followed by max_send_sge entries, then max_inline bytes. BIND_MW holds its range in remote_addr
 * and compare_add, its access in swap, its window in imm and the region's lkey in qkey. */
struct send_wqe {
    uint64_t wr_id;
    uint64_t remote_addr, compare_add, swap;
    uint64_t dc_access_key;
    struct fabric_av av; /* UD, DCI */
    uint32_t length, imm, rkey, dest_qp, qkey;
    uint32_t start_psn;           /* once started; with the DC connect, else first_psn */
    uint32_t first_psn, last_psn; /* of its packets, or of the responses to it */
    uint8_t opcode;               /* enum hca_wr_opcode */
    uint8_t flags, sge_count;
    bool started;        /* has its PSNs */
    uint8_t local_error; /* enum fabric_wc_status: fails once it is the oldest */
};

struct qp_state {
    struct slot slot;
    uint8_t type;  /* enum hca_qp_type */
    uint8_t state; /* enum fabric_qp_state */
    bool sq_sig_all;
    bool sq_drained; /* in SQD, and reported */
    bool rung;       /* its doorbell was rung and not looked at yet */
    uint32_t qp_num; /* its own for life; shown by a DCT only from RTR on */
    uint32_t pd, send_cq, recv_cq, srq, xrcd;
    struct hca_qp_attr attr;
    uint64_t dc_access_key, context;
    uint32_t sq; /* chunk of the send ring */
    uint32_t sq_depth, sq_limit, sq_stride, max_send_sge, max_inline;
    uint32_t sq_head, sq_tail; /* posted, complete */
    uint32_t sq_polled;        /* completions of these were polled */
    struct recv_ring rq;
    uint32_t transport;           /* chunk of struct transport_state */
    uint32_t dcr_first, dcr_last; /* DCT: its responders, oldest first; index + 1 */
    uint32_t dcr_count;
};

struct mcast_state {
    struct slot slot;
    union fabric_gid gid;
    uint16_t mlid;
    uint32_t qp; /* id */
};

/* ------------------------------------------------------------------ transport */

/* Towards the peer of the moment. */
struct path_state {
    struct fabric_av av;
    uint32_t dest_qp;
    uint32_t mtu; /* bytes */
    uint8_t port_num;
    uint8_t transport; /* enum bth_transport */
};

struct requester {
    uint32_t next_psn; /* of the next new request */
    uint32_t una_psn;  /* oldest unacknowledged */
    uint32_t sent_psn; /* one past the highest ever sent */
    uint32_t tx;       /* counter of the request being sent */
    uint32_t tx_psn;
    uint32_t awaited_psn; /* last one sent that asks for a response */
    uint32_t reads;       /* READs and atomics under way */
    uint8_t retry_left, rnr_left;
    bool restarting;   /* an implied NAK was acted upon; no second time without progress */
    bool rnr_waiting;  /* sends nothing until the deadline */
    uint64_t deadline; /* of the ACK or RNR timer; 0: not running */

    /* DCI: the one target it works for */
    bool connected;
    uint32_t dct_num;
    uint64_t dc_key;
    uint64_t connection; /* number of the connection; its low bits are in all packets of it */
};

#define RESPONDER_RESOURCES 16 /* of one queue pair, at most */

struct resource {      /* a READ or an atomic: kept so that a duplicate can be answered */
    uint64_t position; /* of first_psn, see responder.position */
    uint32_t first_psn, last_psn;
    uint32_t cursor; /* next response to send, when pending */
    uint32_t rkey, length, pd;
    uint64_t va, result;
    bool used, pending, sending, atomic;
    bool answered; /* wholly, once: what is pending now is a repetition */
};

enum ack_kind { ACK_NONE, ACK_ACK, ACK_NAK };
#define RESPONDER_NO_OPCODE 255

struct responder {
    uint64_t position; /* PSNs executed before epsn: tells a PSN from the same one a wrap ago */
    uint32_t epsn;     /* expected PSN */
    uint32_t msn;
    uint8_t previous; /* operation of the message under way, else RESPONDER_NO_OPCODE */
    bool nak_sent;    /* waits for the expected PSN, says nothing meanwhile */
    bool fatal;       /* ends once the NAK is out */
    bool silent;      /* the program's memory is out of reach: answers nothing */
    bool comm_est;
    uint8_t ack; /* enum ack_kind: what is still to be sent */
    uint8_t ack_syndrome;
    uint32_t ack_psn;

    uint32_t srq, pd; /* XRC: those of the request under way */
    bool has_recv;
    bool recv_failed;
    struct recv_wqe recv;
    uint32_t recv_offset;

    uint32_t rkey; /* RDMA WRITE under way */
    uint64_t write_va;
    uint32_t write_left, write_length;
    uint64_t order; /* draw that decides which packets wait */

    uint32_t resource_head; /* counter of the next one */
    uint32_t answering;     /* counter of the oldest pending one, or of one before it */
    uint32_t pending;       /* resources with responses to send */
    uint32_t unanswered;    /* resources of which some response never went out */
    struct resource resources[RESPONDER_RESOURCES];
};

/* Of one queue pair, or of one initiator that a DC target serves. */
struct transport_state {
    struct path_state path;
    struct requester req;
    struct responder rsp;
};

/* A DC responder: what a target keeps of one initiator. */
struct dcr_state {
    struct slot slot;
    uint32_t target;         /* id of the queue pair */
    uint32_t transport;      /* chunk of struct transport_state */
    uint32_t next, previous; /* of the target, in the order in which they came; index + 1 */
    uint32_t hash_next;      /* in its bucket; index + 1 */
    uint32_t initiator;      /* number of the initiator's queue pair */
    uint32_t connect_psn;
    bool closed;
    uint64_t connection;
    uint64_t used; /* time of its last packet */
};

/* ------------------------------------------------------------------ the device */

struct port_state {
    struct port_info info;
    union fabric_gid gid0; /* as the host's table has it */
    uint8_t link_layer;    /* that the tables were sized for */
};

/* The root of the arena. */
struct device_state {
    char name[FABRIC_NAME_MAX];
    char profile[FABRIC_NAME_MAX]; /* name: its limits are the same in every process */
    uint64_t node_guid, sys_image_guid;
    fabric_caps caps;
    bool removed;
    uint8_t port_count;
    uint32_t ports; /* chunk of struct port_state, by port_num - 1 */
    struct scramble key_scramble, qpn_scramble;
    struct table pds, keys, cqs, srqs, xrcds, qps, ahs, mcasts, dcrs;
    uint32_t dcr_buckets;      /* chunk of index + 1 of the first DC responder each */
    uint32_t dcr_bucket_count; /* a power of two, or 0 */
    uint32_t events;           /* chunk of struct hca_event, a ring */
    uint32_t event_capacity;   /* a power of two, or 0 */
    uint32_t event_head, event_tail;
    uint32_t held; /* packets of RDMA WRITEs that wait to land, of all queue pairs */
};

/* How this process reaches the state of one device. */
struct hca_state {
    struct hca_arena arena;
    struct device_state *device;
};

/* Begins the state of a device, all zero but for empty tables; see hca_arena_create. */
void state_create(struct hca_state *state, void *base, size_t size,
                  const struct hca_profile *profile);
/* Reaches the state that another process keeps in this region. False: there is none. */
bool state_open(struct hca_state *state, void *base, size_t size);
void state_close(struct hca_state *state);
struct port_state *state_port(const struct hca_state *state, uint8_t port_num);

/* Null when there is no such live one. */
struct qp_state *state_qp(const struct hca_state *state, uint32_t id);
struct qp_state *state_qp_by_number(const struct hca_state *state, uint32_t qp_num);
uint32_t state_qp_index(const struct hca_state *state, uint32_t qp_num); /* if it is there */
struct key_state *state_key(const struct hca_state *state, uint32_t key);
struct transport_state *state_transport(const struct hca_state *state, const struct qp_state *qp);

/* Gives the queue pair its number, which follows from its slot. */
void state_qp_number(struct hca_state *state, struct qp_state *qp);
/* The number of a shared receive queue, 24 bits: its handle as strangers see it (chapter 10.2.9.1);
 * another one after it was destroyed. */
uint32_t state_srq_number(const struct hca_state *state, const struct srq_state *srq);
/* Null when there is none of that number. */
struct srq_state *state_srq_by_number(const struct hca_state *state, uint32_t number);
/* A key with its value, else zero. A value that ended is not given out again for
 * FABRIC_KEY_QUARANTINE; null when there is no other one, or no room. `now` never decreases. */
struct key_state *state_key_take(struct hca_state *state, uint64_t now);
/* Whether a program may give the window of this key that value: all but the tag is the same. */
bool state_key_same_place(const struct key_state *key, uint32_t value);
/* Lets go of its region, if it is bound to one; the key is not valid from now on. */
void state_key_unbind(struct hca_state *state, struct key_state *window);
/* No access through the key from now on; its region or domain is let go of. */
void state_key_end(struct hca_state *state, struct key_state *key, uint64_t now);

/* The DC responder of an initiator: its number, its source LID, and its GID where it has a GRH. */
struct dcr_name {
    uint32_t target, initiator;
    bool is_global;
    uint16_t dlid; /* towards it */
    union fabric_gid dgid;
};
/* Null when the target has none of that name. */
struct dcr_state *state_dcr_find(const struct hca_state *state, const struct dcr_name *name);
/* Appended to those of the target, zero but for its name; null when there is no room. */
struct dcr_state *state_dcr_add(struct hca_state *state, const struct dcr_name *name);
void state_dcr_drop(struct hca_state *state, struct dcr_state *dcr);

void state_copy_av(struct fabric_av *to, const struct fabric_av *from);
/* False when there is no room. */
bool state_event_put(struct hca_state *state, const struct hca_event *event, uint64_t now);
bool state_event_take(struct hca_state *state, struct hca_event *out);

/* ------------------------------------------------------------------ rings (ring.c) */

uint32_t ring_depth(uint32_t limit); /* the power of two that holds it */
uint32_t recv_stride(uint32_t max_sge);
/* False, with nothing kept, when the arena is full. */
bool recv_ring_init(struct hca_arena *arena, struct recv_ring *rq, uint32_t max_wr,
                    uint32_t max_sge);
void recv_ring_drop(struct hca_arena *arena, struct recv_ring *rq);
void recv_ring_put(const struct hca_arena *arena, struct recv_ring *rq,
                   const struct hca_recv_wr *wr);
bool recv_ring_take(const struct hca_arena *arena, struct recv_ring *rq, struct recv_wqe *out);
uint32_t recv_ring_next_length(const struct hca_arena *arena, const struct recv_ring *rq);

bool send_ring_init(struct hca_arena *arena, struct qp_state *qp, const struct hca_qp_init *init);
void send_ring_drop(struct hca_arena *arena, struct qp_state *qp);
/* Copies what the request holds, inline bytes and its address handle too; there must be room. */
void send_ring_put(struct hca_state *state, struct qp_state *qp, const struct hca_send_wr *wr);
struct send_wqe *send_ring_at(const struct hca_arena *arena, const struct qp_state *qp,
                              uint32_t counter);
struct hca_sge *send_wqe_sges(struct send_wqe *wqe);
uint8_t *send_wqe_inline(const struct qp_state *qp, struct send_wqe *wqe);

bool cq_ring_init(struct hca_arena *arena, struct cq_state *cq, uint32_t depth);
/* A new ring with the same completions; false, with the old one, when the arena is full. */
bool cq_ring_resize(struct hca_arena *arena, struct cq_state *cq, uint32_t depth);
void cq_ring_drop(struct hca_arena *arena, struct cq_state *cq);
/* False when the CQ overran, now or before: the completion is lost. `qp` is the handle whose posts
 * up to `release` are no longer outstanding once the completion was polled. */
bool cq_ring_put(struct hca_state *state, struct cq_state *cq, const struct hca_wc *wc, uint32_t qp,
                 uint32_t release, uint64_t now);
bool cq_ring_take(struct hca_state *state, struct cq_state *cq, struct hca_wc *out);

#endif
