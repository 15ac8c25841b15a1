/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/layer.h"

#include <assert.h>

#define X(upper, lower, parameters, arguments, fault)                                              \
    static enum fabric_error pass_##lower parameters                                               \
    {                                                                                              \
        struct fabric *next = layer_next(f);                                                       \
        return fabric_##lower arguments;                                                           \
    }
#include "src/fabric/ops.def"
#undef X

static const struct fabric_ops pass_ops = {
#define X(upper, lower, parameters, arguments, fault) .lower = pass_##lower,
#include "src/fabric/ops.def"
#undef X
};

void layer_init(struct layer *layer, struct fabric *next)
{
    assert(layer && next && next != &layer->head);
    layer->next = next;
    layer->ops = pass_ops;
    fabric_init(&layer->head, &layer->ops);
    layer->head.depth = next->depth + 1;
}
