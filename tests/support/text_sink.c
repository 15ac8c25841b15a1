/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/text_sink.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void put(void *context, const char *bytes, size_t length)
{
    struct text_sink *sink = context;
    sink->text = realloc(sink->text, sink->length + length + 1);
    assert(sink->text);
    memcpy(sink->text + sink->length, bytes, length);
    sink->length += length;
    sink->text[sink->length] = '\0';
}

struct net_output text_sink_output(struct text_sink *sink)
{
    return (struct net_output){sink, put};
}

const char *text_sink_text(const struct text_sink *sink)
{
    return sink->text ? sink->text : "";
}

void text_sink_empty(struct text_sink *sink)
{
    free(sink->text);
    *sink = (struct text_sink){0};
}
