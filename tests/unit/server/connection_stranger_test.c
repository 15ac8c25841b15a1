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
#include "tests/support/rogue.h"
#include "tests/support/small_world_inside.h"

/* Those who have not shown the key, or never will. */
static struct rogue r, second;

/* MK-I1, CASE-F4: no address and no key before the proof. */
static void a_stranger_is_told_nothing(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    r.key[5] = 1;
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    assert_true(r.closed);
    assert_int_equal(r.count, 0);
    assert_int_equal(small_logged(w, PAIR_SERVER, "auth_failed: it has another key"), 1);
    small_world_free(w);
}

/* A stranger that answers is counted by what it did; one that only leaves is not. */
static void a_wrong_proof_is_an_authentication_failure(void **state)
{
    (void)state;
    for (int answers = 0; answers < 2; answers++) {
        struct small_world *w = small_world_new(2);
        memset(&r, 0, sizeof r);
        r.raw = true;
        assert_int_equal(pair_server(w, ""), 0);
        rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
        small_run(w, SECOND / 10);
        const uint8_t hello[20 + 41] = {'M', 'K', 'V', '1', 1, 1, [11] = 41, [20] = 1};
        rogue_send_bytes(&r, hello, sizeof hello);
        small_run(w, SECOND / 10);
        const uint8_t proof[20 + 32] = {'M', 'K', 'V', '1', 1, 3, [11] = 32};
        if (answers)
            rogue_send_bytes(&r, proof, sizeof proof);
        else
            small_reset_streams(w, PAIR_CLIENT);
        small_run(w, SECOND / 10);
        small_command(w, PAIR_SERVER, "{\"id\":9,\"op\":\"status\"}");
        pair_has(small_until(w, PAIR_SERVER, "\"id\":9", SECOND),
                 answers ? "\"auth_failures\":1,\"strangers\":0"
                         : "\"auth_failures\":0,\"strangers\":1");
        assert_int_equal(small_logged(w, PAIR_SERVER, "auth_failed"), answers);
        small_world_free(w);
    }
}

/* MK-I2: strangers have places of their own, so they keep nobody out who has the key; and one for
 * whom there is no place is told so by name. */
static void a_full_server_serves_whom_it_has_and_tells_the_others(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(3);
    memset(&r, 0, sizeof r);
    memset(&second, 0, sizeof second);
    r.raw = true;
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT); /* a stranger, and it stays one */
    small_run(w, SECOND / 10);
    struct server *s = w->nodes[PAIR_SERVER]->state;
    s->connection_count += SERVER_MAX_CONNECTIONS - 1; /* as many more clients would leave it */
    rogue_start(w, 2, &second, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    assert_non_null(rogue_last(&second, WIRE_WELCOME));
    assert_false(second.closed);
    small_stop(w, 2);
    small_run(w, SECOND / 10);
    s->connection_count++;
    memset(&second, 0, sizeof second);
    rogue_start(w, 2, &second, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    assert_null(rogue_last(&second, WIRE_WELCOME));
    assert_non_null(rogue_last(&second, WIRE_RESULT));
    assert_int_equal(rogue_last(&second, WIRE_RESULT)->error, ERR_RESOURCES_EXHAUSTED);
    assert_true(second.closed);
    assert_int_equal(small_logged(w, PAIR_SERVER, "all 1024 connections of the server"), 1);
    assert_false(r.closed);
    s->connection_count -= SERVER_MAX_CONNECTIONS;
    small_world_free(w);
}

/* MK-I2: it costs a bounded time. */
static void a_silent_stranger_is_dropped(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    r.raw = true;
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, 9 * SECOND);
    assert_false(r.closed);
    small_run(w, 2 * SECOND);
    assert_true(r.closed);
    assert_int_equal(r.raw_received, 0);
    assert_int_equal(small_logged(w, PAIR_SERVER, "the handshake took too long"), 1);
    assert_int_equal(small_open(w, PAIR_SERVER, "stream"), 0);
    small_world_free(w);
}

static void bytes_that_are_no_frame_end_the_connection(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    r.raw = true;
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    rogue_send_bytes(&r, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
    small_run(w, SECOND / 10);
    assert_true(r.closed);
    assert_int_equal(small_logged(w, PAIR_SERVER, "frame_invalid"), 1);
    small_world_free(w);
}

/* MK-I2, MK-K3: one line for each way to fail, however they alternate. */
static void strangers_that_take_turns_do_not_flood_the_log(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    assert_int_equal(pair_server(w, ""), 0);
    for (unsigned i = 0; i < 8; i++) {
        memset(&r, 0, sizeof r);
        r.raw = true;
        rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
        small_run(w, SECOND / 10);
        if (i % 2)
            rogue_send_bytes(&r, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
        else
            small_reset_streams(w, PAIR_CLIENT);
        small_run(w, SECOND / 10);
        small_stop(w, PAIR_CLIENT);
    }
    assert_int_equal(small_logged(w, PAIR_SERVER, "frame_invalid"), 1);
    assert_int_equal(small_logged(w, PAIR_SERVER, "peer_gone"), 1);
    assert_int_equal(small_logged(w, PAIR_SERVER, " client 10.0.0.2"), 2);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stranger_is_told_nothing),
        cmocka_unit_test(a_wrong_proof_is_an_authentication_failure),
        cmocka_unit_test(a_full_server_serves_whom_it_has_and_tells_the_others),
        cmocka_unit_test(a_silent_stranger_is_dropped),
        cmocka_unit_test(bytes_that_are_no_frame_end_the_connection),
        cmocka_unit_test(strangers_that_take_turns_do_not_flood_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
