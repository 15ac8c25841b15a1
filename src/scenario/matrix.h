/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario with `matrix` is many cases: one for every combination of its labels. Each cell has
 * its own variables ("${role}", "${transport.mode}") and its own steps (`only`).
 */
#ifndef SRC_SCENARIO_MATRIX_H
#define SRC_SCENARIO_MATRIX_H

#include "src/config/yaml_edit.h"
#include "src/scenario/arena.h"

#define MATRIX_MAX_DIMENSIONS 8
#define MATRIX_MAX_LABELS 64 /* of one dimension */
#define MATRIX_MAX_CELLS 2048

struct matrix;

/* Reads `matrix` and `except` of a scenario file; without them there is one cell without a name.
 * Null after a complaint. The result lives in `arena`, and as long as the tree. */
struct matrix *matrix_read(const struct yaml_value *root, struct arena *arena,
                           struct yaml_errors *errors);

size_t matrix_cells(const struct matrix *matrix);
/* "role=server transport=rc", or "" without a matrix; cell is below matrix_cells. */
const char *matrix_cell_name(const struct matrix *matrix, size_t cell);

/* Makes `value` what it is in that cell: puts values in the place of variables, takes away what
 * exists only in other cells. False after a complaint. */
bool matrix_apply(const struct matrix *matrix, size_t cell, struct yaml_value *value,
                  struct yaml_errors *errors);

#endif
