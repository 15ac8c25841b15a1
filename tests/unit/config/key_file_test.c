/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/config/key_file.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191A1b1c1d1e1f"

static void a_key_may_stand_between_notes_and_blanks(void **state)
{
    static const char *const good[] = {KEY, KEY "\n", "# note\n\n#\n" KEY " \r\n\n"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint8_t key[CONFIG_KEY_BYTES] = {0xff};
        assert_true(config_read_key_file(good[i], key));
        for (uint8_t k = 0; k < CONFIG_KEY_BYTES; k++)
            assert_int_equal(key[k], k);
    }
}

static void anything_else_is_refused_and_leaves_the_key_alone(void **state)
{
    static const char *const bad[] = {"",       "#",     "# " KEY, "00",        KEY "0",
                                      KEY " x", "x" KEY, " " KEY,  KEY "\n" KEY};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint8_t key[CONFIG_KEY_BYTES], before[CONFIG_KEY_BYTES];
        memset(key, 0x55, sizeof key);
        memcpy(before, key, sizeof key);
        assert_false(config_read_key_file(bad[i], key));
        assert_memory_equal(key, before, sizeof key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_may_stand_between_notes_and_blanks),
        cmocka_unit_test(anything_else_is_refused_and_leaves_the_key_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
