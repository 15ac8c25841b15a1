/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric_sim/world/mad.h"
#include "tests/support/little_net.h"

/* 4096 + 30 bytes at 100 Gbit/s take 330.08 ns, counted as 331. */
#define WIRE_TIME 331

static void a_packet_takes_its_time_over_two_links(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 4096));
    assert_int_equal(net_port_free_at(little.hosts[0]), WIRE_TIME);
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 1);
    assert_int_equal(little.seen[0].time, 2 * (WIRE_TIME + 100) + 100);
    assert_int_equal(net_port_free_at(little.hosts[0]), sim_now(little.sim));
    little_net_down(&little);
}

static void the_switch_adds_its_latency(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    net_switch_set_latency(little.sw, 1000);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 4096));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen[0].time, 2 * (WIRE_TIME + 100) + 1000);
    little_net_down(&little);
}

static void packets_follow_one_another_without_a_gap(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    for (uint32_t i = 0; i < 6; i++)
        assert_true(little_net_send(&little, 0, 1, 0, i, 4096));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(little.seen[i].psn, i);
        assert_int_equal(little.seen[i].time, little.seen[0].time + i * WIRE_TIME);
    }
    little_net_down(&little);
}

static void a_full_lane_refuses_and_says_when_it_has_room(void **state)
{
    struct little_net little;
    uint32_t sent = 0;
    (void)state;
    little_net_up(&little, 2, NULL);
    while (little_net_send(&little, 0, 1, 0, sent, 4096))
        sent++;
    assert_in_range(sent, 2, 64);
    assert_int_equal(little.can_send, 0);
    little_net_run(&little, WIRE_TIME);
    assert_int_equal(little.can_send, 1);
    assert_true(little_net_send(&little, 0, 1, 0, sent++, 4096));
    little_net_run(&little, 100000);
    assert_int_equal(little.seen_count, sent);
    little_net_down(&little);
}

static void a_refused_owner_is_told_when_the_link_is_lost(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    while (little_net_send(&little, 0, 1, 0, 0, 4096))
        ;
    net_link_set_up(little.hosts[0], false);
    assert_int_equal(little.can_send, 1);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 4096)); /* taken and discarded */
    little_net_run(&little, 100000);
    assert_int_equal(little.seen_count, 0);
    little_net_down(&little);
}

static void a_payload_above_the_mtu_is_discarded_where_it_is_too_large(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct net_port *egress = net_port_peer(little.hosts[1]);
    net_link_set_mtu(little.hosts[1], FABRIC_MTU_1024);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 1024));
    assert_true(little_net_send(&little, 0, 1, 0, 2, 1025));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 1);
    assert_int_equal(little.seen[0].psn, 1);
    assert_int_equal(net_port_info(egress)->counters.xmit_discards, 1);
    net_link_set_mtu(little.hosts[1], FABRIC_MTU_4096);
    assert_true(little_net_send(&little, 0, 1, 0, 3, 4096));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 2);
    little_net_down(&little);
}

static void a_payload_above_the_ports_own_mtu_never_leaves(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct port_info before = *net_port_info(little.hosts[0]);
    net_port_info(little.hosts[0])->active_mtu = FABRIC_MTU_2048;
    net_port_changed(little.hosts[0], &before);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 4096));
    assert_true(little_net_send(&little, 0, 1, 0, 2, 2048));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 1);
    assert_int_equal(net_port_info(little.hosts[0])->counters.xmit_discards, 1);
    little_net_down(&little);
}

static void a_lane_that_is_not_operational_swallows(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    little_net_lanes(little.hosts[0], 4);
    assert_true(little_net_send(&little, 0, 1, 4, 1, 100)); /* SL 4 on lane 4 of 0..3 */
    assert_true(little_net_send(&little, 0, 1, 3, 2, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 1);
    assert_int_equal(little.seen[0].psn, 2);
    assert_int_equal(net_port_info(little.hosts[0])->counters.xmit_discards, 1);
    little_net_down(&little);
}

static void lanes_that_stop_being_operational_lose_what_waits(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    little_net_lanes(little.hosts[0], 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(little_net_send(&little, 0, 1, 3, i, 4096));
    little_net_lanes(little.hosts[0], 2);
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 1);
    assert_int_equal(net_port_info(little.hosts[0])->counters.xmit_discards, 3);
    little_net_down(&little);
}

struct mad_seen {
    struct little_net *little;
    struct net_port *port;
    unsigned count;
};

static void mad_arrived(void *context, struct net_port *port, struct packet *packet)
{
    struct mad_seen *seen = context;
    seen->port = port;
    seen->count++;
    net_free(seen->little->net, packet);
}

static void send_mad(struct little_net *little, size_t from, uint16_t dlid)
{
    struct packet *packet = little_net_packet(little, from, 0, 0, 0, 256);
    packet->dlid = dlid;
    packet->is_mad = true;
    packet->mad = mad_new();
    packet->vl = 15;
    assert_true(net_send(little->hosts[from], packet));
}

static void datagrams_reach_their_handler_in_init(void **state)
{
    struct little_net little;
    struct mad_seen seen = {.little = &little};
    (void)state;
    little_net_up(&little, 2, NULL);
    net_set_mad_handler(little.net, mad_arrived, &seen);
    for (size_t i = 0; i < 2; i++) {
        little_net_state(little.hosts[i], FABRIC_PORT_INIT);
        little_net_state(net_port_peer(little.hosts[i]), FABRIC_PORT_INIT);
    }
    send_mad(&little, 0, 0xffff);
    little_net_run(&little, 10000);
    assert_ptr_equal(seen.port, net_port_peer(little.hosts[0]));
    send_mad(&little, 0, 2);
    little_net_run(&little, 10000);
    assert_ptr_equal(seen.port, little.hosts[1]);
    net_port_info(net_node_port(little.sw, 0))->lid = 50;
    send_mad(&little, 1, 50);
    little_net_run(&little, 10000);
    assert_ptr_equal(seen.port, net_port_peer(little.hosts[1]));
    assert_int_equal(seen.count, 3);
    little_net_down(&little);
}

static void datagrams_that_do_not_fit_are_dropped_and_counted(void **state)
{
    struct little_net little;
    struct mad_seen seen = {.little = &little};
    (void)state;
    little_net_up(&little, 2, NULL);
    net_set_mad_handler(little.net, mad_arrived, &seen);
    for (int i = 0; i < 5000; i++)
        send_mad(&little, 0, 0xffff);
    uint64_t dropped = net_port_info(little.hosts[0])->counters.vl15_dropped;
    assert_in_range(dropped, 1, 4999);
    little_net_run(&little, 10000000);
    assert_int_equal(seen.count + dropped, 5000);
    little_net_down(&little);
}

static void datagrams_nobody_handles_are_discarded(void **state)
{
    struct little_net little;
    struct net_stats stats;
    (void)state;
    little_net_up(&little, 2, NULL);
    send_mad(&little, 0, 0xffff);
    little_net_run(&little, 10000);
    net_stats(little.net, &stats);
    assert_int_equal(stats.discards, 1);
    little_net_down(&little);
}

static void a_trace_changes_nothing_but_itself(void **state)
{
    uint64_t hash[3], events[3];
    (void)state;
    for (int run = 0; run < 3; run++) {
        struct little_net little;
        little_net_up(&little, 3, NULL);
        if (run < 2)
            sim_trace_start(little.sim, NULL, NULL);
        net_link_set_loss(little.hosts[0], 300000);
        net_link_set_delay(little.hosts[1], 10, 500);
        for (uint32_t i = 0; i < 200; i++) {
            little_net_send(&little, i % 2, 2, 0, i, 1 + i * 20);
            little_net_run(&little, 100);
        }
        little_net_run(&little, 100000);
        hash[run] = sim_trace_hash(little.sim);
        events[run] = sim_events_run(little.sim) * 1000000 + sim_draws(little.sim);
        little_net_down(&little);
    }
    assert_true(hash[0] != 0 && hash[0] == hash[1]);
    assert_true(events[0] == events[1] && events[0] == events[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_takes_its_time_over_two_links),
        cmocka_unit_test(the_switch_adds_its_latency),
        cmocka_unit_test(packets_follow_one_another_without_a_gap),
        cmocka_unit_test(a_full_lane_refuses_and_says_when_it_has_room),
        cmocka_unit_test(a_refused_owner_is_told_when_the_link_is_lost),
        cmocka_unit_test(a_payload_above_the_mtu_is_discarded_where_it_is_too_large),
        cmocka_unit_test(a_payload_above_the_ports_own_mtu_never_leaves),
        cmocka_unit_test(a_lane_that_is_not_operational_swallows),
        cmocka_unit_test(lanes_that_stop_being_operational_lose_what_waits),
        cmocka_unit_test(datagrams_reach_their_handler_in_init),
        cmocka_unit_test(datagrams_that_do_not_fit_are_dropped_and_counted),
        cmocka_unit_test(datagrams_nobody_handles_are_discarded),
        cmocka_unit_test(a_trace_changes_nothing_but_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
