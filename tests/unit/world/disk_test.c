/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tests/support/aborts.h"
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

static void the_defaults_are_filled_in(void **state)
{
    (void)state;
    const struct disk_config *config = disk_config(little.disk);
    assert_int_equal(config->size, UINT64_C(1) << 30);
    assert_int_equal(config->tear_unit, 512);
    assert_int_equal(config->align, 512);
    assert_false(config->keeps_order);
}

static void a_file_is_opened_as_the_flags_say(void **state)
{
    (void)state;
    struct fabric_io io = {.op = FABRIC_IO_OPEN, .path = "/tmp/a", .cookie = 7};
    struct fabric_io_done done = little_disk_do(&little, &io);
    assert_int_equal(done.error, ERR_NOT_FOUND);
    assert_int_equal(done.cookie, 7);
    assert_int_equal(done.op, FABRIC_IO_OPEN);
    io.flags = CREATE | FABRIC_IO_EXCLUSIVE;
    done = little_disk_do(&little, &io);
    assert_int_equal(done.error, FABRIC_OK);
    assert_int_not_equal(done.file.id, 0);
    assert_int_equal(little_disk_do(&little, &io).error, ERR_EXISTS);
    io.flags = CREATE;
    assert_int_equal(little_disk_do(&little, &io).error, FABRIC_OK);
    io.path = "/tmp"; /* a folder */
    assert_int_equal(little_disk_do(&little, &io).error, ERR_INVALID_ARGUMENT);
    io.path = "/";
    assert_int_equal(little_disk_do(&little, &io).error, ERR_INVALID_ARGUMENT);
    io.path = "/nowhere/a";
    assert_int_equal(little_disk_do(&little, &io).error, ERR_NOT_FOUND);
}

static void a_read_gives_what_was_written_and_is_short_only_at_the_end(void **state)
{
    char read[16] = {0};
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    assert_int_equal(little_disk_write(&little, file, 4094, "abcdef", 6), FABRIC_OK);
    assert_int_equal(little_disk_size(&little, file), 4100);
    assert_int_equal(little_disk_read(&little, file, 4092, read, 16), 8);
    assert_memory_equal(read, "\0\0abcdef", 8);
    assert_int_equal(little_disk_read(&little, file, 4100, read, 16), 0);
    assert_int_equal(little_disk_read(&little, file, 9999, read, 16), 0);
    fabric_file other = little_disk_open(&little, "/tmp/a", FABRIC_IO_READ_ONLY);
    assert_int_equal(little_disk_read(&little, other, 4094, read, 3), 3);
    assert_memory_equal(read, "abc", 3);
    assert_int_equal(little_disk_write(&little, other, 0, "x", 1), ERR_READ_ONLY);
    assert_int_equal(little_disk_truncate(&little, other, 0), ERR_READ_ONLY);
}

static void direct_requests_are_aligned(void **state)
{
    uint8_t bytes[1024] = {1};
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE | FABRIC_IO_DIRECT);
    assert_int_equal(little_disk_write(&little, file, 0, bytes, 1024), FABRIC_OK);
    assert_int_equal(little_disk_write(&little, file, 100, bytes, 512), ERR_INVALID_ARGUMENT);
    assert_int_equal(little_disk_write(&little, file, 512, bytes, 100), ERR_INVALID_ARGUMENT);
    assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
    assert_int_equal(little_disk_truncate(&little, file, 700), FABRIC_OK);
    fabric_file plain = little_disk_open(&little, "/tmp/a", 0);
    assert_int_equal(little_disk_write(&little, plain, 3, bytes, 5), FABRIC_OK);
    assert_int_equal(little_disk_write(&little, plain, INT64_MAX, bytes, 5), ERR_INVALID_ARGUMENT);
}

static void a_buffer_is_lent_until_its_write_is_done(void **state)
{
    char bytes[4] = "abc", read[4] = {0};
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    const struct fabric_io write = {.op = FABRIC_IO_WRITE, .file = file, .buf = bytes, .length = 3};
    assert_int_equal(disk_submit(little.user, &write), FABRIC_OK);
    bytes[1] = 'X'; /* who does so gets what it deserves */
    little_disk_drain(&little);
    bytes[2] = 'Y'; /* its own again */
    assert_int_equal(little_disk_read(&little, file, 0, read, 3), 3);
    assert_string_equal(read, "aXc");
}

static void every_accepted_request_is_reported_once(void **state)
{
    uint8_t seen[300] = {0};
    char byte = 'x';
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    for (uint64_t i = 0; i < 300; i++) {
        const struct fabric_io io = {.op = i % 3 ? FABRIC_IO_WRITE : FABRIC_IO_FLUSH,
                                     .cookie = i,
                                     .file = file,
                                     .buf = &byte,
                                     .length = 1,
                                     .offset = i};
        assert_int_equal(disk_submit(little.user, &io), FABRIC_OK);
    }
    little_disk_drain(&little);
    assert_int_equal(little.done_count, 300);
    bool reordered = false;
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(little.done[i].error, FABRIC_OK);
        seen[little.done[i].cookie]++;
        reordered |= little.done[i].cookie != i;
    }
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(seen[i], 1);
    assert_true(reordered);
}

static void a_full_queue_refuses(void **state)
{
    (void)state;
    const struct fabric_io io = {.op = FABRIC_IO_UNLINK, .path = "/tmp/nothing"};
    for (int i = 0; i < 1024; i++)
        assert_int_equal(disk_submit(little.user, &io), FABRIC_OK);
    assert_int_equal(disk_submit(little.user, &io), ERR_QUEUE_FULL);
    assert_true(sim_step(little.sim));
    assert_int_equal(disk_submit(little.user, &io), FABRIC_OK);
    little_disk_drain(&little);
    assert_int_equal(little.done_count, 1025);
}

static void a_close_waits_for_what_is_outstanding_on_its_file(void **state)
{
    char bytes[32] = "bytes";
    (void)state;
    for (int round = 0; round < 20; round++) {
        fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
        struct fabric_io io = {.op = FABRIC_IO_WRITE, .file = file, .buf = bytes, .length = 5};
        little.done_count = 0;
        for (int i = 0; i < 4; i++, io.offset += 5)
            assert_int_equal(disk_submit(little.user, &io), FABRIC_OK);
        io.op = FABRIC_IO_CLOSE;
        assert_int_equal(disk_submit(little.user, &io), FABRIC_OK);
        little_disk_drain(&little);
        assert_int_equal(little.done_count, 5);
        assert_int_equal(little.done[4].op, FABRIC_IO_CLOSE);
        little.done_count = 0;
    }
}

static void use_closed(void *context)
{
    const struct fabric_io io = {.op = FABRIC_IO_FLUSH, .file = *(fabric_file *)context};
    (void)disk_submit(little.user, &io);
}

static void close_twice(void *context)
{
    const struct fabric_io io = {.op = FABRIC_IO_CLOSE, .file = *(fabric_file *)context};
    (void)disk_submit(little.user, &io);
    (void)disk_submit(little.user, &io);
}

static void a_file_that_is_not_open_aborts(void **state)
{
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    assert_true(aborts(close_twice, &file));
    little_disk_close(&little, file);
    assert_true(aborts(use_closed, &file));
}

static void an_error_is_told_and_goes_away(void **state)
{
    char bytes[8] = "old";
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    assert_int_equal(little_disk_write(&little, file, 0, bytes, 4), FABRIC_OK);
    disk_set_error(little.disk, true);
    const struct fabric_io read = {
        .op = FABRIC_IO_READ, .file = file, .buf = bytes, .length = sizeof(bytes)};
    struct fabric_io_done done = little_disk_do(&little, &read);
    assert_int_equal(done.error, ERR_MEDIA_FAILED);
    assert_int_equal(done.length, 0);
    assert_int_equal(little_disk_write(&little, file, 0, "new", 3), ERR_MEDIA_FAILED);
    assert_int_equal(little_disk_truncate(&little, file, 0), ERR_MEDIA_FAILED);
    assert_int_equal(little_disk_flush(&little, file), ERR_MEDIA_FAILED);
    assert_int_equal(little_disk_name(&little, FABRIC_IO_SYNC_DIR, "/tmp", NULL), ERR_MEDIA_FAILED);
    disk_set_error(little.disk, false);
    fabric_file again = little_disk_open(&little, "/tmp/a", 0);
    assert_int_equal(little_disk_flush(&little, again), FABRIC_OK);
    assert_int_equal(little_disk_name(&little, FABRIC_IO_SYNC_DIR, "/tmp", NULL), FABRIC_OK);
    assert_int_equal(little_disk_read(&little, file, 0, bytes, 8), 4);
    assert_string_equal(bytes, "old");
}

static void a_full_disk_refuses_what_needs_room_only(void **state)
{
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    assert_int_equal(little_disk_write(&little, file, 0, "old", 3), FABRIC_OK);
    disk_set_full(little.disk, true);
    const struct fabric_io create = {.op = FABRIC_IO_OPEN, .path = "/tmp/b", .flags = CREATE};
    assert_int_equal(little_disk_do(&little, &create).error, ERR_STORE_FULL);
    assert_int_equal(little_disk_name(&little, FABRIC_IO_MKDIR, "/tmp/c", NULL), ERR_STORE_FULL);
    assert_int_equal(little_disk_write(&little, file, 8192, "new", 3), ERR_STORE_FULL);
    assert_int_equal(little_disk_size(&little, file), 3);
    assert_int_equal(little_disk_write(&little, file, 0, "new", 3), FABRIC_OK);
    assert_int_equal(little_disk_name(&little, FABRIC_IO_UNLINK, "/tmp/a", NULL), FABRIC_OK);
    disk_set_full(little.disk, false);
    assert_int_equal(little_disk_do(&little, &create).error, FABRIC_OK);
    assert_int_equal(little_disk_write(&little, file, 8192, "new", 3), FABRIC_OK);
}

static void a_slow_disk_takes_the_extra_time(void **state)
{
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    uint64_t begin = sim_now(little.sim);
    assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
    assert_in_range(sim_now(little.sim) - begin, 1, 200000);
    disk_set_slow(little.disk, 1000000000);
    begin = sim_now(little.sim);
    assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
    assert_in_range(sim_now(little.sim) - begin, 1000000000, 1000200000);
    disk_set_slow(little.disk, 0);
    begin = sim_now(little.sim);
    assert_int_equal(little_disk_flush(&little, file), FABRIC_OK);
    assert_in_range(sim_now(little.sim) - begin, 1, 200000);
}

static void what_a_dead_program_had_under_way_is_carried_out_or_not(void **state)
{
    char byte = 'x', read[64] = {0};
    int carried_out = 0;
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    for (uint64_t i = 0; i < 64; i++) {
        const struct fabric_io io = {
            .op = FABRIC_IO_WRITE, .file = file, .buf = &byte, .length = 1, .offset = i};
        assert_int_equal(disk_submit(little.user, &io), FABRIC_OK);
    }
    const struct fabric_io open = {.op = FABRIC_IO_OPEN, .path = "/tmp/b", .flags = CREATE};
    assert_int_equal(disk_submit(little.user, &open), FABRIC_OK);
    const struct fabric_io close = {.op = FABRIC_IO_CLOSE, .file = file};
    assert_int_equal(disk_submit(little.user, &close), FABRIC_OK);
    little.done_count = 0;
    little_disk_restart(&little);
    little_disk_drain(&little);
    assert_int_equal(little.done_count, 0); /* nobody is told */
    file = little_disk_open(&little, "/tmp/a", 0);
    little_disk_read(&little, file, 0, read, sizeof(read));
    for (size_t i = 0; i < sizeof(read); i++)
        carried_out += read[i] == 'x';
    assert_in_range(carried_out, 10, 54);
}

static void a_placed_file_is_there_and_durable_with_its_folders(void **state)
{
    (void)state;
    assert_int_equal(disk_place(little.disk, "/a/b/c", "one", 3), FABRIC_OK);
    assert_true(little_disk_holds(&little, "/a/b/c", "one"));
    assert_int_equal(disk_place(little.disk, "/a/b/c", "three", 5), FABRIC_OK);
    assert_int_equal(disk_place(little.disk, "/a/empty", NULL, 0), FABRIC_OK);
    assert_true(little_disk_holds(&little, "/a/b/c", "three"));
    little_disk_power_cut(&little);
    assert_true(little_disk_holds(&little, "/a/b/c", "three"));
    assert_true(little_disk_holds(&little, "/a/empty", ""));
}

static void what_can_not_be_placed_is_refused(void **state)
{
    char path[FABRIC_PATH_MAX + 1];
    static const char *const wrong[] = {"", "name", "/", "/tmp", "/tmp/", "/a/b/c/d", "/a/b/c/d/e"};
    (void)state;
    assert_int_equal(disk_place(little.disk, "/a/b/c", "one", 3), FABRIC_OK);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(disk_place(little.disk, wrong[i], "x", 1), ERR_INVALID_ARGUMENT);
    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[FABRIC_PATH_MAX] = '\0';
    assert_int_equal(disk_place(little.disk, path, "x", 1), ERR_INVALID_ARGUMENT);
    assert_true(little_disk_holds(&little, "/a/b/c", "one"));
}

static void a_rename_that_waits_does_not_undo_a_placed_file(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        little_disk_down(&little);
        little_disk_up(&little, seed, NULL);
        little_disk_put(&little, "/tmp/new", "renamed", true);
        assert_int_equal(little_disk_name(&little, FABRIC_IO_RENAME, "/tmp/new", "/etc/x"), 0);
        assert_int_equal(disk_place(little.disk, "/etc/x", "placed", 6), FABRIC_OK);
        little_disk_power_cut(&little);
        assert_true(little_disk_holds(&little, "/etc/x", "placed"));
    }
}

static uint64_t run_of(uint64_t seed)
{
    uint64_t sum = 0;
    little_disk_down(&little);
    little_disk_up(&little, seed, NULL);
    sim_trace_start(little.sim, NULL, NULL);
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    for (uint64_t i = 0; i < 40; i++) {
        char byte = (char)i;
        assert_int_equal(little_disk_write(&little, file, 97 * i, &byte, 1), FABRIC_OK);
    }
    little_disk_power_cut(&little);
    file = little_disk_open(&little, "/tmp/a", CREATE);
    for (uint64_t i = 0; i < 40; i++) {
        uint8_t byte = 0;
        (void)little_disk_read(&little, file, 97 * i, &byte, 1);
        sum = sum * 31 + byte;
    }
    return sum ^ sim_trace_hash(little.sim) ^ sim_now(little.sim) ^ sim_draws(little.sim) << 40;
}

static void the_same_seed_gives_the_same_run(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 10; seed++)
        assert_int_equal(run_of(seed), run_of(seed));
    assert_int_not_equal(run_of(1), run_of(2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)

static void a_flush_that_failed_is_not_made_good_by_a_later_one(void **state)
{
    (void)state;
    fabric_file file = little_disk_open(&little, "/tmp/a", CREATE);
    assert_int_equal(little_disk_write(&little, file, 0, "abc", 3), FABRIC_OK);
    struct fabric_io io = {.op = FABRIC_IO_FLUSH, .file = file};
    disk_set_error(little.disk, true);
    assert_int_equal(little_disk_do(&little, &io).error, ERR_MEDIA_FAILED);
    disk_set_error(little.disk, false);
    assert_int_equal(little_disk_do(&little, &io).error, ERR_MEDIA_FAILED);
    io.file = little_disk_open(&little, "/tmp/a", 0);
    assert_int_equal(little_disk_do(&little, &io).error, FABRIC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_flush_that_failed_is_not_made_good_by_a_later_one),
        TEST(the_defaults_are_filled_in),
        TEST(a_file_is_opened_as_the_flags_say),
        TEST(a_read_gives_what_was_written_and_is_short_only_at_the_end),
        TEST(direct_requests_are_aligned),
        TEST(a_buffer_is_lent_until_its_write_is_done),
        TEST(every_accepted_request_is_reported_once),
        TEST(a_full_queue_refuses),
        TEST(a_close_waits_for_what_is_outstanding_on_its_file),
        TEST(a_file_that_is_not_open_aborts),
        TEST(an_error_is_told_and_goes_away),
        TEST(a_full_disk_refuses_what_needs_room_only),
        TEST(a_slow_disk_takes_the_extra_time),
        TEST(what_a_dead_program_had_under_way_is_carried_out_or_not),
        TEST(a_placed_file_is_there_and_durable_with_its_folders),
        TEST(what_can_not_be_placed_is_refused),
        TEST(a_rename_that_waits_does_not_undo_a_placed_file),
        TEST(the_same_seed_gives_the_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
