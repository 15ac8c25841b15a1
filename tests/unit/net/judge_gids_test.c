/* SPDX-License-Identifier: Apache-2.0 */
/* Every GID has a verdict and a reason (MK-B2, CASE-I1 to I4). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/net/model.h"

static struct net_gid gids[12];
static struct net_port port;
static struct config_rdma config;

static void start(enum fabric_link_layer link_layer)
{
    memset(gids, 0, sizeof(gids));
    port = (struct net_port){.link_layer = link_layer, .gids = gids};
    config_rdma_defaults(&config);
}

static struct net_gid *add(uint32_t index, const char *text, enum fabric_gid_type type)
{
    struct net_gid *gid = &gids[port.gid_count++];
    gid->entry.index = index;
    gid->entry.type = type;
    assert_true(fabric_gid_parse(text, &gid->entry.gid));
    return gid;
}

static void the_widest_scope_is_chosen_and_the_others_say_why_not(void **state)
{
    (void)state;
    start(FABRIC_LINK_LAYER_ETHERNET);
    struct net_gid *link = add(0, "fe80::1", FABRIC_GID_TYPE_ROCE_V2);
    struct net_gid *local = add(1, "fd00::1", FABRIC_GID_TYPE_ROCE_V2);
    struct net_gid *v1 = add(4, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V1);
    struct net_gid *best = add(5, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2);
    struct net_gid *later = add(7, "2001:db8::1", FABRIC_GID_TYPE_ROCE_V2);
    net_judge_gids(&config, &port);
    assert_int_equal(port.chosen_gid, 3);
    assert_int_equal(best->verdict, NET_GID_CHOSEN);
    assert_non_null(strstr(best->reason, "routable"));
    assert_int_equal(v1->verdict, NET_GID_UNUSABLE);
    assert_string_equal(v1->reason, "not RoCE v2");
    assert_int_equal(link->verdict, NET_GID_USABLE);
    assert_string_equal(link->reason, "link-local comes after routable (index 5)");
    assert_string_equal(local->reason, "unique-local comes after routable (index 5)");
    assert_string_equal(later->reason, "routable as index 5, which comes first in the table");
}

static void a_set_index_is_the_only_one_used(void **state)
{
    (void)state;
    start(FABRIC_LINK_LAYER_ETHERNET);
    struct net_gid *set = add(0, "fe80::1", FABRIC_GID_TYPE_ROCE_V2);
    struct net_gid *other = add(3, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V2);
    config.gid_index = 0;
    net_judge_gids(&config, &port);
    assert_int_equal(port.chosen_gid, 0);
    assert_non_null(strstr(set->reason, "set by gid_index"));
    assert_string_equal(other->reason, "left out by gid_index");
    config.gid_index = 2; /* a hole */
    net_judge_gids(&config, &port);
    assert_int_equal(port.chosen_gid, -1);
    assert_int_equal(other->verdict, NET_GID_USABLE);
}

static void infiniband_is_named_by_its_first_gid_whatever_gid_index_says(void **state)
{
    (void)state;
    start(FABRIC_LINK_LAYER_INFINIBAND);
    struct net_gid *first = add(0, "fe80::ec0d:9a03:7d:7d1a", FABRIC_GID_TYPE_IB);
    struct net_gid *alias = add(1, "fe80::ec0d:9a03:7d:7d1b", FABRIC_GID_TYPE_IB);
    config.gid_index = 1;
    net_judge_gids(&config, &port);
    assert_int_equal(port.chosen_gid, 0);
    assert_non_null(strstr(first->reason, "without a GRH"));
    assert_int_equal(alias->verdict, NET_GID_USABLE);
    port.grh_required = true; /* then it counts */
    net_judge_gids(&config, &port);
    assert_int_equal(port.chosen_gid, 1);
    assert_non_null(strstr(alias->reason, "GRH that this port demands"));
}

static void a_table_without_a_usable_entry_chooses_none(void **state)
{
    (void)state;
    start(FABRIC_LINK_LAYER_ETHERNET);
    net_judge_gids(&config, &port);
    assert_int_equal(port.chosen_gid, -1);
    struct net_gid *v1 = add(0, "10.0.0.1", FABRIC_GID_TYPE_ROCE_V1);
    net_judge_gids(&config, &port);
    assert_int_equal(port.chosen_gid, -1);
    assert_int_equal(v1->verdict, NET_GID_UNUSABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_widest_scope_is_chosen_and_the_others_say_why_not),
        cmocka_unit_test(a_set_index_is_the_only_one_used),
        cmocka_unit_test(infiniband_is_named_by_its_first_gid_whatever_gid_index_says),
        cmocka_unit_test(a_table_without_a_usable_entry_chooses_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
