/* SPDX-License-Identifier: Apache-2.0 */
#include "src/store/media.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/store/media_state.h"

/* ------------------------------------------------------------------ lists */

void media_push(struct media_ops *list, struct media_op *op)
{
    assert(list && op);
    op->next = NULL;
    if (list->last)
        list->last->next = op;
    else
        list->first = op;
    list->last = op;
}

struct media_op *media_pop(struct media_ops *list)
{
    assert(list);
    struct media_op *op = list->first;
    if (!op)
        return NULL;
    list->first = op->next;
    if (!op->next)
        list->last = NULL;
    op->next = NULL;
    return op;
}

/* ------------------------------------------------------------------ ending */

void media_finish(struct media *m, struct media_op *op, enum fabric_error error)
{
    assert(m && op && op->outstanding == 0);
    op->error = error;
    media_push(&m->done, op);
}

/* A save gives its entry to the caller only when it is one. */
static void end(struct media *m, struct media_op *op, enum fabric_error error)
{
    if (op->kind != MEDIA_OP_LOAD) {
        media_release(m, op->entry);
        op->entry = NULL;
    }
    media_finish(m, op, error);
}

static void end_all(struct media *m, struct media_ops *list)
{
    for (struct media_op *op; (op = media_pop(list));) {
        op->error = ERR_MEDIA_FAILED;
        if (op->outstanding == 0) /* else it ends with its last request */
            end(m, op, ERR_MEDIA_FAILED);
    }
}

/* What the fabric never took will not complete. */
static void end_unsent(struct media *m)
{
    for (uint32_t i = 0; i < MEDIA_IOS; i++) {
        struct media_io *slot = &m->ios[i];
        if (slot->use == MEDIA_IO_FREE || !slot->unsent)
            continue;
        if (slot->use == MEDIA_IO_DATA) {
            m->data_ios--;
            slot->op->error = ERR_MEDIA_FAILED;
            if (--slot->op->outstanding == 0)
                end(m, slot->op, ERR_MEDIA_FAILED);
        }
        slot->use = MEDIA_IO_FREE;
        m->ios_used--;
    }
}

void media_fail(struct media *m, enum fabric_error error, const char *format, ...)
{
    va_list arguments;
    assert(m && error && format);
    if (m->phase == MEDIA_PHASE_OUT)
        return;
    va_start(arguments, format);
    vsnprintf(m->detail, sizeof m->detail, format, arguments);
    va_end(arguments);
    if (m->phase == MEDIA_PHASE_SERVING)
        m->tell_lost = true;
    else
        m->tell_opened = true;
    m->failed = error;
    m->phase = MEDIA_PHASE_OUT;
    end_all(m, &m->waiting);
    end_all(m, &m->ready);
    end_all(m, &m->batch);
    end_all(m, &m->written);
    end_unsent(m);
    media_entries_forget(m);
}

/* ------------------------------------------------------------------ requests */

static void send(struct media *m, struct media_io *slot)
{
    slot->unsent = false;
    enum fabric_error error = fabric_io_submit(m->init.fabric, &slot->io);
    if (!error)
        return;
    slot->unsent = true; /* tried again when something has ended, or by the tick */
    if (error != ERR_QUEUE_FULL)
        media_fail(m, error, "%s: a request was refused: %s", m->path, error_name(error));
}

void media_submit(struct media *m, enum media_io_use use, struct media_op *op, struct fabric_io io)
{
    uint32_t i = 0;
    assert(m && use != MEDIA_IO_FREE && m->ios_used < MEDIA_IOS);
    while (m->ios[i].use != MEDIA_IO_FREE)
        i++;
    assert(i < MEDIA_IOS);
    if (!io.path)
        io.file = m->file;
    io.cookie = m->init.cookie | i;
    m->ios[i] = (struct media_io){.use = use, .op = op, .io = io};
    m->ios_used++;
    m->data_ios += op != NULL;
    send(m, &m->ios[i]);
}

static void send_unsent(struct media *m)
{
    for (uint32_t i = 0; i < MEDIA_IOS && m->phase != MEDIA_PHASE_OUT; i++) {
        if (m->ios[i].use != MEDIA_IO_FREE && m->ios[i].unsent)
            send(m, &m->ios[i]);
    }
}

static uint64_t op_bytes(const struct media_op *op)
{
    return op->kind == MEDIA_OP_REMOVE ? 0 : slab_rounded(op->entry->length);
}

static void submit_piece(struct media *m, struct media_op *op)
{
    uint64_t left = op_bytes(op) - op->at;
    struct fabric_io io = {.op = op->kind == MEDIA_OP_SAVE ? FABRIC_IO_WRITE : FABRIC_IO_READ,
                           .buf = op->buf + op->at,
                           .length = left < m->init.block_size ? left : m->init.block_size,
                           .offset = media_data_offset(&m->super) + op->entry->offset + op->at};
    op->at += io.length;
    op->outstanding++;
    media_submit(m, MEDIA_IO_DATA, op, io);
}

/* In turn, so that a long value does not make the others wait for all of it. */
static void data_pump(struct media *m)
{
    while (m->phase == MEDIA_PHASE_SERVING && m->waiting.first && m->data_ios < MEDIA_DATA_IOS) {
        struct media_op *op = media_pop(&m->waiting);
        assert(op->at < op_bytes(op) && !op->error);
        submit_piece(m, op);
        if (m->phase == MEDIA_PHASE_SERVING && op->at < op_bytes(op))
            media_push(&m->waiting, op);
    }
}

void media_pump(struct media *m)
{
    assert(m);
    send_unsent(m);
    data_pump(m);
    media_journal_pump(m);
}

/* ------------------------------------------------------------------ completions */

static void loaded(struct media *m, struct media_op *op)
{
    uint8_t found[MEDIA_CHECKSUM_BYTES];
    const struct media_entry *e = op->entry;
    enum fabric_error error = op->error;
    if (!error) {
        media_checksum(op->buf, e->length, found);
        if (memcmp(found, e->checksum, sizeof found) != 0 && !PLANTED(store_checksum_unchecked))
            error = ERR_CHECKSUM;
    }
    m->counts.checksums += error == ERR_CHECKSUM;
    m->counts.reads++;
    media_finish(m, op, error);
}

static void data_ended(struct media *m, struct media_op *op)
{
    assert(op->outstanding == 0);
    if (op->kind == MEDIA_OP_LOAD)
        loaded(m, op);
    else if (op->error)
        end(m, op, op->error);
    else
        media_push(&m->ready, op);
}

/* Takes it off the list of those with requests to make, if it is there. */
static void wait_no_more(struct media *m, struct media_op *op)
{
    struct media_ops kept = {0};
    for (struct media_op *each; (each = media_pop(&m->waiting));) {
        if (each != op)
            media_push(&kept, each);
    }
    m->waiting = kept;
}

static void judge_data(struct media *m, const struct media_op *op,
                       const struct fabric_io_done *done)
{
    bool save = op->kind == MEDIA_OP_SAVE;
    if (!done->error) {
        m->read_failures = save ? m->read_failures : 0;
        return;
    }
    if (save && done->error != ERR_STORE_FULL && !PLANTED(store_write_error_ignored))
        media_fail(m, ERR_MEDIA_FAILED, "%s: a write failed: %s", m->path, error_name(done->error));
    else if (!save && ++m->read_failures >= MEDIA_READ_FAILURES)
        media_fail(m, ERR_MEDIA_FAILED, "%s: %u reads in a row failed: %s", m->path,
                   MEDIA_READ_FAILURES, error_name(done->error));
}

static void data_done(struct media *m, struct media_op *op, const struct fabric_io_done *done,
                      uint64_t length)
{
    assert(op->outstanding > 0 && m->data_ios > 0);
    m->data_ios--;
    judge_data(m, op,
               done); /* counted as outstanding, or a medium that falls out would end it too */
    op->outstanding--;
    enum fabric_error error = done->error;
    if (!error && op->kind == MEDIA_OP_LOAD && done->length < length)
        error = ERR_CHECKSUM; /* the medium has become shorter */
    if (error && !op->error) {
        op->error = error;
        wait_no_more(m, op);
    }
    if (m->phase == MEDIA_PHASE_OUT && !op->error)
        op->error = ERR_MEDIA_FAILED;
    if (op->outstanding == 0 && (op->error || op->at == op_bytes(op)))
        data_ended(m, op);
}

static void pages_done(struct media *m, enum media_io_use use, enum fabric_error error)
{
    assert(m->pages_out > 0);
    m->pages_out--;
    if (error)
        media_fail(m, ERR_MEDIA_FAILED, "%s: a write of the journal failed: %s", m->path,
                   error_name(error));
    if (m->pages_out > 0 || m->phase == MEDIA_PHASE_OUT)
        return;
    if (use == MEDIA_IO_RECORDS)
        media_journal_landed(m);
    else
        media_checkpoint_go_on(m);
}

static void flush_done(struct media *m, enum fabric_error error)
{
    assert(m->flushing);
    m->flushing = false;
    m->counts.flushes++;
    if (error)
        media_fail(m, ERR_MEDIA_FAILED, "%s: a flush failed: %s", m->path, error_name(error));
    else if (m->phase != MEDIA_PHASE_OUT)
        media_journal_flushed(m);
}

void media_event(struct media *m, const struct fabric_io_done *done)
{
    assert(m && done);
    const uint32_t i = (uint32_t)done->cookie;
    assert(i < MEDIA_IOS && m->ios[i].use != MEDIA_IO_FREE && !m->ios[i].unsent);
    const struct media_io slot = m->ios[i];
    m->ios[i].use = MEDIA_IO_FREE;
    m->ios_used--;
    switch (slot.use) {
    case MEDIA_IO_DATA:
        data_done(m, slot.op, done, slot.io.length);
        break;
    case MEDIA_IO_RECORDS:
    case MEDIA_IO_CHECKPOINT:
        pages_done(m, slot.use, done->error);
        break;
    case MEDIA_IO_FLUSH:
        flush_done(m, done->error);
        break;
    case MEDIA_IO_RECOVER:
        if (m->phase != MEDIA_PHASE_OUT)
            media_recover_go_on(m, done);
        break;
    default:
        assert(slot.use == MEDIA_IO_STEP);
        if (m->phase != MEDIA_PHASE_OUT)
            media_open_go_on(m, done);
    }
    media_pump(m);
}

bool media_next(struct media *m, struct media_result *out)
{
    assert(m && out);
    if (m->tell_opened) {
        m->tell_opened = false;
        *out = (struct media_result){.kind = MEDIA_OPENED, .error = m->failed};
        return true;
    }
    for (struct media_op *op; (op = media_pop(&m->done));) {
        static const enum media_result_kind kinds[] = {
            [MEDIA_OP_SAVE] = MEDIA_SAVED,
            [MEDIA_OP_LOAD] = MEDIA_LOADED,
            [MEDIA_OP_REMOVE] = MEDIA_REMOVED,
        };
        *out = (struct media_result){.kind = kinds[op->kind],
                                     .error = op->error,
                                     .token = op->token,
                                     .owner = op->owner,
                                     .entry = op->kind == MEDIA_OP_REMOVE ? NULL : op->entry};
        bool told = op->told;
        free(op);
        if (told)
            return true;
    }
    if (!m->tell_lost)
        return false;
    m->tell_lost = false;
    *out = (struct media_result){.kind = MEDIA_LOST, .error = m->failed};
    return true;
}

/* ------------------------------------------------------------------ what callers ask for */

static struct media_op *op_new(enum media_op_kind kind, struct media_entry *entry, uint8_t *buf,
                               const struct media_token *token, void *owner)
{
    struct media_op *op = calloc(1, sizeof *op);
    if (!op)
        return NULL;
    *op = (struct media_op){
        .kind = kind, .told = token != NULL, .entry = entry, .buf = buf, .owner = owner};
    if (token)
        op->token = *token;
    return op;
}

bool media_is_online(const struct media *m)
{
    assert(m);
    return m->phase == MEDIA_PHASE_SERVING;
}

bool media_fits(const struct media *m, uint64_t length, uint8_t key_length)
{
    assert(m && length);
    if (m->phase != MEDIA_PHASE_SERVING || slab_rounded(length) > m->space.capacity)
        return false;
    uint64_t records = media_pages_for(m->record_bytes + media_record_size(key_length));
    return slab_fits(&m->space, length) && records <= m->super.half_pages / 2;
}

bool media_frees(const struct media *m)
{
    assert(m);
    bool removes = false;
    const struct media_op *lists[] = {m->ready.first, m->batch.first, m->written.first};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const struct media_op *op = lists[i]; op && !removes; op = op->next)
            removes = op->kind == MEDIA_OP_REMOVE;
    }
    return m->phase == MEDIA_PHASE_SERVING && (removes || m->doomed);
}

enum fabric_error media_save(struct media *m, const struct media_block *block,
                             struct media_token token, void *owner)
{
    assert(m && block && block->key && block->key_length && block->buf && block->length);
    if (m->phase != MEDIA_PHASE_SERVING)
        return ERR_MEDIA_FAILED;
    if (!media_fits(m, block->length, block->key_length))
        return ERR_STORE_FULL;
    struct media_record record = {.kind = MEDIA_RECORD_PUT,
                                  .key_length = block->key_length,
                                  .maker = block->maker,
                                  .length = block->length};
    memcpy(record.tag, block->tag, sizeof record.tag);
    memcpy(record.key, block->key, block->key_length);
    if (block->checksum)
        memcpy(record.checksum, block->checksum, sizeof record.checksum);
    else
        media_checksum(block->buf, block->length, record.checksum);
    if (!slab_take(&m->space, block->length, &record.offset))
        return ERR_RESOURCES_EXHAUSTED;
    struct media_entry *e = media_entry_new(&record);
    struct media_op *op = e ? op_new(MEDIA_OP_SAVE, e, block->buf, &token, owner) : NULL;
    if (!op) {
        slab_give(&m->space, record.offset, block->length);
        free(e);
        return ERR_RESOURCES_EXHAUSTED;
    }
    memset(block->buf + block->length, 0, (size_t)(op_bytes(op) - block->length));
    e->users = 1;
    m->record_bytes += media_record_size(e->key_length);
    media_push(&m->waiting, op);
    media_pump(m);
    return FABRIC_OK;
}

enum fabric_error media_load(struct media *m, struct media_entry *entry, uint8_t *buf,
                             struct media_token token, void *owner)
{
    assert(m && entry && buf && entry->users > 0);
    if (m->phase != MEDIA_PHASE_SERVING)
        return ERR_MEDIA_FAILED;
    struct media_op *op = op_new(MEDIA_OP_LOAD, entry, buf, &token, owner);
    if (!op)
        return ERR_RESOURCES_EXHAUSTED;
    media_push(&m->waiting, op);
    media_pump(m);
    return FABRIC_OK;
}

enum fabric_error media_remove(struct media *m, struct media_entry *entry,
                               const struct media_token *token)
{
    assert(m && entry && entry->users > 0);
    if (m->phase != MEDIA_PHASE_SERVING)
        return ERR_MEDIA_FAILED;
    struct media_op *op = op_new(MEDIA_OP_REMOVE, entry, NULL, token, NULL);
    if (!op)
        return ERR_RESOURCES_EXHAUSTED;
    entry->users++; /* until its record is durable */
    media_push(&m->ready, op);
    media_pump(m);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ life */

enum fabric_error media_create(const struct media_init *init, struct media **out)
{
    assert(init && init->fabric && init->path && out && (uint32_t)init->cookie == 0);
    assert(init->block_size >= SLAB_ALIGN && init->block_size % SLAB_ALIGN == 0);
    if (strlen(init->path) + sizeof ".new" > FABRIC_PATH_MAX)
        return ERR_INVALID_ARGUMENT;
    struct media *m = calloc(1, sizeof *m);
    if (!m)
        return ERR_RESOURCES_EXHAUSTED;
    m->init = *init;
    snprintf(m->path, sizeof m->path, "%s", init->path);
    m->init.path = m->path;
    m->pages = aligned_alloc(SLAB_ALIGN, MEDIA_CHUNK_PAGES * MEDIA_PAGE);
    if (!m->pages) {
        free(m);
        return ERR_RESOURCES_EXHAUSTED;
    }
    *out = m;
    media_open_begin(m);
    return FABRIC_OK;
}

static void free_ops(struct media *m, struct media_ops *list)
{
    for (struct media_op *op; (op = media_pop(list));) {
        /* What was not told was not released. */
        if (op->kind == MEDIA_OP_SAVE && op->entry)
            media_release(m, op->entry);
        free(op);
    }
}

bool media_lends(const struct media *m)
{
    assert(m);
    for (uint32_t i = 0; i < MEDIA_IOS; i++) {
        if (m->ios[i].use == MEDIA_IO_DATA && !m->ios[i].unsent)
            return true;
    }
    return false;
}

static bool is_lent(const struct media *m)
{
    for (uint32_t i = 0; i < MEDIA_IOS; i++) {
        const struct media_io *slot = &m->ios[i];
        if (slot->use != MEDIA_IO_FREE && slot->use != MEDIA_IO_DATA && !slot->unsent)
            return true;
    }
    return false;
}

void media_destroy(struct media *m)
{
    if (!m)
        return;
    const bool lent = is_lent(m);
    media_fail(m, ERR_CANCELLED, "closed");
    for (uint32_t i = 0; i < MEDIA_IOS; i++) {
        struct media_op *op = m->ios[i].use == MEDIA_IO_DATA ? m->ios[i].op : NULL;
        if (op) {
            op->error = ERR_CANCELLED;
            if (--op->outstanding == 0)
                end(m, op, ERR_CANCELLED);
        }
    }
    free_ops(m, &m->done);
    if (m->file.id) {
        const struct fabric_io io = {.op = FABRIC_IO_CLOSE, .file = m->file};
        fabric_io_submit(m->init.fabric, &io); /* its completion finds nobody */
    }
    if (lent)
        fabric_leave(m->init.fabric, m->pages, free);
    else
        free(m->pages);
    media_recover_free(m);
    slab_destroy(&m->space);
    free(m);
}

struct media_entry *media_entries(const struct media *m)
{
    assert(m);
    return m->first;
}

const char *media_detail(const struct media *m)
{
    assert(m);
    return m->detail;
}

const char *media_path(const struct media *m)
{
    assert(m);
    return m->path;
}

void media_counts(const struct media *m, struct media_counts *out)
{
    assert(m && out);
    *out = m->counts;
    out->blocks = m->entries;
    out->used = m->space.used;
    out->capacity = m->space.capacity;
}

void media_tick(struct media *m)
{
    assert(m);
    const bool due = m->landed > m->durable && m->init.durability != MEDIA_NONE;
    if (m->phase == MEDIA_PHASE_SERVING && due)
        media_flush(m);
    media_pump(m);
}
