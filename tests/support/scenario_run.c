/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/scenario_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static const char header[] = "name: under test\n"
                             "proves: [HA-4.2]\n"
                             "about: What the runner does with this is what is tested.\n"
                             "topology:\n"
                             "  subnets: {ib: {sms: [sm]}}\n"
                             "  nodes: [server, client]\n"
                             "programs:\n"
                             "  server: {program: server, config: {a: b}}\n"
                             "  client: {program: client, config: {a: b}}\n";

void scenario_fixture_run(struct scenario_fixture *fixture, const char *rest)
{
    static const char *const names[] = {"server", "client"};
    const struct scenario_options options = {
        .seed = 1, .caps = FABRIC_CAPS_ALL, .programs = fake_programs, .program_count = 2};
    struct text text = {0};
    struct yaml_errors errors;
    yaml_errors_init(&errors, "tests/unit/x.yaml");
    text_add(&text, "%s%s", header, rest);
    fixture->scenario =
        scenario_read("tests/unit/x.yaml", text_data(&text), text.length, 0, names, 2, &errors);
    if (!fixture->scenario)
        fail_msg("%s", errors.items[0].text);
    text_free(&text);
    scenario_run(fixture->scenario, &fake_testbed_ops, &options, &fixture->result);
}

void scenario_fixture_free(struct scenario_fixture *fixture)
{
    scenario_result_free(&fixture->result);
    scenario_free(fixture->scenario);
}

void scenario_passes(const char *rest)
{
    struct scenario_fixture f;
    scenario_fixture_run(&f, rest);
    if (f.result.status != SCENARIO_PASSED)
        fail_msg("%s %s: %s", text_data(&f.result.failures[0].expected),
                 text_data(&f.result.failures[0].found), text_data(&f.result.reason));
    scenario_fixture_free(&f);
}

void scenario_fails(const char *rest, unsigned line, const char *expected, const char *found)
{
    struct scenario_fixture f;
    scenario_fixture_run(&f, rest);
    assert_int_equal(f.result.status, SCENARIO_FAILED);
    assert_true(f.result.failure_count > 0);
    const struct scenario_failure *failure = &f.result.failures[0];
    if (!strstr(text_data(&failure->expected), expected))
        assert_string_equal(text_data(&failure->expected), expected);
    if (!strstr(text_data(&failure->found), found))
        assert_string_equal(text_data(&failure->found), found);
    assert_int_equal(failure->mark.line, line + SCENARIO_HEADER_LINES);
    scenario_fixture_free(&f);
}
