/* SPDX-License-Identifier: Apache-2.0 */
/* The synchronous form of libmemkv against a real server, from several threads. MK-A1, MK-J5. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/lib_server.h"

#define SIZE 200000u
#define MANY 2500u /* more than can be open */
#define THREADS 4
#define ROUNDS 20

static struct lib_server *server;
static struct memkv_client *client;
static struct memkv_error error;
static int silent; /* a server that says nothing */

static int enter(void **state)
{
    (void)state;
    server = lib_server_start();
    return memkv_open(lib_server_options(lib_server_address(server), NULL), &client, &error);
}

static int leave(void **state)
{
    (void)state;
    memkv_close(client);
    lib_server_stop(server);
    return 0;
}

static int enter_silence(void **state)
{
    char address[64];
    (void)state;
    silent = lib_server_silent(address);
    return memkv_open(lib_server_options(address, "timeout=1h"), &client, &error);
}

static int leave_silence(void **state)
{
    (void)state;
    memkv_close(client);
    return close(silent);
}

static void a_value_is_stored_fetched_found_and_deleted(void **state)
{
    char got[8] = "";
    size_t length = 0;
    bool found = false;
    (void)state;
    assert_int_equal(memkv_put(client, "k", 1, "value", 5, &error), 0);
    assert_int_equal(memkv_get(client, "k", 1, got, sizeof got, &length, &error), 0);
    assert_int_equal(length, 5);
    assert_memory_equal(got, "value", 5);
    assert_int_equal(memkv_get(client, "k", 1, got, 4, &length, NULL), MEMKV_ERR_BUFFER_TOO_SMALL);
    assert_int_equal(length, 5);
    assert_int_equal(memkv_exists(client, "k", 1, &found, &error), 0);
    assert_true(found);
    assert_int_equal(memkv_delete(client, "k", 1, &found, &error), 0);
    assert_true(found);
    assert_int_equal(memkv_delete(client, "k", 1, &found, NULL), 0);
    assert_false(found);
    assert_int_equal(memkv_get(client, "k", 1, got, sizeof got, NULL, &error), MEMKV_ERR_NOT_FOUND);
    assert_string_equal(error.name, "not_found");
    assert_int_equal(memkv_put(client, "k", 1, "", 0, &error), MEMKV_ERR_INVALID_ARGUMENT);
}

static void a_batch_of_any_size_gives_every_completion_in_its_place(void **state)
{
    struct memkv_request *r = calloc(MANY, sizeof *r);
    struct memkv_completion *done = calloc(MANY, sizeof *done);
    char(*keys)[16] = calloc(MANY, sizeof *keys);
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "key%zu", i);
        r[i] = (struct memkv_request){.operation = i % 2 ? MEMKV_EXISTS : MEMKV_PUT,
                                      .key = keys[i - i % 2],
                                      .key_length = strlen(keys[i - i % 2]),
                                      .data = keys[i],
                                      .length = 4,
                                      .cookie = i + 1};
    }
    r[1400].length = MEMKV_MAX_VALUE + 1;
    r[1600].key_length = 0;
    int code = memkv_batch(client, r, MANY, done, &error);
    assert_int_equal(code, MEMKV_ERR_TOO_LARGE);
    assert_string_equal(error.name, "too_large");
    for (size_t i = 0; i < MANY; i++) {
        int expected = i == 1400 ? MEMKV_ERR_TOO_LARGE : i == 1600 ? MEMKV_ERR_INVALID_ARGUMENT : 0;
        assert_int_equal(done[i].error.code, expected);
        assert_int_equal(done[i].cookie, i + 1);
        assert_int_equal(done[i].operation, r[i].operation);
        assert_int_equal(done[i].id, 0);
    }
    assert_int_equal(memkv_batch(client, NULL, 0, NULL, &error), 0);
    free(r);
    free(done);
    free(keys);
}

static void *work(void *context)
{
    uint8_t *value = malloc(SIZE), *got = malloc(SIZE);
    uintptr_t number = (uintptr_t)context, wrong = 0;
    for (uint8_t round = 0; round < ROUNDS; round++) {
        char key[16];
        size_t length = 0;
        snprintf(key, sizeof key, "thread%u", (unsigned)number);
        memset(value, (int)(number * 50 + round), SIZE);
        wrong += memkv_put(client, key, strlen(key), value, SIZE - round, NULL) != 0;
        wrong += memkv_get(client, key, strlen(key), got, SIZE, &length, NULL) != 0;
        wrong += length != SIZE - round || memcmp(value, got, length) != 0;
    }
    free(value);
    free(got);
    return (void *)wrong;
}

static void several_threads_use_one_client(void **state)
{
    pthread_t threads[THREADS];
    void *wrong;
    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

static void registered_memory_can_be_used_by_any_thread(void **state)
{
    static uint8_t value[SIZE];
    struct memkv_memory *memory = NULL;
    struct memkv_completion done;
    (void)state;
    assert_int_equal(memkv_memory_register(client, value, SIZE, &memory, &error), 0);
    struct memkv_request r = {.operation = MEMKV_PUT,
                              .key = "k",
                              .key_length = 1,
                              .data = value + 1,
                              .length = SIZE,
                              .memory = memory};
    assert_int_equal(memkv_batch(client, &r, 1, &done, &error), MEMKV_ERR_INVALID_ARGUMENT);
    assert_string_equal(error.text, "request 0: data is not inside its memory");
    r.length--;
    assert_int_equal(memkv_batch(client, &r, 1, &done, &error), 0);
    assert_int_equal(memkv_memory_unregister(client, memory, &error), 0);
}

static void *wait_for_an_answer(void *context)
{
    struct memkv_request r[MEMKV_MAX_OPEN + 10] = {{.cookie = 0}};
    struct memkv_completion done[MEMKV_MAX_OPEN + 10];
    uintptr_t cancelled = 0;
    (void)context;
    for (size_t i = 0; i < MEMKV_MAX_OPEN + 10; i++)
        r[i] = (struct memkv_request){.operation = MEMKV_EXISTS, .key = "k", .key_length = 1};
    memkv_batch(client, r, MEMKV_MAX_OPEN + 10, done, NULL);
    for (size_t i = 0; i < MEMKV_MAX_OPEN + 10; i++)
        cancelled += done[i].error.code == MEMKV_ERR_CANCELLED;
    return (void *)cancelled;
}

/* What is open, what waits for room, and what comes later. */
static void an_interrupted_client_ends_every_request(void **state)
{
    pthread_t waiting;
    void *cancelled;
    (void)state;
    assert_int_equal(pthread_create(&waiting, NULL, wait_for_an_answer, NULL), 0);
    /* Ends when the thread above has filled the client: then this one waits for room, too long. */
    struct memkv_request r = {.operation = MEMKV_EXISTS, .key = "k", .key_length = 1};
    struct memkv_completion done;
    r.timeout = 20000000;
    while (memkv_batch(client, &r, 1, &done, &error) == MEMKV_ERR_UNREACHABLE)
        ;
    assert_int_equal(error.code, MEMKV_ERR_TIMEOUT);
    assert_string_equal(error.text, "its time was over before it could begin");
    memkv_interrupt(client);
    pthread_join(waiting, &cancelled);
    assert_int_equal((uintptr_t)cancelled, MEMKV_MAX_OPEN + 10);
    assert_int_equal(memkv_batch(client, &r, 1, &done, &error), MEMKV_ERR_CANCELLED);
}

static void a_call_ends_with_its_timeout(void **state)
{
    struct memkv_request r[3] = {{.cookie = 0}};
    struct memkv_completion done[3];
    (void)state;
    for (size_t i = 0; i < 3; i++)
        r[i] = (struct memkv_request){
            .operation = MEMKV_EXISTS, .key = "k", .key_length = 1, .timeout = 1 + i * 10000000};
    assert_int_not_equal(memkv_batch(client, r, 3, done, &error), 0);
    for (size_t i = 0; i < 3; i++) { /* unreachable says why it took too long */
        int code = done[i].error.code;
        assert_true(code == MEMKV_ERR_UNREACHABLE || code == MEMKV_ERR_TIMEOUT);
    }
}

static void the_child_of_a_fork_is_refused_and_takes_nothing_from_its_parent(void **state)
{
    int status = -1;
    (void)state;
    assert_int_equal(memkv_put(client, "k", 1, "value", 5, &error), 0);
    pid_t child = fork();
    if (child == 0) {
        bool found = memkv_put(client, "k", 1, "other", 5, NULL) != MEMKV_ERR_INVALID_ARGUMENT;
        memkv_interrupt(client);
        memkv_close(client);
        _exit(found);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    char got[5];
    assert_int_equal(memkv_get(client, "k", 1, got, 5, NULL, &error), 0);
    assert_memory_equal(got, "value", 5);
}

static void status_is_json_with_the_servers(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(memkv_status(client, &text, &error), 0);
    assert_non_null(strstr(text, lib_server_address(server)));
    memkv_free(text);
}

static void what_is_wrong_with_the_options_is_told_by_open(void **state)
{
    const struct memkv_options nothing = {.size = sizeof nothing, .ignore_environment = true};
    struct memkv_client *none = NULL;
    (void)state;
    assert_int_equal(memkv_open(&nothing, &none, &error), MEMKV_ERR_CONFIG_INVALID);
    assert_null(none);
    assert_true(error.fatal);
    memkv_close(NULL);
    memkv_queue_close(NULL);
}

#define T(test) cmocka_unit_test_setup_teardown(test, enter, leave)
#define SILENT(test) cmocka_unit_test_setup_teardown(test, enter_silence, leave_silence)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_value_is_stored_fetched_found_and_deleted),
        T(a_batch_of_any_size_gives_every_completion_in_its_place),
        T(several_threads_use_one_client),
        T(registered_memory_can_be_used_by_any_thread),
        SILENT(an_interrupted_client_ends_every_request),
        SILENT(a_call_ends_with_its_timeout),
        T(the_child_of_a_fork_is_refused_and_takes_nothing_from_its_parent),
        T(status_is_json_with_the_servers),
        cmocka_unit_test(what_is_wrong_with_the_options_is_told_by_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
