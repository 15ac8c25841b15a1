/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/arena.h"

#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

#define HEAD_UNITS ((uint32_t)((sizeof(struct arena_head) + ARENA_UNIT - 1) / ARENA_UNIT))

static uint64_t segment_units(uint32_t segment)
{
    return (uint64_t)ARENA_FIRST << segment;
}

/* 1 to 4, then four steps to each doubling: 5, 6, 7, 8, 10, 12, 14, 16, 20... */
static uint64_t class_units(uint32_t class)
{
    if (class < 4)
        return class + 1;
    uint32_t shift = class / 4 - 1;
    return (UINT64_C(4) << shift) + ((uint64_t)(class % 4 + 1) << shift);
}

static uint32_t class_holding(uint64_t units)
{
    uint32_t class = 0;
    while (class < ARENA_CLASSES && class_units(class) < units)
        class ++;
    return class;
}

static uint32_t class_within(uint64_t units)
{
    assert(units > 0);
    uint32_t class = 0;
    while (class + 1 < ARENA_CLASSES && class_units(class + 1) <= units)
        class ++;
    return class;
}

/* Makes the segment reachable; false when the region ends before it does. */
static bool segment_open(struct hca_arena *arena, uint32_t segment)
{
    if (segment >= ARENA_SEGMENTS)
        return false;
    if (arena->limit || arena->segments[segment])
        return arena->segments[segment] != NULL;
    arena->segments[segment] = calloc(segment_units(segment), ARENA_UNIT);
    if (!arena->segments[segment])
        abort(); /* a world without memory cannot be judged */
    return true;
}

static void map_region(struct hca_arena *arena, uint8_t *base, size_t size)
{
    assert(base && (uintptr_t)base % ARENA_UNIT == 0);
    memset(arena, 0, sizeof(*arena));
    arena->limit = size / ARENA_UNIT;
    for (uint32_t i = 0; i < ARENA_SEGMENTS; i++) {
        uint64_t start = hca_arena_segment_start(i);
        if (start + segment_units(i) <= arena->limit)
            arena->segments[i] = base + start * ARENA_UNIT;
    }
}

void hca_arena_create(struct hca_arena *arena, void *base, size_t size)
{
    assert(arena && (!base || size >= ARENA_FIRST * ARENA_UNIT));
    memset(arena, 0, sizeof(*arena));
    if (base)
        map_region(arena, base, size);
    else
        segment_open(arena, 0);
    arena->head = (struct arena_head *)(void *)arena->segments[0];
    assert(arena->head->layout == 0);
    arena->head->layout = ARENA_LAYOUT;
    arena->head->top = HEAD_UNITS;
    arena->head->end = ARENA_FIRST;
}

bool hca_arena_open(struct hca_arena *arena, void *base, size_t size)
{
    assert(arena);
    struct arena_head head;
    if (!base || (uintptr_t)base % ARENA_UNIT || size < ARENA_FIRST * ARENA_UNIT)
        return false;
    memcpy(&head, base, sizeof(head));
    if (head.layout != ARENA_LAYOUT || head.end > size / ARENA_UNIT)
        return false;
    map_region(arena, base, size);
    arena->head = (struct arena_head *)(void *)arena->segments[0];
    return true;
}

void hca_arena_close(struct hca_arena *arena)
{
    assert(arena);
    for (uint32_t i = 0; i < ARENA_SEGMENTS && !arena->limit; i++)
        free(arena->segments[i]);
    memset(arena, 0, sizeof(*arena));
}

static void keep_free(struct hca_arena *arena, uint32_t chunk, uint32_t class)
{
    *(uint32_t *)hca_arena_at(arena, chunk) = arena->head->free[class];
    arena->head->free[class] = chunk;
}

/* Keeps a stretch for smaller chunks, in pieces as large as classes allow. */
static void keep_rest(struct hca_arena *arena, uint32_t from, uint32_t to)
{
    while (from < to) {
        uint32_t class = class_within(to - from);
        keep_free(arena, from, class);
        from += (uint32_t)class_units(class);
    }
}

/* From the first segment beyond the newest that is long enough. */
static bool next_segment(struct hca_arena *arena, uint64_t units)
{
    struct arena_head *head = arena->head;
    uint32_t segment = 31u - (uint32_t)__builtin_clz(head->end / ARENA_FIRST + 1);
    while (segment < ARENA_SEGMENTS && segment_units(segment) < units)
        segment++;
    if (!segment_open(arena, segment))
        return false;
    keep_rest(arena, head->top, head->end);
    head->top = hca_arena_segment_start(segment);
    head->end = hca_arena_segment_start(segment + 1);
    return true;
}

static uint32_t take_free(struct hca_arena *arena, uint32_t class)
{
    uint32_t chunk = arena->head->free[class];
    if (chunk)
        memcpy(&arena->head->free[class], hca_arena_at(arena, chunk), sizeof(chunk));
    return chunk;
}

static uint32_t take_new(struct arena_head *head, uint64_t units)
{
    if (head->end - head->top < units)
        return 0;
    uint32_t chunk = head->top;
    head->top += (uint32_t)units;
    return chunk;
}

/* The beginning of the smallest longer one. */
static uint32_t take_part(struct hca_arena *arena, uint32_t class)
{
    uint32_t longer = class + 1;
    while (longer < ARENA_CLASSES && !arena->head->free[longer])
        longer++;
    if (longer >= ARENA_CLASSES)
        return 0;
    uint32_t chunk = take_free(arena, longer);
    keep_rest(arena, chunk + (uint32_t)class_units(class), chunk + (uint32_t)class_units(longer));
    return chunk;
}

uint32_t hca_arena_chunk(struct hca_arena *arena, uint64_t bytes)
{
    assert(arena->head && bytes > 0);
    uint32_t class = class_holding((bytes + ARENA_UNIT - 1) / ARENA_UNIT);
    if (class == ARENA_CLASSES)
        return 0;
    uint64_t units = class_units(class);
    uint32_t chunk = take_free(arena, class);
    bool fresh = !chunk;
    if (!chunk)
        chunk = take_new(arena->head, units);
    if (!chunk) {
        chunk = take_part(arena, class);
        fresh = !chunk;
    }
    if (!chunk && next_segment(arena, units))
        chunk = take_new(arena->head, units);
    if (!chunk)
        return 0;
    if (!fresh && !PLANTED(hca_chunk_not_zeroed))
        memset(hca_arena_at(arena, chunk), 0, units * ARENA_UNIT);
    arena->head->bytes += units * ARENA_UNIT;
    return chunk;
}

void hca_arena_drop(struct hca_arena *arena, uint32_t chunk, uint64_t bytes)
{
    assert(chunk >= HEAD_UNITS && bytes > 0);
    uint32_t class = class_holding((bytes + ARENA_UNIT - 1) / ARENA_UNIT);
    assert(class < ARENA_CLASSES && arena->head->bytes >= class_units(class) * ARENA_UNIT);
    keep_free(arena, chunk, class);
    arena->head->bytes -= class_units(class) * ARENA_UNIT;
}

uint64_t hca_arena_held(const struct hca_arena *arena)
{
    uint64_t units = 0;
    for (uint32_t i = 0; i < ARENA_SEGMENTS; i++)
        if (arena->segments[i] && hca_arena_segment_start(i) < arena->head->end)
            units += segment_units(i);
    return units * ARENA_UNIT;
}
