/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that read a scenario share.
 */
#ifndef SRC_SCENARIO_SCENARIO_READER_H
#define SRC_SCENARIO_SCENARIO_READER_H

#include "src/scenario/arena.h"
#include "src/scenario/scenario.h"

struct scenario_reader {
    struct arena *arena;
    struct yaml_errors *errors;
    struct yaml_tree *tree;
    struct scenario *scenario;
    const char *const *program_names;
    size_t program_count;
};

/* Each returns false after a complaint. */
bool scenario_read_match(struct scenario_reader *reader, const struct yaml_value *value,
                         struct scenario_match *out);
bool scenario_read_checks(struct scenario_reader *reader, const struct yaml_value *value);
bool scenario_read_fields(struct scenario_reader *reader, const struct yaml_value *value,
                          const char *what, struct scenario_field **out, size_t *count);
bool scenario_read_expect(struct scenario_reader *reader, const struct yaml_value *value,
                          struct scenario_expect *out);
bool scenario_read_error(struct scenario_reader *reader, const struct yaml_value *value,
                         enum fabric_error *out);
bool scenario_read_steps(struct scenario_reader *reader, const struct yaml_value *value);
bool scenario_read_fault(struct scenario_reader *reader, const struct fault_word *word,
                         const struct yaml_value *value, struct testbed_fault *out);
/* The text that `program` gets as its configuration, with the world's key unless it has one. */
const char *scenario_read_config(struct scenario_reader *reader, const char *program,
                                 const struct yaml_value *config);
/* Complains unless `name` is a node. */
bool scenario_check_node(struct scenario_reader *reader, const struct yaml_value *name);

#endif
