/* SPDX-License-Identifier: Apache-2.0 */
/* Folders: names that are seen, names that are durable, and the changes between the two. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/disk_state.h"
#include "src/fabric/planted.h"

/* Position of `path`, or where it would stand. */
static size_t position(const struct disk_names *names, const char *path, bool *found)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(names->items[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low <= names->count);
    *found = low < names->count && strcmp(names->items[low].path, path) == 0;
    return low;
}

struct disk_name *disk_find(const struct disk_names *names, const char *path)
{
    bool found;
    size_t at = position(names, path, &found);
    return found ? &names->items[at] : NULL;
}

bool disk_is_folder(const struct disk_names *names, const char *path)
{
    if (path[0] == '\0' || strcmp(path, "/") == 0)
        return true;
    const struct disk_name *name = disk_find(names, path);
    return name && !name->inode;
}

void disk_parent(const char *path, char *out)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    assert(strlen(path) < FABRIC_PATH_MAX);
    memcpy(out, path, length);
    out[length] = '\0';
}

void disk_names_add(struct disk_names *names, const char *path, struct disk_inode *inode)
{
    bool found;
    size_t at = position(names, path, &found), length = strlen(path) + 1;
    assert(!found);
    if (names->count == names->capacity) {
        names->capacity = names->capacity * 2 + 16;
        names->items = realloc(names->items, names->capacity * sizeof(*names->items));
        assert(names->items);
    }
    memmove(names->items + at + 1, names->items + at, (names->count - at) * sizeof(*names->items));
    names->items[at] = (struct disk_name){malloc(length), inode};
    assert(names->items[at].path);
    memcpy(names->items[at].path, path, length);
    names->count++;
    if (inode)
        inode->users++;
}

void disk_names_remove(struct disk_names *names, const char *path)
{
    bool found;
    size_t at = position(names, path, &found);
    assert(found);
    struct disk_inode *inode = names->items[at].inode;
    assert(!inode || inode->users > 0);
    free(names->items[at].path);
    names->count--;
    memmove(names->items + at, names->items + at + 1, (names->count - at) * sizeof(*names->items));
    if (inode)
        disk_inode_release(inode);
}

void disk_names_free(struct disk_names *names)
{
    while (names->count)
        disk_names_remove(names, names->items[names->count - 1].path);
    free(names->items);
    *names = (struct disk_names){0};
}

void disk_names_copy(struct disk_names *to, const struct disk_names *from)
{
    struct disk_names fresh = {0};
    for (size_t i = 0; i < from->count; i++)
        disk_names_add(&fresh, from->items[i].path, from->items[i].inode);
    disk_names_free(to);
    *to = fresh;
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* A folder goes with all that stands in it: what is durable may know of more than is seen. */
static void remove_tree(struct disk_names *names, const char *path)
{
    for (size_t i = disk_is_folder(names, path) ? names->count : 0; i-- > 0;) {
        if (is_below(names->items[i].path, path))
            disk_names_remove(names, names->items[i].path);
    }
    disk_names_remove(names, path);
}

/* ------------------------------------------------------------------ changes */

static void remember(struct disk *disk, enum disk_name_kind kind, const char *path,
                     const char *path2, struct disk_inode *inode)
{
    struct disk_name_change *change = calloc(1, sizeof(*change));
    assert(change && strlen(path) < FABRIC_PATH_MAX && strlen(path2) < FABRIC_PATH_MAX);
    change->kind = kind;
    memcpy(change->path, path, strlen(path) + 1);
    memcpy(change->path2, path2, strlen(path2) + 1);
    change->inode = inode;
    if (inode)
        inode->users++;
    assert(!*disk->name_changes_end);
    *disk->name_changes_end = change;
    disk->name_changes_end = &change->next;
}

void disk_name_change_free(struct disk_name_change *change)
{
    if (change->inode)
        disk_inode_release(change->inode);
    free(change);
}

/* Entries below a folder follow it. */
static void move_below(struct disk_names *names, const char *path, const char *path2)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < names->count;) {
        struct disk_name name = names->items[i];
        char moved[2 * FABRIC_PATH_MAX];
        if (!is_below(name.path, path)) {
            i++;
            continue;
        }
        strcpy(moved, path2);
        strcat(moved, name.path + length);
        assert(strlen(moved) < FABRIC_PATH_MAX);
        disk_names_add(names, moved, name.inode);
        disk_names_remove(names, name.path);
        i = 0;
    }
}

void disk_name_change_apply(struct disk_names *names, const struct disk_name_change *change)
{
    const struct disk_name *old = disk_find(names, change->path);
    bool same = old && old->inode == change->inode;
    switch (change->kind) {
    case DISK_LINK:
        if (!old)
            disk_names_add(names, change->path, change->inode);
        break;
    case DISK_UNLINK:
        if (same)
            remove_tree(names, change->path);
        break;
    case DISK_RENAME:
        if (!same)
            break;
        if (disk_find(names, change->path2))
            remove_tree(names, change->path2);
        disk_names_add(names, change->path2, change->inode);
        disk_names_remove(names, change->path);
        if (!change->inode)
            move_below(names, change->path, change->path2);
    }
}

enum fabric_error disk_link(struct disk *disk, const char *path, struct disk_inode *inode)
{
    char parent[FABRIC_PATH_MAX];
    disk_parent(path, parent);
    if (!disk_is_folder(&disk->seen, parent))
        return ERR_NOT_FOUND;
    if (disk_find(&disk->seen, path) || disk_is_folder(&disk->seen, path))
        return ERR_EXISTS;
    disk_names_add(&disk->seen, path, inode);
    remember(disk, DISK_LINK, path, "", inode);
    return FABRIC_OK;
}

/* Length of the longest path below the folder; 0: it is empty. */
static size_t longest_below(const struct disk_names *names, const char *path)
{
    size_t longest = 0;
    for (size_t i = 0; i < names->count; i++) {
        size_t length = strlen(names->items[i].path);
        if (length > longest && is_below(names->items[i].path, path))
            longest = length;
    }
    return longest;
}

enum fabric_error disk_unlink(struct disk *disk, const char *path)
{
    const struct disk_name *name = disk_find(&disk->seen, path);
    if (!name)
        return ERR_NOT_FOUND;
    if (!name->inode && longest_below(&disk->seen, path))
        return ERR_INVALID_ARGUMENT;
    remember(disk, DISK_UNLINK, path, "", name->inode);
    disk_names_remove(&disk->seen, path);
    return FABRIC_OK;
}

enum fabric_error disk_rename(struct disk *disk, const char *path, const char *path2)
{
    char parent[FABRIC_PATH_MAX];
    const struct disk_name *name = disk_find(&disk->seen, path);
    const struct disk_name *other = disk_find(&disk->seen, path2);
    disk_parent(path2, parent);
    if (!name || !disk_is_folder(&disk->seen, parent))
        return ERR_NOT_FOUND;
    if (strcmp(path, path2) == 0)
        return FABRIC_OK;
    if (disk_is_folder(&disk->seen, path2) || (other && !name->inode) || is_below(path2, path))
        return ERR_INVALID_ARGUMENT;
    if (longest_below(&disk->seen, path) + strlen(path2) >= FABRIC_PATH_MAX + strlen(path))
        return ERR_INVALID_ARGUMENT;
    remember(disk, DISK_RENAME, path, path2, name->inode);
    struct disk_name_change change = {.kind = DISK_RENAME, .inode = name->inode};
    memcpy(change.path, path, strlen(path) + 1);
    memcpy(change.path2, path2, strlen(path2) + 1);
    disk_name_change_apply(&disk->seen, &change);
    return FABRIC_OK;
}

static bool stands_in(const char *path, const char *folder)
{
    char parent[FABRIC_PATH_MAX];
    disk_parent(path, parent);
    return strcmp(parent, strcmp(folder, "/") == 0 ? "" : folder) == 0;
}

/* Whether the change is durable once the folder is. */
static bool synced(struct disk_name_change *change, const char *folder)
{
    change->from_synced |= stands_in(change->path, folder);
    if (change->kind != DISK_RENAME || PLANTED(world_disk_rename_half_synced))
        return change->from_synced;
    change->to_synced |= stands_in(change->path2, folder);
    return change->from_synced && change->to_synced;
}

bool disk_name_change_depends(const struct disk_name_change *later,
                              const struct disk_name_change *earlier)
{
    assert(later != earlier);
    const char *ours[] = {later->path, later->path2}, *theirs[] = {earlier->path, earlier->path2};
    for (int i = 0; i < 4; i++) {
        const char *our = ours[i / 2], *their = theirs[i % 2];
        if (!*our || !*their)
            continue;
        if (strcmp(our, their) == 0 || (earlier->kind != DISK_LINK && is_below(our, their)) ||
            (later->kind != DISK_LINK && is_below(their, our)))
            return true;
    }
    return false;
}

/* Marks what is durable once the folder is, and whatever older it rests upon: what was unlinked
 * stays so, whatever folder a rename before it still waits for. */
static void mark_due(struct disk *disk, const char *folder)
{
    struct disk_name_change *last = NULL;
    for (struct disk_name_change *change = disk->name_changes; change; change = change->next) {
        change->due = synced(change, folder);
        last = change->due ? change->next : last;
    }
    for (bool more = !PLANTED(world_disk_names_out_of_order); more;) {
        more = false;
        for (struct disk_name_change *earlier = disk->name_changes; earlier && earlier != last;
             earlier = earlier->next) {
            if (earlier->due)
                continue;
            for (struct disk_name_change *later = earlier->next; later != last && !earlier->due;
                 later = later->next)
                earlier->due = later->due && disk_name_change_depends(later, earlier);
            more |= earlier->due;
        }
    }
}

void disk_sync_names(struct disk *disk)
{
    while (disk->name_changes) {
        struct disk_name_change *change = disk->name_changes;
        disk_name_change_apply(&disk->durable, change);
        disk->name_changes = change->next;
        disk_name_change_free(change);
    }
    disk->name_changes_end = &disk->name_changes;
    assert(disk->seen.count == disk->durable.count);
}

enum fabric_error disk_sync_folder(struct disk *disk, const char *path)
{
    if (!disk_is_folder(&disk->seen, path))
        return ERR_NOT_FOUND;
    mark_due(disk, path);
    struct disk_name_change **place = &disk->name_changes;
    while (*place && !PLANTED(world_disk_sync_dir_lies)) {
        struct disk_name_change *change = *place;
        if (!change->due) {
            place = &change->next;
            continue;
        }
        disk_name_change_apply(&disk->durable, change);
        *place = change->next;
        disk_name_change_free(change);
    }
    disk->name_changes_end = place;
    while (*disk->name_changes_end)
        disk->name_changes_end = &(*disk->name_changes_end)->next;
    return FABRIC_OK;
}

enum fabric_error disk_list(const struct disk *disk, const char *path, char *buf, uint64_t capacity,
                            uint64_t *length)
{
    uint64_t used = 0;
    if (!disk_is_folder(&disk->seen, path))
        return ERR_NOT_FOUND;
    for (size_t i = 0; i < disk->seen.count; i++) {
        const char *name = disk->seen.items[i].path;
        const char *slash = strrchr(name, '/');
        if (!stands_in(name, path))
            continue;
        const char *last = slash ? slash + 1 : name;
        size_t size = strlen(last) + 1;
        assert(size > 1); /* no name is empty */
        if (used + size > capacity)
            return ERR_TOO_LARGE;
        memcpy(buf + used, last, size);
        used += size;
    }
    *length = used;
    return FABRIC_OK;
}
