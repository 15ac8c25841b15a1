/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/cli/parts.h"
#include "src/server/program.h"
#include "tests/support/desk.h"

#define OTHER_KEY "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

/* A server on node 0, and a desk at node 1 that knows it. */
static void open_store(struct desk *desk, const char *max_size, bool evicts)
{
    char config[512];
    desk_open(desk);
    desk->world = small_world_new(2);
    snprintf(config, sizeof config,
             "{network: {address: \"0.0.0.0:9900\", auth_key: " PAIR_KEY
             "}, memory: {max_size: %s}, storage: {eviction: {enabled: %s}}}",
             max_size, evicts ? "true" : "false");
    assert_int_equal(small_start(desk->world, PAIR_SERVER, &memkv_server_program, config), 0);
    desk_set(desk, "MEMKV_SERVERS", "10.0.0.1:9900");
    desk_set(desk, "MEMKV_AUTH_KEY", PAIR_KEY);
    desk_set(desk, "MEMKV_TRANSPORT", "tcp");
    desk_set(desk, "MEMKV_TIMEOUT", "2 s");
}

static void open_pair(struct desk *desk, const char *max_size)
{
    open_store(desk, max_size, false);
}

static void a_file_that_was_put_is_got_again(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk, "8 MiB");
    desk_file(&desk, "in", "some bytes\0and more", 19, 0644);
    desk_expect(&desk, "memkv put k in", CLI_DONE, NULL, "k: 19 bytes stored over tcp");
    desk_expect(&desk, "memkv get k out", CLI_DONE, NULL, "k: 19 bytes read over tcp");
    assert_int_equal(desk_find(&desk, "out")->length, 19);
    assert_memory_equal(desk_find(&desk, "out")->data, "some bytes\0and more", 19);
    desk_expect(&desk, "memkv get k -", CLI_DONE, "some bytes", NULL);
    desk_expect(&desk, "memkv put k in --json --transport rdma", CLI_DONE,
                "\"bytes\":19,\"parts\":1,\"transport\":\"rc\",\"server\":\"10.0.0.1:9900\"", NULL);
    desk_expect(&desk, "memkv get k - --json", CLI_USAGE, NULL, "do not share");
    assert_false(desk.busy_poll);
    desk_set(&desk, "MEMKV_BUSY_POLL", "true");
    desk_expect(&desk, "memkv get k out", CLI_DONE, NULL, "k: 19 bytes read over tcp");
    assert_true(desk.busy_poll);
    desk_close(&desk);
}

/* MK-H3: a script can tell what happened. */
static void what_goes_wrong_has_its_exit_code(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk, "1 MiB");
    desk_file(&desk, "in", "x", 1, 0644);
    desk_file(&desk, "empty", "", 0, 0644);
    desk_expect(&desk, "memkv get nope out", CLI_NOT_FOUND, NULL, "not_found");
    assert_null(desk_find(&desk, "out"));
    desk_expect(&desk, "memkv put k none", CLI_CONFIG, NULL,
                "not_found: none: the file to be stored: there is no such file");
    assert_null(strstr(desk.err, "cache miss")); /* the table speaks of blocks */
    desk_expect(&desk, "memkv put k none --json", CLI_CONFIG, "\"exit\":3,", NULL);
    desk_expect(&desk, "memkv put k empty", CLI_CONFIG, NULL, "at least 1 byte");
    desk_set(&desk, "MEMKV_AUTH_KEY", OTHER_KEY);
    desk_expect(&desk, "memkv put k in", CLI_AUTHENTICATION, NULL, "auth_failed");
    desk_set(&desk, "MEMKV_AUTH_KEY", PAIR_KEY);
    desk_expect(&desk, "memkv put k in --server 10.0.0.2:1", CLI_CANNOT_REACH, NULL,
                "unreachable: k: server 10.0.0.2:1: ");
    assert_null(strstr(desk.err, "10.0.0.2:1: 10.0.0.2:1"));
    small_port(desk.world, PAIR_CLIENT)->pkeys[0] = 0x7fff;
    small_port(desk.world, PAIR_SERVER)->pkeys[0] = 0x7fff;
    small_async(desk.world, PAIR_SERVER, FABRIC_ASYNC_PKEY_CHANGE, 1);
    desk_expect(&desk, "memkv put k in --transport rdma", CLI_FABRIC, NULL, "pkey_limited_pair");
    char *big = calloc(1, 2u << 20);
    desk_file(&desk, "big", big, 2u << 20, 0644);
    free(big);
    desk_expect(&desk, "memkv put k big", CLI_STORE, NULL, "store_full");
    desk_expect(&desk, "memkv put k in", CLI_DONE, NULL, NULL);
    desk_expect(&desk, "memkv get k /full", CLI_CONFIG, NULL, "the file to be written");
    desk_close(&desk);
}

static void exists_and_rm_tell_of_each_key(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk, "8 MiB");
    desk_file(&desk, "in", "x", 1, 0644);
    desk_expect(&desk, "memkv put a in", CLI_DONE, NULL, NULL);
    desk_expect(&desk, "memkv put b in", CLI_DONE, NULL, NULL);
    desk_expect(&desk, "memkv exists a b", CLI_DONE, "found a\nfound b\n", NULL);
    desk_expect(&desk, "memkv exists a c", CLI_NOT_FOUND, "found a\nmissing c\n", NULL);
    desk_expect(&desk, "memkv exists a c --json", CLI_NOT_FOUND,
                "\"keys\":{\"a\":true,\"c\":false}", NULL);
    desk_expect(&desk, "memkv rm a c --json", CLI_DONE, "\"removed\":1", NULL);
    desk_expect(&desk, "memkv exists a", CLI_NOT_FOUND, "missing a", NULL);
    desk_expect(&desk, "memkv exists b", CLI_DONE, "found b", NULL);
    desk_close(&desk);
}

static void fill(char *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        data[i] = (char)(i * 31 + i / 4096);
}

/* 16 MiB are one value; one byte more is a file in parts. */
static void a_file_above_the_largest_value_is_stored_in_parts(void **state)
{
    struct desk desk;
    size_t size = CLI_PART + 1;
    char *data = malloc(size);
    (void)state;
    fill(data, size);
    open_pair(&desk, "64 MiB");
    desk_file(&desk, "in", data, CLI_PART, 0644);
    desk_expect(&desk, "memkv put k in -j", CLI_DONE, "\"parts\":1", NULL);
    desk_expect(&desk, "memkv exists k#0", CLI_NOT_FOUND, NULL, NULL);
    desk_file(&desk, "in", data, size, 0644);
    desk_expect(&desk, "memkv put k in -j", CLI_DONE, "\"parts\":2", NULL);
    assert_null(strchr(desk.err, '\r')); /* no terminal */
    desk_expect(&desk, "memkv exists k k#0 k#1", CLI_DONE, NULL, NULL);
    desk.progress = true;
    desk_expect(&desk, "memkv put k in", CLI_DONE, NULL, "\r\033[Kk: 16 of 17 MiB");
    desk_expect(&desk, "memkv get k out", CLI_DONE, NULL, "\r\033[Kk: 17 of 17 MiB");
    assert_non_null(strstr(desk.err, "\r\033[Kmemkv: k: 16777217 bytes read"));
    desk.progress = false;
    assert_int_equal(desk_find(&desk, "out")->length, size);
    assert_memory_equal(desk_find(&desk, "out")->data, data, size);
    desk_file(&desk, "one", "y", 1, 0644); /* the same length, other bytes */
    desk_expect(&desk, "memkv put k#1 one", CLI_DONE, NULL, NULL);
    desk_expect(&desk, "memkv get k out", CLI_MISMATCH, NULL, "not those of one file");
    desk_expect(&desk, "memkv rm k", CLI_DONE, NULL, NULL);
    desk_expect(&desk, "memkv exists k k#0 k#1", CLI_NOT_FOUND,
                "missing k\nmissing k#0\nmissing k#1", NULL);
    free(data);
    desk_close(&desk);
}

/* Somebody's own text is never taken for a list of parts. */
static void only_the_exact_text_is_a_list_of_parts(void **state)
{
    struct cli_parts parts = {CLI_PART + 5ull, 0x12, 0xabcdef}, found;
    char text[CLI_LIST_MAX];
    (void)state;
    size_t length = cli_parts_write(&parts, text);
    assert_true(cli_parts_read(text, length, &found));
    assert_memory_equal(&parts, &found, sizeof parts);
    for (size_t i = 0; i < length; i++) {
        char kept = text[i];
        text[i] = (char)(kept == 'x' ? 'y' : 'x');
        assert_false(cli_parts_read(text, length, &found));
        text[i] = kept;
    }
    assert_false(cli_parts_read(text, length - 1, &found));
    parts.size = CLI_PART; /* that would be one value */
    assert_false(cli_parts_read(text, cli_parts_write(&parts, text), &found));
    char longest[256];
    memset(longest, 'k', sizeof longest);
    longest[253] = '\0';
    char key[CLI_PART_KEY];
    assert_true(cli_parts_key(longest, 9, key));
    assert_false(cli_parts_key(longest, 10, key));
}

static void interrupt(struct desk *desk)
{
    desk->signal = CLI_SIGNAL_INTERRUPT;
}

static void an_interrupted_command_says_so_and_writes_nothing(void **state)
{
    struct desk desk;
    (void)state;
    open_pair(&desk, "8 MiB");
    desk_file(&desk, "in", "x", 1, 0644);
    desk_expect(&desk, "memkv put k in --transport rdma", CLI_DONE, NULL, NULL);
    small_delay(desk.world, 5 * SECOND);
    desk.meanwhile = interrupt;
    desk_expect(&desk, "memkv get k out --transport rdma --timeout 60s", CLI_INTERRUPTED, NULL,
                NULL);
    assert_null(desk_find(&desk, "out"));
    desk_close(&desk);
}

/* What is told to be stored can be read, unless something else is stored. */
static void a_file_that_pushes_itself_out_is_not_stored(void **state)
{
    struct desk desk;
    size_t size = 4 * (size_t)CLI_PART + 1;
    char *data = malloc(size);
    (void)state;
    fill(data, size);
    open_store(&desk, "70 MiB", true);
    desk_file(&desk, "in", data, size, 0644);
    desk_expect(&desk, "memkv put k in", CLI_STORE, NULL,
                "store_full: k: the store gave its first parts away");
    desk_expect(&desk, "memkv exists k", CLI_NOT_FOUND, "missing k", NULL);
    desk_expect(&desk, "memkv put k in -j", CLI_STORE, "\"exit\":9", NULL);
    free(data);
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_was_put_is_got_again),
        cmocka_unit_test(what_goes_wrong_has_its_exit_code),
        cmocka_unit_test(exists_and_rm_tell_of_each_key),
        cmocka_unit_test(a_file_above_the_largest_value_is_stored_in_parts),
        cmocka_unit_test(a_file_that_pushes_itself_out_is_not_stored),
        cmocka_unit_test(only_the_exact_text_is_a_list_of_parts),
        cmocka_unit_test(an_interrupted_command_says_so_and_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
