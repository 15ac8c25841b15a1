/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MemKV promises about the shape of its costs, in virtual time, so that every run says the
 * same: many keys take one round trip (MK-J5), a rail that came back brings its goodput back
 * (MK-A7), queue pairs of a server over DC do not grow with its clients (MK-A5).
 */
#include <stdio.h>
#include <string.h>

#include "fabric_sim/testbed.h"
#include "src/client/program.h"
#include "src/server/program.h"
#include "tests/support/reach.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define KEY "5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de"
#define MOST_CLIENTS 16

/* A batch may take a tenth longer than one key: its records are longer. */
#define ROUND_TRIP_SLACK 1.1

struct world {
    struct testbed *tb;
    unsigned id;     /* of the last command */
    unsigned queues; /* pairs that the server has made */
    char names[MOST_CLIENTS + 1][8], addresses[MOST_CLIENTS + 1][16]; /* the server's first */
    char what[TESTBED_DETAIL];
};

static void count_queues(void *context, const char *line, size_t length)
{
    struct world *w = context;
    char copy[96];
    snprintf(copy, sizeof copy, "%.*s", (int)(length < 95 ? length : 95), line);
    w->queues += strstr(copy, " server qp_create ") != NULL;
}

static void make(struct world *w, size_t clients, size_t devices)
{
    struct topology_port port = {.port_num = 1, .network = "ib", .mtu = FABRIC_MTU_4096};
    struct topology_device hcas[] = {
        {.name = "mlx5_0", .profile = "mlx5", .ports = &port, .port_count = 1},
        {.name = "mlx5_1", .profile = "mlx5", .ports = &port, .port_count = 1}};
    struct topology_node nodes[MOST_CLIENTS + 1];
    struct topology_subnet subnet = {
        .name = "ib", .prefix = UINT64_C(0xfe80) << 48, .first_lid = 1};
    const struct topology topology = {
        .subnets = &subnet, .subnet_count = 1, .nodes = nodes, .node_count = clients + 1};
    const struct testbed_options options = {.seed = 1, .caps = FABRIC_CAPS_ALL};
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i <= clients; i++) {
        snprintf(w->names[i], sizeof w->names[i], i ? "c%zu" : "server", i);
        snprintf(w->addresses[i], sizeof w->addresses[i], "10.0.0.%zu", i + 1);
        nodes[i] = (struct topology_node){.name = w->names[i],
                                          .address = w->addresses[i],
                                          .devices = hcas,
                                          .device_count = devices};
    }
    w->tb = sim_testbed.create(&topology, &options, w->what);
    reach_check(w->tb != NULL, w->what);
    sim_testbed.trace(w->tb, count_queues, w);
}

static void start(struct world *w, const char *node, const struct fabric_program *program,
                  const char *config)
{
    char text[512];
    bool server = program == &memkv_server_program;
    snprintf(text, sizeof text, "%s%s", config,
             server ? "network: {auth_key: " KEY "}\n"
                    : "servers: [\"10.0.0.1:9900\"]\nauth_key: " KEY "\n");
    reach_check(sim_testbed.node_start(w->tb, node, program, text, w->what) == TESTBED_DONE,
                w->what);
}

/* Goes on until `node` reports `text`; the world's time then. */
static uint64_t await(struct world *w, const char *node, const char *text)
{
    struct testbed_event event;
    uint64_t deadline = sim_testbed.now(w->tb) + 600 * SECOND;
    do {
        sim_testbed.next(w->tb, deadline, &event);
        reach_check(event.type <= TESTBED_EVENT_LOG, text);
    } while (event.type != TESTBED_EVENT_REPORT || strcmp(event.node, node) != 0 ||
             !strstr(event.text, text));
    return event.time;
}

static void wait_for(struct world *w, uint64_t duration)
{
    struct testbed_event event;
    uint64_t deadline = sim_testbed.now(w->tb) + duration;
    do
        sim_testbed.next(w->tb, deadline, &event);
    while (event.type <= TESTBED_EVENT_LOG);
}

/* One command, given without its id and braces; ns until its answer, which must be a success. */
static uint64_t operate(struct world *w, const char *node, const char *command)
{
    char json[192], answer[48];
    snprintf(json, sizeof json, "{\"id\":%u,%s}", ++w->id, command);
    snprintf(answer, sizeof answer, "\"id\":%u,", w->id);
    uint64_t from = sim_testbed.now(w->tb);
    reach_check(sim_testbed.tell(w->tb, node, json, w->what) == TESTBED_DONE, w->what);
    struct testbed_event event;
    do {
        sim_testbed.next(w->tb, from + 600 * SECOND, &event);
        reach_check(event.type <= TESTBED_EVENT_LOG, "no answer");
    } while (event.type != TESTBED_EVENT_REPORT || !strstr(event.text, answer));
    reach_check(strstr(event.text, "\"ok\":true") != NULL, event.text);
    return event.time - from;
}

static void apply(struct world *w, struct testbed_fault fault)
{
    reach_check(sim_testbed.apply(w->tb, &fault, w->what) == TESTBED_DONE, w->what);
}

static void batches(void)
{
    struct world w;
    make(&w, 1, 1);
    start(&w, "server", &memkv_server_program, "");
    start(&w, "c1", &memkv_client_program, "transport: tcp\nnum_connections: 1\n");
    wait_for(&w, SECOND);
    apply(&w, (struct testbed_fault){.word = TESTBED_TCP_SLOW,
                                     .node = "c1",
                                     .value = UINT64_C(10000000000),
                                     .duration = 10 * MS});
    operate(&w, "c1", "\"op\":\"put_many\",\"key\":\"k\",\"count\":120,\"size\":32,\"seed\":1");
    uint64_t one = operate(&w, "c1", "\"op\":\"get\",\"key\":\"k#7\",\"size\":32,\"seed\":8");
    uint64_t many =
        operate(&w, "c1", "\"op\":\"get_many\",\"key\":\"k\",\"count\":120,\"size\":32,\"seed\":1");
    uint64_t exist = operate(&w, "c1", "\"op\":\"exists_many\",\"key\":\"k\",\"count\":120");
    reach(REACH_AT_MOST, "a get of 120 keys at once over a stream of 20 ms",
          (double)many / (double)one, ROUND_TRIP_SLACK, "gets of one key");
    reach(REACH_AT_MOST, "120 keys asked for at once over a stream of 20 ms",
          (double)exist / (double)one, ROUND_TRIP_SLACK, "gets of one key");
    sim_testbed.destroy(w.tb);
}

/* ns for 32 MiB, 2 MiB a value. */
static uint64_t put_some(struct world *w)
{
    return operate(w, "c1",
                   "\"op\":\"put_many\",\"key\":\"k\",\"count\":16,\"size\":2097152,\"seed\":1");
}

static void rails(void)
{
    struct world w;
    const struct testbed_fault port = {.node = "c1", .device = "mlx5_0"};
    make(&w, 1, 2);
    start(&w, "server", &memkv_server_program, "rdma: {devices: [mlx5_0, mlx5_1]}\n");
    start(&w, "c1", &memkv_client_program, "transport: rdma\nrdma_devices: [mlx5_0, mlx5_1]\n");
    wait_for(&w, 2 * SECOND);
    put_some(&w);
    uint64_t before = put_some(&w);
    struct testbed_fault fault = port;
    fault.word = TESTBED_PORT_DOWN;
    apply(&w, fault);
    await(&w, "c1", "\"reason\":\"port_down\"");
    uint64_t between = put_some(&w);
    reach_check(between > before, "one rail is no slower than two");
    fault.word = TESTBED_PORT_UP;
    apply(&w, fault);
    wait_for(&w, 60 * SECOND); /* the peer tries again after a pause */
    uint64_t after = put_some(&w);
    reach(REACH_AT_LEAST, "goodput of two rails after one was gone and came back",
          (double)before / (double)after, 1, "of that before");
    sim_testbed.destroy(w.tb);
}

/* The server's queue pairs when each of so many clients has moved a block. */
static unsigned queue_pairs(size_t clients)
{
    struct world w;
    make(&w, clients, 1);
    start(&w, "server", &memkv_server_program, "rdma: {transport: dc, num_dcis: 4}\n");
    for (size_t i = 1; i <= clients; i++)
        start(&w, w.names[i], &memkv_client_program, "transport: rdma\n");
    wait_for(&w, 2 * SECOND);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 1; i <= clients; i++)
            operate(&w, w.names[i], "\"op\":\"put\",\"key\":\"k\",\"size\":65536,\"seed\":1");
    }
    sim_testbed.destroy(w.tb);
    return w.queues;
}

int main(void)
{
    batches();
    rails();
    reach(REACH_AT_MOST, "a server over DC: with 16 clients as many as with 4",
          queue_pairs(MOST_CLIENTS), queue_pairs(4), "queue pairs");
    return 0;
}
