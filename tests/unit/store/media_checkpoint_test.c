/* SPDX-License-Identifier: Apache-2.0 */
/* MK-J4: a journal that is full is written anew. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/media_bed.h"

static struct media_bed bed;

static void a_journal_goes_on_for_ever(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    const uint64_t before = media_bed_counts(&bed).checkpoints;
    for (unsigned i = 0; i < 200; i++)
        media_bed_save(&bed, i % MEDIA_BED_KEYS, 1 + 61 * i);
    assert_true(media_bed_counts(&bed).checkpoints >= before + 5);
    media_bed_again(&bed);
    assert_int_equal(media_bed_counts(&bed).blocks, MEDIA_BED_KEYS);
    assert_int_equal(bed.lost + bed.wrong, 0);
}

static void values_are_written_while_it_is(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned key = 0; key < MEDIA_BED_KEYS; key++)
            assert_int_equal(media_bed_put(&bed, key, 20000), FABRIC_OK);
        media_bed_settle(&bed);
    }
    assert_int_equal(bed.saved, 40 * MEDIA_BED_KEYS);
    for (unsigned key = 0; key < MEDIA_BED_KEYS; key++)
        assert_int_equal(media_bed_get(&bed, key), FABRIC_OK);
    assert_int_equal(bed.wrong, 0);
}

static void a_cut_leaves_one_half_or_the_other(void **state)
{
    (void)state;
    for (uint64_t point = 1; point < 160; point++) {
        media_bed_down(&bed);
        media_bed_up(&bed, point, NULL);
        assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        for (unsigned i = 0; i < 25; i++) /* batches, so that the half is nearly full */
            media_bed_save(&bed, i % MEDIA_BED_KEYS, 1 + 100 * i);
        const uint64_t before = media_bed_counts(&bed).checkpoints;
        media_bed_work(&bed, 60, disk_fabric_points(bed.fabric) + point);
        assert_true(point < 100 || media_bed_counts(&bed).checkpoints > before);
        media_bed_power_cut(&bed);
        assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        assert_int_equal(bed.lost + bed.wrong, 0);
    }
}

static void more_blocks_than_its_half_holds_are_refused(void **state)
{
    (void)state;
    bed.init.size = 64u << 20;
    bed.init.block_size = 65536;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    assert_true(media_fits(bed.media, 1, 255));
    uint8_t *value = bed.keys[0].buf, tag[MEDIA_TAG_BYTES] = {0};
    enum fabric_error error = FABRIC_OK;
    unsigned count = 0;
    for (; !error && count < 1000; count++) {
        char key[256];
        memset(key, 'x', sizeof key);
        key[0] = (char)(count % 100 + 1);
        key[1] = (char)(count / 100 + 1);
        const struct media_block block = {
            .key = key, .key_length = 255, .tag = tag, .buf = value, .length = 1};
        error = media_save(bed.media, &block, (struct media_token){.slot = 0}, NULL);
        struct fabric_io_done done;
        struct media_result result;
        while (!error && disk_fabric_wait(bed.fabric, &done))
            media_event(bed.media, &done);
        while (media_next(bed.media, &result))
            media_release(bed.media, result.entry);
    }
    assert_int_equal(error, ERR_STORE_FULL);
    assert_in_range(count, 150, 400);
    assert_true(media_is_online(bed.media));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MEDIA_BED_TEST(a_journal_goes_on_for_ever),
        MEDIA_BED_TEST(values_are_written_while_it_is),
        MEDIA_BED_TEST(a_cut_leaves_one_half_or_the_other),
        MEDIA_BED_TEST(more_blocks_than_its_half_holds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
