/* SPDX-License-Identifier: Apache-2.0 */
/* MK-I1: what BULK announces follows its record, and only what is announced passes. That its bytes
 * are right is for the tag of the block: see the tests of server and client. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/wire/bytes.h"
#include "src/wire/session.h"

static const uint8_t shared[WIRE_KEY_BYTES] = {1, 2, 3};
static const uint8_t client_nonce[WIRE_NONCE_BYTES] = {0xc1};
static const uint8_t server_nonce[WIRE_NONCE_BYTES] = {0x5e};
static const uint8_t value[] = "some bytes of a value";

struct pair {
    struct wire_session *client, *server;
};

static void move(struct wire_session *from, struct wire_session *to)
{
    size_t length, taken;
    const uint8_t *data = wire_session_pending(from, &length);
    assert_int_equal(wire_session_feed(to, data, length, &taken), 0);
    assert_int_equal(taken, length);
    wire_session_sent(from, length);
}

static struct pair open_pair(void)
{
    struct pair p;
    assert_int_equal(wire_session_create(WIRE_CLIENT, shared, client_nonce, &p.client), 0);
    assert_int_equal(wire_session_create(WIRE_SERVER, shared, server_nonce, &p.server), 0);
    move(p.client, p.server);
    move(p.server, p.client);
    move(p.client, p.server);
    assert_true(wire_session_is_ready(p.server));
    return p;
}

static void close_pair(struct pair *p)
{
    wire_session_destroy(p->client);
    wire_session_destroy(p->server);
}

/* Queues `count` pieces of one byte more each, and an EXISTS behind them; their bytes on the
 * stream. */
static size_t say(struct pair *p, unsigned count, uint8_t *out)
{
    size_t length;
    struct wire_message exists = {.type = WIRE_EXISTS, .id = 9, .key = "key", .key_length = 3};
    for (unsigned i = 1; i <= count; i++) {
        struct wire_message m = {.type = WIRE_BULK, .id = i, .length = i, .data = value};
        assert_int_equal(wire_session_send(p->client, &m), 0);
    }
    assert_int_equal(wire_session_send(p->client, &exists), 0);
    const uint8_t *data = wire_session_pending(p->client, &length);
    memcpy(out, data, length);
    wire_session_sent(p->client, length);
    return length;
}

struct heard {
    unsigned messages, last_id;
    size_t payload; /* bytes; all of them must be the right ones */
    enum fabric_error error;
};

/* What the server makes of bytes that come `step` at a time. */
static struct heard hear(struct pair *p, const uint8_t *data, size_t length, size_t step)
{
    struct heard h = {0};
    size_t of_piece = 0;
    while (!h.error) {
        struct wire_message m;
        bool got = false;
        size_t left = wire_session_payload(p->server), taken = 0;
        size_t part = length < step ? length : step;
        if (left) {
            taken = left < part ? left : part;
            assert_memory_equal(data, value + of_piece, taken);
            wire_session_payload_passed(p->server, taken);
            h.payload += taken;
            of_piece += taken;
        } else {
            h.error = wire_session_next(p->server, &m, &got);
            h.messages += got;
            h.last_id = got ? (unsigned)m.id : h.last_id;
            of_piece = 0;
            if (!h.error && !got)
                h.error = wire_session_feed(p->server, data, part, &taken);
        }
        if (length == 0 && !got)
            break;
        data += taken;
        length -= taken;
    }
    return h;
}

static void payloads_follow_their_record_however_the_bytes_are_split(void **state)
{
    (void)state;
    for (size_t step = 1; step < 200; step++) {
        struct pair p = open_pair();
        uint8_t bytes[1024];
        uint64_t sent, received;
        size_t length = say(&p, 3, bytes);
        wire_session_records(p.client, &sent, &received);
        assert_int_equal(sent, 2); /* the pieces share one */
        struct heard h = hear(&p, bytes, length, step);
        assert_int_equal(h.error, 0);
        assert_int_equal(h.messages, 4);
        assert_int_equal(h.last_id, 9);
        assert_int_equal(h.payload, 1 + 2 + 3);
        assert_int_equal(wire_session_end(p.server), ERR_PEER_GONE);
        close_pair(&p);
    }
}

/* Wherever the stream ends, inside a payload too, it does not look like an orderly end. */
static void a_payload_that_is_cut_short_is_named(void **state)
{
    (void)state;
    const size_t record = WIRE_HEADER_BYTES + 8 + 8 + 4 + 4 + 16 + WIRE_MAC_BYTES, payload = 1;
    struct pair whole = open_pair();
    uint8_t bytes[1024];
    size_t length = say(&whole, 1, bytes);
    for (size_t cut = 0; cut < length; cut++) {
        struct pair p = open_pair();
        struct heard h = hear(&p, bytes, cut, 1000);
        assert_int_equal(h.error, 0);
        bool between = cut == 0 || cut == record + payload;
        assert_int_equal(wire_session_end(p.server), between ? ERR_PEER_GONE : ERR_FRAME_INVALID);
        close_pair(&p);
    }
    close_pair(&whole);
}

/* Nothing of the record gets through altered; and with one byte more or less between two records
 * the next one is none. */
static void what_announces_a_payload_cannot_be_altered(void **state)
{
    (void)state;
    struct pair whole = open_pair();
    uint8_t bytes[1024], longer[1025];
    const size_t record = WIRE_HEADER_BYTES + 40 + WIRE_MAC_BYTES;
    size_t length = say(&whole, 1, bytes);
    for (size_t at = 0; at < record; at++) {
        struct pair p = open_pair();
        bytes[at] ^= (uint8_t)(1u << (at % 8));
        struct heard h = hear(&p, bytes, record, 1000);
        assert_int_equal(h.messages, 0);
        assert_true(h.error || wire_session_end(p.server) == ERR_FRAME_INVALID);
        bytes[at] ^= (uint8_t)(1u << (at % 8));
        close_pair(&p);
    }
    for (int more = 0; more < 2; more++) {
        struct pair p = open_pair();
        memcpy(longer, bytes, record + 1);
        memcpy(longer + record + 2 * more, bytes + record + 1, length - record - 1);
        longer[record] = value[0];
        struct heard h = hear(&p, longer, more ? length + 1 : length - 1, 1000);
        assert_int_equal(h.messages, 1);
        assert_true(h.error || wire_session_end(p.server) == ERR_FRAME_INVALID);
        close_pair(&p);
    }
    close_pair(&whole);
}

static void a_piece_is_neither_replayed_nor_moved(void **state)
{
    (void)state;
    struct pair p = open_pair();
    uint8_t bytes[1024];
    const size_t piece = WIRE_HEADER_BYTES + 40 + WIRE_MAC_BYTES + 1;
    size_t length = say(&p, 1, bytes);
    assert_int_equal(hear(&p, bytes, piece, 1000).messages, 1);
    assert_int_equal(hear(&p, bytes, piece, 1000).error, ERR_REPLAYED);
    close_pair(&p);
    p = open_pair();
    assert_int_equal(hear(&p, bytes + piece, length - piece, 1000).error, ERR_FRAME_INVALID);
    close_pair(&p);
}

/* The key of what the client says, as docs/formats.md derives it. */
static void record_key(uint8_t out[WIRE_KEY_BYTES])
{
    uint8_t hint[WIRE_KEY_BYTES], text[76], base[WIRE_KEY_BYTES];
    const struct wire_span nonce = {client_nonce, sizeof client_nonce};
    wire_derive(shared, "memkv key hint 1", &nonce, 1, hint);
    struct wire_writer w = {.data = text, .room = sizeof text};
    wire_put(&w, 0x0101, 2);
    wire_put_bytes(&w, client_nonce, sizeof client_nonce);
    wire_put(&w, 0x0102, 2);
    wire_put_bytes(&w, server_nonce, sizeof server_nonce);
    wire_put_bytes(&w, hint, 8);
    const struct wire_span transcript = {text, w.used};
    wire_derive(shared, "memkv session 1", &transcript, 1, base);
    wire_derive(base, "memkv client to server 1", NULL, 0, out);
}

/* It would be taken for bytes of the payload, or they for it. */
static void nothing_but_further_pieces_follows_a_piece_in_its_record(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pair p = open_pair();
        const struct wire_message bulk = {.type = WIRE_BULK, .id = 1, .length = 1};
        const struct wire_message after = {.type = i ? WIRE_BULK : WIRE_PING, .id = 2, .length = 1};
        uint8_t bytes[1024], key[WIRE_KEY_BYTES];
        size_t n, m;
        uint8_t *body = bytes + WIRE_HEADER_BYTES;
        assert_true(wire_message_encode(&bulk, body, 500, &n));
        assert_true(wire_message_encode(&after, body + n, 500, &m));
        struct wire_writer w = {.data = bytes, .room = WIRE_HEADER_BYTES};
        wire_put(&w, 0x4d4b563101040000, 8);
        wire_put(&w, n + m, 4);
        wire_put(&w, 0, 8);
        record_key(key);
        struct wire_mac *mac = wire_mac_new(key);
        const struct wire_span part = {bytes, WIRE_HEADER_BYTES + n + m};
        wire_mac_compute(mac, &part, 1, bytes + part.length);
        wire_mac_free(mac);
        bytes[part.length + WIRE_MAC_BYTES] = value[0];
        bytes[part.length + WIRE_MAC_BYTES + 1] = value[0];
        struct heard h = hear(&p, bytes, part.length + WIRE_MAC_BYTES + 2, 1000);
        assert_int_equal(h.error, i ? FABRIC_OK : ERR_FRAME_INVALID);
        assert_int_equal(h.messages, i ? 2 : 1);
        close_pair(&p);
    }
}

/* docs/formats.md shows these bytes: of the first record that its client sends. */
static void the_golden_piece_is_kept(void **state)
{
    (void)state;
    static const uint8_t golden[] = {
        0x4d, 0x4b, 0x56, 0x31, 0x01, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x28, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x05, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa,
        0xaa, 0xaa, 0xaa, 0xaa, 0xfa, 0xed, 0x36, 0xa9, 0x01, 0x2c, 0x9f, 0xb0, 0xff, 0xf0,
        0xe0, 0xdf, 0xbc, 0x6d, 0x84, 0xdf, 0xea, 0x70, 0xfa, 0x71, 0xe4, 0xb5, 0xf6, 0xf7,
        0xa6, 0xea, 0x5f, 0x61, 0x88, 0x51, 0x4d, 0x71, 0x76, 0x61, 0x6c, 0x75, 0x65};
    static const uint8_t five[] = "value";
    struct pair p = open_pair();
    size_t length;
    struct wire_message m = {.type = WIRE_BULK, .id = 42, .length = 5, .data = five};
    memset(m.mac, 0xaa, sizeof m.mac);
    assert_int_equal(wire_session_send(p.client, &m), 0);
    const uint8_t *data = wire_session_pending(p.client, &length);
    assert_int_equal(length, sizeof golden);
    assert_memory_equal(data, golden, sizeof golden);
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payloads_follow_their_record_however_the_bytes_are_split),
        cmocka_unit_test(a_payload_that_is_cut_short_is_named),
        cmocka_unit_test(what_announces_a_payload_cannot_be_altered),
        cmocka_unit_test(a_piece_is_neither_replayed_nor_moved),
        cmocka_unit_test(nothing_but_further_pieces_follows_a_piece_in_its_record),
        cmocka_unit_test(the_golden_piece_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
