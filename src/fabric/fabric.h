/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric contract: all that one node sees of the world.
 *
 * Everything in src/ reaches devices, peers, time, randomness, disks and system files through the
 * functions declared here and in no other way. Four fabrics carry the contract; a program cannot
 * tell which one it runs on except by the capability bits.
 *
 * Rules that hold for every member unless its comment says otherwise:
 *  - One instance belongs to one thread. Only fabric_wake may be called from elsewhere.
 *  - Nothing calls back. What happens later is reported by fabric_poll, with its time.
 *  - A member never waits for the network or for a disk. A constructor may take a system call.
 *  - A failed constructor leaves nothing to destroy and leaves *out untouched.
 *  - Programmer errors (a null pointer, a handle that was never given out or was destroyed, an
 *    argument that is out of its documented range) abort in the seam. Whatever the network, the
 *    device or the operator can cause is a returned error, a completion status or an event.
 *  - Strings and structures passed in are copied before the call returns; data buffers of accepted
 *    posts and I/O requests stay lent to the fabric until their completion was polled.
 *  - Times are nanoseconds of the monotonic clock. Sizes are bytes. GIDs are in network order, all
 *    integers in host order.
 */
#ifndef SRC_FABRIC_FABRIC_H
#define SRC_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/fabric/error.h"

/* Handles: small numbers chosen by the fabric, never host addresses; id 0 is "none". They are
 * structures so that the compiler keeps them apart. */
typedef struct {
    uint32_t id;
} fabric_device;
typedef struct {
    uint32_t id;
} fabric_mr;
typedef struct {
    uint32_t id;
} fabric_window;
typedef struct {
    uint32_t id;
} fabric_cq;
typedef struct {
    uint32_t id;
} fabric_srq;
typedef struct {
    uint32_t id;
} fabric_qp;
typedef struct {
    uint32_t id;
} fabric_ah;
typedef struct {
    uint32_t id;
} fabric_listener;
typedef struct {
    uint32_t id;
} fabric_stream;
typedef struct {
    uint32_t id;
} fabric_timer;
typedef struct {
    uint32_t id;
} fabric_file;

#define FABRIC_NAME_MAX 64        /* device names and stream addresses, with the final NUL */
#define FABRIC_PATH_MAX 256       /* storage and system-file paths, with the final NUL */
#define FABRIC_FOREVER UINT64_MAX /* a deadline that never comes */
#define FABRIC_MAX_SGE 16         /* scatter/gather entries of one work request, at most */

/* ------------------------------------------------------------------ capabilities (HA-1.5) */

/* Each capability is named once; scenario files use the same spelling in lower case. What a fabric
 * lacks is a clear bit here and a refused call or an absent behaviour there, never a crash. */
#define FABRIC_CAPABILITIES(X)                                                                     \
    X(LID, lid, "ports are addressed by LIDs")                                                     \
    X(SM, sm, "a subnet manager can be stopped, started and handed over")                          \
    X(PKEY, pkey, "partition tables can hold other keys than the default")                         \
    X(SUBNET, subnet, "several InfiniBand subnets with different prefixes")                        \
    X(GRH_REQUIRED, grh_required, "ports may demand a global routing header")                      \
    X(GID, gid, "GID tables can be changed")                                                       \
    X(VLAN, vlan, "VLAN interfaces and priorities")                                                \
    X(MTU_CHANGE, mtu_change, "a port's active MTU can be changed")                                \
    X(PORT_STATE, port_state, "ports can be taken down and up")                                    \
    X(LOSS, loss, "packets can be lost on purpose")                                                \
    X(DELAY, delay, "packets can be delayed on purpose")                                           \
    X(REORDER, reorder, "packets can be reordered on purpose")                                     \
    X(EVENTS_HOLD, events_hold, "asynchronous events can be held, lost, doubled, reordered")       \
    X(DC, dc, "dynamically connected transport")                                                   \
    X(RC, rc, "reliable connected transport")                                                      \
    X(TCP, tcp, "control byte streams")                                                            \
    X(DEVICE_REMOVE, device_remove, "devices can vanish and return")                               \
    X(PROCESS_KILL, process_kill, "a node's program can be killed and restarted")                  \
    X(POWER_LOSS, power_loss, "a node can lose power; unflushed writes may be lost")               \
    X(DISK_FAULT, disk_fault, "disk errors, full disks, slow disks")                               \
    X(VIRTUAL_TIME, virtual_time, "time passes only in the simulator")                             \
    X(SL, sl, "service levels select virtual lanes")                                               \
    X(SLID_CHECK, slid_check, "receivers compare the source LID with their address vector")        \
    X(SM_CHANGE_EVENT, sm_change_event, "SM_CHANGE is raised")                                     \
    X(GID_CACHE_STALE, gid_cache_stale, "GID 0 may stay stale after a prefix change")              \
    X(RTR_MTU_CHECKED, rtr_mtu_checked, "RTR refuses a path MTU above the active MTU")             \
    X(ACK_TIMEOUT_FLOOR, ack_timeout_floor, "the device raises small ACK time-outs to a floor")    \
    X(RD_ATOMIC, rd_atomic, "RDMA READ responder resources can be limited per queue pair")         \
    X(WRITE_ORDER, write_order, "bytes of one RDMA WRITE land in ascending order")                 \
    X(PEER_DEATH_NOTICED, peer_death_noticed, "an idle queue pair notices that its peer died")     \
    X(EVENTS_RELIABLE, events_reliable, "no asynchronous event is ever lost")                      \
    X(STORAGE_ORDER, storage_order, "writes reach the medium in order between flushes")

enum fabric_cap_bit {
#define FABRIC_CAP_BIT(upper, lower, text) FABRIC_CAP_BIT_##upper,
    FABRIC_CAPABILITIES(FABRIC_CAP_BIT)
#undef FABRIC_CAP_BIT
        FABRIC_CAP_COUNT
};

enum fabric_cap {
#define FABRIC_CAP(upper, lower, text) FABRIC_CAP_##upper = (int)(1u << FABRIC_CAP_BIT_##upper),
    FABRIC_CAPABILITIES(FABRIC_CAP)
#undef FABRIC_CAP
};

/* What may be relied upon. The simulator does the worst that these allow. */
struct fabric_guarantees {
    uint32_t caps;                /* set of enum fabric_cap */
    uint32_t write_tear_unit;     /* an RDMA WRITE tears only at multiples of this many bytes */
    uint32_t storage_tear_unit;   /* a write to storage tears only at multiples of this */
    uint32_t storage_align;       /* offset, length and buffer alignment of storage I/O */
    uint64_t ack_timeout_floor;   /* ns; a shorter ACK time-out is silently this long; 0 = none */
    uint32_t ack_timeout_stretch; /* detection lies in [T, stretch * T]; the spec allows 4 */
};

/* ------------------------------------------------------------------ devices and ports */

enum fabric_link_layer {
    FABRIC_LINK_LAYER_UNSPECIFIED,
    FABRIC_LINK_LAYER_INFINIBAND,
    FABRIC_LINK_LAYER_ETHERNET,
};

/* PortState of PortInfo (InfiniBand specification vol. 1, table 155 "PortInfo"). */
enum fabric_port_state {
    FABRIC_PORT_NOP = 0,
    FABRIC_PORT_DOWN = 1,   /* no physical link */
    FABRIC_PORT_INIT = 2,   /* link trained, waits for the subnet manager */
    FABRIC_PORT_ARMED = 3,  /* configured, carries no data of its own yet */
    FABRIC_PORT_ACTIVE = 4, /* configured and in use */
};

enum fabric_mtu { /* code of the specification; bytes by fabric_mtu_bytes */
                  FABRIC_MTU_256 = 1,
                  FABRIC_MTU_512 = 2,
                  FABRIC_MTU_1024 = 3,
                  FABRIC_MTU_2048 = 4,
                  FABRIC_MTU_4096 = 5,
};

enum fabric_gid_type {
    FABRIC_GID_TYPE_IB,
    FABRIC_GID_TYPE_ROCE_V1,
    FABRIC_GID_TYPE_ROCE_V2,
};

enum fabric_port_flag {
    FABRIC_PORT_GRH_REQUIRED = 1, /* every address vector of this port needs a GRH */
};

union fabric_gid {
    uint8_t raw[16]; /* network order; the first 8 bytes are the subnet prefix */
};

struct fabric_device_attr {
    char name[FABRIC_NAME_MAX]; /* as in /sys/class/infiniband */
    uint64_t node_guid;
    uint64_t sys_image_guid; /* equal for the functions of one HCA: rails on it share its bus */
    uint32_t vendor_id, vendor_part_id, hw_ver;
    char fw_ver[32];
    uint32_t caps; /* set of enum fabric_cap that depend on the device: DC, RC, RD_ATOMIC, ... */
    uint8_t num_ports;
    uint8_t max_rd_atomic;      /* responder resources of one queue pair, at most */
    uint8_t max_init_rd_atomic; /* initiator depth of one queue pair, at most */
    uint8_t local_ca_ack_delay; /* 4.096 us * 2^n */
    uint32_t max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_srq, max_ah;
    uint32_t max_inline;
    uint64_t max_mr_size;
    bool iwarp; /* an iWARP device: an RDMA READ sink would expose its key; refused by the stack */
};

struct fabric_port_attr {
    uint8_t port_num; /* from 1 */
    enum fabric_port_state state;
    enum fabric_link_layer link_layer;
    uint16_t lid;    /* meaningless before ACTIVE; 0 on Ethernet; usable 0x0001 to 0xBFFF */
    uint16_t sm_lid; /* 0 = no subnet manager seen */
    uint8_t sm_sl;
    uint8_t lmc; /* the port answers to 2^lmc LIDs from lid on */
    enum fabric_mtu max_mtu, active_mtu;
    uint32_t flags; /* set of enum fabric_port_flag */
    uint32_t gid_tbl_len, pkey_tbl_len;
    uint32_t active_speed_mbps; /* data rate of the link, Mbit/s */
    uint64_t port_guid;
    uint32_t bad_pkey_cntr; /* P_Key violations seen by this port */
    uint32_t qkey_viol_cntr;
};

struct fabric_gid_entry {
    union fabric_gid gid;
    enum fabric_gid_type type;
    uint32_t index;
    char netdev[FABRIC_NAME_MAX]; /* empty on InfiniBand */
};

/* Counters of a port as PortCounters (vol. 1, chapter 16.1) and hw_counters name them. */
struct fabric_port_counters {
    uint64_t xmit_data, rcv_data; /* bytes */
    uint64_t xmit_packets, rcv_packets;
    uint64_t xmit_discards, rcv_errors, rcv_switch_relay_errors, xmit_wait;
    uint64_t symbol_errors, link_downed, vl15_dropped;
    uint64_t bad_pkey, bad_qkey, rcv_constraint_errors, xmit_constraint_errors;
};

/* What the kernel's DCB interface says of an Ethernet port (MK-G3). */
struct fabric_dcb {
    bool present;          /* false: no DCB on this interface, the rest is zero */
    uint8_t pfc_enabled;   /* bit per priority */
    bool trusts_dscp;      /* false: the VLAN priority decides */
    uint8_t dscp_prio[64]; /* priority of each DSCP */
    uint8_t ets_tc[8];     /* traffic class of each priority */
};

/* ------------------------------------------------------------------ memory */

enum fabric_mem_kind {
    FABRIC_MEM_HOST,   /* ordinary memory of this process */
    FABRIC_MEM_DMABUF, /* room for device memory; refused as not_supported so far */
};

enum fabric_access { /* as ibv_access_flags; remote write needs local write */
                     FABRIC_ACCESS_LOCAL_WRITE = 1,
                     FABRIC_ACCESS_REMOTE_WRITE = 2,
                     FABRIC_ACCESS_REMOTE_READ = 4,
};

struct fabric_mr_init {
    enum fabric_mem_kind kind;
    void *addr;      /* HOST: first byte; stays valid and mapped until mr_deregister returned */
    int dmabuf_fd;   /* DMABUF only */
    uint64_t length; /* 1 or more */
    uint64_t iova;   /* the address that keys refer to: chosen by the caller, host addresses are
                      * never given to peers */
    uint32_t access; /* set of enum fabric_access */
};

struct fabric_mr_keys {
    uint32_t lkey;
    uint32_t rkey; /* grants nothing unless a REMOTE_ bit was asked for */
};

/* ------------------------------------------------------------------ address vectors */

struct fabric_grh {
    union fabric_gid dgid;
    uint8_t sgid_index;
    uint8_t hop_limit;
    uint8_t traffic_class;
    uint32_t flow_label; /* 20 bits */
};

/* Where packets go (vol. 1, chapter 11.2.2.1 "address vector"). Made only by the builder, av.h. */
struct fabric_av {
    uint16_t dlid; /* 0 on Ethernet */
    uint8_t sl;
    uint8_t src_path_bits; /* low LMC bits of the source LID */
    uint8_t port_num;      /* the LOCAL port */
    bool is_global;        /* grh holds */
    struct fabric_grh grh;
};

/* ------------------------------------------------------------------ queue pairs */

enum fabric_qp_type {
    FABRIC_QP_RC,
    FABRIC_QP_DCI, /* DC initiator: sends to any target, one at a time */
    FABRIC_QP_DCT, /* DC target: receives from any initiator; needs an SRQ */
};

enum fabric_qp_state {
    FABRIC_QPS_RESET,
    FABRIC_QPS_INIT,
    FABRIC_QPS_RTR,
    FABRIC_QPS_RTS,
    FABRIC_QPS_SQD,
    FABRIC_QPS_SQE,
    FABRIC_QPS_ERR,
};

struct fabric_qp_init {
    enum fabric_qp_type type;
    fabric_cq send_cq, recv_cq;
    fabric_srq srq; /* id 0: own receive queue; DCT requires one */
    uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
    uint32_t max_inline;
    bool sq_sig_all;        /* every send completes with an event of its own */
    uint64_t dc_access_key; /* DCT: what initiators must present */
    uint64_t cookie;        /* comes back in asynchronous events of this queue pair */
};

/* One transition. `state` says which of the following members are read:
 *  INIT: port_num, pkey_index, access (RC, DCT: what peers may do; DCI: none)
 *  RTR:  path_mtu, av, and for RC dest_qp_num, rq_psn, max_dest_rd_atomic, min_rnr_timer;
 *        DCT: path_mtu, av (hop limit, traffic class, GRH use), min_rnr_timer; DCI: path_mtu
 *  RTS:  sq_psn (RC), timeout, retry_cnt, rnr_retry, max_rd_atomic (RC, DCI)
 *  ERR, RESET: none. DCT goes RESET, INIT, RTR and no further. */
struct fabric_qp_attr {
    enum fabric_qp_state state;
    uint8_t port_num;
    uint16_t pkey_index;
    uint32_t access;
    enum fabric_mtu path_mtu;
    struct fabric_av av;
    uint32_t dest_qp_num;    /* 24 bits */
    uint32_t rq_psn, sq_psn; /* 24 bits */
    uint8_t max_rd_atomic, max_dest_rd_atomic;
    uint8_t min_rnr_timer; /* code 0..31, vol. 1 table 45 */
    uint8_t timeout;       /* code 0..31: 4.096 us * 2^n; 0 = wait for ever */
    uint8_t retry_cnt;     /* 0..7; 7 is seven */
    uint8_t rnr_retry;     /* 0..7; 7 is without end */
};

struct fabric_qp_info {
    enum fabric_qp_state state;
    uint32_t qp_num;                         /* 24 bits; a DCT has it only after RTR, 0 before */
    uint32_t sq_outstanding, rq_outstanding; /* accepted posts not yet polled */
};

struct fabric_sge {
    void *addr; /* inside the registered region of lkey */
    uint32_t length;
    uint32_t lkey; /* ignored for inline sends */
};

enum fabric_wr_opcode {
    FABRIC_WR_SEND,
    FABRIC_WR_SEND_WITH_IMM,
    FABRIC_WR_RDMA_WRITE,
    FABRIC_WR_RDMA_WRITE_WITH_IMM,
    FABRIC_WR_RDMA_READ,
};

enum fabric_send_flag {
    FABRIC_SEND_FENCE = 1, /* waits for earlier RDMA READs of this queue pair */
    FABRIC_SEND_SIGNALED = 2,
    FABRIC_SEND_SOLICITED = 4,
    FABRIC_SEND_INLINE = 8, /* data is copied by the call */
};

struct fabric_send_wr {
    uint64_t wr_id;
    enum fabric_wr_opcode opcode;
    uint32_t flags; /* set of enum fabric_send_flag */
    const struct fabric_sge *sges;
    uint32_t sge_count; /* 0..FABRIC_MAX_SGE; 0 sends an empty message */
    uint32_t imm;       /* host order; _WITH_IMM only */
    uint64_t remote_iova;
    uint32_t rkey;
    fabric_ah ah;           /* DCI only: the way to the target */
    uint32_t dct_num;       /* DCI only, 24 bits */
    uint64_t dc_access_key; /* DCI only */
};

struct fabric_recv_wr {
    uint64_t wr_id;
    const struct fabric_sge *sges;
    uint32_t sge_count;
};

/* Spelled as ibv_wc_status; meanings in vol. 1, chapter 11.6.2. */
#define FABRIC_WC_STATUSES(X)                                                                      \
    X(SUCCESS)                                                                                     \
    X(LOC_LEN_ERR)                                                                                 \
    X(LOC_QP_OP_ERR)                                                                               \
    X(LOC_PROT_ERR)                                                                                \
    X(WR_FLUSH_ERR)                                                                                \
    X(MW_BIND_ERR)                                                                                 \
    X(BAD_RESP_ERR)                                                                                \
    X(LOC_ACCESS_ERR)                                                                              \
    X(REM_INV_REQ_ERR)                                                                             \
    X(REM_ACCESS_ERR)                                                                              \
    X(REM_OP_ERR)                                                                                  \
    X(RETRY_EXC_ERR)                                                                               \
    X(RNR_RETRY_EXC_ERR)                                                                           \
    X(REM_ABORT_ERR)                                                                               \
    X(FATAL_ERR)                                                                                   \
    X(RESP_TIMEOUT_ERR)                                                                            \
    X(GENERAL_ERR)

enum fabric_wc_status {
#define FABRIC_WC_STATUS(name) FABRIC_WC_##name,
    FABRIC_WC_STATUSES(FABRIC_WC_STATUS)
#undef FABRIC_WC_STATUS
        FABRIC_WC_STATUS_COUNT
};

enum fabric_wc_opcode {
    FABRIC_WC_SEND,
    FABRIC_WC_RDMA_WRITE,
    FABRIC_WC_RDMA_READ,
    FABRIC_WC_RECV,
    FABRIC_WC_RECV_RDMA_WITH_IMM,
};

/* One completion. With a status other than SUCCESS only wr_id, qp, qp_num, status, vendor_err and
 * is_send hold (vol. 1, chapter 11.4.2.1). */
struct fabric_wc {
    uint64_t wr_id;
    fabric_cq cq;
    fabric_qp qp;
    uint32_t qp_num;
    enum fabric_wc_status status;
    enum fabric_wc_opcode opcode;
    bool is_send;
    bool with_imm;
    uint32_t vendor_err;
    uint32_t byte_len; /* receives and RDMA READs */
    uint32_t imm;
};

/* ------------------------------------------------------------------ asynchronous events */

/* Spelled as ibv_event_type. */
#define FABRIC_ASYNC_TYPES(X)                                                                      \
    X(CQ_ERR)                                                                                      \
    X(QP_FATAL)                                                                                    \
    X(QP_REQ_ERR)                                                                                  \
    X(QP_ACCESS_ERR)                                                                               \
    X(COMM_EST)                                                                                    \
    X(SQ_DRAINED)                                                                                  \
    X(PATH_MIG)                                                                                    \
    X(PATH_MIG_ERR)                                                                                \
    X(DEVICE_FATAL)                                                                                \
    X(PORT_ACTIVE)                                                                                 \
    X(PORT_ERR)                                                                                    \
    X(LID_CHANGE)                                                                                  \
    X(PKEY_CHANGE)                                                                                 \
    X(SM_CHANGE)                                                                                   \
    X(SRQ_ERR)                                                                                     \
    X(SRQ_LIMIT_REACHED)                                                                           \
    X(QP_LAST_WQE_REACHED)                                                                         \
    X(CLIENT_REREGISTER)                                                                           \
    X(GID_CHANGE)                                                                                  \
    X(UNKNOWN) /* a type this contract has no name for; `raw` holds its number */

enum fabric_async_type {
#define FABRIC_ASYNC(name) FABRIC_ASYNC_##name,
    FABRIC_ASYNC_TYPES(FABRIC_ASYNC)
#undef FABRIC_ASYNC
        FABRIC_ASYNC_COUNT
};

struct fabric_async {
    enum fabric_async_type type;
    fabric_device device;
    uint8_t port_num; /* 0 unless the type is a port's */
    fabric_qp qp;     /* id 0 unless the type is a queue pair's */
    uint64_t cookie;  /* of the queue pair */
    uint32_t raw;
};

/* ------------------------------------------------------------------ storage */

enum fabric_io_op {
    FABRIC_IO_OPEN,     /* path, flags -> file */
    FABRIC_IO_CLOSE,    /* file; outstanding requests of it complete first */
    FABRIC_IO_READ,     /* file, buf, length, offset -> bytes read (short only at the end) */
    FABRIC_IO_WRITE,    /* file, buf, length, offset -> bytes written (all or an error) */
    FABRIC_IO_FLUSH,    /* file: what was complete when this was submitted is durable */
    FABRIC_IO_TRIM,     /* file, offset, length: contents become undefined or zero */
    FABRIC_IO_TRUNCATE, /* file, length */
    FABRIC_IO_SIZE,     /* file -> length */
    FABRIC_IO_MKDIR,    /* path */
    FABRIC_IO_UNLINK,   /* path; durable after SYNC_DIR of its folder */
    FABRIC_IO_RENAME,   /* path to path2, atomic; durable after SYNC_DIR of both folders */
    FABRIC_IO_SYNC_DIR, /* path: names in it are durable */
    FABRIC_IO_LIST,     /* path, buf, length -> names, each ending in NUL, sorted by byte value */
};

enum fabric_io_flag {
    FABRIC_IO_CREATE = 1,
    FABRIC_IO_EXCLUSIVE = 2,
    FABRIC_IO_DIRECT = 4, /* past the page cache; storage_align applies */
    FABRIC_IO_READ_ONLY = 8,
};

struct fabric_io {
    enum fabric_io_op op;
    uint64_t cookie; /* comes back in the completion */
    fabric_file file;
    const char *path, *path2;
    uint32_t flags; /* set of enum fabric_io_flag */
    void *buf;      /* lent until the completion was polled */
    uint64_t length, offset;
};

struct fabric_io_done {
    enum fabric_io_op op;
    uint64_t cookie;
    enum fabric_error error;
    fabric_file file;
    uint64_t length; /* as the operation's comment says */
};

/* ------------------------------------------------------------------ what poll returns */

enum fabric_event_type {
    FABRIC_EVENT_COMPLETION,     /* wc */
    FABRIC_EVENT_ASYNC,          /* async */
    FABRIC_EVENT_WINDOW_REVOKED, /* window: no access through its key can happen any more */
    FABRIC_EVENT_ACCEPTED,       /* stream is new, came through stream.listener */
    FABRIC_EVENT_CONNECTED,      /* stream may now send */
    FABRIC_EVENT_READABLE, /* stream: receive until it gives 0 bytes, then wait for the next */
    FABRIC_EVENT_WRITABLE, /* stream: room again after a short send */
    FABRIC_EVENT_CLOSED,   /* stream ended with stream.error; close it */
    FABRIC_EVENT_TIMER,    /* timer */
    FABRIC_EVENT_IO_DONE,  /* io */
    FABRIC_EVENT_WOKEN,    /* fabric_wake was called, once or more often */
};

struct fabric_event {
    enum fabric_event_type type;
    uint64_t time; /* when it happened */
    union {
        struct fabric_wc wc;
        struct fabric_async async;
        struct {
            fabric_window window;
            uint64_t cookie;
        } window;
        struct {
            fabric_stream stream;
            fabric_listener listener; /* ACCEPTED only */
            uint64_t cookie;          /* the stream's; for ACCEPTED the listener's */
            enum fabric_error error;  /* CLOSED only: peer_gone, unreachable, timeout, ... */
        } stream;
        struct {
            fabric_timer timer;
            uint64_t cookie;
        } timer;
        struct fabric_io_done io;
    } u;
};

/* ------------------------------------------------------------------ logging */

enum fabric_log_level {
    FABRIC_LOG_DEBUG,
    FABRIC_LOG_INFO,
    FABRIC_LOG_WARN,
    FABRIC_LOG_ERROR,
};

/* ------------------------------------------------------------------ the table */

struct fabric;

/* What a backend (or a layer over one) provides. Callers use the functions of the same name with
 * the prefix fabric_ (seam.h), which check, count, trace and dispatch; nobody else reads this. */
struct fabric_ops {
    /* guarantees: what this fabric promises; constant for the life of the instance. */
    enum fabric_error (*guarantees)(struct fabric *f, struct fabric_guarantees *out);
    /* destroy: ends the instance. Everything still open is destroyed in the right order; nothing
     * is reported any more. Buffers lent to it are the caller's again when it returns. May block
     * for as long as the operating system takes to tear down. Never fails. */
    enum fabric_error (*destroy)(struct fabric *f);
    /* poll: waits until something happened or `deadline` (ns, monotonic) has passed, then gives up
     * to `capacity` (1 or more) events, in the order in which they happened, and their number.
     * A deadline in the past never waits. In the simulator it never waits: virtual time passes
     * between calls. The only member that blocks. Events own nothing. */
    enum fabric_error (*poll)(struct fabric *f, struct fabric_event *events, size_t capacity,
                              uint64_t deadline, size_t *count);
    /* wake: makes a waiting or the next poll return a WOKEN event. Any thread, any signal handler.
     */
    enum fabric_error (*wake)(struct fabric *f);
    /* now: monotonic time in ns, never decreasing. */
    enum fabric_error (*now)(struct fabric *f, uint64_t *out);
    /* realtime: wall clock in ns since 1970, for people only; it may jump either way. */
    enum fabric_error (*realtime)(struct fabric *f, uint64_t *out);
    /* entropy: `length` bytes that a stranger cannot predict (seeded in the simulator). */
    enum fabric_error (*entropy)(struct fabric *f, void *buf, size_t length);
    /* log: one line without a newline, at most 1,000 bytes, no secrets. Never fails, may drop. */
    enum fabric_error (*log)(struct fabric *f, enum fabric_log_level level, const char *line);

    /* timer_set: a TIMER event with `cookie` at or after `deadline`; one event, then it is gone. */
    enum fabric_error (*timer_set)(struct fabric *f, uint64_t deadline, uint64_t cookie,
                                   fabric_timer *out);
    /* timer_cancel: after it no event of this timer is returned; false in *was_pending means that
     * the event was polled before. The handle is gone either way. */
    enum fabric_error (*timer_cancel)(struct fabric *f, fabric_timer timer, bool *was_pending);

    /* device_list: names of the RDMA devices present now, sorted, up to `capacity`; *count is the
     * number that exist. No device is no error. */
    enum fabric_error (*device_list)(struct fabric *f, char (*names)[FABRIC_NAME_MAX],
                                     size_t capacity, size_t *count);
    /* device_open: from now on its asynchronous events are reported. Errors: not_found,
     * device_removed, resources_exhausted. */
    enum fabric_error (*device_open)(struct fabric *f, const char *name, fabric_device *out);
    /* device_close: destroys what was made on it, after which posts of it not yet completed are
     * reported as WR_FLUSH_ERR. Also the way to give up a removed device. Never fails. */
    enum fabric_error (*device_close)(struct fabric *f, fabric_device device);
    /* device_query: errors: device_removed. */
    enum fabric_error (*device_query)(struct fabric *f, fabric_device device,
                                      struct fabric_device_attr *out);
    /* port_query: what the device believes now; see `state` for what counts. port_num from 1 to
     * num_ports, else invalid_argument. Errors: device_removed. */
    enum fabric_error (*port_query)(struct fabric *f, fabric_device device, uint8_t port_num,
                                    struct fabric_port_attr *out);
    /* gid_query: entry `index` of the port's GID table. Errors: not_found (a hole, or past the
     * end), device_removed. Holes do not end the table. */
    enum fabric_error (*gid_query)(struct fabric *f, fabric_device device, uint8_t port_num,
                                   uint32_t index, struct fabric_gid_entry *out);
    /* pkey_query: entry `index` of the port's P_Key table, 0x0000 where empty. Errors:
     * pkey_index_range (past the end), device_removed. */
    enum fabric_error (*pkey_query)(struct fabric *f, fabric_device device, uint8_t port_num,
                                    uint32_t index, uint16_t *out);
    /* counters_query: errors: device_removed, not_supported. */
    enum fabric_error (*counters_query)(struct fabric *f, fabric_device device, uint8_t port_num,
                                        struct fabric_port_counters *out);
    /* dcb_query: of the Ethernet interface `netdev`; never fails for want of DCB (see present). */
    enum fabric_error (*dcb_query)(struct fabric *f, const char *netdev, struct fabric_dcb *out);

    /* mr_register: after success the memory is the caller's still, but stays mapped until
     * mr_deregister. Key values are unpredictable. Errors: memlock_limit, registration_failed,
     * not_supported (kind), device_removed, resources_exhausted. */
    enum fabric_error (*mr_register)(struct fabric *f, fabric_device device,
                                     const struct fabric_mr_init *init, fabric_mr *out,
                                     struct fabric_mr_keys *keys);
    /* mr_deregister: when it returns, no remote access through its rkey can happen any more, and
     * posts that still name its lkey fail with LOC_PROT_ERR. Its windows must be gone (programmer
     * error otherwise). Never fails. The key values are not used again soon. */
    enum fabric_error (*mr_deregister)(struct fabric *f, fabric_mr mr);
    /* window_open: lends [iova, iova + length) of `mr` to peers under a fresh key, for one
     * operation or one peer. `access` is REMOTE_READ and/or REMOTE_WRITE; the region must have
     * been registered with the same bits. Errors: resources_exhausted, device_removed. */
    enum fabric_error (*window_open)(struct fabric *f, fabric_mr mr, uint64_t iova, uint64_t length,
                                     uint32_t access, uint64_t cookie, fabric_window *out,
                                     uint32_t *rkey);
    /* window_revoke: starts taking the key back and never fails; exactly one WINDOW_REVOKED event
     * follows, also when the device is removed. Until then a peer may still touch the memory;
     * afterwards nothing can, and the handle is gone. The key's value is not given out again while
     * an old request with it may be under way. */
    enum fabric_error (*window_revoke)(struct fabric *f, fabric_window window);

    /* cq_create: room for `depth` completions. Overrun raises CQ_ERR and ends its queue pairs, so
     * `depth` must cover the posts that can be outstanding. Errors: resources_exhausted,
     * device_removed. */
    enum fabric_error (*cq_create)(struct fabric *f, fabric_device device, uint32_t depth,
                                   fabric_cq *out);
    /* cq_destroy: no queue pair may use it any more (programmer error). Completions not yet polled
     * are still reported. Never fails. */
    enum fabric_error (*cq_destroy)(struct fabric *f, fabric_cq cq);
    /* srq_create: a shared receive queue of `max_wr` receives with `max_sge` entries each. */
    enum fabric_error (*srq_create)(struct fabric *f, fabric_device device, uint32_t max_wr,
                                    uint32_t max_sge, fabric_srq *out);
    /* srq_destroy: no queue pair may use it any more. Receives not consumed never complete: a
     * receive on an SRQ is lent to the queue, not to a queue pair (vol. 1, chapter 10.2.9), and is
     * the caller's again when this returns. Never fails. */
    enum fabric_error (*srq_destroy)(struct fabric *f, fabric_srq srq);
    /* srq_post_recv: as qp_post_recv. */
    enum fabric_error (*srq_post_recv)(struct fabric *f, fabric_srq srq,
                                       const struct fabric_recv_wr *wr);

    /* qp_create: in RESET. Errors: dc_unsupported, resources_exhausted, device_removed. */
    enum fabric_error (*qp_create)(struct fabric *f, fabric_device device,
                                   const struct fabric_qp_init *init, fabric_qp *out);
    /* qp_modify: one transition of vol. 1, chapter 10.3.1. On an error the state is unchanged.
     * Errors: invalid_argument (transition or value), grh_unavailable (the port demands a GRH and
     * the vector has none), mtu_above_active (only with RTR_MTU_CHECKED), pkey_index_range,
     * pkey_empty, device_removed. To ERR: everything accepted completes as WR_FLUSH_ERR, in order.
     * To RESET: the same (verbs would drop them; the fabric reports them all the same). */
    enum fabric_error (*qp_modify)(struct fabric *f, fabric_qp qp,
                                   const struct fabric_qp_attr *attr);
    /* qp_query: state and number as the device has them now. Errors: device_removed. */
    enum fabric_error (*qp_query)(struct fabric *f, fabric_qp qp, struct fabric_qp_info *out);
    /* qp_destroy: when it returns, no peer can reach memory through this queue pair. What was
     * accepted and not yet completed is reported as WR_FLUSH_ERR by later polls, under the old
     * handle. Never fails. */
    enum fabric_error (*qp_destroy)(struct fabric *f, fabric_qp qp);
    /* qp_post_send: an accepted post completes exactly once, whatever happens, also across
     * teardown and device loss (an unsignaled one that succeeds is covered by the next completion
     * of its queue). Buffers are lent until then; with INLINE only during the call. A refused post
     * never left. Send completions of one queue pair come in the order of posting. A write that
     * failed may have landed wholly, partly or not at all. Errors: queue_full, invalid_argument
     * (state: below RTS; opcode; too many entries; inline too long), device_removed. In ERR posts
     * are accepted and flushed. */
    enum fabric_error (*qp_post_send)(struct fabric *f, fabric_qp qp,
                                      const struct fabric_send_wr *wr);
    /* qp_post_recv: from INIT on. The same promises; receives of one queue pair complete in order.
     * Errors: queue_full, invalid_argument, device_removed. */
    enum fabric_error (*qp_post_recv)(struct fabric *f, fabric_qp qp,
                                      const struct fabric_recv_wr *wr);
    /* ah_create: an address handle for DC sends from `av`. Errors: invalid_argument,
     * grh_unavailable, resources_exhausted, device_removed. */
    enum fabric_error (*ah_create)(struct fabric *f, fabric_device device,
                                   const struct fabric_av *av, fabric_ah *out);
    /* ah_destroy: posts that were accepted with it are not affected. Never fails. */
    enum fabric_error (*ah_destroy)(struct fabric *f, fabric_ah ah);

    /* listen: on "IP:PORT" or "[IPv6]:PORT"; port 0 picks one; `bound` gets the address in use
     * (FABRIC_NAME_MAX bytes). New peers come as ACCEPTED events, each with a stream of its own
     * that the caller must close. Errors: address_in_use, invalid_argument, resources_exhausted. */
    enum fabric_error (*listen)(struct fabric *f, const char *address, uint64_t cookie,
                                fabric_listener *out, char *bound);
    /* listener_close: streams already accepted live on. Never fails. */
    enum fabric_error (*listener_close)(struct fabric *f, fabric_listener listener);
    /* connect: to "HOST:PORT"; CONNECTED or CLOSED follows. Errors at once: invalid_argument,
     * resources_exhausted. */
    enum fabric_error (*connect)(struct fabric *f, const char *address, uint64_t cookie,
                                 fabric_stream *out);
    /* stream_peer: address of the other end as "IP:PORT" (FABRIC_NAME_MAX bytes). */
    enum fabric_error (*stream_peer)(struct fabric *f, fabric_stream stream, char *out);
    /* stream_set_cookie: replaces the cookie of later events (an accepted stream starts with its
     * listener's). Never fails. */
    enum fabric_error (*stream_set_cookie)(struct fabric *f, fabric_stream stream, uint64_t cookie);
    /* stream_send: takes a prefix of `data`, *accepted bytes of it, maybe 0; a short one is
     * followed by WRITABLE. Bytes taken are copied; they arrive in order, once, or the stream ends:
     * an end may lose any suffix of them. Boundaries are not kept. Errors: peer_gone. */
    enum fabric_error (*stream_send)(struct fabric *f, fabric_stream stream, const void *data,
                                     size_t length, size_t *accepted);
    /* stream_recv: up to `capacity` bytes that have arrived, *received of them; 0 with *end false
     * means none yet and a READABLE will follow; 0 with *end true: the peer sends no more. After
     * a reset bytes that had arrived may be gone. Errors: peer_gone. */
    enum fabric_error (*stream_recv)(struct fabric *f, fabric_stream stream, void *buf,
                                     size_t capacity, size_t *received, bool *end);
    /* stream_shutdown: sends no more; receiving goes on. Never fails. */
    enum fabric_error (*stream_shutdown)(struct fabric *f, fabric_stream stream);
    /* stream_close: the handle is gone and no event of it follows. `reset` throws away what is
     * still in flight and tells the peer so; otherwise accepted bytes are still delivered. */
    enum fabric_error (*stream_close)(struct fabric *f, fabric_stream stream, bool reset);

    /* io_submit: storage request; exactly one IO_DONE follows an accepted one. Between two flushes
     * writes may reach the medium in any order unless STORAGE_ORDER, and a power cut may tear a
     * write at storage_tear_unit. Errors: queue_full, invalid_argument; all else in IO_DONE
     * (not_found, store_full, read_only, media_failed). */
    enum fabric_error (*io_submit)(struct fabric *f, const struct fabric_io *io);

    /* sysfile_read: contents of a system file by its usual absolute path (a test's root folder
     * may stand before it), up to `capacity` bytes. Errors: not_found, too_large (more than
     * capacity; nothing is written), invalid_argument (EINVAL of the file), not_supported. */
    enum fabric_error (*sysfile_read)(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length);
    /* sysfile_list: names in a folder, sorted, each ending in NUL, one after the other. */
    enum fabric_error (*sysfile_list)(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length);
    /* sysfile_link: where a symbolic link points, with a final NUL. Errors: not_found. */
    enum fabric_error (*sysfile_link)(struct fabric *f, const char *path, char *buf,
                                      size_t capacity);
};

#define FABRIC_OP_COUNT (sizeof(struct fabric_ops) / sizeof(void (*)(void)))

struct fabric_trace; /* layer_trace.h */

/* The head of every instance, first member of a backend's or layer's own structure. */
struct fabric {
    const struct fabric_ops *ops;
    uint64_t calls[FABRIC_OP_COUNT];  /* by position in the table */
    uint64_t errors[FABRIC_OP_COUNT]; /* calls that returned an error */
};

#include "src/fabric/seam.h"

#endif
