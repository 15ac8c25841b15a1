/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

/* ------------------------------------------------------------------ the plan */

static enum fabric_error refuse_plan(struct server *s, const char *what)
{
    rail_log(s->fabric, FABRIC_LOG_ERROR, "config_invalid: storage: %s", what);
    return ERR_CONFIG_INVALID;
}

static const char *folder_at(const struct server *s, uint32_t drive)
{
    return s->config.media_count ? s->config.media[drive] : s->config.storage_path;
}

enum fabric_error server_storage_plan(struct server *server, uint32_t lane,
                                      char paths[CONFIG_MAX_MEDIA][FABRIC_PATH_MAX],
                                      struct store_media *out)
{
    struct server *s = server;
    const struct server_config *c = &s->config;
    static const enum media_durability durabilities[] = {
        [CONFIG_DURABILITY_ACK] = MEDIA_ACK,
        [CONFIG_DURABILITY_INTERVAL] = MEDIA_INTERVAL,
        [CONFIG_DURABILITY_NONE] = MEDIA_NONE,
    };
    assert(s && paths && out);
    *out = (struct store_media){0};
    if (c->storage_mode == CONFIG_STORAGE_MEMORY)
        return FABRIC_OK;
    const bool direct = c->storage_mode == CONFIG_STORAGE_DIRECT;
    out->count = c->media_count ? c->media_count : 1;
    if (direct && c->media_count % s->lane_count)
        return refuse_plan(s, "mode direct: each lane has devices of its own; their number is no "
                              "multiple of lanes");
    out->count /= direct ? s->lane_count : 1;
    out->cookie = server_cookie(SERVER_STORAGE, lane << 8, 0);
    out->each = (struct media_init){.fabric = s->fabric,
                                    .direct = direct,
                                    .makes = true,
                                    .size = c->storage_max_size / out->count / s->lane_count,
                                    .block_size = c->storage_block_size,
                                    .durability = durabilities[c->durability],
                                    .lane = lane,
                                    .lanes = s->lane_count};
    if (out->each.size < MEDIA_SIZE_MIN)
        return refuse_plan(s, "max_size gives a lane on a medium less than 1 MiB");
    for (uint32_t i = 0; i < out->count; i++) {
        const char *at = folder_at(s, direct ? lane + i * s->lane_count : i);
        if (at[0] != '/')
            return refuse_plan(s, "path or devices: an absolute path is expected");
        int length = direct ? snprintf(paths[i], FABRIC_PATH_MAX, "%s", at)
                            : snprintf(paths[i], FABRIC_PATH_MAX, "%s/lane-%u.memkv", at, lane);
        if (length < 0 || length >= FABRIC_PATH_MAX - 8)
            return refuse_plan(s, "path: it is too long");
        out->paths[i] = paths[i];
    }
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ what has ended */

/* The server cannot serve: whoever drives it is told, because it has begun already. */
static void refuse(struct server *s, enum fabric_error error)
{
    if (s->unfit)
        return;
    s->unfit = error;
    server_report(s, json_pack("{s:s, s:s}", "event", "failed", "error", error_name(error)));
}

static void opened(struct server *s, struct server_lane *lane, enum fabric_error error)
{
    assert(s->opening > 0);
    s->opening--;
    struct store_counts n;
    store_counts(lane->store, &n);
    if (error) {
        refuse(s, error);
        return;
    }
    rail_log(s->fabric, FABRIC_LOG_INFO,
             "lane %u: %llu blocks, %llu torn ones dropped, %llu damaged pages",
             (unsigned)(lane - s->lanes), (unsigned long long)n.blocks, (unsigned long long)n.torn,
             (unsigned long long)n.damaged);
    if (s->opening > 0 || s->unfit || s->draining)
        return;
    error = server_go_live(s);
    if (error)
        refuse(s, error);
}

static void transfer_done(struct server *s, const struct store_result *r)
{
    const struct media_token *k = &r->token;
    struct server_transfer *t = k->slot < s->transfer_end ? s->transfers[k->slot] : NULL;
    assert(t && t->serial == k->serial); /* it waits for this */
    server_transfer_stored(s, t, r->error);
}

static void answer_delete(struct server *s, struct server_connection *c, uint64_t id,
                          enum fabric_error error, bool found)
{
    const struct wire_message answer = {
        .type = WIRE_RESULT, .id = id, .error = error, .found = found};
    server_send(s, c, &answer);
}

static void deleted(struct server *s, const struct store_result *r)
{
    struct server_connection *c = server_connection_at(s, r->token.slot, r->token.serial);
    if (!c)
        return;
    assert(c->deletions > 0);
    c->deletions--;
    answer_delete(s, c, r->token.id, r->error, r->found);
}

static void look_at_lane(struct server *s, struct server_lane *lane)
{
    struct store_result r;
    assert(s && lane->store);
    while (store_next(lane->store, &r)) {
        switch (r.kind) {
        case STORE_OPENED:
            opened(s, lane, r.error);
            break;
        case STORE_DRIVE:
            rail_log(s->fabric, r.error ? FABRIC_LOG_ERROR : FABRIC_LOG_WARN, "%s: %s",
                     r.error ? error_name(r.error) : "media", r.detail);
            break;
        case STORE_DELETED:
            deleted(s, &r);
            break;
        default:
            assert(r.kind == STORE_SAVED || r.kind == STORE_LOADED);
            transfer_done(s, &r);
        }
    }
}

void server_storage_look(struct server *server)
{
    assert(server);
    for (uint32_t i = 0; i < server->lane_count; i++)
        look_at_lane(server, &server->lanes[i]);
}

void server_storage_done(struct server *server, const struct fabric_io_done *done)
{
    struct server *s = server;
    assert(s && done && server_cookie_kind(done->cookie) == SERVER_STORAGE);
    const uint32_t lane = (uint32_t)(done->cookie >> 40) & 0xffffu;
    assert(lane < s->lane_count);
    store_event(s->lanes[lane].store, done);
}

void server_storage_tick(struct server *server)
{
    assert(server);
    for (uint32_t i = 0; i < server->lane_count; i++)
        store_tick(server->lanes[i].store);
}

void server_delete(struct server *server, struct server_connection *c,
                   const struct wire_message *message)
{
    struct server *s = server;
    assert(s && c && message && message->type == WIRE_DELETE);
    const struct media_token token = {.slot = c->slot, .serial = c->serial, .id = message->id};
    struct server_lane *lane = PLANTED(server_deletes_lane_zero) ? &s->lanes[0] : c->lane;
    bool found = false, later = false;
    enum fabric_error error = ERR_QUEUE_FULL;
    if (c->deletions < SERVER_CONNECTION_TRANSFERS || PLANTED(server_deletions_unbounded))
        error = store_delete(lane->store, message->key, message->key_length, token, &found, &later);
    if (later)
        c->deletions++;
    else
        answer_delete(s, c, message->id, error, found);
}
