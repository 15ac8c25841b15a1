/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"

static void report_transport(struct client *c, const struct client_peer *p, const char *transport,
                             const char *reason)
{
    client_report(c,
                  json_pack("{s:s, s:s, s:s, s:s}", "event", "transport", "server",
                            client_peer_address(c, p), "transport", transport, "reason", reason));
}

/* ------------------------------------------------------------------ the control stream */

static void set_timer(struct client *c, struct client_peer *p, uint64_t after)
{
    bool was_pending;
    if (p->timer.id)
        fabric_timer_cancel(c->fabric, p->timer, &was_pending);
    uint64_t cookie = client_cookie(CLIENT_PEER_TIMER, p->index, ++p->timer_serial);
    p->timer_missed = fabric_timer_set(c->fabric, client_now(c) + after, cookie, &p->timer) != 0;
    if (p->timer_missed)
        p->timer = (fabric_timer){0};
}

void client_peer_connect(struct client *c, struct client_peer *p)
{
    fabric_stream stream;
    assert(c && p && p->state == CLIENT_PEER_DOWN);
    p->stream_serial++;
    p->resumes = false;
    enum fabric_error error =
        fabric_connect(c->fabric, client_peer_address(c, p),
                       client_cookie(CLIENT_STREAM, p->index, p->stream_serial), &stream);
    if (!error)
        error = wire_channel_open(c->fabric, stream, WIRE_CLIENT, c->config.auth_key, &p->channel);
    if (!error)
        wire_channel_cork(p->channel);
    p->state = CLIENT_PEER_CONNECTING;
    if (!PLANTED(client_connect_untimed))
        set_timer(c, p, CLIENT_CONNECT_TIME);
    if (error)
        client_peer_lost(c, p, error);
}

/* Every attempt over this stream is over; the links' control is gone, so the links are. */
void client_peer_lost(struct client *c, struct client_peer *p, enum fabric_error error)
{
    assert(c && p && error);
    if (p->state == CLIENT_PEER_DOWN)
        return;
    if (p->state == CLIENT_PEER_READY && client_now(c) - p->ready_since >= RAIL_SETTLED)
        p->backoff = 0;
    struct client_server *server = &c->servers[p->server];
    if (server->said != error) /* said once, not at every attempt of every member of the pool */
        rail_log(c->fabric, FABRIC_LOG_WARN, "server %s: %s: %s; trying again for ever",
                 client_peer_address(c, p), error_name(error),
                 p->state == CLIENT_PEER_READY ? "the connection was lost" : "cannot connect");
    wire_channel_close(p->channel, error != ERR_AUTH_FAILED); /* else its last word would be lost */
    server->said = PLANTED(client_loss_said_again) ? FABRIC_OK : error;
    p->channel = NULL;
    client_bulk_lost(p);
    p->state = CLIENT_PEER_DOWN;
    p->reason = error;
    for (uint32_t i = 0; i < c->rail_count; i++)
        client_link_end(c, p, i, ERR_PEER_GONE, "the control stream is gone", false);
    for (uint32_t i = 0; i < c->operation_end; i++) {
        struct client_operation *op = client_operation_at(c, i);
        if (op->state == CLIENT_SENT && op->peer == p->index)
            client_attempt_end(c, op, ERR_PEER_GONE, "the connection was lost", true);
    }
    set_timer(c, p, rail_backoff_grow(c->fabric, &p->backoff));
    client_operations_kick(c, p);
}

static void peer_is_due(struct client *c, struct client_peer *p)
{
    p->timer = (fabric_timer){0};
    p->timer_missed = false;
    if (p->state == CLIENT_PEER_DOWN)
        client_peer_connect(c, p);
    else if (p->state == CLIENT_PEER_CONNECTING)
        client_peer_lost(c, p, ERR_TIMEOUT);
}

void client_peer_timer(struct client *c, uint64_t cookie)
{
    assert(c);
    struct client_peer *p = c->peers[client_cookie_slot(cookie)];
    if (p->timer_serial == (uint32_t)cookie)
        peer_is_due(c, p);
}

void client_peer_tick(struct client *c, struct client_peer *p)
{
    const struct wire_message ping = {.type = WIRE_PING};
    assert(c && p);
    if (p->timer_missed)
        peer_is_due(c, p);
    uint64_t silent = client_now(c) - p->heard;
    if (PLANTED(client_silence_endless))
        return;
    if (p->state == CLIENT_PEER_READY && silent >= CLIENT_SILENCE)
        client_peer_lost(c, p, ERR_TIMEOUT);
    else if (p->state == CLIENT_PEER_READY && silent >= CLIENT_SILENCE / 3)
        client_peer_send(c, p, &ping);
}

/* May lose the connection, and is called when nothing else is being done with it. */
void client_peer_flush(struct client *c, struct client_peer *p)
{
    assert(c && p);
    if (p->state != CLIENT_PEER_READY)
        return;
    client_pump_bulk(c, p);
    enum fabric_error error = p->channel ? wire_channel_flush(p->channel) : FABRIC_OK;
    if (error)
        client_peer_lost(c, p, error);
}

bool client_peer_send(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    assert(c && p && m);
    if (p->state != CLIENT_PEER_READY)
        return false;
    enum fabric_error error = wire_channel_send(p->channel, m);
    if (error)
        client_peer_lost(c, p, error);
    return !error;
}

static void welcome(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    p->state = CLIENT_PEER_READY;
    p->reason = c->servers[p->server].said = FABRIC_OK;
    p->rails = m->rails;
    p->operations = m->operations;
    p->ready_since = client_now(c);
    struct wire_message instance = {
        .type = WIRE_INSTANCE, .lane = (uint16_t)p->lane, .member = (uint16_t)p->member};
    memcpy(instance.instance, c->instance, sizeof instance.instance);
    client_pool_lanes(c, p, m->lanes);
    if (!client_peer_send(c, p, &instance))
        return;
    if (p->member == 0)
        rail_log(c->fabric, FABRIC_LOG_INFO, "server %s: connected, %u rails there",
                 client_peer_address(c, p), m->rails);
    for (uint32_t i = 0; i < c->rail_count; i++)
        client_link_begin(c, p, i);
    client_peer_judge(c, p);
}

/* Any of these may lose the connection. */
static void take(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    if (m->type == WIRE_RESULT && p->state == CLIENT_PEER_CONNECTING && m->error) {
        client_peer_lost(c, p, m->error); /* it has no place for this connection */
        return;
    }
    if ((m->type == WIRE_WELCOME) == (p->state == CLIENT_PEER_READY)) {
        client_peer_lost(c, p, ERR_FRAME_INVALID);
        return;
    }
    switch (m->type) {
    case WIRE_WELCOME:
        welcome(c, p, m);
        break;
    case WIRE_LINK_ACCEPT:
        client_link_accept(c, p, m);
        break;
    case WIRE_LINK_UP:
        client_link_up(c, p, m);
        break;
    case WIRE_LINK_DOWN:
        client_link_refused(c, p, m);
        break;
    case WIRE_RAIL_CHANGED:
        client_peer_rail_changed(c, p, m);
        break;
    case WIRE_RESULT:
        client_operation_result(c, p, m);
        break;
    case WIRE_BULK:
        client_operation_bulk(c, p, m);
        break;
    case WIRE_PAYLOAD:
        client_operation_payload(c, p, m);
        break;
    case WIRE_PREPARED:
        client_operation_prepared(c, p, m);
        break;
    case WIRE_PING:
        client_peer_send(c, p, &(const struct wire_message){.type = WIRE_PONG});
        break;
    case WIRE_PONG:
        break;
    default:
        client_peer_lost(c, p, ERR_FRAME_INVALID);
        break;
    }
}

/* False when it cannot be put off: then it goes on now. */
static bool put_off(struct client *c, struct client_peer *p)
{
    fabric_timer timer;
    uint64_t cookie = client_cookie(CLIENT_RECEIVE, p->index, p->stream_serial);
    p->resumes = fabric_timer_set(c->fabric, client_now(c), cookie, &timer) == FABRIC_OK;
    return p->resumes;
}

/* Of what is taken in a row: a message, and the bytes that it announces. */
static uint32_t weight(const struct wire_message *m)
{
    bool bulk = m->type == WIRE_BULK && !PLANTED(client_bulk_weightless);
    return 1 + (bulk ? m->length / (WIRE_MAX_BULK / CLIENT_MESSAGES) : 0);
}

/* So many messages in a row, then the others' turn. */
static void receive(struct client *c, struct client_peer *p)
{
    const uint32_t serial = p->stream_serial;
    p->heard = client_now(c);
    for (uint32_t taken = 0; p->channel && p->stream_serial == serial;) {
        struct wire_message m;
        if (taken >= CLIENT_MESSAGES && !PLANTED(client_budget_endless) && put_off(c, p))
            return;
        bool got = false;
        enum fabric_error error = wire_channel_next(p->channel, &m, &got);
        if (error) {
            client_peer_lost(c, p, error);
            return;
        }
        if (!got)
            return;
        taken += weight(&m);
        take(c, p, &m);
    }
}

void client_peer_resume(struct client *c, uint64_t cookie)
{
    assert(c);
    struct client_peer *p = c->peers[client_cookie_slot(cookie)];
    if (p->stream_serial != (uint32_t)cookie || !p->channel)
        return;
    p->resumes = false;
    receive(c, p);
}

void client_peer_event(struct client *c, const struct fabric_event *event)
{
    assert(c && event);
    struct client_peer *p = c->peers[client_cookie_slot(event->u.stream.cookie)];
    if (p->stream_serial != (uint32_t)event->u.stream.cookie || !p->channel)
        return;
    if (event->type == FABRIC_EVENT_CLOSED) {
        if (PLANTED(client_end_unnoticed))
            return;
        enum fabric_error error = event->u.stream.error;
        client_peer_lost(c, p, error ? error : ERR_PEER_GONE);
        return;
    }
    if (event->type == FABRIC_EVENT_READABLE) {
        if (!p->resumes) /* else it comes when the others had their turn */
            receive(c, p);
        return;
    }
    enum fabric_error error = wire_channel_flush(p->channel); /* CONNECTED, WRITABLE */
    if (error)
        client_peer_lost(c, p, error);
}

/* ------------------------------------------------------------------ falling back */

bool client_peer_wants_rdma(const struct client *c, const struct client_peer *p)
{
    assert(c && p);
    return c->config.transport != CONFIG_TRANSPORT_TCP && p->member == 0 &&
           (!p->fell_back || p->may_return);
}

static bool any_up(const struct client *c, const struct client_peer *p)
{
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (p->links[i].state == CLIENT_LINK_UP)
            return true;
    }
    return false;
}

/* A port that was never ready, here or there, is no failure. */
static bool never_ready(const struct client *c, const struct client_peer *p)
{
    for (uint32_t i = 0; i < c->rail_count; i++) {
        const struct client_link *l = &p->links[i];
        bool here = !c->rails[i].ever_ready && c->rails[i].state == RAIL_WAITING;
        if (l->ever_up || !(here || l->peer_waits))
            return false;
    }
    return c->rail_count > 0;
}

/* The rail whose reason tells most: one that is ready here and was refused there. */
static uint32_t telling_rail(const struct client *c, const struct client_peer *p)
{
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (c->rails[i].state == RAIL_READY && p->links[i].reason)
            return i;
    }
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (c->rails[i].state == RAIL_REFUSED)
            return i;
    }
    return 0;
}

bool client_server_fell_back(const struct client *c, uint32_t server)
{
    assert(c && server < c->config.server_count);
    for (uint32_t i = 0; i < c->peer_count; i++) {
        if (c->peers[i]->server == server && c->peers[i]->fell_back)
            return true;
    }
    return false;
}

/* Its lanes fall back one by one, and mostly for the same reason; it is said of the first, and
 * again where the first may return and this one not. */
static bool is_said(const struct client *c, const struct client_peer *p)
{
    for (uint32_t i = 0; i < c->peer_count; i++) {
        const struct client_peer *other = c->peers[i];
        if (other != p && other->server == p->server && other->fell_back &&
            (p->may_return || !other->may_return))
            return !PLANTED(client_fallback_said_by_lane);
    }
    return false;
}

static void fall_back(struct client *c, struct client_peer *p)
{
    uint32_t rail = telling_rail(c, p);
    const struct client_link *l = &p->links[rail];
    const struct rail *r = &c->rails[rail];
    enum fabric_error why = ERR_RDMA_REQUIRED;
    const char *detail = "no RDMA device";
    if (c->rail_count) {
        why = r->state == RAIL_READY ? l->reason : r->reason;
        detail = r->state == RAIL_READY ? l->detail : r->detail;
    }
    p->fell_back = true;
    p->may_return = never_ready(c, p) || PLANTED(client_fallback_returns);
    if (is_said(c, p))
        return;
    c->counters.fallbacks += !PLANTED(client_fallback_uncounted);
    if (!PLANTED(client_fallback_silent))
        rail_log(c->fabric, FABRIC_LOG_WARN, "fallback_tcp: server %s: %s: %s; %s",
                 client_peer_address(c, p), error_name(why), detail,
                 p->may_return ? "TCP until a rail is ready" : "TCP until the client is closed");
    report_transport(c, p, "tcp", error_name(why));
}

/* Said when the last of its lanes has come back. */
static void return_to_rdma(struct client *c, struct client_peer *p)
{
    p->fell_back = false;
    if (client_server_fell_back(c, p->server))
        return;
    rail_log(c->fabric, FABRIC_LOG_INFO, "server %s: a rail became ready; RDMA from now on",
             client_peer_address(c, p));
    report_transport(c, p, client_link_is_dc(c, p) ? "dc" : "rc", "ok");
}

/* True when the way to this server changed. */
static bool decide(struct client *c, struct client_peer *p)
{
    bool up = any_up(c, p), was = p->fell_back;
    if (c->config.transport == CONFIG_TRANSPORT_AUTO && p->state == CLIENT_PEER_READY &&
        p->member == 0) {
        bool waited = p->start_over || c->rail_count == 0;
        if (!p->fell_back && !up && !client_link_in_progress(p) && waited) {
            fall_back(c, p);
        } else if (p->fell_back && up && p->may_return) {
            return_to_rdma(c, p);
        }
    }
    p->start_over = p->start_over || up; /* waiting is for the start only */
    return p->fell_back != was;
}

void client_peer_decide(struct client *c, struct client_peer *p)
{
    assert(c && p);
    if (decide(c, p))
        client_operations_kick(c, p);
}

void client_peer_judge(struct client *c, struct client_peer *p)
{
    assert(c && p);
    p->changed = c->changed = true;
    if (PLANTED(client_judged_at_once))
        client_peers_judge(c);
}

void client_peers_judge(struct client *c)
{
    assert(c);
    if (!c->changed)
        return;
    c->changed = false;
    for (uint32_t i = 0; i < c->peer_count; i++) {
        struct client_peer *p = c->peers[i];
        if (!p->changed)
            continue;
        p->changed = false;
        decide(c, p);
        client_operations_kick(c, p);
    }
}
