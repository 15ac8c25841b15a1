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

static struct rogue r, second;

/* The real server, and a rogue client that has shown the key. */
static struct small_world *met(void)
{
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    assert_non_null(rogue_last(&r, WIRE_WELCOME));
    return w;
}

static struct wire_message request(enum wire_type type, uint64_t id)
{
    struct wire_message m = {.type = type, .id = id, .key = "key", .key_length = 3};
    return m;
}

static enum fabric_error answer(struct small_world *w, const struct wire_message *m)
{
    assert_int_equal(rogue_send(&r, m), 0);
    small_run(w, SECOND / 10);
    const struct wire_message *result = rogue_last(&r, WIRE_RESULT);
    assert_non_null(result);
    assert_int_equal(result->id, m->id);
    return result->error;
}

static void messages_of_servers_are_refused(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct wire_message m = request(WIRE_RESULT, 1);
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 10);
    assert_true(r.closed);
    small_world_free(w);
}

static void sizes_are_judged_before_room_is_made(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct wire_message m = request(WIRE_PUT, 1);
    m.length = WIRE_MAX_VALUE + 1;
    assert_int_equal(answer(w, &m), ERR_TOO_LARGE);
    m.id = 2;
    m.length = 0;
    assert_int_equal(answer(w, &m), ERR_INVALID_ARGUMENT);
    small_world_free(w);
}

static void an_unknown_link_is_refused_by_name(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct wire_message m = request(WIRE_PUT, 1);
    m.way = WIRE_WAY_RC;
    m.length = 10;
    assert_int_equal(answer(w, &m), ERR_FLUSHED);
    m.rail = 200;
    m.id = 2;
    assert_int_equal(answer(w, &m), ERR_FLUSHED);
    m = request(WIRE_LINK_REQUEST, 0);
    m.rail = 200;
    m.generation = 1;
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 10);
    assert_true(r.closed);
    small_world_free(w);
}

static struct wire_message link_request(struct small_world *w, uint32_t generation)
{
    struct wire_message m = {.type = WIRE_LINK_REQUEST, .generation = generation, .length = 4096};
    const struct small_port *p = small_port(w, PAIR_CLIENT);
    m.address = (struct fabric_port_address){.link_layer = FABRIC_LINK_LAYER_INFINIBAND,
                                             .state = FABRIC_PORT_ACTIVE,
                                             .port_num = 1,
                                             .lid = p->attr.lid,
                                             .subnet_prefix = 0xfe80000000000000u,
                                             .pkey = 0xffff,
                                             .mtu = FABRIC_MTU_4096,
                                             .active_mtu = FABRIC_MTU_4096,
                                             .max_dest_rd_atomic = 4,
                                             .gid_count = 1};
    m.address.gids[0].gid = p->gids[0].gid;
    return m;
}

/* MK-B4: an overtaken request configures nothing, and neither does a late LINK_READY. */
static void an_older_generation_is_not_looked_at(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct wire_message m = link_request(w, 5);
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_last(&r, WIRE_LINK_ACCEPT)->generation, 5);
    m.generation = 4;
    assert_int_equal(rogue_send(&r, &m), 0);
    struct wire_message ready = {.type = WIRE_LINK_READY, .generation = 4};
    assert_int_equal(rogue_send(&r, &ready), 0);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_last(&r, WIRE_LINK_ACCEPT)->generation, 5);
    assert_false(r.closed);
    assert_int_equal(small_open(w, PAIR_SERVER, "qp"), 1);
    small_command(w, PAIR_SERVER, "{\"id\":1,\"op\":\"status\"}");
    pair_has(small_until(w, PAIR_SERVER, "\"id\":1", SECOND), "\"stale\":2");
    struct wire_message down = {.type = WIRE_LINK_DOWN, .generation = 5, .error = ERR_NO_LID};
    assert_int_equal(rogue_send(&r, &down), 0);
    small_run(w, SECOND / 10);
    assert_int_equal(small_open(w, PAIR_SERVER, "qp"), 0);
    small_world_free(w);
}

/* What somebody changed on the way between the ends would show in the digest. */
static void ends_that_saw_different_addresses_part(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct wire_message m = link_request(w, 1);
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 10);
    struct wire_message ready = {.type = WIRE_LINK_READY, .generation = 1, .digest = {1}};
    assert_int_equal(rogue_send(&r, &ready), 0);
    small_run(w, SECOND / 10);
    assert_true(r.closed);
    assert_int_equal(small_logged(w, PAIR_SERVER, "the ends saw different addresses"), 1);
    small_world_free(w);
}

/* No read resources: GET would work and PUT could not (CASE-Z12). */
static void a_peer_without_read_resources_is_refused(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct wire_message m = link_request(w, 1);
    m.address.max_dest_rd_atomic = 0;
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_last(&r, WIRE_LINK_DOWN)->error, ERR_RD_ATOMIC_NONE);
    small_world_free(w);
}

static void bulk_must_fit_its_put(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct small_world *w = met();
        static const uint8_t data[100];
        struct wire_message m = request(WIRE_PUT, 1);
        m.length = 60;
        assert_int_equal(rogue_send(&r, &m), 0);
        struct wire_message bulk = {.type = WIRE_BULK, .id = i == 2 ? 9 : 1, .data = data};
        bulk.length = i == 0 ? 61 : 30;
        bulk.offset = i == 1 ? 1 : 0;
        assert_int_equal(rogue_send(&r, &bulk), 0);
        small_run(w, SECOND / 10);
        assert_int_equal(r.closed, i < 2); /* of an unknown operation it is passed over */
        small_world_free(w);
    }
}

/* A PUT that is cancelled, or whose client vanishes, leaves no trace. */
static void an_unfinished_put_leaves_nothing(void **state)
{
    (void)state;
    struct small_world *w = met();
    static const uint8_t data[30];
    for (unsigned i = 0; i < 2; i++) {
        struct wire_message m = request(WIRE_PUT, i + 1);
        m.length = 60;
        assert_int_equal(rogue_send(&r, &m), 0);
        struct wire_message bulk = {
            .type = WIRE_BULK, .id = i + 1, .data = data, .length = sizeof data};
        assert_int_equal(rogue_send(&r, &bulk), 0);
        small_run(w, SECOND / 10);
        struct wire_message cancel = {.type = WIRE_CANCEL, .id = i + 1};
        if (i == 0)
            assert_int_equal(rogue_send(&r, &cancel), 0);
        else
            small_stop(w, PAIR_CLIENT);
        small_run(w, SECOND / 10);
        small_command(w, PAIR_SERVER, "{\"id\":1,\"op\":\"status\"}");
        const char *line = small_until(w, PAIR_SERVER, "\"id\":1", SECOND);
        pair_has(line, "\"used\":0");
        pair_has(line, "\"puts\":0");
        pair_has(line, "\"tcp_read_bytes\":0");
    }
    small_world_free(w);
}

static void send_whole_put(uint64_t id)
{
    static const uint8_t key[WIRE_KEY_BYTES] = {0};
    static uint8_t data[30];
    struct wire_message m = request(WIRE_PUT, id);
    m.length = sizeof data;
    assert_true(memcmp(r.key, key, sizeof key) != 0);
    wire_tag_compute(r.key, m.key, m.key_length, data, sizeof data, &m.tag);
    assert_int_equal(rogue_send(&r, &m), 0);
    struct wire_message bulk = {.type = WIRE_BULK, .id = id, .data = data, .length = sizeof data};
    memcpy(bulk.mac, m.tag.mac, sizeof bulk.mac);
    assert_int_equal(rogue_send(&r, &bulk), 0);
}

/* MK-A4: visible only when the client says in time that the operation is still open. */
static void a_put_becomes_visible_by_its_commit(void **state)
{
    (void)state;
    static const struct {
        uint64_t wait, lease;
        enum fabric_error error;
    } cases[] = {{0, SECOND, FABRIC_OK},
                 {2 * SECOND, SECOND, ERR_TIMEOUT},
                 {2 * SECOND, 3 * SECOND, FABRIC_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct small_world *w = met();
        send_whole_put(1);
        small_run(w, SECOND / 10);
        assert_non_null(rogue_last(&r, WIRE_PREPARED));
        assert_null(rogue_last(&r, WIRE_RESULT));
        struct wire_message exists = request(WIRE_EXISTS, 2);
        answer(w, &exists);
        assert_int_equal(rogue_last(&r, WIRE_RESULT)->found, 0);
        small_run(w, cases[i].wait);
        const struct wire_message commit = {.type = WIRE_COMMIT, .id = 1, .lease = cases[i].lease};
        assert_int_equal(answer(w, &commit), cases[i].error);
        exists.id = 3;
        answer(w, &exists);
        assert_int_equal(rogue_last(&r, WIRE_RESULT)->found, cases[i].error == FABRIC_OK);
        small_world_free(w);
    }
}

/* MK-I2: what makes no progress costs a bounded time, also when its client lives. */
static void an_idle_transfer_and_a_silent_client_end(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct wire_message m = request(WIRE_PUT, 1), pong = {.type = WIRE_PONG};
    m.length = 60;
    assert_int_equal(rogue_send(&r, &m), 0);
    for (unsigned i = 0; i < 8; i++) {
        small_run(w, 4 * SECOND);
        assert_int_equal(rogue_send(&r, &pong), 0);
    }
    assert_int_equal(rogue_last(&r, WIRE_RESULT)->error, ERR_TIMEOUT);
    assert_null(rogue_last(&r, WIRE_PING));
    assert_false(r.closed);
    small_run(w, 8 * SECOND);
    assert_non_null(rogue_last(&r, WIRE_PING));
    assert_false(r.closed);
    small_run(w, 8 * SECOND);
    assert_true(r.closed);
    small_world_free(w);
}

/* MK-B4: a client that comes again replaces its old self at once. */
static void a_client_that_comes_again_replaces_its_old_self(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(3);
    memset(&r, 0, sizeof r);
    memset(&second, 0, sizeof second);
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    rogue_start(w, 2, &second, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    struct wire_message m = {.type = WIRE_INSTANCE, .instance = {1}};
    assert_int_equal(rogue_send(&r, &m), 0);
    send_whole_put(1);
    small_run(w, SECOND / 10);
    m.instance[0] = 2;
    assert_int_equal(rogue_send(&second, &m), 0);
    small_run(w, SECOND / 10);
    assert_false(r.closed);
    m.instance[0] = 1;
    assert_int_equal(rogue_send(&second, &m), 0);
    small_run(w, SECOND / 10);
    assert_true(r.closed);
    assert_false(second.closed);
    small_world_free(w);
}

/* A client cannot make the server build queue pairs without end. */
static void requests_for_links_are_paced(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct wire_message m = {.type = WIRE_LINK_REQUEST, .qp_num = 5, .length = 4096};
    m.address = (struct fabric_port_address){
        .link_layer = FABRIC_LINK_LAYER_ETHERNET, .state = FABRIC_PORT_ACTIVE, .port_num = 1};
    for (uint32_t i = 1; i <= 40; i++) {
        m.generation = i;
        assert_int_equal(rogue_send(&r, &m), 0);
    }
    small_run(w, SECOND / 100);
    assert_int_equal(rogue_last(&r, WIRE_LINK_DOWN)->error, ERR_QUEUE_FULL);
    small_run(w, SECOND);
    m.generation = 41;
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 100);
    assert_int_equal(rogue_last(&r, WIRE_LINK_DOWN)->error, ERR_LINK_LAYER_MISMATCH);
    assert_int_equal(small_logged(w, PAIR_SERVER, "link_layer_mismatch"), 2); /* not 18 */
    small_world_free(w);
}

/* Two rogue clients, and "key" is stored. */
static struct small_world *both_met(void)
{
    struct small_world *w = small_world_new(3);
    memset(&r, 0, sizeof r);
    memset(&second, 0, sizeof second);
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    rogue_start(w, 2, &second, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    send_whole_put(1);
    small_run(w, SECOND / 10);
    const struct wire_message commit = {.type = WIRE_COMMIT, .id = 1, .lease = SECOND};
    assert_int_equal(answer(w, &commit), FABRIC_OK);
    return w;
}

/* MK-I2: one that talks without an end does not keep the others waiting. */
static void who_says_much_at_once_lets_others_have_their_turn(void **state)
{
    (void)state;
    struct small_world *w = both_met();
    for (uint64_t id = 2; id <= 151; id++) { /* all of it is there when the server first looks */
        const struct wire_message m = request(id == 151 ? WIRE_DELETE : WIRE_EXISTS, id);
        assert_int_equal(rogue_send(&r, &m), 0);
        if (id == 2)
            assert_int_equal(rogue_send(&second, &m), 0);
    }
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_last(&second, WIRE_RESULT)->found, 1); /* it was not deleted yet */
    assert_int_equal(rogue_last(&r, WIRE_RESULT)->id, 151);       /* and nothing is forgotten */
    assert_int_equal(rogue_last(&r, WIRE_RESULT)->found, 1);
    small_world_free(w);
}

/* However often it is announced that something waits, it waits for its turn. */
static void what_was_put_off_is_not_taken_up_before_its_turn(void **state)
{
    (void)state;
    struct small_world *w = both_met();
    for (uint64_t id = 2; id <= 101; id++) { /* each of them is announced */
        const struct wire_message m = request(id == 101 ? WIRE_DELETE : WIRE_EXISTS, id);
        assert_int_equal(rogue_send(&r, &m), 0);
        if (id == 3)
            assert_int_equal(rogue_send(&second, &m), 0);
    }
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_last(&second, WIRE_RESULT)->found, 1); /* it was not deleted yet */
    assert_int_equal(rogue_last(&r, WIRE_RESULT)->id, 101);
    small_world_free(w);
}

/* One whose messages are always put off is not silent. */
static void who_is_taken_up_again_is_heard(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct server *s = w->nodes[PAIR_SERVER]->state;
    struct server_connection *c = s->connections[0];
    small_run(w, 3 * SECOND);
    assert_true(small_now(w) - c->heard > SECOND);
    c->resumes = true;
    server_connection_resume(s, server_cookie(SERVER_RECEIVE, c->slot, c->serial));
    assert_int_equal(c->heard, small_now(w));
    assert_false(c->resumes);
    small_world_free(w);
}

static struct small_world *met_lanes(void)
{
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    assert_int_equal(pair_server(w, "}\nstorage: {lanes: 4"), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_last(&r, WIRE_WELCOME)->lanes, 4);
    return w;
}

/* What a lane does not have it must not be asked for: it would be stored where nobody looks. */
static void a_connection_serves_the_keys_of_its_lane_only(void **state)
{
    (void)state;
    const uint32_t lane = wire_key_lane("key", 3, 4);
    for (uint32_t i = 0; i < 4; i++) {
        struct small_world *w = met_lanes();
        struct wire_message m = {.type = WIRE_INSTANCE, .instance = {1}, .lane = (uint16_t)i};
        assert_int_equal(rogue_send(&r, &m), 0);
        m = request(WIRE_EXISTS, 1);
        assert_int_equal(rogue_send(&r, &m), 0);
        small_run(w, SECOND / 10);
        assert_int_equal(r.closed, i != lane);
        assert_int_equal(small_logged(w, PAIR_SERVER, "frame_invalid: a key of another lane"),
                         i != lane);
        small_world_free(w);
    }
}

static void a_lane_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct small_world *w = met_lanes();
    struct wire_message m = {.type = WIRE_INSTANCE, .instance = {1}, .lane = 4};
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 10);
    assert_true(r.closed);
    small_world_free(w);
}

/* MK-A5: the members of a pool stand side by side. */
static void a_second_member_of_a_pool_replaces_nobody(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(3);
    struct wire_message m = {.type = WIRE_INSTANCE, .instance = {1}};
    memset(&r, 0, sizeof r);
    memset(&second, 0, sizeof second);
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    rogue_start(w, 2, &second, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 10);
    m.member = 1;
    assert_int_equal(rogue_send(&second, &m), 0);
    small_run(w, SECOND / 10);
    assert_false(r.closed);
    assert_false(second.closed);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_servers_are_refused),
        cmocka_unit_test(sizes_are_judged_before_room_is_made),
        cmocka_unit_test(an_unknown_link_is_refused_by_name),
        cmocka_unit_test(an_older_generation_is_not_looked_at),
        cmocka_unit_test(ends_that_saw_different_addresses_part),
        cmocka_unit_test(a_peer_without_read_resources_is_refused),
        cmocka_unit_test(bulk_must_fit_its_put),
        cmocka_unit_test(an_unfinished_put_leaves_nothing),
        cmocka_unit_test(a_put_becomes_visible_by_its_commit),
        cmocka_unit_test(an_idle_transfer_and_a_silent_client_end),
        cmocka_unit_test(a_client_that_comes_again_replaces_its_old_self),
        cmocka_unit_test(requests_for_links_are_paced),
        cmocka_unit_test(who_says_much_at_once_lets_others_have_their_turn),
        cmocka_unit_test(what_was_put_off_is_not_taken_up_before_its_turn),
        cmocka_unit_test(who_is_taken_up_again_is_heard),
        cmocka_unit_test(a_connection_serves_the_keys_of_its_lane_only),
        cmocka_unit_test(a_lane_that_is_not_there_is_refused),
        cmocka_unit_test(a_second_member_of_a_pool_replaces_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
