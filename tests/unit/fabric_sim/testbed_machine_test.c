/* SPDX-License-Identifier: Apache-2.0 */
/* Fault words of devices, events, calls, disks and control streams. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/fabric/layer_fault.h"
#include "tests/support/mover.h"
#include "tests/support/one_bed.h"
#include "tests/support/teller.h"

static int setup(void **state)
{
    bed_setup(state);
    assert_true(sim_bed_active(&bed, "a", 0) && sim_bed_active(&bed, "b", 0));
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
    return 0;
}

static void flap(void)
{
    DO(FAULT(.word = TESTBED_PORT_DOWN, .node = "a"));
    DO(FAULT(.word = TESTBED_PORT_UP, .node = "a"));
    assert_true(sim_bed_active(&bed, "a", 0));
    sim_bed_run(&bed, BED_MS);
}

static void events_are_held_and_let_go(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_EVENT_HOLD, .node = "a", .text = "PORT_ACTIVE, PORT_ERR", .on = true));
    flap();
    assert_int_equal(sim_bed_count(&bed, "saw"), sim_bed_count(&bed, "CLIENT_REREGISTER"));
    DO(FAULT(.word = TESTBED_EVENT_HOLD, .node = "a", .text = "PORT_ERR", .on = false));
    sim_bed_run(&bed, BED_MS);
    assert_int_not_equal(sim_bed_count(&bed, "PORT_ERR"), 0);
    assert_int_equal(sim_bed_count(&bed, "PORT_ACTIVE"), 0);
    sim_bed_undo(&bed);
    sim_bed_run(&bed, BED_MS);
    assert_int_equal(sim_bed_count(&bed, "PORT_ACTIVE"), 1);
    WRONG(FAULT(.word = TESTBED_EVENT_HOLD, .node = "a", .text = "PORT_UP", .on = true));
    assert_non_null(strstr(bed.detail, "'PORT_UP' is no asynchronous event"));
}

static void events_are_lost_and_doubled(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_EVENT_LOSE, .node = "a", .text = "PORT_ACTIVE", .value = 1));
    DO(FAULT(.word = TESTBED_EVENT_DUPLICATE, .node = "a", .text = "CLIENT_REREGISTER"));
    flap();
    assert_int_equal(sim_bed_count(&bed, "PORT_ACTIVE"), 0);
    unsigned twice = sim_bed_count(&bed, "CLIENT_REREGISTER");
    sim_bed_forget(&bed);
    flap();
    assert_int_equal(sim_bed_count(&bed, "PORT_ACTIVE"), 1);
    assert_int_equal(twice, sim_bed_count(&bed, "CLIENT_REREGISTER") + 1);
}

static void events_come_in_the_order_that_is_asked_for(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_EVENT_HOLD, .node = "a", .text = "all", .on = true));
    flap();
    assert_int_equal(sim_bed_count(&bed, "saw"), 0);
    DO(FAULT(.word = TESTBED_EVENT_ORDER, .node = "a", .text = "PORT_ACTIVE,CLIENT_REREGISTER"));
    sim_bed_run(&bed, BED_MS);
    const char *active = strstr(bed.said, "PORT_ACTIVE");
    const char *reregister = strstr(bed.said, "CLIENT_REREGISTER");
    const char *err = strstr(bed.said, "PORT_ERR");
    assert_true(active && reregister && err && active < reregister && reregister < err);
}

static void a_device_vanishes_and_returns(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_DEVICE_REMOVE, .node = "a"));
    DO(FAULT(.word = TESTBED_DEVICE_REMOVE, .node = "a", .device = "mlx5_0"));
    assert_true(sim_bed_until(&bed, "DEVICE_FATAL"));
    assert_int_equal(sim_testbed.tell(bed.tb, "a", "cq", bed.detail), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "{\"cq\":\"device_removed\"}"));
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 state"), "DOWN");
    DO(FAULT(.word = TESTBED_PROCESS_RESTART, .node = "a")); /* without a device */
    assert_int_equal(sim_testbed.tell(bed.tb, "a", "cq", bed.detail), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "{\"cq\":\"closed\"}"));
    DO(FAULT(.word = TESTBED_DEVICE_RETURN, .node = "a"));
    DO(FAULT(.word = TESTBED_DEVICE_REMOVE, .node = "a")); /* before it was there */
    sim_bed_undo(&bed);
    assert_true(sim_bed_active(&bed, "a", 0));
    DO(FAULT(.word = TESTBED_PROCESS_RESTART, .node = "a"));
    sim_bed_forget(&bed);
    assert_int_equal(sim_testbed.tell(bed.tb, "a", "cq", bed.detail), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "{\"cq\":\"ok\"}"));
}

static void a_device_without_a_dc_target_has_no_key_to_change(void **state)
{
    (void)state;
    WRONG(FAULT(.word = TESTBED_DC_KEY_CHANGE, .node = "a"));
    assert_non_null(strstr(bed.detail, "no DC target"));
    DO(FAULT(.word = TESTBED_DEVICE_REMOVE, .node = "a"));
    WRONG(FAULT(.word = TESTBED_DC_KEY_CHANGE, .node = "a"));
}

static void the_movers_survive_the_removal(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "b", &mover_program, "serve mlx5_0 1"), TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "c", &mover_program, "move mlx5_0 1 b:7000 900 30000"),
                     TESTBED_DONE);
    for (int i = 0; i < 4; i++) {
        sim_bed_run(&bed, 22 * BED_MS);
        DO(FAULT(.word = TESTBED_DEVICE_REMOVE, .node = i % 2 ? "b" : "c"));
        sim_bed_run(&bed, 5 * BED_MS);
        sim_bed_undo(&bed);
    }
    assert_true(sim_bed_until(&bed, "c {\"moved\":900}"));
    assert_int_equal(sim_bed_count(&bed, "corrupted"), 0);
}

static void calls_fail_as_often_as_told(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_VERB_FAILS, .node = "a", .text = "cq_create", .index = 2, .value = 1,
             .error = ERR_RESOURCES_EXHAUSTED));
    for (int i = 0; i < 3; i++)
        assert_int_equal(sim_testbed.tell(bed.tb, "a", "cq", bed.detail), TESTBED_DONE);
    sim_bed_run(&bed, BED_MS);
    assert_int_equal(sim_bed_count(&bed, "{\"cq\":\"ok\"}"), 2);
    assert_int_equal(sim_bed_count(&bed, "{\"cq\":\"resources_exhausted\"}"), 1);
    DO(FAULT(.word = TESTBED_VERB_FAILS, .node = "b", .text = "cq_create",
             .error = ERR_RESOURCES_EXHAUSTED));
    assert_int_equal(sim_bed_start(&bed, "b", &teller_program, ""), TESTBED_DONE);
    assert_int_equal(sim_testbed.tell(bed.tb, "b", "cq", bed.detail), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "b {\"cq\":\"resources_exhausted\"}"));
    sim_bed_undo(&bed);
    assert_int_equal(sim_testbed.tell(bed.tb, "b", "cq", bed.detail), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "b {\"cq\":\"ok\"}"));
    WRONG(FAULT(.word = TESTBED_VERB_FAILS, .node = "a", .text = "qp_invent"));
    WRONG(FAULT(.word = TESTBED_VERB_FAILS, .node = "a", .text = "qp_destroy"));
    assert_string_equal(bed.detail, "qp_destroy never fails");
    for (int i = 0; i < LAYER_FAULT_RULES; i++)
        DO(FAULT(.word = TESTBED_VERB_FAILS, .node = "a", .text = "cq_create"));
    WRONG(FAULT(.word = TESTBED_VERB_FAILS, .node = "a", .text = "cq_create"));
}

static void completions_fail_and_the_blocks_still_arrive(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "b", &mover_program, "serve mlx5_0 1"), TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "c", &mover_program, "move mlx5_0 1 b:7000 4 3000"),
                     TESTBED_DONE);
    DO(FAULT(.word = TESTBED_COMPLETION_FAILS, .node = "c", .text = "RETRY_EXC_ERR", .index = 2,
             .value = 1));
    assert_true(sim_bed_until(&bed, "c {\"moved\":4}"));
    WRONG(FAULT(.word = TESTBED_COMPLETION_FAILS, .node = "c", .text = "SUCCESS"));
    WRONG(FAULT(.word = TESTBED_COMPLETION_FAILS, .node = "c"));
}

static void disks_break_fill_and_slow_down(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_DISK_ERROR, .node = "a", .on = true));
    assert_int_equal(sim_testbed.tell(bed.tb, "a", "sync", bed.detail), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "{\"flush\":\"media_failed\"}"));
    DO(FAULT(.word = TESTBED_DISK_SLOW, .node = "a", .duration = BED_SECOND));
    DO(FAULT(.word = TESTBED_DISK_FULL, .node = "a", .on = true));
    DO(FAULT(.word = TESTBED_DISK_ERROR, .node = "a", .on = false));
    assert_int_equal(sim_testbed.tell(bed.tb, "a", "sync", bed.detail), TESTBED_DONE);
    sim_bed_run(&bed, 900 * BED_MS);
    assert_int_equal(sim_bed_count(&bed, "{\"flush\":\"ok\"}"), 0);
    assert_true(sim_bed_until(&bed, "{\"flush\":\"ok\"}"));
    sim_bed_undo(&bed);
    sim_bed_forget(&bed);
    assert_int_equal(sim_testbed.tell(bed.tb, "a", "sync", bed.detail), TESTBED_DONE);
    sim_bed_run(&bed, 10 * BED_MS);
    assert_int_equal(sim_bed_count(&bed, "{\"flush\":\"ok\"}"), 1);
}

static void control_streams_are_blocked_slowed_and_cut(void **state)
{
    (void)state;
    DO(FAULT(.word = TESTBED_TCP_BLOCK, .node = "b", .on = true));
    assert_int_equal(sim_bed_start(&bed, "b", &mover_program, "serve mlx5_0 1"), TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "c", &mover_program, "move mlx5_0 1 b:7000 2000 9000"),
                     TESTBED_DONE);
    sim_bed_run(&bed, BED_SECOND);
    assert_int_equal(sim_bed_count(&bed, "moved"), 0);
    sim_bed_undo(&bed);
    DO(FAULT(.word = TESTBED_TCP_SLOW, .node = "b", .peer = "c", .value = 100000,
             .duration = BED_MS));
    sim_bed_run(&bed, 2 * BED_SECOND);
    DO(FAULT(.word = TESTBED_TCP_CUT, .node = "b", .peer = "c"));
    DO(FAULT(.word = TESTBED_TCP_CUT, .node = "b"));
    assert_true(sim_bed_until(&bed, "moved"));
    WRONG(FAULT(.word = TESTBED_TCP_CUT, .node = "b", .peer = "q"));
}

/* What a fabric cannot do is a capability that it lacks, never a silent success. */
static void a_lacking_capability_is_named(void **state)
{
    struct sim_bed less;
    (void)state;
    sim_bed_open(&less, 1, ~(FABRIC_CAP_POWER_LOSS | FABRIC_CAP_DISK_FAULT));
    const struct testbed_fault power = {.word = TESTBED_POWER_LOSS, .node = "a"};
    const struct testbed_fault slow = {.word = TESTBED_DISK_SLOW, .node = "a"};
    assert_int_equal(sim_bed_apply(&less, &power), TESTBED_LACKS);
    assert_string_equal(less.detail, "power_loss needs the capability power_loss");
    assert_int_equal(sim_bed_apply(&less, &slow), TESTBED_LACKS);
    assert_string_equal(less.detail, "disk_slow needs the capability disk_fault");
    assert_false(sim_testbed.caps(less.tb) & FABRIC_CAP_POWER_LOSS);
    assert_true(sim_testbed.caps(less.tb) & FABRIC_CAP_RC);
    sim_bed_close(&less);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_are_held_and_let_go, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(events_are_lost_and_doubled, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(events_come_in_the_order_that_is_asked_for, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(a_device_vanishes_and_returns, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(a_device_without_a_dc_target_has_no_key_to_change, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(the_movers_survive_the_removal, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(calls_fail_as_often_as_told, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(completions_fail_and_the_blocks_still_arrive, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(disks_break_fill_and_slow_down, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(control_streams_are_blocked_slowed_and_cut, setup,
                                        bed_teardown),
        cmocka_unit_test(a_lacking_capability_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
