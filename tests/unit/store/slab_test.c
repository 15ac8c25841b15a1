/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/store/slab.h"

static void pieces_are_aligned_and_do_not_overlap(void **state)
{
    (void)state;
    struct slab slab;
    uint64_t a, b, c;
    assert_true(slab_create(&slab, 5 * SLAB_ALIGN + 100));
    assert_int_equal(slab.capacity, 5 * SLAB_ALIGN);
    assert_true(slab_take(&slab, 1, &a));
    assert_true(slab_take(&slab, SLAB_ALIGN + 1, &b));
    assert_true(slab_take(&slab, 2 * SLAB_ALIGN, &c));
    assert_int_equal(a, 0);
    assert_int_equal(b, SLAB_ALIGN);
    assert_int_equal(c, 3 * SLAB_ALIGN);
    assert_int_equal(slab.used, slab.capacity);
    assert_false(slab_take(&slab, 1, &a));
    slab_destroy(&slab);
}

static void freed_neighbours_become_one_piece(void **state)
{
    (void)state;
    struct slab slab;
    uint64_t at[4], whole;
    assert_true(slab_create(&slab, 4 * SLAB_ALIGN));
    for (unsigned i = 0; i < 4; i++)
        assert_true(slab_take(&slab, SLAB_ALIGN, &at[i]));
    slab_give(&slab, at[0], SLAB_ALIGN);
    slab_give(&slab, at[2], SLAB_ALIGN);
    assert_int_equal(slab.count, 2);
    assert_false(slab_take(&slab, 2 * SLAB_ALIGN, &whole));
    slab_give(&slab, at[1], SLAB_ALIGN); /* joins both sides */
    assert_int_equal(slab.count, 1);
    assert_true(slab_take(&slab, 3 * SLAB_ALIGN, &whole));
    assert_int_equal(whole, 0);
    slab_give(&slab, at[3], SLAB_ALIGN);
    slab_give(&slab, whole, 3 * SLAB_ALIGN); /* joins what follows */
    assert_int_equal(slab.count, 1);
    assert_int_equal(slab.used, 0);
    slab_destroy(&slab);
}

static void many_holes_can_always_be_given_back(void **state)
{
    (void)state;
    struct slab slab;
    uint64_t at[200];
    assert_true(slab_create(&slab, 200 * SLAB_ALIGN));
    for (unsigned i = 0; i < 200; i++)
        assert_true(slab_take(&slab, SLAB_ALIGN, &at[i]));
    for (unsigned i = 0; i < 200; i += 2)
        slab_give(&slab, at[i], SLAB_ALIGN);
    assert_int_equal(slab.count, 100);
    for (unsigned i = 1; i < 200; i += 2)
        slab_give(&slab, at[i], SLAB_ALIGN);
    assert_int_equal(slab.count, 1);
    slab_destroy(&slab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_do_not_overlap),
        cmocka_unit_test(freed_neighbours_become_one_piece),
        cmocka_unit_test(many_holes_can_always_be_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
