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

static unsigned depth(const struct slab *slab, uint32_t tree)
{
    if (!tree)
        return 0;
    unsigned left = depth(slab, slab->extents[tree].left);
    unsigned right = depth(slab, slab->extents[tree].right);
    return 1 + (left > right ? left : right);
}

/* MK-I2: a store in many pieces does not become slow. */
static void ten_thousand_holes_are_a_flat_tree(void **state)
{
    (void)state;
    struct slab slab;
    uint64_t at[20000];
    assert_true(slab_create(&slab, 20000ull * SLAB_ALIGN));
    for (unsigned i = 0; i < 20000; i++)
        assert_true(slab_take(&slab, SLAB_ALIGN, &at[i]));
    for (unsigned i = 0; i < 20000; i += 2)
        slab_give(&slab, at[i], SLAB_ALIGN);
    assert_int_equal(slab.count, 10000);
    assert_true(depth(&slab, slab.root) <= 50);
    assert_false(slab_fits(&slab, SLAB_ALIGN + 1));
    slab_destroy(&slab);
}

static void a_piece_is_taken_again_where_it_was(void **state)
{
    (void)state;
    struct slab slab;
    uint64_t at[4], whole;
    assert_true(slab_create(&slab, 4 * SLAB_ALIGN));
    for (unsigned i = 0; i < 4; i++)
        assert_true(slab_take(&slab, SLAB_ALIGN, &at[i]));
    for (unsigned i = 1; i < 4; i++)
        slab_give(&slab, at[i], SLAB_ALIGN);
    slab_retake(&slab, at[2], SLAB_ALIGN); /* from the middle of what is free */
    assert_int_equal(slab.count, 2);
    assert_int_equal(slab.used, 2 * SLAB_ALIGN);
    assert_false(slab_fits(&slab, 2 * SLAB_ALIGN));
    slab_retake(&slab, at[1], SLAB_ALIGN);
    assert_true(slab_take(&slab, SLAB_ALIGN, &whole));
    assert_int_equal(whole, at[3]);
    assert_int_equal(slab.count, 0);
    slab_destroy(&slab);
}

#define PAGES 256u

/* The first run of free pages; PAGES: none. */
static unsigned first_run(const bool taken[PAGES], unsigned pages)
{
    for (unsigned at = 0; at + pages <= PAGES; at++) {
        unsigned n = 0;
        while (n < pages && !taken[at + n])
            n++;
        if (n == pages)
            return at;
    }
    return PAGES;
}

/* Against a table of pages: first fit, whatever was taken and given before. */
static void the_first_that_fits_is_given(void **state)
{
    (void)state;
    struct slab slab;
    bool taken[PAGES] = {false};
    unsigned length[PAGES] = {0};
    uint64_t random = 1, offset;
    assert_true(slab_create(&slab, PAGES * SLAB_ALIGN));
    for (unsigned step = 0; step < 20000; step++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned at = (unsigned)(random >> 33) % PAGES, pages = 1 + (unsigned)(random >> 50) % 9;
        if (length[at]) {
            slab_give(&slab, at * SLAB_ALIGN, length[at] * SLAB_ALIGN);
            for (unsigned i = 0; i < length[at]; i++)
                taken[at + i] = false;
            length[at] = 0;
            continue;
        }
        unsigned first = first_run(taken, pages);
        assert_int_equal(slab_fits(&slab, pages * SLAB_ALIGN), first < PAGES);
        assert_int_equal(slab_take(&slab, pages * SLAB_ALIGN, &offset), first < PAGES);
        if (first == PAGES)
            continue;
        assert_int_equal(offset, first * SLAB_ALIGN);
        for (unsigned i = 0; i < pages; i++)
            taken[first + i] = true;
        length[first] = pages;
    }
    slab_destroy(&slab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_do_not_overlap),
        cmocka_unit_test(freed_neighbours_become_one_piece),
        cmocka_unit_test(many_holes_can_always_be_given_back),
        cmocka_unit_test(ten_thousand_holes_are_a_flat_tree),
        cmocka_unit_test(a_piece_is_taken_again_where_it_was),
        cmocka_unit_test(the_first_that_fits_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
