/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric_sim/world/mad.h"
#include "tests/support/little_net.h"

static void packets_follow_the_forwarding_table(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 3, NULL);
    assert_true(little_net_send(&little, 0, 2, 0, 1, 100));
    net_lft_set(little.sw, 3, 2); /* LID 3 moves to port 2 */
    little_net_run(&little, 10000);
    assert_int_equal(little_net_arrived(&little, 1), 1);
    assert_int_equal(net_lft_get(little.sw, 3), 2);
    net_lft_set(little.sw, 0xbfff, 1);
    assert_int_equal(net_lft_get(little.sw, 0xbfff), 1);
    assert_int_equal(net_lft_get(little.sw, 0xbffe), NET_PORT_NONE);
    net_lft_set(little.sw, 0xbfff, NET_PORT_NONE);
    assert_int_equal(net_lft_get(little.sw, 0xbfff), NET_PORT_NONE);
    little_net_down(&little);
}

static void a_lid_without_an_entry_is_discarded(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct packet *packet = little_net_packet(&little, 0, 0, 0, 1, 100);
    packet->dlid = 77;
    assert_true(net_send(little.hosts[0], packet));
    net_lft_set(little.sw, 2, NET_PORT_NONE);
    assert_true(little_net_send(&little, 0, 1, 0, 2, 100));
    net_lft_set(little.sw, 78, NET_PORT_NONE); /* to unset what was unset */
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 0);
    struct net_port *ingress = net_port_peer(little.hosts[0]);
    assert_int_equal(net_port_info(ingress)->counters.rcv_switch_relay_errors, 2);
    little_net_down(&little);
}

static void a_packet_does_not_leave_by_the_port_it_came_in(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    assert_true(little_net_send(&little, 0, 0, 0, 1, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 0);
    little_net_down(&little);
}

static void each_hop_maps_the_service_level_anew(void **state)
{
    struct little_net little;
    const uint8_t map[PORT_SLS] = {0, 0, 0, 0, 0, 2};
    (void)state;
    little_net_up(&little, 3, NULL);
    struct net_port *out = net_port_peer(little.hosts[1]);
    little_net_lanes(little.hosts[0], 8);
    little_net_lanes(out, 8);
    net_sl_map_set(out, 1, map); /* for what host 0 sends; others follow the port's own map */
    assert_int_equal(net_sl_map_get(out, 1, 5), 2);
    assert_int_equal(net_sl_map_get(out, 3, 5), 5);
    assert_true(little_net_send(&little, 0, 1, 5, 1, 100));
    little_net_run(&little, 10000);
    assert_true(little_net_send(&little, 2, 1, 5, 2, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 2);
    assert_int_equal(little.seen[0].vl, 2);
    assert_int_equal(little.seen[1].vl, 5);
    little_net_down(&little);
}

static void a_service_level_that_maps_to_15_is_discarded(void **state)
{
    struct little_net little;
    uint8_t map[PORT_SLS] = {0};
    (void)state;
    little_net_up(&little, 2, NULL);
    struct net_port *out = net_port_peer(little.hosts[1]);
    map[4] = 15;
    net_sl_map_set(out, 1, map);
    assert_true(little_net_send(&little, 0, 1, 4, 1, 100));
    assert_true(little_net_send(&little, 0, 1, 3, 2, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 1);
    assert_int_equal(net_port_info(out)->counters.xmit_discards, 1);
    little_net_down(&little);
}

static void an_sl_on_a_dead_lane_vanishes_in_the_switch(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct net_port *out = net_port_peer(little.hosts[1]);
    little_net_lanes(out, 2);
    assert_true(little_net_send(&little, 0, 1, 2, 1, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 0);
    assert_int_equal(net_port_info(out)->counters.xmit_discards, 1);
    little_net_down(&little);
}

struct violation {
    struct net_port *port;
    uint16_t pkey;
    unsigned count;
};

static void violated(void *context, struct net_port *port, const struct packet *packet)
{
    struct violation *violation = context;
    violation->port = port;
    violation->pkey = packet->pkey;
    violation->count++;
}

static void send_key(struct little_net *little, uint16_t pkey)
{
    struct packet *packet = little_net_packet(little, 0, 1, 0, pkey, 100);
    packet->pkey = pkey;
    assert_true(net_send(little->hosts[0], packet));
    little_net_run(little, 10000);
}

static void an_enforcing_port_passes_only_keys_of_its_table(void **state)
{
    struct little_net little;
    struct violation violation = {0};
    (void)state;
    little_net_up(&little, 2, NULL);
    net_set_pkey_handler(little.net, violated, &violation);
    struct net_port *in = net_port_peer(little.hosts[0]);
    net_port_info(in)->pkeys[0] = 0x8001;
    net_port_info(in)->pkeys[1] = 0x0002; /* limited */
    net_port_info(in)->partition_enforce_in = 1;
    send_key(&little, 0x0001);
    send_key(&little, 0x8002);
    assert_int_equal(little.seen_count, 2);
    assert_int_equal(violation.count, 0);
    send_key(&little, 0x0002); /* limited to limited */
    send_key(&little, 0x8003);
    assert_int_equal(little.seen_count, 2);
    assert_int_equal(violation.count, 2);
    assert_int_equal(violation.pkey, 0x8003);
    assert_ptr_equal(violation.port, in);
    assert_int_equal(net_port_info(in)->counters.rcv_constraint_errors, 2);
    little_net_down(&little);
}

static void an_enforcing_egress_counts_for_itself(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct net_port *out = net_port_peer(little.hosts[1]);
    net_port_info(out)->pkeys[0] = 0x8001;
    net_port_info(out)->partition_enforce_out = 1;
    send_key(&little, 0xffff);
    send_key(&little, 0x8001);
    assert_int_equal(little.seen_count, 1);
    assert_int_equal(net_port_info(out)->counters.xmit_constraint_errors, 1);
    little_net_down(&little);
}

static void multicast_reaches_every_member_but_the_sender(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 4, NULL);
    net_mft_set(little.sw, 0xc005, 0, 1u << 1 | 1u << 2 | 1u << 4);
    net_mft_set(little.sw, 0xc001, 0, 1u << 1);
    net_mft_set(little.sw, 0xc003, 1, 0);
    assert_int_equal(net_mft_get(little.sw, 0xc005, 0), 0x16);
    assert_int_equal(net_mft_get(little.sw, 0xc003, 0), 0);
    for (uint16_t mlid = 0xc001; mlid <= 0xc005; mlid += 2) {
        struct packet *packet = little_net_packet(&little, 0, 0, 0, mlid, 100);
        packet->dlid = mlid;
        assert_true(net_send(little.hosts[0], packet));
    }
    little_net_run(&little, 10000);
    assert_int_equal(little.seen_count, 2);
    assert_int_equal(little_net_arrived(&little, 1), 1);
    assert_int_equal(little_net_arrived(&little, 3), 1);
    little_net_down(&little);
}

static void multicast_gives_its_credit_back_once(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 4, NULL);
    net_mft_set(little.sw, 0xc000, 0, 0x1e);
    for (uint32_t i = 0; i < 300; i++) {
        struct packet *packet = little_net_packet(&little, 0, 0, 0, i, 4096);
        packet->dlid = 0xc000;
        assert_true(net_send(little.hosts[0], packet));
        little_net_run(&little, 400);
    }
    little_net_run(&little, 100000);
    assert_int_equal(little.seen_count, 900);
    little_net_down(&little);
}

static void a_switch_sends_from_port_0_by_its_tables(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 2, NULL);
    struct packet *packet = little_net_packet(&little, 0, 1, 0, 5, 100);
    assert_true(net_send(net_node_port(little.sw, 0), packet));
    little_net_run(&little, 10000);
    assert_int_equal(little_net_arrived(&little, 1), 1);
    little_net_down(&little);
}

static void entries_above_the_top_are_kept_and_forward_nothing(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 3, NULL);
    net_lft_set_top(little.sw, 2);
    assert_true(little_net_send(&little, 0, 1, 0, 1, 100));
    assert_true(little_net_send(&little, 0, 2, 0, 2, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little_net_arrived(&little, 1), 1);
    assert_int_equal(little_net_arrived(&little, 2), 0);
    assert_int_equal(net_lft_get(little.sw, 3), 3);
    net_lft_set_top(little.sw, 3);
    assert_true(little_net_send(&little, 0, 2, 0, 3, 100));
    little_net_run(&little, 10000);
    assert_int_equal(little_net_arrived(&little, 2), 1);
    little_net_down(&little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_follow_the_forwarding_table),
        cmocka_unit_test(a_lid_without_an_entry_is_discarded),
        cmocka_unit_test(a_packet_does_not_leave_by_the_port_it_came_in),
        cmocka_unit_test(each_hop_maps_the_service_level_anew),
        cmocka_unit_test(a_service_level_that_maps_to_15_is_discarded),
        cmocka_unit_test(an_sl_on_a_dead_lane_vanishes_in_the_switch),
        cmocka_unit_test(an_enforcing_port_passes_only_keys_of_its_table),
        cmocka_unit_test(an_enforcing_egress_counts_for_itself),
        cmocka_unit_test(multicast_reaches_every_member_but_the_sender),
        cmocka_unit_test(multicast_gives_its_credit_back_once),
        cmocka_unit_test(a_switch_sends_from_port_0_by_its_tables),
        cmocka_unit_test(entries_above_the_top_are_kept_and_forward_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
