/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a medium share. */
#ifndef SRC_STORE_MEDIA_STATE_H
#define SRC_STORE_MEDIA_STATE_H

#include "src/store/media.h"

#define MEDIA_IOS 48u          /* requests under way */
#define MEDIA_DATA_IOS 32u     /* of them with values */
#define MEDIA_CHUNK_PAGES 64u  /* of the journal that one request moves */
#define MEDIA_BATCH_PAGES 4u   /* of records that wait for each other */
#define MEDIA_BLANK_PAGES 32u  /* at either end: where others leave their marks */
#define MEDIA_READ_FAILURES 8u /* in a row: then it is out */

enum media_phase {
    MEDIA_PHASE_OPENING,
    MEDIA_PHASE_RECOVERING,
    MEDIA_PHASE_SERVING,
    MEDIA_PHASE_OUT,
};

enum media_step { /* the request that is under way while OPENING */
                  MEDIA_STEP_OPEN,
                  MEDIA_STEP_SIZE,
                  MEDIA_STEP_SUPER,   /* reads both copies */
                  MEDIA_STEP_BLANK,   /* reads both ends of a device without a superblock */
                  MEDIA_STEP_REPAIR,  /* writes a copy that was damaged */
                  MEDIA_STEP_STRETCH, /* a file that has become shorter */
                  MEDIA_STEP_HEADS,   /* reads position 0 of both halves, both copies */
                  MEDIA_STEP_MKDIR,
                  MEDIA_STEP_SYNC_PARENT,
                  MEDIA_STEP_MAKE, /* opens the new file */
                  MEDIA_STEP_EMPTY,
                  MEDIA_STEP_ZERO, /* writes the journal's area */
                  MEDIA_STEP_ZERO_FLUSH,
                  MEDIA_STEP_LAY, /* writes head and superblocks */
                  MEDIA_STEP_EXTEND,
                  MEDIA_STEP_MADE_FLUSH,
                  MEDIA_STEP_MADE_CLOSE,
                  MEDIA_STEP_RENAME,
                  MEDIA_STEP_SYNC_DIR,
};

enum media_io_use {
    MEDIA_IO_FREE,
    MEDIA_IO_STEP,
    MEDIA_IO_DATA,    /* of an op */
    MEDIA_IO_RECORDS, /* a batch */
    MEDIA_IO_FLUSH,
    MEDIA_IO_CHECKPOINT,
    MEDIA_IO_RECOVER,
};

enum media_op_kind { MEDIA_OP_SAVE, MEDIA_OP_LOAD, MEDIA_OP_REMOVE };

struct media_op {
    struct media_op *next;
    enum media_op_kind kind;
    bool told; /* a result is expected */
    struct media_token token;
    void *owner;
    struct media_entry *entry;
    uint8_t *buf;
    uint64_t at;          /* bytes asked for so far */
    uint32_t outstanding; /* requests */
    enum fabric_error error;
    uint64_t sequence; /* of its record */
};

struct media_ops {
    struct media_op *first, *last;
};

struct media_io {
    enum media_io_use use;
    bool unsent; /* the fabric had no room for it */
    struct media_op *op;
    struct fabric_io io;
};

enum media_checkpoint_stage {
    MEDIA_CHECKPOINT_NONE,
    MEDIA_CHECKPOINT_SETTLES, /* until everything written is durable */
    MEDIA_CHECKPOINT_COPIES,
    MEDIA_CHECKPOINT_FLUSHES, /* the copy */
    MEDIA_CHECKPOINT_HEADS,
};

/* A record that recovery found. */
struct media_found {
    struct media_record record;
    bool dropped; /* torn, ended, or its place is another's */
};

struct media_recovery {
    struct media_found *found;
    size_t count, room;
    uint64_t position, pages; /* of the chunk that is read */
    unsigned copy;
    uint8_t *seen;     /* by position: how many copies were good */
    size_t verifying;  /* which of `found` */
    uint64_t verified; /* bytes of it */
    void *hash;        /* XXH3 state */
};

struct media {
    struct media_init init;
    char path[FABRIC_PATH_MAX], temporary[FABRIC_PATH_MAX], folder[FABRIC_PATH_MAX],
        parent[FABRIC_PATH_MAX];
    char detail[192];
    enum media_phase phase;
    enum media_step step;
    enum fabric_error failed;
    fabric_file file;
    struct media_super super;
    struct slab space;
    struct media_io ios[MEDIA_IOS];
    uint32_t ios_used, data_ios;

    struct media_ops waiting; /* with requests to make */
    struct media_ops ready;   /* with a record to write */
    struct media_ops batch;   /* whose records are being written */
    struct media_ops written; /* whose records are not durable */
    struct media_ops done;    /* with a result to fetch */
    bool tell_opened, tell_lost;

    struct media_entry *first, *last; /* what the journal holds, oldest first */
    struct media_entry *doomed;       /* by `doomed` */
    uint64_t entries, record_bytes;

    uint64_t generation, position;
    unsigned half;
    uint8_t *pages;     /* MEDIA_CHUNK_PAGES */
    uint32_t pages_out; /* writes of them under way */
    uint64_t sequence;  /* the latest one given out */
    uint64_t landed;    /* written up to here */
    uint64_t durable;
    bool flushing;
    uint64_t flush_covers;

    enum media_checkpoint_stage checkpoint;
    struct media_entry *cursor; /* the next to copy */
    uint64_t copied;            /* pages */
    uint64_t copied_bytes;      /* records in them */
    uint64_t extent;            /* bytes that the file has */
    uint64_t zeroed;            /* pages, while it is made */
    unsigned super_good;        /* copies, bit by bit */
    uint32_t steps_out;
    enum fabric_error step_error;
    uint32_t read_failures;

    struct media_recovery recovery;
    struct media_counts counts;
};

/* ---- media.c */
/* Sends a request of `m->file` unless it names a path; it is under way until media_event. */
void media_submit(struct media *m, enum media_io_use use, struct media_op *op, struct fabric_io io);
/* Begins whatever can begin. */
void media_pump(struct media *m);
/* It is out: everything under way ends with media_failed. */
void media_fail(struct media *m, enum fabric_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void media_push(struct media_ops *list, struct media_op *op);
struct media_op *media_pop(struct media_ops *list);
/* Ends an op, telling who wants to know. */
void media_finish(struct media *m, struct media_op *op, enum fabric_error error);

/* ---- media_entry.c */
struct media_entry *media_entry_new(const struct media_record *record);
/* The record of the PUT that made it. */
void media_entry_record(const struct media_entry *entry, struct media_record *out);
/* From now on the journal holds it. */
void media_entry_join(struct media *m, struct media_entry *entry);
/* The record with the sequence `ends` has landed and ends it: the journal holds it no more as soon
 * as that is durable. */
void media_entry_doom(struct media *m, struct media_entry *entry, uint64_t ends);
/* Those whose end is durable by now. */
void media_entries_settle(struct media *m);
/* All of them: the medium is out. */
void media_entries_forget(struct media *m);

/* ---- media_journal.c */
void media_journal_pump(struct media *m);
void media_journal_landed(struct media *m);
void media_journal_flushed(struct media *m);
/* Flushes what has landed, unless that is under way. */
void media_flush(struct media *m);
/* Writes `count` pages of m->pages from `position` of the half on, both copies. */
void media_write_pages(struct media *m, enum media_io_use use, unsigned half, uint64_t position,
                       uint64_t count);
/* Pages that records of so many bytes fill at most. */
uint64_t media_pages_for(uint64_t record_bytes);

/* ---- media_checkpoint.c */
void media_checkpoint_begin(struct media *m);
void media_checkpoint_go_on(struct media *m);

/* ---- media_open.c */
void media_open_begin(struct media *m);
void media_open_go_on(struct media *m, const struct fabric_io_done *done);

/* ---- media_recover.c */
void media_recover_begin(struct media *m);
void media_recover_go_on(struct media *m, const struct fabric_io_done *done);
void media_recover_free(struct media *m);

#endif
