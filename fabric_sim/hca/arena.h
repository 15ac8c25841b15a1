/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the state of a device lies: chunks that are named by number and hold no pointer, so that
 * the same bytes mean the same in malloc'ed memory, in a memfd that several processes map, and in a
 * copy.
 *
 * Numbers run through one space in units of ARENA_UNIT bytes. It is cut into segments, each twice
 * as long as the one before. In malloc'ed memory a segment is allocated when it is first needed; in
 * a region given by the caller they lie one behind the other. A segment never moves, so an address
 * taken from a number stays good in this process while the chunk lives.
 *
 * A chunk given back is kept for the next one of its size class, or cut up for smaller ones before
 * a new segment begins; classes are at most a fourth apart. Nothing is joined again: programs ask
 * for the same few sizes over and over.
 */
#ifndef FABRIC_SIM_HCA_ARENA_H
#define FABRIC_SIM_HCA_ARENA_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_UNIT 64u
#define ARENA_FIRST 256u /* units of the first segment */
#define ARENA_SEGMENTS 24u
#define ARENA_CLASSES 96u
#define ARENA_LAYOUT UINT64_C(0x6d656d6b76000015) /* changes with every structure of state.h */

/* The first bytes of the arena. */
struct arena_head {
    uint64_t layout;
    uint64_t bytes;               /* of chunks given out */
    uint32_t top, end;            /* what is left of the newest segment: numbers of its units */
    uint32_t root;                /* chunk that leads to all others; 0 until it is set */
    uint32_t free[ARENA_CLASSES]; /* first free chunk of the class; 0: none */
};

/* How this process reaches it. */
struct hca_arena {
    struct arena_head *head;
    uint8_t *segments[ARENA_SEGMENTS];
    uint64_t limit; /* units of the caller's region; 0: segments are malloc'ed */
};

/* Begins an empty arena. `base` null: in malloc'ed memory, which hca_arena_close frees (aborts when
 * memory is out). Else in the `size` bytes at base, which are zero, aligned to ARENA_UNIT, at least
 * a segment long, stay the caller's and stay mapped until hca_arena_close. */
void hca_arena_create(struct hca_arena *arena, void *base, size_t size);
/* Looks at an arena that somebody else began in a region. False, with nothing to close, when these
 * are not its bytes or they have another layout. */
bool hca_arena_open(struct hca_arena *arena, void *base, size_t size);
void hca_arena_close(struct hca_arena *arena);

/* The number of a zeroed chunk, never 0; 0 when the region is full. */
uint32_t hca_arena_chunk(struct hca_arena *arena, uint64_t bytes);
/* `bytes` as it was asked for. */
void hca_arena_drop(struct hca_arena *arena, uint32_t chunk, uint64_t bytes);
uint64_t hca_arena_held(const struct hca_arena *arena); /* bytes of all segments in use */

static inline uint32_t hca_arena_segment_start(uint32_t segment)
{
    return ARENA_FIRST * ((1u << segment) - 1);
}

/* Aligned to 16 bytes at least. */
static inline void *hca_arena_at(const struct hca_arena *arena, uint32_t chunk)
{
    uint32_t segment = 31u - (uint32_t)__builtin_clz(chunk / ARENA_FIRST + 1);
    assert(chunk > 0 && segment < ARENA_SEGMENTS && arena->segments[segment]);
    return arena->segments[segment] +
           (size_t)(chunk - hca_arena_segment_start(segment)) * ARENA_UNIT;
}

#endif
