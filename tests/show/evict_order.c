/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MK-J3 against a model, in memory: random puts, gets, deletions and transfers that stay open.
 * After every step the store must hold exactly the blocks that the rule leaves: eviction begins
 * above start_percent, takes the least recently used that nobody reads, ends at stop_percent. Where
 * the room is in pieces, so that the rule leaves a choice, nothing under transfer may go. Every
 * page of what is read or written is compared at the end of its transfer.
 *
 *   evict_order FIRST COUNT      seeds
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/store/store_state.h"
#include "tests/support/seeded.h"

#define KEYS 24
#define STEPS 160
#define READS 5
#define WRITES 3

struct entry { /* a block as the model has it */
    bool visible;
    uint64_t used, pages; /* used: when it was used last */
    uint32_t version, readers;
};

struct transfer {
    struct store_block *block; /* null: none */
    unsigned key;
    uint32_t version;
    uint64_t pages;
    bool current; /* a read: the block is still the one under its key */
};

struct totals {
    uint64_t seeds, steps, evictions, compared, violations;
};

struct run {
    struct seeded seeded;
    uint64_t clock, capacity, start, stop, used, evictions;
    bool evicting;
    struct store *store;
    struct entry entries[KEYS];
    struct transfer reads[READS], writes[WRITES];
    uint32_t version;
    struct totals *totals;
};

static size_t name_of(unsigned key, char text[8])
{
    return (size_t)snprintf(text, 8, "k%u", key);
}

/* ------------------------------------------------------------------ contents */

static void fill(struct run *r, const struct transfer *t)
{
    uint8_t *data = store_data(r->store, t->block);
    for (uint64_t i = 0; i < t->pages; i++)
        memcpy(data + i * SLAB_ALIGN, &t->version, sizeof t->version);
}

static void compare(struct run *r, const struct transfer *t, const char *what)
{
    const uint8_t *data = store_data(r->store, t->block);
    for (uint64_t i = 0; i < t->pages; i++) {
        if (memcmp(data + i * SLAB_ALIGN, &t->version, sizeof t->version) != 0) {
            seeded_violation(&r->seeded, "k%u changed while it was %s", t->key, what);
            return;
        }
    }
    r->totals->compared++;
}

/* ------------------------------------------------------------------ the model */

static struct entry *oldest(struct run *r)
{
    struct entry *found = NULL;
    for (unsigned i = 0; i < KEYS; i++) {
        struct entry *e = &r->entries[i];
        if (e->visible && !e->readers && (!found || e->used < found->used))
            found = e;
    }
    return found;
}

static void vanish(struct run *r, struct entry *e)
{
    e->visible = false;
    for (unsigned i = 0; i < READS; i++) {
        if (r->reads[i].block && &r->entries[r->reads[i].key] == e)
            r->reads[i].current = false;
    }
    if (!e->readers)
        r->used -= e->pages;
    e->readers = 0; /* of the next block under this key */
}

/* What MK-J3 makes of a reservation that found its room. */
static void rule(struct run *r)
{
    if (r->used > r->start)
        r->evicting = true;
    while (r->evicting && r->used > r->stop) {
        struct entry *e = oldest(r);
        if (!e)
            return;
        vanish(r, e);
        r->evictions++;
    }
    r->evicting = false;
}

/* ------------------------------------------------------------------ comparing */

static bool is_there(const struct run *r, unsigned key)
{
    char text[8];
    const size_t length = name_of(key, text);
    return store_exists(r->store, text, length);
}

static void look(struct run *r, const char *after)
{
    struct store_counts n;
    store_counts(r->store, &n);
    for (unsigned i = 0; i < KEYS; i++) {
        if (is_there(r, i) != r->entries[i].visible)
            seeded_violation(&r->seeded,
                             "after %s k%u is%s there, of %" PRIu64 " pages; readers: %u", after, i,
                             r->entries[i].visible ? " not" : "", r->used, r->entries[i].readers);
    }
    if (n.used != r->used * SLAB_ALIGN)
        seeded_violation(&r->seeded, "after %s %" PRIu64 " bytes are used; %" PRIu64 " expected",
                         after, n.used, r->used * SLAB_ALIGN);
    if (n.evictions != r->evictions)
        seeded_violation(&r->seeded, "after %s %" PRIu64 " evictions; %" PRIu64 " expected", after,
                         n.evictions, r->evictions);
}

/* The room is in pieces: which blocks go is the store's choice, of those that nobody reads. */
static void adopt(struct run *r)
{
    for (unsigned i = 0; i < KEYS; i++) {
        struct entry *e = &r->entries[i];
        if (!e->visible || is_there(r, i))
            continue;
        if (e->readers)
            seeded_violation(&r->seeded, "k%u was evicted under its reader", i);
        vanish(r, e);
        r->evictions++;
    }
    r->evicting = r->store->evicting;
}

/* ------------------------------------------------------------------ steps */

static struct transfer *free_one(struct transfer *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (!list[i].block)
            return &list[i];
    }
    return NULL;
}

static void begin_put(struct run *r)
{
    static const uint64_t most[] = {1, 4, 1, 12}; /* pages of a block */
    char text[8];
    struct transfer *t = free_one(r->writes, WRITES);
    if (!t)
        return;
    t->key = (unsigned)seeded_draw(&r->seeded, KEYS);
    t->pages = 1 + seeded_draw(&r->seeded, most[r->seeded.seed % 4]);
    t->version = ++r->version;
    const size_t length = name_of(t->key, text);
    const bool fits = slab_fits(&r->store->slab, t->pages * SLAB_ALIGN);
    enum fabric_error error =
        store_reserve(r->store, text, length, t->pages * SLAB_ALIGN, &t->block);
    if (error) {
        if (fits || error != ERR_STORE_FULL)
            seeded_violation(&r->seeded, "a put of %" PRIu64 " pages: %s", t->pages,
                             error_name(error));
        t->block = NULL;
        return;
    }
    r->used += t->pages;
    if (fits)
        rule(r);
    else
        adopt(r);
    fill(r, t);
}

static void end_put(struct run *r)
{
    static const uint8_t tag[STORE_TAG_BYTES] = {1};
    struct transfer *t = &r->writes[seeded_draw(&r->seeded, WRITES)];
    if (!t->block)
        return;
    compare(r, t, "written");
    if (seeded_draw(&r->seeded, 8) == 0) {
        store_abandon(r->store, t->block);
        r->used -= t->pages;
    } else {
        struct entry *e = &r->entries[t->key];
        if (e->visible)
            vanish(r, e);
        *e = (struct entry){
            .visible = true, .used = ++r->clock, .pages = t->pages, .version = t->version};
        store_commit(r->store, t->block, tag);
    }
    t->block = NULL;
}

static void begin_get(struct run *r)
{
    char text[8];
    struct transfer *t = free_one(r->reads, READS);
    const unsigned key = (unsigned)seeded_draw(&r->seeded, KEYS);
    struct entry *e = &r->entries[key];
    if (!t)
        return;
    const size_t length = name_of(key, text);
    struct store_block *b = store_pin(r->store, text, length);
    if (!b != !e->visible)
        seeded_violation(&r->seeded, "a get of k%u: it is%s there", key, b ? "" : " not");
    if (!b || !e->visible)
        return;
    *t = (struct transfer){
        .block = b, .key = key, .version = e->version, .pages = e->pages, .current = true};
    e->used = ++r->clock;
    e->readers++;
}

static void end_get(struct run *r)
{
    struct transfer *t = &r->reads[seeded_draw(&r->seeded, READS)];
    if (!t->block)
        return;
    compare(r, t, "read");
    bool last = !t->current;
    for (unsigned i = 0; i < READS && last; i++)
        last = &r->reads[i] == t || r->reads[i].block != t->block;
    if (last)
        r->used -= t->pages;
    if (t->current)
        r->entries[t->key].readers--;
    store_unpin(r->store, t->block);
    t->block = NULL;
}

static void drop(struct run *r)
{
    char text[8];
    bool found, later;
    const unsigned key = (unsigned)seeded_draw(&r->seeded, KEYS);
    const size_t length = name_of(key, text);
    const struct media_token token = {0};
    if (store_delete(r->store, text, length, token, &found, &later) || later ||
        found != r->entries[key].visible)
        seeded_violation(&r->seeded, "the deletion of k%u", key);
    if (r->entries[key].visible)
        vanish(r, &r->entries[key]);
}

static void step(struct run *r)
{
    static const struct {
        void (*run)(struct run *r);
        const char *name;
        unsigned weight;
    } kinds[] = {{begin_put, "a put", 6},
                 {end_put, "the end of a put", 6},
                 {begin_get, "a get", 4},
                 {end_get, "the end of a get", 3},
                 {drop, "a deletion", 1}};
    uint64_t at = seeded_draw(&r->seeded, 20);
    unsigned i = 0;
    for (; at >= kinds[i].weight; i++)
        at -= kinds[i].weight;
    kinds[i].run(r);
    look(r, kinds[i].name);
    r->totals->steps++;
}

static void end_all(struct run *r)
{
    for (unsigned i = 0; i < READS; i++) {
        if (r->reads[i].block)
            store_unpin(r->store, r->reads[i].block);
    }
    for (unsigned i = 0; i < WRITES; i++) {
        if (r->writes[i].block)
            store_abandon(r->store, r->writes[i].block);
    }
    store_destroy(r->store);
}

static void one(uint64_t seed, struct totals *totals)
{
    struct run r = {.seeded = {seed, seed, &totals->violations}, .totals = totals};
    const uint64_t before = totals->violations;
    r.capacity = 20 + seeded_draw(&r.seeded, 20);
    r.start = r.capacity * 70 / 100;
    r.stop = r.capacity * 60 / 100;
    const struct store_init init = {.capacity = r.capacity * SLAB_ALIGN,
                                    .evicts = true,
                                    .start_percent = 70,
                                    .stop_percent = 60,
                                    .seed = seed};
    if (store_create(&init, &r.store))
        abort();
    for (unsigned i = 0; i < STEPS && totals->violations == before; i++)
        step(&r);
    end_all(&r);
    totals->seeds++;
    totals->evictions += r.evictions;
}

int main(int argc, char **argv)
{
    struct totals t = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: evict_order FIRST COUNT\n");
        return 2;
    }
    const uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    for (uint64_t seed = first; seed < first + count && t.violations == 0; seed++)
        one(seed, &t);
    printf("figures %" PRIu64 " seeds %" PRIu64 " steps %" PRIu64 " evictions %" PRIu64
           " transfers %" PRIu64 " violations\n",
           t.seeds, t.steps, t.evictions, t.compared, t.violations);
    return t.violations ? 1 : 0;
}
