/* SPDX-License-Identifier: Apache-2.0 */
/* MK-J4: what a medium must be to be opened. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/media_bed.h"

static struct media_bed bed;

static const struct media_super super = {.half_pages = MEDIA_HALF_MIN};

static void make(void)
{
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    media_bed_save(&bed, 1, 9000);
    media_bed_again(&bed); /* from here on they are known to be durable */
    media_bed_kill(&bed);
}

static void refused(enum fabric_error error, const char *text)
{
    assert_int_equal(media_bed_open(&bed), error);
    assert_non_null(strstr(media_detail(bed.media), text));
    media_bed_kill(&bed);
}

static void one_that_another_has_open_is_refused(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    struct media_bed other;
    media_bed_up(&other, 6, NULL);
    disk_destroy(other.disk);
    sim_destroy(other.sim);
    other.sim = bed.sim;
    other.disk = bed.disk;
    assert_int_equal(media_bed_open(&other), ERR_BUSY);
    assert_non_null(strstr(media_detail(other.media), "another server"));
    media_bed_kill(&other);
    other.sim = sim_create(1);
    other.disk = disk_create(other.sim, disk_config(bed.disk));
    media_bed_down(&other);
}

/* A value is fetched by the device from where it lies: in a file only writes go past the cache. */
static void writes_go_past_the_page_cache_reads_only_of_a_device(void **state)
{
    const uint32_t past = FABRIC_IO_DIRECT | FABRIC_IO_DIRECT_WRITES;
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    assert_int_equal(disk_fabric_flags(bed.fabric) & past, FABRIC_IO_DIRECT_WRITES);
    media_bed_kill(&bed);
    bed.init.direct = true;
    (void)media_bed_open(&bed); /* whether a store made as a file is taken does not matter */
    assert_int_equal(disk_fabric_flags(bed.fabric) & past, FABRIC_IO_DIRECT);
    media_bed_kill(&bed);
}

static void one_of_a_later_version_is_refused(void **state)
{
    (void)state;
    make();
    uint8_t page[MEDIA_PAGE];
    for (unsigned copy = 0; copy < 2; copy++) {
        media_bed_peek(&bed, copy * MEDIA_PAGE, page, MEDIA_PAGE);
        page[11] = MEDIA_VERSION + 1;
        media_bed_poke(&bed, copy * MEDIA_PAGE, page, MEDIA_PAGE);
    }
    refused(ERR_MEDIA_VERSION, "later version");
}

static void one_damaged_superblock_is_mended_from_the_other(void **state)
{
    (void)state;
    uint8_t before[MEDIA_PAGE], after[MEDIA_PAGE];
    make();
    for (unsigned copy = 0; copy < 2; copy++) {
        for (unsigned at = 8; at < MEDIA_PAGE; at += 97) {
            media_bed_peek(&bed, copy * MEDIA_PAGE, before, MEDIA_PAGE);
            media_bed_flip(&bed, copy * MEDIA_PAGE + at);
            assert_int_equal(media_bed_open(&bed), FABRIC_OK);
            assert_true(media_bed_counts(&bed).damaged >= 1);
            media_bed_kill(&bed);
            media_bed_peek(&bed, copy * MEDIA_PAGE, after, MEDIA_PAGE);
            assert_memory_equal(before, after, MEDIA_PAGE);
        }
    }
    assert_int_equal(bed.lost + bed.wrong, 0);
}

static void without_superblocks_it_is_refused(void **state)
{
    (void)state;
    make();
    media_bed_flip(&bed, 100);
    media_bed_flip(&bed, MEDIA_PAGE + 100);
    refused(ERR_MEDIA_FAILED, "damaged");
    media_bed_flip(&bed, 0);
    media_bed_flip(&bed, MEDIA_PAGE);
    refused(ERR_MEDIA_FAILED, "holds no store");
}

static void another_place_in_the_plan_is_refused(void **state)
{
    (void)state;
    make();
    bed.init.lanes = 2;
    refused(ERR_CONFIG_INVALID, "lane 0 of 1");
    bed.init.lanes = 1;
    bed.init.drives = 2;
    refused(ERR_CONFIG_INVALID, "medium 0 of 1");
}

static void without_heads_of_the_journal_it_is_refused(void **state)
{
    (void)state;
    make();
    for (unsigned i = 0; i < 4; i++)
        media_bed_flip(&bed, media_journal_offset(&super, i / 2, i % 2) + 9);
    refused(ERR_MEDIA_FAILED, "no head");
}

static void a_shorter_file_serves_what_is_left(void **state)
{
    (void)state;
    make();
    media_bed_shorten(&bed, media_data_offset(&super) + 8192 + 100);
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    assert_int_equal(bed.wrong, 1);
    assert_int_equal(media_bed_counts(&bed).checksums, 1);
    assert_non_null(strstr(media_detail(bed.media), "shorter"));
    assert_int_equal(media_bed_get(&bed, 0), FABRIC_OK);
    media_bed_kill(&bed);
    media_bed_shorten(&bed, media_data_offset(&super) - 1);
    refused(ERR_MEDIA_FAILED, "truncated");
    media_bed_shorten(&bed, 100);
    refused(ERR_MEDIA_FAILED, "damaged");
    media_bed_shorten(&bed, 0);
    refused(ERR_MEDIA_FAILED, "holds no store");
}

static void a_shorter_file_is_stretched_also_when_a_superblock_is_damaged(void **state)
{
    (void)state;
    make();
    media_bed_shorten(&bed, media_data_offset(&super) + 8192 + 100);
    media_bed_flip(&bed, 100);
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    assert_non_null(strstr(media_detail(bed.media), "shorter"));
    media_bed_again(&bed);
    assert_string_equal(media_detail(bed.media), "");
}

static void what_cannot_be_made_is_refused(void **state)
{
    (void)state;
    bed.init.size = 4096;
    refused(ERR_CONFIG_INVALID, "are the least");
    bed.init.size = 4u << 20;
    disk_set_full(bed.disk, true);
    refused(ERR_STORE_FULL, "store_full");
    disk_set_full(bed.disk, false);
    bed.init.makes = false;
    refused(ERR_MEDIA_FAILED, "cannot be opened: not_found");
    bed.init.makes = true;
    bed.init.path = "/none/such/lane-0";
    refused(ERR_MEDIA_FAILED, "cannot be opened or made");
    disk_set_error(bed.disk, true);
    bed.init.path = MEDIA_BED_PATH;
    refused(ERR_MEDIA_FAILED, "cannot be opened or made");
    disk_set_error(bed.disk, false);
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
}

static void a_cut_while_it_is_made_leaves_a_store_or_none(void **state)
{
    (void)state;
    for (uint64_t point = 1; point < 120; point++) {
        struct fabric_io_done done;
        media_bed_down(&bed);
        media_bed_up(&bed, point, NULL);
        bed.init.size = 1u << 20;
        bed.fabric = disk_fabric_new(bed.sim, bed.disk);
        bed.init.fabric = disk_fabric_head(bed.fabric);
        assert_int_equal(media_create(&bed.init, &bed.media), FABRIC_OK);
        while (disk_fabric_points(bed.fabric) < point && disk_fabric_wait(bed.fabric, &done))
            media_event(bed.media, &done);
        media_bed_power_cut(&bed);
        assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        media_bed_save(&bed, 0, 5000);
    }
}

static void a_device_is_laid_out_in_place(void **state)
{
    (void)state;
    static uint8_t blank[2u << 20];
    assert_int_equal(disk_place(bed.disk, "/dev/nvme1", blank, sizeof blank), FABRIC_OK);
    bed.init.path = "/dev/nvme1";
    bed.init.direct = true;
    bed.init.size = 0;
    bed.init.makes = false;
    refused(ERR_MEDIA_FAILED, "holds no store");
    bed.init.makes = true;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    bed.init.makes = false;
    media_bed_again(&bed);
    assert_int_equal(media_bed_get(&bed, 0), FABRIC_OK);
    assert_int_equal(media_bed_counts(&bed).capacity, sizeof blank - media_data_offset(&super));
}

static void what_others_have_on_a_device_stays(void **state)
{
    (void)state;
    static uint8_t used[2u << 20], found[8];
    static const uint64_t marks[] = {0, 1080, 65600, sizeof used - 512, sizeof used - 100000};
    bed.init.path = MEDIA_BED_PATH;
    bed.init.direct = true;
    bed.init.size = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        media_bed_down(&bed);
        media_bed_up(&bed, i, NULL);
        bed.init.direct = true;
        bed.init.size = 0;
        memset(used, 0, sizeof used);
        memcpy(used + marks[i], "a mark", 7);
        assert_int_equal(disk_place(bed.disk, MEDIA_BED_PATH, used, sizeof used), FABRIC_OK);
        refused(ERR_MEDIA_FAILED, "is not blank: what is there stays");
        media_bed_peek(&bed, marks[i], found, sizeof found);
        assert_string_equal((char *)found, "a mark");
        bed.init.overwrites = true;
        assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        media_bed_save(&bed, 0, 5000);
        media_bed_again(&bed); /* a store is none of what is overwritten */
        assert_int_equal(media_bed_get(&bed, 0), FABRIC_OK);
    }
}

/* It is refused or it is a store, and then it works; it is laid out anew when that is asked for. */
static void a_cut_while_a_device_is_laid_out_leaves_nothing_half_done(void **state)
{
    (void)state;
    static uint8_t blank[1u << 20];
    unsigned refusals = 0;
    for (uint64_t point = 1; point < 40; point++) {
        struct fabric_io_done done;
        media_bed_down(&bed);
        media_bed_up(&bed, point, NULL);
        assert_int_equal(disk_place(bed.disk, MEDIA_BED_PATH, blank, sizeof blank), FABRIC_OK);
        bed.init.direct = true;
        bed.fabric = disk_fabric_new(bed.sim, bed.disk);
        bed.init.fabric = disk_fabric_head(bed.fabric);
        assert_int_equal(media_create(&bed.init, &bed.media), FABRIC_OK);
        while (disk_fabric_points(bed.fabric) < point && disk_fabric_wait(bed.fabric, &done))
            media_event(bed.media, &done);
        media_bed_power_cut(&bed);
        if (media_bed_open(&bed)) {
            refusals++;
            media_bed_kill(&bed);
            bed.init.overwrites = true;
            assert_int_equal(media_bed_open(&bed), FABRIC_OK);
        }
        media_bed_save(&bed, 0, 5000);
    }
    assert_in_range(refusals, 1, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MEDIA_BED_TEST(one_that_another_has_open_is_refused),
        MEDIA_BED_TEST(writes_go_past_the_page_cache_reads_only_of_a_device),
        MEDIA_BED_TEST(one_of_a_later_version_is_refused),
        MEDIA_BED_TEST(one_damaged_superblock_is_mended_from_the_other),
        MEDIA_BED_TEST(without_superblocks_it_is_refused),
        MEDIA_BED_TEST(another_place_in_the_plan_is_refused),
        MEDIA_BED_TEST(without_heads_of_the_journal_it_is_refused),
        MEDIA_BED_TEST(a_shorter_file_serves_what_is_left),
        MEDIA_BED_TEST(a_shorter_file_is_stretched_also_when_a_superblock_is_damaged),
        MEDIA_BED_TEST(what_cannot_be_made_is_refused),
        MEDIA_BED_TEST(a_cut_while_it_is_made_leaves_a_store_or_none),
        MEDIA_BED_TEST(a_device_is_laid_out_in_place),
        MEDIA_BED_TEST(what_others_have_on_a_device_stays),
        MEDIA_BED_TEST(a_cut_while_a_device_is_laid_out_leaves_nothing_half_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
