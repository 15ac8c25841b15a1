/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/media_bed.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static uint64_t draw(struct media_bed *bed, uint64_t bound)
{
    bed->random = bed->random * 6364136223846793005u + 1442695040888963407u;
    return (bed->random >> 33) % bound;
}

/* The contents of a version differ in every page. */
static void make_value(uint8_t *to, unsigned key, uint32_t version, uint64_t length)
{
    for (uint64_t i = 0; i < length; i++)
        to[i] = (uint8_t)(key * 31u + version * 7u + i / 512 + i % 251);
}

static bool is_value(const uint8_t *found, unsigned key, uint32_t version, uint64_t length)
{
    for (uint64_t i = 0; i < length; i++) {
        if (found[i] != (uint8_t)(key * 31u + version * 7u + i / 512 + i % 251))
            return false;
    }
    return true;
}

void media_bed_up(struct media_bed *bed, uint64_t seed, const struct disk_config *config)
{
    const struct disk_config plain = {0};
    *bed = (struct media_bed){.sim = sim_create(seed), .random = seed};
    bed->disk = disk_create(bed->sim, config ? config : &plain);
    bed->init = (struct media_init){.cookie = UINT64_C(7) << 32,
                                    .path = MEDIA_BED_PATH,
                                    .makes = true,
                                    .size = 4u << 20,
                                    .block_size = 16384,
                                    .lanes = 1,
                                    .drives = 1};
    for (unsigned i = 0; i < MEDIA_BED_KEYS; i++) {
        bed->keys[i].buf = aligned_alloc(SLAB_ALIGN, MEDIA_BED_ROOM);
        assert(bed->keys[i].buf);
    }
}

static void close_media(struct media_bed *bed)
{
    for (unsigned i = 0; i < MEDIA_BED_KEYS; i++) {
        if (bed->media && bed->keys[i].entry)
            media_release(bed->media, bed->keys[i].entry);
        bed->keys[i].entry = NULL;
        bed->keys[i].busy = false;
    }
    media_destroy(bed->media);
    bed->media = NULL;
    if (bed->fabric)
        fabric_destroy(disk_fabric_head(bed->fabric));
    bed->fabric = NULL;
}

void media_bed_kill(struct media_bed *bed)
{
    close_media(bed);
}

void media_bed_power_cut(struct media_bed *bed)
{
    close_media(bed);
    disk_power_cut(bed->disk);
}

void media_bed_down(struct media_bed *bed)
{
    close_media(bed);
    for (unsigned i = 0; i < MEDIA_BED_KEYS; i++)
        free(bed->keys[i].buf);
    disk_destroy(bed->disk);
    sim_destroy(bed->sim);
}

/* ------------------------------------------------------------------ what comes back */

static void saved(struct media_bed *bed, const struct media_result *r)
{
    struct media_bed_key *k = &bed->keys[r->token.slot];
    k->busy = false;
    if (r->error) {
        assert(!r->entry);
        return; /* it may be there all the same when the medium fell out */
    }
    bed->saved++;
    if (k->entry) {
        media_supersede(bed->media, k->entry, r->entry);
        media_release(bed->media, k->entry);
    }
    k->entry = r->entry;
    k->sure = k->maybe;
    k->length[0] = k->length[1];
}

static void take(struct media_bed *bed, const struct media_result *r)
{
    struct media_bed_key *k = r->owner ? r->owner : &bed->keys[r->token.slot];
    switch (r->kind) {
    case MEDIA_OPENED:
        bed->opened = true;
        bed->error = r->error;
        break;
    case MEDIA_SAVED:
        saved(bed, r);
        break;
    case MEDIA_REMOVED:
        k->busy = false;
        bed->removed += !r->error;
        if (!r->error) {
            k->sure = 0;
            media_release(bed->media, k->entry);
            k->entry = NULL;
        }
        break;
    case MEDIA_LOADED:
        k->busy = false;
        bed->error = r->error;
        bed->loaded++;
        break;
    default:
        bed->fell_out = true;
        bed->error = r->error;
    }
}

static void take_all(struct media_bed *bed)
{
    struct media_result result;
    while (media_next(bed->media, &result))
        take(bed, &result);
}

bool media_bed_step(struct media_bed *bed)
{
    struct fabric_io_done done;
    take_all(bed);
    if (!disk_fabric_wait(bed->fabric, &done))
        return false;
    media_event(bed->media, &done);
    take_all(bed);
    return true;
}

void media_bed_settle(struct media_bed *bed)
{
    while (media_bed_step(bed))
        ;
}

/* ------------------------------------------------------------------ requests */

enum fabric_error media_bed_put(struct media_bed *bed, unsigned key, uint64_t length)
{
    struct media_bed_key *k = &bed->keys[key];
    uint8_t name[2] = {'k', (uint8_t)('a' + key)}, tag[MEDIA_TAG_BYTES] = {0};
    assert(!k->busy && length > 0 && length <= MEDIA_BED_ROOM);
    const uint32_t version = ++bed->version;
    memcpy(tag, &version, sizeof version);
    make_value(k->buf, key, version, length);
    const struct media_block block = {
        .key = name, .key_length = 2, .tag = tag, .maker = 1, .buf = k->buf, .length = length};
    enum fabric_error error =
        media_save(bed->media, &block, (struct media_token){.slot = key}, NULL);
    if (error)
        return error;
    k->maybe = version;
    k->length[1] = length;
    k->busy = true;
    return FABRIC_OK;
}

enum fabric_error media_bed_remove(struct media_bed *bed, unsigned key)
{
    struct media_bed_key *k = &bed->keys[key];
    const struct media_token token = {.slot = key};
    assert(!k->busy && k->entry);
    enum fabric_error error = media_remove(bed->media, k->entry, &token);
    if (error)
        return error;
    k->maybe = 0;
    k->busy = true;
    return FABRIC_OK;
}

enum fabric_error media_bed_get(struct media_bed *bed, unsigned key)
{
    struct media_bed_key *k = &bed->keys[key];
    assert(!k->busy && k->entry);
    memset(k->buf, 0, MEDIA_BED_ROOM);
    k->busy = true;
    const struct media_token token = {.slot = key};
    enum fabric_error error = media_load(bed->media, k->entry, k->buf, token, k);
    while (!error && k->busy && media_bed_step(bed))
        ;
    k->busy = false;
    error = error ? error : bed->error;
    if (!error && !is_value(k->buf, key, k->sure, k->entry->length))
        bed->wrong++;
    return error;
}

/* ------------------------------------------------------------------ after a crash */

/* The key holds what it surely held, or what was under way. */
static void judge(struct media_bed *bed, unsigned key)
{
    struct media_bed_key *k = &bed->keys[key];
    uint32_t version = 0;
    if (k->entry)
        memcpy(&version, k->entry->tag, sizeof version);
    bool known = version == k->sure || version == k->maybe;
    bed->lost += !known;
    if (!known)
        return;
    k->length[0] = version == k->sure ? k->length[0] : k->length[1];
    k->sure = k->maybe = version;
    if (k->entry && (k->entry->length != k->length[0] || media_bed_get(bed, key)))
        bed->wrong++;
}

enum fabric_error media_bed_open(struct media_bed *bed)
{
    bed->opened = bed->fell_out = false;
    bed->fabric = disk_fabric_new(bed->sim, bed->disk);
    bed->init.fabric = disk_fabric_head(bed->fabric);
    enum fabric_error error = media_create(&bed->init, &bed->media);
    assert(!error);
    while (!bed->opened && media_bed_step(bed))
        ;
    assert(bed->opened);
    if (bed->error)
        return bed->error;
    for (struct media_entry *e = media_entries(bed->media); e; e = e->next) {
        assert(e->key_length == 2 && e->key[1] >= 'a' && e->key[1] < 'a' + MEDIA_BED_KEYS);
        assert(!bed->keys[e->key[1] - 'a'].entry);
        bed->keys[e->key[1] - 'a'].entry = e;
    }
    for (unsigned i = 0; i < MEDIA_BED_KEYS; i++)
        judge(bed, i);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ behind its back */

static struct fabric_io_done ask(struct disk_fabric *f, struct fabric_io io)
{
    struct fabric_io_done done = {0};
    enum fabric_error error = fabric_io_submit(disk_fabric_head(f), &io);
    assert(!error && disk_fabric_wait(f, &done) && !done.error);
    return done;
}

/* Opens the file, does `io` to it, makes it durable. */
static void with_file(struct media_bed *bed, struct fabric_io io)
{
    assert(!bed->media);
    struct disk_fabric *f = disk_fabric_new(bed->sim, bed->disk);
    io.file = ask(f, (struct fabric_io){.op = FABRIC_IO_OPEN, .path = MEDIA_BED_PATH}).file;
    ask(f, io);
    ask(f, (struct fabric_io){.op = FABRIC_IO_FLUSH, .file = io.file});
    fabric_destroy(disk_fabric_head(f));
}

void media_bed_peek(struct media_bed *bed, uint64_t offset, uint8_t *to, size_t length)
{
    memset(to, 0, length);
    with_file(bed, (struct fabric_io){
                       .op = FABRIC_IO_READ, .buf = to, .length = length, .offset = offset});
}

void media_bed_poke(struct media_bed *bed, uint64_t offset, const uint8_t *from, size_t length)
{
    uint8_t *copy = malloc(length);
    assert(copy);
    memcpy(copy, from, length);
    with_file(bed, (struct fabric_io){
                       .op = FABRIC_IO_WRITE, .buf = copy, .length = length, .offset = offset});
    free(copy);
}

void media_bed_flip(struct media_bed *bed, uint64_t offset)
{
    uint8_t page[MEDIA_PAGE];
    media_bed_peek(bed, offset / MEDIA_PAGE * MEDIA_PAGE, page, sizeof page);
    page[offset % MEDIA_PAGE] ^= 0x10;
    media_bed_poke(bed, offset / MEDIA_PAGE * MEDIA_PAGE, page, sizeof page);
}

void media_bed_shorten(struct media_bed *bed, uint64_t size)
{
    with_file(bed, (struct fabric_io){.op = FABRIC_IO_TRUNCATE, .length = size});
}

/* ------------------------------------------------------------------ a workload */

static void begin_one(struct media_bed *bed)
{
    const unsigned key = (unsigned)draw(bed, MEDIA_BED_KEYS);
    struct media_bed_key *k = &bed->keys[key];
    if (k->busy)
        return;
    if (k->entry && draw(bed, 4) == 0)
        media_bed_remove(bed, key);
    else if (k->entry && draw(bed, 8) == 0)
        media_bed_get(bed, key);
    else
        media_bed_put(bed, key, 1 + draw(bed, 40000));
}

bool media_bed_work(struct media_bed *bed, uint32_t operations, uint64_t points)
{
    for (uint32_t i = 0; i < operations && disk_fabric_points(bed->fabric) < points; i++) {
        begin_one(bed);
        for (uint64_t steps = draw(bed, 4);
             steps > 0 && disk_fabric_points(bed->fabric) < points && media_bed_step(bed); steps--)
            ;
    }
    while (disk_fabric_points(bed->fabric) < points && media_bed_step(bed))
        ;
    return disk_fabric_points(bed->fabric) >= points;
}

int media_bed_setup(void **bed)
{
    media_bed_up(*bed, 5, NULL);
    return 0;
}

int media_bed_teardown(void **bed)
{
    media_bed_down(*bed);
    return 0;
}

void media_bed_again(struct media_bed *bed)
{
    media_bed_kill(bed);
    assert_int_equal(media_bed_open(bed), FABRIC_OK);
}

struct media_counts media_bed_counts(const struct media_bed *bed)
{
    struct media_counts counts;
    media_counts(bed->media, &counts);
    return counts;
}

void media_bed_save(struct media_bed *bed, unsigned key, uint64_t length)
{
    assert_int_equal(media_bed_put(bed, key, length), FABRIC_OK);
    media_bed_settle(bed);
    assert_false(bed->keys[key].busy);
}
