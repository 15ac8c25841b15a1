/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fat tree of InfiniBand switches with hosts below, built into a net: big worlds in one call.
 *
 * One switch up to `radix` hosts; two levels up to radix^2 / 2; three up to radix^3 / 4. Every
 * switch below the top has half of its ports down and half up; at the top as many switches as the
 * cables need, which are spread evenly over them. Memory is linear in hosts.
 *
 * Names: PREFIXh0, h1, ... for hosts, PREFIXl0 (leaf), PREFIXs0 (spine: the middle level),
 * PREFIXt0 (top); GUIDs count up from first_guid in the order of adding: hosts, leaves, spines,
 * tops, with room for the GUIDs of their ports between them.
 */
#ifndef FABRIC_SIM_WORLD_FAT_TREE_H
#define FABRIC_SIM_WORLD_FAT_TREE_H

#include "fabric_sim/world/net.h"

struct fat_tree_config {
    size_t hosts;         /* 1 or more */
    uint8_t radix;        /* ports of a switch, even, 4 to 64; 0: 36 */
    const char *prefix;   /* of the names; null: none */
    uint64_t first_guid;  /* 0: 0x0002c90300000000 */
    struct net_link link; /* of every cable */
};

struct fat_tree {
    size_t hosts, leaves, spines, tops; /* numbers of nodes; a single level has leaves only */
    uint8_t levels;
    size_t first; /* net index of the first host; leaves, spines and tops follow */
};

/* The largest number of hosts that three levels of this radix carry. */
size_t fat_tree_capacity(uint8_t radix);

/* Adds the nodes and cables; hosts have one port. `hosts` must not be above the capacity. */
struct fat_tree fat_tree_build(struct net *net, const struct fat_tree_config *config);

struct net_node *fat_tree_host(struct net *net, const struct fat_tree *tree, size_t index);
struct net_node *fat_tree_leaf(struct net *net, const struct fat_tree *tree, size_t index);

#endif
