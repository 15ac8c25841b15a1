/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/world/mad.h"

static void the_header_stands_where_the_specification_has_it(void **state)
{
    struct mad *mad = mad_new();
    const uint8_t expected[36] = {
        1,    0x81, 1,    1,    0,    0,    0,    0,    /* versions, class, method, hops */
        0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* TID */
        0,    0x15, 0,    0,    0,    0,    0,    7,    /* attribute, modifier */
        1,    2,    3,    4,    5,    6,    7,    8,
        0xFF, 0xFF, 0xFF, 0xFF, /* M_Key, DrSLID, DrDLID */
    };

    (void)state;
    mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_GET, 0x1122334455667788, MAD_PORT_INFO, 7);
    mad_set_mkey(mad, 0x0102030405060708);
    assert_memory_equal(mad->bytes, expected, sizeof expected);
    assert_int_equal(mad_class(mad), MAD_CLASS_SUBN_DIRECTED);
    assert_int_equal(mad_method(mad), MAD_GET);
    assert_true(mad_tid(mad) == 0x1122334455667788);
    assert_int_equal(mad_attribute(mad), MAD_PORT_INFO);
    assert_int_equal(mad_modifier(mad), 7);
    assert_true(mad_mkey(mad) == 0x0102030405060708);
    assert_false(mad_is_response(mad));
    assert_ptr_equal(mad_data(mad), mad->bytes + 64);
    mad_set_status(mad, MAD_STATUS_BAD_FIELD);
    assert_int_equal(mad->bytes[5], 0x1C);
    mad_free(mad);
}

static void a_lid_routed_header_has_no_directed_part(void **state)
{
    struct mad *mad = mad_new();

    (void)state;
    mad_begin(mad, MAD_CLASS_SUBN_LID, MAD_TRAP, 9, MAD_NOTICE, 0);
    assert_int_equal(mad->bytes[1], 1);
    assert_int_equal(mad->bytes[32], 0);
    mad_make_response(mad, MAD_STATUS_OK);
    assert_false(mad_returning(mad));
    mad_free(mad);
}

/* Two switches between manager and agent: out by ports 1, 5, 7; in by 2, 3, 4. */
static void a_directed_route_goes_out_and_returns_hop_by_hop(void **state)
{
    const uint8_t path[] = {1, 5, 7}, in[] = {2, 3, 4};
    struct mad *mad = mad_new();
    uint8_t out = 0;

    (void)state;
    mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_GET, 1, MAD_NODE_INFO, 0);
    mad_set_route(mad, path, 3);
    assert_int_equal(mad_hop_count(mad), 3);
    assert_int_equal(mad_hop_originate(mad, &out), MAD_HOP_FORWARD);
    assert_int_equal(out, 1);
    assert_int_equal(mad_hop_receive(mad, in[0], 8, true, &out), MAD_HOP_FORWARD);
    assert_int_equal(out, 5);
    assert_int_equal(mad_hop_receive(mad, in[1], 8, true, &out), MAD_HOP_FORWARD);
    assert_int_equal(out, 7);
    assert_int_equal(mad_hop_receive(mad, in[2], 8, false, &out), MAD_HOP_AGENT);
    assert_memory_equal(mad->bytes + 129, path, 3);
    assert_memory_equal(mad->bytes + 193, in, 3);
    assert_int_equal(mad_hop_pointer(mad), 4);
    mad_make_response(mad, MAD_STATUS_OK);
    assert_true(mad_is_response(mad) && mad_returning(mad));
    assert_int_equal(mad->bytes[4], 0x80);
    assert_int_equal(mad_hop_originate(mad, &out), MAD_HOP_FORWARD);
    assert_int_equal(out, 4);
    assert_int_equal(mad_hop_receive(mad, 7, 8, true, &out), MAD_HOP_FORWARD);
    assert_int_equal(out, 3);
    assert_int_equal(mad_hop_receive(mad, 5, 8, true, &out), MAD_HOP_FORWARD);
    assert_int_equal(out, 2);
    assert_int_equal(mad_hop_receive(mad, 1, 1, false, &out), MAD_HOP_MANAGER);
    assert_int_equal(mad_hop_pointer(mad), 0);
    mad_free(mad);
}

static void no_hop_at_all_is_the_own_agent(void **state)
{
    struct mad *mad = mad_new();
    uint8_t out = 0;

    (void)state;
    mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_GET, 1, MAD_NODE_INFO, 0);
    mad_set_route(mad, NULL, 0);
    assert_int_equal(mad_hop_originate(mad, &out), MAD_HOP_AGENT);
    mad_make_response(mad, MAD_STATUS_OK);
    assert_int_equal(mad_hop_originate(mad, &out), MAD_HOP_MANAGER);
    mad_free(mad);
}

static void start(struct mad *mad, uint8_t hops)
{
    const uint8_t path[] = {1, 9, 1};

    memset(mad, 0, sizeof *mad);
    mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_GET, 1, MAD_NODE_INFO, 0);
    mad_set_route(mad, path, hops);
}

static void impossible_routes_are_discarded(void **state)
{
    struct mad mad;
    uint8_t out = 0;

    (void)state;
    start(&mad, 2); /* nothing has a port 9 */
    mad_hop_originate(&mad, &out);
    assert_int_equal(mad_hop_receive(&mad, 1, 8, true, &out), MAD_HOP_DISCARD);
    start(&mad, 2); /* a host passes nothing on */
    mad_hop_originate(&mad, &out);
    assert_int_equal(mad_hop_receive(&mad, 1, 9, false, &out), MAD_HOP_DISCARD);
    start(&mad, 2); /* never sent: the pointer is still 0 */
    assert_int_equal(mad_hop_receive(&mad, 1, 9, true, &out), MAD_HOP_DISCARD);
    mad.bytes[6] = 3; /* past the end */
    assert_int_equal(mad_hop_receive(&mad, 1, 9, true, &out), MAD_HOP_DISCARD);
    assert_int_equal(mad_hop_originate(&mad, &out), MAD_HOP_DISCARD);
    mad_make_response(&mad, MAD_STATUS_OK);
    mad.bytes[6] = 0;
    assert_int_equal(mad_hop_receive(&mad, 1, 9, true, &out), MAD_HOP_DISCARD);
    assert_int_equal(mad_hop_originate(&mad, &out), MAD_HOP_DISCARD);
    mad.bytes[7] = 64; /* more hops than a path has */
    assert_int_equal(mad_hop_receive(&mad, 1, 9, true, &out), MAD_HOP_DISCARD);
    assert_int_equal(mad_hop_originate(&mad, &out), MAD_HOP_DISCARD);
}

static void a_route_with_a_lid_routed_part_is_discarded(void **state)
{
    struct mad mad;
    uint8_t out = 0;

    (void)state;
    start(&mad, 1);
    mad.bytes[35] = 5; /* DrDLID */
    mad_hop_originate(&mad, &out);
    assert_int_equal(mad_hop_receive(&mad, 1, 9, true, &out), MAD_HOP_DISCARD);
    start(&mad, 1);
    mad.bytes[33] = 5; /* DrSLID */
    mad_hop_originate(&mad, &out);
    assert_int_equal(mad_hop_receive(&mad, 1, 9, true, &out), MAD_HOP_AGENT);
    mad_make_response(&mad, MAD_STATUS_OK);
    assert_int_equal(mad_hop_originate(&mad, &out), MAD_HOP_FORWARD);
    assert_int_equal(mad_hop_receive(&mad, 1, 1, false, &out), MAD_HOP_DISCARD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_stands_where_the_specification_has_it),
        cmocka_unit_test(a_lid_routed_header_has_no_directed_part),
        cmocka_unit_test(a_directed_route_goes_out_and_returns_hop_by_hop),
        cmocka_unit_test(no_hop_at_all_is_the_own_agent),
        cmocka_unit_test(impossible_routes_are_discarded),
        cmocka_unit_test(a_route_with_a_lid_routed_part_is_discarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
