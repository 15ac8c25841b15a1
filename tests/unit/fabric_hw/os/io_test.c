/* SPDX-License-Identifier: Apache-2.0 */
/* What the conformance suite cannot see of real storage: flushes that fail, locks of others, a
 * loop that is somebody else's. HA-1.1. Each runs with io_uring and with threads. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric_hw/os/io.h"
#include "tests/support/large_pages.h"
#include "tests/support/os_bed.h"

#define MEGABYTE ((size_t)1 << 20)

static struct os_bed bed;

static int setup(void **state)
{
    const struct os_fabric_options threads = {.no_io_uring = true};
    os_bed_open(&bed, *state ? &threads : NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return 0;
}

static struct fabric_io_done run(struct fabric_io io)
{
    assert_int_equal(fabric_io_submit(bed.f, &io), FABRIC_OK);
    struct fabric_io_done done = os_bed_await(&bed, FABRIC_EVENT_IO_DONE).u.io;
    assert_int_equal(done.op, io.op);
    return done;
}

static fabric_file open_file(const char *path, uint32_t flags)
{
    struct fabric_io_done done =
        run((struct fabric_io){.op = FABRIC_IO_OPEN, .path = path, .flags = flags});
    assert_int_equal(done.error, FABRIC_OK);
    return done.file;
}

static enum fabric_error simple(enum fabric_io_op op, fabric_file file)
{
    return run((struct fabric_io){.op = op, .file = file}).error;
}

/* The file is swapped for one that cannot be flushed, and back: the kernel would say success. */
static void after_a_flush_that_failed_every_later_one_fails(void **state)
{
    fabric_file file = open_file(os_bed_path(&bed, "/f"), FABRIC_IO_CREATE);
    const struct os_file *inside = os_handles_get(&os_of(bed.f)->handles, file.id, OS_FILE);
    int kept = dup(inside->fd), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)state;
    assert_int_equal(simple(FABRIC_IO_FLUSH, file), FABRIC_OK);
    assert_true(dup2(null, inside->fd) >= 0);
    assert_int_not_equal(simple(FABRIC_IO_FLUSH, file), FABRIC_OK);
    assert_true(dup2(kept, inside->fd) >= 0);
    assert_int_equal(simple(FABRIC_IO_FLUSH, file), ERR_MEDIA_FAILED);
    assert_int_equal(simple(FABRIC_IO_FLUSH, file), ERR_MEDIA_FAILED);
    assert_int_equal(simple(FABRIC_IO_CLOSE, file), FABRIC_OK);
    file = open_file(os_bed_path(&bed, "/f"), 0);
    assert_int_equal(simple(FABRIC_IO_FLUSH, file), FABRIC_OK);
    close(kept);
    close(null);
}

static void many_flushes_are_each_answered_once(void **state)
{
    fabric_file file = open_file(os_bed_path(&bed, "/f"), FABRIC_IO_CREATE);
    bool seen[50] = {false};
    (void)state;
    for (uint64_t i = 0; i < 50; i++) {
        const struct fabric_io io = {.op = FABRIC_IO_FLUSH, .file = file, .cookie = i};
        assert_int_equal(fabric_io_submit(bed.f, &io), FABRIC_OK);
    }
    const struct fabric_io last = {.op = FABRIC_IO_CLOSE, .file = file, .cookie = 99};
    assert_int_equal(fabric_io_submit(bed.f, &last), FABRIC_OK);
    for (size_t i = 0; i < 50; i++) {
        struct fabric_io_done done = os_bed_await(&bed, FABRIC_EVENT_IO_DONE).u.io;
        assert_true(done.cookie < 50 && !seen[done.cookie]);
        seen[done.cookie] = true;
    }
    assert_int_equal(os_bed_await(&bed, FABRIC_EVENT_IO_DONE).u.io.cookie, 99);
}

/* Polls everything; times never go back, whatever overtook what. */
static size_t poll_all(struct fabric_event *events, size_t capacity, uint64_t *last)
{
    size_t count = 0;
    os_of(bed.f)->now = os_clock(); /* as any event outside poll does */
    assert_int_equal(fabric_poll(bed.f, events, capacity, UINT64_MAX, &count), FABRIC_OK);
    for (size_t i = 0; i < count; i++) {
        assert_true(events[i].time >= *last);
        *last = events[i].time;
    }
    return count;
}

/* Streams may have megabytes to be taken: between two events storage has its turn, and what
 * io_uring has done is told before events that were there earlier. */
static void storage_does_not_wait_for_all_that_has_come(void **state)
{
    enum { TIMERS = 4, MOST = 2 * TIMERS };
    static uint8_t bytes[4096];
    struct fabric_event events[MOST];
    fabric_file file = open_file(os_bed_path(&bed, "/f"), FABRIC_IO_CREATE);
    fabric_timer timer;
    uint64_t last = 0;
    (void)state;
    for (uint64_t i = 0; i < TIMERS; i++)
        assert_int_equal(fabric_timer_set(bed.f, 0, i, &timer), FABRIC_OK);
    assert_int_equal(poll_all(events, MOST, &last), 1);
    const struct fabric_io io = {
        .op = FABRIC_IO_WRITE, .file = file, .buf = bytes, .length = sizeof(bytes)};
    assert_int_equal(fabric_io_submit(bed.f, &io), FABRIC_OK);
    size_t count = poll_all(events, MOST, &last);
    bool done = events[0].type == FABRIC_EVENT_IO_DONE;
    assert_int_equal(count, done ? 2 : 1);
    struct pollfd watched = {os_of(bed.f)->epoll, POLLIN, 0};
    if (!done && os_of(bed.f)->io->ring) {
        assert_int_equal(poll(&watched, 1, 20000), 1);
        assert_int_equal(poll_all(events, MOST, &last), 2);
        assert_int_equal(events[0].type, FABRIC_EVENT_IO_DONE);
        done = true;
    }
    if (!done)
        os_bed_await(&bed, FABRIC_EVENT_IO_DONE);
    assert_int_equal(simple(FABRIC_IO_CLOSE, file), FABRIC_OK);
}

static void a_lock_of_another_process_is_busy(void **state)
{
    int other = open(os_bed_path(&bed, "/f"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    (void)state;
    assert_int_equal(flock(other, LOCK_EX), 0);
    const struct fabric_io io = {
        .op = FABRIC_IO_OPEN, .path = os_bed_path(&bed, "/f"), .flags = FABRIC_IO_LOCK};
    assert_int_equal(run(io).error, ERR_BUSY);
    close(other);
    assert_int_equal(run(io).error, FABRIC_OK);
}

static void a_full_medium_is_said_by_name(void **state)
{
    fabric_file file = open_file("/dev/full", 0);
    (void)state;
    struct fabric_io_done done = run((struct fabric_io){
        .op = FABRIC_IO_WRITE, .file = file, .buf = (void *)(uintptr_t) "abc", .length = 3});
    assert_int_equal(done.error, ERR_STORE_FULL);
    assert_int_equal(done.length, 0);
}

static void large_blocks_past_the_cache_come_back_as_they_were(void **state)
{
    uint8_t *block = aligned_alloc(4096, 2 * MEGABYTE), *copy = aligned_alloc(4096, 2 * MEGABYTE);
    const char *path = os_bed_path(&bed, "/f");
    (void)state;
    struct fabric_io_done opened = run((struct fabric_io){
        .op = FABRIC_IO_OPEN, .path = path, .flags = FABRIC_IO_CREATE | FABRIC_IO_DIRECT});
    if (opened.error == ERR_INVALID_ARGUMENT || opened.error == ERR_NOT_SUPPORTED) {
        free(block);
        free(copy);
        skip(); /* this file system has no O_DIRECT */
    }
    for (size_t i = 0; i < 2 * MEGABYTE; i++)
        block[i] = (uint8_t)(i * 31 + (i >> 12));
    struct fabric_io io = {
        .op = FABRIC_IO_WRITE, .file = opened.file, .buf = block, .length = 2 * MEGABYTE};
    assert_int_equal(run(io).length, 2 * MEGABYTE);
    io.op = FABRIC_IO_READ;
    io.buf = copy;
    assert_int_equal(run(io).length, 2 * MEGABYTE);
    assert_memory_equal(block, copy, 2 * MEGABYTE);
    io.offset = 2 * MEGABYTE - 4096;
    assert_int_equal(run(io).length, 4096); /* short at the end */
    free(block);
    free(copy);
}

/* How many of the file's pages, from page 0 on, the page cache holds. */
static size_t cached_pages(const char *path, size_t pages)
{
    unsigned char *in = calloc(pages, 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *view = mmap(NULL, pages * 4096, PROT_READ, MAP_SHARED, fd, 0);
    size_t count = 0;
    assert_true(fd >= 0 && view != MAP_FAILED);
    assert_int_equal(mincore(view, pages * 4096, in), 0);
    for (size_t i = 0; i < pages; i++)
        count += in[i] & 1u;
    munmap(view, pages * 4096);
    close(fd);
    free(in);
    return count;
}

static void aligned_writes_go_past_the_cache_and_reads_through_it_where_that_is_wished(void **state)
{
    static uint8_t block[16 * 4096] __attribute__((aligned(4096))), copy[sizeof block];
    const char *path = os_bed_path(&bed, "/f");
    (void)state;
    int there = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
    if (there < 0)
        skip(); /* this file system has no O_DIRECT */
    close(there);
    fabric_file file = open_file(path, FABRIC_IO_DIRECT_WRITES);
    memset(block, 'a', sizeof block);
    struct fabric_io io = {
        .op = FABRIC_IO_WRITE, .file = file, .buf = block, .length = sizeof block};
    assert_int_equal(run(io).length, sizeof block);
    assert_int_equal(cached_pages(path, 16), 0);
    io = (struct fabric_io){
        .op = FABRIC_IO_WRITE, .file = file, .buf = (void *)(uintptr_t) "xyz", .length = 3};
    io.offset = 4095;
    assert_int_equal(run(io).length, 3);
    io = (struct fabric_io){.op = FABRIC_IO_READ, .file = file, .buf = copy, .length = sizeof copy};
    assert_int_equal(run(io).length, sizeof copy);
    memcpy(block + 4095, "xyz", 3);
    assert_memory_equal(block, copy, sizeof copy);
    assert_int_equal(cached_pages(path, 16), 16);
    assert_int_equal(simple(FABRIC_IO_FLUSH, file), FABRIC_OK);
    assert_int_equal(simple(FABRIC_IO_CLOSE, file), FABRIC_OK);
}

/* The file past the cache is swapped for one that takes numbers alone. */
static void a_write_that_is_refused_past_the_cache_goes_through_it(void **state)
{
    static uint8_t block[4096] __attribute__((aligned(4096))) = "abc";
    char found[4] = "";
    const char *path = os_bed_path(&bed, "/f");
    fabric_file file = open_file(path, FABRIC_IO_CREATE | FABRIC_IO_DIRECT_WRITES);
    struct os_file *inside = os_handles_get(&os_of(bed.f)->handles, file.id, OS_FILE);
    (void)state;
    if (inside->direct_fd >= 0)
        close(inside->direct_fd);
    inside->direct_fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    const struct fabric_io io = {
        .op = FABRIC_IO_WRITE, .file = file, .buf = block, .length = sizeof block};
    assert_true(inside->direct_fd >= 0);
    struct fabric_io_done done = run(io);
    assert_int_equal(done.error, FABRIC_OK);
    assert_int_equal(done.length, sizeof block);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, found, 3, 0), 3);
    assert_string_equal(found, "abc");
    close(fd);
}

static void a_loop_of_the_callers_hears_of_the_end(void **state)
{
    struct pollfd watched = {os_fabric_descriptor(bed.f), POLLIN, 0};
    fabric_file file = open_file(os_bed_path(&bed, "/f"), FABRIC_IO_CREATE);
    struct fabric_event event;
    (void)state;
    const struct fabric_io io = {.op = FABRIC_IO_SIZE, .file = file};
    const struct fabric_io write = {
        .op = FABRIC_IO_WRITE, .file = file, .buf = (void *)(uintptr_t) "a", .length = 1};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(fabric_io_submit(bed.f, i ? &write : &io), FABRIC_OK);
        do {
            assert_int_equal(poll(&watched, 1, 20000), 1);
        } while (!os_bed_next(&bed, 0, &event));
        assert_int_equal(event.type, FABRIC_EVENT_IO_DONE);
    }
}

/* Their buffers are the caller's again when the fabric is gone (the sanitizers look). */
static void ending_with_requests_under_way_gives_the_buffers_back(void **state)
{
    uint8_t *block = calloc(1, MEGABYTE);
    fabric_file file = open_file(os_bed_path(&bed, "/f"), FABRIC_IO_CREATE);
    (void)state;
    for (uint64_t i = 0; i < 64; i++) {
        const struct fabric_io io = {.op = i % 8 == 7 ? FABRIC_IO_FLUSH : FABRIC_IO_WRITE,
                                     .file = file,
                                     .buf = block,
                                     .offset = i * MEGABYTE,
                                     .length = MEGABYTE};
        assert_int_equal(fabric_io_submit(bed.f, &io), FABRIC_OK);
    }
    const struct fabric_io close = {.op = FABRIC_IO_CLOSE, .file = file};
    assert_int_equal(fabric_io_submit(bed.f, &close), FABRIC_OK);
    assert_int_equal(fabric_destroy(bed.f), FABRIC_OK);
    bed.f = NULL;
    free(block);
}

static void memory_that_a_file_will_move_is_asked_for_in_large_pages(void **state)
{
    uint8_t *large = large_pages_new();
    (void)state;
    if (!large)
        skip(); /* a kernel without them */
    const struct fabric_io io = {.op = FABRIC_IO_OPEN,
                                 .path = os_bed_path(&bed, "/f"),
                                 .flags = FABRIC_IO_CREATE,
                                 .buf = large,
                                 .length = LARGE_PAGES_SIZE - 8192};
    assert_false(large_pages_wanted(large));
    const struct fabric_io_done done = run(io);
    assert_int_equal(done.error, FABRIC_OK);
    assert_true(large_pages_wanted(large));
    assert_int_equal(simple(FABRIC_IO_CLOSE, done.file), FABRIC_OK);
    large_pages_free(large);
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, setup, teardown),                                        \
    {                                                                                              \
#name "_with_threads", name, setup, teardown, &bed                                         \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(after_a_flush_that_failed_every_later_one_fails),
        TEST(many_flushes_are_each_answered_once),
        TEST(storage_does_not_wait_for_all_that_has_come),
        TEST(a_lock_of_another_process_is_busy),
        TEST(a_full_medium_is_said_by_name),
        TEST(large_blocks_past_the_cache_come_back_as_they_were),
        TEST(aligned_writes_go_past_the_cache_and_reads_through_it_where_that_is_wished),
        TEST(a_write_that_is_refused_past_the_cache_goes_through_it),
        TEST(a_loop_of_the_callers_hears_of_the_end),
        TEST(memory_that_a_file_will_move_is_asked_for_in_large_pages),
        TEST(ending_with_requests_under_way_gives_the_buffers_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
