/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/channel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

#define CHUNK 16384u /* bytes that are read ahead at most */

struct outgoing {
    const uint8_t *data; /* the sender's, or `own` */
    size_t left, before; /* bytes of it; bytes of the session that go first */
    uint8_t *own;
    struct wire_tag_run *run; /* null: no tag is wanted, or no more */
};

struct incoming {
    uint8_t *to; /* null: thrown away */
    uint64_t id;
    uint32_t offset; /* of the next byte */
};

struct wire_channel {
    struct fabric *fabric;
    fabric_stream stream;
    struct wire_session *session;
    uint8_t chunk[CHUNK]; /* what arrived and the session did not take yet */
    size_t chunk_at, chunk_end;
    bool corked;
    struct outgoing out;
    struct incoming in;
    struct wire_tagger *tagger; /* null: not needed so far */
    enum fabric_error broken;   /* what ends it at the next send */
};

enum fabric_error wire_channel_open(struct fabric *f, fabric_stream stream, enum wire_role role,
                                    const uint8_t key[WIRE_KEY_BYTES], struct wire_channel **out)
{
    assert(f && stream.id && out);
    uint8_t nonce[WIRE_NONCE_BYTES];
    struct wire_channel *c = calloc(1, sizeof *c);
    enum fabric_error error = c ? fabric_entropy(f, nonce, sizeof nonce) : ERR_RESOURCES_EXHAUSTED;
    if (!error)
        error = wire_session_create(role, key, nonce, &c->session);
    if (error) {
        free(c);
        fabric_stream_close(f, stream, true);
        return error;
    }
    c->fabric = f;
    c->stream = stream;
    *out = c;
    return FABRIC_OK;
}

void wire_channel_accept(struct wire_channel *channel, const uint8_t key[WIRE_KEY_BYTES])
{
    assert(channel && key);
    wire_session_accept(channel->session, key);
}

const uint8_t *wire_channel_key(const struct wire_channel *channel)
{
    assert(channel);
    return wire_session_key(channel->session);
}

void wire_channel_close(struct wire_channel *channel, bool reset)
{
    if (!channel)
        return;
    fabric_stream_close(channel->fabric, channel->stream, reset);
    wire_session_destroy(channel->session);
    wire_tagger_free(channel->tagger);
    free(channel->out.own);
    free(channel);
}

bool wire_channel_is_ready(const struct wire_channel *channel)
{
    assert(channel);
    return wire_session_is_ready(channel->session);
}

bool wire_channel_is_challenged(const struct wire_channel *channel)
{
    assert(channel);
    return wire_session_is_challenged(channel->session);
}

struct wire_tagger *wire_channel_tagger(struct wire_channel *channel)
{
    assert(channel);
    if (!channel->tagger)
        channel->tagger = wire_tagger_new(wire_session_key(channel->session));
    return channel->tagger;
}

size_t wire_channel_queued(const struct wire_channel *channel)
{
    assert(channel);
    return wire_session_queued(channel->session) + channel->out.left;
}

void wire_channel_cork(struct wire_channel *channel)
{
    assert(channel);
    channel->corked = true;
}

void wire_channel_records(const struct wire_channel *channel, uint64_t *sent, uint64_t *received)
{
    assert(channel);
    wire_session_records(channel->session, sent, received);
}

/* ------------------------------------------------------------------ sending */

/* What the stream gets next: of the session up to where a payload belongs, or of the payload. */
static const uint8_t *pending(struct wire_channel *c, size_t *length)
{
    struct outgoing *o = &c->out;
    if (o->left && o->before == 0) {
        *length = o->run && o->left > WIRE_TAGGED ? WIRE_TAGGED : o->left;
        return o->data;
    }
    const uint8_t *data = wire_session_pending(c->session, length);
    if (o->left && o->before < *length)
        *length = o->before;
    return data;
}

static void sent(struct wire_channel *c, size_t length)
{
    struct outgoing *o = &c->out;
    if (!o->left || o->before) {
        wire_session_sent(c->session, length);
        o->before -= o->left ? length : 0;
        return;
    }
    if (o->run && !PLANTED(wire_sent_untagged)) /* just copied by the stream, so in the cache */
        wire_tag_add(o->run, o->data, length);
    o->data += length;
    o->left -= length;
    if (o->left)
        return;
    free(o->own);
    *o = (struct outgoing){0};
}

enum fabric_error wire_channel_flush(struct wire_channel *channel)
{
    assert(channel);
    while (!channel->broken) {
        size_t length, accepted = 0;
        const uint8_t *data = pending(channel, &length);
        if (length == 0)
            return FABRIC_OK;
        enum fabric_error error =
            fabric_stream_send(channel->fabric, channel->stream, data, length, &accepted);
        if (error)
            return error;
        sent(channel, accepted);
        if (accepted < length)
            return FABRIC_OK; /* WRITABLE follows */
    }
    return channel->broken;
}

enum fabric_error wire_channel_send(struct wire_channel *channel,
                                    const struct wire_message *message)
{
    assert(channel && message);
    struct outgoing *o = &channel->out;
    bool bulk = message->type == WIRE_BULK, lent = bulk && message->length > WIRE_COPIED;
    assert(!bulk || (message->data && message->length && message->length <= WIRE_MAX_BULK));
    if (lent && o->left)
        return ERR_QUEUE_FULL;
    enum fabric_error error = wire_session_send(channel->session, message);
    if (!error && lent)
        *o = (struct outgoing){.data = message->data,
                               .left = message->length,
                               .run = message->run,
                               .before = wire_session_queued(channel->session)};
    else if (!error && bulk && message->run)
        wire_tag_add(message->run, message->data, message->length);
    bool waits = channel->corked && !lent && wire_session_queued(channel->session) < WIRE_MAX_BODY;
    return error || waits ? error : wire_channel_flush(channel);
}

bool wire_channel_is_sending(const struct wire_channel *channel)
{
    assert(channel);
    return channel->out.left > 0;
}

bool wire_channel_is_busy(const struct wire_channel *channel)
{
    assert(channel);
    return channel->out.left > 0 || wire_session_queued(channel->session) >= WIRE_BULK_WATERMARK;
}

void wire_channel_keep(struct wire_channel *channel)
{
    assert(channel);
    struct outgoing *o = &channel->out;
    o->run = NULL;
    if (!o->left || o->own || PLANTED(wire_payload_not_kept))
        return;
    o->own = malloc(o->left);
    if (o->own) {
        memcpy(o->own, o->data, o->left);
        o->data = o->own;
        return;
    }
    channel->broken = ERR_RESOURCES_EXHAUSTED; /* what was begun cannot be ended otherwise */
    *o = (struct outgoing){0};
}

/* ------------------------------------------------------------------ receiving */

/* False in *more: nothing has arrived for now. */
static enum fabric_error receive(struct wire_channel *c, bool *more)
{
    bool end = false;
    size_t received = 0;
    enum fabric_error error =
        fabric_stream_recv(c->fabric, c->stream, c->chunk, CHUNK, &received, &end);
    if (error)
        return error;
    c->chunk_at = 0;
    c->chunk_end = received;
    *more = received > 0;
    return received == 0 && end ? wire_session_end(c->session) : FABRIC_OK;
}

void wire_channel_receive(struct wire_channel *channel, void *to)
{
    assert(channel && to && wire_session_payload(channel->session) > 0);
    channel->in.to = to;
}

void wire_channel_discard(struct wire_channel *channel)
{
    assert(channel);
    if (!PLANTED(wire_payload_not_discarded))
        channel->in.to = NULL;
}

/* Up to `left` bytes of the payload: first what was read ahead. False in *more as above. */
static enum fabric_error take_payload(struct wire_channel *c, size_t left, size_t *taken,
                                      bool *more)
{
    bool end = false;
    size_t ahead = c->chunk_end - c->chunk_at;
    if (ahead) {
        *taken = ahead < left ? ahead : left;
        if (c->in.to)
            memcpy(c->in.to, c->chunk + c->chunk_at, *taken);
        c->chunk_at += *taken;
        return FABRIC_OK;
    }
    size_t most = c->in.to ? WIRE_RECEIVE : CHUNK;
    enum fabric_error error =
        fabric_stream_recv(c->fabric, c->stream, c->in.to ? c->in.to : c->chunk,
                           left < most ? left : most, taken, &end);
    *more = *taken > 0;
    return !error && end ? wire_session_end(c->session) : error;
}

static enum fabric_error next_payload(struct wire_channel *c, struct wire_message *out, bool *got,
                                      bool *more)
{
    size_t taken = 0;
    enum fabric_error error = take_payload(c, wire_session_payload(c->session), &taken, more);
    if (error || taken == 0)
        return error;
    wire_session_payload_passed(c->session, taken);
    if (!c->in.to)
        return FABRIC_OK;
    *out = (struct wire_message){.type = WIRE_PAYLOAD,
                                 .id = c->in.id,
                                 .offset = c->in.offset,
                                 .length = (uint32_t)taken,
                                 .data = c->in.to};
    c->in.to += taken;
    c->in.offset += (uint32_t)taken;
    *got = true;
    return FABRIC_OK;
}

/* Feeds the session with what has arrived. */
static enum fabric_error next_bytes(struct wire_channel *c, bool *more)
{
    enum fabric_error error = FABRIC_OK;
    if (c->chunk_at == c->chunk_end)
        error = receive(c, more);
    size_t taken = 0;
    bool was_ready = wire_session_is_ready(c->session);
    if (!error)
        error = wire_session_feed(c->session, c->chunk + c->chunk_at, c->chunk_end - c->chunk_at,
                                  &taken);
    c->chunk_at += taken;
    /* The handshake answers by itself, also when it ends here. */
    bool last = error == ERR_AUTH_FAILED || error == ERR_UNSUPPORTED_VERSION;
    bool answers = error ? last : !was_ready;
    enum fabric_error sending = answers ? wire_channel_flush(c) : FABRIC_OK;
    return error ? error : sending;
}

enum fabric_error wire_channel_next(struct wire_channel *channel, struct wire_message *out,
                                    bool *got)
{
    assert(channel && out && got);
    struct wire_channel *c = channel;
    *got = false;
    for (bool more = true; more;) {
        enum fabric_error error = FABRIC_OK;
        if (wire_session_payload(c->session) > 0) {
            error = next_payload(c, out, got, &more);
        } else {
            error = wire_session_next(c->session, out, got);
            if (*got && out->type == WIRE_BULK)
                c->in = (struct incoming){.id = out->id, .offset = out->offset};
            if (!error && !*got)
                error = next_bytes(c, &more);
        }
        if (error || *got)
            return error;
    }
    return FABRIC_OK;
}

void wire_channel_bind(struct wire_channel *channel, const struct wire_message *request,
                       const struct wire_message *accept, uint8_t out[WIRE_MAC_BYTES])
{
    assert(channel);
    wire_session_bind(channel->session, request, accept, out);
}
