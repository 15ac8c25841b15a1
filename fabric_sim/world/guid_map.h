/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GUID to index. Only for looking up: nothing can iterate over it, so that its order can decide
 * nothing.
 */
#ifndef FABRIC_SIM_WORLD_GUID_MAP_H
#define FABRIC_SIM_WORLD_GUID_MAP_H

#include <stddef.h>
#include <stdint.h>

#define GUID_MAP_NONE UINT32_MAX

struct guid_map { /* all zero is empty */
    struct guid_map_slot {
        uint64_t guid; /* 0: free */
        uint32_t index;
    } * slots;
    size_t capacity, count;
};

void guid_map_put(struct guid_map *map, uint64_t guid, uint32_t index); /* guid not 0 and new */
uint32_t guid_map_get(const struct guid_map *map, uint64_t guid);       /* or GUID_MAP_NONE */
void guid_map_clear(struct guid_map *map);                              /* frees */

#endif
