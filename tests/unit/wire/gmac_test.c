/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/wire/gmac.h"

#define MESSAGE 70001u

static const uint8_t key_of_all[WIRE_GMAC_KEY_BYTES] = {9, 8, 7};
static const uint8_t iv_of_all[WIRE_GMAC_IV_BYTES] = {6, 5};

static void compute(struct wire_gmac *gmac, const uint8_t *data, size_t length, size_t piece,
                    uint8_t mac[WIRE_GMAC_BYTES])
{
    wire_gmac_begin(gmac, key_of_all, iv_of_all);
    for (size_t at = 0; at < length; at += piece)
        wire_gmac_add(gmac, data + at, length - at < piece ? length - at : piece);
    wire_gmac_end(gmac, mac);
}

/* gcmEncryptExtIV256 of NIST's Cryptographic Algorithm Validation Program, the first with a key, an
 * IV of 96 bits and 128 bits of additional data only; and test case 13 of the proposal of GCM by
 * McGrew and Viega, which has no data at all. */
static void both_ways_compute_the_published_vectors(void **state)
{
    (void)state;
    static const uint8_t key[WIRE_GMAC_KEY_BYTES] = {
        0x78, 0xdc, 0x4e, 0x0a, 0xaf, 0x52, 0xd9, 0x35, 0xc3, 0xc0, 0x1e,
        0xea, 0x57, 0x42, 0x8f, 0x00, 0xca, 0x1f, 0xd4, 0x75, 0xf5, 0xda,
        0x86, 0xa4, 0x9c, 0x8d, 0xd7, 0x3d, 0x68, 0xc8, 0xe2, 0x23};
    static const uint8_t iv[WIRE_GMAC_IV_BYTES] = {0xd7, 0x9c, 0xf2, 0x2d, 0x50, 0x4c,
                                                   0xc7, 0x93, 0xc3, 0xfb, 0x6c, 0x8a};
    static const uint8_t data[] = {0xb9, 0x6b, 0xaa, 0x8c, 0x1c, 0x75, 0xa6, 0x71,
                                   0xbf, 0xb2, 0xd0, 0x8d, 0x06, 0xbe, 0x5f, 0x36};
    static const uint8_t expected[WIRE_GMAC_BYTES] = {0x3e, 0x5d, 0x48, 0x6a, 0xa2, 0xe3,
                                                      0x0b, 0x22, 0xe0, 0x40, 0xb8, 0x57,
                                                      0x23, 0xa0, 0x6e, 0x76};
    static const uint8_t zero_key[WIRE_GMAC_KEY_BYTES], zero_iv[WIRE_GMAC_IV_BYTES];
    static const uint8_t of_nothing[WIRE_GMAC_BYTES] = {0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45,
                                                        0x36, 0xb9, 0xa9, 0x63, 0xb4, 0xf1,
                                                        0xc4, 0xcb, 0x73, 0x8b};
    for (int portable = 0; portable < 2; portable++) {
        uint8_t mac[WIRE_GMAC_BYTES];
        struct wire_gmac *gmac = wire_gmac_new(portable);
        assert_non_null(gmac);
        wire_gmac_begin(gmac, key, iv);
        wire_gmac_add(gmac, data, sizeof data);
        wire_gmac_end(gmac, mac);
        assert_memory_equal(mac, expected, sizeof mac);
        wire_gmac_begin(gmac, zero_key, zero_iv);
        wire_gmac_end(gmac, mac);
        assert_memory_equal(mac, of_nothing, sizeof mac);
        wire_gmac_free(gmac);
    }
    wire_gmac_free(NULL);
}

static void both_ways_agree_over_odd_lengths_in_odd_pieces(void **state)
{
    (void)state;
    static const size_t lengths[] = {1,   15,  16,   17,   31,   47,    127,   255,    256,
                                     257, 767, 1023, 1025, 4097, 16384, 65535, MESSAGE};
    static const size_t pieces[] = {1, 3, 15, 17, 1461, 16384, 65536, MESSAGE};
    static uint8_t data[MESSAGE];
    struct wire_gmac *fast = wire_gmac_new(false), *portable = wire_gmac_new(true);
    assert_true(fast && portable);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t whole[WIRE_GMAC_BYTES], mac[WIRE_GMAC_BYTES];
        compute(portable, data, lengths[i], lengths[i], whole);
        for (size_t j = 0; j < sizeof pieces / sizeof pieces[0]; j++) {
            compute(fast, data, lengths[i], pieces[j], mac);
            assert_memory_equal(mac, whole, sizeof mac);
            compute(portable, data, lengths[i], pieces[j], mac);
            assert_memory_equal(mac, whole, sizeof mac);
        }
    }
    wire_gmac_free(fast);
    wire_gmac_free(portable);
}

static void what_was_begun_and_left_is_forgotten(void **state)
{
    (void)state;
    static const uint8_t data[100] = {1, 2, 3};
    for (int portable = 0; portable < 2; portable++) {
        uint8_t once[WIRE_GMAC_BYTES], again[WIRE_GMAC_BYTES];
        struct wire_gmac *gmac = wire_gmac_new(portable);
        assert_non_null(gmac);
        compute(gmac, data, sizeof data, 33, once);
        wire_gmac_begin(gmac, key_of_all, iv_of_all);
        wire_gmac_add(gmac, data, 77);
        compute(gmac, data, sizeof data, 33, again);
        assert_memory_equal(once, again, sizeof once);
        wire_gmac_free(gmac);
    }
}

static void the_library_has_a_name(void **state)
{
    (void)state;
    const char *name = wire_gmac_library();
#ifdef MEMKV_IPSEC_MB
    assert_true(strcmp(name, "libcrypto") == 0 || strcmp(name, "libipsec-mb") == 0);
#else
    assert_string_equal(name, "libcrypto");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_compute_the_published_vectors),
        cmocka_unit_test(both_ways_agree_over_odd_lengths_in_odd_pieces),
        cmocka_unit_test(what_was_begun_and_left_is_forgotten),
        cmocka_unit_test(the_library_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
