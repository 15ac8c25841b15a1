/* SPDX-License-Identifier: Apache-2.0 */
#include "src/server/program.h"

#include <assert.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/rail/status.h"
#include "src/server/server.h"

void server_report(struct server *server, json_t *object)
{
    assert(server);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text)
        server->sink.report(server->sink.context, text);
    free(text);
    json_decref(object);
}

/* ------------------------------------------------------------------ start and stop */

/* A setting that does nothing is said, once (CASE-Q3). */
static void say_ignored(const struct server *s)
{
    const struct server_config_ignored *one;
    assert(s->fabric);
    for (size_t i = 0; (one = server_config_ignored(&s->config, i)) != NULL; i++) {
        if (!PLANTED(server_ignored_unsaid))
            rail_log(s->fabric, FABRIC_LOG_INFO, "%s.%s is ignored: %s", one->section, one->key,
                     one->reason);
    }
}

static enum fabric_error read_config(struct server *s, const char *text, size_t length)
{
    struct yaml_errors errors;
    yaml_errors_init(&errors, "config.yaml");
    bool ok = server_config_read(text, length, &s->config, &errors);
    enum fabric_error error = yaml_errors_error(&errors);
    assert(ok == !error);
    for (size_t i = 0; i < errors.count; i++)
        rail_log(s->fabric, FABRIC_LOG_ERROR, "%s: %s", error_name(errors.items[i].error),
                 errors.items[i].text);
    if (!error && !s->config.auth_key_set) {
        error = ERR_CONFIG_INVALID;
        rail_log(s->fabric, FABRIC_LOG_ERROR,
                 "config_invalid: network.auth_key is expected; auth_key_file is not read here");
    }
    if (!error) {
        server_set_key(s, s->config.auth_key);
        say_ignored(s);
    }
    return error;
}

/* The lanes share the memory evenly. */
static enum fabric_error make_store(struct server *s, uint32_t index)
{
    struct server_lane *lane = &s->lanes[index];
    char paths[CONFIG_MAX_MEDIA][FABRIC_PATH_MAX];
    struct store_init init = {
        .capacity = s->config.memory_max_size / s->lane_count,
        .evicts = s->config.eviction_enabled,
        .start_percent = (uint32_t)s->config.eviction_start_percent,
        .stop_percent = (uint32_t)s->config.eviction_stop_percent,
    };
    enum fabric_error error = server_storage_plan(s, index, paths, &init.media);
    if (!error)
        error = fabric_entropy(s->fabric, &init.seed, sizeof init.seed);
    if (!error)
        error = store_create(&init, &lane->store);
    s->opening += !error && init.media.count > 0;
    return error;
}

static enum fabric_error make_lanes(struct server *s)
{
    enum fabric_error error = FABRIC_OK;
    s->lane_count = (uint32_t)s->config.lanes;
    for (uint32_t i = 0; i < s->lane_count && !error; i++)
        error = make_store(s, i);
    if (error == ERR_RESOURCES_EXHAUSTED)
        rail_log(s->fabric, FABRIC_LOG_ERROR,
                 "resources_exhausted: memory.max_size: %" PRIu64 " bytes cannot be had",
                 s->config.memory_max_size);
    return error;
}

/* A configured MTU above the active one of a port that is ACTIVE: the operator must know at once
 * (MK-F2). Whatever else is wrong with a rail, the server serves without it. */
static enum fabric_error judge_rails(struct server *s)
{
    s->rail_count = rail_open_all(s->fabric, RAIL_SERVER, &s->config.rdma, s->rails);
    for (uint32_t i = 0; i < s->rail_count; i++) {
        s->rails[i].cookie = server_cookie(SERVER_REOPEN, i, 0);
        bool changed = rail_judge_silently(&s->rails[i]);
        if (s->rails[i].reason != ERR_MTU_ABOVE_ACTIVE || PLANTED(server_mtu_start_unchecked)) {
            if (changed)
                rail_say(&s->rails[i]);
            continue;
        }
        rail_log(s->fabric, FABRIC_LOG_ERROR, "mtu_above_active: %s port %u: %s; not started",
                 s->rails[i].name, s->rails[i].port_num, s->rails[i].detail);
        return ERR_MTU_ABOVE_ACTIVE;
    }
    return FABRIC_OK;
}

static enum fabric_error set_tick(struct server *s)
{
    fabric_timer timer;
    enum fabric_error error = fabric_timer_set(s->fabric, server_now(s) + SERVER_TICK,
                                               server_cookie(SERVER_TICK_TIMER, 0, 0), &timer);
    s->tick_missed = error != FABRIC_OK;
    return error;
}

static void server_free(struct server *s)
{
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        if (s->connections[i])
            server_connection_close(s, s->connections[i], FABRIC_OK, NULL);
    }
    if (s->listener.id)
        fabric_listener_close(s->fabric, s->listener);
    if (s->http.id)
        fabric_http_close(s->fabric, s->http);
    for (uint32_t i = 0; i < s->rail_count; i++) /* from here on nothing is lent to a device */
        rail_close(&s->rails[i]);
    server_transfers_free(s);
    server_dc_free(s);
    for (uint32_t i = 0; i < s->lane_count; i++)
        store_destroy(s->lanes[i].store);
    OPENSSL_cleanse(s->keys, sizeof s->keys);
    OPENSSL_cleanse(s->config.auth_key, sizeof s->config.auth_key);
    free(s);
}

static enum fabric_error listen_all(struct server *s)
{
    enum fabric_error error = fabric_listen(
        s->fabric, s->config.address, server_cookie(SERVER_LISTENER, 0, 0), &s->listener, s->bound);
    if (error)
        rail_log(s->fabric, FABRIC_LOG_ERROR, "%s: cannot listen on %s%s", error_name(error),
                 s->config.address,
                 error == ERR_INVALID_ARGUMENT ? ", which is no address of this machine" : "");
    return error ? error : server_admin_listen(s);
}

enum fabric_error server_go_live(struct server *server)
{
    struct server *s = server;
    assert(s && !s->live);
    enum fabric_error error = listen_all(s);
    if (error)
        return error;
    s->live = true;
    for (uint32_t i = 0; i < s->rail_count; i++)
        server_rail_report(s, i);
    s->started = server_now(s);
    if (s->rail_count == 0)
        rail_log(s->fabric, FABRIC_LOG_INFO, "no RDMA device here: serving over TCP alone");
    rail_log(s->fabric, FABRIC_LOG_INFO, "memkv: ready data=%s admin=%s rdma_active=%s", s->bound,
             s->admin_bound, server_rdma_active(s) ? "true" : "false");
    server_report(s, json_pack("{s:s, s:s, s:s, s:b}", "event", "ready", "data", s->bound, "admin",
                               s->admin_bound, "rdma_active", server_rdma_active(s)));
    return FABRIC_OK;
}

static enum fabric_error begin(struct server *s)
{
    enum fabric_error error = make_lanes(s);
    if (!error)
        error = judge_rails(s);
    if (!error)
        error = set_tick(s);
    return error || s->opening > 0 ? error : server_go_live(s); /* else when media are open */
}

static enum fabric_error server_start(struct fabric *f, const char *config, size_t config_length,
                                      const struct fabric_report_sink *sink, void **state)
{
    assert(f && (config || config_length == 0) && sink && sink->report && state);
    struct server *s = calloc(1, sizeof *s);
    if (!s)
        return ERR_RESOURCES_EXHAUSTED;
    s->fabric = f;
    s->sink = *sink;
    enum fabric_error error = read_config(s, config, config_length);
    if (!error)
        error = begin(s);
    if (error) {
        server_free(s);
        return error;
    }
    *state = s;
    return FABRIC_OK;
}

static void server_stop(void *state)
{
    assert(state);
    server_free(state);
}

/* ------------------------------------------------------------------ events */

static void look(struct server *s, uint32_t rail)
{
    if (rail_judge(&s->rails[rail]))
        server_rail_changed(s, rail);
}

static void tick(struct server *s)
{
    set_tick(s);
    server_connections_tick(s);
    server_transfers_tick(s);
    server_dc_tick(s);
    server_storage_tick(s);
    s->ticks++;
    bool due = s->ticks % (RAIL_REQUERY / SERVER_TICK) == 0 && !PLANTED(server_never_looks_again);
    for (uint32_t i = 0; due && i < s->rail_count; i++)
        look(s, i);
}

static void take_async(struct server *s, const struct fabric_async *async)
{
    server_queue_pair_broke(s, async);
    for (uint32_t i = 0; i < s->rail_count; i++) {
        if (rail_concerned(&s->rails[i], async) && rail_judge_event(&s->rails[i], async))
            server_rail_changed(s, i);
    }
}

static void take_timer(struct server *s, uint64_t cookie)
{
    if (server_cookie_kind(cookie) == SERVER_TICK_TIMER)
        tick(s);
    else if (server_cookie_kind(cookie) == SERVER_HANDSHAKE)
        server_connection_timeout(s, cookie);
    else if (server_cookie_kind(cookie) == SERVER_RECEIVE)
        server_connection_resume(s, cookie);
    else if (server_cookie_kind(cookie) == SERVER_DC_TIMER)
        server_dc_timer(s, cookie);
    else if (server_cookie_kind(cookie) == SERVER_SEND)
        server_bulk_goes_on(s, cookie);
    else if (server_cookie_kind(cookie) == SERVER_REOPEN)
        look(s, (uint32_t)(cookie >> 32) & 0xffffffu);
}

static void server_event(void *state, const struct fabric_event *event)
{
    struct server *s = state;
    assert(s && event);
    if (s->tick_missed)
        set_tick(s);
    switch (event->type) {
    case FABRIC_EVENT_COMPLETION:
        server_completion(s, &event->u.wc);
        break;
    case FABRIC_EVENT_ASYNC:
        take_async(s, &event->u.async);
        break;
    case FABRIC_EVENT_RESOLVED:
        server_link_resolved(s, event->u.resolved.cookie, event->u.resolved.error);
        break;
    case FABRIC_EVENT_ACCEPTED:
        server_accept(s, event->u.stream.stream);
        break;
    case FABRIC_EVENT_READABLE:
    case FABRIC_EVENT_WRITABLE:
    case FABRIC_EVENT_CLOSED:
        server_connection_event(s, event);
        break;
    case FABRIC_EVENT_TIMER:
        take_timer(s, event->u.timer.cookie);
        break;
    case FABRIC_EVENT_HTTP_REQUEST:
        server_http(s, event);
        break;
    case FABRIC_EVENT_IO_DONE:
        server_storage_done(s, &event->u.io);
        break;
    default:
        break; /* the server opens no window, connects to nobody */
    }
    server_dc_turn(s);
    server_storage_look(s);
    server_connections_flush(s);
    server_drain_look(s);
}

/* ------------------------------------------------------------------ commands */

static json_t *status_initiators(const struct server *s, uint32_t rail)
{
    uint32_t initiators, held, waiting;
    server_dc_count(s, rail, &initiators, &held, &waiting);
    return json_pack("{s:i, s:i, s:i}", "initiators", (int)initiators, "held", (int)held, "waiting",
                     (int)waiting);
}

static json_t *status_rails(const struct server *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->rail_count; i++) {
        json_t *rail = rail_status(&s->rails[i]);
        json_object_set_new(rail, "dc", status_initiators(s, i));
        json_array_append_new(list, rail);
    }
    return list;
}

static json_t *status_links(const struct server *s)
{
    static const char *const names[] = {"none", "resolving", "accepted", "probing", "up"};
    json_t *list = json_array();
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        const struct server_connection *c = s->connections[i];
        for (uint32_t k = 0; c && k < RAIL_MAX; k++) {
            const struct server_link *l = &c->links[k];
            if (l->state != SERVER_LINK_NONE)
                json_array_append_new(
                    list, json_pack("{s:i, s:i, s:s, s:i, s:i, s:s}", "connection", (int)c->serial,
                                    "rail", (int)k, "state", names[l->state], "path_mtu",
                                    (int)fabric_mtu_bytes(l->path.path_mtu), "generation",
                                    (int)l->generation, "transport", server_link_transport(l)));
        }
    }
    return list;
}

/* A PUT makes the server READ and a GET makes it WRITE, or receive and send. */
static json_t *status_traffic(const struct server *s)
{
    const struct server_traffic *in = &s->written, *out = &s->read;
    uint64_t puts = in->values[ADMIN_OVER_RDMA] + in->values[ADMIN_OVER_TCP];
    uint64_t gets = out->values[ADMIN_OVER_RDMA] + out->values[ADMIN_OVER_TCP];
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "puts", (json_int_t)puts, "gets",
                     (json_int_t)gets, "rdma_read_bytes", (json_int_t)in->bytes[ADMIN_OVER_RDMA],
                     "rdma_write_bytes", (json_int_t)out->bytes[ADMIN_OVER_RDMA], "tcp_read_bytes",
                     (json_int_t)in->bytes[ADMIN_OVER_TCP], "tcp_write_bytes",
                     (json_int_t)out->bytes[ADMIN_OVER_TCP]);
}

static json_t *status_counters(const struct server *s)
{
    const struct server_counters *n = &s->counters;
    uint64_t reregistrations = 0;
    for (uint32_t i = 0; i < s->rail_count; i++)
        reregistrations += s->rails[i].reregistrations;
    json_t *counters = status_traffic(s);
    json_t *others = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tag_mismatches",
        (json_int_t)n->tag_mismatches, "refused_links", (json_int_t)n->refused_links,
        "auth_failures", (json_int_t)n->auth_failures, "strangers", (json_int_t)n->strangers,
        "silent", (json_int_t)n->silent, "stale", (json_int_t)n->stale, "reregistrations",
        (json_int_t)reregistrations, "dc_recoveries", (json_int_t)s->dc.recoveries, "dc_taken_back",
        (json_int_t)s->dc.taken_back, "dc_flushed", (json_int_t)s->dc.flushed, "dc_proofs",
        (json_int_t)s->dc.proofs);
    json_object_update(counters, others);
    json_decref(others);
    return counters;
}

static json_t *status_store(const struct store_counts *n)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "blocks",
                     (json_int_t)n->blocks, "used", (json_int_t)n->used, "capacity",
                     (json_int_t)n->capacity, "evictions", (json_int_t)n->evictions, "refusals",
                     (json_int_t)n->refusals, "resident", (json_int_t)n->resident, "torn",
                     (json_int_t)n->torn, "damaged", (json_int_t)n->damaged, "checksums",
                     (json_int_t)n->checksums, "drives_online", (json_int_t)n->drives_online,
                     "drives_offline", (json_int_t)n->drives_offline);
}

/* In files every lane has a medium on each drive: one that is out for a lane is out. With mode
 * direct a drive belongs to a lane. Without media the memory is a drive. */
static void add_counts(struct store_counts *sum, const struct store_counts *n, bool own_drives)
{
    const uint32_t drives = n->drives_online + n->drives_offline;
    sum->blocks += n->blocks;
    sum->used += n->used;
    sum->capacity += n->capacity;
    sum->evictions += n->evictions;
    sum->refusals += n->refusals;
    sum->resident += n->resident;
    sum->torn += n->torn;
    sum->damaged += n->damaged;
    sum->checksums += n->checksums;
    if (own_drives) {
        sum->drives_online += n->drives_online;
        sum->drives_offline += n->drives_offline;
        return;
    }
    sum->drives_out |= n->drives_out;
    sum->drives_offline = 0;
    for (uint32_t i = 0; i < drives; i++)
        sum->drives_offline += sum->drives_out >> i & 1;
    sum->drives_online = drives ? drives - sum->drives_offline : 1;
}

/* Of each lane, and their sums in *sum. */
static json_t *status_lanes(const struct server *s, struct store_counts *sum)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->lane_count; i++) {
        struct store_counts n;
        store_counts(s->lanes[i].store, &n);
        json_array_append_new(list, status_store(&n));
        add_counts(sum, &n, s->config.storage_mode == CONFIG_STORAGE_DIRECT);
    }
    return list;
}

json_t *server_status(struct server *server)
{
    struct server *s = server;
    assert(s);
    struct store_counts sum = {0};
    json_t *lanes = status_lanes(s, &sum);
    return json_pack("{s:s, s:b, s:b, s:i, s:o, s:o, s:o, s:o, s:o}", "op", "status", "ok", 1,
                     "rdma_active", server_rdma_active(s), "connections", (int)s->connection_count,
                     "rails", status_rails(s), "links", status_links(s), "store",
                     status_store(&sum), "lanes", lanes, "counters", status_counters(s));
}

static void server_command(void *state, const char *json)
{
    static const char *const names[] = {"status", "drain", "reload"};
    struct server *s = state;
    assert(s && json);
    json_t *request = json_loads(json, 0, NULL);
    const char *op = json_string_value(json_object_get(request, "op"));
    json_t *answer;
    if (op && strcmp(op, "status") == 0) {
        answer = server_status(s);
    } else if (op && strcmp(op, "drain") == 0) {
        answer = json_pack("{s:s, s:b}", "op", op, "ok", 1);
        server_drain(s);
    } else if (op && strcmp(op, "reload") == 0) {
        const char *problem = server_reload(s, request);
        answer = json_pack("{s:s, s:b}", "op", op, "ok", problem == NULL);
        if (problem)
            json_object_update_new(
                answer, json_pack("{s:s, s:s}", "error", "invalid_argument", "detail", problem));
    } else {
        const char *near = op ? nearest_name(op, names, sizeof names / sizeof names[0]) : NULL;
        answer = json_pack("{s:s, s:b, s:s, s:s+++}", "op", op ? op : "", "ok", 0, "error",
                           "not_supported", "detail", near ? "did you mean '" : "the server knows ",
                           near ? near : "status, drain and reload", near ? "'?" : "", "");
    }
    json_t *id = json_object_get(request, "id");
    if (answer && id)
        json_object_set(answer, "id", id);
    server_report(s, answer);
    json_decref(request);
}

const struct fabric_program memkv_server_program = {
    .name = "server",
    .start = server_start,
    .event = server_event,
    .command = server_command,
    .stop = server_stop,
};
