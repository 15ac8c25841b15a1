/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that start, stop, freeze, are killed and restarted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/mover.h"
#include "tests/support/one_bed.h"
#include "tests/support/teller.h"

static enum testbed_result apply(enum testbed_word word, const char *node, bool on)
{
    return sim_bed_apply(&bed, &(struct testbed_fault){.word = word, .node = node, .on = on});
}

static void tell(const char *node, const char *command)
{
    assert_int_equal(sim_testbed.tell(bed.tb, node, command, bed.detail), TESTBED_DONE);
}

static void a_program_starts_tells_and_stops(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_WRONG);
    assert_string_equal(bed.detail, "node 'a' runs a program already");
    assert_true(sim_bed_until(&bed, "a {\"started\":\"1\"}"));
    assert_true(sim_bed_until(&bed, "a teller starts")); /* its log */
    assert_true(sim_bed_until(&bed, "a {\"saw\":\"PORT_ACTIVE\"}"));
    tell("a", "cq");
    assert_true(sim_bed_until(&bed, "a {\"cq\":\"ok\"}"));
    assert_int_equal(sim_testbed.node_stop(bed.tb, "a", bed.detail), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "a teller stops"));
    assert_true(sim_bed_until(&bed, "a exited ok"));
    assert_int_equal(sim_testbed.node_stop(bed.tb, "a", bed.detail), TESTBED_WRONG);
    assert_int_equal(sim_testbed.tell(bed.tb, "a", "cq", bed.detail), TESTBED_WRONG);
    assert_string_equal(bed.detail, "node 'a' runs no program");
    assert_int_equal(sim_testbed.node_stop(bed.tb, "q", bed.detail), TESTBED_WRONG);
    assert_int_equal(sim_testbed.tell(bed.tb, "q", "cq", bed.detail), TESTBED_WRONG);
    assert_int_equal(sim_bed_start(&bed, "q", &teller_program, ""), TESTBED_WRONG);
}

static void a_program_that_does_not_start_has_exited(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, "fail"), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "a exited config_invalid"));
    assert_string_equal(sim_bed_ask(&bed, "a", "running"), "false");
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
}

static void a_frozen_program_does_nothing_until_it_thaws(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, "tick"), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "{\"tick\":\"2\"}"));
    assert_int_equal(apply(TESTBED_PROCESS_FREEZE, "a", true), TESTBED_DONE);
    sim_bed_run(&bed, 100 * BED_MS);
    tell("a", "cq");
    tell("a", "sync");
    sim_bed_run(&bed, 100 * BED_MS);
    assert_int_equal(sim_bed_count(&bed, "tick"), 2);
    assert_int_equal(sim_bed_count(&bed, "cq"), 0);
    assert_int_equal(apply(TESTBED_PROCESS_FREEZE, "a", false), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "{\"cq\":\"ok\"}"));
    assert_true(sim_bed_until(&bed, "{\"flush\":\"ok\"}"));
    assert_true(sim_bed_until(&bed, "{\"tick\":\"5\"}"));
    assert_int_equal(apply(TESTBED_PROCESS_FREEZE, "a", true), TESTBED_DONE);
    tell("a", "cq"); /* is thrown away with it */
}

/* Nothing of a killed program is heard of any more, and its peers notice. */
static void a_killed_program_is_silent(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &mover_program, "serve mlx5_0 1"), TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "b", &mover_program, "move mlx5_0 1 a:7000 1000 60000"),
                     TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "c", &teller_program, ""), TESTBED_DONE);
    sim_bed_run(&bed, 25 * BED_MS);
    assert_int_equal(apply(TESTBED_PROCESS_KILL, "c", false), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "c exited cancelled"));
    assert_int_equal(sim_bed_count(&bed, "teller stops"), 0);
    assert_int_equal(apply(TESTBED_PROCESS_KILL, "c", false), TESTBED_WRONG);
    assert_int_equal(apply(TESTBED_PROCESS_FREEZE, "c", true), TESTBED_WRONG);
    assert_int_equal(apply(TESTBED_PROCESS_KILL, "a", false), TESTBED_DONE);
    sim_bed_run(&bed, 100 * BED_MS);
    assert_int_equal(sim_bed_count(&bed, "moved"), 0);
    assert_int_equal(apply(TESTBED_PROCESS_RESTART, "a", false), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "b {\"moved\":1000}")); /* it began again */
    assert_int_equal(sim_bed_count(&bed, "corrupted"), 0);
}

static void a_restart_runs_the_start_again(void **state)
{
    (void)state;
    assert_int_equal(apply(TESTBED_PROCESS_RESTART, "a", false), TESTBED_WRONG);
    assert_string_equal(bed.detail, "node 'a' has never run a program");
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
    assert_int_equal(apply(TESTBED_PROCESS_RESTART, "a", false), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "exited cancelled"));
    sim_bed_run(&bed, BED_MS);
    assert_int_equal(sim_bed_count(&bed, "{\"started\":\"1\"}"), 2);
}

static void undoing_a_kill_starts_the_program_again(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
    assert_int_equal(apply(TESTBED_PROCESS_KILL, "a", false), TESTBED_DONE);
    sim_bed_undo(&bed);
    sim_bed_run(&bed, BED_MS);
    assert_int_equal(sim_bed_count(&bed, "{\"started\":\"1\"}"), 2);
    assert_int_equal(apply(TESTBED_PROCESS_KILL, "a", false), TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
    sim_bed_undo(&bed); /* it runs already */
    sim_bed_run(&bed, BED_MS);
    assert_int_equal(sim_bed_count(&bed, "{\"started\":\"1\"}"), 3);
}

static void power_takes_the_program_and_the_link(void **state)
{
    (void)state;
    assert_true(sim_bed_active(&bed, "a", 0));
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
    assert_int_equal(apply(TESTBED_POWER_LOSS, "a", false), TESTBED_DONE);
    assert_int_equal(apply(TESTBED_POWER_LOSS, "a", false),
                     TESTBED_DONE); /* nothing more to lose */
    assert_true(sim_bed_until(&bed, "a exited cancelled"));
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 state"), "DOWN");
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_WRONG);
    assert_string_equal(bed.detail, "node 'a' has no power");
    assert_int_equal(apply(TESTBED_PROCESS_RESTART, "a", false), TESTBED_WRONG);
    assert_int_equal(apply(TESTBED_POWER_RETURN, "a", false), TESTBED_DONE);
    assert_int_equal(apply(TESTBED_POWER_RETURN, "a", false), TESTBED_DONE);
    assert_true(sim_bed_active(&bed, "a", 0));
    assert_int_equal(apply(TESTBED_PROCESS_RESTART, "a", false), TESTBED_DONE);
}

static void undoing_a_power_loss_brings_the_program_back(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
    assert_int_equal(apply(TESTBED_POWER_LOSS, "a", false), TESTBED_DONE);
    assert_int_equal(apply(TESTBED_POWER_RETURN, "a", false), TESTBED_DONE);
    sim_bed_run(&bed, BED_SECOND);
    assert_int_equal(sim_bed_count(&bed, "{\"started\":\"1\"}"), 1); /* only by a step */
    sim_bed_undo(&bed);
    sim_bed_run(&bed, BED_MS);
    assert_int_equal(sim_bed_count(&bed, "{\"started\":\"1\"}"), 2);
    assert_int_equal(apply(TESTBED_POWER_LOSS, "b", false), TESTBED_DONE); /* nothing ran there */
    sim_bed_undo(&bed);
    assert_int_equal(sim_bed_count(&bed, "b {"), 0);
}

/* Unless it is the taking back of a kill, a restart restarts what runs, whatever `on` says. */
static void a_restart_of_what_runs_ends_it_first(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &teller_program, ""), TESTBED_DONE);
    assert_int_equal(apply(TESTBED_PROCESS_RESTART, "a", true), TESTBED_DONE);
    sim_bed_run(&bed, BED_MS);
    assert_int_equal(sim_bed_count(&bed, "{\"started\":\"1\"}"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_program_starts_tells_and_stops, bed_setup, bed_teardown),
        cmocka_unit_test_setup_teardown(a_program_that_does_not_start_has_exited, bed_setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(a_frozen_program_does_nothing_until_it_thaws, bed_setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(a_killed_program_is_silent, bed_setup, bed_teardown),
        cmocka_unit_test_setup_teardown(a_restart_runs_the_start_again, bed_setup, bed_teardown),
        cmocka_unit_test_setup_teardown(undoing_a_kill_starts_the_program_again, bed_setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(power_takes_the_program_and_the_link, bed_setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(undoing_a_power_loss_brings_the_program_back, bed_setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(a_restart_of_what_runs_ends_it_first, bed_setup,
                                        bed_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
