/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contiguous, 4 KiB-aligned pieces of one region, first fit, merged again when freed. It keeps
 * numbers only and touches no memory of the region.
 */
#ifndef SRC_STORE_SLAB_H
#define SRC_STORE_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLAB_ALIGN 4096u

struct slab_extent {
    uint64_t offset, length; /* bytes, multiples of SLAB_ALIGN */
};

struct slab {
    uint64_t capacity, used;
    struct slab_extent *free_list; /* by offset; no two touch */
    size_t count, room;
    size_t taken; /* pieces given out */
};

/* False without memory. `capacity` is rounded down to SLAB_ALIGN and must not become 0. */
bool slab_create(struct slab *slab, uint64_t capacity);
void slab_destroy(struct slab *slab);

/* What a value of `length` bytes occupies. */
uint64_t slab_rounded(uint64_t length);
/* Another one with the same pieces taken; false without memory. */
bool slab_copy(const struct slab *slab, struct slab *out);
bool slab_fits(const struct slab *slab, uint64_t length);
/* False when no piece is large enough. */
bool slab_take(struct slab *slab, uint64_t length, uint64_t *offset);
/* Gives back what slab_take gave for the same length. Never fails: room was made when taking. */
void slab_give(struct slab *slab, uint64_t offset, uint64_t length);

#endif
