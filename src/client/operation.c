/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/client.h"
#include "src/client/placement.h"
#include "src/fabric/planted.h"

bool client_operation_reserve(struct client *c, uint32_t more)
{
    assert(c && more <= CLIENT_OPERATIONS - c->open);
    while (c->operation_room < c->open + more) {
        struct client_operation *page =
            calloc(CLIENT_OPERATION_PAGE, sizeof(struct client_operation));
        if (!page)
            return false;
        c->operations[c->operation_room / CLIENT_OPERATION_PAGE] = page;
        c->operation_room += CLIENT_OPERATION_PAGE;
    }
    return true;
}

struct client_operation *client_operation_at(const struct client *c, uint32_t slot)
{
    assert(c && slot < c->operation_room);
    return &c->operations[slot / CLIENT_OPERATION_PAGE][slot % CLIENT_OPERATION_PAGE];
}

struct client_operation *client_operation_new(struct client *c, enum wire_type type)
{
    assert(c && c->open < c->operation_room);
    assert(type == WIRE_PUT || type == WIRE_GET || type == WIRE_EXISTS || type == WIRE_DELETE);
    uint32_t slot = c->first_free;
    struct client_operation *op = client_operation_at(c, slot);
    if (slot == c->operation_end)
        c->first_free = ++c->operation_end;
    else
        c->first_free = op->next_free;
    memset(op, 0, offsetof(struct client_operation, detail) + 1);
    op->slot = slot;
    op->serial = ++c->serial;
    op->type = type;
    op->request = (client_request_id)op->serial << 32 | slot;
    c->open++;
    return op;
}

void client_operation_free(struct client *c, struct client_operation *op)
{
    assert(c && op && op->state == CLIENT_DONE && c->open > 0);
    op->state = CLIENT_FREE;
    op->next_free = c->first_free;
    c->first_free = op->slot;
    c->open--;
}

void client_operation_kick(struct client *c, struct client_operation *op)
{
    assert(c && op && op->state == CLIENT_QUEUED);
    op->kicked = c->kicked = true;
}

void client_operations_kick(struct client *c, const struct client_peer *p)
{
    assert(c && p);
    for (uint32_t i = 0; i < c->operation_end; i++) {
        struct client_operation *op = client_operation_at(c, i);
        if (op->state == CLIENT_QUEUED && op->peer == p->index)
            client_operation_kick(c, op);
    }
}

bool client_has_data(const struct client_operation *op)
{
    assert(op);
    return op->type == WIRE_PUT || op->type == WIRE_GET;
}

bool client_is_bounded(const struct client_operation *op)
{
    assert(op);
    return client_has_data(op) || (op->type == WIRE_DELETE && !PLANTED(client_deletes_unbounded));
}

/* The connection whose links would carry it. */
static struct client_peer *first_of(const struct client *c, const struct client_operation *op)
{
    const struct client_peer *p = c->peers[op->peer];
    for (uint32_t i = 0; p->member && i < c->peer_count; i++) {
        struct client_peer *first = c->peers[i];
        if (first->server == p->server && first->lane == p->lane && first->member == 0)
            return first;
    }
    return c->peers[op->peer];
}

enum client_transport client_operation_transport(const struct client *c,
                                                 const struct client_operation *op)
{
    assert(c && op);
    bool tcp = c->config.transport == CONFIG_TRANSPORT_TCP || first_of(c, op)->fell_back;
    bool rdma = client_has_data(op) ? op->way == WIRE_WAY_RC : !tcp;
    if (!rdma)
        return CLIENT_OVER_TCP;
    bool dc = client_has_data(op) ? op->dc : client_link_is_dc(c, first_of(c, op));
    return dc ? CLIENT_OVER_DC : CLIENT_OVER_RC;
}

void client_operation_done(struct client *c, struct client_operation *op)
{
    bool was_pending;
    assert(c && op && op->state != CLIENT_FREE && op->state != CLIENT_DONE);
    if (op->timer_set)
        fabric_timer_cancel(c->fabric, op->timer, &was_pending);
    op->timer_set = false;
    c->counters.failed += op->error != FABRIC_OK;
    if (!op->error) { /* it works: the next fault begins to count anew */
        struct client_peer *p = c->peers[op->peer];
        p->backoff = 0;
        if (op->way == WIRE_WAY_RC)
            p->links[op->rail].backoff = 0;
    }
    if (!op->error && client_has_data(op)) {
        if (op->way == WIRE_WAY_RC)
            c->counters.rdma_bytes += op->length;
        else
            c->counters.tcp_bytes += op->length;
    }
    client_memory_end(c, op);
    op->state = CLIENT_DONE;
    op->next_done = NULL;
    *c->done_end = op;
    c->done_end = &op->next_done;
    c->done_count++;
}

void client_operation_start(struct client *c, struct client_operation *op, uint64_t now,
                            uint64_t timeout)
{
    uint64_t seeds[CONFIG_MAX_SERVERS];
    assert(c && op && op->state == CLIENT_FREE && op->key_length && timeout);
    for (uint32_t i = 0; i < c->config.server_count; i++)
        seeds[i] = c->servers[i].seed;
    op->server = (uint32_t)placement_choose(seeds, c->config.server_count, op->key, op->key_length);
    op->peer = op->server; /* lane 0 until it is sent */
    op->deadline = now + timeout;
    op->timer_set = fabric_timer_set(c->fabric, op->deadline,
                                     client_cookie(CLIENT_DEADLINE, op->slot, op->serial),
                                     &op->timer) == FABRIC_OK;
    op->state = CLIENT_QUEUED;
    client_operation_kick(c, op);
    c->counters.operations++;
    if (op->timer_set)
        return;
    op->error = ERR_RESOURCES_EXHAUSTED; /* without a deadline it would hang (MK-F4) */
    snprintf(op->detail, sizeof op->detail, "its timer could not be set");
    client_operation_done(c, op);
}

/* ------------------------------------------------------------------ sending */

/* One less is under way: the one that was held back longest may go. */
static void leave(struct client *c, struct client_operation *op)
{
    struct client_peer *p = c->peers[op->peer];
    struct client_operation *next = NULL;
    if (!op->counted)
        return;
    assert(p->under_way > 0);
    op->counted = false;
    p->under_way--;
    for (uint32_t i = 0; p->holds && i < c->operation_end; i++) {
        struct client_operation *o = client_operation_at(c, i);
        if (o->state == CLIENT_QUEUED && o->held && o->peer == p->index &&
            (!next || o->serial < next->serial))
            next = o;
    }
    p->holds = next != NULL;
    if (next)
        client_operation_kick(c, next);
}

static uint32_t wanted_length(const struct client_operation *op)
{
    return op->type == WIRE_PUT ? op->length : op->room;
}

static uint64_t offset_of(const struct client_operation *op)
{
    return (uint64_t)(op->data - op->memory->buffer.memory);
}

static void send_request(struct client *c, struct client_operation *op, uint32_t rkey)
{
    struct client_peer *p = c->peers[op->peer];
    struct wire_message m;
    wire_message_begin(&m, op->type);
    m.id = op->id;
    m.way = op->way;
    m.rail = (uint8_t)op->rail;
    m.generation = op->generation;
    m.rkey = rkey;
    m.length = wanted_length(op);
    m.tag = op->tag;
    m.key_length = op->key_length;
    if (op->way == WIRE_WAY_RC)
        m.iova = op->memory->buffer.iova + offset_of(op);
    memcpy(m.key, op->key, op->key_length);
    op->state = CLIENT_SENT;
    op->bound = op->bound || op->type == WIRE_DELETE;
    client_peer_send(c, p, &m); /* a value over TCP follows at the end of the turn */
}

/* This rail cannot serve; there may be another, or TCP. */
static void not_lent(struct client *c, struct client_operation *op, enum fabric_error error)
{
    struct client_peer *p = c->peers[op->peer];
    assert(op->state == CLIENT_QUEUED && !op->window.id && error);
    leave(c, op);
    client_operation_kick(c, op);
    client_link_end(c, p, op->rail, error, "memory could not be lent", true);
    client_peer_judge(c, p);
}

/* One caller's memory is no fault of the rail, which goes on serving the others. */
static void no_memory(struct client *c, struct client_operation *op, enum fabric_error error)
{
    assert(op->state == CLIENT_QUEUED && !op->window.id && error);
    if (error == ERR_DEVICE_REMOVED || PLANTED(client_memory_ends_link)) {
        not_lent(c, op, error);
        return;
    }
    if (!op->doubt) {
        client_attempt_end(c, op, error, "its memory could not be registered", false);
        return;
    }
    leave(c, op); /* for the deadline: the earlier COMMIT may still be taken */
}

/* Those of a batch travel together when the last of their windows is open. */
static void send_batch(struct client *c, const struct client_peer *p, uint32_t batch)
{
    for (uint32_t i = 0; i < c->operation_end; i++) {
        const struct client_operation *op = client_operation_at(c, i);
        if (op->state == CLIENT_LENDING && op->batch == batch && op->peer == p->index && !op->lent)
            return;
    }
    for (uint32_t i = 0; i < c->operation_end; i++) {
        struct client_operation *op = client_operation_at(c, i);
        if (op->state == CLIENT_LENDING && op->batch == batch && op->peer == p->index)
            send_request(c, op, op->rkey);
    }
}

/* A server READs what is put and WRITEs what is got: the other right is not lent (MK-A4). */
static uint32_t access_of(const struct client_operation *op)
{
    assert(op);
    if (op->type != WIRE_PUT)
        return FABRIC_ACCESS_REMOTE_WRITE;
    return FABRIC_ACCESS_REMOTE_READ |
           (PLANTED(client_put_lent_writable) ? FABRIC_ACCESS_REMOTE_WRITE : 0u);
}

static void lend(struct client *c, struct client_operation *op)
{
    op->lent = false;
    enum fabric_error error = client_memory_for(c, op);
    if (error) {
        no_memory(c, op, error);
        return;
    }
    error = client_buffer_lend(c, &op->memory->buffer, op->rail, offset_of(op), wanted_length(op),
                               access_of(op), client_cookie(CLIENT_WINDOW, op->slot, op->serial),
                               &op->window);
    if (error)
        not_lent(c, op, error);
    else
        op->state = CLIENT_LENDING;
}

/* A tag of its own for every attempt: over TCP it is computed while the bytes are sent, and the
 * memory may have changed since an earlier one. False without memory. */
static bool make_tag(struct client *c, struct client_operation *op)
{
    fabric_entropy(c->fabric, op->tag.nonce, sizeof op->tag.nonce);
    if (op->way == WIRE_WAY_TCP)
        return client_bulk_begin(c, op);
    return wire_tag_fill(c->tagger, op->key, op->key_length, op->data, op->length, &op->tag);
}

static void send_over(struct client *c, struct client_operation *op, enum wire_way way)
{
    op->id = ++c->next_id << CLIENT_ID_SLOT | op->slot;
    op->attempts++;
    op->next = 0;
    op->answered = op->prepared = false;
    op->way = client_has_data(op) ? way : WIRE_WAY_TCP;
    op->error = FABRIC_OK;
    op->detail[0] = 0;
    op->counted = client_is_bounded(op);
    c->peers[op->peer]->under_way += op->counted;
    if (op->type == WIRE_PUT && !make_tag(c, op)) {
        client_attempt_end(c, op, ERR_RESOURCES_EXHAUSTED, "no memory for its tag", false);
        return;
    }
    if (op->way == WIRE_WAY_RC) {
        struct client_peer *p = c->peers[op->peer];
        op->generation = p->links[op->rail].generation;
        op->dc = p->links[op->rail].dc;
        lend(c, op);
        return;
    }
    send_request(c, op, 0);
}

void client_operation_lent(struct client *c, const struct fabric_event *event)
{
    assert(c && event && event->type == FABRIC_EVENT_WINDOW_OPENED);
    struct client_operation *op =
        client_operation_at(c, client_cookie_slot(event->u.window.cookie));
    bool same = op->serial == (uint32_t)event->u.window.cookie &&
                op->window.id == event->u.window.window.id;
    if (op->state != CLIENT_LENDING || !same)
        return; /* its device was closed */
    if (!event->u.window.error) {
        op->lent = true;
        op->rkey = event->u.window.rkey;
        send_batch(c, c->peers[op->peer], op->batch);
        return;
    }
    op->window = (fabric_window){0};
    op->state = CLIENT_QUEUED;
    not_lent(c, op, event->u.window.error); /* the link ends, and with it the rest of the batch */
}

void client_operation_step(struct client *c, struct client_operation *op)
{
    assert(c && op);
    if (op->state != CLIENT_QUEUED || !op->kicked)
        return;
    op->kicked = false;
    enum client_choice choice = client_operation_choose(c, op);
    op->kicked = false; /* choosing may have kicked what it has just looked at */
    if (choice == CLIENT_CHOICE_FAIL && op->doubt)
        choice = CLIENT_CHOICE_WAIT; /* for the deadline: the earlier COMMIT may still be taken */
    if (choice == CLIENT_CHOICE_FAIL)
        client_operation_done(c, op);
    else if (choice != CLIENT_CHOICE_WAIT)
        send_over(c, op, choice == CLIENT_CHOICE_RC ? WIRE_WAY_RC : WIRE_WAY_TCP);
}

/* ------------------------------------------------------------------ the end of an attempt */

/* RDMA readers verify when they were asked to; after the window is gone, so that what was verified
 * is what stays. Over TCP it was verified when it came. */
static void verify(const struct client *c, struct client_operation *op)
{
    bool wanted = op->way == WIRE_WAY_RC && c->config.verify == CONFIG_VERIFY_FULL;
    if (op->type != WIRE_GET || op->error || !wanted || PLANTED(client_tag_unchecked))
        return;
    if (!wire_tag_verify(c->config.auth_key, op->key, op->key_length, op->data, op->length,
                         &op->tag)) {
        op->error = ERR_TAG_MISMATCH;
        snprintf(op->detail, sizeof op->detail, "the bytes are not those that were put");
    }
}

static void settle(struct client *c, struct client_operation *op)
{
    verify(c, op);
    if (op->cancelled && op->error && !op->doubt) {
        op->error = ERR_CANCELLED;
        op->detail[0] = 0;
        client_operation_done(c, op);
    } else if (op->expired) {
        const struct client_peer *p = c->peers[op->peer];
        bool away = p->state != CLIENT_PEER_READY;
        op->error = away ? ERR_UNREACHABLE : ERR_TIMEOUT;
        snprintf(op->detail, sizeof op->detail, "%s: %s", client_peer_address(c, p),
                 away ? error_name(p->reason ? p->reason : ERR_TIMEOUT) : "the deadline passed");
        client_operation_done(c, op);
    } else if (op->error && op->retry && (op->attempts < CLIENT_ATTEMPTS || op->doubt)) {
        c->counters.retries++;
        op->state = CLIENT_QUEUED;
        client_operation_kick(c, op);
    } else {
        client_operation_done(c, op);
    }
}

void client_attempt_end(struct client *c, struct client_operation *op, enum fabric_error error,
                        const char *detail, bool retry)
{
    assert(c && op && op->state >= CLIENT_QUEUED && op->state <= CLIENT_SENT);
    bool tell = error && op->state == CLIENT_SENT;
    leave(c, op);
    client_bulk_end(c, op);
    struct client_link *link = &c->peers[op->peer]->links[op->rail];
    op->error = error;
    op->retry = retry;
    op->doubt = op->doubt || (op->prepared && error && retry);
    op->bound = op->bound || op->doubt;
    if (tell && op->window.id && link->generation == op->generation)
        link->revoked = op->generation;
    op->detail[0] = 0;
    if (detail[0])
        snprintf(op->detail, sizeof op->detail, "%s", detail);
    const struct wire_message cancel = {.type = WIRE_CANCEL, .id = op->id};
    fabric_window window = op->window;
    bool was_lending = op->state == CLIENT_LENDING;
    op->window = (fabric_window){0};
    op->id = 0;
    op->state = CLIENT_REVOKING;
    if (was_lending)
        send_batch(c, c->peers[op->peer], op->batch); /* the others wait for it no more */
    bool early = (op->expired && PLANTED(client_report_unrevoked)) ||
                 (error && retry && PLANTED(client_retry_unrevoked));
    if (window.id && !early)
        fabric_window_revoke(c->fabric, window);
    if ((!window.id && !op->revoking) || early)
        settle(c, op);
    if (tell) /* may end the connection and with it other attempts, not this one */
        client_peer_send(c, c->peers[op->peer], &cancel);
}

void client_operation_revoked(struct client *c, uint64_t cookie, fabric_window window)
{
    assert(c && window.id);
    struct client_operation *op = client_operation_at(c, client_cookie_slot(cookie));
    if (op->serial != (uint32_t)cookie)
        return;
    op->revoking = false;
    if (op->state == CLIENT_REVOKING)
        settle(c, op);
}

/* What it waited for, where that has a name. */
static void end_late(struct client *c, struct client_operation *op)
{
    const struct client_peer *p = c->peers[op->peer];
    char detail[WIRE_DETAIL] = "the deadline passed";
    if (op->state == CLIENT_QUEUED && p->state != CLIENT_PEER_READY && p->reason)
        snprintf(detail, sizeof detail, "the deadline passed without a connection: %s",
                 error_name(p->reason));
    client_attempt_end(c, op, ERR_TIMEOUT, detail, false);
}

void client_operation_deadline(struct client *c, uint64_t cookie)
{
    assert(c);
    struct client_operation *op = client_operation_at(c, client_cookie_slot(cookie));
    if (op->serial != (uint32_t)cookie || op->state == CLIENT_FREE || op->state == CLIENT_DONE)
        return;
    op->timer_set = false;
    if (PLANTED(client_deadline_ignored))
        return;
    op->expired = op->state != CLIENT_REVOKING || (op->error && op->retry);
    if (op->expired && op->attempts < 2 && PLANTED(client_deadline_of_an_attempt)) {
        op->expired = false; /* the next attempt gets the whole time again */
        client_attempt_end(c, op, ERR_TIMEOUT, "", true);
        return;
    }
    if (op->state != CLIENT_REVOKING)
        end_late(c, op);
}

/* ------------------------------------------------------------------ answers */

struct client_operation *client_operation_by_id(struct client *c, const struct client_peer *p,
                                                uint64_t id)
{
    assert(c && p);
    uint32_t slot = (uint32_t)id & ((1u << CLIENT_ID_SLOT) - 1);
    struct client_operation *op = slot < c->operation_end ? client_operation_at(c, slot) : NULL;
    return op && op->state == CLIENT_SENT && op->id == id && op->peer == p->index ? op : NULL;
}

/* Faults of the way, not of the request: another attempt may succeed. */
static bool is_retriable(enum fabric_error error)
{
    return error_info(error)->radius == ERROR_RADIUS_CONNECTION ||
           error_info(error)->radius == ERROR_RADIUS_RAIL;
}

void client_operation_result(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    assert(c && p && m);
    struct client_operation *op = client_operation_by_id(c, p, m->id);
    if (!op || op->answered)
        return; /* of an attempt that is over */
    op->found = m->found != 0;
    op->needed = m->error == ERR_BUFFER_TOO_SMALL ? m->length : 0;
    if (PLANTED(client_small_buffer_written) && m->error == ERR_BUFFER_TOO_SMALL)
        op->data[0] = 0;
    op->prepared = op->doubt = op->bound = false; /* what the server says now it says for good */
    if (m->error) {
        client_attempt_end(c, op, m->error, m->detail, is_retriable(m->error));
        return;
    }
    if (op->type == WIRE_GET) {
        if (m->length == 0 || m->length > op->room) {
            client_peer_lost(c, p, ERR_FRAME_INVALID);
            return;
        }
        op->length = m->length;
        op->tag = m->tag;
        op->answered = true;
        if (op->way == WIRE_WAY_TCP) { /* the bytes follow */
            if (!client_bulk_begin(c, op))
                client_attempt_end(c, op, ERR_RESOURCES_EXHAUSTED, "no memory for its tag", false);
            return;
        }
    }
    client_attempt_end(c, op, FABRIC_OK, "", false);
}

/* The lease is what is left of the operation's time, less what clocks may differ by; it began when
 * the server sent PREPARED, so it ends there before the deadline does here (MK-A4). */
void client_operation_prepared(struct client *c, struct client_peer *p,
                               const struct wire_message *m)
{
    assert(c && p && m);
    struct client_operation *op = client_operation_by_id(c, p, m->id);
    uint64_t now = client_now(c);
    if (!op || op->prepared || now >= op->deadline)
        return;
    if (op->type != WIRE_PUT || op->sends || p->sending == op) {
        client_peer_lost(c, p, ERR_FRAME_INVALID);
        return;
    }
    uint64_t left = op->deadline - now;
    const struct wire_message commit = {
        .type = WIRE_COMMIT, .id = op->id, .lease = left - left / 256};
    op->prepared = true;
    client_peer_send(c, p, &commit);
}
