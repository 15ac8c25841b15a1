/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "src/server/program.h"
#include "src/server/server.h"
#include "src/wire/gmac.h"
#include "tests/support/desk.h"

/* A server on node 0, and a desk at node 1 that knows it. */
static void open_store(struct desk *desk, const char *max_size, const char *storage)
{
    char config[512];
    desk_open(desk);
    desk->world = small_world_new(4);
    small_chunk(desk->world, 65536);
    snprintf(config, sizeof config,
             "{network: {address: \"0.0.0.0:9900\", auth_key: " PAIR_KEY
             "}, memory: {max_size: %s}, storage: {%s}}",
             max_size, storage);
    assert_int_equal(small_start(desk->world, PAIR_SERVER, &memkv_server_program, config), 0);
    desk_set(desk, "MEMKV_SERVERS", "10.0.0.1:9900");
    desk_set(desk, "MEMKV_AUTH_KEY", PAIR_KEY);
    desk_set(desk, "MEMKV_TRANSPORT", "tcp");
    desk_set(desk, "MEMKV_TIMEOUT", "2 s");
}

static uint64_t blocks(const struct desk *desk)
{
    small_command(desk->world, PAIR_SERVER, "{\"id\":1,\"op\":\"status\"}");
    const char *line = small_until(desk->world, PAIR_SERVER, "\"op\":\"status\"", SECOND);
    json_t *status = json_loads(line, 0, NULL);
    const json_t *store = json_object_get(status, "store");
    uint64_t count = (uint64_t)json_integer_value(json_object_get(store, "blocks"));
    json_decref(status);
    return count;
}

static json_int_t number(const json_t *page, const char *kind, const char *name)
{
    const json_t *operations = json_object_get(page, "operations");
    return json_integer_value(json_object_get(json_object_get(operations, kind), name));
}

static void it_counts_what_it_was_told_to_do_and_leaves_nothing(void **state)
{
    struct desk desk;
    (void)state;
    open_store(&desk, "4 MiB", "mode: memory");
    desk_expect(&desk,
                "memkv bench --size 10KiB --depth 4 --count 300 --warm-up 0s --keys 20 "
                "--mix 1:2:3 --json",
                CLI_DONE, "\"transport\":\"tcp\"", NULL);
    json_t *page = json_loads(desk.out, 0, NULL);
    assert_int_equal(number(page, "total", "count"), 300);
    assert_int_equal(number(page, "put", "count") + number(page, "get", "count") +
                         number(page, "exists", "count"),
                     300);
    assert_in_range(number(page, "exists", "count"), 120, 180); /* a half of them */
    assert_int_equal(number(page, "get", "bytes"), 10240 * number(page, "get", "count"));
    assert_int_equal(number(page, "exists", "bytes"), 0);
    assert_true(number(page, "total", "per_second") > 0);
    const json_t *settings = json_object_get(page, "settings");
    assert_int_equal(json_integer_value(json_object_get(settings, "depth")), 4);
    assert_string_equal(json_string_value(json_object_get(settings, "tags_by")),
                        wire_gmac_library());
    const json_t *client = json_object_get(settings, "client");
    assert_int_equal(json_integer_value(json_object_get(client, "timeout_ns")), 2 * SECOND);
    json_decref(page);
    assert_int_equal(blocks(&desk), 0);
    desk_close(&desk);
}

static void threads_have_keys_of_their_own(void **state)
{
    struct desk desk;
    (void)state;
    open_store(&desk, "4 MiB", "mode: memory");
    desk_expect(&desk,
                "memkv bench --size 4KiB --depth 2 --threads 3 --duration 50ms --warm-up 10ms "
                "--keys 5 --mix 0:1 --keep",
                CLI_DONE, "3 threads, 2 under way on each", NULL);
    assert_int_equal(blocks(&desk), 15);
    desk_close(&desk);
}

static void what_the_store_gave_away_is_counted_apart(void **state)
{
    struct desk desk;
    (void)state;
    open_store(&desk, "1 MiB", "mode: memory");
    desk_expect(
        &desk,
        "memkv bench --size 100KiB --depth 2 --count 100 --warm-up 0s --keys 30 --mix 0:1 --json",
        CLI_DONE, NULL, NULL);
    json_t *page = json_loads(desk.out, 0, NULL);
    assert_true(number(page, "get", "missed") > 50);
    assert_int_equal(number(page, "get", "missed") + number(page, "get", "count"), 100);
    json_decref(page);
    desk_expect(&desk, "memkv bench --size 100KiB --count 100 --warm-up 0s --keys 30 --mix 0:1",
                CLI_DONE, "not found: ", NULL);
    desk_close(&desk);
    open_store(&desk, "1 MiB", "eviction: {enabled: false}");
    desk_expect(&desk,
                "memkv bench --size 100KiB --count 50 --warm-up 0s --keys 30 --mix 1:0 --json",
                CLI_DONE, "\"refused\":", NULL);
    page = json_loads(desk.out, 0, NULL);
    assert_true(number(page, "put", "refused") > 0);
    json_decref(page);
    desk_close(&desk);
}

static void interrupt(struct desk *desk)
{
    static uint64_t begin;
    const uint64_t now = small_now(desk->world);
    begin = begin ? begin : now;
    if (now - begin > SECOND / 50 && now - begin < SECOND / 50 + SECOND / 400)
        desk->signal = CLI_SIGNAL_INTERRUPT;
}

static void a_signal_ends_it_with_what_it_has(void **state)
{
    struct desk desk;
    (void)state;
    open_store(&desk, "4 MiB", "mode: memory");
    desk.meanwhile = interrupt;
    desk_expect(&desk, "memkv bench --size 4KiB --keys 8 --duration 1h --warm-up 1ms",
                CLI_INTERRUPTED, "(interrupted)", NULL);
    assert_non_null(strstr(desk.out, "get "));
    desk.meanwhile = NULL;
    desk_close(&desk);
}

static void corrupt(struct desk *desk)
{
    if (blocks(desk) == 4) /* what is put is there: from now on it is only read */
        small_corrupt(desk->world, 100000);
}

/* Readers over RDMA that verify no tag. */
static void what_comes_back_is_looked_at(void **state)
{
    struct desk desk;
    (void)state;
    open_store(&desk, "4 MiB", "mode: memory");
    desk_set(&desk, "MEMKV_CONFIG", "client.yaml");
    desk_file(&desk, "client.yaml", "verify: none\n", 13, 0600);
    desk_set(&desk, "MEMKV_TRANSPORT", "rdma");
    desk.meanwhile = corrupt;
    desk_expect(&desk, "memkv bench --size 64 --warm-up 0s --duration 1h --keys 4 --mix 0:1",
                CLI_MISMATCH, NULL, "checksum: bench");
    desk_close(&desk);
}

static void wrong_options_are_named(void **state)
{
    struct desk desk;
    (void)state;
    open_store(&desk, "4 MiB", "mode: memory");
    static const char *const lines[][2] = {
        {"--mix 1", "--mix: found '1'"},
        {"--mix 0:0", "--mix: found '0:0'"},
        {"--mix 1:1:1:1", "--mix: found"},
        {"--mix 1:", "--mix: found '1:'"},
        {"--depth 513", "1 to 512 is expected"},
        {"--threads 0", "--threads: found '0'"},
        {"--size 17MiB", "1 byte to 16 MiB"},
        {"--duration 5", "--duration: found '5'"},
        {"--keys -1", "--keys: found '-1'"},
        {"--count x", "--count: found 'x'"},
        {"--size 16MiB --depth 512 --threads 64", "more than 8 GiB"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[128];
        snprintf(line, sizeof line, "memkv bench %s", lines[i][0]);
        desk_expect(&desk, line, CLI_USAGE, NULL, lines[i][1]);
    }
    desk_close(&desk);
}

static void without_a_server_it_says_so_and_ends(void **state)
{
    struct desk desk;
    (void)state;
    open_store(&desk, "4 MiB", "mode: memory");
    small_stop(desk.world, PAIR_SERVER);
    desk_expect(&desk, "memkv bench --duration 1s", CLI_CANNOT_REACH, NULL, "unreachable: bench");
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_counts_what_it_was_told_to_do_and_leaves_nothing),
        cmocka_unit_test(threads_have_keys_of_their_own),
        cmocka_unit_test(what_the_store_gave_away_is_counted_apart),
        cmocka_unit_test(a_signal_ends_it_with_what_it_has),
        cmocka_unit_test(what_comes_back_is_looked_at),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(without_a_server_it_says_so_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
