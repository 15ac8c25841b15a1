/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_hw/os/spin.h"

/* How many waits go by without a look. */
static uint32_t waits(struct os_spin *spin)
{
    uint32_t count = 0;
    while (!os_spin_is_due(spin))
        count++;
    return count;
}

static void whoever_finds_something_looks_again(void **state)
{
    struct os_spin spin = {0};
    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(waits(&spin), 0);
        os_spin_was(&spin, true);
    }
}

static void looks_in_vain_become_rare_and_never_end(void **state)
{
    struct os_spin spin = {0};
    (void)state;
    for (uint32_t expected = 1; expected <= OS_SPIN_PAUSE; expected *= 2) {
        os_spin_was(&spin, false);
        assert_int_equal(waits(&spin), expected);
    }
    os_spin_was(&spin, false);
    assert_int_equal(waits(&spin), OS_SPIN_PAUSE);
}

static void one_good_look_makes_up_for_all_vain_ones(void **state)
{
    struct os_spin spin = {0};
    (void)state;
    for (int i = 0; i < 20; i++)
        os_spin_was(&spin, false);
    waits(&spin);
    os_spin_was(&spin, true);
    assert_int_equal(waits(&spin), 0);
    os_spin_was(&spin, false);
    assert_int_equal(waits(&spin), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_finds_something_looks_again),
        cmocka_unit_test(looks_in_vain_become_rare_and_never_end),
        cmocka_unit_test(one_good_look_makes_up_for_all_vain_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
