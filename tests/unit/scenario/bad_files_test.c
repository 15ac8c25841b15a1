/* SPDX-License-Identifier: Apache-2.0 */
/* Every file of tests/bad is refused with exactly what stands beside it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/scenario/files.h"
#include "src/scenario/scenario.h"

static const char *const programs[] = {"server", "client"};

/* The expected text without its comment lines and final newline. */
static char *expected_of(const char *path, struct text *out)
{
    char detail[FILES_DETAIL];
    struct text name = {0};
    text_add(&name, "%.*s.expected", (int)(strlen(path) - strlen(".yaml")), path);
    assert_true(file_read(text_data(&name), out, detail));
    text_free(&name);
    char *at = out->data;
    while (*at == '#')
        at = strchr(at, '\n') + 1;
    if (out->data[out->length - 1] == '\n')
        out->data[out->length - 1] = '\0';
    return at;
}

static void check_one(const char *path)
{
    char detail[FILES_DETAIL];
    struct text content = {0}, expected = {0}, found = {0};
    struct yaml_errors errors;
    yaml_errors_init(&errors, path);
    assert_true(file_read(path, &content, detail));
    struct scenario *scenario =
        scenario_read(path, text_data(&content), content.length, 0, programs, 2, &errors);
    assert_null(scenario);
    for (size_t i = 0; i < errors.count; i++)
        text_add(&found, "%s%s", i ? "\n" : "", errors.items[i].text);
    assert_string_equal(text_data(&found), expected_of(path, &expected));
    text_free(&content);
    text_free(&expected);
    text_free(&found);
}

static void each_broken_file_is_refused_at_its_place(void **state)
{
    (void)state;
    struct file_list files = {0};
    char detail[FILES_DETAIL];
    assert_true(file_list_add(&files, "tests/bad", detail));
    assert_true(files.count >= 12);
    for (size_t i = 0; i < files.count; i++)
        check_one(files.paths[i]);
    file_list_free(&files);
}

/* Whatever is cut off the end of a good file, the answer is a place or a scenario. */
static void a_file_cut_anywhere_is_refused_or_read(void **state)
{
    (void)state;
    struct text content = {0};
    char detail[FILES_DETAIL];
    assert_true(file_read("scenarios/sm/late-start.yaml", &content, detail));
    for (size_t length = 0; length < content.length; length += 7) {
        struct yaml_errors errors;
        yaml_errors_init(&errors, "cut");
        struct scenario *scenario =
            scenario_read("cut", text_data(&content), length, 0, programs, 2, &errors);
        assert_true((scenario != NULL) == (errors.count == 0));
        if (errors.count)
            assert_int_equal(strncmp(errors.items[0].text, "cut:", 4), 0);
        scenario_free(scenario);
    }
    text_free(&content);
}

/* Whatever stands in place of a byte, the answer is a place or a scenario. */
static void a_file_with_a_wrong_byte_anywhere_is_refused_or_read(void **state)
{
    (void)state;
    static const char wrong[] = "{}[]:,-#&*!|>'\"%@\t\n0x \377\001";
    struct text content = {0};
    char detail[FILES_DETAIL];
    assert_true(file_read("scenarios/lid/reassigned.yaml", &content, detail));
    for (size_t at = 0; at < content.length; at++) {
        char kept = content.data[at];
        struct yaml_errors errors;
        yaml_errors_init(&errors, "wrong");
        content.data[at] = wrong[at % (sizeof wrong - 1)];
        struct scenario *scenario =
            scenario_read("wrong", content.data, content.length, 0, programs, 2, &errors);
        assert_true((scenario != NULL) == (errors.count == 0));
        for (size_t i = 0; i < errors.count; i++)
            assert_int_equal(strncmp(errors.items[i].text, "wrong:", 6), 0);
        scenario_free(scenario);
        content.data[at] = kept;
    }
    text_free(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_file_is_refused_at_its_place),
        cmocka_unit_test(a_file_cut_anywhere_is_refused_or_read),
        cmocka_unit_test(a_file_with_a_wrong_byte_anywhere_is_refused_or_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
