/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records on their way to a program that reads them from a pipe, as it would read events from the
 * kernel. What the pipe does not take at once waits here, in order: no event blocks the daemon, and
 * none is lost.
 */
#ifndef FABRIC_SIM_SIMFABRIC_OUTBOX_H
#define FABRIC_SIM_SIMFABRIC_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outbox {
    int fd; /* the writing end, non-blocking; -1: closed */
    uint8_t *waiting;
    size_t length, capacity;
};

/* Makes the pipe and gives its reading end to the caller. False when there are no descriptors. */
bool outbox_open(struct outbox *outbox, int *reading_end);
void outbox_close(struct outbox *outbox); /* what waits is gone; twice is fine */
/* All records of one outbox have the same size, a power of two of at most 512 bytes. */
bool outbox_put(struct outbox *outbox, const void *record, size_t size);
/* Tries again. Both return whether something waits now. */
bool outbox_flush(struct outbox *outbox);

/* Records of `size` bytes whose first 8 bytes are `first` are gone, the others stay in their order:
 * those that wait here; and, for the reader, those in its pipe. Nobody may put or flush meanwhile,
 * others may read. */
void outbox_drop(struct outbox *outbox, size_t size, uint64_t first);
void outbox_forget(int reading_end, size_t size, uint64_t first);

#endif
