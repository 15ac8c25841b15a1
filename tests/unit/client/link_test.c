/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/rail/backoff.h"
#include "tests/support/memkv_pair.h"

static void down(struct small_world *w, uint32_t node, enum fabric_port_state state)
{
    small_port(w, node)->attr.state = state;
    small_port(w, node)->attr.lid = 0;
}

static void up(struct small_world *w, uint32_t node, uint16_t lid)
{
    small_port(w, node)->attr.state = FABRIC_PORT_ACTIVE;
    small_port(w, node)->attr.lid = lid;
    small_async(w, node, FABRIC_ASYNC_PORT_ACTIVE, 1);
}

/* MK-C1, C2: a named error at once, then success without a restart. */
static void without_a_lid_a_transfer_fails_at_once_and_later_succeeds(void **state)
{
    (void)state;
    for (uint32_t node = 0; node < 2; node++) {
        struct small_world *w = small_world_new(2);
        down(w, node, FABRIC_PORT_INIT);
        assert_int_equal(pair_server(w, ""), 0);
        assert_int_equal(pair_client(w, "rdma", ""), 0);
        small_run(w, SECOND);
        assert_int_equal(small_logged(w, node, "WARN mlx5_0 port 1: RDMA waiting: waiting_for_sm"),
                         1);
        uint64_t before = small_now(w);
        const char *line = pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":10,\"seed\":1");
        pair_has(line, node == PAIR_CLIENT ? "\"class\":\"refused:no_lid\""
                                           : "\"class\":\"refused:peer_no_lid\"");
        assert_true(small_now(w) - before < SECOND / 100);
        up(w, node, 0x21);
        small_run(w, SECOND);
        pair_round(w, "rdma");
        small_world_free(w);
    }
}

/* The event is lost: the port is read again at first use. */
static void a_port_is_read_again_at_first_use(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    down(w, PAIR_CLIENT, FABRIC_PORT_INIT);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    small_run(w, SECOND);
    small_port(w, PAIR_CLIENT)->attr.state = FABRIC_PORT_ACTIVE;
    small_port(w, PAIR_CLIENT)->attr.lid = 2;
    pair_round(w, "rdma");
    small_world_free(w);
}

/* The server's port: the next request for a link finds it ready. */
static void a_servers_port_is_read_again_at_the_next_request(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    down(w, PAIR_SERVER, FABRIC_PORT_INIT);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    small_run(w, SECOND / 2);
    small_port(w, PAIR_SERVER)->attr.state = FABRIC_PORT_ACTIVE;
    small_port(w, PAIR_SERVER)->attr.lid = 1;
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", 2 * SECOND));
    pair_round(w, "rdma");
    small_world_free(w);
}

static void a_slow_look_catches_a_lost_event(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    down(w, PAIR_SERVER, FABRIC_PORT_DOWN);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    small_run(w, SECOND);
    small_port(w, PAIR_SERVER)->attr.state = FABRIC_PORT_ACTIVE;
    small_port(w, PAIR_SERVER)->attr.lid = 1;
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", 40 * SECOND));
    small_world_free(w);
}

/* MK-C3, C4: connections are rebuilt when either LID changes. */
static void a_new_lid_is_used_without_a_restart(void **state)
{
    (void)state;
    static const enum fabric_async_type events[] = {
        FABRIC_ASYNC_LID_CHANGE, FABRIC_ASYNC_CLIENT_REREGISTER, FABRIC_ASYNC_SM_CHANGE};
    for (uint32_t i = 0; i < 6; i++) {
        struct small_world *w = pair_new("rdma");
        pair_round(w, "rdma");
        small_port(w, i % 2)->attr.lid = 0x30;
        small_async(w, i % 2, events[i / 2], 1);
        small_run(w, SECOND / 100);
        const char *line = pair_do(w, "\"op\":\"status\"");
        pair_has(line, "\"state\":\"up\"");
        pair_has(line, "\"generation\":2");
        pair_round(w, "rdma");
        small_world_free(w);
    }
}

static void an_event_of_another_port_touches_nothing(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    small_port(w, PAIR_CLIENT)->attr.lid = 0x30;
    small_async(w, PAIR_CLIENT, FABRIC_ASYNC_LID_CHANGE, 2);
    small_run(w, SECOND);
    pair_has(pair_do(w, "\"op\":\"status\""), "\"lid\":2");
    small_world_free(w);
}

static void a_reregistration_that_changes_nothing_is_counted_quietly(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    uint32_t lines = small_logged(w, PAIR_SERVER, "");
    small_async(w, PAIR_SERVER, FABRIC_ASYNC_CLIENT_REREGISTER, 1);
    small_run(w, SECOND);
    assert_int_equal(small_logged(w, PAIR_SERVER, ""), lines);
    small_command(w, PAIR_SERVER, "{\"id\":9,\"op\":\"status\"}");
    pair_has(small_until(w, PAIR_SERVER, "\"id\":9", SECOND), "\"reregistrations\":1");
    pair_round(w, "rdma");
    small_world_free(w);
}

/* MK-C4: nobody tells of the new LID; the failure that comes of it makes both look at once, and not
 * only at the next slow look. */
static void a_failure_makes_both_ends_read_their_ports(void **state)
{
    (void)state;
    for (uint32_t node = 0; node < 2; node++) {
        struct small_world *w = pair_new("rdma");
        pair_round(w, "rdma");
        small_port(w, node)->attr.lid = 0x30; /* and no event */
        uint64_t before = small_now(w);
        pair_round(w, "rdma");
        assert_true(small_now(w) - before < RAIL_BACKOFF_FIRST);
        small_world_free(w);
    }
}

/* MK-D4, E1 and their kind: refused at connect by name, with both values. */
static void what_cannot_be_reached_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        uint16_t server_pkey, client_pkey;
        uint64_t prefix;
        const char *name, *one, *other;
    } cases[] = {
        {0x7fff, 0x7fff, 0, "pkey_limited_pair", "0x7fff", "0x7fff"},
        {0x8001, 0x8002, 0, "pkey_mismatch", "0x8001", "0x8002"},
        {0xffff, 0xffff, 0xfec0000000000007u, "subnet_mismatch", "fe80", "fec0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct small_world *w = small_world_new(2);
        small_port(w, PAIR_SERVER)->pkeys[0] = cases[i].server_pkey;
        small_port(w, PAIR_CLIENT)->pkeys[0] = cases[i].client_pkey;
        if (cases[i].prefix) {
            union fabric_gid *gid = &small_port(w, PAIR_CLIENT)->gids[0].gid;
            for (unsigned k = 0; k < 8; k++)
                gid->raw[k] = (uint8_t)(cases[i].prefix >> (56 - 8 * k));
        }
        char class[64] = "\"class\":\"refused:";
        strcat(class, cases[i].name);
        assert_int_equal(pair_server(w, ""), 0);
        assert_int_equal(pair_client(w, "rdma", ""), 0);
        const char *line = pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":10,\"seed\":1");
        pair_has(line, class);
        pair_has(line, cases[i].one);
        pair_has(line, cases[i].other);
        assert_true(small_now(w) < SECOND / 10);
        assert_int_equal(small_logged(w, PAIR_SERVER, cases[i].name), 1);
        assert_true(small_logged(w, PAIR_SERVER, cases[i].other) >= 1);
        small_run(w, 100 * SECOND); /* a configuration fault is not tried again by time */
        assert_int_equal(small_logged(w, PAIR_SERVER, cases[i].name), 1);
        small_world_free(w);
    }
}

static void a_refusal_is_judged_again_when_the_table_changes(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_port(w, PAIR_SERVER)->pkeys[0] = 0x7fff;
    small_port(w, PAIR_CLIENT)->pkeys[0] = 0x7fff;
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "refused:pkey_limited_pair");
    small_port(w, PAIR_SERVER)->pkeys[0] = 0xffff;
    small_async(w, PAIR_SERVER, FABRIC_ASYNC_PKEY_CHANGE, 1);
    small_run(w, SECOND / 100);
    pair_round(w, "rdma");
    small_port(w, PAIR_SERVER)->pkeys[0] = 0x7fff; /* and back, under a live connection */
    small_async(w, PAIR_SERVER, FABRIC_ASYNC_PKEY_CHANGE, 1);
    small_run(w, SECOND / 100);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "refused:pkey_limited_pair");
    small_world_free(w);
}

/* A refusal by the peer's prefix is judged again on our event although our port looks the same. */
static void a_refusal_is_judged_again_on_reregistration(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_port(w, PAIR_SERVER)->gids[0].gid.raw[7] = 7;
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "refused:subnet_mismatch");
    small_async(w, PAIR_CLIENT, FABRIC_ASYNC_CLIENT_REREGISTER, 1);
    small_run(w, SECOND / 100);
    small_command(w, PAIR_SERVER, "{\"id\":9,\"op\":\"status\"}");
    pair_has(small_until(w, PAIR_SERVER, "\"id\":9", SECOND), "\"refused_links\":2");
    assert_int_equal(small_logged(w, PAIR_SERVER, "subnet_mismatch"), 1); /* said once */
    small_world_free(w);
}

static void the_smaller_mtu_is_used_and_both_are_named(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", "mtu: 1024\n"), 0);
    pair_round(w, "rdma");
    assert_int_equal(small_logged(w, PAIR_SERVER, "MTU differs: 4096 here, 1024 there; 1024 is"),
                     1);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "MTU differs: 1024 here, 4096 there; 1024 is"),
                     1);
    small_port(w, PAIR_CLIENT)->attr.lid = 0x30; /* built again: nothing new is to be said */
    small_async(w, PAIR_CLIENT, FABRIC_ASYNC_LID_CHANGE, 1);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND / 5));
    assert_int_equal(small_logged(w, PAIR_SERVER, "MTU differs"), 1);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "MTU differs"), 1);
    small_world_free(w);
}

/* MK-F3: said only after a full-size packet went both ways. */
static void a_smaller_link_between_is_named_by_the_probe(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_link_mtu(w, 2048);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    assert_non_null(strstr(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":9,\"seed\":1"),
                           "\"class\":\"failed:probe_failed\""));
    small_run(w, 2 * SECOND);
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":100000,\"seed\":1"),
             "\"class\":\"refused:path_mtu_smaller\"");
    assert_int_equal(small_logged(w, PAIR_CLIENT, "connected over RC"), 0);
    small_world_free(w);
}

static uint32_t refused_links(struct small_world *w)
{
    small_command(w, PAIR_SERVER, "{\"id\":9,\"op\":\"status\"}");
    const char *line = small_until(w, PAIR_SERVER, "\"id\":9", SECOND);
    assert_non_null(line);
    const char *at = strstr(line, "\"refused_links\":");
    assert_non_null(at);
    return (uint32_t)strtoul(at + strlen("\"refused_links\":"), NULL, 10);
}

/* MK-F3, MK-B5: the way back counts as much, and so does what comes back. */
static void a_probe_looks_at_the_way_back(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_answer_mtu(w, 2048);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    small_run(w, 3 * SECOND);
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":100000,\"seed\":1"),
             "\"class\":\"refused:path_mtu_smaller\"");
    assert_int_equal(small_logged(w, PAIR_CLIENT, "connected over RC"), 0);
    small_world_free(w);
    w = small_world_new(2);
    small_corrupt(w, 2); /* both WRITEs of one probe */
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", 3 * SECOND));
    assert_int_equal(refused_links(w), 1);
    small_world_free(w);
}

/* MK-F3: it is concluded from packets, so it is looked at again: seldom, and at once when a port
 * has an event; and one large packet that passes takes it back. */
static void a_smaller_link_is_looked_at_again(void **state)
{
    (void)state;
    for (uint32_t event = 0; event < 2; event++) {
        struct small_world *w = small_world_new(2);
        small_link_mtu(w, 2048);
        assert_int_equal(pair_server(w, ""), 0);
        assert_int_equal(pair_client(w, "rdma", ""), 0);
        small_run(w, 3 * SECOND);
        assert_int_equal(small_logged(w, PAIR_CLIENT,
                                      "WARN server 10.0.0.1:9900 rail 0: RDMA "
                                      "refused: path_mtu_smaller"),
                         1);
        uint32_t before = refused_links(w);
        small_run(w, 600 * SECOND);
        uint32_t more = refused_links(w) - before;
        assert_true(more >= 600 / 38 && more <= 600 / 30);
        assert_int_equal(small_logged(w, PAIR_CLIENT, "path_mtu_smaller"), 1); /* said once */
        small_link_mtu(w, 0);
        if (event)
            small_async(w, PAIR_CLIENT, FABRIC_ASYNC_CLIENT_REREGISTER, 1);
        assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"",
                                    event ? SECOND / 10 : RAIL_BACKOFF_LAST * 5 / 4 + SECOND));
        pair_round(w, "rdma");
        small_world_free(w);
    }
}

/* The device tells of a queue pair that is dead; nobody else may (MK-A4, C3). */
static void a_dead_pair_is_built_again(void **state)
{
    (void)state;
    static const enum fabric_async_type types[] = {FABRIC_ASYNC_QP_FATAL, FABRIC_ASYNC_QP_REQ_ERR,
                                                   FABRIC_ASYNC_QP_ACCESS_ERR};
    for (uint32_t i = 0; i < 6; i++) {
        struct small_world *w = pair_new("rdma");
        pair_round(w, "rdma");
        small_pair_async(w, i % 2, types[i / 2]);
        assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"down\"", SECOND / 10));
        assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND / 5));
        pair_has(pair_do(w, "\"op\":\"status\""), "\"generation\":2");
        assert_int_equal(small_open(w, PAIR_SERVER, "qp"), 1);
        bool late = i % 2 == PAIR_CLIENT && types[i / 2] == FABRIC_ASYNC_QP_ACCESS_ERR;
        assert_int_equal(small_logged(w, PAIR_CLIENT, "built again at once: remote_access"), late);
        pair_round(w, "rdma");
        small_world_free(w);
    }
}

static void a_dead_path_is_never_called_connected(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_cut(w, PAIR_SERVER, true);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":10,\"seed\":1"),
             "\"class\":\"failed:probe_failed\"");
    assert_int_equal(small_logged(w, PAIR_CLIENT, "connected over RC"), 0);
    small_cut(w, PAIR_SERVER, false); /* and it is tried again by itself */
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", 60 * SECOND));
    pair_round(w, "rdma");
    small_world_free(w);
}

static void a_link_that_nobody_answers_about_times_out(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_delay(w, 20 * SECOND); /* the probe is on its way for ever */
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    pair_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":10,\"seed\":1"),
             "\"class\":\"failed:timeout\"");
    small_world_free(w);
}

/* CASE-F1: whichever verb of the set-up fails, auto ends on TCP, visibly. */
static void every_failing_verb_of_the_set_up_ends_on_tcp(void **state)
{
    (void)state;
    static const enum fabric_op verbs[] = {
        FABRIC_OP_DEVICE_OPEN,  FABRIC_OP_CQ_CREATE,   FABRIC_OP_QP_CREATE,
        FABRIC_OP_QP_MODIFY,    FABRIC_OP_MR_REGISTER, FABRIC_OP_WINDOW_OPEN,
        FABRIC_OP_QP_POST_SEND, FABRIC_OP_RESOLVE,     FABRIC_OP_PORT_QUERY};
    for (uint32_t i = 0; i < 2 * sizeof verbs / sizeof verbs[0]; i++) {
        struct small_world *w = small_world_new(2);
        uint32_t node = i % 2;
        small_fail(w, node, verbs[i / 2], 1, 1000, ERR_RESOURCES_EXHAUSTED);
        assert_int_equal(pair_server(w, "devices: [mlx5_0]"), 0);
        assert_int_equal(pair_client(w, "auto", "rdma_devices: [mlx5_0]\n"), 0);
        bool used = !(node == PAIR_SERVER && verbs[i / 2] == FABRIC_OP_WINDOW_OPEN) &&
                    !(node == PAIR_CLIENT && verbs[i / 2] == FABRIC_OP_QP_POST_SEND);
        pair_round(w, used ? "fell_back" : "rdma");
        assert_int_equal(small_logged(w, PAIR_CLIENT, "WARN fallback_tcp"), used);
        small_world_free(w);
    }
}

/* MK-B4: what a look-up tells counts for the link that asked and for no later one. */
static void a_look_up_of_an_earlier_link_connects_nothing(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    small_resolve(w, SECOND, FABRIC_OK);
    small_port(w, PAIR_CLIENT)->attr.lid = 0x30;
    small_async(w, PAIR_CLIENT, FABRIC_ASYNC_LID_CHANGE, 1);
    small_run(w, SECOND / 2); /* the server is looking up generation 2 */
    small_port(w, PAIR_CLIENT)->attr.lid = 0x31;
    small_async(w, PAIR_CLIENT, FABRIC_ASYNC_LID_CHANGE, 1);
    small_run(w, SECOND * 3 / 4); /* the answer for generation 2 has come, that for 3 has not */
    pair_has(pair_do(w, "\"op\":\"status\""), "\"state\":\"requested\"");
    assert_int_equal(small_open(w, PAIR_SERVER, "qp"), 1);
    small_run(w, 3 * SECOND);
    pair_has(pair_do(w, "\"op\":\"status\""), "\"generation\":3");
    pair_round(w, "rdma");
    small_world_free(w);
}

static void a_client_too_forgets_an_earlier_look_up(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    pair_round(w, "rdma");
    for (uint16_t i = 0; i < 2; i++) {
        small_resolve(w, SECOND / 10, FABRIC_OK); /* the server's */
        small_port(w, PAIR_CLIENT)->attr.lid = (uint16_t)(0x30 + i);
        small_async(w, PAIR_CLIENT, FABRIC_ASYNC_LID_CHANGE, 1);
        small_run(w, SECOND / 20);
        small_resolve(w, 2 * SECOND, FABRIC_OK); /* the client's: ends at 2.1 and 2.6 seconds */
        small_run(w, SECOND * 9 / 20);
    }
    small_run(w, SECOND * 13 / 10);
    pair_has(pair_do(w, "\"op\":\"status\""), "\"state\":\"resolving\"");
    small_run(w, SECOND);
    pair_has(pair_do(w, "\"op\":\"status\""), "\"state\":\"up\"");
    small_world_free(w);
}

static void a_peer_whose_link_address_nobody_knows_is_refused_by_name(void **state)
{
    (void)state;
    for (uint32_t late = 0; late < 2; late++) {
        struct small_world *w = small_world_new(2);
        assert_int_equal(pair_server(w, ""), 0);
        small_resolve(w, SECOND / 10, late ? FABRIC_OK : ERR_UNREACHABLE);
        assert_int_equal(pair_client(w, "rdma", ""), 0);
        small_run(w, SECOND / 20); /* the server is looking; later the client will */
        small_resolve(w, SECOND / 10, ERR_UNREACHABLE);
        assert_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", 5 * SECOND));
        assert_true(small_logged(w, PAIR_CLIENT, "RDMA refused: unreachable") > 0);
        assert_true(small_logged(w, late ? PAIR_CLIENT : PAIR_SERVER, "nobody has the") > 0);
        small_resolve(w, 0, FABRIC_OK);
        assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", 30 * SECOND));
        small_world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_lid_a_transfer_fails_at_once_and_later_succeeds),
        cmocka_unit_test(a_port_is_read_again_at_first_use),
        cmocka_unit_test(a_servers_port_is_read_again_at_the_next_request),
        cmocka_unit_test(a_slow_look_catches_a_lost_event),
        cmocka_unit_test(a_new_lid_is_used_without_a_restart),
        cmocka_unit_test(an_event_of_another_port_touches_nothing),
        cmocka_unit_test(a_failure_makes_both_ends_read_their_ports),
        cmocka_unit_test(a_reregistration_that_changes_nothing_is_counted_quietly),
        cmocka_unit_test(what_cannot_be_reached_is_refused_by_name),
        cmocka_unit_test(a_refusal_is_judged_again_when_the_table_changes),
        cmocka_unit_test(a_refusal_is_judged_again_on_reregistration),
        cmocka_unit_test(the_smaller_mtu_is_used_and_both_are_named),
        cmocka_unit_test(a_smaller_link_between_is_named_by_the_probe),
        cmocka_unit_test(a_probe_looks_at_the_way_back),
        cmocka_unit_test(a_smaller_link_is_looked_at_again),
        cmocka_unit_test(a_dead_pair_is_built_again),
        cmocka_unit_test(a_dead_path_is_never_called_connected),
        cmocka_unit_test(a_link_that_nobody_answers_about_times_out),
        cmocka_unit_test(a_look_up_of_an_earlier_link_connects_nothing),
        cmocka_unit_test(a_client_too_forgets_an_earlier_look_up),
        cmocka_unit_test(a_peer_whose_link_address_nobody_knows_is_refused_by_name),
        cmocka_unit_test(every_failing_verb_of_the_set_up_ends_on_tcp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
