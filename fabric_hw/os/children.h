/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes, commands, files and locks of this machine for src/scenario/remote_host.h.
 *
 * Threads: everything belongs to the thread that made it.
 */
#ifndef FABRIC_HW_OS_CHILDREN_H
#define FABRIC_HW_OS_CHILDREN_H

#include "src/scenario/remote_host.h"

/* Fills *host. With `parent` lines of our own standard input are told too. False when memory is
 * out. */
bool os_children_create(bool parent, struct remote_host *host);
/* Kills every child that is left and gives locks back. */
void os_children_destroy(struct remote_host *host);

#endif
