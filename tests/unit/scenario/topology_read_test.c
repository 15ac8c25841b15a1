/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/scenario/topology_read.h"

struct fixture {
    struct arena arena;
    struct yaml_errors errors;
    struct topology *topology;
};

static struct fixture read(const char *text)
{
    struct fixture f = {0};
    yaml_errors_init(&f.errors, "t");
    struct yaml_tree *tree = yaml_parse(text, strlen(text), &f.errors);
    if (tree)
        f.topology = topology_read(yaml_root(tree), &f.arena, &f.errors);
    yaml_tree_free(tree);
    return f;
}

static void refused(const char *text, const char *expected)
{
    struct fixture f = read(text);
    assert_null(f.topology);
    assert_true(f.errors.count > 0);
    if (!strstr(f.errors.items[0].text, expected))
        assert_string_equal(f.errors.items[0].text, expected);
    arena_free(&f.arena);
}

static void a_list_of_names_implies_everything_else(void **state)
{
    (void)state;
    struct fixture f = read("nodes: [a, b]\n");
    assert_non_null(f.topology);
    assert_int_equal(f.topology->subnet_count, 1);
    assert_string_equal(f.topology->subnets[0].name, "ib");
    assert_true(f.topology->subnets[0].prefix == 0xfe80000000000000);
    assert_int_equal(f.topology->subnets[0].first_lid, 1);
    assert_int_equal(f.topology->node_count, 2);
    const struct topology_node *b = topology_node_find(f.topology, "b");
    assert_int_equal(b->device_count, 1);
    assert_string_equal(b->devices[0].name, "mlx5_0");
    assert_string_equal(b->devices[0].profile, "mlx5");
    assert_int_equal(b->devices[0].port_count, 1);
    assert_string_equal(b->devices[0].ports[0].network, "ib");
    assert_int_equal(b->devices[0].ports[0].port_num, 1);
    assert_int_equal(b->devices[0].ports[0].mtu, FABRIC_MTU_4096);
    assert_null(topology_node_find(f.topology, "c"));
    arena_free(&f.arena);
}

static void a_subnet_keeps_what_is_special_about_it(void **state)
{
    (void)state;
    struct fixture f = read(
        "subnets:\n"
        "  one:\n"
        "    prefix: 0xfec0000000000001\n"
        "    lmc: 2\n"
        "    first_lid: 16\n"
        "    partitions:\n"
        "      - {pkey: 0x1, index: 1, full: [a], limited: [b/mlx5_0/1]}\n"
        "      - {pkey: 0x7fff, limited: [ALL]}\n"
        "    sms: {main: {priority: 3, start: 2 s}, spare: {start: never, response_delay: 1 ms}}\n"
        "    sl_to_vl: [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 15]\n"
        "nodes: [a, b]\n");
    assert_non_null(f.topology);
    const struct topology_subnet *one = &f.topology->subnets[0];
    assert_true(one->prefix == 0xfec0000000000001);
    assert_int_equal(one->lmc, 2);
    assert_int_equal(one->first_lid, 16);
    assert_int_equal(one->partition_count, 2);
    assert_int_equal(one->partitions[0].index, 1);
    assert_int_equal(one->partitions[0].member_count, 2);
    assert_true(one->partitions[0].members[0].full);
    assert_string_equal(one->partitions[0].members[1].node, "b/mlx5_0/1");
    assert_false(one->partitions[0].members[1].full);
    assert_int_equal(one->partitions[1].index, -1);
    assert_int_equal(one->sms[0].priority, 3);
    assert_true(one->sms[0].start == 2000000000);
    assert_true(one->sms[1].start == FABRIC_FOREVER);
    assert_true(one->sms[1].response_delay == 1000000);
    assert_true(one->has_sl_to_vl);
    assert_int_equal(one->sl_to_vl[15], 15);
    assert_ptr_equal(topology_sm_find(f.topology, "spare"), &one->sms[1]);
    arena_free(&f.arena);
}

static void switches_links_and_devices_are_read(void **state)
{
    (void)state;
    struct fixture f = read(
        "subnets: [ib]\n"
        "ethernets: [lan]\n"
        "switches: {s1: {network: ib, mtu: 2048}, s2: {network: ib, ports: 8}}\n"
        "links: [{between: [s1, s2], ports: [3, 4], mtu: 1024, latency: 2 us}]\n"
        "nodes:\n"
        "  a:\n"
        "    address: 10.0.0.1\n"
        "    disk: 2 GiB\n"
        "    devices:\n"
        "      mlx5_0: {ports: [{network: ib, switch: s2, grh_required: true}, {network: none}]}\n"
        "      mlx5_1: lan\n"
        "  b: {network: lan, netdev: eth0, netdev_mtu: 1500,\n"
        "      gids: [{index: 3, gid: '::ffff:10.0.0.2'}]}\n"
        "  c: ib\n");
    assert_non_null(f.topology);
    const struct topology_node *a = &f.topology->nodes[0], *b = &f.topology->nodes[1];
    assert_int_equal(f.topology->switches[0].mtu, FABRIC_MTU_2048);
    assert_int_equal(f.topology->switches[1].port_count, 8);
    assert_int_equal(f.topology->links[0].b_port, 4);
    assert_int_equal(f.topology->links[0].latency, 2000);
    assert_string_equal(a->address, "10.0.0.1");
    assert_true(a->disk_size == (uint64_t)2 << 30);
    assert_int_equal(a->devices[0].port_count, 2);
    assert_string_equal(a->devices[0].ports[0].attach, "s2");
    assert_true(a->devices[0].ports[0].grh_required);
    assert_null(a->devices[0].ports[1].network);
    assert_string_equal(a->devices[1].ports[0].network, "lan");
    assert_string_equal(b->devices[0].ports[0].netdev, "eth0");
    assert_int_equal(b->devices[0].ports[0].gids[0].type, FABRIC_GID_TYPE_ROCE_V2);
    assert_int_equal(b->devices[0].ports[0].gids[0].gid.raw[15], 2);
    assert_ptr_equal(topology_device_find(a, "mlx5_1"), &a->devices[1]);
    arena_free(&f.arena);
}

static void what_does_not_fit_together_is_refused(void **state)
{
    (void)state;
    refused("nodes: []\n", "nodes: at least one is expected");
    refused("nodes: [a, a]\n", "t:1:12: nodes: found 'a' again");
    refused("nodes: a\n", "a list of names or a mapping");
    refused("nodes: [a/b]\n", "a name without '/'");
    refused("subnets: [x, y]\nnodes: [a]\n", "network is missing");
    refused("switches: {s: {network: z}}\nnodes: [a]\n", "network: found 'z'");
    refused("subnets: [x, y]\nswitches: [s]\nnodes: {a: x}\n", "names no network");
    refused("nodes: {a: {switch: s9}}\n", "switch: found 's9'; allowed: nothing");
    refused("switches: [s1]\nlinks: [{between: [s1, s2]}]\nnodes: [a]\n",
            "between: found 's2'; did you mean 's1'?");
    refused("switches: [s1]\nlinks: [{between: [s1]}]\nnodes: [a]\n", "joins two switches");
    refused("links: 3\nnodes: [a]\n", "links: found");
    refused("nodes: {a: {address: 10.0.0.256}}\n", "an IPv4 address is expected");
    refused("nodes: {a: {address: 10.0.0.1}, b: {address: 10.0.0.1}}\n", "node 'a' has it");
    refused("nodes: {a: {gids: [{index: 1, gid: 10.0.0.1}]}}\n", "an IPv6 address is expected");
    refused("ethernets: {lan: {x: 1}}\nnodes: [a]\n", "a list of names is expected");
    refused("subnets: {s: {sl_to_vl: [1]}}\nnodes: [a]\n", "16 are expected");
    refused("subnets: {s: {partitions: [{pkey: 0x1}]}}\nnodes: [a]\n", "has no member");
    refused("subnets: {s: {partitions: [{pkey: 0x1, full: [a/mlx5_0/2]}]}}\nnodes: [a]\n",
            "NODE/DEVICE/PORT is expected");
    refused("subnets: {s: {partitions: [{pkey: 0x8001, full: [a]}]}}\nnodes: [a]\n", "0x7fff");
    refused("nodes: {a: {devices: {d: {ports: []}}}}\n", "ports: 1 to 255");
}

static void interfaces_have_a_mode_and_an_mtu(void **state)
{
    (void)state;
    struct fixture f = read("subnets: {ib: {group_mtu: 4096}}\n"
                            "nodes:\n"
                            "  a: {control: ib0, ipoib: connected, netdev_mtu: 65520}\n"
                            "  b: {netdev_mtu: 4092, ipoib: enhanced}\n");
    assert_non_null(f.topology);
    assert_int_equal(f.topology->subnets[0].group_mtu, FABRIC_MTU_4096);
    assert_string_equal(f.topology->nodes[0].control, "ib0");
    assert_int_equal(f.topology->nodes[0].devices[0].ports[0].ipoib, TOPOLOGY_IPOIB_CONNECTED);
    assert_int_equal(f.topology->nodes[1].devices[0].ports[0].ipoib, TOPOLOGY_IPOIB_ENHANCED);
    assert_null(f.topology->nodes[1].control);
    arena_free(&f.arena);
    refused("nodes: {a: {netdev_mtu: 4092}}\n", "has 2044 at most");
    refused("nodes: {a: {ipoib: connected, netdev_mtu: 65521}}\n", "has 65520 at most");
    refused("nodes: {a: {ipoib: fast}}\n", "datagram, connected, enhanced");
    refused("ethernets: [lan]\nnodes: {a: {ipoib: connected}}\n", "ipoib is of InfiniBand ports");
}

static void dcb_says_what_is_lossless_and_what_decides(void **state)
{
    (void)state;
    struct fixture f = read("ethernets: [lan]\n"
                            "nodes:\n"
                            "  a: {dcb: {pfc: [3, 5], trust: dscp, dscp: [{dscp: 26, priority: 5}],"
                            " ets: [0, 0, 0, 1, 0, 2, 0, 0]}}\n"
                            "  b: {dcb: {}}\n"
                            "  c: lan\n");
    assert_non_null(f.topology);
    const struct fabric_dcb *dcb = &f.topology->nodes[0].devices[0].ports[0].dcb;
    assert_true(dcb->present && dcb->trusts_dscp);
    assert_int_equal(dcb->pfc_enabled, 1 << 3 | 1 << 5);
    assert_int_equal(dcb->dscp_prio[26], 5);
    assert_int_equal(dcb->dscp_prio[27], 3);
    assert_int_equal(dcb->dscp_prio[63], 7);
    assert_int_equal(dcb->ets_tc[5], 2);
    dcb = &f.topology->nodes[1].devices[0].ports[0].dcb;
    assert_true(dcb->present && !dcb->trusts_dscp && dcb->pfc_enabled == 0);
    assert_false(f.topology->nodes[2].devices[0].ports[0].dcb.present);
    arena_free(&f.arena);
    refused("nodes: {a: {dcb: {pfc: [3]}}}\n", "dcb is of Ethernet ports");
    refused("ethernets: [lan]\nnodes: {a: {dcb: {pfc: [8]}}}\n", "pfc");
    refused("ethernets: [lan]\nnodes: {a: {dcb: {ets: [1]}}}\n", "each of 8 priorities");
    refused("ethernets: [lan]\nnodes: {a: {dcb: {dscp: [{dscp: 64, priority: 1}]}}}\n", "dscp");
    refused("ethernets: [lan]\nnodes: {a: {dcb: {trust: vlan}}}\n", "one of pcp, dscp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_names_implies_everything_else),
        cmocka_unit_test(a_subnet_keeps_what_is_special_about_it),
        cmocka_unit_test(switches_links_and_devices_are_read),
        cmocka_unit_test(what_does_not_fit_together_is_refused),
        cmocka_unit_test(interfaces_have_a_mode_and_an_mtu),
        cmocka_unit_test(dcb_says_what_is_lossless_and_what_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
