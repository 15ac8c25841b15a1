/* SPDX-License-Identifier: Apache-2.0 */
/* What store.c and store_media.c share. */
#ifndef SRC_STORE_STORE_STATE_H
#define SRC_STORE_STORE_STATE_H

#include "src/store/store.h"

struct store_order { /* of use */
    struct store_block *newest, *oldest;
};

struct store_links {
    struct store_block *newer, *older;
};

enum { STORE_BY_USE, STORE_IN_MEMORY, STORE_ORDERS };

struct store_block {
    uint64_t offset, length, hash;
    struct store_block *chain;              /* next in the bucket */
    struct store_links links[STORE_ORDERS]; /* all that are visible; those also in memory */
    uint32_t pins;
    bool given;    /* its room is free already */
    bool visible;  /* in the index and in the order of use */
    bool resident; /* has room in the slab */
    bool loading;
    bool ended; /* its medium knows that it ends */
    uint8_t drive;
    uint32_t maker;            /* serial of the key that made its tag */
    struct media_entry *entry; /* on the medium; null: memory mode, or not saved yet */
    uint8_t key_length;
    uint8_t key[STORE_MAX_KEY];
    uint8_t tag[STORE_TAG_BYTES];
    struct media_sum *sum; /* of the `summed` bytes that have come; null: not computed so */
    uint64_t summed;
    bool has_checksum;
    uint8_t checksum[MEDIA_CHECKSUM_BYTES];
};

struct store_told { /* a result to fetch */
    struct store_told *next;
    struct store_result result;
};

/* A save or a deletion that has begun, or waits for an earlier one of its key, or for room. */
struct store_pending {
    struct store_told told; /* first: it becomes its own result */
    struct store_pending *next;
    struct store_block *block; /* null: a deletion */
    uint64_t serial;           /* what the medium calls it */
    uint64_t hash;
    bool begun;
    uint8_t key_length;
    uint8_t key[STORE_MAX_KEY];
};

struct store_loader {       /* who waits for a block that is loaded */
    struct store_told told; /* first */
    struct store_loader *next;
    struct store_block *block;
};

struct store {
    struct store_init init;
    struct slab slab;
    uint8_t *memory;
    struct store_block **buckets;
    size_t bucket_count; /* a power of two */
    struct store_order orders[STORE_ORDERS];
    bool evicting; /* from start_percent down to stop_percent */
    uint64_t blocks, evictions, refusals;

    struct media *media[STORE_MAX_MEDIA];
    uint32_t media_count, opening; /* opening: not known yet */
    bool online[STORE_MAX_MEDIA], ready;
    enum fabric_error refused; /* why it cannot serve */
    uint64_t held;             /* bytes on media: visible blocks and reservations */
    struct store_pending *pending;
    uint64_t pending_serial;
    struct store_loader *loaders;
    struct store_told *told; /* in the order in which they ended */
    bool tell_opened, tell_drive[STORE_MAX_MEDIA];
    enum fabric_error drive_errors[STORE_MAX_MEDIA];
};

/* ---- store.c */
struct store_block *store_find(const struct store *s, const void *key, size_t length,
                               uint64_t hash);
uint64_t store_hash(const struct store *s, const void *key, size_t length);
void store_order_front(struct store *s, int order, struct store_block *b);
void store_order_remove(struct store *s, int order, struct store_block *b);
/* Into the index. */
/* Of a reservation that is saved: from here on it has its checksum, if all of it arrived. */
void store_sum_end(struct store_block *b);
void store_show(struct store *s, struct store_block *b);
/* Out of sight at once; its room comes back when nobody reads it any more. */
void store_hide(struct store *s, struct store_block *b);
/* Ends the least recently used block that nobody reads, of one medium or, below 0, of all; false
 * when there is none. */
bool store_evict_one(struct store *s, int drive);
/* Nobody needs it any more. */
void store_release(struct store *s, struct store_block *b);

/* ---- store_media.c */
enum fabric_error store_media_create(struct store *s);
void store_media_destroy(struct store *s);
/* Room in memory, for which blocks go that are on a medium. */
bool store_media_take(struct store *s, uint64_t length, uint64_t *offset);
/* Whether a value may come to the medium of its key: store_full, media_failed. */
enum fabric_error store_media_reserve(struct store *s, struct store_block *b);
/* It is out of sight: its medium forgets it, too, unless another one is in its place there. */
void store_media_end(struct store *s, struct store_block *b);
void store_media_counts(const struct store *s, struct store_counts *out);

#endif
