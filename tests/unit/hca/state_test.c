/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/hca/state.h"

struct item {
    struct slot slot;
    uint64_t value;
};

static void items_stay_where_they_are_and_handles_are_recognised(void **state)
{
    (void)state;
    struct hca_arena arena;
    hca_arena_create(&arena, NULL, 0);
    struct table table;
    static struct item *items[1000];
    static uint32_t ids[1000];
    table_init(&table, sizeof(struct item), 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        items[i] = table_take(&arena, &table);
        assert_non_null(items[i]);
        items[i]->value = i;
        ids[i] = items[i]->slot.id;
    }
    assert_null(table_take(&arena, &table));
    for (uint32_t i = 0; i < 1000; i++) {
        assert_ptr_equal(table_find(&arena, &table, ids[i]), items[i]);
        assert_int_equal(items[i]->value, i);
        assert_int_equal(slot_index(&items[i]->slot), i);
    }
    table_put(&arena, &table, ids[5]);
    assert_null(table_find(&arena, &table, ids[5]));
    const struct item *again = table_take(&arena, &table);
    assert_ptr_equal(again, items[5]);
    assert_int_not_equal(again->slot.id, ids[5]);
    assert_null(table_find(&arena, &table, ids[5]));
    assert_null(table_find(&arena, &table, 0));
    assert_null(table_find(&arena, &table, 0xfffff));
    hca_arena_close(&arena);
}

static void slots_rest_before_they_are_taken_again(void **state)
{
    (void)state;
    struct hca_arena arena;
    hca_arena_create(&arena, NULL, 0);
    struct table table;
    table_init(&table, sizeof(struct item), 5000);
    const struct item *first = table_take(&arena, &table);
    uint32_t id = first->slot.id;
    table_put(&arena, &table, id);
    for (int i = 0; i < 63; i++) {
        const struct item *item = table_take(&arena, &table);
        assert_ptr_not_equal(item, first);
        table_put(&arena, &table, item->slot.id);
    }
    hca_arena_close(&arena);
}

static void a_scramble_is_reversible(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct scramble s = scramble_make(seed * UINT64_C(0x9e3779b97f4a7c15), 24);
        for (uint32_t i = 0; i < 1u << 24; i += 99991) {
            uint32_t value = scramble(&s, i);
            assert_true(value < 1u << 24);
            assert_int_equal(unscramble(&s, value), i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_where_they_are_and_handles_are_recognised),
        cmocka_unit_test(slots_rest_before_they_are_taken_again),
        cmocka_unit_test(a_scramble_is_reversible)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
