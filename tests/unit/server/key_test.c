/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "src/server/server.h"
#include "tests/support/memkv_pair.h"
#include "tests/support/small_world_inside.h"

#define NEWER "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define THIRD "ee0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static void reload(struct small_world *w, const char *key)
{
    char command[128];
    snprintf(command, sizeof command, "{\"id\":9,\"op\":\"reload\",\"auth_key\":\"%s\"}", key);
    small_command(w, PAIR_SERVER, command);
    pair_has(small_until(w, PAIR_SERVER, "\"id\":9", SECOND), "\"ok\":true");
}

/* A client with that key in place of the one before. */
static void client_with(struct small_world *w, const char *key, const char *transport)
{
    char config[256];
    snprintf(config, sizeof config,
             "{servers: [\"10.0.0.1:9900\"], auth_key: \"%s\", transport: %s, timeout: 2 s}", key,
             transport);
    small_stop(w, PAIR_CLIENT);
    assert_int_equal(small_start(w, PAIR_CLIENT, &memkv_client_program, config), 0);
}

static const char *get(struct small_world *w)
{
    return pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":100000,\"seed\":7");
}

static void both_keys_are_good_while_the_key_is_changed(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    reload(w, NEWER);
    pair_has(get(w), "\"equal\":true"); /* the connection that is open stays */
    client_with(w, PAIR_KEY, "tcp");
    pair_has(get(w), "\"equal\":true");
    client_with(w, NEWER, "tcp");
    pair_round(w, "tcp_by_choice");
    small_world_free(w);
}

/* Its tag was made with the key of its writer; the reader has another. */
static void a_block_written_under_the_older_key_is_read_under_the_newer(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    reload(w, NEWER);
    client_with(w, NEWER, "tcp");
    pair_has(get(w), "\"equal\":true");
    client_with(w, NEWER, "rdma");
    pair_has(get(w), "\"equal\":true");
    reload(w, THIRD); /* what was written under the first stays readable */
    client_with(w, THIRD, "tcp");
    pair_has(get(w), "\"equal\":true");
    small_world_free(w);
}

/* Each key is known once, however often they change: none drops out for that. */
static void keys_that_change_back_and_forth_push_none_out(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    pair_round(w, "tcp_by_choice");
    for (uint32_t i = 0; i < SERVER_KEYS; i++)
        reload(w, i % 2 ? THIRD : NEWER);
    client_with(w, THIRD, "tcp");
    pair_has(get(w), "\"equal\":true");
    reload(w, PAIR_KEY); /* an old one is a new one again */
    client_with(w, PAIR_KEY, "tcp");
    pair_has(get(w), "\"equal\":true");
    small_world_free(w);
}

/* Who reads with the writer's key gets its tag as it is: the server's loop reads no value for it.
 */
static void the_server_looks_at_a_value_only_for_another_key(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    reload(w, NEWER);
    client_with(w, NEWER, "tcp");
    pair_round(w, "tcp_by_choice");
    struct server *s = w->nodes[PAIR_SERVER]->state;
    struct store_block *b = store_pin(s->lanes[0].store, "k", 1);
    assert_non_null(b);
    *(uint8_t *)store_data(s->lanes[0].store, b) ^= 1;
    store_unpin(s->lanes[0].store, b);
    const char *line = get(w);
    assert_null(strstr(line, "its tag does not fit"));
    pair_has(line, "tag_mismatch"); /* as the reader found */
    client_with(w, PAIR_KEY, "tcp");
    pair_has(get(w), "its tag does not fit");
    small_world_free(w);
}

static void the_key_before_the_one_before_is_refused(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    reload(w, NEWER);
    reload(w, NEWER); /* the same again retires nothing */
    client_with(w, PAIR_KEY, "tcp");
    pair_round(w, "tcp_by_choice");
    reload(w, THIRD);
    client_with(w, PAIR_KEY, "tcp");
    pair_has(get(w), "auth_failed");
    client_with(w, NEWER, "tcp");
    pair_has(get(w), "\"equal\":true");
    small_world_free(w);
}

static void a_key_that_is_none_changes_nothing(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    small_command(w, PAIR_SERVER, "{\"id\":3,\"op\":\"reload\",\"auth_key\":\"12\"}");
    const char *line = small_until(w, PAIR_SERVER, "\"id\":3", SECOND);
    pair_has(line, "\"ok\":false");
    pair_has(line, "64 hexadecimal digits");
    pair_round(w, "tcp_by_choice");
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_keys_are_good_while_the_key_is_changed),
        cmocka_unit_test(a_block_written_under_the_older_key_is_read_under_the_newer),
        cmocka_unit_test(keys_that_change_back_and_forth_push_none_out),
        cmocka_unit_test(the_server_looks_at_a_value_only_for_another_key),
        cmocka_unit_test(the_key_before_the_one_before_is_refused),
        cmocka_unit_test(a_key_that_is_none_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
