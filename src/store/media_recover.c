/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a journal holds. Every whole page of its generation counts, wherever it lies: what the last
 * flush did not cover may have holes, and a damaged page must not hide those behind it. Blocks
 * whose record was never known to be durable are read, and dropped unless they are whole; of each
 * key the last one is kept that nothing ended. Then the journal is written anew, so that the next
 * recovery does not take for durable what this one dropped.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/fabric/planted.h"
#include "src/store/media_state.h"

static void out_of_memory(struct media *m)
{
    media_fail(m, ERR_RESOURCES_EXHAUSTED, "%s: no memory for its blocks", m->path);
}

/* ------------------------------------------------------------------ pages */

static void read_chunk(struct media *m)
{
    struct media_recovery *r = &m->recovery;
    uint64_t left = m->super.half_pages - r->position;
    r->pages = left < MEDIA_CHUNK_PAGES ? left : MEDIA_CHUNK_PAGES;
    memset(m->pages, 0, r->pages * MEDIA_PAGE);
    media_submit(m, MEDIA_IO_RECOVER, NULL,
                 (struct fabric_io){.op = FABRIC_IO_READ,
                                    .buf = m->pages,
                                    .length = r->pages * MEDIA_PAGE,
                                    .offset = media_journal_offset(&m->super, m->half, r->copy) +
                                              r->position * MEDIA_PAGE});
}

void media_recover_begin(struct media *m)
{
    struct media_recovery *r = &m->recovery;
    assert(m && m->generation > 0);
    m->phase = MEDIA_PHASE_RECOVERING;
    *r = (struct media_recovery){.position = 1};
    r->seen = calloc(m->super.half_pages, 1);
    r->hash = XXH3_createState();
    const uint64_t capacity = m->super.size - media_data_offset(&m->super);
    if (!r->seen || !r->hash || !slab_create(&m->space, capacity))
        out_of_memory(m);
    else
        read_chunk(m);
}

void media_recover_free(struct media *m)
{
    assert(m);
    free(m->recovery.found);
    free(m->recovery.seen);
    XXH3_freeState(m->recovery.hash);
    m->recovery = (struct media_recovery){0};
}

static bool remember(struct media_recovery *r, const struct media_record *record)
{
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 256;
        void *found = realloc(r->found, room * sizeof *r->found);
        if (!found)
            return false;
        r->found = found;
        r->room = room;
    }
    r->found[r->count++] = (struct media_found){.record = *record};
    return true;
}

/* False without memory. */
static bool take_page(struct media *m, const uint8_t *bytes, uint64_t position)
{
    struct media_recovery *r = &m->recovery;
    struct media_page page;
    struct media_record record;
    size_t at = 0;
    if (!media_page_decode(bytes, &page) || page.kind != MEDIA_PAGE_RECORDS ||
        page.generation != m->generation || page.position != position)
        return true;
    if (r->seen[position]++)
        return true;
    if (page.durable > m->durable)
        m->durable = page.durable;
    for (uint16_t i = 0; i < page.count && media_record_decode(bytes, &at, &record); i++) {
        if (!remember(r, &record))
            return false;
    }
    return true;
}

/* Pages that are not there although a later one is, and single copies. */
static void count_damaged(struct media *m)
{
    const struct media_recovery *r = &m->recovery;
    uint64_t end = m->super.half_pages;
    while (end > 1 && r->seen[end - 1] == 0)
        end--;
    for (uint64_t i = 1; i < end; i++)
        m->counts.damaged += 2u - r->seen[i];
}

/* ------------------------------------------------------------------ values */

static bool is_inside(const struct media *m, const struct media_record *record)
{
    return record->length > 0 && record->offset % SLAB_ALIGN == 0 &&
           record->length <= m->space.capacity && record->offset < m->space.capacity &&
           slab_rounded(record->length) <= m->space.capacity - record->offset;
}

static void drop_torn(struct media *m, struct media_found *found)
{
    found->dropped = true;
    m->counts.torn++;
}

static bool needs_look(const struct media *m, const struct media_found *found)
{
    if (found->record.kind != MEDIA_RECORD_PUT || PLANTED(store_tail_unverified))
        return false;
    return found->record.sequence > m->durable;
}

static void read_value(struct media *m)
{
    struct media_recovery *r = &m->recovery;
    const struct media_record *record = &r->found[r->verifying].record;
    const uint64_t room = MEDIA_CHUNK_PAGES * MEDIA_PAGE;
    uint64_t left = slab_rounded(record->length) - r->verified;
    media_submit(
        m, MEDIA_IO_RECOVER, NULL,
        (struct fabric_io){.op = FABRIC_IO_READ,
                           .buf = m->pages,
                           .length = left < room ? left : room,
                           .offset = media_data_offset(&m->super) + record->offset + r->verified});
}

static void keep_last_ones(struct media *m);

/* The next value to look at, from `verifying` on. */
static void look_at_next(struct media *m)
{
    struct media_recovery *r = &m->recovery;
    for (; r->verifying < r->count; r->verifying++) {
        struct media_found *found = &r->found[r->verifying];
        if (found->record.kind == MEDIA_RECORD_PUT && !is_inside(m, &found->record))
            drop_torn(m, found);
        else if (needs_look(m, found))
            break;
    }
    if (r->verifying == r->count) {
        keep_last_ones(m);
        return;
    }
    r->verified = 0;
    XXH3_128bits_reset(r->hash);
    read_value(m);
}

static void take_value(struct media *m, uint64_t length)
{
    struct media_recovery *r = &m->recovery;
    struct media_found *found = &r->found[r->verifying];
    uint64_t left = found->record.length - r->verified;
    uint8_t expected[MEDIA_CHECKSUM_BYTES];
    XXH128_canonical_t canonical;
    XXH3_128bits_update(r->hash, m->pages, (size_t)(length < left ? length : left));
    r->verified += length;
    if (length > 0 && r->verified < found->record.length) {
        read_value(m);
        return;
    }
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(r->hash));
    memcpy(expected, canonical.digest, sizeof expected);
    if (memcmp(expected, found->record.checksum, sizeof expected) != 0)
        drop_torn(m, found);
    r->verifying++;
    look_at_next(m);
}

/* ------------------------------------------------------------------ which of them */

static int by_key(const void *a, const void *b)
{
    const struct media_record *left = &((const struct media_found *)a)->record;
    const struct media_record *right = &((const struct media_found *)b)->record;
    if (left->key_length != right->key_length)
        return left->key_length < right->key_length ? -1 : 1;
    int order = memcmp(left->key, right->key, left->key_length);
    if (order)
        return order;
    return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

static int by_sequence(const void *a, const void *b)
{
    const struct media_record *left = &((const struct media_found *)a)->record;
    const struct media_record *right = &((const struct media_found *)b)->record;
    return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

static bool same_key(const struct media_record *a, const struct media_record *b)
{
    return a->key_length == b->key_length && memcmp(a->key, b->key, a->key_length) == 0;
}

/* Of one key after the other, in the order of their sequences. */
static void drop_ended(struct media_recovery *r)
{
    struct media_found *last = NULL;
    for (size_t i = 0; i < r->count; i++) {
        struct media_found *each = &r->found[i];
        if (last && !same_key(&last->record, &each->record))
            last = NULL;
        if (each->dropped)
            continue;
        if (each->record.kind == MEDIA_RECORD_PUT) {
            if (last)
                last->dropped = true;
            last = each;
            continue;
        }
        each->dropped = true;
        /* What it ended may itself be dropped: then it is not what was there before. */
        if (last && last->record.sequence <= each->record.target &&
            !PLANTED(store_removal_forgotten)) {
            last->dropped = true;
            last = NULL;
        }
    }
}

/* The latest first: what is in its way was ended by a page that is lost. */
static void take_places(struct media *m)
{
    struct media_recovery *r = &m->recovery;
    for (size_t i = r->count; i > 0; i--) {
        struct media_found *each = &r->found[i - 1];
        if (each->dropped || slab_take_at(&m->space, each->record.offset, each->record.length))
            continue;
        each->dropped = true;
        m->counts.torn++;
    }
}

static void keep_last_ones(struct media *m)
{
    struct media_recovery *r = &m->recovery;
    if (r->count > 0) {
        qsort(r->found, r->count, sizeof *r->found, by_key);
        drop_ended(r);
        qsort(r->found, r->count, sizeof *r->found, by_sequence);
        take_places(m);
    }
    for (size_t i = 0; i < r->count; i++) {
        if (r->found[i].record.sequence > m->sequence)
            m->sequence = r->found[i].record.sequence;
        struct media_entry *e = r->found[i].dropped ? NULL : media_entry_new(&r->found[i].record);
        if (!e && !r->found[i].dropped) {
            out_of_memory(m);
            return;
        }
        if (!e)
            continue;
        m->record_bytes += media_record_size(e->key_length);
        media_entry_join(m, e);
    }
    if (m->sequence < m->durable)
        m->sequence = m->durable;
    m->landed = m->sequence;
    media_recover_free(m);
    media_checkpoint_begin(m);
}

void media_recover_go_on(struct media *m, const struct fabric_io_done *done)
{
    struct media_recovery *r = &m->recovery;
    assert(m && done && m->phase == MEDIA_PHASE_RECOVERING && r->seen);
    if (done->error) {
        media_fail(m, ERR_MEDIA_FAILED, "%s: its journal cannot be read: %s", m->path,
                   error_name(done->error));
        return;
    }
    if (r->copy == 2) {
        take_value(m, done->length);
        return;
    }
    for (uint64_t i = 0; i < r->pages; i++) {
        if (!take_page(m, m->pages + i * MEDIA_PAGE, r->position + i)) {
            out_of_memory(m);
            return;
        }
    }
    r->position += r->pages;
    if (r->position == m->super.half_pages) {
        r->position = 1;
        r->copy++;
    }
    if (r->copy < 2) {
        read_chunk(m);
        return;
    }
    count_damaged(m);
    look_at_next(m);
}
