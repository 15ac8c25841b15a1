/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.2: port states in the order of real fabrics. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/subnet.h"

static void the_mtu_of_a_link_is_what_both_ends_can(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_info(&s, "h3")->mtu_cap = FABRIC_MTU_2048;
    net_port_info(subnet_port(&s, "l0", 3))->mtu_cap = FABRIC_MTU_1024;
    subnet_bring_up(&s);
    assert_int_equal(subnet_info(&s, "h3")->active_mtu, FABRIC_MTU_2048);
    assert_int_equal(net_port_info(net_port_peer(subnet_port(&s, "h3", 1)))->active_mtu,
                     FABRIC_MTU_2048);
    assert_int_equal(subnet_info(&s, "h2")->active_mtu, FABRIC_MTU_4096);
    assert_int_equal(net_port_info(net_port_peer(subnet_port(&s, "l0", 3)))->active_mtu,
                     FABRIC_MTU_1024);
    subnet_close(&s);
}

static void a_smaller_mtu_can_be_asked_for_one_link_or_all(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    subnet_watch(&s, "h2");
    sm_mtu_set(s.sm[0], subnet_guid(&s, "h2"), FABRIC_MTU_1024);
    assert_true(subnet_wait_up(&s, 0));
    assert_string_equal(s.log, "MTU");
    assert_int_equal(subnet_info(&s, "h2")->active_mtu, FABRIC_MTU_1024);
    assert_int_equal(net_port_info(subnet_port(&s, "l0", 3))->active_mtu, FABRIC_MTU_1024);
    assert_int_equal(subnet_info(&s, "h1")->active_mtu, FABRIC_MTU_4096);
    sm_mtu_set(s.sm[0], 0, FABRIC_MTU_2048);
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h1")->active_mtu, FABRIC_MTU_2048);
    assert_int_equal(subnet_info(&s, "h2")->active_mtu, FABRIC_MTU_1024);
    subnet_close(&s);
}

static void addresses_come_while_the_port_is_still_in_init(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    sm_start(s.sm[0]);
    while (subnet_info(&s, "h2")->lid == 0)
        assert_true(sim_step(s.sim));
    assert_int_equal(subnet_info(&s, "h2")->state, FABRIC_PORT_INIT);
    /* Armed comes to all before Active comes to any */
    while (subnet_info(&s, "h2")->state != FABRIC_PORT_ACTIVE)
        assert_true(sim_step(s.sim));
    for (uint8_t p = 1; p <= 4; p++)
        assert_true(net_port_info(subnet_port(&s, "l0", p))->state >= FABRIC_PORT_ARMED);
    subnet_close(&s);
}

static void a_management_key_is_set_and_known(void **state)
{
    struct subnet s;
    struct sma_stats stats;

    (void)state;
    subnet_open_tree(&s, 8, 4, &(struct sm_config){.m_key = 0xFEED, .m_key_protect = 2});
    subnet_bring_up(&s);
    assert_true(subnet_walk_clean(s.net));
    sm_restart(s.sm[0], true);
    assert_true(subnet_wait_up(&s, 0));
    sma_stats(s.sma, &stats);
    assert_int_equal(stats.mkey_violations, 0);
    /* another manager without the key learns nothing from them */
    subnet_add_manager(&s, 1, "h5", NULL);
    sm_stop(s.sm[0]);
    sm_start(s.sm[1]);
    assert_false(subnet_wait_up(&s, 1));
    sma_stats(s.sma, &stats);
    assert_true(stats.mkey_violations > 0);
    subnet_close(&s);
}

static void both_ports_of_a_host_are_managed(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open(&s);
    subnet_add_switch(&s, "sw", 0x900, 4);
    net_add_node(s.net, NET_HCA, "two", 0x100, 2);
    net_add_node(s.net, NET_ROUTER, "router", 0x300, 2);
    subnet_cable(&s, "two", 1, "sw", 1);
    subnet_cable(&s, "two", 2, "sw", 2);
    subnet_cable(&s, "router", 1, "sw", 3);
    subnet_manage(&s, "two", &(struct sm_config){.default_limited = true});
    subnet_bring_up(&s);
    for (uint8_t p = 1; p <= 2; p++) {
        const struct port_info *info = net_port_info(subnet_port(&s, "two", p));

        assert_int_equal(info->state, FABRIC_PORT_ACTIVE);
        assert_int_equal(info->lid, p);
        assert_int_equal(info->pkeys[0], 0x7FFF);
    }
    assert_int_equal(subnet_info(&s, "router")->state, FABRIC_PORT_ACTIVE);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mtu_of_a_link_is_what_both_ends_can),
        cmocka_unit_test(a_smaller_mtu_can_be_asked_for_one_link_or_all),
        cmocka_unit_test(addresses_come_while_the_port_is_still_in_init),
        cmocka_unit_test(a_management_key_is_set_and_known),
        cmocka_unit_test(both_ports_of_a_host_are_managed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
