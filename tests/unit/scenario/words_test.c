/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/scenario/words.h"

/* HA-4.3 */
static void every_fault_word_has_a_name_a_place_and_help(void **state)
{
    (void)state;
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++) {
        const struct fault_word *word = &fault_words[i];
        assert_int_equal(word->word, i);
        assert_non_null(word->name);
        assert_ptr_equal(fault_word_by_name(word->name), word);
        assert_non_null(word->fields[0].name);
        assert_true(word->fields[0].required);
        assert_true(strlen(word->help) > 10);
        assert_true(word->cap != 0);
        assert_null(word->fields[WORD_MAX_FIELDS - 1].name);
    }
    assert_null(fault_word_by_name("nothing_of_the_kind"));
}

static void every_operation_is_found_by_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATION_WORD_COUNT; i++)
        assert_ptr_equal(operation_word_by_name(operation_words[i].name), &operation_words[i]);
    assert_null(operation_word_by_name("putt"));
}

static void every_capability_is_found_by_its_name(void **state)
{
    (void)state;
    fabric_caps all = 0, one;
    for (unsigned bit = 0; bit < FABRIC_CAP_COUNT; bit++) {
        assert_true(capability_by_name(fabric_cap_name((enum fabric_cap_bit)bit), &one));
        assert_true((all & one) == 0);
        all |= one;
    }
    assert_false(capability_by_name("teleport", &one));
}

static void addresses_are_read_in_every_notation(void **state)
{
    (void)state;
    static const uint8_t link_local[16] = {0xfe, 0x80, [15] = 1};
    static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 7};
    static const uint8_t full[16] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0xab, 0xcd};
    static const uint8_t none[16] = {0}, front[16] = {0xfe, 0x80};
    union fabric_gid gid;
    assert_true(gid_parse("fe80::1", &gid));
    assert_memory_equal(gid.raw, link_local, 16);
    assert_true(gid_parse("::ffff:10.0.0.7", &gid));
    assert_memory_equal(gid.raw, mapped, 16);
    assert_true(gid_parse("1:2:3:4:5:6:7:ABCD", &gid));
    assert_memory_equal(gid.raw, full, 16);
    assert_true(gid_parse("::", &gid));
    assert_memory_equal(gid.raw, none, 16);
    assert_true(gid_parse("fe80::", &gid));
    assert_memory_equal(gid.raw, front, 16);
}

static void what_is_no_address_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        ":",
                                        "1",
                                        "fe80:1",
                                        "1::2::3",
                                        "12345::",
                                        "fe80::g",
                                        "::1.2.3",
                                        "::1.2.3.256",
                                        "1:2:3:4:5:6:7:8:9",
                                        "1:2:3:4:5:6:7:",
                                        "::1.2.3.4.5",
                                        "1:2:3:4:5:6:7:8::"};
    union fabric_gid gid;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(gid_parse(wrong[i], &gid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_word_has_a_name_a_place_and_help),
        cmocka_unit_test(every_operation_is_found_by_its_name),
        cmocka_unit_test(every_capability_is_found_by_its_name),
        cmocka_unit_test(addresses_are_read_in_every_notation),
        cmocka_unit_test(what_is_no_address_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
