/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one queue of a queue pair owes: the posts that were accepted, in order, until their
 * completions were polled. Verbs lose completions when a queue pair is reset or destroyed, when its
 * completion queue overruns and when the device vanishes; what is missing is made from here.
 *
 * Positions count up for the life of the queue pair:
 *
 *     polled <= pushed <= next      told to the caller | waits to be polled | not completed yet
 *     given <= next                 the device has those below; others are completed here
 */
#ifndef FABRIC_HW_RDMA_LEDGER_H
#define FABRIC_HW_RDMA_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#define RDMA_SEQUENCE_MASK UINT32_C(0x7fffffff) /* as much of a position as the device is given */

struct rdma_entry {
    uint64_t wr_id; /* the caller's */
    uint32_t epoch; /* of the queue pair when it was posted */
    bool signaled;  /* has a completion of its own, also when it succeeds */
    bool told;      /* its completion was pushed */
};

struct rdma_ledger {
    struct rdma_entry *entries;
    uint32_t mask;
    uint32_t most; /* outstanding ones, at most */
    uint64_t polled, pushed, given, next;
};

/* Room for `most` outstanding posts; false when memory is out. */
bool rdma_ledger_open(struct rdma_ledger *ledger, uint32_t most);
void rdma_ledger_close(struct rdma_ledger *ledger);

struct rdma_entry *rdma_ledger_at(const struct rdma_ledger *ledger, uint64_t position);
/* Accepted and not polled yet. */
uint32_t rdma_ledger_outstanding(const struct rdma_ledger *ledger);
bool rdma_ledger_full(const struct rdma_ledger *ledger);
/* An accepted post, at position `next`; `given`: the device has it. Not after one that the device
 * was not given. */
void rdma_ledger_add(struct rdma_ledger *ledger, struct rdma_entry entry, bool given);
/* The position that the device means by the low bits of one; false for one that was completed or
 * made up for before. */
bool rdma_ledger_find(const struct rdma_ledger *ledger, uint32_t sequence, uint64_t *position);
/* The oldest completion that was pushed is polled now, and with it what it covers; returns its
 * entry. */
const struct rdma_entry *rdma_ledger_polled(struct rdma_ledger *ledger);

#endif
