/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The poll form, and what the synchronous form (client.c) uses of it beyond the public header. All
 * of it belongs to one thread at a time, but for lib_queue_is_ours, lib_request_check and
 * lib_queue_wake, which read only what never changes.
 */
#ifndef LIB_QUEUE_H
#define LIB_QUEUE_H

#include "include/memkv/memkv.h"
#include "src/fabric/fabric.h"

/* Whether this is the process that opened it; otherwise fills in `error`. */
bool lib_queue_is_ours(const struct memkv_queue *queue, struct memkv_error *error);

/* Whether a request may be submitted; otherwise fills in `error`, with its place in the array. */
bool lib_request_check(const struct memkv_queue *queue, const struct memkv_request *requests,
                       size_t count, struct memkv_error *error);

/* Lets a waiting or the next lib_queue_work return. Any thread. */
void lib_queue_wake(struct memkv_queue *queue);

/* Takes what happened, and waits for it until `deadline` (ns, monotonic). *count (may be null) gets
 * the number of events. The error is one of the fabric. */
enum fabric_error lib_queue_work(struct memkv_queue *queue, uint64_t deadline, size_t *count);

/* Completions that wait. */
size_t lib_queue_completed(const struct memkv_queue *queue);
size_t lib_queue_take(struct memkv_queue *queue, struct memkv_completion *out, size_t capacity);

/* Monotonic time in ns. */
uint64_t lib_queue_now(const struct memkv_queue *queue);
/* The setting `timeout` in ns. */
uint64_t lib_queue_timeout(const struct memkv_queue *queue);

/* now + span, or never. */
uint64_t lib_deadline(uint64_t now, uint64_t span);

#endif
