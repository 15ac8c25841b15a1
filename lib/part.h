/* SPDX-License-Identifier: Apache-2.0 */
/* Which verbs this build has, for every program and for the library: one table of one entry. */
#ifndef LIB_PART_H
#define LIB_PART_H

#include <stdbool.h>

#include "fabric_hw/os/part.h"

/* Null where fabric_hw/rdma was left out of the build: there is no RDMA device then. */
const struct os_part *lib_part(void);
/* What it is opened with; it is copied then. Null for what it does by itself. */
void *lib_part_context(bool busy_poll);

#endif
