/* SPDX-License-Identifier: Apache-2.0 */
/* Fault words of ports, cables, tables and subnet managers, each done and taken back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/mover.h"
#include "tests/support/one_bed.h"
#include "tests/support/teller.h"

static int setup(void **state)
{
    bed_setup(state);
    assert_true(sim_bed_active(&bed, "a", 0) && sim_bed_active(&bed, "b", 0) &&
                sim_bed_active(&bed, "c", 0));
    return 0;
}

/* Lets time pass until the question has this answer. */
static void comes_to(const char *node, const char *query, const char *answer)
{
    for (int i = 0; i < 20000 && strcmp(sim_bed_ask(&bed, node, query), answer) != 0; i++)
        sim_bed_run(&bed, BED_MS);
    assert_string_equal(sim_bed_ask(&bed, node, query), answer);
}

static void ports_go_down_and_cables_out(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_PORT_DOWN, .node = "a"));
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 state"), "DOWN");
    DO(FAULT(.word = TESTBED_CABLE_PULL, .node = "a", .device = "mlx5_0", .port = 1));
    DO(FAULT(.word = TESTBED_PORT_UP, .node = "a")); /* still without a cable */
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 state"), "DOWN");
    DO(FAULT(.word = TESTBED_CABLE_PULL, .node = "a"));
    DO(FAULT(.word = TESTBED_CABLE_PLUG, .node = "a"));
    comes_to("a", "mlx5_0/1 state", "ACTIVE");
    DO(FAULT(.word = TESTBED_PORT_DOWN, .node = "a"));
    DO(FAULT(.word = TESTBED_CABLE_PULL, .node = "b"));
    sim_bed_undo(&bed);
    comes_to("a", "mlx5_0/1 state", "ACTIVE");
    comes_to("b", "mlx5_0/1 state", "ACTIVE");
}

/* What was put right by the opposite word is not in force any more. */
static void undoing_does_nothing_where_nothing_is_in_force(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
    DO(FAULT(.word = TESTBED_PORT_DOWN, .node = "a"));
    DO(FAULT(.word = TESTBED_PORT_UP, .node = "a"));
    comes_to("a", "mlx5_0/1 state", "ACTIVE");
    sim_bed_run(&bed, BED_MS);
    sim_bed_forget(&bed);
    sim_bed_undo(&bed);
    sim_bed_run(&bed, 100 * BED_MS);
    assert_int_equal(sim_bed_count(&bed, "saw"), 0);
}

/* CASE-R4: an interface that goes down loses its addresses, a cable that is pulled does not. */
static void an_interface_that_goes_down_loses_its_gids(void **state)
{
    static const char *const none = "0000:0000:0000:0000:0000:0000:0000:0000";
    (void)state;
    DO(FAULT(.word = TESTBED_CABLE_PULL, .node = "x"));
    assert_string_not_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 gid 3"), none);
    DO(FAULT(.word = TESTBED_CABLE_PLUG, .node = "x"));
    DO(FAULT(.word = TESTBED_PORT_DOWN, .node = "x"));
    assert_string_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 gid 3"), none);
    DO(FAULT(.word = TESTBED_PORT_UP, .node = "x"));
    assert_string_not_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 gid 3"), none);
}

static void managers_stop_start_and_hand_over(void **state)
{
    (void)state;
    WRONG(FAULT(.word = TESTBED_SM_HANDOVER, .sm = "spare")); /* does not run */
    DO(FAULT(.word = TESTBED_SM_START, .sm = "spare"));
    DO(FAULT(.word = TESTBED_SM_START, .sm = "spare"));
    sim_bed_run(&bed, BED_SECOND);
    char first[TESTBED_DETAIL];
    strcpy(first, sim_bed_ask(&bed, "a", "mlx5_0/1 sm_lid"));
    DO(FAULT(.word = TESTBED_SM_HANDOVER, .sm = "sm")); /* is master */
    DO(FAULT(.word = TESTBED_SM_HANDOVER, .sm = "spare"));
    for (int i = 0; i < 10000 && !strcmp(sim_bed_ask(&bed, "a", "mlx5_0/1 sm_lid"), first); i++)
        sim_bed_run(&bed, BED_MS);
    assert_string_not_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 sm_lid"), first);
    sim_bed_undo(&bed);
    comes_to("a", "mlx5_0/1 sm_lid", first);
    DO(FAULT(.word = TESTBED_SM_STOP, .sm = "sm"));
    DO(FAULT(.word = TESTBED_PORT_DOWN, .node = "b"));
    DO(FAULT(.word = TESTBED_PORT_UP, .node = "b"));
    sim_bed_run(&bed, BED_SECOND);
    assert_string_equal(sim_bed_ask(&bed, "b", "mlx5_0/1 state"), "INIT");
    DO(FAULT(.word = TESTBED_SM_RESTART, .sm = "sm"));
    comes_to("b", "mlx5_0/1 state", "ACTIVE");
    WRONG(FAULT(.word = TESTBED_SM_STOP, .sm = "smm"));
    assert_string_equal(bed.detail, "there is no subnet manager 'smm'; did you mean 'sm'?");
    WRONG(FAULT(.word = TESTBED_SM_STOP));
}

static void managers_are_slow_and_refuse(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_SM_SLOW, .sm = "sm", .duration = 50 * BED_MS));
    DO(FAULT(.word = TESTBED_SM_REFUSE, .sm = "sm", .on = true));
    DO(FAULT(.word = TESTBED_PORT_DOWN, .node = "a"));
    DO(FAULT(.word = TESTBED_PORT_UP, .node = "a"));
    sim_bed_run(&bed, 40 * BED_MS);
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 state"), "INIT");
    sim_bed_undo(&bed);
    comes_to("a", "mlx5_0/1 state", "ACTIVE");
}

static void lids_change(void **state)
{
    char a[TESTBED_DETAIL], b[TESTBED_DETAIL];
    (void)state;
    strcpy(a, sim_bed_ask(&bed, "a", "mlx5_0/1 lid"));
    strcpy(b, sim_bed_ask(&bed, "b", "mlx5_0/1 lid"));
    DO(FAULT(.word = TESTBED_LID_SET, .node = "a", .value = 40));
    comes_to("a", "mlx5_0/1 lid", "40");
    WRONG(FAULT(.word = TESTBED_LID_SET, .node = "a", .value = 0xc000));
    WRONG(FAULT(.word = TESTBED_LID_SET, .node = "a", .value = 0x10001));
    WRONG(FAULT(.word = TESTBED_LID_SET, .node = "x", .value = 4));
    assert_string_equal(bed.detail, "lan is no InfiniBand subnet");
    DO(FAULT(.word = TESTBED_LID_SWAP, .node = "a", .peer = "b"));
    comes_to("b", "mlx5_0/1 lid", "40");
    comes_to("a", "mlx5_0/1 lid", b);
    WRONG(FAULT(.word = TESTBED_LID_SWAP, .node = "a"));
    WRONG(FAULT(.word = TESTBED_LID_SWAP, .node = "a", .peer = "bb"));
    DO(FAULT(.word = TESTBED_LMC_SET, .network = "ib", .value = 1));
    comes_to("c", "mlx5_0/1 lmc", "1");
    WRONG(FAULT(.word = TESTBED_LMC_SET, .network = "ib", .value = 8));
    WRONG(FAULT(.word = TESTBED_LMC_SET, .network = "lan", .value = 1));
    WRONG(FAULT(.word = TESTBED_LMC_SET, .value = 1)); /* there are several */
    sim_bed_undo(&bed);
    comes_to("c", "mlx5_0/1 lmc", "0");
    comes_to("a", "mlx5_0/1 lid", a);
    comes_to("b", "mlx5_0/1 lid", b);
}

/* The swap gave b the LID that a had by then: what a gets later is taken back before the swap is.
 */
static void lids_set_before_and_after_a_swap_are_all_taken_back(void **state)
{
    char a[TESTBED_DETAIL], b[TESTBED_DETAIL];
    (void)state;
    strcpy(a, sim_bed_ask(&bed, "a", "mlx5_0/1 lid"));
    strcpy(b, sim_bed_ask(&bed, "b", "mlx5_0/1 lid"));
    DO(FAULT(.word = TESTBED_LID_SET, .node = "a", .value = 40));
    comes_to("a", "mlx5_0/1 lid", "40");
    DO(FAULT(.word = TESTBED_LID_SWAP, .node = "a", .peer = "b"));
    comes_to("b", "mlx5_0/1 lid", "40");
    DO(FAULT(.word = TESTBED_LID_SET, .node = "a", .value = 50));
    comes_to("a", "mlx5_0/1 lid", "50");
    sim_bed_undo(&bed);
    comes_to("a", "mlx5_0/1 lid", a);
    comes_to("b", "mlx5_0/1 lid", b);
}

static void p_keys_come_and_go(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_PKEY_SET, .node = "a", .index = 3, .value = 0x8123));
    comes_to("a", "mlx5_0/1 pkey 3", "0x8123");
    DO(FAULT(.word = TESTBED_PKEY_LIMITED, .node = "a", .value = 0x0123, .on = true));
    comes_to("a", "mlx5_0/1 pkey 3", "0x0123");
    DO(FAULT(.word = TESTBED_PKEY_MOVE, .node = "a", .value = 0x0123, .index = 5));
    comes_to("a", "mlx5_0/1 pkey 5", "0x0123");
    comes_to("a", "mlx5_0/1 pkey 3", "0x0000");
    DO(FAULT(.word = TESTBED_PKEY_REMOVE, .node = "a", .value = 0x7fff));
    comes_to("a", "mlx5_0/1 pkey 0", "0x0000");
    WRONG(FAULT(.word = TESTBED_PKEY_REMOVE, .node = "a", .value = 0x0999));
    WRONG(FAULT(.word = TESTBED_PKEY_SET, .node = "a", .index = 128, .value = 0x8123));
    WRONG(FAULT(.word = TESTBED_PKEY_SET, .node = "x", .index = 1, .value = 0x8123));
    sim_bed_undo(&bed);
    comes_to("a", "mlx5_0/1 pkey 0", "0xffff");
    comes_to("a", "mlx5_0/1 pkey 5", "0x0000");
}

static void gids_come_move_and_go(void **state)
{
    static const union fabric_gid gid = {{0xfd, [15] = 9}};
    static const char *const text = "fd00:0000:0000:0000:0000:0000:0000:0009";
    char mapped[TESTBED_DETAIL];
    (void)state;
    strcpy(mapped, sim_bed_ask(&bed, "x", "mlx5_0/1 gid 3"));
    DO(FAULT(.word = TESTBED_GID_ADD, .node = "x", .index = 7, .gid = gid,
             .gid_type = FABRIC_GID_TYPE_ROCE_V2));
    assert_string_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 gid 7"), text);
    DO(FAULT(.word = TESTBED_GID_MOVE, .node = "x", .index = 3, .value = 8));
    assert_string_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 gid 8"), mapped);
    DO(FAULT(.word = TESTBED_GID_REMOVE, .node = "x", .index = 7));
    WRONG(FAULT(.word = TESTBED_GID_REMOVE, .node = "x", .index = 7));
    assert_string_equal(bed.detail, "entry 7 of the GID table is empty");
    WRONG(FAULT(.word = TESTBED_GID_ADD, .node = "x", .index = 200, .gid = gid));
    WRONG(FAULT(.word = TESTBED_GID_MOVE, .node = "x", .index = 0, .value = 200));
    sim_bed_undo(&bed);
    assert_string_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 gid 3"), mapped);
    assert_string_not_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 gid 7"), text);
}

static void mtu_prefix_grh_and_lanes(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_MTU_SET, .node = "a", .value = 2048));
    comes_to("a", "mlx5_0/1 mtu", "2048");
    DO(FAULT(.word = TESTBED_MTU_SET, .node = "x", .value = 1024));
    assert_string_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 mtu"), "1024");
    WRONG(FAULT(.word = TESTBED_MTU_SET, .node = "a", .value = 1500));
    WRONG(FAULT(.word = TESTBED_LINK_MTU, .node = "a", .value = 0));
    DO(FAULT(.word = TESTBED_LINK_MTU, .node = "a", .value = 1024));
    DO(FAULT(.word = TESTBED_GRH_REQUIRED, .node = "a", .on = true));
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 grh_required"), "true");
    DO(FAULT(.word = TESTBED_PREFIX_SET, .network = "ib", .value = UINT64_C(0xfec0000000000001)));
    comes_to("a", "mlx5_0/1 prefix", "0xfec0000000000001");
    const struct sim_host *host = sim_host_find(sim_testbed_world(bed.tb), "a");
    struct net_port *port = net_node_port(sim_device_node(sim_device_at(host, 0)), 1);
    const uint8_t third = net_sl_to_vl(port, 3), fourth = net_sl_to_vl(port, 4);
    DO(FAULT(.word = TESTBED_SL_MAP, .network = "ib", .index = 3, .value = 15));
    DO(FAULT(.word = TESTBED_SL_MAP, .network = "ib", .index = 4, .value = 1));
    WRONG(FAULT(.word = TESTBED_SL_MAP, .network = "ib", .index = 16, .value = 1));
    WRONG(FAULT(.word = TESTBED_SL_MAP, .network = "lan", .index = 3, .value = 1));
    WRONG(FAULT(.word = TESTBED_PREFIX_SET, .network = "lan", .value = 1));
    sim_bed_run(&bed, BED_SECOND);
    assert_int_equal(net_sl_to_vl(port, 3), 15);
    assert_int_equal(net_sl_to_vl(port, 4), 1);
    sim_bed_undo(&bed);
    comes_to("a", "mlx5_0/1 mtu", "4096");
    comes_to("a", "mlx5_0/1 prefix", "0xfe80000000000000");
    assert_string_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 mtu"), "4096");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 grh_required"), "false");
    sim_bed_run(&bed, BED_SECOND);
    assert_int_equal(net_sl_to_vl(port, 3), third);
    assert_int_equal(net_sl_to_vl(port, 4), fourth);
}

/* Each of them, and blocks arrive all the same, later. */
static void links_lose_delay_reorder_and_repeat(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_LOSS, .node = "a", .value = 20000));
    DO(FAULT(.word = TESTBED_DELAY, .node = "a", .duration = 5000, .jitter = 3000));
    DO(FAULT(.word = TESTBED_REORDER, .node = "b", .value = 20000));
    DO(FAULT(.word = TESTBED_DUPLICATE, .node = "b", .value = 20000));
    assert_int_equal(sim_bed_start(&bed, "a", &mover_program, "serve mlx5_0 1"), TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "b", &mover_program, "move mlx5_0 1 a:7000 40 30000"),
                     TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "moved"));
    assert_int_equal(sim_bed_count(&bed, "corrupted"), 0);
}

static void a_cut_is_one_way_and_ends(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_CUT, .node = "a", .on = true));
    DO(FAULT(.word = TESTBED_LOSS, .node = "c", .value = 2000000));
    assert_int_equal(sim_bed_start(&bed, "a", &mover_program, "serve mlx5_0 1"), TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "b", &mover_program, "move mlx5_0 1 a:7000 3 30000"),
                     TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "c", &mover_program, "move mlx5_0 1 a:7000 3 30000"),
                     TESTBED_DONE);
    sim_bed_run(&bed, 3 * BED_SECOND);
    assert_int_equal(sim_bed_count(&bed, "moved"), 0);
    sim_bed_undo(&bed);
    assert_true(sim_bed_until(&bed, "b {\"moved\":3}"));
    assert_true(sim_bed_until(&bed, "c {\"moved\":3}"));
}

/* The subnet manager set another prefix meanwhile: the GIDs that come back have it. */
static void gids_come_back_with_the_present_prefix(void **state)
{
    static const union fabric_gid alias = {{0xfe, 0x80, [15] = 0x77}};
    (void)state;
    DO(FAULT(.word = TESTBED_PREFIX_SET, .network = "ib", .value = UINT64_C(0xfec0000000000002)));
    comes_to("a", "mlx5_0/1 prefix", "0xfec0000000000002");
    DO(FAULT(.word = TESTBED_GID_ADD, .node = "a", .index = 2, .gid = alias,
             .gid_type = FABRIC_GID_TYPE_IB));
    sim_bed_undo(&bed);
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 gid 2"),
                        "0000:0000:0000:0000:0000:0000:0000:0000");
    comes_to("a", "mlx5_0/1 prefix", "0xfe80000000000000");
    assert_memory_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 gid 0"), "fe80:0000:0000:0000", 19);
    DO(FAULT(.word = TESTBED_GID_MOVE, .node = "a", .index = 0, .value = 3));
    const struct sim_host *host = sim_host_find(sim_testbed_world(bed.tb), "a");
    struct net_port *port = net_node_port(sim_device_node(sim_device_at(host, 0)), 1);
    net_port_info(port)->gids[5].gid = alias; /* as by a manager */
    DO(FAULT(.word = TESTBED_PREFIX_SET, .network = "ib", .value = UINT64_C(0xfec0000000000002)));
    comes_to("a", "mlx5_0/1 prefix", "0xfec0000000000002");
    sim_bed_undo(&bed); /* the prefix is set back by a datagram, later than the GIDs */
    assert_string_not_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 gid 5"),
                            "0000:0000:0000:0000:0000:0000:0000:0000");
    assert_memory_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 gid 0"), "fec0:0000:0000:0002", 19);
    comes_to("a", "mlx5_0/1 prefix", "0xfe80000000000000");
    assert_memory_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 gid 0"), "fe80:0000:0000:0000", 19);
}

static uint8_t lane(const char *node, uint8_t sl)
{
    const struct sim_host *host = sim_host_find(sim_testbed_world(bed.tb), node);
    return net_sl_to_vl(net_node_port(sim_device_node(sim_device_at(host, 0)), 1), sl);
}

/* Ports whose maps differ get each its own again. */
static void maps_that_differ_differ_again(void **state)
{
    const struct sim_host *host = sim_host_find(sim_testbed_world(bed.tb), "b");
    struct net_port *port = net_node_port(sim_device_node(sim_device_at(host, 0)), 1);
    (void)state;
    net_port_info(port)->vl_cap = 1;
    DO(FAULT(.word = TESTBED_SM_STOP, .sm = "sm"));
    DO(FAULT(.word = TESTBED_CABLE_PULL, .node = "b"));
    DO(FAULT(.word = TESTBED_CABLE_PLUG, .node = "b"));
    DO(FAULT(.word = TESTBED_SM_START, .sm = "sm"));
    comes_to("b", "mlx5_0/1 state", "ACTIVE");
    assert_int_equal(lane("b", 3), 0);
    assert_int_equal(lane("a", 3), 3);
    DO(FAULT(.word = TESTBED_SL_MAP, .network = "ib", .index = 3, .value = 15));
    DO(FAULT(.word = TESTBED_SL_MAP, .network = "ib", .index = 3, .value = 0));
    sim_bed_run(&bed, BED_SECOND);
    assert_int_equal(lane("a", 3), 0);
    assert_int_equal(lane("a", 2), 2);
    sim_bed_undo(&bed);
    sim_bed_run(&bed, BED_SECOND);
    assert_int_equal(lane("a", 3), 3);
    assert_int_equal(lane("b", 3), 0);
}

/* Two equals: what makes the handover last is gone with it, so a third that is better wins. */
static void a_handover_between_equals_leaves_no_priority(void **state)
{
    struct topology_sm managers[] = {
        {"first", 1, 0, 0}, {"second", 1, 0, 0}, {"better", 2, FABRIC_FOREVER, 0}};
    struct topology_subnet subnet = {.name = "ib",
                                     .prefix = UINT64_C(0xfe80000000000000),
                                     .first_lid = 1,
                                     .sms = managers,
                                     .sm_count = 3};
    struct topology_port port = {.port_num = 1, .network = "ib"};
    struct topology_device device = {.name = "mlx5_0", .ports = &port, .port_count = 1};
    struct topology_node node = {.name = "a", .devices = &device, .device_count = 1};
    const struct topology topology = {
        .subnets = &subnet, .subnet_count = 1, .nodes = &node, .node_count = 1};
    const struct testbed_options options = {.seed = 1, .caps = FABRIC_CAPS_ALL};
    char first[TESTBED_DETAIL], now[TESTBED_DETAIL], *detail = bed.detail;
    (void)state;
    sim_testbed.destroy(bed.tb);
    bed.tb = sim_testbed.create(&topology, &options, detail);
    assert_non_null(bed.tb);
    comes_to("a", "mlx5_0/1 state", "ACTIVE");
    sim_bed_run(&bed, 20 * BED_SECOND); /* all three have settled */
    strcpy(first, sim_bed_ask(&bed, "a", "mlx5_0/1 sm_lid"));
    DO(FAULT(.word = TESTBED_SM_HANDOVER, .sm = "second"));
    sim_bed_run(&bed, 20 * BED_SECOND);
    strcpy(now, sim_bed_ask(&bed, "a", "mlx5_0/1 sm_lid"));
    assert_string_not_equal(now, first);
    sim_bed_undo(&bed);
    comes_to("a", "mlx5_0/1 sm_lid", first);
    DO(FAULT(.word = TESTBED_SM_START, .sm = "better"));
    sim_bed_run(&bed, 30 * BED_SECOND);
    assert_string_not_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 sm_lid"), first);
    assert_string_not_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 sm_lid"), now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ports_go_down_and_cables_out, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(undoing_does_nothing_where_nothing_is_in_force, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(an_interface_that_goes_down_loses_its_gids, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(managers_stop_start_and_hand_over, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(managers_are_slow_and_refuse, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(lids_change, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(lids_set_before_and_after_a_swap_are_all_taken_back, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(p_keys_come_and_go, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(gids_come_move_and_go, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(gids_come_back_with_the_present_prefix, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(mtu_prefix_grh_and_lanes, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(links_lose_delay_reorder_and_repeat, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(a_cut_is_one_way_and_ends, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(maps_that_differ_differ_again, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(a_handover_between_equals_leaves_no_priority, setup,
                                        bed_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
