/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A journal that is full is written anew, without what has ended, into the other half. The half
 * that was good stays so until the head of the other one is durable, which is written when the copy
 * is, and becomes so with the next flush: before anything is acknowledged that only the new half
 * has. No record is written meanwhile; values are.
 */
#include <assert.h>

#include "src/fabric/planted.h"
#include "src/store/media_state.h"

/* One page of the copy, from the cursor on. */
static void fill_page(struct media *m, uint64_t index)
{
    uint8_t *page = m->pages + index * MEDIA_PAGE;
    uint16_t records = 0;
    size_t used;
    struct media_record record;
    media_page_begin(page, &used);
    for (; m->cursor; m->cursor = m->cursor->next) {
        media_entry_record(m->cursor, &record);
        if (!media_page_add(page, &used, &record))
            break;
        records++;
    }
    const struct media_page head = {.kind = MEDIA_PAGE_RECORDS,
                                    .count = records,
                                    .generation = m->generation + 1,
                                    .position = 1 + m->copied + index,
                                    .durable = m->durable};
    media_page_seal(page, &head);
}

static void copy_some(struct media *m)
{
    uint64_t pages = 0;
    while (m->cursor && pages < MEDIA_CHUNK_PAGES)
        fill_page(m, pages++);
    assert(pages > 0);
    m->copied += pages;
    media_write_pages(m, MEDIA_IO_CHECKPOINT, 1 - m->half, 1 + m->copied - pages, pages);
}

static void write_head(struct media *m)
{
    size_t used;
    const struct media_page head = {.kind = MEDIA_PAGE_HEAD,
                                    .generation = m->generation + 1,
                                    .durable = m->durable,
                                    .snapshot = m->copied};
    media_page_begin(m->pages, &used);
    media_page_seal(m->pages, &head);
    media_write_pages(m, MEDIA_IO_CHECKPOINT, 1 - m->half, 0, 1);
}

static void finish(struct media *m)
{
    m->half = 1 - m->half;
    m->generation++;
    m->position = 1 + m->copied;
    m->checkpoint = MEDIA_CHECKPOINT_NONE;
    m->counts.checkpoints++;
    if (m->phase == MEDIA_PHASE_RECOVERING) {
        for (struct media_entry *e = m->first; e; e = e->next)
            e->users++; /* the caller's */
        m->phase = MEDIA_PHASE_SERVING;
        m->tell_opened = true;
    }
}

static void enter(struct media *m, enum media_checkpoint_stage stage)
{
    m->checkpoint = stage;
    switch (stage) {
    case MEDIA_CHECKPOINT_COPIES:
        copy_some(m);
        break;
    case MEDIA_CHECKPOINT_FLUSHES:
        if (PLANTED(store_checkpoint_unflushed))
            enter(m, MEDIA_CHECKPOINT_HEADS);
        else
            media_flush(m);
        break;
    case MEDIA_CHECKPOINT_HEADS:
        write_head(m);
        break;
    default:
        assert(stage == MEDIA_CHECKPOINT_SETTLES);
        media_flush(m);
    }
}

void media_checkpoint_begin(struct media *m)
{
    assert(m && !m->checkpoint && m->pages_out == 0 && m->landed == m->sequence);
    m->checkpoint = MEDIA_CHECKPOINT_SETTLES;
    media_flush(m);
}

/* A write or a flush of the stage has ended. */
void media_checkpoint_go_on(struct media *m)
{
    assert(m && m->checkpoint);
    switch (m->checkpoint) {
    case MEDIA_CHECKPOINT_SETTLES:
        if (m->flushing)
            return;
        if (m->durable < m->landed) {
            media_flush(m);
            return;
        }
        m->cursor = m->first;
        m->copied = 0;
        enter(m, m->cursor ? MEDIA_CHECKPOINT_COPIES : MEDIA_CHECKPOINT_FLUSHES);
        break;
    case MEDIA_CHECKPOINT_COPIES:
        enter(m, m->cursor ? MEDIA_CHECKPOINT_COPIES : MEDIA_CHECKPOINT_FLUSHES);
        break;
    case MEDIA_CHECKPOINT_FLUSHES:
        enter(m, MEDIA_CHECKPOINT_HEADS);
        break;
    default:
        assert(m->checkpoint == MEDIA_CHECKPOINT_HEADS);
        finish(m);
    }
}
