/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies of usual shapes and chosen sizes, as text in the grammar that topology_read reads.
 */
#ifndef SRC_SCENARIO_TOPOLOGY_GENERATE_H
#define SRC_SCENARIO_TOPOLOGY_GENERATE_H

#include <stdbool.h>

#include "src/scenario/text.h"

/* X(name, what it is); the names of `simfabric generate`. */
#define TOPOLOGY_SHAPES(X)                                                                         \
    X("pair", "two nodes at one switch")                                                           \
    X("fat-tree", "leaves with half of their ports down, each cabled to every spine")              \
    X("rail-optimised", "the nth adapter of every node at the nth leaf, the leaves at a spine")    \
    X("dragonfly", "groups of routers, all to all within a group and between the groups")

struct topology_sizes {  /* 0: the default of the shape */
    unsigned long nodes; /* fat-tree, rail-optimised, dragonfly: 8 */
    unsigned long radix; /* ports of a switch: fat-tree, even, and dragonfly; 8 */
    unsigned long rails; /* adapters of a node: 1, rail-optimised 2 */
};

#define TOPOLOGY_DETAIL 160
#define TOPOLOGY_MAX_NODES 4096ul

/* Adds the topology to *out. False and a sentence in `detail` (TOPOLOGY_DETAIL bytes) when there is
 * no such shape, or not of that size. Nodes are n1, n2, ..., adapters mlx5_0, mlx5_1, ... */
bool topology_generate(const char *shape, const struct topology_sizes *sizes, struct text *out,
                       char *detail);

#endif
