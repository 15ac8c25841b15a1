/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the part: a place in a table and how often it was used before, so that a completion or
 * an event of an object that is gone finds nothing.
 */
#ifndef FABRIC_HW_RDMA_HANDLES_H
#define FABRIC_HW_RDMA_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rdma_kind {
    RDMA_FREE,
    RDMA_DEVICE,
    RDMA_MR,
    RDMA_WINDOW,
    RDMA_CQ,
    RDMA_SRQ,
    RDMA_QP,
    RDMA_AH,
};

struct rdma_slot {
    void *object;
    uint32_t next; /* the free place after this one, from 1; 0: none */
    uint16_t generation, kind;
};

struct rdma_handles { /* zero is empty */
    struct rdma_slot *slots;
    uint32_t capacity, first_free, last_free; /* the last two from 1; 0: none */
};

/* The number for `object`; 0 when there is no memory or no number left. */
uint32_t rdma_handles_new(struct rdma_handles *handles, enum rdma_kind kind, void *object);
/* Null when there is none now. */
void *rdma_handles_find(const struct rdma_handles *handles, uint32_t id, enum rdma_kind kind);
/* Aborts when there is none: using a handle that is gone is a programmer error. */
void *rdma_handles_get(const struct rdma_handles *handles, uint32_t id, enum rdma_kind kind);
void rdma_handles_remove(struct rdma_handles *handles, uint32_t id);
void rdma_handles_free(struct rdma_handles *handles);

/* Numbers of the device (keys, queue pair numbers) to what has them, sorted. */
struct rdma_numbers { /* zero is empty */
    struct rdma_number {
        uint32_t number;
        void *object;
    } * entries;
    size_t count, capacity;
};

/* False when memory is out. A number that is there already gets the new object. */
bool rdma_numbers_set(struct rdma_numbers *numbers, uint32_t number, void *object);
void *rdma_numbers_find(const struct rdma_numbers *numbers, uint32_t number); /* null: none */
void rdma_numbers_remove(struct rdma_numbers *numbers, uint32_t number, const void *object);

#endif
