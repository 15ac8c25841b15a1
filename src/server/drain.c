/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

void server_drain(struct server *server)
{
    struct server *s = server;
    fabric_timer timer;
    assert(s);
    if (s->draining)
        return;
    s->draining = true;
    s->drain_until = server_now(s) + SERVER_DRAIN_TIME;
    if (s->listener.id && !PLANTED(server_drain_listens))
        fabric_listener_close(s->fabric, s->listener);
    s->listener = (fabric_listener){0};
    rail_log(s->fabric, FABRIC_LOG_INFO, "draining: %u connections, %u transfers under way",
             s->connection_count, server_transfer_count(s));
    /* Without a timer the tick looks, which is late by a second at most. */
    fabric_timer_set(s->fabric, s->drain_until, server_cookie(SERVER_DRAIN, 0, 0), &timer);
    server_drain_look(s);
}

uint32_t server_transfer_count(const struct server *server)
{
    uint32_t count = 0;
    assert(server);
    for (uint32_t i = 0; i < server->transfer_end; i++)
        count += server->transfers[i] && server->transfers[i]->kind != SERVER_PROBE;
    return count;
}

/* Answers that the streams have not taken yet are under way too. */
static bool is_busy(const struct server *s)
{
    if (server_transfer_count(s) > 0 && !PLANTED(server_drain_hasty))
        return true;
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        const struct server_connection *c = s->connections[i];
        if (!c || !c->said_ready)
            continue;
        bool deletes = c->deletions > 0 && !PLANTED(server_drain_deletes_nothing);
        if (deletes || wire_channel_queued(c->channel) > 0)
            return true;
    }
    return false;
}

void server_drain_look(struct server *server)
{
    struct server *s = server;
    assert(s);
    if (!s->draining || s->drained_said)
        return;
    bool busy = is_busy(s), late = server_now(s) >= s->drain_until;
    if (busy && !late)
        return;
    if (busy)
        rail_log(s->fabric, FABRIC_LOG_WARN, "timeout: %u transfers are given up at the end",
                 server_transfer_count(s));
    s->drained_said = true;
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        if (s->connections[i])
            server_connection_close(s, s->connections[i], FABRIC_OK, NULL);
    }
    server_report(s, json_pack("{s:s, s:b}", "event", "drained", "whole", (int)!busy));
}

bool server_may_begin(struct server *server, struct server_connection *c,
                      const struct wire_message *message)
{
    assert(server && c && message);
    if (!server->draining || PLANTED(server_drain_accepts))
        return true;
    switch (message->type) {
    case WIRE_PUT:
    case WIRE_GET:
    case WIRE_EXISTS:
    case WIRE_DELETE:
        server_result(server, c, message->id, ERR_DRAINING, "the server is shutting down");
        return false;
    case WIRE_LINK_REQUEST:
        return false; /* the connection ends before it could be of use */
    default:
        return true; /* what is under way may finish */
    }
}
