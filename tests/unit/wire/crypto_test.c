/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/wire/crypto.h"

static void hmac_is_the_one_of_rfc_4231(void **state)
{
    (void)state;
    /* Test case 1 has a key of 20 bytes; one of 32, padded with zeros, is the same key to HMAC. */
    static const uint8_t expected[WIRE_MAC_BYTES] = {
        0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf,
        0xce, 0xaf, 0x0b, 0xf1, 0x2b, 0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83,
        0x3d, 0xa7, 0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7};
    uint8_t key[WIRE_KEY_BYTES] = {0}, out[WIRE_MAC_BYTES];
    memset(key, 0x0b, 20);
    struct wire_mac *mac = wire_mac_new(key);
    assert_non_null(mac);
    const struct wire_span parts[] = {{"Hi ", 3}, {"There", 5}};
    for (int i = 0; i < 2; i++) { /* it can be used again */
        wire_mac_compute(mac, parts, 2, out);
        assert_memory_equal(out, expected, sizeof out);
    }
    wire_mac_free(mac);
    wire_mac_free(NULL);
}

static void labels_are_not_beginnings_of_each_other(void **state)
{
    (void)state;
    const uint8_t key[WIRE_KEY_BYTES] = {1};
    uint8_t a[WIRE_KEY_BYTES], b[WIRE_KEY_BYTES];
    const struct wire_span part = {"bc", 2};
    wire_derive(key, "a", &part, 1, a);
    wire_derive(key, "abc", NULL, 0, b);
    assert_false(wire_equal(a, b, sizeof a));
    wire_derive(key, "a", &part, 1, b);
    assert_true(wire_equal(a, b, sizeof a));
}

static void a_tag_depends_on_all_that_it_should(void **state)
{
    (void)state;
    uint8_t key[WIRE_KEY_BYTES] = {1};
    uint8_t value[100] = "value";
    struct wire_tag tag = {.nonce = {5}};
    wire_tag_compute(key, "k", 1, value, sizeof value, &tag);
    assert_true(wire_tag_verify(key, "k", 1, value, sizeof value, &tag));
    assert_false(wire_tag_verify(key, "K", 1, value, sizeof value, &tag));
    assert_false(wire_tag_verify(key, "k", 1, value, sizeof value - 1, &tag));
    value[99] = 1;
    assert_false(wire_tag_verify(key, "k", 1, value, sizeof value, &tag));
    value[99] = 0;
    tag.nonce[0]++;
    assert_false(wire_tag_verify(key, "k", 1, value, sizeof value, &tag));
    tag.nonce[0]--;
    key[0]++;
    assert_false(wire_tag_verify(key, "k", 1, value, sizeof value, &tag));
}

static void a_tag_does_not_depend_on_the_pieces_in_which_its_value_comes(void **state)
{
    (void)state;
    static uint8_t value[40000];
    static const size_t pieces[] = {1, 15, 4095, 4096, 4097, 12288, 39999, 40000};
    const uint8_t key[WIRE_KEY_BYTES] = {1};
    struct wire_tag whole = {.nonce = {5}};
    for (size_t i = 0; i < sizeof value; i++)
        value[i] = (uint8_t)(i * 7 + i / 251);
    wire_tag_compute(key, "k", 1, value, sizeof value, &whole);
    struct wire_tagger *tagger = wire_tagger_new(key);
    assert_non_null(tagger);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        uint8_t mac[WIRE_TAG_BYTES];
        struct wire_tag_run *run =
            wire_tag_begin(tagger, "k", 1, sizeof value, whole.nonce); /* the same, used again */
        assert_non_null(run);
        for (size_t at = 0; at < sizeof value; at += pieces[i]) {
            size_t left = sizeof value - at;
            wire_tag_add(run, value + at, left < pieces[i] ? left : pieces[i]);
        }
        wire_tag_end(run, mac);
        assert_memory_equal(mac, whole.mac, sizeof mac);
    }
    wire_tagger_free(tagger);
}

/* docs/formats.md shows these bytes; the key is 00 01 ... 1f, the nonce zero. */
static void the_golden_tag_is_kept(void **state)
{
    (void)state;
    static const uint8_t golden[WIRE_TAG_BYTES] = {0x80, 0x36, 0x6e, 0x38, 0xc9, 0x55, 0x37, 0x7d,
                                                   0xf4, 0x1d, 0x30, 0xc4, 0x63, 0x91, 0xcd, 0xa5};
    uint8_t key[WIRE_KEY_BYTES];
    for (unsigned i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)i;
    struct wire_tag tag = {.nonce = {0}};
    wire_tag_compute(key, "key", 3, "value", 5, &tag);
    assert_memory_equal(tag.mac, golden, sizeof golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hmac_is_the_one_of_rfc_4231),
        cmocka_unit_test(labels_are_not_beginnings_of_each_other),
        cmocka_unit_test(a_tag_depends_on_all_that_it_should),
        cmocka_unit_test(a_tag_does_not_depend_on_the_pieces_in_which_its_value_comes),
        cmocka_unit_test(the_golden_tag_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
