/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tests/support/aborts.h"
#include "tests/support/little_disk.h"

#define SEEDS 60
#define LENGTH 16384

static struct little_disk little; /* large: not on the stack */
static char bytes[LENGTH];

/* A file that is durable and full of 'A'. */
static fabric_file file_of_a(uint64_t seed, const struct disk_config *config)
{
    little_disk_up(&little, seed, config);
    fabric_file file = little_disk_open(&little, "/tmp/a", FABRIC_IO_CREATE);
    memset(bytes, 'A', LENGTH);
    assert_int_equal(little_disk_write(&little, file, 0, bytes, LENGTH), FABRIC_OK);
    assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
    assert_int_equal(little_disk_name(&little, FABRIC_IO_SYNC_DIR, "/tmp", NULL), FABRIC_OK);
    return file;
}

static void cut_and_read(void)
{
    little_disk_power_cut(&little);
    fabric_file file = little_disk_open(&little, "/tmp/a", 0);
    assert_int_equal(little_disk_read(&little, file, 0, bytes, LENGTH), LENGTH);
}

/* Writes 'B' from `offset`, cuts, and says how many bytes are new, every unit being one or the
 * other. */
static size_t torn_write(uint64_t seed, const struct disk_config *config, size_t offset,
                         size_t length)
{
    fabric_file file = file_of_a(seed, config);
    size_t unit = disk_config(little.disk)->tear_unit, news = 0;
    memset(bytes, 'B', length);
    assert_int_equal(little_disk_write(&little, file, offset, bytes, length), FABRIC_OK);
    cut_and_read();
    for (size_t at = 0; at < LENGTH; at++) {
        bool written = at >= offset && at < offset + length;
        assert_true(bytes[at] == 'A' || (written && bytes[at] == 'B'));
        if (written && at > offset && at % unit != 0)
            assert_int_equal(bytes[at], bytes[at - 1]);
        news += bytes[at] == 'B';
    }
    little_disk_down(&little);
    return news;
}

static void check_tearing(const struct disk_config *config, size_t offset, size_t length)
{
    int none = 0, whole = 0, torn = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        size_t news = torn_write(seed, config, offset, length);
        none += news == 0;
        whole += news == length;
        torn += news > 0 && news < length;
    }
    assert_int_not_equal(none, 0);
    assert_int_not_equal(whole, 0);
    assert_int_not_equal(torn, 0);
}

static void a_write_tears_only_at_the_declared_unit(void **state)
{
    (void)state;
    check_tearing(&(struct disk_config){0}, 1024, 4096);
    check_tearing(&(struct disk_config){.tear_unit = 4096}, 0, 16384);
    check_tearing(&(struct disk_config){.tear_unit = 64}, 4000, 300);
    check_tearing(&(struct disk_config){.keeps_order = true}, 100, 5000);
}

static void a_write_within_one_unit_does_not_tear(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        size_t news = torn_write(seed, &(struct disk_config){.tear_unit = 4096}, 10, 4000);
        assert_true(news == 0 || news == 4000);
    }
}

/* Writes ten bytes one after the other; bit i: the i-th survived. */
static unsigned surviving(uint64_t seed, bool keeps_order)
{
    unsigned survived = 0;
    fabric_file file = file_of_a(seed, &(struct disk_config){.keeps_order = keeps_order});
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(little_disk_write(&little, file, 1000 * i, "B", 1), FABRIC_OK);
    cut_and_read();
    for (unsigned i = 0; i < 10; i++)
        survived |= (bytes[1000 * i] == 'B' ? 1u : 0u) << i;
    little_disk_down(&little);
    return survived;
}

static void without_order_any_of_the_writes_survive(void **state)
{
    int gaps = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        unsigned survived = surviving(seed, false);
        gaps += (survived & (survived + 1)) != 0; /* not a beginning */
    }
    assert_in_range(gaps, SEEDS / 2, SEEDS);
}

static void with_order_a_beginning_of_the_writes_survives(void **state)
{
    unsigned lengths = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        unsigned survived = surviving(seed, true);
        assert_int_equal(survived & (survived + 1), 0);
        lengths |= survived;
    }
    assert_int_equal(lengths, 0x3ff);
}

static void order_is_kept_over_all_files(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        char read[2] = {0};
        fabric_file a = file_of_a(seed, &(struct disk_config){.keeps_order = true});
        little_disk_put(&little, "/tmp/b", "A", true);
        assert_int_equal(little_disk_name(&little, FABRIC_IO_SYNC_DIR, "/tmp", NULL), FABRIC_OK);
        fabric_file b = little_disk_open(&little, "/tmp/b", 0);
        assert_int_equal(little_disk_write(&little, b, 0, "B", 1), FABRIC_OK);
        assert_int_equal(little_disk_write(&little, a, 0, "B", 1), FABRIC_OK);
        cut_and_read();
        b = little_disk_open(&little, "/tmp/b", 0);
        assert_int_equal(little_disk_read(&little, b, 0, read, 1), 1);
        assert_false(bytes[0] == 'B' && read[0] == 'A');
        little_disk_down(&little);
    }
}

static void two_writes_to_one_place_land_in_any_order(void **state)
{
    int first = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
        fabric_file file = file_of_a(seed, NULL);
        /* the first is longer: where both landed, its end tells so */
        assert_int_equal(little_disk_write(&little, file, 0, "BB", 2), FABRIC_OK);
        assert_int_equal(little_disk_write(&little, file, 1, "CC", 2), FABRIC_OK);
        cut_and_read();
        first += memcmp(bytes, "BBC", 3) == 0; /* the second, then the first over it */
        little_disk_down(&little);
    }
    assert_in_range(first, 5, 2 * SEEDS);
}

static void the_medium_keeps_the_order_of_names_too(void **state)
{
    char path[] = "/tmp/n0";
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        bool before = true;
        little_disk_up(&little, seed, &(struct disk_config){.keeps_order = true});
        for (path[6] = '0'; path[6] < '8'; path[6]++)
            little_disk_put(&little, path, "x", true);
        little_disk_power_cut(&little);
        for (path[6] = '0'; path[6] < '8'; path[6]++) {
            bool there = little_disk_exists(&little, path);
            assert_false(there && !before);
            before = there;
        }
        little_disk_down(&little);
    }
}

static void trims_and_truncations_survive_or_not(void **state)
{
    int trimmed = 0, truncated = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fabric_file file = file_of_a(seed, NULL);
        const struct fabric_io trim = {.op = FABRIC_IO_TRIM, .file = file, .length = 8};
        assert_int_equal(little_disk_do(&little, &trim).error, FABRIC_OK);
        assert_int_equal(little_disk_truncate(&little, file, 5000), FABRIC_OK);
        little_disk_power_cut(&little);
        file = little_disk_open(&little, "/tmp/a", 0);
        size_t length = little_disk_read(&little, file, 0, bytes, LENGTH);
        assert_true(length == 5000 || length == LENGTH);
        truncated += length == 5000;
        trimmed += bytes[0] == 0;
        little_disk_down(&little);
    }
    assert_in_range(trimmed, 10, SEEDS - 10);
    assert_in_range(truncated, 10, SEEDS - 10);
}

static void what_a_power_cut_left_is_durable(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        static char once[LENGTH];
        fabric_file file = file_of_a(seed, NULL);
        for (uint64_t i = 0; i < 10; i++)
            assert_int_equal(little_disk_write(&little, file, 900 * i, "BCD", 3), FABRIC_OK);
        cut_and_read();
        memcpy(once, bytes, LENGTH);
        cut_and_read();
        assert_memory_equal(once, bytes, LENGTH);
        little_disk_down(&little);
    }
}

static void cut_with_a_program(void *context)
{
    (void)context;
    disk_power_cut(little.disk);
}

static void the_power_is_not_cut_under_a_program(void **state)
{
    (void)state;
    little_disk_up(&little, 1, NULL);
    assert_true(aborts(cut_with_a_program, NULL));
    little_disk_down(&little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_tears_only_at_the_declared_unit),
        cmocka_unit_test(a_write_within_one_unit_does_not_tear),
        cmocka_unit_test(without_order_any_of_the_writes_survive),
        cmocka_unit_test(with_order_a_beginning_of_the_writes_survives),
        cmocka_unit_test(order_is_kept_over_all_files),
        cmocka_unit_test(two_writes_to_one_place_land_in_any_order),
        cmocka_unit_test(the_medium_keeps_the_order_of_names_too),
        cmocka_unit_test(trims_and_truncations_survive_or_not),
        cmocka_unit_test(what_a_power_cut_left_is_durable),
        cmocka_unit_test(the_power_is_not_cut_under_a_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
