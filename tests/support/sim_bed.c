/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/sim_bed.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP BED_MS

static struct topology_port ib_port = {.port_num = 1, .network = "ib", .mtu = FABRIC_MTU_4096};
static struct topology_port lan_port = {.port_num = 1, .network = "lan", .mtu = FABRIC_MTU_4096};
static struct topology_device ib_device = {
    .name = "mlx5_0", .profile = "mlx5", .ports = &ib_port, .port_count = 1};
static struct topology_device lan_device = {
    .name = "mlx5_0", .profile = "mlx5", .ports = &lan_port, .port_count = 1};
static struct topology_node nodes[] = {{"a", "10.0.0.1", &ib_device, 1, 0, NULL},
                                       {"b", "10.0.0.2", &ib_device, 1, 0, NULL},
                                       {"c", NULL, &ib_device, 1, 0, NULL},
                                       {"x", NULL, &lan_device, 1, 0, NULL},
                                       {"y", NULL, &lan_device, 1, 0, NULL}};
static struct topology_sm sms[] = {{"sm", 3, 0, 0}, {"spare", 1, FABRIC_FOREVER, 0}};
static struct topology_subnet subnet = {
    .name = "ib", .prefix = UINT64_C(0xfe80) << 48, .first_lid = 1, .sms = sms, .sm_count = 2};
static struct topology_ethernet lan = {"lan"};
static const struct topology topology = {.subnets = &subnet,
                                         .subnet_count = 1,
                                         .ethernets = &lan,
                                         .ethernet_count = 1,
                                         .nodes = nodes,
                                         .node_count = 5};

void sim_bed_open(struct sim_bed *bed, uint64_t seed, fabric_caps caps)
{
    const struct testbed_options options = {.seed = seed, .caps = caps};
    memset(bed, 0, sizeof(*bed));
    bed->tb = sim_testbed.create(&topology, &options, bed->detail);
    assert(bed->tb);
}

void sim_bed_close(struct sim_bed *bed)
{
    sim_testbed.destroy(bed->tb);
    free(bed->said);
}

static void hear(struct sim_bed *bed, const struct testbed_event *event)
{
    char line[4096];
    bool exited = event->type == TESTBED_EVENT_EXITED;
    int length = snprintf(line, sizeof(line), "%s %s%s\n", event->node, exited ? "exited " : "",
                          exited ? error_name(event->error) : event->text);
    assert(length > 0 && (size_t)length < sizeof(line));
    bed->said = realloc(bed->said, bed->said_length + (size_t)length + 1);
    assert(bed->said);
    memcpy(bed->said + bed->said_length, line, (size_t)length + 1);
    bed->said_length += (size_t)length;
}

void sim_bed_run(struct sim_bed *bed, uint64_t ns)
{
    uint64_t end = sim_testbed.now(bed->tb) + ns;
    struct testbed_event event;
    for (;;) {
        sim_testbed.next(bed->tb, end, &event);
        if (event.type == TESTBED_EVENT_DEADLINE || event.type == TESTBED_EVENT_IDLE)
            return;
        hear(bed, &event);
    }
}

unsigned sim_bed_count(const struct sim_bed *bed, const char *text)
{
    unsigned count = 0;
    const char *at = bed->said;
    while (at && (at = strstr(at, text)) != NULL) {
        count++;
        at++;
    }
    return count;
}

bool sim_bed_until(struct sim_bed *bed, const char *text)
{
    uint64_t end = sim_testbed.now(bed->tb) + 10 * BED_SECOND;
    while (!sim_bed_count(bed, text)) {
        if (sim_testbed.now(bed->tb) >= end)
            return false;
        sim_bed_run(bed, STEP);
    }
    return true;
}

bool sim_bed_active(struct sim_bed *bed, const char *node, unsigned lid)
{
    uint64_t end = sim_testbed.now(bed->tb) + 60 * BED_SECOND;
    for (;;) {
        unsigned now = (unsigned)strtoul(sim_bed_ask(bed, node, "mlx5_0/1 lid"), NULL, 10);
        bool active = strcmp(sim_bed_ask(bed, node, "mlx5_0/1 state"), "ACTIVE") == 0;
        if (active && (!lid || now == lid))
            return true;
        if (sim_testbed.now(bed->tb) >= end)
            return false;
        sim_bed_run(bed, STEP);
    }
}

void sim_bed_forget(struct sim_bed *bed)
{
    free(bed->said);
    bed->said = NULL;
    bed->said_length = 0;
}

const char *sim_bed_ask(struct sim_bed *bed, const char *node, const char *query)
{
    return sim_testbed.ask(bed->tb, node, query, bed->detail) == TESTBED_DONE ? bed->detail
                                                                              : "nothing";
}

enum testbed_result sim_bed_start(struct sim_bed *bed, const char *node,
                                  const struct fabric_program *program, const char *config)
{
    return sim_testbed.node_start(bed->tb, node, program, config, bed->detail);
}

void sim_bed_undo(struct sim_bed *bed)
{
    enum testbed_result result = sim_testbed.undo(bed->tb, bed->detail);
    assert(result == TESTBED_DONE);
}

enum testbed_result sim_bed_apply(struct sim_bed *bed, const struct testbed_fault *fault)
{
    return sim_testbed.apply(bed->tb, fault, bed->detail);
}
