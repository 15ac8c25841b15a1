/* SPDX-License-Identifier: Apache-2.0 */
/* Values over TCP, as a client with the key meets them that breaks other rules (MK-I1, MK-J2). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/server/server.h"
#include "tests/support/memkv_pair.h"
#include "tests/support/rogue.h"
#include "tests/support/small_world_inside.h"

#define LARGE (WIRE_MAX_BULK + 500000u) /* bytes: two pieces */
#define SMALL 20000u

static struct rogue r, second;
static uint8_t value[LARGE], sink[LARGE];

static struct small_world *met(void)
{
    struct small_world *w = small_world_new(3);
    memset(&r, 0, sizeof r);
    memset(&second, 0, sizeof second);
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    rogue_start(w, 2, &second, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    for (size_t i = 0; i < LARGE; i++)
        value[i] = (uint8_t)(i * 31 >> 3);
    memset(sink, 0, sizeof sink);
    r.sink = sink;
    return w;
}

static struct server_lane *lane_of(struct small_world *w)
{
    return &((struct server *)w->nodes[PAIR_SERVER]->state)->lanes[0];
}

static struct wire_message request(enum wire_type type, uint64_t id, const char *key)
{
    struct wire_message m = {.type = type, .id = id, .key_length = (uint8_t)strlen(key)};
    memcpy(m.key, key, m.key_length);
    m.length = LARGE; /* GET: room */
    return m;
}

/* PUT and all its pieces; `altered` says which byte is another than its tag says, from 1 on. */
static void put(struct small_world *w, uint64_t id, const char *key, uint32_t length,
                uint32_t altered)
{
    struct wire_message m = request(WIRE_PUT, id, key);
    m.length = length;
    wire_tag_compute(r.key, m.key, m.key_length, value, length, &m.tag);
    assert_int_equal(rogue_send(&r, &m), 0);
    if (altered)
        value[altered - 1] ^= 0x10;
    for (uint32_t at = 0; at < length;) {
        struct wire_message bulk = {.type = WIRE_BULK, .id = id, .offset = at, .data = value + at};
        bulk.length = length - at < WIRE_MAX_BULK ? length - at : WIRE_MAX_BULK;
        memcpy(bulk.mac, m.tag.mac, sizeof bulk.mac);
        assert_int_equal(rogue_send(&r, &bulk), 0);
        at += bulk.length;
        while (r.channel && wire_channel_is_sending(r.channel))
            small_run(w, SECOND / 1000);
    }
    small_run(w, SECOND / 10);
    if (altered)
        value[altered - 1] ^= 0x10;
}

static void store(struct small_world *w, uint64_t id, const char *key, uint32_t length)
{
    const struct wire_message commit = {.type = WIRE_COMMIT, .id = id, .lease = SECOND};
    put(w, id, key, length, 0);
    assert_non_null(rogue_last(&r, WIRE_PREPARED));
    assert_int_equal(rogue_send(&r, &commit), 0);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_last(&r, WIRE_RESULT)->error, FABRIC_OK);
}

static void altered_bytes_are_named_and_end_the_connection(void **state)
{
    (void)state;
    for (uint32_t at = 1; at <= SMALL; at += at < 20 ? 1 : 1997) {
        struct small_world *w = met();
        put(w, 1, "a", SMALL, at);
        assert_null(rogue_last(&r, WIRE_PREPARED));
        assert_non_null(rogue_last(&r, WIRE_RESULT));
        assert_int_equal(rogue_last(&r, WIRE_RESULT)->error, ERR_TAG_MISMATCH);
        assert_true(r.closed);
        assert_false(second.closed);
        assert_int_equal(small_logged(w, PAIR_SERVER, "tag_mismatch: the bytes that came"), 1);
        struct store_counts counts;
        store_counts(lane_of(w)->store, &counts);
        assert_int_equal(counts.used, 0);
        small_world_free(w);
    }
}

static void a_piece_that_does_not_fit_its_put_ends_the_connection(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct small_world *w = met();
        struct wire_message m = request(WIRE_PUT, 1, "a");
        m.length = SMALL;
        assert_int_equal(rogue_send(&r, &m), 0);
        struct wire_message bulk = {.type = WIRE_BULK, .id = i == 2 ? 9 : 1, .data = value};
        bulk.length = i == 0 ? SMALL + 1 : SMALL;
        bulk.offset = i == 1 ? 1 : 0;
        assert_int_equal(rogue_send(&r, &bulk), 0);
        small_run(w, SECOND / 10);
        assert_int_equal(r.closed, i < 2); /* of an unknown operation it is passed over */
        small_world_free(w);
    }
}

/* MK-J2: the block is neither gone nor another one while the stream reads it. */
static void a_block_that_is_being_sent_stays_whatever_the_client_says(void **state)
{
    (void)state;
    struct small_world *w = met();
    struct store_counts counts;
    store(w, 1, "a", SMALL * 4);
    const struct wire_message get = request(WIRE_GET, 2, "a"),
                              delete = request(WIRE_DELETE, 3, "a"),
                              cancel = {.type = WIRE_CANCEL, .id = 2};
    assert_int_equal(rogue_send(&r, &get), 0);
    assert_int_equal(rogue_send(&r, &cancel), 0);
    assert_int_equal(rogue_send(&r, &delete), 0);
    while (r.sunk < SMALL)
        small_run(w, SECOND / 100000);
    store_counts(lane_of(w)->store, &counts);
    assert_int_equal(counts.blocks, 0);
    assert_true(counts.used > 0);
    small_run(w, SECOND / 10);
    assert_int_equal(r.sunk, SMALL * 4); /* what was begun is ended, or the framing would be lost */
    assert_memory_equal(sink, value, SMALL * 4);
    store_counts(lane_of(w)->store, &counts);
    assert_int_equal(counts.used, 0);
    assert_false(r.closed);
    small_world_free(w);
}

static uint64_t id_of(const struct rogue *one, enum wire_type type, uint32_t nth)
{
    for (uint32_t i = 0; i < one->count; i++) {
        if (one->got[i].type == type && nth-- == 0)
            return one->got[i].id;
    }
    return 0;
}

/* A small value does not wait for the end of a large one. */
static void the_values_of_a_connection_take_turns(void **state)
{
    (void)state;
    struct small_world *w = met();
    store(w, 1, "large", LARGE);
    store(w, 2, "small", SMALL);
    const struct wire_message large = request(WIRE_GET, 3, "large");
    const struct wire_message small = request(WIRE_GET, 4, "small");
    r.sink = NULL;
    assert_int_equal(rogue_send(&r, &large), 0);
    assert_int_equal(rogue_send(&r, &small), 0);
    small_run(w, SECOND);
    assert_int_equal(id_of(&r, WIRE_BULK, 0), 3);
    assert_int_equal(id_of(&r, WIRE_BULK, 1), 4);
    assert_int_equal(id_of(&r, WIRE_BULK, 2), 3);
    assert_int_equal(id_of(&r, WIRE_BULK, 3), 0);
    small_world_free(w);
}

/* One connection sends a bounded piece in a row, however much its stream takes. */
static void who_gets_much_lets_others_have_their_turn(void **state)
{
    (void)state;
    struct small_world *w = met();
    store(w, 1, "large", LARGE);
    struct server *s = w->nodes[PAIR_SERVER]->state;
    struct server_connection *c = s->connections[0];
    const struct wire_message get = request(WIRE_GET, 3, "large");
    small_chunk(w, 4 * LARGE);
    server_get(s, c, &get);
    assert_false(wire_channel_is_sending(c->channel));
    assert_true(c->pumps);
    assert_int_equal(c->first->next, WIRE_MAX_BULK);
    server_pump_bulk(s, c); /* not before its turn */
    assert_int_equal(c->first->next, WIRE_MAX_BULK);
    small_run(w, SECOND / 10);
    assert_int_equal(r.sunk, LARGE);
    assert_memory_equal(sink, value, LARGE);
    assert_false(c->pumps);
    small_world_free(w);
}

/* And takes a bounded one, however much has come. */
static void who_puts_much_lets_others_have_their_turn(void **state)
{
    (void)state;
    struct small_world *w = met();
    store(w, 1, "key", SMALL);
    struct wire_message m = request(WIRE_PUT, 2, "large");
    const struct wire_message gone = request(WIRE_DELETE, 3, "key");
    const struct wire_message other = request(WIRE_EXISTS, 1, "key");
    small_chunk(w, 4 * WIRE_MAX_VALUE);
    m.length = WIRE_MAX_BULK + 1; /* twice as much, and others would be evicted for it */
    assert_int_equal(rogue_send(&r, &m), 0);
    const struct wire_message bulk = {
        .type = WIRE_BULK, .id = 2, .length = WIRE_MAX_BULK, .data = value};
    assert_int_equal(rogue_send(&r, &bulk), 0);
    assert_false(wire_channel_is_sending(r.channel));
    assert_int_equal(rogue_send(&r, &gone), 0);
    assert_int_equal(rogue_send(&second, &other), 0);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_last(&second, WIRE_RESULT)->found, 1); /* not deleted yet */
    assert_int_equal(rogue_last(&r, WIRE_RESULT)->id, 3);
    assert_int_equal(rogue_last(&r, WIRE_RESULT)->found, 1);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(altered_bytes_are_named_and_end_the_connection),
        cmocka_unit_test(a_piece_that_does_not_fit_its_put_ends_the_connection),
        cmocka_unit_test(a_block_that_is_being_sent_stays_whatever_the_client_says),
        cmocka_unit_test(the_values_of_a_connection_take_turns),
        cmocka_unit_test(who_gets_much_lets_others_have_their_turn),
        cmocka_unit_test(who_puts_much_lets_others_have_their_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
