/* SPDX-License-Identifier: Apache-2.0 */
#include "src/store/slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct slab *slab, size_t room)
{
    if (room <= slab->room)
        return true;
    size_t larger = slab->room ? slab->room * 2 : 16;
    while (larger < room)
        larger *= 2;
    struct slab_extent *list = realloc(slab->free_list, larger * sizeof *list);
    if (!list)
        return false;
    slab->free_list = list;
    slab->room = larger;
    return true;
}

bool slab_create(struct slab *slab, uint64_t capacity)
{
    assert(slab && capacity >= SLAB_ALIGN);
    *slab = (struct slab){.capacity = capacity / SLAB_ALIGN * SLAB_ALIGN};
    if (!make_room(slab, 1))
        return false;
    slab->free_list[0] = (struct slab_extent){0, slab->capacity};
    slab->count = 1;
    return true;
}

void slab_destroy(struct slab *slab)
{
    assert(slab);
    free(slab->free_list);
    *slab = (struct slab){0};
}

uint64_t slab_rounded(uint64_t length)
{
    assert(length <= UINT64_MAX - SLAB_ALIGN);
    return (length + SLAB_ALIGN - 1) / SLAB_ALIGN * SLAB_ALIGN;
}

bool slab_copy(const struct slab *slab, struct slab *out)
{
    assert(slab && out && slab->count <= slab->room);
    *out = *slab;
    out->free_list = malloc(slab->room * sizeof *out->free_list);
    if (!out->free_list)
        return false;
    memcpy(out->free_list, slab->free_list, slab->count * sizeof *out->free_list);
    return true;
}

bool slab_fits(const struct slab *slab, uint64_t length)
{
    assert(slab && length);
    for (size_t i = 0; i < slab->count; i++) {
        if (slab->free_list[i].length >= slab_rounded(length))
            return true;
    }
    return false;
}

static void remove_at(struct slab *slab, size_t i)
{
    memmove(&slab->free_list[i], &slab->free_list[i + 1],
            (slab->count - i - 1) * sizeof slab->free_list[0]);
    slab->count--;
}

bool slab_take(struct slab *slab, uint64_t length, uint64_t *offset)
{
    assert(slab && length && offset);
    uint64_t size = slab_rounded(length);
    /* n pieces taken leave at most n + 1 free extents, and giving back must not fail. */
    if (!make_room(slab, slab->taken + 2))
        return false;
    for (size_t i = 0; i < slab->count; i++) {
        struct slab_extent *e = &slab->free_list[i];
        if (e->length < size)
            continue;
        *offset = e->offset;
        e->offset += size;
        e->length -= size;
        if (e->length == 0)
            remove_at(slab, i);
        slab->used += size;
        slab->taken++;
        return true;
    }
    return false;
}

void slab_give(struct slab *slab, uint64_t offset, uint64_t length)
{
    uint64_t size = slab_rounded(length);
    assert(slab && size && slab->taken && size <= slab->used && offset + size <= slab->capacity);
    size_t i = 0;
    while (i < slab->count && slab->free_list[i].offset < offset)
        i++;
    struct slab_extent *before = i > 0 ? &slab->free_list[i - 1] : NULL;
    struct slab_extent *after = i < slab->count ? &slab->free_list[i] : NULL;
    assert(!before || before->offset + before->length <= offset);
    assert(!after || offset + size <= after->offset);
    bool joins_before = before && before->offset + before->length == offset;
    bool joins_after = after && offset + size == after->offset;
    slab->used -= size;
    slab->taken--;
    if (joins_before) {
        before->length += size + (joins_after ? after->length : 0);
        if (joins_after)
            remove_at(slab, i);
    } else if (joins_after) {
        after->offset = offset;
        after->length += size;
    } else {
        assert(slab->count < slab->room);
        memmove(&slab->free_list[i + 1], &slab->free_list[i],
                (slab->count - i) * sizeof slab->free_list[0]);
        slab->free_list[i] = (struct slab_extent){offset, size};
        slab->count++;
    }
}
