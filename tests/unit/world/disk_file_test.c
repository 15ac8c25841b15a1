/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tests/support/little_disk.h"

#define CREATE FABRIC_IO_CREATE

static struct little_disk little; /* large: not on the stack */

static int up(void **state)
{
    (void)state;
    little_disk_up(&little, 1, NULL);
    return 0;
}

static int down(void **state)
{
    (void)state;
    little_disk_down(&little);
    return 0;
}

static void restart_world(uint64_t seed, const struct disk_config *config)
{
    little_disk_down(&little);
    little_disk_up(&little, seed, config);
}

static fabric_file open_durable(const char *path)
{
    fabric_file file = little_disk_open(&little, path, CREATE);
    assert_int_not_equal(file.id, 0);
    assert_int_equal(little_disk_name(&little, FABRIC_IO_SYNC_DIR, "/tmp", NULL), FABRIC_OK);
    return file;
}

static void what_was_flushed_survives_a_power_cut(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        restart_world(seed, NULL);
        fabric_file file = open_durable("/tmp/a");
        assert_int_equal(little_disk_write(&little, file, 0, "durable", 7), FABRIC_OK);
        assert_int_equal(little_disk_write(&little, file, 4095, "pages", 5), FABRIC_OK);
        assert_int_equal(little_disk_truncate(&little, file, 4098), FABRIC_OK);
        assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
        little_disk_power_cut(&little);
        char read[8] = {0};
        file = little_disk_open(&little, "/tmp/a", 0);
        assert_int_equal(little_disk_size(&little, file), 4098);
        assert_int_equal(little_disk_read(&little, file, 0, read, 7), 7);
        assert_string_equal(read, "durable");
        assert_int_equal(little_disk_read(&little, file, 4095, read, 7), 3);
        assert_memory_equal(read, "pag", 3);
    }
}

/* Writes "old" and flushes, writes "new"; what is there after a power cut? */
static bool new_survives(uint64_t seed)
{
    char read[4] = {0};
    restart_world(seed, NULL);
    fabric_file file = open_durable("/tmp/a");
    assert_int_equal(little_disk_write(&little, file, 0, "old", 3), FABRIC_OK);
    assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
    assert_int_equal(little_disk_write(&little, file, 0, "new", 3), FABRIC_OK);
    assert_int_equal(little_disk_read(&little, file, 0, read, 3), 3);
    assert_string_equal(read, "new");
    little_disk_power_cut(&little);
    file = little_disk_open(&little, "/tmp/a", 0);
    assert_int_equal(little_disk_read(&little, file, 0, read, 3), 3);
    assert_true(strcmp(read, "old") == 0 || strcmp(read, "new") == 0);
    return strcmp(read, "new") == 0;
}

static void what_was_not_flushed_survives_or_not(void **state)
{
    int survived = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++)
        survived += new_survives(seed);
    assert_in_range(survived, 10, 50);
}

/* A write that completes while a flush is under way; whether it survives the power cut. */
static bool later_write_survives(uint64_t seed, bool *raced)
{
    char bytes[2] = "x", read[2] = {0};
    restart_world(seed, NULL);
    fabric_file file = open_durable("/tmp/a");
    little.done_count = 0;
    const struct fabric_io flush = {.op = FABRIC_IO_FLUSH, .file = file};
    const struct fabric_io write = {.op = FABRIC_IO_WRITE, .file = file, .buf = bytes, .length = 1};
    assert_int_equal(disk_submit(little.user, &flush), FABRIC_OK);
    assert_int_equal(disk_submit(little.user, &write), FABRIC_OK);
    little_disk_drain(&little);
    assert_int_equal(little.done_count, 2);
    *raced = little.done[1].op == FABRIC_IO_FLUSH;
    little_disk_power_cut(&little);
    file = little_disk_open(&little, "/tmp/a", 0);
    (void)little_disk_read(&little, file, 0, read, 1);
    return read[0] == 'x';
}

static void a_flush_covers_only_what_was_complete_when_it_was_submitted(void **state)
{
    int raced = 0, survived = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 80; seed++) {
        bool race;
        bool survives = later_write_survives(seed, &race);
        raced += race;
        survived += race && survives;
    }
    assert_in_range(raced, 15, 65);
    assert_in_range(survived, 1, raced - 5);
}

static void a_flush_takes_what_was_complete_and_leaves_the_rest(void **state)
{
    int lost = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        char bytes[2] = "b", read[3] = {0};
        restart_world(seed, NULL);
        fabric_file file = open_durable("/tmp/a");
        assert_int_equal(little_disk_write(&little, file, 0, "aa", 2), FABRIC_OK);
        const struct fabric_io flush = {.op = FABRIC_IO_FLUSH, .file = file};
        const struct fabric_io write = {
            .op = FABRIC_IO_WRITE, .file = file, .buf = bytes, .length = 1, .offset = 1};
        assert_int_equal(disk_submit(little.user, &flush), FABRIC_OK);
        assert_int_equal(disk_submit(little.user, &write), FABRIC_OK);
        little_disk_drain(&little);
        little_disk_power_cut(&little);
        file = little_disk_open(&little, "/tmp/a", 0);
        assert_int_equal(little_disk_read(&little, file, 0, read, 2), 2);
        assert_int_equal(read[0], 'a');
        assert_true(read[1] == 'a' || read[1] == 'b');
        lost += read[1] == 'a';
    }
    assert_in_range(lost, 5, 35);
}

static void a_shorter_file_forgets_its_bytes(void **state)
{
    char read[16];
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    assert_int_equal(little_disk_write(&little, file, 0, "0123456789", 10), FABRIC_OK);
    assert_int_equal(little_disk_write(&little, file, 5000, "x", 1), FABRIC_OK);
    assert_int_equal(little_disk_truncate(&little, file, 4), FABRIC_OK);
    assert_int_equal(little_disk_truncate(&little, file, 6000), FABRIC_OK);
    assert_int_equal(little_disk_size(&little, file), 6000);
    assert_int_equal(little_disk_read(&little, file, 0, read, 10), 10);
    assert_memory_equal(read, "0123\0\0\0\0\0\0", 10);
    assert_int_equal(little_disk_read(&little, file, 5000, read, 1), 1);
    assert_int_equal(read[0], 0);
}

static void trimmed_bytes_are_zero_and_the_size_stays(void **state)
{
    char read[4];
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    assert_int_equal(little_disk_write(&little, file, 4094, "abcd", 4), FABRIC_OK);
    const struct fabric_io trim = {
        .op = FABRIC_IO_TRIM, .file = file, .offset = 4095, .length = 100};
    assert_int_equal(little_disk_do(&little, &trim).error, FABRIC_OK);
    assert_int_equal(little_disk_size(&little, file), 4098);
    assert_int_equal(little_disk_read(&little, file, 4094, read, 4), 4);
    assert_memory_equal(read, "a\0\0\0", 4);
    assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
    assert_int_equal(little_disk_name(&little, FABRIC_IO_SYNC_DIR, "/tmp", NULL), FABRIC_OK);
    little_disk_power_cut(&little);
    file = little_disk_open(&little, "/tmp/a", 0);
    assert_int_equal(little_disk_read(&little, file, 4094, read, 4), 4);
    assert_memory_equal(read, "a\0\0\0", 4);
}

static void a_disk_has_room_for_its_size(void **state)
{
    static uint8_t page[4096];
    const struct disk_config config = {.size = 4 * 4096};
    (void)state;
    restart_world(1, &config);
    fabric_file a = little_disk_open(&little, "/tmp/a", CREATE);
    fabric_file b = little_disk_open(&little, "/tmp/b", CREATE);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(little_disk_write(&little, a, i * 4096, page, 4096), FABRIC_OK);
    assert_int_equal(little_disk_write(&little, b, 0, page, 4096), FABRIC_OK);
    assert_int_equal(little_disk_write(&little, b, 4096, page, 1), ERR_STORE_FULL);
    assert_int_equal(little_disk_write(&little, b, 0, page, 4096), FABRIC_OK);
    assert_int_equal(little_disk_truncate(&little, a, 4096), FABRIC_OK);
    assert_int_equal(little_disk_write(&little, b, 4096, page, 4096), FABRIC_OK);
    assert_int_equal(little_disk_write(&little, b, 8192, page, 4096), FABRIC_OK);
    assert_int_equal(little_disk_write(&little, b, 12288, page, 4096), ERR_STORE_FULL);
}

static void nothing_is_written_beyond_the_size_of_the_disk(void **state)
{
    const struct disk_config config = {.size = 4 * 4096};
    (void)state;
    restart_world(1, &config);
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    assert_int_equal(little_disk_write(&little, file, UINT64_C(1) << 60, "x", 1), ERR_STORE_FULL);
    assert_int_equal(little_disk_write(&little, file, 4 * 4096 - 1, "xy", 2), ERR_STORE_FULL);
    assert_int_equal(little_disk_write(&little, file, 4 * 4096 - 1, "x", 1), FABRIC_OK);
}

static void room_comes_back_when_a_file_is_lost_or_gone(void **state)
{
    static uint8_t page[3 * 4096];
    const struct disk_config config = {.size = 4 * 4096};
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        restart_world(seed, &config);
        fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
        assert_int_equal(little_disk_write(&little, file, 0, page, sizeof(page)), FABRIC_OK);
        little_disk_power_cut(&little);
        (void)little_disk_name(&little, FABRIC_IO_UNLINK, "/tmp/a", NULL);
        assert_int_equal(little_disk_name(&little, FABRIC_IO_SYNC_DIR, "/tmp", NULL), FABRIC_OK);
        file = little_disk_open(&little, "/tmp/b", CREATE);
        assert_int_equal(little_disk_write(&little, file, 0, page, sizeof(page)), FABRIC_OK);
        assert_int_equal(little_disk_write(&little, file, sizeof(page), page, 4096), FABRIC_OK);
        assert_int_equal(little_disk_truncate(&little, file, 0), FABRIC_OK);
        assert_int_equal(little_disk_write(&little, file, 4096, page, sizeof(page)), FABRIC_OK);
    }
}

static void an_unlinked_file_lives_until_it_is_closed(void **state)
{
    char read[4] = {0};
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    assert_int_equal(little_disk_write(&little, file, 0, "abc", 3), FABRIC_OK);
    assert_int_equal(little_disk_name(&little, FABRIC_IO_UNLINK, "/tmp/a", NULL), FABRIC_OK);
    assert_int_equal(little_disk_name(&little, FABRIC_IO_SYNC_DIR, "/tmp", NULL), FABRIC_OK);
    assert_false(little_disk_exists(&little, "/tmp/a"));
    assert_int_equal(little_disk_read(&little, file, 0, read, 3), 3);
    assert_string_equal(read, "abc");
    assert_int_equal(little_disk_close(&little, file), FABRIC_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_flushed_survives_a_power_cut),
        TEST(what_was_not_flushed_survives_or_not),
        TEST(a_flush_covers_only_what_was_complete_when_it_was_submitted),
        TEST(a_flush_takes_what_was_complete_and_leaves_the_rest),
        TEST(a_shorter_file_forgets_its_bytes),
        TEST(trimmed_bytes_are_zero_and_the_size_stays),
        TEST(a_disk_has_room_for_its_size),
        TEST(nothing_is_written_beyond_the_size_of_the_disk),
        TEST(room_comes_back_when_a_file_is_lost_or_gone),
        TEST(an_unlinked_file_lives_until_it_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
