/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tests/support/little_disk.h"

#define SEEDS 40

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

static void restart_world(uint64_t seed)
{
    little_disk_down(&little);
    little_disk_up(&little, seed, NULL);
}

static enum fabric_error make(const char *path)
{
    return little_disk_name(&little, FABRIC_IO_MKDIR, path, NULL);
}

static enum fabric_error drop(const char *path)
{
    return little_disk_name(&little, FABRIC_IO_UNLINK, path, NULL);
}

static enum fabric_error sync_dir(const char *path)
{
    return little_disk_name(&little, FABRIC_IO_SYNC_DIR, path, NULL);
}

static enum fabric_error move(const char *path, const char *path2)
{
    return little_disk_name(&little, FABRIC_IO_RENAME, path, path2);
}

static void put(const char *path, const char *text)
{
    little_disk_put(&little, path, text, true);
}

static bool holds(const char *path, const char *text)
{
    return little_disk_holds(&little, path, text);
}

static bool exists(const char *path)
{
    return little_disk_exists(&little, path);
}

static void folders_are_made_listed_and_removed(void **state)
{
    char names[64];
    struct fabric_io list = {.op = FABRIC_IO_LIST, .path = "/d", .buf = names, .length = 64};
    (void)state;
    assert_int_equal(little_disk_do(&little, &list).error, ERR_NOT_FOUND);
    assert_int_equal(make("/d/"), FABRIC_OK);
    assert_int_equal(make("/d"), ERR_EXISTS);
    assert_int_equal(make("/"), ERR_EXISTS);
    assert_int_equal(make("/none/d"), ERR_NOT_FOUND);
    assert_int_equal(little_disk_do(&little, &list).length, 0);
    put("/d/b", "1");
    put("/d/B", "2");
    put("/d/a.x", "3");
    assert_int_equal(make("/d/a"), FABRIC_OK);
    put("/d/a/below", "4");
    struct fabric_io_done done = little_disk_do(&little, &list);
    assert_int_equal(done.length, 10);
    assert_memory_equal(names, "B\0a\0a.x\0b\0", 10);
    list.length = 9;
    assert_int_equal(little_disk_do(&little, &list).error, ERR_TOO_LARGE);
    assert_int_equal(drop("/d"), ERR_INVALID_ARGUMENT);
    assert_int_equal(drop("/d/none"), ERR_NOT_FOUND);
    assert_int_equal(drop("/d/a/below"), FABRIC_OK);
    assert_int_equal(drop("/d/a"), FABRIC_OK);
    list.length = sizeof(names);
    assert_int_equal(little_disk_do(&little, &list).length, 8);
}

static void the_top_folder_is_listed_by_its_name(void **state)
{
    char names[64];
    const struct fabric_io list = {.op = FABRIC_IO_LIST, .path = "/", .buf = names, .length = 64};
    (void)state;
    struct fabric_io_done done = little_disk_do(&little, &list);
    assert_int_equal(done.error, FABRIC_OK);
    assert_int_equal(done.length, sizeof("etc\0mnt\0tmp\0var"));
    assert_memory_equal(names, "etc\0mnt\0tmp\0var", done.length);
}

static void a_rename_is_refused_where_it_makes_no_sense(void **state)
{
    char longest[FABRIC_PATH_MAX];
    (void)state;
    put("/tmp/f", "f");
    assert_int_equal(make("/tmp/d"), FABRIC_OK);
    put("/tmp/d/below", "b");
    assert_int_equal(move("/tmp/none", "/tmp/x"), ERR_NOT_FOUND);
    assert_int_equal(move("/tmp/f", "/none/x"), ERR_NOT_FOUND);
    assert_int_equal(move("/tmp/f", "/tmp/f/x"), ERR_NOT_FOUND);
    assert_int_equal(move("/tmp/f", "/tmp/d"), ERR_INVALID_ARGUMENT);
    assert_int_equal(move("/tmp/d", "/tmp/f"), ERR_INVALID_ARGUMENT);
    assert_int_equal(move("/tmp/d", "/tmp/d/d"), ERR_INVALID_ARGUMENT);
    assert_int_equal(move("/tmp/f", "/"), ERR_INVALID_ARGUMENT);
    assert_int_equal(move("/tmp/d", "/tmp/d"), FABRIC_OK);
    memset(longest, 'x', sizeof(longest));
    memcpy(longest, "/tmp/", 5);
    longest[FABRIC_PATH_MAX - 6] = '\0'; /* "/below" has one byte too few */
    assert_int_equal(move("/tmp/d", longest), ERR_INVALID_ARGUMENT);
    longest[FABRIC_PATH_MAX - 7] = '\0';
    assert_int_equal(move("/tmp/d", longest), FABRIC_OK);
}

static void a_folder_is_renamed_with_all_below_it(void **state)
{
    (void)state;
    assert_int_equal(make("/d"), FABRIC_OK);
    assert_int_equal(make("/d/e"), FABRIC_OK);
    put("/d/e/f", "f");
    put("/d-other", "o");
    assert_int_equal(sync_dir("/d/e"), FABRIC_OK);
    assert_int_equal(sync_dir("/d"), FABRIC_OK);
    assert_int_equal(move("/d", "/moved"), FABRIC_OK);
    assert_true(holds("/moved/e/f", "f"));
    assert_true(holds("/d-other", "o"));
    assert_false(exists("/d/e/f"));
    assert_int_equal(sync_dir("/"), FABRIC_OK);
    little_disk_power_cut(&little);
    assert_true(holds("/moved/e/f", "f"));
    assert_false(exists("/d/e/f"));
}

static void a_name_is_durable_after_its_folder_was_synced(void **state)
{
    int survived = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        restart_world(seed);
        put("/tmp/a", "a");
        put("/etc/b", "b");
        assert_int_equal(sync_dir("/tmp"), FABRIC_OK);
        assert_int_equal(drop("/tmp/a"), FABRIC_OK);
        put("/tmp/c", "c");
        assert_int_equal(sync_dir("/tmp"), FABRIC_OK);
        assert_int_equal(sync_dir("/none"), ERR_NOT_FOUND);
        little_disk_power_cut(&little);
        assert_false(exists("/tmp/a"));
        assert_true(holds("/tmp/c", "c"));
        survived += exists("/etc/b"); /* of another folder */
    }
    assert_in_range(survived, 8, SEEDS - 8);
}

static void an_unlink_survives_or_not_without_a_sync(void **state)
{
    int back = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        restart_world(seed);
        put("/tmp/a", "a");
        assert_int_equal(sync_dir("/tmp"), FABRIC_OK);
        assert_int_equal(drop("/tmp/a"), FABRIC_OK);
        assert_false(exists("/tmp/a"));
        little_disk_power_cut(&little);
        back += holds("/tmp/a", "a");
    }
    assert_in_range(back, 8, SEEDS - 8);
}

static void a_rename_is_atomic(void **state)
{
    int renamed = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        restart_world(seed);
        put("/tmp/f", "old");
        put("/tmp/new", "new");
        assert_int_equal(sync_dir("/tmp"), FABRIC_OK);
        assert_int_equal(move("/tmp/new", "/tmp/f"), FABRIC_OK);
        assert_true(holds("/tmp/f", "new"));
        assert_false(exists("/tmp/new"));
        little_disk_power_cut(&little);
        bool done = holds("/tmp/f", "new");
        assert_true(done || holds("/tmp/f", "old"));
        assert_int_equal(exists("/tmp/new"), !done); /* never both, never neither */
        renamed += done;
    }
    assert_in_range(renamed, 8, SEEDS - 8);
}

/* Renames from one folder to another and syncs what is told; whether it survived. */
static bool rename_survives(uint64_t seed, bool from, bool to)
{
    restart_world(seed);
    put("/tmp/f", "f");
    assert_int_equal(sync_dir("/tmp"), FABRIC_OK);
    assert_int_equal(move("/tmp/f", "/etc/f"), FABRIC_OK);
    assert_int_equal(from ? sync_dir("/tmp") : FABRIC_OK, FABRIC_OK);
    assert_int_equal(to ? sync_dir("/etc") : FABRIC_OK, FABRIC_OK);
    little_disk_power_cut(&little);
    bool survived = holds("/etc/f", "f");
    assert_int_equal(holds("/tmp/f", "f"), !survived);
    return survived;
}

static void a_rename_is_durable_after_both_folders_were_synced(void **state)
{
    int from = 0, to = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        assert_true(rename_survives(seed, true, true));
        from += rename_survives(seed, true, false);
        to += rename_survives(seed, false, true);
    }
    assert_in_range(from, 8, SEEDS - 8);
    assert_in_range(to, 8, SEEDS - 8);
}

/* The rename still waits for its other folder when the name it made is unlinked for good. */
static void what_was_unlinked_and_synced_does_not_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        restart_world(seed);
        put("/tmp/f", "f");
        assert_int_equal(sync_dir("/tmp"), FABRIC_OK);
        assert_int_equal(move("/tmp/f", "/etc/f"), FABRIC_OK);
        assert_int_equal(drop("/etc/f"), FABRIC_OK);
        put("/etc/f", "another");
        assert_int_equal(sync_dir("/etc"), FABRIC_OK);
        assert_int_equal(sync_dir("/tmp"), FABRIC_OK);
        assert_true(holds("/etc/f", "another"));
        little_disk_power_cut(&little);
        assert_true(holds("/etc/f", "another"));
        assert_false(exists("/tmp/f"));
    }
}

static void a_lost_folder_takes_what_stands_in_it(void **state)
{
    int lost = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        restart_world(seed);
        assert_int_equal(make("/d"), FABRIC_OK);
        put("/d/f", "f");
        assert_int_equal(sync_dir("/d"), FABRIC_OK); /* but not "/" */
        little_disk_power_cut(&little);
        bool there = sync_dir("/d") == FABRIC_OK;
        assert_int_equal(exists("/d/f"), there);
        if (!there) {
            assert_int_equal(make("/d"), FABRIC_OK);
            assert_false(exists("/d/f"));
            lost++;
        }
    }
    assert_in_range(lost, 8, SEEDS - 8);
}

static void a_removed_folder_does_not_give_its_files_to_the_next(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        restart_world(seed);
        assert_int_equal(make("/d"), FABRIC_OK);
        put("/d/f", "f");
        assert_int_equal(sync_dir("/d"), FABRIC_OK);
        assert_int_equal(sync_dir("/"), FABRIC_OK);
        put("/d/g", "g");
        assert_int_equal(drop("/d/f"), FABRIC_OK);
        assert_int_equal(drop("/d/g"), FABRIC_OK);
        assert_int_equal(drop("/d"), FABRIC_OK);
        assert_int_equal(make("/d"), FABRIC_OK);
        assert_int_equal(sync_dir("/"), FABRIC_OK);
        little_disk_power_cut(&little);
        assert_int_equal(sync_dir("/d"), FABRIC_OK);
        assert_false(exists("/d/f"));
        assert_false(exists("/d/g"));
    }
}

static void a_folder_moves_onto_the_place_of_another(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        restart_world(seed);
        assert_int_equal(make("/a"), FABRIC_OK);
        assert_int_equal(make("/b"), FABRIC_OK);
        put("/a/x", "of a");
        put("/b/x", "of b");
        assert_int_equal(sync_dir("/a"), FABRIC_OK);
        assert_int_equal(sync_dir("/b"), FABRIC_OK);
        assert_int_equal(sync_dir("/"), FABRIC_OK);
        assert_int_equal(drop("/b/x"), FABRIC_OK);
        assert_int_equal(drop("/b"), FABRIC_OK);
        assert_int_equal(move("/a", "/b"), FABRIC_OK);
        put("/b/new", "new");
        if (seed % 2)
            assert_int_equal(sync_dir("/b"), FABRIC_OK); /* rests upon the rename */
        little_disk_power_cut(&little);
        bool moved = holds("/b/x", "of a");
        assert_int_equal(holds("/a/x", "of a"), !moved);
        if (seed % 2)
            assert_true(moved && holds("/b/new", "new"));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(folders_are_made_listed_and_removed),
        TEST(the_top_folder_is_listed_by_its_name),
        TEST(a_rename_is_refused_where_it_makes_no_sense),
        TEST(a_folder_is_renamed_with_all_below_it),
        TEST(a_name_is_durable_after_its_folder_was_synced),
        TEST(an_unlink_survives_or_not_without_a_sync),
        TEST(a_rename_is_atomic),
        TEST(a_rename_is_durable_after_both_folders_were_synced),
        TEST(what_was_unlinked_and_synced_does_not_come_back),
        TEST(a_lost_folder_takes_what_stands_in_it),
        TEST(a_removed_folder_does_not_give_its_files_to_the_next),
        TEST(a_folder_moves_onto_the_place_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
