/* SPDX-License-Identifier: Apache-2.0 */
/* MK-I1, MK-I2: nothing gets through that the peer did not say, in this session and in this order.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/wire/bytes.h"
#include "src/wire/session.h"

static const uint8_t shared[WIRE_KEY_BYTES] = {1, 2, 3};
static const uint8_t client_nonce[WIRE_NONCE_BYTES] = {0xc1};
static const uint8_t server_nonce[WIRE_NONCE_BYTES] = {0x5e};

struct pair {
    struct wire_session *client, *server;
};

static struct pair open_pair(const uint8_t *client_key, const uint8_t *server_key)
{
    struct pair p;
    assert_int_equal(wire_session_create(WIRE_CLIENT, client_key, client_nonce, &p.client), 0);
    assert_int_equal(wire_session_create(WIRE_SERVER, server_key, server_nonce, &p.server), 0);
    return p;
}

static void close_pair(struct pair *p)
{
    wire_session_destroy(p->client);
    wire_session_destroy(p->server);
}

/* Moves all that waits from one to the other, `step` bytes at a time. */
static enum fabric_error move(struct wire_session *from, struct wire_session *to, size_t step)
{
    for (;;) {
        size_t length, taken;
        const uint8_t *data = wire_session_pending(from, &length);
        if (length == 0)
            return FABRIC_OK;
        enum fabric_error error =
            wire_session_feed(to, data, length < step ? length : step, &taken);
        if (error || taken == 0)
            return error;
        wire_session_sent(from, taken);
    }
}

static void shake(struct pair *p, size_t step)
{
    assert_int_equal(move(p->client, p->server, step), 0);
    assert_int_equal(move(p->server, p->client, step), 0);
    assert_int_equal(move(p->client, p->server, step), 0);
    assert_true(wire_session_is_ready(p->client));
    assert_true(wire_session_is_ready(p->server));
}

static struct wire_message exists(uint64_t id)
{
    struct wire_message m = {.type = WIRE_EXISTS, .id = id, .key = "key", .key_length = 3};
    return m;
}

/* Queues a message and copies its record out of the session. */
static size_t record(struct wire_session *from, uint64_t id, uint8_t *out)
{
    struct wire_message m = exists(id);
    size_t length;
    assert_int_equal(wire_session_send(from, &m), 0);
    const uint8_t *data = wire_session_pending(from, &length);
    memcpy(out, data, length);
    wire_session_sent(from, length);
    return length;
}

/* Feeds a record and fetches what is in it. */
static enum fabric_error deliver(struct wire_session *to, const uint8_t *data, size_t length,
                                 uint64_t *id)
{
    size_t taken;
    struct wire_message m;
    bool got = false;
    enum fabric_error error = wire_session_feed(to, data, length, &taken);
    if (!error)
        error = wire_session_next(to, &m, &got);
    *id = got ? m.id : 0;
    bool more = false;
    if (!error && got)
        error = wire_session_next(to, &m, &more);
    return error;
}

static void bytes_may_be_split_and_merged_anywhere(void **state)
{
    (void)state;
    for (size_t step = 1; step < 70; step++) {
        struct pair p = open_pair(shared, shared);
        shake(&p, step);
        struct wire_message m, sent = exists(1);
        bool got;
        for (uint64_t i = 1; i <= 3; i++) {
            size_t length;
            sent.id = i;
            assert_int_equal(wire_session_send(p.client, &sent), 0);
            wire_session_pending(p.client, &length); /* each in a record of its own */
        }
        for (uint64_t i = 1; i <= 3; i++) {
            assert_int_equal(move(p.client, p.server, step), 0);
            assert_int_equal(wire_session_next(p.server, &m, &got), 0);
            assert_true(got);
            assert_int_equal(m.id, i);
            assert_memory_equal(m.key, "key", 3);
            assert_int_equal(wire_session_next(p.server, &m, &got), 0);
            assert_false(got);
        }
        assert_int_equal(wire_session_end(p.server), ERR_PEER_GONE);
        close_pair(&p);
    }
}

/* MK-J5: a batch of three EXISTS, as docs/formats.md has it. */
static void messages_of_a_batch_share_a_record_and_its_mac(void **state)
{
    (void)state;
    static const uint8_t golden[] = {
        0x4d, 0x4b, 0x56, 0x31, 0x01, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x39, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x6b, 0x31, 0x0a, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02,
        0x6b, 0x32, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x03, 0x02, 0x6b, 0x33, 0x8d, 0xe8, 0xbf, 0xab, 0x6f, 0x44, 0x21,
        0xbd, 0xee, 0x01, 0xaf, 0x02, 0x8a, 0x2d, 0xe4, 0x1b, 0x69, 0xc0, 0x14, 0xaf, 0x3a,
        0x5d, 0x9b, 0x43, 0x30, 0xa2, 0x6a, 0xb4, 0xfa, 0xc3, 0x38, 0x88};
    struct pair p = open_pair(shared, shared);
    shake(&p, 1000);
    static const char keys[3][3] = {"k1", "k2", "k3"};
    for (uint64_t i = 1; i <= 3; i++) {
        struct wire_message m = {.type = WIRE_EXISTS, .id = i, .key_length = 2};
        memcpy(m.key, keys[i - 1], 2);
        assert_int_equal(wire_session_send(p.client, &m), 0);
    }
    size_t length;
    const uint8_t *data = wire_session_pending(p.client, &length);
    assert_int_equal(length, sizeof golden);
    assert_memory_equal(data, golden, sizeof golden);
    assert_int_equal(move(p.client, p.server, 1000), 0);
    for (uint64_t i = 1; i <= 3; i++) {
        struct wire_message m;
        bool got;
        assert_int_equal(wire_session_next(p.server, &m, &got), 0);
        assert_true(got);
        assert_int_equal(m.id, i);
    }
    close_pair(&p);
}

/* A batch that is larger than a record takes another one; both stay within the bound. */
static void a_record_is_closed_before_it_is_too_large(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    shake(&p, 1000);
    uint64_t sent, received, last = 0;
    for (uint64_t i = 1; i <= 5000; i++) {
        struct wire_message m = exists(i);
        assert_int_equal(wire_session_send(p.client, &m), 0);
    }
    while (last < 5000) {
        struct wire_message m;
        bool got;
        assert_int_equal(move(p.client, p.server, 100000), 0);
        for (;;) {
            assert_int_equal(wire_session_next(p.server, &m, &got), 0);
            if (!got)
                break;
            assert_int_equal(m.id, ++last);
        }
    }
    wire_session_records(p.client, &sent, &received);
    assert_int_equal(sent, 2);
    close_pair(&p);
}

static void another_key_fails_on_both_sides(void **state)
{
    (void)state;
    const uint8_t other[WIRE_KEY_BYTES] = {9};
    struct pair p = open_pair(other, shared);
    assert_int_equal(move(p.client, p.server, 100), 0);
    assert_true(wire_session_is_challenged(p.server));
    assert_int_equal(move(p.server, p.client, 100), ERR_AUTH_FAILED);
    assert_false(wire_session_is_ready(p.client));
    size_t taken;
    assert_int_equal(wire_session_feed(p.client, shared, 1, &taken), ERR_FRAME_INVALID);
    assert_int_equal(move(p.client, p.server, 100), ERR_AUTH_FAILED); /* it says why it leaves */
    close_pair(&p);
}

static void a_wrong_proof_is_refused_and_nothing_was_told(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    size_t length, taken;
    assert_int_equal(move(p.client, p.server, 100), 0);
    assert_int_equal(move(p.server, p.client, 100), 0);
    uint8_t proof[128];
    const uint8_t *data = wire_session_pending(p.client, &length);
    memcpy(proof, data, length);
    proof[length - 1] ^= 1;
    assert_int_equal(wire_session_feed(p.server, proof, length, &taken), ERR_AUTH_FAILED);
    assert_false(wire_session_is_ready(p.server));
    wire_session_pending(p.server, &length);
    assert_int_equal(length, 0);
    close_pair(&p);
}

static void what_a_server_says_cannot_be_reflected(void **state)
{
    (void)state;
    struct wire_session *a, *b;
    assert_int_equal(wire_session_create(WIRE_CLIENT, shared, client_nonce, &a), 0);
    assert_int_equal(wire_session_create(WIRE_CLIENT, shared, server_nonce, &b), 0);
    size_t length, taken;
    const uint8_t *hello = wire_session_pending(a, &length);
    uint8_t copy[128];
    memcpy(copy, hello, length);
    assert_int_equal(wire_session_feed(b, copy, length, &taken), ERR_FRAME_INVALID);
    copy[20] = WIRE_SERVER; /* a HELLO in a server's name */
    struct pair p = open_pair(shared, shared);
    assert_int_equal(wire_session_feed(p.server, copy, length, &taken), ERR_AUTH_FAILED);
    close_pair(&p);
    wire_session_destroy(a);
    wire_session_destroy(b);
}

static void a_record_before_the_proof_is_refused(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared), q = open_pair(shared, shared);
    uint8_t bytes[256];
    size_t taken;
    shake(&p, 100);
    size_t length = record(p.client, 1, bytes);
    assert_int_equal(wire_session_feed(q.server, bytes, length, &taken), ERR_AUTH_FAILED);
    close_pair(&p);
    close_pair(&q);
}

static void a_replayed_record_ends_the_session(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    uint8_t bytes[256];
    uint64_t id;
    shake(&p, 100);
    size_t length = record(p.client, 7, bytes);
    assert_int_equal(deliver(p.server, bytes, length, &id), 0);
    assert_int_equal(id, 7);
    assert_int_equal(deliver(p.server, bytes, length, &id), ERR_REPLAYED);
    assert_int_equal(deliver(p.server, bytes, length, &id), ERR_FRAME_INVALID);
    close_pair(&p);
}

static void a_record_out_of_order_ends_the_session(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    uint8_t first[256], second[256];
    uint64_t id;
    shake(&p, 100);
    record(p.client, 1, first);
    size_t length = record(p.client, 2, second);
    assert_int_equal(deliver(p.server, second, length, &id), ERR_FRAME_INVALID);
    close_pair(&p);
}

static void a_record_of_another_session_is_refused(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    uint8_t bytes[256];
    uint64_t id;
    shake(&p, 100);
    size_t length = record(p.client, 1, bytes);
    const uint8_t fresh[WIRE_NONCE_BYTES] = {0x77};
    struct pair q = open_pair(shared, shared);
    wire_session_destroy(q.server);
    assert_int_equal(wire_session_create(WIRE_SERVER, shared, fresh, &q.server), 0);
    shake(&q, 100);
    assert_int_equal(deliver(q.server, bytes, length, &id), ERR_FRAME_INVALID);
    assert_int_equal(deliver(p.client, bytes, length, &id), ERR_FRAME_INVALID); /* other way */
    close_pair(&p);
    close_pair(&q);
}

/* Every bit of every byte of a handshake and a record: nothing altered gets through. */
static void no_altered_byte_gets_through(void **state)
{
    (void)state;
    for (size_t at = 0;; at++) {
        struct pair p = open_pair(shared, shared);
        uint8_t bytes[256];
        uint64_t id = 0;
        shake(&p, 100);
        size_t length = record(p.client, 7, bytes);
        if (at == length) {
            close_pair(&p);
            return;
        }
        bytes[at] ^= (uint8_t)(1u << (at % 8));
        enum fabric_error error = deliver(p.server, bytes, length, &id);
        assert_int_equal(id, 0);
        if (error == FABRIC_OK) /* a longer body is announced and waited for */
            assert_int_equal(wire_session_end(p.server), ERR_FRAME_INVALID);
        close_pair(&p);
    }
}

static void every_altered_byte_of_the_handshake_is_noticed(void **state)
{
    (void)state;
    for (size_t at = 0; at < 61 + 85; at++) {
        struct pair p = open_pair(shared, shared);
        uint8_t bytes[256];
        size_t length, taken;
        enum fabric_error error;
        const uint8_t *data = wire_session_pending(p.client, &length);
        memcpy(bytes, data, length);
        assert_int_equal(length, 61);
        wire_session_sent(p.client, length);
        if (at < length)
            bytes[at] ^= 0x10;
        error = wire_session_feed(p.server, bytes, length, &taken);
        if (!error) {
            data = wire_session_pending(p.server, &length);
            memcpy(bytes, data, length);
            if (at >= 61 && length == 85)
                bytes[at - 61] ^= 0x10;
            error = wire_session_feed(p.client, bytes, length, &taken);
        }
        assert_true(error == ERR_AUTH_FAILED || error == ERR_FRAME_INVALID ||
                    error == ERR_UNSUPPORTED_VERSION || error == ERR_FRAME_TOO_LARGE);
        assert_false(wire_session_is_ready(p.client));
        close_pair(&p);
    }
}

/* While the key of a cluster is changed both are good, and either end uses the client's. */
static void a_client_with_the_second_key_is_let_in(void **state)
{
    const uint8_t older[WIRE_KEY_BYTES] = {9}, third[WIRE_KEY_BYTES] = {7};
    (void)state;
    struct pair p = open_pair(older, shared);
    wire_session_accept(p.server, older);
    shake(&p, 7);
    assert_memory_equal(wire_session_key(p.server), older, WIRE_KEY_BYTES);
    close_pair(&p);
    p = open_pair(shared, shared);
    wire_session_accept(p.server, older);
    shake(&p, 7);
    assert_memory_equal(wire_session_key(p.server), shared, WIRE_KEY_BYTES);
    close_pair(&p);
    p = open_pair(third, shared);
    wire_session_accept(p.server, older);
    assert_int_equal(move(p.client, p.server, 7), 0);
    assert_int_equal(move(p.server, p.client, 7), ERR_AUTH_FAILED);
    close_pair(&p);
}

static void a_higher_version_is_refused_by_name(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    size_t length, taken;
    uint8_t bytes[128];
    memcpy(bytes, wire_session_pending(p.client, &length), 61);
    bytes[4] = WIRE_VERSION + 1;
    assert_int_equal(wire_session_feed(p.server, bytes, 61, &taken), ERR_UNSUPPORTED_VERSION);
    static const uint8_t refusal[WIRE_HEADER_BYTES] = {'M', 'K', 'V', '1', 1, 5};
    const uint8_t *told = wire_session_pending(p.server, &length);
    assert_int_equal(length, sizeof refusal);
    assert_memory_equal(told, refusal, sizeof refusal);
    assert_int_equal(wire_session_feed(p.client, told, length, &taken), ERR_UNSUPPORTED_VERSION);
    close_pair(&p);
    p = open_pair(shared, shared);
    bytes[4] = 0;
    assert_int_equal(wire_session_feed(p.server, bytes, 61, &taken), ERR_FRAME_INVALID);
    close_pair(&p);
}

/* A refusal is for a client that waits for a challenge, has no body, and nothing else has its kind.
 */
static void a_refusal_is_taken_only_where_it_belongs(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {{4, 0}, {6, 1}, {11, 1}, {19, 1}};
    size_t taken;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct pair p = open_pair(shared, shared);
        uint8_t bytes[WIRE_HEADER_BYTES] = {'M', 'K', 'V', '1', 1, 5};
        bytes[wrong[i].at] = wrong[i].value;
        assert_int_equal(wire_session_feed(p.client, bytes, sizeof bytes, &taken),
                         ERR_FRAME_INVALID);
        close_pair(&p);
    }
    const uint8_t refusal[WIRE_HEADER_BYTES] = {'M', 'K', 'V', '1', 1, 5};
    struct pair p = open_pair(shared, shared);
    assert_int_equal(wire_session_feed(p.server, refusal, sizeof refusal, &taken),
                     ERR_FRAME_INVALID);
    close_pair(&p);
    p = open_pair(shared, shared);
    shake(&p, 100);
    assert_int_equal(wire_session_feed(p.client, refusal, sizeof refusal, &taken),
                     ERR_FRAME_INVALID);
    close_pair(&p);
}

static void a_length_is_bounded_by_its_header_alone(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    uint8_t bytes[256];
    size_t taken;
    shake(&p, 100);
    record(p.client, 1, bytes);
    bytes[8] = 0xff; /* 4 GiB announced */
    assert_int_equal(wire_session_feed(p.server, bytes, WIRE_HEADER_BYTES, &taken),
                     ERR_FRAME_TOO_LARGE);
    close_pair(&p);
}

static void a_truncated_record_is_named(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    uint8_t bytes[256];
    uint64_t id;
    shake(&p, 100);
    size_t length = record(p.client, 1, bytes);
    assert_int_equal(deliver(p.server, bytes, length - 1, &id), 0);
    assert_int_equal(id, 0);
    assert_int_equal(wire_session_end(p.server), ERR_FRAME_INVALID);
    close_pair(&p);
}

static void a_peer_that_does_not_read_costs_bounded_memory(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    shake(&p, 100);
    struct wire_message m = {.type = WIRE_EXISTS, .id = 1, .key_length = 255};
    enum fabric_error error = FABRIC_OK;
    unsigned sent = 0;
    while (!error && sent < 100000) {
        error = wire_session_send(p.client, &m);
        sent++;
    }
    assert_int_equal(error, ERR_QUEUE_FULL);
    size_t length;
    wire_session_pending(p.client, &length);
    assert_true(length <= WIRE_MAX_QUEUED);
    wire_session_sent(p.client, length / 2 + 5); /* what is left moves to the front */
    wire_session_pending(p.client, &length);
    assert_true(length > 0);
    close_pair(&p);
}

static void both_ends_bind_the_same_addresses(void **state)
{
    (void)state;
    struct pair p = open_pair(shared, shared);
    shake(&p, 100);
    struct wire_message request = {.type = WIRE_LINK_REQUEST, .generation = 1, .qp_num = 5};
    struct wire_message accept = {.type = WIRE_LINK_ACCEPT, .generation = 1, .qp_num = 6};
    uint8_t a[WIRE_MAC_BYTES], b[WIRE_MAC_BYTES];
    wire_session_bind(p.client, &request, &accept, a);
    wire_session_bind(p.server, &request, &accept, b);
    assert_memory_equal(a, b, sizeof a);
    accept.address.lid = 1;
    wire_session_bind(p.server, &request, &accept, b);
    assert_memory_not_equal(a, b, sizeof a);
    close_pair(&p);
    wire_session_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_may_be_split_and_merged_anywhere),
        cmocka_unit_test(messages_of_a_batch_share_a_record_and_its_mac),
        cmocka_unit_test(a_record_is_closed_before_it_is_too_large),
        cmocka_unit_test(another_key_fails_on_both_sides),
        cmocka_unit_test(a_wrong_proof_is_refused_and_nothing_was_told),
        cmocka_unit_test(what_a_server_says_cannot_be_reflected),
        cmocka_unit_test(a_record_before_the_proof_is_refused),
        cmocka_unit_test(a_replayed_record_ends_the_session),
        cmocka_unit_test(a_record_out_of_order_ends_the_session),
        cmocka_unit_test(a_record_of_another_session_is_refused),
        cmocka_unit_test(no_altered_byte_gets_through),
        cmocka_unit_test(every_altered_byte_of_the_handshake_is_noticed),
        cmocka_unit_test(a_client_with_the_second_key_is_let_in),
        cmocka_unit_test(a_higher_version_is_refused_by_name),
        cmocka_unit_test(a_refusal_is_taken_only_where_it_belongs),
        cmocka_unit_test(a_length_is_bounded_by_its_header_alone),
        cmocka_unit_test(a_truncated_record_is_named),
        cmocka_unit_test(a_peer_that_does_not_read_costs_bounded_memory),
        cmocka_unit_test(both_ends_bind_the_same_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
