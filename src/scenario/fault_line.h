/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fault word as a command line says it: WORD [VALUE...] [NAME=VALUE...]. Values without a name
 * are, in this order, what the word is about and what it requires; the names and values are those
 * of a scenario, and so are the complaints.
 */
#ifndef SRC_SCENARIO_FAULT_LINE_H
#define SRC_SCENARIO_FAULT_LINE_H

#include <stdio.h>

#include "src/config/yaml.h"
#include "src/scenario/arena.h"
#include "src/scenario/words.h"

struct fault_line { /* zero is empty */
    struct testbed_fault fault;
    struct arena arena;
    struct yaml_tree *tree;
};

struct fault_complaint {
    size_t word; /* which one, from 0 for the fault word; `count` when one is missing at the end */
    size_t column; /* in it, from 0 */
    char text[YAML_ERROR_TEXT];
};

/* Reads `count` words, at least one, against the topology. On failure false and the first complaint
 * in *complaint, with nothing to free. Otherwise the strings of out->fault live until
 * fault_line_free. */
bool fault_line_read(const struct topology *topology, char *const *words, size_t count,
                     struct fault_line *out, struct fault_complaint *complaint);
void fault_line_free(struct fault_line *line);

/* "pkey_set NODE INDEX PKEY [device=NAME] [port=NUMBER]". */
void fault_line_usage(FILE *out, const struct fault_word *word);

#endif
