/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "src/fabric/planted.h"
#include "src/server/server.h"

/* False without memory. */
static bool make_room(struct server *s)
{
    uint32_t room = s->transfer_room ? 2 * s->transfer_room : 64;
    if (s->transfer_end < s->transfer_room)
        return true;
    void *transfers = realloc(s->transfers, room * sizeof(struct server_transfer *));
    s->transfers = transfers ? transfers : s->transfers;
    void *positions = realloc(s->free_transfers, room * sizeof(uint32_t));
    s->free_transfers = positions ? positions : s->free_transfers;
    if (!transfers || !positions)
        return false;
    s->transfer_room = room;
    return true;
}

static void join(struct server_connection *c, struct server_transfer *t)
{
    t->previous = c->last;
    if (c->last)
        c->last->following = t;
    else
        c->first = t;
    c->last = t;
    c->transfers++;
}

/* Those of a connection that is gone are still joined to each other. */
static void part(struct server_connection *c, struct server_transfer *t)
{
    if (t->previous)
        t->previous->following = t->following;
    else if (c)
        c->first = t->following;
    if (t->following)
        t->following->previous = t->previous;
    else if (c)
        c->last = t->previous;
    if (c)
        c->transfers--;
}

struct server_transfer *server_transfer_new(struct server *s, struct server_connection *c,
                                            enum server_transfer_kind kind)
{
    assert(s && c);
    if (c->transfers == SERVER_CONNECTION_TRANSFERS || (!s->free_count && !make_room(s)))
        return NULL;
    if (PLANTED(server_transfers_few) && s->transfer_end - s->free_count == 4096)
        return NULL;
    struct server_transfer *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->slot = s->free_count ? s->free_transfers[--s->free_count] : s->transfer_end++;
    t->serial = ++s->transfer_serial;
    t->kind = kind;
    t->connection_slot = c->slot;
    t->connection_serial = c->serial;
    t->lane = c->lane;
    t->progress = server_now(s);
    s->transfers[t->slot] = t;
    join(c, t);
    return t;
}

struct server_connection *server_transfer_owner(struct server *s, const struct server_transfer *t)
{
    assert(s && t);
    return server_connection_at(s, t->connection_slot, t->connection_serial);
}

static void wait_no_more(struct server *s, struct server_transfer *t)
{
    struct server_waiting *w = &s->waiting[t->rail];
    if (!t->waits)
        return;
    if (t->waits_before)
        t->waits_before->waits_after = t->waits_after;
    else
        w->first = t->waits_after;
    if (t->waits_after)
        t->waits_after->waits_before = t->waits_before;
    else
        w->last = t->waits_before;
    t->waits_before = t->waits_after = NULL;
    t->waits = false;
}

void server_transfer_free(struct server *s, struct server_transfer *t)
{
    assert(s && t && t->outstanding == 0 && s->transfers[t->slot] == t);
    wait_no_more(s, t);
    server_bulk_end(s, t);
    part(server_transfer_owner(s, t), t);
    server_probe_free(s, t);
    s->transfers[t->slot] = NULL;
    s->free_transfers[s->free_count++] = t->slot;
    free(t);
}

void server_transfers_free(struct server *server)
{
    assert(server);
    for (uint32_t i = 0; i < server->transfer_end; i++) {
        struct server_transfer *t = server->transfers[i];
        if (!t)
            continue;
        if (t->kind == SERVER_PUT && t->block) /* else the store has it */
            store_abandon(t->lane->store, t->block);
        else if (t->kind == SERVER_GET)
            store_unpin(t->lane->store, t->block);
        free(t->probe);
        free(t);
    }
    free(server->transfers);
    free(server->free_transfers);
}

struct server_transfer *server_transfer_by_id(struct server *s, const struct server_connection *c,
                                              uint64_t id)
{
    assert(s && c);
    for (struct server_transfer *t = c->first; t; t = t->following) {
        if (t->kind != SERVER_PROBE && t->id == id)
            return t;
    }
    return NULL;
}

/* ------------------------------------------------------------------ a walk */

static struct server_transfer *walk_to(struct server_walk *walk, struct server_transfer *t)
{
    if (!t)
        return NULL;
    walk->serial = t->serial;
    walk->following = t->following;
    if (t->following) {
        walk->following_slot = t->following->slot;
        walk->following_serial = t->following->serial;
    }
    return t;
}

struct server_transfer *server_walk(struct server *s, const struct server_connection *c,
                                    struct server_walk *walk)
{
    assert(s && c && walk);
    *walk = (struct server_walk){.connection_slot = c->slot, .connection_serial = c->serial};
    return walk_to(walk, c->first);
}

struct server_transfer *server_walk_on(struct server *s, struct server_walk *walk)
{
    assert(s && walk);
    struct server_transfer *t = walk->following ? s->transfers[walk->following_slot] : NULL;
    if (!walk->following || (t && t->serial == walk->following_serial))
        return walk_to(walk, t);
    /* It has ended meanwhile: the first that came after where the walk was. */
    struct server_connection *c =
        server_connection_at(s, walk->connection_slot, walk->connection_serial);
    t = c ? c->first : NULL;
    while (t && (int32_t)(t->serial - walk->serial) <= 0) /* serials go round */
        t = t->following;
    return walk_to(walk, t);
}

/* ------------------------------------------------------------------ waiting */

void server_transfer_wait(struct server *s, struct server_transfer *t)
{
    assert(s && t && t->rail < RAIL_MAX);
    struct server_waiting *w = &s->waiting[t->rail];
    if (t->waits)
        return;
    t->waits = true;
    t->waits_before = w->last;
    if (w->last)
        w->last->waits_after = t;
    else
        w->first = t;
    w->last = t;
}

struct server_transfer *server_transfer_waited(struct server *s, uint32_t rail)
{
    assert(s && rail < RAIL_MAX);
    struct server_transfer *t = s->posts[rail] < RAIL_CQ_DEPTH ? s->waiting[rail].first : NULL;
    if (t)
        wait_no_more(s, t);
    return t;
}
