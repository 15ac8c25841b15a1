/* SPDX-License-Identifier: Apache-2.0 */
/* MK-J4: what is found again after a crash, and on a medium that was damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/media_bed.h"

static struct media_bed bed;

static void a_flipped_bit_costs_no_more_than_its_block(void **state)
{
    (void)state;
    bed.init.size = 1u << 20;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    for (unsigned key = 0; key < 6; key++)
        media_bed_save(&bed, key, 5000 + 1000 * key);
    media_bed_again(&bed); /* from here on they are known to be durable */
    media_bed_kill(&bed);
    unsigned bad = 0;
    static uint8_t image[1u << 20];
    media_bed_peek(&bed, 0, image, sizeof image);
    for (uint64_t page = 0; page < bed.init.size / MEDIA_PAGE; page++) {
        const uint64_t at = page * MEDIA_PAGE + page % MEDIA_PAGE;
        bed.wrong = 0;
        media_bed_flip(&bed, at);
        assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        assert_int_equal(bed.lost, 0);
        assert_true(bed.wrong <= 1 && bed.wrong == media_bed_counts(&bed).checksums);
        bad += bed.wrong > 0;
        media_bed_kill(&bed);
        media_bed_poke(&bed, 0, image, sizeof image);
    }
    assert_true(bad >= 6 && bad <= 18); /* pages with bytes of values */
}

static void a_record_that_was_not_known_durable_is_verified(void **state)
{
    (void)state;
    const struct media_super super = {.half_pages = MEDIA_HALF_MIN};
    bed.init.durability = MEDIA_INTERVAL;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    media_tick(bed.media);
    media_bed_settle(&bed);
    media_bed_save(&bed, 0, 6000);
    media_bed_save(&bed, 1, 7000);
    const uint64_t at = media_data_offset(&super) + bed.keys[0].entry->offset;
    media_bed_kill(&bed); /* the page cache stays */
    media_bed_flip(&bed, at);
    bed.keys[0].sure = 1; /* what is left of it is the one before */
    bed.keys[0].length[0] = 5000;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    assert_int_equal(bed.lost + bed.wrong, 0);
    assert_int_equal(media_bed_counts(&bed).torn, 1);
    assert_int_equal(bed.keys[0].entry->length, 5000);
    assert_int_equal(bed.keys[1].entry->length, 7000);
    media_bed_again(&bed); /* what was dropped stays so */
    assert_int_equal(media_bed_counts(&bed).torn, 0);
    assert_int_equal(bed.keys[0].entry->length, 5000);
}

static void every_cut_of_a_workload_leaves_what_was_promised(void **state)
{
    (void)state;
    for (uint64_t point = 1; point < 400; point += 7) {
        media_bed_down(&bed);
        media_bed_up(&bed, point, NULL);
        assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        media_bed_work(&bed, 60, disk_fabric_points(bed.fabric) + point);
        media_bed_power_cut(&bed);
        assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        assert_int_equal(bed.lost, 0);
        assert_int_equal(bed.wrong, 0);
    }
}

static void a_disk_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    media_bed_kill(&bed);
    bed.fabric = disk_fabric_new(bed.sim, bed.disk);
    bed.init.fabric = disk_fabric_head(bed.fabric);
    bed.opened = false;
    assert_int_equal(media_create(&bed.init, &bed.media), FABRIC_OK);
    for (unsigned i = 0; i < 6; i++) /* open, size, superblocks, heads */
        assert_true(media_bed_step(&bed));
    disk_set_error(bed.disk, true);
    media_bed_settle(&bed);
    assert_true(bed.opened);
    assert_int_equal(bed.error, ERR_MEDIA_FAILED);
    disk_set_error(bed.disk, false);
    media_bed_again(&bed);
    assert_int_equal(bed.lost + bed.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MEDIA_BED_TEST(a_flipped_bit_costs_no_more_than_its_block),
        MEDIA_BED_TEST(a_record_that_was_not_known_durable_is_verified),
        MEDIA_BED_TEST(every_cut_of_a_workload_leaves_what_was_promised),
        MEDIA_BED_TEST(a_disk_that_cannot_be_read_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
