/* SPDX-License-Identifier: Apache-2.0 */
/* MK-G2, MK-G3 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/rail/dcb.h"

static struct fabric_dcb dcb_of(uint8_t pfc, bool dscp)
{
    struct fabric_dcb dcb = {
        .known = true, .present = true, .pfc_enabled = pfc, .trusts_dscp = dscp};
    for (uint8_t i = 0; i < 64; i++)
        dcb.dscp_prio[i] = i / 8;
    return dcb;
}

static void dscp_26_with_priority_3_is_preferred_where_the_port_has_it(void **state)
{
    (void)state;
    struct fabric_dcb dcb = dcb_of(1 << 3, true);
    struct rail_dcb_choice choice = rail_dcb_choose(&dcb);
    assert_true(choice.lossless);
    assert_int_equal(choice.dscp, 26);
    assert_int_equal(choice.priority, 3);
    assert_int_equal(choice.traffic_class, 104); /* DSCP << 2 */
    assert_int_equal(choice.service_level, 0);
}

static void another_lossless_dscp_serves_where_26_does_not(void **state)
{
    (void)state;
    struct fabric_dcb dcb = dcb_of(1 << 5 | 1 << 6, true);
    struct rail_dcb_choice choice = rail_dcb_choose(&dcb);
    assert_true(choice.lossless);
    assert_int_equal(choice.dscp, 40);
    assert_int_equal(choice.priority, 5);
    dcb = dcb_of(1 << 3, true);
    dcb.dscp_prio[26] = 0;
    choice = rail_dcb_choose(&dcb);
    assert_int_equal(choice.dscp, 24);
    assert_int_equal(choice.traffic_class, 96);
}

static void where_the_vlan_priority_is_trusted_it_decides(void **state)
{
    (void)state;
    struct fabric_dcb dcb = dcb_of(1 << 1 | 1 << 3, false);
    struct rail_dcb_choice choice = rail_dcb_choose(&dcb);
    assert_true(choice.lossless);
    assert_int_equal(choice.service_level, 3);
    assert_int_equal(choice.traffic_class, 0);
    dcb.pfc_enabled = 1 << 1 | 1 << 4;
    assert_int_equal(rail_dcb_choose(&dcb).service_level, 1);
}

static void without_flow_control_or_without_knowledge_nothing_is_chosen(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct fabric_dcb dcb = dcb_of(i < 2 ? 0 : 8, i % 2);
        dcb.known = i != 2;
        dcb.present = i != 3;
        struct rail_dcb_choice choice = rail_dcb_choose(&dcb);
        assert_false(choice.lossless);
        assert_int_equal(choice.traffic_class, 0);
        assert_int_equal(choice.service_level, 0);
    }
}

static void configured_values_are_followed_to_their_priority(void **state)
{
    (void)state;
    struct fabric_dcb dcb = dcb_of(1 << 3, true);
    assert_true(rail_dcb_configured(&dcb, 106, 5).lossless); /* DSCP 26, ECN bits beside it */
    assert_int_equal(rail_dcb_configured(&dcb, 106, 5).priority, 3);
    assert_false(rail_dcb_configured(&dcb, 0, 3).lossless);
    dcb.trusts_dscp = false;
    assert_true(rail_dcb_configured(&dcb, 0, 3).lossless);
    assert_false(rail_dcb_configured(&dcb, 104, 0).lossless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dscp_26_with_priority_3_is_preferred_where_the_port_has_it),
        cmocka_unit_test(another_lossless_dscp_serves_where_26_does_not),
        cmocka_unit_test(where_the_vlan_priority_is_trusted_it_decides),
        cmocka_unit_test(without_flow_control_or_without_knowledge_nothing_is_chosen),
        cmocka_unit_test(configured_values_are_followed_to_their_priority),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
