/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.2: late start, stop, restart, slow answers, no resources; a half-configured fabric is
 * visible. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/subnet.h"

#define MS UINT64_C(1000000)

static void every_port_becomes_active_with_a_lid_and_a_way_to_all_others(void **state)
{
    struct subnet s;
    struct sm_stats stats;

    (void)state;
    subnet_open_tree(&s, 16, 4, NULL);
    subnet_bring_up(&s);
    assert_true(subnet_walk_clean(s.net));
    sm_stats(s.sm[0], &stats);
    assert_int_equal(stats.nodes, net_node_count(s.net));
    assert_int_equal(stats.heavy_sweeps, 1);
    assert_int_equal(stats.errors + stats.timeouts + stats.unanswered, 0);
    subnet_close(&s);
}

static void ports_wait_in_init_until_a_late_manager_starts(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_watch(&s, "h2");
    sim_run_until(s.sim, 60000 * MS);
    assert_int_equal(subnet_info(&s, "h2")->state, FABRIC_PORT_INIT);
    assert_int_equal(subnet_info(&s, "h2")->lid, 0);
    subnet_bring_up(&s);
    assert_string_equal(s.log, "LID+SMLID+REREG SL ARMED ACTIVE");
    subnet_close(&s);
}

static void a_restart_without_a_change_is_re_registration_alone(void **state)
{
    struct subnet s;
    uint16_t lid;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    sm_partition_add(s.sm[0], 0x8001, 5);
    subnet_bring_up(&s);
    lid = subnet_info(&s, "h3")->lid;
    subnet_watch(&s, "h3");
    sm_restart(s.sm[0], true);
    assert_false(sm_subnet_up(s.sm[0]));
    assert_true(subnet_wait_up(&s, 0));
    assert_string_equal(s.log, "REREG");
    assert_int_equal(subnet_info(&s, "h3")->lid, lid);
    subnet_close(&s);
}

static void lids_survive_a_restart_though_their_ports_lost_them(void **state)
{
    struct subnet s;
    uint16_t lid;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_bring_up(&s);
    assert_true(sm_lid_set(s.sm[0], subnet_guid(&s, "h3"), 700));
    assert_true(subnet_wait_up(&s, 0));
    lid = subnet_info(&s, "h3")->lid;
    assert_int_equal(lid, 700);
    sm_stop(s.sm[0]);
    subnet_info(&s, "h3")->lid = 0;
    sm_restart(s.sm[0], true);
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h3")->lid, lid);
    sm_restart(s.sm[0], false);
    assert_true(subnet_wait_up(&s, 0));
    assert_int_not_equal(subnet_info(&s, "h3")->lid, lid);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void a_stopped_manager_says_nothing_more_and_the_subnet_goes_on(void **state)
{
    struct subnet s;
    struct sm_stats before, after;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    subnet_watch(&s, "h2");
    sm_stop(s.sm[0]);
    assert_int_equal(sm_state(s.sm[0]), SM_NOT_ACTIVE);
    assert_false(sm_subnet_up(s.sm[0]));
    assert_false(subnet_info(&s, "h0")->is_sm);
    sm_stats(s.sm[0], &before);
    sim_run_until(s.sim, sim_now(s.sim) + 60000 * MS);
    sm_stats(s.sm[0], &after);
    assert_int_equal(after.datagrams_sent, before.datagrams_sent);
    assert_string_equal(s.log, "");
    assert_int_equal(subnet_info(&s, "h2")->state, FABRIC_PORT_ACTIVE);
    subnet_close(&s);
}

static uint64_t time_to_up(uint64_t delay)
{
    struct subnet s;
    uint64_t time;

    subnet_open_tree(&s, 4, 4, NULL);
    sm_set_delay(s.sm[0], delay);
    subnet_bring_up(&s);
    time = sim_now(s.sim);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
    return time;
}

static void a_slow_manager_takes_longer_and_does_the_same(void **state)
{
    (void)state;
    assert_true(time_to_up(0) < 10 * MS);
    assert_true(time_to_up(50 * MS) > 500 * MS);
    /* slower than its own time-out: an answer that is here is not asked for again */
    assert_true(time_to_up(300 * MS) > 3000 * MS);
}

static void a_manager_can_be_stopped_while_it_is_slow(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    sm_set_delay(s.sm[0], 50 * MS);
    sm_start(s.sm[0]);
    sim_run_until(s.sim, 120 * MS);
    sm_stop(s.sm[0]);
    sim_run_until(s.sim, 1000 * MS);
    sm_start(s.sm[0]);
    assert_true(subnet_wait_up(&s, 0));
    subnet_close(&s);
}

static void a_manager_out_of_resources_refuses_services_but_goes_on_managing(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    assert_false(sm_refuses(s.sm[0]));
    sm_refuse(s.sm[0], true);
    assert_true(sm_refuses(s.sm[0]));
    subnet_bring_up(&s);
    sm_refuse(s.sm[0], false);
    assert_false(sm_refuses(s.sm[0]));
    subnet_close(&s);
}

static void the_half_configured_fabric_is_visible_meanwhile(void **state)
{
    struct subnet s;
    bool mixed = false;

    (void)state;
    subnet_open_tree(&s, 16, 4, NULL);
    sm_start(s.sm[0]);
    while (!sm_subnet_up(s.sm[0]) && sim_step(s.sim))
        mixed = mixed || (subnet_info(&s, "h1")->state != subnet_info(&s, "h15")->state);
    assert_true(mixed);
    subnet_close(&s);
}

static void two_subnets_side_by_side_know_nothing_of_each_other(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open(&s);
    fat_tree_build(s.net, &(struct fat_tree_config){.hosts = 4, .radix = 4, .prefix = "a"});
    fat_tree_build(s.net, &(struct fat_tree_config){
                              .hosts = 4, .radix = 4, .prefix = "b", .first_guid = 0x5000000});
    subnet_manage(&s, "ah0", NULL);
    subnet_add_manager(&s, 1, "bh0", &(struct sm_config){.subnet_prefix = 0xFEC0000000000001});
    sm_start(s.sm[0]);
    sm_start(s.sm[1]);
    assert_true(subnet_wait_up(&s, 0) && subnet_wait_up(&s, 1));
    assert_int_equal(sm_state(s.sm[0]), SM_MASTER);
    assert_int_equal(sm_state(s.sm[1]), SM_MASTER);
    assert_true(subnet_info(&s, "ah1")->gid_prefix == SM_DEFAULT_PREFIX);
    assert_true(subnet_info(&s, "bh1")->gid_prefix == 0xFEC0000000000001);
    assert_int_equal(subnet_info(&s, "ah0")->lid, subnet_info(&s, "bh0")->lid);
    subnet_close(&s);
}

static void hash_run(uint64_t *hash, uint64_t *draws)
{
    struct subnet s;

    subnet_open_tree(&s, 16, 4, &(struct sm_config){.lmc = 1});
    sim_trace_start(s.sim, NULL, NULL);
    subnet_bring_up(&s);
    sm_lid_swap(s.sm[0], subnet_guid(&s, "h1"), subnet_guid(&s, "h2"));
    assert_true(subnet_wait_up(&s, 0));
    *hash = sim_trace_hash(s.sim);
    *draws = sim_draws(s.sim);
    subnet_close(&s);
}

static void the_same_world_gives_the_same_trace(void **state)
{
    uint64_t hash[2], draws[2];

    (void)state;
    hash_run(&hash[0], &draws[0]);
    hash_run(&hash[1], &draws[1]);
    assert_true(hash[0] == hash[1]);
    assert_true(draws[0] == draws[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_port_becomes_active_with_a_lid_and_a_way_to_all_others),
        cmocka_unit_test(ports_wait_in_init_until_a_late_manager_starts),
        cmocka_unit_test(a_restart_without_a_change_is_re_registration_alone),
        cmocka_unit_test(lids_survive_a_restart_though_their_ports_lost_them),
        cmocka_unit_test(a_stopped_manager_says_nothing_more_and_the_subnet_goes_on),
        cmocka_unit_test(a_slow_manager_takes_longer_and_does_the_same),
        cmocka_unit_test(a_manager_can_be_stopped_while_it_is_slow),
        cmocka_unit_test(a_manager_out_of_resources_refuses_services_but_goes_on_managing),
        cmocka_unit_test(the_half_configured_fabric_is_visible_meanwhile),
        cmocka_unit_test(two_subnets_side_by_side_know_nothing_of_each_other),
        cmocka_unit_test(the_same_world_gives_the_same_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
