/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/rogue.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void open_channel(struct rogue *r, fabric_stream stream)
{
    r->stream = stream;
    if (r->raw)
        return;
    enum fabric_error error = wire_channel_open(r->fabric, stream, r->role, r->key, &r->channel);
    assert(error == FABRIC_OK);
}

static enum fabric_error start(struct fabric *f, const char *config, size_t config_length,
                               const struct fabric_report_sink *sink, void **state)
{
    struct rogue *r;
    char bound[FABRIC_ADDRESS_MAX];
    fabric_listener listener;
    fabric_stream stream;
    (void)sink;
    assert(config_length == sizeof r);
    memcpy(&r, config, sizeof r);
    r->fabric = f;
    *state = r;
    if (r->role == WIRE_SERVER)
        return fabric_listen(f, "0.0.0.0:9900", 1, &listener, bound);
    enum fabric_error error = fabric_connect(f, "10.0.0.1:9900", 1, &stream);
    if (!error)
        open_channel(r, stream);
    return error;
}

static void ended(struct rogue *r)
{
    r->closed = true;
    if (r->channel)
        wire_channel_close(r->channel, true);
    else if (r->stream.id)
        fabric_stream_close(r->fabric, r->stream, true);
    r->channel = NULL;
    r->stream.id = 0;
}

static void receive_raw(struct rogue *r)
{
    uint8_t buf[512];
    size_t received = 1;
    bool end = false;
    enum fabric_error error = FABRIC_OK;
    while (!error && received) {
        error = fabric_stream_recv(r->fabric, r->stream, buf, sizeof buf, &received, &end);
        r->raw_received += error ? 0 : received;
    }
    if (error || end)
        ended(r);
}

static void receive(struct rogue *r)
{
    bool got = true;
    while (got && r->channel) {
        struct wire_message m;
        got = false;
        if (wire_channel_next(r->channel, &m, &got)) {
            ended(r);
            return;
        }
        if (got && m.type == WIRE_PAYLOAD)
            r->sunk += m.length;
        else if (got)
            r->got[r->count++ % ROGUE_KEPT] = m;
        if (got && m.type == WIRE_BULK && r->sink)
            wire_channel_receive(r->channel, r->sink + m.offset);
    }
}

static void event(void *state, const struct fabric_event *e)
{
    struct rogue *r = state;
    switch (e->type) {
    case FABRIC_EVENT_ACCEPTED:
        if (r->stream.id)
            fabric_stream_close(r->fabric, e->u.stream.stream, true);
        else
            open_channel(r, e->u.stream.stream);
        break;
    case FABRIC_EVENT_CONNECTED:
    case FABRIC_EVENT_WRITABLE:
        if (r->channel && !r->holds)
            wire_channel_flush(r->channel);
        break;
    case FABRIC_EVENT_READABLE:
        if (r->raw)
            receive_raw(r);
        else
            receive(r);
        break;
    case FABRIC_EVENT_CLOSED:
        ended(r);
        break;
    default:
        break;
    }
}

static void command(void *state, const char *json)
{
    (void)state;
    (void)json;
}

static void stop(void *state)
{
    ended(state);
}

const struct fabric_program rogue_program = {
    .name = "rogue", .start = start, .event = event, .command = command, .stop = stop};

void rogue_start(struct small_world *w, uint32_t node, struct rogue *r, enum wire_role role)
{
    void *state;
    r->role = role;
    for (unsigned i = 0; i < WIRE_KEY_BYTES; i++)
        r->key[i] = (uint8_t)(r->key[i] + i); /* what the test put there spoils it */
    enum fabric_error error =
        small_start_with(w, node, &rogue_program, (const char *)&r, sizeof r, &state);
    assert(error == FABRIC_OK);
}

enum fabric_error rogue_send(struct rogue *r, const struct wire_message *message)
{
    return r->channel ? wire_channel_send(r->channel, message) : ERR_PEER_GONE;
}

void rogue_send_bytes(struct rogue *r, const void *data, size_t length)
{
    size_t accepted;
    fabric_stream_send(r->fabric, r->stream, data, length, &accepted);
}

const struct wire_message *rogue_last(const struct rogue *r, enum wire_type type)
{
    for (uint32_t i = r->count; i > 0; i--) {
        if (r->got[(i - 1) % ROGUE_KEPT].type == type)
            return &r->got[(i - 1) % ROGUE_KEPT];
    }
    return NULL;
}
