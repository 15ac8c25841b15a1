/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/world/fat_tree.h"

#include <assert.h>
#include <stdio.h>

#define DEFAULT_RADIX 36
#define DEFAULT_GUID 0x0002c90300000000u
#define GUID_STEP 16u

struct builder {
    struct net *net;
    const struct fat_tree_config *config;
    size_t half; /* ports of a switch that go down, and as many up */
    uint64_t next_guid;
};

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

size_t fat_tree_capacity(uint8_t radix)
{
    size_t half = radix / 2;
    return half * half * radix;
}

static void add_nodes(struct builder *b, enum net_node_kind kind, char level, size_t count,
                      uint8_t ports)
{
    for (size_t i = 0; i < count; i++) {
        char name[64];
        int length = snprintf(name, sizeof(name), "%s%c%zu",
                              b->config->prefix ? b->config->prefix : "", level, i);
        assert(length > 0 && (size_t)length < sizeof(name));
        net_add_node(b->net, kind, name, b->next_guid, ports);
        b->next_guid += ports >= GUID_STEP ? (ports / GUID_STEP + 1) * GUID_STEP : GUID_STEP;
    }
}

static struct net_port *port_of(const struct builder *b, size_t node, size_t num)
{
    return net_node_port(net_node_at(b->net, node), (uint8_t)num);
}

static void cable(struct builder *b, struct net_port *a, struct net_port *c)
{
    net_connect(a, c, &b->config->link);
}

/* Ports count from 1: the lower half goes down, the upper half up. */
static void cable_hosts(struct builder *b, const struct fat_tree *tree)
{
    size_t per_leaf = tree->levels == 1 ? 2 * b->half : b->half;
    size_t leaf = tree->first + tree->hosts;
    for (size_t i = 0; i < tree->hosts; i++)
        cable(b, port_of(b, tree->first + i, 1), port_of(b, leaf + i / per_leaf, i % per_leaf + 1));
}

/* Two levels: the cables up are dealt to the tops in turn, so that every leaf reaches every top. */
static void cable_two(struct builder *b, const struct fat_tree *tree)
{
    size_t leaf = tree->first + tree->hosts, top = leaf + tree->leaves;
    for (size_t i = 0; i < tree->leaves * b->half; i++)
        cable(b, port_of(b, leaf + i / b->half, b->half + i % b->half + 1),
              port_of(b, top + i % tree->tops, i / tree->tops + 1));
}

/* Three levels: within a pod each leaf has one cable to each spine; the spines at one place of
 * their pods share a group of tops. */
static void cable_three(struct builder *b, const struct fat_tree *tree)
{
    size_t half = b->half, leaf = tree->first + tree->hosts, spine = leaf + tree->leaves;
    size_t top = spine + tree->spines, pods = tree->spines / half, group = tree->tops / half;
    for (size_t i = 0; i < tree->leaves; i++)
        for (size_t up = 0; up < half; up++)
            cable(b, port_of(b, leaf + i, half + up + 1),
                  port_of(b, spine + i / half * half + up, i % half + 1));
    for (size_t place = 0; place < half; place++)
        for (size_t i = 0; i < pods * half; i++)
            cable(b, port_of(b, spine + i / half * half + place, half + i % half + 1),
                  port_of(b, top + place * group + i % group, i / group + 1));
}

/* The smallest number of tops that takes `cables` with `radix` ports each and, so that each lower
 * switch has as many cables to each of them, divides `half`. */
static size_t tops_for(size_t cables, size_t half)
{
    size_t tops = divide_up(cables, 2 * half);
    assert(tops > 0 && tops <= half);
    while (half % tops != 0)
        tops++;
    return tops;
}

static struct fat_tree plan(size_t hosts, size_t half)
{
    struct fat_tree tree = {.hosts = hosts, .levels = 1, .leaves = 1};
    if (hosts <= 2 * half)
        return tree;
    tree.leaves = divide_up(hosts, half);
    if (tree.leaves <= 2 * half) {
        tree.levels = 2;
        tree.tops = tops_for(tree.leaves * half, half);
        return tree;
    }
    size_t pods = divide_up(tree.leaves, half);
    tree.levels = 3;
    tree.spines = pods * half;
    tree.tops = half * tops_for(pods * half, half);
    return tree;
}

struct fat_tree fat_tree_build(struct net *net, const struct fat_tree_config *config)
{
    uint8_t radix = config->radix ? config->radix : DEFAULT_RADIX;
    assert(radix >= 4 && radix <= 64 && radix % 2 == 0);
    assert(config->hosts > 0 && config->hosts <= fat_tree_capacity(radix));
    struct builder b = {.net = net, .config = config, .half = radix / 2u};
    struct fat_tree tree = plan(config->hosts, b.half);
    b.next_guid = config->first_guid ? config->first_guid : DEFAULT_GUID;
    tree.first = net_node_count(net);
    add_nodes(&b, NET_HCA, 'h', tree.hosts, 1);
    add_nodes(&b, NET_SWITCH, 'l', tree.leaves, radix);
    add_nodes(&b, NET_SWITCH, 's', tree.spines, radix);
    add_nodes(&b, NET_SWITCH, 't', tree.tops, radix);
    cable_hosts(&b, &tree);
    if (tree.levels == 2)
        cable_two(&b, &tree);
    else if (tree.levels == 3)
        cable_three(&b, &tree);
    return tree;
}

struct net_node *fat_tree_host(struct net *net, const struct fat_tree *tree, size_t index)
{
    assert(index < tree->hosts);
    return net_node_at(net, tree->first + index);
}

struct net_node *fat_tree_leaf(struct net *net, const struct fat_tree *tree, size_t index)
{
    assert(index < tree->leaves);
    return net_node_at(net, tree->first + tree->hosts + index);
}
