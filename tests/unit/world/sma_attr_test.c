/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/sma_asker.h"

static void port_info_tells_what_the_port_is(void **state)
{
    struct asker a;
    struct mad_port_info info;

    (void)state;
    open_asker(&a);
    subnet_info(&a.s, "h2")->counters.bad_pkey = 70000;
    subnet_info(&a.s, "h2")->is_sm = 1;
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_PORT_INFO, 1, NULL), MAD_STATUS_OK);
    mad_port_info_decode(mad_data(&a.last), &info);
    assert_int_equal(info.port_state, FABRIC_PORT_INIT);
    assert_int_equal(info.port_phys_state, MAD_PHYS_LINK_UP);
    assert_int_equal(info.mtu_cap, FABRIC_MTU_4096);
    assert_int_equal(info.vl_cap, 4); /* VL0 to VL7 */
    assert_int_equal(info.p_key_violations, 0xFFFF);
    assert_true(info.capability_mask & MAD_CAP_IS_SM);
    assert_true(info.capability_mask & MAD_CAP_CLIENT_REREGISTER);
    assert_int_equal(info.link_width_active, 2);
    assert_int_equal(info.link_speed_ext_active, 2); /* 100 Gbit/s over four lanes */
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_PORT_INFO, 0, NULL), MAD_STATUS_OK);
    mad_port_info_decode(mad_data(&a.last), &info);
    assert_int_equal(info.port_state, FABRIC_PORT_ACTIVE); /* a switch reaches itself */
    assert_false(info.capability_mask & MAD_CAP_CLIENT_REREGISTER);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_PORT_INFO, 5, NULL), MAD_STATUS_BAD_FIELD);
    assert_int_equal(ask(&a, 2, MAD_SET, MAD_PORT_INFO, 2, NULL), MAD_STATUS_BAD_FIELD);
    subnet_close(&a.s);
}

static void slow_links_and_odd_lane_counts_have_their_codes(void **state)
{
    static const struct {
        uint32_t rate;
        uint8_t vls, speed, extended, code;
    } cases[] = {
        {8000, 1, 1, 0, 1}, {16000, 2, 2, 0, 2}, {32000, 4, 4, 0, 3}, {56000, 15, 4, 1, 5}};
    struct asker a;
    struct mad_port_info info;

    (void)state;
    open_asker(&a);
    for (size_t i = 0; i < 4; i++) {
        subnet_info(&a.s, "h2")->rate_mbps = cases[i].rate;
        subnet_info(&a.s, "h2")->vl_cap = cases[i].vls;
        assert_int_equal(ask(&a, 2, MAD_GET, MAD_PORT_INFO, 0, NULL), MAD_STATUS_OK);
        mad_port_info_decode(mad_data(&a.last), &info);
        assert_int_equal(info.link_speed_active, cases[i].speed);
        assert_int_equal(info.link_speed_ext_active, cases[i].extended);
        assert_int_equal(info.vl_cap, cases[i].code);
    }
    subnet_close(&a.s);
}

static void pkey_blocks_are_set_whole_and_read_back(void **state)
{
    struct asker a;
    uint16_t pkeys[32] = {0xFFFF, 0, 0x8003};
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    open_asker(&a);
    subnet_watch(&a.s, "h2");
    mad_pkeys_encode(data, pkeys);
    assert_int_equal(ask(&a, 2, MAD_SET, MAD_PKEY_TABLE, 3, data), MAD_STATUS_OK);
    assert_int_equal(subnet_info(&a.s, "h2")->pkeys[98], 0x8003);
    assert_string_equal(a.s.log, "PKEY");
    assert_int_equal(ask(&a, 2, MAD_SET, MAD_PKEY_TABLE, 3, data), MAD_STATUS_OK);
    assert_string_equal(a.s.log, "PKEY"); /* nothing changed */
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_PKEY_TABLE, 3, NULL), MAD_STATUS_OK);
    assert_memory_equal(mad_data(&a.last), data, sizeof data);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_PKEY_TABLE, 4, NULL), MAD_STATUS_BAD_FIELD);
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_PKEY_TABLE, 2 << 16, data), MAD_STATUS_OK);
    assert_int_equal(net_port_info(subnet_port(&a.s, "l0", 2))->pkeys[2], 0x8003);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_PKEY_TABLE, 9 << 16, NULL), MAD_STATUS_BAD_FIELD);
    /* a short table keeps its end */
    subnet_info(&a.s, "h2")->pkey_count = 2;
    assert_int_equal(ask(&a, 2, MAD_SET, MAD_PKEY_TABLE, 0, data), MAD_STATUS_OK);
    assert_int_equal(subnet_info(&a.s, "h2")->pkeys[2], 0);
    subnet_close(&a.s);
}

static void guids_besides_the_first_can_be_set(void **state)
{
    struct asker a;
    uint64_t guids[8] = {0x1111, 0x2222}, back[8];
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    open_asker(&a);
    mad_guids_encode(data, guids);
    assert_int_equal(ask(&a, 2, MAD_SET, MAD_GUID_INFO, 0, data), MAD_STATUS_OK);
    mad_guids_decode(mad_data(&a.last), back);
    assert_true(back[0] == subnet_guid(&a.s, "h2") && back[1] == 0x2222);
    assert_int_equal(subnet_info(&a.s, "h2")->gids[1].gid.raw[0], 0xFE);
    assert_int_equal(subnet_info(&a.s, "h2")->gids[1].gid.raw[15], 0x22);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_GUID_INFO, 1, NULL), MAD_STATUS_OK);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_GUID_INFO, 4, NULL), MAD_STATUS_BAD_FIELD);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_GUID_INFO, 0, NULL), MAD_STATUS_OK);
    subnet_close(&a.s);
}

static void sl_maps_of_a_switch_are_per_pair_of_ports(void **state)
{
    const uint8_t one[16] = {5, 5, 5}, all[16] = {2, 2, 2};
    struct net_port *out;
    struct asker a;
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    open_asker(&a);
    out = subnet_port(&a.s, "l0", 2);
    mad_sl_to_vl_encode(data, all);
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_SL_TO_VL, 0x20002, data), MAD_STATUS_OK);
    assert_int_equal(net_port_info(out)->sl_to_vl[0], 2);
    assert_int_equal(net_port_info(subnet_port(&a.s, "l0", 3))->sl_to_vl[0], 0);
    mad_sl_to_vl_encode(data, one);
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_SL_TO_VL, 0x0102, data), MAD_STATUS_OK);
    assert_int_equal(net_sl_map_get(out, 1, 0), 5);
    assert_int_equal(net_sl_map_get(out, 3, 0), 2);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_SL_TO_VL, 0x0102, NULL), MAD_STATUS_OK);
    assert_memory_equal(mad_data(&a.last), data, 8);
    mad_sl_to_vl_encode(data, all);
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_SL_TO_VL, MAD_SL_MAP_ALL_PORTS, data), MAD_STATUS_OK);
    assert_int_equal(net_sl_map_get(out, 1, 0), 2);
    assert_int_equal(net_port_info(subnet_port(&a.s, "l0", 3))->sl_to_vl[0], 2);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_SL_TO_VL, 0x0109, NULL), MAD_STATUS_BAD_FIELD);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_SL_TO_VL, 0x0902, NULL), MAD_STATUS_BAD_FIELD);
    assert_int_equal(ask(&a, 2, MAD_SET, MAD_SL_TO_VL, 0, data), MAD_STATUS_OK);
    assert_int_equal(subnet_info(&a.s, "h2")->sl_to_vl[2], 2);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_SL_TO_VL, 0, NULL), MAD_STATUS_OK);
    assert_memory_equal(mad_data(&a.last), data, 8);
    subnet_close(&a.s);
}

static void arbitration_tables_reach_the_net(void **state)
{
    struct mad_vl_arb entries[32] = {{3, 200}};
    struct net_vl_arb arb;
    struct asker a;
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    open_asker(&a);
    mad_vl_arb_encode(data, entries);
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_VL_ARBITRATION, 4 << 16 | 2, data), MAD_STATUS_OK);
    net_vl_arb_get(subnet_port(&a.s, "l0", 2), &arb);
    assert_int_equal(arb.high[32].vl, 3);
    assert_int_equal(arb.high[32].weight, 200);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_VL_ARBITRATION, 4 << 16 | 2, NULL), MAD_STATUS_OK);
    assert_memory_equal(mad_data(&a.last), data, sizeof data);
    assert_int_equal(ask(&a, 2, MAD_SET, MAD_VL_ARBITRATION, 1 << 16, data), MAD_STATUS_OK);
    net_vl_arb_get(subnet_port(&a.s, "h2", 1), &arb);
    assert_int_equal(arb.low[0].weight, 200);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_VL_ARBITRATION, 0, NULL), MAD_STATUS_BAD_FIELD);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_VL_ARBITRATION, 5 << 16, NULL), MAD_STATUS_BAD_FIELD);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_VL_ARBITRATION, 1 << 16 | 7, NULL),
                     MAD_STATUS_BAD_FIELD);
    subnet_close(&a.s);
}

static void forwarding_tables_are_set_by_blocks(void **state)
{
    struct asker a;
    struct net_node *leaf;
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    open_asker(&a);
    leaf = net_find(a.s.net, "l0");
    memset(data, NET_PORT_NONE, sizeof data);
    data[5] = 3;
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_LINEAR_FORWARDING, 2, data), MAD_STATUS_OK);
    assert_int_equal(net_lft_get(leaf, 133), 3);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_LINEAR_FORWARDING, 2, NULL), MAD_STATUS_OK);
    assert_memory_equal(mad_data(&a.last), data, sizeof data);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_LINEAR_FORWARDING, 768, NULL), MAD_STATUS_BAD_FIELD);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_LINEAR_FORWARDING, 0, NULL), MAD_STATUS_BAD_ATTRIBUTE);
    memset(data, 0, sizeof data);
    data[3] = 6;
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_MULTICAST_FORWARDING, 1u << 28 | 1, data),
                     MAD_STATUS_OK);
    assert_int_equal(net_mft_get(leaf, 0xC021, 1), 6);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_MULTICAST_FORWARDING, 1u << 28 | 1, NULL),
                     MAD_STATUS_OK);
    assert_memory_equal(mad_data(&a.last), data, sizeof data);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_MULTICAST_FORWARDING, 0x1FF, NULL),
                     MAD_STATUS_BAD_FIELD);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_MULTICAST_FORWARDING, 0, NULL),
                     MAD_STATUS_BAD_ATTRIBUTE);
    subnet_close(&a.s);
}

/* Whether a LID-routed datagram to LID 150 gets to a host. */
static bool reaches_150(struct asker *a)
{
    struct sma_stats before, after;
    struct mad *mad = mad_new();

    mad_begin(mad, MAD_CLASS_SUBN_LID, MAD_GET, 7, MAD_NODE_DESCRIPTION, 0);
    sma_stats(a->s.sma, &before);
    sma_send(a->s.sma, subnet_port(&a->s, "h0", 1), mad, 150);
    while (sim_step(a->s.sim))
        ;
    sma_stats(a->s.sma, &after);
    return after.answered > before.answered;
}

static void entries_above_the_top_forward_nothing(void **state)
{
    struct mad_switch_info info = {.linear_fdb_top = 200, .life_time_value = 9};
    struct asker a;
    uint8_t data[MAD_SMP_DATA];

    (void)state;
    open_asker(&a);
    subnet_info(&a.s, "h2")->lid = 150;
    net_lft_set(net_find(a.s.net, "l0"), 150, 3);
    assert_false(reaches_150(&a)); /* the top of a switch that came up is 0 */
    mad_switch_info_encode(data, &info);
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_SWITCH_INFO, 0, data), MAD_STATUS_OK);
    assert_true(reaches_150(&a));
    info.linear_fdb_top = NET_LFT_SIZE;
    mad_switch_info_encode(data, &info);
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_SWITCH_INFO, 0, data), MAD_STATUS_BAD_FIELD);
    info.linear_fdb_top = 149;
    mad_switch_info_encode(data, &info);
    assert_int_equal(ask(&a, 1, MAD_SET, MAD_SWITCH_INFO, 0, data), MAD_STATUS_OK);
    mad_switch_info_decode(mad_data(&a.last), &info);
    assert_false(reaches_150(&a));
    assert_int_equal(net_lft_get(net_find(a.s.net, "l0"), 150), 3);
    assert_int_equal(info.linear_fdb_top, 149);
    assert_int_equal(info.life_time_value, 9);
    assert_int_equal(info.linear_fdb_cap, NET_LFT_SIZE);
    assert_int_equal(ask(&a, 2, MAD_SET, MAD_SWITCH_INFO, 0, data), MAD_STATUS_BAD_ATTRIBUTE);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_SWITCH_INFO, 0, NULL), MAD_STATUS_BAD_ATTRIBUTE);
    subnet_close(&a.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_info_tells_what_the_port_is),
        cmocka_unit_test(slow_links_and_odd_lane_counts_have_their_codes),
        cmocka_unit_test(pkey_blocks_are_set_whole_and_read_back),
        cmocka_unit_test(guids_besides_the_first_can_be_set),
        cmocka_unit_test(sl_maps_of_a_switch_are_per_pair_of_ports),
        cmocka_unit_test(arbitration_tables_reach_the_net),
        cmocka_unit_test(forwarding_tables_are_set_by_blocks),
        cmocka_unit_test(entries_above_the_top_forward_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
