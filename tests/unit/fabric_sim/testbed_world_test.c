/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that topologies describe, and what a topology may not ask for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed.h"

#define SECOND UINT64_C(1000000000)

static struct topology_port ports[2];
static struct topology_device devices[2];
static struct topology_node nodes[3];
static struct topology_subnet subnets[2];
static struct topology_ethernet lan = {"lan"};
static struct topology_switch switches[2];
static struct topology_link links[2];
static struct topology topology;
static struct testbed *tb;
static char detail[TESTBED_DETAIL];

static int setup(void **state)
{
    (void)state;
    ports[0] = (struct topology_port){.port_num = 1, .network = "ib", .mtu = FABRIC_MTU_4096};
    ports[1] = (struct topology_port){.port_num = 2, .network = "lan", .mtu = FABRIC_MTU_4096};
    devices[0] = (struct topology_device){.name = "mlx5_0", .ports = ports, .port_count = 2};
    for (size_t i = 0; i < 3; i++)
        nodes[i] = (struct topology_node){
            .name = (const char *[]){"a", "b", "c"}[i], .devices = devices, .device_count = 1};
    subnets[0] = (struct topology_subnet){
        .name = "ib", .prefix = UINT64_C(0xfec0000000000007), .lmc = 1, .first_lid = 16};
    subnets[1] = (struct topology_subnet){.name = "ib2", .first_lid = 1};
    switches[0] = (struct topology_switch){"s1", "ib", 4, FABRIC_MTU_2048};
    switches[1] = (struct topology_switch){"s2", "ib", 6, 0};
    links[0] = links[1] = (struct topology_link){.a = "s1", .b = "s2"};
    topology = (struct topology){.subnets = subnets,
                                 .subnet_count = 1,
                                 .ethernets = &lan,
                                 .ethernet_count = 1,
                                 .switches = switches,
                                 .links = links,
                                 .nodes = nodes,
                                 .node_count = 3};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (tb)
        sim_testbed.destroy(tb);
    tb = NULL;
    return 0;
}

static bool create(fabric_caps caps)
{
    const struct testbed_options options = {.seed = 1, .caps = caps};
    detail[0] = '\0';
    tb = sim_testbed.create(&topology, &options, detail);
    return tb != NULL;
}

static const char *ask(const char *node, const char *query)
{
    assert_int_equal(sim_testbed.ask(tb, node, query, detail), TESTBED_DONE);
    return detail;
}

static void run(uint64_t time)
{
    struct testbed_event event;
    sim_testbed.next(tb, time, &event);
    assert_int_equal(event.type, TESTBED_EVENT_DEADLINE);
}

static void a_subnet_is_as_it_is_described(void **state)
{
    struct topology_member all = {"ALL", true}, limited[] = {{"a", false}, {"b/mlx5_0/1", false}};
    struct topology_partition partitions[] = {{0x7fff, 0, &all, 1}, {0x0123, -1, limited, 2}};
    (void)state;
    subnets[0].partitions = partitions;
    subnets[0].partition_count = 2;
    subnets[0].has_sl_to_vl = true;
    memset(subnets[0].sl_to_vl, 1, 16);
    ports[0].grh_required = true;
    assert_true(create(FABRIC_CAPS_ALL));
    run(SECOND);
    assert_string_equal(ask("a", "mlx5_0/1 state"), "ACTIVE");
    assert_string_equal(ask("a", "mlx5_0/1 prefix"), "0xfec0000000000007");
    assert_string_equal(ask("a", "mlx5_0/1 lmc"), "1");
    assert_true(strtoul(ask("a", "mlx5_0/1 lid"), NULL, 10) >= 16);
    assert_string_equal(ask("a", "mlx5_0/1 pkey 0"), "0xffff");
    assert_string_equal(ask("a", "mlx5_0/1 pkey 1"), "0x0123");
    assert_string_equal(ask("b", "mlx5_0/1 pkey 1"), "0x0123");
    assert_string_equal(ask("c", "mlx5_0/1 pkey 1"), "0x0000");
    assert_string_equal(ask("a", "mlx5_0/1 grh_required"), "true");
    assert_string_equal(ask("a", "mlx5_0/2 link_layer"), "Ethernet");
}

/* Listed partitions are all there are: without a key nothing is at index 0. */
static void a_port_in_no_listed_partition_has_no_key(void **state)
{
    struct topology_member only = {"a/mlx5_0", true};
    struct topology_partition partition = {0x0123, 1, &only, 1};
    (void)state;
    subnets[0].partitions = &partition;
    subnets[0].partition_count = 1;
    assert_true(create(FABRIC_CAPS_ALL));
    run(SECOND);
    assert_string_equal(ask("a", "mlx5_0/1 pkey 0"), "0x0000");
    assert_string_equal(ask("a", "mlx5_0/1 pkey 1"), "0x8123");
    assert_string_equal(ask("b", "mlx5_0/1 pkey 0"), "0x0000");
}

static void switches_are_cabled_and_limit_the_mtu(void **state)
{
    (void)state;
    topology.switch_count = 2;
    topology.link_count = 2;
    ports[0].attach = "s2";
    links[1].a_port = 4;
    links[1].b_port = 4;
    assert_true(create(FABRIC_CAPS_ALL));
    run(SECOND);
    assert_string_equal(ask("a", "mlx5_0/1 state"), "ACTIVE");
    assert_string_equal(ask("a", "mlx5_0/1 mtu"), "4096"); /* its own link */
    sim_testbed.destroy(tb);
    tb = NULL;
    links[0].a_port = 4; /* twice the same */
    assert_false(create(FABRIC_CAPS_ALL));
    assert_non_null(strstr(detail, "no free port"));
    links[0].a_port = links[1].a_port = links[1].b_port = 0;
    switches[1].port_count = 4;
    assert_false(create(FABRIC_CAPS_ALL));
    assert_string_equal(detail, "switch 's2' has no free port left");
    switches[0].port_count = 254;
    assert_false(create(FABRIC_CAPS_ALL)); /* with the manager's */
}

static void frames_decide_the_mtu_of_roce(void **state)
{
    static const struct {
        uint32_t frames;
        const char *mtu;
    } cases[] = {{1500, "1024"}, {9000, "4096"}, {4191, "2048"}, {4192, "4096"}, {300, "256"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ports[1].netdev_mtu = cases[i].frames;
        assert_true(create(FABRIC_CAPS_ALL));
        assert_string_equal(ask("a", "mlx5_0/2 mtu"), cases[i].mtu);
        sim_testbed.destroy(tb);
        tb = NULL;
    }
}

static void gids_and_names_of_interfaces_are_taken_over(void **state)
{
    struct topology_gid gids[] = {{6, {{0x20, 0x01, [15] = 7}}, FABRIC_GID_TYPE_ROCE_V2, false},
                                  {99, {{0x20, 0x01, [15] = 8}}, FABRIC_GID_TYPE_ROCE_V2, false}};
    char mtu[16];
    size_t length;
    (void)state;
    ports[1].gids = gids;
    ports[1].gid_count = 2;
    strcpy(ports[1].netdev, "ens1");
    assert_true(create(FABRIC_CAPS_ALL));
    assert_string_equal(ask("a", "mlx5_0/2 gid 6"), "2001:0000:0000:0000:0000:0000:0000:0007");
    assert_string_equal(ask("a", "mlx5_0/2 gid 0"), "0000:0000:0000:0000:0000:0000:0000:0000");
    struct sim_host *host = sim_host_find(sim_testbed_world(tb), "a");
    struct fabric *f = sim_fabric_create(host, FABRIC_CAPS_ALL, NULL);
    assert_int_equal(fabric_sysfile_read(f, "/sys/class/net/ens1/mtu", mtu, 16, &length), 0);
    assert_int_equal(fabric_sysfile_read(f, "/sys/class/net/ib0/mtu", mtu, 16, &length), 0);
    assert_memory_equal(mtu, "2044\n", 5);
    assert_int_equal(fabric_sysfile_link(f, "/sys/class/net/ib0/device", detail, TESTBED_DETAIL),
                     FABRIC_OK);
    assert_int_equal(
        fabric_sysfile_list(f, "/sys/class/infiniband", detail, TESTBED_DETAIL, &length), 0);
    assert_memory_equal(detail, "mlx5_0", 7);
    (void)fabric_destroy(f);
}

static void what_is_plugged_in_nowhere_stays_down(void **state)
{
    (void)state;
    ports[0].network = NULL;
    assert_true(create(FABRIC_CAPS_ALL));
    run(SECOND);
    assert_string_equal(ask("a", "mlx5_0/1 state"), "DOWN");
    const struct testbed_fault pull = {.word = TESTBED_CABLE_PULL, .node = "a"};
    const struct testbed_fault lose = {.word = TESTBED_LOSS, .node = "a", .value = 1};
    const struct testbed_fault lid = {.word = TESTBED_LID_SET, .node = "a", .value = 1};
    const struct testbed_fault mtu = {.word = TESTBED_LINK_MTU, .node = "a", .value = 1024};
    assert_int_equal(sim_testbed.apply(tb, &pull, detail), TESTBED_WRONG);
    assert_int_equal(sim_testbed.apply(tb, &lose, detail), TESTBED_WRONG);
    assert_int_equal(sim_testbed.apply(tb, &lid, detail), TESTBED_WRONG);
    assert_int_equal(sim_testbed.apply(tb, &mtu, detail), TESTBED_WRONG);
}

static void capabilities_that_a_topology_needs_are_named(void **state)
{
    struct topology_member all = {"ALL", true};
    struct topology_partition partition = {0x0123, 1, &all, 1};
    (void)state;
    assert_false(create(~FABRIC_CAP_LID));
    assert_string_equal(detail, "the fabric lacks the capability lid, which the topology needs");
    topology.subnet_count = 2;
    assert_false(create(~FABRIC_CAP_SUBNET));
    topology.subnet_count = 1;
    subnets[0].partitions = &partition;
    subnets[0].partition_count = 1;
    assert_false(create(~FABRIC_CAP_PKEY));
    subnets[0].partition_count = 0;
    subnets[0].has_sl_to_vl = true;
    assert_false(create(~FABRIC_CAP_SL));
    subnets[0].has_sl_to_vl = false;
    ports[0].grh_required = true;
    assert_false(create(~FABRIC_CAP_GRH_REQUIRED));
    assert_true(create(FABRIC_CAPS_ALL));
}

static void what_makes_no_sense_is_refused_in_words(void **state)
{
    (void)state;
    devices[0].profile = "mlx9";
    assert_false(create(FABRIC_CAPS_ALL));
    assert_string_equal(detail, "device 'mlx5_0' of node 'a': there is no profile 'mlx9'");
    devices[0].profile = NULL;
    nodes[1].address = "10.0.0";
    assert_false(create(FABRIC_CAPS_ALL));
    assert_string_equal(detail, "node 'b': '10.0.0' is no IPv4 address");
}

static void an_inventory_and_a_plan_are_for_real_machines(void **state)
{
    (void)state;
    const struct testbed_options asked[] = {
        {.seed = 1, .caps = FABRIC_CAPS_ALL, .inventory = "hosts.yaml"},
        {.seed = 1, .caps = FABRIC_CAPS_ALL, .plan = true}};
    for (size_t i = 0; i < 2; i++) {
        detail[0] = '\0';
        assert_null(sim_testbed.create(&topology, &asked[i], detail));
        assert_non_null(strstr(detail, "no machines"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_inventory_and_a_plan_are_for_real_machines, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_subnet_is_as_it_is_described, setup, teardown),
        cmocka_unit_test_setup_teardown(a_port_in_no_listed_partition_has_no_key, setup, teardown),
        cmocka_unit_test_setup_teardown(switches_are_cabled_and_limit_the_mtu, setup, teardown),
        cmocka_unit_test_setup_teardown(frames_decide_the_mtu_of_roce, setup, teardown),
        cmocka_unit_test_setup_teardown(gids_and_names_of_interfaces_are_taken_over, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_plugged_in_nowhere_stays_down, setup, teardown),
        cmocka_unit_test_setup_teardown(capabilities_that_a_topology_needs_are_named, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_makes_no_sense_is_refused_in_words, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
