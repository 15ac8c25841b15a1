/* SPDX-License-Identifier: Apache-2.0 */
#include "src/store/media_format.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#define SUPER_MAGIC "MKVSTORE"
#define PAGE_MAGIC "MKVJ"
#define CHECKED (MEDIA_PAGE - MEDIA_CHECKSUM_BYTES)
#define HEADER 56u /* of a journal page */
#define RECORD 80u /* without its key */

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void put64(uint8_t *to, uint64_t value)
{
    put32(to, (uint32_t)(value >> 32));
    put32(to + 4, (uint32_t)value);
}

static uint32_t get32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static uint64_t get64(const uint8_t *from)
{
    return (uint64_t)get32(from) << 32 | get32(from + 4);
}

void media_checksum(const void *data, uint64_t length, uint8_t out[MEDIA_CHECKSUM_BYTES])
{
    XXH128_canonical_t canonical;
    assert((data || length == 0) && out);
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, (size_t)length));
    memcpy(out, canonical.digest, MEDIA_CHECKSUM_BYTES);
}

/* A state of XXH3 by another name. */
struct media_sum *media_sum_new(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state)
        XXH3_128bits_reset(state);
    return (struct media_sum *)state;
}

void media_sum_add(struct media_sum *sum, const void *data, uint64_t length)
{
    assert(sum && data);
    XXH3_128bits_update((XXH3_state_t *)sum, data, (size_t)length);
}

void media_sum_end(struct media_sum *sum, uint8_t *out)
{
    assert(sum || !out);
    if (out) {
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest((XXH3_state_t *)sum));
        memcpy(out, canonical.digest, MEDIA_CHECKSUM_BYTES);
    }
    XXH3_freeState((XXH3_state_t *)sum);
}

static void seal(uint8_t page[MEDIA_PAGE])
{
    media_checksum(page, CHECKED, page + CHECKED);
}

static bool is_sealed(const uint8_t page[MEDIA_PAGE])
{
    uint8_t expected[MEDIA_CHECKSUM_BYTES];
    media_checksum(page, CHECKED, expected);
    return memcmp(expected, page + CHECKED, sizeof expected) == 0;
}

/* ------------------------------------------------------------------ places */

uint64_t media_half_pages(uint64_t size)
{
    assert(size >= MEDIA_SIZE_MIN);
    uint64_t pages = size / 2048 / MEDIA_PAGE; /* so the four copies take one part in 512 */
    return pages < MEDIA_HALF_MIN ? MEDIA_HALF_MIN : pages;
}

uint64_t media_journal_offset(const struct media_super *super, unsigned half, unsigned copy)
{
    assert(super && half < 2 && copy < 2);
    return MEDIA_PAGE * (MEDIA_SUPERBLOCKS + (2 * half + copy) * super->half_pages);
}

uint64_t media_data_offset(const struct media_super *super)
{
    assert(super);
    return MEDIA_PAGE * (MEDIA_SUPERBLOCKS + 4 * super->half_pages);
}

/* ------------------------------------------------------------------ superblock */

void media_super_encode(const struct media_super *super, uint8_t page[MEDIA_PAGE])
{
    assert(super && page);
    memset(page, 0, MEDIA_PAGE);
    memcpy(page, SUPER_MAGIC, 8);
    put32(page + 8, MEDIA_VERSION);
    put32(page + 12, super->lane);
    put32(page + 16, super->lanes);
    put32(page + 20, super->drive);
    put32(page + 24, super->drives);
    memcpy(page + 32, super->id, MEDIA_ID_BYTES);
    put64(page + 48, super->size);
    put64(page + 56, super->half_pages);
    seal(page);
}

enum media_super_verdict media_super_decode(const uint8_t page[MEDIA_PAGE], struct media_super *out)
{
    assert(page && out);
    if (memcmp(page, SUPER_MAGIC, 8) != 0)
        return MEDIA_SUPER_NONE;
    if (get32(page + 8) > MEDIA_VERSION)
        return MEDIA_SUPER_NEWER;
    if (!is_sealed(page))
        return MEDIA_SUPER_DAMAGED;
    memcpy(out->id, page + 32, MEDIA_ID_BYTES);
    out->lane = get32(page + 12);
    out->lanes = get32(page + 16);
    out->drive = get32(page + 20);
    out->drives = get32(page + 24);
    out->size = get64(page + 48);
    out->half_pages = get64(page + 56);
    bool fits = out->size >= MEDIA_SIZE_MIN && out->half_pages >= MEDIA_HALF_MIN &&
                out->half_pages < out->size / MEDIA_PAGE / 4 && media_data_offset(out) < out->size;
    return fits ? MEDIA_SUPER_GOOD : MEDIA_SUPER_DAMAGED;
}

/* ------------------------------------------------------------------ pages of the journal */

size_t media_record_size(uint8_t key_length)
{
    assert(key_length > 0);
    return RECORD + key_length;
}

void media_page_begin(uint8_t page[MEDIA_PAGE], size_t *used)
{
    assert(page && used);
    memset(page, 0, MEDIA_PAGE);
    *used = 0;
}

bool media_page_add(uint8_t page[MEDIA_PAGE], size_t *used, const struct media_record *r)
{
    assert(page && used && r && r->key_length > 0);
    const size_t size = media_record_size(r->key_length);
    if (*used + size > MEDIA_PAGE_ROOM)
        return false;
    uint8_t *to = page + HEADER + *used;
    to[0] = (uint8_t)r->kind;
    to[1] = r->key_length;
    put32(to + 4, r->maker);
    put64(to + 8, r->sequence);
    put64(to + 16, r->kind == MEDIA_RECORD_PUT ? r->length : r->target);
    put64(to + 24, r->offset);
    memcpy(to + 32, r->tag, MEDIA_TAG_BYTES);
    memcpy(to + 64, r->checksum, MEDIA_CHECKSUM_BYTES);
    memcpy(to + RECORD, r->key, r->key_length);
    *used += size;
    return true;
}

void media_page_seal(uint8_t page[MEDIA_PAGE], const struct media_page *head)
{
    assert(page && head);
    memcpy(page, PAGE_MAGIC, 4);
    page[5] = (uint8_t)head->kind;
    page[6] = (uint8_t)(head->count >> 8);
    page[7] = (uint8_t)head->count;
    put64(page + 8, head->generation);
    put64(page + 16, head->position);
    put64(page + 24, head->durable);
    put64(page + 32, head->snapshot);
    seal(page);
}

bool media_page_decode(const uint8_t page[MEDIA_PAGE], struct media_page *out)
{
    assert(page && out);
    if (memcmp(page, PAGE_MAGIC, 4) != 0 || !is_sealed(page))
        return false;
    if (page[5] != MEDIA_PAGE_HEAD && page[5] != MEDIA_PAGE_RECORDS)
        return false;
    *out = (struct media_page){.kind = (enum media_page_kind)page[5],
                               .count = (uint16_t)(page[6] << 8 | page[7]),
                               .generation = get64(page + 8),
                               .position = get64(page + 16),
                               .durable = get64(page + 24),
                               .snapshot = get64(page + 32)};
    return true;
}

bool media_record_decode(const uint8_t page[MEDIA_PAGE], size_t *at, struct media_record *out)
{
    assert(page && at && out);
    if (*at + RECORD > MEDIA_PAGE_ROOM)
        return false;
    const uint8_t *from = page + HEADER + *at;
    *out = (struct media_record){.kind = (enum media_record_kind)from[0],
                                 .key_length = from[1],
                                 .maker = get32(from + 4),
                                 .sequence = get64(from + 8),
                                 .offset = get64(from + 24)};
    bool put = from[0] == MEDIA_RECORD_PUT;
    if ((!put && from[0] != MEDIA_RECORD_REMOVE) || out->key_length == 0 ||
        *at + media_record_size(out->key_length) > MEDIA_PAGE_ROOM || out->sequence == 0)
        return false;
    out->length = put ? get64(from + 16) : 0;
    out->target = put ? 0 : get64(from + 16);
    memcpy(out->tag, from + 32, MEDIA_TAG_BYTES);
    memcpy(out->checksum, from + 64, MEDIA_CHECKSUM_BYTES);
    memcpy(out->key, from + RECORD, out->key_length);
    *at += media_record_size(out->key_length);
    return true;
}
