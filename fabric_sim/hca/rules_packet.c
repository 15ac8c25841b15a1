/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/rules.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"

#define UNKNOWN                                                                                    \
    {                                                                                              \
        "UNKNOWN", RULES_UNKNOWN, RULES_ONLY, .payload = false                                     \
    }

const struct rules_opcode rules_opcodes[32] = {
    [BTH_SEND_FIRST] = {"SEND_FIRST", RULES_SEND, RULES_FIRST, .payload = true},
    [BTH_SEND_MIDDLE] = {"SEND_MIDDLE", RULES_SEND, RULES_MIDDLE, .payload = true},
    [BTH_SEND_LAST] = {"SEND_LAST", RULES_SEND, RULES_LAST, .payload = true},
    [BTH_SEND_LAST_IMM] = {"SEND_LAST_IMM", RULES_SEND, RULES_LAST, .payload = true, .imm = true},
    [BTH_SEND_ONLY] = {"SEND_ONLY", RULES_SEND, RULES_ONLY, .payload = true},
    [BTH_SEND_ONLY_IMM] = {"SEND_ONLY_IMM", RULES_SEND, RULES_ONLY, .payload = true, .imm = true},
    [BTH_WRITE_FIRST] = {"RDMA_WRITE_FIRST", RULES_WRITE, RULES_FIRST, .payload = true,
                         .reth = true},
    [BTH_WRITE_MIDDLE] = {"RDMA_WRITE_MIDDLE", RULES_WRITE, RULES_MIDDLE, .payload = true},
    [BTH_WRITE_LAST] = {"RDMA_WRITE_LAST", RULES_WRITE, RULES_LAST, .payload = true},
    [BTH_WRITE_LAST_IMM] = {"RDMA_WRITE_LAST_IMM", RULES_WRITE, RULES_LAST, .payload = true,
                            .imm = true},
    [BTH_WRITE_ONLY] = {"RDMA_WRITE_ONLY", RULES_WRITE, RULES_ONLY, .payload = true, .reth = true},
    [BTH_WRITE_ONLY_IMM] = {"RDMA_WRITE_ONLY_IMM", RULES_WRITE, RULES_ONLY, .payload = true,
                            .reth = true, .imm = true},
    [BTH_READ_REQUEST] = {"RDMA_READ_REQUEST", RULES_READ, RULES_ONLY, .reth = true},
    [BTH_READ_RESPONSE_FIRST] = {"RDMA_READ_RESPONSE_FIRST", RULES_RESPONSE, RULES_FIRST,
                                 .payload = true, .aeth = true},
    [BTH_READ_RESPONSE_MIDDLE] = {"RDMA_READ_RESPONSE_MIDDLE", RULES_RESPONSE, RULES_MIDDLE,
                                  .payload = true},
    [BTH_READ_RESPONSE_LAST] = {"RDMA_READ_RESPONSE_LAST", RULES_RESPONSE, RULES_LAST,
                                .payload = true, .aeth = true},
    [BTH_READ_RESPONSE_ONLY] = {"RDMA_READ_RESPONSE_ONLY", RULES_RESPONSE, RULES_ONLY,
                                .payload = true, .aeth = true},
    [BTH_ACKNOWLEDGE] = {"ACKNOWLEDGE", RULES_RESPONSE, RULES_ONLY, .aeth = true},
    [BTH_ATOMIC_ACKNOWLEDGE] = {"ATOMIC_ACKNOWLEDGE", RULES_RESPONSE, RULES_ONLY, .aeth = true,
                                .atomic_ack_eth = true},
    [BTH_COMPARE_SWAP] = {"COMPARE_SWAP", RULES_ATOMIC, RULES_ONLY, .atomic_eth = true},
    [BTH_FETCH_ADD] = {"FETCH_ADD", RULES_ATOMIC, RULES_ONLY, .atomic_eth = true},
    [0x15] = UNKNOWN,
    [BTH_SEND_LAST_INV] = {"SEND_LAST_INV", RULES_SEND, RULES_LAST, .payload = true, .ieth = true},
    [BTH_SEND_ONLY_INV] = {"SEND_ONLY_INV", RULES_SEND, RULES_ONLY, .payload = true, .ieth = true},
    [0x18] = UNKNOWN,
    [0x19] = UNKNOWN,
    [0x1a] = UNKNOWN,
    [0x1b] = UNKNOWN,
    [0x1c] = UNKNOWN,
    [0x1d] = UNKNOWN,
    [DC_CONNECT] = {"CONNECT", RULES_UNKNOWN, RULES_ONLY, .payload = false},
    [DC_DISCONNECT] = {"DISCONNECT", RULES_UNKNOWN, RULES_ONLY, .payload = false},
};

const char *rules_transport_name(uint8_t bth_opcode)
{
    switch (bth_opcode & 0xe0) {
    case BTH_RC:
        return "RC";
    case BTH_UC:
        return "UC";
    case BTH_RD:
        return "RD";
    case BTH_UD:
        return "UD";
    case BTH_XRC:
        return "XRC";
    case BTH_DC:
        return "DC";
    default:
        return "CNP";
    }
}

uint32_t rules_packet_count(uint64_t length, uint32_t mtu)
{
    assert(mtu >= 256);
    if (length <= mtu)
        return 1;
    uint64_t count = (length + (PLANTED(hca_empty_last_packet) ? mtu : mtu - 1)) / mtu;
    assert(count <= UINT32_MAX);
    return (uint32_t)count;
}

uint32_t rules_psn_span(enum hca_wr_opcode opcode, uint64_t length, uint32_t mtu)
{
    bool atomic = rules_is_read_or_atomic(opcode) && opcode != HCA_WR_RDMA_READ;
    return atomic ? 1 : rules_packet_count(length, mtu);
}

bool rules_pkey(uint16_t local, uint16_t packet)
{
    if (PLANTED(hca_pkey_limited_pair))
        return fabric_pkey_same_partition(local, packet);
    if (PLANTED(hca_pkey_unchecked))
        return true;
    return fabric_pkey_match(local, packet);
}

bool rules_grh(bool av_global, bool packet_global)
{
    if (PLANTED(hca_grh_unchecked))
        return true;
    return av_global == packet_global;
}

/* Chapter 4.1.1: every InfiniBand port is also known by the default prefix, whatever prefix the
 * subnet has. */
bool rules_gid(const union fabric_gid *known, const union fabric_gid *packet, bool infiniband)
{
    static const uint8_t default_prefix[8] = {0xfe, 0x80};
    if (memcmp(known, packet, sizeof(*known)) == 0)
        return true;
    if (!infiniband || PLANTED(hca_default_prefix_refused))
        return false;
    return memcmp(packet->raw, default_prefix, sizeof(default_prefix)) == 0 &&
           memcmp(known->raw + 8, packet->raw + 8, 8) == 0;
}

bool rules_slid(uint16_t av_dlid, uint16_t packet_slid)
{
    if (PLANTED(hca_slid_unchecked))
        return true;
    return av_dlid == packet_slid;
}

bool rules_dlid(const struct port_info *port, uint16_t dlid)
{
    assert(port && port->lmc <= 7);
    if (PLANTED(hca_dlid_unchecked))
        return true;
    uint16_t mask = (uint16_t)(0xffffu << port->lmc);
    return port->lid != 0 && (dlid & mask) == (port->lid & mask);
}

bool rules_payload_length(uint8_t place, uint32_t length, uint32_t mtu)
{
    assert(place >= RULES_FIRST && place <= (RULES_ONLY | RULES_MIDDLE));
    if (PLANTED(hca_path_mtu_unchecked))
        return true;
    if (place == RULES_ONLY)
        return length <= mtu;
    if (place == RULES_LAST)
        return length >= 1 && length <= mtu;
    return PLANTED(hca_smaller_path_mtu_passes) ? length <= mtu : length == mtu;
}

bool rules_sequence(uint8_t previous, uint8_t operation)
{
    const struct rules_opcode *now = rules_opcode(operation);
    bool starts = (now->place & RULES_FIRST) != 0;
    if (previous == 255)
        return starts;
    const struct rules_opcode *was = rules_opcode(previous);
    assert(was->place == RULES_FIRST || was->place == RULES_MIDDLE);
    return !starts && now->kind == was->kind;
}

bool rules_key_allows(const struct rules_key *key, uint32_t pd, uint64_t addr, uint64_t length,
                      uint32_t access)
{
    assert(key);
    if (key->pd != pd && !PLANTED(hca_pd_unchecked))
        return false;
    if ((key->access & access) != access && !PLANTED(hca_access_unchecked))
        return false;
    if (PLANTED(hca_bounds_unchecked))
        return true;
    return addr >= key->iova && addr - key->iova <= key->length &&
           length <= key->length - (addr - key->iova);
}

uint32_t rules_remote_access(enum rules_kind kind)
{
    switch (kind) {
    case RULES_WRITE:
        return HCA_ACCESS_REMOTE_WRITE;
    case RULES_READ:
        return HCA_ACCESS_REMOTE_READ;
    case RULES_ATOMIC:
        return HCA_ACCESS_REMOTE_ATOMIC;
    case RULES_SEND:
    case RULES_RESPONSE:
    case RULES_UNKNOWN:
        break;
    }
    return 0;
}

uint64_t rules_atomic(uint8_t bth_operation, uint64_t value, uint64_t compare, uint64_t swap_add)
{
    assert(bth_operation == BTH_COMPARE_SWAP || bth_operation == BTH_FETCH_ADD);
    if (bth_operation == BTH_FETCH_ADD)
        return value + swap_add;
    if (PLANTED(hca_atomic_always_swaps))
        return swap_add;
    return value == compare ? swap_add : value;
}

enum fabric_wc_status rules_nak_status(enum rules_nak nak)
{
    switch (nak) {
    case RULES_NAK_INVALID_REQUEST:
        return PLANTED(hca_nak_confused) ? FABRIC_WC_REM_OP_ERR : FABRIC_WC_REM_INV_REQ_ERR;
    case RULES_NAK_REMOTE_ACCESS:
        return FABRIC_WC_REM_ACCESS_ERR;
    case RULES_NAK_REMOTE_OPERATION:
        return FABRIC_WC_REM_OP_ERR;
    case RULES_NAK_PSN_SEQUENCE:
        break;
    }
    return FABRIC_WC_BAD_RESP_ERR;
}

uint64_t rules_rnr_timer(uint8_t code)
{
    /* in units of 10 us */
    static const uint32_t table[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                       16,    24,   32,   48,    64,    96,    128,   192,
                                       256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                       4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};
    assert(code < 32);
    return table[code] * UINT64_C(10000);
}

uint64_t rules_ack_timeout(uint8_t code, uint8_t floor_code)
{
    assert(code < 32 && floor_code < 32);
    if (code == 0 && !PLANTED(hca_timeout_zero))
        return 0;
    if (code < floor_code && !PLANTED(hca_timeout_floor))
        code = floor_code;
    return UINT64_C(4096) << code;
}

bool rules_rnr_endless(uint8_t rnr_retry)
{
    return rnr_retry == 7 && !PLANTED(hca_rnr_retry_seven);
}

enum hca_wc_opcode rules_wc_opcode(enum hca_wr_opcode opcode)
{
    switch (opcode) {
    case HCA_WR_SEND:
    case HCA_WR_SEND_WITH_IMM:
    case HCA_WR_SEND_WITH_INV:
        return HCA_WC_SEND;
    case HCA_WR_BIND_MW:
        return HCA_WC_BIND_MW;
    case HCA_WR_LOCAL_INV:
        return HCA_WC_LOCAL_INV;
    case HCA_WR_RDMA_WRITE:
    case HCA_WR_RDMA_WRITE_WITH_IMM:
        return HCA_WC_RDMA_WRITE;
    case HCA_WR_RDMA_READ:
        return HCA_WC_RDMA_READ;
    case HCA_WR_ATOMIC_CMP_AND_SWP:
        return HCA_WC_COMP_SWAP;
    case HCA_WR_ATOMIC_FETCH_AND_ADD:
        break;
    }
    return HCA_WC_FETCH_ADD;
}
