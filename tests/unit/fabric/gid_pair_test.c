/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/fabric/gid.h"
#include "src/fabric/gid_pair.h"

static const struct pair_case {
    const char *a[3], *b[3];
    bool found;
    int local, peer;
} pair_cases[] = {
    {{"10.0.0.1"}, {"10.9.0.2"}, true, 0, 0},
    {{"2001:db8::1", "10.0.0.1"}, {"10.0.0.2"}, true, 1, 0}, /* each alone: IPv6 and IPv4 */
    {{"2001:db8::1", "10.0.0.1"}, {"10.0.0.2", "2001:db8::2"}, true, 1, 0},
    {{"10.0.0.1"}, {"2001:db8::2"}, false, 0, 0},
    {{"fd00::1", "fe80::1"}, {"fd00::2", "fe80::2"}, true, 0, 0},
    {{"fe80::1", "fd00::1"}, {"fe80::2", "fd00::2"}, true, 1, 1},
    {{"fd00::1", "2001:db8::1"}, {"2001:db8::2", "fd00::2"}, true, 1, 0},
    {{"fd00::1"}, {"2001:db8::2"}, true, 0, 0},
    {{"fe80::1"}, {"fe80::2"}, true, 0, 0},
    {{"fe80::1"}, {"2001:db8::2"}, false, 0, 0},
    {{"169.254.1.1", "10.0.0.1"}, {"169.254.1.2", "10.0.0.2"}, true, 1, 1},
    {{"169.254.1.1"}, {"10.0.0.2"}, false, 0, 0},
    /* Two networks: the pair inside one of them. */
    {{"10.1.0.1", "10.2.0.1"}, {"10.2.0.2"}, true, 1, 0},
    {{"10.1.0.1"}, {"10.2.0.2", "10.1.0.2"}, true, 0, 1},
    /* Nothing but the bytes decides: two equally near pairs. */
    {{"10.1.0.1", "10.2.0.1"}, {"10.2.0.3", "10.1.0.3"}, true, 0, 1},
    {{"127.0.0.1"}, {"10.0.0.1"}, false, 0, 0},
    {{NULL}, {"10.0.0.1"}, false, 0, 0},
};

static size_t fill(struct fabric_usable_gid *gids, const char *const *texts)
{
    size_t count = 0;
    for (; count < 3 && texts[count]; count++) {
        gids[count].type = FABRIC_GID_TYPE_ROCE_V2;
        assert_true(fabric_gid_parse(texts[count], &gids[count].gid));
    }
    return count;
}

/* CASE-Z15, CASE-I5: link-local reaches nobody further away. */
static void both_ends_find_the_same_pair(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(pair_cases) / sizeof(pair_cases[0]); i++) {
        const struct pair_case *c = &pair_cases[i];
        struct fabric_usable_gid a[3], b[3];
        size_t a_count = fill(a, c->a), b_count = fill(b, c->b);
        uint8_t local = 77, peer = 77;
        assert_int_equal(fabric_gid_pair(a, a_count, b, b_count, &local, &peer), c->found);
        assert_int_equal(local, c->found ? c->local : 77);
        assert_int_equal(peer, c->found ? c->peer : 77);
        assert_int_equal(fabric_gid_pair(b, b_count, a, a_count, &local, &peer), c->found);
        assert_int_equal(local, c->found ? c->peer : 77);
        assert_int_equal(peer, c->found ? c->local : 77);
    }
}

static void only_roce_v2_addresses_of_ports_are_usable(void **state)
{
    (void)state;
    static const char *const texts[3] = {"10.0.0.1", "127.0.0.1", "fe80::1"};
    struct fabric_usable_gid gids[3];
    size_t count = fill(gids, texts);
    assert_int_equal(fabric_gid_pair_usable(gids, count), 2);
    gids[0].type = FABRIC_GID_TYPE_ROCE_V1;
    assert_int_equal(fabric_gid_pair_usable(gids, count), 1);
    assert_int_equal(fabric_gid_pair_usable(NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_find_the_same_pair),
        cmocka_unit_test(only_roce_v2_addresses_of_ports_are_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
