/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The /sys of a node as files in a folder, for programs that read it: libibverbs finds devices,
 * GIDs and P_Keys there.
 */
#ifndef FABRIC_SIM_SIMFABRIC_TREE_H
#define FABRIC_SIM_SIMFABRIC_TREE_H

#include "fabric_sim/world/sysfs.h"

/* Makes the tree in `folder` (which is the node's /sys) what the view says now. Only files whose
 * contents changed are replaced, each at once; a table entry that cannot be read (a hole) has no
 * file. Device files are those of the null device, which stands in for them (exec.h). False, errno
 * says why, when a file could not be written. */
bool tree_render(const struct sysfs_view *view, const char *folder);
/* A number that changes when what the tree shows may have changed; never 0. */
uint64_t tree_state(const struct sysfs_view *view);
/* The same for the counters of the ports, which change with every packet. */
uint64_t tree_counters(const struct sysfs_view *view);
/* Removes a folder and all below it, following no link. False when something stays. */
bool tree_delete(const char *folder);

#endif
