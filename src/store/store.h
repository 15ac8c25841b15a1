/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks: one slab that is allocated once and registered once, an index by key, and the order of
 * last use. A PUT writes into a reservation that nobody can see; it becomes a block when it is
 * complete and verified (MK-J2). Nothing depends on addresses or on the order of a table.
 *
 * With media (media.h) the slab holds what is on its way and what was used last, and blocks stay
 * where they are when the memory is needed for others. What takes a medium's time has a token; its
 * end is fetched with store_next. In memory mode everything is over when the call returns.
 *
 * store.c        index, order of use, room in memory
 * store_media.c  what has media: saves, loads, deletions, room on the media
 */
#ifndef SRC_STORE_STORE_H
#define SRC_STORE_STORE_H

#include "src/fabric/error.h"
#include "src/store/media.h"
#include "src/store/slab.h"

#define STORE_MAX_KEY 255
#define STORE_TAG_BYTES 32
#define STORE_MAX_MEDIA 8
#define STORE_LARGE_PAGE (2u << 20) /* bytes: to what memory that has as much is aligned */

struct store;
struct store_block; /* a reservation, or a block; belongs to the store */

/* Keys are spread over the media; each keeps whole blocks, so one that fails takes its share. */
struct store_media {
    uint32_t count;                     /* 0: memory mode */
    const char *paths[STORE_MAX_MEDIA]; /* copied */
    struct media_init each;             /* of every one, but for path, cookie, drive and drives */
    uint64_t cookie;                    /* bits 32 to 39 and below are 0 */
};

struct store_init {
    uint64_t capacity;                    /* bytes, 4,096 or more */
    bool evicts;                          /* false: a full store refuses */
    uint32_t start_percent, stop_percent; /* eviction begins above one and goes down to the other */
    uint64_t seed;                        /* of the index: what a stranger must not predict */
    struct store_media media;
};

struct store_counts {
    uint64_t blocks, used,
        capacity; /* bytes, reservations included; of the media where there are */
    uint64_t evictions, refusals;
    uint64_t resident; /* bytes of the slab in use */
    uint32_t drives_online, drives_offline;
    uint32_t drives_out;               /* bit i: medium i is offline */
    uint64_t torn, damaged, checksums; /* struct media_counts */
};

enum store_result_kind {
    STORE_OPENED,  /* error: it cannot serve. Once, with media only */
    STORE_SAVED,   /* of store_save; error: it has not become visible */
    STORE_LOADED,  /* of store_load; error: not what was saved, or not to be had */
    STORE_DELETED, /* of store_delete; `found` */
    STORE_DRIVE,   /* one is out, at opening or later: `error`, `detail` */
};

struct store_result {
    enum store_result_kind kind;
    enum fabric_error error;
    bool found;
    struct media_token token;
    const char *detail; /* for people; until the next call */
};

/* With media it serves after STORE_OPENED. Errors: resources_exhausted, invalid_argument (a path).
 */
enum fabric_error store_create(const struct store_init *init, struct store **out);
/* Nothing may still be reserved or pinned by a transfer under way, but for a medium's. */
void store_destroy(struct store *store);

/* Takes the completion of a request with its cookie. */
void store_event(struct store *store, const struct fabric_io_done *done);
/* The next thing that has ended; false when there is none. */
bool store_next(struct store *store, struct store_result *out);
/* Once in a second or so: flushes where durability is by interval. */
void store_tick(struct store *store);

/* The slab, for registration. */
void *store_memory(const struct store *store, uint64_t *length);
void store_counts(const struct store *store, struct store_counts *out);

/* Room for `length` bytes under `key`, evicting others if that is allowed. Ends with commit or
 * abandon. Errors, after which nothing changed: store_full, resources_exhausted; with media also
 * media_failed, queue_full (all memory is in use by transfers). */
enum fabric_error store_reserve(struct store *store, const void *key, size_t key_length,
                                uint64_t length, struct store_block **out);
/* The next `length` bytes of a reservation are in memory, one piece after the other from the first
 * on: what a medium needs of them is computed while the processor has them at hand. Nobody has to;
 * it is made up for by store_save. */
void store_arrived(struct store *store, struct store_block *block, uint64_t length);
/* Makes it visible; a block that had the key goes, when its last reader has finished. */
void store_commit(struct store *store, struct store_block *block,
                  const uint8_t tag[STORE_TAG_BYTES]);
/* Commits where there is no medium. Else *later: STORE_SAVED follows, and by durability the block
 * is visible and stays. Saves and deletions of one key end in the order in which they began. The
 * block is the store's either way. `maker`: serial of the key that made the tag, or 0. Errors,
 * after which the block is gone: resources_exhausted. */
enum fabric_error store_save(struct store *store, struct store_block *block,
                             const uint8_t tag[STORE_TAG_BYTES], struct media_token token,
                             bool *later);
/* Gives the room back. No transfer may still write into it. */
void store_abandon(struct store *store, struct store_block *block);

/* The block under `key`, most recently used from now on and safe from eviction and deletion until
 * store_unpin; null when there is none. */
struct store_block *store_pin(struct store *store, const void *key, size_t key_length);
void store_unpin(struct store *store, struct store_block *block);
/* Brings the bytes of a pinned block into memory unless they are there; *later: STORE_LOADED
 * follows. Bytes that are not what was saved end the block. Errors: queue_full (all memory is in
 * use by transfers), media_failed, resources_exhausted. */
enum fabric_error store_load(struct store *store, struct store_block *block,
                             struct media_token token, bool *later);
/* Neither counts as use. *found: there was one; *later: STORE_DELETED follows and tells it. Errors:
 * resources_exhausted. */
bool store_exists(const struct store *store, const void *key, size_t key_length);
enum fabric_error store_delete(struct store *store, const void *key, size_t key_length,
                               struct media_token token, bool *found, bool *later);

void *store_data(const struct store *store, const struct store_block *block);
uint64_t store_offset(const struct store_block *block); /* in the slab */
uint64_t store_length(const struct store_block *block); /* bytes of the value */
const uint8_t *store_tag(const struct store_block *block);
/* A number that the owner keeps with a reservation or a block: under which of its keys the tag was
 * made. 0 at first; a medium keeps it. */
void store_set_maker(struct store_block *block, uint32_t maker);
uint32_t store_maker(const struct store_block *block);

#endif
