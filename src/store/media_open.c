/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a medium, one request after the other. A file is made under another name and gets its
 * own when it is whole and durable, so a cut leaves a store or none. A device is laid out in place,
 * the superblock last.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/store/media_state.h"

#define WHOLE "its first bytes" /* what names a store */

static void step(struct media *m, enum media_step next, struct fabric_io io)
{
    m->step = next;
    m->steps_out++;
    media_submit(m, MEDIA_IO_STEP, NULL, io);
}

static void step_plain(struct media *m, enum media_step next, enum fabric_io_op op)
{
    step(m, next, (struct fabric_io){.op = op});
}

static void open_path(struct media *m, enum media_step next, const char *path, uint32_t flags)
{
    const uint32_t past = m->init.direct ? FABRIC_IO_DIRECT : FABRIC_IO_DIRECT_WRITES;
    flags |= FABRIC_IO_LOCK | (PLANTED(store_writes_through_cache) ? 0u : past);
    step(m, next,
         (struct fabric_io){.op = FABRIC_IO_OPEN,
                            .path = path,
                            .flags = flags,
                            .buf = m->init.memory,
                            .length = m->init.memory_length});
}

static void folder_of(const char *path, char out[FABRIC_PATH_MAX])
{
    const size_t last = (size_t)(strrchr(path, '/') - path);
    memcpy(out, path, last ? last : 1);
    out[last ? last : 1] = 0;
}

void media_open_begin(struct media *m)
{
    assert(m && m->path[0] == '/');
    snprintf(m->temporary, sizeof m->temporary, "%.*s.new", (int)(FABRIC_PATH_MAX - 5), m->path);
    folder_of(m->path, m->folder);
    folder_of(m->folder, m->parent);
    open_path(m, MEDIA_STEP_OPEN, m->path, 0);
}

/* ------------------------------------------------------------------ making */

static void zero_some(struct media *m)
{
    const uint64_t all = media_data_offset(&m->super) / MEDIA_PAGE;
    uint64_t pages = all - m->zeroed < MEDIA_CHUNK_PAGES ? all - m->zeroed : MEDIA_CHUNK_PAGES;
    const struct fabric_io io = {.op = FABRIC_IO_WRITE,
                                 .buf = m->pages,
                                 .length = pages * MEDIA_PAGE,
                                 .offset = m->zeroed * MEDIA_PAGE};
    m->zeroed += pages;
    step(m, MEDIA_STEP_ZERO, io);
}

/* The journal's area gets its blocks on the disk now: a full one cannot refuse them later. */
static void begin_making(struct media *m, uint64_t size)
{
    size = size / MEDIA_PAGE * MEDIA_PAGE;
    if (size < MEDIA_SIZE_MIN) {
        media_fail(m, ERR_CONFIG_INVALID, "%s: found room for %llu bytes; %llu are the least",
                   m->path, (unsigned long long)size, (unsigned long long)MEDIA_SIZE_MIN);
        return;
    }
    m->super = (struct media_super){.lane = m->init.lane,
                                    .lanes = m->init.lanes,
                                    .drive = m->init.drive,
                                    .drives = m->init.drives,
                                    .size = size,
                                    .half_pages = media_half_pages(size)};
    enum fabric_error error = fabric_entropy(m->init.fabric, m->super.id, sizeof m->super.id);
    if (error) {
        media_fail(m, error, "%s: no identity for a new store", m->path);
        return;
    }
    memset(m->pages, 0, MEDIA_CHUNK_PAGES * MEDIA_PAGE);
    m->zeroed = 0;
    zero_some(m);
}

static void lay(struct media *m)
{
    size_t used;
    const struct media_page head = {.kind = MEDIA_PAGE_HEAD, .generation = 1};
    media_page_begin(m->pages, &used);
    media_page_seal(m->pages, &head);
    media_super_encode(&m->super, m->pages + MEDIA_PAGE);
    for (unsigned copy = 0; copy < 2; copy++) {
        step(m, MEDIA_STEP_LAY,
             (struct fabric_io){.op = FABRIC_IO_WRITE,
                                .buf = m->pages,
                                .length = MEDIA_PAGE,
                                .offset = media_journal_offset(&m->super, 0, copy)});
        step(m, MEDIA_STEP_LAY,
             (struct fabric_io){.op = FABRIC_IO_WRITE,
                                .buf = m->pages + MEDIA_PAGE,
                                .length = MEDIA_PAGE,
                                .offset = copy * MEDIA_PAGE});
    }
}

static void close_made(struct media *m)
{
    step_plain(m, MEDIA_STEP_MADE_CLOSE, FABRIC_IO_CLOSE);
    m->file = (fabric_file){0};
}

static void rename_made(struct media *m)
{
    step(m, MEDIA_STEP_RENAME,
         (struct fabric_io){.op = FABRIC_IO_RENAME, .path = m->temporary, .path2 = m->path});
}

/* ------------------------------------------------------------------ judging */

static void read_super(struct media *m)
{
    memset(m->pages, 0, MEDIA_SUPERBLOCKS * MEDIA_PAGE);
    step(m, MEDIA_STEP_SUPER,
         (struct fabric_io){
             .op = FABRIC_IO_READ, .buf = m->pages, .length = MEDIA_SUPERBLOCKS * MEDIA_PAGE});
}

static void read_heads(struct media *m)
{
    memset(m->pages, 0, 4 * MEDIA_PAGE);
    for (unsigned i = 0; i < 4; i++)
        step(m, MEDIA_STEP_HEADS,
             (struct fabric_io){.op = FABRIC_IO_READ,
                                .buf = m->pages + i * MEDIA_PAGE,
                                .length = MEDIA_PAGE,
                                .offset = media_journal_offset(&m->super, i / 2, i % 2)});
}

static bool belongs(struct media *m)
{
    const struct media_super *s = &m->super;
    const struct media_init *i = &m->init;
    if ((s->lane == i->lane && s->lanes == i->lanes && s->drive == i->drive &&
         s->drives == i->drives) ||
        PLANTED(store_super_unchecked))
        return true;
    media_fail(m, ERR_CONFIG_INVALID,
               "%s: found lane %u of %u, medium %u of %u; configured is lane %u of %u, medium %u "
               "of %u",
               m->path, s->lane, s->lanes, s->drive, s->drives, i->lane, i->lanes, i->drive,
               i->drives);
    return false;
}

static bool overwrites(const struct media *m)
{
    return m->init.makes && m->init.direct && m->init.overwrites;
}

static void make_in_place(struct media *m)
{
    begin_making(m, m->init.size && m->init.size < m->extent ? m->init.size : m->extent);
}

/* Both ends: file systems, partition tables and volume managers mark one of them. */
static void read_ends(struct media *m)
{
    const uint64_t end = MEDIA_BLANK_PAGES * MEDIA_PAGE;
    const uint64_t last = m->extent > 2 * end ? (m->extent - end) / MEDIA_PAGE * MEDIA_PAGE : end;
    memset(m->pages, 0, 2 * end);
    for (unsigned i = 0; i < 2; i++)
        step(m, MEDIA_STEP_BLANK,
             (struct fabric_io){.op = FABRIC_IO_READ,
                                .buf = m->pages + i * end,
                                .length = end,
                                .offset = i ? last : 0});
}

static void judge_ends(struct media *m)
{
    const uint8_t *at = m->pages, *end = at + 2 * MEDIA_BLANK_PAGES * MEDIA_PAGE;
    while (at < end && *at == 0)
        at++;
    if (at == end || PLANTED(store_blank_unchecked))
        make_in_place(m);
    else
        media_fail(m, ERR_MEDIA_FAILED,
                   "%s: holds no store of MemKV, and is not blank: what is there stays", m->path);
}

/* A good copy counts for both; without one, the most that either tells. */
static enum media_super_verdict judge_copies(struct media *m)
{
    enum media_super_verdict worst = MEDIA_SUPER_NONE;
    for (unsigned copy = 0; copy < MEDIA_SUPERBLOCKS; copy++) {
        struct media_super found;
        enum media_super_verdict v = media_super_decode(m->pages + copy * MEDIA_PAGE, &found);
        if (v == MEDIA_SUPER_GOOD) {
            m->super_good |= 1u << copy;
            m->super = found;
        } else if (v > worst) {
            worst = v;
        }
    }
    if (worst == MEDIA_SUPER_NEWER && PLANTED(store_version_unchecked))
        worst = MEDIA_SUPER_NONE;
    return m->super_good ? MEDIA_SUPER_GOOD : worst;
}

static void repair_or_go_on(struct media *m)
{
    const unsigned all = (1u << MEDIA_SUPERBLOCKS) - 1;
    if (m->super_good != all) {
        const unsigned copy = m->super_good & 1 ? 1 : 0;
        m->counts.damaged++;
        m->super_good = all;
        media_super_encode(&m->super, m->pages);
        step(m, MEDIA_STEP_REPAIR,
             (struct fabric_io){.op = FABRIC_IO_WRITE,
                                .buf = m->pages,
                                .length = MEDIA_PAGE,
                                .offset = copy * MEDIA_PAGE});
    } else if (m->extent < m->super.size) {
        snprintf(m->detail, sizeof m->detail, "%.120s is shorter than it was made", m->path);
        step(m, MEDIA_STEP_STRETCH,
             (struct fabric_io){.op = FABRIC_IO_TRUNCATE, .length = m->super.size});
    } else {
        read_heads(m);
    }
}

static void judge_super(struct media *m)
{
    switch (judge_copies(m)) {
    case MEDIA_SUPER_GOOD:
        if (!belongs(m))
            return;
        if (m->extent < media_data_offset(&m->super))
            media_fail(m, ERR_MEDIA_FAILED, "%s: it ends inside its journal: truncated", m->path);
        else
            repair_or_go_on(m);
        return;
    case MEDIA_SUPER_NEWER:
        media_fail(m, ERR_MEDIA_VERSION, "%s: written by a later version; up to %u can be read",
                   m->path, MEDIA_VERSION);
        return;
    case MEDIA_SUPER_DAMAGED:
        if (overwrites(m))
            break;
        media_fail(m, ERR_MEDIA_FAILED, "%s: both copies of the superblock are damaged", m->path);
        return;
    default:
        break;
    }
    if (overwrites(m))
        make_in_place(m);
    else if (m->init.makes && m->init.direct)
        read_ends(m);
    else
        media_fail(m, ERR_MEDIA_FAILED, "%s: holds no store of MemKV", m->path);
}

static void judge_heads(struct media *m)
{
    struct media_page best = {0};
    for (unsigned i = 0; i < 4; i++) {
        struct media_page head;
        bool good = media_page_decode(m->pages + i * MEDIA_PAGE, &head);
        if (!good || head.kind != MEDIA_PAGE_HEAD || head.generation <= best.generation)
            continue;
        best = head;
        m->half = i / 2;
    }
    if (best.generation == 0 && overwrites(m)) {
        m->super_good = 0;
        make_in_place(m);
        return;
    }
    if (best.generation == 0) {
        media_fail(m, ERR_MEDIA_FAILED, "%s: no head of its journal is whole", m->path);
        return;
    }
    m->generation = best.generation;
    m->durable = best.durable;
    media_recover_begin(m);
}

/* ------------------------------------------------------------------ one step after the other */

/* What says something about a request, not about a medium. */
static enum fabric_error as_failure(enum fabric_error error)
{
    return error == ERR_NOT_FOUND || error == ERR_INVALID_ARGUMENT ? ERR_MEDIA_FAILED : error;
}

static void opened(struct media *m, const struct fabric_io_done *done)
{
    const bool missing = done->error == ERR_NOT_FOUND;
    if (!done->error) {
        m->file = done->file;
        step_plain(m, MEDIA_STEP_SIZE, FABRIC_IO_SIZE);
    } else if (missing && m->init.makes && !m->init.direct) {
        step(m, MEDIA_STEP_MKDIR, (struct fabric_io){.op = FABRIC_IO_MKDIR, .path = m->folder});
    } else if (done->error == ERR_BUSY) {
        media_fail(m, ERR_BUSY, "%s: another server has it open", m->path);
    } else {
        media_fail(m, as_failure(done->error), "%s: it cannot be opened%s: %s", m->path,
                   m->init.direct ? " past the page cache" : "", error_name(done->error));
    }
}

/* Steps of making; false when this is none. */
static bool make_on(struct media *m)
{
    const bool file = !m->init.direct;
    switch (m->step) {
    case MEDIA_STEP_MKDIR: /* also when it was there: who made it may not have come so far */
        step(m, MEDIA_STEP_SYNC_PARENT,
             (struct fabric_io){.op = FABRIC_IO_SYNC_DIR, .path = m->parent});
        return true;
    case MEDIA_STEP_SYNC_PARENT:
        open_path(m, MEDIA_STEP_MAKE, m->temporary, FABRIC_IO_CREATE);
        return true;
    case MEDIA_STEP_MAKE:
        step_plain(m, MEDIA_STEP_EMPTY, FABRIC_IO_TRUNCATE);
        return true;
    case MEDIA_STEP_EMPTY:
        begin_making(m, m->init.size);
        return true;
    case MEDIA_STEP_ZERO:
        if (m->zeroed < media_data_offset(&m->super) / MEDIA_PAGE)
            zero_some(m);
        else
            step_plain(m, MEDIA_STEP_ZERO_FLUSH, FABRIC_IO_FLUSH);
        return true;
    case MEDIA_STEP_ZERO_FLUSH:
        lay(m);
        return true;
    case MEDIA_STEP_LAY:
        if (file)
            step(m, MEDIA_STEP_EXTEND,
                 (struct fabric_io){.op = FABRIC_IO_TRUNCATE, .length = m->super.size});
        else
            step_plain(m, MEDIA_STEP_MADE_FLUSH, FABRIC_IO_FLUSH);
        return true;
    case MEDIA_STEP_EXTEND:
        if (PLANTED(store_rename_unsynced))
            close_made(m);
        else
            step_plain(m, MEDIA_STEP_MADE_FLUSH, FABRIC_IO_FLUSH);
        return true;
    case MEDIA_STEP_MADE_FLUSH:
        if (file)
            close_made(m);
        else
            read_super(m);
        return true;
    case MEDIA_STEP_MADE_CLOSE:
        rename_made(m);
        return true;
    case MEDIA_STEP_RENAME:
        step(m, MEDIA_STEP_SYNC_DIR,
             (struct fabric_io){.op = FABRIC_IO_SYNC_DIR, .path = m->folder});
        return true;
    case MEDIA_STEP_SYNC_DIR:
        open_path(m, MEDIA_STEP_OPEN, m->path, 0);
        return true;
    default:
        return false;
    }
}

/* Errors that are answers; false: it is one that ends the opening. */
static bool is_answer(const struct media *m, const struct fabric_io_done *done)
{
    return !done->error || m->step == MEDIA_STEP_OPEN ||
           (m->step == MEDIA_STEP_MKDIR && done->error == ERR_EXISTS);
}

void media_open_go_on(struct media *m, const struct fabric_io_done *done)
{
    assert(m && done && m->steps_out > 0 && m->phase == MEDIA_PHASE_OPENING);
    m->steps_out--;
    if (!is_answer(m, done)) {
        media_fail(m, as_failure(done->error), "%s: it cannot be opened or made: %s", m->path,
                   error_name(done->error));
        return;
    }
    if (m->step == MEDIA_STEP_MAKE)
        m->file = done->file;
    if (m->steps_out > 0 || make_on(m))
        return;
    switch (m->step) {
    case MEDIA_STEP_OPEN:
        opened(m, done);
        break;
    case MEDIA_STEP_SIZE:
        m->extent = done->length;
        read_super(m);
        break;
    case MEDIA_STEP_SUPER:
        judge_super(m);
        break;
    case MEDIA_STEP_BLANK:
        judge_ends(m);
        break;
    case MEDIA_STEP_REPAIR:
        repair_or_go_on(m);
        break;
    case MEDIA_STEP_STRETCH:
        m->extent = m->super.size;
        read_heads(m);
        break;
    default:
        assert(m->step == MEDIA_STEP_HEADS);
        judge_heads(m);
    }
}
