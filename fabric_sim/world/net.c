/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and ports: what there is. How it moves is in the other files net_*.c. */
#include "fabric_sim/world/net.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "fabric_sim/world/net_state.h"
#include "src/fabric/gid.h"

#define DEFAULT_PREFIX 0xfe80000000000000u
#define DEFAULT_RATE 100000 /* Mbit/s */
#define DEFAULT_VLS 8

struct net *net_create(struct sim *sim)
{
    assert(sim);
    struct net *net = calloc(1, sizeof(*net));
    if (!net)
        abort();
    net->sim = sim;
    net->memory = sizeof(*net);
    return net;
}

static void port_destroy(struct net *net, struct net_port *port)
{
    size_t maps = (size_t)port->node->port_count + 1;
    for (uint8_t vl = 0; vl < PORT_VLS; vl++)
        net_lane_free(net, port->lanes[vl]);
    net_memory_free(net, port->arbiter, sizeof(*port->arbiter));
    net_memory_free(net, port->sl_maps, maps * sizeof(*port->sl_maps));
    sim_cancel(net->sim, port->wake);
}

static void node_destroy(struct net *net, struct net_node *node)
{
    size_t ports = (size_t)node->port_count + 1;
    for (size_t i = 0; i < ports; i++)
        port_destroy(net, &node->ports[i]);
    net_memory_free(net, node->lft, node->lft_size);
    net_memory_free(net, node->mft, node->mft_capacity * sizeof(*node->mft));
    net_memory_free(net, node->routes, node->route_capacity * sizeof(*node->routes));
    net_memory_free(net, node->gids, node->gid_capacity * sizeof(*node->gids));
    net_memory_free(net, node->infos, ports * sizeof(*node->infos));
    net_memory_free(net, node->ports, ports * sizeof(*node->ports));
    net_memory_free(net, node->name, strlen(node->name) + 1);
    net_memory_free(net, node, sizeof(*node));
}

void net_destroy(struct net *net)
{
    if (!net)
        return;
    for (size_t i = 0; i < net->node_count; i++)
        node_destroy(net, net->nodes[i]);
    net_memory_free(net, net->nodes, net->node_capacity * sizeof(*net->nodes));
    net_memory_free(net, net->names, net->names_size * sizeof(*net->names));
    net_pool_destroy(net);
    assert(net->memory == sizeof(*net));
    free(net);
}

struct sim *net_sim(const struct net *net)
{
    return net->sim;
}

/* ------------------------------------------------------------------ names */

/* The place in the name table where `name` is or would be. */
static uint32_t *name_place(const struct net *net, const char *name)
{
    size_t at = XXH3_64bits(name, strlen(name)) & (net->names_size - 1);
    while (net->names[at] && strcmp(net->nodes[net->names[at] - 1]->name, name) != 0)
        at = (at + 1) & (net->names_size - 1);
    return &net->names[at];
}

static void names_grow(struct net *net)
{
    size_t size = net->names_size ? net->names_size * 2 : 16;
    net_memory_free(net, net->names, net->names_size * sizeof(*net->names));
    net->names = net_memory(net, size * sizeof(*net->names));
    net->names_size = size;
    for (size_t i = 0; i < net->node_count; i++)
        *name_place(net, net->nodes[i]->name) = (uint32_t)i + 1;
}

struct net_node *net_find(const struct net *net, const char *name)
{
    if (net->names_size == 0)
        return NULL;
    uint32_t number = *name_place(net, name);
    return number ? net->nodes[number - 1] : NULL;
}

static void node_list(struct net *net, struct net_node *node)
{
    assert(!net_find(net, node->name) && net->node_count < UINT32_MAX - 1);
    if (net->node_count == net->node_capacity) {
        size_t old = net->node_capacity, capacity = old ? old * 2 : 8;
        size_t size = sizeof(*net->nodes);
        net->nodes = net_memory_grow(net, net->nodes, old * size, capacity * size);
        net->node_capacity = capacity;
    }
    node->index = net->node_count;
    net->nodes[net->node_count++] = node;
    if (net->node_count * 2 > net->names_size)
        names_grow(net);
    else
        *name_place(net, node->name) = (uint32_t)node->index + 1;
}

/* ------------------------------------------------------------------ nodes and ports */

/* As a port is before anybody managed it. */
static void info_begin(const struct net_node *node, uint8_t num, struct port_info *info)
{
    bool host = node->kind == NET_HCA || node->kind == NET_ROUTER;
    bool ethernet = node->kind == NET_ETHERNET_SWITCH;
    info->guid = host ? node->guid + num : node->guid;
    info->gid_prefix = DEFAULT_PREFIX;
    info->link_layer = ethernet ? FABRIC_LINK_LAYER_ETHERNET : FABRIC_LINK_LAYER_INFINIBAND;
    info->port_num = num;
    info->mtu_cap = FABRIC_MTU_4096;
    info->vl_cap = DEFAULT_VLS;
    info->rate_mbps = DEFAULT_RATE;
    info->pkey_count = PORT_PKEYS;
    info->pkeys[0] = NET_DEFAULT_PKEY;
    info->state = FABRIC_PORT_DOWN;
    if (host) {
        info->gid_count = PORT_GIDS;
        info->gids[0].gid = fabric_gid_make(info->gid_prefix, info->guid);
    }
    if (num == 0 && !host) {
        info->state = FABRIC_PORT_ACTIVE; /* a switch always reaches itself */
        info->active_mtu = info->mtu_cap;
    }
}

struct net_node *net_add_node(struct net *net, enum net_node_kind kind, const char *name,
                              uint64_t node_guid, uint8_t port_count)
{
    assert(name && name[0] && port_count < NET_PORT_NONE);
    struct net_node *node = net_memory(net, sizeof(*node));
    size_t length = strlen(name) + 1, ports = (size_t)port_count + 1;
    node->net = net;
    node->name = net_memory(net, length);
    memcpy(node->name, name, length);
    node->kind = kind;
    node->guid = node_guid;
    node->port_count = port_count;
    node->powered = true;
    node->latency = kind == NET_HCA ? 0 : NET_FORWARD_LATENCY;
    node->hoq_life = NET_HOQ_LIFE;
    node->lft_top = NET_LFT_SIZE - 1;
    node->ports = net_memory(net, ports * sizeof(*node->ports));
    node->infos = net_memory(net, ports * sizeof(*node->infos));
    for (size_t i = 0; i < ports; i++) {
        struct net_port *port = &node->ports[i];
        port->node = node;
        port->num = (uint8_t)i;
        port->info = &node->infos[i];
        port->wake_time = NET_NEVER;
        info_begin(node, port->num, port->info);
        net_port_refresh(port);
    }
    node_list(net, node);
    net->address_epoch++;
    return node;
}

size_t net_node_count(const struct net *net)
{
    return net->node_count;
}

struct net_node *net_node_at(const struct net *net, size_t index)
{
    assert(index < net->node_count);
    return net->nodes[index];
}

size_t net_node_index(const struct net_node *node)
{
    return node->index;
}

const char *net_node_name(const struct net_node *node)
{
    return node->name;
}

enum net_node_kind net_node_kind(const struct net_node *node)
{
    return node->kind;
}

uint64_t net_node_guid(const struct net_node *node)
{
    return node->guid;
}

uint8_t net_node_ports(const struct net_node *node)
{
    return node->port_count;
}

struct net_port *net_node_port(struct net_node *node, uint8_t port_num)
{
    assert(port_num <= node->port_count);
    return &node->ports[port_num];
}

struct net_node *net_port_node(const struct net_port *port)
{
    return port->node;
}

uint8_t net_port_num(const struct net_port *port)
{
    return port->num;
}

struct net_port *net_port_peer(const struct net_port *port)
{
    return port->peer;
}

struct port_info *net_port_info(const struct net_port *port)
{
    return port->info;
}

void net_port_place_info(struct net_port *port, struct port_info *info)
{
    assert(info);
    if (info == port->info)
        return;
    *info = *port->info;
    port->info = info;
}

uint64_t net_port_free_at(const struct net_port *port)
{
    uint64_t now = net_now(port);
    return port->busy_until > now ? port->busy_until : now;
}

uint8_t net_sl_to_vl(const struct net_port *port, uint8_t sl)
{
    return port->info->sl_to_vl[sl & (PORT_SLS - 1)] & 0xf;
}

void net_node_set_owner(struct net_node *node, const struct net_owner *owner)
{
    node->owner = owner ? *owner : (struct net_owner){0};
}

const struct net_owner *net_node_owner(const struct net_node *node)
{
    return &node->owner;
}

void net_set_mad_handler(struct net *net, net_mad_handler handler, void *context)
{
    net->mad_handler = handler;
    net->mad_context = context;
}

void net_set_change_handler(struct net *net, net_change_handler handler, void *context)
{
    assert(net);
    net->change_handler = handler;
    net->change_context = context;
}

void net_set_power_handler(struct net *net, net_power_handler handler, void *context)
{
    assert(net);
    net->power_handler = handler;
    net->power_context = context;
}

void net_set_pkey_handler(struct net *net, net_pkey_handler handler, void *context)
{
    net->pkey_handler = handler;
    net->pkey_context = context;
}

void net_stats(const struct net *net, struct net_stats *out)
{
    *out = (struct net_stats){
        .packets_delivered = net->delivered,
        .hops = net->hops,
        .discards = net->discards,
        .losses = net->losses,
        .bytes_of_memory = net->memory,
    };
}
