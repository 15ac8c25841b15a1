/* SPDX-License-Identifier: Apache-2.0 */
/* What is found in a history, what came nearest to it, and how both are told (HA-4.2). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/scenario/history.h"

#define MS 1000000u

static struct history history;

static void add(enum history_kind kind, uint64_t time, const char *node, const char *text,
                enum fabric_log_level level, enum fabric_error error)
{
    const struct history_entry entry = {kind, time, node, text, level, error, NULL};
    history_add(&history, &entry);
}

static int setup(void **state)
{
    (void)state;
    history = (struct history){0};
    add(HISTORY_ACTION, 0, "store", "start server", FABRIC_LOG_INFO, FABRIC_OK);
    add(HISTORY_LOG, MS, "store", "RDMA waiting: waiting_for_sm", FABRIC_LOG_WARN, FABRIC_OK);
    add(HISTORY_REPORT, 2 * MS, "store",
        "{\"event\":\"rail\",\"rails\":[{\"lid\":3},{\"lid\":40,\"state\":\"ready\"}]}",
        FABRIC_LOG_INFO, FABRIC_OK);
    add(HISTORY_LOG, 3 * MS, "host", "RDMA ready, LID 40", FABRIC_LOG_INFO, FABRIC_OK);
    add(HISTORY_EXIT, 4 * MS, "host", "did not start", FABRIC_LOG_ERROR, ERR_MTU_ABOVE_ACTIVE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    history_free(&history);
    return 0;
}

static void fields_are_found_by_their_path(void **state)
{
    (void)state;
    const json_t *report = history.entries[2].report;
    struct text found = {0};
    assert_true(history_field(report, "rails.1.state", &found));
    assert_string_equal(text_data(&found), "ready");
    found.length = 0;
    assert_true(history_field(report, "rails.0.lid", &found));
    assert_string_equal(text_data(&found), "3");
    found.length = 0;
    assert_true(history_field(report, "rails.0", &found));
    assert_string_equal(text_data(&found), "{\"lid\":3}");
    assert_false(history_field(report, "rails.2.lid", &found));
    assert_false(history_field(report, "rails.x", &found));
    assert_false(history_field(report, "rails..lid", &found));
    assert_false(history_field(NULL, "event", &found));
    text_free(&found);
}

static void a_log_fits_with_every_text_its_level_and_its_node(void **state)
{
    (void)state;
    const char *texts[] = {"RDMA", "waiting_for_sm"};
    struct scenario_match match = {
        .type = SCENARIO_LOG, .texts = texts, .text_count = 2, .level = -1};
    assert_int_equal(history_find(&history, 0, &match), 1);
    assert_int_equal(history_find(&history, 2, &match), SIZE_MAX);
    match.level = FABRIC_LOG_ERROR;
    assert_int_equal(history_find(&history, 0, &match), SIZE_MAX);
    match.level = FABRIC_LOG_WARN;
    match.node = "host";
    assert_int_equal(history_find(&history, 0, &match), SIZE_MAX);
    match.node = "store";
    assert_int_equal(history_find(&history, 0, &match), 1);
}

static void reports_and_exits_fit_by_fields_and_error(void **state)
{
    (void)state;
    struct scenario_field fields[] = {{"rails.1.lid", ">= 40", {1, 1}}, {"event", "rail", {1, 1}}};
    struct scenario_match report = {.type = SCENARIO_REPORT, .fields = fields, .field_count = 2};
    struct scenario_match left = {.type = SCENARIO_EXIT, .error = ERR_MTU_ABOVE_ACTIVE};
    assert_int_equal(history_find(&history, 0, &report), 2);
    fields[0].value = "> 40";
    assert_int_equal(history_find(&history, 0, &report), SIZE_MAX);
    assert_int_equal(history_find(&history, 0, &left), 4);
    left.error = FABRIC_OK;
    assert_int_equal(history_find(&history, 0, &left), SIZE_MAX);
}

static void nearest_is(const struct scenario_match *match, const char *expected)
{
    struct text out = {0};
    history_nearest(&history, match, &out);
    assert_string_equal(text_data(&out), expected);
    text_free(&out);
}

static void the_nearest_miss_has_most_in_common(void **state)
{
    (void)state;
    const char *texts[] = {"RDMA ready", "LID 41"};
    struct scenario_field fields[] = {{"event", "rail", {1, 1}}, {"state", "up", {1, 1}}};
    const struct scenario_match log = {
        .type = SCENARIO_LOG, .texts = texts, .text_count = 2, .level = -1};
    const struct scenario_match report = {
        .type = SCENARIO_REPORT, .fields = fields, .field_count = 2};
    const struct scenario_match left = {.type = SCENARIO_EXIT, .error = FABRIC_OK};
    nearest_is(&log, "3 ms  host  info  RDMA ready, LID 40");
    nearest_is(&report, "2 ms  store  {\"event\":\"rail\",\"rails\":[{\"lid\":3},{\"lid\":40,"
                        "\"state\":\"ready\"}]}");
    nearest_is(&left, "4 ms  host  exit mtu_above_active: did not start");
    texts[0] = texts[1] = "qqqq";
    nearest_is(&log, "");
}

static void a_condition_is_described_as_it_was_asked(void **state)
{
    (void)state;
    const char *texts[] = {"one", "two"};
    struct scenario_field fields[] = {{"state", "up", {1, 1}}, {"n", "> 1", {1, 1}}};
    const struct scenario_match matches[] = {
        {.type = SCENARIO_LOG, .node = "a", .texts = texts, .text_count = 2, .level = 2},
        {.type = SCENARIO_REPORT, .fields = fields, .field_count = 2},
        {.type = SCENARIO_EXIT, .node = "a", .error = ERR_NO_LID}};
    static const char *const told[] = {"a log line at warn of a with 'one' and 'two'",
                                       "a report with state = up, n = > 1",
                                       "an exit of a with no_lid"};
    for (size_t i = 0; i < 3; i++) {
        struct text out = {0};
        history_describe(&matches[i], &out);
        assert_string_equal(text_data(&out), told[i]);
        text_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fields_are_found_by_their_path, setup, teardown),
        cmocka_unit_test_setup_teardown(a_log_fits_with_every_text_its_level_and_its_node, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(reports_and_exits_fit_by_fields_and_error, setup, teardown),
        cmocka_unit_test_setup_teardown(the_nearest_miss_has_most_in_common, setup, teardown),
        cmocka_unit_test_setup_teardown(a_condition_is_described_as_it_was_asked, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
