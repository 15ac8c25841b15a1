/* SPDX-License-Identifier: Apache-2.0 */
/* Values over TCP, as a server with the key can make it go wrong (MK-I1, MK-A4). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/client/client.h"
#include "tests/support/memkv_pair.h"
#include "tests/support/rogue.h"

#define LARGE 120000u                    /* bytes: one piece, which the stream takes bit by bit */
#define LARGER (3 * CLIENT_PIECE + 100u) /* several */

static struct rogue r;
static struct client *c;
static uint8_t *memory, *sink; /* of the user: CLIENT_TURN + 1 bytes; of the rogue: LARGER */

static enum fabric_error user_start(struct fabric *f, const char *config, size_t config_length,
                                    const struct fabric_report_sink *sink_of_reports, void **state)
{
    struct client_config read;
    struct yaml_errors errors;
    yaml_errors_init(&errors, "user.yaml");
    assert_true(client_config_read(config, config_length, &read, &errors));
    return client_create(f, &read, sink_of_reports, (struct client **)state);
}

static void user_event(void *state, const struct fabric_event *event)
{
    client_event(state, event);
}

static void user_command(void *state, const char *json)
{
    (void)state;
    (void)json;
}

static void user_stop(void *state)
{
    client_destroy(state);
}

static const struct fabric_program user = {"user", user_start, user_event, user_command, user_stop};

/* The real client, connected to a rogue server. */
static struct small_world *met(void)
{
    static const char config[] = "servers: [\"10.0.0.1:9900\"]\ntransport: tcp\ntimeout: 2 s\n"
                                 "num_connections: 1\nauth_key: " PAIR_KEY "\n";
    const struct wire_message m = {.type = WIRE_WELCOME, .lanes = 1, .operations = 9};
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    memory = calloc(1, CLIENT_TURN + CLIENT_LONG_PIECE);
    sink = calloc(1, LARGER);
    for (size_t i = 0; i < LARGER; i++)
        memory[i] = (uint8_t)(i * 31 >> 3);
    r.sink = sink;
    rogue_start(w, PAIR_SERVER, &r, WIRE_SERVER);
    assert_int_equal(
        small_start_with(w, PAIR_CLIENT, &user, config, sizeof config - 1, (void **)&c), 0);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 10);
    return w;
}

static void part(struct small_world *w)
{
    small_world_free(w);
    free(memory);
    free(sink);
}

static client_request_id submit(enum client_kind kind, const char *key, size_t length)
{
    client_request_id id = 0;
    const struct client_request request = {
        .kind = kind, .key = key, .key_length = strlen(key), .data = memory, .length = length};
    assert_int_equal(client_submit(c, &request, 1, &id), 0);
    return id;
}

static enum fabric_error result(void)
{
    struct client_completion done;
    assert_int_equal(client_completions(c, &done, 1), 1);
    return done.error;
}

/* Answers the latest GET, with `altered` of its bytes changed from 1 on (0: none). */
static void answer_get(uint32_t length, uint32_t altered)
{
    const struct wire_message *get = rogue_last(&r, WIRE_GET);
    assert_non_null(get);
    struct wire_message head = {.type = WIRE_RESULT, .id = get->id, .length = length, .found = 1};
    struct wire_message bulk = {.type = WIRE_BULK, .id = get->id, .length = length, .data = sink};
    for (uint32_t i = 0; i < length; i++)
        sink[i] = (uint8_t)(i * 7 >> 2);
    wire_tag_compute(r.key, get->key, get->key_length, sink, length, &head.tag);
    if (altered)
        sink[altered - 1] ^= 0x10;
    assert_int_equal(rogue_send(&r, &head), 0);
    assert_int_equal(rogue_send(&r, &bulk), 0);
}

static void altered_bytes_are_named_and_end_the_connection(void **state)
{
    (void)state;
    for (uint32_t at = 0; at <= LARGE; at += at < 5 ? 1 : 19999) {
        struct small_world *w = met();
        submit(CLIENT_GET, "k", LARGE);
        small_run(w, SECOND / 100);
        answer_get(LARGE, at);
        small_run(w, SECOND / 20);
        assert_int_equal(result(), at ? ERR_TAG_MISMATCH : FABRIC_OK);
        assert_int_equal(r.closed, at > 0);
        assert_int_equal(small_logged(w, PAIR_CLIENT, "tag_mismatch"), at > 0);
        assert_memory_equal(memory, sink, LARGE);
        part(w);
    }
}

/* MK-A4: the bytes that are still on their way come, and go nowhere; what follows them is heard. */
static void memory_of_a_get_that_was_reported_is_not_written_any_more(void **state)
{
    (void)state;
    for (int cancels = 0; cancels < 2; cancels++) {
        struct small_world *w = met();
        client_request_id id = submit(CLIENT_GET, "k", LARGE);
        small_run(w, SECOND / 100);
        r.holds = true;
        answer_get(LARGE, 0);
        small_run(w, SECOND / 10);
        assert_memory_equal(memory, sink, 1000);
        if (cancels)
            assert_true(client_cancel(c, id));
        else
            small_run(w, 2 * SECOND);
        assert_int_equal(result(), cancels ? ERR_CANCELLED : ERR_TIMEOUT);
        memset(memory, 0x55, LARGE);
        r.holds = false;
        assert_int_equal(wire_channel_flush(r.channel), 0);
        small_run(w, SECOND / 10);
        assert_non_null(rogue_last(&r, WIRE_CANCEL));
        for (uint32_t i = 0; i < LARGE; i++)
            assert_int_equal(memory[i], 0x55);
        submit(CLIENT_GET, "k", LARGE);
        small_run(w, SECOND / 100);
        answer_get(LARGE, 0);
        small_run(w, SECOND / 10);
        assert_int_equal(result(), FABRIC_OK);
        assert_false(r.closed);
        part(w);
    }
}

/* MK-A4: what is missing of the piece goes out as it was. */
static void memory_of_a_put_that_was_reported_is_not_read_any_more(void **state)
{
    (void)state;
    uint8_t *before = malloc(LARGE);
    struct small_world *w = met();
    memcpy(before, memory, LARGE);
    client_request_id id = submit(CLIENT_PUT, "k", LARGE);
    small_run(w, SECOND / 20000);
    assert_in_range(r.sunk, 1, LARGE - 1);
    assert_true(client_cancel(c, id));
    assert_int_equal(result(), ERR_CANCELLED);
    memset(memory, 0x55, LARGE);
    small_run(w, SECOND / 10);
    assert_int_equal(r.sunk, LARGE);
    assert_memory_equal(sink, before, LARGE);
    assert_non_null(rogue_last(&r, WIRE_CANCEL));
    assert_false(r.closed);
    free(before);
    part(w);
}

/* The tag comes with the last piece, and fits what was sent. */
static void a_put_ends_in_its_tag(void **state)
{
    (void)state;
    struct small_world *w = met();
    submit(CLIENT_PUT, "k", LARGER);
    small_run(w, SECOND / 10);
    const struct wire_message *put = rogue_last(&r, WIRE_PUT), *bulk = rogue_last(&r, WIRE_BULK);
    assert_non_null(put);
    struct wire_tag tag = put->tag;
    memcpy(tag.mac, bulk->mac, sizeof tag.mac);
    assert_int_equal(bulk->offset + bulk->length, LARGER);
    assert_int_equal(r.sunk, LARGER);
    assert_true(wire_tag_verify(r.key, "k", 1, sink, LARGER, &tag));
    assert_memory_equal(sink, memory, LARGER);
    part(w);
}

/* The BULKs of the latest messages, in the order of their sending; how many. */
static uint32_t pieces_of(const struct wire_message **out, uint32_t most)
{
    uint32_t pieces = 0;
    for (uint32_t i = r.count < ROGUE_KEPT ? 0 : r.count - ROGUE_KEPT; i < r.count; i++) {
        const struct wire_message *m = &r.got[i % ROGUE_KEPT];
        if (m->type == WIRE_BULK && pieces < most)
            out[pieces++] = m;
    }
    return pieces;
}

/* A small value does not wait for the end of a large one, whose pieces are short while one waits.
 */
static void the_values_of_a_connection_take_turns(void **state)
{
    (void)state;
    struct small_world *w = met();
    const struct wire_message *piece[8];
    const uint32_t length[] = {CLIENT_LONG_PIECE + LARGER, 30000, 30000};
    struct client_request all[3];
    r.sink = NULL;
    for (uint32_t i = 0; i < 3; i++)
        all[i] = (struct client_request){.kind = CLIENT_PUT,
                                         .key = &"abc"[i],
                                         .key_length = 1,
                                         .data = memory,
                                         .length = length[i]};
    assert_int_equal(client_submit(c, all, 3, NULL), 0);
    small_run(w, SECOND / 10);
    static const uint32_t expected[] = {30000, CLIENT_PIECE, 30000, CLIENT_LONG_PIECE};
    const uint32_t pieces = pieces_of(piece, 8);
    assert_int_equal(pieces, 6);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(piece[i]->length, expected[i]);
    assert_true(piece[0]->id != piece[2]->id);
    assert_true(piece[1]->id == piece[3]->id && piece[1]->id == piece[5]->id);
    assert_int_equal(piece[5]->length, CLIENT_PIECE); /* the tag's is a short one */
    part(w);
}

/* A value of two megabytes comes as a whole before the next one begins; a larger one waits then. */
static void a_put_keeps_its_turn_for_two_megabytes(void **state)
{
    (void)state;
    struct small_world *w = met();
    enum { WHOLE = CLIENT_TURN / CLIENT_LONG_PIECE, NEXT = WHOLE + 1, REST = 2 };
    const struct wire_message *piece[WHOLE + NEXT + REST + 1];
    r.sink = NULL;
    submit(CLIENT_PUT, "first", CLIENT_TURN + CLIENT_LONG_PIECE);
    submit(CLIENT_PUT, "second", CLIENT_TURN);
    small_run(w, SECOND / 10);
    const uint32_t pieces = pieces_of(piece, WHOLE + NEXT + REST + 1);
    assert_int_equal(pieces, WHOLE + NEXT + REST);
    for (uint32_t i = 0; i < pieces; i++)
        assert_true((piece[i]->id == piece[0]->id) == (i < WHOLE || i >= WHOLE + NEXT));
    part(w);
}

/* One connection sends a bounded piece in a row, however much its stream takes. */
static void who_puts_much_lets_others_have_their_turn(void **state)
{
    (void)state;
    struct small_world *w = met();
    small_chunk(w, 4 * CLIENT_BULK);
    r.sink = NULL;
    enum { PUTS = CLIENT_BULK / LARGER + 2 };
    struct client_request all[PUTS];
    for (uint32_t i = 0; i < PUTS; i++)
        all[i] = (struct client_request){.kind = CLIENT_PUT,
                                         .key = &"abcdefgh"[i],
                                         .key_length = 1,
                                         .data = memory,
                                         .length = LARGER};
    assert_int_equal(client_submit(c, all, PUTS, NULL), 0);
    assert_true(c->peers[0]->pumps);
    uint32_t sent = 0;
    for (uint32_t i = 0; i < PUTS; i++)
        sent += client_operation_at(c, i)->next;
    assert_in_range(sent, CLIENT_BULK, CLIENT_BULK + CLIENT_LONG_PIECE);
    small_run(w, SECOND / 10);
    assert_false(c->peers[0]->pumps);
    assert_int_equal(c->peers[0]->sends, 0);
    part(w);
}

/* And takes a bounded one, however much has come. */
static void who_gets_much_lets_others_have_their_turn(void **state)
{
    (void)state;
    struct small_world *w = met();
    small_chunk(w, 4 * WIRE_MAX_VALUE);
    submit(CLIENT_GET, "k", LARGE);
    small_run(w, SECOND / 100);
    static const uint8_t waste[WIRE_MAX_BULK];
    const struct wire_message bulk = {
        .type = WIRE_BULK, .id = 99, .length = sizeof waste, .data = waste};
    assert_int_equal(rogue_send(&r, &bulk), 0);
    struct client_peer *p = c->peers[0];
    const uint32_t serial = p->stream_serial;
    struct fabric_event event = {.type = FABRIC_EVENT_READABLE};
    event.u.stream.cookie = client_cookie(CLIENT_STREAM, p->index, serial);
    client_event(c, &event);
    assert_true(p->resumes);
    answer_get(LARGE, 0);
    small_run(w, SECOND / 10);
    assert_false(p->resumes);
    assert_int_equal(result(), FABRIC_OK);
    part(w);
}

/* The server cannot have verified what it has not got. */
static void a_put_is_not_prepared_before_it_was_sent(void **state)
{
    (void)state;
    struct small_world *w = met();
    submit(CLIENT_PUT, "k", LARGE);
    small_run(w, SECOND / 20000);
    const struct wire_message m = {.type = WIRE_PREPARED, .id = rogue_last(&r, WIRE_PUT)->id};
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 20000);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "frame_invalid"), 1);
    part(w);
}

static uint32_t count_of(enum wire_type type)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r.count; i++)
        count += r.got[i].type == type;
    return count;
}

/* As many as it takes at once; the others wait for the end of one. */
static void a_server_gets_no_more_deletions_than_it_takes(void **state)
{
    (void)state;
    struct small_world *w = met();
    for (unsigned i = 0; i < 12; i++)
        submit(CLIENT_DELETE, (char[]){(char)('a' + i), 0}, 0);
    small_run(w, SECOND / 100);
    assert_int_equal(count_of(WIRE_DELETE), 9);
    const struct wire_message m = {.type = WIRE_RESULT, .id = rogue_last(&r, WIRE_DELETE)->id};
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 100);
    assert_int_equal(count_of(WIRE_DELETE), 10);
    part(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(altered_bytes_are_named_and_end_the_connection),
        cmocka_unit_test(memory_of_a_get_that_was_reported_is_not_written_any_more),
        cmocka_unit_test(memory_of_a_put_that_was_reported_is_not_read_any_more),
        cmocka_unit_test(a_put_ends_in_its_tag),
        cmocka_unit_test(the_values_of_a_connection_take_turns),
        cmocka_unit_test(a_put_keeps_its_turn_for_two_megabytes),
        cmocka_unit_test(who_puts_much_lets_others_have_their_turn),
        cmocka_unit_test(who_gets_much_lets_others_have_their_turn),
        cmocka_unit_test(a_put_is_not_prepared_before_it_was_sent),
        cmocka_unit_test(a_server_gets_no_more_deletions_than_it_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
