/* SPDX-License-Identifier: Apache-2.0 */
/* Entries: who still uses one, and when its piece of the data area is free again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/store/media_state.h"

struct media_entry *media_entry_new(const struct media_record *record)
{
    assert(record && record->key_length > 0);
    struct media_entry *e = calloc(1, sizeof *e + record->key_length);
    if (!e)
        return NULL;
    e->sequence = record->sequence;
    e->offset = record->offset;
    e->length = record->length;
    e->maker = record->maker;
    e->key_length = record->key_length;
    memcpy(e->tag, record->tag, sizeof e->tag);
    memcpy(e->checksum, record->checksum, sizeof e->checksum);
    memcpy(e->key, record->key, record->key_length);
    return e;
}

void media_entry_record(const struct media_entry *e, struct media_record *out)
{
    assert(e && out);
    *out = (struct media_record){.kind = MEDIA_RECORD_PUT,
                                 .key_length = e->key_length,
                                 .maker = e->maker,
                                 .sequence = e->sequence,
                                 .length = e->length,
                                 .offset = e->offset};
    memcpy(out->tag, e->tag, sizeof out->tag);
    memcpy(out->checksum, e->checksum, sizeof out->checksum);
    memcpy(out->key, e->key, e->key_length);
}

/* Its piece, and what its record takes of the journal, are free again. */
static void entry_free(struct media *m, struct media_entry *e)
{
    assert(e->users == 0 && m->record_bytes >= media_record_size(e->key_length));
    m->record_bytes -= media_record_size(e->key_length);
    slab_give(&m->space, e->offset, e->length);
    free(e);
}

static void entry_drop(struct media *m, struct media_entry *e)
{
    assert(e->users > 0);
    if (--e->users == 0)
        entry_free(m, e);
}

void media_entry_join(struct media *m, struct media_entry *e)
{
    assert(m && e);
    e->next = NULL;
    e->previous = m->last;
    if (m->last)
        m->last->next = e;
    else
        m->first = e;
    m->last = e;
    m->entries++;
    e->users++;
    e->in_journal = true;
}

static void entry_leave(struct media *m, struct media_entry *e)
{
    assert(e->in_journal && m->entries > 0);
    if (m->cursor == e)
        m->cursor = e->next;
    if (e->previous)
        e->previous->next = e->next;
    else
        m->first = e->next;
    if (e->next)
        e->next->previous = e->previous;
    else
        m->last = e->previous;
    e->next = e->previous = NULL;
    e->in_journal = false;
    m->entries--;
    entry_drop(m, e);
}

void media_entry_doom(struct media *m, struct media_entry *e, uint64_t ends)
{
    assert(m && e && ends > e->sequence);
    if (!e->in_journal || e->ends)
        return;
    e->ends = ends;
    e->doomed = m->doomed;
    m->doomed = e;
    media_entries_settle(m);
}

void media_entries_settle(struct media *m)
{
    assert(m);
    bool at_once = m->init.durability == MEDIA_NONE || PLANTED(store_piece_freed_early);
    for (struct media_entry **place = &m->doomed; *place;) {
        struct media_entry *e = *place;
        if (e->ends > m->durable && !at_once) {
            place = &e->doomed;
            continue;
        }
        *place = e->doomed;
        entry_leave(m, e);
    }
}

void media_supersede(struct media *m, struct media_entry *e, const struct media_entry *by)
{
    assert(m && e && by && (by->in_journal || m->phase == MEDIA_PHASE_OUT));
    media_entry_doom(m, e, by->sequence);
}

void media_release(struct media *m, struct media_entry *e)
{
    assert(m && e);
    entry_drop(m, e);
}

void media_entries_forget(struct media *m)
{
    assert(m);
    m->doomed = NULL;
    while (m->first)
        entry_leave(m, m->first);
}
