/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/handles.h"

#include <assert.h>
#include <stdlib.h>

#include "src/fabric/planted.h"

#define FIRST_CAPACITY 32

static uint32_t home(const struct handles *handles, uint32_t id)
{
    return id * 0x9e3779b1u & (handles->capacity - 1);
}

static struct handle_slot *slot_of(const struct handles *handles, uint32_t id)
{
    if (!handles->capacity)
        return NULL;
    assert(id && (handles->capacity & (handles->capacity - 1)) == 0);
    uint32_t at = home(handles, id);
    while (handles->slots[at].id && handles->slots[at].id != id)
        at = (at + 1) & (handles->capacity - 1);
    return &handles->slots[at];
}

static void grow(struct handles *handles)
{
    struct handles bigger = *handles;
    bigger.capacity = handles->capacity ? handles->capacity * 2 : FIRST_CAPACITY;
    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    assert(bigger.slots && bigger.capacity > handles->count);
    for (uint32_t i = 0; i < handles->capacity; i++) {
        if (handles->slots[i].id)
            *slot_of(&bigger, handles->slots[i].id) = handles->slots[i];
    }
    free(handles->slots);
    *handles = bigger;
}

void handles_put(struct handles *handles, uint32_t id, enum handle_kind kind, void *object)
{
    assert(id && kind && object);
    if (handles->count * 2 >= handles->capacity)
        grow(handles);
    struct handle_slot *slot = slot_of(handles, id);
    assert(!slot->id);
    *slot = (struct handle_slot){id, kind, object};
    handles->count++;
}

uint32_t handles_new(struct handles *handles, enum handle_kind kind, void *object)
{
    uint32_t id = PLANTED(front_handle_reused) ? handles->count + 1 : ++handles->last;
    handles->last = id > handles->last ? id : handles->last;
    assert(handles->last < UINT32_MAX);
    handles_put(handles, id, kind, object);
    return id;
}

void *handles_find(const struct handles *handles, uint32_t id, enum handle_kind kind)
{
    const struct handle_slot *slot = slot_of(handles, id);
    return slot && slot->id && slot->kind == kind ? slot->object : NULL;
}

void *handles_get(const struct handles *handles, uint32_t id, enum handle_kind kind)
{
    void *object = handles_find(handles, id, kind);
    assert(object);
    return object;
}

/* Entries that stood behind the removed one because of it move up. */
void handles_remove(struct handles *handles, uint32_t id)
{
    struct handle_slot *slot = slot_of(handles, id);
    assert(slot && slot->id == id);
    uint32_t hole = (uint32_t)(slot - handles->slots), mask = handles->capacity - 1;
    for (uint32_t at = (hole + 1) & mask; handles->slots[at].id; at = (at + 1) & mask) {
        uint32_t want = home(handles, handles->slots[at].id);
        if (((at - want) & mask) >= ((at - hole) & mask)) {
            handles->slots[hole] = handles->slots[at];
            hole = at;
        }
    }
    assert(handles->count > 0);
    handles->slots[hole] = (struct handle_slot){0};
    handles->count--;
}

void handles_free(struct handles *handles)
{
    free(handles->slots);
    *handles = (struct handles){0};
}
