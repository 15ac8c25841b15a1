/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TCP pool's own interface: said once where it is an IPoIB interface that was left at a small
 * MTU (MK-L2).
 */
#ifndef SRC_RAIL_POOL_H
#define SRC_RAIL_POOL_H

#include "src/fabric/fabric.h"

struct rail_pool {
    bool said;
    char seen[FABRIC_NAME_MAX]; /* the interface that was looked at last */
};

/* Blocks travel over `stream` now, which is open: looks at its interface, unless that is the one
 * looked at last or advice was given before. */
void rail_pool_used(struct rail_pool *pool, struct fabric *f, fabric_stream stream);

#endif
