/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric_sim/world/mad.h"
#include "tests/support/little_net.h"

#define ROUNDS 400

/* The receiver's lane says nothing of the sender's: packets are numbered by lane instead. */
static bool send_numbered(struct little_net *little, uint8_t vl)
{
    return little_net_send(little, 0, 1, vl, vl, 4096);
}

static void fill(struct little_net *little, uint16_t lanes)
{
    for (uint8_t vl = 0; vl < PORT_VLS; vl++)
        while (lanes & 1u << vl && send_numbered(little, vl))
            ;
}

/* Keeps the lanes of host 0 full for ROUNDS packet times and counts what arrived of each. */
static void run_full(struct little_net *little, uint16_t lanes, unsigned counts[PORT_VLS])
{
    size_t first = little->seen_count;
    for (int i = 0; i < ROUNDS; i++) {
        fill(little, lanes);
        little_net_run(little, 331);
    }
    for (uint8_t vl = 0; vl < PORT_VLS; vl++)
        counts[vl] = 0;
    for (size_t i = first; i < little->seen_count; i++)
        counts[little->seen[i].psn]++;
}

static void up(struct little_net *little, const struct net_vl_arb *arb)
{
    little_net_up(little, 2, NULL);
    little_net_lanes(little->hosts[0], 8);
    if (arb)
        net_vl_arb_set(little->hosts[0], arb);
}

static void without_tables_every_lane_gets_the_same(void **state)
{
    struct little_net little;
    struct net_vl_arb arb;
    unsigned counts[PORT_VLS];
    (void)state;
    up(&little, NULL);
    net_vl_arb_get(little.hosts[0], &arb);
    assert_int_equal(arb.high_count, 0);
    assert_int_equal(arb.low_count, 15);
    run_full(&little, 0x07, counts);
    assert_in_range(counts[0], counts[1] - 2, counts[1] + 2);
    assert_in_range(counts[1], counts[2] - 2, counts[2] + 2);
    little_net_down(&little);
}

static void weights_divide_the_link(void **state)
{
    struct little_net little;
    struct net_vl_arb arb = {.low_count = 2, .low = {{0, 65}, {1, 195}}};
    struct net_vl_arb read;
    unsigned counts[PORT_VLS];
    (void)state;
    up(&little, &arb);
    net_vl_arb_get(little.hosts[0], &read);
    assert_memory_equal(&read, &arb, sizeof(arb));
    run_full(&little, 0x03, counts);
    assert_true(counts[0] > ROUNDS / 5);
    assert_in_range(counts[1] * 10 / counts[0], 27, 33);
    little_net_down(&little);
}

static void high_priority_goes_first_within_its_limit(void **state)
{
    struct little_net little;
    struct net_vl_arb arb = {.high_count = 1, .low_count = 1, .high = {{3, 255}}, .low = {{0, 1}}};
    unsigned counts[PORT_VLS];
    (void)state;
    arb.high_limit = 9; /* nine packets of 66 blocks to one */
    up(&little, &arb);
    run_full(&little, 0x09, counts);
    assert_true(counts[0] > ROUNDS / 20);
    assert_in_range(counts[3] / counts[0], 8, 10);
    little_net_down(&little);
}

static void high_priority_without_a_limit_starves_the_others(void **state)
{
    struct little_net little;
    struct net_vl_arb arb = {.high_count = 1, .low_count = 1, .high = {{3, 255}}, .low = {{0, 1}}};
    unsigned counts[PORT_VLS];
    (void)state;
    arb.high_limit = 255;
    up(&little, &arb);
    run_full(&little, 0x09, counts);
    assert_in_range(counts[0], 0, 1);
    assert_true(counts[3] > ROUNDS - 20);
    little_net_down(&little);
}

static void a_lane_in_no_table_still_gets_through_alone(void **state)
{
    struct little_net little;
    struct net_vl_arb arb = {.high_count = 1, .low_count = 1, .high = {{3, 0}}, .low = {{0, 9}}};
    unsigned counts[PORT_VLS];
    (void)state;
    up(&little, &arb);
    run_full(&little, 0x04, counts);
    assert_true(counts[2] > ROUNDS - 20);
    little_net_down(&little);
}

struct watch {
    struct little_net little;
    uint64_t mad_time;
};

static void mad_arrived(void *context, struct net_port *port, struct packet *packet)
{
    struct watch *watch = context;
    watch->mad_time = sim_now(watch->little.sim);
    assert_non_null(port);
    net_free(watch->little.net, packet);
}

static void subnet_management_passes_everything(void **state)
{
    struct watch watch = {.mad_time = 0};
    struct little_net *little = &watch.little;
    (void)state;
    up(little, NULL);
    net_set_mad_handler(little->net, mad_arrived, &watch);
    fill(little, 0x03);
    struct packet *packet = little_net_packet(little, 0, 1, 0, 0, 256);
    packet->is_mad = true;
    packet->mad = mad_new();
    packet->vl = 15;
    assert_true(net_send(little->hosts[0], packet));
    little_net_run(little, 100000);
    /* one packet was on the wire already; then the datagram */
    assert_in_range(watch.mad_time, 331, 2 * 331 + 400);
    little_net_down(little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_tables_every_lane_gets_the_same),
        cmocka_unit_test(weights_divide_the_link),
        cmocka_unit_test(high_priority_goes_first_within_its_limit),
        cmocka_unit_test(high_priority_without_a_limit_starves_the_others),
        cmocka_unit_test(a_lane_in_no_table_still_gets_through_alone),
        cmocka_unit_test(subnet_management_passes_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
