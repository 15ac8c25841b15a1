/* SPDX-License-Identifier: Apache-2.0 */
/* What disk.c (requests), disk_file.c (contents), disk_names.c (folders) and disk_power.c (what a
 * power cut leaves) share. */
#ifndef FABRIC_SIM_WORLD_DISK_STATE_H
#define FABRIC_SIM_WORLD_DISK_STATE_H

#include "fabric_sim/world/disk.h"

#define DISK_PAGE 4096

struct disk_page { /* shared between what is seen and what is durable until one of them changes */
    uint32_t users;
    uint8_t bytes[DISK_PAGE];
};

struct disk_contents {
    struct disk_page **pages; /* null: zeroes */
    size_t count;
    uint64_t size;
};

enum disk_change_kind { DISK_WRITE, DISK_TRIM, DISK_TRUNCATE };

struct disk_change { /* complete, but not flushed */
    struct disk_change *next;
    enum disk_change_kind kind;
    uint64_t offset, length;
    uint64_t serial; /* when it completed */
    uint8_t *bytes;  /* DISK_WRITE */
};

struct disk_inode {
    struct disk_inode *next; /* all of the disk, in the order of their making */
    struct disk *disk;
    uint32_t users; /* names, open files, name changes not yet durable */
    struct disk_contents seen, durable;
    struct disk_change *changes, **changes_end;
    uint64_t last_serial; /* of the latest change */
};

struct disk_name {
    char *path;
    struct disk_inode *inode; /* null: a folder */
};

struct disk_names { /* sorted by path */
    struct disk_name *items;
    size_t count, capacity;
};

enum disk_name_kind { DISK_LINK, DISK_UNLINK, DISK_RENAME };

struct disk_name_change { /* seen, but not durable */
    struct disk_name_change *next;
    enum disk_name_kind kind;
    char path[FABRIC_PATH_MAX], path2[FABRIC_PATH_MAX];
    struct disk_inode *inode;
    bool from_synced, to_synced; /* RENAME needs both */
    bool due;                    /* becomes durable now, by a sync or a power cut */
};

struct disk {
    struct sim *sim;
    struct disk_config config;
    struct disk_inode *inodes, **inodes_end;
    struct disk_names seen, durable;
    struct disk_name_change *name_changes, **name_changes_end;
    struct disk_user *users;
    uint64_t serial;
    uint64_t pages_used;
    bool broken, full;
    uint64_t extra; /* ns per request */
};

/* ---- disk_file.c */
struct disk_inode *disk_inode_new(struct disk *disk);
void disk_inode_release(struct disk_inode *inode);
size_t disk_contents_read(const struct disk_contents *contents, void *buf, uint64_t offset,
                          uint64_t length);
void disk_contents_write(struct disk_contents *contents, const uint8_t *bytes, uint64_t offset,
                         uint64_t length);
void disk_contents_zero(struct disk_contents *contents, uint64_t offset, uint64_t length);
void disk_contents_truncate(struct disk_contents *contents, uint64_t size);
void disk_contents_copy(struct disk_contents *to, const struct disk_contents *from);
void disk_contents_free(struct disk_contents *contents);
/* Changes what is seen and remembers that it is not durable; takes over `change`. False: no room.
 */
bool disk_inode_change(struct disk_inode *inode, struct disk_change *change);
/* Makes durable what completed before `serial`. */
void disk_inode_flush(struct disk_inode *inode, uint64_t serial);
void disk_change_free(struct disk_change *change);

/* ---- disk_names.c */
struct disk_name *disk_find(const struct disk_names *names, const char *path);
/* Whether a folder of that path exists; the root always does. */
bool disk_is_folder(const struct disk_names *names, const char *path);
void disk_parent(const char *path, char *out); /* FABRIC_PATH_MAX bytes */
void disk_names_add(struct disk_names *names, const char *path, struct disk_inode *inode);
void disk_names_remove(struct disk_names *names, const char *path);
void disk_names_free(struct disk_names *names);
void disk_names_copy(struct disk_names *to, const struct disk_names *from);
/* Each changes what is seen and remembers that it is not durable. */
enum fabric_error disk_link(struct disk *disk, const char *path, struct disk_inode *inode);
enum fabric_error disk_unlink(struct disk *disk, const char *path);
enum fabric_error disk_rename(struct disk *disk, const char *path, const char *path2);
enum fabric_error disk_sync_folder(struct disk *disk, const char *path);
void disk_sync_names(struct disk *disk); /* all of them */
enum fabric_error disk_list(const struct disk *disk, const char *path, char *buf, uint64_t capacity,
                            uint64_t *length);
void disk_name_change_apply(struct disk_names *names, const struct disk_name_change *change);
/* Whether `later` says something else when `earlier` is left out. A name that is made says nothing
 * of the folder in which it stands. */
bool disk_name_change_depends(const struct disk_name_change *later,
                              const struct disk_name_change *earlier);
void disk_name_change_free(struct disk_name_change *change);

#endif
