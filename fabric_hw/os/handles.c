/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_hw/os/handles.h"

#include <assert.h>
#include <stdlib.h>

#include "src/fabric/planted.h"

#define PLACE_BITS 20
#define PLACE_MASK ((1u << PLACE_BITS) - 1)
#define GENERATION_MASK ((1u << (32 - PLACE_BITS)) - 1)
#define LEAST 64

static void append_free(struct os_handles *handles, uint32_t place)
{
    assert(place < handles->capacity);
    handles->slots[place].next = 0;
    if (handles->last_free)
        handles->slots[handles->last_free - 1].next = place + 1;
    else
        handles->first_free = place + 1;
    handles->last_free = place + 1;
}

static int grow(struct os_handles *handles)
{
    uint32_t before = handles->capacity, after = before ? before * 2 : LEAST;
    if (before >= PLACE_MASK)
        return 0;
    if (after > PLACE_MASK)
        after = PLACE_MASK;
    struct os_slot *grown = realloc(handles->slots, after * sizeof(*grown));
    if (!grown)
        return 0;
    handles->slots = grown;
    handles->capacity = after;
    for (uint32_t place = before; place < after; place++) {
        grown[place] = (struct os_slot){.kind = OS_FREE};
        append_free(handles, place);
    }
    return 1;
}

uint32_t os_handles_new(struct os_handles *handles, enum os_kind kind, void *object)
{
    assert(kind != OS_FREE && object);
    if (!handles->first_free && !grow(handles))
        return 0;
    uint32_t place = handles->first_free - 1;
    struct os_slot *slot = &handles->slots[place];
    handles->first_free = slot->next;
    if (!handles->first_free)
        handles->last_free = 0;
    slot->object = object;
    slot->kind = (uint16_t)kind;
    handles->count++;
    return (uint32_t)slot->generation << PLACE_BITS | (place + 1);
}

static struct os_slot *slot_of(const struct os_handles *handles, uint32_t id)
{
    uint32_t place = (id & PLACE_MASK) - 1;
    if ((id & PLACE_MASK) == 0 || place >= handles->capacity)
        return NULL;
    struct os_slot *slot = &handles->slots[place];
    if (slot->generation != id >> PLACE_BITS && !PLANTED(os_old_handle_taken))
        return NULL;
    return slot;
}

void *os_handles_find(const struct os_handles *handles, uint32_t id, enum os_kind kind)
{
    const struct os_slot *slot = slot_of(handles, id);
    assert(kind != OS_FREE);
    return slot && slot->kind == kind ? slot->object : NULL;
}

void *os_handles_get(const struct os_handles *handles, uint32_t id, enum os_kind kind)
{
    void *object = os_handles_find(handles, id, kind);
    assert(object || (0 && "a handle that is not in use"));
    return object;
}

void os_handles_remove(struct os_handles *handles, uint32_t id)
{
    struct os_slot *slot = slot_of(handles, id);
    assert(slot && slot->kind != OS_FREE && handles->count > 0);
    slot->object = NULL;
    slot->kind = OS_FREE;
    slot->generation = (uint16_t)((slot->generation + 1) & GENERATION_MASK);
    handles->count--;
    append_free(handles, (uint32_t)(slot - handles->slots));
}

void os_handles_free(struct os_handles *handles)
{
    free(handles->slots);
    *handles = (struct os_handles){0};
}
