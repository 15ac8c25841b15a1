/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/world/mad.h"

/* Bytes of attributes as the specification's tables place them, written by hand. */

static void node_info_round_trips(void **state)
{
    const struct mad_node_info info = {
        .node_type = MAD_NODE_SWITCH,
        .num_ports = 36,
        .local_port_num = 9,
        .system_image_guid = 0x0102030405060708,
        .node_guid = 0x1112131415161718,
        .port_guid = 0x2122232425262728,
        .partition_cap = 0x3132,
        .device_id = 0x4142,
        .revision = 0x51525354,
        .vendor_id = 0x616263,
    };
    const uint8_t expected[40] = {1,    1,    2,    36,   0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
                                  0x07, 0x08, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
                                  0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x31, 0x32,
                                  0x41, 0x42, 0x51, 0x52, 0x53, 0x54, 9,    0x61, 0x62, 0x63};
    struct mad_node_info back;
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    mad_node_info_encode(data, &info);
    assert_memory_equal(data, expected, sizeof expected);
    mad_node_info_decode(data, &back);
    assert_int_equal(back.node_type, MAD_NODE_SWITCH);
    assert_int_equal(back.num_ports, 36);
    assert_int_equal(back.local_port_num, 9);
    assert_true(back.node_guid == info.node_guid && back.port_guid == info.port_guid);
    assert_true(back.system_image_guid == info.system_image_guid);
    assert_int_equal(back.partition_cap, 0x3132);
    assert_int_equal(back.device_id, 0x4142);
    assert_int_equal(back.revision, 0x51525354);
    assert_int_equal(back.vendor_id, 0x616263);
}

static const uint8_t port_info_bytes[MAD_SMP_DATA] = {
    1,    2,    3,    4,    5,    6,    7,    8,    /* M_Key */
    0xFE, 0x80, 0,    0,    0,    0,    0,    1,    /* GidPrefix */
    0x12, 0x34, 0x00, 0x01,                         /* LID, MasterSMLID */
    0x02, 0x00, 0x00, 0x48,                         /* CapabilityMask */
    0x00, 0x05, 0x00, 0x3C,                         /* DiagCode, M_KeyLeasePeriod */
    7,    3,    3,    2,                            /* LocalPortNum, LinkWidth */
    0x74, 0x52, 0x83, 0x47,                         /* speed|state, phys|default, mkey|lmc, speed */
    0x51, 0x42, 10,   8,                            /* MTU|SMSL, VLCap|InitType, high limit, caps */
    9,    0x15, 0x6D, 0x39,                         /* arb low, reply|MTUCap, stall|HOQ, VLs|enf. */
    0,    1,    0,    2,    0,    3,                /* violations */
    16,   0x92, 0x11, 0x88,                         /* GUIDCap, rereg|timeout, resp, errors */
    0,    6,    0,    0x01, 0x02, 0x03, 0x0A, 0x0B, /* credit hint, latency, CapabilityMask2 */
    0x21, 0x03,                                     /* extended speeds */
};

static void port_info_is_decoded(void **state)
{
    struct mad_port_info info;

    (void)state;
    mad_port_info_decode(port_info_bytes, &info);
    assert_true(info.m_key == 0x0102030405060708 && info.gid_prefix == 0xFE80000000000001);
    assert_int_equal(info.lid, 0x1234);
    assert_int_equal(info.master_sm_lid, 1);
    assert_int_equal(info.capability_mask, MAD_CAP_CLIENT_REREGISTER | MAD_CAP_SL_MAPPING | 8);
    assert_int_equal(info.m_key_lease_period, 60);
    assert_int_equal(info.local_port_num, 7);
    assert_int_equal(info.link_speed_supported, 7);
    assert_int_equal(info.port_state, 4);
    assert_int_equal(info.port_phys_state, MAD_PHYS_LINK_UP);
    assert_int_equal(info.link_down_default_state, MAD_PHYS_POLLING);
    assert_int_equal(info.m_key_protect_bits, 2);
    assert_int_equal(info.lmc, 3);
    assert_int_equal(info.neighbor_mtu, 5);
    assert_int_equal(info.master_sm_sl, 1);
    assert_int_equal(info.vl_cap, 4);
    assert_int_equal(info.mtu_cap, 5);
    assert_int_equal(info.vl_stall_count, 3);
    assert_int_equal(info.hoq_life, 13);
    assert_int_equal(info.oper_vls, 3);
    assert_true(info.partition_enforce_in && info.filter_raw_out);
    assert_false(info.partition_enforce_out || info.filter_raw_in);
    assert_int_equal(info.p_key_violations, 2);
    assert_true(info.client_reregister);
    assert_int_equal(info.subnet_timeout, 18);
    assert_int_equal(info.resp_time_value, 17);
    assert_int_equal(info.link_round_trip_latency, 0x010203);
    assert_int_equal(info.capability_mask2, 0x0A0B);
    assert_int_equal(info.link_speed_ext_active, 2);
    assert_int_equal(info.link_speed_ext_enabled, 3);
}

static void port_info_is_encoded_to_the_same_bytes(void **state)
{
    struct mad_port_info info;
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    mad_port_info_decode(port_info_bytes, &info);
    mad_port_info_encode(data, &info);
    assert_memory_equal(data, port_info_bytes, sizeof data);
}

static void switch_info_round_trips(void **state)
{
    const uint8_t bytes[MAD_SMP_DATA] = {0xC0,          0, 0, 1, 4,  0,    0x12, 0x34, 1, 2, 3,
                                         (18 << 3) | 5, 0, 4, 0, 32, 0xA8, 0,    0xC0, 7};
    struct mad_switch_info info;
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    mad_switch_info_decode(bytes, &info);
    assert_int_equal(info.linear_fdb_cap, 0xC000);
    assert_int_equal(info.linear_fdb_top, 0x1234);
    assert_int_equal(info.life_time_value, 18);
    assert_true(info.port_state_change);
    assert_int_equal(info.optimized_sl_to_vl, 1);
    assert_int_equal(info.partition_enforcement_cap, 32);
    assert_true(info.inbound_enforcement && info.filter_raw_inbound && info.enhanced_port0);
    assert_false(info.outbound_enforcement || info.filter_raw_outbound);
    assert_int_equal(info.multicast_fdb_top, 0xC007);
    mad_switch_info_encode(data, &info);
    assert_memory_equal(data, bytes, sizeof data);
}

static void sm_info_round_trips(void **state)
{
    const struct mad_sm_info info = {
        .guid = 0x0102030405060708, .sm_key = 9, .act_count = 0x11, .priority = 14, .state = 3};
    struct mad_sm_info back;
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    mad_sm_info_encode(data, &info);
    assert_int_equal(data[0], 1);
    assert_int_equal(data[15], 9);
    assert_int_equal(data[19], 0x11);
    assert_int_equal(data[20], 0xE3);
    mad_sm_info_decode(data, &back);
    assert_true(back.guid == info.guid && back.sm_key == 9);
    assert_int_equal(back.act_count, 0x11);
    assert_int_equal(back.priority, 14);
    assert_int_equal(back.state, 3);
}

static void round_trip(const struct mad_notice *notice, uint8_t *data)
{
    struct mad_notice back;

    mad_notice_encode(data, notice);
    mad_notice_decode(data, &back);
    assert_int_equal(back.trap_number, notice->trap_number);
    assert_int_equal(back.lid1, notice->lid1);
    assert_int_equal(back.lid2, notice->lid2);
    assert_int_equal(back.key, notice->key);
    assert_int_equal(back.qp1, notice->qp1);
    assert_int_equal(back.qp2, notice->qp2);
    assert_int_equal(back.sl, notice->sl);
    assert_int_equal(back.switch_lid, notice->switch_lid);
    assert_int_equal(back.port_num, notice->port_num);
    assert_int_equal(back.capability_mask, notice->capability_mask);
    assert_memory_equal(back.gid2, notice->gid2, 16);
    assert_int_equal(back.toggle, notice->toggle);
    assert_int_equal(back.count, notice->count);
}

static void notices_carry_the_details_of_their_trap(void **state)
{
    struct mad_notice notice = {
        .type = MAD_NOTICE_URGENT, .producer_type = 2, .trap_number = 128, .issuer_lid = 3};
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    notice.lid1 = 0x0405;
    notice.toggle = true;
    notice.count = 6;
    round_trip(&notice, data);
    assert_memory_equal(data, "\x81\0\0\2\0\x80\0\3\x80\6\4\5", 12);
    notice.trap_number = MAD_TRAP_CAPABILITY;
    notice.capability_mask = 2;
    round_trip(&notice, data);
    assert_memory_equal(data + 10, "\0\0\4\5\0\0\0\0\0\2", 10);
    notice = (struct mad_notice){.trap_number = MAD_TRAP_BAD_PKEY,
                                 .lid1 = 1,
                                 .lid2 = 2,
                                 .key = 0x8001,
                                 .qp1 = 0x123456,
                                 .qp2 = 0x789ABC,
                                 .sl = 5,
                                 .gid2 = {0xFE, 0x80}};
    round_trip(&notice, data);
    assert_memory_equal(data + 10, "\0\0\0\1\0\2\0\0\x80\1\x50\x12\x34\x56\0\x78\x9A\xBC", 18);
    notice.trap_number = MAD_TRAP_SWITCH_BAD_PKEY;
    notice.switch_lid = 0x77;
    notice.port_num = 8;
    round_trip(&notice, data);
    assert_memory_equal(data + 12, "\0\1\0\2\x80\1\x50\x12\x34\x56\0\x78\x9A\xBC", 14);
    assert_memory_equal(data + 58, "\0\x77\x8", 3);
    notice = (struct mad_notice){.trap_number = MAD_TRAP_BAD_MKEY};
    round_trip(&notice, data);
}

static void tables_are_in_network_order(void **state)
{
    uint16_t pkeys[32] = {0xFFFF, 0x8001}, masks[32] = {0x0102}, words[32];
    uint64_t guids[8] = {0x0102030405060708}, back[8];
    uint8_t vls[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, vls_back[16];
    struct mad_vl_arb arb[32] = {{3, 200}, {14, 1}}, arb_back[32];
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    mad_pkeys_encode(data, pkeys);
    assert_memory_equal(data, "\xFF\xFF\x80\1\0\0", 6);
    mad_pkeys_decode(data, words);
    assert_memory_equal(words, pkeys, sizeof pkeys);
    mad_guids_encode(data, guids);
    assert_int_equal(data[7], 8);
    mad_guids_decode(data, back);
    assert_memory_equal(back, guids, sizeof guids);
    mad_sl_to_vl_encode(data, vls);
    assert_memory_equal(data, "\x01\x23\x45\x67\x89\xAB\xCD\xEF\0", 9);
    mad_sl_to_vl_decode(data, vls_back);
    assert_memory_equal(vls_back, vls, sizeof vls);
    mad_vl_arb_encode(data, arb);
    assert_memory_equal(data, "\3\xC8\xE\1", 4);
    mad_vl_arb_decode(data, arb_back);
    assert_memory_equal(arb_back, arb, sizeof arb);
    mad_mft_encode(data, masks);
    assert_memory_equal(data, "\1\2\0\0", 4);
    mad_mft_decode(data, words);
    assert_memory_equal(words, masks, sizeof masks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_info_round_trips),
        cmocka_unit_test(port_info_is_decoded),
        cmocka_unit_test(port_info_is_encoded_to_the_same_bytes),
        cmocka_unit_test(switch_info_round_trips),
        cmocka_unit_test(sm_info_round_trips),
        cmocka_unit_test(notices_carry_the_details_of_their_trap),
        cmocka_unit_test(tables_are_in_network_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
