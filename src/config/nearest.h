/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean": the nearest of some names to a word that is none of them.
 */
#ifndef SRC_CONFIG_NEAREST_H
#define SRC_CONFIG_NEAREST_H

#include <stddef.h>

/* Edits (insert, remove, replace, swap two neighbours) that turn `a` into `b`. Words longer than 63
 * bytes count as entirely different. */
size_t nearest_distance(const char *a, const char *b);

/* The name with the fewest edits, the first of equals; when none is near enough to be a
 * likely typing mistake (a third of the letters, at least one), the only one that begins with
 * `word`; else null. */
const char *nearest_name(const char *word, const char *const *names, size_t count);

#endif
