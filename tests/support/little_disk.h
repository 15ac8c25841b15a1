/* SPDX-License-Identifier: Apache-2.0 */
/* One disk with one program, whose requests are awaited. */
#ifndef TESTS_SUPPORT_LITTLE_DISK_H
#define TESTS_SUPPORT_LITTLE_DISK_H

#include "fabric_sim/world/disk.h"

#define LITTLE_DISK_DONE_MAX 2048

struct little_disk {
    struct sim *sim;
    struct disk *disk;
    struct disk_user *user;
    size_t done_count;
    struct fabric_io_done done[LITTLE_DISK_DONE_MAX]; /* in the order in which they were reported */
    uint64_t times[LITTLE_DISK_DONE_MAX];
};

void little_disk_up(struct little_disk *little, uint64_t seed, const struct disk_config *config);
void little_disk_down(struct little_disk *little);

/* Submits and waits: its completion. A refusal counts as a completion with that error. */
struct fabric_io_done little_disk_do(struct little_disk *little, const struct fabric_io *io);
/* Waits until nothing is outstanding. */
void little_disk_drain(struct little_disk *little);

fabric_file little_disk_open(struct little_disk *little, const char *path, uint32_t flags);
enum fabric_error little_disk_close(struct little_disk *little, fabric_file file);
enum fabric_error little_disk_write(struct little_disk *little, fabric_file file, uint64_t offset,
                                    const void *bytes, size_t length);
size_t little_disk_read(struct little_disk *little, fabric_file file, uint64_t offset, void *buf,
                        size_t length);
enum fabric_error little_disk_flush(struct little_disk *little, fabric_file file);
enum fabric_error little_disk_truncate(struct little_disk *little, fabric_file file,
                                       uint64_t length);
uint64_t little_disk_size(struct little_disk *little, fabric_file file);
/* MKDIR, UNLINK, SYNC_DIR; RENAME with path2. */
enum fabric_error little_disk_name(struct little_disk *little, enum fabric_io_op op,
                                   const char *path, const char *path2);
/* Creates or overwrites the file and closes it; flushes it, when told so. */
void little_disk_put(struct little_disk *little, const char *path, const char *text, bool flush);
/* Whether the file exists and holds exactly `text`. */
bool little_disk_holds(struct little_disk *little, const char *path, const char *text);
bool little_disk_exists(struct little_disk *little, const char *path);

/* The program dies and is there again. */
void little_disk_restart(struct little_disk *little);
/* The program dies, the power goes and comes, the program is there again. */
void little_disk_power_cut(struct little_disk *little);

#endif
