/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program and the daemon of its fabric say to each other: one request, one reply, each one
 * message of fixed size on a SOCK_SEQPACKET socket of this machine. A connection is one opened
 * device; everything made over it ends with it.
 *
 * Requests are outside input: protocol_check is passed before any member is believed. Numbers are
 * in the byte order of the machine; GIDs are in network order. Handles are numbers that the daemon
 * gave to this connection; `id` is the number of the same thing in the arena of the device, for
 * posting and polling.
 */
#ifndef FABRIC_SIM_SIMFABRIC_PROTOCOL_H
#define FABRIC_SIM_SIMFABRIC_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_MAGIC 0x73666213u /* changes with every structure here; the last byte counts */
#define PROTOCOL_NAME 64           /* names with their final NUL, as FABRIC_NAME_MAX */
#define PROTOCOL_FDS 3             /* file descriptors of one reply, at most */

#define PROTOCOL_OPS(X)                                                                            \
    X(OPEN)            /* open; fds: the shared page, the doorbell, the device's arena */          \
    X(INSPECT)         /* without an opened device; fd: all about the fabric, as JSON */           \
    X(FAULT)           /* fault; without an opened device, as the next two */                      \
    X(UNDO)            /* every fault is taken back */                                             \
    X(ASK)             /* ask */                                                                   \
    X(QUERY_DEVICE)    /* */                                                                       \
    X(QUERY_CLOCK)     /* */                                                                       \
    X(QUERY_PORT)      /* port */                                                                  \
    X(ROUTE)           /* route; fd: the arena of the device there */                              \
    X(OWNER)           /* handle: an owner of memory; fd: its process */                           \
    X(ALLOC_PD)        /* */                                                                       \
    X(DEALLOC_PD)      /* handle */                                                                \
    X(REG_MR)          /* mr */                                                                    \
    X(REREG_MR)        /* mr */                                                                    \
    X(DEREG_MR)        /* handle */                                                                \
    X(ALLOC_MW)        /* mw */                                                                    \
    X(DEALLOC_MW)      /* handle */                                                                \
    X(CREATE_CHANNEL)  /* channel; fd: records of 8 bytes (completions) or 16 (async events) */    \
    X(DESTROY_CHANNEL) /* handle */                                                                \
    X(CREATE_CQ)       /* cq */                                                                    \
    X(RESIZE_CQ)       /* cq: handle, depth */                                                     \
    X(DESTROY_CQ)      /* handle */                                                                \
    X(CREATE_SRQ)      /* srq */                                                                   \
    X(SET_SRQ_LIMIT)   /* srq: handle, limit */                                                    \
    X(QUERY_SRQ)       /* handle */                                                                \
    X(DESTROY_SRQ)     /* handle */                                                                \
    X(OPEN_XRCD)       /* xrcd */                                                                  \
    X(CLOSE_XRCD)      /* handle */                                                                \
    X(CREATE_QP)       /* qp */                                                                    \
    X(OPEN_QP)         /* open_qp */                                                               \
    X(MODIFY_QP)       /* attr */                                                                  \
    X(QUERY_QP)        /* handle */                                                                \
    X(DESTROY_QP)      /* handle */                                                                \
    X(CREATE_AH)       /* ah */                                                                    \
    X(DESTROY_AH)      /* handle */                                                                \
    X(ATTACH_MCAST)    /* mcast */                                                                 \
    X(DETACH_MCAST)    /* mcast */

enum protocol_op {
#define PROTOCOL_OP(name) PROTOCOL_##name,
    PROTOCOL_OPS(PROTOCOL_OP)
#undef PROTOCOL_OP
        PROTOCOL_OP_COUNT
};

/* An address vector, as struct fabric_av. */
struct protocol_av {
    uint8_t dgid[16];
    uint32_t flow_label;
    uint16_t dlid;
    uint8_t sl, src_path_bits, port_num, is_global;
    uint8_t sgid_index, hop_limit, traffic_class, unused;
};

/* Values of ibv_qp_attr, of its attr_mask and of its state numbers. */
struct protocol_qp_attr {
    uint32_t state, cur_state, port_num, pkey_index, access, qkey, path_mtu, en_sqd_async_notify;
    uint32_t dest_qp_num, rq_psn, sq_psn, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer;
    uint32_t timeout, retry_cnt, rnr_retry, unused;
    struct protocol_av av;
};

#define PROTOCOL_LINE 208 /* text of a fault word, a fact or its answer, with its final NUL */

#define PROTOCOL_LONGEST UINT64_C(86400000000000) /* ns: no fault delays by more than a day */

/* A fault, as struct testbed_fault; an empty name is none. Words about calls that fail, disks and
 * streams are not carried out here, so there is no error. */
struct protocol_fault {
    uint32_t word, index, port, on, gid_type, unused;
    uint64_t value, duration, jitter; /* ns */
    uint8_t gid[16];
    char node[PROTOCOL_NAME], device[PROTOCOL_NAME], peer[PROTOCOL_NAME];
    char sm[PROTOCOL_NAME], network[PROTOCOL_NAME], text[PROTOCOL_LINE];
};

struct protocol_request {
    uint32_t magic;
    uint32_t op; /* enum protocol_op */
    union {
        uint32_t handle;
        uint32_t port;
        struct {
            char node[PROTOCOL_NAME], device[PROTOCOL_NAME];
        } open;
        struct protocol_fault fault;
        struct {
            uint32_t device, port, dlid, sl; /* where packets leave, and what they say */
        } route;
        struct {
            char node[PROTOCOL_NAME], query[PROTOCOL_LINE]; /* as testbed_ops.ask */
        } ask;
        struct {
            uint32_t pd, access; /* bits of enum hca_access */
            uint64_t addr, length, iova;
            uint32_t handle, changes; /* REREG_MR: bits of enum hca_mr_change */
        } mr;
        struct {
            uint32_t pd, type; /* enum hca_mw_type */
        } mw;
        struct {
            uint32_t async; /* 1: of asynchronous events, 0: of completions */
        } channel;
        struct {
            uint64_t cookie; /* comes back in the records of its events */
            uint32_t depth, channel, handle, unused;
        } cq;
        struct {
            uint64_t cookie;
            uint32_t pd, max_wr, max_sge, handle, limit;
            uint32_t xrcd, cq; /* of an XRC one, else 0 */
        } srq;
        struct {
            uint64_t device, inode;  /* of the file that those who share the domain opened */
            uint32_t by_file, flags; /* 0: a domain of the caller alone; O_CREAT, O_EXCL */
        } xrcd;
        struct {
            uint64_t cookie;
            uint32_t xrcd, qp_num;
        } open_qp;
        struct {
            uint64_t cookie, dc_access_key;
            uint32_t type; /* enum hca_qp_type */
            uint32_t pd, send_cq, recv_cq, srq, xrcd;
            uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline, sq_sig_all;
        } qp;
        struct {
            uint32_t handle, mask;
            struct protocol_qp_attr attr;
        } modify;
        struct {
            uint32_t pd, unused;
            struct protocol_av av;
        } ah;
        struct {
            uint32_t handle, mlid;
            uint8_t gid[16];
        } mcast;
    } u;
};

struct protocol_device {
    char fw_ver[32];
    uint64_t node_guid, sys_image_guid, max_mr_size;
    uint32_t vendor_id, vendor_part_id, hw_ver, num_ports, local_ca_ack_delay;
    uint32_t max_rd_atomic, max_init_rd_atomic;
    uint32_t max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_srq, max_ah, max_pd;
    uint32_t max_inline, max_mcast_attach, max_pkeys, max_mw;
};

struct protocol_port {
    uint32_t state, phys_state, link_layer, max_mtu, active_mtu, lid, sm_lid, sm_sl, lmc;
    uint32_t gid_tbl_len, pkey_tbl_len, grh_required, speed_mbps, width, capability_mask;
    uint32_t bad_pkey_cntr, qkey_viol_cntr, unused;
};

struct protocol_qp_info {
    uint32_t type, sq_draining;
    struct protocol_qp_attr attr;
};

struct protocol_reply {
    uint32_t magic;
    int32_t error; /* errno; 0: done, and the member of the request holds */
    union {
        struct {
            uint32_t handle;
            uint32_t id;   /* in the arena */
            uint32_t key;  /* of a region or window; the number of a queue pair */
            uint32_t size; /* what a queue was made for */
        } made;
        struct {
            uint32_t device;                  /* its number, for doorbells */
            uint32_t owner;                   /* number of the connection, as an owner of memory */
            uint64_t shared_size, arena_size; /* bytes to map */
        } opened;
        struct {
            uint32_t device, port; /* where they arrive */
            uint32_t mtu, unused;  /* bytes of payload that pass */
        } route;
        struct {
            uint32_t pid, unused;
        } owner;
        struct {
            uint32_t result; /* enum testbed_result */
            char text[256];  /* what is wrong, or the answer; ends in NUL */
        } told;
        uint64_t clock; /* ns since the fabric began, as in completions */
        struct protocol_device device;
        struct protocol_port port;
        struct protocol_qp_info qp;
        struct {
            uint32_t max_wr, max_sge, limit, unused;
        } srq;
    } u;
};

/* The record of a completion event, as libibverbs reads it from a completion channel. */
struct protocol_completion {
    uint64_t cookie; /* of the completion queue */
};

/* The record of an asynchronous event. */
struct protocol_async {
    uint64_t element; /* cookie of the queue, or the port number */
    uint32_t type;    /* enum ibv_event_type */
    uint32_t unused;
};

/* 0 when the bytes are one whole request of this version whose members hold values that exist:
 * operations, names with an end, types, states, sizes of tables. Else EPROTO (another version) or
 * EINVAL, as in a reply. Handles are not judged here. */
int protocol_check(const void *bytes, size_t length, struct protocol_request *out);
const char *protocol_op_name(uint32_t op); /* "reg_mr"-like, for people; never null */

#endif
