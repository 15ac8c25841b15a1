/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/little_net.h"

static void a_cable_brings_infiniband_to_init_with_the_smaller_mtu(void **state)
{
    struct sim *sim = sim_create(1);
    struct net *net = net_create(sim);
    struct net_port *a = net_node_port(net_add_node(net, NET_HCA, "a", 1, 1), 1);
    struct net_port *b = net_node_port(net_add_node(net, NET_HCA, "b", 2, 1), 1);
    struct net_link link = {.rate_mbps = 40000, .mtu = FABRIC_MTU_1024};
    (void)state;
    net_port_info(b)->mtu_cap = FABRIC_MTU_2048;
    net_connect(a, b, &link);
    assert_ptr_equal(net_port_peer(a), b);
    assert_int_equal(net_port_info(a)->state, FABRIC_PORT_INIT);
    assert_int_equal(net_port_info(b)->state, FABRIC_PORT_INIT);
    assert_int_equal(net_port_info(a)->active_mtu, FABRIC_MTU_2048);
    assert_int_equal(net_port_info(a)->rate_mbps, 40000);
    net_destroy(net);
    sim_destroy(sim);
}

static void a_cable_brings_ethernet_to_active(void **state)
{
    struct sim *sim = sim_create(1);
    struct net *net = net_create(sim);
    struct net_port *a = net_node_port(net_add_node(net, NET_HCA, "a", 1, 1), 1);
    struct net_node *sw = net_add_node(net, NET_ETHERNET_SWITCH, "sw", 2, 2);
    (void)state;
    net_port_info(a)->active_mtu = FABRIC_MTU_1024;
    net_connect(a, net_node_port(sw, 1), NULL);
    assert_int_equal(net_port_info(a)->link_layer, FABRIC_LINK_LAYER_ETHERNET);
    assert_int_equal(net_port_info(a)->state, FABRIC_PORT_ACTIVE);
    assert_int_equal(net_port_info(a)->active_mtu, FABRIC_MTU_1024);
    net_destroy(net);
    sim_destroy(sim);
}

static void a_port_in_init_carries_no_data(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    little_net_state(little.hosts[0], FABRIC_PORT_INIT);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 100));
    assert_int_equal(net_port_info(little.hosts[0])->counters.xmit_discards, 1);
    little_net_state(little.hosts[0], FABRIC_PORT_ACTIVE);
    little_net_state(little.hosts[1], FABRIC_PORT_INIT);
    assert_true(little_net_send(&little, 0, 1, 0, 2, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 0);
    little_net_down(&little);
}

static void a_port_in_armed_takes_data_and_sends_none(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    little_net_state(little.hosts[1], FABRIC_PORT_ARMED);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 100));
    assert_true(little_net_send(&little, 1, 0, 0, 2, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little_net_arrived(&little, 1), 1);
    assert_int_equal(little_net_arrived(&little, 0), 0);
    little_net_down(&little);
}

static void data_makes_an_armed_port_active(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    little_net_state(little.hosts[1], FABRIC_PORT_ARMED);
    little_net_run(&little, 10000);
    assert_int_equal(net_port_info(little.hosts[1])->state, FABRIC_PORT_ARMED);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 100));
    little_net_run(&little, 10000);
    assert_int_equal(net_port_info(little.hosts[1])->state, FABRIC_PORT_ACTIVE);
    assert_true(little_net_send(&little, 1, 0, 0, 2, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little_net_arrived(&little, 0), 1);
    little_net_down(&little);
}

static void a_switch_without_power_loses_its_tables(void **state)
{
    const uint8_t map[PORT_SLS] = {3};
    struct little_net little;
    struct port_info *info;
    (void)state;
    little_net_up(&little, 2, NULL);
    info = net_port_info(net_node_port(little.sw, 1));
    info->pkeys[1] = 0x8001;
    net_port_info(net_node_port(little.sw, 0))->lid = 9;
    net_lft_set(little.sw, 70, 1);
    net_mft_set(little.sw, 0xC000, 0, 2);
    net_sl_map_set(net_node_port(little.sw, 1), 2, map);
    net_node_set_power(little.sw, false);
    net_node_set_power(little.sw, true);
    assert_int_equal(net_lft_get(little.sw, 70), NET_PORT_NONE);
    assert_int_equal(net_mft_get(little.sw, 0xC000, 0), 0);
    assert_int_equal(net_sl_map_get(net_node_port(little.sw, 1), 2, 0), 0);
    assert_int_equal(net_port_info(net_node_port(little.sw, 0))->lid, 0);
    assert_int_equal(info->pkeys[0], 0xffff);
    assert_int_equal(info->pkeys[1], 0);
    little_net_down(&little);
}

static void both_ends_see_a_pulled_cable(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct net_port *end = net_port_peer(little.hosts[0]);
    little.changes = 0;
    net_link_set_up(end, false);
    net_link_set_up(end, false);
    assert_int_equal(net_port_info(little.hosts[0])->state, FABRIC_PORT_DOWN);
    assert_int_equal(net_port_info(end)->state, FABRIC_PORT_DOWN);
    assert_int_equal(net_port_info(end)->counters.link_downed, 1);
    assert_int_equal(little.changes, 1);
    net_link_set_up(little.hosts[0], true);
    assert_int_equal(net_port_info(little.hosts[0])->state, FABRIC_PORT_INIT);
    assert_int_equal(little.changes, 2);
    little_net_down(&little);
}

static void what_is_on_the_wire_is_lost_with_the_link(void **state)
{
    struct little_net little;
    struct net_link link = {.latency = 10000};
    (void)state;
    little_net_up(&little, 2, &link);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(little_net_send(&little, 0, 1, 0, i, 4096));
    little_net_run(&little, 500); /* one is on the wire, the others wait */
    net_link_set_up(little.hosts[0], false);
    net_link_set_up(little.hosts[0], true);
    little_net_state(little.hosts[0], FABRIC_PORT_ACTIVE);
    little_net_state(net_port_peer(little.hosts[0]), FABRIC_PORT_ACTIVE);
    little_net_run(&little, 100000);
    assert_int_equal(little.seen_count, 0);
    assert_true(little_net_send(&little, 0, 1, 0, 9, 4096));
    little_net_run(&little, 100000);
    assert_int_equal(little.seen_count, 1);
    little_net_down(&little);
}

static void power_takes_every_link_of_a_node(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 3, NULL);
    net_node_set_power(little.sw, false);
    net_node_set_power(little.sw, false);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(net_port_info(little.hosts[i])->state, FABRIC_PORT_DOWN);
    net_link_set_up(little.hosts[2], false);
    net_link_set_up(little.hosts[2], true); /* a cable alone does not help */
    assert_int_equal(net_port_info(little.hosts[2])->state, FABRIC_PORT_DOWN);
    net_node_set_power(little.sw, true);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(net_port_info(little.hosts[i])->state, FABRIC_PORT_INIT);
    little_net_down(&little);
}

static void every_change_moves_the_epoch(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 1, NULL);
    uint32_t epoch = net_port_info(little.hosts[0])->attributes_epoch;
    little_net_lanes(little.hosts[0], 4);
    assert_int_equal(net_port_info(little.hosts[0])->attributes_epoch, epoch + 1);
    little_net_down(&little);
}

static void a_disabled_port_trains_by_no_cable(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct net_port *end = net_port_peer(little.hosts[0]);
    const struct port_info *info = net_port_info(little.hosts[0]);
    net_port_set_disabled(end, true);
    net_port_set_disabled(end, true);
    assert_int_equal(info->state, FABRIC_PORT_DOWN);
    net_link_set_up(little.hosts[0], false);
    net_link_set_up(little.hosts[0], true);
    assert_int_equal(info->state, FABRIC_PORT_DOWN);
    net_link_set_up(little.hosts[0], false);
    net_port_set_disabled(end, false); /* plugs nothing in */
    assert_int_equal(info->state, FABRIC_PORT_DOWN);
    net_link_set_up(little.hosts[0], true);
    assert_int_equal(info->state, FABRIC_PORT_INIT);
    net_port_set_disabled(end, true);
    net_node_set_power(little.sw, false);
    net_node_set_power(little.sw, true);
    assert_int_equal(info->state, FABRIC_PORT_INIT);
    little_net_down(&little);
}

static void a_host_without_power_comes_back_with_the_default_key(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct port_info *info = net_port_info(little.hosts[1]);
    info->pkeys[0] = 0x7fff;
    info->pkeys[9] = 0x8123;
    info->sl_to_vl[3] = 3;
    net_node_set_power(net_port_node(little.hosts[1]), false);
    net_node_set_power(net_port_node(little.hosts[1]), true);
    assert_int_equal(info->state, FABRIC_PORT_INIT);
    assert_int_equal(info->pkeys[0], 0xffff);
    assert_int_equal(info->pkeys[9], 0);
    assert_int_equal(info->sl_to_vl[3], 0);
    assert_int_equal(info->lid, 0);
    little_net_down(&little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cable_brings_infiniband_to_init_with_the_smaller_mtu),
        cmocka_unit_test(a_cable_brings_ethernet_to_active),
        cmocka_unit_test(a_port_in_init_carries_no_data),
        cmocka_unit_test(a_port_in_armed_takes_data_and_sends_none),
        cmocka_unit_test(data_makes_an_armed_port_active),
        cmocka_unit_test(a_switch_without_power_loses_its_tables),
        cmocka_unit_test(both_ends_see_a_pulled_cable),
        cmocka_unit_test(what_is_on_the_wire_is_lost_with_the_link),
        cmocka_unit_test(power_takes_every_link_of_a_node),
        cmocka_unit_test(every_change_moves_the_epoch),
        cmocka_unit_test(a_disabled_port_trains_by_no_cable),
        cmocka_unit_test(a_host_without_power_comes_back_with_the_default_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
