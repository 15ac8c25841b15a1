/* SPDX-License-Identifier: Apache-2.0 */
/* Storage and system files. HA-1.1, MK-J4. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/kit.h"

#define BLOCK 4096

static uint64_t next_cookie = 1;

static const struct fabric_io_done *find_done(const struct kit_node *node, uint64_t cookie)
{
    for (size_t i = 0; i < node->event_count; i++) {
        const struct fabric_event *event = &node->events[i];
        if (event->type == FABRIC_EVENT_IO_DONE && event->u.io.cookie == cookie)
            return &event->u.io;
    }
    return NULL;
}

struct waiting {
    struct kit_node *node;
    uint64_t cookie;
};

static bool is_done(void *context)
{
    const struct waiting *w = context;
    return find_done(w->node, w->cookie) != NULL;
}

/* Submits one request and waits for it. */
static struct fabric_io_done run(struct kit *kit, struct fabric_io io)
{
    struct waiting w = {&kit->nodes[0], next_cookie++};
    io.cookie = w.cookie;
    assert_int_equal(fabric_io_submit(w.node->f, &io), FABRIC_OK);
    assert_true(kit_until(kit, is_done, &w));
    struct fabric_io_done done = *find_done(w.node, w.cookie);
    assert_int_equal(done.op, io.op);
    return done;
}

/* A request about names, which stand in the bench's folder; "" is the folder itself. */
static struct fabric_io_done run_named(struct kit *kit, struct fabric_io io)
{
    char path[FABRIC_PATH_MAX], path2[FABRIC_PATH_MAX];
    const char *folder = bench_backend.folder(kit->bench, 0);
    bool itself = io.path[0] == '\0';
    snprintf(path, sizeof(path), "%s%s%s", folder, itself && folder[0] ? "" : "/", io.path);
    snprintf(path2, sizeof(path2), "%s/%s", folder, io.path2 ? io.path2 : "");
    io.path = path;
    io.path2 = io.path2 ? path2 : NULL;
    return run(kit, io);
}

static fabric_file open_file(struct kit *kit, const char *path, uint32_t flags)
{
    struct fabric_io_done done =
        run_named(kit, (struct fabric_io){.op = FABRIC_IO_OPEN, .path = path, .flags = flags});
    assert_int_equal(done.error, FABRIC_OK);
    assert_true(done.file.id != 0);
    return done.file;
}

static struct fabric_io_done transfer(struct kit *kit, enum fabric_io_op op, fabric_file file,
                                      uint64_t offset, uint64_t length)
{
    return run(kit, (struct fabric_io){.op = op,
                                       .file = file,
                                       .buf = kit->nodes[0].buffer,
                                       .offset = offset,
                                       .length = length});
}

static enum fabric_error simple(struct kit *kit, enum fabric_io_op op, fabric_file file)
{
    return run(kit, (struct fabric_io){.op = op, .file = file}).error;
}

static enum fabric_error on_path(struct kit *kit, enum fabric_io_op op, const char *path)
{
    return run_named(kit, (struct fabric_io){.op = op, .path = path}).error;
}

static void what_was_written_is_read_back(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    fabric_file file = open_file(kit, "f", FABRIC_IO_CREATE);
    kit_fill(a->buffer, 3 * BLOCK, 1);
    assert_int_equal(transfer(kit, FABRIC_IO_WRITE, file, BLOCK, 3 * BLOCK).length, 3 * BLOCK);
    memset(a->buffer, 0, KIT_BUFFER);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, BLOCK, 3 * BLOCK).length, 3 * BLOCK);
    assert_true(kit_filled(a->buffer, 3 * BLOCK, 1));
    assert_int_equal(simple(kit, FABRIC_IO_FLUSH, file), FABRIC_OK);
    assert_int_equal(run(kit, (struct fabric_io){.op = FABRIC_IO_SIZE, .file = file}).length,
                     4 * BLOCK);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, 0, BLOCK).length, BLOCK);
    for (size_t i = 0; i < BLOCK; i++)
        assert_int_equal(a->buffer[i], 0); /* never written: a hole */
    assert_int_equal(simple(kit, FABRIC_IO_CLOSE, file), FABRIC_OK);
    file = open_file(kit, "f", 0);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, BLOCK, 3 * BLOCK).length, 3 * BLOCK);
    assert_true(kit_filled(a->buffer, 3 * BLOCK, 1));
}

static void a_read_is_short_only_at_the_end(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    fabric_file file = open_file(kit, "f", FABRIC_IO_CREATE);
    assert_int_equal(transfer(kit, FABRIC_IO_WRITE, file, 0, 100).length, 100);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, 60, 100).length, 40);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, 100, 100).length, 0);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, 5000, 100).length, 0);
    const struct fabric_io cut = {.op = FABRIC_IO_TRUNCATE, .file = file, .length = 50};
    assert_int_equal(run(kit, cut).error, FABRIC_OK);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, 0, 100).length, 50);
    const struct fabric_io trim = {.op = FABRIC_IO_TRIM, .file = file, .length = 50};
    assert_int_equal(run(kit, trim).error, FABRIC_OK);
    assert_int_equal(run(kit, (struct fabric_io){.op = FABRIC_IO_SIZE, .file = file}).length, 50);
}

static void what_is_not_there_is_said_by_name(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    const struct fabric_io missing = {.op = FABRIC_IO_OPEN, .path = "missing"};
    assert_int_equal(run_named(kit, missing).error, ERR_NOT_FOUND);
    assert_int_equal(on_path(kit, FABRIC_IO_UNLINK, "missing"), ERR_NOT_FOUND);
    assert_int_equal(on_path(kit, FABRIC_IO_SYNC_DIR, "missing"), ERR_NOT_FOUND);
    open_file(kit, "f", FABRIC_IO_CREATE | FABRIC_IO_EXCLUSIVE);
    const struct fabric_io again = {
        .op = FABRIC_IO_OPEN, .path = "f", .flags = FABRIC_IO_CREATE | FABRIC_IO_EXCLUSIVE};
    assert_int_equal(run_named(kit, again).error, ERR_EXISTS);
    fabric_file file = open_file(kit, "f", FABRIC_IO_READ_ONLY);
    assert_int_equal(transfer(kit, FABRIC_IO_WRITE, file, 0, 10).error, ERR_READ_ONLY);
}

static void a_locked_file_is_busy_until_it_is_closed(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    fabric_file file = open_file(kit, "f", FABRIC_IO_CREATE | FABRIC_IO_LOCK);
    const struct fabric_io again = {.op = FABRIC_IO_OPEN, .path = "f", .flags = FABRIC_IO_LOCK};
    assert_int_equal(run_named(kit, again).error, ERR_BUSY);
    open_file(kit, "f", 0);
    const struct fabric_io close = {.op = FABRIC_IO_CLOSE, .file = file};
    assert_int_equal(run(kit, close).error, FABRIC_OK);
    open_file(kit, "f", FABRIC_IO_LOCK);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    char path[FABRIC_PATH_MAX + 1];
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[FABRIC_PATH_MAX] = '\0';
    const struct fabric_io io = {.op = FABRIC_IO_MKDIR, .path = path};
    assert_int_equal(fabric_io_submit(kit->nodes[0].f, &io), ERR_INVALID_ARGUMENT);
}

static void folders_hold_names_in_order(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    static const char *const names[] = {"d/z", "d/b", "d/a", "d/B"};
    assert_int_equal(on_path(kit, FABRIC_IO_MKDIR, "d"), FABRIC_OK);
    assert_int_equal(on_path(kit, FABRIC_IO_MKDIR, "d"), ERR_EXISTS);
    for (size_t i = 0; i < 4; i++)
        open_file(kit, names[i], FABRIC_IO_CREATE);
    struct fabric_io io = {.op = FABRIC_IO_LIST, .path = "d", .buf = a->buffer, .length = 4096};
    assert_int_equal(run_named(kit, io).length, 8);
    assert_memory_equal(a->buffer, "B\0a\0b\0z", 8);
    io = (struct fabric_io){.op = FABRIC_IO_RENAME, .path = "d/z", .path2 = "d/a"};
    assert_int_equal(run_named(kit, io).error, FABRIC_OK);
    assert_int_equal(on_path(kit, FABRIC_IO_UNLINK, "d/B"), FABRIC_OK);
    assert_int_equal(on_path(kit, FABRIC_IO_SYNC_DIR, "d"), FABRIC_OK);
    io = (struct fabric_io){.op = FABRIC_IO_LIST, .path = "d", .buf = a->buffer, .length = 4096};
    assert_int_equal(run_named(kit, io).length, 4);
    assert_memory_equal(a->buffer, "a\0b", 4);
}

static void every_request_is_answered_once(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    fabric_file file = open_file(kit, "f", FABRIC_IO_CREATE);
    uint64_t first = next_cookie, accepted = 0;
    size_t before = kit_count(a, FABRIC_EVENT_IO_DONE);
    for (; accepted < 32; accepted++) {
        const struct fabric_io io = {.op = FABRIC_IO_WRITE,
                                     .cookie = next_cookie++,
                                     .file = file,
                                     .buf = a->buffer,
                                     .offset = accepted * BLOCK,
                                     .length = BLOCK};
        if (fabric_io_submit(a->f, &io) != FABRIC_OK)
            break;
    }
    assert_true(accepted > 0);
    assert_int_equal(simple(kit, FABRIC_IO_CLOSE, file), FABRIC_OK); /* they complete first */
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_IO_DONE), before + accepted + 1);
    for (uint64_t i = 0; i < accepted; i++)
        assert_int_equal(find_done(a, first + i)->length, BLOCK);
}

static void what_was_flushed_survives_a_power_cut(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_POWER_LOSS);
    struct kit_node *a = &kit->nodes[0];
    fabric_file file = open_file(kit, "f", FABRIC_IO_CREATE);
    assert_int_equal(on_path(kit, FABRIC_IO_SYNC_DIR, ""), FABRIC_OK);
    kit_fill(a->buffer, 4 * BLOCK, 1);
    transfer(kit, FABRIC_IO_WRITE, file, 0, 4 * BLOCK);
    assert_int_equal(simple(kit, FABRIC_IO_FLUSH, file), FABRIC_OK);
    kit_inject(kit, 0, BENCH_POWER_CUT);
    memset(a->buffer, 0, KIT_BUFFER);
    file = open_file(kit, "f", 0);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, 0, 4 * BLOCK).length, 4 * BLOCK);
    assert_true(kit_filled(a->buffer, 4 * BLOCK, 1));
}

static void what_was_not_flushed_is_old_or_new_by_the_tear_unit(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_POWER_LOSS);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_guarantees g;
    assert_int_equal(fabric_guarantees(a->f, &g), FABRIC_OK);
    size_t unit = g.storage_tear_unit ? g.storage_tear_unit : 1;
    fabric_file file = open_file(kit, "f", FABRIC_IO_CREATE);
    assert_int_equal(on_path(kit, FABRIC_IO_SYNC_DIR, ""), FABRIC_OK);
    memset(a->buffer, 0x11, 8 * BLOCK);
    transfer(kit, FABRIC_IO_WRITE, file, 0, 8 * BLOCK);
    assert_int_equal(simple(kit, FABRIC_IO_FLUSH, file), FABRIC_OK);
    memset(a->buffer, 0x22, 8 * BLOCK);
    transfer(kit, FABRIC_IO_WRITE, file, 0, 8 * BLOCK);
    kit_inject(kit, 0, BENCH_POWER_CUT);
    file = open_file(kit, "f", 0);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, 0, 8 * BLOCK).length, 8 * BLOCK);
    for (size_t i = 0; i < 8 * BLOCK; i += unit) {
        assert_true(a->buffer[i] == 0x11 || a->buffer[i] == 0x22);
        for (size_t j = 0; j < unit; j++)
            assert_int_equal(a->buffer[i + j], a->buffer[i]);
    }
}

static void a_disk_that_fails_says_so_in_the_completion(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, FABRIC_CAP_DISK_FAULT);
    fabric_file file = open_file(kit, "f", FABRIC_IO_CREATE);
    kit_inject(kit, 0, BENCH_DISK_ERROR);
    assert_int_equal(transfer(kit, FABRIC_IO_WRITE, file, 0, BLOCK).error, ERR_MEDIA_FAILED);
    assert_int_equal(transfer(kit, FABRIC_IO_READ, file, 0, BLOCK).error, ERR_MEDIA_FAILED);
    assert_int_equal(simple(kit, FABRIC_IO_FLUSH, file), ERR_MEDIA_FAILED);
}

static void system_files_are_read_whole_or_not_at_all(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct fabric *f = kit->nodes[0].f;
    char text[4096], few[2] = "xy";
    size_t length = 0;
    enum fabric_error error = fabric_sysfile_list(f, "/sys/class/infiniband", text, 4096, &length);
    if (error == ERR_NOT_SUPPORTED)
        kit_skip(kit, "has no system files");
    assert_int_equal(error, FABRIC_OK);
    assert_true(length > 1);
    assert_string_equal(text, bench_backend.device(kit->bench, 0));
    char path[256] = "/sys/class/infiniband/";
    strcat(path, text);
    strcat(path, "/ports/1/pkeys/0");
    assert_int_equal(fabric_sysfile_read(f, path, text, 4096, &length), FABRIC_OK);
    assert_memory_equal(text, "0x", 2);
    assert_int_equal(fabric_sysfile_read(f, path, few, 1, &length), ERR_TOO_LARGE);
    assert_memory_equal(few, "xy", 2);
    assert_int_equal(fabric_sysfile_read(f, "/sys/class/missing", text, 4096, &length),
                     ERR_NOT_FOUND);
    assert_int_equal(fabric_sysfile_list(f, "/sys/class/missing", text, 4096, &length),
                     ERR_NOT_FOUND);
    assert_int_equal(fabric_sysfile_link(f, "/sys/class/missing", text, 4096), ERR_NOT_FOUND);
}

static enum fabric_error put(struct fabric *f, const char *path, const char *text)
{
    return fabric_sysfile_write(f, path, text, strlen(text));
}

static void a_system_file_is_written_only_where_it_may_be(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct fabric *f = kit->nodes[0].f;
    assert_int_equal(put(f, "/sys/class/missing", "1"), ERR_NOT_FOUND);
    assert_int_equal(put(f, "/sys/class/net/missing/mode", "connected"), ERR_NOT_FOUND);
    char path[FABRIC_PATH_MAX];
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/node_guid",
             bench_backend.device(kit->bench, 0));
    enum fabric_error error = put(f, path, "1");
    assert_true(error == ERR_ACCESS_DENIED || error == ERR_NOT_SUPPORTED);
}

int kit_storage_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_written_is_read_back),
        CASE(a_read_is_short_only_at_the_end),
        CASE(what_is_not_there_is_said_by_name),
        CASE(a_locked_file_is_busy_until_it_is_closed),
        CASE(a_path_that_is_too_long_is_refused),
        CASE(folders_hold_names_in_order),
        CASE(every_request_is_answered_once),
        CASE(what_was_flushed_survives_a_power_cut),
        CASE(what_was_not_flushed_is_old_or_new_by_the_tear_unit),
        CASE(a_disk_that_fails_says_so_in_the_completion),
        CASE(a_system_file_is_written_only_where_it_may_be),
        CASE(system_files_are_read_whole_or_not_at_all),
    };
    return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
