/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the topology grammar: the same in a scenario and in a simfabric file. Subnets, Ethernet
 * networks, switches, devices and nodes are mappings from a name to what is special about it, or
 * lists of names when nothing is. What is left out is implied: one subnet named "ib" when no
 * network is named, one switch a network, one subnet manager a subnet, and for a node one device
 * mlx5_0 with one port on the only network.
 */
#ifndef SRC_SCENARIO_TOPOLOGY_READ_H
#define SRC_SCENARIO_TOPOLOGY_READ_H

#include "src/config/yaml.h"
#include "src/scenario/arena.h"
#include "src/scenario/topology.h"

/* Null when there was something to complain about. The result lives in `arena`; the YAML may be
 * freed afterwards. */
struct topology *topology_read(const struct yaml_value *value, struct arena *arena,
                               struct yaml_errors *errors);

/* Lookups by name; null when there is none. */
const struct topology_node *topology_node_find(const struct topology *topology, const char *name);
const struct topology_device *topology_device_find(const struct topology_node *node,
                                                   const char *name);
bool topology_has_network(const struct topology *topology, const char *name);
const struct topology_sm *topology_sm_find(const struct topology *topology, const char *name);

/* Names for suggestions, allocated in `arena`. */
const char **topology_node_names(const struct topology *topology, struct arena *arena);

/* Complains that `found` is none of the `count` names, with the nearest one or all of them. */
void topology_complain_unknown(struct yaml_errors *errors, struct yaml_mark mark, const char *what,
                               const char *found, const char *const *names, size_t count);

#endif
