/* SPDX-License-Identifier: Apache-2.0 */
#include "src/store/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/fabric/planted.h"

#define STORE_STEP 64u /* blocks that a PUT may evict, or more if they are smaller than itself */
/* Blocks whose eviction is considered for one PUT that does not fit: twice as many of the smallest
 * as the largest value covers. */
#define STORE_LOOKS 8192u

struct store_block {
    uint64_t offset, length, hash;
    struct store_block *chain;         /* next in the bucket */
    struct store_block *newer, *older; /* order of last use */
    uint32_t pins, maker;
    bool given;   /* its room is free already */
    bool visible; /* in the index and in the order of use */
    uint8_t key_length;
    uint8_t key[STORE_MAX_KEY];
    uint8_t tag[STORE_TAG_BYTES];
};

struct store {
    struct store_init init;
    struct slab slab;
    uint8_t *memory;
    struct store_block **buckets;
    size_t bucket_count; /* a power of two */
    struct store_block *newest, *oldest;
    bool evicting; /* from start_percent down to stop_percent */
    uint64_t blocks, evictions, refusals;
};

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
        s->memory = aligned_alloc(SLAB_ALIGN, (size_t)s->slab.capacity);
    if (!ok || !s->memory) {
        store_destroy(s);
        return ERR_RESOURCES_EXHAUSTED;
    }
    *out = s;
    return FABRIC_OK;
}

void store_destroy(struct store *store)
{
    if (!store)
        return;
    for (struct store_block *b = store->newest; b;) {
        struct store_block *older = b->older;
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
                                 .refusals = store->refusals};
}

static uint64_t hash_of(const struct store *s, const void *key, size_t length)
{
    assert(key && length >= 1 && length <= STORE_MAX_KEY);
    return XXH3_64bits_withSeed(key, length, s->init.seed);
}

static struct store_block **slot_of(const struct store *s, uint64_t hash)
{
    return &s->buckets[hash & (s->bucket_count - 1)];
}

static struct store_block *find(const struct store *s, const void *key, size_t length)
{
    uint64_t hash = hash_of(s, key, length);
    for (struct store_block *b = *slot_of(s, hash); b; b = b->chain) {
        if (b->hash == hash && b->key_length == length && memcmp(b->key, key, length) == 0)
            return b;
    }
    return NULL;
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
    for (struct store_block *b = s->newest; b; b = b->older) {
        struct store_block **slot = slot_of(s, b->hash);
        b->chain = *slot;
        *slot = b;
    }
}

static void order_remove(struct store *s, struct store_block *b)
{
    if (b->newer)
        b->newer->older = b->older;
    else
        s->newest = b->older;
    if (b->older)
        b->older->newer = b->newer;
    else
        s->oldest = b->newer;
    b->newer = b->older = NULL;
}

static void order_front(struct store *s, struct store_block *b)
{
    b->newer = NULL;
    b->older = s->newest;
    if (s->newest)
        s->newest->newer = b;
    else
        s->oldest = b;
    s->newest = b;
}

static void release(struct store *s, struct store_block *b)
{
    assert(!b->visible && b->pins == 0);
    if (!b->given)
        slab_give(&s->slab, b->offset, b->length);
    free(b);
}

/* Out of sight at once; its room comes back when nobody reads it any more. */
static void hide(struct store *s, struct store_block *b)
{
    assert(b->visible && s->blocks > 0);
    struct store_block **slot = slot_of(s, b->hash);
    while (*slot != b)
        slot = &(*slot)->chain;
    *slot = b->chain;
    order_remove(s, b);
    b->visible = false;
    s->blocks--;
    if (PLANTED(store_pinned_freed))
        b->pins = 0;
    if (b->pins == 0)
        release(s, b);
}

static bool evict_one(struct store *s)
{
    struct store_block *b = s->oldest;
    while (b && b->pins > 0 && !PLANTED(store_evicts_pinned))
        b = b->newer;
    if (!b)
        return false;
    hide(s, b);
    s->evictions++;
    return true;
}

/* The oldest that are not in use give their room until a run of `size` bytes is free, or too many
 * were looked at; how many gave it. */
static uint32_t give_oldest(struct store *s, uint64_t size)
{
    uint32_t given = 0;
    struct store_block *b = s->init.evicts ? s->oldest : NULL;
    for (; b && given < STORE_LOOKS && !slab_fits(&s->slab, size); b = b->newer) {
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
    for (struct store_block *newer, *each = s->oldest; each && given; each = newer) {
        newer = each->newer;
        if (!each->given)
            continue;
        given--;
        bool part = each->offset < end && begin < each->offset + each->length;
        if ((fits && (part || PLANTED(store_evicts_beside))) || PLANTED(store_evicts_in_vain)) {
            hide(s, each);
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
        if ((enough && !PLANTED(store_evicts_at_once)) || !evict_one(s))
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

enum fabric_error store_reserve(struct store *store, const void *key, size_t key_length,
                                uint64_t length, struct store_block **out)
{
    assert(store && key && key_length >= 1 && key_length <= STORE_MAX_KEY && length && out);
    struct store_block *b = calloc(1, sizeof *b);
    if (!b)
        return ERR_RESOURCES_EXHAUSTED;
    bool fits = slab_rounded(length) <= store->slab.capacity;
    if (!fits || !take(store, length, &b->offset)) {
        free(b);
        store->refusals++;
        return ERR_STORE_FULL;
    }
    b->length = length;
    b->hash = hash_of(store, key, key_length);
    b->key_length = (uint8_t)key_length;
    memcpy(b->key, key, key_length);
    *out = b;
    if (PLANTED(store_visible_early))
        store_commit(store, b, (const uint8_t[STORE_TAG_BYTES]){0});
    return FABRIC_OK;
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
        hide(store, old);
    memcpy(block->tag, tag, STORE_TAG_BYTES);
    struct store_block **slot = slot_of(store, block->hash);
    block->chain = *slot;
    *slot = block;
    block->visible = true;
    order_front(store, block);
    store->blocks++;
    if (store->blocks > 2 * store->bucket_count)
        grow(store);
}

void store_abandon(struct store *store, struct store_block *block)
{
    assert(store && block);
    if (PLANTED(store_visible_early) && block->visible)
        return;
    assert(!block->visible && block->pins == 0);
    release(store, block);
}

struct store_block *store_pin(struct store *store, const void *key, size_t key_length)
{
    assert(store);
    struct store_block *b = find(store, key, key_length);
    if (!b)
        return NULL;
    b->pins++;
    if (!PLANTED(store_lru_ignored)) {
        order_remove(store, b);
        order_front(store, b);
    }
    return b;
}

void store_unpin(struct store *store, struct store_block *block)
{
    assert(store && block && block->pins > 0);
    block->pins--;
    if (block->pins == 0 && !block->visible)
        release(store, block);
}

bool store_exists(const struct store *store, const void *key, size_t key_length)
{
    assert(store);
    return find(store, key, key_length) != NULL;
}

bool store_delete(struct store *store, const void *key, size_t key_length)
{
    assert(store);
    struct store_block *b = find(store, key, key_length);
    if (b)
        hide(store, b);
    return b != NULL;
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
