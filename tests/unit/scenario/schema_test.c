/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios/schema.json knows every word, and accepts the library (HA-4.1). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "src/scenario/words.h"

static json_t *load_step(json_t **schema)
{
    *schema = json_load_file("scenarios/schema.json", 0, NULL);
    assert_non_null(*schema);
    json_t *step = json_object_get(json_object_get(*schema, "$defs"), "step");
    return json_object_get(step, "properties");
}

/* The object form of a word, also where a short form stands beside it. */
static const json_t *object_form(const json_t *word)
{
    const json_t *forms = json_object_get(word, "oneOf");
    const json_t *first = json_array_get(forms, 0);
    return first && json_object_get(first, "$ref") ? json_array_get(forms, 1) : word;
}

static void the_schema_has_every_fault_word_with_its_fields(void **state)
{
    (void)state;
    json_t *schema, *step = load_step(&schema);
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++) {
        const struct fault_word *word = &fault_words[i];
        const json_t *form = object_form(json_object_get(step, word->name));
        const json_t *properties = json_object_get(form, "properties");
        size_t count = 0;
        for (; word->fields[count].name; count++)
            assert_non_null(json_object_get(properties, word->fields[count].name));
        assert_int_equal(json_object_size(properties), count);
    }
    json_decref(schema);
}

static void the_schema_has_every_operation(void **state)
{
    (void)state;
    json_t *schema, *step = load_step(&schema);
    for (size_t i = 0; i < OPERATION_WORD_COUNT; i++)
        assert_non_null(json_object_get(step, operation_words[i].name));
    json_decref(schema);
}

static void the_library_is_valid_by_the_schema(void **state)
{
    (void)state;
    int status = system("ci/lib/schema.py scenarios/schema.json scenarios >&2");
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_schema_refuses_what_the_reader_refuses(void **state)
{
    (void)state;
    int status = system("ci/lib/schema.py scenarios/schema.json tests/bad/unknown-key.yaml "
                        "tests/bad/unknown-word.yaml >&2");
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_has_every_fault_word_with_its_fields),
        cmocka_unit_test(the_schema_has_every_operation),
        cmocka_unit_test(the_library_is_valid_by_the_schema),
        cmocka_unit_test(the_schema_refuses_what_the_reader_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
