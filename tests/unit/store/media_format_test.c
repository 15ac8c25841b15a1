/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a medium, which later versions must read (docs/formats.md). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/store/media_format.h"

static const struct media_super super = {.id = {1, 2, 3},
                                         .lane = 1,
                                         .lanes = 2,
                                         .drive = 3,
                                         .drives = 4,
                                         .size = 1u << 20,
                                         .half_pages = MEDIA_HALF_MIN};

static void a_superblock_has_these_bytes(void **state)
{
    (void)state;
    static const uint8_t golden[64] = {
        'M', 'K', 'V', 'S', 'T', 'O', 'R', 'E', 0, 0,  0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0,
        0,   3,   0,   0,   0,   4,   0,   0,   0, 0,  1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0,   0,   0,   0,   0,   0,   0,   0,   0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32};
    uint8_t page[MEDIA_PAGE];
    struct media_super out;
    media_super_encode(&super, page);
    assert_memory_equal(page, golden, sizeof golden);
    assert_int_equal(media_super_decode(page, &out), MEDIA_SUPER_GOOD);
    assert_memory_equal(&out, &super, sizeof out);
    assert_int_equal(media_journal_offset(&super, 1, 1), MEDIA_PAGE * (2 + 3 * 32));
    assert_int_equal(media_data_offset(&super), MEDIA_PAGE * (2 + 4 * 32));
}

static void a_flipped_bit_makes_it_none(void **state)
{
    (void)state;
    uint8_t page[MEDIA_PAGE];
    struct media_super out;
    media_super_encode(&super, page);
    for (size_t bit = 0; bit < 8 * MEDIA_PAGE; bit++) {
        page[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(media_super_decode(page, &out), MEDIA_SUPER_GOOD);
        page[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    page[0] = 'm';
    assert_int_equal(media_super_decode(page, &out), MEDIA_SUPER_NONE);
    page[0] = 'M';
    page[11] = 2;
    assert_int_equal(media_super_decode(page, &out), MEDIA_SUPER_NEWER);
}

static void a_superblock_that_does_not_fit_itself_is_damaged(void **state)
{
    (void)state;
    uint8_t page[MEDIA_PAGE];
    struct media_super out, wrong = super;
    wrong.half_pages = 64;
    media_super_encode(&wrong, page); /* its journal alone would be larger than the medium */
    assert_int_equal(media_super_decode(page, &out), MEDIA_SUPER_DAMAGED);
    wrong = super;
    wrong.size = 4096;
    media_super_encode(&wrong, page);
    assert_int_equal(media_super_decode(page, &out), MEDIA_SUPER_DAMAGED);
}

static void records_come_back_from_a_page(void **state)
{
    (void)state;
    struct media_record r = {.kind = MEDIA_RECORD_PUT,
                             .key_length = 3,
                             .maker = 7,
                             .sequence = 9,
                             .length = 5000,
                             .offset = 8192,
                             .tag = {1},
                             .checksum = {2},
                             .key = "key"};
    const struct media_page head = {
        .kind = MEDIA_PAGE_RECORDS, .count = 2, .generation = 3, .position = 4, .durable = 5};
    static const uint8_t golden[32] = {1, 3, 0, 0, 0, 0, 0,    7,    0, 0, 0, 0, 0, 0, 0,    9,
                                       0, 0, 0, 0, 0, 0, 0x13, 0x88, 0, 0, 0, 0, 0, 0, 0x20, 0};
    uint8_t page[MEDIA_PAGE];
    struct media_page found;
    struct media_record out;
    size_t used, at = 0;
    media_page_begin(page, &used);
    assert_true(media_page_add(page, &used, &r));
    r.kind = MEDIA_RECORD_REMOVE;
    r.target = 8;
    assert_true(media_page_add(page, &used, &r));
    assert_int_equal(used, 2 * 83);
    media_page_seal(page, &head);
    assert_memory_equal(page, "MKVJ\0\2\0\2", 8);
    assert_memory_equal(page + 56, golden, sizeof golden);
    assert_true(media_page_decode(page, &found));
    assert_true(found.kind == head.kind && found.count == 2 && found.generation == 3);
    assert_true(found.position == 4 && found.durable == 5);
    assert_true(media_record_decode(page, &at, &out));
    assert_true(out.length == 5000 && out.target == 0 && out.maker == 7 && out.offset == 8192);
    assert_memory_equal(out.key, "key", 3);
    assert_true(media_record_decode(page, &at, &out));
    assert_true(out.kind == MEDIA_RECORD_REMOVE && out.target == 8 && out.length == 0);
    assert_false(media_record_decode(page, &at, &out));
    page[70] ^= 1;
    assert_false(media_page_decode(page, &found));
}

static void a_page_takes_what_fits(void **state)
{
    (void)state;
    struct media_record r = {.kind = MEDIA_RECORD_PUT, .key_length = 255, .sequence = 1};
    uint8_t page[MEDIA_PAGE];
    struct media_record out;
    size_t used, at = 0, count = 0;
    media_page_begin(page, &used);
    while (media_page_add(page, &used, &r))
        count++;
    assert_int_equal(count, MEDIA_PAGE_ROOM / MEDIA_RECORD_MAX);
    while (media_record_decode(page, &at, &out))
        count--;
    assert_int_equal(count, 0);
}

static void a_checksum_of_pieces_is_that_of_the_whole(void **state)
{
    static uint8_t bytes[5000];
    uint8_t whole[MEDIA_CHECKSUM_BYTES], pieces[MEDIA_CHECKSUM_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    struct media_sum *sum = media_sum_new(), *dropped = media_sum_new();
    media_sum_add(sum, bytes, 1);
    media_sum_add(sum, bytes + 1, 0);
    media_sum_add(sum, bytes + 1, 4000);
    media_sum_add(sum, bytes + 4001, 999);
    media_sum_end(sum, pieces);
    media_sum_end(dropped, NULL);
    media_sum_end(NULL, NULL);
    media_checksum(bytes, sizeof bytes, whole);
    assert_memory_equal(pieces, whole, sizeof whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checksum_of_pieces_is_that_of_the_whole),
        cmocka_unit_test(a_superblock_has_these_bytes),
        cmocka_unit_test(a_flipped_bit_makes_it_none),
        cmocka_unit_test(a_superblock_that_does_not_fit_itself_is_damaged),
        cmocka_unit_test(records_come_back_from_a_page),
        cmocka_unit_test(a_page_takes_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
