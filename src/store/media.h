/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One medium of a lane: a file, or a block device, that keeps blocks through a crash (MK-J4). All
 * storage I/O of the store is here, and none of it waits: requests go out through the contract,
 * completions come in by media_event, and what has ended is fetched with media_next.
 *
 * A block is its bytes, in one piece of the data area, and a record in the journal. The bytes are
 * written first; when they are, the record; then both are flushed at once, by one flush for
 * everything that was written meanwhile. No page of the journal is written twice, and no piece is
 * given out again before the record that ended its block is durable. So whatever a power cut tears
 * or loses was not acknowledged, and recovery finds it out by checksums.
 *
 * media.c            blocks: save, load, remove; requests and their completions
 * media_entry.c      who uses a block, and when its room is free again
 * media_journal.c    records: batches, flushes, what is durable
 * media_checkpoint.c the journal written anew in its other half
 * media_open.c       finding, making and judging a medium
 * media_recover.c    the blocks of a journal
 * media_format.c     bytes
 */
#ifndef SRC_STORE_MEDIA_H
#define SRC_STORE_MEDIA_H

#include "src/fabric/fabric.h"
#include "src/store/media_format.h"
#include "src/store/slab.h"

struct media;

enum media_durability {
    MEDIA_ACK,      /* a result comes when it survives a power cut */
    MEDIA_INTERVAL, /* flushed by media_tick */
    MEDIA_NONE,     /* flushed only where the journal needs it */
};

struct media_init {
    struct fabric *fabric; /* outlives it */
    uint64_t cookie;       /* of its requests: the low 32 bits are 0 and become its own */
    const char *path;      /* copied; a file whose folder is made if that is missing, or a device */
    bool direct;           /* past the page cache: buffers are aligned to SLAB_ALIGN */
    /* What is not there is made. With `direct` there must be something, and a store is laid out in
     * it only when it is blank at both ends: what others have put there stays. */
    bool makes;
    bool overwrites;     /* with `direct`: what is no store, or none any more, becomes one */
    uint64_t size;       /* bytes of one that is made; 0: all of a device */
    uint64_t block_size; /* bytes of the largest request; a multiple of SLAB_ALIGN */
    void *memory; /* of the caller's buffers, for the fabric to prepare; it outlives the files */
    uint64_t memory_length;
    enum media_durability durability;
    uint32_t lane, lanes, drive, drives; /* what its superblock must say */
};

/* Whose request it is: chosen by the caller, comes back. */
struct media_token {
    uint32_t slot, serial;
    uint64_t id;
};

/* A block on the medium. It belongs to the medium; it is gone when its journal has ended it and
 * the caller has released it. */
struct media_entry {
    struct media_entry *next, *previous; /* of all that the journal holds */
    struct media_entry *doomed;          /* of those that wait until `ends` is durable */
    uint64_t sequence;
    uint64_t ends;   /* sequence of the record that ends it; 0: none */
    uint64_t offset; /* in the data area */
    uint64_t length;
    uint32_t maker;
    uint8_t users; /* the journal, the caller, a removal */
    bool in_journal;
    uint8_t key_length;
    uint8_t tag[MEDIA_TAG_BYTES];
    uint8_t checksum[MEDIA_CHECKSUM_BYTES];
    uint8_t key[];
};

enum media_result_kind {
    MEDIA_OPENED,  /* error: it cannot be used; else its entries are there, each the caller's too */
    MEDIA_SAVED,   /* `entry` is the caller's too, unless there is an error */
    MEDIA_LOADED,  /* error checksum: the bytes are not those that were saved */
    MEDIA_REMOVED, /* of a removal with a token */
    MEDIA_LOST,    /* once: it failed and is out. Its entries are the caller's until released */
};

struct media_result {
    enum media_result_kind kind;
    enum fabric_error error;
    struct media_token token;
    void *owner; /* as given */
    struct media_entry *entry;
};

struct media_counts {
    uint64_t blocks, used, capacity; /* used, capacity: bytes of the data area */
    uint64_t torn;                   /* blocks that recovery dropped: never promised, not whole */
    uint64_t damaged;                /* pages of the journal, copies of the superblock */
    uint64_t checkpoints, flushes, writes, reads;
    uint64_t checksums; /* loads that failed by it */
};

/* Begins to open it; MEDIA_OPENED follows, or MEDIA_OPENED with an error and nothing else. Errors
 * at once: resources_exhausted. */
enum fabric_error media_create(const struct media_init *init, struct media **out);
/* May come at any time. What is lent to the fabric stays so until it is destroyed. */
void media_destroy(struct media *media);
/* Whether requests with the caller's buffers are under way. */
bool media_lends(const struct media *media);

/* Takes the completion of a request of it. */
void media_event(struct media *media, const struct fabric_io_done *done);
/* The next thing that has ended; false when there is none. */
bool media_next(struct media *media, struct media_result *out);
/* With MEDIA_INTERVAL: makes durable what was written. */
void media_tick(struct media *media);

/* Whether it serves. */
bool media_is_online(const struct media *media);
/* What was found when it was opened or lost, for people. */
const char *media_detail(const struct media *media);
const char *media_path(const struct media *media);
void media_counts(const struct media *media, struct media_counts *out);

/* The first entry after MEDIA_OPENED; the others by `next`. */
struct media_entry *media_entries(const struct media *media);

/* Whether a value of `length` bytes finds room now. */
bool media_fits(const struct media *media, uint64_t length, uint8_t key_length);
/* Whether pieces are on their way back: room may come without anybody's doing. */
bool media_frees(const struct media *media);

/* What a save needs; buf is lent until MEDIA_SAVED and as long as slab_rounded(length), which is
 * written: the bytes behind the value are cleared. */
struct media_block {
    const void *key;
    uint8_t key_length;
    const uint8_t *tag; /* MEDIA_TAG_BYTES */
    uint32_t maker;
    uint8_t *buf;
    uint64_t length;
    const uint8_t *checksum; /* MEDIA_CHECKSUM_BYTES; null: computed by the save */
};

/* MEDIA_SAVED follows, by durability. Errors at once: store_full, media_failed,
 * resources_exhausted. */
enum fabric_error media_save(struct media *media, const struct media_block *block,
                             struct media_token token, void *owner);
/* MEDIA_LOADED follows; `buf` as in a save. Errors at once: media_failed, resources_exhausted. */
enum fabric_error media_load(struct media *media, struct media_entry *entry, uint8_t *buf,
                             struct media_token token, void *owner);
/* Ends a block. With a token MEDIA_REMOVED follows, by durability. Errors at once: media_failed,
 * resources_exhausted; then it comes back when the medium is opened again. */
enum fabric_error media_remove(struct media *media, struct media_entry *entry,
                               const struct media_token *token);
/* A save of the same key has taken the place of `entry`, which needs no record of its own. */
void media_supersede(struct media *media, struct media_entry *entry, const struct media_entry *by);
/* The caller needs its bytes no more. */
void media_release(struct media *media, struct media_entry *entry);

#endif
