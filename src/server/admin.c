/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP end point: the pages are made in src/admin from what the server is like now (MK-I3). */
#include "src/admin/admin.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/version.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/server/server.h"

/* The IP of the data port, and the port after it; the same port 0 where one is to be picked. */
static void next_address(const char *data, uint32_t step, char out[FABRIC_ADDRESS_MAX])
{
    const char *colon = strrchr(data, ':');
    assert(colon);
    unsigned long port = strtoul(colon + 1, NULL, 10);
    snprintf(out, FABRIC_ADDRESS_MAX, "%.*s:%lu", (int)(colon - data), data,
             step && port < 65535 ? port + step : 0);
}

static enum fabric_error listen_on(struct server *s, const char *address)
{
    const struct server_config *c = &s->config;
    const struct fabric_http_init init = {
        .address = address,
        .tls_cert = c->tls_cert[0] ? c->tls_cert : NULL,
        .tls_key = c->tls_key[0] ? c->tls_key : NULL,
        .cookie = server_cookie(SERVER_HTTP, 0, 0),
    };
    return fabric_http_listen(s->fabric, &init, &s->http, s->admin_bound);
}

enum fabric_error server_admin_listen(struct server *server)
{
    struct server *s = server;
    char address[FABRIC_ADDRESS_MAX];
    assert(s && s->bound[0]);
    bool configured = s->config.admin_address[0] != '\0' && !PLANTED(server_admin_address_ignored);
    if (configured)
        snprintf(address, sizeof address, "%s", s->config.admin_address);
    else
        next_address(s->bound, 1, address);
    enum fabric_error error = listen_on(s, address);
    const char *port = strrchr(s->config.address, ':');
    if (error == ERR_ADDRESS_IN_USE && !configured && port && strcmp(port, ":0") == 0) {
        next_address(s->bound, 0, address); /* any port will do: the ready line tells it */
        error = listen_on(s, address);
    }
    if (error == ERR_NOT_SUPPORTED) {
        snprintf(s->admin_bound, sizeof s->admin_bound, "none");
        return FABRIC_OK;
    }
    if (error)
        rail_log(s->fabric, FABRIC_LOG_ERROR, "%s: cannot serve HTTP on %s", error_name(error),
                 address);
    return error;
}

void server_count_transfer(struct server *server, const struct server_transfer *t)
{
    assert(server && t && t->kind != SERVER_PROBE);
    bool put = t->kind == SERVER_PUT;
    enum admin_transport over = t->way == WIRE_WAY_RC ? ADMIN_OVER_RDMA : ADMIN_OVER_TCP;
    struct server_traffic *traffic = put ? &server->written : &server->read;
    traffic->values[over]++;
    traffic->bytes[over] += PLANTED(server_bytes_uncounted) ? 0 : t->length;
    if (over == ADMIN_OVER_RDMA && t->rail < RAIL_MAX)
        traffic->rail_bytes[t->rail] += t->length;
}

static uint64_t number(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

static void fill_traffic(const struct server *s, struct admin_snapshot *out)
{
    for (int over = 0; over < ADMIN_TRANSPORTS; over++) {
        out->reads[over] = s->read.values[over];
        out->read_bytes[over] = s->read.bytes[over];
        out->writes[over] = s->written.values[over];
        out->write_bytes[over] = s->written.bytes[over];
    }
    for (int error = 1; error < ERR_COUNT && out->refused_count < ADMIN_MAX_REASONS; error++) {
        if (s->refused[error])
            out->refused[out->refused_count++] =
                (struct admin_reason){error_name((enum fabric_error)error), s->refused[error]};
    }
}

static void fill_rails(const struct server *s, char names[RAIL_MAX][FABRIC_NAME_MAX + 8],
                       struct admin_snapshot *out)
{
    for (uint32_t i = 0; i < s->rail_count; i++) {
        const struct rail *r = &s->rails[i];
        uint32_t growth;
        snprintf(names[i], sizeof names[i], "%s:%u", r->name, r->port_num);
        struct admin_rail *rail = &out->rails[out->rail_count++];
        *rail = (struct admin_rail){
            .name = names[i],
            .is_ready = r->state == RAIL_READY,
            .reason = error_name(r->reason),
            .read_bytes = s->read.rail_bytes[i],
            .write_bytes = s->written.rail_bytes[i],
            .pkey_violations = rail_pkey_violations(r, &growth),
        };
        server_dc_count(s, i, &rail->dc_initiators, &rail->dc_held, &rail->dc_waiting);
    }
}

static void fill_links(const struct server *s, struct admin_snapshot *out)
{
    out->dc = (struct admin_dc){s->dc.recoveries, s->dc.taken_back, s->dc.flushed, s->dc.proofs};
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        const struct server_connection *c = s->connections[i];
        for (uint32_t k = 0; c && k < RAIL_MAX; k++) {
            bool up = c->links[k].state == SERVER_LINK_UP;
            out->links_dc += up && c->links[k].dc.used;
            out->links_rc += up && !c->links[k].dc.used;
        }
    }
}

/* From the status, so that both pages tell the same. */
static void fill_counts(const json_t *status, struct admin_snapshot *out)
{
    const json_t *store = json_object_get(status, "store");
    const json_t *counters = json_object_get(status, "counters");
    out->blocks = number(store, "blocks");
    out->storage_usable = number(store, "capacity");
    out->storage_used = number(store, "used");
    out->evictions = number(store, "evictions");
    out->store_refusals = number(store, "refusals");
    out->drives_online = (uint32_t)number(store, "drives_online");
    out->drives_offline = (uint32_t)number(store, "drives_offline");
    out->connections = (uint32_t)number(status, "connections");
    out->auth_failures = number(counters, "auth_failures");
    out->tag_mismatches = number(counters, "tag_mismatches");
    out->silent = number(counters, "silent");
}

void server_http(struct server *server, const struct fabric_event *event)
{
    struct server *s = server;
    assert(s && event && event->type == FABRIC_EVENT_HTTP_REQUEST);
    char names[RAIL_MAX][FABRIC_NAME_MAX + 8];
    json_t *status = server_status(s);
    struct admin_snapshot snapshot = {
        .version = MEMKV_VERSION,
        .uptime = server_now(s) - s->started,
        .is_draining = s->draining,
        .rdma_configured = s->config.rdma.device_count > 0,
        .rdma_active = server_rdma_active(s),
        .transfers = server_transfer_count(s),
        .status = status,
    };
    fill_counts(status, &snapshot);
    fill_traffic(s, &snapshot);
    fill_rails(s, names, &snapshot);
    fill_links(s, &snapshot);
    struct admin_answer answer;
    bool made = admin_answer(event->u.http.method, event->u.http.path, &snapshot, &answer);
    const struct fabric_http_answer reply = {
        .status = made ? answer.status : 503,
        .type = made ? answer.type : NULL,
        .body = made ? answer.body : NULL,
        .length = made ? answer.length : 0,
    };
    fabric_http_reply(s->fabric, event->u.http.request, &reply);
    if (made)
        free(answer.body);
    json_decref(status);
}
