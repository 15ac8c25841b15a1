/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"

const char *client_peer_address(const struct client *c, const struct client_peer *p)
{
    assert(c && p && p->server < c->config.server_count);
    return c->config.servers[p->server];
}

static struct client_peer *find(const struct client *c, uint32_t server, uint32_t lane,
                                uint32_t member)
{
    for (uint32_t i = 0; i < c->peer_count; i++) {
        struct client_peer *p = c->peers[i];
        if (p->server == server && p->lane == lane && p->member == member)
            return p;
    }
    return NULL;
}

struct client_peer *client_pool_get(struct client *c, uint32_t server, uint32_t lane,
                                    uint32_t member)
{
    assert(c && server < c->config.server_count);
    struct client_peer *p = find(c, server, lane, member);
    if (p && p->state == CLIENT_PEER_DOWN && !p->timer.id && !p->timer_missed)
        client_peer_connect(c, p); /* its lane is back */
    if (p || c->peer_count == CLIENT_PEERS)
        return p;
    p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->index = c->peer_count;
    p->server = server;
    p->lane = lane;
    p->member = member;
    /* A lane that is opened later has not waited for rails at the start; the server has. */
    p->start_over = lane || member ? c->peers[server]->start_over : false;
    c->peers[c->peer_count++] = p;
    client_peer_connect(c, p);
    return p;
}

struct client_peer *client_pool_first(struct client *c, const struct client_operation *op)
{
    assert(c && op && op->key_length);
    uint32_t lanes = c->servers[op->server].lanes, lane = 0;
    if (lanes > 1 && !PLANTED(client_lane_zero))
        lane = wire_key_lane(op->key, op->key_length, lanes);
    return client_pool_get(c, op->server, lane, 0);
}

/* The pool of a server is shared by its lanes; each has one connection at least. */
static uint32_t pool_size(const struct client *c, const struct client_peer *first)
{
    uint32_t lanes = c->servers[first->server].lanes;
    uint32_t size = (uint32_t)c->config.num_connections / (lanes ? lanes : 1);
    return size ? size : 1;
}

struct client_peer *client_pool_member(struct client *c, struct client_peer *first)
{
    assert(c && first && first->member == 0);
    struct client_peer *best = first;
    if (PLANTED(client_pool_unused))
        return first;
    bool idle = first->state == CLIENT_PEER_READY && first->under_way == 0;
    for (uint32_t i = 0; i < pool_size(c, first) && !idle; i++) {
        struct client_peer *p = client_pool_get(c, first->server, first->lane, i);
        if (!p)
            break;
        bool better = p->state == CLIENT_PEER_READY &&
                      (best->state != CLIENT_PEER_READY || p->under_way < best->under_way);
        best = better ? p : best;
        idle = best->state == CLIENT_PEER_READY && best->under_way == 0;
        if (p->state == CLIENT_PEER_CONNECTING)
            break; /* one more at a time */
    }
    return best;
}

/* The lane is no more: nobody answers there. */
static void retire(struct client *c, struct client_peer *p)
{
    bool was_pending;
    client_peer_lost(c, p, ERR_PEER_GONE);
    if (p->timer.id)
        fabric_timer_cancel(c->fabric, p->timer, &was_pending);
    p->timer = (fabric_timer){0};
    p->timer_missed = false;
}

void client_pool_lanes(struct client *c, struct client_peer *p, uint32_t lanes)
{
    assert(c && p && lanes);
    struct client_server *server = &c->servers[p->server];
    if (server->lanes == lanes)
        return;
    if (server->lanes)
        rail_log(c->fabric, FABRIC_LOG_INFO, "server %s: has %u lanes now, had %u",
                 client_peer_address(c, p), lanes, server->lanes);
    server->lanes = lanes;
    for (uint32_t i = 0; i < c->peer_count; i++) {
        struct client_peer *other = c->peers[i];
        if (other->server != p->server)
            continue;
        if (other->lane >= lanes)
            retire(c, other);
        client_operations_kick(c, other);
    }
}
