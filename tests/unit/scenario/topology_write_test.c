/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/scenario/topology_read.h"
#include "src/scenario/topology_write.h"

/* What is written of a topology that was read from `text`. */
static void written(const char *text, struct text *out)
{
    struct yaml_errors errors;
    struct arena arena = {0};
    yaml_errors_init(&errors, "t");
    struct yaml_tree *tree = yaml_parse(text, strlen(text), &errors);
    struct topology *topology = tree ? topology_read(yaml_root(tree), &arena, &errors) : NULL;
    if (!topology)
        fail_msg("%s in: %s", errors.items[0].text, text);
    topology_write(topology, out);
    yaml_tree_free(tree);
    arena_free(&arena);
}

/* It is written as `expected`, and what is written means the same again. */
static void is_written(const char *text, const char *expected)
{
    struct text once = {0}, twice = {0};
    written(text, &once);
    assert_string_equal(text_data(&once), expected);
    written(text_data(&once), &twice);
    assert_string_equal(text_data(&twice), expected);
    text_free(&once);
    text_free(&twice);
}

#define SUBNET "\"ib\": {prefix: 0xfe80000000000000, lmc: 0, first_lid: 1, group_mtu: 2048"
#define PORT "          - {rate_mbps: 100000, latency: 100 ns, grh_required: false, ipoib: datagram"
#define DEVICE "      \"mlx5_0\":\n        profile: \"mlx5\"\n        ports:\n"

static void what_was_implied_is_written_out(void **state)
{
    (void)state;
    is_written("nodes: {a: {address: 10.0.0.1}, b: {devices: {}}}",
               "subnets:\n  " SUBNET "}\n"
               "nodes:\n"
               "  \"a\":\n    address: 10.0.0.1\n    devices:\n" DEVICE PORT
               ", network: \"ib\", mtu: 4096}\n"
               "  \"b\":\n    devices: {}\n");
}

static void partitions_managers_and_lanes_are_kept(void **state)
{
    (void)state;
    is_written(
        "subnets:\n"
        "  one:\n"
        "    prefix: 0xfec0000000000001\n"
        "    lmc: 2\n"
        "    first_lid: 16\n"
        "    group_mtu: 4096\n"
        "    partitions: [{pkey: 0x1, index: 1, full: [a], limited: [a/mlx5_0/1]}]\n"
        "    sms: {main: {priority: 3, start: 2 s}, spare: {start: never, response_delay: "
        "1 ms}}\n"
        "    sl_to_vl: [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 15]\n"
        "nodes: {a: {disk: 8 KiB, network: none}}\n"
        "ethernets: [lan]\n"
        "switches: {s1: {network: one, ports: 4, mtu: 2048}, s2: {network: one}}\n"
        "links: [{between: [s1, s2], ports: [1, 2], mtu: 1024, latency: 1 us}]\n",
        "subnets:\n"
        "  \"one\": {prefix: 0xfec0000000000001, lmc: 2, first_lid: 16, group_mtu: 4096, "
        "partitions: [{pkey: 0x0001, index: 1, full: [\"a\"], limited: [\"a/mlx5_0/1\"]}], "
        "sms: {\"main\": {priority: 3, response_delay: 0 ns, start: 2000000000 ns}, "
        "\"spare\": {priority: 1, response_delay: 1000000 ns, start: never}}, "
        "sl_to_vl: [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 15]}\n"
        "ethernets:\n  - \"lan\"\n"
        "switches:\n"
        "  \"s1\": {ports: 4, network: \"one\", mtu: 2048}\n"
        "  \"s2\": {ports: 36, network: \"one\", mtu: 4096}\n"
        "links:\n"
        "  - {rate_mbps: 100000, latency: 1000 ns, between: [\"s1\", \"s2\"], ports: [1, 2], "
        "mtu: 1024}\n"
        "nodes:\n"
        "  \"a\":\n    disk: 8192\n    devices:\n" DEVICE PORT ", network: \"none\", mtu: 4096}\n");
}

static void ports_keep_all_their_settings(void **state)
{
    (void)state;
    is_written(
        "subnets: [ib]\n"
        "ethernets: [lan]\n"
        "switches: {s1: {network: ib}}\n"
        "nodes:\n"
        "  \"q\\\"\":\n"
        "    control: ib0\n"
        "    devices:\n"
        "      hca:\n"
        "        profile: rxe\n"
        "        sys_image_guid: 0x77\n"
        "        ports:\n"
        "          - {network: ib, switch: s1, mtu: 2048, link_mtu: 1024, rate_mbps: 50000,\n"
        "             latency: 5 us, grh_required: true, netdev: ib0, netdev_mtu: 9000,\n"
        "             ipoib: connected}\n"
        "          - {network: lan, gids: [{gid: 'fd00::1'}, {gid: 'fe80::1', type: roce_v1, "
        "index: 4}]}\n"
        "          - {network: none}\n",
        "subnets:\n  " SUBNET "}\nethernets:\n  - \"lan\"\n"
        "switches:\n  \"s1\": {ports: 36, network: \"ib\", mtu: 4096}\n"
        "nodes:\n"
        "  \"q\\\"\":\n    control: \"ib0\"\n    devices:\n"
        "      \"hca\":\n        profile: \"rxe\"\n        sys_image_guid: 0x77\n        ports:\n"
        "          - {rate_mbps: 50000, latency: 5000 ns, grh_required: true, ipoib: connected, "
        "network: \"ib\", switch: \"s1\", netdev: \"ib0\", netdev_mtu: 9000, mtu: 2048, "
        "link_mtu: 1024}\n" PORT ", network: \"lan\", mtu: 4096, gids: "
        "[{gid: \"fd00:0000:0000:0000:0000:0000:0000:0001\", type: roce_v2}, "
        "{gid: \"fe80:0000:0000:0000:0000:0000:0000:0001\", type: roce_v1, index: 4}]}\n" PORT
        ", network: \"none\", mtu: 4096}\n");
}

static void settings_of_dcb_are_kept(void **state)
{
    struct text out = {0}, again = {0};
    (void)state;
    written("ethernets: [lan]\n"
            "nodes: {a: {dcb: {pfc: [3, 5], trust: dscp, dscp: [{dscp: 26, priority: 3}],\n"
            "                  ets: [0, 0, 0, 1, 0, 0, 0, 2]}}}\n",
            &out);
    assert_non_null(strstr(text_data(&out), "dcb: {trust: dscp, pfc: [3, 5], ets: "
                                            "[0, 0, 0, 1, 0, 0, 0, 2], dscp: [{dscp: 0, priority: "
                                            "0}, "));
    assert_non_null(strstr(text_data(&out), "{dscp: 26, priority: 3}, {dscp: 27, priority: 3}, "));
    assert_non_null(strstr(text_data(&out), "{dscp: 63, priority: 7}]}"));
    written(text_data(&out), &again);
    assert_string_equal(text_data(&again), text_data(&out));
    text_free(&out);
    text_free(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_implied_is_written_out),
        cmocka_unit_test(partitions_managers_and_lanes_are_kept),
        cmocka_unit_test(ports_keep_all_their_settings),
        cmocka_unit_test(settings_of_dcb_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
