/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contiguous, 4 KiB-aligned pieces of one region, first fit, merged again when freed. It keeps
 * numbers only and touches no memory of the region. The free extents are a balanced tree by offset
 * in which every node knows the largest extent below it: each call costs the logarithm of their
 * number. Which piece is given depends on the calls so far alone.
 */
#ifndef SRC_STORE_SLAB_H
#define SRC_STORE_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLAB_ALIGN 4096u

struct slab_extent {
    uint64_t offset, length; /* bytes, multiples of SLAB_ALIGN; no two touch */
    uint64_t largest;        /* length, of this one and those below */
    uint32_t left, right;    /* positions; 0: none */
    uint32_t priority;       /* not less than that of those below */
};

struct slab {
    uint64_t capacity, used;
    struct slab_extent *extents; /* position 0 is no extent */
    uint32_t root, unused;       /* unused: the first of those without an extent, by `left` */
    size_t count, room;          /* free extents; positions */
    size_t taken;                /* pieces given out */
    uint64_t random;             /* of the priorities: the same in every run */
};

/* False without memory. `capacity` is rounded down to SLAB_ALIGN and must not become 0. */
bool slab_create(struct slab *slab, uint64_t capacity);
void slab_destroy(struct slab *slab);

/* What a value of `length` bytes occupies. */
uint64_t slab_rounded(uint64_t length);
bool slab_fits(const struct slab *slab, uint64_t length);
/* Where slab_take would take a piece of `length` bytes, which fits. */
uint64_t slab_first_fit(const struct slab *slab, uint64_t length);
/* False when no piece is large enough, or without memory. */
bool slab_take(struct slab *slab, uint64_t length, uint64_t *offset);
/* Takes a certain piece. False when not all of it is free, or without memory. `offset` is a
 * multiple of SLAB_ALIGN. */
bool slab_take_at(struct slab *slab, uint64_t offset, uint64_t length);
/* Gives back what slab_take gave for the same length. Never fails: room was made when taking. */
void slab_give(struct slab *slab, uint64_t offset, uint64_t length);
/* Takes that very piece again. Nothing was taken since it was given back. */
void slab_retake(struct slab *slab, uint64_t offset, uint64_t length);

#endif
