/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/subnet.h"

static void everything_cabled_is_found_once(void **state)
{
    struct subnet s;
    struct sm_stats stats;

    (void)state;
    subnet_open(&s);
    for (unsigned i = 0; i < 3; i++)
        subnet_add_switch(&s, (const char *[]){"a", "b", "c"}[i], 0x1000 + i * 0x100, 8);
    subnet_add_host(&s, "h", 0x100);
    net_add_node(s.net, NET_HCA, "two", 0x200, 2);
    subnet_add_host(&s, "away", 0x300); /* not cabled */
    subnet_cable(&s, "h", 1, "a", 1);
    subnet_cable(&s, "a", 2, "b", 2); /* parallel cables, a triangle, a loop on one switch */
    subnet_cable(&s, "a", 3, "b", 3);
    subnet_cable(&s, "b", 4, "c", 4);
    subnet_cable(&s, "c", 5, "a", 5);
    subnet_cable(&s, "c", 6, "c", 7);
    subnet_cable(&s, "two", 1, "b", 1);
    subnet_cable(&s, "two", 2, "c", 1);
    subnet_manage(&s, "h", NULL);
    subnet_bring_up(&s);
    sm_stats(s.sm[0], &stats);
    assert_int_equal(stats.nodes, 5);
    assert_int_equal(stats.switches, 3);
    assert_int_equal(stats.links, 8);
    assert_int_equal(stats.unanswered, 0);
    assert_true(subnet_walk_clean(s.net));
    assert_int_equal(subnet_info(&s, "away")->state, FABRIC_PORT_DOWN);
    subnet_close(&s);
}

static void a_manager_whose_own_second_port_is_cabled_finds_it(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open(&s);
    subnet_add_switch(&s, "sw", 0x1000, 4);
    net_add_node(s.net, NET_HCA, "h", 0x100, 2);
    subnet_cable(&s, "h", 1, "sw", 1);
    subnet_cable(&s, "h", 2, "sw", 2);
    subnet_manage(&s, "h", NULL);
    subnet_bring_up(&s);
    assert_int_equal(net_port_info(subnet_port(&s, "h", 2))->state, FABRIC_PORT_ACTIVE);
    assert_int_equal(net_port_info(subnet_port(&s, "h", 2))->sm_lid, subnet_info(&s, "h")->lid);
    subnet_close(&s);
}

static void a_node_that_is_cabled_later_is_found_by_its_link(void **state)
{
    struct subnet s;
    struct sm_stats stats;

    (void)state;
    subnet_open(&s);
    subnet_add_switch(&s, "sw", 0x1000, 4);
    subnet_add_host(&s, "h", 0x100);
    subnet_add_host(&s, "late", 0x200);
    subnet_cable(&s, "h", 1, "sw", 1);
    subnet_manage(&s, "h", NULL);
    subnet_bring_up(&s);
    subnet_cable(&s, "late", 1, "sw", 2);
    do {
        assert_true(sim_step(s.sim));
        sm_stats(s.sm[0], &stats);
    } while (stats.heavy_sweeps < 2);
    assert_int_equal(subnet_info(&s, "late")->state, FABRIC_PORT_ACTIVE);
    subnet_close(&s);
}

/* Powered off and on: its tables are empty, which LinearFDBTop 0 tells. */
static void a_switch_that_lost_its_tables_gets_them_again(void **state)
{
    struct subnet s;
    struct net_node *leaf;
    struct mad *mad;
    struct mad_switch_info info = {0};
    const uint8_t path[] = {1};

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    leaf = net_find(s.net, "l0");
    mad = mad_new();
    mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_SET, UINT64_MAX, MAD_SWITCH_INFO, 0);
    mad_set_route(mad, path, 1);
    mad_switch_info_encode(mad_data(mad), &info);
    sma_send(s.sma, subnet_port(&s, "h0", 1), mad, LID_PERMISSIVE);
    while (net_lft_forwards(leaf, 3) != NET_PORT_NONE)
        assert_true(sim_step(s.sim));
    assert_false(subnet_walk_clean(s.net));
    sm_sweep(s.sm[0]);
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

/* Too short for a sweep between: only the switch itself tells that its tables are gone. */
static void a_switch_that_lost_power_for_a_moment_is_set_up_again(void **state)
{
    struct subnet s;
    struct net_node *leaf;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_bring_up(&s);
    leaf = net_find(s.net, "l1");
    net_node_set_power(leaf, false);
    net_node_set_power(leaf, true);
    assert_int_equal(net_port_info(net_node_port(leaf, 0))->lid, 0);
    while (sm_subnet_up(s.sm[0]))
        assert_true(sim_step(s.sim));
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_cabled_is_found_once),
        cmocka_unit_test(a_manager_whose_own_second_port_is_cabled_finds_it),
        cmocka_unit_test(a_node_that_is_cabled_later_is_found_by_its_link),
        cmocka_unit_test(a_switch_that_lost_its_tables_gets_them_again),
        cmocka_unit_test(a_switch_that_lost_power_for_a_moment_is_set_up_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
