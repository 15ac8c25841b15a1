/* SPDX-License-Identifier: Apache-2.0 */
/* What steps do to the world, and whose exit an exit is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/scenario_run.h"

#define MS 1000000u

static int setup(void **state)
{
    (void)state;
    fake_reset();
    return 0;
}

static void script(const char *on, uint64_t delay, enum testbed_event_type type, const char *node,
                   const char *text, enum fabric_error error)
{
    size_t i = 0;
    while (fake_script.replies[i].on)
        i++;
    assert_true(i < FAKE_MAX_REPLIES);
    fake_script.replies[i] =
        (struct fake_reply){on, delay, type, node, text, FABRIC_LOG_INFO, error};
}

static void a_stop_is_done_when_the_program_has_ended(void **state)
{
    (void)state;
    struct scenario_fixture f;
    script("stop server", 7 * MS, TESTBED_EVENT_EXITED, "server", "", FABRIC_OK);
    scenario_fixture_run(&f, "steps: [stop: server]\n");
    assert_int_equal(f.result.status, SCENARIO_PASSED);
    assert_int_equal(f.result.time, 2 * 1000 + 7 * MS);
    scenario_fixture_free(&f);
}

static void a_program_started_right_after_its_stop_is_the_new_one(void **state)
{
    (void)state;
    script("stop server", 7 * MS, TESTBED_EVENT_EXITED, "server", "", FABRIC_OK);
    scenario_passes("steps:\n"
                    "  - start: server\n"
                    "  - stop: server\n"
                    "  - {start: server, expect: {error: ok, within: 1 ms}}\n");
    assert_non_null(strstr(strstr(fake_log.text, "stop server"), "start server"));
}

static void a_program_that_does_not_stop_fails(void **state)
{
    (void)state;
    scenario_fails("steps:\n  - stop: server\n", 2, "the program of server to end",
                   "it still ran after 60 s");
}

static void the_exit_of_a_killed_program_is_not_the_next_ones(void **state)
{
    (void)state;
    script("process_kill", 100, TESTBED_EVENT_EXITED, "server", "", ERR_CANCELLED);
    scenario_passes("steps:\n"
                    "  - start: server\n"
                    "  - process_kill: server\n"
                    "  - {start: server, expect: {error: ok}}\n"
                    "  - {after: 1 ms, sm_stop: sm}\n");
}

static void a_killed_program_may_not_end_twice(void **state)
{
    (void)state;
    script("process_restart", 100, TESTBED_EVENT_EXITED, "server", "", ERR_CANCELLED);
    script("process_restart", MS, TESTBED_EVENT_EXITED, "server", "", ERR_CONFIG_INVALID);
    scenario_fails("steps: [process_restart: server, {after: 5 ms, sm_stop: sm}]\n", (unsigned)-1,
                   "the program of server to run", "it ended with config_invalid");
}

static void an_operation_carries_what_the_step_says(void **state)
{
    (void)state;
    script("get", MS, TESTBED_EVENT_REPORT, "client",
           "{\"id\":%id,\"ok\":true,\"class\":\"rdma\",\"equal\":true}", FABRIC_OK);
    scenario_passes("steps: [get: {node: client, key: k, size: 4 KiB, seed: 7, timeout: 20 ms}]\n");
    assert_non_null(strstr(fake_log.text, "\"op\":\"get\",\"key\":\"k\",\"size\":4096,\"seed\":7,"
                                          "\"timeout_ms\":20}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_stop_is_done_when_the_program_has_ended, setup),
        cmocka_unit_test_setup(a_program_started_right_after_its_stop_is_the_new_one, setup),
        cmocka_unit_test_setup(a_program_that_does_not_stop_fails, setup),
        cmocka_unit_test_setup(the_exit_of_a_killed_program_is_not_the_next_ones, setup),
        cmocka_unit_test_setup(a_killed_program_may_not_end_twice, setup),
        cmocka_unit_test_setup(an_operation_carries_what_the_step_says, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
