/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>

#include "src/client/client.h"

static json_t *rails(const struct client *c)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->rail_count; i++) {
        const struct rail *r = &c->rails[i];
        char pkey[8];
        snprintf(pkey, sizeof pkey, "0x%04x", r->address.pkey);
        json_array_append_new(
            list,
            json_pack("{s:s, s:i, s:s, s:s, s:s, s:i, s:s, s:i, s:i, s:i}", "device", r->name,
                      "port", (int)r->port_num, "state", rail_state_name(r->state), "reason",
                      error_name(r->reason), "detail", r->detail, "lid", (int)r->address.lid,
                      "pkey", pkey, "mtu", (int)fabric_mtu_bytes(r->address.mtu), "generation",
                      (int)r->address.generation, "pkey_violations", (int)r->bad_pkey_cntr));
    }
    return list;
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
        json_array_append_new(list, json_pack("{s:i, s:s, s:s, s:i, s:i}", "rail", (int)i, "state",
                                              names[l->state], "reason", error_name(l->reason),
                                              "path_mtu",
                                              up ? (int)fabric_mtu_bytes(l->path.path_mtu) : 0,
                                              "generation", (int)l->generation));
    }
    return list;
}

static json_t *servers(const struct client *c)
{
    static const char *const names[] = {"down", "connecting", "connected"};
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->config.server_count; i++) {
        const struct client_peer *p = &c->peers[i];
        const char *transport = "tcp";
        for (uint32_t k = 0; k < c->rail_count; k++) {
            if (p->links[k].state == CLIENT_LINK_UP)
                transport = "rc";
        }
        if (p->state != CLIENT_PEER_READY)
            transport = "none";
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "address", c->config.servers[i],
                            "state", names[p->state], "reason", error_name(p->reason), "transport",
                            transport, "fell_back", (int)p->fell_back, "links", links(c, p)));
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
