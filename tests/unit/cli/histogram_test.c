/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "src/cli/histogram.h"

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void small_values_are_exact(void **state)
{
    struct histogram *h = calloc(1, sizeof *h);
    (void)state;
    for (uint64_t i = 1; i <= 100; i++)
        histogram_add(h, i);
    assert_int_equal(h->count, 100);
    assert_int_equal(h->least, 1);
    assert_int_equal(h->most, 100);
    assert_int_equal(histogram_mean(h), 50);
    assert_int_equal(histogram_at(h, 0), 1);
    assert_int_equal(histogram_at(h, 500000), 50);
    assert_int_equal(histogram_at(h, 990000), 99);
    assert_int_equal(histogram_at(h, 1000000), 100);
    free(h);
}

static void a_percentile_is_never_too_small_and_at_most_a_64th_too_large(void **state)
{
    enum { VALUES = 20000 };
    struct histogram *h = calloc(1, sizeof *h);
    uint64_t *values = calloc(VALUES, sizeof *values), random = 1;
    static const uint32_t asked[] = {1, 1000, 250000, 500000, 900000, 999000, 999999, 1000000};
    (void)state;
    for (size_t i = 0; i < VALUES; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        values[i] = random >> (random >> 58); /* of every magnitude */
        histogram_add(h, values[i]);
    }
    qsort(values, VALUES, sizeof *values, by_value);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        uint64_t rank = ((uint64_t)VALUES * asked[i] + 999999) / 1000000;
        uint64_t truth = values[rank ? rank - 1 : 0], found = histogram_at(h, asked[i]);
        assert_true(found >= truth);
        assert_true(found - truth <= truth / 64);
    }
    free(values);
    free(h);
}

static void merged_ones_count_as_one(void **state)
{
    struct histogram *all = calloc(1, sizeof *all), *parts = calloc(3, sizeof *parts);
    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        histogram_add(all, i * i);
        histogram_add(&parts[i % 2], i * i);
    }
    histogram_merge(&parts[2], &parts[0]);
    histogram_merge(&parts[2], &parts[1]);
    assert_memory_equal(all, &parts[2], sizeof *all);
    free(parts);
    free(all);
}

static void nothing_and_the_largest_value_have_their_place(void **state)
{
    struct histogram *h = calloc(1, sizeof *h), *none = calloc(1, sizeof *none);
    (void)state;
    assert_int_equal(histogram_at(none, 500000), 0);
    assert_int_equal(histogram_mean(none), 0);
    histogram_add(h, UINT64_MAX);
    histogram_add(h, UINT64_MAX);
    histogram_add(h, 0);
    histogram_merge(h, none);
    assert_int_equal(h->least, 0);
    assert_true(histogram_at(h, 1000000) == UINT64_MAX);
    assert_int_equal(histogram_at(h, 1), 0);
    assert_true(h->sum == UINT64_MAX); /* it does not wrap */
    free(none);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(a_percentile_is_never_too_small_and_at_most_a_64th_too_large),
        cmocka_unit_test(merged_ones_count_as_one),
        cmocka_unit_test(nothing_and_the_largest_value_have_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
