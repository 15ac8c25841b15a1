/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/world/guid_map.h"

#include <assert.h>
#include <stdlib.h>

/* Finalizer of a 64-bit mix: consecutive GUIDs must not cluster. */
static size_t home(uint64_t guid, size_t capacity)
{
    guid ^= guid >> 32;
    guid *= UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(guid >> 20) & (capacity - 1);
}

static struct guid_map_slot *probe(const struct guid_map *map, uint64_t guid)
{
    size_t at = home(guid, map->capacity);

    while (map->slots[at].guid != 0 && map->slots[at].guid != guid)
        at = (at + 1) & (map->capacity - 1);
    return &map->slots[at];
}

static void grow(struct guid_map *map)
{
    struct guid_map bigger = {.capacity = map->capacity ? 2 * map->capacity : 64};

    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        abort();
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].guid)
            *probe(&bigger, map->slots[i].guid) = map->slots[i];
    bigger.count = map->count;
    free(map->slots);
    *map = bigger;
}

void guid_map_put(struct guid_map *map, uint64_t guid, uint32_t index)
{
    struct guid_map_slot *slot;

    assert(guid != 0);
    if (2 * (map->count + 1) > map->capacity)
        grow(map);
    slot = probe(map, guid);
    assert(slot->guid == 0);
    *slot = (struct guid_map_slot){.guid = guid, .index = index};
    map->count++;
}

uint32_t guid_map_get(const struct guid_map *map, uint64_t guid)
{
    const struct guid_map_slot *slot;

    if (!map->capacity || guid == 0)
        return GUID_MAP_NONE;
    slot = probe(map, guid);
    return slot->guid == guid ? slot->index : GUID_MAP_NONE;
}

void guid_map_clear(struct guid_map *map)
{
    free(map->slots);
    *map = (struct guid_map){0};
}
