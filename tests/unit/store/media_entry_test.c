/* SPDX-License-Identifier: Apache-2.0 */
/* MK-J4: the room of a block is given out again when nothing can bring it back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/media_bed.h"

static struct media_bed bed;

static void room_waits_until_the_removal_is_durable(void **state)
{
    (void)state;
    bed.init.durability = MEDIA_INTERVAL;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    media_bed_save(&bed, 1, 5000);
    media_tick(bed.media);
    media_bed_settle(&bed);
    media_bed_save(&bed, 0, 3000); /* takes the place of another one */
    assert_int_equal(media_bed_remove(&bed, 1), FABRIC_OK);
    media_bed_settle(&bed);
    assert_int_equal(bed.removed, 1);
    assert_int_equal(media_bed_counts(&bed).used, 4 * 4096 + 4096);
    assert_true(media_frees(bed.media));
    media_tick(bed.media);
    media_bed_settle(&bed);
    assert_int_equal(media_bed_counts(&bed).used, 4096);
    assert_false(media_frees(bed.media));
}

static void a_reader_keeps_the_bytes_of_what_was_removed(void **state)
{
    (void)state;
    assert_int_equal(media_bed_open(&bed), FABRIC_OK);
    media_bed_save(&bed, 0, 5000);
    assert_int_equal(media_remove(bed.media, bed.keys[0].entry, NULL), FABRIC_OK);
    media_bed_settle(&bed);
    assert_int_equal(media_bed_counts(&bed).blocks, 0);
    assert_int_equal(media_bed_counts(&bed).used, 8192);
    assert_int_equal(media_bed_get(&bed, 0), FABRIC_OK);
    assert_int_equal(bed.wrong, 0);
    media_release(bed.media, bed.keys[0].entry);
    bed.keys[0].entry = NULL;
    assert_int_equal(media_bed_counts(&bed).used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MEDIA_BED_TEST(room_waits_until_the_removal_is_durable),
        MEDIA_BED_TEST(a_reader_keeps_the_bytes_of_what_was_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
