/* SPDX-License-Identifier: Apache-2.0 */
/* What is told about a run, to machines and to people (HA-4.2, HA-6.1). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/scenario/report.h"
#include "tests/support/scenario_run.h"

#define MS 1000000u

static int setup(void **state)
{
    (void)state;
    fake_reset();
    return 0;
}

/* The report of a run on the fake testbed; the caller releases it. */
static json_t *report_of(const char *rest)
{
    struct scenario_fixture f;
    scenario_fixture_run(&f, rest);
    json_t *report = report_run(f.scenario, "fake", &f.result, 5000);
    scenario_fixture_free(&f);
    return report;
}

static const char *text_at(const json_t *report, const char *path, struct text *out)
{
    out->length = 0;
    assert_true(history_field(report, path, out));
    return text_data(out);
}

static void an_answer_is_told_with_its_line_and_its_times(void **state)
{
    (void)state;
    struct text at = {0};
    fake_script.replies[0] =
        (struct fake_reply){"put",
                            MS,
                            TESTBED_EVENT_REPORT,
                            "client",
                            "{\"id\":%id,\"ok\":true,\"class\":\"rdma\",\"bytes\":64}",
                            FABRIC_LOG_INFO,
                            FABRIC_OK};
    json_t *report = report_of("steps:\n  - put: {node: client, key: k, size: 64}\n");
    assert_string_equal(report_status(report), "passed");
    assert_string_equal(text_at(report, "answers.0.word", &at), "put");
    assert_string_equal(text_at(report, "answers.0.line", &at), "11");
    assert_string_equal(text_at(report, "answers.0.begin", &at), "2000");
    assert_string_equal(text_at(report, "answers.0.end", &at), "1002000");
    assert_string_equal(text_at(report, "answers.0.outcome", &at), "rdma");
    assert_string_equal(text_at(report, "answers.0.bytes", &at), "64");
    assert_string_equal(text_at(report, "wall", &at), "5000");
    assert_string_equal(text_at(report, "replay", &at),
                        "memkv-scenario run tests/unit/x.yaml --fabric fake --seed 1");
    json_decref(report);
    text_free(&at);
}

static void a_failure_is_told_with_place_nearest_miss_and_trace(void **state)
{
    (void)state;
    const struct report_style plain = {false, 0};
    struct text lines = {0};
    fake_script.replies[0] = (struct fake_reply){
        "sm_stop", MS, TESTBED_EVENT_LOG, "client", "no_lid found", FABRIC_LOG_WARN, FABRIC_OK};
    fake_script.farewell = "torn down";
    json_t *report = report_of("steps: [sm_stop: sm, {after: 2 ms, sm_start: sm}]\n"
                               "expect:\n  - {log: no_lids found, level: warn}\n");
    report_text(report, &plain, &lines);
    assert_string_equal(report_status(report), "failed");
    const char *said = strstr(text_data(&lines), "\n") + 1;
    const char expected[] = "  tests/unit/x.yaml:12:5: at 1.002 ms\n"
                            "    expected: a log line at warn with 'no_lids found'\n"
                            "    found:    0 of them\n"
                            "    nearest:  1.002 ms  client  warn  no_lid found\n"
                            "  the last lines of the trace:\n";
    assert_memory_equal(said, expected, sizeof expected - 1);
    assert_non_null(strstr(said, "\n    sm_start node= sm=sm"));
    assert_null(strstr(said, "torn down"));
    assert_non_null(strstr(said, "\n  replay: memkv-scenario run tests/unit/x.yaml"));
    json_decref(report);
    text_free(&lines);
}

static void a_skip_says_why_and_shows_no_trace(void **state)
{
    (void)state;
    const struct report_style plain = {false, 0};
    struct text lines = {0};
    fake_script.caps = ~FABRIC_CAP_SM;
    json_t *report = report_of("steps: [sm_stop: sm]\n");
    report_text(report, &plain, &lines);
    assert_string_equal(text_data(&lines), "SKIP  tests/unit/x.yaml  under test  (0 s virtual)\n"
                                           "  fabric fake lacks: sm\n");
    json_decref(report);
    text_free(&lines);
}

static void bytes_that_are_no_text_are_shown_all_the_same(void **state)
{
    (void)state;
    struct text at = {0};
    fake_script.replies[0] = (struct fake_reply){
        "sm_stop", MS, TESTBED_EVENT_LOG, "client", "a\xff\x01z", FABRIC_LOG_WARN, FABRIC_OK};
    json_t *report = report_of("steps: [sm_stop: sm, {after: 2 ms, sm_start: sm}]\n");
    assert_string_equal(text_at(report, "history.5.text", &at), "a?\x01z");
    json_decref(report);
    text_free(&at);
}

static void every_error_of_a_file_is_told_at_its_place(void **state)
{
    (void)state;
    const struct report_style plain = {false, 0};
    struct yaml_errors errors;
    struct text lines = {0};
    yaml_errors_init(&errors, "x.yaml");
    yaml_complain(&errors, (struct yaml_mark){3, 7}, "found this");
    yaml_complain(&errors, (struct yaml_mark){4, 1}, "found that");
    json_t *report = report_invalid("x.yaml", "role=a", &errors);
    report_text(report, &plain, &lines);
    assert_string_equal(text_data(&lines), "FAIL  x.yaml [role=a]  \n"
                                           "  x.yaml:3:7: found this\n"
                                           "  x.yaml:4:1: found that\n");
    json_decref(report);
    text_free(&lines);
}

static void a_long_line_is_cut_between_characters(void **state)
{
    (void)state;
    const struct report_style narrow = {false, 40};
    struct text lines = {0};
    json_t *report = json_pack("{s:s, s:s, s:s, s:s}", "status", "passed", "file", "x.yaml", "cell",
                               "", "name", "caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9 caf\u00e9");
    assert_non_null(report);
    report_text(report, &narrow, &lines);
    assert_non_null(strstr(text_data(&lines), "...\n"));
    json_t *valid = json_string(text_data(&lines)); /* null when it is no UTF-8 */
    assert_non_null(valid);
    json_decref(valid);
    json_decref(report);
    text_free(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_answer_is_told_with_its_line_and_its_times, setup),
        cmocka_unit_test_setup(a_failure_is_told_with_place_nearest_miss_and_trace, setup),
        cmocka_unit_test_setup(a_skip_says_why_and_shows_no_trace, setup),
        cmocka_unit_test_setup(bytes_that_are_no_text_are_shown_all_the_same, setup),
        cmocka_unit_test_setup(every_error_of_a_file_is_told_at_its_place, setup),
        cmocka_unit_test_setup(a_long_line_is_cut_between_characters, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
