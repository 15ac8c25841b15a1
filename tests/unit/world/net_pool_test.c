/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "fabric_sim/world/mad.h"
#include "tests/support/aborts.h"
#include "tests/support/little_net.h"

static size_t memory(const struct net *net)
{
    struct net_stats stats;
    net_stats(net, &stats);
    return stats.bytes_of_memory;
}

static void a_packet_is_all_zero_again(void **state)
{
    struct little_net little;
    static const struct packet zero;
    (void)state;
    little_net_up(&little, 1, NULL);
    struct packet *packet = net_alloc(little.net);
    memset(packet, 0, sizeof(*packet));
    packet->psn = 77;
    net_free(little.net, packet);
    struct packet *again = net_alloc(little.net);
    assert_ptr_equal(again, packet);
    assert_memory_equal(again, &zero, sizeof(zero));
    net_free(little.net, again);
    little_net_down(&little);
}

static void packets_in_use_bound_the_memory(void **state)
{
    struct little_net little;
    struct packet *packets[300];
    size_t most = 0;
    (void)state;
    little_net_up(&little, 1, NULL);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 300; i++)
            packets[i] = net_alloc(little.net);
        assert_true(round == 0 || memory(little.net) == most);
        most = memory(little.net);
        for (size_t i = 0; i < 300; i++)
            net_free(little.net, packets[i]);
    }
    little_net_down(&little);
}

static void a_detached_payload_keeps_its_bytes(void **state)
{
    struct little_net little;
    uint8_t bytes[4] = {1, 2, 3, 4};
    (void)state;
    little_net_up(&little, 1, NULL);
    struct payload *payload = payload_new(little.net, bytes, sizeof(bytes));
    struct packet *packet = net_alloc(little.net);
    packet->payload = payload_ref(payload);
    assert_ptr_equal(payload->bytes, bytes);
    payload_detach(little.net, payload);
    payload_detach(little.net, payload);
    memset(bytes, 9, sizeof(bytes));
    payload_unref(little.net, payload);
    assert_int_equal(packet->payload->bytes[2], 3);
    size_t held = memory(little.net);
    net_free(little.net, packet);
    assert_int_equal(memory(little.net), held - sizeof(bytes));
    little_net_down(&little);
}

static void payloads_are_used_again(void **state)
{
    struct little_net little;
    static const uint8_t bytes[1];
    struct payload *payloads[200];
    size_t held = 0;
    (void)state;
    little_net_up(&little, 1, NULL);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 200; i++)
            payloads[i] = payload_new(little.net, bytes, 1);
        assert_true(round == 0 || memory(little.net) == held);
        held = memory(little.net);
        for (size_t i = 0; i < 200; i++)
            payload_unref(little.net, payloads[i]);
    }
    little_net_down(&little);
}

static void give_up_twice(void *context)
{
    struct little_net *little = context;
    static const uint8_t bytes[1];
    struct payload *payload = payload_new(little->net, bytes, 1);
    payload_unref(little->net, payload);
    payload_unref(little->net, payload);
}

static void a_payload_given_up_twice_aborts(void **state)
{
    struct little_net little;
    (void)state;
    little_net_up(&little, 1, NULL);
    assert_true(aborts(give_up_twice, &little));
    little_net_down(&little);
}

/* What is under way when a world ends goes with it; the address sanitizer is the judge. */
static void nothing_is_left_of_packets_under_way(void **state)
{
    struct little_net little;
    static const uint8_t bytes[8];
    (void)state;
    little_net_up(&little, 2, NULL);
    struct packet *packet = little_net_packet(&little, 0, 1, 0, 1, 8);
    packet->payload = payload_new(little.net, bytes, sizeof(bytes));
    payload_detach(little.net, packet->payload);
    assert_true(net_send(little.hosts[0], packet));
    packet = little_net_packet(&little, 0, 1, 0, 2, 256);
    packet->is_mad = true;
    packet->mad = mad_new();
    packet->vl = 15;
    assert_true(net_send(little.hosts[0], packet));
    little_net_down(&little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_is_all_zero_again),
        cmocka_unit_test(packets_in_use_bound_the_memory),
        cmocka_unit_test(a_detached_payload_keeps_its_bytes),
        cmocka_unit_test(payloads_are_used_again),
        cmocka_unit_test(a_payload_given_up_twice_aborts),
        cmocka_unit_test(nothing_is_left_of_packets_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
