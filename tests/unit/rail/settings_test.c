/* SPDX-License-Identifier: Apache-2.0 */
/* MK-G1 to G3: what a rail does with the settings of its port's fabric. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/rail_bench.h"

/* A RoCE port on eth0 that trusts DSCP, of which 26 has priority 3, which is lossless. */
static struct rail *open_rail(struct rail_bench *b)
{
    struct rail *rail = rail_bench_open(b);
    b->port->attr.link_layer = FABRIC_LINK_LAYER_ETHERNET;
    b->port->attr.lid = 0;
    b->port->gids[0].type = FABRIC_GID_TYPE_ROCE_V2;
    strcpy(b->port->gids[0].netdev, "eth0");
    b->port->physical = "eth0";
    b->port->dcb = (struct fabric_dcb){
        .known = true, .present = true, .pfc_enabled = 1 << 3, .trusts_dscp = true};
    b->port->dcb.dscp_prio[26] = 3;
    return rail;
}

static void the_lossless_setting_of_the_port_is_used(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = open_rail(&b);
    assert_true(rail_judge(r));
    assert_int_equal(r->state, RAIL_READY);
    assert_int_equal(r->address.traffic_class, 104);
    assert_int_equal(r->address.sl, 0);
    assert_int_equal(small_logged(b.w, 0, "trusts DSCP: traffic_class 104 (DSCP 26)"), 1);
    b.port->dcb.trusts_dscp = false; /* changed under way: a new generation, and said again */
    assert_true(rail_judge(r));
    assert_int_equal(r->address.traffic_class, 0);
    assert_int_equal(r->address.sl, 3);
    assert_int_equal(small_logged(b.w, 0, "trusts the VLAN priority: service_level 3"), 1);
    assert_false(rail_judge(r));
    assert_int_equal(small_logged(b.w, 0, "trusts"), 2);
    rail_bench_close(&b);
}

static void what_is_configured_wins_and_is_judged(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = open_rail(&b);
    b.config.traffic_class = 8;
    b.config.service_level = 2;
    b.config.service_level_set = true;
    assert_true(rail_judge(r));
    assert_int_equal(r->address.traffic_class, 8);
    assert_int_equal(r->address.sl, 2);
    assert_int_equal(small_logged(b.w, 0, "not lossless; service_level 2 decides nothing"), 1);
    assert_int_equal(small_logged(b.w, 0, "priority is 3: traffic_class 104 is expected"), 1);
    b.port->dcb.pfc_enabled = 0;
    rail_judge(r);
    assert_int_equal(small_logged(b.w, 0, "no priority has PFC"), 1);
    rail_bench_close(&b);
}

/* A VLAN interface has no DCB settings; those of the one under it count. */
static void the_interface_under_a_vlan_is_asked(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = open_rail(&b);
    strcpy(b.port->gids[0].netdev, "eth0.7");
    assert_true(rail_judge(r));
    assert_int_equal(r->address.traffic_class, 104);
    rail_bench_close(&b);
}

/* A question that fails once must not rebuild a connection. */
static void without_an_answer_the_last_one_holds(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = open_rail(&b);
    assert_true(rail_judge(r));
    b.port->dcb_fails = true;
    assert_false(rail_judge(r));
    assert_int_equal(r->address.traffic_class, 104);
    rail_bench_close(&b);
    r = open_rail(&b);
    b.port->dcb_fails = true;
    assert_true(rail_judge(r));
    assert_int_equal(r->address.traffic_class, 0);
    assert_int_equal(small_logged(b.w, 0, "whether a priority is lossless is unknown"), 1);
    rail_bench_close(&b);
}

static void infiniband_is_not_asked_for_dcb(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = open_rail(&b);
    b.port->attr.link_layer = FABRIC_LINK_LAYER_INFINIBAND;
    b.port->attr.lid = 1;
    b.port->gids[0].type = FABRIC_GID_TYPE_IB;
    b.config.traffic_class = 8;
    assert_true(rail_judge(r));
    assert_int_equal(r->address.traffic_class, 0);
    assert_int_equal(small_logged(b.w, 0, "DCB detection is skipped on InfiniBand"), 1);
    assert_int_equal(small_logged(b.w, 0, "traffic_class is ignored on InfiniBand"), 1);
    assert_int_equal(small_logged(b.w, 0, "lossless"), 0);
    rail_bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lossless_setting_of_the_port_is_used),
        cmocka_unit_test(what_is_configured_wins_and_is_judged),
        cmocka_unit_test(the_interface_under_a_vlan_is_asked),
        cmocka_unit_test(without_an_answer_the_last_one_holds),
        cmocka_unit_test(infiniband_is_not_asked_for_dcb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
