/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/scenario/text.h"

static void times_read_as_people_say_them(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {{0, "0 s"},
                 {7, "7 ns"},
                 {1000, "1 us"},
                 {1500, "1.500 us"},
                 {2000000, "2 ms"},
                 {3000000000, "3 s"},
                 {1999999999, "1.999 s"},
                 {UINT64_C(3600000000000), "3600 s"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text text = {0};
        text_add_time(&text, cases[i].ns);
        assert_string_equal(text_data(&text), cases[i].text);
        text_free(&text);
    }
}

static void a_text_grows_and_may_be_empty(void **state)
{
    (void)state;
    struct text text = {0};
    assert_string_equal(text_data(&text), "");
    for (int i = 0; i < 1000; i++)
        text_add(&text, "%03d", i);
    text_add_bytes(&text, "end", 3);
    assert_int_equal(text.length, 3003);
    assert_memory_equal(text.data + 2997, "999end", 7);
    text_free(&text);
    assert_string_equal(text_data(&text), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_read_as_people_say_them),
        cmocka_unit_test(a_text_grows_and_may_be_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
