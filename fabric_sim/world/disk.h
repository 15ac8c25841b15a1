/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated disk with a file system. What a program reads is the page cache; what survives a
 * power cut is what was flushed, plus whatever the seed draws of the rest (HA-1.5): between two
 * flushes writes reach the medium in any order unless the disk promises otherwise, each may tear at
 * the declared unit, and names have a durability of their own (fabric.h, FABRIC_IO_SYNC_DIR).
 */
#ifndef FABRIC_SIM_WORLD_DISK_H
#define FABRIC_SIM_WORLD_DISK_H

#include "fabric_sim/world/sim.h"
#include "src/fabric/fabric.h"

struct disk;

struct disk_config {
    uint64_t size;      /* bytes; 0: 1 GiB */
    bool keeps_order;   /* STORAGE_ORDER */
    uint32_t tear_unit; /* a write tears only at multiples of this; 0: 512 */
    uint32_t align;     /* of DIRECT requests; 0: 512 */
};

struct disk *disk_create(struct sim *sim, const struct disk_config *config);
void disk_destroy(struct disk *disk);
const struct disk_config *disk_config(const struct disk *disk); /* with the defaults filled in */

/* One mount: the open files and the requests of one program. `done` is called once per accepted
 * request, in virtual time. */
struct disk_user;
typedef void (*disk_done)(void *context, const struct fabric_io_done *done);
struct disk_user *disk_user_create(struct disk *disk, disk_done done, void *context);
/* The program is gone: no more completions. What it had under way is carried out or not, as the
 * seed draws; the page cache stays. */
void disk_user_destroy(struct disk_user *user);

/* As io_submit of fabric.h: queue_full, invalid_argument, else one `done`. Buffers stay lent until
 * then. A file handle that is not open here aborts. */
enum fabric_error disk_submit(struct disk_user *user, const struct fabric_io *io);

/* Creates or replaces a file, durable at once, with the folders above it. */
enum fabric_error disk_place(struct disk *disk, const char *path, const void *data, size_t length);

/* ---- faults */
void disk_set_error(struct disk *disk, bool on);       /* reads, writes and flushes: media_failed */
void disk_set_full(struct disk *disk, bool on);        /* whatever needs room: store_full */
void disk_set_slow(struct disk *disk, uint64_t extra); /* ns per request */
/* Everything volatile is lost but for what the seed keeps of it. Every user must be gone. */
void disk_power_cut(struct disk *disk);

#endif
