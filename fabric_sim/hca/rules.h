/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the transports as pure functions on plain structures: no memory, no time, no state
 * of their own. Chapters are those of the InfiniBand specification, vol. 1.
 */
#ifndef FABRIC_SIM_HCA_RULES_H
#define FABRIC_SIM_HCA_RULES_H

#include <assert.h>

#include "fabric_sim/hca/hca.h"
#include "src/fabric/planted.h"

/* ---- queue pair states (chapter 10.3.1, tables 91 to 97 "QP state transition properties") */

/* False: there is no such transition for this type. HCA_QP_STATE is in neither set. */
bool rules_qp_transition(enum hca_qp_type type, enum fabric_qp_state from, enum fabric_qp_state to,
                         uint32_t *required, uint32_t *optional);

struct rules_limits { /* what the device bounds */
    uint8_t ports;
    uint8_t max_rd_atomic, max_init_rd_atomic;
    bool rtr_mtu_checked;
};

/* Judges one modify of a queue pair in state `from`. `port` is the port it ends on: that of the
 * attributes with HCA_QP_PORT, else its present one; null when that does not exist. */
enum fabric_error rules_qp_modify(enum hca_qp_type type, enum fabric_qp_state from,
                                  const struct hca_qp_attr *attr, uint32_t mask,
                                  const struct rules_limits *limits, const struct port_info *port);

/* Address vector on its own: for modify and address handles. */
enum fabric_error rules_av(const struct fabric_av *av, const struct port_info *port);

/* ---- posting (chapter 10.8.2, table 90 "allowed operations per transport") */
bool rules_send_opcode(enum hca_qp_type type, enum hca_wr_opcode opcode);
bool rules_may_post_send(enum hca_qp_type type, enum fabric_qp_state state);
bool rules_may_post_recv(enum hca_qp_type type, enum fabric_qp_state state, bool has_srq);
bool rules_is_read_or_atomic(enum hca_wr_opcode opcode);
bool rules_is_local(enum hca_wr_opcode opcode); /* the device does it alone, without a packet */

/* ---- packet sequence numbers (chapter 9.7.1: 24 bits, half of them ahead) */
#define RULES_PSN_MASK 0xffffffu
static inline int32_t rules_psn_diff(uint32_t a, uint32_t b) /* a - b */
{
    assert(a <= RULES_PSN_MASK && b <= RULES_PSN_MASK);
    if (PLANTED(hca_psn_never_wraps))
        return (int32_t)a - (int32_t)b;
    int32_t diff = (int32_t)((a - b) & RULES_PSN_MASK);
    return diff >= 0x800000 ? diff - 0x1000000 : diff;
}
static inline uint32_t rules_psn_add(uint32_t psn, uint32_t n)
{
    return (psn + n) & RULES_PSN_MASK;
}
uint32_t rules_packet_count(uint64_t length, uint32_t mtu); /* 1 for an empty message */
/* PSNs that a request takes: of its packets, or of the responses to a READ. */
uint32_t rules_psn_span(enum hca_wr_opcode opcode, uint64_t length, uint32_t mtu);

/* ---- what arrives (chapter 9.6) */
bool rules_pkey(uint16_t local, uint16_t packet);   /* chapters 9.6.1.2.3, 10.9.3 */
bool rules_grh(bool av_global, bool packet_global); /* chapter 9.6.1.2.3 */
bool rules_gid(const union fabric_gid *known, const union fabric_gid *packet, bool infiniband);
bool rules_slid(uint16_t av_dlid, uint16_t packet_slid);      /* chapter 9.6.1.5 */
bool rules_dlid(const struct port_info *port, uint16_t dlid); /* chapter 7.11, LMC */

enum rules_place { /* which packet of its message an opcode names */
                   RULES_FIRST = 1,
                   RULES_MIDDLE = 2,
                   RULES_LAST = 4,
                   RULES_ONLY = RULES_FIRST | RULES_LAST,
};
enum rules_kind {
    RULES_SEND,
    RULES_WRITE,
    RULES_READ,
    RULES_ATOMIC,
    RULES_RESPONSE, /* everything that goes to the requester */
    RULES_UNKNOWN,
};
/* DC has no public layout; these operations set the responder of an initiator up and down. */
enum dc_operation { DC_CONNECT = 0x1e, DC_DISCONNECT = 0x1f };

struct rules_opcode {
    const char *name; /* "SEND_ONLY"; never null */
    uint8_t kind;     /* enum rules_kind */
    uint8_t place;    /* enum rules_place */
    bool imm, ieth, payload, reth, aeth, atomic_eth, atomic_ack_eth;
};
extern const struct rules_opcode rules_opcodes[32];
static inline const struct rules_opcode *rules_opcode(uint8_t bth_opcode) /* low 5 bits */
{
    return &rules_opcodes[bth_opcode & 0x1f];
}
const char *rules_transport_name(uint8_t bth_opcode); /* by its high 3 bits */

/* Chapter 9.7.4.1.6: first and middle packets carry exactly a path MTU, last ones 1 to a path MTU,
 * only ones up to it. */
bool rules_payload_length(uint8_t place, uint32_t length, uint32_t mtu);
/* Chapter 9.7.4.1.2: whether an operation may follow `previous` (255: no message under way). */
bool rules_sequence(uint8_t previous, uint8_t operation);

/* ---- memory keys (chapters 10.6.3, 9.4.1, 9.7.5.2.4) */
struct rules_key {
    uint64_t iova, length;
    uint32_t pd, access;
};
bool rules_key_allows(const struct rules_key *key, uint32_t pd, uint64_t addr, uint64_t length,
                      uint32_t access);
/* What a remote operation needs of a key, and of the queue pair (chapter 10.2.6 access flags). */
uint32_t rules_remote_access(enum rules_kind kind);

/* ---- atomics (chapter 9.4.5) */
uint64_t rules_atomic(uint8_t bth_operation, uint64_t value, uint64_t compare, uint64_t swap_add);

/* How many READs and atomics a responder may have unanswered (chapter 9.4.1): as the queue pair's
 * attribute says where the device holds to it, else as many as the device can. Only a limit: the
 * attribute may change while some are in use. */
uint32_t rules_responder_depth(enum hca_qp_type type, fabric_caps caps, uint8_t max_dest_rd_atomic,
                               uint8_t device_max);

/* ---- acknowledgement syndromes (chapter 9.7.5.2, tables 43 to 46) */
#define RULES_ACK 0x1fu /* bits 4..0: no end-to-end credits are kept */
#define RULES_RNR_NAK 0x20u
#define RULES_NAK 0x60u
#define RULES_SYNDROME_KIND 0x60u
enum rules_nak {
    RULES_NAK_PSN_SEQUENCE = 0,
    RULES_NAK_INVALID_REQUEST = 1,
    RULES_NAK_REMOTE_ACCESS = 2,
    RULES_NAK_REMOTE_OPERATION = 3,
};
enum fabric_wc_status rules_nak_status(enum rules_nak nak); /* not for PSN_SEQUENCE */

/* ---- timers */
uint64_t rules_rnr_timer(uint8_t code); /* ns; chapter 9.7.5.2.8, table 45 */
/* T in ns (chapter 9.7.6.1.3): 4.096 us * 2^code, code raised to the device's floor; 0 = never. */
uint64_t rules_ack_timeout(uint8_t code, uint8_t floor_code);
/* Retry counters: 7 is seven for retry_cnt (chapter 9.9.2.1.1) and endless for rnr_retry. */
bool rules_rnr_endless(uint8_t rnr_retry);

/* ---- completions */
enum hca_wc_opcode rules_wc_opcode(enum hca_wr_opcode opcode);
/* The state that a send-side error leads to (chapter 10.3.1, SQE for UD, ERR otherwise). */
enum fabric_qp_state rules_error_state(enum hca_qp_type type);

/* ---- asynchronous port events from old and new attributes (chapter 11.6.3.2) */
#define RULES_MAX_EVENTS 8
struct rules_event_profile {
    bool port_err_on_init;
    bool sm_change;
};
/* Writes the types to raise, in order, and returns how many. `variant` chooses one of the orders
 * that real link-ups show: PORT_ERR first, ACTIVE last, the rest in any. */
size_t rules_port_events(const struct rules_event_profile *profile, const struct port_info *before,
                         const struct port_info *after, uint64_t variant,
                         enum fabric_async_type out[RULES_MAX_EVENTS]);

#endif
