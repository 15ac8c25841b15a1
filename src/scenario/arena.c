/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *before;
    alignas(max_align_t) unsigned char data[];
};

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
    assert(arena && size > 0 && count <= (SIZE_MAX / 2) / size);
    struct arena_chunk *chunk = calloc(1, sizeof *chunk + (count ? count : 1) * size);
    if (!chunk)
        abort();
    chunk->before = arena->last;
    arena->last = chunk;
    return chunk->data;
}

char *arena_copy(struct arena *arena, const char *text)
{
    if (!text)
        return NULL;
    size_t length = strlen(text) + 1;
    return memcpy(arena_alloc(arena, length, 1), text, length);
}

void arena_free(struct arena *arena)
{
    assert(arena);
    while (arena->last) {
        struct arena_chunk *chunk = arena->last;
        arena->last = chunk->before;
        free(chunk);
    }
}
