/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "src/client/program.h"
#include "tests/support/memkv_pair.h"
#include "tests/support/rogue.h"

static void port(struct small_world *w, uint32_t node, enum fabric_port_state state,
                 enum fabric_async_type event)
{
    small_port(w, node)->attr.state = state;
    small_port(w, node)->attr.lid = state == FABRIC_PORT_ACTIVE ? (uint16_t)(node + 1) : 0;
    small_async(w, node, event, 1);
}

/* decisions "auto": waits start_wait, one WARN, then TCP; a rail that was never ready comes up. */
static void auto_waits_at_the_start_and_takes_a_late_rail_up(void **state)
{
    (void)state;
    for (uint32_t node = 0; node < 2; node++) {
        struct small_world *w = small_world_new(2);
        small_port(w, node)->attr.state = FABRIC_PORT_INIT;
        small_port(w, node)->attr.lid = 0;
        assert_int_equal(pair_server(w, ""), 0);
        assert_int_equal(pair_client(w, "auto", ""), 0);
        pair_round(w, "fell_back");
        assert_true(small_now(w) >= 5 * SECOND);
        assert_true(small_now(w) < 6 * SECOND);
        assert_int_equal(small_logged(w, PAIR_CLIENT, "WARN fallback_tcp"), 1);
        port(w, node, FABRIC_PORT_ACTIVE, FABRIC_ASYNC_PORT_ACTIVE);
        small_run(w, SECOND);
        pair_round(w, "rdma");
        assert_int_equal(small_logged(w, PAIR_CLIENT, "WARN fallback_tcp"), 1);
        small_world_free(w);
    }
}

static void a_rail_in_time_is_waited_for(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_port(w, PAIR_CLIENT)->attr.state = FABRIC_PORT_INIT;
    small_port(w, PAIR_CLIENT)->attr.lid = 0;
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "auto", ""), 0);
    small_command(w, PAIR_CLIENT, "{\"id\":1,\"op\":\"put\",\"key\":\"k\",\"size\":9,\"seed\":1}");
    small_run(w, 3 * SECOND);
    port(w, PAIR_CLIENT, FABRIC_PORT_ACTIVE, FABRIC_ASYNC_PORT_ACTIVE);
    pair_has(small_until(w, PAIR_CLIENT, "\"id\":1", SECOND), "\"class\":\"rdma\"");
    assert_int_equal(small_logged(w, PAIR_CLIENT, "fallback_tcp"), 0);
    small_world_free(w);
}

static void a_rail_that_failed_is_not_taken_up_again(void **state)
{
    (void)state;
    struct small_world *w = pair_new("auto");
    pair_round(w, "rdma");
    port(w, PAIR_CLIENT, FABRIC_PORT_DOWN, FABRIC_ASYNC_PORT_ERR);
    small_run(w, SECOND / 10);
    pair_round(w, "fell_back");
    port(w, PAIR_CLIENT, FABRIC_PORT_ACTIVE, FABRIC_ASYNC_PORT_ACTIVE);
    small_run(w, 60 * SECOND);
    pair_round(w, "fell_back");
    assert_int_equal(small_logged(w, PAIR_CLIENT, "WARN fallback_tcp"), 1);
    pair_has(pair_do(w, "\"op\":\"status\""), "\"fell_back\":true");
    small_world_free(w);
}

/* Every order of the events of a link that comes back ends in a working rail (CASE-S1). */
static void a_strict_client_comes_back_after_a_flap(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    for (uint32_t node = 0; node < 2; node++) {
        port(w, node, FABRIC_PORT_DOWN, FABRIC_ASYNC_PORT_ERR);
        small_run(w, SECOND / 10);
        pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "refused:port_down");
        small_port(w, node)->attr.lid = (uint16_t)(0x40 + node);
        small_async(w, node, FABRIC_ASYNC_CLIENT_REREGISTER, 1);
        small_run(w, SECOND / 10);
        small_port(w, node)->attr.state = FABRIC_PORT_ACTIVE;
        small_async(w, node, FABRIC_ASYNC_PORT_ACTIVE, 1);
        small_async(w, node, FABRIC_ASYNC_PORT_ERR, 1); /* late */
        small_run(w, SECOND / 10);
        pair_round(w, "rdma");
    }
    small_world_free(w);
}

static void limited_members_are_served_over_tcp(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_port(w, PAIR_SERVER)->pkeys[0] = 0x7fff;
    small_port(w, PAIR_CLIENT)->pkeys[0] = 0x7fff;
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "auto", ""), 0);
    pair_round(w, "fell_back");
    assert_int_equal(small_logged(w, PAIR_CLIENT,
                                  "fallback_tcp: server 10.0.0.1:9900: "
                                  "pkey_limited_pair"),
                     1);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "\"class\":\"fell_back\"");
    small_world_free(w);
}

/* CASE-F2, F5: no device. */
static void without_a_device_it_is_said_and_can_be_forbidden(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_no_device(w, PAIR_CLIENT);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "refused:rdma_required");
    small_stop(w, PAIR_CLIENT);
    assert_int_equal(pair_client(w, "rdma", "rdma_devices: [mlx5_0]\n"), 0);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "refused:device_removed");
    small_stop(w, PAIR_CLIENT);
    assert_int_equal(pair_client(w, "auto", ""), 0);
    pair_round(w, "fell_back");
    assert_int_equal(small_logged(w, PAIR_CLIENT, "fallback_tcp"), 1);
    small_world_free(w);
}

static void a_server_without_rdma_is_a_refusal(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_no_device(w, PAIR_SERVER);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":1,\"seed\":1"),
             "refused:not_supported");
    small_world_free(w);
}

/* MK-I2, F4: a server that says nothing any more is asked, and then it is lost: within 40 s. */
static void a_silent_server_is_lost(void **state)
{
    (void)state;
    static struct rogue mute;
    struct small_world *w = small_world_new(2);
    memset(&mute, 0, sizeof mute);
    rogue_start(w, PAIR_SERVER, &mute, WIRE_SERVER);
    assert_int_equal(pair_client(w, "tcp", ""), 0);
    small_run(w, SECOND / 10);
    const struct wire_message welcome = {
        .type = WIRE_WELCOME, .lanes = 1, .operations = 9, .max_value = 1 << 20};
    assert_int_equal(rogue_send(&mute, &welcome), 0);
    small_run(w, 29 * SECOND);
    assert_non_null(rogue_last(&mute, WIRE_PING));
    assert_int_equal(small_logged(w, PAIR_CLIENT, "the connection was lost"), 0);
    small_run(w, 11 * SECOND);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "timeout: the connection was lost"), 1);
    small_world_free(w);
}

/* MK-H4: an operation names it at once, and it is logged once. */
static void an_older_server_is_named(void **state)
{
    (void)state;
    static struct rogue old;
    static const uint8_t refusal[20] = {'M', 'K', 'V', '1', 1, 5};
    struct small_world *w = small_world_new(2);
    memset(&old, 0, sizeof old);
    old.raw = true;
    rogue_start(w, PAIR_SERVER, &old, WIRE_SERVER);
    assert_int_equal(pair_client(w, "tcp", ""), 0);
    small_run(w, SECOND / 100);
    rogue_send_bytes(&old, refusal, sizeof refusal);
    small_run(w, SECOND / 100);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""),
             "\"class\":\"refused:unsupported_version\"");
    assert_int_equal(small_logged(w, PAIR_CLIENT, "unsupported_version: cannot connect"), 1);
    small_world_free(w);
}

/* MK-K3: the members of a pool fail together, and one line is enough. */
static void an_unreachable_server_is_said_once(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    assert_int_equal(pair_client(w, "tcp", "num_connections: 8\n"), 0);
    for (unsigned i = 0; i < 8; i++) {
        char command[64];
        snprintf(command, sizeof command, "{\"id\":%u,\"op\":\"exists\",\"key\":\"k\"}", i + 1);
        small_command(w, PAIR_CLIENT, command);
    }
    small_run(w, 3 * SECOND);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "unreachable: cannot connect"), 1);
    assert_int_equal(pair_server(w, ""), 0);
    small_run(w, 30 * SECOND);
    small_stop(w, PAIR_SERVER);
    small_run(w, 3 * SECOND);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "the connection was lost"), 1);
    small_world_free(w);
}

/* Asks for keys until that server has been asked for one; its operation is `id`. */
static const struct wire_message *asked(struct small_world *w, const struct rogue *server,
                                        uint32_t *id)
{
    char command[64];
    const struct wire_message *m = NULL;
    for (*id = 0; !m && *id < 50; small_run(w, SECOND / 100)) {
        snprintf(command, sizeof command, "{\"id\":%u,\"op\":\"exists\",\"key\":\"k%u\"}", *id + 1,
                 *id + 1);
        ++*id;
        small_command(w, PAIR_CLIENT, command);
        small_run(w, SECOND / 100);
        m = rogue_last(server, WIRE_EXISTS);
    }
    assert_non_null(m);
    return m;
}

/* MK-I2: a server that talks without an end does not keep the others' answers waiting. */
static void a_server_that_says_much_lets_others_have_their_turn(void **state)
{
    (void)state;
    static struct rogue many, few;
    struct small_world *w = small_world_new(3);
    char mine[32], others[32];
    uint32_t ids[2];
    memset(&many, 0, sizeof many);
    memset(&few, 0, sizeof few);
    rogue_start(w, PAIR_SERVER, &many, WIRE_SERVER);
    rogue_start(w, 2, &few, WIRE_SERVER);
    const char *config = "servers: [\"10.0.0.1:9900\", \"10.0.0.3:9900\"]\ntransport: tcp\n"
                         "auth_key: " PAIR_KEY "\n";
    assert_int_equal(small_start(w, PAIR_CLIENT, &memkv_client_program, config), 0);
    small_run(w, SECOND / 10);
    const struct wire_message welcome = {
        .type = WIRE_WELCOME, .lanes = 1, .operations = 9, .max_value = 1 << 20};
    assert_int_equal(rogue_send(&many, &welcome), 0);
    assert_int_equal(rogue_send(&few, &welcome), 0);
    small_run(w, SECOND / 10);
    const struct wire_message of_many = {.type = WIRE_RESULT, .id = asked(w, &many, &ids[0])->id};
    const struct wire_message of_few = {.type = WIRE_RESULT, .id = asked(w, &few, &ids[1])->id};
    const struct wire_message ping = {.type = WIRE_PING};
    for (uint32_t i = 0; i < 100; i++) { /* all of it is there when the client first looks */
        assert_int_equal(rogue_send(&many, i == 99 ? &of_many : &ping), 0);
        if (i == 1)
            assert_int_equal(rogue_send(&few, &of_few), 0);
    }
    snprintf(mine, sizeof mine, "\"id\":%u,", ids[0]);
    snprintf(others, sizeof others, "\"id\":%u,", ids[1]);
    assert_non_null(small_until(w, PAIR_CLIENT, others, SECOND));
    assert_non_null(small_until(w, PAIR_CLIENT, mine, SECOND)); /* after it, and not forgotten */
    small_world_free(w);
}

static void another_key_is_named_on_both_sides(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(
        small_start(w, PAIR_CLIENT, &memkv_client_program,
                    "servers: [\"10.0.0.1:9900\"]\n"
                    "auth_key: "
                    "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"),
        0);
    small_run(w, SECOND / 100);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "\"class\":\"refused:auth_failed\"");
    small_run(w, 5 * SECOND);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "auth_failed"), 1); /* once, not every time */
    small_command(w, PAIR_SERVER, "{\"id\":1,\"op\":\"status\"}");
    const char *line = small_until(w, PAIR_SERVER, "\"id\":1", SECOND);
    pair_has(line, "\"strangers\":0");
    assert_null(strstr(line, "\"auth_failures\":0"));
    assert_int_equal(small_logged(w, PAIR_SERVER, "auth_failed: it has another key"), 1);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_waits_at_the_start_and_takes_a_late_rail_up),
        cmocka_unit_test(a_rail_in_time_is_waited_for),
        cmocka_unit_test(a_rail_that_failed_is_not_taken_up_again),
        cmocka_unit_test(a_strict_client_comes_back_after_a_flap),
        cmocka_unit_test(limited_members_are_served_over_tcp),
        cmocka_unit_test(without_a_device_it_is_said_and_can_be_forbidden),
        cmocka_unit_test(a_server_without_rdma_is_a_refusal),
        cmocka_unit_test(a_silent_server_is_lost),
        cmocka_unit_test(an_older_server_is_named),
        cmocka_unit_test(an_unreachable_server_is_said_once),
        cmocka_unit_test(a_server_that_says_much_lets_others_have_their_turn),
        cmocka_unit_test(another_key_is_named_on_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
