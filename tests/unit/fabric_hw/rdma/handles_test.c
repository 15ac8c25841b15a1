/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of the part, and numbers of the device. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "fabric_hw/rdma/handles.h"

static void a_handle_that_was_removed_finds_nothing_although_its_place_is_used_again(void **state)
{
    struct rdma_handles handles = {0};
    uint32_t seen[300];
    int object;
    (void)state;
    uint32_t first = rdma_handles_new(&handles, RDMA_QP, &object);
    assert_ptr_equal(rdma_handles_find(&handles, first, RDMA_QP), &object);
    assert_null(rdma_handles_find(&handles, first, RDMA_CQ));
    assert_null(rdma_handles_find(&handles, 0, RDMA_QP));
    rdma_handles_remove(&handles, first);
    for (size_t i = 0; i < 300; i++) {
        seen[i] = rdma_handles_new(&handles, RDMA_QP, &object);
        assert_true(seen[i] != 0 && seen[i] != first);
    }
    assert_null(rdma_handles_find(&handles, first, RDMA_QP));
    assert_ptr_equal(rdma_handles_get(&handles, seen[299], RDMA_QP), &object);
    rdma_handles_free(&handles);
}

static void numbers_are_found_whatever_order_they_came_in(void **state)
{
    struct rdma_numbers numbers = {0};
    int objects[64];
    (void)state;
    for (uint32_t i = 0; i < 64; i++)
        assert_true(rdma_numbers_set(&numbers, i * 37 % 64, &objects[i * 37 % 64]));
    for (uint32_t i = 0; i < 64; i++)
        assert_ptr_equal(rdma_numbers_find(&numbers, i), &objects[i]);
    rdma_numbers_remove(&numbers, 5, &objects[6]); /* it is not that one's any more */
    assert_ptr_equal(rdma_numbers_find(&numbers, 5), &objects[5]);
    rdma_numbers_remove(&numbers, 5, &objects[5]);
    assert_null(rdma_numbers_find(&numbers, 5));
    assert_ptr_equal(rdma_numbers_find(&numbers, 6), &objects[6]);
    assert_true(rdma_numbers_set(&numbers, 6, &objects[7]));
    assert_ptr_equal(rdma_numbers_find(&numbers, 6), &objects[7]);
    free(numbers.entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_that_was_removed_finds_nothing_although_its_place_is_used_again),
        cmocka_unit_test(numbers_are_found_whatever_order_they_came_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
