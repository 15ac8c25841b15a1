/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worlds of sixteen nodes, an InfiniBand subnet and a RoCE network, in which programs move blocks
 * by RDMA while random faults of every word come and go. One line a seed on standard output:
 * the seed, the hash of the trace and how often the generator was asked. Nothing else may differ
 * between two runs; the addresses of this run stand on standard error, so that it can be seen that
 * they do.
 *
 * determinism [SEEDS [FIRST]]; with DETERMINISM_TRACE set the trace of FIRST is printed instead.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed.h"
#include "tests/support/mover.h"
#include "tests/support/seeded.h"

#define MS UINT64_C(1000000)
#define IB_NODES 10
#define NODES 16
#define FAULTS 24
#define PACE (20 * MS)

struct figures {
    uint64_t blocks, faults, corrupted;
};

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "determinism: %s\n", what);
    exit(1);
}

static const char *const names[NODES] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7",
                                         "n8", "n9", "r0", "r1", "r2", "r3", "r4", "r5"};

static struct testbed *make(uint64_t seed)
{
    static struct topology_port ports[NODES];
    static struct topology_device devices[NODES];
    static struct topology_node nodes[NODES];
    static struct topology_sm sms[] = {{.name = "first", .priority = 3},
                                       {.name = "second", .priority = 1, .start = 5 * MS}};
    static struct topology_subnet subnet = {
        .name = "ib", .prefix = UINT64_C(0xfe80) << 48, .first_lid = 1, .sms = sms, .sm_count = 2};
    static struct topology_ethernet lan = {"lan"};
    static struct topology_switch switches[] = {{"s1", "ib", 12, FABRIC_MTU_4096},
                                                {"s2", "ib", 12, FABRIC_MTU_4096}};
    static struct topology_link links[] = {{.a = "s1", .b = "s2"}, {.a = "s1", .b = "s2"}};
    static const struct topology topology = {.subnets = &subnet,
                                             .subnet_count = 1,
                                             .ethernets = &lan,
                                             .ethernet_count = 1,
                                             .switches = switches,
                                             .switch_count = 2,
                                             .links = links,
                                             .link_count = 2,
                                             .nodes = nodes,
                                             .node_count = NODES};
    char detail[TESTBED_DETAIL] = "";
    for (size_t i = 0; i < NODES; i++) {
        bool ib = i < IB_NODES;
        ports[i] = (struct topology_port){.port_num = 1,
                                          .network = ib ? "ib" : "lan",
                                          .attach = !ib     ? NULL
                                                    : i % 2 ? "s1"
                                                            : "s2",
                                          .mtu = FABRIC_MTU_4096};
        devices[i] = (struct topology_device){.name = "mlx5_0",
                                              .profile = i % 3 ? "mlx5" : "strict",
                                              .ports = &ports[i],
                                              .port_count = 1};
        nodes[i] =
            (struct topology_node){.name = names[i], .devices = &devices[i], .device_count = 1};
    }
    const struct testbed_options options = {.seed = seed, .caps = FABRIC_CAPS_ALL};
    struct testbed *tb = sim_testbed.create(&topology, &options, detail);
    check(tb != NULL, detail);
    return tb;
}

/* Every third node serves; the others move blocks to one of the same network. */
static void start(struct testbed *tb, uint64_t *plan)
{
    char config[128], detail[TESTBED_DETAIL];
    for (size_t i = 0; i < NODES; i++) {
        bool ib = i < IB_NODES;
        size_t server = ib ? 3 * seeded_next(plan, 4) : 12 + 3 * seeded_next(plan, 2);
        if (i % 3 == 0)
            snprintf(config, sizeof(config), "serve mlx5_0 1");
        else
            snprintf(config, sizeof(config), "move mlx5_0 1 %s:7000 %u %u", names[server],
                     (unsigned)(5 + seeded_next(plan, 60)),
                     (unsigned)(1 + seeded_next(plan, 20000)));
        check(sim_testbed.node_start(tb, names[i], &mover_program, config, detail) == TESTBED_DONE,
              detail);
    }
}

static bool apply(struct testbed *tb, uint64_t *plan)
{
    static const char *const operations[] = {"qp_create",    "mr_register", "qp_modify",
                                             "qp_post_send", "stream_send", "connect"};
    static const char *const statuses[] = {"RETRY_EXC_ERR", "REM_ACCESS_ERR", "WR_FLUSH_ERR"};
    static const uint64_t mtus[] = {1024, 2048, 4096};
    char detail[TESTBED_DETAIL];
    struct testbed_fault fault = {.word = (enum testbed_word)seeded_next(plan, TESTBED_WORD_COUNT),
                                  .node = names[seeded_next(plan, NODES)],
                                  .peer = names[seeded_next(plan, IB_NODES)],
                                  .sm = seeded_next(plan, 2) ? "first" : "second",
                                  .network = "ib",
                                  .on = seeded_next(plan, 2) != 0,
                                  .index = (uint32_t)seeded_next(plan, 8),
                                  .value = seeded_next(plan, 100000),
                                  .duration = seeded_next(plan, MS / 10),
                                  .jitter = seeded_next(plan, MS / 100),
                                  .error = ERR_RESOURCES_EXHAUSTED,
                                  .gid = {{0xfe, 0x80, [15] = (uint8_t)seeded_next(plan, 256)}},
                                  .gid_type = FABRIC_GID_TYPE_ROCE_V2};
    switch (fault.word) {
    case TESTBED_LID_SET:
        fault.value = 1 + seeded_next(plan, 100);
        break;
    case TESTBED_MTU_SET:
    case TESTBED_LINK_MTU:
        fault.value = mtus[seeded_next(plan, 3)];
        break;
    case TESTBED_LMC_SET:
        fault.value = seeded_next(plan, 3);
        break;
    case TESTBED_SL_MAP:
        fault.value = seeded_next(plan, 4);
        break;
    case TESTBED_VERB_FAILS:
        fault.text = operations[seeded_next(plan, 6)];
        fault.value = 1 + seeded_next(plan, 3);
        break;
    case TESTBED_COMPLETION_FAILS:
        fault.text = statuses[seeded_next(plan, 3)];
        fault.value = 1 + seeded_next(plan, 3);
        break;
    case TESTBED_PREFIX_SET:
        fault.value |= UINT64_C(0xfec0) << 48;
        break;
    default:
        break;
    }
    return sim_testbed.apply(tb, &fault, detail) == TESTBED_DONE;
}

static void run_until(struct testbed *tb, uint64_t deadline, struct figures *figures)
{
    struct testbed_event event;
    unsigned moved;
    for (;;) {
        sim_testbed.next(tb, deadline, &event);
        if (event.type == TESTBED_EVENT_DEADLINE || event.type == TESTBED_EVENT_IDLE)
            return;
        if (event.type == TESTBED_EVENT_REPORT && strstr(event.text, "corrupted"))
            figures->corrupted++;
        else if (event.type == TESTBED_EVENT_REPORT &&
                 sscanf(event.text, "{\"moved\":%u}", &moved) == 1)
            figures->blocks += moved;
    }
}

static void print_line(void *context, const char *line, size_t length)
{
    (void)context;
    if (getenv("DETERMINISM_TRACE"))
        printf("%.*s\n", (int)length, line);
}

static void run(uint64_t seed, struct figures *figures)
{
    struct testbed *tb = make(seed);
    uint64_t plan = seed * 2 + 1, time = 2 * MS;
    char detail[TESTBED_DETAIL];
    sim_testbed.trace(tb, print_line, NULL);
    run_until(tb, time, figures);
    start(tb, &plan);
    for (unsigned i = 0; i < FAULTS; i++) {
        time += seeded_next(&plan, PACE);
        run_until(tb, time, figures);
        figures->faults += apply(tb, &plan);
        if (seeded_next(&plan, 8) == 0)
            (void)sim_testbed.undo(tb, detail);
    }
    (void)sim_testbed.undo(tb, detail);
    run_until(tb, time + 200 * MS, figures);
    if (!getenv("DETERMINISM_TRACE"))
        printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", seed, sim_testbed.trace_hash(tb),
               sim_testbed.draws(tb));
    sim_testbed.destroy(tb);
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct figures figures = {0};
    void *heap = malloc(1);
    fprintf(stderr, "addresses %p %p\n", (void *)&figures, heap);
    free(heap);
    for (uint64_t seed = first; seed < first + seeds; seed++)
        run(seed, &figures);
    fprintf(stderr, "figures %" PRIu64 " faults, %" PRIu64 " blocks moved, %" PRIu64 " corrupted\n",
            figures.faults, figures.blocks, figures.corrupted);
    return figures.corrupted != 0;
}
