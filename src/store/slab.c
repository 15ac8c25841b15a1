/* SPDX-License-Identifier: Apache-2.0 */
#include "src/store/slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

/* ------------------------------------------------------------------ positions */

static bool make_room(struct slab *slab, size_t extents)
{
    size_t larger = slab->room ? slab->room : 16;
    if (extents < slab->room)
        return true;
    while (larger <= extents)
        larger *= 2;
    assert(larger <= UINT32_MAX);
    struct slab_extent *list = realloc(slab->extents, larger * sizeof *list);
    if (!list)
        return false;
    slab->extents = list;
    for (size_t i = slab->room ? slab->room : 1; i < larger; i++) {
        list[i].left = slab->unused;
        slab->unused = (uint32_t)i;
    }
    list[0] = (struct slab_extent){0};
    slab->room = larger;
    return true;
}

static uint32_t extent_new(struct slab *slab, uint64_t offset, uint64_t length)
{
    uint32_t i = slab->unused;
    assert(i && length); /* room was made */
    slab->unused = slab->extents[i].left;
    slab->random = slab->random * 6364136223846793005u + 1442695040888963407u;
    uint32_t priority = PLANTED(slab_unbalanced) ? 0 : (uint32_t)(slab->random >> 32);
    slab->extents[i] = (struct slab_extent){
        .offset = offset, .length = length, .largest = length, .priority = priority};
    slab->count++;
    return i;
}

static struct slab_extent extent_free(struct slab *slab, uint32_t i)
{
    struct slab_extent extent = slab->extents[i];
    assert(i && slab->count);
    slab->extents[i].left = slab->unused;
    slab->unused = i;
    slab->count--;
    return extent;
}

/* ------------------------------------------------------------------ the tree */

static void sum_up(struct slab *slab, uint32_t i)
{
    struct slab_extent *list = slab->extents, *e = &list[i];
    e->largest = e->length;
    if (list[e->left].largest > e->largest)
        e->largest = list[e->left].largest;
    if (list[e->right].largest > e->largest)
        e->largest = list[e->right].largest;
}

/* Those below `offset` and the others. */
static void split(struct slab *slab, uint32_t tree, uint64_t offset, uint32_t *low, uint32_t *high)
{
    struct slab_extent *e = &slab->extents[tree];
    if (!tree) {
        *low = *high = 0;
        return;
    }
    if (e->offset < offset) {
        split(slab, e->right, offset, &e->right, high);
        *low = tree;
    } else {
        split(slab, e->left, offset, low, &e->left);
        *high = tree;
    }
    sum_up(slab, tree);
}

/* All of `low` lie before all of `high`. */
static uint32_t merge(struct slab *slab, uint32_t low, uint32_t high)
{
    struct slab_extent *list = slab->extents;
    if (!low || !high)
        return low ? low : high;
    if (list[low].priority >= list[high].priority) {
        list[low].right = merge(slab, list[low].right, high);
        sum_up(slab, low);
        return low;
    }
    list[high].left = merge(slab, low, list[high].left);
    sum_up(slab, high);
    return high;
}

/* Removes the last one, which must be there. */
static struct slab_extent pop_last(struct slab *slab, uint32_t *tree)
{
    struct slab_extent *e = &slab->extents[*tree], popped;
    assert(*tree);
    if (!e->right) {
        uint32_t rest = e->left;
        popped = extent_free(slab, *tree);
        *tree = rest;
        return popped;
    }
    popped = pop_last(slab, &e->right);
    sum_up(slab, *tree);
    return popped;
}

static struct slab_extent pop_first(struct slab *slab, uint32_t *tree)
{
    struct slab_extent *e = &slab->extents[*tree], popped;
    assert(*tree);
    if (!e->left) {
        uint32_t rest = e->right;
        popped = extent_free(slab, *tree);
        *tree = rest;
        return popped;
    }
    popped = pop_first(slab, &e->left);
    sum_up(slab, *tree);
    return popped;
}

static void append(struct slab *slab, uint32_t *tree, uint64_t offset, uint64_t length)
{
    if (length)
        *tree = merge(slab, *tree, extent_new(slab, offset, length));
}

static const struct slab_extent *outermost(const struct slab *slab, uint32_t tree, bool last)
{
    const struct slab_extent *e = NULL;
    while (tree) {
        e = &slab->extents[tree];
        tree = last ? e->right : e->left;
    }
    return e;
}

/* ------------------------------------------------------------------ pieces */

bool slab_create(struct slab *slab, uint64_t capacity)
{
    assert(slab && capacity >= SLAB_ALIGN);
    *slab = (struct slab){.capacity = capacity / SLAB_ALIGN * SLAB_ALIGN};
    if (!make_room(slab, 1))
        return false;
    append(slab, &slab->root, 0, slab->capacity);
    return true;
}

void slab_destroy(struct slab *slab)
{
    assert(slab);
    free(slab->extents);
    *slab = (struct slab){0};
}

uint64_t slab_rounded(uint64_t length)
{
    assert(length <= UINT64_MAX - SLAB_ALIGN);
    return (length + SLAB_ALIGN - 1) / SLAB_ALIGN * SLAB_ALIGN;
}

bool slab_fits(const struct slab *slab, uint64_t length)
{
    assert(slab && length);
    return slab->extents[slab->root].largest >= slab_rounded(length);
}

uint64_t slab_first_fit(const struct slab *slab, uint64_t length)
{
    assert(slab && slab_fits(slab, length));
    const struct slab_extent *list = slab->extents;
    const uint64_t size = slab_rounded(length);
    uint32_t i = slab->root;
    while (list[list[i].left].largest >= size || list[i].length < size) {
        i = list[list[i].left].largest >= size ? list[i].left : list[i].right;
        assert(i);
    }
    return list[i].offset;
}

/* From inside the extent that holds it; what is left before and behind stays free. */
static void cut(struct slab *slab, uint64_t offset, uint64_t size)
{
    uint32_t low, high;
    split(slab, slab->root, offset + 1, &low, &high);
    const struct slab_extent e = pop_last(slab, &low);
    assert(e.offset <= offset && offset + size <= e.offset + e.length);
    append(slab, &low, e.offset, offset - e.offset);
    append(slab, &low, offset + size, e.offset + e.length - offset - size);
    slab->root = merge(slab, low, high);
    slab->used += size;
    slab->taken++;
}

bool slab_take(struct slab *slab, uint64_t length, uint64_t *offset)
{
    assert(slab && length && offset);
    /* n pieces taken leave at most n + 1 free extents, and giving back must not fail. */
    if (!slab_fits(slab, length) || !make_room(slab, slab->taken + 2))
        return false;
    *offset = slab_first_fit(slab, length);
    cut(slab, *offset, slab_rounded(length));
    return true;
}

/* The free extent that begins at or before `offset`; null when there is none. */
static const struct slab_extent *extent_at(const struct slab *slab, uint64_t offset)
{
    const struct slab_extent *list = slab->extents, *found = NULL;
    for (uint32_t i = slab->root; i; i = list[i].offset <= offset ? list[i].right : list[i].left) {
        if (list[i].offset <= offset)
            found = &list[i];
    }
    return found;
}

bool slab_take_at(struct slab *slab, uint64_t offset, uint64_t length)
{
    assert(slab && length && offset % SLAB_ALIGN == 0);
    const uint64_t size = length <= slab->capacity ? slab_rounded(length) : UINT64_MAX;
    const struct slab_extent *e = extent_at(slab, offset);
    if (!e || size > e->length || offset - e->offset > e->length - size)
        return false;
    if (!make_room(slab, slab->taken + 2))
        return false;
    cut(slab, offset, size);
    return true;
}

void slab_retake(struct slab *slab, uint64_t offset, uint64_t length)
{
    assert(slab && length && slab->taken + 2 < slab->room);
    cut(slab, offset, slab_rounded(length));
}

void slab_give(struct slab *slab, uint64_t offset, uint64_t length)
{
    uint64_t size = slab_rounded(length), begin = offset, end = offset + size;
    uint32_t low, high;
    assert(slab && size && slab->taken && size <= slab->used && end <= slab->capacity);
    split(slab, slab->root, offset, &low, &high);
    const struct slab_extent *before = outermost(slab, low, true);
    const struct slab_extent *after = outermost(slab, high, false);
    assert(!before || before->offset + before->length <= offset);
    assert(!after || end <= after->offset);
    if (before && before->offset + before->length == offset)
        begin = pop_last(slab, &low).offset;
    if (after && after->offset == end) {
        const struct slab_extent joined = pop_first(slab, &high);
        end = joined.offset + joined.length;
    }
    append(slab, &low, begin, end - begin);
    slab->root = merge(slab, low, high);
    slab->used -= size;
    slab->taken--;
}
