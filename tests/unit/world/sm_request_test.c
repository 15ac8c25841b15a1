/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.2: datagrams with latency along directed routes, lost and sent again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/subnet.h"

#define MS UINT64_C(1000000)

static void a_lost_datagram_is_sent_again(void **state)
{
    struct subnet s;
    struct sm_stats stats;

    (void)state;
    subnet_open_tree(&s, 16, 4, &(struct sm_config){.retries = 9});
    net_link_set_loss(subnet_port(&s, "l3", 3), 200000);
    net_link_set_loss(subnet_port(&s, "h9", 1), 200000);
    subnet_bring_up(&s);
    sm_stats(s.sm[0], &stats);
    assert_true(stats.timeouts > 0);
    assert_int_equal(stats.unanswered, 0);
    assert_int_equal(stats.datagrams_sent, stats.answers + stats.timeouts);
    net_link_set_loss(subnet_port(&s, "l3", 3), 0);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void a_doubled_answer_counts_once(void **state)
{
    struct subnet s;
    struct sm_stats stats;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    net_link_set_duplicate(subnet_port(&s, "l0", 1), 1000000);
    subnet_bring_up(&s);
    sm_stats(s.sm[0], &stats);
    assert_int_equal(stats.answers, stats.datagrams_sent);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static uint64_t time_to_up(uint16_t outstanding)
{
    struct subnet s;
    uint64_t time;

    subnet_open_tree(&s, 16, 4, &(struct sm_config){.max_outstanding = outstanding});
    subnet_bring_up(&s);
    time = sim_now(s.sim);
    subnet_close(&s);
    return time;
}

static void more_datagrams_at_once_are_faster(void **state)
{
    (void)state;
    assert_true(time_to_up(1) > 2 * time_to_up(4));
    assert_true(time_to_up(4) > time_to_up(64));
}

static void a_node_behind_a_dead_end_is_given_up_and_found_later(void **state)
{
    struct subnet s;
    struct sm_stats stats;

    (void)state;
    subnet_open_tree(&s, 4, 4, &(struct sm_config){.retries = 2, .smp_timeout = 20 * MS});
    net_link_set_cut(subnet_port(&s, "h3", 1), true);
    subnet_bring_up(&s);
    sm_stats(s.sm[0], &stats);
    assert_int_equal(stats.unanswered, 1);
    assert_int_equal(stats.timeouts, 3);
    assert_int_equal(subnet_info(&s, "h3")->state, FABRIC_PORT_INIT);
    net_link_set_cut(subnet_port(&s, "h3", 1), false);
    while (subnet_info(&s, "h3")->state != FABRIC_PORT_ACTIVE)
        assert_true(sim_step(s.sim));
    subnet_close(&s);
}

static void datagrams_take_the_time_of_their_hops(void **state)
{
    struct subnet s;
    uint64_t near;

    (void)state;
    subnet_open_tree(&s, 16, 4, &(struct sm_config){.max_outstanding = 1});
    subnet_bring_up(&s);
    near = sim_now(s.sim);
    subnet_close(&s);
    subnet_open_tree(&s, 16, 4, &(struct sm_config){.max_outstanding = 1});
    sma_set_latency(s.sma, 50000);
    subnet_bring_up(&s);
    assert_true(sim_now(s.sim) > 3 * near);
    subnet_close(&s);
    assert_true(near > 300 * UINT64_C(5000)); /* some hundred answers of 5 us each */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_datagram_is_sent_again),
        cmocka_unit_test(a_doubled_answer_counts_once),
        cmocka_unit_test(more_datagrams_at_once_are_faster),
        cmocka_unit_test(a_node_behind_a_dead_end_is_given_up_and_found_later),
        cmocka_unit_test(datagrams_take_the_time_of_their_hops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
