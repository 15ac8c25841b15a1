/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values over TCP. What is put goes from the stream into its block, and its tag is computed on the
 * way; what is got goes from its block to the stream, and nobody here looks at it.
 *
 * The GETs of a connection take turns, a piece each. A connection hands no more than SERVER_BULK
 * bytes to its stream in a row, and takes no more messages and pieces than connection.c says; then
 * it is the others' turn.
 */
#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/server/server.h"

static void look_at_pool(struct server *s, struct server_connection *c)
{
    if (!c->carried_bulk)
        rail_pool_used(&s->pool, s->fabric, c->stream);
    c->carried_bulk = true;
}

/* ------------------------------------------------------------------ what is put */

bool server_bulk_begin(struct server_connection *c, struct server_transfer *t)
{
    assert(c && t && t->kind == SERVER_PUT && t->way == WIRE_WAY_TCP);
    struct wire_tagger *tagger = wire_channel_tagger(c->channel);
    t->run = tagger ? wire_tag_begin(tagger, t->key, t->key_length, t->length, t->tag.nonce) : NULL;
    return t->run != NULL;
}

/* Unless it is wanted here, the channel throws the piece away: its PUT was refused, or cancelled,
 * while it was on its way. */
void server_bulk(struct server *server, struct server_connection *c,
                 const struct wire_message *message)
{
    assert(server && c && message && message->type == WIRE_BULK);
    const struct wire_message *m = message;
    struct server_transfer *t = server_transfer_by_id(server, c, m->id);
    if (!t || t->kind != SERVER_PUT || t->way != WIRE_WAY_TCP || t->closed || t->prepared)
        return;
    if (m->offset != t->next || m->length > t->length - t->next) {
        server_connection_close(server, c, ERR_FRAME_INVALID, "bulk that does not fit its PUT");
        return;
    }
    if (m->length == t->length - t->next)
        memcpy(t->tag.mac, m->mac, sizeof t->tag.mac);
    wire_channel_receive(c->channel, (uint8_t *)store_data(t->lane->store, t->block) + t->next);
    c->receiving = t;
}

void server_payload(struct server *server, struct server_connection *c,
                    const struct wire_message *message)
{
    assert(server && c && c->receiving && message && message->type == WIRE_PAYLOAD);
    struct server_transfer *t = c->receiving;
    assert(t->id == message->id && t->next == message->offset && t->run);
    wire_tag_add(t->run, message->data, message->length);
    store_arrived(t->lane->store, t->block, message->length);
    t->next += message->length;
    t->progress = server_now(server);
    look_at_pool(server, c);
    if (t->next == t->length)
        server_transfer_finish(server, t);
}

bool server_bulk_is_right(struct server *server, struct server_transfer *t)
{
    uint8_t mac[WIRE_TAG_BYTES];
    assert(server && t && t->run && t->next == t->length);
    wire_tag_end(t->run, mac);
    t->run = NULL;
    if (wire_equal(mac, t->tag.mac, sizeof mac) || PLANTED(server_bulk_unverified))
        return true;
    server->counters.tag_mismatches++;
    return false;
}

/* ------------------------------------------------------------------ what is got */

/* The first that came after the one that had its turn, or the first of all. */
static struct server_transfer *next_get(const struct server_connection *c)
{
    struct server_transfer *first = NULL;
    for (struct server_transfer *t = c->first; t; t = t->following) {
        if (t->kind != SERVER_GET || t->way != WIRE_WAY_TCP || t->closed || t->stored ||
            t->next == t->length)
            continue;
        if ((int32_t)(t->serial - c->turn) > 0 && !PLANTED(server_bulk_no_turns))
            return t;
        first = first ? first : t;
    }
    return first;
}

static uint32_t piece_of(const struct server_transfer *t)
{
    uint32_t left = t->length - t->next;
    return left < WIRE_MAX_BULK ? left : WIRE_MAX_BULK;
}

/* False when the connection is gone by now. */
static bool send_piece(struct server *s, struct server_connection *c, struct server_transfer *t)
{
    struct wire_message m = {
        .type = WIRE_BULK, .id = t->id, .offset = t->next, .length = piece_of(t)};
    m.data = (const uint8_t *)store_data(t->lane->store, t->block) + t->next;
    t->next += m.length;
    c->sending = t;
    c->turn = t->serial;
    look_at_pool(s, c);
    return server_send(s, c, &m);
}

/* The stream has the last piece as a whole: its block is needed no more, if it was the last one. */
static void piece_is_out(struct server *s, struct server_connection *c)
{
    struct server_transfer *t = c->sending;
    c->sending = NULL;
    if (t && (t->closed || t->next == t->length))
        server_transfer_finish(s, t);
}

/* False when it cannot be put off: then it goes on now. */
static bool put_off(struct server *s, struct server_connection *c)
{
    fabric_timer timer;
    uint64_t cookie = server_cookie(SERVER_SEND, c->slot, c->serial);
    c->pumps = fabric_timer_set(s->fabric, server_now(s), cookie, &timer) == FABRIC_OK;
    return c->pumps;
}

void server_pump_bulk(struct server *server, struct server_connection *c)
{
    struct server *s = server;
    assert(s && c);
    for (uint32_t sent = 0; !wire_channel_is_sending(c->channel);) {
        piece_is_out(s, c);
        struct server_transfer *t = next_get(c);
        if (!t || c->pumps || wire_channel_is_busy(c->channel))
            return;
        if (sent >= SERVER_BULK && !PLANTED(server_bulk_endless) && put_off(s, c))
            return;
        c->bulk_progress = server_now(s);
        sent += piece_of(t);
        if (!send_piece(s, c, t))
            return;
    }
}

void server_bulk_goes_on(struct server *server, uint64_t cookie)
{
    assert(server);
    struct server_connection *c = server_connection_of(server, cookie);
    if (!c)
        return;
    c->pumps = false;
    server_pump_bulk(server, c);
}

/* ------------------------------------------------------------------ the end */

bool server_bulk_is_lent(struct server *server, const struct server_transfer *t)
{
    const struct server_connection *c = server_transfer_owner(server, t);
    return c && c->sending == t && wire_channel_is_sending(c->channel) &&
           !PLANTED(server_bulk_freed_early);
}

void server_bulk_end(struct server *server, struct server_transfer *t)
{
    struct server_connection *c = server_transfer_owner(server, t);
    wire_tag_drop(t->run);
    t->run = NULL;
    if (!c)
        return;
    if (c->receiving == t) {
        wire_channel_discard(c->channel);
        c->receiving = NULL;
    }
    if (c->sending == t)
        c->sending = NULL;
}
