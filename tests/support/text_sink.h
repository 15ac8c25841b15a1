/* SPDX-License-Identifier: Apache-2.0 */
/* Output of the commands of src/net, kept as text. */
#ifndef TESTS_SUPPORT_TEXT_SINK_H
#define TESTS_SUPPORT_TEXT_SINK_H

#include "src/net/output.h"

struct text_sink {
    char *text; /* null: nothing was written */
    size_t length;
};

struct net_output text_sink_output(struct text_sink *sink);
const char *text_sink_text(const struct text_sink *sink); /* "" for nothing */
void text_sink_empty(struct text_sink *sink);

#endif
