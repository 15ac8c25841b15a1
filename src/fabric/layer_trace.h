/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer that writes one line for each operation and each event (HA-1.6, HA-2.7):
 *
 *   TIME NODE OPERATION name=value... -> RESULT
 *   TIME NODE event:TYPE name=value...
 *
 * TIME is in ns with twelve digits or more. Polling alone writes nothing. A line holds handles,
 * sizes, states and names; never a host address (cookies and wr_ids may be some), a memory key, a
 * DC key or payload. The same run gives the same lines.
 */
#ifndef SRC_FABRIC_LAYER_TRACE_H
#define SRC_FABRIC_LAYER_TRACE_H

#include "src/fabric/fabric.h"

#define LAYER_TRACE_LINE 512 /* bytes of a line with its final NUL; a longer one is cut */

/* Gets each line, without a newline; the text is valid during the call. It must not use the fabric
 * that is traced. */
struct layer_trace_sink {
    void *context;
    void (*line)(void *context, const char *text);
};

/* A trace layer over `next`; `node` labels its lines. Both are copied, the sink's context must
 * outlive the layer. Errors: resources_exhausted. See layer.h. */
enum fabric_error layer_trace_create(struct fabric *next, const char *node,
                                     const struct layer_trace_sink *sink, struct fabric **out);

#endif
