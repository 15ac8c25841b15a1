/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions that stand in for windows: where the device has none of type 1, or nothing to bind them
 * through, a range is lent by registering it under a key of its own and taken back by deregistering
 * it, which the device has done when the call returns (vol. 1, chapter 10.6.3.4). It costs a look
 * at every page, but lends as narrowly.
 *
 * The driver may give the key of a region out again at once. Keys taken back rest in the younger of
 * two sets; when that is as old as a quarantine the older one is forgotten, and they change places.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

#define FRESH_TRIES 16 /* regions held at once in search of a key that does not rest */
#define FIRST_CAPACITY 64u

/* ------------------------------------------------------------------ keys that rest */

/* Its place, or that of the empty one where it would be. */
static size_t place_of(const struct rdma_keys *set, uint32_t key)
{
    size_t mask = set->capacity - 1, place = (key * UINT32_C(2654435761)) & mask;
    assert(set->count < set->capacity);
    while (set->keys[place] && set->keys[place] != key)
        place = (place + 1) & mask;
    return place;
}

static bool has(const struct rdma_keys *set, uint32_t key)
{
    return set->count > 0 && set->keys[place_of(set, key)] == key;
}

static bool grow(struct rdma_keys *set)
{
    struct rdma_keys larger = {.capacity = set->capacity ? 2 * set->capacity : FIRST_CAPACITY};
    larger.keys = calloc(larger.capacity, sizeof(*larger.keys));
    if (!larger.keys)
        return false;
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->keys[i])
            larger.keys[place_of(&larger, set->keys[i])] = set->keys[i];
    }
    larger.count = set->count;
    free(set->keys);
    *set = larger;
    return true;
}

/* With room for what is lent; without memory the keys rest longer. */
static void age(struct rdma_rest *rest, uint64_t now)
{
    struct rdma_keys young = {.capacity = FIRST_CAPACITY};
    if (now - rest->since < FABRIC_KEY_QUARANTINE)
        return;
    while (young.capacity < 2 * rest->lent)
        young.capacity *= 2;
    young.keys = calloc(young.capacity, sizeof(*young.keys));
    if (!young.keys)
        return;
    free(rest->old.keys);
    rest->old = rest->young;
    rest->young = young;
    rest->since = now;
}

/* Room is made before a key is lent, so that taking it back cannot fail. */
static bool reserve(struct rdma_rest *rest)
{
    struct rdma_keys *young = &rest->young;
    return 2 * (young->count + rest->lent + 1) <= young->capacity || grow(young);
}

static bool rests(const struct rdma_rest *rest, uint32_t key)
{
    return key == 0 ||
           (!PLANTED(rdma_region_key_unrested) && (has(&rest->young, key) || has(&rest->old, key)));
}

void rdma_rest_free(struct rdma_rest *rest)
{
    assert(rest->lent == 0);
    free(rest->young.keys);
    free(rest->old.keys);
    *rest = (struct rdma_rest){0};
}

/* ------------------------------------------------------------------ regions */

static struct ibv_mr *enter(struct rdma_window *window)
{
    struct rdma_device *device = window->object.device;
    const struct rdma_mr *of = window->mr;
    uint8_t *addr = of->addr + (window->iova - of->iova);
    bool writes = window->access & FABRIC_ACCESS_REMOTE_WRITE;
    bool reads = window->access & FABRIC_ACCESS_REMOTE_READ;
    int access = (writes ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0) |
                 (reads ? IBV_ACCESS_REMOTE_READ : 0);
    errno = 0;
    struct ibv_mr *mr = device->rdma->calls->reg_mr_iova(device->pd, addr, (size_t)window->length,
                                                         window->iova, access);
    if (!mr)
        (void)rdma_failed(device, "ibv_reg_mr_iova", errno);
    return mr;
}

static void leave(struct rdma_device *device, struct ibv_mr *mr)
{
    int number = device->rdma->calls->dereg_mr(mr);
    if (number)
        (void)rdma_failed(device, "ibv_dereg_mr", number);
}

bool rdma_lend(struct rdma_window *window)
{
    struct rdma_device *device = window->object.device;
    struct rdma_rest *rest = &device->rest;
    struct ibv_mr *tried[FRESH_TRIES];
    size_t count = 0;
    assert(!window->lent && !window->mw);
    age(rest, rdma_clock(device->rdma));
    if (!reserve(rest))
        return false;
    while (!window->lent && count < FRESH_TRIES && (tried[count] = enter(window)) != NULL) {
        if (rests(rest, tried[count]->rkey))
            count++; /* held, or the next one might get the same key */
        else
            window->lent = tried[count];
    }
    while (count > 0)
        leave(device, tried[--count]);
    rest->lent += window->lent != NULL;
    return window->lent != NULL;
}

void rdma_lent_back(struct rdma_window *window)
{
    struct rdma_device *device = window->object.device;
    struct rdma_rest *rest = &device->rest;
    uint32_t key = window->lent->rkey;
    assert(rest->lent > 0);
    if (!PLANTED(rdma_region_kept))
        leave(device, window->lent);
    window->lent = NULL;
    age(rest, rdma_clock(device->rdma));
    rest->lent--;
    if (has(&rest->young, key))
        return;
    rest->young.keys[place_of(&rest->young, key)] = key;
    rest->young.count++;
}
