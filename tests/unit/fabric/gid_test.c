/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/fabric/gid.h"

static union fabric_gid gid_of(const char *text)
{
    union fabric_gid gid;
    assert_true(fabric_gid_parse(text, &gid));
    return gid;
}

static struct fabric_gid_entry entry(uint32_t index, const char *text, enum fabric_gid_type type)
{
    return (struct fabric_gid_entry){.gid = gid_of(text), .type = type, .index = index};
}

static void texts_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text, *full;
    } cases[] = {
        {"fe80::1", "fe80:0000:0000:0000:0000:0000:0000:0001"},
        {"::", "0000:0000:0000:0000:0000:0000:0000:0000"},
        {"::1", "0000:0000:0000:0000:0000:0000:0000:0001"},
        {"2001:DB8::", "2001:0db8:0000:0000:0000:0000:0000:0000"},
        {"1:2:3:4:5:6:7:8", "0001:0002:0003:0004:0005:0006:0007:0008"},
        {"1:2:3:4:5:6:7::", "0001:0002:0003:0004:0005:0006:0007:0000"},
        {"::ffff:10.1.2.3", "0000:0000:0000:0000:0000:ffff:0a01:0203"},
        {"10.1.2.3", "0000:0000:0000:0000:0000:ffff:0a01:0203"},
        {"1:2:3:4:5:6:1.2.3.4", "0001:0002:0003:0004:0005:0006:0102:0304"},
        {"fe80:0000:0000:0000:0002:c903:0000:0001", "fe80:0000:0000:0000:0002:c903:0000:0001"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        union fabric_gid gid = gid_of(cases[i].text);
        char text[FABRIC_GID_TEXT];
        fabric_gid_format(&gid, text);
        assert_string_equal(text, cases[i].full);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "x",
        "1",
        "1:2",
        ":",
        ":1",
        "1:",
        ":::",
        "1::2::3",
        "1:2:3:4:5:6:7:8:9",
        "12345::",
        "10.0.0",
        "10.0.0.256",
        "10.0.0.1.2",
        "10..0.1",
        "1.2.3.4::",
        "fe80::1%eth0",
        "fe80::1 ",
        "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:5:6:7:8::",
        "g::",
        "0010.0.0.1",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        union fabric_gid gid = {{0x5a}};
        assert_false(fabric_gid_parse(wrong[i], &gid));
        assert_int_equal(gid.raw[0], 0x5a);
    }
}

/* CASE-I1. */
static void scope_and_family_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum fabric_gid_family family;
        enum fabric_gid_scope scope;
    } cases[] = {
        {"10.0.0.1", FABRIC_GID_IPV4, FABRIC_GID_SCOPE_ROUTABLE},
        {"192.168.1.1", FABRIC_GID_IPV4, FABRIC_GID_SCOPE_ROUTABLE},
        {"172.16.0.1", FABRIC_GID_IPV4, FABRIC_GID_SCOPE_ROUTABLE},
        {"8.8.8.8", FABRIC_GID_IPV4, FABRIC_GID_SCOPE_ROUTABLE},
        {"169.254.3.4", FABRIC_GID_IPV4, FABRIC_GID_SCOPE_LINK_LOCAL},
        {"127.0.0.1", FABRIC_GID_IPV4, FABRIC_GID_SCOPE_NONE},
        {"0.0.0.0", FABRIC_GID_IPV4, FABRIC_GID_SCOPE_NONE},
        {"224.0.0.1", FABRIC_GID_IPV4, FABRIC_GID_SCOPE_NONE},
        {"255.255.255.255", FABRIC_GID_IPV4, FABRIC_GID_SCOPE_NONE},
        {"2001:db8::1", FABRIC_GID_IPV6, FABRIC_GID_SCOPE_ROUTABLE},
        {"fe80::1", FABRIC_GID_IPV6, FABRIC_GID_SCOPE_LINK_LOCAL},
        {"febf::1", FABRIC_GID_IPV6, FABRIC_GID_SCOPE_LINK_LOCAL},
        {"fec0::1", FABRIC_GID_IPV6, FABRIC_GID_SCOPE_ROUTABLE},
        {"fc00::1", FABRIC_GID_IPV6, FABRIC_GID_SCOPE_UNIQUE_LOCAL},
        {"fd12::1", FABRIC_GID_IPV6, FABRIC_GID_SCOPE_UNIQUE_LOCAL},
        {"ff02::1", FABRIC_GID_IPV6, FABRIC_GID_SCOPE_NONE},
        {"::", FABRIC_GID_IPV6, FABRIC_GID_SCOPE_NONE},
        {"::1", FABRIC_GID_IPV6, FABRIC_GID_SCOPE_NONE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        union fabric_gid gid = gid_of(cases[i].text);
        assert_int_equal(fabric_gid_family(&gid), cases[i].family);
        assert_int_equal(fabric_gid_scope(&gid), cases[i].scope);
    }
    assert_string_equal(fabric_gid_scope_name(FABRIC_GID_SCOPE_UNIQUE_LOCAL), "unique-local");
    assert_string_equal(fabric_gid_family_name(FABRIC_GID_IPV4), "IPv4");
    assert_string_equal(fabric_gid_family_name(FABRIC_GID_IPV6), "IPv6");
    assert_string_equal(fabric_gid_type_name(FABRIC_GID_TYPE_ROCE_V2), "RoCE v2");
}

static void a_gid_is_prefix_and_guid(void **state)
{
    (void)state;
    union fabric_gid gid = fabric_gid_make(0xfe80000000000001, 0x0002c90300a1b2c3);
    char text[FABRIC_GID_TEXT];
    fabric_gid_format(&gid, text);
    assert_string_equal(text, "fe80:0000:0000:0001:0002:c903:00a1:b2c3");
    assert_int_equal(fabric_gid_prefix(&gid), 0xfe80000000000001);
}

/* CASE-I2, CASE-I3. */
static void usable_roce_gids_are_sorted_by_scope_and_holes_are_no_end(void **state)
{
    (void)state;
    const struct fabric_gid_entry table[] = {
        entry(6, "fe80::1", FABRIC_GID_TYPE_ROCE_V1),
        entry(7, "fe80::1", FABRIC_GID_TYPE_ROCE_V2),
        entry(9, "::", FABRIC_GID_TYPE_ROCE_V2),
        entry(12, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V1),
        entry(13, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2),
        entry(14, "fd00::1", FABRIC_GID_TYPE_ROCE_V2),
        entry(15, "2001:db8::1", FABRIC_GID_TYPE_ROCE_V2),
        entry(300, "10.0.0.9", FABRIC_GID_TYPE_ROCE_V2),
    };
    static const uint8_t expected[] = {13, 15, 14, 7};
    struct fabric_usable_gid out[FABRIC_AV_MAX_GIDS];
    assert_int_equal(fabric_gids_usable(FABRIC_LINK_LAYER_ETHERNET, table, 8, out), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(out[i].index, expected[i]);
    assert_int_equal(fabric_gids_usable(FABRIC_LINK_LAYER_ETHERNET, NULL, 0, out), 0);
    assert_int_equal(fabric_gids_usable(FABRIC_LINK_LAYER_ETHERNET, table, 1, out), 0);
}

/* A peer may have the other family alone. */
static void the_last_gid_of_a_family_is_never_pushed_out(void **state)
{
    (void)state;
    struct fabric_gid_entry table[10];
    struct fabric_usable_gid out[FABRIC_AV_MAX_GIDS];
    for (uint32_t late = 0; late < 2; late++) {
        for (uint32_t i = 0; i < 10; i++)
            table[i] = entry(i, "2001:db8::1", FABRIC_GID_TYPE_ROCE_V2);
        table[late ? 9 : 0] = entry(late ? 9 : 0, "169.254.0.1", FABRIC_GID_TYPE_ROCE_V2);
        assert_int_equal(fabric_gids_usable(FABRIC_LINK_LAYER_ETHERNET, table, 10, out),
                         FABRIC_AV_MAX_GIDS);
        assert_int_equal(fabric_gid_family(&out[FABRIC_AV_MAX_GIDS - 1].gid), FABRIC_GID_IPV4);
        for (uint32_t i = 0; i < FABRIC_AV_MAX_GIDS - 1; i++)
            assert_int_equal(out[i].index, late ? i : i + 1);
    }
}

static void infiniband_gids_stay_in_table_order(void **state)
{
    (void)state;
    const struct fabric_gid_entry table[] = {
        entry(1, "fec0::2:c903:0:1", FABRIC_GID_TYPE_IB),
        entry(0, "fe80::2:c903:0:1", FABRIC_GID_TYPE_IB),
        entry(2, "fe80::", FABRIC_GID_TYPE_IB), /* no GUID: an empty entry */
    };
    struct fabric_usable_gid out[FABRIC_AV_MAX_GIDS];
    assert_int_equal(fabric_gids_usable(FABRIC_LINK_LAYER_INFINIBAND, table, 3, out), 2);
    assert_int_equal(out[0].index, 0);
    assert_int_equal(out[1].index, 1);
}

static void where_more_are_usable_than_fit_the_worst_are_dropped(void **state)
{
    (void)state;
    struct fabric_gid_entry table[FABRIC_AV_MAX_GIDS * 2];
    struct fabric_usable_gid out[FABRIC_AV_MAX_GIDS];
    for (uint32_t i = 0; i < FABRIC_AV_MAX_GIDS * 2; i++)
        table[i] = entry(i, i % 2 ? "10.0.0.1" : "fe80::1", FABRIC_GID_TYPE_ROCE_V2);
    assert_int_equal(
        fabric_gids_usable(FABRIC_LINK_LAYER_ETHERNET, table, FABRIC_AV_MAX_GIDS * 2, out),
        FABRIC_AV_MAX_GIDS);
    for (uint32_t i = 0; i < FABRIC_AV_MAX_GIDS - 1; i++)
        assert_int_equal(out[i].index, 2 * i + 1);
    assert_int_equal(out[FABRIC_AV_MAX_GIDS - 1].index, 0); /* the best of the other family */
}

static void unusable_entries_say_why(void **state)
{
    (void)state;
    struct fabric_gid_entry e = entry(0, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V1);
    assert_string_equal(fabric_gid_unusable(FABRIC_LINK_LAYER_ETHERNET, &e), "not RoCE v2");
    assert_string_equal(fabric_gid_unusable(FABRIC_LINK_LAYER_INFINIBAND, &e), "no InfiniBand GID");
    e = entry(0, "::", FABRIC_GID_TYPE_IB);
    assert_string_equal(fabric_gid_unusable(FABRIC_LINK_LAYER_INFINIBAND, &e), "empty");
    e = entry(0, "127.0.0.1", FABRIC_GID_TYPE_ROCE_V2);
    assert_string_equal(fabric_gid_unusable(FABRIC_LINK_LAYER_ETHERNET, &e),
                        "no address of a port");
    e = entry(256, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2);
    assert_string_equal(fabric_gid_unusable(FABRIC_LINK_LAYER_ETHERNET, &e), "index above 255");
    e.index = 255;
    assert_null(fabric_gid_unusable(FABRIC_LINK_LAYER_ETHERNET, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_and_written),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(scope_and_family_are_told),
        cmocka_unit_test(a_gid_is_prefix_and_guid),
        cmocka_unit_test(usable_roce_gids_are_sorted_by_scope_and_holes_are_no_end),
        cmocka_unit_test(the_last_gid_of_a_family_is_never_pushed_out),
        cmocka_unit_test(infiniband_gids_stay_in_table_order),
        cmocka_unit_test(where_more_are_usable_than_fit_the_worst_are_dropped),
        cmocka_unit_test(unusable_entries_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
