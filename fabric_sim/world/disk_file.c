/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of files: what is seen, what is durable, and the changes between the two. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/disk_state.h"
#include "src/fabric/planted.h"

struct disk_inode *disk_inode_new(struct disk *disk)
{
    struct disk_inode *inode = calloc(1, sizeof(*inode));
    assert(inode);
    inode->disk = disk;
    inode->changes_end = &inode->changes;
    assert(!*disk->inodes_end);
    *disk->inodes_end = inode;
    disk->inodes_end = &inode->next;
    return inode;
}

static void page_release(struct disk_page *page)
{
    assert(!page || page->users > 0);
    if (page && --page->users == 0)
        free(page);
}

void disk_contents_free(struct disk_contents *contents)
{
    for (size_t i = 0; i < contents->count; i++)
        page_release(contents->pages[i]);
    free(contents->pages);
    *contents = (struct disk_contents){0};
}

void disk_change_free(struct disk_change *change)
{
    free(change->bytes);
    free(change);
}

static void drop_changes(struct disk_inode *inode)
{
    while (inode->changes) {
        struct disk_change *change = inode->changes;
        inode->changes = change->next;
        disk_change_free(change);
    }
    inode->changes_end = &inode->changes;
}

static size_t pages_in(const struct disk_contents *contents)
{
    size_t used = 0;
    for (size_t i = 0; i < contents->count; i++)
        used += contents->pages[i] != NULL;
    return used;
}

void disk_inode_release(struct disk_inode *inode)
{
    struct disk *disk = inode->disk;
    assert(inode->users > 0);
    if (--inode->users)
        return;
    struct disk_inode **place = &disk->inodes;
    while (*place != inode)
        place = &(*place)->next;
    *place = inode->next;
    if (!*place)
        disk->inodes_end = place;
    assert(disk->pages_used >= pages_in(&inode->seen));
    disk->pages_used -= pages_in(&inode->seen);
    drop_changes(inode);
    disk_contents_free(&inode->seen);
    disk_contents_free(&inode->durable);
    free(inode);
}

/* ------------------------------------------------------------------ contents */

size_t disk_contents_read(const struct disk_contents *contents, void *buf, uint64_t offset,
                          uint64_t length)
{
    uint8_t *out = buf;
    if (offset >= contents->size)
        return 0;
    if (length > contents->size - offset)
        length = contents->size - offset;
    for (uint64_t done = 0; done < length;) {
        size_t index = (size_t)((offset + done) / DISK_PAGE), at = (offset + done) % DISK_PAGE;
        size_t part = DISK_PAGE - at < length - done ? DISK_PAGE - at : (size_t)(length - done);
        const struct disk_page *page = index < contents->count ? contents->pages[index] : NULL;
        if (page)
            memcpy(out + done, page->bytes + at, part);
        else
            memset(out + done, 0, part);
        done += part;
    }
    return (size_t)length;
}

/* The page, alone ours and to be written. */
static struct disk_page *own_page(struct disk_contents *contents, size_t index)
{
    if (index >= contents->count) {
        size_t count = index + 1 + contents->count / 2;
        contents->pages = realloc(contents->pages, count * sizeof(*contents->pages));
        assert(contents->pages);
        for (size_t i = contents->count; i < count; i++)
            contents->pages[i] = NULL;
        contents->count = count;
    }
    struct disk_page *page = contents->pages[index];
    if (page && (page->users == 1 || PLANTED(world_disk_pages_shared)))
        return page;
    struct disk_page *fresh = calloc(1, sizeof(*fresh));
    assert(fresh);
    if (page) {
        memcpy(fresh->bytes, page->bytes, DISK_PAGE);
        page->users--;
    }
    fresh->users = 1;
    contents->pages[index] = fresh;
    return fresh;
}

void disk_contents_write(struct disk_contents *contents, const uint8_t *bytes, uint64_t offset,
                         uint64_t length)
{
    for (uint64_t done = 0; done < length;) {
        size_t index = (size_t)((offset + done) / DISK_PAGE), at = (offset + done) % DISK_PAGE;
        size_t part = DISK_PAGE - at < length - done ? DISK_PAGE - at : (size_t)(length - done);
        memcpy(own_page(contents, index)->bytes + at, bytes + done, part);
        done += part;
    }
    assert(offset + length >= offset);
    if (length && offset + length > contents->size)
        contents->size = offset + length;
}

void disk_contents_zero(struct disk_contents *contents, uint64_t offset, uint64_t length)
{
    uint64_t end = offset + length < contents->size ? offset + length : contents->size;
    while (offset < end) {
        size_t index = (size_t)(offset / DISK_PAGE), at = offset % DISK_PAGE;
        size_t part = DISK_PAGE - at < end - offset ? DISK_PAGE - at : (size_t)(end - offset);
        if (index < contents->count && contents->pages[index])
            memset(own_page(contents, index)->bytes + at, 0, part);
        offset += part;
    }
}

void disk_contents_truncate(struct disk_contents *contents, uint64_t size)
{
    if (size < contents->size && !PLANTED(world_disk_truncate_keeps_bytes)) {
        disk_contents_zero(contents, size, contents->size - size);
        for (size_t i = (size_t)((size + DISK_PAGE - 1) / DISK_PAGE); i < contents->count; i++) {
            page_release(contents->pages[i]);
            contents->pages[i] = NULL;
        }
    }
    contents->size = size;
}

void disk_contents_copy(struct disk_contents *to, const struct disk_contents *from)
{
    assert(to != from);
    disk_contents_free(to);
    *to = *from;
    to->pages = calloc(from->count + 1, sizeof(*to->pages));
    assert(to->pages);
    for (size_t i = 0; i < from->count; i++) {
        to->pages[i] = from->pages[i];
        if (to->pages[i])
            to->pages[i]->users++;
    }
}

/* ------------------------------------------------------------------ changes */

static void carry_out(struct disk_contents *contents, const struct disk_change *change)
{
    switch (change->kind) {
    case DISK_WRITE:
        disk_contents_write(contents, change->bytes, change->offset, change->length);
        break;
    case DISK_TRIM:
        disk_contents_zero(contents, change->offset, change->length);
        break;
    case DISK_TRUNCATE:
        disk_contents_truncate(contents, change->length);
    }
}

/* Pages that the write would need beyond those the file has. */
static uint64_t new_pages(const struct disk_contents *contents, const struct disk_change *change)
{
    uint64_t needed = 0;
    if (change->kind != DISK_WRITE || change->length == 0)
        return 0;
    uint64_t last = (change->offset + change->length - 1) / DISK_PAGE;
    for (uint64_t i = change->offset / DISK_PAGE; i <= last; i++)
        needed += i >= contents->count || !contents->pages[i];
    return needed;
}

bool disk_inode_change(struct disk_inode *inode, struct disk_change *change)
{
    struct disk *disk = inode->disk;
    uint64_t needed = new_pages(&inode->seen, change);
    bool fits = change->kind != DISK_WRITE || change->offset + change->length <= disk->config.size;
    bool room = disk->pages_used + needed <= disk->config.size / DISK_PAGE && fits && !disk->full;
    if (needed && !room && !PLANTED(world_disk_never_full)) {
        disk_change_free(change);
        return false;
    }
    size_t before = change->kind == DISK_TRUNCATE ? pages_in(&inode->seen) : 0;
    carry_out(&inode->seen, change);
    disk->pages_used += needed;
    if (change->kind == DISK_TRUNCATE)
        disk->pages_used -= before - pages_in(&inode->seen);
    change->serial = inode->last_serial = ++disk->serial;
    change->next = NULL;
    *inode->changes_end = change;
    inode->changes_end = &change->next;
    return true;
}

void disk_inode_flush(struct disk_inode *inode, uint64_t serial)
{
    if (PLANTED(world_disk_flush_lies))
        return;
    if (PLANTED(world_disk_flush_takes_later))
        serial = UINT64_MAX;
    if (inode->changes && inode->last_serial < serial) { /* all of them: share the pages */
        drop_changes(inode);
        disk_contents_copy(&inode->durable, &inode->seen);
        return;
    }
    while (inode->changes && inode->changes->serial < serial) {
        struct disk_change *change = inode->changes;
        assert(!change->next || change->next->serial > change->serial);
        carry_out(&inode->durable, change);
        inode->changes = change->next;
        if (!inode->changes)
            inode->changes_end = &inode->changes;
        disk_change_free(change);
    }
}
