/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "fabric_sim/testbed.h"
#include "src/client/program.h"
#include "src/server/program.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define SECOND 1000000000ull
#define PUT "\"op\":\"put\",\"key\":\"k\",\"size\":300000,\"seed\":3"
#define GET "\"op\":\"get\",\"key\":\"k\",\"size\":300000,\"seed\":3"

static const char server_config[] = "network: {address: \"0.0.0.0:9900\", auth_key: " KEY "}\n"
                                    "memory: {block_size: 64 KiB, max_size: 4 MiB}\n";

/* Two nodes of one subnet on the simulator: switch, subnet manager and all. */
static struct testbed *make(uint64_t seed, uint64_t sm_start)
{
    static struct topology_sm sm = {.name = "sm", .priority = 1};
    static struct topology_subnet subnet = {
        .name = "ib", .prefix = 0xfe80000000000000u, .first_lid = 1, .sms = &sm, .sm_count = 1};
    static struct topology_port ports[2];
    static struct topology_device devices[2];
    static struct topology_node nodes[2];
    sm.start = sm_start;
    for (unsigned i = 0; i < 2; i++) {
        ports[i] = (struct topology_port){.port_num = 1,
                                          .network = "ib",
                                          .mtu = FABRIC_MTU_4096,
                                          .rate_mbps = 100000,
                                          .latency = 100,
                                          .netdev = "ib0"};
        devices[i] = (struct topology_device){
            .name = "mlx5_0", .profile = "mlx5", .ports = &ports[i], .port_count = 1};
        nodes[i] = (struct topology_node){.name = i ? "client" : "server",
                                          .address = i ? "10.0.0.2" : "10.0.0.1",
                                          .devices = &devices[i],
                                          .device_count = 1};
    }
    const struct topology topology = {
        .subnets = &subnet, .subnet_count = 1, .nodes = nodes, .node_count = 2};
    char detail[TESTBED_DETAIL] = "";
    const struct testbed_options options = {.seed = seed, .caps = FABRIC_CAPS_ALL};
    struct testbed *tb = sim_testbed.create(&topology, &options, detail);
    if (!tb)
        fail_msg("%s", detail);
    return tb;
}

static void start(struct testbed *tb, const char *transport)
{
    char detail[TESTBED_DETAIL], config[512];
    snprintf(config, sizeof config, "servers: [\"10.0.0.1:9900\"]\nauth_key: %s\ntransport: %s\n",
             KEY, transport);
    assert_int_equal(
        sim_testbed.node_start(tb, "server", &memkv_server_program, server_config, detail),
        TESTBED_DONE);
    assert_int_equal(sim_testbed.node_start(tb, "client", &memkv_client_program, config, detail),
                     TESTBED_DONE);
}

/* Goes on until `node` reports a line with `text`; the line is in `out` (512 bytes). */
static void until(struct testbed *tb, const char *node, const char *text, char *out)
{
    uint64_t deadline = sim_testbed.now(tb) + 60 * SECOND;
    for (;;) {
        struct testbed_event e;
        sim_testbed.next(tb, deadline, &e);
        if (e.type == TESTBED_EVENT_DEADLINE || e.type == TESTBED_EVENT_IDLE)
            fail_msg("%s never reported %s", node, text);
        if (e.type != TESTBED_EVENT_REPORT || strcmp(e.node, node) || !strstr(e.text, text))
            continue;
        snprintf(out, 512, "%s", e.text);
        return;
    }
}

static void ask(struct testbed *tb, unsigned id, const char *command, const char *expected)
{
    char line[512], text[256], detail[TESTBED_DETAIL];
    snprintf(text, sizeof text, "{\"id\":%u,%s}", id, command);
    assert_int_equal(sim_testbed.tell(tb, "client", text, detail), TESTBED_DONE);
    snprintf(text, sizeof text, "\"id\":%u", id);
    until(tb, "client", text, line);
    if (!strstr(line, expected))
        fail_msg("expected %s in %s", expected, line);
}

static void blocks_cross_the_simulated_fabric(void **state)
{
    (void)state;
    static const char *const transports[] = {"rdma", "tcp"};
    static const char *const classes[] = {"\"class\":\"rdma\"", "\"class\":\"tcp_by_choice\""};
    for (unsigned i = 0; i < 2; i++) {
        struct testbed *tb = make(1, 0);
        char line[512];
        start(tb, transports[i]);
        if (i == 0)
            until(tb, "client", "\"event\":\"link\"", line);
        ask(tb, 1, PUT, classes[i]);
        ask(tb, 2, GET, "\"equal\":true");
        sim_testbed.destroy(tb);
    }
}

static void a_late_subnet_manager_needs_no_restart(void **state)
{
    (void)state;
    struct testbed *tb = make(2, 3 * SECOND);
    char line[512];
    start(tb, "rdma");
    ask(tb, 1, PUT, "\"class\":\"refused:no_lid\"");
    assert_true(sim_testbed.now(tb) < SECOND / 100);
    until(tb, "client", "\"state\":\"up\"", line);
    ask(tb, 2, PUT, "\"class\":\"rdma\"");
    ask(tb, 3, GET, "\"equal\":true");
    sim_testbed.destroy(tb);
}

static void a_new_lid_of_either_end_is_used(void **state)
{
    (void)state;
    static const char *const nodes[] = {"server", "client"};
    struct testbed *tb = make(3, 0);
    char line[512], detail[TESTBED_DETAIL];
    start(tb, "rdma");
    until(tb, "client", "\"state\":\"up\"", line);
    ask(tb, 1, PUT, "\"class\":\"rdma\"");
    for (unsigned i = 0; i < 2; i++) {
        const struct testbed_fault fault = {
            .word = TESTBED_LID_SET, .node = nodes[i], .value = 0x40 + i};
        assert_int_equal(sim_testbed.apply(tb, &fault, detail), TESTBED_DONE);
        until(tb, "client", "\"state\":\"up\"", line);
        ask(tb, 2 + i, GET, "\"equal\":true");
    }
    sim_testbed.destroy(tb);
}

static void drop(void *context, const char *line, size_t length)
{
    (void)context;
    (void)line;
    (void)length;
}

static uint64_t trace_of(uint64_t seed)
{
    struct testbed *tb = make(seed, 0);
    sim_testbed.trace(tb, drop, NULL); /* only what is traced is hashed */
    start(tb, "auto");
    ask(tb, 1, PUT, "\"ok\":true");
    ask(tb, 2, GET, "\"equal\":true");
    uint64_t hash = sim_testbed.trace_hash(tb);
    sim_testbed.destroy(tb);
    return hash;
}

static void the_same_seed_gives_the_same_trace(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++)
        assert_true(trace_of(seed) == trace_of(seed));
    assert_true(trace_of(1) != trace_of(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_cross_the_simulated_fabric),
        cmocka_unit_test(a_late_subnet_manager_needs_no_restart),
        cmocka_unit_test(a_new_lid_of_either_end_is_used),
        cmocka_unit_test(the_same_seed_gives_the_same_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
