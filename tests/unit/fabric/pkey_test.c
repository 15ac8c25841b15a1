/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/fabric/pkey.h"

static void an_entry_without_partition_bits_is_empty(void **state)
{
    (void)state;
    for (uint32_t key = 0; key <= UINT16_MAX; key++)
        assert_int_equal(fabric_pkey_empty((uint16_t)key), key == 0 || key == 0x8000);
}

/* MK-D2. */
static void the_top_bit_is_membership(void **state)
{
    (void)state;
    assert_true(fabric_pkey_full(0xffff));
    assert_false(fabric_pkey_full(0x7fff));
    assert_string_equal(fabric_pkey_membership(0x8001), "full");
    assert_string_equal(fabric_pkey_membership(0x0001), "limited");
}

/* CASE-P4. */
static void packets_pass_in_one_partition_unless_both_are_limited(void **state)
{
    (void)state;
    static const uint16_t keys[] = {0, 0x8000, 1, 0x8001, 2, 0x8002, 0x7fff, 0xffff};
    for (size_t i = 0; i < 8; i++) {
        for (size_t j = 0; j < 8; j++) {
            uint16_t a = keys[i], b = keys[j];
            bool same = (a & 0x7fff) == (b & 0x7fff) && (a & 0x7fff) != 0;
            assert_int_equal(fabric_pkey_same_partition(a, b), same);
            assert_int_equal(fabric_pkey_match(a, b), same && (a >= 0x8000 || b >= 0x8000));
        }
    }
}

/* MK-D5. */
static void a_full_entry_is_found_before_a_limited_one(void **state)
{
    (void)state;
    static const uint16_t table[] = {0x7fff, 0, 0x0005, 0x8005, 0x8005, 0x8000, 0x0006};
    static const struct {
        uint16_t wanted;
        bool found;
        uint16_t index;
    } cases[] = {
        {0x8005, true, 3},   {0x0005, true, 3},   {0x8006, true, 6},   {0xffff, true, 0},
        {0x0007, false, 99}, {0x8000, false, 99}, {0x0000, false, 99},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint16_t index = 99;
        assert_int_equal(fabric_pkey_find(table, 7, cases[i].wanted, &index), cases[i].found);
        assert_int_equal(index, cases[i].index);
    }
    uint16_t index = 99;
    assert_false(fabric_pkey_find(NULL, 0, 0xffff, &index));
}

static void unicast_lids_are_1_to_0xbfff(void **state)
{
    (void)state;
    for (uint32_t lid = 0; lid <= 0x10001; lid++)
        assert_int_equal(fabric_lid_valid(lid), lid >= 1 && lid <= 0xbfff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_without_partition_bits_is_empty),
        cmocka_unit_test(the_top_bit_is_membership),
        cmocka_unit_test(packets_pass_in_one_partition_unless_both_are_limited),
        cmocka_unit_test(a_full_entry_is_found_before_a_limited_one),
        cmocka_unit_test(unicast_lids_are_1_to_0xbfff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
