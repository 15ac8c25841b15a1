/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/hca/arena.h"

#define REGION ((size_t)1 << 20)

static uint8_t *region_make(void)
{
    uint8_t *region = aligned_alloc(4096, REGION);
    assert_non_null(region);
    memset(region, 0, REGION);
    return region;
}

static void chunks_do_not_overlap_and_are_zero(void **state)
{
    (void)state;
    struct hca_arena arena;
    uint32_t chunks[200];
    hca_arena_create(&arena, NULL, 0);
    for (size_t i = 0; i < 200; i++) {
        size_t bytes = 1 + i * i * 7 % 5000;
        chunks[i] = hca_arena_chunk(&arena, bytes);
        uint8_t *at = hca_arena_at(&arena, chunks[i]);
        for (size_t b = 0; b < bytes; b++)
            assert_int_equal(at[b], 0);
        memset(at, (int)i + 1, bytes);
    }
    for (size_t i = 0; i < 200; i++) {
        const uint8_t *at = hca_arena_at(&arena, chunks[i]);
        for (size_t b = 0; b < 1 + i * i * 7 % 5000; b++)
            assert_int_equal(at[b], (uint8_t)(i + 1));
    }
    hca_arena_close(&arena);
}

static void a_chunk_given_back_serves_its_size_again_and_is_zero(void **state)
{
    (void)state;
    struct hca_arena arena;
    hca_arena_create(&arena, NULL, 0);
    uint32_t first = hca_arena_chunk(&arena, 1000);
    uint32_t second = hca_arena_chunk(&arena, 1000);
    uint64_t bytes = arena.head->bytes;
    memset(hca_arena_at(&arena, first), 0xff, 1000);
    hca_arena_drop(&arena, first, 1000);
    assert_int_equal(arena.head->bytes, bytes - 1024);
    assert_int_not_equal(hca_arena_chunk(&arena, 3000), first);
    assert_int_equal(hca_arena_chunk(&arena, 1001), first);
    const uint8_t *at = hca_arena_at(&arena, first);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(at[i], 0);
    assert_int_not_equal(second, first);
    hca_arena_close(&arena);
}

static void what_is_left_of_a_segment_serves_smaller_chunks(void **state)
{
    (void)state;
    struct hca_arena arena;
    hca_arena_create(&arena, NULL, 0);
    uint32_t before = hca_arena_chunk(&arena, 64);
    uint32_t large = hca_arena_chunk(&arena, 20000); /* more than the first segment has */
    assert_true(large >= ARENA_FIRST);
    uint32_t end = arena.head->end;
    hca_arena_chunk(&arena, (uint64_t)(end - arena.head->top) * ARENA_UNIT);
    uint32_t earlier = 0;
    for (int i = 0; i < 100; i++)
        earlier += hca_arena_chunk(&arena, 64) < ARENA_FIRST;
    assert_int_equal(earlier, 100);
    assert_int_equal(arena.head->end, end);
    assert_true(before < ARENA_FIRST);
    hca_arena_close(&arena);
}

static void the_same_requests_give_the_same_numbers_wherever_it_lies(void **state)
{
    (void)state;
    struct hca_arena own, given;
    uint8_t *region = region_make();
    hca_arena_create(&own, NULL, 0);
    hca_arena_create(&given, region, REGION);
    for (uint64_t i = 1; i < 300; i++) {
        uint64_t bytes = i * i * 13 % 3000 + 1;
        uint32_t chunk = hca_arena_chunk(&own, bytes);
        assert_int_equal(hca_arena_chunk(&given, bytes), chunk);
        if (i % 3 == 0) {
            hca_arena_drop(&own, chunk, bytes);
            hca_arena_drop(&given, chunk, bytes);
        }
    }
    assert_memory_equal(own.head, given.head, sizeof(*own.head));
    hca_arena_close(&own);
    hca_arena_close(&given);
    free(region);
}

static void a_full_region_gives_nothing_and_stays_whole(void **state)
{
    (void)state;
    struct hca_arena arena;
    uint8_t *region = region_make();
    hca_arena_create(&arena, region, (size_t)48 << 10); /* two segments */
    uint32_t count = 0;
    while (hca_arena_chunk(&arena, 1024))
        count++;
    assert_true(count >= 40 && count < 48);
    assert_int_equal(hca_arena_chunk(&arena, UINT64_C(1) << 40), 0);
    for (size_t i = (size_t)48 << 10; i < REGION; i++)
        assert_int_equal(region[i], 0);
    hca_arena_close(&arena);
    free(region);
}

static void another_mapping_of_the_bytes_reads_the_same(void **state)
{
    (void)state;
    struct hca_arena arena, other;
    uint8_t *region = region_make(), *copy = region_make();
    assert_false(hca_arena_open(&other, copy, REGION));
    hca_arena_create(&arena, region, REGION);
    uint32_t chunk = hca_arena_chunk(&arena, 30000);
    memcpy(hca_arena_at(&arena, chunk), "far away", 9);
    memcpy(copy, region, REGION);
    assert_true(hca_arena_open(&other, copy, REGION));
    assert_string_equal(hca_arena_at(&other, chunk), "far away");
    assert_ptr_not_equal(hca_arena_at(&other, chunk), hca_arena_at(&arena, chunk));
    assert_false(hca_arena_open(&other, copy, 16384)); /* cut off */
    ((struct arena_head *)(void *)copy)->layout++;
    assert_false(hca_arena_open(&other, copy, REGION)); /* of another program */
    hca_arena_close(&arena);
    free(region);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_do_not_overlap_and_are_zero),
        cmocka_unit_test(a_chunk_given_back_serves_its_size_again_and_is_zero),
        cmocka_unit_test(what_is_left_of_a_segment_serves_smaller_chunks),
        cmocka_unit_test(the_same_requests_give_the_same_numbers_wherever_it_lies),
        cmocka_unit_test(a_full_region_gives_nothing_and_stays_whole),
        cmocka_unit_test(another_mapping_of_the_bytes_reads_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
