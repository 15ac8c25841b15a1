/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/sma_asker.h"

static void the_own_agent_the_switch_and_a_host_answer(void **state)
{
    struct asker a;
    struct mad_node_info info;

    (void)state;
    open_asker(&a);
    assert_int_equal(ask(&a, 0, MAD_GET, MAD_NODE_INFO, 0, NULL), MAD_STATUS_OK);
    mad_node_info_decode(mad_data(&a.last), &info);
    assert_true(info.port_guid == subnet_guid(&a.s, "h0"));
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_NODE_INFO, 0, NULL), MAD_STATUS_OK);
    mad_node_info_decode(mad_data(&a.last), &info);
    assert_int_equal(info.node_type, MAD_NODE_SWITCH);
    assert_int_equal(info.local_port_num, 1);
    assert_int_equal(info.num_ports, 4);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_NODE_INFO, 0, NULL), MAD_STATUS_OK);
    mad_node_info_decode(mad_data(&a.last), &info);
    assert_int_equal(info.node_type, MAD_NODE_CA);
    assert_true(info.port_guid == subnet_guid(&a.s, "h2"));
    assert_int_equal(a.slid, LID_PERMISSIVE);
    assert_int_equal(mad_method(&a.last), MAD_GET_RESP);
    subnet_close(&a.s);
}

static void a_lid_routed_request_is_answered_to_its_lid(void **state)
{
    struct asker a;
    struct mad *mad = mad_new();

    (void)state;
    open_asker(&a);
    subnet_info(&a.s, "h0")->lid = 1;
    subnet_info(&a.s, "h2")->lid = 8;
    subnet_info(&a.s, "h2")->lmc = 1;
    net_lft_set(net_find(a.s.net, "l0"), 1, 1);
    net_lft_set_top(net_find(a.s.net, "l0"), 9);
    net_lft_set(net_find(a.s.net, "l0"), 9, 3);
    mad_begin(mad, MAD_CLASS_SUBN_LID, MAD_GET, 7, MAD_NODE_DESCRIPTION, 0);
    sma_send(a.s.sma, subnet_port(&a.s, "h0", 1), mad, 9); /* the second of its two LIDs */
    while (!a.received)
        assert_true(sim_step(a.s.sim));
    assert_int_equal(a.slid, 8);
    assert_string_equal((const char *)mad_data(&a.last), "h2");
    mad = mad_new();
    mad_begin(mad, MAD_CLASS_SUBN_LID, MAD_GET, 8, MAD_NODE_DESCRIPTION, 0);
    sma_send(a.s.sma, subnet_port(&a.s, "h0", 1), mad, 1); /* to ourselves */
    while (a.received < 2)
        assert_true(sim_step(a.s.sim));
    assert_string_equal((const char *)mad_data(&a.last), "h0");
    subnet_close(&a.s);
}

static void what_is_for_another_lid_is_discarded(void **state)
{
    struct asker a;
    struct mad *mad = mad_new();
    struct sma_stats stats;

    (void)state;
    open_asker(&a);
    net_lft_set(net_find(a.s.net, "l0"), 5, 3); /* but h2 has LID 0 */
    net_lft_set_top(net_find(a.s.net, "l0"), 9);
    mad_begin(mad, MAD_CLASS_SUBN_LID, MAD_GET, 7, MAD_NODE_DESCRIPTION, 0);
    sma_send(a.s.sma, subnet_port(&a.s, "h0", 1), mad, 5);
    while (sim_step(a.s.sim))
        ;
    assert_int_equal(a.received, 0);
    sma_stats(a.s.sma, &stats);
    assert_int_equal(stats.discarded, 1);
    subnet_close(&a.s);
}

static void impossible_directed_routes_are_discarded(void **state)
{
    static const uint8_t past_the_end[] = {9}, through_a_host[] = {1, 3, 1};
    struct asker a;
    struct sma_stats stats;

    (void)state;
    open_asker(&a);
    for (unsigned i = 0; i < 2; i++) {
        struct mad *mad = mad_new();

        mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_GET, 1, MAD_NODE_INFO, 0);
        mad_set_route(mad, i ? through_a_host : past_the_end, i ? 3 : 1);
        sma_send(a.s.sma, subnet_port(&a.s, "h0", 1), mad, LID_PERMISSIVE);
    }
    while (sim_step(a.s.sim))
        ;
    assert_int_equal(a.received, 0);
    sma_stats(a.s.sma, &stats);
    assert_int_equal(stats.discarded, 2);
    subnet_close(&a.s);
}

static void an_answer_takes_the_agents_time(void **state)
{
    struct asker a;
    uint64_t start;

    (void)state;
    open_asker(&a);
    sma_set_latency(a.s.sma, 777000);
    start = sim_now(a.s.sim);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_SWITCH_INFO, 0, NULL), MAD_STATUS_OK);
    assert_in_range(sim_now(a.s.sim) - start, 777000, 780000);
    subnet_close(&a.s);
}

static void without_a_manager_answers_and_sm_info_find_nobody(void **state)
{
    struct asker a;

    (void)state;
    open_asker(&a);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_SM_INFO, 0, NULL), MAD_STATUS_BAD_ATTRIBUTE);
    sma_set_manager(a.s.sma, subnet_port(&a.s, "h0", 1), NULL, &a);
    assert_int_equal(ask(&a, 2, MAD_GET, MAD_NODE_INFO, 0, NULL), 0xFFFF);
    subnet_close(&a.s);
}

static void other_methods_are_refused(void **state)
{
    struct asker a;

    (void)state;
    open_asker(&a);
    assert_int_equal(ask(&a, 2, 0x03, MAD_NODE_INFO, 0, NULL), MAD_STATUS_BAD_METHOD);
    assert_int_equal(ask(&a, 2, MAD_SET, MAD_NODE_INFO, 0, NULL), MAD_STATUS_BAD_METHOD);
    assert_int_equal(ask(&a, 2, MAD_GET, 0x7777, 0, NULL), MAD_STATUS_BAD_ATTRIBUTE);
    subnet_close(&a.s);
}

static void nodes_that_come_later_are_served_too(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open(&s);
    subnet_add_host(&s, "a", 0x100);
    subnet_manage(&s, "a", NULL);
    for (unsigned i = 0; i < 40; i++) {
        char name[] = {'n', (char)('0' + i / 10), (char)('0' + i % 10), 0};

        subnet_add_switch(&s, name, 0x1000 + i, 4);
    }
    sma_attach(s.sma, net_find(s.net, "n39"));
    subnet_cable(&s, "a", 1, "n39", 1);
    subnet_cable(&s, "n39", 2, "n00", 1); /* attached when it is first asked */
    subnet_bring_up(&s);
    assert_true(net_port_info(subnet_port(&s, "n00", 0))->lid != 0);
    subnet_close(&s);
}

static void a_datagram_of_another_version_is_answered_and_not_obeyed(void **state)
{
    static const size_t versions[] = {0, 2}; /* of the base and of the class */
    struct asker a;

    (void)state;
    open_asker(&a);
    for (size_t i = 0; i < 2; i++) {
        struct mad *mad = mad_new();
        struct mad_port_info info = {.lid = 77};

        mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_SET, 1, MAD_PORT_INFO, 1);
        mad_set_route(mad, to_host, 2);
        mad_port_info_encode(mad_data(mad), &info);
        mad->bytes[versions[i]] = 2;
        sma_send(a.s.sma, subnet_port(&a.s, "h0", 1), mad, LID_PERMISSIVE);
        while (sim_step(a.s.sim))
            ;
        assert_int_equal(a.received, i + 1);
        assert_int_equal(mad_status(&a.last), MAD_STATUS_BAD_VERSION);
        assert_int_equal(mad_method(&a.last), MAD_GET_RESP);
        assert_int_equal(subnet_info(&a.s, "h2")->lid, 0);
    }
    subnet_close(&a.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_own_agent_the_switch_and_a_host_answer),
        cmocka_unit_test(a_lid_routed_request_is_answered_to_its_lid),
        cmocka_unit_test(what_is_for_another_lid_is_discarded),
        cmocka_unit_test(impossible_directed_routes_are_discarded),
        cmocka_unit_test(an_answer_takes_the_agents_time),
        cmocka_unit_test(without_a_manager_answers_and_sm_info_find_nobody),
        cmocka_unit_test(other_methods_are_refused),
        cmocka_unit_test(nodes_that_come_later_are_served_too),
        cmocka_unit_test(a_datagram_of_another_version_is_answered_and_not_obeyed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
