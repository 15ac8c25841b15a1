/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/subnet.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT UINT64_C(100000000000) /* ns */
#define MAX_HOPS 64

void subnet_open(struct subnet *subnet)
{
    memset(subnet, 0, sizeof *subnet);
    subnet->sim = sim_create(1);
    subnet->net = net_create(subnet->sim);
}

void subnet_manage(struct subnet *subnet, const char *host, const struct sm_config *config)
{
    subnet->sma = sma_create(subnet->net);
    subnet_add_manager(subnet, 0, host, config);
}

void subnet_add_manager(struct subnet *subnet, unsigned index, const char *host,
                        const struct sm_config *config)
{
    assert(index < SUBNET_MANAGERS && !subnet->sm[index]);
    subnet->sm[index] = sm_create(subnet->sma, subnet_port(subnet, host, 1), config);
}

void subnet_open_tree(struct subnet *subnet, size_t hosts, uint8_t radix,
                      const struct sm_config *config)
{
    subnet_open(subnet);
    fat_tree_build(subnet->net, &(struct fat_tree_config){.hosts = hosts, .radix = radix});
    subnet_manage(subnet, "h0", config);
}

void subnet_close(struct subnet *subnet)
{
    for (unsigned i = 0; i < SUBNET_MANAGERS; i++)
        if (subnet->sm[i])
            sm_destroy(subnet->sm[i]);
    if (subnet->sma)
        sma_destroy(subnet->sma);
    net_destroy(subnet->net);
    sim_destroy(subnet->sim);
}

bool subnet_wait_up(struct subnet *subnet, unsigned index)
{
    uint64_t end = sim_now(subnet->sim) + LIMIT;

    while (!sm_subnet_up(subnet->sm[index]))
        if (sim_next_time(subnet->sim) > end || !sim_step(subnet->sim))
            return false;
    return true;
}

bool subnet_wait_state(struct subnet *subnet, unsigned index, enum sm_state state)
{
    uint64_t end = sim_now(subnet->sim) + LIMIT;

    while (sm_state(subnet->sm[index]) != state)
        if (sim_next_time(subnet->sim) > end || !sim_step(subnet->sim))
            return false;
    return true;
}

void subnet_bring_up(struct subnet *subnet)
{
    sm_start(subnet->sm[0]);
    if (!subnet_wait_up(subnet, 0))
        abort();
}

struct net_port *subnet_port(struct subnet *subnet, const char *node, uint8_t num)
{
    struct net_node *found = net_find(subnet->net, node);

    assert(found);
    return net_node_port(found, num);
}

struct port_info *subnet_info(struct subnet *subnet, const char *host)
{
    return net_port_info(subnet_port(subnet, host, 1));
}

uint64_t subnet_guid(struct subnet *subnet, const char *host)
{
    return subnet_info(subnet, host)->guid;
}

void subnet_cable(struct subnet *subnet, const char *a, uint8_t a_num, const char *b, uint8_t b_num)
{
    net_connect(subnet_port(subnet, a, a_num), subnet_port(subnet, b, b_num), NULL);
}

void subnet_add_host(struct subnet *subnet, const char *name, uint64_t guid)
{
    net_add_node(subnet->net, NET_HCA, name, guid, 1);
}

void subnet_add_switch(struct subnet *subnet, const char *name, uint64_t guid, uint8_t ports)
{
    net_add_node(subnet->net, NET_SWITCH, name, guid, ports);
}

/* ---------------------------------------------------------------- watching */

static void append(struct subnet *subnet, const char *word, bool *first)
{
    size_t used = strlen(subnet->log);

    snprintf(subnet->log + used, SUBNET_LOG - used, "%s%s", *first ? (used ? " " : "") : "+", word);
    *first = false;
}

static void changed(void *context, struct net_port *port, const struct port_info *before)
{
    static const char *const states[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"};
    const struct port_info *now = net_port_info(port);
    struct subnet *subnet = context;
    bool first = true;

    if (now->lid != before->lid || now->lmc != before->lmc)
        append(subnet, "LID", &first);
    if (now->sm_lid != before->sm_lid)
        append(subnet, "SMLID", &first);
    if (memcmp(now->pkeys, before->pkeys, sizeof now->pkeys) != 0)
        append(subnet, "PKEY", &first);
    if (now->active_mtu != before->active_mtu)
        append(subnet, "MTU", &first);
    if (now->gid_prefix != before->gid_prefix)
        append(subnet, "PREFIX", &first);
    if (now->client_reregister && !before->client_reregister)
        append(subnet, "REREG", &first);
    if (memcmp(now->sl_to_vl, before->sl_to_vl, sizeof now->sl_to_vl) != 0)
        append(subnet, "SL", &first);
    if (now->state != before->state)
        append(subnet, states[now->state], &first);
}

void subnet_watch(struct subnet *subnet, const char *host)
{
    subnet->log[0] = '\0';
    net_node_set_owner(net_find(subnet->net, host),
                       &(struct net_owner){.context = subnet, .changed = changed});
}

/* ---------------------------------------------------------------- walking */

struct walker {
    struct net *net;
    struct net_port **owner; /* of each LID */
    struct subnet_walk *out;
};

static void claim(struct walker *w, struct net_port *port)
{
    const struct port_info *info = net_port_info(port);

    if (info->lid == 0 || info->lid > 0xBFFF) {
        w->out->out_of_range++;
        return;
    }
    for (uint32_t lid = info->lid; lid < info->lid + (1u << info->lmc); lid++) {
        w->out->lids++;
        if (w->owner[lid])
            w->out->duplicates++;
        w->owner[lid] = port;
    }
}

static void look_at_ports(struct walker *w)
{
    for (size_t i = 0; i < net_node_count(w->net); i++) {
        struct net_node *node = net_node_at(w->net, i);
        bool is_switch = net_node_kind(node) == NET_SWITCH;

        if (is_switch)
            claim(w, net_node_port(node, 0));
        for (unsigned p = 1; p <= net_node_ports(node); p++) {
            struct net_port *port = net_node_port(node, (uint8_t)p);
            uint8_t state = net_port_info(port)->state;

            if (!net_port_peer(port) || state == FABRIC_PORT_DOWN)
                continue;
            w->out->not_active += state != FABRIC_PORT_ACTIVE;
            if (!is_switch)
                claim(w, port);
        }
    }
}

/* From a switch to the owner of the LID, port by port. */
static void walk_path(struct walker *w, struct net_node *from, uint16_t lid)
{
    struct net_node *node = from;
    size_t hops = 0;

    w->out->paths++;
    while (net_node_kind(node) == NET_SWITCH && hops++ < MAX_HOPS) {
        uint8_t out = net_lft_forwards(node, lid);
        struct net_port *peer;

        if (out == 0 && node == net_port_node(w->owner[lid])) {
            w->out->hops += hops;
            return;
        }
        peer =
            out == 0 || out > net_node_ports(node) ? NULL : net_port_peer(net_node_port(node, out));
        if (!peer || net_port_info(peer)->state == FABRIC_PORT_DOWN) {
            w->out->unreachable++;
            return;
        }
        if (peer == w->owner[lid]) {
            w->out->hops += hops;
            return;
        }
        node = net_port_node(peer);
    }
    if (hops > MAX_HOPS)
        w->out->loops++;
    else
        w->out->unreachable++;
}

void subnet_walk(struct net *net, struct subnet_walk *out)
{
    struct walker w = {.net = net, .out = out};

    memset(out, 0, sizeof *out);
    w.owner = calloc(0x10000, sizeof(struct net_port *));
    assert(w.owner);
    look_at_ports(&w);
    for (size_t i = 0; i < net_node_count(net); i++) {
        struct net_node *node = net_node_at(net, i);

        for (uint32_t lid = 1; net_node_kind(node) == NET_SWITCH && lid <= 0xBFFF; lid++)
            if (w.owner[lid])
                walk_path(&w, node, (uint16_t)lid);
    }
    free(w.owner);
}

bool subnet_walk_clean(struct net *net)
{
    struct subnet_walk walk;

    subnet_walk(net, &walk);
    return walk.lids > 0 &&
           walk.duplicates + walk.out_of_range + walk.not_active + walk.unreachable + walk.loops ==
               0;
}
