/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces in which the programs of a node run.
 */
#ifndef FABRIC_SIM_SIMFABRIC_VIEW_H
#define FABRIC_SIM_SIMFABRIC_VIEW_H

#include <stdbool.h>
#include <sys/types.h>

/* For the daemon: an ordinary user gets a user namespace, with its own numbers in it, which lives
 * as long as the daemon and the programs that joined it. False, errno says why: the system allows
 * none; the process may go on without. Root needs none: true. */
bool view_own_users(void);

/* From now on this process, which has one thread, sees the devices of the node whose tree is `tree`
 * in /dev/infiniband and in /sys/class, and none of the machine. `folder` is the node's own in the
 * run folder; mounts are made below it and moved. Null, or what could not be made, with errno. */
const char *view_enter(pid_t daemon, const char *tree, const char *folder);

#endif
