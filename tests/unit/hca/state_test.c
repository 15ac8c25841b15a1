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
    struct hca_arena arena = {0};
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
    hca_arena_free(&arena);
}

static void slots_rest_before_they_are_taken_again(void **state)
{
    (void)state;
    struct hca_arena arena = {0};
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
    hca_arena_free(&arena);
}

static void chunks_are_given_back(void **state)
{
    (void)state;
    struct hca_arena arena = {0};
    uint32_t chunks[100];
    for (size_t i = 0; i < 100; i++)
        chunks[i] = hca_arena_chunk(&arena, 100 + i);
    size_t bytes = arena.bytes;
    hca_arena_drop(&arena, chunks[40]);
    assert_int_equal(arena.bytes, bytes - 140);
    assert_int_equal(hca_arena_chunk(&arena, 140), chunks[40]);
    assert_int_equal(hca_arena_chunk(&arena, 1), chunks[99] + 1);
    hca_arena_free(&arena);
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

static void a_receive_ring_is_first_in_first_out(void **state)
{
    (void)state;
    struct hca_arena arena = {0};
    struct recv_ring rq;
    struct recv_wqe out;
    struct hca_sge sges[2] = {{1, 10, 3}, {2, 20, 3}};
    recv_ring_init(&arena, &rq, 3, 2);
    assert_false(recv_ring_take(&arena, &rq, &out));
    for (uint64_t i = 0; i < 40; i++) {
        struct hca_recv_wr wr = {.wr_id = i, .sges = sges, .sge_count = (uint32_t)(i % 3)};
        recv_ring_put(&arena, &rq, &wr);
        assert_int_equal(recv_ring_next_length(&arena, &rq), i % 3 ? (i % 3 == 1 ? 10 : 30) : 0);
        assert_true(recv_ring_take(&arena, &rq, &out));
        assert_int_equal(out.wr_id, i);
        assert_int_equal(out.sge_count, i % 3);
        assert_memory_equal(out.sges, sges, out.sge_count * sizeof(sges[0]));
    }
    recv_ring_drop(&arena, &rq);
    recv_ring_drop(&arena, &rq);
    hca_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_where_they_are_and_handles_are_recognised),
        cmocka_unit_test(slots_rest_before_they_are_taken_again),
        cmocka_unit_test(chunks_are_given_back), cmocka_unit_test(a_scramble_is_reversible),
        cmocka_unit_test(a_receive_ring_is_first_in_first_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
