/* SPDX-License-Identifier: Apache-2.0 */
/* MK-J4: records and flushes, by durability. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/media_bed.h"

static struct media_bed bed;

static void a_batch_shares_its_flush(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    const uint64_t before = disk_fabric_count(bed.fabric, FABRIC_IO_FLUSH);
    for (unsigned key = 0; key < MEDIA_BED_KEYS; key++)
        assert_int_equal(media_bed_put(&bed, key, 5000), FABRIC_OK);
    media_bed_settle(&bed);
    assert_int_equal(bed.saved, MEDIA_BED_KEYS);
    assert_in_range(disk_fabric_count(bed.fabric, FABRIC_IO_FLUSH) - before, 1, 6);
}

static void an_acknowledged_save_survives_a_cut_at_once(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    assert_int_equal(media_bed_put(&bed, 0, 5000), FABRIC_OK);
    while (bed.keys[0].busy)
        assert_true(media_bed_step(&bed));
    media_bed_power_cut(&bed);
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    assert_non_null(bed.keys[0].entry);
    assert_int_equal(bed.lost + bed.wrong, 0);
}

static void by_interval_the_tick_makes_durable(void **state)
{
    (void)state;
    bed.init.durability = MEDIA_INTERVAL;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    const uint64_t before = disk_fabric_count(bed.fabric, FABRIC_IO_FLUSH);
    media_bed_save(&bed, 0, 5000);
    assert_int_equal(disk_fabric_count(bed.fabric, FABRIC_IO_FLUSH), before);
    media_tick(bed.media);
    media_bed_settle(&bed);
    assert_int_equal(disk_fabric_count(bed.fabric, FABRIC_IO_FLUSH), before + 1);
    media_tick(bed.media); /* nothing to do */
    assert_int_equal(disk_fabric_count(bed.fabric, FABRIC_IO_FLUSH), before + 1);
    media_bed_power_cut(&bed);
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    assert_non_null(bed.keys[0].entry);
}

static void without_durability_only_the_journal_flushes(void **state)
{
    (void)state;
    bed.init.durability = MEDIA_NONE;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    const uint64_t before = disk_fabric_count(bed.fabric, FABRIC_IO_FLUSH);
    media_bed_save(&bed, 0, 5000);
    media_bed_save(&bed, 0, 6000);
    media_tick(bed.media);
    media_bed_settle(&bed);
    assert_int_equal(disk_fabric_count(bed.fabric, FABRIC_IO_FLUSH), before);
    assert_int_equal(media_bed_counts(&bed).used, 8192);
    media_bed_again(&bed); /* the system has what the server had */
    assert_int_equal(bed.keys[0].entry->length, 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MEDIA_BED_TEST(a_batch_shares_its_flush),
        MEDIA_BED_TEST(an_acknowledged_save_survives_a_cut_at_once),
        MEDIA_BED_TEST(by_interval_the_tick_makes_durable),
        MEDIA_BED_TEST(without_durability_only_the_journal_flushes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
