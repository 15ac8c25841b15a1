/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of one instance: a place in a table and how often it was used before, so that looking one
 * up costs nothing, and one that is gone is not taken for another. Places are used again in the
 * order in which they became free.
 */
#ifndef FABRIC_HW_OS_HANDLES_H
#define FABRIC_HW_OS_HANDLES_H

#include <stdint.h>

enum os_kind {
    OS_FREE,
    OS_LISTENER,
    OS_STREAM,
    OS_TIMER,
    OS_FILE,
    OS_HTTP,
    OS_HTTP_REQUEST,
};

struct os_slot {
    void *object;
    uint32_t next; /* free place after this one; meaningful while free */
    uint16_t generation;
    uint16_t kind;
};

struct os_handles { /* zero is empty */
    struct os_slot *slots;
    uint32_t capacity, count;
    uint32_t first_free, last_free; /* place + 1; 0: none */
};

/* The number for `object`, or 0 when there is no memory or no number left. */
uint32_t os_handles_new(struct os_handles *handles, enum os_kind kind, void *object);
/* Null when there is no such handle now. */
void *os_handles_find(const struct os_handles *handles, uint32_t id, enum os_kind kind);
/* Aborts when there is none: using a handle that is gone is a programmer error. */
void *os_handles_get(const struct os_handles *handles, uint32_t id, enum os_kind kind);
void os_handles_remove(struct os_handles *handles, uint32_t id);
void os_handles_free(struct os_handles *handles);

#endif
