/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/error.h"

static void every_error_has_a_number_of_its_own_in_the_range_of_its_radius(void **state)
{
    static const int first[] = {0, 1, 100, 200, 300};
    bool used[400] = {false};
    (void)state;
    for (enum fabric_error error = FABRIC_OK; error < ERR_COUNT; error++) {
        struct memkv_error e;
        int code = lib_error_set(&e, error, NULL, NULL);
        int begin = first[error_info(error)->radius];
        assert_in_range(code, begin, error ? begin + 98 : 0);
        assert_false(used[code]);
        used[code] = true;
        assert_int_equal(e.code, code);
        assert_int_equal(code, lib_error_code(error));
        assert_int_equal(e.radius, (int)error_info(error)->radius);
        assert_string_equal(e.name, error_name(error));
    }
}

/* Programs that were compiled long ago compare with these. */
static void numbers_stay_what_they_are(void **state)
{
    (void)state;
    assert_int_equal(MEMKV_ERR_NOT_FOUND, 1);
    assert_int_equal(MEMKV_ERR_NOT_SUPPORTED, 15);
    assert_int_equal(MEMKV_ERR_AUTH_FAILED, 100);
    assert_int_equal(MEMKV_ERR_MTU_MISMATCH, 123);
    assert_int_equal(MEMKV_ERR_NO_LID, 200);
    assert_int_equal(MEMKV_ERR_RESOURCES_EXHAUSTED, 218);
    assert_int_equal(MEMKV_ERR_CONFIG_INVALID, 300);
    assert_int_equal(MEMKV_ERR_INTERNAL, 309);
}

static void what_may_pass_is_retriable_and_what_may_not_is_fatal(void **state)
{
    static const enum fabric_error retriable[] = {ERR_TIMEOUT, ERR_UNREACHABLE, ERR_NO_LID,
                                                  ERR_WAITING_FOR_SM, ERR_QUEUE_FULL};
    static const enum fabric_error fatal[] = {ERR_AUTH_FAILED, ERR_CONFIG_INVALID, ERR_INTERNAL,
                                              ERR_PKEY_LIMITED_PAIR, ERR_SUBNET_MISMATCH};
    static const enum fabric_error neither[] = {FABRIC_OK, ERR_NOT_FOUND, ERR_BUFFER_TOO_SMALL,
                                                ERR_CANCELLED, ERR_TOO_LARGE};
    struct memkv_error e;
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        lib_error_set(&e, retriable[i], NULL, NULL);
        assert_true(e.retriable && !e.fatal);
        lib_error_set(&e, fatal[i], NULL, NULL);
        assert_true(e.fatal && !e.retriable);
        lib_error_set(&e, neither[i], NULL, NULL);
        assert_true(!e.fatal && !e.retriable);
    }
}

static void the_text_says_what_was_found_or_what_the_error_means(void **state)
{
    struct memkv_error e;
    (void)state;
    lib_error_set(&e, ERR_TIMEOUT, "node1:9900", "after 3 attempts");
    assert_string_equal(e.text, "node1:9900: after 3 attempts");
    lib_error_set(&e, ERR_TIMEOUT, NULL, "");
    assert_string_equal(e.text, error_info(ERR_TIMEOUT)->text);
    assert_int_equal(lib_error_set(NULL, ERR_TIMEOUT, NULL, NULL), MEMKV_ERR_TIMEOUT);
    assert_int_equal(lib_error_none(&e), 0);
    assert_string_equal(e.name, "ok");
    assert_string_equal(e.text, "");
}

static void the_version_is_that_of_the_header(void **state)
{
    char expected[32];
    (void)state;
    snprintf(expected, sizeof expected, "%d.%d.", MEMKV_VERSION_MAJOR, MEMKV_VERSION_MINOR);
    assert_int_equal(strncmp(memkv_version(), expected, strlen(expected)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_a_number_of_its_own_in_the_range_of_its_radius),
        cmocka_unit_test(numbers_stay_what_they_are),
        cmocka_unit_test(what_may_pass_is_retriable_and_what_may_not_is_fatal),
        cmocka_unit_test(the_text_says_what_was_found_or_what_the_error_means),
        cmocka_unit_test(the_version_is_that_of_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
