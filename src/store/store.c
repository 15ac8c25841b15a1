/* SPDX-License-Identifier: Apache-2.0 */
#include "src/store/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/fabric/planted.h"
#include "src/store/store_state.h"

#define STORE_STEP 64u /* blocks that a PUT may evict, or more if they are smaller than itself */
/* Blocks whose eviction is considered for one PUT that does not fit: twice as many of the smallest
 * as the largest value covers. */
#define STORE_LOOKS 8192u

/* Aligned so that large pages can carry it. */
static void *memory_new(uint64_t capacity)
{
    const uint64_t align = capacity < STORE_LARGE_PAGE ? SLAB_ALIGN : STORE_LARGE_PAGE;
    return aligned_alloc(align, (size_t)((capacity + align - 1) / align * align));
}

enum fabric_error store_create(const struct store_init *init, struct store **out)
{
    assert(init && out && init->capacity >= SLAB_ALIGN);
    struct store *s = calloc(1, sizeof *s);
    if (!s)
        return ERR_RESOURCES_EXHAUSTED;
    s->init = *init;
    s->bucket_count = 64;
    s->buckets = calloc(s->bucket_count, sizeof(struct store_block *));
    bool ok = s->buckets && slab_create(&s->slab, init->capacity);
    /* Not cleared: a page that no block touched costs nothing. */
    if (ok)
        s->memory = memory_new(s->slab.capacity);
    if (!ok || !s->memory) {
        store_destroy(s);
        return ERR_RESOURCES_EXHAUSTED;
    }
    enum fabric_error error = store_media_create(s);
    if (error) {
        store_destroy(s);
        return error;
    }
    *out = s;
    return FABRIC_OK;
}

void store_destroy(struct store *store)
{
    if (!store)
        return;
    store_media_destroy(store); /* may leave the memory to the fabric */
    for (struct store_block *b = store->orders[STORE_BY_USE].newest; b;) {
        struct store_block *older = b->links[STORE_BY_USE].older;
        free(b);
        b = older;
    }
    slab_destroy(&store->slab);
    free(store->memory);
    free(store->buckets);
    free(store);
}

void *store_memory(const struct store *store, uint64_t *length)
{
    assert(store && length);
    *length = store->slab.capacity;
    return store->memory;
}

void store_counts(const struct store *store, struct store_counts *out)
{
    assert(store && out);
    *out = (struct store_counts){.blocks = store->blocks,
                                 .used = store->slab.used,
                                 .capacity = store->slab.capacity,
                                 .evictions = store->evictions,
                                 .refusals = store->refusals,
                                 .resident = store->slab.used};
    store_media_counts(store, out);
}

uint64_t store_hash(const struct store *s, const void *key, size_t length)
{
    assert(key && length >= 1 && length <= STORE_MAX_KEY);
    return XXH3_64bits_withSeed(key, length, s->init.seed);
}

static struct store_block **slot_of(const struct store *s, uint64_t hash)
{
    return &s->buckets[hash & (s->bucket_count - 1)];
}

struct store_block *store_find(const struct store *s, const void *key, size_t length, uint64_t hash)
{
    for (struct store_block *b = *slot_of(s, hash); b; b = b->chain) {
        if (b->hash == hash && b->key_length == length && memcmp(b->key, key, length) == 0)
            return b;
    }
    return NULL;
}

static struct store_block *find(const struct store *s, const void *key, size_t length)
{
    return store_find(s, key, length, store_hash(s, key, length));
}

/* Keeps chains short; without memory they merely become longer. */
static void grow(struct store *s)
{
    size_t count = s->bucket_count * 2;
    struct store_block **buckets = calloc(count, sizeof(struct store_block *));
    if (!buckets)
        return;
    free(s->buckets);
    s->buckets = buckets;
    s->bucket_count = count;
    for (struct store_block *b = s->orders[STORE_BY_USE].newest; b;
         b = b->links[STORE_BY_USE].older) {
        struct store_block **slot = slot_of(s, b->hash);
        b->chain = *slot;
        *slot = b;
    }
}

void store_order_remove(struct store *s, int order, struct store_block *b)
{
    struct store_order *o = &s->orders[order];
    struct store_links *l = &b->links[order];
    if (l->newer)
        l->newer->links[order].older = l->older;
    else
        o->newest = l->older;
    if (l->older)
        l->older->links[order].newer = l->newer;
    else
        o->oldest = l->newer;
    l->newer = l->older = NULL;
}

void store_order_front(struct store *s, int order, struct store_block *b)
{
    struct store_order *o = &s->orders[order];
    b->links[order] = (struct store_links){.older = o->newest};
    if (o->newest)
        o->newest->links[order].newer = b;
    else
        o->oldest = b;
    o->newest = b;
}

void store_release(struct store *s, struct store_block *b)
{
    assert(!b->visible && b->pins == 0);
    if (b->resident && !b->given)
        slab_give(&s->slab, b->offset, b->length);
    if (b->entry)
        media_release(s->media[b->drive], b->entry);
    free(b);
}

void store_hide(struct store *s, struct store_block *b)
{
    assert(b->visible && s->blocks > 0);
    struct store_block **slot = slot_of(s, b->hash);
    while (*slot != b)
        slot = &(*slot)->chain;
    *slot = b->chain;
    store_order_remove(s, STORE_BY_USE, b);
    if (b->resident)
        store_order_remove(s, STORE_IN_MEMORY, b);
    b->visible = false;
    s->blocks--;
    store_media_end(s, b);
    if (PLANTED(store_pinned_freed))
        b->pins = 0;
    if (b->pins == 0)
        store_release(s, b);
}

bool store_evict_one(struct store *s, int drive)
{
    assert(s);
    struct store_block *b = s->orders[STORE_BY_USE].oldest;
    while (b && ((b->pins > 0 && !PLANTED(store_evicts_pinned)) ||
                 (drive >= 0 && b->drive != (uint32_t)drive)))
        b = b->links[STORE_BY_USE].newer;
    if (!b)
        return false;
    store_hide(s, b);
    s->evictions++;
    return true;
}

/* The oldest that are not in use give their room until a run of `size` bytes is free, or too many
 * were looked at; how many gave it. */
static uint32_t give_oldest(struct store *s, uint64_t size)
{
    uint32_t given = 0;
    struct store_block *b = s->init.evicts ? s->orders[STORE_BY_USE].oldest : NULL;
    for (; b && given < STORE_LOOKS && !slab_fits(&s->slab, size);
         b = b->links[STORE_BY_USE].newer) {
        if (b->pins && !PLANTED(store_evicts_pinned))
            continue;
        slab_give(&s->slab, b->offset, b->length);
        b->given = true;
        given++;
    }
    return given;
}

/* Makes room for a run of `size` bytes. Who gave room that is no part of it takes it again; all do
 * when no eviction makes the run: a refusal changes nothing. */
static bool make_run(struct store *s, uint64_t size)
{
    uint32_t given = give_oldest(s, size);
    bool fits = slab_fits(&s->slab, size);
    uint64_t begin = fits ? slab_first_fit(&s->slab, size) : 0, end = begin + size;
    struct store_block *newer, *each = s->orders[STORE_BY_USE].oldest;
    for (; each && given; each = newer) {
        newer = each->links[STORE_BY_USE].newer;
        if (!each->given)
            continue;
        given--;
        bool part = each->offset < end && begin < each->offset + each->length;
        if ((fits && (part || PLANTED(store_evicts_beside))) || PLANTED(store_evicts_in_vain)) {
            store_hide(s, each);
            s->evictions++;
        } else {
            slab_retake(&s->slab, each->offset, each->length);
            each->given = false;
        }
    }
    return fits;
}

/* MK-J3: eviction begins above start_percent and goes on down to stop_percent, so that a PUT rarely
 * waits for it; in steps, so that no PUT makes others wait. A step frees more than a PUT took. */
static void evict_some(struct store *s, uint64_t taken)
{
    uint64_t start = s->slab.capacity * s->init.start_percent / 100;
    uint64_t stop = s->slab.capacity * s->init.stop_percent / 100;
    uint64_t before = s->slab.used;
    if (s->slab.used > start && !PLANTED(store_start_ignored))
        s->evicting = s->init.evicts;
    for (uint32_t i = 0; s->evicting && s->slab.used > stop; i++) {
        bool enough = i >= STORE_STEP && before - s->slab.used > 2 * taken;
        if ((enough && !PLANTED(store_evicts_at_once)) || !store_evict_one(s, -1))
            return;
    }
    s->evicting = false;
}

static bool take(struct store *s, uint64_t length, uint64_t *offset)
{
    uint64_t size = slab_rounded(length);
    if (!slab_fits(&s->slab, size) && !make_run(s, size))
        return false;
    if (!slab_take(&s->slab, length, offset))
        return false;
    evict_some(s, size);
    return true;
}

static enum fabric_error take_room(struct store *s, struct store_block *b)
{
    if (slab_rounded(b->length) > s->slab.capacity)
        return ERR_STORE_FULL;
    if (s->media_count > 0)
        return store_media_reserve(s, b);
    return take(s, b->length, &b->offset) ? FABRIC_OK : ERR_STORE_FULL;
}

enum fabric_error store_reserve(struct store *store, const void *key, size_t key_length,
                                uint64_t length, struct store_block **out)
{
    assert(store && key && key_length >= 1 && key_length <= STORE_MAX_KEY && length && out);
    struct store_block *b = calloc(1, sizeof *b);
    if (!b)
        return ERR_RESOURCES_EXHAUSTED;
    b->length = length;
    b->hash = store_hash(store, key, key_length);
    b->key_length = (uint8_t)key_length;
    memcpy(b->key, key, key_length);
    enum fabric_error error = take_room(store, b);
    if (error) {
        free(b);
        store->refusals += error == ERR_STORE_FULL;
        return error;
    }
    b->resident = true;
    *out = b;
    if (PLANTED(store_visible_early))
        store_commit(store, b, (const uint8_t[STORE_TAG_BYTES]){0});
    return FABRIC_OK;
}

void store_arrived(struct store *store, struct store_block *block, uint64_t length)
{
    struct store_block *b = block;
    assert(store && b);
    if (store->media_count == 0)
        return;
    assert(!b->visible && !b->has_checksum && length <= b->length - b->summed);
    if (b->summed == 0 && !b->sum)
        b->sum = media_sum_new();
    if (b->sum) /* else there was no memory, and store_save looks at them again */
        media_sum_add(b->sum, (const uint8_t *)store_data(store, b) + b->summed, length);
    b->summed += length;
}

void store_sum_end(struct store_block *b)
{
    assert(b && !b->has_checksum);
    b->has_checksum = b->sum && (b->summed == b->length || PLANTED(store_sum_of_a_part));
    media_sum_end(b->sum, b->has_checksum ? b->checksum : NULL);
    b->sum = NULL;
}

void store_show(struct store *s, struct store_block *b)
{
    assert(s && b && !b->visible);
    struct store_block **slot = slot_of(s, b->hash);
    b->chain = *slot;
    *slot = b;
    b->visible = true;
    store_order_front(s, STORE_BY_USE, b);
    if (b->resident)
        store_order_front(s, STORE_IN_MEMORY, b);
    s->blocks++;
    if (s->blocks > 2 * s->bucket_count)
        grow(s);
}

void store_commit(struct store *store, struct store_block *block,
                  const uint8_t tag[STORE_TAG_BYTES])
{
    assert(store && block && tag);
    if (PLANTED(store_visible_early) && block->visible) {
        memcpy(block->tag, tag, STORE_TAG_BYTES);
        return;
    }
    assert(!block->visible && block->pins == 0);
    struct store_block *old = find(store, block->key, block->key_length);
    if (old)
        store_hide(store, old);
    memcpy(block->tag, tag, STORE_TAG_BYTES);
    store_show(store, block);
}

void store_abandon(struct store *store, struct store_block *block)
{
    assert(store && block);
    if (PLANTED(store_visible_early) && block->visible)
        return;
    assert(!block->visible && block->pins == 0);
    media_sum_end(block->sum, NULL);
    block->sum = NULL;
    if (store->media_count > 0)
        store->held -= slab_rounded(block->length);
    store_release(store, block);
}

struct store_block *store_pin(struct store *store, const void *key, size_t key_length)
{
    assert(store);
    struct store_block *b = find(store, key, key_length);
    if (!b)
        return NULL;
    b->pins++;
    if (!PLANTED(store_lru_ignored)) {
        store_order_remove(store, STORE_BY_USE, b);
        store_order_front(store, STORE_BY_USE, b);
        if (b->resident) {
            store_order_remove(store, STORE_IN_MEMORY, b);
            store_order_front(store, STORE_IN_MEMORY, b);
        }
    }
    return b;
}

void store_unpin(struct store *store, struct store_block *block)
{
    assert(store && block && block->pins > 0);
    block->pins--;
    if (block->pins == 0 && !block->visible)
        store_release(store, block);
}

bool store_exists(const struct store *store, const void *key, size_t key_length)
{
    assert(store);
    return find(store, key, key_length) != NULL;
}

void *store_data(const struct store *store, const struct store_block *block)
{
    assert(store && block && block->offset + block->length <= store->slab.capacity);
    return store->memory + block->offset;
}

uint64_t store_offset(const struct store_block *block)
{
    assert(block);
    return block->offset;
}

uint64_t store_length(const struct store_block *block)
{
    assert(block);
    return block->length;
}

const uint8_t *store_tag(const struct store_block *block)
{
    assert(block);
    return block->tag;
}

void store_set_maker(struct store_block *block, uint32_t maker)
{
    assert(block);
    block->maker = maker;
}

uint32_t store_maker(const struct store_block *block)
{
    assert(block);
    return block->maker;
}
