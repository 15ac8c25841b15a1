/* SPDX-License-Identifier: Apache-2.0 */
/* Fault words as commands for machines, and the inventory that allows them (HA-4.4, HA-4.5). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/scenario/actuator.h"
#include "src/scenario/words.h"

#define TOP                                                                                        \
    "exclusive: true\nallowed: all\nagent: [ssh, '{node}', memkv-scenario, agent]\n"               \
    "nodes:\n"                                                                                     \
    "  a: {address: 192.0.2.1, devices: {rxe0: {netdev: eth0, far_end: veth0}}}\n"                 \
    "  b: {address: 192.0.2.2, devices: {mlx5_0: {switch_guid: '0x99', switch_port: 3}}}\n"
#define IP TOP "actuators: [ip]\n"

static struct inventory *inventory;

static void read_inventory(const char *text)
{
    struct yaml_errors errors;
    yaml_errors_init(&errors, "lab.yaml");
    inventory = inventory_read("lab.yaml", text, strlen(text), &errors);
    if (!inventory)
        fail_msg("%s", errors.items[0].text);
}

static int teardown(void **state)
{
    (void)state;
    inventory_free(inventory);
    inventory = NULL;
    return 0;
}

static struct actuator_cable cable;

/* Commands as lines: "do WORDS;...|undo WORDS;...". */
static const char *done(const struct testbed_fault *fault, size_t node)
{
    static char said[1024];
    char detail[TESTBED_DETAIL] = "";
    struct actuation actuation;
    const struct inventory_node *at = &inventory->nodes[node];
    struct actuator_target target = {
        .node = at, .peer = &inventory->nodes[1 - node], .device = at->devices, .cable = &cable};
    said[0] = '\0';
    if (actuate(inventory, &target, fault, &actuation, detail) != TESTBED_DONE) {
        strcpy(said, detail);
        return said;
    }
    for (int part = 0; part < 2; part++) {
        const json_t *list = part ? actuation.undo : actuation.commands;
        strcat(said, part ? "|" : "");
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *words = json_array_get(list, i);
            for (size_t j = 0; j < json_array_size(words); j++) {
                strcat(said, json_string_value(json_array_get(words, j)));
                strcat(said, j + 1 < json_array_size(words) ? " " : ";");
            }
        }
    }
    actuation_free(&actuation);
    return said;
}

static void a_port_and_a_cable_go_down_and_come_back(void **state)
{
    (void)state;
    read_inventory(IP);
    struct testbed_fault fault = {.word = TESTBED_PORT_DOWN};
    assert_string_equal(done(&fault, 0), "ip link set eth0 down;|ip link set eth0 up;");
    fault.word = TESTBED_PORT_UP;
    assert_string_equal(done(&fault, 0), "ip link set eth0 up;|");
    fault.word = TESTBED_CABLE_PULL;
    assert_string_equal(done(&fault, 0), "ip link set veth0 down;|ip link set veth0 up;");
    fault.word = TESTBED_CABLE_PLUG;
    assert_string_equal(done(&fault, 0), "ip link set veth0 up;|");
    assert_string_equal(done(&fault, 1), "no actuator for cable_plug");
}

static void an_mtu_is_put_back_to_what_it_was(void **state)
{
    (void)state;
    read_inventory(IP);
    struct testbed_fault fault = {.word = TESTBED_MTU_SET, .value = 1024};
    assert_string_equal(done(&fault, 0), "ip link set eth0 mtu 1280;|ip link set eth0 mtu "
                                         "{read:/sys/class/net/eth0/mtu};");
}

#define NO_NETEM "|-tc qdisc del dev eth0 root;-tc qdisc del dev veth0 root;"

static void what_a_cable_does_adds_up(void **state)
{
    (void)state;
    read_inventory(IP);
    cable = (struct actuator_cable){0};
    struct testbed_fault fault = {.word = TESTBED_LOSS, .value = 12345};
    assert_string_equal(
        done(&fault, 0),
        "tc qdisc replace dev eth0 root netem limit 100000 loss 1.2345%;"
        "tc qdisc replace dev veth0 root netem limit 100000 loss 1.2345%;" NO_NETEM);
    fault = (struct testbed_fault){.word = TESTBED_DELAY, .duration = 2000000, .jitter = 5000};
    assert_string_equal(
        done(&fault, 0),
        "tc qdisc replace dev eth0 root netem limit 100000 delay 2000us 5us loss 1.2345%;"
        "tc qdisc replace dev veth0 root netem limit 100000 delay 2000us 5us loss "
        "1.2345%;" NO_NETEM);
    fault = (struct testbed_fault){.word = TESTBED_CUT, .on = true};
    assert_non_null(strstr(done(&fault, 0),
                           "dev eth0 root netem limit 100000 delay 2000us 5us loss "
                           "100.0000%;"));
    assert_non_null(strstr(done(&fault, 0), "dev veth0 root netem limit 100000 delay 2000us 5us "
                                            "loss 1.2345%;"));
    fault = (struct testbed_fault){.word = TESTBED_CUT};
    (void)done(&fault, 0);
    fault = (struct testbed_fault){.word = TESTBED_DELAY};
    (void)done(&fault, 0);
    fault = (struct testbed_fault){.word = TESTBED_LOSS};
    assert_string_equal(done(&fault, 0),
                        "-tc qdisc del dev eth0 root;-tc qdisc del dev veth0 root;" NO_NETEM);
    fault = (struct testbed_fault){.word = TESTBED_REORDER, .value = 500000};
    assert_non_null(strstr(done(&fault, 0), "delay 1000us reorder 50.0000%"));
}

static void a_simulated_fabric_is_told_the_word_with_all_that_it_says(void **state)
{
    static const char *const begin[] = {"simfabric", "ctl", "--name", "x", NULL};
    (void)state;
    read_inventory(IP);
    inventory->simfabric = begin;
    struct testbed_fault fault = {.word = TESTBED_PKEY_LIMITED,
                                  .node = "a",
                                  .device = "mlx5_0",
                                  .port = 2,
                                  .value = 0x123,
                                  .on = true};
    assert_string_equal(done(&fault, 0), "simfabric ctl --name x pkey_limited node='a' "
                                         "device='mlx5_0' port=2 pkey=291 on=true;|");
    fault = (struct testbed_fault){.word = TESTBED_GID_ADD, .node = "a", .index = 3};
    fault.gid_type = FABRIC_GID_TYPE_ROCE_V2;
    assert_true(gid_parse("fd00::1", &fault.gid));
    assert_string_equal(done(&fault, 0),
                        "simfabric ctl --name x gid_add node='a' index=3 "
                        "gid='fd00:0000:0000:0000:0000:0000:0000:0001' type=roce_v2;|");
    fault = (struct testbed_fault){.word = TESTBED_DELAY, .node = "a", .duration = 2000};
    assert_string_equal(done(&fault, 0),
                        "simfabric ctl --name x delay node='a' duration=2000 ns jitter=0 ns;|");
    fault.word = TESTBED_TCP_CUT; /* streams are those of the machine */
    assert_string_equal(done(&fault, 0), "ss -K src 192.0.2.1 dst 192.0.2.2;|");
    fault.word = TESTBED_DISK_FULL; /* and so are disks */
    assert_string_equal(done(&fault, 0), "no actuator for disk_full");
    assert_true(actuator_caps(inventory) & FABRIC_CAP_SM);
    assert_false(actuator_caps(inventory) & FABRIC_CAP_DISK_FAULT);
}

static void a_gid_is_an_address(void **state)
{
    (void)state;
    read_inventory(IP);
    struct testbed_fault fault = {.word = TESTBED_GID_ADD};
    assert_true(gid_parse("::ffff:10.1.0.9", &fault.gid));
    assert_string_equal(done(&fault, 0), "ip address replace 10.1.0.9/24 dev eth0;"
                                         "|-ip address del 10.1.0.9/24 dev eth0;");
    fault.word = TESTBED_GID_REMOVE;
    assert_string_equal(done(&fault, 0), "ip address del 10.1.0.9/24 dev eth0;"
                                         "|-ip address replace 10.1.0.9/24 dev eth0;");
    assert_true(gid_parse("fd00::1", &fault.gid));
    fault.word = TESTBED_GID_ADD;
    assert_non_null(strstr(done(&fault, 0), "0001/64 dev eth0 nodad;"));
}

static void streams_are_blocked_both_ways_but_not_the_operators(void **state)
{
    (void)state;
    read_inventory(IP);
    struct testbed_fault fault = {.word = TESTBED_TCP_BLOCK, .on = true};
    const char *said = done(&fault, 0);
    assert_non_null(strstr(said,
                           "memkv_a_b in ip saddr 192.0.2.1 ip daddr 192.0.2.2 tcp sport != 22 "
                           "tcp dport != 22 drop;"));
    assert_non_null(strstr(said, "ip saddr 192.0.2.2 ip daddr 192.0.2.1 "));
    assert_non_null(strstr(said, "|-nft delete table inet memkv_a_b;"));
    fault.on = false;
    assert_string_equal(done(&fault, 0), "-nft delete table inet memkv_a_b;|");
    fault.word = TESTBED_TCP_CUT;
    assert_string_equal(done(&fault, 0), "ss -K src 192.0.2.1 dst 192.0.2.2;|");
}

static void a_switch_port_is_disabled_by_its_guid(void **state)
{
    (void)state;
    read_inventory(TOP "actuators: [ibportstate]\n");
    struct testbed_fault fault = {.word = TESTBED_PORT_DOWN};
    assert_string_equal(done(&fault, 1),
                        "ibportstate -G 0x99 3 disable;|ibportstate -G 0x99 3 enable;");
    assert_string_equal(done(&fault, 0), "no actuator for port_down");
    assert_true(actuator_caps(inventory) == FABRIC_CAP_PORT_STATE);
}

static void ones_own_command_goes_first_and_is_filled_in(void **state)
{
    (void)state;
    read_inventory(IP "commands:\n"
                      "  pkey_remove: {on: runner, do: [[osm, '{node}/{device}', '{value}']],"
                      " undo: [[osm, back, '{read:/x}', 'a{b']]}\n"
                      "  port_down: {do: [[pdu, '{netdev}{Nothing}']], undo: []}\n");
    struct testbed_fault fault = {.word = TESTBED_PKEY_REMOVE, .value = 291};
    assert_string_equal(done(&fault, 0), "osm a/rxe0 291;|osm back {read:/x} a{b;");
    fault.word = TESTBED_PORT_DOWN;
    assert_string_equal(done(&fault, 0), "pdu eth0{Nothing};|");
    assert_true(actuator_caps(inventory) & FABRIC_CAP_PKEY);
    assert_false(actuator_caps(inventory) & FABRIC_CAP_SM);
}

static void only_allowed_words_are_carried_out(void **state)
{
    (void)state;
    read_inventory("exclusive: true\nallowed: [loss]\nactuators: [ip]\nagent: [x]\nnodes:\n"
                   "  a: {address: 192.0.2.1, devices: {rxe0: {netdev: eth0}}}\n"
                   "  b: {address: 192.0.2.2}\n");
    struct testbed_fault fault = {.word = TESTBED_PORT_DOWN};
    assert_string_equal(done(&fault, 0), "the inventory does not allow port_down");
    assert_true(actuator_caps(inventory) == FABRIC_CAP_LOSS);
}

static void refused(const char *text, const char *what)
{
    struct yaml_errors errors;
    yaml_errors_init(&errors, "lab.yaml");
    assert_null(inventory_read("lab.yaml", text, strlen(text), &errors));
    assert_true(errors.count > 0);
    if (!strstr(errors.items[0].text, what))
        fail_msg("'%s' does not say '%s'", errors.items[0].text, what);
}

static void mistakes_in_an_inventory_have_a_place(void **state)
{
    (void)state;
    refused("exclusive: true\n", "nodes");
    refused("nodes: {a: {address: 192.0.2.1}}\n",
            "lab.yaml:1:12: node a: no words start its agent");
    refused(TOP "actuators: [ipp]\n", "actuators");
    refused(TOP "commands: {port_don: {do: [[x]], undo: []}}\n", "did you mean port_down");
    refused(TOP "commands: {port_down: {do: [[x]]}}\n", "undo");
    refused(TOP "state: here\n", "begins with /");
    refused("allowed: some\nagent: [x]\nnodes: {a: {address: 192.0.2.1}}\n", "allowed: a list");
    refused(TOP "known: {managers: [x]}\n", "hosts");
    refused(TOP "exclusiv: true\n", "exclusive");
}

#define NODE(name, address, device)                                                                \
    "nodes: {" name ": {address: " address ", devices: {" device "}}}\n"

/* They go into commands as root, into a shell's line and into paths. */
static void a_name_cannot_be_more_than_a_name(void **state)
{
    static const char top[] = "exclusive: true\nagent: [x]\n";
    static const char *const bad[][2] = {
        {NODE("'../a'", "192.0.2.1", "d: {}"), "3:9: the name of a node"},
        {NODE("'a b'", "192.0.2.1", "d: {}"), "the name of a node"},
        {NODE("a", "'192.0.2.1 or true'", "d: {}"), "address"},
        {NODE("a", "192.0.2.1", "'d;reboot': {}"), "the name of a device"},
        {NODE("a", "192.0.2.1", "'-d': {}"), "the name of a device"},
        {NODE("a", "192.0.2.1", "d: {netdev: 'e root'}"), "netdev"},
        {NODE("a", "192.0.2.1", "d: {far_end: '$(x)'}"), "far_end"},
        {NODE("a", "192.0.2.1", "d: {switch_guid: '0x1 9'}"), "switch_guid"}};
    char text[512];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text, "%s%s", top, bad[i][0]);
        refused(text, bad[i][1]);
    }
    snprintf(text, sizeof text, "%s%s", top,
             NODE("rack-1.a_2", "'fe80::1%eth0'", "d: {netdev: br-lan.7}"));
    read_inventory(text);
}

static void a_place_is_known_and_other_braces_are_left_alone(void **state)
{
    const struct testbed_fault fault = {.word = TESTBED_PORT_DOWN, .value = 7};
    (void)state;
    refused(TOP "commands: {port_down: {do: [[ip, link, '{netdv}']], undo: []}}\n",
            "no place {netdv}, did you mean netdev");
    refused("agent: [ssh, '{nod}']\nnodes: {a: {address: 192.0.2.1}}\n",
            "1:14: no place {nod}, did you mean node");
    read_inventory(
        TOP "commands: {port_down: {do: [[sh, '${x} {print $1} {HOME} {value}']], undo: []}}\n");
    assert_string_equal(done(&fault, 0), "sh ${x} {print $1} {HOME} 7;|");
    inventory_free(inventory);
    inventory = NULL;
    for (size_t i = 0; actuator_places[i]; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%scommands: {port_down: {do: [['<{%s}>']], undo: []}}\n", TOP,
                 actuator_places[i]);
        read_inventory(text);
        assert_null(strchr(done(&fault, 0), '{'));
        inventory_free(inventory);
        inventory = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_port_and_a_cable_go_down_and_come_back, teardown),
        cmocka_unit_test_teardown(an_mtu_is_put_back_to_what_it_was, teardown),
        cmocka_unit_test_teardown(what_a_cable_does_adds_up, teardown),
        cmocka_unit_test_teardown(a_simulated_fabric_is_told_the_word_with_all_that_it_says,
                                  teardown),
        cmocka_unit_test_teardown(a_gid_is_an_address, teardown),
        cmocka_unit_test_teardown(streams_are_blocked_both_ways_but_not_the_operators, teardown),
        cmocka_unit_test_teardown(a_switch_port_is_disabled_by_its_guid, teardown),
        cmocka_unit_test_teardown(ones_own_command_goes_first_and_is_filled_in, teardown),
        cmocka_unit_test_teardown(only_allowed_words_are_carried_out, teardown),
        cmocka_unit_test_teardown(a_place_is_known_and_other_braces_are_left_alone, teardown),
        cmocka_unit_test_teardown(a_name_cannot_be_more_than_a_name, teardown),
        cmocka_unit_test(mistakes_in_an_inventory_have_a_place),
    };
    return cmocka_run_group_tests_name("actuator", tests, NULL, NULL);
}
