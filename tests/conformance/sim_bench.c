/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench on the simulator: hosts on one switch, a subnet manager beside them. The environment
 * variable CONFORMANCE_PROFILE chooses the kind of device (mlx5 unless set).
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/fabric.h"
#include "fabric_sim/world/sm.h"
#include "tests/conformance/bench.h"

#define SECOND UINT64_C(1000000000)
#define SEED 42

struct bench {
    struct sim_world *world;
    struct sim *sim;
    struct sm *sm; /* null on Ethernet */
    struct net_node *sw;
    size_t node_count;
    struct sim_host *hosts[BENCH_NODES];
    struct sim_device *devices[BENCH_NODES];
    struct fabric *fabrics[BENCH_NODES]; /* with the layers over them */
    struct fabric *bare[BENCH_NODES];
    char addresses[BENCH_NODES][FABRIC_NAME_MAX];
    fabric_caps caps;
};

static struct net_port *port_of(struct bench *bench, size_t node)
{
    return net_node_port(sim_device_node(bench->devices[node]), 1);
}

/* What an interface of this host shows: a link-local and an IPv4-mapped GID after a hole. */
static void configure_ethernet(struct net_port *port, size_t node)
{
    struct port_info *info = net_port_info(port), before = *info;
    info->gids[0] = (struct port_gid){.gid = {{0xfe, 0x80, [15] = (uint8_t)(node + 1)}},
                                      .type = FABRIC_GID_TYPE_ROCE_V2,
                                      .netdev = "eth0"};
    info->gids[3] =
        (struct port_gid){.gid = {{[10] = 0xff, 0xff, 192, 168, 0, (uint8_t)(node + 1)}},
                          .type = FABRIC_GID_TYPE_ROCE_V2,
                          .netdev = "eth0"};
    info->pkeys[0] = 0xffff;
    net_port_changed(port, &before);
}

static void start_fabric(struct bench *bench, size_t node)
{
    const struct sim_fabric_hooks hooks = {0};
    bench->bare[node] = sim_fabric_create(bench->hosts[node], bench->caps, &hooks);
    bench->fabrics[node] = bench->bare[node];
}

static void add_node(struct bench *bench, size_t node, const char *profile)
{
    char name[24];
    snprintf(name, sizeof(name), "n%zu", node);
    const struct sim_host_init host = {.name = name};
    const struct sysfs_port port = {.netdev = "eth0", .netdev_mtu = 4200};
    const struct sim_device_init device = {.name = "mlx5_0",
                                           .profile = profile,
                                           .node_guid = 0x0002c90300000010 + node * 16,
                                           .ports = &port,
                                           .port_count = 1};
    bench->hosts[node] = sim_host_add(bench->world, &host);
    bench->devices[node] = sim_device_add(bench->hosts[node], &device);
    assert(bench->devices[node]);
    struct net_port *end = port_of(bench, node);
    net_connect(end, net_node_port(bench->sw, (uint8_t)(node + 1)), NULL);
    if (!bench->sm && net_node_kind(bench->sw) == NET_ETHERNET_SWITCH)
        configure_ethernet(end, node);
    uint32_t ip = stream_host_address(sim_host_streams(bench->hosts[node]));
    snprintf(bench->addresses[node], FABRIC_NAME_MAX, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255,
             ip >> 8 & 255, ip & 255);
}

/* A node of its own for the manager, and time until it has brought everything up. */
static bool bring_up(struct bench *bench, struct net_node *manager)
{
    const struct sm_config config = {.sweep_interval = SECOND / 10};
    struct net_port *port = net_node_port(manager, 1);
    net_connect(port, net_node_port(bench->sw, BENCH_NODES + 1), NULL);
    bench->sm = sm_create(sim_world_sma(bench->world), port, &config);
    sm_start(bench->sm);
    for (size_t i = 0; i < 100 && !sm_subnet_up(bench->sm); i++)
        sim_run_until(bench->sim, sim_now(bench->sim) + SECOND / 10);
    return sm_subnet_up(bench->sm);
}

static void destroy(struct bench *bench)
{
    for (size_t i = 0; i < bench->node_count; i++) {
        if (bench->fabrics[i])
            fabric_destroy(bench->fabrics[i]);
    }
    if (bench->sm)
        sm_destroy(bench->sm);
    sim_world_destroy(bench->world);
    free(bench);
}

static struct bench *create(const struct bench_setup *setup, char *reason)
{
    const char *profile = getenv("CONFORMANCE_PROFILE");
    profile = profile ? profile : "mlx5";
    const struct hca_profile *kind = hca_profile_find(profile);
    assert(kind && setup->nodes >= 1 && setup->nodes <= BENCH_NODES);
    bool ethernet = setup->link_layer == FABRIC_LINK_LAYER_ETHERNET ||
                    kind->link_layer == FABRIC_LINK_LAYER_ETHERNET;
    struct bench *bench = calloc(1, sizeof(*bench));
    assert(bench);
    bench->caps = setup->caps;
    if (ethernet)
        bench->caps &= ~(FABRIC_CAP_LID | FABRIC_CAP_SM | FABRIC_CAP_GRH_REQUIRED);
    bench->world = sim_world_create(SEED, bench->caps);
    bench->sim = sim_world_sim(bench->world);
    bench->node_count = setup->nodes;
    bench->sw =
        net_add_node(sim_world_net(bench->world), ethernet ? NET_ETHERNET_SWITCH : NET_SWITCH, "sw",
                     0x100, BENCH_NODES + 1);
    struct net_node *manager =
        ethernet ? NULL : net_add_node(sim_world_net(bench->world), NET_HCA, "manager", 0x200, 1);
    for (size_t i = 0; i < setup->nodes; i++)
        add_node(bench, i, profile);
    if (manager && !bring_up(bench, manager)) {
        snprintf(reason, BENCH_REASON, "the subnet manager did not bring the subnet up");
        destroy(bench);
        return NULL;
    }
    for (size_t i = 0; i < setup->nodes; i++)
        start_fabric(bench, i);
    return bench;
}

static struct fabric *fabric(struct bench *bench, size_t node)
{
    assert(node < bench->node_count);
    return bench->fabrics[node];
}

static void adopt(struct bench *bench, size_t node, struct fabric *f)
{
    assert(node < bench->node_count);
    bench->fabrics[node] = f;
}

static const char *device(struct bench *bench, size_t node)
{
    return sim_device_name(bench->devices[node]);
}

static const char *address(struct bench *bench, size_t node)
{
    return bench->addresses[node];
}

static const char *folder(struct bench *bench, size_t node)
{
    assert(node < bench->node_count);
    return ""; /* the top one */
}

static fabric_caps caps(struct bench *bench)
{
    struct fabric_guarantees guarantees;
    enum fabric_error error = fabric_guarantees(bench->fabrics[0], &guarantees);
    assert(!error);
    return guarantees.caps & bench->caps;
}

static void on_answered(void *context, const struct fabric_http_answer *given)
{
    struct bench_answer *answer = context;
    answer->done = true;
    answer->status = given ? given->status : 0;
    answer->length = given ? given->length : 0;
    if (given && given->type)
        snprintf(answer->type, sizeof(answer->type), "%s", given->type);
    if (answer->length)
        memcpy(answer->body, given->body,
               answer->length < BENCH_BODY ? answer->length : BENCH_BODY);
}

static bool ask(struct bench *bench, size_t node, const char *address, const char *method,
                const char *path, struct bench_answer *answer)
{
    const struct sim_http_client client = {answer, on_answered};
    *answer = (struct bench_answer){0};
    return sim_fabric_http_ask(bench->bare[node], address, method, path, &client);
}

static bool has_events(const struct bench *bench)
{
    for (size_t i = 0; i < bench->node_count; i++) {
        if (bench->fabrics[i] && sim_fabric_has_events(bench->bare[i]))
            return true;
    }
    return false;
}

static bool advance(struct bench *bench, uint64_t deadline)
{
    while (sim_next_time(bench->sim) <= deadline) {
        sim_step(bench->sim);
        if (has_events(bench))
            return true;
    }
    bool more = sim_next_time(bench->sim) != UINT64_MAX;
    if (deadline > sim_now(bench->sim))
        sim_run_until(bench->sim, deadline);
    return more;
}

static void cut_power(struct bench *bench, size_t node)
{
    fabric_destroy(bench->fabrics[node]);
    disk_power_cut(sim_host_disk(bench->hosts[node]));
    start_fabric(bench, node);
}

static void set_mtu(struct bench *bench, size_t node)
{
    struct port_info *info = net_port_info(port_of(bench, node)), before = *info;
    info->active_mtu = FABRIC_MTU_1024;
    net_port_changed(port_of(bench, node), &before);
}

static void demand_grh(struct bench *bench, size_t node)
{
    struct port_info *info = net_port_info(port_of(bench, node)), before = *info;
    info->grh_required = 1;
    net_port_changed(port_of(bench, node), &before);
}

static bool inject(struct bench *bench, size_t node, enum bench_word word)
{
    struct net_port *port = port_of(bench, node);
    if (word == BENCH_KILL) {
        fabric_destroy(bench->fabrics[node]);
        bench->fabrics[node] = NULL;
    } else if (word == BENCH_PORT_DOWN || word == BENCH_PORT_UP) {
        net_link_set_up(port, word == BENCH_PORT_UP);
    } else if (word == BENCH_DEVICE_REMOVE) {
        sim_device_remove(bench->devices[node]);
    } else if (word == BENCH_DEVICE_RETURN) {
        sim_device_return(bench->devices[node]);
    } else if (word == BENCH_POWER_CUT) {
        cut_power(bench, node);
    } else if (word == BENCH_DISK_ERROR) {
        disk_set_error(sim_host_disk(bench->hosts[node]), true);
    } else if (word == BENCH_LOSE_ALL) {
        net_link_set_cut(port, true);
    } else if (word == BENCH_GRH_REQUIRED) {
        demand_grh(bench, node);
    } else if (word == BENCH_OTHER_PKEY) {
        return bench->sm && sm_pkey_set(bench->sm, sma_port_guid(port), 0x8005, 0);
    } else if (word == BENCH_MTU_1024) {
        set_mtu(bench, node);
    } else {
        assert(word == BENCH_LID_CHANGE && bench->sm);
        return sm_lid_set(bench->sm, sma_port_guid(port), (uint16_t)(0x300 + node));
    }
    return true;
}

const struct bench_backend bench_backend = {
    .name = "sim",
    .create = create,
    .destroy = destroy,
    .fabric = fabric,
    .adopt = adopt,
    .device = device,
    .address = address,
    .folder = folder,
    .caps = caps,
    .ask = ask,
    .advance = advance,
    .inject = inject,
};
