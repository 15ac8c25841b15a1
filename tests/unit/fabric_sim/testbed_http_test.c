/* SPDX-License-Identifier: Apache-2.0 */
/* An operator's requests to the HTTP end point of a node. MK-I3. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/answerer.h"
#include "tests/support/one_bed.h"

static void the_status_is_the_answer_and_the_body_is_reported(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &answerer_program, ""), TESTBED_DONE);
    assert_string_equal(sim_bed_ask(&bed, "a", "http /json"), "200");
    assert_string_equal(sim_bed_ask(&bed, "a", "http /text"), "200");
    assert_string_equal(sim_bed_ask(&bed, "a", "http /none"), "404");
    assert_true(sim_bed_until(&bed, "a {\"event\":\"http\",\"status\":200,\"path\":\"/json\","
                                    "\"body\":{\"status\":\"healthy\"}}"));
    assert_true(sim_bed_until(&bed, "a {\"event\":\"http\",\"status\":200,\"path\":\"/text\","
                                    "\"body\":\"a \\\"b\\\"\\n\"}"));
    assert_true(sim_bed_until(&bed, "a {\"event\":\"http\",\"status\":404,\"path\":\"/none\","
                                    "\"body\":\"\"}"));
}

static void where_nobody_listens_it_is_refused(void **state)
{
    char answer[TESTBED_DETAIL];
    (void)state;
    assert_string_equal(sim_bed_ask(&bed, "a", "http /json"), "refused");
    assert_int_equal(sim_testbed.ask(bed.tb, "a", "http json", answer), TESTBED_WRONG);
    assert_string_equal(answer, "'json' is no path: http /v1/health");
}

static void a_program_that_answers_later_is_reported_then(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &answerer_program, ""), TESTBED_DONE);
    assert_string_equal(sim_bed_ask(&bed, "a", "http /later"), "waits");
    assert_int_equal(sim_testbed.tell(bed.tb, "a", "answer", bed.detail), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "\"path\":\"/later\",\"body\":\"at last\"}"));
}

/* It looks at the request when it goes on; one that was killed never does. */
static void a_frozen_program_answers_nothing(void **state)
{
    const struct testbed_fault freeze = {.word = TESTBED_PROCESS_FREEZE, .node = "a", .on = true};
    const struct testbed_fault kill = {.word = TESTBED_PROCESS_KILL, .node = "a"};
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &answerer_program, ""), TESTBED_DONE);
    assert_int_equal(sim_bed_apply(&bed, &freeze), TESTBED_DONE);
    assert_string_equal(sim_bed_ask(&bed, "a", "http /json"), "waits");
    sim_bed_undo(&bed);
    assert_true(sim_bed_until(&bed, "\"path\":\"/json\""));
    assert_string_equal(sim_bed_ask(&bed, "a", "http /later"), "waits");
    assert_int_equal(sim_bed_apply(&bed, &kill), TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "a exited cancelled"));
    assert_int_equal(sim_bed_count(&bed, "/later"), 0);
    assert_string_equal(sim_bed_ask(&bed, "a", "http /json"), "refused");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_status_is_the_answer_and_the_body_is_reported),
        TEST(where_nobody_listens_it_is_refused),
        TEST(a_program_that_answers_later_is_reported_then),
        TEST(a_frozen_program_answers_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
