/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values over TCP. What is put goes from the caller's memory to the stream, what is got from the
 * stream into it; a tag is computed on the way, while the bytes are in the cache. When an attempt
 * ends, the stream neither reads nor writes that memory any more (MK-A4).
 *
 * The PUTs of a connection take turns of CLIENT_TURN bytes. With shorter ones all values that are
 * under way would arrive at the same time, and whatever comes after, the server's disk above all,
 * would have nothing to do before. Values of one piece do not wait for that: after each piece of a
 * larger one, which is shorter then, it is one of theirs. A connection hands no more than
 * CLIENT_BULK bytes to its stream in a row; then it is the others' turn.
 */
#include <assert.h>
#include <string.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"

/* ------------------------------------------------------------------ what is put */

static bool is_small(const struct client_operation *op)
{
    return op->length <= CLIENT_PIECE;
}

bool client_bulk_begin(struct client *c, struct client_operation *op)
{
    assert(c && op && !op->run && client_has_data(op) && op->way == WIRE_WAY_TCP);
    op->run = wire_tag_begin(c->tagger, op->key, op->key_length, op->length, op->tag.nonce);
    if (op->run && op->type == WIRE_PUT) {
        op->sends = true;
        c->peers[op->peer]->sends++;
        c->peers[op->peer]->small_sends += is_small(op) ? 1 : 0;
    }
    return op->run != NULL;
}

/* It has no more pieces to be sent. */
static void sent_all(struct client *c, struct client_operation *op)
{
    struct client_peer *p = c->peers[op->peer];
    assert(!op->sends || p->sends > 0);
    p->sends -= op->sends;
    p->small_sends -= op->sends && is_small(op) ? 1 : 0;
    op->sends = false;
}

/* From position `from` on, the first with something to send. */
static struct client_operation *first_put(const struct client *c, const struct client_peer *p,
                                          bool small, uint32_t from)
{
    for (uint32_t i = 0; i < c->operation_end; i++) {
        struct client_operation *op = client_operation_at(c, (from + i) % c->operation_end);
        if (op->sends && op->state == CLIENT_SENT && op->peer == p->index && is_small(op) == small)
            return op;
    }
    return NULL;
}

static struct client_operation *next_put(const struct client *c, const struct client_peer *p)
{
    assert(p->small_sends <= p->sends);
    struct client_operation *small = NULL, *large = NULL;
    const bool over = p->turn_bytes >= CLIENT_TURN && !PLANTED(client_bulk_no_turns);
    if (p->small_sends)
        small = first_put(c, p, true, p->small_turn + 1);
    if (p->sends > p->small_sends && (!small || p->small_was_last || PLANTED(client_small_waits)))
        large = first_put(c, p, false, p->turn + over);
    return large ? large : small;
}

static void had_turn(struct client_peer *p, const struct client_operation *op, uint32_t length)
{
    p->small_was_last = is_small(op);
    if (is_small(op)) {
        p->small_turn = op->slot;
        return;
    }
    const bool goes_on = op->slot == p->turn && p->turn_bytes < CLIENT_TURN;
    p->turn_bytes = length + (goes_on ? p->turn_bytes : 0);
    p->turn = op->slot;
}

/* The last piece is announced with the tag, so that its bytes must be read before: it is a short
 * one. The others are long, as each costs both ends a record, unless somebody waits for their end.
 */
static uint32_t piece_of(const struct client_peer *p, const struct client_operation *op)
{
    const uint32_t left = op->length - op->next;
    const uint32_t most = p->small_sends ? CLIENT_PIECE : CLIENT_LONG_PIECE;
    if (left <= CLIENT_PIECE)
        return left;
    return left - CLIENT_PIECE < most ? left - CLIENT_PIECE : most;
}

static void end_tag(struct client *c, struct client_operation *op, struct wire_message *m)
{
    wire_tag_add(op->run, m->data, m->length);
    wire_tag_end(op->run, m->mac);
    op->run = NULL;
    sent_all(c, op);
}

/* False when the connection is lost by now. */
static bool send_piece(struct client *c, struct client_peer *p, struct client_operation *op)
{
    struct wire_message m = {
        .type = WIRE_BULK, .id = op->id, .offset = op->next, .length = piece_of(p, op)};
    m.data = op->data + op->next;
    m.run = op->run;
    op->next += m.length;
    p->sending = op;
    had_turn(p, op, m.length);
    if (op->next == op->length) {
        m.run = NULL;
        end_tag(c, op, &m);
    }
    return client_peer_send(c, p, &m);
}

/* False when it cannot be put off: then it goes on now. */
static bool put_off(struct client *c, struct client_peer *p)
{
    fabric_timer timer;
    uint64_t cookie = client_cookie(CLIENT_SEND, p->index, p->stream_serial);
    p->pumps = fabric_timer_set(c->fabric, client_now(c), cookie, &timer) == FABRIC_OK;
    return p->pumps;
}

void client_pump_bulk(struct client *c, struct client_peer *p)
{
    assert(c && p);
    for (uint32_t sent = 0; p->channel && !wire_channel_is_sending(p->channel);) {
        p->sending = NULL;
        struct client_operation *op = next_put(c, p);
        if (!op || p->pumps || wire_channel_is_busy(p->channel))
            return;
        if (sent >= CLIENT_BULK && !PLANTED(client_bulk_endless) && put_off(c, p))
            return;
        sent += piece_of(p, op);
        if (!send_piece(c, p, op))
            return;
    }
}

void client_bulk_goes_on(struct client *c, uint64_t cookie)
{
    assert(c);
    struct client_peer *p = c->peers[client_cookie_slot(cookie)];
    if (p->stream_serial == (uint32_t)cookie)
        p->pumps = false; /* the turn pumps */
}

/* ------------------------------------------------------------------ what is got */

void client_operation_bulk(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    assert(c && p && m && m->type == WIRE_BULK);
    struct client_operation *op = client_operation_by_id(c, p, m->id);
    if (!op || !op->answered)
        return; /* of an attempt that is over: thrown away */
    if (m->offset != op->next || m->length > op->length - op->next) {
        client_peer_lost(c, p, ERR_FRAME_INVALID);
        return;
    }
    wire_channel_receive(p->channel, op->data + op->next);
    p->receiving = op;
}

/* All of it has come. Whoever alters bytes alters others too, so the connection ends with it. */
static void verify(struct client *c, struct client_peer *p, struct client_operation *op)
{
    uint8_t mac[WIRE_TAG_BYTES];
    wire_tag_end(op->run, mac);
    op->run = NULL;
    if (wire_equal(mac, op->tag.mac, sizeof mac) || PLANTED(client_bulk_unverified)) {
        client_attempt_end(c, op, FABRIC_OK, "", false);
        return;
    }
    client_attempt_end(c, op, ERR_TAG_MISMATCH, "the bytes are not those that were put", false);
    if (!PLANTED(client_altered_kept))
        client_peer_lost(c, p, ERR_TAG_MISMATCH);
}

void client_operation_payload(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    assert(c && p && p->receiving && m && m->type == WIRE_PAYLOAD);
    struct client_operation *op = p->receiving;
    assert(op->id == m->id && op->next == m->offset && op->run);
    wire_tag_add(op->run, m->data, m->length);
    op->next += m->length;
    if (op->next == op->length)
        verify(c, p, op);
}

/* ------------------------------------------------------------------ the end of an attempt */

void client_bulk_end(struct client *c, struct client_operation *op)
{
    assert(c && op);
    struct client_peer *p = c->peers[op->peer];
    sent_all(c, op);
    wire_tag_drop(op->run);
    op->run = NULL;
    if (p->receiving == op) {
        wire_channel_discard(p->channel);
        p->receiving = NULL;
    }
    if (p->sending == op) {
        wire_channel_keep(p->channel);
        p->sending = NULL;
    }
}

void client_bulk_lost(struct client_peer *p)
{
    assert(p);
    p->receiving = p->sending = NULL;
    p->pumps = false;
}
