/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/gid_pair.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

bool server_rdma_active(const struct server *server)
{
    assert(server);
    for (uint32_t i = 0; i < server->rail_count; i++) {
        if (server->rails[i].state == RAIL_READY)
            return true;
    }
    return false;
}

void server_rail_report(struct server *server, uint32_t rail)
{
    assert(server && rail < server->rail_count);
    const struct rail *r = &server->rails[rail];
    server_report(server, json_pack("{s:s, s:s, s:i, s:s, s:s}", "event", "rail", "device", r->name,
                                    "port", (int)r->port_num, "state", rail_state_name(r->state),
                                    "reason", error_name(r->reason)));
}

static void report_link(struct server *s, const struct server_connection *c, uint32_t index,
                        enum fabric_error reason)
{
    const struct server_link *l = &c->links[index];
    bool up = l->state == SERVER_LINK_UP;
    server_report(s,
                  json_pack("{s:s, s:i, s:s, s:s, s:i, s:s, s:s}", "event", "link", "rail",
                            (int)index, "state", up ? "up" : "down", "reason", error_name(reason),
                            "path_mtu", up ? (int)fabric_mtu_bytes(l->path.path_mtu) : 0, "peer",
                            c->peer, "transport", up ? server_link_transport(l) : "none"));
}

void server_link_drop(struct server *server, struct server_connection *c, uint32_t link)
{
    assert(server && c && link < RAIL_MAX);
    struct server_link *l = &c->links[link];
    if (l->state == SERVER_LINK_NONE)
        return;
    if (l->dc.used)
        server_dc_release(server, l);
    rail_pair_destroy(&server->rails[l->rail], &l->pair);
    l->state = SERVER_LINK_NONE;
    l->outstanding = 0;
}

bool server_link_fail(struct server *server, struct server_connection *c, uint32_t link,
                      enum fabric_error error, const char *detail)
{
    struct server *s = server;
    assert(s && c && link < RAIL_MAX && error);
    struct server_link *l = &c->links[link];
    bool was_up = l->state == SERVER_LINK_UP;
    const uint32_t slot = c->slot, serial = c->serial;
    struct wire_message m = {.type = WIRE_LINK_DOWN,
                             .rail = (uint8_t)link,
                             .generation = l->generation,
                             .error = rail_mirror(error)};
    snprintf(m.detail, sizeof m.detail, "%s", detail);
    if (was_up && error == ERR_RETRY_EXCEEDED) /* what the next probe finds is no accident */
        l->small_only = SERVER_SMALL_ONLY - SERVER_SMALL_ONLY_LOST;
    server_link_drop(s, c, link);
    s->counters.refused_links += !was_up;
    s->refused[error] += !was_up;
    char more[RAIL_SAID_MORE];
    if (rail_said_is_due(&l->said, error, detail, server_now(s), more) ||
        PLANTED(server_refusal_repeated))
        rail_log(s->fabric, FABRIC_LOG_WARN, "client %s rail %u: %s %s: %s%s", c->peer, link,
                 was_up ? "connection lost:" : "RDMA refused:", error_name(error), detail, more);
    report_link(s, c, link, error);
    if (!server_send(s, c, &m))
        return false;
    server_transfers_flush(s, c, link);
    return server_connection_at(s, slot, serial) != NULL;
}

/* How near the peer is to a rail, in bits that its GID shares with ours: a device in the peer's own
 * network comes before one that would need a router. Without a GRH every path is as near. */
static size_t nearness(const struct rail *rail, const struct fabric_path *path,
                       const struct fabric_port_address *peer)
{
    assert(rail && path && peer);
    if (!path->av.is_global || PLANTED(server_rail_far))
        return 0;
    return fabric_gid_common_bits(&rail->address.gids[path->local_gid].gid,
                                  &peer->gids[path->peer_gid].gid);
}

/* The nearest of our rails that are ready and from which the client's can be reached, and the path
 * from it; of equal ones the first from the client's number modulo ours on, which spreads them.
 * When there is none, a refused path says more than a port that is not ready. */
static enum fabric_error choose_rail(struct server *s, const struct wire_message *m,
                                     struct server_link *l, char *detail)
{
    enum fabric_error refused = FABRIC_OK;
    bool found = false;
    size_t nearest = 0;
    if (s->rail_count == 0) {
        snprintf(detail, FABRIC_AV_DETAIL, "found no RDMA device at the server");
        return ERR_NOT_SUPPORTED;
    }
    const uint32_t first = m->rail % s->rail_count;
    for (uint32_t i = 0; i < (PLANTED(server_rail_pinned) ? 1 : s->rail_count); i++) {
        char why[FABRIC_AV_DETAIL];
        struct fabric_path path;
        const struct rail *rail = &s->rails[(first + i) % s->rail_count];
        if (rail->state != RAIL_READY)
            continue;
        enum fabric_error error = rail_path(rail, &m->address, &path, why);
        if (error && !refused) {
            memcpy(detail, why, sizeof why);
            refused = error;
        }
        if (error || (found && nearness(rail, &path, &m->address) <= nearest))
            continue;
        found = true;
        nearest = nearness(rail, &path, &m->address);
        l->rail = (first + i) % s->rail_count;
        l->path = path;
    }
    if (found)
        return FABRIC_OK;
    l->rail = first;
    if (refused)
        return refused;
    const struct rail *rail = &s->rails[first];
    snprintf(detail, FABRIC_AV_DETAIL, "the server's %.32s port %u: %.120s", rail->name,
             rail->port_num, rail->detail);
    return rail->reason;
}

static void say_notes(struct server *s, struct server_connection *c, uint32_t index,
                      const struct fabric_port_address *peer)
{
    struct server_link *l = &c->links[index];
    const struct fabric_port_address *own = &s->rails[l->rail].address;
    char note[RAIL_MTU_NOTE];
    if (rail_said_mtu(&l->said_notes, own, peer, &l->path, server_now(s), note))
        rail_log(s->fabric, FABRIC_LOG_WARN, "client %s rail %u: %s", c->peer, index, note);
}

/* The queue pair of one of both transports, and the look-up of the client. */
static enum fabric_error set_up(struct server *s, struct server_connection *c,
                                const struct wire_message *m, struct server_link *l, char *detail)
{
    bool dc;
    struct rail *rail = &s->rails[l->rail];
    const uint64_t cookie = server_cookie(SERVER_RESOLVE, c->slot, ++s->resolve_serial);
    enum fabric_error error = server_dc_choose(s, l, m, &dc, detail);
    l->resolve = s->resolve_serial;
    if (error)
        return error;
    if (dc) {
        server_dc_begin(c, l, m);
        error = server_dc_resolve(s, l, cookie);
        if (error)
            server_dc_release(s, l);
    } else {
        error = rail_pair_create(rail, server_cookie(SERVER_LINK, c->slot, c->serial), &l->pair);
        if (!error)
            error = rail_pair_resolve(rail, &l->pair, &l->path, cookie);
    }
    if (error)
        snprintf(detail, FABRIC_AV_DETAIL, "the queue pair could not be set up");
    return error;
}

static enum fabric_error build(struct server *s, struct server_connection *c,
                               const struct wire_message *m, char *detail)
{
    struct server_link *l = &c->links[m->rail];
    assert(l->state == SERVER_LINK_NONE);
    enum fabric_error error = choose_rail(s, m, l, detail);
    if (error)
        return error;
    if (!PLANTED(server_slab_late))
        error = server_slab_register(s, c->lane, l->rail);
    if (error) {
        snprintf(detail, FABRIC_AV_DETAIL, "the server's memory could not be registered");
        return error;
    }
    return set_up(s, c, m, l, detail);
}

/* Ports that were not ready are read again at first use (MK-C1). May end connections. */
static void look_at_first_use(struct server *s)
{
    for (uint32_t rail = 0; rail < s->rail_count; rail++) {
        if (s->rails[rail].state != RAIL_READY && !PLANTED(server_first_use_kept) &&
            rail_judge(&s->rails[rail]))
            server_rail_changed(s, rail);
    }
}

/* Each request costs a queue pair: a burst is taken, then one in an interval. */
static bool is_too_soon(struct server *s, struct server_link *l)
{
    uint64_t now = server_now(s);
    uint64_t paid = l->requests_at > now ? l->requests_at : now;
    if (paid - now > SERVER_LINK_BURST * SERVER_LINK_INTERVAL && !PLANTED(server_links_unpaced))
        return true;
    l->requests_at = paid + SERVER_LINK_INTERVAL;
    return false;
}

void server_link_request(struct server *server, struct server_connection *c,
                         const struct wire_message *message)
{
    struct server *s = server;
    const struct wire_message *m = message;
    char detail[FABRIC_AV_DETAIL] = "";
    assert(s && c && m && m->type == WIRE_LINK_REQUEST);
    const uint32_t slot = c->slot, serial = c->serial;
    if (m->rail >= RAIL_MAX) {
        server_connection_close(s, c, ERR_FRAME_INVALID, "a rail number out of range");
        return;
    }
    struct server_link *l = &c->links[m->rail];
    if (m->generation <= l->generation && !PLANTED(server_generation_unfenced)) {
        s->counters.stale++; /* a request that a newer one has overtaken */
        return;
    }
    server_link_drop(s, c, m->rail);
    l->generation = m->generation;
    server_transfers_flush(s, c, m->rail);
    if (!server_connection_at(s, slot, serial))
        return;
    if (is_too_soon(s, l)) {
        server_link_fail(s, c, m->rail, ERR_QUEUE_FULL, "too many requests for a link");
        return;
    }
    look_at_first_use(s);
    if (!server_connection_at(s, slot, serial))
        return;
    enum fabric_error error = build(s, c, m, detail);
    if (error) {
        server_link_fail(s, c, m->rail, error, detail);
        return;
    }
    l->request = *m;
    l->state = SERVER_LINK_RESOLVING;
}

static void accept_link(struct server *s, struct server_connection *c, struct server_link *l)
{
    const struct wire_message *m = &l->request;
    assert(l->state == SERVER_LINK_RESOLVING && (l->dc.used || l->pair.qp.id));
    l->state = SERVER_LINK_ACCEPTED;
    l->outstanding = 0;
    l->probe_iova = m->iova;
    l->probe_rkey = m->rkey;
    say_notes(s, c, m->rail, &m->address);
    const struct wire_message accept = {.type = WIRE_LINK_ACCEPT,
                                        .rail = m->rail,
                                        .generation = m->generation,
                                        .address = s->rails[l->rail].address,
                                        .qp_num = l->pair.qp_num,
                                        .psn = l->pair.psn,
                                        .server_rail = (uint8_t)l->rail,
                                        .dc = l->dc.used};
    wire_channel_bind(c->channel, m, &accept, l->digest);
    server_send(s, c, &accept);
    if (PLANTED(server_mtu_lowered))
        s->rails[l->rail].address.mtu = l->path.path_mtu;
}

/* The link that waits for this look-up; null when it has ended or begun another one. */
static struct server_link *resolving(struct server_connection *c, uint32_t serial)
{
    assert(c && serial);
    for (uint32_t i = 0; i < RAIL_MAX; i++) {
        struct server_link *l = &c->links[i];
        bool same = l->resolve == serial || PLANTED(server_resolve_unfenced);
        if (l->state == SERVER_LINK_RESOLVING && same)
            return l;
    }
    return NULL;
}

void server_link_resolved(struct server *server, uint64_t cookie, enum fabric_error error)
{
    struct server *s = server;
    assert(s && server_cookie_kind(cookie) == SERVER_RESOLVE);
    uint32_t slot = (uint32_t)(cookie >> 32) & 0xffffffu;
    struct server_connection *c = slot < SERVER_PLACES ? s->connections[slot] : NULL;
    struct server_link *l = c ? resolving(c, (uint32_t)cookie) : NULL;
    if (!l)
        return;
    const char *detail = "nobody has the client's GID";
    if (!error) {
        detail = "the queue pair could not be connected";
        error = l->dc.used ? server_dc_connect(s, l)
                           : rail_pair_connect(&s->rails[l->rail], &l->pair, &l->path,
                                               l->request.qp_num, l->request.psn);
    }
    if (error)
        server_link_fail(s, c, (uint32_t)(l - c->links), error, detail);
    else
        accept_link(s, c, l);
}

static bool is_current(struct server *s, const struct server_connection *c,
                       const struct wire_message *m, enum server_link_state state)
{
    bool current = m->rail < RAIL_MAX && c->links[m->rail].generation == m->generation &&
                   c->links[m->rail].state == state;
    s->counters.stale += !current;
    return current;
}

void server_link_ready(struct server *server, struct server_connection *c,
                       const struct wire_message *message)
{
    struct server *s = server;
    assert(s && c && message && message->type == WIRE_LINK_READY);
    if (!is_current(s, c, message, SERVER_LINK_ACCEPTED))
        return;
    struct server_link *l = &c->links[message->rail];
    if (!wire_equal(l->digest, message->digest, sizeof l->digest)) {
        server_connection_close(s, c, ERR_FRAME_INVALID, "the ends saw different addresses");
        return;
    }
    l->state = SERVER_LINK_PROBING;
    enum fabric_error error = server_probe(s, c, message->rail);
    if (error)
        server_link_fail(s, c, message->rail, error, "the probe could not be sent");
}

void server_link_down(struct server *server, struct server_connection *c,
                      const struct wire_message *message)
{
    struct server *s = server;
    assert(s && c && message);
    if (message->rail >= RAIL_MAX || c->links[message->rail].generation != message->generation ||
        c->links[message->rail].state == SERVER_LINK_NONE)
        return;
    rail_log(s->fabric, FABRIC_LOG_INFO, "client %s rail %u: ended by the client: %s: %s", c->peer,
             message->rail, error_name(message->error), message->detail);
    server_link_drop(s, c, message->rail);
    report_link(s, c, message->rail, message->error);
    server_transfers_flush(s, c, message->rail);
}

/* Small packets that pass before large ones are lost say that a link between has a smaller MTU, if
 * they say so again and again: a moment's outage looks the same once, a lossy fabric now and then,
 * and neither is a fault of configuration. */
static void probe_failed(struct server *s, struct server_connection *c,
                         const struct server_transfer *t)
{
    struct server_link *l = &c->links[t->link];
    const uint32_t rail = t->rail, mtu = fabric_mtu_bytes(l->path.path_mtu);
    char detail[FABRIC_AV_DETAIL], violations[RAIL_EXPLAIN];
    bool small_only = t->stage > 0 && t->error == ERR_RETRY_EXCEEDED;
    enum fabric_error error = ERR_PROBE_FAILED;
    l->small_only = small_only ? l->small_only + 1 : 0;
    if (small_only && (l->small_only >= SERVER_SMALL_ONLY || PLANTED(server_outage_blamed))) {
        error = ERR_PATH_MTU_SMALLER;
        snprintf(detail, sizeof detail,
                 "small packets pass, packets of %u bytes do not: a link between has a smaller MTU",
                 mtu);
    } else {
        rail_explain(&s->rails[rail], &l->pair, t->error, violations);
        snprintf(detail, sizeof detail,
                 "the probe ended in %s (%u bytes, service level %u, P_Key index %u)%s",
                 error_name(t->error), small_only ? mtu : SERVER_PROBE_SMALL, l->path.av.sl,
                 l->path.pkey_index, violations);
    }
    server_link_fail(s, c, t->link, error, detail);
    server_rail_is_to_blame(s, rail);
}

void server_link_probed(struct server *server, struct server_connection *c,
                        const struct server_transfer *t)
{
    struct server *s = server;
    assert(s && c && t && t->kind == SERVER_PROBE);
    struct server_link *l = &c->links[t->link];
    if (l->generation != t->generation || l->state != SERVER_LINK_PROBING)
        return;
    if (t->error) {
        probe_failed(s, c, t);
        return;
    }
    l->state = SERVER_LINK_UP;
    server_dc_trust(l);
    l->small_only = 0;
    l->said = (struct rail_said){0};
    char path[RAIL_PATH_TEXT];
    rail_path_text(&s->rails[l->rail], &l->path, path);
    rail_log(s->fabric, FABRIC_LOG_INFO, "client %s rail %u: connected over %s, %s", c->peer,
             t->link, l->dc.used ? "DC" : "RC", path);
    report_link(s, c, t->link, FABRIC_OK);
    struct wire_message m = {.type = WIRE_LINK_UP,
                             .rail = t->link,
                             .generation = l->generation,
                             .path_mtu = l->path.path_mtu};
    memcpy(m.digest, l->digest, sizeof m.digest);
    server_send(s, c, &m);
}

/* Our rail is not what this link was, or would have been, built on: the client asks again at once.
 * False when the connection is gone by now. */
static bool tell_stale(struct server *s, struct server_connection *c, uint32_t link, uint32_t rail)
{
    const struct rail *r = &s->rails[rail];
    struct wire_message m = {.type = WIRE_LINK_DOWN,
                             .rail = (uint8_t)link,
                             .generation = c->links[link].generation,
                             .error = ERR_STALE_GENERATION};
    snprintf(m.detail, sizeof m.detail, "the address of the server's %.32s port %u changed",
             r->name, r->port_num);
    return server_send(s, c, &m);
}

/* Ends the links that used the rail as it was. One that still looks the client up has an answer to
 * come, which nothing else gives; where only GIDs changed, links live on (and RAIL_CHANGED would
 * end them), so that every other one is told by itself, also one that was refused. False when the
 * connection is gone by now. */
static bool end_links(struct server *s, struct server_connection *c, uint32_t rail)
{
    const struct rail *r = &s->rails[rail];
    for (uint32_t i = 0; i < RAIL_MAX; i++) {
        struct server_link *l = &c->links[i];
        bool used = l->state != SERVER_LINK_NONE && l->rail == rail;
        bool resolving = used && l->state == SERVER_LINK_RESOLVING;
        bool refused = l->state == SERVER_LINK_NONE && l->generation > 0;
        if (used && !resolving && rail_path_stands(r, &l->path))
            continue;
        if (used) {
            server_link_drop(s, c, i);
            report_link(s, c, i, r->reason ? r->reason : ERR_STALE_GENERATION);
        }
        bool told = r->only_gids ? used || refused : resolving;
        if (told && !PLANTED(server_resolving_untold) && !tell_stale(s, c, i, rail))
            return false;
    }
    return true;
}

/* May end the connection. */
static void tell_change(struct server *s, struct server_connection *c, uint32_t rail)
{
    const uint32_t slot = c->slot, serial = c->serial;
    const struct rail *r = &s->rails[rail];
    struct wire_message m = {.type = WIRE_RAIL_CHANGED,
                             .rail = (uint8_t)rail,
                             .generation = r->address.generation,
                             .error = rail_mirror(r->reason)};
    snprintf(m.detail, sizeof m.detail, "the server's %.32s port %u: %.100s", r->name, r->port_num,
             r->detail);
    if (!end_links(s, c, rail) || (!r->only_gids && !server_send(s, c, &m)))
        return;
    for (uint32_t i = 0; i < RAIL_MAX && server_connection_at(s, slot, serial); i++) {
        if (c->links[i].rail == rail && c->links[i].state == SERVER_LINK_NONE)
            server_transfers_flush(s, c, i);
    }
}

void server_rail_changed(struct server *server, uint32_t rail)
{
    struct server *s = server;
    assert(s && rail < s->rail_count);
    const bool only_gids = s->rails[rail].only_gids;
    server_rail_report(s, rail);
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        if (s->connections[i] && s->connections[i]->said_ready && !PLANTED(server_change_not_told))
            tell_change(s, s->connections[i], rail);
    }
    if (!only_gids)
        server_dc_rail_changed(s, rail);
}

bool server_rail_is_to_blame(struct server *server, uint32_t rail)
{
    assert(server && rail < server->rail_count);
    if (PLANTED(server_failure_not_looked_into) || !rail_judge(&server->rails[rail]))
        return false;
    server->rails[rail].only_gids = false; /* what failed may be any of its links */
    server_rail_changed(server, rail);
    return true;
}

static void link_is_fatal(struct server *s, struct server_connection *c, fabric_qp qp)
{
    for (uint32_t i = 0; i < RAIL_MAX; i++) {
        if (c->links[i].state == SERVER_LINK_NONE || c->links[i].pair.qp.id != qp.id)
            continue;
        server_link_fail(s, c, i, ERR_FLUSHED, "the device says that the queue pair is broken");
        return;
    }
}

void server_queue_pair_broke(struct server *server, const struct fabric_async *async)
{
    assert(server && async);
    struct server_connection *c = server_connection_of(server, async->cookie);
    bool fatal = async->type == FABRIC_ASYNC_QP_FATAL || async->type == FABRIC_ASYNC_QP_REQ_ERR ||
                 async->type == FABRIC_ASYNC_QP_ACCESS_ERR;
    if (fatal && server_cookie_kind(async->cookie) == SERVER_INITIATOR)
        server_dc_queue_pair_broke(server, async->qp);
    else if (c && fatal && !PLANTED(server_dead_pair_kept) &&
             server_cookie_kind(async->cookie) == SERVER_LINK && async->qp.id)
        link_is_fatal(server, c, async->qp);
}
