/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/client/client.h"
#include "src/fabric/gid.h"
#include "src/fabric/planted.h"
#include "src/rail/status.h"

static json_t *rails(const struct client *c)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->rail_count; i++)
        json_array_append_new(list, rail_status(&c->rails[i]));
    return list;
}

/* How the fabric names both ports. */
static void add_addresses(json_t *link, const struct fabric_port_address *own,
                          const struct fabric_path *path)
{
    char gid[FABRIC_GID_TEXT];
    if (path->av.dlid)
        json_object_set_new(link, "peer_lid", json_integer(path->av.dlid));
    if (!path->av.is_global)
        return;
    assert(path->local_gid < own->gid_count);
    fabric_gid_format(&own->gids[path->local_gid].gid, gid);
    json_object_set_new(link, "gid", json_string(gid));
    fabric_gid_format(&path->av.grh.dgid, gid);
    json_object_set_new(link, "peer_gid", json_string(gid));
}

static json_t *links(const struct client *c, const struct client_peer *p)
{
    static const char *const names[] = {
        [CLIENT_LINK_DOWN] = "down",           [CLIENT_LINK_LENDING] = "lending",
        [CLIENT_LINK_REQUESTED] = "requested", [CLIENT_LINK_RESOLVING] = "resolving",
        [CLIENT_LINK_PROBED] = "probed",       [CLIENT_LINK_UP] = "up"};
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->rail_count; i++) {
        const struct client_link *l = &p->links[i];
        bool up = l->state == CLIENT_LINK_UP;
        json_t *link =
            json_pack("{s:i, s:i, s:s, s:s, s:i, s:i, s:s}", "lane", (int)p->lane, "rail", (int)i,
                      "state", names[l->state], "reason", error_name(l->reason), "path_mtu",
                      up ? (int)fabric_mtu_bytes(l->path.path_mtu) : 0, "generation",
                      (int)l->generation, "transport", up ? client_link_transport(l) : "none");
        if (link && up)
            add_addresses(link, &c->rails[i].address, &l->path);
        json_array_append_new(list, link);
    }
    return list;
}

/* The links of every lane's first connection. */
static json_t *links_of_server(const struct client *c, uint32_t server)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->peer_count; i++) {
        const struct client_peer *p = c->peers[i];
        if (p->server != server || p->member > 0)
            continue;
        json_t *more = links(c, p);
        json_array_extend(list, more);
        json_decref(more);
    }
    return list;
}

/* Connections that are open, and records over them. */
static json_t *connections(const struct client *c, uint32_t server)
{
    uint64_t sent = 0, received = 0;
    int open = 0;
    for (uint32_t i = 0; i < c->peer_count; i++) {
        const struct client_peer *p = c->peers[i];
        uint64_t out = 0, in = 0;
        if (p->server != server || p->state != CLIENT_PEER_READY)
            continue;
        wire_channel_records(p->channel, &out, &in);
        sent += out;
        received += in;
        open++;
    }
    return json_pack("{s:i, s:I, s:I}", "open", open, "records_sent", (json_int_t)sent,
                     "records_received", (json_int_t)received);
}

const char *client_transport_name(enum client_transport transport)
{
    static const char *const names[] = {
        [CLIENT_OVER_TCP] = "tcp", [CLIENT_OVER_RC] = "rc", [CLIENT_OVER_DC] = "dc"};
    assert(transport <= CLIENT_OVER_DC);
    return names[transport];
}

/* By what the data of one lane goes; none while nothing would be sent. */
static const char *lane_transport(const struct client *c, const struct client_peer *p)
{
    assert(p->member == 0);
    if (p->state != CLIENT_PEER_READY)
        return "none";
    const char *all = NULL;
    for (uint32_t i = 0; i < c->rail_count && client_peer_wants_rdma(c, p); i++) {
        if (p->links[i].state != CLIENT_LINK_UP)
            continue;
        const char *one = client_link_transport(&p->links[i]);
        if (all && strcmp(all, one) != 0)
            return "mixed";
        all = one;
    }
    if (all)
        return all;
    bool tcp = c->config.transport == CONFIG_TRANSPORT_TCP || p->fell_back ||
               PLANTED(client_status_guesses_tcp);
    return tcp ? "tcp" : "none";
}

/* Of the lanes that are connected, which need not agree. */
static const char *transport(const struct client *c, uint32_t server)
{
    const char *all = NULL;
    for (uint32_t i = 0; i < c->peer_count; i++) {
        const struct client_peer *p = c->peers[i];
        if (p->server != server || p->member > 0 || p->state != CLIENT_PEER_READY)
            continue;
        const char *one = lane_transport(c, p);
        if (all && strcmp(all, one) != 0 && !PLANTED(client_status_of_lane_zero))
            return "mixed";
        all = all ? all : one;
    }
    return all ? all : "none";
}

static json_t *servers(const struct client *c)
{
    static const char *const names[] = {"down", "connecting", "connected"};
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->config.server_count; i++) {
        const struct client_peer *p = c->peers[i]; /* lane 0 */
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s, s:b, s:i, s:o, s:o}", "address",
                            c->config.servers[i], "state", names[p->state], "reason",
                            error_name(p->reason), "transport", transport(c, i), "fell_back",
                            (int)client_server_fell_back(c, i), "lanes", (int)c->servers[i].lanes,
                            "connections", connections(c, i), "links", links_of_server(c, i)));
    }
    return list;
}

json_t *client_status(const struct client *c)
{
    static const char *const transports[] = {"auto", "rdma", "tcp"};
    assert(c);
    const struct client_counters *n = &c->counters;
    json_t *counters =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "operations", (json_int_t)n->operations,
                  "failed", (json_int_t)n->failed, "retries", (json_int_t)n->retries, "fallbacks",
                  (json_int_t)n->fallbacks, "stale", (json_int_t)n->stale, "rdma_bytes",
                  (json_int_t)n->rdma_bytes, "tcp_bytes", (json_int_t)n->tcp_bytes);
    return json_pack("{s:s, s:b, s:s, s:o, s:o, s:o}", "op", "status", "ok", 1, "transport",
                     transports[c->config.transport], "rails", rails(c), "servers", servers(c),
                     "counters", counters);
}
