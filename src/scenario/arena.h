/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is freed all at once: what a reader builds lives and dies together.
 */
#ifndef SRC_SCENARIO_ARENA_H
#define SRC_SCENARIO_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena { /* zero is empty */
    struct arena_chunk *last;
};

/* `count` zeroed elements of `size` bytes, at least one; aborts when memory is out. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);
/* A copy of `text`; null for null. */
char *arena_copy(struct arena *arena, const char *text);
void arena_free(struct arena *arena);

#endif
