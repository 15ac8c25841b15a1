/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage of an instance. io.c keeps the books: files, requests, who waits for whom. What may be
 * done without waiting goes to io_uring where the system has it (ring.c); everything else, and
 * everything where it has not, is done by threads (io_work.c).
 */
#ifndef FABRIC_HW_OS_IO_H
#define FABRIC_HW_OS_IO_H

#include "fabric_hw/os/state.h"

#define OS_IO_MOST 1024 /* requests under way */

struct os_ring;

struct os_file {
    struct os_io *io;
    struct os_file *previous, *next;
    uint32_t id;
    int fd;
    int direct_fd; /* of DIRECT_WRITES: the same file past the page cache; -1: none */
    bool read_only, direct;
    bool flush_failed;           /* what was written may be lost for good */
    uint32_t busy;               /* requests under way */
    struct os_request *flushing; /* at most one at a time */
    struct os_request *flushes;  /* wait for it; one flush serves them all */
    struct os_request *closing;  /* waits until nothing is busy */
};

struct os_request {
    struct os_job job; /* first: it is found by it */
    struct os_io *io;
    struct os_file *file;
    struct os_request *next; /* flushes that wait, or free ones */
    struct fabric_io what;   /* its paths are copies of ours */
    char *paths;             /* that they stand in */
    int fd;                  /* of the file; of a new one after OPEN; -1 after CLOSE */
    int direct_fd;           /* of a new one after OPEN; else -1 */
    uint64_t moved;          /* bytes of a READ or WRITE so far */
    uint64_t length;         /* result */
    enum fabric_error error;
};

struct os_io {
    struct os_fabric *os;
    struct os_workers *workers;
    struct os_ring *ring; /* null: threads do it all */
    struct os_file *files;
    struct os_request *free;
    uint32_t under_way;
};

/* io.c: the end of a request, in the loop's thread. */
void os_io_done(struct os_request *request);
/* A write past the page cache was refused: it goes through it. False when it did so already. */
bool os_io_through_cache(struct os_request *request);
/* The instance ends: nobody is told of this one any more. */
void os_io_drop(struct os_request *request);

/* io_work.c: carries out any request, waiting as long as it takes; the job's work function. */
void os_io_work(struct os_job *job);
/* The names in a folder, each ending in NUL, sorted by byte value; a relative path begins at the
 * folder `at`. Errors: as os_io_error, and too_large when they do not fit, with nothing written. */
enum fabric_error os_list_folder(int at, const char *path, char *buf, size_t capacity,
                                 size_t *length);

/* ring.c: null where the system refuses; says so by name. */
struct os_ring *os_ring_create(struct os_io *io);
/* Waits for what is under way. */
void os_ring_destroy(struct os_ring *ring);
bool os_ring_takes(const struct os_request *request);
void os_ring_submit(struct os_ring *ring, struct os_request *request);
/* Everything submitted goes to the kernel. */
void os_ring_flush(struct os_ring *ring);
/* Takes completions that are there, without asking the kernel. */
void os_ring_collect(struct os_ring *ring);

#endif
