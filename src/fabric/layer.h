/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pass-through layers share (HA-1.6). A layer is a fabric over another fabric; handles, events
 * and errors pass unchanged but for what the layer is there to change. Layers stack in any order.
 *
 * A constructor makes `next` the layer's own after success: destroying the layer destroys what is
 * below it. After an error `next` is still the caller's. Between the two, only the layer is used.
 */
#ifndef SRC_FABRIC_LAYER_H
#define SRC_FABRIC_LAYER_H

#include "src/fabric/fabric.h"

/* First member of every layer's structure. */
struct layer {
    struct fabric head;
    struct fabric *next;
    struct fabric_ops ops; /* the layer's own table: a pass-through one with its changes */
};

/* Makes `layer` pass everything to `next`; its maker then replaces members of layer->ops. */
void layer_init(struct layer *layer, struct fabric *next);

static inline struct fabric *layer_next(struct fabric *f)
{
    return ((struct layer *)f)->next;
}

#endif
