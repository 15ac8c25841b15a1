/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric_sim/world/mad.h"
#include "tests/support/little_net.h"

#define COUNT 1000

/* COUNT packets one after the other, a little apart. */
static void send_many(struct little_net *little, size_t from, size_t to)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(little_net_send(little, from, to, 0, i, 256));
        little_net_run(little, 50);
    }
    little_net_run(little, 1000000);
}

static size_t out_of_order(const struct little_net *little)
{
    size_t count = 0;
    for (size_t i = 1; i < little->seen_count; i++)
        count += little->seen[i].psn < little->seen[i - 1].psn;
    return count;
}

static void loss_takes_its_share_one_way(void **state)
{
    struct little_net little;
    struct net_stats stats;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_link_set_loss(little.hosts[0], 100000);
    send_many(&little, 0, 1);
    assert_in_range(little.seen_count, 850, 950);
    net_stats(little.net, &stats);
    assert_int_equal(stats.losses + little.seen_count, COUNT);
    size_t before = little.seen_count;
    send_many(&little, 1, 0);
    assert_int_equal(little.seen_count, before + COUNT);
    little_net_down(&little);
}

static void a_cut_is_one_way_and_the_sender_sees_nothing(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_link_set_cut(little.hosts[0], true);
    send_many(&little, 0, 1);
    assert_int_equal(little.seen_count, 0);
    assert_int_equal(net_port_info(little.hosts[0])->state, FABRIC_PORT_ACTIVE);
    assert_int_equal(net_port_info(little.hosts[0])->counters.xmit_discards, 0);
    send_many(&little, 1, 0);
    assert_int_equal(little.seen_count, COUNT);
    net_link_set_cut(little.hosts[0], false);
    send_many(&little, 0, 1);
    assert_int_equal(little.seen_count, 2 * COUNT);
    little_net_down(&little);
}

static void a_delay_adds_to_the_latency(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    assert_true(little_net_send(&little, 0, 1, 0, 0, 256));
    little_net_run(&little, 100000);
    uint64_t plain = little.seen[0].time;
    net_link_set_delay(little.hosts[0], 5000, 0);
    uint64_t begin = sim_now(little.sim);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 256));
    little_net_run(&little, 100000);
    assert_int_equal(little.seen[1].time - begin, plain + 5000);
    little_net_down(&little);
}

static void jitter_varies_and_nothing_overtakes(void **state)
{
    struct little_net little;
    uint64_t least = UINT64_MAX, most = 0;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_link_set_delay(little.hosts[0], 0, 1000);
    send_many(&little, 0, 1);
    assert_int_equal(little.seen_count, COUNT);
    assert_int_equal(out_of_order(&little), 0);
    for (size_t i = 1; i < little.seen_count; i++) {
        uint64_t gap = little.seen[i].time - little.seen[i - 1].time;
        least = gap < least ? gap : least;
        most = gap > most ? gap : most;
    }
    assert_true(most > least + 100);
    little_net_down(&little);
}

static void nothing_overtakes_when_a_delay_ends(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_link_set_delay(little.hosts[0], 20000, 0);
    for (uint32_t i = 0; i < 100; i++) {
        if (i == 50)
            net_link_set_delay(little.hosts[0], 0, 0);
        assert_true(little_net_send(&little, 0, 1, 0, i, 256));
        little_net_run(&little, 50);
    }
    little_net_run(&little, 1000000);
    assert_int_equal(little.seen_count, 100);
    assert_int_equal(out_of_order(&little), 0);
    uint64_t draws = sim_draws(little.sim), begin = sim_now(little.sim);
    assert_true(little_net_send(&little, 0, 1, 0, 100, 256));
    little_net_run(&little, 1000000);
    assert_true(little.seen[100].time - begin < 1000);
    assert_int_equal(sim_draws(little.sim), draws);
    little_net_down(&little);
}

static void reorder_lets_packets_pass_each_other_and_loses_none(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_link_set_reorder(little.hosts[0], 100000);
    send_many(&little, 0, 1);
    assert_int_equal(little.seen_count, COUNT);
    assert_in_range(out_of_order(&little), 30, 200);
    little_net_down(&little);
}

static void duplicates_arrive_twice(void **state)
{
    struct little_net little;
    size_t twice = 0;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_link_set_duplicate(little.hosts[0], 100000);
    send_many(&little, 0, 1);
    for (size_t i = 1; i < little.seen_count; i++)
        twice += little.seen[i].psn == little.seen[i - 1].psn;
    assert_int_equal(little.seen_count, COUNT + twice);
    assert_in_range(twice, 50, 150);
    little_net_down(&little);
}

struct mads {
    struct little_net *little;
    unsigned count;
};

static void mad_arrived(void *context, struct net_port *port, struct packet *packet)
{
    struct mads *mads = context;
    assert_non_null(port);
    assert_int_equal(packet->mad->bytes[0], 42);
    mads->count++;
    net_free(mads->little->net, packet);
}

static void a_doubled_datagram_has_its_own_bytes(void **state)
{
    struct little_net little;
    struct mads mads = {.little = &little};
    (void)state;
    little_net_up(&little, 1, NULL);
    net_set_mad_handler(little.net, mad_arrived, &mads);
    net_link_set_duplicate(little.hosts[0], 1000000);
    struct packet *packet = little_net_packet(&little, 0, 0, 0, 0, 256);
    packet->dlid = 0xffff;
    packet->is_mad = true;
    packet->mad = mad_new();
    packet->mad->bytes[0] = 42;
    packet->vl = 15;
    assert_true(net_send(little.hosts[0], packet));
    little_net_run(&little, 10000);
    assert_int_equal(mads.count, 2);
    little_net_down(&little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_takes_its_share_one_way),
        cmocka_unit_test(a_cut_is_one_way_and_the_sender_sees_nothing),
        cmocka_unit_test(a_delay_adds_to_the_latency),
        cmocka_unit_test(jitter_varies_and_nothing_overtakes),
        cmocka_unit_test(nothing_overtakes_when_a_delay_ends),
        cmocka_unit_test(reorder_lets_packets_pass_each_other_and_loses_none),
        cmocka_unit_test(duplicates_arrive_twice),
        cmocka_unit_test(a_doubled_datagram_has_its_own_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
