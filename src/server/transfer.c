/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

/* ------------------------------------------------------------------ the end of a transfer */

/* Whether a PUT may become visible: complete, still open, and its tag right (MK-A4). */
static enum fabric_error judge_put(struct server *s, struct server_transfer *t)
{
    bool tcp = t->way == WIRE_WAY_TCP;
    if (t->error)
        return t->error;
    if (t->closed && !PLANTED(server_closed_committed))
        return ERR_CANCELLED;
    if (!t->prepared && !(tcp ? server_bulk_is_right(s, t) : server_tag_is_right(s, t)))
        return ERR_TAG_MISMATCH;
    return FABRIC_OK;
}

/* Everything is here; whether the operation is still open, only the client knows. */
static void prepare(struct server *s, struct server_transfer *t)
{
    const struct wire_message m = {.type = WIRE_PREPARED, .id = t->id};
    t->prepared = true;
    t->progress = server_now(s);
    server_send(s, server_transfer_owner(s, t),
                &m); /* may end the connection, and the transfer with it */
}

/* The block is the store's from here on, whatever becomes of the transfer. */
static enum fabric_error save(struct server *s, struct server_transfer *t)
{
    uint8_t tag[STORE_TAG_BYTES];
    const struct media_token token = {.slot = t->slot, .serial = t->serial};
    memcpy(tag, t->tag.nonce, sizeof t->tag.nonce);
    memcpy(tag + sizeof t->tag.nonce, t->tag.mac, sizeof t->tag.mac);
    server_note_maker(s, t);
    enum fabric_error error = store_save(t->lane->store, t->block, tag, token, &t->stored);
    t->outstanding += t->stored;
    return error;
}

static void end_put(struct server *s, struct server_transfer *t, enum fabric_error error)
{
    struct server_connection *c = server_transfer_owner(s, t);
    if (!error)
        server_count_transfer(s, t);
    uint64_t id = t->id;
    bool closed = t->closed, altered = error == ERR_TAG_MISMATCH && t->way == WIRE_WAY_TCP;
    server_transfer_free(s, t);
    bool told = c && !closed && server_result(s, c, id, error, "");
    if (told && altered &&
        !PLANTED(server_altered_kept)) /* whoever alters bytes alters others too */
        server_connection_close(s, c, error, "the bytes that came are not those that were put");
}

static void finish_put(struct server *s, struct server_transfer *t)
{
    enum fabric_error error = judge_put(s, t);
    if (!error && !t->closed && !t->prepared && !PLANTED(server_commit_unconfirmed)) {
        prepare(s, t);
        return;
    }
    if (error)
        store_abandon(t->lane->store, t->block);
    else
        error = save(s, t);
    t->block = NULL;
    if (!t->stored)
        end_put(s, t, error);
}

static void finish_get(struct server *s, struct server_transfer *t)
{
    struct server_connection *c = server_transfer_owner(s, t);
    struct wire_message m = {.type = WIRE_RESULT,
                             .id = t->id,
                             .error = t->error,
                             .length = t->length,
                             .found = 1,
                             .tag = t->tag};
    bool tell = c && !t->closed && t->way == WIRE_WAY_RC; /* over TCP it went ahead of the bulk */
    if (!t->error && (!t->closed || PLANTED(server_cancelled_counted)))
        server_count_transfer(s, t);
    store_unpin(t->lane->store, t->block);
    server_transfer_free(s, t);
    if (tell)
        server_send(s, c, &m);
}

void server_transfer_finish(struct server *s, struct server_transfer *t)
{
    assert(t->outstanding == 0);
    if (t->kind == SERVER_PUT) {
        finish_put(s, t);
    } else if (t->kind == SERVER_GET) {
        finish_get(s, t);
    } else {
        server_probe_finish(s, t);
    }
}

/* ------------------------------------------------------------------ RDMA */

/* The link a transfer began on, while it is still that one. */
struct server_link *server_transfer_link(struct server *s, const struct server_transfer *t)
{
    struct server_connection *c = server_transfer_owner(s, t);
    struct server_link *link = c ? &c->links[t->link] : NULL;
    bool same = link && link->state != SERVER_LINK_NONE && link->generation == t->generation;
    return same ? link : NULL;
}

static void *local_data(const struct server_transfer *t, uint32_t at, uint32_t *lkey)
{
    *lkey = t->lane->slab_lkey[t->rail];
    return (uint8_t *)store_data(t->lane->store, t->block) + at;
}

/* Posts as much as the queue pair takes. A refused post never left. */
static void post_more(struct server *s, struct server_transfer *t, struct server_link *link)
{
    uint32_t largest = (uint32_t)s->config.memory_block_size;
    uint32_t depth = PLANTED(server_posts_one) ? 1 : RAIL_SEND_DEPTH;
    while (!t->error && !t->closed && t->next < t->length && link->outstanding < depth) {
        if (!server_link_may_post(s, link))
            return;
        if (s->posts[t->rail] >= RAIL_CQ_DEPTH && !PLANTED(server_cq_overrun)) {
            server_transfer_wait(s, t);
            return;
        }
        uint32_t left = t->length - t->next;
        struct fabric_sge sge = {.length = left < largest ? left : largest};
        sge.addr = local_data(t, t->next, &sge.lkey);
        struct fabric_send_wr wr = {
            .wr_id = server_cookie(SERVER_TRANSFER, t->slot, t->serial),
            .opcode = t->kind == SERVER_PUT ? FABRIC_WR_RDMA_READ : FABRIC_WR_RDMA_WRITE,
            .flags = FABRIC_SEND_SIGNALED,
            .sges = &sge,
            .sge_count = 1,
            .remote_iova = t->iova + t->next,
            .rkey = t->rkey,
        };
        enum fabric_error error = server_link_post(s, link, &wr);
        if (error == ERR_QUEUE_FULL && link->outstanding) {
            t->next += PLANTED(server_refused_post_counted) ? sge.length : 0;
            return; /* its completions go on with it */
        }
        if (error) {
            t->error = error;
            return;
        }
        t->next += sge.length;
        t->outstanding++;
        link->outstanding++;
        s->posts[t->rail]++;
    }
}

static void post_or_end(struct server *s, struct server_transfer *t)
{
    struct server_link *link = server_transfer_link(s, t);
    if (link)
        post_more(s, t, link);
    if (t->error && t->outstanding == 0)
        server_transfer_finish(s, t);
}

void server_transfers_pump(struct server *s, const struct server_connection *c, uint32_t index)
{
    assert(s && c && index < RAIL_MAX);
    struct server_walk walk;
    for (struct server_transfer *t = server_walk(s, c, &walk); t; t = server_walk_on(s, &walk)) {
        if (t->way != WIRE_WAY_RC || t->prepared || t->stored || t->link != index)
            continue;
        if (t->kind != SERVER_PROBE)
            post_or_end(s, t);
        else if (t->outstanding == 0 && !t->waits) /* for an initiator */
            server_probe_resume(s, t);
    }
}

/* Those that found the completion queue of the rail full. */
static void pump_waiting(struct server *s, uint32_t rail)
{
    for (struct server_transfer *t; (t = server_transfer_waited(s, rail));) {
        if (t->kind == SERVER_PROBE)
            server_probe_resume(s, t);
        else
            post_or_end(s, t);
    }
}

void server_transfers_flush(struct server *server, const struct server_connection *c, uint32_t link)
{
    assert(server && c);
    struct server *s = server;
    struct server_walk walk;
    for (struct server_transfer *t = server_walk(s, c, &walk); t; t = server_walk_on(s, &walk)) {
        if (t->way != WIRE_WAY_RC || t->link != link || t->prepared)
            continue;
        if (!t->error)
            t->error = ERR_FLUSHED;
        if (t->outstanding == 0) /* else its completions are still to come */
            server_transfer_finish(s, t);
    }
}

/* Checks what an RDMA request names; FABRIC_OK with *out set. */
static enum fabric_error find_link(struct server *s, struct server_connection *c,
                                   const struct wire_message *m, struct server_link **out)
{
    if (m->rail >= RAIL_MAX || c->links[m->rail].state != SERVER_LINK_UP)
        return ERR_FLUSHED;
    struct server_link *link = &c->links[m->rail];
    if (link->generation != m->generation) {
        s->counters.stale++;
        return ERR_STALE_GENERATION;
    }
    *out = link;
    return server_slab_register(s, c->lane, link->rail); /* done when the link was built */
}

static void aim(struct server_transfer *t, const struct server_link *link,
                const struct wire_message *m)
{
    t->way = WIRE_WAY_RC;
    t->link = m->rail;
    t->generation = link->generation;
    t->rail = link->rail;
    t->iova = m->iova;
    t->rkey = m->rkey;
}

static void begin_rdma(struct server *s, struct server_transfer *t, struct server_link *link)
{
    post_more(s, t, link);
    if (t->error && t->outstanding == 0)
        server_transfer_finish(s, t);
}

/* ------------------------------------------------------------------ requests */

void server_put(struct server *server, struct server_connection *c,
                const struct wire_message *message)
{
    struct server *s = server;
    const struct wire_message *m = message;
    struct server_link *link = NULL;
    enum fabric_error error = FABRIC_OK;
    assert(s && c && m && m->type == WIRE_PUT);
    if (m->length == 0 || m->length > WIRE_MAX_VALUE)
        error = m->length ? ERR_TOO_LARGE : ERR_INVALID_ARGUMENT;
    else if (m->way == WIRE_WAY_RC)
        error = find_link(s, c, m, &link);
    struct server_transfer *t = error ? NULL : server_transfer_new(s, c, SERVER_PUT);
    if (!error && !t)
        error = ERR_QUEUE_FULL;
    if (!error)
        error = store_reserve(c->lane->store, m->key, m->key_length, m->length, &t->block);
    if (error) {
        if (t)
            server_transfer_free(s, t);
        server_result(s, c, m->id, error, "");
        return;
    }
    t->id = m->id;
    t->length = m->length;
    t->tag = m->tag;
    t->key_length = m->key_length;
    memcpy(t->key, m->key, m->key_length);
    if (link) {
        aim(t, link, m);
        begin_rdma(s, t, link);
    } else if (!server_bulk_begin(c, t)) {
        t->error = ERR_RESOURCES_EXHAUSTED;
        server_transfer_finish(s, t);
    }
}

/* The client's buffer is too small: it is told what is needed, and nothing is written. */
static void refuse_size(struct server *s, struct server_connection *c, const struct wire_message *m,
                        uint64_t needed)
{
    struct wire_message answer = {.type = WIRE_RESULT,
                                  .id = m->id,
                                  .error = ERR_BUFFER_TOO_SMALL,
                                  .length = (uint32_t)needed};
    snprintf(answer.detail, sizeof answer.detail, "found room for %u; %u is needed", m->length,
             (uint32_t)needed);
    server_send(s, c, &answer);
}

/* Nothing was sent of it. */
static void refuse_get(struct server *s, struct server_connection *c, struct server_transfer *t,
                       enum fabric_error error)
{
    const uint64_t id = t->id;
    bool tell = c && !t->closed;
    store_unpin(t->lane->store, t->block);
    server_transfer_free(s, t);
    if (tell)
        server_result(s, c, id, error, "");
}

/* Its bytes are in memory. */
static void send_block(struct server *s, struct server_connection *c, struct server_transfer *t)
{
    if (!server_tag_for(s, c, t))
        return;
    if (t->way == WIRE_WAY_RC) {
        begin_rdma(s, t, server_transfer_link(s, t));
        return;
    }
    struct wire_message head = {.type = WIRE_RESULT, .id = t->id, .length = t->length, .found = 1};
    head.tag = t->tag;
    if (server_send(s, c, &head))
        server_pump_bulk(s, c);
}

static void get_loaded(struct server *s, struct server_transfer *t)
{
    struct server_connection *c = server_transfer_owner(s, t);
    if (!t->error && t->way == WIRE_WAY_RC && !server_transfer_link(s, t))
        t->error = ERR_FLUSHED;
    if (t->error || t->closed || !c)
        refuse_get(s, c, t, t->error);
    else
        send_block(s, c, t);
}

void server_transfer_stored(struct server *s, struct server_transfer *t, enum fabric_error error)
{
    assert(s && t && t->stored && t->outstanding == 1);
    t->stored = false;
    t->outstanding = 0;
    t->progress = server_now(s);
    if (error && !t->error)
        t->error = error;
    if (t->kind == SERVER_PUT)
        end_put(s, t, PLANTED(server_save_error_ignored) ? FABRIC_OK : error);
    else
        get_loaded(s, t);
}

void server_get(struct server *server, struct server_connection *c,
                const struct wire_message *message)
{
    struct server *s = server;
    const struct wire_message *m = message;
    struct server_link *link = NULL;
    assert(s && c && m && m->type == WIRE_GET);
    enum fabric_error error = m->way == WIRE_WAY_RC ? find_link(s, c, m, &link) : FABRIC_OK;
    struct store_block *block = error ? NULL : store_pin(c->lane->store, m->key, m->key_length);
    if (!error && !block)
        error = ERR_NOT_FOUND;
    bool fits = !block || store_length(block) <= m->length || PLANTED(server_room_unchecked);
    struct server_transfer *t = error || !fits ? NULL : server_transfer_new(s, c, SERVER_GET);
    if (!error && fits && !t)
        error = ERR_QUEUE_FULL;
    if (error || !fits) {
        uint64_t length = block ? store_length(block) : 0;
        if (block)
            store_unpin(c->lane->store, block);
        if (error)
            server_result(s, c, m->id, error, "");
        else
            refuse_size(s, c, m, length);
        return;
    }
    t->id = m->id;
    t->block = block;
    t->length = (uint32_t)store_length(block);
    t->key_length = m->key_length;
    memcpy(t->key, m->key, m->key_length);
    if (link)
        aim(t, link, m);
    const struct media_token token = {.slot = t->slot, .serial = t->serial};
    if (!PLANTED(server_load_skipped))
        error = store_load(c->lane->store, block, token, &t->stored);
    t->outstanding += t->stored;
    if (error)
        refuse_get(s, c, t, error);
    else if (!t->stored)
        send_block(s, c, t);
}

/* ------------------------------------------------------------------ its course */

void server_commit(struct server *server, struct server_connection *c,
                   const struct wire_message *message)
{
    assert(server && c && message && message->type == WIRE_COMMIT);
    struct server_transfer *t = server_transfer_by_id(server, c, message->id);
    if (!t || !t->prepared || t->stored)
        return; /* it took too long, and the client was told */
    if (server_now(server) - t->progress > message->lease && !PLANTED(server_lease_ignored))
        t->error = ERR_TIMEOUT;
    server_transfer_finish(server, t);
}

/* Bulk in the middle cannot be taken back: then the connection ends. */
static void end_idle(struct server *s, struct server_transfer *t)
{
    struct server_connection *c = server_transfer_owner(s, t);
    if (t->kind == SERVER_GET && t->way == WIRE_WAY_TCP && c) {
        if (server_now(s) - c->bulk_progress >= SERVER_TRANSFER_IDLE)
            server_connection_close(s, c, ERR_TIMEOUT, "it does not read");
        return;
    }
    t->error = ERR_TIMEOUT;
    server_transfer_finish(s, t);
}

void server_transfers_tick(struct server *server)
{
    assert(server);
    uint64_t now = server_now(server);
    for (uint32_t i = 0; i < server->transfer_end; i++) {
        struct server_transfer *t = server->transfers[i];
        if (t && t->outstanding == 0 && now - t->progress >= SERVER_TRANSFER_IDLE)
            end_idle(server, t);
    }
}

void server_cancel(struct server *server, struct server_connection *c, uint64_t id)
{
    assert(server && c);
    struct server_transfer *t = server_transfer_by_id(server, c, id);
    if (!t)
        return;
    if (!PLANTED(server_cancel_ignored))
        t->closed = true;
    if (t->closed && t->outstanding == 0 && !server_bulk_is_lent(server, t))
        server_transfer_finish(server, t);
}

void server_orphan(struct server *server, const struct server_connection *c)
{
    assert(server && c);
    struct server_walk walk;
    for (struct server_transfer *t = server_walk(server, c, &walk); t;
         t = server_walk_on(server, &walk)) {
        t->closed = true;
        if (t->outstanding == 0)
            server_transfer_finish(server, t);
    }
}

/* ------------------------------------------------------------------ completions */

/* Goes on with a transfer none of whose posts is under way. */
static void go_on(struct server *s, struct server_transfer *t)
{
    struct server_link *link = server_transfer_link(s, t);
    if (t->kind == SERVER_PROBE) {
        server_probe_next(s, t);
        return;
    }
    if (!t->error && !t->closed && t->next < t->length) {
        if (link)
            post_more(s, t, link);
        else
            t->error = ERR_FLUSHED;
        if (t->outstanding || !t->error)
            return;
    }
    server_transfer_finish(s, t);
}

/* A queue pair in error serves nobody any more: its link ends, and with it what waits for it. May
 * end the transfer. A flush only follows from something else, often from the end of the device. */
static void link_broke(struct server *s, const struct server_transfer *t)
{
    char detail[96 + RAIL_EXPLAIN], violations[RAIL_EXPLAIN];
    const uint32_t rail = t->rail;
    if (t->error == ERR_FLUSHED && server_rail_is_to_blame(s, rail))
        return;
    rail_explain(&s->rails[rail], &server_transfer_link(s, t)->pair, t->error, violations);
    snprintf(detail, sizeof detail, "an RDMA %s ended in %s%s",
             t->kind == SERVER_PUT ? "READ" : "WRITE", error_name(t->error), violations);
    server_link_fail(s, server_transfer_owner(s, t), t->link, t->error, detail);
    server_rail_is_to_blame(s, rail);
}

/* Posts complete in the order in which they were made. */
static uint32_t moved_by_oldest(const struct server *s, const struct server_transfer *t)
{
    uint32_t left = t->length - t->done, largest = (uint32_t)s->config.memory_block_size;
    return t->kind == SERVER_PROBE ? 0 : left < largest ? left : largest;
}

void server_completion(struct server *server, const struct fabric_wc *wc)
{
    struct server *s = server;
    assert(s && wc);
    server_dc_completed(s, wc);
    uint32_t slot = (uint32_t)(wc->wr_id >> 32) & 0xffffffu, serial = (uint32_t)wc->wr_id;
    struct server_transfer *t = slot < s->transfer_end ? s->transfers[slot] : NULL;
    if (server_cookie_kind(wc->wr_id) != SERVER_TRANSFER || !t || t->serial != serial)
        return;
    assert(t->outstanding > 0 && s->posts[t->rail] > 0);
    const uint32_t rail = t->rail;
    s->posts[rail]--;
    t->outstanding--;
    t->progress = server_now(s);
    struct server_link *link = server_transfer_link(s, t);
    bool own = link && server_link_is_on(link, wc->qp);
    enum fabric_error error =
        wc->status == FABRIC_WC_SUCCESS ? FABRIC_OK : fabric_wc_error(wc->status);
    if (own)
        link->outstanding--;
    if (own && link->dc.used)
        error = server_dc_judge(s, link, t, error, moved_by_oldest(s, t));
    if (error && !t->error)
        t->error = error;
    /* A flush too: while we have not destroyed the queue pair, it can only mean that it is dead. */
    bool broke = error && own && t->kind != SERVER_PROBE && server_dc_is_to_blame(link, t, error) &&
                 !(error == ERR_FLUSHED && PLANTED(server_flush_ignored));
    const uint32_t c_slot = t->connection_slot, c_serial = t->connection_serial, index = t->link;
    if (broke)
        link_broke(s, t);
    else if (t->outstanding == 0 && !server_dc_goes_again(t, link))
        go_on(s, t);
    pump_waiting(s, rail);
    struct server_connection *c = server_connection_at(s, c_slot, c_serial);
    if (c)
        server_transfers_pump(s, c, index);
}
