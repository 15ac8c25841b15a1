/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a power cut leaves of what was not flushed: with order kept a beginning of it, else any
 * subset in any order; the last (or any) write may be torn at the declared unit.
 */
#include <assert.h>
#include <stdlib.h>

#include "fabric_sim/world/disk_state.h"
#include "src/fabric/planted.h"

enum fate { LOST, KEPT, TORN };

/* Part of a write: each unit for itself, or a beginning where order is kept. */
static void land_torn(struct disk *disk, struct disk_inode *inode, const struct disk_change *change)
{
    uint64_t unit = PLANTED(world_disk_tears_anywhere) ? 1 : disk->config.tear_unit;
    uint64_t end = change->offset + change->length;
    assert(unit > 0 && change->kind == DISK_WRITE);
    for (uint64_t at = change->offset; at < end;) {
        uint64_t next = (at / unit + 1) * unit;
        uint64_t part = (next < end ? next : end) - at;
        bool lands = sim_random_below(disk->sim, 2) != 0 || PLANTED(world_disk_never_tears);
        if (!lands && disk->config.keeps_order)
            return;
        if (lands)
            disk_contents_write(&inode->durable, change->bytes + (at - change->offset), at, part);
        at += part;
    }
}

static void land(struct disk *disk, struct disk_inode *inode, const struct disk_change *change,
                 enum fate fate)
{
    if (fate == LOST)
        return;
    if (change->kind == DISK_TRUNCATE)
        disk_contents_truncate(&inode->durable, change->length);
    else if (change->kind == DISK_TRIM)
        disk_contents_zero(&inode->durable, change->offset, change->length);
    else if (fate == TORN)
        land_torn(disk, inode, change);
    else
        disk_contents_write(&inode->durable, change->bytes, change->offset, change->length);
}

struct volatile_change {
    struct disk_inode *inode;
    struct disk_change *change;
};

static int by_serial(const void *a, const void *b)
{
    const struct volatile_change *left = a, *right = b;
    return left->change->serial < right->change->serial ? -1 : 1;
}

static void shuffle(struct sim *sim, struct volatile_change *changes, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)sim_random_below(sim, i);
        struct volatile_change kept = changes[i - 1];
        changes[i - 1] = changes[other];
        changes[other] = kept;
    }
}

/* All that is not durable, over all files, in the order in which it completed. */
static struct volatile_change *collect(struct disk *disk, size_t *count)
{
    struct volatile_change *changes;
    size_t total = 0;
    for (struct disk_inode *inode = disk->inodes; inode; inode = inode->next) {
        for (struct disk_change *change = inode->changes; change; change = change->next)
            total++;
    }
    changes = calloc(total + 1, sizeof(*changes));
    assert(changes);
    *count = 0;
    for (struct disk_inode *inode = disk->inodes; inode; inode = inode->next) {
        for (struct disk_change *change = inode->changes; change; change = change->next)
            changes[(*count)++] = (struct volatile_change){inode, change};
        inode->changes = NULL;
        inode->changes_end = &inode->changes;
    }
    assert(*count == total);
    qsort(changes, total, sizeof(*changes), by_serial);
    return changes;
}

static void cut_contents(struct disk *disk)
{
    size_t count;
    struct volatile_change *changes = collect(disk, &count);
    bool ordered = disk->config.keeps_order && !PLANTED(world_disk_order_broken);
    size_t kept = (size_t)sim_random_below(disk->sim, count + 1);
    if (!ordered && !PLANTED(world_disk_never_reorders))
        shuffle(disk->sim, changes, count);
    for (size_t i = 0; i < count; i++) {
        enum fate fate = ordered ? (i < kept    ? KEPT
                                    : i == kept ? TORN
                                                : LOST)
                                 : (enum fate)sim_random_below(disk->sim, 3);
        if (PLANTED(world_disk_keeps_all))
            fate = KEPT;
        land(disk, changes[i].inode, changes[i].change, fate);
        disk_change_free(changes[i].change);
    }
    free(changes);
}

/* What stands in a folder that is lost is lost with it. */
static void drop_orphans(struct disk_names *names)
{
    for (size_t i = 0; i < names->count;) {
        char parent[FABRIC_PATH_MAX];
        disk_parent(names->items[i].path, parent);
        if (disk_is_folder(names, parent) || PLANTED(world_disk_orphans_survive))
            i++;
        else
            disk_names_remove(names, names->items[i].path);
    }
}

/* Any of them lands or does not, but none without what it rests upon: a file that was renamed is at
 * one of its places, whatever took the other. */
static void draw_names(struct disk *disk)
{
    size_t count = 0, index = 0;
    for (const struct disk_name_change *change = disk->name_changes; change; change = change->next)
        count++;
    size_t kept = (size_t)sim_random_below(disk->sim, count + 1);
    for (struct disk_name_change *change = disk->name_changes; change; change = change->next) {
        const struct disk_name_change *earlier = disk->name_changes;
        change->due = disk->config.keeps_order ? index++ < kept : sim_random_below(disk->sim, 2);
        for (; earlier != change && change->due && !PLANTED(world_disk_names_land_alone);
             earlier = earlier->next)
            change->due = earlier->due || !disk_name_change_depends(change, earlier);
        change->due |= PLANTED(world_disk_names_survive);
    }
}

static void cut_names(struct disk *disk)
{
    draw_names(disk);
    while (disk->name_changes) {
        struct disk_name_change *change = disk->name_changes;
        if (change->due)
            disk_name_change_apply(&disk->durable, change);
        else if (PLANTED(world_disk_rename_in_two) && change->kind == DISK_RENAME &&
                 disk_find(&disk->durable, change->path2))
            disk_names_remove(&disk->durable, change->path2);
        disk->name_changes = change->next;
        disk_name_change_free(change);
    }
    disk->name_changes_end = &disk->name_changes;
    drop_orphans(&disk->durable);
}

void disk_power_cut(struct disk *disk)
{
    assert(!disk->users);
    cut_contents(disk);
    cut_names(disk);
    disk_names_copy(&disk->seen, &disk->durable); /* what only was seen gives its pages back */
    disk->pages_used = 0;
    for (struct disk_inode *inode = disk->inodes; inode; inode = inode->next) {
        disk_contents_copy(&inode->seen, &inode->durable);
        for (size_t i = 0; i < inode->seen.count; i++)
            disk->pages_used += inode->seen.pages[i] != NULL;
    }
    assert(disk->seen.count == disk->durable.count && !disk->name_changes);
    SIM_TRACE(disk->sim, "disk", "power cut: %zu names left", disk->durable.count);
}
