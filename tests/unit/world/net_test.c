/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "src/fabric/gid.h"
#include "tests/support/little_net.h"

/* HA-2.1 */
static void nodes_are_found_by_name_and_index(void **state)
{
    struct sim *sim = sim_create(1);
    struct net *net = net_create(sim);
    char name[16];
    (void)state;
    assert_null(net_find(net, "n0"));
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        net_add_node(net, NET_HCA, name, i, 2);
    }
    assert_int_equal(net_node_count(net), 100);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        struct net_node *node = net_find(net, name);
        assert_ptr_equal(node, net_node_at(net, i));
        assert_int_equal(net_node_index(node), i);
        assert_string_equal(net_node_name(node), name);
        assert_int_equal(net_node_guid(node), i);
    }
    assert_null(net_find(net, "n100"));
    assert_ptr_equal(net_sim(net), sim);
    net_destroy(net);
    net_destroy(NULL);
    sim_destroy(sim);
}

static void a_host_port_begins_as_hardware_does(void **state)
{
    struct sim *sim = sim_create(1);
    struct net *net = net_create(sim);
    struct net_node *node = net_add_node(net, NET_HCA, "h", 0x100, 2);
    const struct port_info *info = net_port_info(net_node_port(node, 2));
    union fabric_gid gid = fabric_gid_make(0xfe80000000000000u, 0x102);
    (void)state;
    assert_int_equal(info->state, FABRIC_PORT_DOWN);
    assert_int_equal(info->guid, 0x102);
    assert_int_equal(info->lid, 0);
    assert_int_equal(info->pkeys[0], 0xffff);
    assert_int_equal(info->pkeys[1], 0);
    assert_true(fabric_gid_equal(&info->gids[0].gid, &gid));
    assert_int_equal(net_node_kind(node), NET_HCA);
    assert_int_equal(net_node_ports(node), 2);
    assert_ptr_equal(net_port_node(net_node_port(node, 2)), node);
    assert_int_equal(net_port_num(net_node_port(node, 2)), 2);
    net_destroy(net);
    sim_destroy(sim);
}

static void attributes_move_to_where_their_owner_wants_them(void **state)
{
    struct little_net little;
    struct port_info mine;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_port_place_info(little.hosts[0], &mine);
    net_port_place_info(little.hosts[0], &mine);
    assert_ptr_equal(net_port_info(little.hosts[0]), &mine);
    assert_int_equal(mine.lid, 1);
    assert_int_equal(mine.state, FABRIC_PORT_ACTIVE);
    uint64_t sent = mine.counters.xmit_packets;
    assert_true(little_net_send(&little, 0, 1, 0, 1, 100));
    assert_int_equal(mine.counters.xmit_packets, sent + 1);
    little_net_down(&little);
}

static void packets_are_counted_on_their_way(void **state)
{
    struct little_net little;
    struct net_stats stats;
    (void)state;
    little_net_up(&little, 2, NULL);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(little_net_send(&little, 0, 1, 0, i, 100));
    little_net_run(&little, 10000);
    net_stats(little.net, &stats);
    assert_int_equal(stats.packets_delivered, 5);
    assert_int_equal(stats.hops, 10);
    assert_int_equal(stats.discards, 0);
    assert_true(stats.bytes_of_memory > 0);
    assert_int_equal(net_port_info(little.hosts[1])->counters.rcv_packets, 5);
    assert_int_equal(net_port_info(little.hosts[1])->counters.rcv_data, 5 * 130);
    little_net_down(&little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_found_by_name_and_index),
        cmocka_unit_test(a_host_port_begins_as_hardware_does),
        cmocka_unit_test(attributes_move_to_where_their_owner_wants_them),
        cmocka_unit_test(packets_are_counted_on_their_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
