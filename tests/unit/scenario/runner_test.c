/* SPDX-License-Identifier: Apache-2.0 */
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
                   const char *text)
{
    size_t i = 0;
    while (fake_script.replies[i].on)
        i++;
    assert_true(i < FAKE_MAX_REPLIES);
    fake_script.replies[i] =
        (struct fake_reply){on, delay, type, node, text, FABRIC_LOG_INFO, FABRIC_OK};
}

static void programs_start_in_order_and_steps_follow(void **state)
{
    (void)state;
    struct scenario_fixture f;
    script("status", MS, TESTBED_EVENT_REPORT, "client", "{\"id\":%id,\"ok\":true}");
    scenario_fixture_run(&f, "steps:\n"
                             "  - status: client\n"
                             "  - sm_stop: sm\n");
    assert_int_equal(f.result.status, SCENARIO_PASSED);
    const char *first = strstr(fake_log.text, "start server server");
    const char *second = strstr(fake_log.text, "start client client");
    const char *third = strstr(fake_log.text, "{\"id\":3,\"op\":\"status\"}");
    const char *fourth = strstr(fake_log.text, "sm_stop");
    assert_true(first && second > first && third > second && fourth > third);
    assert_int_equal(f.result.time, 2 * 1000 + MS);
    assert_int_equal(fake_log.undone, 1);
    assert_int_equal(fake_log.destroyed, 1);
    scenario_fixture_free(&f);
}

static void a_program_that_a_step_starts_waits_for_it(void **state)
{
    (void)state;
    scenario_passes("steps:\n"
                    "  - sm_stop: sm\n"
                    "  - start: server\n");
    assert_true(strstr(fake_log.text, "start client") < strstr(fake_log.text, "sm_stop"));
    assert_true(strstr(fake_log.text, "start server") > strstr(fake_log.text, "sm_stop"));
}

static void a_missing_capability_skips_and_says_which(void **state)
{
    (void)state;
    struct scenario_fixture f;
    fake_script.caps = ~FABRIC_CAP_SM;
    scenario_fixture_run(&f, "steps: [sm_stop: sm]\n");
    assert_int_equal(f.result.status, SCENARIO_SKIPPED);
    assert_string_equal(text_data(&f.result.reason), "fabric fake lacks: sm");
    assert_null(strstr(fake_log.text, "start"));
    assert_int_equal(fake_log.destroyed, 1);
    scenario_fixture_free(&f);
}

static void a_topology_that_the_fabric_cannot_be_skips(void **state)
{
    (void)state;
    struct scenario_fixture f;
    fake_script.refuse = "no routers here";
    scenario_fixture_run(&f, "steps: [sm_stop: sm]\n");
    assert_int_equal(f.result.status, SCENARIO_SKIPPED);
    assert_non_null(strstr(text_data(&f.result.reason), "no routers here"));
    scenario_fixture_free(&f);
}

static void a_world_that_stays_changed_breaks_the_run(void **state)
{
    (void)state;
    struct scenario_fixture f;
    fake_script.stuck = "the cable is still out";
    scenario_fixture_run(&f, "steps: [sm_stop: sm]\n");
    assert_int_equal(f.result.status, SCENARIO_BROKEN);
    assert_string_equal(text_data(&f.result.reason),
                        "what was done could not be taken back: the cable is still out");
    assert_int_equal(fake_log.destroyed, 1);
    scenario_fixture_free(&f);
}

static void a_fault_that_is_wrong_breaks_and_one_that_lacks_skips(void **state)
{
    (void)state;
    struct scenario_fixture f;
    fake_script.wrong = "port 9 does not exist";
    scenario_fixture_run(&f, "steps: [sm_stop: sm]\n");
    assert_int_equal(f.result.status, SCENARIO_BROKEN);
    assert_string_equal(text_data(&f.result.reason),
                        "tests/unit/x.yaml:10:9: port 9 does not exist");
    scenario_fixture_free(&f);
    fake_reset();
    fake_script.lacks = "sm";
    scenario_fixture_run(&f, "steps: [sm_stop: sm]\n");
    assert_int_equal(f.result.status, SCENARIO_SKIPPED);
    scenario_fixture_free(&f);
}

static void a_program_that_ends_unasked_fails(void **state)
{
    (void)state;
    script("sm_stop", MS, TESTBED_EVENT_EXITED, "server", "");
    scenario_fails("steps: [sm_stop: sm, {after: 5 ms, status: client}]\n", (unsigned)-1,
                   "the program of server to run", "it ended with ok");
}

static void an_unasked_end_comes_with_the_last_error_of_the_node(void **state)
{
    (void)state;
    struct scenario_fixture f;
    script("start server", 1, TESTBED_EVENT_LOG, "server", "config:8:5: found the unknown key");
    fake_script.replies[0].level = FABRIC_LOG_ERROR;
    script("start server", 2, TESTBED_EVENT_EXITED, "server", "");
    fake_script.replies[1].error = ERR_CONFIG_INVALID;
    scenario_fixture_run(&f, "steps: [sm_stop: sm]\n");
    assert_int_equal(f.result.status, SCENARIO_FAILED);
    assert_string_equal(text_data(&f.result.failures[0].found), "it ended with config_invalid");
    assert_string_equal(text_data(&f.result.failures[0].nearest),
                        "1 ns  server  error  config:8:5: found the unknown key");
    scenario_fixture_free(&f);
}

static void a_program_that_was_stopped_or_killed_may_end(void **state)
{
    (void)state;
    script("stop server", MS, TESTBED_EVENT_EXITED, "server", "");
    script("process_kill", MS, TESTBED_EVENT_EXITED, "client", "");
    scenario_passes("steps:\n"
                    "  - stop: server\n"
                    "  - process_kill: client\n"
                    "  - {after: 5 ms, sm_stop: sm}\n");
}

static void a_report_that_is_no_json_breaks(void **state)
{
    (void)state;
    struct scenario_fixture f;
    script("sm_stop", MS, TESTBED_EVENT_REPORT, "server", "{nonsense");
    scenario_fixture_run(&f, "steps: [sm_stop: sm, {after: 5 ms, sm_stop: sm}]\n");
    assert_int_equal(f.result.status, SCENARIO_BROKEN);
    scenario_fixture_free(&f);
}

static void an_answer_that_nobody_waits_for_breaks(void **state)
{
    (void)state;
    struct scenario_fixture f;
    script("sm_stop", MS, TESTBED_EVENT_REPORT, "server", "{\"id\":77,\"ok\":true}");
    scenario_fixture_run(&f, "steps: [sm_stop: sm, {after: 5 ms, sm_stop: sm}]\n");
    assert_int_equal(f.result.status, SCENARIO_BROKEN);
    assert_non_null(strstr(text_data(&f.result.reason), "not open"));
    scenario_fixture_free(&f);
}

static void a_program_that_never_becomes_ready_breaks(void **state)
{
    (void)state;
    struct scenario_fixture f;
    fake_script.silent_start = true;
    scenario_fixture_run(&f, "steps: [sm_stop: sm]\n");
    assert_int_equal(f.result.status, SCENARIO_BROKEN);
    assert_non_null(strstr(text_data(&f.result.reason), "neither became ready nor ended"));
    scenario_fixture_free(&f);
}

static void a_file_lies_on_the_node_before_anything_starts(void **state)
{
    (void)state;
    struct scenario_fixture f;
    script("put_file", MS, TESTBED_EVENT_REPORT, "client", "{\"id\":%id,\"ok\":true,\"bytes\":3}");
    scenario_fixture_run(
        &f, "steps:\n"
            "  - put_file: {node: client, key: k, file: ../../LICENSE, block_size: 4 KiB}\n");
    assert_true(fake_log.placed > 1000);
    assert_string_equal(fake_log.placed_path, "/files/LICENSE");
    assert_non_null(strstr(fake_log.text, "\"path\":\"/files/LICENSE\",\"block_size\":4096"));
    assert_int_equal(f.result.status, SCENARIO_FAILED);
    assert_non_null(strstr(text_data(&f.result.failures[0].expected), "not 3"));
    scenario_fixture_free(&f);
}

static void a_file_that_is_not_there_breaks(void **state)
{
    (void)state;
    struct scenario_fixture f;
    scenario_fixture_run(&f, "steps: [put_file: {node: client, key: k, file: nowhere}]\n");
    assert_int_equal(f.result.status, SCENARIO_BROKEN);
    assert_non_null(strstr(text_data(&f.result.reason), "cannot open tests/unit/nowhere"));
    scenario_fixture_free(&f);
}

static void a_fault_is_noted_as_it_was_written(void **state)
{
    (void)state;
    struct scenario_fixture f;
    static const char *const noted[] = {
        "lid_set lid=40",
        "pkey_move port=1 pkey=32769 index=3",
        "prefix_set prefix=0xfec0000000000001",
        "grh_required on=false",
        "delay duration=2 us jitter=0 s",
        "verb_fails operation=listen nth=1 repeat=0 error=internal",
        "gid_add index=2",
        "tcp_cut peer=server",
    };
    scenario_fixture_run(
        &f, "steps:\n"
            "  - lid_set: {node: client, lid: 40}\n"
            "  - pkey_move: {node: client, port: 1, pkey: 0x8001, index: 3}\n"
            "  - prefix_set: {network: ib, prefix: 0xfec0000000000001}\n"
            "  - grh_required: {node: client, on: false}\n"
            "  - delay: {node: client, duration: 2 us}\n"
            "  - verb_fails: {node: client, operation: listen, nth: 1, error: internal}\n"
            "  - gid_add: {node: client, index: 2, gid: 'fe80::1'}\n"
            "  - tcp_cut: {node: client, peer: server}\n");
    assert_int_equal(f.result.status, SCENARIO_PASSED);
    size_t next = 0;
    for (size_t i = 0; i < f.result.history.count && next < 8; i++) {
        const struct history_entry *entry = &f.result.history.entries[i];
        if (entry->kind == HISTORY_ACTION && strncmp(entry->text, "start", 5) != 0)
            assert_string_equal(entry->text, noted[next++]);
    }
    assert_int_equal(next, 8);
    scenario_fixture_free(&f);
}

static void a_world_that_does_not_get_on_is_hung(void **state)
{
    (void)state;
    struct scenario_fixture f;
    script("sm_stop", 0, TESTBED_EVENT_HUNG, "client", "1000000 events of node client");
    scenario_fixture_run(&f, "steps:\n"
                             "  - sm_stop: sm\n"
                             "  - {after: 1 s, status: client}\n");
    assert_int_equal(f.result.status, SCENARIO_FAILED);
    assert_int_equal(f.result.failure_count, 1);
    assert_string_equal(text_data(&f.result.failures[0].found),
                        "hung: 1000000 events of node client");
    assert_null(strstr(fake_log.text, "status"));
    assert_int_equal(fake_log.destroyed, 1);
    scenario_fixture_free(&f);
}

static void a_stop_in_the_middle_of_an_event_is_an_interruption(void **state)
{
    (void)state;
    struct scenario_fixture f;
    script("sm_stop", 0, TESTBED_EVENT_STOPPED, "client", "");
    scenario_fixture_run(&f, "steps:\n"
                             "  - sm_stop: sm\n"
                             "  - {after: 1 s, status: client}\n");
    assert_int_equal(f.result.status, SCENARIO_INTERRUPTED);
    scenario_fixture_free(&f);
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static void an_interrupted_run_cleans_up(void **state)
{
    (void)state;
    struct scenario_fixture f;
    scenario_fixture_run(&f, "steps: [sm_stop: sm]\n");
    scenario_result_free(&f.result);
    fake_reset();
    const struct scenario_options options = {.caps = FABRIC_CAPS_ALL,
                                             .programs = fake_programs,
                                             .program_count = 2,
                                             .interrupted = always};
    scenario_run(f.scenario, &fake_testbed_ops, &options, &f.result);
    assert_int_equal(f.result.status, SCENARIO_INTERRUPTED);
    assert_int_equal(fake_log.undone, 1);
    assert_int_equal(fake_log.destroyed, 1);
    scenario_fixture_free(&f);
}

static uint64_t little(const struct testbed *tb)
{
    assert_non_null(tb);
    return 600 * 1000;
}

/* What it comes to where time is real, and answers may be 600 us late. */
static enum scenario_status on_machines(const char *rest, bool slow)
{
    struct scenario_fixture f;
    struct testbed_ops ops = fake_testbed_ops;
    const struct scenario_options options = {
        .caps = FABRIC_CAPS_ALL, .programs = fake_programs, .program_count = 2, .slow = slow};
    ops.slack = little;
    scenario_fixture_run(&f, rest);
    scenario_result_free(&f.result);
    scenario_run(f.scenario, &ops, &options, &f.result);
    enum scenario_status status = f.result.status;
    assert_true(f.result.real);
    scenario_fixture_free(&f);
    return status;
}

#define STATUS "steps:\n  - {status: client, expect: {"
#define LATE "{\"id\":%id,\"ok\":true}"

static void what_is_bounded_may_be_a_little_later_where_time_is_real(void **state)
{
    (void)state;
    script("status", MS, TESTBED_EVENT_REPORT, "client", LATE);
    scenario_fails(STATUS "within: 500 us}}\n", 2, "within 500 us", "after 1 ms");
    assert_int_equal(on_machines(STATUS "within: 500 us}}\n", false), SCENARIO_PASSED);
    assert_int_equal(on_machines(STATUS "within: 300 us}}\n", false), SCENARIO_FAILED);
    assert_int_equal(on_machines(STATUS "no_sooner: 1100 us}}\n", false), SCENARIO_FAILED);
    assert_int_equal(
        on_machines(STATUS "ok: true}}\nexpect: [{report: {ok: true}, by: 600 us}]\n", false),
        SCENARIO_PASSED);
    assert_int_equal(
        on_machines(STATUS "ok: true}}\nexpect: [{report: {ok: true}, by: 300 us}]\n", false),
        SCENARIO_FAILED);
}

static void what_takes_long_waits_for_somebody_who_has_the_time(void **state)
{
    (void)state;
    assert_int_equal(on_machines("steps: [{at: 5 s, sm_stop: sm}]\n", false), SCENARIO_PASSED);
    assert_int_equal(on_machines("steps: [{at: 6 s, sm_stop: sm}]\n", false), SCENARIO_SKIPPED);
    assert_int_equal(on_machines("steps: [{at: 6 s, sm_stop: sm}]\n", true), SCENARIO_PASSED);
    assert_int_equal(on_machines("real_seconds: 6\nsteps: [sm_stop: sm]\n", false),
                     SCENARIO_SKIPPED);
}

static void what_is_still_under_way_at_the_end_is_awaited_where_time_is_real(void **state)
{
    (void)state;
    script("status", 0, TESTBED_EVENT_REPORT, "client", LATE);
    script("status", MS / 2, TESTBED_EVENT_LOG, "server", "at last");
    assert_int_equal(on_machines("steps:\n  - {status: client}\n"
                                 "expect:\n  - {log: at last, count: 1}\n",
                                 false),
                     SCENARIO_PASSED);
    assert_int_equal(on_machines("steps:\n  - {status: client}\n"
                                 "expect:\n  - {log: at last, count: 2}\n",
                                 false),
                     SCENARIO_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(programs_start_in_order_and_steps_follow, setup),
        cmocka_unit_test_setup(a_program_that_a_step_starts_waits_for_it, setup),
        cmocka_unit_test_setup(a_missing_capability_skips_and_says_which, setup),
        cmocka_unit_test_setup(a_topology_that_the_fabric_cannot_be_skips, setup),
        cmocka_unit_test_setup(a_world_that_stays_changed_breaks_the_run, setup),
        cmocka_unit_test_setup(a_fault_that_is_wrong_breaks_and_one_that_lacks_skips, setup),
        cmocka_unit_test_setup(a_program_that_ends_unasked_fails, setup),
        cmocka_unit_test_setup(an_unasked_end_comes_with_the_last_error_of_the_node, setup),
        cmocka_unit_test_setup(a_program_that_was_stopped_or_killed_may_end, setup),
        cmocka_unit_test_setup(a_report_that_is_no_json_breaks, setup),
        cmocka_unit_test_setup(an_answer_that_nobody_waits_for_breaks, setup),
        cmocka_unit_test_setup(a_program_that_never_becomes_ready_breaks, setup),
        cmocka_unit_test_setup(a_file_lies_on_the_node_before_anything_starts, setup),
        cmocka_unit_test_setup(a_file_that_is_not_there_breaks, setup),
        cmocka_unit_test_setup(a_fault_is_noted_as_it_was_written, setup),
        cmocka_unit_test_setup(an_interrupted_run_cleans_up, setup),
        cmocka_unit_test_setup(a_world_that_does_not_get_on_is_hung, setup),
        cmocka_unit_test_setup(a_stop_in_the_middle_of_an_event_is_an_interruption, setup),
        cmocka_unit_test_setup(what_is_bounded_may_be_a_little_later_where_time_is_real, setup),
        cmocka_unit_test_setup(what_is_still_under_way_at_the_end_is_awaited_where_time_is_real,
                               setup),
        cmocka_unit_test_setup(what_takes_long_waits_for_somebody_who_has_the_time, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
