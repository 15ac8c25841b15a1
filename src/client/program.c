/* SPDX-License-Identifier: Apache-2.0 */
#include "src/client/program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"
#include "src/client/placement.h"
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
    if (text)
        c->sink.report(c->sink.context, text);
    free(text);
    json_decref(object);
}

/* ------------------------------------------------------------------ start and stop */

static enum fabric_error read_config(struct client *c, const char *text, size_t length)
{
    struct yaml_errors errors;
    yaml_errors_init(&errors, "client.yaml");
    bool ok = client_config_read(text, length, &c->config, &errors);
    enum fabric_error error = ok ? FABRIC_OK : ERR_CONFIG_INVALID;
    for (size_t i = 0; i < errors.count; i++) {
        bool mtu = strstr(errors.items[i].text, "(mtu_invalid)") != NULL;
        error = mtu ? ERR_MTU_INVALID : error;
        rail_log(c->fabric, FABRIC_LOG_ERROR, "%s: %s", error_name(error), errors.items[i].text);
    }
    if (!error && !c->config.auth_key_set) {
        error = ERR_CONFIG_INVALID;
        rail_log(c->fabric, FABRIC_LOG_ERROR,
                 "config_invalid: auth_key is expected; auth_key_file is not read here");
    }
    return error;
}

static void client_free(struct client *c)
{
    for (uint32_t i = 0; i < c->config.server_count; i++)
        wire_channel_close(c->peers[i].channel, false);
    for (uint32_t i = 0; i < c->rail_count; i++) /* from here on nothing is lent to a device */
        rail_close(&c->rails[i]);
    for (uint32_t i = 0; i < CLIENT_OPERATIONS; i++)
        client_buffer_free(&c->buffers[i]);
    for (uint32_t i = 0; i < CONFIG_MAX_SERVERS; i++) {
        for (uint32_t k = 0; k < RAIL_MAX; k++)
            client_buffer_free(&c->peers[i].links[k].probe);
    }
    client_jobs_free(c);
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

static void begin(struct client *c)
{
    for (uint32_t i = 0; i < c->rail_count; i++) {
        c->rails[i].cookie = client_cookie(CLIENT_REOPEN, i, 0);
        rail_judge(&c->rails[i]);
        client_rail_report(c, i);
    }
    for (uint32_t i = 0; i < c->config.server_count; i++) {
        c->peers[i].index = i;
        c->seeds[i] = placement_seed(c->config.servers[i]);
        client_peer_connect(c, &c->peers[i]);
    }
    client_report(c, json_pack("{s:s}", "event", "ready"));
}

static enum fabric_error client_start(struct fabric *f, const char *config, size_t config_length,
                                      const struct fabric_report_sink *sink, void **state)
{
    assert(f && (config || config_length == 0) && sink && sink->report && state);
    struct client *c = calloc(1, sizeof *c);
    if (!c)
        return ERR_RESOURCES_EXHAUSTED;
    c->fabric = f;
    c->sink = *sink;
    enum fabric_error error = read_config(c, config, config_length);
    bool rdma = c->config.transport != CONFIG_TRANSPORT_TCP || PLANTED(client_tcp_opens_rails);
    if (!error && rdma) /* tcp: no queue pair at all */
        c->rail_count = rail_open_all(f, RAIL_CLIENT, &c->config.rdma, c->rails);
    if (!error)
        error = set_timers(c);
    if (error) {
        client_free(c);
        return error;
    }
    begin(c);
    *state = c;
    return FABRIC_OK;
}

static void client_stop(void *state)
{
    assert(state);
    client_free(state);
}

/* ------------------------------------------------------------------ events */

/* Works off what the event marked. */
static void turn(struct client *c)
{
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t i = 0; i < CLIENT_OPERATIONS; i++)
            progress = client_operation_step(c, &c->operations[i]) || progress;
        for (uint32_t i = 0; i < CLIENT_JOBS; i++)
            progress = client_job_step(c, i) || progress;
    }
}

static void start_is_over(struct client *c)
{
    for (uint32_t i = 0; i < c->config.server_count; i++) {
        c->peers[i].start_over = true;
        client_peer_judge(c, &c->peers[i]);
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
    for (uint32_t i = 0; i < c->config.server_count; i++) {
        client_peer_tick(c, &c->peers[i]);
        for (uint32_t k = 0; k < c->rail_count; k++)
            client_link_tick(c, &c->peers[i], k);
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
    for (uint32_t i = 0; i < c->config.server_count; i++)
        client_link_begin(c, &c->peers[i], rail);
}

static void take_async(struct client *c, const struct fabric_async *async)
{
    client_queue_pair_broke(c, async);
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (!rail_concerned(&c->rails[i], async))
            continue;
        client_rail_look(c, i, async);
        judge_refusals_again(c, i);
    }
}

static void client_event(void *state, const struct fabric_event *event)
{
    struct client *c = state;
    assert(c && event);
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
    case FABRIC_EVENT_IO_DONE:
        client_job_io(c, &event->u.io);
        break;
    default:
        break; /* the client posts nothing and listens nowhere */
    }
    turn(c);
}

static void client_run_command(void *state, const char *json)
{
    struct client *c = state;
    assert(c && json);
    client_command(c, json);
    turn(c);
}

const struct fabric_program memkv_client_program = {
    .name = "client",
    .start = client_start,
    .event = client_event,
    .command = client_run_command,
    .stop = client_stop,
};
