/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/rail/said.h"

static void the_same_reason_is_said_once_a_minute(void **state)
{
    (void)state;
    struct rail_said said = {0};
    char more[RAIL_SAID_MORE];
    assert_true(rail_said_is_due(&said, ERR_TIMEOUT, "a", 0, more));
    assert_string_equal(more, "");
    assert_false(rail_said_is_due(&said, ERR_TIMEOUT, "a", 1, more));
    assert_false(rail_said_is_due(&said, ERR_TIMEOUT, "a", RAIL_SAID_AGAIN - 1, more));
    assert_true(rail_said_is_due(&said, ERR_TIMEOUT, "a", RAIL_SAID_AGAIN, more));
    assert_string_equal(more, " (2 times more)");
}

static void a_fault_of_configuration_is_said_once_an_hour(void **state)
{
    (void)state;
    struct rail_said said = {0};
    char more[RAIL_SAID_MORE];
    assert_true(rail_said_is_due(&said, ERR_PATH_MTU_SMALLER, "a", 0, more));
    assert_false(rail_said_is_due(&said, ERR_PATH_MTU_SMALLER, "a", RAIL_SAID_AGAIN, more));
    assert_true(rail_said_is_due(&said, ERR_PATH_MTU_SMALLER, "a", RAIL_SAID_STANDING, more));
    assert_string_equal(more, " (1 times more)");
}

static void another_reason_is_said_at_once(void **state)
{
    (void)state;
    struct rail_said said = {0};
    char more[RAIL_SAID_MORE];
    assert_true(rail_said_is_due(&said, ERR_TIMEOUT, "a", 0, more));
    assert_true(rail_said_is_due(&said, ERR_TIMEOUT, "b", 1, more));
    assert_true(rail_said_is_due(&said, ERR_FLUSHED, "b", 2, more));
    assert_string_equal(more, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_reason_is_said_once_a_minute),
        cmocka_unit_test(a_fault_of_configuration_is_said_once_an_hour),
        cmocka_unit_test(another_reason_is_said_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
