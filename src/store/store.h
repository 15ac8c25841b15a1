/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in memory: one slab that is allocated once and registered once, an index by key, and the
 * order of last use. A PUT writes into a reservation that nobody can see; it becomes a block when
 * it is complete and verified (MK-J2). Nothing depends on addresses or on the order of a table.
 */
#ifndef SRC_STORE_STORE_H
#define SRC_STORE_STORE_H

#include "src/fabric/error.h"
#include "src/store/slab.h"

#define STORE_MAX_KEY 255
#define STORE_TAG_BYTES 32

struct store;
struct store_block; /* a reservation, or a block; belongs to the store */

struct store_init {
    uint64_t capacity;                    /* bytes, 4,096 or more */
    bool evicts;                          /* false: a full store refuses */
    uint32_t start_percent, stop_percent; /* eviction begins above one and goes down to the other */
    uint64_t seed;                        /* of the index: what a stranger must not predict */
};

struct store_counts {
    uint64_t blocks, used, capacity; /* used: bytes of the slab, reservations included */
    uint64_t evictions, refusals;
};

/* Errors: resources_exhausted. */
enum fabric_error store_create(const struct store_init *init, struct store **out);
/* Nothing may still be reserved or pinned by a transfer under way. */
void store_destroy(struct store *store);

/* The slab, for registration. */
void *store_memory(const struct store *store, uint64_t *length);
void store_counts(const struct store *store, struct store_counts *out);

/* Room for `length` bytes under `key`, evicting others if that is allowed. Ends with commit or
 * abandon. Errors, after which nothing changed: store_full, resources_exhausted. */
enum fabric_error store_reserve(struct store *store, const void *key, size_t key_length,
                                uint64_t length, struct store_block **out);
/* Makes it visible; a block that had the key goes, when its last reader has finished. */
void store_commit(struct store *store, struct store_block *block,
                  const uint8_t tag[STORE_TAG_BYTES]);
/* Gives the room back. No transfer may still write into it. */
void store_abandon(struct store *store, struct store_block *block);

/* The block under `key`, most recently used from now on and safe from eviction and deletion until
 * store_unpin; null when there is none. */
struct store_block *store_pin(struct store *store, const void *key, size_t key_length);
void store_unpin(struct store *store, struct store_block *block);
/* Neither counts as use. Delete: false when there was none. */
bool store_exists(const struct store *store, const void *key, size_t key_length);
bool store_delete(struct store *store, const void *key, size_t key_length);

void *store_data(const struct store *store, const struct store_block *block);
uint64_t store_offset(const struct store_block *block); /* in the slab */
uint64_t store_length(const struct store_block *block); /* bytes of the value */
const uint8_t *store_tag(const struct store_block *block);
/* A number that the owner keeps with a reservation or a block: under which of its keys the tag was
 * made. 0 at first, and after a restart. */
void store_set_maker(struct store_block *block, uint32_t maker);
uint32_t store_maker(const struct store_block *block);

#endif
