/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topology as the file that topology_read makes it of.
 */
#ifndef SRC_SCENARIO_TOPOLOGY_WRITE_H
#define SRC_SCENARIO_TOPOLOGY_WRITE_H

#include "src/scenario/text.h"
#include "src/scenario/topology.h"

/* Adds YAML in which everything is written that the topology has, also what could be left out. The
 * subnet of a topology without networks is written, so `implied` alone is not kept. */
void topology_write(const struct topology *topology, struct text *out);

#endif
