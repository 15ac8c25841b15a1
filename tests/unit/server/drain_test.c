/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/memkv_pair.h"

static void drain(struct small_world *w)
{
    small_command(w, PAIR_SERVER, "{\"id\":8,\"op\":\"drain\"}");
}

static void an_idle_server_is_drained_at_once(void **state)
{
    (void)state;
    struct small_world *w = pair_new("tcp");
    pair_round(w, "tcp_by_choice");
    drain(w);
    pair_has(small_until(w, PAIR_SERVER, "drained", SECOND), "\"whole\":true");
    small_world_free(w);
}

/* What was acknowledged is there, what was under way is finished, and nothing new begins. */
static void a_transfer_under_way_is_finished_and_no_other_begins(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    small_delay(w, SECOND);
    small_command(w, PAIR_CLIENT,
                  "{\"id\":71,\"op\":\"put\",\"key\":\"a\",\"size\":5000,\"seed\":1}");
    small_run(w, SECOND / 2);
    drain(w);
    small_command(w, PAIR_CLIENT,
                  "{\"id\":72,\"op\":\"put\",\"key\":\"b\",\"size\":5000,\"seed\":1}");
    pair_has(small_until(w, PAIR_CLIENT, "\"id\":72", 5 * SECOND), "\"error\":\"draining\"");
    pair_has(small_until(w, PAIR_CLIENT, "\"id\":71", 5 * SECOND), "\"ok\":true");
    pair_has(small_until(w, PAIR_SERVER, "drained", 5 * SECOND), "\"whole\":true");
    small_world_free(w);
}

static void a_new_connection_is_refused(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(3);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_round(w, "rdma");
    small_delay(w, 5 * SECOND);
    small_command(w, PAIR_CLIENT,
                  "{\"id\":71,\"op\":\"put\",\"key\":\"a\",\"size\":5000,\"seed\":1}");
    small_run(w, SECOND / 2);
    drain(w);
    assert_int_equal(small_start(w, 2, &memkv_client_program,
                                 "{servers: [\"10.0.0.1:9900\"], auth_key: " PAIR_KEY
                                 ", transport: tcp, timeout: 1 s}"),
                     0);
    small_command(w, 2, "{\"id\":1,\"op\":\"exists\",\"key\":\"k\"}");
    pair_has(small_until(w, 2, "\"id\":1", 3 * SECOND), "\"class\":\"unreachable\"");
    small_world_free(w);
}

/* It is bounded: whoever does not finish is given up. */
static void what_never_ends_is_given_up(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    small_delay(w, 100 * SECOND);
    small_command(w, PAIR_CLIENT,
                  "{\"id\":71,\"op\":\"put\",\"key\":\"a\",\"size\":5000,\"seed\":1}");
    small_run(w, SECOND / 2);
    uint64_t before = small_now(w);
    drain(w);
    pair_has(small_until(w, PAIR_SERVER, "drained", 60 * SECOND), "\"whole\":false");
    assert_true(small_now(w) - before <= 11 * SECOND);
    assert_int_equal(small_logged(w, PAIR_SERVER, "1 transfers are given up"), 1);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_server_is_drained_at_once),
        cmocka_unit_test(a_transfer_under_way_is_finished_and_no_other_begins),
        cmocka_unit_test(a_new_connection_is_refused),
        cmocka_unit_test(what_never_ends_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
