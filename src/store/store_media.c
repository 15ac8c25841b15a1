/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that have media. A key belongs to one medium for good, so what is newer there is newer; a
 * medium that fails takes its share of the keys out of service and leaves nothing that could come
 * back in another state.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/fabric/planted.h"
#include "src/store/store_state.h"

#define PLACE_SEED 1u /* part of the format: which medium has a key */
#define MEDIA_STEP_MAX                                                                             \
    64u /* blocks that a PUT may evict, or more if they are smaller than itself */

static uint8_t drive_of(const struct store *s, const struct store_block *b)
{
    return (uint8_t)(XXH3_64bits_withSeed(b->key, b->key_length, PLACE_SEED) % s->media_count);
}

static void tell(struct store *s, struct store_told *told)
{
    struct store_told **place = &s->told;
    while (*place)
        place = &(*place)->next;
    told->next = NULL;
    *place = told;
}

/* ------------------------------------------------------------------ life */

enum fabric_error store_media_create(struct store *s)
{
    assert(s && s->init.media.count <= STORE_MAX_MEDIA);
    enum fabric_error error = FABRIC_OK;
    for (uint32_t i = 0; i < s->init.media.count && !error; i++) {
        struct media_init init = s->init.media.each;
        init.path = s->init.media.paths[i];
        init.cookie = s->init.media.cookie | (uint64_t)i << 32;
        init.memory = s->memory;
        init.memory_length = s->slab.capacity;
        init.drive = i;
        init.drives = s->init.media.count;
        error = media_create(&init, &s->media[i]);
        s->media_count += !error;
        s->opening += !error;
    }
    return error;
}

static void free_list(struct store *s)
{
    while (s->pending) {
        struct store_pending *p = s->pending;
        s->pending = p->next;
        free(p->block);
        free(p);
    }
    while (s->loaders) {
        struct store_loader *l = s->loaders;
        s->loaders = l->next;
        free(l);
    }
    while (s->told) {
        struct store_told *t = s->told;
        s->told = t->next;
        free(t);
    }
}

void store_media_destroy(struct store *s)
{
    assert(s);
    bool lent = false;
    struct store_block *b = s->media_count ? s->orders[STORE_BY_USE].newest : NULL;
    for (; b; b = b->links[STORE_BY_USE].older) {
        if (b->entry)
            media_release(s->media[b->drive], b->entry);
    }
    free_list(s);
    for (uint32_t i = 0; i < s->media_count; i++) {
        lent |= media_lends(s->media[i]);
        media_destroy(s->media[i]);
    }
    if (!lent)
        return;
    fabric_leave(s->init.media.each.fabric, s->memory, free);
    s->memory = NULL;
}

void store_media_counts(const struct store *s, struct store_counts *out)
{
    assert(s && out);
    if (s->init.media.count == 0)
        return;
    out->capacity = out->drives_online = 0;
    out->used = s->held;
    for (uint32_t i = 0; i < s->media_count; i++) {
        struct media_counts n;
        media_counts(s->media[i], &n);
        out->drives_online += s->online[i];
        out->drives_offline += !s->online[i];
        out->drives_out |= (uint32_t)!s->online[i] << i;
        out->capacity += s->online[i] ? n.capacity : 0;
        out->torn += n.torn;
        out->damaged += n.damaged;
        out->checksums += n.checksums;
    }
}

/* ------------------------------------------------------------------ room */

static void unload(struct store *s, struct store_block *b)
{
    assert(b->resident && b->entry && b->pins == 0);
    store_order_remove(s, STORE_IN_MEMORY, b);
    slab_give(&s->slab, b->offset, b->length);
    b->resident = false;
}

bool store_media_take(struct store *s, uint64_t length, uint64_t *offset)
{
    assert(s && length && offset);
    struct store_block *newer, *b = s->orders[STORE_IN_MEMORY].oldest;
    for (; b && !slab_fits(&s->slab, length); b = newer) {
        newer = b->links[STORE_IN_MEMORY].newer;
        if (b->pins == 0 || PLANTED(store_unloads_pinned))
            unload(s, b);
    }
    return slab_take(&s->slab, length, offset);
}

static uint64_t capacity_of(const struct store *s)
{
    struct store_counts n = {0};
    store_media_counts(s, &n);
    return n.capacity;
}

/* MK-J3 on media: a removal gives its room back later, so what counts is what is held. */
static void evict_some(struct store *s, uint64_t taken)
{
    const uint64_t capacity = capacity_of(s), before = s->held;
    if (s->held > capacity * s->init.start_percent / 100 && !PLANTED(store_media_start_ignored))
        s->evicting = s->init.evicts;
    for (uint32_t i = 0; s->evicting && s->held > capacity * s->init.stop_percent / 100; i++) {
        bool enough = i >= MEDIA_STEP_MAX && before - s->held > 2 * taken;
        if (enough || !store_evict_one(s, -1))
            return;
    }
    s->evicting = false;
}

enum fabric_error store_media_reserve(struct store *s, struct store_block *b)
{
    assert(s && b && s->media_count > 0);
    struct media_counts n;
    const uint64_t size = slab_rounded(b->length);
    b->drive = drive_of(s, b);
    struct media *m = s->media[b->drive];
    media_counts(m, &n);
    if (!s->ready || !s->online[b->drive])
        return ERR_MEDIA_FAILED;
    if (size > n.capacity || (!s->init.evicts && !media_fits(m, b->length, b->key_length)))
        return ERR_STORE_FULL;
    if (!store_media_take(s, b->length, &b->offset))
        return ERR_QUEUE_FULL; /* all memory is in use by transfers, which end */
    s->held += size;
    evict_some(s, size);
    return FABRIC_OK;
}

void store_media_end(struct store *s, struct store_block *b)
{
    assert(s && b);
    if (s->media_count == 0)
        return;
    assert(b->entry && s->held >= slab_rounded(b->length));
    s->held -= slab_rounded(b->length);
    if (!b->ended && !PLANTED(store_removal_unrecorded))
        media_remove(s->media[b->drive], b->entry, NULL); /* if not, the medium is out anyway */
    b->ended = true;
}

/* ------------------------------------------------------------------ saves and deletions */

static void unlink_pending(struct store *s, struct store_pending *p)
{
    struct store_pending **place = &s->pending;
    while (*place != p)
        place = &(*place)->next;
    *place = p->next;
}

static void end_pending(struct store *s, struct store_pending *p, enum fabric_error error)
{
    unlink_pending(s, p);
    p->told.result.error = error;
    if (p->block && error)
        store_abandon(s, p->block);
    p->block = NULL;
    tell(s, &p->told);
}

static bool same_key(const struct store_pending *a, const struct store_pending *b)
{
    return a->hash == b->hash && a->key_length == b->key_length &&
           memcmp(a->key, b->key, a->key_length) == 0;
}

static bool is_next(const struct store *s, const struct store_pending *p)
{
    for (const struct store_pending *each = s->pending; each != p; each = each->next) {
        if (same_key(each, p) && !PLANTED(store_saves_unordered))
            return false;
    }
    return true;
}

/* Whether room will come on the medium: something gives it back, or is made to. */
static bool makes_room(struct store *s, const struct store_pending *p)
{
    const uint8_t drive = p->block->drive;
    struct media *m = s->media[drive];
    if (media_frees(m)) {
        media_tick(m);
        return true;
    }
    if (s->init.evicts && store_evict_one(s, drive))
        return true;
    for (const struct store_pending *each = s->pending; each; each = each->next) {
        if (each->begun && each->block && each->block->drive == drive)
            return true; /* it may take the place of another block */
    }
    return false;
}

static void begin_save(struct store *s, struct store_pending *p)
{
    struct store_block *b = p->block;
    const struct media_block block = {.key = b->key,
                                      .key_length = b->key_length,
                                      .tag = b->tag,
                                      .maker = b->maker,
                                      .buf = store_data(s, b),
                                      .length = b->length,
                                      .checksum = b->has_checksum ? b->checksum : NULL};
    const struct media_token token = {.id = p->serial};
    enum fabric_error error = media_save(s->media[b->drive], &block, token, p);
    if (error == ERR_STORE_FULL && makes_room(s, p))
        return;
    p->begun = !error;
    if (error)
        end_pending(s, p, error);
}

static void begin_delete(struct store *s, struct store_pending *p)
{
    const struct media_token token = {.id = p->serial};
    struct store_block *b = store_find(s, p->key, p->key_length, p->hash);
    enum fabric_error error = b ? media_remove(s->media[b->drive], b->entry, &token) : FABRIC_OK;
    p->begun = b && !error;
    p->told.result.found = p->begun;
    if (p->begun) {
        b->ended = true;
        store_hide(s, b);
    } else {
        end_pending(s, p, error);
    }
}

/* Whatever waited for an earlier one of its key, or for room. One may end others' waiting. */
static void advance(struct store *s)
{
    struct store_pending *next;
    for (struct store_pending *p = s->pending; p; p = next) {
        next = p->next;
        if (p->begun || !is_next(s, p))
            continue;
        if (p->block)
            begin_save(s, p);
        else
            begin_delete(s, p);
    }
}

static void add_pending(struct store *s, struct store_pending *p, const void *key,
                        size_t key_length, uint64_t hash)
{
    struct store_pending **place = &s->pending;
    while (*place)
        place = &(*place)->next;
    *place = p;
    p->serial = ++s->pending_serial;
    p->hash = hash;
    p->key_length = (uint8_t)key_length;
    memcpy(p->key, key, key_length);
    advance(s);
}

enum fabric_error store_save(struct store *store, struct store_block *block,
                             const uint8_t tag[STORE_TAG_BYTES], struct media_token token,
                             bool *later)
{
    struct store *s = store;
    assert(s && block && tag && later && !block->visible);
    *later = s->media_count > 0;
    if (!*later) {
        store_commit(s, block, tag);
        return FABRIC_OK;
    }
    struct store_pending *p = calloc(1, sizeof *p);
    if (!p) {
        *later = false;
        store_abandon(s, block);
        return ERR_RESOURCES_EXHAUSTED;
    }
    memcpy(block->tag, tag, STORE_TAG_BYTES);
    store_sum_end(block);
    p->told.result = (struct store_result){.kind = STORE_SAVED, .token = token};
    p->block = block;
    add_pending(s, p, block->key, block->key_length, block->hash);
    return FABRIC_OK;
}

enum fabric_error store_delete(struct store *store, const void *key, size_t key_length,
                               struct media_token token, bool *found, bool *later)
{
    struct store *s = store;
    assert(s && key && found && later);
    const uint64_t hash = store_hash(s, key, key_length);
    *later = s->media_count > 0;
    if (!*later) {
        struct store_block *b = store_find(s, key, key_length, hash);
        *found = b != NULL;
        if (b)
            store_hide(s, b);
        return FABRIC_OK;
    }
    struct store_pending *p = calloc(1, sizeof *p);
    if (!p) {
        *later = false;
        return ERR_RESOURCES_EXHAUSTED;
    }
    p->told.result = (struct store_result){.kind = STORE_DELETED, .token = token};
    add_pending(s, p, key, key_length, hash);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ loads */

/* Those who wait for the block are told. */
static void end_loaders(struct store *s, const struct store_block *b, enum fabric_error error)
{
    for (struct store_loader **place = &s->loaders; *place;) {
        struct store_loader *l = *place;
        if (l->block != b) {
            place = &l->next;
            continue;
        }
        *place = l->next;
        l->told.result.error = error;
        tell(s, &l->told);
    }
}

static enum fabric_error begin_load(struct store *s, struct store_block *b)
{
    if (slab_rounded(b->length) > s->slab.capacity)
        return ERR_RESOURCES_EXHAUSTED; /* it was stored with more memory than there is now */
    if (!store_media_take(s, b->length, &b->offset))
        return ERR_QUEUE_FULL;
    enum fabric_error error =
        media_load(s->media[b->drive], b->entry, store_data(s, b), (struct media_token){0}, b);
    if (error)
        slab_give(&s->slab, b->offset, b->length);
    return error;
}

enum fabric_error store_load(struct store *store, struct store_block *block,
                             struct media_token token, bool *later)
{
    struct store *s = store;
    assert(s && block && later && block->pins > 0);
    *later = false;
    if (block->resident)
        return FABRIC_OK;
    struct store_loader *l = calloc(1, sizeof *l);
    if (!l)
        return ERR_RESOURCES_EXHAUSTED;
    enum fabric_error error = FABRIC_OK;
    if (!block->loading)
        error = begin_load(s, block);
    if (error) {
        free(l);
        return error;
    }
    block->loading = true;
    l->block = block;
    l->told.result = (struct store_result){.kind = STORE_LOADED, .token = token};
    l->next = s->loaders;
    s->loaders = l;
    *later = true;
    return FABRIC_OK;
}

static void loaded(struct store *s, struct store_block *b, enum fabric_error error)
{
    assert(b->loading && b->pins > 0);
    b->loading = false;
    if (error) {
        slab_give(&s->slab, b->offset, b->length);
        if (error == ERR_CHECKSUM && b->visible)
            store_hide(s, b); /* pinned: it is there until its readers have heard */
    } else {
        b->resident = true;
        if (b->visible)
            store_order_front(s, STORE_IN_MEMORY, b);
    }
    end_loaders(s, b, error);
}

/* ------------------------------------------------------------------ what media tell */

static bool adopt(struct store *s, uint32_t drive, struct media_entry *e)
{
    struct store_block *b = calloc(1, sizeof *b);
    if (!b)
        return false;
    b->length = e->length;
    b->hash = store_hash(s, e->key, e->key_length);
    b->drive = (uint8_t)drive;
    b->entry = e;
    b->maker = e->maker;
    b->key_length = e->key_length;
    memcpy(b->key, e->key, e->key_length);
    memcpy(b->tag, e->tag, STORE_TAG_BYTES);
    s->held += slab_rounded(b->length);
    store_show(s, b);
    return true;
}

/* Wrong settings and another server's store are no failures of a medium: nothing is served. */
static bool is_refusal(enum fabric_error error)
{
    return error == ERR_CONFIG_INVALID || error == ERR_MEDIA_VERSION || error == ERR_BUSY ||
           error == ERR_RESOURCES_EXHAUSTED;
}

static void opened(struct store *s, uint32_t drive, enum fabric_error error)
{
    assert(s->opening > 0);
    s->opening--;
    struct media_entry *e = error ? NULL : media_entries(s->media[drive]);
    for (; e && !error; e = e->next)
        error = adopt(s, drive, e) ? FABRIC_OK : ERR_RESOURCES_EXHAUSTED;
    s->online[drive] = !error;
    s->drive_errors[drive] = error;
    s->tell_drive[drive] = error || *media_detail(s->media[drive]);
    if (error && (is_refusal(error) || !s->refused))
        s->refused = error;
    if (s->opening > 0)
        return;
    bool any = false;
    for (uint32_t i = 0; i < s->media_count; i++)
        any |= s->online[i];
    if (any && !is_refusal(s->refused))
        s->refused = FABRIC_OK;
    s->ready = !s->refused;
    s->tell_opened = true;
}

static void lost(struct store *s, uint32_t drive, enum fabric_error error)
{
    struct store_block *older, *b = s->orders[STORE_BY_USE].newest;
    s->online[drive] = false;
    s->drive_errors[drive] = error;
    s->tell_drive[drive] = true;
    for (; b; b = older) {
        older = b->links[STORE_BY_USE].older;
        if (b->drive == drive)
            store_hide(s, b);
    }
}

static struct store_pending *by_serial(const struct store *s, uint64_t serial)
{
    struct store_pending *p = s->pending;
    while (p && p->serial != serial)
        p = p->next;
    assert(p && p->begun);
    return p;
}

static void saved(struct store *s, struct store_pending *p, const struct media_result *r)
{
    struct store_block *b = p->block;
    if (r->error) {
        end_pending(s, p, r->error);
        return;
    }
    struct store_block *old = store_find(s, b->key, b->key_length, b->hash);
    b->entry = r->entry;
    if (old) {
        media_supersede(s->media[b->drive], old->entry, b->entry);
        old->ended = true;
        store_hide(s, old);
    }
    store_show(s, b);
    end_pending(s, p, FABRIC_OK);
}

static void take(struct store *s, uint32_t drive, const struct media_result *r)
{
    switch (r->kind) {
    case MEDIA_OPENED:
        opened(s, drive, r->error);
        break;
    case MEDIA_SAVED:
        saved(s, r->owner, r);
        break;
    case MEDIA_LOADED:
        loaded(s, r->owner, r->error);
        break;
    case MEDIA_REMOVED:
        end_pending(s, by_serial(s, r->token.id), r->error);
        break;
    default:
        assert(r->kind == MEDIA_LOST);
        lost(s, drive, r->error);
    }
}

static void take_all(struct store *s)
{
    for (uint32_t i = 0; i < s->media_count; i++) {
        struct media_result result;
        while (media_next(s->media[i], &result))
            take(s, i, &result);
    }
}

void store_event(struct store *store, const struct fabric_io_done *done)
{
    assert(store && done);
    const uint32_t drive = (uint32_t)(done->cookie >> 32) & 0xffu;
    assert(drive < store->media_count);
    media_event(store->media[drive], done);
    take_all(store);
    advance(store);
}

bool store_next(struct store *store, struct store_result *out)
{
    struct store *s = store;
    assert(s && out);
    take_all(s); /* what ended as it was asked for */
    for (uint32_t i = 0; i < s->media_count; i++) {
        if (!s->tell_drive[i])
            continue;
        s->tell_drive[i] = false;
        *out = (struct store_result){
            .kind = STORE_DRIVE, .error = s->drive_errors[i], .detail = media_detail(s->media[i])};
        return true;
    }
    if (s->tell_opened) {
        s->tell_opened = false;
        *out = (struct store_result){.kind = STORE_OPENED, .error = s->refused};
        return true;
    }
    struct store_told *told = s->told;
    if (!told)
        return false;
    s->told = told->next;
    *out = told->result;
    free(told);
    return true;
}

void store_tick(struct store *store)
{
    assert(store);
    for (uint32_t i = 0; i < store->media_count; i++)
        media_tick(store->media[i]);
    take_all(store);
    advance(store);
}
