/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.2: partitions with full and limited members, holes, keys removed or moved; SL-to-VL. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/subnet.h"

#define FULL(key) (0x8000 | (key))

static void the_default_partition_stands_at_index_0(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    assert_int_equal(subnet_info(&s, "h2")->pkeys[0], 0xFFFF);
    subnet_close(&s);
    subnet_open_tree(&s, 4, 4, &(struct sm_config){.default_limited = true});
    subnet_watch(&s, "h2");
    subnet_bring_up(&s);
    assert_int_equal(subnet_info(&s, "h2")->pkeys[0], 0x7FFF);
    assert_string_equal(s.log, "LID+SMLID+REREG PKEY SL ARMED ACTIVE");
    subnet_close(&s);
}

static void a_partition_goes_to_every_port_at_the_index_wished_for(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    assert_true(sm_partition_add(s.sm[0], FULL(0x11), 7));
    assert_true(sm_partition_add(s.sm[0], FULL(0x12), SM_INDEX_ANY));
    assert_false(sm_partition_add(s.sm[0], 0x8000, 3));
    assert_false(sm_partition_add(s.sm[0], FULL(0x13), 128));
    subnet_bring_up(&s);
    assert_int_equal(subnet_info(&s, "h1")->pkeys[7], FULL(0x11));
    assert_int_equal(subnet_info(&s, "h1")->pkeys[1], FULL(0x12));
    assert_true(sm_partition_add(s.sm[0], 0x14, 7)); /* taken: the first hole */
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h3")->pkeys[2], 0x14);
    subnet_close(&s);
}

static void keys_are_set_moved_limited_and_removed_under_a_live_port(void **state)
{
    struct subnet s;
    struct port_info *info;
    uint64_t guid;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    info = subnet_info(&s, "h2");
    guid = info->guid;
    subnet_watch(&s, "h2");
    assert_true(sm_pkey_set(s.sm[0], guid, FULL(0x21), 40));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(info->pkeys[40], FULL(0x21));
    assert_true(sm_pkey_limited(s.sm[0], guid, 0x21, true));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(info->pkeys[40], 0x21);
    assert_true(sm_pkey_move(s.sm[0], guid, 0x21, 3));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(info->pkeys[40], 0);
    assert_int_equal(info->pkeys[3], 0x21);
    assert_true(sm_pkey_limited(s.sm[0], guid, 0x21, false));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(info->pkeys[3], FULL(0x21));
    assert_true(sm_pkey_remove(s.sm[0], guid, 0x21));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(info->pkeys[3], 0);
    assert_string_equal(s.log, "PKEY PKEY PKEY PKEY PKEY PKEY"); /* a move over two blocks is two */
    assert_int_equal(subnet_info(&s, "h1")->pkeys[3], 0);
    subnet_close(&s);
}

static void a_removed_key_leaves_a_hole(void **state)
{
    struct subnet s;
    uint64_t guid;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    guid = subnet_guid(&s, "h2");
    for (uint16_t i = 1; i <= 3; i++)
        assert_true(sm_pkey_set(s.sm[0], guid, (uint16_t)FULL(0x30 + i), i));
    subnet_bring_up(&s);
    assert_true(sm_pkey_remove(s.sm[0], guid, 0x32));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h2")->pkeys[1], FULL(0x31));
    assert_int_equal(subnet_info(&s, "h2")->pkeys[2], 0);
    assert_int_equal(subnet_info(&s, "h2")->pkeys[3], FULL(0x33));
    subnet_close(&s);
}

static void impossible_edits_are_refused(void **state)
{
    struct subnet s;
    uint64_t guid;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    guid = subnet_guid(&s, "h2");
    assert_false(sm_pkey_remove(s.sm[0], guid, 0x55));
    assert_false(sm_pkey_move(s.sm[0], guid, 0x55, 1));
    assert_false(sm_pkey_move(s.sm[0], guid, SM_DEFAULT_PKEY, PORT_PKEYS));
    assert_false(sm_pkey_limited(s.sm[0], guid, 0x55, true));
    assert_false(sm_pkey_set(s.sm[0], guid, FULL(0x55), PORT_PKEYS));
    assert_false(sm_pkey_set(s.sm[0], guid, 0, SM_INDEX_ANY));
    for (uint16_t i = 1; i < PORT_PKEYS; i++)
        assert_true(sm_pkey_set(s.sm[0], guid, (uint16_t)FULL(0x100 + i), SM_INDEX_ANY));
    assert_false(sm_pkey_set(s.sm[0], guid, FULL(0x55), SM_INDEX_ANY));
    assert_false(sm_pkey_move(s.sm[0], guid, 0x101, 2)); /* taken */
    assert_true(sm_pkey_set(s.sm[0], guid, 0, 5));       /* a hole on purpose */
    subnet_bring_up(&s);
    assert_int_equal(subnet_info(&s, "h2")->pkeys[5], 0);
    assert_int_equal(subnet_info(&s, "h2")->pkeys[127], FULL(0x100 + 127));
    subnet_close(&s);
}

static void keys_that_nobody_wants_are_cleared_on_first_contact(void **state)
{
    struct subnet s;
    uint16_t table[PORT_PKEYS];

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_info(&s, "h2")->pkeys[100] = FULL(0x66);
    sm_pkey_set(s.sm[0], subnet_guid(&s, "h1"), FULL(0x67), SM_INDEX_ANY);
    sm_partition_add(s.sm[0], FULL(0x68), SM_INDEX_ANY);
    subnet_bring_up(&s);
    assert_int_equal(subnet_info(&s, "h2")->pkeys[100], 0);
    sm_pkey_table(s.sm[0], subnet_guid(&s, "h1"), table);
    assert_memory_equal(table, subnet_info(&s, "h1")->pkeys, sizeof table);
    assert_int_equal(table[1], FULL(0x67));
    assert_int_equal(table[2], FULL(0x68));
    subnet_close(&s);
}

static void an_edit_is_visible_only_after_its_datagram(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    assert_true(sm_pkey_set(s.sm[0], subnet_guid(&s, "h2"), FULL(0x71), 1));
    assert_int_equal(subnet_info(&s, "h2")->pkeys[1], 0);
    assert_false(sm_subnet_up(s.sm[0]));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h2")->pkeys[1], FULL(0x71));
    subnet_close(&s);
}

static void enforcing_switch_ports_get_the_table_of_their_host(void **state)
{
    struct subnet s;
    const struct port_info *port, *uplink;

    (void)state;
    subnet_open_tree(&s, 8, 4, &(struct sm_config){.enforce_partitions = true});
    sm_pkey_set(s.sm[0], subnet_guid(&s, "h2"), FULL(0x81), 1);
    subnet_bring_up(&s);
    port = net_port_info(net_port_peer(subnet_port(&s, "h2", 1)));
    assert_int_equal(port->partition_enforce_in, 1);
    assert_int_equal(port->partition_enforce_out, 1);
    assert_int_equal(port->pkeys[0], 0xFFFF);
    assert_int_equal(port->pkeys[1], FULL(0x81));
    sm_pkey_set(s.sm[0], subnet_guid(&s, "h2"), FULL(0x82), 70); /* more than one block away */
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(port->pkeys[2], FULL(0x82));
    uplink = net_port_info(subnet_port(&s, "l0", 3));
    assert_int_equal(uplink->partition_enforce_in, 0);
    subnet_close(&s);
}

static void service_levels_map_to_lanes_that_both_ends_have(void **state)
{
    struct subnet s;
    const struct port_info *info;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_info(&s, "h2")->vl_cap = 2;
    subnet_bring_up(&s);
    info = subnet_info(&s, "h2");
    assert_int_equal(info->oper_vls, 2);
    for (uint8_t sl = 0; sl < PORT_SLS; sl++) {
        assert_int_equal(info->sl_to_vl[sl], sl % 2);
        assert_true(net_port_info(subnet_port(&s, "l0", 3))->sl_to_vl[sl] < 2);
    }
    subnet_close(&s);
}

static void sl_maps_are_set_for_one_port_or_for_all(void **state)
{
    const uint8_t all[PORT_SLS] = {1, 1, 15, 0}, one[PORT_SLS] = {3, 2, 1, 15};
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    sm_sl_map_set(s.sm[0], 0, all);
    assert_true(subnet_wait_up(&s, 0));
    assert_memory_equal(subnet_info(&s, "h2")->sl_to_vl, all, PORT_SLS);
    assert_memory_equal(net_port_info(subnet_port(&s, "l0", 2))->sl_to_vl, all, PORT_SLS);
    sm_sl_map_set(s.sm[0], subnet_guid(&s, "h2"), one);
    assert_true(subnet_wait_up(&s, 0));
    assert_memory_equal(subnet_info(&s, "h2")->sl_to_vl, one, PORT_SLS);
    assert_memory_equal(subnet_info(&s, "h1")->sl_to_vl, all, PORT_SLS);
    subnet_close(&s);
}

static void fewer_lanes_can_be_asked_for(void **state)
{
    static const uint8_t asked[] = {1, 2, 4, 8};
    struct subnet s;

    (void)state;
    for (size_t i = 0; i < sizeof asked; i++) {
        subnet_open_tree(&s, 4, 4, &(struct sm_config){.max_oper_vls = asked[i]});
        subnet_bring_up(&s);
        assert_int_equal(subnet_info(&s, "h2")->oper_vls, asked[i]);
        assert_true(subnet_info(&s, "h2")->sl_to_vl[15] < asked[i]);
        subnet_close(&s);
    }
}

/* The table of the switch port would be too small: enforcing it would cut members off. */
static void a_port_with_more_keys_than_the_switch_can_hold_is_not_enforced(void **state)
{
    struct subnet s;
    const struct port_info *port;
    uint64_t guid;

    (void)state;
    subnet_open_tree(&s, 4, 4, &(struct sm_config){.enforce_partitions = true});
    guid = subnet_guid(&s, "h2");
    for (uint16_t i = 1; i < 32; i++)
        assert_true(sm_pkey_set(s.sm[0], guid, (uint16_t)FULL(0x100 + i), (uint16_t)(i + 40)));
    subnet_bring_up(&s);
    port = net_port_info(net_port_peer(subnet_port(&s, "h2", 1)));
    assert_int_equal(port->partition_enforce_in, 1);
    assert_int_equal(port->pkeys[31], FULL(0x100 + 31));
    assert_true(sm_pkey_set(s.sm[0], guid, FULL(0x200), 100));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(port->partition_enforce_in, 0);
    assert_int_equal(port->partition_enforce_out, 0);
    assert_true(sm_pkey_remove(s.sm[0], guid, 0x101));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(port->partition_enforce_out, 1);
    assert_int_equal(port->pkeys[31], FULL(0x200));
    subnet_close(&s);
}

static void a_key_that_changes_under_way_reaches_the_switch_too(void **state)
{
    struct subnet s;
    const struct port_info *port;
    uint64_t guid;

    (void)state;
    subnet_open_tree(&s, 4, 4, &(struct sm_config){.enforce_partitions = true});
    subnet_bring_up(&s);
    guid = subnet_guid(&s, "h2");
    port = net_port_info(net_port_peer(subnet_port(&s, "h2", 1)));
    assert_true(sm_pkey_set(s.sm[0], guid, FULL(0x91), 1));
    while (port->pkeys[1] == 0) /* set, and the answer is on its way */
        assert_true(sim_step(s.sim));
    assert_true(sm_pkey_set(s.sm[0], guid, FULL(0x92), 1));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h2")->pkeys[1], FULL(0x92));
    assert_int_equal(port->pkeys[1], FULL(0x92));
    subnet_close(&s);
}

static void one_service_level_moves_in_every_map_and_back(void **state)
{
    const uint8_t one[PORT_SLS] = {3, 2, 1, 15};
    uint8_t before[PORT_SLS];
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    sm_sl_map_set(s.sm[0], subnet_guid(&s, "h2"), one);
    subnet_bring_up(&s);
    memcpy(before, subnet_info(&s, "h1")->sl_to_vl, PORT_SLS);
    sm_sl_set(s.sm[0], 2, 5);
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(subnet_info(&s, "h1")->sl_to_vl[2], 5);
    assert_int_equal(subnet_info(&s, "h1")->sl_to_vl[3], before[3]);
    assert_int_equal(subnet_info(&s, "h2")->sl_to_vl[2], 5);
    assert_int_equal(subnet_info(&s, "h2")->sl_to_vl[3], 15);
    sm_sl_set(s.sm[0], 2, SM_SL_BY_MAP);
    assert_true(subnet_wait_up(&s, 0));
    assert_memory_equal(subnet_info(&s, "h1")->sl_to_vl, before, PORT_SLS);
    assert_memory_equal(subnet_info(&s, "h2")->sl_to_vl, one, PORT_SLS);
    subnet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_partition_stands_at_index_0),
        cmocka_unit_test(a_partition_goes_to_every_port_at_the_index_wished_for),
        cmocka_unit_test(keys_are_set_moved_limited_and_removed_under_a_live_port),
        cmocka_unit_test(a_removed_key_leaves_a_hole),
        cmocka_unit_test(impossible_edits_are_refused),
        cmocka_unit_test(keys_that_nobody_wants_are_cleared_on_first_contact),
        cmocka_unit_test(an_edit_is_visible_only_after_its_datagram),
        cmocka_unit_test(enforcing_switch_ports_get_the_table_of_their_host),
        cmocka_unit_test(service_levels_map_to_lanes_that_both_ends_have),
        cmocka_unit_test(sl_maps_are_set_for_one_port_or_for_all),
        cmocka_unit_test(fewer_lanes_can_be_asked_for),
        cmocka_unit_test(a_port_with_more_keys_than_the_switch_can_hold_is_not_enforced),
        cmocka_unit_test(a_key_that_changes_under_way_reaches_the_switch_too),
        cmocka_unit_test(one_service_level_moves_in_every_map_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
