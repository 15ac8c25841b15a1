/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a medium (docs/formats.md): superblock, pages of the journal, records in them. Every
 * page carries a checksum over all of it, so a torn or damaged one is no page.
 */
#ifndef SRC_STORE_MEDIA_FORMAT_H
#define SRC_STORE_MEDIA_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEDIA_PAGE 4096u
#define MEDIA_VERSION 1u
#define MEDIA_ID_BYTES 16
#define MEDIA_CHECKSUM_BYTES 16
#define MEDIA_TAG_BYTES 32
#define MEDIA_KEY_MAX 255
#define MEDIA_RECORD_MAX 335u                    /* bytes of the largest record */
#define MEDIA_PAGE_ROOM (MEDIA_PAGE - 16u - 56u) /* bytes of records in a page */
#define MEDIA_SUPERBLOCKS 2u                     /* copies, at the front */
#define MEDIA_HALF_MIN 32u                       /* pages of a copy of a half of the journal */
#define MEDIA_SIZE_MIN UINT64_C(1048576)         /* bytes of a medium */

/* What a medium is and to whom it belongs. */
struct media_super {
    uint8_t id[MEDIA_ID_BYTES]; /* of this medium */
    uint32_t lane, lanes, drive, drives;
    uint64_t size;       /* bytes of the medium */
    uint64_t half_pages; /* of one copy of one half of the journal */
};

enum media_page_kind {
    MEDIA_PAGE_HEAD = 1, /* position 0 of a half: the snapshot behind it is whole */
    MEDIA_PAGE_RECORDS = 2,
};

struct media_page {
    enum media_page_kind kind;
    uint16_t count; /* records */
    uint64_t generation;
    uint64_t position; /* in its half */
    uint64_t durable;  /* every record up to this sequence was durable when the page was written */
    uint64_t snapshot; /* HEAD: pages of it */
};

enum media_record_kind {
    MEDIA_RECORD_PUT = 1,
    MEDIA_RECORD_REMOVE = 2, /* ends the block that PUT `target` made */
};

struct media_record {
    enum media_record_kind kind;
    uint8_t key_length;
    uint32_t maker;    /* serial of the cluster key that made the tag; 0: not known */
    uint64_t sequence; /* from 1 on, in the order of the journal */
    uint64_t target;   /* REMOVE: a sequence */
    uint64_t length;   /* PUT: bytes of the value */
    uint64_t offset;   /* PUT: in the data area */
    uint8_t tag[MEDIA_TAG_BYTES];
    uint8_t checksum[MEDIA_CHECKSUM_BYTES]; /* XXH3-128 of the value */
    uint8_t key[MEDIA_KEY_MAX];
};

/* Where things are; bytes from the front of the medium. */
uint64_t media_half_pages(uint64_t size); /* of a new medium */
uint64_t media_journal_offset(const struct media_super *super, unsigned half, unsigned copy);
uint64_t media_data_offset(const struct media_super *super);

void media_super_encode(const struct media_super *super, uint8_t page[MEDIA_PAGE]);
enum media_super_verdict {
    MEDIA_SUPER_GOOD,
    MEDIA_SUPER_NONE,    /* nothing of ours, or damaged */
    MEDIA_SUPER_DAMAGED, /* ours by its first bytes, but not what was written */
    MEDIA_SUPER_NEWER,   /* of a later version, which may look different behind its version */
};
enum media_super_verdict media_super_decode(const uint8_t page[MEDIA_PAGE],
                                            struct media_super *out);

/* Begins a page: records are added until one does not fit, then it is sealed. */
void media_page_begin(uint8_t page[MEDIA_PAGE], size_t *used);
bool media_page_add(uint8_t page[MEDIA_PAGE], size_t *used, const struct media_record *record);
void media_page_seal(uint8_t page[MEDIA_PAGE], const struct media_page *head);
/* False when it is no page: torn, damaged, never written. */
bool media_page_decode(const uint8_t page[MEDIA_PAGE], struct media_page *out);
/* The record at *at, which is 0 at first and then what the call before left. False when a member
 * is out of its range. */
bool media_record_decode(const uint8_t page[MEDIA_PAGE], size_t *at, struct media_record *out);
/* Bytes of a record in a page. */
size_t media_record_size(uint8_t key_length);

void media_checksum(const void *data, uint64_t length, uint8_t out[MEDIA_CHECKSUM_BYTES]);
/* The same of bytes that come one piece after the other. Null without memory. */
struct media_sum;
struct media_sum *media_sum_new(void);
void media_sum_add(struct media_sum *sum, const void *data, uint64_t length);
/* Of all so far; frees it, also when it is null and `out` is. */
void media_sum_end(struct media_sum *sum, uint8_t *out);

#endif
