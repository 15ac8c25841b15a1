/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_hw/rdma/handles.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

#define PLACE_BITS 20
#define PLACE_MASK ((1u << PLACE_BITS) - 1)
#define GENERATION_MASK ((1u << (32 - PLACE_BITS)) - 1)

static void append_free(struct rdma_handles *handles, uint32_t place)
{
    handles->slots[place].next = 0;
    if (handles->last_free)
        handles->slots[handles->last_free - 1].next = place + 1;
    else
        handles->first_free = place + 1;
    handles->last_free = place + 1;
}

static bool grow(struct rdma_handles *handles)
{
    uint32_t before = handles->capacity, after = before ? before * 2 : 64;
    if (before >= PLACE_MASK)
        return false;
    after = after > PLACE_MASK ? PLACE_MASK : after;
    struct rdma_slot *grown = realloc(handles->slots, after * sizeof(*grown));
    if (!grown)
        return false;
    handles->slots = grown;
    handles->capacity = after;
    for (uint32_t place = before; place < after; place++) {
        grown[place] = (struct rdma_slot){.kind = RDMA_FREE};
        append_free(handles, place);
    }
    return true;
}

uint32_t rdma_handles_new(struct rdma_handles *handles, enum rdma_kind kind, void *object)
{
    assert(kind != RDMA_FREE && object);
    if (!handles->first_free && !grow(handles))
        return 0;
    uint32_t place = handles->first_free - 1;
    struct rdma_slot *slot = &handles->slots[place];
    handles->first_free = slot->next;
    if (!handles->first_free)
        handles->last_free = 0;
    slot->object = object;
    slot->kind = (uint16_t)kind;
    return (uint32_t)slot->generation << PLACE_BITS | (place + 1);
}

static struct rdma_slot *slot_of(const struct rdma_handles *handles, uint32_t id)
{
    uint32_t place = (id & PLACE_MASK) - 1;
    if ((id & PLACE_MASK) == 0 || place >= handles->capacity)
        return NULL;
    struct rdma_slot *slot = &handles->slots[place];
    bool same = slot->generation == id >> PLACE_BITS || PLANTED(rdma_old_handle_taken);
    return same ? slot : NULL;
}

void *rdma_handles_find(const struct rdma_handles *handles, uint32_t id, enum rdma_kind kind)
{
    const struct rdma_slot *slot = slot_of(handles, id);
    assert(kind != RDMA_FREE);
    return slot && slot->kind == kind ? slot->object : NULL;
}

void *rdma_handles_get(const struct rdma_handles *handles, uint32_t id, enum rdma_kind kind)
{
    void *object = rdma_handles_find(handles, id, kind);
    assert(object); /* a handle that is not in use */
    return object;
}

void rdma_handles_remove(struct rdma_handles *handles, uint32_t id)
{
    struct rdma_slot *slot = slot_of(handles, id);
    assert(slot && slot->kind != RDMA_FREE);
    slot->object = NULL;
    slot->kind = RDMA_FREE;
    slot->generation = (uint16_t)((slot->generation + 1) & GENERATION_MASK);
    append_free(handles, (uint32_t)(slot - handles->slots));
}

void rdma_handles_free(struct rdma_handles *handles)
{
    free(handles->slots);
    *handles = (struct rdma_handles){0};
}

/* ------------------------------------------------------------------ numbers of the device */

/* Where `number` is, or belongs. */
static size_t place_of(const struct rdma_numbers *numbers, uint32_t number)
{
    size_t low = 0, high = numbers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (numbers->entries[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool rdma_numbers_set(struct rdma_numbers *numbers, uint32_t number, void *object)
{
    assert(object);
    size_t place = place_of(numbers, number);
    if (place < numbers->count && numbers->entries[place].number == number) {
        numbers->entries[place].object = object;
        return true;
    }
    if (numbers->count == numbers->capacity) {
        size_t capacity = numbers->capacity ? numbers->capacity * 2 : 16;
        struct rdma_number *grown = realloc(numbers->entries, capacity * sizeof(*grown));
        if (!grown)
            return false;
        numbers->entries = grown;
        numbers->capacity = capacity;
    }
    memmove(&numbers->entries[place + 1], &numbers->entries[place],
            (numbers->count - place) * sizeof(*numbers->entries));
    numbers->entries[place] = (struct rdma_number){number, object};
    numbers->count++;
    return true;
}

void *rdma_numbers_find(const struct rdma_numbers *numbers, uint32_t number)
{
    size_t place = place_of(numbers, number);
    bool there = place < numbers->count && numbers->entries[place].number == number;
    return there ? numbers->entries[place].object : NULL;
}

void rdma_numbers_remove(struct rdma_numbers *numbers, uint32_t number, const void *object)
{
    size_t place = place_of(numbers, number);
    assert(object);
    if (rdma_numbers_find(numbers, number) != object)
        return;
    numbers->count--;
    memmove(&numbers->entries[place], &numbers->entries[place + 1],
            (numbers->count - place) * sizeof(*numbers->entries));
}
