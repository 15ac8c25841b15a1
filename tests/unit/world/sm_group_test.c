/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/subnet.h"

static const union fabric_gid mgid = {.raw = {0xff, 0x12, 0x40, 0x1b, [15] = 1}};

static uint16_t mask(struct subnet *s, const char *name, uint16_t mlid)
{
    return net_mft_get(net_find(s->net, name), mlid, 0);
}

/* Who gets a copy of what `from` sends; -1 for a copy that came back or came twice. */
static unsigned copies(struct subnet *s, struct net_port *out, uint16_t mlid, int depth)
{
    struct net_port *in = net_port_peer(out);
    struct net_node *node = net_port_node(in);
    unsigned count = 0;

    assert_true(depth < 10);
    if (net_node_kind(node) != NET_SWITCH)
        return 1;
    for (uint8_t p = 1; p <= net_node_ports(node); p++)
        if ((net_mft_get(node, mlid, p / 16) >> (p % 16) & 1) && p != net_port_num(in))
            count += copies(s, net_node_port(node, p), mlid, depth + 1);
    return count;
}

static void members_get_one_copy_from_everywhere(void **state)
{
    static const char *const members[] = {"h1", "h2", "h9", "h15"};
    struct subnet s;
    uint16_t mlid;

    (void)state;
    subnet_open_tree(&s, 16, 4, NULL);
    mlid = sm_group_create(s.sm[0], &mgid);
    assert_int_equal(mlid, 0xC000);
    for (size_t i = 0; i < 4; i++)
        assert_true(sm_group_join(s.sm[0], mlid, subnet_guid(&s, members[i])));
    subnet_bring_up(&s);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(copies(&s, subnet_port(&s, members[i], 1), mlid, 0), 3);
    subnet_close(&s);
}

static void joining_and_leaving_change_the_tables(void **state)
{
    struct subnet s;
    uint16_t mlid;
    uint64_t guid;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    subnet_bring_up(&s);
    guid = subnet_guid(&s, "h2");
    mlid = sm_group_create(s.sm[0], &mgid);
    assert_true(sm_group_join(s.sm[0], mlid, guid));
    assert_true(sm_group_join(s.sm[0], mlid, guid)); /* twice is once */
    assert_true(sm_group_join(s.sm[0], mlid, subnet_guid(&s, "h1")));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(mask(&s, "l0", mlid), 1 << 3 | 1 << 2);
    assert_true(sm_group_leave(s.sm[0], mlid, guid));
    assert_false(sm_group_leave(s.sm[0], mlid, guid));
    assert_true(subnet_wait_up(&s, 0));
    assert_int_equal(mask(&s, "l0", mlid), 1 << 2);
    subnet_close(&s);
}

static void groups_have_lids_of_their_own_until_there_are_none(void **state)
{
    struct subnet s;
    union fabric_gid gid = mgid;
    unsigned count = 0;

    (void)state;
    subnet_open_tree(&s, 4, 4, NULL);
    assert_int_equal(sm_group_create(s.sm[0], &mgid), 0xC000);
    assert_int_equal(sm_group_create(s.sm[0], &mgid), 0xC000);
    gid.raw[14] = 1;
    assert_int_equal(sm_group_create(s.sm[0], &gid), 0xC001);
    while (gid.raw[13] = (uint8_t)++count, sm_group_create(s.sm[0], &gid) != 0)
        assert_true(count < 255);
    assert_int_equal(count, 127);
    assert_false(sm_group_join(s.sm[0], 0xC200, 1));
    assert_false(sm_group_leave(s.sm[0], 0x1234, 1));
    subnet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_get_one_copy_from_everywhere),
        cmocka_unit_test(joining_and_leaving_change_the_tables),
        cmocka_unit_test(groups_have_lids_of_their_own_until_there_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
