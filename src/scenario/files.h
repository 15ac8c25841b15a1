/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the machine that drives a run.
 */
#ifndef SRC_SCENARIO_FILES_H
#define SRC_SCENARIO_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/scenario/text.h"

#define FILES_MAX_BYTES (64u << 20)
#define FILES_DETAIL 256

/* Reads a whole file, up to FILES_MAX_BYTES. On failure false, a sentence in `detail` (FILES_DETAIL
 * bytes) and nothing in *out. The caller frees *out. */
bool file_read(const char *path, struct text *out, char *detail);
/* The same for a path that is relative to the folder of `beside`. */
bool file_read_beside(const char *beside, const char *path, struct text *out, char *detail);
/* Where a file of the scenario lies on the nodes (FABRIC_PATH_MAX bytes): "/files/NAME". */
void file_node_path(const char *file, char *out);

struct file_list { /* zero is empty */
    char **paths;
    size_t count, capacity;
};

/* Adds a file, or every *.yaml file in a folder and below, in order of their names (by bytes).
 * On failure false and a sentence in `detail`. */
bool file_list_add(struct file_list *list, const char *path, char *detail);
void file_list_free(struct file_list *list);

#endif
