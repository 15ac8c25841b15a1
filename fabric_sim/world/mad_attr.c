/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of the subnet-management classes, offsets as in chapter 14.2.5. */
#include <assert.h>
#include <string.h>

#include "fabric_sim/world/bytes.h"
#include "fabric_sim/world/mad.h"
#include "src/fabric/planted.h"

static uint8_t high4(uint8_t byte)
{
    return byte >> 4;
}

static uint8_t low(uint8_t byte, unsigned bits)
{
    return (uint8_t)(byte & ((1u << bits) - 1));
}

/* Two fields in one byte, the second one `bits` wide. */
static uint8_t join(uint8_t first, uint8_t second, unsigned bits)
{
    assert(first < 1u << (8 - bits) && second < 1u << bits);
    return (uint8_t)(first << bits | second);
}

void mad_node_info_encode(uint8_t *data, const struct mad_node_info *info)
{
    assert(info->node_type >= MAD_NODE_CA && info->node_type <= MAD_NODE_ROUTER);
    assert(info->local_port_num <= info->num_ports);
    memset(data, 0, MAD_SMP_DATA);
    data[0] = 1; /* BaseVersion */
    data[1] = 1; /* ClassVersion */
    data[2] = info->node_type;
    data[3] = info->num_ports;
    bytes_put64(data + 4, info->system_image_guid);
    bytes_put64(data + 12, info->node_guid);
    bytes_put64(data + 20, info->port_guid);
    bytes_put16(data + 28, info->partition_cap);
    bytes_put16(data + 30, info->device_id);
    bytes_put32(data + 32, info->revision);
    data[36] = info->local_port_num;
    bytes_put24(data + 37, info->vendor_id);
}

void mad_node_info_decode(const uint8_t *data, struct mad_node_info *info)
{
    info->node_type = data[2];
    info->num_ports = data[3];
    info->system_image_guid = bytes_get64(data + 4);
    info->node_guid = bytes_get64(data + 12);
    info->port_guid = bytes_get64(data + 20);
    info->partition_cap = bytes_get16(data + 28);
    info->device_id = bytes_get16(data + 30);
    info->revision = bytes_get32(data + 32);
    info->local_port_num = data[36];
    info->vendor_id = bytes_get24(data + 37);
}

/* Bytes 0 to 37 of PortInfo: identity and link. */
static void encode_port_link(uint8_t *data, const struct mad_port_info *info)
{
    bytes_put64(data, info->m_key);
    bytes_put64(data + 8, info->gid_prefix);
    bytes_put16(data + 16, info->lid);
    bytes_put16(data + 18, info->master_sm_lid);
    bytes_put32(data + 20, info->capability_mask);
    bytes_put16(data + 24, info->diag_code);
    bytes_put16(data + 26, info->m_key_lease_period);
    data[28] = info->local_port_num;
    data[29] = info->link_width_enabled;
    data[30] = info->link_width_supported;
    data[31] = info->link_width_active;
    data[32] = join(info->link_speed_supported, info->port_state, 4);
    data[33] = join(info->port_phys_state, info->link_down_default_state, 4);
    data[34] = (uint8_t)(info->m_key_protect_bits << 6 | info->lmc);
    data[35] = join(info->link_speed_active, info->link_speed_enabled, 4);
    data[36] = join(info->neighbor_mtu, info->master_sm_sl, 4);
    data[37] = join(info->vl_cap, info->init_type, 4);
}

void mad_port_info_encode(uint8_t *data, const struct mad_port_info *info)
{
    assert(info->oper_vls < 16 && info->subnet_timeout < 32);
    memset(data, 0, MAD_SMP_DATA);
    assert(info->lmc < 8 && info->m_key_protect_bits < 4);
    encode_port_link(data, info);
    data[38] = info->vl_high_limit;
    data[39] = info->vl_arb_high_cap;
    data[40] = info->vl_arb_low_cap;
    data[41] = join(info->init_type_reply, info->mtu_cap, 4);
    data[42] = join(info->vl_stall_count, info->hoq_life, 5);
    data[43] = (uint8_t)(info->oper_vls << 4 | info->partition_enforce_in << 3 |
                         info->partition_enforce_out << 2 | info->filter_raw_in << 1 |
                         info->filter_raw_out);
    bytes_put16(data + 44, info->m_key_violations);
    bytes_put16(data + 46, info->p_key_violations);
    bytes_put16(data + 48, info->q_key_violations);
    data[50] = info->guid_cap;
    data[51] = (uint8_t)(info->client_reregister << 7 | low(info->subnet_timeout, 5));
    data[52] = low(info->resp_time_value, 5);
    data[53] = join(info->local_phy_errors, info->overrun_errors, 4);
    bytes_put16(data + 54, info->max_credit_hint);
    bytes_put24(data + 57, info->link_round_trip_latency);
    bytes_put16(data + 60, info->capability_mask2);
    data[62] = join(info->link_speed_ext_active, info->link_speed_ext_supported, 4);
    data[63] = low(info->link_speed_ext_enabled, 5);
}

static void decode_port_link(const uint8_t *data, struct mad_port_info *info)
{
    info->m_key = bytes_get64(data);
    info->gid_prefix = bytes_get64(data + 8);
    info->lid = bytes_get16(data + 16);
    info->master_sm_lid = bytes_get16(data + 18);
    info->capability_mask = bytes_get32(data + 20);
    info->diag_code = bytes_get16(data + 24);
    info->m_key_lease_period = bytes_get16(data + 26);
    info->local_port_num = data[28];
    info->link_width_enabled = data[29];
    info->link_width_supported = data[30];
    info->link_width_active = data[31];
    info->link_speed_supported = high4(data[32]);
    info->port_state = low(data[32], 4);
    info->port_phys_state = high4(data[33]);
    info->link_down_default_state = low(data[33], 4);
    info->m_key_protect_bits = data[34] >> 6;
    info->lmc = low(data[34], 3);
    info->link_speed_active = high4(data[35]);
    info->link_speed_enabled = low(data[35], 4);
    info->neighbor_mtu = high4(data[36]);
    info->master_sm_sl = low(data[36], 4);
    info->vl_cap = high4(data[37]);
    info->init_type = low(data[37], 4);
}

void mad_port_info_decode(const uint8_t *data, struct mad_port_info *info)
{
    decode_port_link(data, info);
    info->vl_high_limit = data[38];
    info->vl_arb_high_cap = data[39];
    info->vl_arb_low_cap = data[40];
    info->init_type_reply = high4(data[41]);
    info->mtu_cap = low(data[41], 4);
    info->vl_stall_count = data[42] >> 5;
    info->hoq_life = low(data[42], 5);
    info->oper_vls = high4(data[43]);
    info->partition_enforce_in = (data[43] & 8) != 0;
    info->partition_enforce_out = (data[43] & 4) != 0;
    info->filter_raw_in = (data[43] & 2) != 0;
    info->filter_raw_out = (data[43] & 1) != 0;
    info->m_key_violations = bytes_get16(data + 44);
    info->p_key_violations = bytes_get16(data + 46);
    info->q_key_violations = bytes_get16(data + 48);
    info->guid_cap = data[50];
    info->client_reregister = data[51] >> 7;
    info->subnet_timeout = low(data[51], 5);
    info->resp_time_value = low(data[52], 5);
    info->local_phy_errors = high4(data[53]);
    info->overrun_errors = low(data[53], 4);
    info->max_credit_hint = bytes_get16(data + 54);
    info->link_round_trip_latency = bytes_get24(data + 57);
    info->capability_mask2 = bytes_get16(data + 60);
    info->link_speed_ext_active = high4(data[62]);
    info->link_speed_ext_supported = low(data[62], 4);
    info->link_speed_ext_enabled = low(data[63], 5);
}

void mad_switch_info_encode(uint8_t *data, const struct mad_switch_info *info)
{
    assert(info->life_time_value < 32 && info->optimized_sl_to_vl < 4);
    memset(data, 0, MAD_SMP_DATA);
    bytes_put16(data, info->linear_fdb_cap);
    bytes_put16(data + 2, info->random_fdb_cap);
    bytes_put16(data + 4, info->multicast_fdb_cap);
    bytes_put16(data + 6, info->linear_fdb_top);
    data[8] = info->default_port;
    data[9] = info->default_mcast_primary;
    data[10] = info->default_mcast_not_primary;
    data[11] = (uint8_t)(info->life_time_value << 3 | info->port_state_change << 2 |
                         info->optimized_sl_to_vl);
    bytes_put16(data + 12, info->lids_per_port);
    bytes_put16(data + 14, info->partition_enforcement_cap);
    data[16] = (uint8_t)(info->inbound_enforcement << 7 | info->outbound_enforcement << 6 |
                         info->filter_raw_inbound << 5 | info->filter_raw_outbound << 4 |
                         info->enhanced_port0 << 3);
    bytes_put16(data + 18, info->multicast_fdb_top);
}

void mad_switch_info_decode(const uint8_t *data, struct mad_switch_info *info)
{
    info->linear_fdb_cap = bytes_get16(data);
    info->random_fdb_cap = bytes_get16(data + 2);
    info->multicast_fdb_cap = bytes_get16(data + 4);
    info->linear_fdb_top = bytes_get16(data + 6);
    info->default_port = data[8];
    info->default_mcast_primary = data[9];
    info->default_mcast_not_primary = data[10];
    info->life_time_value = data[11] >> 3;
    info->port_state_change = (data[11] & 4) != 0;
    info->optimized_sl_to_vl = low(data[11], 2);
    info->lids_per_port = bytes_get16(data + 12);
    info->partition_enforcement_cap = bytes_get16(data + 14);
    info->inbound_enforcement = (data[16] & 0x80) != 0;
    info->outbound_enforcement = (data[16] & 0x40) != 0;
    info->filter_raw_inbound = (data[16] & 0x20) != 0;
    info->filter_raw_outbound = (data[16] & 0x10) != 0;
    info->enhanced_port0 = (data[16] & 0x08) != 0;
    info->multicast_fdb_top = bytes_get16(data + 18);
}

void mad_sm_info_encode(uint8_t *data, const struct mad_sm_info *info)
{
    memset(data, 0, MAD_SMP_DATA);
    bytes_put64(data, info->guid);
    bytes_put64(data + 8, info->sm_key);
    bytes_put32(data + 16, info->act_count);
    data[20] = join(info->priority, info->state, 4);
}

void mad_sm_info_decode(const uint8_t *data, struct mad_sm_info *info)
{
    info->guid = bytes_get64(data);
    info->sm_key = bytes_get64(data + 8);
    info->act_count = bytes_get32(data + 16);
    info->priority = high4(data[20]);
    info->state = low(data[20], 4);
}

static bool is_key_trap(uint16_t trap)
{
    return trap == MAD_TRAP_BAD_PKEY || trap == MAD_TRAP_BAD_QKEY;
}

/* DataDetails of traps 257, 258 (table 139) and 259. */
static void encode_violation(uint8_t *data, const struct mad_notice *notice)
{
    bool by_switch = notice->trap_number == MAD_TRAP_SWITCH_BAD_PKEY;
    uint8_t *at = data + (by_switch ? 18 : 20); /* SL and QP1; 259 has a 16 bit key before them */

    assert(notice->qp1 < 1u << 24 && notice->qp2 < 1u << 24 && notice->sl < 16);
    bytes_put16(data + 12, notice->lid1);
    bytes_put16(data + 14, notice->lid2);
    if (by_switch)
        bytes_put16(data + 16, (uint16_t)notice->key);
    else
        bytes_put32(data + 16, notice->key);
    bytes_put32(at, (uint32_t)notice->sl << 28 | notice->qp1);
    bytes_put24(at + 5, notice->qp2);
    memcpy(at + 8, notice->gid1, 16);
    memcpy(at + 24, notice->gid2, 16);
    if (!by_switch)
        return;
    bytes_put16(data + 10, 0xF000); /* DataValid: LIDs, P_Key and queue pairs are given */
    bytes_put16(at + 40, notice->switch_lid);
    at[42] = notice->port_num;
}

/* DataDetails of trap 256: what the datagram with the wrong M_Key was. */
static void encode_bad_mkey(uint8_t *data, const struct mad_notice *notice)
{
    assert(notice->path_hops <= sizeof notice->return_path);
    bytes_put16(data + 12, notice->lid1);
    bytes_put16(data + 14, notice->dr_slid);
    data[16] = notice->method;
    bytes_put16(data + 18, notice->attribute);
    bytes_put32(data + 20, notice->modifier);
    bytes_put64(data + 24, notice->m_key);
    data[33] =
        (uint8_t)(notice->is_directed << 7 | notice->path_truncated << 6 | notice->path_hops);
    memcpy(data + 34, notice->return_path, notice->path_hops);
}

static void decode_bad_mkey(const uint8_t *data, struct mad_notice *notice)
{
    notice->lid1 = bytes_get16(data + 12);
    notice->dr_slid = bytes_get16(data + 14);
    notice->method = data[16];
    notice->attribute = bytes_get16(data + 18);
    notice->modifier = bytes_get32(data + 20);
    notice->m_key = bytes_get64(data + 24);
    notice->is_directed = (data[33] & 0x80) != 0;
    notice->path_truncated = (data[33] & 0x40) != 0;
    notice->path_hops = low(data[33], 6);
    if (notice->path_hops > sizeof notice->return_path)
        notice->path_hops = sizeof notice->return_path;
    memcpy(notice->return_path, data + 34, notice->path_hops);
}

void mad_notice_encode(uint8_t *data, const struct mad_notice *notice)
{
    assert(notice->type < 0x80 && notice->producer_type < 1u << 24);
    assert(notice->count < 0x8000);
    memset(data, 0, MAD_SMP_DATA);
    data[0] = (uint8_t)(0x80 | notice->type); /* generic */
    bytes_put24(data + 1, notice->producer_type);
    bytes_put16(data + 4, notice->trap_number);
    bytes_put16(data + 6, notice->issuer_lid);
    bytes_put16(data + 8, (uint16_t)(notice->toggle << 15 | notice->count));
    if (notice->trap_number == MAD_TRAP_LINK_STATE) {
        bytes_put16(data + 10, notice->lid1);
    } else if (notice->trap_number == MAD_TRAP_CAPABILITY) {
        bytes_put16(data + 12, notice->lid1);
        bytes_put32(data + 16, notice->capability_mask);
    } else if (notice->trap_number == MAD_TRAP_BAD_MKEY) {
        encode_bad_mkey(data, notice);
    } else if (is_key_trap(notice->trap_number) ||
               notice->trap_number == MAD_TRAP_SWITCH_BAD_PKEY) {
        encode_violation(data, notice);
    }
}

static void decode_violation(const uint8_t *data, struct mad_notice *notice)
{
    bool by_switch = notice->trap_number == MAD_TRAP_SWITCH_BAD_PKEY;
    const uint8_t *at = data + (by_switch ? 18 : 20);

    notice->lid1 = bytes_get16(data + 12);
    notice->lid2 = bytes_get16(data + 14);
    notice->key = by_switch ? bytes_get16(data + 16) : bytes_get32(data + 16);
    notice->sl = high4(at[0]);
    notice->qp1 = bytes_get24(at + 1);
    notice->qp2 = bytes_get24(at + 5);
    memcpy(notice->gid1, at + 8, 16);
    memcpy(notice->gid2, at + 24, 16);
    if (!by_switch)
        return;
    notice->switch_lid = bytes_get16(at + 40);
    notice->port_num = at[42];
}

void mad_notice_decode(const uint8_t *data, struct mad_notice *notice)
{
    memset(notice, 0, sizeof *notice);
    notice->type = low(data[0], 7);
    notice->producer_type = bytes_get24(data + 1);
    notice->trap_number = bytes_get16(data + 4);
    notice->issuer_lid = bytes_get16(data + 6);
    notice->toggle = (data[8] & 0x80) != 0;
    notice->count = (uint16_t)(bytes_get16(data + 8) & 0x7FFF);
    if (notice->trap_number == MAD_TRAP_LINK_STATE) {
        notice->lid1 = bytes_get16(data + 10);
    } else if (notice->trap_number == MAD_TRAP_CAPABILITY) {
        notice->lid1 = bytes_get16(data + 12);
        notice->capability_mask = bytes_get32(data + 16);
    } else if (notice->trap_number == MAD_TRAP_BAD_MKEY) {
        decode_bad_mkey(data, notice);
    } else if (is_key_trap(notice->trap_number) ||
               notice->trap_number == MAD_TRAP_SWITCH_BAD_PKEY) {
        decode_violation(data, notice);
    }
}

void mad_pkeys_encode(uint8_t *data, const uint16_t *pkeys)
{
    for (size_t i = 0; i < MAD_PKEYS_PER_BLOCK; i++)
        bytes_put16(data + 2 * i, pkeys[i]);
}

void mad_pkeys_decode(const uint8_t *data, uint16_t *pkeys)
{
    for (size_t i = 0; i < MAD_PKEYS_PER_BLOCK; i++)
        pkeys[i] = bytes_get16(data + 2 * i);
}

void mad_guids_encode(uint8_t *data, const uint64_t *guids)
{
    for (size_t i = 0; i < MAD_GUIDS_PER_BLOCK; i++)
        bytes_put64(data + 8 * i, guids[i]);
}

void mad_guids_decode(const uint8_t *data, uint64_t *guids)
{
    for (size_t i = 0; i < MAD_GUIDS_PER_BLOCK; i++)
        guids[i] = bytes_get64(data + 8 * i);
}

void mad_sl_to_vl_encode(uint8_t *data, const uint8_t *vls)
{
    assert(data && vls);
    memset(data, 0, MAD_SMP_DATA);
    for (size_t i = 0; i < 8; i++) {
        if (PLANTED(sm_sl_to_vl_nibbles))
            data[i] = join(vls[2 * i + 1], vls[2 * i], 4);
        else
            data[i] = join(vls[2 * i], vls[2 * i + 1], 4);
    }
}

void mad_sl_to_vl_decode(const uint8_t *data, uint8_t *vls)
{
    for (size_t i = 0; i < 8; i++) {
        vls[2 * i] = high4(data[i]);
        vls[2 * i + 1] = low(data[i], 4);
    }
}

void mad_vl_arb_encode(uint8_t *data, const struct mad_vl_arb *entries)
{
    for (size_t i = 0; i < MAD_VL_ARB_PER_BLOCK; i++) {
        data[2 * i] = low(entries[i].vl, 4);
        data[2 * i + 1] = entries[i].weight;
    }
}

void mad_vl_arb_decode(const uint8_t *data, struct mad_vl_arb *entries)
{
    for (size_t i = 0; i < MAD_VL_ARB_PER_BLOCK; i++) {
        entries[i].vl = low(data[2 * i], 4);
        entries[i].weight = data[2 * i + 1];
    }
}

void mad_mft_encode(uint8_t *data, const uint16_t *masks)
{
    for (size_t i = 0; i < MAD_MFT_PER_BLOCK; i++)
        bytes_put16(data + 2 * i, masks[i]);
}

void mad_mft_decode(const uint8_t *data, uint16_t *masks)
{
    for (size_t i = 0; i < MAD_MFT_PER_BLOCK; i++)
        masks[i] = bytes_get16(data + 2 * i);
}
