/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain types of the fabric contract. Users include fabric.h, whose head holds the rules.
 */
#ifndef SRC_FABRIC_TYPES_H
#define SRC_FABRIC_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/fabric/caps.h"
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
typedef struct {
    uint32_t id;
} fabric_http; /* an HTTP end point */
typedef struct {
    uint32_t id;
} fabric_http_request;

#define FABRIC_NAME_MAX 64        /* names of devices and interfaces, with the final NUL */
#define FABRIC_ADDRESS_MAX 280    /* stream addresses, "HOST:PORT", with the final NUL */
#define FABRIC_PATH_MAX 256       /* storage and system-file paths, with the final NUL */
#define FABRIC_FOREVER UINT64_MAX /* a deadline that never comes */
/* ns that a revoked key is no key at all; longer than any request can be under way */
#define FABRIC_KEY_QUARANTINE UINT64_C(60000000000)
#define FABRIC_MAX_SGE 16 /* scatter/gather entries of one work request, at most */

/* ------------------------------------------------------------------ guarantees (HA-1.5) */

/* What may be relied upon. The simulator does the worst that these allow. A tear unit of 0 promises
 * nothing: any subset of the bytes may have landed. */
struct fabric_guarantees {
    fabric_caps caps;
    uint32_t write_tear_unit;     /* an RDMA WRITE tears only at multiples of this many bytes */
    uint32_t storage_tear_unit;   /* a write to storage tears only at multiples of this */
    uint32_t storage_align;       /* offset, length and buffer alignment of DIRECT storage I/O */
    uint64_t ack_timeout_floor;   /* ns; a shorter ACK time-out is silently this long; 0 = none */
    uint32_t ack_timeout_stretch; /* detection lies in [T, stretch * T]; the spec allows 4 */
    uint32_t iova_align; /* addr and iova of a region are equal modulo this (a power of two):
                          * devices map whole pages. 0 or 1: free */
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

/* Codes of the specification; bytes by fabric_mtu_bytes. */
enum fabric_mtu {
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
    char driver[32];  /* "mlx5", "rxe"; for people */
    fabric_caps caps; /* those that depend on the device: DC, RC, RD_ATOMIC, ... */
    uint8_t num_ports;
    uint8_t max_rd_atomic;      /* responder resources of one queue pair, at most */
    uint8_t max_init_rd_atomic; /* initiator depth of one queue pair, at most */
    uint8_t local_ca_ack_delay; /* 4.096 us * 2^n */
    uint32_t max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_srq, max_ah;
    uint32_t max_inline;
    uint64_t max_mr_size;
    uint64_t max_window_size; /* bytes of one window; 0: no windows */
    bool iwarp; /* an iWARP device: an RDMA READ sink would expose its key; refused by the stack */
};

struct fabric_port_attr {
    uint8_t port_num; /* from 1 */
    enum fabric_port_state state;
    enum fabric_link_layer link_layer;
    uint16_t lid;       /* meaningless before ACTIVE; 0 on Ethernet; usable 0x0001 to 0xBFFF */
    uint16_t sm_lid;    /* 0 = no subnet manager seen */
    uint8_t phys_state; /* PortPhysicalState: 2 polling, 3 disabled, 5 link up (vol. 1, PortInfo) */
    uint8_t sm_sl;
    uint8_t lmc; /* the port answers to 2^lmc LIDs from lid on */
    enum fabric_mtu max_mtu, active_mtu;
    uint32_t flags; /* set of enum fabric_port_flag */
    uint32_t gid_tbl_len, pkey_tbl_len;
    uint32_t active_speed_mbps; /* data rate of the link, Mbit/s */
    uint8_t active_width;       /* lanes: 1, 2, 4, 8, 12 */
    uint32_t capability_mask;   /* CapabilityMask of PortInfo; 0 on Ethernet */
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
    uint64_t ack_timeouts, seq_errors, rnr_retries; /* of the requesters of this port */
    uint64_t present; /* bit n: the nth member above, from 0, is counted here */
};
#define FABRIC_PORT_COUNTERS 18 /* how many there are */

/* What the kernel's DCB interface says of an Ethernet port (MK-G3). */
struct fabric_dcb {
    bool known;            /* false: the system would not say; the rest is zero */
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

/* As ibv_access_flags; REMOTE_WRITE needs LOCAL_WRITE. Local reading is always allowed. */
enum fabric_access {
    FABRIC_ACCESS_LOCAL_WRITE = 1,
    FABRIC_ACCESS_REMOTE_WRITE = 2,
    FABRIC_ACCESS_REMOTE_READ = 4,
};

struct fabric_mr_init {
    enum fabric_mem_kind kind;
    void *addr;      /* HOST: first byte; stays valid and mapped until mr_deregister returned */
    int dmabuf_fd;   /* DMABUF only */
    uint64_t length; /* 1 or more */
    uint64_t iova;   /* the address that keys refer to: chosen by the caller, so that host addresses
                      * are never given to peers; see iova_align. iova + length does not wrap */
    uint32_t access; /* set of enum fabric_access */
};

struct fabric_mr_keys {
    uint32_t lkey; /* the fabric's name of the region in entries of posts */
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

/* Where packets go (vol. 1, chapter 11.2.2.1 "address vector"). Made only by the builder, av.h. On
 * RoCE the backend finds the link address (MAC, VLAN) of dgid itself. */
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
    fabric_cq send_cq, recv_cq; /* a DCI has no receive side, a DCT no send side: ignored there */
    fabric_srq srq;             /* id 0: own receive queue; DCT requires one, DCI has none */
    uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
    uint32_t max_inline;
    bool sq_sig_all;        /* every send completes with an event of its own */
    uint64_t dc_access_key; /* DCT: what initiators must present */
    uint64_t cookie;        /* comes back in asynchronous events of this queue pair */
};

/* One transition. Offered are RESET to INIT, INIT to INIT, INIT to RTR, RTR to RTS, any but RESET
 * to ERR, any to RESET; a DCT goes RESET, INIT, RTR and nowhere else: it is destroyed instead.
 * `state` says which members are read: INIT: port_num, pkey_index, access (RC, DCT: what peers may
 * do; DCI: none) RTR:  path_mtu; RC: av, dest_qp_num, rq_psn, max_dest_rd_atomic, min_rnr_timer;
 * DCT: av (GRH use, source GID index, hop limit, traffic class: it has no single peer),
 * min_rnr_timer RTS:  sq_psn, timeout, retry_cnt, rnr_retry, max_rd_atomic ERR, RESET: none */
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
    uint8_t min_rnr_timer; /* code 0..31 of the RNR NAK timer field, vol. 1 chapter 9.7.5.2.8 */
    uint8_t timeout;       /* code 0..31: 4.096 us * 2^n; 0 = wait for ever */
    uint8_t retry_cnt;     /* 0..7; 7 is seven; more counts as 7 */
    uint8_t rnr_retry;     /* 0..7; 7 is without end; more counts as 7 */
};

struct fabric_qp_info {
    enum fabric_qp_state state;
    uint32_t qp_num;                         /* 24 bits; a DCT has it only after RTR, 0 before */
    uint32_t sq_outstanding, rq_outstanding; /* accepted posts not yet polled; 0 for an SRQ's */
};

struct fabric_sge {
    void *addr; /* a host address inside the registered region of lkey */
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
    FABRIC_SEND_SOLICITED = 4, /* travels with the message; means nothing to fabric_poll */
    FABRIC_SEND_INLINE = 8,    /* data is copied by the call */
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

/* One completion. With a status other than SUCCESS only wr_id, cq, qp, qp_num, status, vendor_err
 * and is_send hold (vol. 1, chapter 11.4.2.1). A flushed request may have been carried out wholly,
 * partly or not at all: the flush says only that nobody will know. */
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
    uint32_t byte_len; /* receives (also _WITH_IMM: bytes written) and RDMA READs */
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

/* SRQ_LIMIT_REACHED is not promised: no limit can be set. Queue events stop when the queue's
 * destroy returned. After DEVICE_FATAL of a device no more of its events come, and its operations
 * return device_removed. */
struct fabric_async {
    enum fabric_async_type type;
    fabric_device device;
    uint8_t port_num; /* 0 unless the type is a port's */
    fabric_qp qp;     /* id 0 unless the type is a queue pair's */
    uint64_t cookie;  /* of the queue pair */
    fabric_cq cq;     /* CQ_ERR only */
    fabric_srq srq;   /* SRQ_ERR, SRQ_LIMIT_REACHED only */
    uint32_t raw;
};

/* ------------------------------------------------------------------ storage */

enum fabric_io_op {
    FABRIC_IO_OPEN,  /* path, flags -> file; buf, length: memory that its requests will move, which
                      * the fabric may prepare (large pages), or none. Not lent by this */
    FABRIC_IO_CLOSE, /* file; outstanding requests of it complete first */
    FABRIC_IO_READ,  /* file, buf, length, offset -> bytes read (short only at the end) */
    FABRIC_IO_WRITE, /* file, buf, length, offset -> bytes written (all or an error) */
    FABRIC_IO_FLUSH, /* file: what was complete when this was submitted is durable */
    FABRIC_IO_TRIM,  /* file, offset, length: contents become undefined or zero */
    FABRIC_IO_TRUNCATE, /* file, length */
    FABRIC_IO_SIZE,     /* file -> length, also of a block device */
    FABRIC_IO_MKDIR,    /* path */
    FABRIC_IO_UNLINK,   /* path; durable after SYNC_DIR of its folder */
    FABRIC_IO_RENAME,   /* path to path2, atomic; durable after SYNC_DIR of both folders */
    FABRIC_IO_SYNC_DIR, /* path: names in it are durable */
    FABRIC_IO_LIST,     /* path, buf, length -> names, each ending in NUL, sorted by byte value;
                         * too_large when they do not fit */
};

enum fabric_io_flag {
    FABRIC_IO_CREATE = 1,
    FABRIC_IO_EXCLUSIVE = 2, /* with CREATE: exists when there is one */
    FABRIC_IO_DIRECT = 4,    /* past the page cache; storage_align applies to offset, length, buf */
    FABRIC_IO_READ_ONLY = 8,
    /* busy while another file is open with it, in this process or another, and for a block device
     * while the system uses it (mounted) */
    FABRIC_IO_LOCK = 16,
    /* a wish: writes that are aligned as with DIRECT go past the page cache, all else through it */
    FABRIC_IO_DIRECT_WRITES = 32,
};

struct fabric_io {
    enum fabric_io_op op;
    uint64_t cookie; /* comes back in the completion */
    fabric_file file;
    const char *path, *path2; /* absolute; "/" is the top folder */
    uint32_t flags;           /* set of enum fabric_io_flag */
    void *buf;                /* lent until the completion was polled */
    uint64_t length, offset;
};

struct fabric_io_done {
    enum fabric_io_op op;
    uint64_t cookie;
    enum fabric_error error;
    fabric_file file;
    uint64_t length; /* as the operation's comment says */
};

/* ------------------------------------------------------------------ HTTP end point */

#define FABRIC_HTTP_METHOD_MAX 16        /* bytes, with the final NUL */
#define FABRIC_HTTP_PATH_MAX 1024        /* path and query, with the final NUL */
#define FABRIC_HTTP_TYPE_MAX 128         /* a Content-Type, with the final NUL */
#define FABRIC_HTTP_BODY_MAX (16u << 20) /* bytes of an answer */
#define FABRIC_HTTP_REQUESTS 64          /* unanswered ones of one end point, at most */

struct fabric_http_init {
    const char *address;            /* "IP:PORT"; port 0 picks one */
    const char *tls_cert, *tls_key; /* PEM files for HTTPS; both null: plain HTTP */
    uint64_t cookie;
};

struct fabric_http_answer {
    uint32_t status;  /* 200 to 599 */
    const char *type; /* Content-Type, printable ASCII; null only where there is no body */
    const void *body;
    size_t length;
};

/* ------------------------------------------------------------------ what poll returns */

enum fabric_event_type {
    FABRIC_EVENT_COMPLETION,     /* wc */
    FABRIC_EVENT_ASYNC,          /* async */
    FABRIC_EVENT_WINDOW_OPENED,  /* window: its key may be handed out, or error and no handle */
    FABRIC_EVENT_WINDOW_REVOKED, /* window: no access through its key can happen any more */
    FABRIC_EVENT_RESOLVED,       /* resolved: what became of a look-up */
    FABRIC_EVENT_ACCEPTED,       /* stream is new and may send; it came through stream.listener */
    FABRIC_EVENT_CONNECTED,      /* stream may now send */
    FABRIC_EVENT_READABLE, /* stream: bytes, or the end, came; receive until it gives 0 bytes */
    FABRIC_EVENT_WRITABLE, /* stream: room again after a short send */
    FABRIC_EVENT_CLOSED,  /* stream could not connect or broke, stream.error says why: close it. The
                           * last event of a stream; a clean end is told by stream_recv alone */
    FABRIC_EVENT_TIMER,   /* timer */
    FABRIC_EVENT_IO_DONE, /* io */
    FABRIC_EVENT_WOKEN,   /* fabric_wake was called, once or more often */
    FABRIC_EVENT_HTTP_REQUEST, /* http: one that http_reply must answer */
};

struct fabric_event {
    enum fabric_event_type type;
    uint64_t time; /* when the fabric saw it */
    union {
        struct fabric_wc wc;
        struct fabric_async async;
        struct {
            fabric_window window;
            fabric_device device;
            uint64_t cookie;
            uint32_t rkey;           /* OPENED without an error only */
            enum fabric_error error; /* OPENED only */
        } window;
        struct {
            fabric_device device;
            uint64_t cookie;
            enum fabric_error error; /* FABRIC_OK, unreachable, device_removed */
        } resolved;
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
        struct {
            fabric_http http;
            fabric_http_request request;
            uint64_t cookie;
            const char *method; /* "GET"; both live until http_reply or http_close returns */
            const char *path;   /* as sent, with the query: "/v1/status?pretty" */
        } http;
    } u;
};

/* ------------------------------------------------------------------ logging */

enum fabric_log_level {
    FABRIC_LOG_DEBUG,
    FABRIC_LOG_INFO,
    FABRIC_LOG_WARN,
    FABRIC_LOG_ERROR,
};

#endif
