/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/client.h"
#include "src/client/placement.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"

uint64_t client_cookie(enum client_cookie kind, uint32_t slot, uint32_t serial)
{
    assert(slot < (1u << 24));
    return (uint64_t)kind << 56 | (uint64_t)slot << 32 | serial;
}

uint32_t client_cookie_slot(uint64_t cookie)
{
    return (uint32_t)(cookie >> 32) & 0xffffffu;
}

static enum client_cookie cookie_kind(uint64_t cookie)
{
    return (enum client_cookie)(cookie >> 56);
}

uint64_t client_now(struct client *c)
{
    uint64_t now = 0;
    assert(c);
    fabric_now(c->fabric, &now);
    return now;
}

void client_report(struct client *c, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text && c->sink.report)
        c->sink.report(c->sink.context, text);
    free(text);
    json_decref(object);
}

/* ------------------------------------------------------------------ start and stop */

void client_destroy(struct client *c)
{
    assert(c);
    for (uint32_t i = 0; i < c->peer_count; i++)
        wire_channel_close(c->peers[i]->channel, false);
    for (uint32_t i = 0; i < c->rail_count; i++) /* from here on nothing is lent to a device */
        rail_close(&c->rails[i]);
    for (uint32_t i = 0; i < c->peer_count; i++) {
        for (uint32_t k = 0; k < RAIL_MAX; k++)
            client_buffer_free(&c->peers[i]->links[k].probe);
        free(c->peers[i]);
    }
    client_memories_free(c);
    wire_tagger_free(c->tagger);
    for (uint32_t i = 0; i < CLIENT_OPERATIONS / CLIENT_OPERATION_PAGE; i++)
        free(c->operations[i]);
    OPENSSL_cleanse(c->config.auth_key, sizeof c->config.auth_key);
    free(c);
}

static enum fabric_error set_timers(struct client *c)
{
    fabric_timer timer;
    uint64_t now = client_now(c);
    fabric_entropy(c->fabric, c->instance, sizeof c->instance);
    enum fabric_error error = fabric_timer_set(c->fabric, now + c->config.rdma.start_wait,
                                               client_cookie(CLIENT_START_WAIT, 0, 0), &timer);
    if (!error)
        error = fabric_timer_set(c->fabric, now + RAIL_REQUERY, client_cookie(CLIENT_REQUERY, 0, 0),
                                 &timer);
    return error;
}

/* False without memory for a connection to each server. */
static bool begin(struct client *c)
{
    for (uint32_t i = 0; i < c->rail_count; i++) {
        c->rails[i].cookie = client_cookie(CLIENT_REOPEN, i, 0);
        rail_judge(&c->rails[i]);
        client_rail_report(c, i);
    }
    for (uint32_t i = 0; i < c->config.server_count; i++) {
        c->servers[i].seed =
            PLANTED(client_placement_by_position) ? i : placement_seed(c->config.servers[i]);
        if (!client_pool_get(c, i, 0, 0))
            return false;
    }
    return true;
}

enum fabric_error client_create(struct fabric *f, const struct client_config *config,
                                const struct fabric_report_sink *sink, struct client **out)
{
    assert(f && config && config->server_count && out);
    struct client *c = calloc(1, sizeof *c);
    if (!c)
        return ERR_RESOURCES_EXHAUSTED;
    c->fabric = f;
    c->config = *config;
    c->sink = sink ? *sink : c->sink;
    c->done_end = &c->done_first;
    bool rdma = c->config.transport != CONFIG_TRANSPORT_TCP || PLANTED(client_tcp_opens_rails);
    if (rdma) /* tcp: no queue pair at all */
        c->rail_count = rail_open_all(f, RAIL_CLIENT, &c->config.rdma, c->rails);
    enum fabric_error error = set_timers(c);
    c->tagger = wire_tagger_new(c->config.auth_key);
    if (!error && (!c->tagger || !begin(c)))
        error = ERR_RESOURCES_EXHAUSTED;
    if (error) {
        client_destroy(c);
        return error;
    }
    client_turn(c);
    *out = c;
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ events */

void client_turn(struct client *c)
{
    assert(c);
    do {
        client_peers_judge(c);
        while (c->kicked) {
            c->kicked = false;
            for (uint32_t i = 0; i < c->operation_end; i++)
                client_operation_step(c, client_operation_at(c, i));
            client_peers_judge(c);
        }
        for (uint32_t i = 0; i < c->peer_count; i++)
            client_peer_flush(c, c->peers[i]);
    } while (c->kicked || c->changed); /* a connection was lost */
}

static void start_is_over(struct client *c)
{
    for (uint32_t i = 0; i < c->peer_count; i++) {
        c->peers[i]->start_over = true;
        client_peer_judge(c, c->peers[i]);
    }
}

static void set_tick(struct client *c)
{
    fabric_timer timer;
    c->tick_missed = fabric_timer_set(c->fabric, client_now(c) + RAIL_REQUERY,
                                      client_cookie(CLIENT_REQUERY, 0, 0), &timer) != 0;
}

static void tick(struct client *c)
{
    set_tick(c);
    for (uint32_t i = 0; i < c->rail_count; i++)
        client_rail_look(c, i, NULL);
    for (uint32_t i = 0; i < c->peer_count; i++) {
        client_peer_tick(c, c->peers[i]);
        for (uint32_t k = 0; k < c->rail_count; k++)
            client_link_tick(c, c->peers[i], k);
    }
}

static void take_timer(struct client *c, uint64_t cookie)
{
    switch (cookie_kind(cookie)) {
    case CLIENT_PEER_TIMER:
        client_peer_timer(c, cookie);
        break;
    case CLIENT_LINK_TIMER:
        client_link_timer(c, cookie);
        break;
    case CLIENT_DEADLINE:
        client_operation_deadline(c, cookie);
        break;
    case CLIENT_START_WAIT:
        start_is_over(c);
        break;
    case CLIENT_RECEIVE:
        client_peer_resume(c, cookie);
        break;
    case CLIENT_SEND:
        client_bulk_goes_on(c, cookie);
        break;
    case CLIENT_REOPEN:
        client_rail_look(c, client_cookie_slot(cookie), NULL);
        break;
    default:
        tick(c);
        break;
    }
}

/* A refusal is judged again whenever a port may have changed, also when this one looks the same:
 * the peer's may not (MK-E1). */
static void judge_refusals_again(struct client *c, uint32_t rail)
{
    for (uint32_t i = 0; i < c->peer_count; i++)
        client_link_begin(c, c->peers[i], rail);
}

static void take_async(struct client *c, const struct fabric_async *async)
{
    client_queue_pair_broke(c, async);
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (!rail_concerned(&c->rails[i], async))
            continue;
        client_rail_look(c, i, async);
        if (!PLANTED(client_refusal_cached))
            judge_refusals_again(c, i);
    }
}

static bool is_callers(const struct fabric_event *event)
{
    uint64_t cookie = 0;
    if (event->type == FABRIC_EVENT_TIMER)
        cookie = event->u.timer.cookie;
    else if (event->type == FABRIC_EVENT_CONNECTED || event->type == FABRIC_EVENT_READABLE ||
             event->type == FABRIC_EVENT_WRITABLE || event->type == FABRIC_EVENT_CLOSED)
        cookie = event->u.stream.cookie;
    return (cookie & CLIENT_CALLER_COOKIE) != 0;
}

void client_event(struct client *c, const struct fabric_event *event)
{
    assert(c && event);
    if (is_callers(event))
        return;
    if (c->tick_missed)
        set_tick(c);
    switch (event->type) {
    case FABRIC_EVENT_ASYNC:
        take_async(c, &event->u.async);
        break;
    case FABRIC_EVENT_WINDOW_OPENED:
        if (cookie_kind(event->u.window.cookie) == CLIENT_WINDOW)
            client_operation_lent(c, event);
        else
            client_link_lent(c, event);
        break;
    case FABRIC_EVENT_WINDOW_REVOKED:
        if (cookie_kind(event->u.window.cookie) == CLIENT_WINDOW)
            client_operation_revoked(c, event->u.window.cookie, event->u.window.window);
        break;
    case FABRIC_EVENT_RESOLVED:
        client_link_resolved(c, event->u.resolved.cookie, event->u.resolved.error);
        break;
    case FABRIC_EVENT_CONNECTED:
    case FABRIC_EVENT_READABLE:
    case FABRIC_EVENT_WRITABLE:
    case FABRIC_EVENT_CLOSED:
        client_peer_event(c, event);
        break;
    case FABRIC_EVENT_TIMER:
        take_timer(c, event->u.timer.cookie);
        break;
    default:
        break; /* the client posts nothing, listens nowhere, submits no I/O */
    }
    client_turn(c);
}
