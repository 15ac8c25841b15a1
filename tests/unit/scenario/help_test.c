/* SPDX-License-Identifier: Apache-2.0 */
/* Every word has help, with what it needs and an example that can be read (HA-4.1). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "fabric_sim/hca/profile.h"
#include "src/scenario/command.h"
#include "src/scenario/help.h"
#include "src/scenario/scenario.h"
#include "src/scenario/testbed.h"

static char said[4096];

/* What help prints; fails the test when it does not know the topic. */
static const char *help(const char *topic)
{
    const struct command_host host = {.out = tmpfile(), .err = stderr};
    assert_non_null(host.out);
    if (!command_help(&host, topic))
        fail_msg("no help about %s", topic);
    rewind(host.out);
    size_t got = fread(said, 1, sizeof said - 1, host.out);
    said[got] = '\0';
    fclose(host.out);
    return said;
}

/* The line after "example:" is a step of a scenario. */
static void its_example_is_read(const char *word)
{
    static const char *const programs[] = {"server", "client"};
    struct text file = {0};
    struct yaml_errors errors;
    const char *example = strstr(help(word), "example:\n");
    if (!example)
        fail_msg("no example of %s", word);
    example += strlen("example:\n");
    yaml_errors_init(&errors, word);
    text_add(&file,
             "name: an example\nproves: [HA-4.1]\nabout: The example that help gives for a word.\n"
             "topology: {subnets: {ib: {sms: [sm]}}, nodes: [store, host]}\n"
             "programs:\n  host: {program: client, config: {servers: ['10.0.0.1:9900']}}\n"
             "  store: {program: server, config: {}}\n"
             "steps:\n%.*s\n",
             (int)strcspn(example, "\n"), example);
    struct scenario *scenario =
        scenario_read(word, text_data(&file), file.length, 0, programs, 2, &errors);
    if (!scenario)
        fail_msg("%s in %s", errors.items[0].text, text_data(&file));
    assert_string_equal(scenario->steps[0].word, word);
    scenario_free(scenario);
    text_free(&file);
}

static void every_fault_word_has_its_capability_and_an_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++) {
        its_example_is_read(fault_words[i].name);
        assert_non_null(strstr(said, "needs the capability "));
    }
    help("lid_set");
    assert_non_null(strstr(said, "needs the capability lid: ports are addressed by LIDs\n"));
    assert_non_null(strstr(said, "  - {at: 2 s, lid_set: {node: store, lid: 40}}\n"));
}

static void every_operation_has_an_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATION_WORD_COUNT; i++)
        its_example_is_read(operation_words[i].name);
}

static void a_capability_names_the_words_that_need_it(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < FABRIC_CAP_COUNT; bit++)
        assert_non_null(strstr(help(fabric_cap_name((enum fabric_cap_bit)bit)), "requires: ["));
    assert_non_null(strstr(help("mtu_change"), "needed by mtu_set, link_mtu\n"));
    assert_non_null(strstr(help("rc"), "capability rc: reliable connected transport\n"));
    assert_null(strstr(said, "needed by"));
}

static void an_error_has_cause_and_fix(void **state)
{
    (void)state;
    assert_non_null(strstr(help("no_lid"), "cause: "));
    assert_non_null(strstr(said, "expect: {error: no_lid}"));
}

/* Every name of a property anywhere in the schema. */
static void properties_have_help(const json_t *schema)
{
    const char *key, *name;
    json_t *value, *property;
    json_object_foreach((json_t *)(uintptr_t)schema, key, value)
    {
        if (strcmp(key, "properties") == 0) {
            json_object_foreach(value, name, property) help(name);
        }
        properties_have_help(value);
    }
    for (size_t i = 0; i < json_array_size(schema); i++)
        properties_have_help(json_array_get(schema, i));
}

static void every_field_of_the_schema_has_help(void **state)
{
    (void)state;
    json_t *schema = json_load_file("scenarios/schema.json", 0, NULL);
    assert_non_null(schema);
    properties_have_help(schema);
    json_decref(schema);
}

/* One list for whoever answers and for whoever reads. */
static void every_fact_that_can_be_asked_is_named(void **state)
{
    (void)state;
    help("query");
#define NAMED(upper, lower, follows) assert_non_null(strstr(said, " " #lower follows ","));
    TESTBED_NODE_FACTS(NAMED)
    TESTBED_PORT_FACTS(NAMED)
#undef NAMED
}

static void every_kind_of_device_is_named(void **state)
{
    char name[32];
    (void)state;
    help("profile");
    said[strcspn(said, "\n")] = ' ';
    said[strcspn(said, "\n")] = ',';
    for (size_t i = 0; i < hca_profile_count(); i++) {
        snprintf(name, sizeof name, " %s", hca_profile_at(i)->name);
        const char *found = strstr(said, name);
        assert_non_null(found);
        assert_non_null(strchr(", ", found[strlen(name)]));
    }
}

static void a_name_of_two_things_is_told_as_both(void **state)
{
    (void)state;
    help("loss");
    assert_non_null(strstr(said, "loss: packets of the cable are lost"));
    assert_non_null(strstr(said, "capability loss: "));
    help("start");
    assert_non_null(strstr(said, "starts the program of a node"));
    assert_non_null(strstr(said, "of a subnet manager"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_word_has_its_capability_and_an_example),
        cmocka_unit_test(every_operation_has_an_example),
        cmocka_unit_test(a_capability_names_the_words_that_need_it),
        cmocka_unit_test(an_error_has_cause_and_fix),
        cmocka_unit_test(every_field_of_the_schema_has_help),
        cmocka_unit_test(every_fact_that_can_be_asked_is_named),
        cmocka_unit_test(every_kind_of_device_is_named),
        cmocka_unit_test(a_name_of_two_things_is_told_as_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
