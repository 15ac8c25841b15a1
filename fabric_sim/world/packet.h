/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One packet on a simulated wire: header fields as the specification names them (vol. 1, chapters
 * 7 to 9), payload by reference. Packets come from the net's pool and belong to whoever holds
 * them; net_free returns one.
 */
#ifndef FABRIC_SIM_WORLD_PACKET_H
#define FABRIC_SIM_WORLD_PACKET_H

#include "src/fabric/fabric.h"

struct mad; /* mad.h: a management datagram */
struct net_port;

/* BTH opcodes, vol. 1 table 38: transport in bits 7..5, operation in bits 4..0. */
enum bth_transport {
    BTH_RC = 0x00,
    BTH_UC = 0x20,
    BTH_RD = 0x40,
    BTH_UD = 0x60,
    BTH_CNP = 0x80,
    BTH_XRC = 0xa0,
    BTH_DC = 0xc0, /* vendor space; no public layout */
};

enum bth_operation {
    BTH_SEND_FIRST = 0x00,
    BTH_SEND_MIDDLE = 0x01,
    BTH_SEND_LAST = 0x02,
    BTH_SEND_LAST_IMM = 0x03,
    BTH_SEND_ONLY = 0x04,
    BTH_SEND_ONLY_IMM = 0x05,
    BTH_WRITE_FIRST = 0x06,
    BTH_WRITE_MIDDLE = 0x07,
    BTH_WRITE_LAST = 0x08,
    BTH_WRITE_LAST_IMM = 0x09,
    BTH_WRITE_ONLY = 0x0a,
    BTH_WRITE_ONLY_IMM = 0x0b,
    BTH_READ_REQUEST = 0x0c,
    BTH_READ_RESPONSE_FIRST = 0x0d,
    BTH_READ_RESPONSE_MIDDLE = 0x0e,
    BTH_READ_RESPONSE_LAST = 0x0f,
    BTH_READ_RESPONSE_ONLY = 0x10,
    BTH_ACKNOWLEDGE = 0x11,
    BTH_ATOMIC_ACKNOWLEDGE = 0x12,
    BTH_COMPARE_SWAP = 0x13,
    BTH_FETCH_ADD = 0x14,
    BTH_SEND_LAST_INV = 0x16,
    BTH_SEND_ONLY_INV = 0x17,
};

/* Bytes that several packets refer to. The owner keeps them until `users` is 0 or swaps in a copy
 * of its own (payload_detach) when the memory goes back to the program earlier. */
struct payload {
    const uint8_t *bytes;
    uint32_t length;
    uint32_t users; /* packets that refer to it, plus the owner */
    bool owned;     /* bytes were copied and are freed with it */
};

struct packet {
    struct packet *next; /* pool and queue link */

    /* LRH; on Ethernet dlid and slid are 0 and `is_global` holds. */
    uint16_t dlid, slid;
    uint8_t sl, vl;
    bool is_global;
    bool is_mad; /* management datagram on QP0 (VL15) or QP1 */
    uint8_t becn_fecn;
    uint16_t wire_bytes; /* not 0: headers, payload, ICRC, VCRC, what the link's rate counts */

    /* GRH */
    union fabric_gid sgid, dgid;
    uint32_t flow_label;
    uint8_t traffic_class, hop_limit;

    /* BTH */
    uint8_t opcode;
    bool solicited, ack_request;
    uint16_t pkey;
    uint32_t dest_qp; /* 24 bits */
    uint32_t psn;     /* 24 bits */

    /* Extended headers; which ones hold follows from the opcode. */
    uint64_t va;                /* RETH, AtomicETH */
    uint32_t rkey, dma_length;  /* RETH; rkey also IETH */
    uint64_t swap_add, compare; /* AtomicETH; AtomicAckETH in swap_add */
    uint32_t imm;
    uint8_t syndrome;      /* AETH */
    uint32_t msn;          /* AETH */
    uint32_t qkey, src_qp; /* DETH; src_qp also for DC */
    uint64_t dc_key;       /* DC */
    uint32_t srq;          /* XRCETH: 24 bits */

    /* Payload: payload_length bytes at payload->bytes + payload_offset; null when there is none. */
    struct payload *payload;
    uint32_t payload_offset;
    uint32_t payload_length;

    struct mad *mad; /* with is_mad; net_free frees it too: whoever keeps it sets null here */

    /* The net's own while it holds the packet. */
    struct net_port *hold; /* port whose buffer it occupies; null: none, or it was sent here */
    uint64_t waiting_since;
    uint32_t link_epoch; /* the link's when it went out: a link that went down loses it */
    uint16_t hold_blocks;
    uint8_t hold_vl;
};

#endif
