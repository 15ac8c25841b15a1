/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page that a fabric's daemon shares with every program on it: the lock of all arenas, and the
 * doorbells that programs rang.
 *
 * Threading: the daemon holds the lock while it runs a batch of events and while it carries out a
 * request; a program holds it while it posts or polls. Looking whether a completion queue is empty
 * needs no lock (queue_is_empty). Nothing that can wait is done under it but reading and writing
 * the memory of programs.
 *
 * Death: whoever dies with the lock leaves rings that are whole (queue.h), but perhaps an entry
 * whose doorbell was never rung. The next owner therefore asks for all queue pairs to be looked at.
 */
#ifndef FABRIC_SIM_SIMFABRIC_SHARED_H
#define FABRIC_SIM_SIMFABRIC_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARED_LAYOUT UINT64_C(0x73696d6661620002) /* changes with the structure below */
#define SHARED_DOORBELLS 1024u

struct shared_doorbell {
    uint32_t device; /* number of the device in its fabric */
    uint32_t qp;     /* id in the device's arena; 0: none */
    uint32_t cq;     /* the same, of one whose program waits to be told */
};

struct shared_page {
    uint64_t layout;
    pthread_mutex_t lock; /* robust, between processes */
    bool asleep;          /* the daemon waits: who rings wakes it */
    bool look_at_all;     /* doorbells were lost: every queue pair is to be looked at */
    uint64_t epoch; /* grows when a way between devices, or who owns memory, may have changed */
    uint64_t now;   /* ns of the world's clock when it was last looked at */
    uint32_t head, tail; /* rung, heard */
    struct shared_doorbell ring[SHARED_DOORBELLS];
};

/* Begins a page in zeroed memory that all processes map. False when the system has no such lock. */
bool shared_create(struct shared_page *page);
/* Whether these bytes are a page of this layout. */
bool shared_is_page(const struct shared_page *page, size_t size);

/* False: the lock cannot be had any more, and nothing may be touched. */
bool shared_lock(struct shared_page *page);
void shared_unlock(struct shared_page *page);

/* With the lock held. True when the daemon sleeps and is now to be woken by the caller, once. */
bool shared_ring(struct shared_page *page, uint32_t device, uint32_t qp);
/* The same for a completion queue (hca_cq_doorbell). */
bool shared_ring_cq(struct shared_page *page, uint32_t device, uint32_t cq);
/* The oldest doorbell not yet heard; false when there is none. */
bool shared_hear(struct shared_page *page, struct shared_doorbell *out);
/* Whether all queue pairs are to be looked at; asked once. */
bool shared_take_all(struct shared_page *page);

#endif
