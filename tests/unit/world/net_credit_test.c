/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/little_net.h"

/* Sends until nothing more is taken within `ns` of virtual time; returns how many were taken. */
static uint32_t flood(struct little_net *little, size_t from, uint8_t sl, uint64_t ns)
{
    uint32_t taken = 0;
    uint64_t end = sim_now(little->sim) + ns;
    while (sim_now(little->sim) < end) {
        while (taken < 2000 && little_net_send(little, from, 1, sl, taken, 4096))
            taken++;
        little_net_run(little, 300);
    }
    return taken;
}

static void credits_come_back_for_ever(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    uint32_t taken = flood(&little, 0, 0, 200000);
    little_net_run(&little, 100000);
    assert_int_equal(little.seen_count, taken);
    assert_in_range(taken, 550, 650); /* 200 us at 331 ns each: the whole rate */
    little_net_down(&little);
}

static void a_stalled_receiver_stops_its_lane_and_no_other(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    little_net_lanes(little.hosts[0], 8);
    net_lane_set_stalled(net_port_peer(little.hosts[0]), 1, true);
    uint32_t taken = flood(&little, 0, 1, 100000);
    assert_in_range(taken, 8, 64);
    size_t before = little_net_arrived(&little, 1);
    assert_true(before < taken);
    little_net_run(&little, 1000000);
    assert_int_equal(little.seen_count, before); /* without credits not one more */
    assert_true(little_net_send(&little, 0, 1, 0, 7, 4096));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, before + 1);
    net_lane_set_stalled(net_port_peer(little.hosts[0]), 1, false);
    little_net_run(&little, 100000);
    assert_int_equal(little.seen_count, taken + 1);
    little_net_down(&little);
}

static void two_senders_into_one_link_are_held_back_not_dropped(void **state)
{
    struct little_net little;
    uint32_t taken = 0;
    (void)state;
    little_net_up(&little, 3, NULL);
    for (int i = 0; i < 300; i++) {
        taken += little_net_send(&little, 0, 1, 0, taken, 4096);
        taken += little_net_send(&little, 2, 1, 0, taken, 4096);
        little_net_run(&little, 331);
    }
    little_net_run(&little, 1000000);
    assert_int_equal(little.seen_count, taken);
    assert_in_range(taken, 300, 400); /* one link's worth, and the buffers */
    assert_true(net_port_info(little.hosts[0])->counters.xmit_wait > 0);
    little_net_down(&little);
}

static void a_long_cable_still_carries_its_rate(void **state)
{
    struct little_net little;
    struct net_link link = {.latency = 100000};
    (void)state;
    little_net_up(&little, 2, &link);
    uint32_t taken = flood(&little, 0, 0, 600000);
    assert_in_range(taken, 1700, 2000);
    little_net_down(&little);
}

static void a_delay_that_comes_later_does_not_starve_the_lane(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    flood(&little, 0, 0, 10000);
    net_link_set_delay(little.hosts[0], 100000, 0);
    uint32_t taken = flood(&little, 0, 0, 400000);
    assert_in_range(taken, 1100, 1300);
    little_net_down(&little);
}

static void small_packets_cost_a_block_each(void **state)
{
    struct little_net little;
    uint32_t taken = 0;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_lane_set_stalled(net_port_peer(little.hosts[0]), 0, true);
    for (int i = 0; i < 3000; i++) {
        taken += little_net_send(&little, 0, 1, 0, taken, 0);
        little_net_run(&little, 3);
    }
    little_net_run(&little, 100000);
    size_t blocks = little.seen_count;
    assert_in_range(blocks, 500, 2000);
    net_lane_set_stalled(net_port_peer(little.hosts[0]), 0, false);
    little_net_run(&little, 100000);
    assert_int_equal(little.seen_count, taken);
    little_net_down(&little);
}

static void a_dead_lane_of_a_switch_lets_go_of_what_it_holds(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 3, NULL);
    struct net_port *dead = net_port_peer(little.hosts[1]);
    net_switch_set_hoq_life(little.sw, 50000);
    net_lane_set_stalled(little.hosts[1], 0, true);
    uint32_t taken = flood(&little, 0, 0, 2000000);
    little_net_run(&little, 10000000);
    uint64_t dropped = net_port_info(dead)->counters.xmit_discards;
    assert_true(dropped > 0);
    assert_int_equal(little_net_arrived(&little, 1) + dropped, taken);
    assert_true(little_net_send(&little, 0, 2, 0, 1, 4096)); /* others pass again */
    little_net_run(&little, 10000);
    assert_int_equal(little_net_arrived(&little, 2), 1);
    little_net_down(&little);
}

static void a_lanes_statistics_tell_who_starves(void **state)
{
    struct little_net little;
    struct net_lane_stats idle, dead;
    (void)state;
    little_net_up(&little, 3, NULL);
    struct net_port *out = net_port_peer(little.hosts[1]);
    net_switch_set_hoq_life(little.sw, 50000);
    net_lane_stats(out, 0, &idle);
    assert_int_equal(idle.packets + idle.credits + idle.queued, 0); /* never used */
    net_lane_set_stalled(little.hosts[1], 0, true);
    flood(&little, 0, 0, 20000);
    net_lane_stats(out, 0, &dead);
    assert_true(dead.packets > 0 && dead.queued > 0);
    assert_true(dead.credits < 66);
    assert_int_equal(dead.expired, 0);
    little_net_run(&little, 10000000);
    net_lane_stats(out, 0, &dead);
    assert_int_equal(dead.queued, 0);
    assert_int_equal(dead.expired, net_port_info(out)->counters.xmit_discards);
    assert_true(dead.waited >= 50000);
    little_net_down(&little);
}

static void a_lost_packet_gives_its_credit_back(void **state)
{
    struct little_net little;
    struct net_stats stats;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_link_set_cut(little.hosts[0], true);
    uint32_t taken = flood(&little, 0, 0, 200000);
    assert_in_range(taken, 550, 650);
    little_net_run(&little, 10000);
    net_stats(little.net, &stats);
    assert_int_equal(stats.losses, taken);
    little_net_down(&little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credits_come_back_for_ever),
        cmocka_unit_test(a_stalled_receiver_stops_its_lane_and_no_other),
        cmocka_unit_test(two_senders_into_one_link_are_held_back_not_dropped),
        cmocka_unit_test(a_long_cable_still_carries_its_rate),
        cmocka_unit_test(a_delay_that_comes_later_does_not_starve_the_lane),
        cmocka_unit_test(small_packets_cost_a_block_each),
        cmocka_unit_test(a_dead_lane_of_a_switch_lets_go_of_what_it_holds),
        cmocka_unit_test(a_lanes_statistics_tell_who_starves),
        cmocka_unit_test(a_lost_packet_gives_its_credit_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
