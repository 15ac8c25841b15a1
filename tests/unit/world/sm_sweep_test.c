/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.2: heavy and light sweeps, traps that trigger them; HA-2.3: the order of events. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/subnet.h"

#define MS UINT64_C(1000000)

static void wait_stats(struct subnet *s, uint64_t heavy, uint64_t light)
{
    struct sm_stats stats;

    do {
        assert_true(sim_step(s->sim));
        sm_stats(s->sm[0], &stats);
    } while (stats.heavy_sweeps < heavy || stats.light_sweeps < light);
}

static void light_sweeps_ask_only_the_switches(void **state)
{
    struct subnet s;
    struct sm_stats before, after;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_bring_up(&s);
    sm_stats(s.sm[0], &before);
    wait_stats(&s, 1, 3);
    sm_stats(s.sm[0], &after);
    assert_int_equal(after.heavy_sweeps, 1);
    /* each asks every switch and our own port */
    assert_int_equal(after.datagrams_sent - before.datagrams_sent, 3 * (after.switches + 1));
    assert_true(sim_now(s.sim) >= 30000 * MS);
    subnet_close(&s);
}

static void a_trap_brings_a_heavy_sweep_at_once(void **state)
{
    struct subnet s;
    struct sm_stats stats;
    uint64_t cut;

    (void)state;
    subnet_open_tree(&s, 8, 4, &(struct sm_config){.sweep_interval = UINT64_MAX});
    subnet_bring_up(&s);
    cut = sim_now(s.sim);
    net_link_set_up(subnet_port(&s, "h5", 1), false);
    wait_stats(&s, 2, 0);
    assert_true(sim_now(s.sim) - cut < 100 * MS);
    sm_stats(s.sm[0], &stats);
    assert_int_equal(stats.traps, 1);
    assert_int_equal(stats.light_sweeps, 0);
    net_link_set_up(subnet_port(&s, "h5", 1), true);
    wait_stats(&s, 3, 0);
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

/* Everything from this switch towards the manager is lost, so no trap arrives. */
static void a_light_sweep_finds_what_a_lost_trap_did_not_tell(void **state)
{
    struct subnet s;
    struct sm_stats stats;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    net_link_set_cut(subnet_port(&s, "l0", 1), true);
    net_link_set_up(subnet_port(&s, "h3", 1), false);
    sim_run_until(s.sim, sim_now(s.sim) + 10 * MS);
    net_port_info(subnet_port(&s, "l0", 0))->sm_lid = 0; /* nor will it be repeated */
    net_link_set_cut(subnet_port(&s, "l0", 1), false);
    wait_stats(&s, 2, 0);
    assert_true(subnet_wait_up(&s, 0));
    sm_stats(s.sm[0], &stats);
    assert_int_equal(stats.traps, 0);
    assert_int_equal(stats.nodes, 4);
    subnet_close(&s);
}

static void a_silent_switch_is_looked_for_by_a_heavy_sweep(void **state)
{
    struct subnet s;
    struct sm_stats stats;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_bring_up(&s);
    net_link_set_cut(subnet_port(&s, "l2", 3), true); /* its answers leave by one of these */
    net_link_set_cut(subnet_port(&s, "l2", 4), true);
    wait_stats(&s, 2, 1);
    sm_stats(s.sm[0], &stats);
    assert_true(stats.unanswered > 0);
    assert_true(stats.nodes < net_node_count(s.net));
    net_link_set_cut(subnet_port(&s, "l2", 3), false);
    net_link_set_cut(subnet_port(&s, "l2", 4), false);
    while (sm_stats(s.sm[0], &stats), stats.nodes < net_node_count(s.net))
        assert_true(sim_step(s.sim));
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void a_port_that_comes_up_goes_to_active_in_the_order_of_real_fabrics(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    sm_partition_add(s.sm[0], 0x8001, 1);
    net_link_set_up(subnet_port(&s, "h5", 1), false);
    subnet_bring_up(&s);
    subnet_watch(&s, "h5");
    net_link_set_up(subnet_port(&s, "h5", 1), true);
    wait_stats(&s, 2, 0);
    assert_string_equal(s.log, "INIT LID+SMLID+REREG PKEY SL ARMED ACTIVE");
    subnet_watch(&s, "h5");
    net_link_set_up(subnet_port(&s, "h5", 1), false);
    net_link_set_up(subnet_port(&s, "h5", 1), true);
    wait_stats(&s, 3, 0);
    assert_string_equal(s.log, "DOWN INIT REREG ARMED ACTIVE"); /* LID and keys it still has */
    subnet_close(&s);
}

static void two_hosts_back_to_back_need_no_switch(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open(&s);
    subnet_add_host(&s, "a", 0x100);
    subnet_add_host(&s, "b", 0x200);
    subnet_cable(&s, "a", 1, "b", 1);
    subnet_manage(&s, "b", NULL);
    subnet_bring_up(&s);
    assert_int_equal(subnet_info(&s, "a")->state, FABRIC_PORT_ACTIVE);
    assert_int_equal(subnet_info(&s, "a")->sm_lid, subnet_info(&s, "b")->lid);
    net_link_set_up(subnet_port(&s, "a", 1), false);
    net_link_set_up(subnet_port(&s, "a", 1), true);
    wait_stats(&s, 2, 0); /* a light sweep of our own port tells */
    assert_int_equal(subnet_info(&s, "a")->state, FABRIC_PORT_ACTIVE);
    subnet_close(&s);
}

static void what_is_asked_for_during_a_sweep_is_done_after_it(void **state)
{
    struct subnet s;
    uint64_t guid;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    guid = subnet_guid(&s, "h6");
    sm_start(s.sm[0]);
    while (subnet_info(&s, "h6")->state != FABRIC_PORT_ARMED)
        assert_true(sim_step(s.sim));
    assert_true(sm_lid_set(s.sm[0], guid, 321));
    assert_true(sm_pkey_set(s.sm[0], guid, 0x8042, 9));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h6")->lid, 321);
    assert_int_equal(subnet_info(&s, "h6")->pkeys[9], 0x8042);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void what_failed_is_tried_again_soon(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, &(struct sm_config){.retries = 1, .smp_timeout = 10 * MS});
    sm_start(s.sm[0]);
    while (subnet_info(&s, "h2")->lid == 0)
        assert_true(sim_step(s.sim));
    net_link_set_cut(subnet_port(&s, "l0", 3), true); /* its SL map and state get lost */
    sim_run_until(s.sim, 200 * MS);
    assert_int_equal(sm_state(s.sm[0]), SM_MASTER);
    assert_false(sm_subnet_up(s.sm[0]));
    net_link_set_cut(subnet_port(&s, "l0", 3), false);
    assert_true(subnet_wait_up(&s, 0));
    assert_true(sim_now(s.sim) < 3000 * MS);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(light_sweeps_ask_only_the_switches),
        cmocka_unit_test(a_trap_brings_a_heavy_sweep_at_once),
        cmocka_unit_test(a_light_sweep_finds_what_a_lost_trap_did_not_tell),
        cmocka_unit_test(a_silent_switch_is_looked_for_by_a_heavy_sweep),
        cmocka_unit_test(a_port_that_comes_up_goes_to_active_in_the_order_of_real_fabrics),
        cmocka_unit_test(two_hosts_back_to_back_need_no_switch),
        cmocka_unit_test(what_is_asked_for_during_a_sweep_is_done_after_it),
        cmocka_unit_test(what_failed_is_tried_again_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
