/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to run: the scenario files below some paths, one case a cell of each.
 */
#ifndef SRC_SCENARIO_CASES_H
#define SRC_SCENARIO_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CASE_WORD 192 /* bytes of "dimension=label", with the final NUL */

struct case_name {
    char *file;
    char *name;  /* of the cell, "" without a matrix */
    size_t cell; /* its position in the file's matrix */
};

struct case_list { /* zero is empty */
    struct case_name *cases;
    size_t count, capacity;
    char **labels; /* of all cells that were seen with a filter: "role=server" */
    size_t label_count;
};

/* Adds the cases of a file, or of all files of a folder and the folders in it, in the order of
 * their names. `filter` (null: none) is "dimension=label dimension=label": only cells that have all
 * of them. A file that cannot be read as far as its matrix is one case, for whoever reads it next
 * to complain about. False when `path` is not there; `detail` (FILES_DETAIL bytes) says why. */
bool case_list_add(struct case_list *list, const char *path, const char *filter, char *detail);
/* A word of `filter` that no cell has of all files that were added with it, copied to `word`
 * (CASE_WORD bytes, cut); false when there is none. */
bool case_list_lacks(const struct case_list *list, const char *filter, char *word);
/* Keeps part `part` (from 1) of `parts`: every `parts`-th case. */
void case_list_shard(struct case_list *list, uint64_t part, uint64_t parts);
void case_list_free(struct case_list *list);

#endif
