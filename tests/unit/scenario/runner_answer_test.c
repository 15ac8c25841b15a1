/* SPDX-License-Identifier: Apache-2.0 */
/* What is expected of an answer, and that nothing expected goes unchecked. */
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

/* Every put is answered with this after one millisecond. */
static void answer(const char *text)
{
    fake_reset();
    fake_script.replies[0] = (struct fake_reply){
        "put", MS, TESTBED_EVENT_REPORT, "client", text, FABRIC_LOG_INFO, FABRIC_OK};
}

#define GOOD "{\"id\":%id,\"ok\":true,\"class\":\"rdma\",\"transport\":\"rc\",\"bytes\":64}"
#define BAD                                                                                        \
    "{\"id\":%id,\"ok\":false,\"class\":\"refused:no_lid\",\"error\":\"no_lid\","                  \
    "\"detail\":\"mlx5_0 port 1 has LID 0\"}"
#define PUT "steps:\n  - put: {node: client, key: k, size: 64}\n"

static void without_a_word_about_it_an_operation_must_succeed(void **state)
{
    (void)state;
    answer(GOOD);
    scenario_passes(PUT);
    answer(BAD);
    scenario_fails(PUT, 2, "put to succeed", "refused:no_lid, no_lid after 1 ms (mlx5_0 port 1");
}

static void the_outcome_class_must_be_the_one_named(void **state)
{
    (void)state;
    answer(BAD);
    scenario_passes(PUT "    expect: {outcome: refused:no_lid}\n");
    scenario_fails(PUT "    expect: {outcome: refused:port_down}\n", 3, "outcome refused:port_down",
                   "refused:no_lid");
    answer(GOOD);
    scenario_fails(PUT "    expect: {outcome: fell_back}\n", 3, "outcome fell_back", "rdma, ok");
}

static void the_error_must_be_the_one_named(void **state)
{
    (void)state;
    answer(BAD);
    scenario_passes(PUT "    expect: {error: no_lid}\n");
    scenario_fails(PUT "    expect: {error: port_down}\n", 3, "error port_down", "no_lid");
    scenario_fails(PUT "    expect: {error: ok}\n", 3, "error ok", "no_lid");
}

static void the_bounds_in_virtual_time_hold(void **state)
{
    (void)state;
    answer(GOOD);
    scenario_passes(PUT "    expect: {within: 1 ms, no_sooner: 1 ms}\n");
    scenario_fails(PUT "    expect: {within: 999 us}\n", 3, "within 999 us", "after 1 ms");
    scenario_fails(PUT "    expect: {no_sooner: 1001 us}\n", 3, "no sooner than 1.001 ms",
                   "after 1 ms");
}

static void any_field_of_the_answer_can_be_expected(void **state)
{
    (void)state;
    answer("{\"id\":%id,\"ok\":true,\"rails\":[{\"state\":\"ready\",\"lid\":3}]}");
    scenario_passes(PUT "    expect: {rails.0.state: ready, rails.0.lid: '>= 3', ok: true}\n");
    scenario_fails(PUT "    expect: {rails.0.state: waiting}\n", 3, "rails.0.state = waiting",
                   "rails.0.state = ready");
    scenario_fails(PUT "    expect: {rails.1.state: ready}\n", 3, "rails.1.state", "no rails.1");
    scenario_fails(PUT "    expect: {rails.x: ready}\n", 3, "rails.x", "no rails.x");
}

static void no_answer_is_hung(void **state)
{
    (void)state;
    scenario_passes(PUT "    expect: {outcome: hung}\n");
    scenario_fails(PUT, 2, "put to succeed", "no answer (hung)");
    /* Something else goes on for ever. */
    fake_script.replies[0] =
        (struct fake_reply){"put",         2 * SCENARIO_PATIENCE, TESTBED_EVENT_LOG, "client",
                            "still there", FABRIC_LOG_INFO,       FABRIC_OK};
    scenario_fails(PUT, 2, "put to succeed", "no answer (hung) after 60 s");
}

static void a_background_answer_is_judged_when_it_comes(void **state)
{
    (void)state;
    answer(BAD);
    scenario_passes(PUT "    background: true\n"
                        "    expect: {error: no_lid}\n"
                        "  - sm_stop: sm\n");
    assert_true(strstr(fake_log.text, "sm_stop") < strstr(fake_log.text, "\"ok\":false"));
    answer(BAD);
    scenario_fails(PUT "    background: true\n  - sm_stop: sm\n", 2, "put to succeed", "no_lid");
}

static void a_comparison_must_say_that_it_was_equal(void **state)
{
    (void)state;
    fake_script.replies[0] = (struct fake_reply){"get",
                                                 MS,
                                                 TESTBED_EVENT_REPORT,
                                                 "client",
                                                 "{\"id\":%id,\"ok\":true,\"class\":\"rdma\"}",
                                                 FABRIC_LOG_INFO,
                                                 FABRIC_OK};
    scenario_passes("steps: [get: {node: client, key: k, size: 64}]\n");
    scenario_fails("steps: [get: {node: client, key: k, size: 64, seed: 1}]\n", 1,
                   "\"equal\": true", "rdma");
    fake_script.replies[0].text =
        "{\"id\":%id,\"ok\":false,\"class\":\"corrupted\",\"equal\":false,\"offset\":17}";
    scenario_fails("steps: [get: {node: client, key: k, size: 64, seed: 1}]\n", 1, "get to succeed",
                   "(byte 17 is the first that differs)");
}

static void a_start_may_be_expected_to_fail_by_name(void **state)
{
    (void)state;
    fake_script.replies[0] = (struct fake_reply){
        "start server",      MS, TESTBED_EVENT_EXITED, "server", "", FABRIC_LOG_INFO,
        ERR_MTU_ABOVE_ACTIVE};
    scenario_passes("steps:\n  - start: server\n    expect: {error: mtu_above_active}\n");
    scenario_fails("steps:\n  - start: server\n    expect: {error: mtu_invalid}\n", 3,
                   "error mtu_invalid", "mtu_above_active");
    scenario_fails("steps:\n  - start: server\n    expect: {error: mtu_above_active, data: x}\n", 3,
                   "data = x", "no data");
    scenario_fails("steps:\n  - start: server\n", 2, "start to succeed", "mtu_above_active");
    fake_reset();
    scenario_fails("steps:\n  - start: server\n    expect: {error: mtu_above_active}\n", 3,
                   "error mtu_above_active", "start on server: ok");
}

static void a_question_has_an_answer(void **state)
{
    (void)state;
    fake_script.answer = "17";
    scenario_passes("steps:\n"
                    "  - ask: {node: client, query: mlx5_0/1 lid}\n"
                    "    expect: {answer: '> 16'}\n");
    scenario_fails("steps:\n"
                   "  - ask: {node: client, query: mlx5_0/1 lid}\n"
                   "    expect: {answer: 18}\n",
                   3, "answer = 18", "answer = 17");
}

static void values_compare_as_they_say(void **state)
{
    (void)state;
    assert_true(scenario_value_fits("ready", "ready"));
    assert_false(scenario_value_fits("ready", "readyy"));
    assert_true(scenario_value_fits("!= ready", "waiting"));
    assert_false(scenario_value_fits("!= ready", "ready"));
    assert_true(scenario_value_fits("<= 4", "4"));
    assert_true(scenario_value_fits("< 4", "3"));
    assert_false(scenario_value_fits("< 4", "4"));
    assert_false(scenario_value_fits("> 4", "4"));
    assert_true(scenario_value_fits(">= -1", "0"));
    assert_false(scenario_value_fits("> 4", "many"));
    assert_false(scenario_value_fits("> many", "5"));
    assert_true(scenario_value_fits("<tag>", "<tag>"));
    assert_false(scenario_value_fits("> ", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_word_about_it_an_operation_must_succeed, setup),
        cmocka_unit_test_setup(the_outcome_class_must_be_the_one_named, setup),
        cmocka_unit_test_setup(the_error_must_be_the_one_named, setup),
        cmocka_unit_test_setup(the_bounds_in_virtual_time_hold, setup),
        cmocka_unit_test_setup(any_field_of_the_answer_can_be_expected, setup),
        cmocka_unit_test_setup(no_answer_is_hung, setup),
        cmocka_unit_test_setup(a_background_answer_is_judged_when_it_comes, setup),
        cmocka_unit_test_setup(a_comparison_must_say_that_it_was_equal, setup),
        cmocka_unit_test_setup(a_start_may_be_expected_to_fail_by_name, setup),
        cmocka_unit_test_setup(a_question_has_an_answer, setup),
        cmocka_unit_test_setup(values_compare_as_they_say, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
