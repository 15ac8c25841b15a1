/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/client/client.h"
#include "src/client/placement.h"
#include "src/fabric/planted.h"

struct client_operation *client_operation_new(struct client *c, enum wire_type type, uint32_t room)
{
    assert(c &&
           (type == WIRE_PUT || type == WIRE_GET || type == WIRE_EXISTS || type == WIRE_DELETE));
    for (uint32_t i = 0; i < CLIENT_OPERATIONS; i++) {
        struct client_operation *op = &c->operations[i];
        if (op->state != CLIENT_FREE)
            continue;
        if (!client_buffer_reserve(c, &c->buffers[i], room ? room : 1))
            return NULL;
        *op = (struct client_operation){
            .slot = i, .serial = ++c->serial, .type = type, .buffer = &c->buffers[i], .room = room};
        return op;
    }
    return NULL;
}

static bool has_data(const struct client_operation *op)
{
    return op->type == WIRE_PUT || op->type == WIRE_GET;
}

static void done(struct client *c, struct client_operation *op)
{
    bool was_pending;
    if (op->timer_set)
        fabric_timer_cancel(c->fabric, op->timer, &was_pending);
    op->timer_set = false;
    c->counters.failed += op->error != FABRIC_OK;
    if (!op->error) { /* it works: the next fault begins to count anew */
        struct client_peer *p = &c->peers[op->peer];
        p->backoff = 0;
        if (op->way == WIRE_WAY_RC)
            p->links[op->rail].backoff = 0;
    }
    if (!op->error && has_data(op)) {
        if (op->way == WIRE_WAY_RC)
            c->counters.rdma_bytes += op->length;
        else
            c->counters.tcp_bytes += op->length;
    }
    op->state = CLIENT_DONE;
}

void client_operation_start(struct client *c, struct client_operation *op, uint64_t timeout)
{
    assert(c && op && op->state == CLIENT_FREE && op->key_length && timeout);
    op->peer =
        (uint32_t)placement_choose(c->seeds, c->config.server_count, op->key, op->key_length);
    op->deadline = client_now(c) + timeout;
    op->timer_set = fabric_timer_set(c->fabric, op->deadline,
                                     client_cookie(CLIENT_DEADLINE, op->slot, op->serial),
                                     &op->timer) == FABRIC_OK;
    if (op->type == WIRE_PUT) {
        fabric_entropy(c->fabric, op->tag.nonce, sizeof op->tag.nonce);
        wire_tag_compute(c->config.auth_key, op->key, op->key_length, op->buffer->memory,
                         op->length, &op->tag);
    }
    op->state = CLIENT_QUEUED;
    op->kicked = true;
    c->counters.operations++;
    if (op->timer_set)
        return;
    op->error = ERR_RESOURCES_EXHAUSTED; /* without a deadline it would hang (MK-F4) */
    snprintf(op->detail, sizeof op->detail, "its timer could not be set");
    done(c, op);
}

/* ------------------------------------------------------------------ choosing a way */

enum choice {
    CHOICE_WAIT, /* something is under way that will kick this operation */
    CHOICE_FAIL, /* nothing is: fail by name, at once */
    CHOICE_TCP,
    CHOICE_RC,
};

/* A port that was not ready is read again at first use (MK-C1). */
static void look_again(struct client *c)
{
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (c->rails[i].state != RAIL_READY)
            client_rail_look(c, i, NULL);
    }
}

/* Turns over the rails that are up. */
static bool pick_rail(struct client *c, const struct client_peer *p, uint32_t *out)
{
    for (uint32_t i = 0; i < c->rail_count; i++) {
        uint32_t rail = PLANTED(client_rails_unspread) ? i : (c->rotation + i) % c->rail_count;
        if (p->links[rail].state == CLIENT_LINK_UP) {
            *out = rail;
            c->rotation = rail + 1;
            return true;
        }
    }
    return false;
}

/* No rail is up and TCP is forbidden: wait only for what is under way. */
static enum choice strict(struct client *c, const struct client_peer *p,
                          struct client_operation *op)
{
    if (c->rail_count == 0) {
        op->error = ERR_RDMA_REQUIRED;
        snprintf(op->detail, sizeof op->detail, "found no RDMA device; transport is rdma");
        return CHOICE_FAIL;
    }
    for (uint32_t i = 0; i < c->rail_count; i++) {
        const struct rail *r = &c->rails[i];
        bool open =
            r->state == RAIL_READY && (p->state != CLIENT_PEER_READY || client_link_in_progress(p));
        if (open)
            return CHOICE_WAIT;
    }
    for (uint32_t i = 0; i < c->rail_count; i++) { /* the server's word counts more than ours */
        if (c->rails[i].state == RAIL_READY && p->links[i].reason) {
            op->error = p->links[i].reason;
            snprintf(op->detail, sizeof op->detail, "%s", p->links[i].detail);
            return CHOICE_FAIL;
        }
    }
    const struct rail *r = &c->rails[0];
    op->error = r->state == RAIL_READY ? ERR_RDMA_REQUIRED : rail_transfer_error(r);
    snprintf(op->detail, sizeof op->detail, "%.40s port %u: %.100s", r->name, r->port_num,
             r->detail);
    return CHOICE_FAIL;
}

static enum choice choose(struct client *c, struct client_operation *op)
{
    struct client_peer *p = &c->peers[op->peer];
    if (p->state != CLIENT_PEER_READY && p->reason &&
        (p->reason == ERR_AUTH_FAILED || p->reason == ERR_UNSUPPORTED_VERSION)) {
        op->error = p->reason;
        return CHOICE_FAIL;
    }
    if (c->config.transport != CONFIG_TRANSPORT_TCP) {
        if (!PLANTED(client_first_use_kept))
            look_again(c);
        client_peer_decide(c, p);
        if (client_peer_wants_rdma(c, p) && pick_rail(c, p, &op->rail))
            return CHOICE_RC;
    }
    bool tcp = c->config.transport == CONFIG_TRANSPORT_TCP || p->fell_back;
    if (PLANTED(client_strict_falls_back))
        tcp = true;
    if (tcp)
        return p->state == CLIENT_PEER_READY ? CHOICE_TCP : CHOICE_WAIT;
    return c->config.transport == CONFIG_TRANSPORT_RDMA ? strict(c, p, op) : CHOICE_WAIT;
}

/* ------------------------------------------------------------------ sending */

static uint32_t wanted_length(const struct client_operation *op)
{
    return op->type == WIRE_PUT ? op->length : op->room;
}

static void send_request(struct client *c, struct client_operation *op, uint32_t rkey)
{
    struct client_peer *p = &c->peers[op->peer];
    struct wire_message m = {.type = op->type,
                             .id = op->id,
                             .way = op->way,
                             .rail = (uint8_t)op->rail,
                             .generation = op->generation,
                             .rkey = rkey,
                             .length = wanted_length(op),
                             .tag = op->tag,
                             .key_length = op->key_length};
    if (op->way == WIRE_WAY_RC)
        m.iova = op->buffer->iova;
    memcpy(m.key, op->key, op->key_length);
    op->state = CLIENT_SENT;
    if (client_peer_send(c, p, &m) && op->type == WIRE_PUT && op->way == WIRE_WAY_TCP)
        client_pump_bulk(c, p);
}

/* This rail cannot serve; there may be another, or TCP. */
static void not_lent(struct client *c, struct client_operation *op, enum fabric_error error)
{
    struct client_peer *p = &c->peers[op->peer];
    assert(op->state == CLIENT_QUEUED && !op->window.id && error);
    op->kicked = true;
    client_link_end(c, p, op->rail, error, "memory could not be lent", true);
    client_peer_judge(c, p);
}

static void send_over(struct client *c, struct client_operation *op, enum wire_way way)
{
    op->id = ++c->next_id;
    op->attempts++;
    op->next = 0;
    op->answered = op->prepared = false;
    op->way = has_data(op) ? way : WIRE_WAY_TCP;
    op->error = FABRIC_OK;
    op->detail[0] = 0;
    if (op->way == WIRE_WAY_RC) {
        struct client_peer *p = &c->peers[op->peer];
        op->generation = p->links[op->rail].generation;
        enum fabric_error error = client_buffer_lend(
            c, op->buffer, op->rail, wanted_length(op),
            op->type == WIRE_PUT ? FABRIC_ACCESS_REMOTE_READ : FABRIC_ACCESS_REMOTE_WRITE,
            client_cookie(CLIENT_WINDOW, op->slot, op->serial), &op->window);
        if (error)
            not_lent(c, op, error);
        else
            op->state = CLIENT_LENDING;
        return;
    }
    send_request(c, op, 0);
}

void client_operation_lent(struct client *c, const struct fabric_event *event)
{
    assert(c && event && event->type == FABRIC_EVENT_WINDOW_OPENED);
    struct client_operation *op = &c->operations[client_cookie_slot(event->u.window.cookie)];
    bool same = op->serial == (uint32_t)event->u.window.cookie &&
                op->window.id == event->u.window.window.id;
    if (op->state != CLIENT_LENDING || !same)
        return; /* its device was closed */
    if (!event->u.window.error) {
        send_request(c, op, event->u.window.rkey);
        return;
    }
    op->window = (fabric_window){0};
    op->state = CLIENT_QUEUED;
    not_lent(c, op, event->u.window.error);
}

bool client_operation_step(struct client *c, struct client_operation *op)
{
    assert(c && op);
    if (op->state == CLIENT_DONE) {
        client_job_operation(c, op);
        return true;
    }
    if (op->state != CLIENT_QUEUED || !op->kicked)
        return false;
    op->kicked = false;
    enum choice choice = choose(c, op);
    op->kicked = false; /* choosing may have kicked what it has just looked at */
    if (choice == CHOICE_FAIL && op->doubt)
        choice = CHOICE_WAIT; /* for the deadline: the earlier COMMIT may still be taken */
    if (choice == CHOICE_FAIL)
        done(c, op);
    else if (choice != CHOICE_WAIT)
        send_over(c, op, choice == CHOICE_RC ? WIRE_WAY_RC : WIRE_WAY_TCP);
    return true;
}

/* ------------------------------------------------------------------ the end of an attempt */

/* RDMA readers verify when they were asked to, readers over TCP always; after the window is gone,
 * so that what was verified is what stays. */
static void verify(const struct client *c, struct client_operation *op)
{
    bool wanted = op->way == WIRE_WAY_TCP || c->config.verify == CONFIG_VERIFY_FULL;
    if (op->type != WIRE_GET || op->error || !wanted || PLANTED(client_tag_unchecked))
        return;
    if (!wire_tag_verify(c->config.auth_key, op->key, op->key_length, op->buffer->memory,
                         op->length, &op->tag)) {
        op->error = ERR_TAG_MISMATCH;
        snprintf(op->detail, sizeof op->detail, "the bytes are not those that were put");
    }
}

static void settle(struct client *c, struct client_operation *op)
{
    verify(c, op);
    if (op->expired) {
        const struct client_peer *p = &c->peers[op->peer];
        bool away = p->state != CLIENT_PEER_READY;
        op->error = away ? ERR_UNREACHABLE : ERR_TIMEOUT;
        snprintf(op->detail, sizeof op->detail, "%s: %s", c->config.servers[p->index],
                 away ? error_name(p->reason ? p->reason : ERR_TIMEOUT) : "the deadline passed");
        done(c, op);
    } else if (op->error && op->retry && (op->attempts < CLIENT_ATTEMPTS || op->doubt)) {
        c->counters.retries++;
        op->state = CLIENT_QUEUED;
        op->kicked = true;
    } else {
        done(c, op);
    }
}

void client_attempt_end(struct client *c, struct client_operation *op, enum fabric_error error,
                        const char *detail, bool retry)
{
    assert(c && op && op->state >= CLIENT_QUEUED && op->state <= CLIENT_SENT);
    bool tell = error && op->state == CLIENT_SENT;
    struct client_link *link = &c->peers[op->peer].links[op->rail];
    op->error = error;
    op->retry = retry;
    op->doubt = op->doubt || (op->prepared && error && retry);
    if (tell && op->window.id && link->generation == op->generation)
        link->revoked = op->generation;
    snprintf(op->detail, sizeof op->detail, "%s", detail);
    const struct wire_message cancel = {.type = WIRE_CANCEL, .id = op->id};
    fabric_window window = op->window;
    op->window = (fabric_window){0};
    op->id = 0;
    op->state = CLIENT_REVOKING;
    bool early = (op->expired && PLANTED(client_report_unrevoked)) ||
                 (error && retry && PLANTED(client_retry_unrevoked));
    if (window.id && !early)
        fabric_window_revoke(c->fabric, window);
    if ((!window.id && !op->revoking) || early)
        settle(c, op);
    if (tell) /* may end the connection and with it other attempts, not this one */
        client_peer_send(c, &c->peers[op->peer], &cancel);
}

void client_operation_revoked(struct client *c, uint64_t cookie, fabric_window window)
{
    assert(c && window.id);
    struct client_operation *op = &c->operations[client_cookie_slot(cookie)];
    if (op->serial != (uint32_t)cookie)
        return;
    op->revoking = false;
    if (op->state == CLIENT_REVOKING)
        settle(c, op);
}

void client_operation_deadline(struct client *c, uint64_t cookie)
{
    assert(c);
    struct client_operation *op = &c->operations[client_cookie_slot(cookie)];
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
        client_attempt_end(c, op, ERR_TIMEOUT, "the deadline passed", false);
}

/* ------------------------------------------------------------------ answers */

static struct client_operation *by_id(struct client *c, const struct client_peer *p, uint64_t id)
{
    for (uint32_t i = 0; i < CLIENT_OPERATIONS; i++) {
        struct client_operation *op = &c->operations[i];
        if (op->state == CLIENT_SENT && op->id == id && op->peer == p->index)
            return op;
    }
    return NULL;
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
    struct client_operation *op = by_id(c, p, m->id);
    if (!op || op->answered)
        return; /* of an attempt that is over */
    op->found = m->found != 0;
    op->prepared = op->doubt = false; /* what the server says now it says for good */
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
        if (op->way == WIRE_WAY_TCP)
            return; /* the bytes follow */
    }
    client_attempt_end(c, op, FABRIC_OK, "", false);
}

/* The lease is what is left of the operation's time, less what clocks may differ by; it began when
 * the server sent PREPARED, so it ends there before the deadline does here (MK-A4). */
void client_operation_prepared(struct client *c, struct client_peer *p,
                               const struct wire_message *m)
{
    assert(c && p && m);
    struct client_operation *op = by_id(c, p, m->id);
    uint64_t now = client_now(c);
    if (!op || op->prepared || now >= op->deadline)
        return;
    if (op->type != WIRE_PUT || (op->way == WIRE_WAY_TCP && op->next < op->length)) {
        client_peer_lost(c, p, ERR_FRAME_INVALID);
        return;
    }
    uint64_t left = op->deadline - now;
    const struct wire_message commit = {
        .type = WIRE_COMMIT, .id = op->id, .lease = left - left / 256};
    op->prepared = true;
    client_peer_send(c, p, &commit);
}

void client_operation_bulk(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    assert(c && p && m);
    struct client_operation *op = by_id(c, p, m->id);
    if (!op || !op->answered)
        return;
    if (m->offset != op->next || m->length > op->length - op->next) {
        client_peer_lost(c, p, ERR_FRAME_INVALID);
        return;
    }
    memcpy(op->buffer->memory + op->next, m->data, m->length);
    op->next += m->length;
    if (op->next == op->length)
        client_attempt_end(c, op, FABRIC_OK, "", false);
}

void client_pump_bulk(struct client *c, struct client_peer *p)
{
    assert(c && p);
    for (uint32_t i = 0; i < CLIENT_OPERATIONS; i++) {
        struct client_operation *op = &c->operations[i];
        while (op->state == CLIENT_SENT && op->peer == p->index && op->type == WIRE_PUT &&
               op->way == WIRE_WAY_TCP && op->next < op->length) {
            if (!p->channel || wire_channel_queued(p->channel) >= WIRE_BULK_WATERMARK)
                return;
            uint32_t left = op->length - op->next;
            struct wire_message m = {.type = WIRE_BULK, .id = op->id, .offset = op->next};
            m.length = left < WIRE_MAX_BULK ? left : WIRE_MAX_BULK;
            m.data = op->buffer->memory + op->next;
            op->next += m.length;
            if (!client_peer_send(c, p, &m))
                return;
        }
    }
}

/* ------------------------------------------------------------------ what it amounts to */

static bool is_refusal(enum fabric_error error)
{
    return rail_is_configuration(error) || error == ERR_NO_LID || error == ERR_PEER_NO_LID ||
           error == ERR_WAITING_FOR_SM || error == ERR_PORT_DOWN || error == ERR_RDMA_REQUIRED ||
           error == ERR_DEVICE_REMOVED || error == ERR_AUTH_FAILED ||
           error == ERR_UNSUPPORTED_VERSION;
}

void client_class(const struct client *c, enum fabric_error error, enum wire_way way, char *out)
{
    assert(c && out);
    if (error == ERR_UNREACHABLE || error == ERR_PEER_GONE)
        snprintf(out, 80, "unreachable");
    else if (error == ERR_TAG_MISMATCH || error == ERR_CHECKSUM)
        snprintf(out, 80, "corrupted");
    else if (error)
        snprintf(out, 80, "%s:%s", is_refusal(error) ? "refused" : "failed", error_name(error));
    else if (way == WIRE_WAY_RC)
        snprintf(out, 80, "rdma");
    else
        snprintf(out, 80, "%s",
                 c->config.transport == CONFIG_TRANSPORT_TCP ? "tcp_by_choice" : "fell_back");
}
