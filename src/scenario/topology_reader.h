/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that read the topology share.
 */
#ifndef SRC_SCENARIO_TOPOLOGY_READER_H
#define SRC_SCENARIO_TOPOLOGY_READER_H

#include "src/scenario/topology_read.h"

struct topology_reader {
    struct arena *arena;
    struct yaml_errors *errors;
    struct topology *topology;
};

/* One named thing of a mapping (its body is a value) or of a list of names (no body). */
struct topology_named {
    const char *name;
    struct yaml_mark mark;
    const struct yaml_value *body; /* null: nothing special */
};

/* Reads "NAME: {...}" mappings and lists of names; false after a complaint. `value` null: none. */
bool topology_read_named(struct topology_reader *reader, const struct yaml_value *value,
                         const char *what, struct topology_named **out, size_t *count);

/* Reads the MTU in a scalar (null: *out stays) as a code. */
bool topology_read_mtu(struct topology_reader *reader, const struct yaml_value *value,
                       enum fabric_mtu *out);

/* Complains unless `name` is a network. */
bool topology_check_network(struct topology_reader *reader, struct yaml_mark mark,
                            const char *name);

/* topology_interface.c. What the DCB settings of an Ethernet port are (null: none), and whether the
 * interface of the port can be as it was said: its network, mode and MTU, and its DCB. */
bool topology_read_dcb(struct topology_reader *reader, const struct yaml_value *value,
                       struct fabric_dcb *out);
bool topology_check_interface(struct topology_reader *reader, struct yaml_mark mark,
                              const struct topology_port *port);

bool topology_read_subnets(struct topology_reader *reader, const struct yaml_value *value);
bool topology_read_nodes(struct topology_reader *reader, const struct yaml_value *value);
/* After the nodes: partitions name them. */
bool topology_read_partitions(struct topology_reader *reader, const struct yaml_value *value);

#endif
