/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal takes records in batches, one batch at a time, each on pages of its own, in two
 * copies. A flush makes durable whatever landed before it began; while one is under way, the next
 * batches gather.
 */
#include <assert.h>

#include "src/fabric/planted.h"
#include "src/store/media_state.h"

uint64_t media_pages_for(uint64_t record_bytes)
{
    return record_bytes / (MEDIA_PAGE_ROOM - MEDIA_RECORD_MAX) + 1;
}

void media_write_pages(struct media *m, enum media_io_use use, unsigned half, uint64_t position,
                       uint64_t count)
{
    assert(m && m->pages_out == 0 && count > 0 && count <= MEDIA_CHUNK_PAGES);
    assert(position + count <= m->super.half_pages);
    m->pages_out = 2;
    for (unsigned copy = 0; copy < 2; copy++) {
        struct fabric_io io = {.op = FABRIC_IO_WRITE, .buf = m->pages};
        io.length = count * MEDIA_PAGE;
        io.offset = media_journal_offset(&m->super, half, copy) + position * MEDIA_PAGE;
        media_submit(m, use, NULL, io);
    }
}

void media_flush(struct media *m)
{
    assert(m);
    if (m->flushing || m->phase == MEDIA_PHASE_OUT)
        return;
    m->flushing = true;
    m->flush_covers = m->landed;
    media_submit(m, MEDIA_IO_FLUSH, NULL, (struct fabric_io){.op = FABRIC_IO_FLUSH});
}

/* ------------------------------------------------------------------ a batch */

static void fill_record(const struct media_op *op, struct media_record *r)
{
    const struct media_entry *e = op->entry;
    media_entry_record(e, r);
    r->sequence = op->sequence;
    if (op->kind == MEDIA_OP_REMOVE) {
        r->kind = MEDIA_RECORD_REMOVE;
        r->target = e->sequence;
    }
}

static void seal(struct media *m, uint64_t index, uint16_t records)
{
    const struct media_page head = {.kind = MEDIA_PAGE_RECORDS,
                                    .count = records,
                                    .generation = m->generation,
                                    .position = m->position + index,
                                    .durable = m->durable};
    media_page_seal(m->pages + index * MEDIA_PAGE, &head);
}

/* Moves ops from `ready` to `batch` as far as they fit; how many pages they fill. */
static uint64_t fill_batch(struct media *m)
{
    uint64_t pages = 0;
    while (m->ready.first && pages < MEDIA_BATCH_PAGES) {
        uint8_t *page = m->pages + pages * MEDIA_PAGE;
        uint16_t records = 0;
        size_t used;
        media_page_begin(page, &used);
        while (m->ready.first) {
            struct media_record record;
            struct media_op *op = m->ready.first;
            op->sequence = m->sequence + 1;
            fill_record(op, &record);
            if (!media_page_add(page, &used, &record))
                break;
            m->sequence++;
            records++;
            media_push(&m->batch, media_pop(&m->ready));
        }
        assert(records > 0);
        seal(m, pages++, records);
    }
    return pages;
}

void media_journal_pump(struct media *m)
{
    assert(m);
    if (m->phase != MEDIA_PHASE_SERVING || m->pages_out || m->checkpoint || !m->ready.first)
        return;
    if (m->position + MEDIA_BATCH_PAGES > m->super.half_pages) {
        media_checkpoint_begin(m);
        return;
    }
    const uint64_t pages = fill_batch(m);
    m->position += pages;
    media_write_pages(m, MEDIA_IO_RECORDS, m->half, m->position - pages, pages);
}

/* ------------------------------------------------------------------ landed, durable */

/* A removal's own use of the entry ends: from here on the journal's is what counts. */
static void finish(struct media *m, struct media_op *op)
{
    struct media_entry *e = op->entry;
    const bool remove = op->kind == MEDIA_OP_REMOVE;
    m->counts.writes += !remove;
    media_finish(m, op, FABRIC_OK);
    if (remove) {
        op->entry = NULL;
        media_release(m, e);
    }
}

static void finish_durable(struct media *m)
{
    while (m->written.first && m->written.first->sequence <= m->durable)
        finish(m, media_pop(&m->written));
}

void media_journal_landed(struct media *m)
{
    assert(m && m->pages_out == 0 && m->landed <= m->sequence);
    bool waits = m->init.durability == MEDIA_ACK && !PLANTED(store_flush_left_out);
    m->landed = m->sequence;
    for (struct media_op *op; (op = media_pop(&m->batch));) {
        if (op->kind == MEDIA_OP_SAVE) {
            op->entry->sequence = op->sequence;
            media_entry_join(m, op->entry);
        } else {
            media_entry_doom(m, op->entry, op->sequence);
        }
        if (waits)
            media_push(&m->written, op);
        else
            finish(m, op);
    }
    if (waits)
        media_flush(m);
}

void media_journal_flushed(struct media *m)
{
    assert(m && m->flush_covers >= m->durable);
    m->durable = m->flush_covers;
    finish_durable(m);
    media_entries_settle(m);
    if (m->written.first)
        media_flush(m);
    if (m->checkpoint)
        media_checkpoint_go_on(m);
}
