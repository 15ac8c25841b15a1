/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/simfabric/objects.h"

#include <assert.h>
#include <stdlib.h>

#include "src/fabric/planted.h"

/* A handle: generation above, index + 1 below. */
#define INDEX_BITS 21
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
#define GENERATION_MASK ((1u << (32 - INDEX_BITS)) - 1)

static void *grown(void *array, size_t count, size_t size)
{
    void *larger = realloc(array, count * size);
    if (!larger)
        abort();
    return larger;
}

static void grow(struct objects *objects)
{
    uint32_t capacity = objects->capacity ? objects->capacity * 2 : 64;
    assert(objects->free_count == 0 && capacity <= INDEX_MASK);
    objects->at = grown(objects->at, capacity, sizeof(objects->at[0]));
    objects->generations = grown(objects->generations, capacity, sizeof(objects->generations[0]));
    objects->free = grown(objects->free, capacity, sizeof(objects->free[0]));
    for (uint32_t i = objects->capacity; i < capacity; i++) {
        objects->at[i] = NULL;
        objects->generations[i] = 0;
    }
    objects->capacity = capacity;
    objects->free_head = 0;
}

static uint32_t take_index(struct objects *objects)
{
    if (objects->used == objects->capacity && objects->free_count == 0)
        grow(objects);
    if (objects->used < objects->capacity)
        return objects->used++;
    uint32_t index = objects->free[objects->free_head];
    objects->free_head = (objects->free_head + 1) % objects->capacity;
    objects->free_count--;
    return index;
}

void objects_free(struct objects *objects)
{
    for (uint32_t i = 0; i < objects->used; i++) {
        if (objects->at[i])
            objects_drop(objects, objects->at[i]);
    }
    free(objects->at);
    free(objects->generations);
    free(objects->free);
    free(objects->counts);
    *objects = (struct objects){0};
}

static uint32_t *count_of(struct objects *objects, uint32_t client)
{
    uint32_t old = objects->count_capacity;
    if (client >= old) {
        objects->count_capacity = client + 64;
        objects->counts =
            grown(objects->counts, objects->count_capacity, sizeof(objects->counts[0]));
        for (uint32_t i = old; i < objects->count_capacity; i++)
            objects->counts[i] = 0;
    }
    return &objects->counts[client];
}

struct object *objects_add(struct objects *objects, enum object_kind kind, uint32_t client)
{
    assert(kind < OBJECT_KINDS && client);
    uint32_t *count = count_of(objects, client);
    if (*count >= OBJECTS_PER_CLIENT || objects->used - objects->free_count >= INDEX_MASK / 4)
        return NULL;
    ++*count;
    struct object *object = calloc(1, sizeof(*object));
    if (!object)
        abort();
    uint32_t index = take_index(objects);
    objects->at[index] = object;
    object->handle = objects->generations[index] << INDEX_BITS | (index + 1);
    object->kind = kind;
    object->client = client;
    object->outbox.fd = -1;
    return object;
}

void objects_drop(struct objects *objects, struct object *object)
{
    uint32_t index = (object->handle & INDEX_MASK) - 1;
    assert(index < objects->used && objects->at[index] == object);
    objects->at[index] = NULL;
    if (!PLANTED(simfabric_handle_reused))
        objects->generations[index] = (objects->generations[index] + 1) & GENERATION_MASK;
    uint32_t tail = (objects->free_head + objects->free_count) % objects->capacity;
    objects->free[tail] = index;
    objects->free_count++;
    --*count_of(objects, object->client);
    outbox_close(&object->outbox);
    free(object);
}

struct object *objects_get(const struct objects *objects, uint32_t handle)
{
    uint32_t index = (handle & INDEX_MASK) - 1; /* of 0: none */
    if (index >= objects->used || !objects->at[index])
        return NULL;
    return objects->at[index]->handle == handle ? objects->at[index] : NULL;
}

struct object *objects_find(const struct objects *objects, uint32_t handle, enum object_kind kind,
                            uint32_t client)
{
    assert(kind < OBJECT_KINDS && client);
    struct object *object = objects_get(objects, handle);
    if (!object || (object->kind != kind && !PLANTED(simfabric_kind_unchecked)))
        return NULL;
    return object->client == client || PLANTED(simfabric_strangers_handle) ? object : NULL;
}

struct object *objects_next(const struct objects *objects, enum object_kind kind, uint32_t client,
                            uint32_t *position)
{
    assert(kind < OBJECT_KINDS && position);
    while (*position < objects->used) {
        struct object *object = objects->at[(*position)++];
        if (object && object->kind == kind && object->client == client)
            return object;
    }
    return NULL;
}

uint32_t objects_count(const struct objects *objects, uint32_t client)
{
    return client < objects->count_capacity ? objects->counts[client] : 0;
}
