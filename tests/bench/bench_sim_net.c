/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the simulated world is, without anybody in it: the event heap, and packets from one host
 * through a switch to another that drops them. Prints measured / to reach. */
#include <stdio.h>
#include <stdlib.h>

#include "fabric_sim/world/fat_tree.h"
#include "fabric_sim/world/net.h"
#include "tests/support/reach.h"

#define HEAP_EVENTS 10000000u
#define PACKETS 5000000u
#define HEAP_TO_REACH 8.0    /* million events a second */
#define PACKETS_TO_REACH 3.0 /* million packets a second */

/* ------------------------------------------------------------------ heap */

/* Each event schedules its successor: as many stay pending as there were in the beginning. */
static void hold(void *object, uint64_t arg)
{
    struct sim *sim = object;
    uint64_t next = arg * 6364136223846793005u + 1442695040888963407u;
    sim_in(sim, 1 + (next >> 44), hold, sim, next);
}

static void bench_heap(unsigned pending)
{
    char what[64];
    struct sim *sim = sim_create(1);
    for (unsigned i = 0; i < pending; i++)
        sim_in(sim, i, hold, sim, i * 2654435761u);
    double begin = reach_cpu_seconds();
    for (unsigned i = 0; i < HEAP_EVENTS; i++)
        sim_step(sim);
    double took = reach_cpu_seconds() - begin;
    snprintf(what, sizeof(what), "heap events, %u pending", pending);
    reach(REACH_AT_LEAST, what, HEAP_EVENTS / took / 1e6, HEAP_TO_REACH, "million/s");
    sim_destroy(sim);
}

/* ------------------------------------------------------------------ packets */

struct flow {
    struct net *net;
    struct net_port *from, *to;
    struct payload *payload;
    uint64_t sent, received;
};

static void sink(void *context, struct net_port *port, struct packet *packet)
{
    struct flow *flow = context;
    (void)port;
    flow->received++;
    net_free(flow->net, packet);
}

/* Fills the lane until it is refused. */
static void source(void *context, struct net_port *port, uint8_t vl)
{
    struct flow *flow = context;
    bool accepted = true;
    while (accepted && flow->sent < PACKETS) {
        struct packet *packet = net_alloc(flow->net);
        packet->slid = 1;
        packet->dlid = 2;
        packet->vl = vl;
        packet->opcode = BTH_RC | BTH_WRITE_MIDDLE;
        packet->psn = (uint32_t)flow->sent & 0xffffff;
        packet->payload = payload_ref(flow->payload);
        packet->payload_length = 4096;
        packet->wire_bytes = 4096 + 26;
        accepted = net_send(port, packet);
        if (accepted)
            flow->sent++;
        else
            net_free(flow->net, packet);
    }
}

static struct net_port *activate(struct net_port *port, uint16_t lid)
{
    struct port_info before = *net_port_info(port);
    net_port_info(port)->lid = lid;
    net_port_info(port)->state = FABRIC_PORT_ACTIVE;
    net_port_changed(port, &before);
    return port;
}

static struct flow flow_up(struct sim *sim)
{
    static const uint8_t bytes[4096];
    struct net *net = net_create(sim);
    struct net_node *a = net_add_node(net, NET_HCA, "a", 0x10, 1);
    struct net_node *b = net_add_node(net, NET_HCA, "b", 0x20, 1);
    struct net_node *sw = net_add_node(net, NET_SWITCH, "sw", 0x30, 2);
    net_connect(net_node_port(a, 1), net_node_port(sw, 1), NULL);
    net_connect(net_node_port(b, 1), net_node_port(sw, 2), NULL);
    net_lft_set(sw, 1, 1);
    net_lft_set(sw, 2, 2);
    activate(net_node_port(sw, 1), 0);
    activate(net_node_port(sw, 2), 0);
    return (struct flow){
        .net = net,
        .from = activate(net_node_port(a, 1), 1),
        .to = activate(net_node_port(b, 1), 2),
        .payload = payload_new(net, bytes, sizeof(bytes)),
    };
}

static void bench_packets(void)
{
    struct sim *sim = sim_create(1);
    struct flow flow = flow_up(sim);
    struct net_owner sender = {.context = &flow, .can_send = source};
    struct net_owner receiver = {.context = &flow, .receive = sink};
    net_node_set_owner(net_port_node(flow.from), &sender);
    net_node_set_owner(net_port_node(flow.to), &receiver);
    double begin = reach_cpu_seconds();
    source(&flow, flow.from, 0);
    while (sim_step(sim))
        ;
    double took = reach_cpu_seconds() - begin;
    if (flow.received != PACKETS) {
        printf("only %llu packets arrived\n", (unsigned long long)flow.received);
        exit(1);
    }
    reach(REACH_AT_LEAST, "packets through one switch, nobody at the ends", PACKETS / took / 1e6,
          PACKETS_TO_REACH, "million/s");
    printf("  %.2f events a packet, %.1f Gbit/s of virtual bandwidth\n",
           (double)sim_events_run(sim) / PACKETS,
           (double)PACKETS * 4096 * 8 / (double)sim_now(sim));
    payload_unref(flow.net, flow.payload);
    net_destroy(flow.net);
    sim_destroy(sim);
}

static void bench_fat_tree(void)
{
    struct sim *sim = sim_create(1);
    struct net *net = net_create(sim);
    struct fat_tree_config config = {.hosts = 4096};
    struct net_stats stats;
    double begin = reach_cpu_seconds();
    struct fat_tree tree = fat_tree_build(net, &config);
    double took = reach_cpu_seconds() - begin;
    net_stats(net, &stats);
    printf("fat tree of %zu hosts, %zu switches: built in %.3f s, %.1f KiB a node\n", tree.hosts,
           tree.leaves + tree.spines + tree.tops, took,
           (double)stats.bytes_of_memory / 1024 / (double)net_node_count(net));
    net_destroy(net);
    sim_destroy(sim);
}

int main(void)
{
    bench_heap(1000);
    bench_heap(65536);
    bench_packets();
    bench_fat_tree();
    return 0;
}
