/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/rail/backoff.h"
#include "tests/support/small_world.h"

/* MK-B5: for ever, and rate-capped. */
static void waits_double_up_to_a_cap_and_never_end(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(1);
    uint64_t backoff = 0, expected = RAIL_BACKOFF_FIRST;
    bool differs = false;
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t wait = rail_backoff_grow(small_fabric(w, 0), &backoff);
        assert_true(backoff == expected);
        assert_true(wait >= expected && wait <= expected + expected / 4);
        differs = differs || wait != expected;
        expected = expected * 2 < RAIL_BACKOFF_LAST ? expected * 2 : RAIL_BACKOFF_LAST;
    }
    assert_true(differs);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_double_up_to_a_cap_and_never_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
