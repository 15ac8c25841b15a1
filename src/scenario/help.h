/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of the scenario language in words.
 */
#ifndef SRC_SCENARIO_HELP_H
#define SRC_SCENARIO_HELP_H

#include <stddef.h>

struct help_field {
    const char *name, *text; /* the text's first line stands in lists */
};

extern const struct help_field help_fields[];
extern const size_t help_field_count;

#endif
