/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.9: control addresses on the interfaces of ports, and the streams that follow them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/sim_bed.h"

static struct topology_sm managers[] = {{"sm", 1, FABRIC_FOREVER, 0}};
static struct topology_subnet subnet = {.name = "ib",
                                        .prefix = UINT64_C(0xfe80000000000000),
                                        .first_lid = 1,
                                        .sms = managers,
                                        .sm_count = 1};
static struct topology_ethernet lan = {"lan"};
static struct topology_port ports[2];
static struct topology_device devices[2];
static struct topology_node nodes[2];
static struct sim_bed bed;

static bool create(void)
{
    const struct topology topology = {.subnets = &subnet,
                                      .subnet_count = 1,
                                      .ethernets = &lan,
                                      .ethernet_count = 1,
                                      .nodes = nodes,
                                      .node_count = 2};
    const struct testbed_options options = {.seed = 1, .caps = FABRIC_CAPS_ALL};
    bed.tb = sim_testbed.create(&topology, &options, bed.detail);
    return bed.tb != NULL;
}

/* Node i has one interface, and its address there. */
static int setup(void **state)
{
    (void)state;
    memset(&bed, 0, sizeof(bed));
    for (size_t i = 0; i < 2; i++) {
        ports[i] = (struct topology_port){.port_num = 1, .network = i ? "lan" : "ib"};
        devices[i] =
            (struct topology_device){.name = "mlx5_0", .ports = &ports[i], .port_count = 1};
        nodes[i] = (struct topology_node){.name = i ? "x" : "a",
                                          .devices = &devices[i],
                                          .device_count = 1,
                                          .control = i ? "eth0" : "ib0"};
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (bed.tb)
        sim_testbed.destroy(bed.tb);
    return 0;
}

static struct sim_host *host(const char *name)
{
    return sim_host_find(sim_testbed_world(bed.tb), name);
}

/* A file of the node's interface, without its newline. */
static const char *shown(const char *node, const char *path)
{
    static char text[64];
    const struct sim_fabric_hooks hooks = {0};
    struct fabric *f = sim_fabric_create(host(node), FABRIC_CAPS_ALL, &hooks);
    size_t length = 0;
    assert_int_equal(fabric_sysfile_read(f, path, text, sizeof(text), &length), FABRIC_OK);
    assert_true(length > 0);
    text[length - 1] = '\0';
    (void)fabric_destroy(f);
    return text;
}

static bool has_link(const char *node)
{
    return strcmp(shown(node, strcmp(node, "a") ? "/sys/class/net/eth0/carrier"
                                                : "/sys/class/net/ib0/carrier"),
                  "1") == 0;
}

static void apply(enum testbed_word word, const char *node, const char *sm, bool on)
{
    const struct testbed_fault fault = {.word = word, .node = node, .sm = sm, .on = on};
    assert_int_equal(sim_bed_apply(&bed, &fault), TESTBED_DONE);
}

static void an_interface_has_a_carrier_once_it_joined_its_group(void **state)
{
    (void)state;
    assert_true(create());
    sim_bed_run(&bed, BED_SECOND);
    assert_false(has_link("a")); /* INIT */
    apply(TESTBED_SM_START, NULL, "sm", false);
    assert_true(sim_bed_active(&bed, "a", 0));
    assert_false(has_link("a")); /* the question is under way */
    sim_bed_run(&bed, 10 * BED_MS);
    assert_true(has_link("a"));
    apply(TESTBED_PORT_DOWN, "a", NULL, false);
    assert_false(has_link("a"));
    apply(TESTBED_PORT_UP, "a", NULL, false);
    assert_true(sim_bed_active(&bed, "a", 0));
    sim_bed_run(&bed, 10 * BED_MS);
    assert_true(has_link("a"));
}

static void a_manager_that_refuses_keeps_it_out_and_is_asked_again(void **state)
{
    (void)state;
    assert_true(create());
    apply(TESTBED_SM_START, NULL, "sm", false);
    apply(TESTBED_SM_REFUSE, NULL, "sm", true);
    assert_true(sim_bed_active(&bed, "a", 0));
    sim_bed_run(&bed, 40 * BED_SECOND);
    assert_false(has_link("a"));
    apply(TESTBED_SM_REFUSE, NULL, "sm", false);
    sim_bed_run(&bed, 17 * BED_SECOND); /* the longest pause between two questions */
    assert_true(has_link("a"));
    apply(TESTBED_SM_REFUSE, NULL, "sm", true); /* who is in stays in */
    sim_bed_run(&bed, 40 * BED_SECOND);
    assert_true(has_link("a"));
}

static void without_a_partition_there_is_no_group_to_join(void **state)
{
    struct testbed_fault key = {.word = TESTBED_PKEY_SET, .node = "a"};
    (void)state;
    assert_true(create());
    apply(TESTBED_SM_START, NULL, "sm", false);
    assert_true(sim_bed_active(&bed, "a", 0));
    sim_bed_run(&bed, 10 * BED_MS);
    assert_true(has_link("a"));
    assert_int_equal(sim_bed_apply(&bed, &key), TESTBED_DONE);
    sim_bed_run(&bed, 100 * BED_MS);
    assert_false(has_link("a"));
    key.value = 0xffff;
    assert_int_equal(sim_bed_apply(&bed, &key), TESTBED_DONE);
    sim_bed_run(&bed, 100 * BED_MS);
    assert_true(has_link("a"));
}

static void streams_follow_the_port_and_name_the_interface(void **state)
{
    const struct sim_fabric_hooks hooks = {0};
    char bound[FABRIC_ADDRESS_MAX], netdev[FABRIC_NAME_MAX];
    struct fabric_event event;
    fabric_listener listener;
    fabric_stream stream;
    size_t count;
    (void)state;
    assert_true(create());
    struct fabric *a = sim_fabric_create(host("a"), FABRIC_CAPS_ALL, &hooks);
    struct fabric *x = sim_fabric_create(host("x"), FABRIC_CAPS_ALL, &hooks);
    assert_int_equal(fabric_listen(a, "0.0.0.0:80", 0, &listener, bound), FABRIC_OK);
    for (int up = 0; up < 2; up++) {
        assert_int_equal(fabric_connect(x, "a:80", 0, &stream), FABRIC_OK);
        sim_bed_run(&bed, 10 * BED_SECOND);
        assert_int_equal(fabric_poll(x, &event, 1, 0, &count), FABRIC_OK);
        assert_int_equal(count, 1);
        assert_int_equal(event.type, up ? FABRIC_EVENT_CONNECTED : FABRIC_EVENT_CLOSED);
        if (up)
            break;
        assert_int_equal(event.u.stream.error, ERR_UNREACHABLE);
        (void)fabric_stream_close(x, stream, true);
        apply(TESTBED_SM_START, NULL, "sm", false);
        assert_true(sim_bed_active(&bed, "a", 0));
        sim_bed_run(&bed, 10 * BED_MS);
    }
    assert_int_equal(fabric_stream_local(x, stream, bound, netdev), FABRIC_OK);
    assert_string_equal(netdev, "eth0");
    assert_int_equal(fabric_poll(a, &event, 1, 0, &count), FABRIC_OK);
    assert_int_equal(event.type, FABRIC_EVENT_ACCEPTED);
    assert_int_equal(fabric_stream_local(a, event.u.stream.stream, bound, netdev), FABRIC_OK);
    assert_string_equal(netdev, "ib0");
    (void)fabric_destroy(a);
    (void)fabric_destroy(x);
}

static void the_files_show_mode_and_mtu_of_the_topology(void **state)
{
    static const struct {
        enum topology_ipoib mode;
        uint32_t mtu;
        enum fabric_mtu group;
        const char *shown_mode, *shown_mtu;
    } cases[] = {{TOPOLOGY_IPOIB_DATAGRAM, 0, 0, "datagram", "2044"},
                 {TOPOLOGY_IPOIB_DATAGRAM, 0, FABRIC_MTU_4096, "datagram", "4092"},
                 {TOPOLOGY_IPOIB_CONNECTED, 0, FABRIC_MTU_2048, "connected", "65520"},
                 {TOPOLOGY_IPOIB_CONNECTED, 9000, FABRIC_MTU_4096, "connected", "9000"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ports[0].ipoib = cases[i].mode;
        ports[0].netdev_mtu = cases[i].mtu;
        subnet.group_mtu = cases[i].group;
        assert_true(create());
        assert_string_equal(shown("a", "/sys/class/net/ib0/mode"), cases[i].shown_mode);
        assert_string_equal(shown("a", "/sys/class/net/ib0/mtu"), cases[i].shown_mtu);
        sim_testbed.destroy(bed.tb);
        bed.tb = NULL;
    }
    subnet.group_mtu = 0;
}

static void an_address_needs_an_interface_that_is_plugged_in(void **state)
{
    (void)state;
    nodes[0].control = "ib1";
    assert_false(create());
    assert_string_equal(bed.detail, "node 'a' has no interface 'ib1'");
    nodes[0].control = "ib0";
    ports[0].network = NULL;
    assert_false(create());
    assert_string_equal(bed.detail, "nothing is plugged in at interface 'ib0' of node 'a'");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_interface_has_a_carrier_once_it_joined_its_group),
        TEST(a_manager_that_refuses_keeps_it_out_and_is_asked_again),
        TEST(without_a_partition_there_is_no_group_to_join),
        TEST(streams_follow_the_port_and_name_the_interface),
        TEST(the_files_show_mode_and_mtu_of_the_topology),
        TEST(an_address_needs_an_interface_that_is_plugged_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
