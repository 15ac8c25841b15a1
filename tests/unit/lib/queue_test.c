/* SPDX-License-Identifier: Apache-2.0 */
/* The poll form of libmemkv against a real server. MK-A1, MK-J5. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/lib_server.h"

#define PATIENCE INT64_C(20000000000) /* ns */
#define SIZE 300000u

static struct lib_server *server;
static struct memkv_queue *queue;
static struct memkv_error error;
static uint8_t written[SIZE], got[SIZE];

static int enter(void **state)
{
    (void)state;
    server = lib_server_start();
    for (size_t i = 0; i < SIZE; i++)
        written[i] = (uint8_t)(i * 31 + i / 255);
    memset(got, 0, sizeof got);
    return memkv_queue_open(lib_server_options(lib_server_address(server), NULL), &queue, &error);
}

static int leave(void **state)
{
    (void)state;
    memkv_queue_close(queue);
    lib_server_stop(server);
    return 0;
}

static struct memkv_request request(enum memkv_operation operation, const char *key, void *data,
                                    size_t length)
{
    return (struct memkv_request){.operation = operation,
                                  .key = key,
                                  .key_length = strlen(key),
                                  .data = data,
                                  .length = length,
                                  .cookie = 77};
}

/* Submits one and gives its completion; there is no other. */
static struct memkv_completion complete(struct memkv_queue *q, const struct memkv_request *r)
{
    struct memkv_completion out[2];
    uint64_t id = 0;
    size_t count = 0;
    assert_int_equal(memkv_queue_submit(q, r, 1, &id, &error), 0);
    assert_int_equal(memkv_queue_poll(q, out, 2, PATIENCE, &count, &error), 0);
    assert_int_equal(count, 1);
    assert_int_equal(out[0].cookie, r->cookie);
    assert_int_equal(out[0].id, id);
    assert_int_equal(out[0].operation, r->operation);
    assert_int_equal(memkv_queue_poll(q, &out[1], 1, 0, &count, &error), 0);
    assert_int_equal(count, 0);
    return out[0];
}

static struct memkv_completion do_one(enum memkv_operation operation, const char *key, void *data,
                                      size_t length)
{
    const struct memkv_request r = request(operation, key, data, length);
    return complete(queue, &r);
}

static void a_value_is_stored_fetched_found_and_deleted(void **state)
{
    (void)state;
    struct memkv_completion c = do_one(MEMKV_PUT, "k", written, SIZE);
    assert_int_equal(c.error.code, 0);
    assert_int_equal(c.length, SIZE);
    assert_int_equal(c.transport, MEMKV_OVER_TCP);
    assert_string_equal(c.server, lib_server_address(server));
    c = do_one(MEMKV_GET, "k", got, SIZE);
    assert_int_equal(c.error.code, 0);
    assert_int_equal(c.length, SIZE);
    assert_memory_equal(written, got, SIZE);
    assert_true(do_one(MEMKV_EXISTS, "k", NULL, 0).found);
    assert_true(do_one(MEMKV_DELETE, "k", NULL, 0).found);
    assert_false(do_one(MEMKV_EXISTS, "k", NULL, 0).found);
    assert_false(do_one(MEMKV_DELETE, "k", NULL, 0).found);
    c = do_one(MEMKV_GET, "k", got, SIZE);
    assert_int_equal(c.error.code, MEMKV_ERR_NOT_FOUND);
    assert_string_equal(c.error.name, "not_found");
}

static void a_buffer_too_small_is_told_the_size(void **state)
{
    (void)state;
    do_one(MEMKV_PUT, "k", written, SIZE);
    struct memkv_completion c = do_one(MEMKV_GET, "k", got, SIZE - 1);
    assert_int_equal(c.error.code, MEMKV_ERR_BUFFER_TOO_SMALL);
    assert_int_equal(c.length, SIZE);
    assert_int_equal(got[0] | got[1] | got[SIZE - 2], 0);
}

static bool is_readable(int timeout_ms)
{
    struct pollfd watched = {memkv_queue_descriptor(queue), POLLIN, 0};
    return poll(&watched, 1, timeout_ms) == 1;
}

/* As somebody else's loop does it: poll(2) waits, the queue never does. */
static void the_descriptor_alone_drives_it(void **state)
{
    const struct memkv_request r[] = {request(MEMKV_PUT, "a", written, SIZE),
                                      request(MEMKV_PUT, "b", written, 9),
                                      request(MEMKV_GET, "none", got, SIZE)};
    struct memkv_completion done;
    size_t count, total = 0;
    (void)state;
    assert_int_equal(memkv_queue_submit(queue, r, 3, NULL, &error), 0);
    while (total < 3) {
        assert_true(is_readable(20000));
        assert_int_equal(memkv_queue_poll(queue, &done, 1, 0, &count, &error), 0);
        total += count;
    }
    count = 0;
    while (is_readable(0)) /* what is left tells of nothing */
        assert_int_equal(memkv_queue_poll(queue, &done, 1, 0, &count, &error), 0);
    assert_int_equal(count, 0);
}

static void the_descriptor_tells_of_what_was_refused_at_once(void **state)
{
    const struct memkv_request r[] = {request(MEMKV_PUT, "", written, 1),
                                      request(MEMKV_PUT, "k", written, 0)};
    struct memkv_completion done;
    size_t count;
    (void)state;
    do_one(MEMKV_EXISTS, "k", NULL, 0);
    while (is_readable(0))
        memkv_queue_poll(queue, &done, 1, 0, &count, &error);
    assert_int_equal(memkv_queue_submit(queue, r, 2, NULL, &error), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(is_readable(0));
        assert_int_equal(memkv_queue_poll(queue, &done, 1, 0, &count, &error), 0);
        assert_int_equal(count, 1);
        assert_int_equal(done.error.code, MEMKV_ERR_INVALID_ARGUMENT);
        assert_null(done.server);
    }
}

static void a_cancelled_request_completes_once(void **state)
{
    char address[64];
    struct memkv_completion done[2];
    struct memkv_queue *q;
    uint64_t id;
    size_t count;
    (void)state;
    int silent = lib_server_silent(address);
    const struct memkv_request r = request(MEMKV_PUT, "k", written, SIZE);
    assert_int_equal(memkv_queue_open(lib_server_options(address, NULL), &q, &error), 0);
    assert_int_equal(memkv_queue_submit(q, &r, 1, &id, &error), 0);
    assert_int_equal(memkv_queue_poll(q, done, 2, 0, &count, &error), 0);
    assert_int_equal(count, 0);
    assert_true(memkv_queue_cancel(q, id));
    assert_int_equal(memkv_queue_poll(q, done, 2, PATIENCE, &count, &error), 0);
    assert_int_equal(count, 1);
    assert_int_equal(done[0].error.code, MEMKV_ERR_CANCELLED);
    assert_int_equal(done[0].id, id);
    assert_false(memkv_queue_cancel(q, id));
    memkv_queue_close(q);
    close(silent);
}

static void a_request_ends_with_its_timeout(void **state)
{
    char address[64];
    struct memkv_queue *q;
    (void)state;
    int silent = lib_server_silent(address);
    struct memkv_request r = request(MEMKV_GET, "k", got, SIZE);
    r.timeout = 20000000;
    assert_int_equal(memkv_queue_open(lib_server_options(address, "timeout=1h"), &q, &error), 0);
    struct memkv_completion c = complete(q, &r);
    assert_int_equal(c.error.code, MEMKV_ERR_UNREACHABLE); /* that is why it took too long */
    assert_true(c.error.retriable);
    memkv_queue_close(q);
    close(silent);
}

static void closing_gives_back_the_memory_of_what_is_open(void **state)
{
    char address[64];
    struct memkv_queue *q;
    struct memkv_memory *memory;
    uint8_t *block = malloc(SIZE);
    (void)state;
    int silent = lib_server_silent(address);
    assert_int_equal(memkv_queue_open(lib_server_options(address, NULL), &q, &error), 0);
    assert_int_equal(memkv_queue_memory_register(q, block, SIZE, &memory, &error), 0);
    struct memkv_request r[] = {request(MEMKV_GET, "k", block, SIZE),
                                request(MEMKV_PUT, "k", written, SIZE)};
    r[0].memory = memory;
    assert_int_equal(memkv_queue_submit(q, r, 2, NULL, &error), 0);
    memkv_queue_close(q);
    free(block); /* who touches it now is found by the address sanitizer */
    close(silent);
}

static void more_than_can_be_open_are_refused_and_change_nothing(void **state)
{
    static struct memkv_request r[MEMKV_MAX_OPEN];
    static struct memkv_completion done[MEMKV_MAX_OPEN];
    size_t count, total = 0;
    (void)state;
    for (size_t i = 0; i < MEMKV_MAX_OPEN; i++)
        r[i] = request(MEMKV_EXISTS, "k", NULL, 0);
    assert_int_equal(memkv_queue_submit(queue, r, MEMKV_MAX_OPEN, NULL, &error), 0);
    assert_int_equal(memkv_queue_submit(queue, r, 1, NULL, &error), MEMKV_ERR_QUEUE_FULL);
    assert_string_equal(error.name, "queue_full");
    while (total < MEMKV_MAX_OPEN) {
        assert_int_equal(memkv_queue_poll(queue, done, MEMKV_MAX_OPEN, PATIENCE, &count, &error),
                         0);
        assert_true(count > 0);
        total += count;
    }
    assert_int_equal(total, MEMKV_MAX_OPEN);
    assert_int_equal(do_one(MEMKV_PUT, "k", written, 1).error.code, 0);
}

static void a_request_that_makes_no_sense_refuses_the_whole_batch(void **state)
{
    struct memkv_request r[2] = {request(MEMKV_PUT, "k", written, 1),
                                 request(MEMKV_PUT, "k", NULL, 1)};
    struct memkv_completion done;
    size_t count;
    (void)state;
    assert_int_equal(memkv_queue_submit(queue, r, 2, NULL, &error), MEMKV_ERR_INVALID_ARGUMENT);
    assert_string_equal(error.text, "request 1: data is null, its length is not 0");
    r[1] = request((enum memkv_operation)9, "k", written, 1);
    assert_int_equal(memkv_queue_submit(queue, r, 2, NULL, &error), MEMKV_ERR_INVALID_ARGUMENT);
    r[1] = r[0];
    r[1].reserved[3] = 1;
    assert_int_equal(memkv_queue_submit(queue, r, 2, NULL, &error), MEMKV_ERR_INVALID_ARGUMENT);
    assert_int_equal(memkv_queue_submit(queue, r, 0, NULL, &error), MEMKV_ERR_INVALID_ARGUMENT);
    assert_int_equal(memkv_queue_poll(queue, &done, 1, 0, &count, &error), 0);
    assert_int_equal(count, 0);
    assert_false(do_one(MEMKV_EXISTS, "k", NULL, 0).found);
}

static void registered_memory_is_used_within_its_bounds_and_not_given_up_in_use(void **state)
{
    struct memkv_memory *memory;
    struct memkv_completion done;
    size_t count;
    (void)state;
    assert_int_equal(memkv_queue_memory_register(queue, written, 0, &memory, &error),
                     MEMKV_ERR_INVALID_ARGUMENT);
    assert_int_equal(memkv_queue_memory_register(queue, written, SIZE - 1, &memory, &error), 0);
    struct memkv_request r = request(MEMKV_PUT, "k", written, SIZE);
    r.memory = memory;
    assert_int_equal(memkv_queue_submit(queue, &r, 1, NULL, &error), MEMKV_ERR_INVALID_ARGUMENT);
    assert_string_equal(error.text, "request 0: data is not inside its memory");
    r.data = written + 1;
    r.length = SIZE - 2;
    assert_int_equal(memkv_queue_submit(queue, &r, 1, NULL, &error), 0);
    assert_int_equal(memkv_queue_memory_unregister(queue, memory, &error),
                     MEMKV_ERR_INVALID_ARGUMENT);
    assert_int_equal(memkv_queue_poll(queue, &done, 1, PATIENCE, &count, &error), 0);
    assert_int_equal(done.error.code, 0);
    assert_int_equal(memkv_queue_memory_unregister(queue, memory, &error), 0);
}

static void a_namespace_goes_before_every_key(void **state)
{
    struct memkv_options options = *lib_server_options(lib_server_address(server), NULL);
    struct memkv_queue *named;
    (void)state;
    options.key_prefix = "model/";
    assert_int_equal(memkv_queue_open(&options, &named, &error), 0);
    const struct memkv_request put = request(MEMKV_PUT, "k", written, 5);
    assert_int_equal(complete(named, &put).error.code, 0);
    memkv_queue_close(named);
    assert_true(do_one(MEMKV_EXISTS, "model/k", NULL, 0).found);
    assert_false(do_one(MEMKV_EXISTS, "k", NULL, 0).found);
}

/* What the child of a fork sees of its parent's queue; the number of what is wrong. */
static int look_from_the_child(void)
{
    const struct memkv_request r = request(MEMKV_EXISTS, "k", NULL, 0);
    struct memkv_completion done;
    struct memkv_error e;
    size_t count;
    char *text;
    if (memkv_queue_submit(queue, &r, 1, NULL, &e) != MEMKV_ERR_INVALID_ARGUMENT)
        return 1;
    if (!strstr(e.text, "is its child") || memkv_queue_descriptor(queue) != -1)
        return 2;
    if (memkv_queue_poll(queue, &done, 1, 0, &count, NULL) != MEMKV_ERR_INVALID_ARGUMENT)
        return 3;
    if (memkv_queue_cancel(queue, 1) || !memkv_queue_status(queue, &text, NULL))
        return 4;
    memkv_queue_close(queue);
    return 0;
}

static void the_child_of_a_fork_is_refused_and_takes_nothing_from_its_parent(void **state)
{
    int status = -1;
    (void)state;
    assert_int_equal(do_one(MEMKV_PUT, "k", written, SIZE).error.code, 0);
    pid_t child = fork();
    if (child == 0)
        _exit(look_from_the_child());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(do_one(MEMKV_GET, "k", got, SIZE).error.code, 0);
    assert_memory_equal(written, got, SIZE);
}

static void status_is_json_with_the_servers(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(memkv_queue_status(queue, &text, &error), 0);
    assert_int_equal(text[0], '{');
    assert_non_null(strstr(text, lib_server_address(server)));
    memkv_free(text);
}

#define T(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_value_is_stored_fetched_found_and_deleted),
        T(a_buffer_too_small_is_told_the_size),
        T(the_descriptor_alone_drives_it),
        T(the_descriptor_tells_of_what_was_refused_at_once),
        T(a_cancelled_request_completes_once),
        T(a_request_ends_with_its_timeout),
        T(closing_gives_back_the_memory_of_what_is_open),
        T(more_than_can_be_open_are_refused_and_change_nothing),
        T(a_request_that_makes_no_sense_refuses_the_whole_batch),
        T(registered_memory_is_used_within_its_bounds_and_not_given_up_in_use),
        T(a_namespace_goes_before_every_key),
        T(the_child_of_a_fork_is_refused_and_takes_nothing_from_its_parent),
        T(status_is_json_with_the_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
