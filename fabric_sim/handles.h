/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of one fabric: numbers from a counter, so that the same run gives the same handles, and
 * one that is gone is never mistaken for another. A table is looked up, never walked.
 */
#ifndef FABRIC_SIM_HANDLES_H
#define FABRIC_SIM_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

enum handle_kind {
    HANDLE_NONE,
    HANDLE_DEVICE,
    HANDLE_MR,
    HANDLE_WINDOW,
    HANDLE_CQ,
    HANDLE_SRQ,
    HANDLE_QP,
    HANDLE_AH,
    HANDLE_RESOLVE,
    HANDLE_LISTENER,
    HANDLE_STREAM,
    HANDLE_TIMER,
    HANDLE_HTTP,
    HANDLE_HTTP_REQUEST,
};

struct handle_slot {
    uint32_t id; /* 0: free */
    enum handle_kind kind;
    void *object;
};

struct handles { /* zero is empty */
    struct handle_slot *slots;
    uint32_t capacity, count; /* capacity is a power of two */
    uint32_t last;            /* the latest number given out */
};

uint32_t handles_new(struct handles *handles, enum handle_kind kind, void *object);
/* Under a number chosen by the caller, not yet in use. */
void handles_put(struct handles *handles, uint32_t id, enum handle_kind kind, void *object);
/* Null when there is no such handle now. */
void *handles_find(const struct handles *handles, uint32_t id, enum handle_kind kind);
/* Aborts when there is none: using a handle that is gone is a programmer error. */
void *handles_get(const struct handles *handles, uint32_t id, enum handle_kind kind);
void handles_remove(struct handles *handles, uint32_t id);
void handles_free(struct handles *handles);

#endif
