/* SPDX-License-Identifier: Apache-2.0 */
/* MK-J1, MK-J2: blocks on a medium, and what goes wrong with it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/media_bed.h"

static struct media_bed bed;

static void what_was_saved_is_loaded(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 1);
    media_bed_save(&bed, 1, 4096);
    media_bed_save(&bed, 2, MEDIA_BED_ROOM); /* four requests */
    for (unsigned key = 0; key < 3; key++)
        assert_int_equal(media_bed_get(&bed, key), FABRIC_OK);
    assert_int_equal(media_bed_counts(&bed).blocks, 3);
    assert_int_equal(media_bed_counts(&bed).used, 2 * 4096 + MEDIA_BED_ROOM);
    assert_int_equal(bed.wrong, 0);
}

static void what_was_saved_is_there_again(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    media_bed_save(&bed, 1, 70);
    media_bed_save(&bed, 0, 9000);
    media_bed_again(&bed); /* which compares them */
    assert_non_null(bed.keys[0].entry);
    assert_int_equal(bed.keys[0].entry->length, 9000);
    assert_int_equal(bed.keys[0].entry->maker, 1);
    assert_int_equal(media_bed_counts(&bed).blocks, 2);
    assert_int_equal(media_bed_counts(&bed).used, 3 * 4096 + 4096);
    assert_int_equal(bed.lost + bed.wrong, 0);
}

static void what_was_removed_is_gone_and_its_room_free(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    assert_int_equal(media_bed_remove(&bed, 0), FABRIC_OK);
    media_bed_settle(&bed);
    assert_int_equal(bed.removed, 1);
    assert_int_equal(media_bed_counts(&bed).used, 0);
    media_bed_power_cut(&bed);
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    assert_int_equal(media_bed_counts(&bed).blocks, 0);
}

static void bytes_that_changed_are_not_given_out(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    const struct media_super super = {.half_pages = MEDIA_HALF_MIN};
    const uint64_t at = media_data_offset(&super) + bed.keys[0].entry->offset;
    struct fabric_io io = {.op = FABRIC_IO_OPEN, .path = MEDIA_BED_PATH};
    struct fabric_io_done done;
    uint8_t other = 0xff;
    fabric_io_submit(disk_fabric_head(bed.fabric), &io);
    assert_true(disk_fabric_wait(bed.fabric, &done));
    io = (struct fabric_io){
        .op = FABRIC_IO_WRITE, .file = done.file, .buf = &other, .length = 1, .offset = at + 4999};
    fabric_io_submit(disk_fabric_head(bed.fabric), &io);
    assert_true(disk_fabric_wait(bed.fabric, &done));
    assert_int_equal(media_bed_get(&bed, 0), ERR_CHECKSUM);
    assert_int_equal(media_bed_counts(&bed).checksums, 1);
}

static void a_full_medium_refuses_and_gives_nothing_up(void **state)
{
    (void)state;
    bed.init.size = 1u << 20;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    const uint64_t capacity = media_bed_counts(&bed).capacity;
    uint64_t used = 0;
    for (unsigned key = 0; key < 7; key++, used += MEDIA_BED_ROOM)
        media_bed_save(&bed, key, MEDIA_BED_ROOM);
    assert_true(capacity - used < MEDIA_BED_ROOM);
    assert_false(media_fits(bed.media, MEDIA_BED_ROOM, 2));
    assert_int_equal(media_bed_put(&bed, 7, MEDIA_BED_ROOM), ERR_STORE_FULL);
    assert_int_equal(media_bed_remove(&bed, 0), FABRIC_OK);
    assert_true(media_frees(bed.media));
    media_bed_settle(&bed);
    media_bed_save(&bed, 7, MEDIA_BED_ROOM);
    for (unsigned key = 1; key < 8; key++)
        assert_int_equal(media_bed_get(&bed, key), FABRIC_OK);
}

static void a_disk_without_room_fails_the_save_alone(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    disk_set_full(bed.disk, true);
    assert_int_equal(media_bed_put(&bed, 1, 5000), FABRIC_OK);
    media_bed_settle(&bed);
    assert_null(bed.keys[1].entry);
    assert_true(media_is_online(bed.media));
    assert_int_equal(media_bed_counts(&bed).used, 2 * 4096);
    disk_set_full(bed.disk, false);
    media_bed_save(&bed, 1, 5000);
    assert_int_equal(media_bed_get(&bed, 1), FABRIC_OK);
}

static void a_medium_that_fails_is_out_and_ends_what_was_under_way(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    assert_int_equal(media_bed_put(&bed, 1, 5000), FABRIC_OK);
    assert_int_equal(media_bed_put(&bed, 2, MEDIA_BED_ROOM), FABRIC_OK);
    disk_set_error(bed.disk, true);
    media_bed_settle(&bed);
    assert_true(bed.fell_out);
    assert_int_equal(bed.error, ERR_MEDIA_FAILED);
    assert_false(media_is_online(bed.media));
    assert_false(bed.keys[1].busy || bed.keys[2].busy);
    assert_null(bed.keys[1].entry);
    assert_non_null(strstr(media_detail(bed.media), "failed"));
    assert_int_equal(media_bed_put(&bed, 3, 1), ERR_MEDIA_FAILED);
    assert_int_equal(media_bed_get(&bed, 0), ERR_MEDIA_FAILED);
    disk_set_error(bed.disk, false);
    bed.keys[1].maybe = bed.keys[2].maybe = 0;
    media_bed_again(&bed);
    assert_int_equal(media_bed_get(&bed, 0), FABRIC_OK);
}

static void take_each_once(unsigned *ended, unsigned count)
{
    struct media_result r;
    while (media_next(bed.media, &r)) {
        if (r.kind == MEDIA_LOST)
            continue;
        assert_int_equal(r.kind, MEDIA_SAVED);
        assert_true(r.token.id < count);
        ended[r.token.id]++;
        if (r.entry)
            media_release(bed.media, r.entry);
    }
}

/* More values than requests under way: of some only the first piece is when it fails. */
static void fail_among_many(unsigned moment)
{
    enum { SAVES = 60, LENGTH = 8192 };
    static uint8_t values[SAVES][LENGTH] __attribute__((aligned(4096)));
    static const uint8_t tag[MEDIA_TAG_BYTES] = {1};
    unsigned ended[SAVES] = {0}, events = 0;
    struct fabric_io_done done;
    bed.init.block_size = LENGTH / 2;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    for (unsigned i = 0; i < SAVES; i++) {
        const uint8_t key = (uint8_t)(i + 1);
        const struct media_block block = {
            .key = &key, .key_length = 1, .tag = tag, .buf = values[i], .length = LENGTH};
        const struct media_token token = {.id = i};
        assert_int_equal(media_save(bed.media, &block, token, NULL), FABRIC_OK);
    }
    while (disk_fabric_wait(bed.fabric, &done)) {
        if (events++ == moment)
            disk_set_error(bed.disk, true);
        media_event(bed.media, &done);
        take_each_once(ended, SAVES);
    }
    assert_false(media_is_online(bed.media));
    for (unsigned i = 0; i < SAVES; i++)
        assert_int_equal(ended[i], 1);
}

static void a_medium_that_fails_ends_each_of_many_saves_once(void **state)
{
    (void)state;
    for (unsigned moment = 0; moment < 90; moment++) {
        media_bed_down(&bed);
        media_bed_up(&bed, moment + 1, NULL);
        fail_among_many(moment);
    }
}

static void reads_that_fail_one_after_the_other_put_it_out(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    disk_set_error(bed.disk, true);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(media_bed_get(&bed, 0), ERR_MEDIA_FAILED);
        assert_true(media_is_online(bed.media));
    }
    media_bed_get(&bed, 0);
    assert_false(media_is_online(bed.media));
}

static void a_request_without_room_in_the_queue_is_sent_again(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    disk_fabric_refuse(bed.fabric, 1, ERR_QUEUE_FULL);
    assert_int_equal(media_bed_put(&bed, 0, 5000), FABRIC_OK);
    assert_false(media_bed_step(&bed)); /* nothing is under way */
    media_tick(bed.media);
    media_bed_settle(&bed);
    assert_int_equal(bed.saved, 1);
    disk_fabric_refuse(bed.fabric, 1, ERR_ACCESS_DENIED);
    assert_int_equal(media_bed_put(&bed, 1, 5000), FABRIC_OK);
    media_bed_settle(&bed);
    assert_true(bed.fell_out);
    assert_false(bed.keys[1].busy);
}

static void
a_save_that_ended_as_the_medium_fell_out_takes_the_place_of_the_block_before(void **state)
{
    (void)state;
    bed.init.durability = MEDIA_NONE;
    for (uint64_t nth = 1; nth < 8; nth++) {
        assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        media_bed_save(&bed, 0, 5000);
        const uint64_t before = bed.saved;
        assert_int_equal(media_bed_put(&bed, 0, 6000), FABRIC_OK);
        assert_int_equal(media_bed_put(&bed, 1, 7000), FABRIC_OK);
        disk_fabric_refuse(bed.fabric, nth, ERR_INVALID_ARGUMENT);
        media_bed_settle(&bed);
        assert_false(bed.keys[0].busy || bed.keys[1].busy);
        assert_int_equal(bed.fell_out, nth <= 4);
        assert_int_equal(bed.saved - before, nth <= 2 ? 0 : nth <= 4 ? 1 : 2);
        media_bed_kill(&bed);
    }
    assert_int_equal(bed.lost + bed.wrong, 0);
}

static void closing_in_the_middle_leaks_and_breaks_nothing(void **state)
{
    (void)state;
    for (unsigned steps = 0; steps < 40; steps++) {
        assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        for (unsigned key = 0; key < 6; key++)
            media_bed_put(&bed, key, 20000 + key);
        for (unsigned i = 0; i < steps && media_bed_step(&bed); i++)
            ;
        media_bed_kill(&bed);
    }
    assert_int_equal(bed.lost + bed.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MEDIA_BED_TEST(what_was_saved_is_loaded),
        MEDIA_BED_TEST(what_was_saved_is_there_again),
        MEDIA_BED_TEST(what_was_removed_is_gone_and_its_room_free),
        MEDIA_BED_TEST(bytes_that_changed_are_not_given_out),
        MEDIA_BED_TEST(a_full_medium_refuses_and_gives_nothing_up),
        MEDIA_BED_TEST(a_disk_without_room_fails_the_save_alone),
        MEDIA_BED_TEST(a_medium_that_fails_is_out_and_ends_what_was_under_way),
        MEDIA_BED_TEST(a_medium_that_fails_ends_each_of_many_saves_once),
        MEDIA_BED_TEST(reads_that_fail_one_after_the_other_put_it_out),
        MEDIA_BED_TEST(a_request_without_room_in_the_queue_is_sent_again),
        MEDIA_BED_TEST(
            a_save_that_ended_as_the_medium_fell_out_takes_the_place_of_the_block_before),
        MEDIA_BED_TEST(closing_in_the_middle_leaks_and_breaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
