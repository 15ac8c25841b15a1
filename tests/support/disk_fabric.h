/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric that has storage and nothing else: a program on a simulated disk. Everything but I/O,
 * entropy, time and leaving memory is not supported.
 */
#ifndef TESTS_SUPPORT_DISK_FABRIC_H
#define TESTS_SUPPORT_DISK_FABRIC_H

#include "fabric_sim/world/disk.h"

struct disk_fabric;

/* The program of `disk` begins; it dies with disk_fabric_kill or fabric_destroy. */
struct disk_fabric *disk_fabric_new(struct sim *sim, struct disk *disk);
struct fabric *disk_fabric_head(struct disk_fabric *f);
/* The program is gone: what it had under way is carried out or not. Then destroy it. */
void disk_fabric_kill(struct disk_fabric *f);

/* Lets time pass until something has ended; false when nothing is under way. */
bool disk_fabric_wait(struct disk_fabric *f, struct fabric_io_done *out);
/* Writes, flushes, renames and other changes that were submitted, and that have ended. */
uint64_t disk_fabric_points(const struct disk_fabric *f);
/* From now on the nth change (1: the next) is refused with this error; 0: none. */
void disk_fabric_refuse(struct disk_fabric *f, uint64_t nth, enum fabric_error error);
/* How often an operation was submitted. */
uint64_t disk_fabric_count(const struct disk_fabric *f, enum fabric_io_op op);
/* The flags of the latest OPEN. */
uint32_t disk_fabric_flags(const struct disk_fabric *f);

#endif
