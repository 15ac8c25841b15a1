/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated HCA, shared by every front: the verbs of vol. 1, chapter 11, in our own types, a
 * superset of what fabric.h needs. It sits at a node of the net and runs in virtual time.
 *
 * Rules for every function unless it says otherwise:
 *  - Nothing waits. What happens later is a completion in a CQ or an entry of the event queue; the
 *    front learns of each through the notifier.
 *  - A failed constructor leaves nothing behind and *out untouched. A wrong handle aborts.
 *  - After hca_remove every function that returns an error returns device_removed; polling goes on.
 *  - Addresses in work requests lie in the address space that their key was registered with (iova),
 *    only inline data is given by its host address. Memory stays the caller's, and stays mapped
 *    until its region is deregistered.
 *  - Times are ns of the virtual clock, sizes bytes, GIDs network order, integers host order.
 */
#ifndef FABRIC_SIM_HCA_HCA_H
#define FABRIC_SIM_HCA_HCA_H

#include "fabric_sim/hca/profile.h"
#include "fabric_sim/world/net.h"

struct hca;

/* Handles; id 0 is none. A destroyed one is recognised. */
typedef struct {
    uint32_t id;
} hca_pd;
typedef struct {
    uint32_t id;
} hca_mr;
typedef struct {
    uint32_t id;
} hca_mw;
typedef struct {
    uint32_t id;
} hca_cq;
typedef struct {
    uint32_t id;
} hca_srq;
typedef struct {
    uint32_t id;
} hca_xrcd;
typedef struct {
    uint32_t id;
} hca_qp;
typedef struct {
    uint32_t id;
} hca_ah;

/* ------------------------------------------------------------------ device and ports */

/* How the memory of other programs is read and written: those that own a region (hca_mr_give). Both
 * copy all of it or return false, when the program or that part of its memory is gone. */
struct hca_reach {
    void *context;
    bool (*read)(void *context, uint32_t owner, uint64_t from, void *to, uint64_t length);
    bool (*write)(void *context, uint32_t owner, uint64_t to, const void *from, uint64_t length);
};

struct hca_init {
    struct net_node *node; /* kind NET_HCA; its owner becomes this HCA */
    const char *name;      /* mlx5_0 */
    const struct hca_profile *profile;
    fabric_caps caps;              /* masks profile->caps; all ones: everything */
    uint64_t sys_image_guid;       /* 0: the node's GUID */
    bool discard_payload;          /* benchmarks: packets are complete, but no payload is copied */
    void *memory;                  /* where its state lies, to be shared by processes: zero,
                                    * aligned to 64, the caller's, mapped as long as it is there.
                                    * Null: the HCA's own. */
    size_t memory_size;            /* 16384 or more; sparse pages are fine */
    const struct hca_reach *reach; /* null: all memory is this process's. Else it stays there. */
};

/* The HCA takes over the node's ports: their attributes move into its state. Never fails. */
struct hca *hca_create(struct net *net, const struct hca_init *init);
/* Everything still open goes with it, without completions or events; the node has no owner then
 * and keeps the attributes of its ports. */
void hca_destroy(struct hca *hca);

/* From now on what is posted here goes whole and at once where the message engine may carry it
 * (message.h). Off at first: in virtual time packets are the truth. Not with discard_payload. */
void hca_use_messages(struct hca *hca, bool use);
uint64_t hca_messages(const struct hca *hca); /* how many it carried */

const char *hca_name(const struct hca *hca);
struct net_node *hca_node(const struct hca *hca);
const struct hca_profile *hca_profile(const struct hca *hca);
fabric_caps hca_caps(const struct hca *hca); /* effective: the profile's, masked */
size_t hca_memory(const struct hca *hca);    /* bytes held */

/* The device vanishes (vol. 1, chapter 11.6.3.3): posts not yet complete are completed as
 * WR_FLUSH_ERR, windows being revoked end, then DEVICE_FATAL is raised and nothing after it. */
void hca_remove(struct hca *hca);
bool hca_is_removed(const struct hca *hca);

void hca_device_query(const struct hca *hca, struct fabric_device_attr *out);
/* port_num from 1 to the number of ports, else invalid_argument. */
enum fabric_error hca_port_query(const struct hca *hca, uint8_t port_num,
                                 struct fabric_port_attr *out);
/* not_found for a hole or past the end. With GID_CACHE_STALE entry 0 may be an old one. */
enum fabric_error hca_gid_query(const struct hca *hca, uint8_t port_num, uint32_t index,
                                struct fabric_gid_entry *out);
enum fabric_error hca_pkey_query(const struct hca *hca, uint8_t port_num, uint32_t index,
                                 uint16_t *out);
enum fabric_error hca_counters_query(const struct hca *hca, uint8_t port_num,
                                     struct fabric_port_counters *out);

/* ------------------------------------------------------------------ notification, events */

enum hca_event_kind {
    HCA_EVENT_ASYNC,      /* type */
    HCA_EVENT_MW_REVOKED, /* mw, whose handle is gone: no access through its key any more */
};

struct hca_event {
    uint64_t time;
    enum hca_event_kind kind;
    enum fabric_async_type type;
    uint8_t port_num; /* of a port event, else 0 */
    hca_qp qp;        /* whose event it is; the others are 0 */
    hca_cq cq;
    hca_srq srq;
    hca_mw mw;
    uint64_t context; /* of that queue pair, CQ, SRQ or window */
};

/* They are called once per new entry, at once, in the order in which things happened. They may poll
 * but not post, modify, create or destroy. Each may be null. */
struct hca_notify {
    void *context;
    void (*completion)(void *context, struct hca *hca, hca_cq cq, bool solicited);
    void (*event)(void *context, struct hca *hca);
    /* A completion that the program asked to be told of (queue_arm), with the CQ's context. */
    void (*asked)(void *context, struct hca *hca, uint64_t cq_context);
};
void hca_set_notify(struct hca *hca, const struct hca_notify *notify);

/* Takes the oldest event; false when there is none. */
bool hca_event_poll(struct hca *hca, struct hca_event *out);

/* A trap that the port wants sent to its subnet manager (vol. 1, chapter 14.2.5.1, table 131). */
struct hca_trap {
    uint16_t number; /* 257 bad P_Key, 258 bad Q_Key */
    uint8_t port_num, sl;
    uint16_t lid1, lid2; /* source and destination of the offending packet */
    uint32_t key, qp1, qp2;
};
typedef void (*hca_trap_handler)(void *context, struct hca *hca, const struct hca_trap *trap);
void hca_set_trap_handler(struct hca *hca, hca_trap_handler handler, void *context);

/* ------------------------------------------------------------------ memory */

enum hca_access { /* values of ibv_access_flags */
                  HCA_ACCESS_LOCAL_WRITE = 1,
                  HCA_ACCESS_REMOTE_WRITE = 2,
                  HCA_ACCESS_REMOTE_READ = 4,
                  HCA_ACCESS_REMOTE_ATOMIC = 8,
                  HCA_ACCESS_MW_BIND = 16,
};

/* resources_exhausted */
enum fabric_error hca_pd_alloc(struct hca *hca, hca_pd *out);
/* invalid_argument while something is in it */
enum fabric_error hca_pd_dealloc(struct hca *hca, hca_pd pd);

/* Registers length (1 or more) bytes at addr under the addresses [iova, iova + length). Errors:
 * registration_failed (too long), invalid_argument (wraps, alignment, remote write without local
 * write), resources_exhausted. lkey and rkey have one value, as on most devices. */
enum fabric_error hca_mr_register(struct hca *hca, hca_pd pd, void *addr, uint64_t length,
                                  uint64_t iova, uint32_t access, uint64_t context, hca_mr *out,
                                  uint32_t *key);
/* The region is memory of the program `owner`, not 0, and its address means something only there;
 * to be said before the key is used. What cannot be reached is as good as dead: a responder whose
 * program's memory is out of reach answers nothing any more, so that its peer sees retry-exceeded
 * as it does from a host that lost power. */
void hca_mr_give(struct hca *hca, hca_mr mr, uint32_t owner);
/* No access through its key after it returned. invalid_argument while windows are bound to it. */
enum fabric_error hca_mr_deregister(struct hca *hca, hca_mr mr);
enum hca_mr_change {                         /* values of ibv_rereg_mr_flags */
                     HCA_MR_TRANSLATION = 1, /* addr, length, iova */
                     HCA_MR_PD = 2,
                     HCA_MR_ACCESS = 4,
};
struct hca_mr_new {
    uint32_t changes; /* set of enum hca_mr_change: what else is here does not count */
    hca_pd pd;
    void *addr;
    uint64_t length, iova;
    uint32_t access;
};
/* The region as if it had been registered so, under the same keys (vol. 1, chapter 11.2.8.5); what
 * is under way goes on only as far as it is allowed then. Errors, with nothing changed: those of
 * hca_mr_register, and invalid_argument while windows are bound to it. */
enum fabric_error hca_mr_reregister(struct hca *hca, hca_mr mr, const struct hca_mr_new *to);
/* The iova of a host address under a local key; false when the key is not valid here or the address
 * is outside. For fronts whose programs name local memory by host addresses. */
bool hca_mr_iova(const struct hca *hca, uint32_t lkey, const void *addr, uint64_t *iova);

/* Opens a window on [iova, iova + length) of mr under a fresh key; access is a set of the REMOTE_
 * bits. REMOTE_WRITE and _ATOMIC need LOCAL_WRITE of the region (vol. 1, chapter 10.6.6.2). Errors:
 * invalid_argument (outside the region, access), resources_exhausted. */
enum fabric_error hca_mw_open(struct hca *hca, hca_mr mr, uint64_t iova, uint64_t length,
                              uint32_t access, uint64_t context, hca_mw *out, uint32_t *rkey);
/* Starts taking the key back; one MW_REVOKED event follows, also when the device is removed
 * meanwhile. Until then peers may still touch the memory; afterwards nothing does, and the value
 * of the key is not given out again soon. */
void hca_mw_revoke(struct hca *hca, hca_mw mw);
/* Whether the window grants what it was opened for (as it does at first): one whose user was not
 * told yet does not. */
void hca_mw_grant(struct hca *hca, hca_mw mw, bool grants);
/* Ends a window at once and without an event, also one being revoked or one that is bound: for the
 * teardown of a program whose queue pairs are gone, so that no peer has a way to it, and for
 * deallocation. */
void hca_mw_end(struct hca *hca, hca_mw mw);

enum hca_mw_type { /* values of ibv_mw_type */
                   HCA_MW_TYPE_1 = 1,
                   HCA_MW_TYPE_2 = 2, /* 2B: bound to one queue pair (vol. 1, chapter 10.6.7.2.3) */
};
/* A window that a program binds by work requests (HCA_WR_BIND_MW). *rkey is no key yet: its upper
 * 24 bits are those of every key that the window will have. Errors: invalid_argument (type),
 * resources_exhausted. The domain has a user until hca_mw_end. */
enum fabric_error hca_mw_alloc(struct hca *hca, hca_pd pd, enum hca_mw_type type, uint64_t context,
                               hca_mw *out, uint32_t *rkey);

/* ------------------------------------------------------------------ completion queues */

enum hca_wc_opcode { /* the first five are those of fabric_wc_opcode */
                     HCA_WC_SEND,
                     HCA_WC_RDMA_WRITE,
                     HCA_WC_RDMA_READ,
                     HCA_WC_RECV,
                     HCA_WC_RECV_RDMA_WITH_IMM,
                     HCA_WC_COMP_SWAP,
                     HCA_WC_FETCH_ADD,
                     HCA_WC_BIND_MW,
                     HCA_WC_LOCAL_INV,
};

/* With a status other than SUCCESS only wr_id, qp, qp_num, status, vendor_err, is_send, context and
 * time hold (vol. 1, chapter 11.4.2.1). */
struct hca_wc {
    uint64_t wr_id;
    uint64_t context; /* of the queue pair */
    uint64_t time;
    hca_qp qp;
    uint32_t qp_num;
    uint32_t vendor_err;
    uint32_t byte_len;   /* receives, READs, atomics; UD receives count the 40 bytes of the GRH */
    uint32_t imm;        /* with_inv: the key that is not valid any more */
    uint32_t src_qp;     /* UD, DC */
    uint16_t slid;       /* UD */
    uint16_t pkey_index; /* UD */
    uint8_t sl, dlid_path_bits;
    uint8_t status; /* enum fabric_wc_status */
    uint8_t opcode; /* enum hca_wc_opcode */
    bool is_send, with_imm, with_grh, with_inv;
};

/* A completion without room raises CQ_ERR, once, and is lost; from then on the CQ takes nothing,
 * and whatever completes to it sends its queue pair to ERR (vol. 1, chapter 11.6.3.1). */
enum fabric_error hca_cq_create(struct hca *hca, uint32_t depth, uint64_t context, hca_cq *out);
/* invalid_argument while a queue pair uses it. Completions not polled are gone. */
enum fabric_error hca_cq_destroy(struct hca *hca, hca_cq cq);
/* Room for `depth` completions from now on; those in it stay. invalid_argument (too many of them,
 * limits, overran), resources_exhausted. */
enum fabric_error hca_cq_resize(struct hca *hca, hca_cq cq, uint32_t depth);
/* Takes up to capacity completions, oldest first, and returns their number. */
size_t hca_cq_poll(struct hca *hca, hca_cq cq, struct hca_wc *wcs, size_t capacity);

/* ------------------------------------------------------------------ address handles */

/* invalid_argument (port), grh_unavailable (the port demands a GRH), resources_exhausted. Posts
 * copy it. */
enum fabric_error hca_ah_create(struct hca *hca, hca_pd pd, const struct fabric_av *av,
                                hca_ah *out);
void hca_ah_destroy(struct hca *hca, hca_ah ah);

/* ------------------------------------------------------------------ queue pairs */

enum hca_qp_type {
    HCA_QP_RC,
    HCA_QP_UC,
    HCA_QP_UD,
    HCA_QP_XRC_INI, /* sends to shared receive queues of other nodes, by their number */
    HCA_QP_XRC_TGT, /* receives for those of its domain */
    HCA_QP_DCI,
    HCA_QP_DCT,
};

struct hca_qp_init {
    enum hca_qp_type type;
    hca_pd pd;
    hca_cq send_cq, recv_cq; /* a DCT has no send side: ignored, a DCI no receive side */
    hca_srq srq;             /* id 0: own receive queue; DCT requires one */
    hca_xrcd xrcd;           /* XRC_TGT alone, which has neither pd nor completion queues */
    uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
    uint32_t max_inline;
    bool sq_sig_all;
    uint64_t dc_access_key; /* DCT */
    uint64_t context;
};

enum hca_qp_attr_mask { /* values of ibv_qp_attr_mask */
                        HCA_QP_STATE = 1 << 0,
                        HCA_QP_CUR_STATE = 1 << 1,
                        HCA_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
                        HCA_QP_ACCESS_FLAGS = 1 << 3,
                        HCA_QP_PKEY_INDEX = 1 << 4,
                        HCA_QP_PORT = 1 << 5,
                        HCA_QP_QKEY = 1 << 6,
                        HCA_QP_AV = 1 << 7,
                        HCA_QP_PATH_MTU = 1 << 8,
                        HCA_QP_TIMEOUT = 1 << 9,
                        HCA_QP_RETRY_CNT = 1 << 10,
                        HCA_QP_RNR_RETRY = 1 << 11,
                        HCA_QP_RQ_PSN = 1 << 12,
                        HCA_QP_MAX_QP_RD_ATOMIC = 1 << 13,
                        HCA_QP_ALT_PATH = 1 << 14,
                        HCA_QP_MIN_RNR_TIMER = 1 << 15,
                        HCA_QP_SQ_PSN = 1 << 16,
                        HCA_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
                        HCA_QP_PATH_MIG_STATE = 1 << 18,
                        HCA_QP_CAP = 1 << 19,
                        HCA_QP_DEST_QPN = 1 << 20,
};

struct hca_qp_attr {
    enum fabric_qp_state state, cur_state;
    bool en_sqd_async_notify;
    uint8_t port_num;
    uint16_t pkey_index;
    uint32_t access;
    uint32_t qkey;
    enum fabric_mtu path_mtu;
    struct fabric_av av;
    uint32_t dest_qp_num, rq_psn, sq_psn; /* 24 bits */
    uint8_t max_rd_atomic, max_dest_rd_atomic;
    uint8_t min_rnr_timer, timeout, retry_cnt, rnr_retry;
};

struct hca_qp_info {
    struct hca_qp_attr attr; /* as last set; PSNs as they stand */
    enum hca_qp_type type;
    uint32_t qp_num; /* 0 for a DCT before RTR */
    uint32_t sq_outstanding, rq_outstanding;
    bool sq_draining; /* SQD, and not yet drained */
};

/* In RESET. Errors: dc_unsupported, not_supported (type), invalid_argument (limits, a DCT without
 * an SRQ, a CQ that overran), resources_exhausted. */
enum fabric_error hca_qp_create(struct hca *hca, const struct hca_qp_init *init, hca_qp *out);
/* Vol. 1, chapter 11.2.4.2. Errors, with nothing changed: invalid_argument (transition, attribute
 * missing, not allowed or out of range), pkey_index_range, pkey_empty, grh_unavailable,
 * mtu_above_active. To ERR: what was accepted completes as WR_FLUSH_ERR, in order. To RESET: what
 * was accepted is dropped, without completions. */
enum fabric_error hca_qp_modify(struct hca *hca, hca_qp qp, const struct hca_qp_attr *attr,
                                uint32_t mask);
/* The mask of the attributes that the transition to `state` requires, HCA_QP_STATE included. */
uint32_t hca_qp_required_mask(enum hca_qp_type type, enum fabric_qp_state from,
                              enum fabric_qp_state to);
enum fabric_error hca_qp_query(const struct hca *hca, hca_qp qp, struct hca_qp_info *out);
/* What its events and completions name from now on. */
void hca_qp_set_context(struct hca *hca, hca_qp qp, uint64_t context);
/* A DCT lets go of its initiators, as a device does before such a queue pair is destroyed: the
 * receives that they had taken from the SRQ complete as WR_FLUSH_ERR. Nothing for other types. */
void hca_dct_drain(struct hca *hca, hca_qp qp);
/* Every DCT of the device gets another access key, as if its owner and its peers meant different
 * ones. Initiators that are connected stay so. Returns how many there are. */
uint32_t hca_dct_change_keys(struct hca *hca);
/* No peer reaches memory through it after it returned. What was accepted is dropped; completions
 * already in a CQ stay there. Never fails. */
void hca_qp_destroy(struct hca *hca, hca_qp qp);
/* UD: packets to this multicast group come too, once each, however often it is attached.
 * invalid_argument, resources_exhausted. */
enum fabric_error hca_qp_attach(struct hca *hca, hca_qp qp, const union fabric_gid *gid,
                                uint16_t mlid);
void hca_qp_detach(struct hca *hca, hca_qp qp, const union fabric_gid *gid, uint16_t mlid);

/* ------------------------------------------------------------------ work requests */

struct hca_sge {
    uint64_t addr; /* iova; a host address for inline data */
    uint32_t length;
    uint32_t lkey;
};

enum hca_wr_opcode { /* the first five are those of fabric_wr_opcode */
                     HCA_WR_SEND,
                     HCA_WR_SEND_WITH_IMM,
                     HCA_WR_RDMA_WRITE,
                     HCA_WR_RDMA_WRITE_WITH_IMM,
                     HCA_WR_RDMA_READ,
                     HCA_WR_ATOMIC_CMP_AND_SWP,
                     HCA_WR_ATOMIC_FETCH_AND_ADD,
                     HCA_WR_SEND_WITH_INV, /* RC; the peer's window in rkey */
                     HCA_WR_BIND_MW,       /* RC, UC; no packet */
                     HCA_WR_LOCAL_INV,     /* RC, UC; no packet; the window of type 2 in rkey */
};

enum hca_send_flag { /* values of fabric_send_flag */
                     HCA_SEND_FENCE = 1,
                     HCA_SEND_SIGNALED = 2,
                     HCA_SEND_SOLICITED = 4,
                     HCA_SEND_INLINE = 8,
};

/* BIND_MW: gives the window `mw` the range [addr, addr + length) of the region of `lkey`, under the
 * key of the request's rkey; a length of 0 takes it from a window of type 1. Access is a set of the
 * REMOTE_ bits. What must hold is stated at vol. 1, chapter 10.6.7.2: one domain, a region that
 * allows binding, a key that differs from the window's in its low 8 bits alone, type 2 unbound.
 * Else MW_BIND_ERR. */
struct hca_bind {
    hca_mw mw;
    uint32_t lkey, access;
    uint64_t addr, length;
};

struct hca_send_wr {
    uint64_t wr_id;
    enum hca_wr_opcode opcode;
    uint32_t flags; /* set of enum hca_send_flag */
    const struct hca_sge *sges;
    uint32_t sge_count;
    uint32_t imm;
    uint64_t remote_addr;
    uint32_t rkey;
    uint64_t compare_add, swap; /* atomics, 8 bytes */
    hca_ah ah;                  /* UD, DCI */
    uint32_t dest_qp;           /* UD: its number; DCI: the target's; XRC_INI: the SRQ's */
    uint32_t qkey;              /* UD; bit 31 set: the queue pair's own (vol. 1, 10.2.5) */
    uint64_t dc_access_key;     /* DCI */
    struct hca_bind bind;       /* BIND_MW */
};

struct hca_recv_wr {
    uint64_t wr_id;
    const struct hca_sge *sges;
    uint32_t sge_count;
};

/* Promises and errors as fabric.h states them at qp_post_send and qp_post_recv. Where a program
 * posts into the shared state by itself (queue.h), hca_qp_doorbell is what is left to do. */
enum fabric_error hca_post_send(struct hca *hca, hca_qp qp, const struct hca_send_wr *wr);
enum fabric_error hca_post_recv(struct hca *hca, hca_qp qp, const struct hca_recv_wr *wr);
/* Looks at what was posted to the queue pair: begins to send, or flushes. A doorbell for nothing,
 * or of a queue pair that is gone, is no mistake. */
void hca_qp_doorbell(struct hca *hca, hca_qp qp);
/* Tells the program of a CQ for which somebody without a way to it put down that it is to be told
 * (cq_state.tells). For nothing, or of one that is gone, it is no mistake. */
void hca_cq_doorbell(struct hca *hca, hca_cq cq);
/* The same for every queue pair and CQ: when it is not known any more who rang. */
void hca_doorbells(struct hca *hca);

enum fabric_error hca_srq_create(struct hca *hca, hca_pd pd, uint32_t max_wr, uint32_t max_sge,
                                 uint64_t context, hca_srq *out);
/* Extended reliable connection (vol. 1, annex A14). A domain joins targets and shared receive
 * queues; resources_exhausted. */
enum fabric_error hca_xrcd_alloc(struct hca *hca, hca_xrcd *out);
/* invalid_argument while something is in it. */
enum fabric_error hca_xrcd_dealloc(struct hca *hca, hca_xrcd xrcd);
/* A shared receive queue that the targets of the domain take receives from, for requests that carry
 * its number. These complete in `cq`; memory keys are judged by `pd`. Errors as above. */
enum fabric_error hca_srq_create_xrc(struct hca *hca, hca_pd pd, hca_xrcd xrcd, hca_cq cq,
                                     uint32_t max_wr, uint32_t max_sge, uint64_t context,
                                     hca_srq *out);
/* invalid_argument while a queue pair uses it. Receives not consumed never complete. */
enum fabric_error hca_srq_destroy(struct hca *hca, hca_srq srq);
struct hca_srq_info {
    uint32_t max_wr, max_sge;
    uint32_t limit;  /* 0: not armed */
    uint32_t number; /* 24 bits: what XRC requests name it by */
};
void hca_srq_query(const struct hca *hca, hca_srq srq, struct hca_srq_info *out);
/* One SRQ_LIMIT_REACHED event when fewer than limit receives are left; 0 disarms. */
enum fabric_error hca_srq_set_limit(struct hca *hca, hca_srq srq, uint32_t limit);
enum fabric_error hca_srq_post_recv(struct hca *hca, hca_srq srq, const struct hca_recv_wr *wr);

#endif
