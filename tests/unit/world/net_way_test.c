/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/little_net.h"

static bool plain(const struct little_net *little)
{
    struct net_way way;
    return net_plain_way(little->hosts[0], 2, 0, &way) && way.to == little->hosts[1];
}

static void a_way_over_a_switch_leads_to_the_port_of_the_lid(void **state)
{
    struct little_net little;
    struct net_way way;
    (void)state;
    little_net_up(&little, 3, NULL);
    for (uint16_t lid = 2; lid <= 3; lid++) {
        assert_true(net_plain_way(little.hosts[0], lid, 0, &way));
        assert_ptr_equal(way.to, little.hosts[lid - 1]);
        assert_int_equal(way.mtu, 4096);
    }
    assert_false(net_plain_way(little.hosts[0], 9, 0, &way));
    net_link_set_mtu(little.hosts[1], FABRIC_MTU_1024);
    assert_true(net_plain_way(little.hosts[0], 2, 0, &way));
    assert_int_equal(way.mtu, 1024);
    little_net_down(&little);
}

static void a_fault_on_the_way_asks_for_packets_until_it_is_over(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    uint64_t epoch = net_way_epoch(little.net);
    net_link_set_loss(little.hosts[0], 1);
    assert_false(plain(&little));
    assert_int_not_equal(net_way_epoch(little.net), epoch);
    net_link_set_loss(little.hosts[0], 0);
    assert_true(plain(&little));
    net_link_set_delay(net_port_peer(little.hosts[1]), 1000000, 0);
    assert_false(plain(&little));
    assert_true(little_net_send(&little, 0, 1, 0, 1, 100));
    little_net_run(&little, 5000);
    net_link_set_delay(net_port_peer(little.hosts[1]), 0, 0);
    assert_false(plain(&little)); /* something late is still on the wire */
    little_net_run(&little, 2000000);
    assert_true(plain(&little));
    little_net_down(&little);
}

static void a_slow_link_or_a_long_cable_asks_for_packets(void **state)
{
    struct little_net little;
    const struct net_link slow = {.rate_mbps = 50000}, far = {.latency = 5000};
    (void)state;
    little_net_up(&little, 2, &slow);
    assert_false(plain(&little));
    little_net_down(&little);
    little_net_up(&little, 2, &far);
    assert_false(plain(&little));
    little_net_down(&little);
}

static void a_port_that_checks_or_refuses_asks_for_packets(void **state)
{
    struct little_net little;
    struct net_way way;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct net_port *out = net_port_peer(little.hosts[1]);
    net_port_info(out)->partition_enforce_out = 1;
    assert_false(plain(&little));
    net_port_info(out)->partition_enforce_out = 0;
    net_port_info(net_port_peer(little.hosts[0]))->partition_enforce_in = 1;
    assert_false(plain(&little));
    net_port_info(net_port_peer(little.hosts[0]))->partition_enforce_in = 0;
    assert_true(plain(&little));
    net_lane_set_stalled(little.hosts[1], 0, true);
    assert_false(plain(&little));
    net_lane_set_stalled(little.hosts[1], 0, false);
    net_port_info(little.hosts[0])->sl_to_vl[3] = 15;
    assert_false(net_plain_way(little.hosts[0], 2, 3, &way));
    net_lft_set_top(little.sw, 1);
    assert_false(plain(&little));
    net_lft_set_top(little.sw, 10);
    little_net_state(little.hosts[1], FABRIC_PORT_ARMED);
    assert_false(plain(&little)); /* what arrives there makes it ACTIVE */
    little_net_down(&little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_way_over_a_switch_leads_to_the_port_of_the_lid),
        cmocka_unit_test(a_fault_on_the_way_asks_for_packets_until_it_is_over),
        cmocka_unit_test(a_slow_link_or_a_long_cable_asks_for_packets),
        cmocka_unit_test(a_port_that_checks_or_refuses_asks_for_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
