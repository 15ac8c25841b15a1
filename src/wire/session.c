/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/session.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/wire/bytes.h"

#define MAGIC 0x4d4b5631u /* "MKV1" */
#define HINT_BYTES 8u
#define HELLO_BODY (1u + WIRE_NONCE_BYTES + HINT_BYTES)
#define CHALLENGE_BODY (1u + WIRE_NONCE_BYTES + WIRE_MAC_BYTES)
#define PROOF_BODY WIRE_MAC_BYTES
#define TRANSCRIPT (2u * (2u + WIRE_NONCE_BYTES) + HINT_BYTES)

enum kind {
    KIND_HELLO = 1,     /* role, nonce, hint at the key */
    KIND_CHALLENGE = 2, /* role, nonce, the server's proof */
    KIND_PROOF = 3,     /* the client's proof */
    KIND_RECORD = 4,    /* frames, then a MAC over header and frames */
    KIND_REFUSAL = 5,   /* no body: the server's version is lower than that of HELLO */
};

enum state {
    WAIT_HELLO,     /* server: nothing heard yet */
    WAIT_CHALLENGE, /* client: HELLO is out */
    WAIT_PROOF,     /* server: CHALLENGE is out */
    READY,
    BROKEN, /* an error was returned; nothing is taken any more */
};

struct header {
    uint8_t version, kind;
    uint32_t length;
    uint64_t sequence;
};

struct buffer {
    uint8_t *data;
    size_t used, room;
};

struct wire_session {
    enum wire_role role;
    enum state state;
    uint8_t key[WIRE_KEY_BYTES];
    bool has_other; /* server: a second key is good too */
    uint8_t other[WIRE_KEY_BYTES];
    uint8_t hint[HINT_BYTES]; /* as HELLO has it */
    uint8_t nonce[WIRE_NONCE_BYTES], peer_nonce[WIRE_NONCE_BYTES];
    uint8_t peer_version;
    struct wire_mac *mac_in, *mac_out, *binder;
    uint64_t sequence_in, sequence_out;
    struct buffer in, out;
    size_t out_sent;         /* of out.data */
    struct buffer payloads;  /* follow the record that is open */
    bool announces;          /* it ends in a BULK already */
    bool record_open;        /* the last record in `out` takes further frames */
    size_t record_at;        /* its header */
    size_t frame_at, frames; /* a verified record in `in`: next frame, end of frames */
    bool announced;          /* BULK was among them */
    size_t payload;          /* bytes that pass by before anything else */
};

static bool reserve(struct buffer *b, size_t more)
{
    if (more <= b->room - b->used)
        return true;
    size_t room = b->room ? b->room : 512;
    while (room - b->used < more)
        room *= 2;
    uint8_t *data = realloc(b->data, room);
    if (!data)
        return false;
    b->data = data;
    b->room = room;
    return true;
}

static void put_header(uint8_t *at, enum kind kind, size_t length, uint64_t sequence)
{
    struct wire_writer w = {.data = at, .room = WIRE_HEADER_BYTES};
    wire_put(&w, MAGIC, 4);
    wire_put(&w, WIRE_VERSION, 1);
    wire_put(&w, kind, 1);
    wire_put(&w, 0, 2);
    wire_put(&w, length, 4);
    wire_put(&w, sequence, 8);
    assert(!w.failed && w.used == WIRE_HEADER_BYTES);
}

/* A handshake message is only bytes: what authenticates it is inside. */
static enum fabric_error queue_plain(struct wire_session *s, enum kind kind, const uint8_t *body,
                                     size_t length)
{
    if (!reserve(&s->out, WIRE_HEADER_BYTES + length))
        return ERR_RESOURCES_EXHAUSTED;
    put_header(s->out.data + s->out.used, kind, length, 0);
    if (length)
        memcpy(s->out.data + s->out.used + WIRE_HEADER_BYTES, body, length);
    s->out.used += WIRE_HEADER_BYTES + length;
    return FABRIC_OK;
}

/* Tells who knows several keys which one is meant, and nobody else anything: it is fresh with the
 * nonce. A wrong one only makes the handshake fail. */
static void hint(const uint8_t key[WIRE_KEY_BYTES], const uint8_t nonce[WIRE_NONCE_BYTES],
                 uint8_t out[HINT_BYTES])
{
    uint8_t whole[WIRE_KEY_BYTES];
    const struct wire_span part = {nonce, WIRE_NONCE_BYTES};
    wire_derive(key, "memkv key hint 1", &part, 1, whole);
    memcpy(out, whole, HINT_BYTES);
    OPENSSL_cleanse(whole, sizeof whole);
}

enum fabric_error wire_session_create(enum wire_role role, const uint8_t key[WIRE_KEY_BYTES],
                                      const uint8_t nonce[WIRE_NONCE_BYTES],
                                      struct wire_session **out)
{
    assert((role == WIRE_CLIENT || role == WIRE_SERVER) && key && nonce && out);
    struct wire_session *s = calloc(1, sizeof *s);
    if (!s)
        return ERR_RESOURCES_EXHAUSTED;
    s->role = role;
    s->state = role == WIRE_CLIENT ? WAIT_CHALLENGE : WAIT_HELLO;
    memcpy(s->key, key, sizeof s->key);
    memcpy(s->nonce, nonce, sizeof s->nonce);
    if (role == WIRE_CLIENT) {
        uint8_t body[HELLO_BODY] = {WIRE_CLIENT};
        memcpy(body + 1, nonce, WIRE_NONCE_BYTES);
        hint(key, nonce, s->hint);
        memcpy(body + 1 + WIRE_NONCE_BYTES, s->hint, HINT_BYTES);
        if (queue_plain(s, KIND_HELLO, body, sizeof body) != FABRIC_OK) {
            wire_session_destroy(s);
            return ERR_RESOURCES_EXHAUSTED;
        }
    }
    *out = s;
    return FABRIC_OK;
}

void wire_session_destroy(struct wire_session *session)
{
    if (!session)
        return;
    wire_mac_free(session->mac_in);
    wire_mac_free(session->mac_out);
    wire_mac_free(session->binder);
    free(session->in.data);
    free(session->out.data);
    free(session->payloads.data);
    OPENSSL_cleanse(session, sizeof *session);
    free(session);
}

void wire_session_accept(struct wire_session *session, const uint8_t key[WIRE_KEY_BYTES])
{
    assert(session && key && session->state == WAIT_HELLO);
    session->has_other = true;
    memcpy(session->other, key, sizeof session->other);
}

const uint8_t *wire_session_key(const struct wire_session *session)
{
    assert(session);
    return session->key;
}

bool wire_session_is_ready(const struct wire_session *session)
{
    assert(session);
    return session->state == READY;
}

bool wire_session_is_challenged(const struct wire_session *session)
{
    assert(session);
    return session->state == WAIT_PROOF;
}

/* Client first, whoever computes it. */
static void transcript(const struct wire_session *s, uint8_t out[TRANSCRIPT])
{
    bool client = s->role == WIRE_CLIENT;
    struct wire_writer w = {.data = out, .room = TRANSCRIPT};
    wire_put(&w, client ? WIRE_VERSION : s->peer_version, 1);
    wire_put(&w, WIRE_CLIENT, 1);
    wire_put_bytes(&w, client ? s->nonce : s->peer_nonce, WIRE_NONCE_BYTES);
    wire_put(&w, client ? s->peer_version : WIRE_VERSION, 1);
    wire_put(&w, WIRE_SERVER, 1);
    wire_put_bytes(&w, client ? s->peer_nonce : s->nonce, WIRE_NONCE_BYTES);
    wire_put_bytes(&w, s->hint, HINT_BYTES);
    assert(!w.failed && w.used == TRANSCRIPT);
}

static void proof(const struct wire_session *s, enum wire_role of, uint8_t out[WIRE_MAC_BYTES])
{
    uint8_t text[TRANSCRIPT];
    transcript(s, text);
    const struct wire_span part = {text, sizeof text};
    wire_derive(s->key, of == WIRE_CLIENT ? "memkv client proof 1" : "memkv server proof 1", &part,
                1, out);
}

static enum fabric_error derive_keys(struct wire_session *s)
{
    uint8_t text[TRANSCRIPT], base[WIRE_KEY_BYTES], to_server[WIRE_KEY_BYTES];
    uint8_t to_client[WIRE_KEY_BYTES], binder[WIRE_KEY_BYTES];
    transcript(s, text);
    const struct wire_span part = {text, sizeof text};
    wire_derive(s->key, "memkv session 1", &part, 1, base);
    wire_derive(base, "memkv client to server 1", NULL, 0, to_server);
    wire_derive(base, "memkv server to client 1", NULL, 0, to_client);
    wire_derive(base, "memkv binder 1", NULL, 0, binder);
    bool client = s->role == WIRE_CLIENT;
    s->mac_out = wire_mac_new(client ? to_server : to_client);
    s->mac_in = wire_mac_new(client ? to_client : to_server);
    s->binder = wire_mac_new(binder);
    OPENSSL_cleanse(base, sizeof base);
    if (!s->mac_out || !s->mac_in || !s->binder)
        return ERR_RESOURCES_EXHAUSTED;
    s->state = READY;
    return FABRIC_OK;
}

static enum fabric_error take_hello(struct wire_session *s, uint8_t version, const uint8_t *body)
{
    if (body[0] != WIRE_CLIENT)
        return ERR_AUTH_FAILED;
    memcpy(s->peer_nonce, body + 1, WIRE_NONCE_BYTES);
    memcpy(s->hint, body + 1 + WIRE_NONCE_BYTES, HINT_BYTES);
    s->peer_version = version;
    uint8_t answer[CHALLENGE_BODY] = {WIRE_SERVER}, wanted[HINT_BYTES];
    hint(s->other, s->peer_nonce, wanted);
    if (s->has_other && wire_equal(wanted, s->hint, HINT_BYTES) && !PLANTED(wire_other_key_ignored))
        memcpy(s->key, s->other, sizeof s->key);
    memcpy(answer + 1, s->nonce, WIRE_NONCE_BYTES);
    proof(s, WIRE_SERVER, answer + 1 + WIRE_NONCE_BYTES);
    s->state = WAIT_PROOF;
    return queue_plain(s, KIND_CHALLENGE, answer, sizeof answer);
}

static enum fabric_error take_challenge(struct wire_session *s, uint8_t version,
                                        const uint8_t *body)
{
    uint8_t expected[WIRE_MAC_BYTES], own[WIRE_MAC_BYTES];
    if (body[0] != WIRE_SERVER)
        return ERR_AUTH_FAILED;
    memcpy(s->peer_nonce, body + 1, WIRE_NONCE_BYTES);
    s->peer_version = version;
    proof(s, WIRE_SERVER, expected);
    if (!wire_equal(expected, body + 1 + WIRE_NONCE_BYTES, WIRE_MAC_BYTES)) {
        static const uint8_t refusal[WIRE_MAC_BYTES] = {0}; /* no key gives it */
        enum fabric_error queued = FABRIC_OK;
        if (!PLANTED(wire_refusal_untold))
            queued = queue_plain(s, KIND_PROOF, refusal, sizeof refusal);
        return queued ? queued : ERR_AUTH_FAILED;
    }
    proof(s, WIRE_CLIENT, own);
    enum fabric_error error = queue_plain(s, KIND_PROOF, own, sizeof own);
    return error ? error : derive_keys(s);
}

static enum fabric_error take_proof(struct wire_session *s, const uint8_t *body)
{
    uint8_t expected[WIRE_MAC_BYTES];
    proof(s, WIRE_CLIENT, expected);
    if (!wire_equal(expected, body, WIRE_MAC_BYTES) && !PLANTED(wire_proof_unchecked))
        return ERR_AUTH_FAILED;
    return derive_keys(s);
}

/* The kind that may come now, and the length its body must have; 0 for "up to the bound". */
static enum kind expected_kind(const struct wire_session *s, size_t *length)
{
    switch (s->state) {
    case WAIT_HELLO:
        *length = HELLO_BODY;
        return KIND_HELLO;
    case WAIT_CHALLENGE:
        *length = CHALLENGE_BODY;
        return KIND_CHALLENGE;
    case WAIT_PROOF:
        *length = PROOF_BODY;
        return KIND_PROOF;
    default:
        *length = 0;
        return KIND_RECORD;
    }
}

/* The only word of a server of an earlier version that a newer client is sure to understand. */
static bool is_refusal(const struct wire_session *s, const struct header *h)
{
    return s->state == WAIT_CHALLENGE && h->kind == KIND_REFUSAL && h->version > 0 &&
           h->length == 0 && h->sequence == 0;
}

/* Everything is judged from the header alone, before a byte of the body is waited for. */
static enum fabric_error read_header(const struct wire_session *s, struct header *out)
{
    struct wire_reader r = {.data = s->in.data, .left = WIRE_HEADER_BYTES};
    bool magic = wire_get(&r, 4) == MAGIC;
    out->version = (uint8_t)wire_get(&r, 1);
    out->kind = (uint8_t)wire_get(&r, 1);
    uint64_t reserved = wire_get(&r, 2);
    out->length = (uint32_t)wire_get(&r, 4);
    out->sequence = wire_get(&r, 8);
    if (!magic)
        return ERR_FRAME_INVALID;
    if (out->version > WIRE_VERSION || (!reserved && is_refusal(s, out)))
        return ERR_UNSUPPORTED_VERSION;
    if (out->length > WIRE_MAX_BODY && !PLANTED(wire_length_unbounded))
        return ERR_FRAME_TOO_LARGE;
    size_t length;
    bool kind = out->kind == expected_kind(s, &length);
    if (!kind && out->kind == KIND_RECORD)
        return ERR_AUTH_FAILED; /* speaks before it has shown the key */
    bool plain = out->kind != KIND_RECORD;
    if (!kind || out->version == 0 || reserved ||
        (plain && (out->length != length || out->sequence)))
        return ERR_FRAME_INVALID;
    return FABRIC_OK;
}

static size_t record_size(const struct header *h)
{
    return WIRE_HEADER_BYTES + h->length + (h->kind == KIND_RECORD ? WIRE_MAC_BYTES : 0);
}

static enum fabric_error take_record(struct wire_session *s, const struct header *h)
{
    uint8_t expected[WIRE_MAC_BYTES];
    size_t covered = WIRE_HEADER_BYTES + h->length;
    const struct wire_span part = {s->in.data, covered};
    wire_mac_compute(s->mac_in, &part, 1, expected);
    if (!wire_equal(expected, s->in.data + covered, WIRE_MAC_BYTES) && !PLANTED(wire_mac_unchecked))
        return ERR_FRAME_INVALID;
    if (h->sequence < s->sequence_in && !PLANTED(wire_replay_accepted))
        return ERR_REPLAYED;
    if (h->sequence > s->sequence_in && !PLANTED(wire_gap_accepted))
        return ERR_FRAME_INVALID;
    s->sequence_in++;
    s->frame_at = WIRE_HEADER_BYTES;
    s->frames = covered;
    s->announced = false;
    return FABRIC_OK;
}

static enum fabric_error take_whole(struct wire_session *s, const struct header *h)
{
    const uint8_t *body = s->in.data + WIRE_HEADER_BYTES;
    enum fabric_error error;
    if (h->kind == KIND_RECORD)
        return take_record(s, h);
    if (h->kind == KIND_HELLO)
        error = take_hello(s, h->version, body);
    else if (h->kind == KIND_CHALLENGE)
        error = take_challenge(s, h->version, body);
    else
        error = take_proof(s, body);
    s->in.used = 0;
    return error;
}

/* Without memory for it the client is told nothing. */
static enum fabric_error broken(struct wire_session *s, enum fabric_error error)
{
    if (error == ERR_UNSUPPORTED_VERSION && s->state == WAIT_HELLO &&
        !PLANTED(wire_version_refused_silently))
        (void)queue_plain(s, KIND_REFUSAL, NULL, 0);
    if (error)
        s->state = BROKEN;
    return error;
}

/* Fills `in` up to `want` bytes. */
static enum fabric_error fill(struct wire_session *s, size_t want, const uint8_t *data,
                              size_t length, size_t *taken)
{
    size_t missing = want - s->in.used, left = length - *taken;
    size_t step = missing < left ? missing : left;
    if (!reserve(&s->in, missing))
        return ERR_RESOURCES_EXHAUSTED;
    memcpy(s->in.data + s->in.used, data + *taken, step);
    s->in.used += step;
    *taken += step;
    return FABRIC_OK;
}

enum fabric_error wire_session_feed(struct wire_session *session, const uint8_t *data,
                                    size_t length, size_t *taken)
{
    assert(session && (data || length == 0) && taken);
    struct wire_session *s = session;
    *taken = 0;
    if (s->state == BROKEN)
        return ERR_FRAME_INVALID;
    while (*taken < length && s->frames == 0 && s->payload == 0) {
        struct header h;
        enum fabric_error error = FABRIC_OK;
        if (s->in.used < WIRE_HEADER_BYTES) {
            error = fill(s, WIRE_HEADER_BYTES, data, length, taken);
            if (!error && s->in.used == WIRE_HEADER_BYTES)
                error = read_header(s, &h);
        } else {
            error = read_header(s, &h);
            if (!error)
                error = fill(s, record_size(&h), data, length, taken);
            if (!error && s->in.used == record_size(&h))
                error = take_whole(s, &h);
        }
        if (error)
            return broken(s, error);
    }
    return FABRIC_OK;
}

enum fabric_error wire_session_next(struct wire_session *session, struct wire_message *out,
                                    bool *got)
{
    assert(session && out && got);
    struct wire_session *s = session;
    *got = false;
    if (s->state == BROKEN)
        return ERR_FRAME_INVALID;
    if (s->frames && s->frame_at == s->frames) { /* the record is used up */
        s->frames = 0;
        s->in.used = 0;
    }
    if (s->frames == 0)
        return FABRIC_OK;
    size_t used;
    enum fabric_error error =
        wire_message_decode(s->in.data + s->frame_at, s->frames - s->frame_at, out, &used);
    if (error)
        return broken(s, error);
    s->frame_at += used;
    bool bulk = out->type == WIRE_BULK;
    if (s->announced && !bulk && !PLANTED(wire_bulk_inside))
        return broken(s, ERR_FRAME_INVALID);
    s->announced = bulk;
    s->payload = bulk ? out->length : 0;
    *got = true;
    return FABRIC_OK;
}

size_t wire_session_payload(const struct wire_session *session)
{
    assert(session);
    return session->state == READY ? session->payload : 0;
}

void wire_session_payload_passed(struct wire_session *session, size_t length)
{
    assert(session && length <= session->payload);
    session->payload -= length;
}

enum fabric_error wire_session_end(const struct wire_session *session)
{
    assert(session);
    bool inside = session->payload || (session->in.used && session->frames == 0);
    return inside ? ERR_FRAME_INVALID : ERR_PEER_GONE;
}

/* From here on the record is only sent: one MAC over all its frames, then what they announce. */
static void seal(struct wire_session *s)
{
    if (!s->record_open)
        return;
    uint8_t *at = s->out.data + s->record_at;
    size_t length = s->out.used - s->record_at - WIRE_HEADER_BYTES, payloads = s->payloads.used;
    assert(length && length <= WIRE_MAX_BODY);
    assert(s->out.room - s->out.used >= WIRE_MAC_BYTES + payloads);
    put_header(at, KIND_RECORD, length, s->sequence_out++);
    const struct wire_span part = {at, WIRE_HEADER_BYTES + length};
    wire_mac_compute(s->mac_out, &part, 1, at + part.length);
    s->out.used += WIRE_MAC_BYTES;
    if (payloads)
        memcpy(s->out.data + s->out.used, s->payloads.data, payloads);
    s->out.used += payloads;
    s->payloads.used = 0;
    s->record_open = s->announces = false;
}

/* A frame of `most` bytes, with a payload of `copied`, does not belong into the open record. */
static bool is_full(const struct wire_session *s, size_t most, size_t copied, bool bulk)
{
    if (!s->record_open)
        return false;
    return s->out.used - s->record_at + most > WIRE_HEADER_BYTES + WIRE_MAX_BODY ||
           s->payloads.used + copied > WIRE_MAX_BODY || (s->announces && !bulk) ||
           PLANTED(wire_record_per_message);
}

/* What was reserved is enough for the open record, its MAC and its payloads. */
static bool reserve_all(struct wire_session *s, size_t most, size_t copied)
{
    size_t payloads = s->payloads.used + copied;
    return reserve(&s->out, WIRE_HEADER_BYTES + most + WIRE_MAC_BYTES + payloads) &&
           (copied == 0 || reserve(&s->payloads, copied));
}

enum fabric_error wire_session_send(struct wire_session *session,
                                    const struct wire_message *message)
{
    assert(session && message && session->state == READY);
    struct wire_session *s = session;
    const size_t most = WIRE_MESSAGE_ROOM;
    bool bulk = message->type == WIRE_BULK, copies = bulk && message->length <= WIRE_COPIED;
    size_t copied = copies ? message->length : 0, length;
    if (wire_session_queued(s) + WIRE_HEADER_BYTES + most + WIRE_MAC_BYTES + copied >
        WIRE_MAX_QUEUED)
        return ERR_QUEUE_FULL;
    if (is_full(s, most, copied, bulk))
        seal(s);
    if (!reserve_all(s, most, copied))
        return ERR_RESOURCES_EXHAUSTED;
    if (!s->record_open) {
        s->record_open = true;
        s->record_at = s->out.used;
        s->out.used += WIRE_HEADER_BYTES;
    }
    bool fits = wire_message_encode(message, s->out.data + s->out.used, most, &length);
    assert(fits);
    s->out.used += length;
    s->announces = bulk;
    if (copied)
        memcpy(s->payloads.data + s->payloads.used, message->data, copied);
    s->payloads.used += copied;
    if (bulk && !copies)
        seal(s);
    return FABRIC_OK;
}

size_t wire_session_queued(const struct wire_session *session)
{
    assert(session && session->out_sent <= session->out.used);
    return session->out.used - session->out_sent + session->payloads.used;
}

const uint8_t *wire_session_pending(struct wire_session *session, size_t *length)
{
    assert(session && length);
    seal(session);
    *length = wire_session_queued(session);
    return session->out.data + session->out_sent;
}

void wire_session_sent(struct wire_session *session, size_t length)
{
    struct wire_session *s = session;
    assert(s && !s->record_open && length <= wire_session_queued(s));
    s->out_sent += length;
    if (s->out_sent < s->out.used && s->out_sent < s->out.room / 2)
        return;
    memmove(s->out.data, s->out.data + s->out_sent, s->out.used - s->out_sent);
    s->out.used -= s->out_sent;
    s->out_sent = 0;
}

void wire_session_records(const struct wire_session *session, uint64_t *sent, uint64_t *received)
{
    assert(session && sent && received);
    *sent = session->sequence_out;
    *received = session->sequence_in;
}

void wire_session_bind(struct wire_session *session, const struct wire_message *request,
                       const struct wire_message *accept, uint8_t out[WIRE_MAC_BYTES])
{
    assert(session && session->binder && request && accept);
    uint8_t first[WIRE_MESSAGE_ROOM], second[WIRE_MESSAGE_ROOM];
    size_t n = 0, m = 0;
    bool fits = wire_message_encode(request, first, sizeof first, &n) &&
                wire_message_encode(accept, second, sizeof second, &m);
    assert(fits);
    const struct wire_span parts[] = {{first, n}, {second, m}};
    wire_mac_compute(session->binder, parts, 2, out);
}
