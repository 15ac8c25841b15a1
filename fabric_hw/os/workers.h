/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few threads for what has to wait: names looked up, files without io_uring.
 *
 * Threading: `work` runs in a worker and touches its job alone; `done` and `drop` run in the loop's
 * thread, but for `drop` of a job that was left. Threads are started as they are needed, up to a
 * number, and block every signal.
 */
#ifndef FABRIC_HW_OS_WORKERS_H
#define FABRIC_HW_OS_WORKERS_H

#include <stdbool.h>

#include "fabric_hw/os/part.h"

struct os_job {
    struct os_job *next;
    void (*work)(struct os_job *job);
    void (*done)(struct os_job *job); /* the job is its owner's again */
    void (*drop)(struct os_job *job); /* instead of done, when the workers end before */
};

struct os_workers;

/* Null when the system refuses. */
struct os_workers *os_workers_create(struct fabric *f, unsigned most);
/* Waits for jobs that are being worked on; drops the others. */
void os_workers_destroy(struct os_workers *workers);
/* For jobs that nobody can hurry and that touch nothing of the instance: waits for none. A job that
 * is being worked on is dropped by its thread, when it gets that far; all others are dropped now.
 */
void os_workers_leave(struct os_workers *workers);
/* False when there is not one thread and none can be started; the job is the caller's still. */
bool os_workers_submit(struct os_workers *workers, struct os_job *job);

#endif
