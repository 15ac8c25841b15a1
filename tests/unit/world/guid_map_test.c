/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/world/guid_map.h"

static void what_was_put_is_found_and_nothing_else(void **state)
{
    struct guid_map map = {0};

    (void)state;
    assert_int_equal(guid_map_get(&map, 5), GUID_MAP_NONE);
    for (uint32_t i = 1; i <= 5000; i++)
        guid_map_put(&map, UINT64_C(0x0002C90300000000) + i * 16u, i);
    for (uint32_t i = 1; i <= 5000; i++)
        assert_int_equal(guid_map_get(&map, UINT64_C(0x0002C90300000000) + i * 16u), i);
    assert_int_equal(guid_map_get(&map, 0), GUID_MAP_NONE);
    assert_int_equal(guid_map_get(&map, UINT64_C(0x0002C90300000001)), GUID_MAP_NONE);
    assert_int_equal(map.count, 5000);
    guid_map_clear(&map);
    assert_int_equal(guid_map_get(&map, UINT64_C(0x0002C90300000010)), GUID_MAP_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
