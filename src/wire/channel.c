/* SPDX-License-Identifier: Apache-2.0 */
#include "src/wire/channel.h"

#include <assert.h>
#include <stdlib.h>

#define CHUNK 16384u

struct wire_channel {
    struct fabric *fabric;
    fabric_stream stream;
    struct wire_session *session;
    uint8_t chunk[CHUNK]; /* what arrived and the session did not take yet */
    size_t chunk_at, chunk_end;
    bool corked;
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

size_t wire_channel_queued(const struct wire_channel *channel)
{
    assert(channel);
    return wire_session_queued(channel->session);
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

enum fabric_error wire_channel_flush(struct wire_channel *channel)
{
    assert(channel);
    for (;;) {
        size_t length, accepted = 0;
        const uint8_t *data = wire_session_pending(channel->session, &length);
        if (length == 0)
            return FABRIC_OK;
        enum fabric_error error =
            fabric_stream_send(channel->fabric, channel->stream, data, length, &accepted);
        if (error)
            return error;
        wire_session_sent(channel->session, accepted);
        if (accepted < length)
            return FABRIC_OK; /* WRITABLE follows */
    }
}

enum fabric_error wire_channel_send(struct wire_channel *channel,
                                    const struct wire_message *message)
{
    assert(channel && message);
    enum fabric_error error = wire_session_send(channel->session, message);
    if (error || (channel->corked && wire_channel_queued(channel) < WIRE_MAX_BODY))
        return error;
    return wire_channel_flush(channel);
}

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

enum fabric_error wire_channel_next(struct wire_channel *channel, struct wire_message *out,
                                    bool *got)
{
    assert(channel && out && got);
    struct wire_channel *c = channel;
    for (bool more = true; more;) {
        enum fabric_error error = wire_session_next(c->session, out, got);
        if (error || *got)
            return error;
        if (c->chunk_at == c->chunk_end)
            error = receive(c, &more);
        size_t taken = 0;
        bool was_ready = wire_session_is_ready(c->session);
        if (!error)
            error = wire_session_feed(c->session, c->chunk + c->chunk_at,
                                      c->chunk_end - c->chunk_at, &taken);
        c->chunk_at += taken;
        /* The handshake answers by itself, also when it ends here. */
        bool last = error == ERR_AUTH_FAILED || error == ERR_UNSUPPORTED_VERSION;
        bool answers = error ? last : !was_ready;
        enum fabric_error sent = answers ? wire_channel_flush(c) : FABRIC_OK;
        if (error || sent)
            return error ? error : sent;
    }
    return FABRIC_OK;
}

void wire_channel_bind(struct wire_channel *channel, const struct wire_message *request,
                       const struct wire_message *accept, uint8_t out[WIRE_MAC_BYTES])
{
    assert(channel);
    wire_session_bind(channel->session, request, accept, out);
}
