/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"

#define PROBE_BYTES 4096u /* the largest MTU */

static void set_timer(struct client *c, struct client_peer *p, uint32_t rail, uint64_t after)
{
    struct client_link *l = &p->links[rail];
    uint64_t cookie =
        client_cookie(CLIENT_LINK_TIMER, p->index * RAIL_MAX + rail, ++l->timer_serial);
    l->timer_missed = fabric_timer_set(c->fabric, client_now(c) + after, cookie, &l->timer) != 0;
    if (l->timer_missed)
        l->timer = (fabric_timer){0};
}

static void clear_timer(struct client *c, struct client_link *l)
{
    bool was_pending;
    if (l->timer.id)
        fabric_timer_cancel(c->fabric, l->timer, &was_pending);
    l->timer = (fabric_timer){0};
    l->timer_missed = false;
}

static void report_link(struct client *c, const struct client_peer *p, uint32_t rail)
{
    const struct client_link *l = &p->links[rail];
    bool up = l->state == CLIENT_LINK_UP;
    client_report(c,
                  json_pack("{s:s, s:i, s:s, s:s, s:i, s:s, s:i, s:s}", "event", "link", "rail",
                            (int)rail, "state", up ? "up" : "down", "reason", error_name(l->reason),
                            "path_mtu", up ? (int)fabric_mtu_bytes(l->path.path_mtu) : 0, "peer",
                            client_peer_address(c, p), "lane", (int)p->lane, "transport",
                            up ? client_link_transport(l) : "none"));
}

const char *client_link_transport(const struct client_link *l)
{
    assert(l);
    return l->dc ? "dc" : "rc";
}

bool client_link_in_progress(const struct client_peer *p)
{
    assert(p);
    for (uint32_t i = 0; i < RAIL_MAX; i++) {
        if (p->links[i].state != CLIENT_LINK_DOWN && p->links[i].state != CLIENT_LINK_UP)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------ the end of a link */

static void close_probe(struct client *c, uint32_t rail, struct client_link *l)
{
    bool alive = l->probe_epoch == c->rails[rail].epoch && c->rails[rail].device.id;
    if (l->probe_window.id && alive)
        fabric_window_revoke(c->fabric, l->probe_window);
    l->probe_window = (fabric_window){0};
}

/* What was under way over the link is tried again, each when nothing can touch its buffer; a PUT
 * that waits for the answer to its COMMIT needs the link no more. */
static void restart_operations(struct client *c, const struct client_peer *p, uint32_t rail,
                               enum fabric_error reason)
{
    for (uint32_t i = 0; i < c->operation_end; i++) {
        struct client_operation *op = client_operation_at(c, i);
        bool under_way = (op->state == CLIENT_SENT && !op->prepared) || op->state == CLIENT_LENDING;
        if (under_way && op->peer == p->index && op->way == WIRE_WAY_RC && op->rail == rail)
            client_attempt_end(c, op, reason, "the link ended", true);
        else if (op->state == CLIENT_SENT && op->peer == p->index && op->window.id &&
                 op->rail == rail) {
            fabric_window_revoke(c->fabric, op->window);
            op->window = (fabric_window){0};
            op->revoking = true;
        }
    }
}

void client_link_end(struct client *c, struct client_peer *p, uint32_t rail,
                     enum fabric_error reason, const char *detail, bool again)
{
    assert(c && p && rail < RAIL_MAX && reason);
    struct client_link *l = &p->links[rail];
    bool was_up = l->state == CLIENT_LINK_UP;
    if (was_up && client_now(c) - l->up_since >= RAIL_SETTLED)
        l->backoff = 0;
    l->state = CLIENT_LINK_DOWN;
    l->reason = reason;
    snprintf(l->detail, sizeof l->detail, "%s", detail);
    clear_timer(c, l);
    rail_pair_destroy(&c->rails[rail], &l->pair);
    close_probe(c, rail, l);
    if (was_up)
        report_link(c, p, rail);
    restart_operations(c, p, rail, reason);
    /* A path's MTU was concluded from packets: it is looked at again, as seldom as anything. */
    bool concluded = reason == ERR_PATH_MTU_SMALLER;
    bool tired = PLANTED(client_link_gives_up) && l->backoff == RAIL_BACKOFF_LAST;
    if (!again || (rail_is_configuration(reason) && !concluded) || tired)
        return;
    if (PLANTED(client_backoff_constant))
        l->backoff = 0;
    else if (concluded)
        l->backoff = RAIL_BACKOFF_LAST;
    set_timer(c, p, rail, rail_backoff_grow(c->fabric, &l->backoff));
}

/* We refuse or give up: the server must not keep its half. */
static void give_up(struct client *c, struct client_peer *p, uint32_t rail,
                    enum fabric_error reason, const char *detail)
{
    struct client_link *l = &p->links[rail];
    struct wire_message m = {.type = WIRE_LINK_DOWN,
                             .rail = (uint8_t)rail,
                             .generation = l->generation,
                             .error = rail_mirror(reason)};
    char more[RAIL_SAID_MORE];
    snprintf(m.detail, sizeof m.detail, "%s", detail);
    if (rail_said_is_due(&l->said, reason, detail, client_now(c), more))
        rail_log(c->fabric, FABRIC_LOG_WARN, "server %s rail %u: RDMA refused: %s: %s%s",
                 client_peer_address(c, p), rail, error_name(reason), detail, more);
    client_link_end(c, p, rail, reason, detail, true);
    client_peer_send(c, p, &m);
    client_peer_judge(c, p);
}

/* ------------------------------------------------------------------ the beginning of a link */

static enum fabric_error lend_probe(struct client *c, const struct client_peer *p, uint32_t rail,
                                    struct client_link *l)
{
    uint32_t place = p->index * RAIL_MAX + rail;
    if (!client_buffer_reserve(c, &l->probe, PROBE_BYTES))
        return ERR_RESOURCES_EXHAUSTED;
    enum fabric_error error = client_buffer_lend(
        c, &l->probe, rail, 0, PROBE_BYTES, FABRIC_ACCESS_REMOTE_READ | FABRIC_ACCESS_REMOTE_WRITE,
        client_cookie(CLIENT_PROBE_WINDOW, place, l->generation), &l->probe_window);
    l->probe_epoch = c->rails[rail].epoch;
    return error;
}

void client_link_begin(struct client *c, struct client_peer *p, uint32_t rail)
{
    assert(c && p && rail < c->rail_count);
    struct rail *r = &c->rails[rail];
    struct client_link *l = &p->links[rail];
    if (p->state != CLIENT_PEER_READY || l->state != CLIENT_LINK_DOWN ||
        !client_peer_wants_rdma(c, p))
        return;
    if (r->state != RAIL_READY) {
        l->reason = rail_transfer_error(r);
        snprintf(l->detail, sizeof l->detail, "%.40s port %u: %.150s", r->name, r->port_num,
                 r->detail);
        return;
    }
    l->generation++;
    l->peer_waits = l->dc = false;
    clear_timer(c, l);
    enum fabric_error error =
        rail_pair_create(r, client_cookie(CLIENT_QUEUE_PAIR, p->index, 0), &l->pair);
    if (!error)
        error = lend_probe(c, p, rail, l);
    if (error) {
        give_up(c, p, rail, error, "the queue pair could not be set up");
        return;
    }
    l->state = CLIENT_LINK_LENDING;
    set_timer(c, p, rail, PLANTED(client_link_impatient) ? CLIENT_LINK_TIME / 2 : CLIENT_LINK_TIME);
}

void client_link_lent(struct client *c, const struct fabric_event *event)
{
    assert(c && event && event->type == FABRIC_EVENT_WINDOW_OPENED);
    uint64_t cookie = event->u.window.cookie;
    struct client_peer *p = c->peers[client_cookie_slot(cookie) / RAIL_MAX];
    uint32_t rail = client_cookie_slot(cookie) % RAIL_MAX;
    struct client_link *l = &p->links[rail];
    if (l->state != CLIENT_LINK_LENDING || l->generation != (uint32_t)cookie)
        return; /* its device was closed */
    if (event->u.window.error) {
        l->probe_window = (fabric_window){0};
        give_up(c, p, rail, event->u.window.error, "memory could not be lent");
        return;
    }
    l->request = (struct wire_message){.type = WIRE_LINK_REQUEST,
                                       .rail = (uint8_t)rail,
                                       .generation = l->generation,
                                       .address = c->rails[rail].address,
                                       .qp_num = l->pair.qp_num,
                                       .psn = l->pair.psn,
                                       .iova = l->probe.iova,
                                       .rkey = event->u.window.rkey,
                                       .length = PROBE_BYTES};
    client_target_offer(c, rail, &l->request);
    l->state = CLIENT_LINK_REQUESTED;
    client_peer_send(c, p, &l->request);
}

/* A late answer of generation n never configures generation n + 1 (MK-B4). */
static struct client_link *current(struct client *c, struct client_peer *p,
                                   const struct wire_message *m)
{
    struct client_link *l = m->rail < c->rail_count ? &p->links[m->rail] : NULL;
    if (l && (l->generation == m->generation || PLANTED(client_generation_unfenced)))
        return l;
    c->counters.stale++;
    return NULL;
}

static void say_notes(struct client *c, const struct client_peer *p, struct client_link *l)
{
    const struct wire_message *m = &l->accept;
    const struct fabric_port_address *own = &c->rails[m->rail].address;
    char note[RAIL_MTU_NOTE];
    if (rail_said_mtu(&l->said_notes, own, &m->address, &l->path, client_now(c), note))
        rail_log(c->fabric, FABRIC_LOG_WARN, "server %s rail %u: %s", client_peer_address(c, p),
                 m->rail, note);
}

/* The queue pair receives: the server may probe it. */
static void say_ready(struct client *c, struct client_peer *p, struct client_link *l)
{
    const struct wire_message *m = &l->accept;
    struct wire_message ready = {
        .type = WIRE_LINK_READY, .rail = m->rail, .generation = l->generation};
    say_notes(c, p, l);
    wire_channel_bind(p->channel, &l->request, m, l->digest);
    memcpy(ready.digest, l->digest, sizeof ready.digest);
    l->state = CLIENT_LINK_PROBED;
    if (PLANTED(client_up_unprobed)) {
        l->state = CLIENT_LINK_UP;
        client_peer_judge(c, p);
    }
    client_peer_send(c, p, &ready);
}

void client_link_accept(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    assert(c && p && m);
    struct client_link *l = current(c, p, m);
    char detail[FABRIC_AV_DETAIL] = "";
    if (!l || l->state != CLIENT_LINK_REQUESTED)
        return;
    struct rail *r = &c->rails[m->rail];
    enum fabric_error error = rail_path(r, &m->address, &l->path, detail);
    if (!error && m->dc) {
        error = client_target_accept(c, m->rail, l);
        if (error)
            snprintf(detail, sizeof detail, "the server chose DC, which was not offered");
    } else if (!error) {
        uint32_t place = p->index * RAIL_MAX + m->rail;
        error = rail_pair_resolve(r, &l->pair, &l->path,
                                  client_cookie(CLIENT_RESOLVE, place, l->generation));
        if (error)
            snprintf(detail, sizeof detail, "the server's link address cannot be looked up");
    }
    if (error) {
        give_up(c, p, m->rail, error, detail);
        return;
    }
    l->accept = *m;
    l->server_rail = m->server_rail;
    l->state = CLIENT_LINK_RESOLVING;
    if (m->dc) /* a target answers by the way that the question came */
        say_ready(c, p, l);
}

void client_link_resolved(struct client *c, uint64_t cookie, enum fabric_error error)
{
    assert(c);
    struct client_peer *p = c->peers[client_cookie_slot(cookie) / RAIL_MAX];
    uint32_t rail = client_cookie_slot(cookie) % RAIL_MAX;
    struct client_link *l = &p->links[rail];
    bool same = l->generation == (uint32_t)cookie || PLANTED(client_resolve_unfenced);
    if (l->state != CLIENT_LINK_RESOLVING || !same)
        return; /* of a link that has ended */
    const char *detail = "nobody has the server's GID";
    if (!error || PLANTED(client_resolve_failure_ignored)) {
        detail = "the queue pair could not be connected";
        error =
            rail_pair_connect(&c->rails[rail], &l->pair, &l->path, l->accept.qp_num, l->accept.psn);
    }
    if (error)
        give_up(c, p, rail, error, detail);
    else
        say_ready(c, p, l);
}

void client_link_up(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    assert(c && p && m);
    struct client_link *l = current(c, p, m);
    if (!l || l->state != CLIENT_LINK_PROBED)
        return;
    if (!wire_equal(l->digest, m->digest, sizeof l->digest)) {
        client_peer_lost(c, p, ERR_FRAME_INVALID);
        return;
    }
    clear_timer(c, l);
    close_probe(c, m->rail, l);
    l->state = CLIENT_LINK_UP;
    l->reason = FABRIC_OK;
    l->ever_up = true;
    l->up_since = client_now(c);
    l->probed_again = false;
    l->said = (struct rail_said){0};
    char path[RAIL_PATH_TEXT];
    rail_path_text(&c->rails[m->rail], &l->path, path);
    rail_log(c->fabric, FABRIC_LOG_INFO, "server %s rail %u: connected over %s, %s",
             client_peer_address(c, p), m->rail, l->dc ? "DC" : "RC", path);
    report_link(c, p, m->rail);
    client_peer_judge(c, p);
}

/* The server's port is not ready: it will say when it is. */
static bool is_peer_waiting(enum fabric_error error)
{
    return error == ERR_PEER_NO_LID || error == ERR_PORT_DOWN || error == ERR_DEVICE_REMOVED ||
           error == ERR_WAITING_FOR_SM || error == ERR_GID_NONE;
}

/* What does not speak against the rail. An operation that gave up took its window away while the
 * server was using it, and the queue pair, shared with innocent ones, went with it (MK-A4): by a
 * NAK, or in silence when that was lost. One failed probe may have met a moment's outage: it is
 * repeated once. And a rail of the server that changed is asked again. */
static bool is_no_fault(struct client_link *l, const struct wire_message *m)
{
    if (m->error == ERR_STALE_GENERATION)
        return true;
    if (l->state == CLIENT_LINK_UP)
        return (m->error == ERR_REMOTE_ACCESS || m->error == ERR_RETRY_EXCEEDED) &&
               l->revoked == l->generation && !PLANTED(client_revoked_blamed);
    if (l->state != CLIENT_LINK_PROBED || m->error != ERR_PROBE_FAILED || l->probed_again)
        return false;
    l->probed_again = true;
    return true;
}

/* The last rail ended in silence, after which an `auto` client would stay on TCP. What it was only
 * a probe can name (MK-F3); but a path that fails again and again is no way to serve. */
static bool is_probed_first(struct client *c, struct client_peer *p, uint32_t rail,
                            enum fabric_error error)
{
    struct client_link *l = &p->links[rail];
    const uint64_t now = client_now(c);
    if (c->config.transport != CONFIG_TRANSPORT_AUTO || l->state != CLIENT_LINK_UP ||
        error != ERR_RETRY_EXCEEDED || PLANTED(client_lost_unprobed))
        return false;
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (i != rail && p->links[i].state == CLIENT_LINK_UP)
            return false;
    }
    bool again = l->lost_at && now - l->lost_at < RAIL_SETTLED;
    l->lost_at = now;
    l->probed_again = true; /* one probe: that is the second time that it meets silence */
    return !again;
}

/* What failed over a link may be the first that tells of a change of our port (MK-C4). */
static void look_after_failure(struct client *c, uint32_t rail, enum fabric_error error)
{
    bool lost = error == ERR_RETRY_EXCEEDED || error == ERR_PROBE_FAILED ||
                error == ERR_PATH_MTU_SMALLER || error == ERR_FLUSHED;
    if (lost && !PLANTED(client_failure_not_looked_into))
        client_rail_look(c, rail, NULL);
}

/* Between two of these the link is up, so that what it said last about a failure is forgotten; this
 * is not. */
static void say_again(struct client *c, struct client_peer *p, uint32_t rail,
                      enum fabric_error error, const char *detail)
{
    char more[RAIL_SAID_MORE];
    struct rail_said *said = &p->links[rail].said_again;
    if (rail_said_is_due(said, error, detail, client_now(c), more) ||
        PLANTED(client_again_said_every_time))
        rail_log(c->fabric, FABRIC_LOG_INFO, "server %s rail %u: built again at once: %s: %s%s",
                 client_peer_address(c, p), rail, error_name(error), detail, more);
}

void client_link_refused(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    assert(c && p && m);
    struct client_link *l = current(c, p, m);
    bool again = l && l->state == CLIENT_LINK_DOWN && m->error == ERR_STALE_GENERATION;
    if (again) { /* it was refused; by what the server's rail is now it may not be */
        client_link_begin(c, p, m->rail);
        client_peer_judge(c, p);
    }
    if (!l || again || l->state == CLIENT_LINK_DOWN || !m->error)
        return;
    if (is_no_fault(l, m)) {
        say_again(c, p, m->rail, m->error, m->detail);
        client_link_end(c, p, m->rail, m->error, m->detail, false);
        look_after_failure(c, m->rail, m->error);
        client_link_begin(c, p, m->rail);
        client_peer_judge(c, p);
        return;
    }
    char detail[WIRE_DETAIL + RAIL_EXPLAIN], violations[RAIL_EXPLAIN], more[RAIL_SAID_MORE];
    bool unanswered = m->error == ERR_RETRY_EXCEEDED || m->error == ERR_PROBE_FAILED;
    rail_explain(&c->rails[m->rail], &l->pair, unanswered ? ERR_RETRY_EXCEEDED : m->error,
                 violations);
    snprintf(detail, sizeof detail, "%s%s", m->detail, violations);
    if (rail_said_is_due(&l->said, m->error, m->detail, client_now(c), more))
        rail_log(c->fabric, FABRIC_LOG_WARN, "server %s rail %u: %s %s: %s%s",
                 client_peer_address(c, p), m->rail,
                 l->state == CLIENT_LINK_UP ? "connection lost:" : "RDMA refused:",
                 error_name(m->error), detail, more);
    l->peer_waits = is_peer_waiting(m->error);
    bool probed = is_probed_first(c, p, m->rail, m->error);
    client_link_end(c, p, m->rail, m->error, detail, true);
    look_after_failure(c, m->rail, m->error);
    if (probed)
        client_link_begin(c, p, m->rail);
    client_peer_judge(c, p);
}

/* While a rail of the server was away, its share went to another one, and two of our links lead
 * there. The one that would be the returning rail's goes back to it, or both together would stay
 * slower than before (MK-A7); the other serves meanwhile. */
static bool goes_back(const struct client *c, const struct client_peer *p, uint32_t rail,
                      const struct wire_message *m)
{
    const struct client_link *l = &p->links[rail];
    if (m->error || l->state != CLIENT_LINK_UP || !p->rails || rail % p->rails != m->rail ||
        PLANTED(client_rails_stay_together))
        return false;
    for (uint32_t i = 0; i < c->rail_count; i++) {
        const struct client_link *other = &p->links[i];
        if (i != rail && other->state == CLIENT_LINK_UP && other->server_rail == l->server_rail)
            return true;
    }
    return false;
}

/* A LINK_REQUEST that is out is answered by what the server's rail is now, or by LINK_DOWN when it
 * was being worked on. */
static void follow_rail(struct client *c, struct client_peer *p, uint32_t rail,
                        const struct wire_message *m)
{
    struct client_link *l = &p->links[rail];
    bool only = p->rails == 1, used = l->state != CLIENT_LINK_DOWN && l->server_rail == m->rail;
    bool unanswered = l->state == CLIENT_LINK_LENDING || l->state == CLIENT_LINK_REQUESTED;
    if (unanswered)
        return;
    bool back = !used && goes_back(c, p, rail, m);
    if (l->state != CLIENT_LINK_DOWN && !used && !back)
        return;
    if (used || back || (m->error && only)) {
        rail_log(c->fabric, FABRIC_LOG_INFO, "server %s rail %u: its port changed: %s: %s",
                 client_peer_address(c, p), rail, error_name(m->error), m->detail);
        client_link_end(c, p, rail, m->error ? m->error : ERR_STALE_GENERATION, m->detail, false);
        l->peer_waits = is_peer_waiting(m->error);
    }
    l->backoff = 0;
    if (!m->error || (used && !only)) /* it may have another rail for us */
        client_link_begin(c, p, rail);
}

void client_peer_rail_changed(struct client *c, struct client_peer *p, const struct wire_message *m)
{
    assert(c && p && m);
    for (uint32_t i = 0; i < c->rail_count && p->state == CLIENT_PEER_READY; i++)
        follow_rail(c, p, i, m);
    client_peer_judge(c, p);
}

static void link_is_due(struct client *c, struct client_peer *p, uint32_t rail)
{
    struct client_link *l = &p->links[rail];
    l->timer = (fabric_timer){0};
    l->timer_missed = false;
    if (l->state == CLIENT_LINK_DOWN)
        client_link_begin(c, p, rail);
    else if (l->state != CLIENT_LINK_UP)
        give_up(c, p, rail, ERR_TIMEOUT, "the server did not answer about this link");
}

void client_link_tick(struct client *c, struct client_peer *p, uint32_t rail)
{
    assert(c && p && rail < c->rail_count);
    if (p->links[rail].timer_missed)
        link_is_due(c, p, rail);
}

void client_link_timer(struct client *c, uint64_t cookie)
{
    assert(c);
    struct client_peer *p = c->peers[client_cookie_slot(cookie) / RAIL_MAX];
    uint32_t rail = client_cookie_slot(cookie) % RAIL_MAX;
    if (p->links[rail].timer_serial == (uint32_t)cookie)
        link_is_due(c, p, rail);
}

/* A request of the server was repeated on its way and met a window that is gone: the queue pair is
 * dead, and nobody else may ever tell. It speaks against nobody (MK-A4). */
static void build_again(struct client *c, struct client_peer *p, uint32_t rail)
{
    const char *detail = "a late request met a window that is gone";
    say_again(c, p, rail, ERR_REMOTE_ACCESS, detail);
    client_link_end(c, p, rail, ERR_REMOTE_ACCESS, detail, false);
    client_link_begin(c, p, rail);
    client_peer_judge(c, p);
}

void client_link_broke(struct client *c, struct client_peer *p, uint32_t rail, const char *detail)
{
    assert(c && p && rail < c->rail_count && detail);
    if (p->links[rail].state != CLIENT_LINK_DOWN)
        give_up(c, p, rail, ERR_FLUSHED, detail);
}

static bool cookie_is_target(uint64_t cookie)
{
    return cookie >> 56 == CLIENT_TARGET;
}

void client_queue_pair_broke(struct client *c, const struct fabric_async *async)
{
    assert(c && async);
    bool access = async->type == FABRIC_ASYNC_QP_ACCESS_ERR;
    bool fatal = async->type == FABRIC_ASYNC_QP_FATAL || async->type == FABRIC_ASYNC_QP_REQ_ERR;
    if ((!access && !fatal) || !async->qp.id || PLANTED(client_dead_pair_kept))
        return;
    if (cookie_is_target(async->cookie)) {
        if (fatal) /* a request that met no window is the initiator's affair: the target lives on */
            client_target_broke(c, async->qp);
        return;
    }
    for (uint32_t i = 0; i < c->peer_count; i++) {
        for (uint32_t k = 0; k < c->rail_count; k++) {
            struct client_link *l = &c->peers[i]->links[k];
            if (l->state == CLIENT_LINK_DOWN || l->pair.qp.id != async->qp.id)
                continue;
            if (access && l->state == CLIENT_LINK_UP && !PLANTED(client_revoked_blamed))
                build_again(c, c->peers[i], k);
            else
                client_link_broke(c, c->peers[i], k, "the device says that it is broken");
        }
    }
}
