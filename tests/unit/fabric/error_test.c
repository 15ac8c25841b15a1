/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/fabric/error.h"

static bool is_sentence(const char *text)
{
    size_t length = strlen(text);
    return length > 10 && text[length - 1] == '.' && strstr(text, "  ") == NULL;
}

/* MK-H4. */
static void every_error_explains_itself(void **state)
{
    (void)state;
    for (int i = 1; i < ERR_COUNT; i++) {
        const struct error_info *info = error_info((enum fabric_error)i);
        assert_true(is_sentence(info->text));
        assert_true(is_sentence(info->cause));
        assert_true(is_sentence(info->fix));
        assert_true(info->radius > ERROR_RADIUS_NONE && info->radius <= ERROR_RADIUS_PROCESS);
    }
}

static void numbers_are_ranged_by_radius(void **state)
{
    (void)state;
    enum error_radius radius = ERROR_RADIUS_NONE;
    for (int i = 0; i < ERR_COUNT; i++) {
        const struct error_info *info = error_info((enum fabric_error)i);
        assert_true(info->radius >= radius);
        radius = info->radius;
    }
}

static void names_are_unique_and_lead_back(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_COUNT; i++) {
        enum fabric_error found = ERR_COUNT;
        const char *name = error_name((enum fabric_error)i);
        assert_true(error_by_name(name, &found));
        assert_int_equal(found, i);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
    }
    enum fabric_error untouched = ERR_INTERNAL;
    assert_false(error_by_name("no_such_error", &untouched));
    assert_int_equal(untouched, ERR_INTERNAL);
    assert_string_equal(error_name(FABRIC_OK), "ok");
}

static void a_number_that_is_no_error_has_an_entry_too(void **state)
{
    (void)state;
    assert_string_equal(error_name((enum fabric_error)ERR_COUNT), "unknown");
    assert_string_equal(error_name((enum fabric_error) - 1), "unknown");
    assert_non_null(error_info((enum fabric_error)9999)->fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_explains_itself),
        cmocka_unit_test(numbers_are_ranged_by_radius),
        cmocka_unit_test(names_are_unique_and_lead_back),
        cmocka_unit_test(a_number_that_is_no_error_has_an_entry_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
