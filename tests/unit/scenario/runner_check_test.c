/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers, silence, and the closing list. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/scenario_run.h"

#define MS 1000000u

/* After sm_stop: a warning of the client at 1 ms, a report of the server at 2 ms, an error of the
 * client at 3 ms. */
static int setup(void **state)
{
    (void)state;
    fake_reset();
    fake_script.replies[0] = (struct fake_reply){
        "sm_stop",       MS,       TESTBED_EVENT_LOG, "client", "waiting_for_sm on mlx5_0 port 1",
        FABRIC_LOG_WARN, FABRIC_OK};
    fake_script.replies[1] = (struct fake_reply){"sm_stop",
                                                 2 * MS,
                                                 TESTBED_EVENT_REPORT,
                                                 "server",
                                                 "{\"event\":\"rail\",\"state\":\"waiting\"}",
                                                 FABRIC_LOG_INFO,
                                                 FABRIC_OK};
    fake_script.replies[2] = (struct fake_reply){
        "sm_stop",        3 * MS,   TESTBED_EVENT_LOG, "client", "no_lid: LID 0 found",
        FABRIC_LOG_ERROR, FABRIC_OK};
    return 0;
}

#define STEPS "steps: [sm_stop: sm, {after: 5 ms, sm_start: sm}]\n"

static void a_log_line_is_looked_for_on_its_node(void **state)
{
    (void)state;
    scenario_passes(STEPS "expect: [{node: client, log: [no_lid, LID 0], level: error}]\n");
    scenario_fails(STEPS "expect: [{node: server, log: no_lid}]\n", 2,
                   "a log line of server with 'no_lid'", "0 of them");
    scenario_fails(STEPS "expect: [{log: [no_lid, LID 1]}]\n", 2, "'no_lid' and 'LID 1'", "0 of");
    scenario_fails(STEPS "expect: [{log: no_lid, level: warn}]\n", 2, "at warn", "0 of them");
}

static void the_nearest_miss_is_shown(void **state)
{
    (void)state;
    struct scenario_fixture f;
    scenario_fixture_run(&f, STEPS "expect: [{node: client, log: waiting_for_xx}]\n");
    assert_int_equal(f.result.failure_count, 1);
    assert_non_null(
        strstr(text_data(&f.result.failures[0].nearest), "client  warn  waiting_for_sm on mlx5_0"));
    scenario_fixture_free(&f);
    scenario_fixture_run(&f, STEPS "expect: [{report: {event: rail, state: ready}}]\n");
    assert_non_null(strstr(text_data(&f.result.failures[0].nearest), "\"state\":\"waiting\""));
    scenario_fixture_free(&f);
}

static void never_and_count_fail_at_once(void **state)
{
    (void)state;
    scenario_passes(STEPS "expect: [{log: fallback_tcp, never: true}]\n");
    scenario_fails(STEPS "expect: [{log: no_lid, never: true}]\n", 2, "never a log line",
                   "no_lid: LID 0 found");
    assert_null(strstr(fake_log.text, "sm_start"));
    scenario_passes(STEPS "expect: [{node: client, log: port, count: 1}]\n");
    scenario_fails(STEPS "expect: [{node: client, log: '_', count: 1}]\n", 2,
                   "exactly 1 time a log line", "no_lid");
    scenario_fails(STEPS "expect: [{node: client, log: '_', count: 3}]\n", 2, "exactly 3 times",
                   "2 of them");
}

static void bounds_of_the_worlds_time_hold(void **state)
{
    (void)state;
    scenario_passes(STEPS "expect: [{log: no_lid, after: 3 ms, by: 4 ms}]\n");
    scenario_fails(STEPS "expect: [{log: no_lid, by: 2 ms}]\n", 2, "by 2 ms", "0 of them");
    scenario_fails(STEPS "expect: [{log: no_lid, after: 4 ms}]\n", 2, "not before 4 ms", "0 of");
    scenario_passes(STEPS "expect: [{log: no_lid, never: true, by: 2 ms}]\n");
    /* A bound in the future is waited for. */
    scenario_passes("steps: [sm_stop: sm]\nexpect: [{log: no_lid, by: 10 ms}]\n");
}

static void order_is_the_order_of_events(void **state)
{
    (void)state;
    scenario_passes(STEPS "expect:\n"
                          "  - order: [log: waiting_for_sm, report: {event: rail}, log: no_lid]\n");
    scenario_fails(STEPS "expect:\n"
                         "  - order:\n"
                         "      - log: no_lid\n"
                         "      - log: waiting_for_sm\n",
                   5, "after the 1 before it", "it happened sooner");
    scenario_fails(STEPS "expect: [order: [log: no_lid, exit: ok]]\n", 2, "an exit with ok",
                   "it did not happen");
}

static void an_exit_can_be_expected(void **state)
{
    (void)state;
    fake_script.replies[3] = (struct fake_reply){
        "process_kill", MS, TESTBED_EVENT_EXITED, "client", "", FABRIC_LOG_INFO, ERR_INTERNAL};
    scenario_passes("steps: [process_kill: client, {after: 2 ms, sm_stop: sm}]\n"
                    "expect: [{node: client, exit: internal}]\n");
    scenario_fails("steps: [process_kill: client, {after: 2 ms, sm_stop: sm}]\n"
                   "expect: [{node: client, exit: ok}]\n",
                   2, "an exit of client with ok", "0 of them");
}

static void a_condition_is_waited_for_since_the_last_action(void **state)
{
    (void)state;
    scenario_passes("steps:\n"
                    "  - sm_stop: sm\n"
                    "  - when: {node: client, log: no_lid}\n"
                    "  - when: {node: server, report: {state: waiting}}\n");
    scenario_fails("steps:\n"
                   "  - sm_stop: sm\n"
                   "  - {when: {log: no_lid}, sm_start: sm}\n"
                   "  - {when: {log: waiting_for_sm}, within: 1 s}\n",
                   4, "a log line with 'waiting_for_sm' within 1 s", "nothing can happen any more");
    scenario_fails("steps:\n"
                   "  - sm_stop: sm\n"
                   "  - {when: {log: no_lid}, within: 2 ms}\n",
                   3, "within 2 ms", "none in that time");
}

static void times_are_waited_for(void **state)
{
    (void)state;
    struct scenario_fixture f;
    scenario_fixture_run(&f, "steps: [{at: 1 ms, sm_stop: sm}, {at: 2 ms, sm_start: sm}]\n");
    assert_int_equal(f.result.status, SCENARIO_PASSED);
    assert_true(strstr(fake_log.text, "waiting_for_sm") < strstr(fake_log.text, "sm_start"));
    scenario_fixture_free(&f);
}

static void silence_is_silence(void **state)
{
    (void)state;
    scenario_passes("steps: [nothing: 2 s]\n");
    scenario_fails("steps:\n  - sm_stop: sm\n  - nothing: 2 ms\n", 3, "nothing for 2 ms",
                   "client  warn  waiting_for_sm");
    scenario_fails("steps:\n  - sm_stop: sm\n  - nothing: {for: 5 ms, node: server}\n", 3,
                   "nothing for 5 ms", "\"rail\"");
    scenario_passes("steps:\n  - sm_stop: sm\n  - nothing: {for: 1 ms, node: server}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_log_line_is_looked_for_on_its_node, setup),
        cmocka_unit_test_setup(the_nearest_miss_is_shown, setup),
        cmocka_unit_test_setup(never_and_count_fail_at_once, setup),
        cmocka_unit_test_setup(bounds_of_the_worlds_time_hold, setup),
        cmocka_unit_test_setup(order_is_the_order_of_events, setup),
        cmocka_unit_test_setup(an_exit_can_be_expected, setup),
        cmocka_unit_test_setup(a_condition_is_waited_for_since_the_last_action, setup),
        cmocka_unit_test_setup(times_are_waited_for, setup),
        cmocka_unit_test_setup(silence_is_silence, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
