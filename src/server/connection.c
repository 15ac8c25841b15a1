/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

uint64_t server_cookie(enum server_cookie kind, uint32_t slot, uint32_t serial)
{
    assert(slot < (1u << 24));
    return (uint64_t)kind << 56 | (uint64_t)slot << 32 | serial;
}

enum server_cookie server_cookie_kind(uint64_t cookie)
{
    return (enum server_cookie)(cookie >> 56);
}

struct server_connection *server_connection_at(struct server *server, uint32_t slot,
                                               uint32_t serial)
{
    assert(server);
    struct server_connection *c = slot < SERVER_PLACES ? server->connections[slot] : NULL;
    return c && c->serial == serial ? c : NULL;
}

struct server_connection *server_connection_of(struct server *server, uint64_t cookie)
{
    return server_connection_at(server, (uint32_t)(cookie >> 32) & 0xffffffu, (uint32_t)cookie);
}

uint64_t server_now(struct server *server)
{
    uint64_t now = 0;
    assert(server);
    fabric_now(server->fabric, &now);
    return now;
}

static struct server_connection *connection_new(struct server *s)
{
    uint32_t slot = 0;
    if (PLANTED(server_strangers_keep_out) && s->connection_count >= SERVER_MAX_CONNECTIONS)
        return NULL;
    while (slot < SERVER_PLACES && s->connections[slot])
        slot++;
    struct server_connection *c = slot < SERVER_PLACES ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return NULL;
    c->slot = slot;
    c->serial = ++s->connection_serial;
    c->heard = server_now(s);
    c->lane = &s->lanes[0]; /* until INSTANCE says which */
    s->connections[slot] = c;
    s->connection_count++;
    s->stranger_count++;
    return c;
}

/* Who has not shown the key shares few places with its like, beside those of the others, and the
 * oldest makes room: so nobody without the key keeps anybody with it out. */
static void make_room_for_stranger(struct server *s)
{
    struct server_connection *oldest = NULL;
    if (s->stranger_count < SERVER_MAX_STRANGERS)
        return;
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        struct server_connection *c = s->connections[i];
        if (c && !c->said_ready && (!oldest || c->serial < oldest->serial))
            oldest = c;
    }
    assert(oldest);
    server_connection_close(s, oldest, ERR_QUEUE_FULL, "too many have not shown the key");
}

/* Many can come in vain; the log does not grow with them. */
static void say_full(struct server *s, const char *peer, const char *why)
{
    char more[RAIL_SAID_MORE] = "";
    if (rail_said_is_due(&s->full_said, ERR_RESOURCES_EXHAUSTED, why, server_now(s), more))
        rail_log(s->fabric, FABRIC_LOG_WARN, "client %s: resources_exhausted: %s%s", peer, why,
                 more);
}

/* Strangers can come as often as they like, and end in as many ways; the log does not grow with
 * them. */
static void say_end(struct server *s, const struct server_connection *c, enum fabric_error error,
                    const char *why)
{
    char more[RAIL_SAID_MORE] = "";
    bool challenged = c->channel && wire_channel_is_challenged(c->channel);
    struct rail_said *said =
        &s->strangers_said[PLANTED(server_strangers_take_turns) ? 0 : error][challenged];
    if (!c->said_ready && !rail_said_is_due(said, error, "", server_now(s), more))
        return;
    rail_log(s->fabric, error == ERR_PEER_GONE ? FABRIC_LOG_INFO : FABRIC_LOG_WARN,
             "client %s: %s: %s%s", c->peer, error_name(error), why, more);
}

void server_accept(struct server *server, fabric_stream stream)
{
    struct server *s = server;
    assert(s && stream.id);
    make_room_for_stranger(s);
    struct server_connection *c = connection_new(s);
    if (!c) {
        char peer[FABRIC_ADDRESS_MAX] = "";
        fabric_stream_peer(s->fabric, stream, peer);
        fabric_stream_close(s->fabric, stream, true);
        say_full(s, peer, "no memory for its connection");
        return;
    }
    uint64_t now = 0;
    c->stream = stream;
    fabric_now(s->fabric, &now);
    fabric_stream_peer(s->fabric, stream, c->peer);
    fabric_stream_set_cookie(s->fabric, stream,
                             server_cookie(SERVER_CONNECTION, c->slot, c->serial));
    enum fabric_error error =
        wire_channel_open(s->fabric, stream, WIRE_SERVER, s->keys[0].bytes, &c->channel);
    if (!error && s->key_count > 1 && !PLANTED(server_one_key))
        wire_channel_accept(c->channel, s->keys[1].bytes);
    if (!error) {
        wire_channel_cork(c->channel);
        error =
            fabric_timer_set(s->fabric, now + SERVER_HANDSHAKE_TIME,
                             server_cookie(SERVER_HANDSHAKE, c->slot, c->serial), &c->handshake);
    }
    if (error)
        server_connection_close(s, c, error, "could not be set up");
}

void server_connection_close(struct server *server, struct server_connection *c,
                             enum fabric_error error, const char *why)
{
    struct server *s = server;
    bool was_pending;
    assert(s && c && s->connections[c->slot] == c);
    s->counters.auth_failures += error == ERR_AUTH_FAILED;
    if (why && c->channel && wire_channel_is_challenged(c->channel) && error == ERR_PEER_GONE) {
        s->counters.strangers++;
        why = "it left when it was challenged and has not shown the key";
    }
    if (why)
        say_end(s, c, error, why);
    bool last_word = !error || error == ERR_PEER_GONE || error == ERR_UNSUPPORTED_VERSION ||
                     error == ERR_TAG_MISMATCH;
    if (c->unsent && last_word)
        wire_channel_flush(c->channel);
    /* An orderly end in the middle of a value would look like one of the peer's faults. */
    bool reset = !last_word || (c->channel && wire_channel_is_sending(c->channel));
    for (uint32_t i = 0; i < RAIL_MAX; i++)
        server_link_drop(s, c, i);
    server_orphan(s, c);
    if (c->handshake.id)
        fabric_timer_cancel(s->fabric, c->handshake, &was_pending);
    s->connections[c->slot] = NULL;
    s->connection_count--;
    s->stranger_count -= !c->said_ready;
    wire_channel_close(c->channel, reset);
    free(c);
}

bool server_send(struct server *server, struct server_connection *c,
                 const struct wire_message *message)
{
    assert(server && c && message);
    enum fabric_error error = wire_channel_send(c->channel, message);
    if (!error && !c->unsent && server->unsent_count < SERVER_PLACES) {
        c->unsent = true;
        server->unsent[server->unsent_count++] = c->slot;
    } else if (!error && !c->unsent) {
        error = wire_channel_flush(c->channel);
    }
    if (!error)
        return true;
    server_connection_close(server, c, error,
                            error == ERR_QUEUE_FULL ? "it does not read" : "sending failed");
    return false;
}

void server_connections_flush(struct server *server)
{
    assert(server);
    for (uint32_t i = 0; i < server->unsent_count; i++) {
        struct server_connection *c = server->connections[server->unsent[i]];
        if (!c || !c->unsent)
            continue; /* it has ended, and another one may be in its place */
        c->unsent = false;
        enum fabric_error error = wire_channel_flush(c->channel);
        if (error)
            server_connection_close(server, c, error, "sending failed");
    }
    server->unsent_count = 0;
}

bool server_result(struct server *server, struct server_connection *c, uint64_t id,
                   enum fabric_error error, const char *detail)
{
    struct wire_message m;
    wire_message_begin(&m, WIRE_RESULT);
    m.id = id;
    m.error = error;
    if (detail[0])
        snprintf(m.detail, sizeof m.detail, "%s", detail);
    return server_send(server, c, &m);
}

/* It has shown the key, so it is told why it cannot stay. */
static void refuse_full(struct server *s, struct server_connection *c)
{
    struct wire_message m = {.type = WIRE_RESULT, .error = ERR_RESOURCES_EXHAUSTED};
    snprintf(m.detail, sizeof m.detail, "all %u connections of the server are taken",
             SERVER_MAX_CONNECTIONS);
    say_full(s, c->peer, m.detail);
    if (PLANTED(server_full_untold) || server_send(s, c, &m))
        server_connection_close(s, c, FABRIC_OK, NULL);
}

/* The client has shown the key: from now on it is told things. */
static bool welcome(struct server *s, struct server_connection *c)
{
    bool was_pending;
    c->said_ready = true;
    s->stranger_count--;
    if (s->connection_count - s->stranger_count > SERVER_MAX_CONNECTIONS) {
        refuse_full(s, c);
        return false;
    }
    fabric_timer_cancel(s->fabric, c->handshake, &was_pending);
    c->handshake = (fabric_timer){0};
    const struct wire_message m = {.type = WIRE_WELCOME,
                                   .lanes = (uint16_t)s->lane_count,
                                   .operations = SERVER_CONNECTION_OPERATIONS,
                                   .rails = (uint8_t)s->rail_count,
                                   .block_size = s->config.memory_block_size,
                                   .max_value = WIRE_MAX_VALUE};
    return server_send(s, c, &m);
}

static void answer_exists(struct server *s, struct server_connection *c,
                          const struct wire_message *m)
{
    struct wire_message answer;
    wire_message_begin(&answer, WIRE_RESULT);
    answer.id = m->id;
    answer.found = store_exists(c->lane->store, m->key, m->key_length);
    server_send(s, c, &answer);
}

static size_t host_length(const char *peer)
{
    const char *colon = strrchr(peer, ':');
    return colon ? (size_t)(colon - peer) : strlen(peer);
}

static bool same_place(const struct server_connection *a, const struct server_connection *b)
{
    return memcmp(a->instance, b->instance, sizeof a->instance) == 0 && a->lane == b->lane &&
           a->member == b->member;
}

/* A client that lost its connection before we did replaces its old self at once (MK-B4): what is
 * still on its way there must not be taken after what comes here. Another one from the same host
 * may be a restarted client: its host answers for the old one when that is asked. */
static void take_instance(struct server *s, struct server_connection *c,
                          const struct wire_message *m)
{
    const struct wire_message ping = {.type = WIRE_PING};
    if (m->lane >= s->lane_count) {
        server_connection_close(s, c, ERR_FRAME_INVALID, "it wants a lane that is not here");
        return;
    }
    memcpy(c->instance, m->instance, sizeof c->instance);
    c->lane = &s->lanes[m->lane];
    c->member = m->member;
    c->has_instance = true;
    size_t host = host_length(c->peer);
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        struct server_connection *other = s->connections[i];
        if (!other || other == c || !other->has_instance)
            continue;
        if (same_place(other, c)) {
            if (!PLANTED(server_old_self_kept))
                server_connection_close(s, other, ERR_PEER_GONE,
                                        "replaced by its newer connection");
        } else if (host_length(other->peer) == host && memcmp(other->peer, c->peer, host) == 0) {
            server_send(s, other, &ping);
        }
    }
}

void server_connections_tick(struct server *server)
{
    struct server *s = server;
    const struct wire_message ping = {.type = WIRE_PING};
    assert(s);
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        struct server_connection *c = s->connections[i];
        if (!c || !c->said_ready || PLANTED(server_silence_endless))
            continue;
        uint64_t silent = server_now(s) - c->heard;
        if (silent >= SERVER_SILENCE) {
            s->counters.silent++;
            server_connection_close(s, c, ERR_TIMEOUT, "it has been silent for too long");
        } else if (silent >= SERVER_PING && !c->pinged) {
            c->pinged = true;
            server_send(s, c, &ping);
        }
    }
}

/* A key of another lane would be stored where nobody looks for it. */
static bool is_elsewhere(const struct server *s, const struct server_connection *c,
                         const struct wire_message *m)
{
    if (s->lane_count == 1 || m->key_length == 0 || PLANTED(server_lane_unchecked))
        return false;
    return c->lane != &s->lanes[wire_key_lane(m->key, m->key_length, s->lane_count)];
}

/* Any of these may end the connection. */
static void take(struct server *s, struct server_connection *c, const struct wire_message *m)
{
    if (is_elsewhere(s, c, m)) {
        server_connection_close(s, c, ERR_FRAME_INVALID, "a key of another lane");
        return;
    }
    switch (m->type) {
    case WIRE_LINK_REQUEST:
        server_link_request(s, c, m);
        break;
    case WIRE_LINK_READY:
        server_link_ready(s, c, m);
        break;
    case WIRE_LINK_DOWN:
        server_link_down(s, c, m);
        break;
    case WIRE_PUT:
        server_put(s, c, m);
        break;
    case WIRE_GET:
        server_get(s, c, m);
        break;
    case WIRE_BULK:
        server_bulk(s, c, m);
        break;
    case WIRE_PAYLOAD:
        server_payload(s, c, m);
        break;
    case WIRE_CANCEL:
        server_cancel(s, c, m->id);
        break;
    case WIRE_COMMIT:
        server_commit(s, c, m);
        break;
    case WIRE_PING:
        server_send(s, c, &(const struct wire_message){.type = WIRE_PONG});
        break;
    case WIRE_PONG:
        break;
    case WIRE_INSTANCE:
        take_instance(s, c, m);
        break;
    case WIRE_EXISTS:
        answer_exists(s, c, m);
        break;
    case WIRE_DELETE:
        server_delete(s, c, m);
        break;
    default:
        server_connection_close(s, c, ERR_FRAME_INVALID, "a message that only servers send");
        break;
    }
}

/* False when it cannot be put off: then it goes on now. */
static bool put_off(struct server *s, struct server_connection *c)
{
    fabric_timer timer;
    uint64_t cookie = server_cookie(SERVER_RECEIVE, c->slot, c->serial);
    c->resumes = fabric_timer_set(s->fabric, server_now(s), cookie, &timer) == FABRIC_OK;
    return c->resumes;
}

static const char *why_ended(enum fabric_error error)
{
    switch (error) {
    case ERR_PEER_GONE:
        return "it left";
    case ERR_AUTH_FAILED:
        return "it has another key than this server";
    case ERR_UNSUPPORTED_VERSION:
        return "it speaks a newer version than this server";
    default:
        return "the stream is ended";
    }
}

/* Of what is taken in a row: a message, and the bytes that it announces. */
static uint32_t weight(const struct wire_message *m)
{
    bool bulk = m->type == WIRE_BULK && !PLANTED(server_bulk_weightless);
    return 1 + (bulk ? m->length / (WIRE_MAX_BULK / SERVER_MESSAGES) : 0);
}

/* So many messages in a row, then the others' turn. */
static void receive(struct server *s, struct server_connection *c)
{
    const uint32_t slot = c->slot, serial = c->serial;
    if (!PLANTED(server_busy_is_silent))
        c->heard = server_now(s);
    c->pinged = false;
    for (uint32_t taken = 0;;) {
        if (taken >= SERVER_MESSAGES && !PLANTED(server_budget_endless) && put_off(s, c))
            return;
        struct wire_message m;
        bool got = false;
        enum fabric_error error = wire_channel_next(c->channel, &m, &got);
        if (error) {
            server_connection_close(s, c, error, why_ended(error));
            return;
        }
        if (!c->said_ready && wire_channel_is_ready(c->channel) && !welcome(s, c))
            return;
        if (!got)
            return;
        taken += weight(&m);
        if (server_may_begin(s, c, &m))
            take(s, c, &m);
        c = server_connection_at(s, slot, serial);
        if (!c)
            return;
    }
}

void server_connection_event(struct server *server, const struct fabric_event *event)
{
    struct server *s = server;
    assert(s && event);
    struct server_connection *c = server_connection_of(s, event->u.stream.cookie);
    if (!c)
        return;
    if (event->type == FABRIC_EVENT_CLOSED) {
        if (PLANTED(server_end_unnoticed))
            return;
        server_connection_close(s, c, event->u.stream.error, "the stream ended");
        return;
    }
    if (event->type == FABRIC_EVENT_WRITABLE) {
        c->bulk_progress = server_now(s);
        enum fabric_error error = wire_channel_flush(c->channel);
        if (error)
            server_connection_close(s, c, error, "sending failed");
        else
            server_pump_bulk(s, c);
        return;
    }
    if (PLANTED(server_busy_is_silent))
        c->heard = server_now(s);
    if (!c->resumes || PLANTED(server_resumes_twice)) /* else it comes when the others had theirs */
        receive(s, c);
}

void server_connection_resume(struct server *server, uint64_t cookie)
{
    assert(server);
    struct server_connection *c = server_connection_of(server, cookie);
    if (!c)
        return;
    c->resumes = false;
    receive(server, c);
}

void server_connection_timeout(struct server *server, uint64_t cookie)
{
    assert(server);
    struct server_connection *c = server_connection_of(server, cookie);
    if (!c || PLANTED(server_handshake_endless))
        return;
    c->handshake = (fabric_timer){0};
    server_connection_close(server, c, ERR_TIMEOUT, "the handshake took too long");
}
