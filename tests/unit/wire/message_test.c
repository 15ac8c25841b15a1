/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/wire/message.h"

static struct wire_message sample(enum wire_type type)
{
    struct wire_message m = {.type = type,
                             .id = 0x1122334455667788u,
                             .rail = 2,
                             .generation = 9,
                             .qp_num = 0x123456,
                             .psn = 0xabcdef,
                             .iova = 0x100000000u,
                             .rkey = 0xdeadbeefu,
                             .dct_num = 0x654321,
                             .dc_access_key = 0x0123456789abcdefu,
                             .dc_mtu = FABRIC_MTU_2048,
                             .dc_gid = 1,
                             .dc = true,
                             .length = 4096,
                             .digest = {7},
                             .path_mtu = FABRIC_MTU_4096,
                             .error = ERR_PKEY_LIMITED_PAIR,
                             .detail = "found 0x7fff",
                             .way = WIRE_WAY_RC,
                             .found = 1,
                             .tag = {{1}, {2}},
                             .key = "key",
                             .key_length = 3,
                             .offset = 12,
                             .mac = {6},
                             .lanes = 4,
                             .lane = 3,
                             .member = 2,
                             .rails = 2,
                             .operations = 128,
                             .block_size = 1u << 21,
                             .max_value = WIRE_MAX_VALUE};
    m.address = (struct fabric_port_address){.link_layer = FABRIC_LINK_LAYER_INFINIBAND,
                                             .state = FABRIC_PORT_ACTIVE,
                                             .port_num = 1,
                                             .lid = 0x8120,
                                             .lmc = 3,
                                             .port_guid = 0x0002c90300aabbccu,
                                             .subnet_prefix = 0xfe80000000000000u,
                                             .pkey = 0x7fff,
                                             .pkey_index = 1,
                                             .mtu = FABRIC_MTU_2048,
                                             .active_mtu = FABRIC_MTU_4096,
                                             .flags = FABRIC_PORT_GRH_REQUIRED,
                                             .sl = 5,
                                             .traffic_class = 106,
                                             .max_rd_atomic = 16,
                                             .max_dest_rd_atomic = 8,
                                             .generation = 77,
                                             .gid_count = 2};
    m.address.gids[1] = (struct fabric_usable_gid){{{0xfe, 0x80}}, FABRIC_GID_TYPE_ROCE_V2, 3};
    return m;
}

static void every_message_comes_back_as_it_went(void **state)
{
    (void)state;
    for (unsigned type = WIRE_WELCOME; type < WIRE_TYPE_END; type++) {
        struct wire_message m = sample((enum wire_type)type), back;
        uint8_t first[WIRE_MESSAGE_ROOM], second[WIRE_MESSAGE_ROOM];
        size_t n, m_length, used;
        assert_true(wire_message_encode(&m, first, sizeof first, &n));
        assert_int_equal(wire_message_decode(first, n, &back, &used), 0);
        assert_int_equal(used, n);
        assert_int_equal(back.type, type);
        assert_true(wire_message_encode(&back, second, sizeof second, &m_length));
        assert_int_equal(n, m_length);
        assert_memory_equal(first, second, n);
        for (size_t cut = 0; cut < n; cut++) {
            assert_int_equal(wire_message_decode(first, cut, &back, &used), ERR_FRAME_INVALID);
            assert_false(wire_message_encode(&m, second, cut, &m_length));
        }
    }
}

static void the_exchange_carries_every_member_of_an_address(void **state)
{
    (void)state;
    struct wire_message m = sample(WIRE_LINK_REQUEST), back;
    uint8_t bytes[WIRE_MESSAGE_ROOM];
    size_t n, used;
    assert_true(wire_message_encode(&m, bytes, sizeof bytes, &n));
    assert_int_equal(wire_message_decode(bytes, n, &back, &used), 0);
    const struct fabric_port_address *a = &m.address, *b = &back.address;
    assert_int_equal(a->link_layer, b->link_layer);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->port_num, b->port_num);
    assert_int_equal(a->lid, b->lid);
    assert_int_equal(a->lmc, b->lmc);
    assert_true(a->port_guid == b->port_guid);
    assert_true(a->subnet_prefix == b->subnet_prefix);
    assert_int_equal(a->pkey, b->pkey);
    assert_int_equal(a->pkey_index, b->pkey_index);
    assert_int_equal(a->mtu, b->mtu);
    assert_int_equal(a->active_mtu, b->active_mtu);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->sl, b->sl);
    assert_int_equal(a->traffic_class, b->traffic_class);
    assert_int_equal(a->max_rd_atomic, b->max_rd_atomic);
    assert_int_equal(a->max_dest_rd_atomic, b->max_dest_rd_atomic);
    assert_int_equal(a->generation, b->generation);
    assert_int_equal(a->gid_count, b->gid_count);
    assert_memory_equal(&a->gids[1], &b->gids[1], sizeof a->gids[1]);
    assert_int_equal(back.qp_num, 0x123456);
    assert_int_equal(back.psn, 0xabcdef);
}

/* Decoding whatever one byte can become ends in a message or in frame_invalid, never elsewhere. */
static void an_altered_frame_is_decoded_or_refused(void **state)
{
    (void)state;
    unsigned refused = 0;
    for (unsigned type = WIRE_WELCOME; type < WIRE_TYPE_END; type++) {
        struct wire_message m = sample((enum wire_type)type), back;
        uint8_t bytes[WIRE_MESSAGE_ROOM];
        size_t n, used;
        assert_true(wire_message_encode(&m, bytes, sizeof bytes, &n));
        for (size_t at = 0; at < n; at++) {
            for (unsigned flip = 1; flip < 256; flip <<= 1) {
                bytes[at] ^= (uint8_t)flip;
                enum fabric_error error = wire_message_decode(bytes, n, &back, &used);
                assert_true(error == FABRIC_OK || error == ERR_FRAME_INVALID);
                refused += error != FABRIC_OK;
                if (!error)
                    assert_true(back.address.gid_count <= FABRIC_AV_MAX_GIDS);
                bytes[at] ^= (uint8_t)flip;
            }
        }
    }
    assert_true(refused > 500);
}

static void an_error_of_a_newer_peer_is_internal(void **state)
{
    (void)state;
    struct wire_message m = sample(WIRE_LINK_DOWN), back;
    uint8_t bytes[WIRE_MESSAGE_ROOM];
    size_t n, used;
    assert_true(wire_message_encode(&m, bytes, sizeof bytes, &n));
    assert_int_equal(wire_message_decode(bytes, n, &back, &used), 0);
    assert_int_equal(back.error, ERR_PKEY_LIMITED_PAIR);
    assert_string_equal(back.detail, "found 0x7fff");
    bytes[14] = 'X'; /* the first letter of the name */
    assert_int_equal(wire_message_decode(bytes, n, &back, &used), 0);
    assert_int_equal(back.error, ERR_INTERNAL);
    m.error = FABRIC_OK;
    assert_true(wire_message_encode(&m, bytes, sizeof bytes, &n));
    assert_int_equal(wire_message_decode(bytes, n, &back, &used), 0);
    assert_int_equal(back.error, FABRIC_OK);
}

static void what_a_peer_says_for_people_is_made_printable(void **state)
{
    (void)state;
    struct wire_message m = sample(WIRE_CANCEL), back;
    uint8_t bytes[WIRE_MESSAGE_ROOM];
    size_t n, used;
    m.type = WIRE_RESULT;
    memcpy(m.detail, "a\nb\x1b[31m", 9);
    assert_true(wire_message_encode(&m, bytes, sizeof bytes, &n));
    assert_int_equal(wire_message_decode(bytes, n, &back, &used), 0);
    assert_string_equal(back.detail, "a?b?[31m");
}

/* docs/formats.md shows these bytes. */
static void the_golden_frame_is_kept(void **state)
{
    (void)state;
    static const uint8_t golden[] = {
        0x0a, 0,   0,   0,   0, 0, 0, 12, /* EXISTS, 12 bytes */
        0,    0,   0,   0,   0, 0, 0, 42, /* id */
        3,    'k', 'e', 'y',              /* key */
    };
    struct wire_message m = {.type = WIRE_EXISTS, .id = 42, .key = "key", .key_length = 3};
    uint8_t bytes[WIRE_MESSAGE_ROOM];
    size_t n;
    assert_true(wire_message_encode(&m, bytes, sizeof bytes, &n));
    assert_int_equal(n, sizeof golden);
    assert_memory_equal(bytes, golden, n);
    static const uint8_t commit[] = {0x10, 0, 0, 0,  0, 0, 0, 16, 0,    0,    0,    0,
                                     0,    0, 0, 42, 0, 0, 0, 0,  0x3b, 0x9a, 0xca, 0};
    m = (struct wire_message){.type = WIRE_COMMIT, .id = 42, .lease = 1000000000};
    assert_true(wire_message_encode(&m, bytes, sizeof bytes, &n));
    assert_int_equal(n, sizeof commit);
    assert_memory_equal(bytes, commit, n);
}

/* MK-I2: a length is bounded before anything is done about it. */
static void a_piece_is_bounded(void **state)
{
    (void)state;
    static const struct {
        uint32_t offset, length;
        enum fabric_error error;
    } cases[] = {{0, 1, FABRIC_OK},
                 {WIRE_MAX_VALUE, WIRE_MAX_BULK, FABRIC_OK},
                 {0, 0, ERR_FRAME_INVALID},
                 {0, WIRE_MAX_BULK + 1, ERR_FRAME_INVALID},
                 {WIRE_MAX_VALUE + 1, 1, ERR_FRAME_INVALID}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[WIRE_MESSAGE_ROOM];
        size_t n, used;
        struct wire_message m = sample(WIRE_BULK), back;
        m.offset = cases[i].offset;
        m.length = cases[i].length;
        assert_true(wire_message_encode(&m, bytes, sizeof bytes, &n));
        assert_int_equal(wire_message_decode(bytes, n, &back, &used), cases[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_comes_back_as_it_went),
        cmocka_unit_test(the_exchange_carries_every_member_of_an_address),
        cmocka_unit_test(an_altered_frame_is_decoded_or_refused),
        cmocka_unit_test(an_error_of_a_newer_peer_is_internal),
        cmocka_unit_test(what_a_peer_says_for_people_is_made_printable),
        cmocka_unit_test(the_golden_frame_is_kept),
        cmocka_unit_test(a_piece_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
