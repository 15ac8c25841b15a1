/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "tests/support/subnet.h"

static void lids_follow_the_guids_from_the_first_lid_on(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, &(struct sm_config){.first_lid = 0x100});
    subnet_bring_up(&s);
    /* hosts got their GUIDs before the leaf */
    for (uint8_t i = 0; i < 4; i++) {
        const char name[] = {'h', (char)('0' + i), 0};

        assert_int_equal(subnet_info(&s, name)->lid, 0x100 + i);
    }
    assert_int_equal(net_port_info(subnet_port(&s, "l0", 0))->lid, 0x104);
    subnet_close(&s);
}

static void the_order_of_cabling_does_not_matter(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open(&s);
    subnet_add_switch(&s, "sw", 0x900, 4);
    subnet_add_host(&s, "high", 0x300);
    subnet_add_host(&s, "low", 0x100);
    subnet_add_host(&s, "middle", 0x200);
    subnet_cable(&s, "high", 1, "sw", 1);
    subnet_cable(&s, "middle", 1, "sw", 2);
    subnet_cable(&s, "low", 1, "sw", 3);
    subnet_manage(&s, "middle", NULL);
    subnet_bring_up(&s);
    assert_int_equal(subnet_info(&s, "low")->lid, 1);
    assert_int_equal(subnet_info(&s, "middle")->lid, 2);
    assert_int_equal(subnet_info(&s, "high")->lid, 3);
    subnet_close(&s);
}

static void lids_stay_over_sweeps_and_absences(void **state)
{
    struct subnet s;
    uint16_t lid;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_bring_up(&s);
    lid = subnet_info(&s, "h5")->lid;
    net_link_set_up(subnet_port(&s, "h5", 1), false);
    sm_sweep(s.sm[0]);
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(sm_lid_of(s.sm[0], subnet_guid(&s, "h5")), lid);
    subnet_info(&s, "h5")->lid = 0;
    net_link_set_up(subnet_port(&s, "h5", 1), true);
    sm_sweep(s.sm[0]);
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h5")->lid, lid);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void a_lid_that_a_port_has_already_is_kept_unless_two_have_it(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_info(&s, "h3")->lid = 77;
    subnet_info(&s, "h4")->lid = 77;
    subnet_info(&s, "h5")->lid = 0xC001; /* multicast: not usable */
    subnet_bring_up(&s);
    assert_true((subnet_info(&s, "h3")->lid == 77) != (subnet_info(&s, "h4")->lid == 77));
    assert_in_range(subnet_info(&s, "h5")->lid, 1, 0xBFFF);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void a_lid_set_on_demand_moves_the_port_and_evicts_its_owner(void **state)
{
    struct subnet s;
    uint16_t old, other;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_bring_up(&s);
    old = subnet_info(&s, "h2")->lid;
    other = subnet_info(&s, "h6")->lid;
    subnet_watch(&s, "h2");
    assert_true(sm_lid_set(s.sm[0], subnet_guid(&s, "h2"), other));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h2")->lid, other);
    assert_int_not_equal(subnet_info(&s, "h6")->lid, other);
    assert_string_equal(s.log, "LID"); /* the port stays ACTIVE */
    assert_true(subnet_walk_clean(s.net));
    assert_int_not_equal(old, other);
    subnet_close(&s);
}

static void two_lids_are_swapped(void **state)
{
    struct subnet s;
    uint16_t a, b;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_bring_up(&s);
    assert_true(sm_lid_set(s.sm[0], subnet_guid(&s, "h1"), 500)); /* lower ones are free */
    assert_true(subnet_wait_up(&s, 0));
    a = subnet_info(&s, "h1")->lid;
    b = subnet_info(&s, "h7")->lid;
    assert_true(sm_lid_swap(s.sm[0], subnet_guid(&s, "h1"), subnet_guid(&s, "h7")));
    assert_false(sm_subnet_up(s.sm[0]));
    assert_int_equal(subnet_info(&s, "h1")->lid, a); /* nothing happens before its datagrams */
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h1")->lid, b);
    assert_int_equal(subnet_info(&s, "h7")->lid, a);
    assert_true(subnet_walk_clean(s.net));
    assert_false(sm_lid_swap(s.sm[0], subnet_guid(&s, "h1"), 0x4711));
    subnet_close(&s);
}

static void lids_out_of_the_unicast_range_are_refused(void **state)
{
    struct subnet s;
    uint64_t guid;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    guid = subnet_guid(&s, "h1");
    assert_false(sm_lid_set(s.sm[0], guid, 0));
    assert_false(sm_lid_set(s.sm[0], guid, 0xC000));
    assert_false(sm_lid_set(s.sm[0], guid, 0xFFFF));
    assert_true(sm_lid_set(s.sm[0], guid, 0xBFFF));
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void lmc_gives_each_host_an_aligned_range_of_its_own(void **state)
{
    struct subnet s;
    struct subnet_walk walk;

    (void)state;
    subnet_open_tree(&s, 8, 4, &(struct sm_config){.lmc = 2});
    subnet_bring_up(&s);
    assert_int_equal(subnet_info(&s, "h3")->lmc, 2);
    assert_int_equal(subnet_info(&s, "h3")->lid % 4, 0);
    subnet_walk(s.net, &walk);
    assert_int_equal(walk.lids, 8 * 4 + net_node_count(s.net) - 8);
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void another_lmc_moves_what_does_not_fit_any_more(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 8, 4, NULL);
    subnet_bring_up(&s);
    assert_false(sm_lmc_set(s.sm[0], 8));
    assert_true(sm_lmc_set(s.sm[0], 3));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h3")->lid % 8, 0);
    assert_int_equal(subnet_info(&s, "h3")->lmc, 3);
    assert_true(subnet_walk_clean(s.net));
    assert_true(sm_lmc_set(s.sm[0], 0));
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void a_full_lid_space_takes_the_lids_of_the_absent(void **state)
{
    struct subnet s;
    uint16_t lid;

    (void)state;
    subnet_open_tree(&s, 4, 4, &(struct sm_config){.first_lid = 0xBFFB}); /* room for five */
    subnet_bring_up(&s);
    lid = subnet_info(&s, "h3")->lid;
    net_link_set_up(subnet_port(&s, "h3", 1), false);
    assert_true(subnet_wait_up(&s, 0));
    sm_lid_set(s.sm[0], 0x4711, 0xBFFB); /* someone who never comes; evicts one */
    assert_true(subnet_wait_up(&s, 0));
    sm_lid_set(s.sm[0], 0x4712, lid);
    assert_true(subnet_wait_up(&s, 0));
    net_link_set_up(subnet_port(&s, "h3", 1), true);
    sm_sweep(s.sm[0]);
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_walk_clean(s.net));
    subnet_close(&s);
}

static void without_a_free_lid_the_subnet_is_not_up(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, &(struct sm_config){.first_lid = 0xBFFC}); /* one too few */
    sm_start(s.sm[0]);
    assert_false(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h1")->state, FABRIC_PORT_ACTIVE);
    subnet_close(&s);
}

static void a_new_prefix_comes_with_re_registration(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    subnet_watch(&s, "h2");
    sm_prefix_set(s.sm[0], 0xFEC0000000000007);
    assert_true(subnet_wait_up(&s, 0));
    assert_true(subnet_info(&s, "h2")->gid_prefix == 0xFEC0000000000007);
    assert_true(fabric_gid_prefix(&subnet_info(&s, "h2")->gids[0].gid) == 0xFEC0000000000007);
    assert_string_equal(s.log, "PREFIX+REREG");
    subnet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lids_follow_the_guids_from_the_first_lid_on),
        cmocka_unit_test(the_order_of_cabling_does_not_matter),
        cmocka_unit_test(lids_stay_over_sweeps_and_absences),
        cmocka_unit_test(a_lid_that_a_port_has_already_is_kept_unless_two_have_it),
        cmocka_unit_test(a_lid_set_on_demand_moves_the_port_and_evicts_its_owner),
        cmocka_unit_test(two_lids_are_swapped),
        cmocka_unit_test(lids_out_of_the_unicast_range_are_refused),
        cmocka_unit_test(lmc_gives_each_host_an_aligned_range_of_its_own),
        cmocka_unit_test(another_lmc_moves_what_does_not_fit_any_more),
        cmocka_unit_test(a_full_lid_space_takes_the_lids_of_the_absent),
        cmocka_unit_test(without_a_free_lid_the_subnet_is_not_up),
        cmocka_unit_test(a_new_prefix_comes_with_re_registration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
