/* SPDX-License-Identifier: Apache-2.0 */
/* HA-7.1: how fast a subnet manager brings a fat tree up, and what a world costs in memory. Prints
 * measured / to reach. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/reach.h"
#include "tests/support/subnet.h"

#define HOSTS 4096
#define RADIX 36
#define TO_REACH 1.0      /* seconds */
#define LINEAR_WITHIN 1.2 /* memory per port, a big world to one of an eighth of its hosts */

struct figures {
    double seconds;
    size_t bytes_per_port, bytes_per_host;
};

static struct figures bring_up(size_t hosts)
{
    struct subnet s;
    struct sm_stats stats;
    struct net_stats net;
    struct figures figures;
    double start = reach_cpu_seconds();

    subnet_open_tree(&s, hosts, RADIX, NULL);
    subnet_bring_up(&s);
    figures.seconds = reach_cpu_seconds() - start;
    sm_stats(s.sm[0], &stats);
    net_stats(s.net, &net);
    figures.bytes_per_port = (stats.bytes_of_memory + net.bytes_of_memory) / stats.ports;
    figures.bytes_per_host = (stats.bytes_of_memory + net.bytes_of_memory) / hosts;
    printf("%zu hosts, %zu switches: %llu datagrams, %llu events, %llu ms of virtual time\n", hosts,
           stats.switches, (unsigned long long)stats.datagrams_sent,
           (unsigned long long)sim_events_run(s.sim),
           (unsigned long long)(sim_now(s.sim) / 1000000));
    subnet_close(&s);
    return figures;
}

int main(void)
{
    struct figures small = bring_up(HOSTS / 8), big = bring_up(HOSTS);
    double growth = (double)big.bytes_per_port / (double)small.bytes_per_port;

    reach(REACH_AT_MOST, "4,096 hosts built and brought up", big.seconds, TO_REACH, "s");
    reach(REACH_AT_MOST, "memory per port, 4,096 hosts to 512", growth, LINEAR_WITHIN, "times");
    printf("memory: %zu bytes a port, %zu bytes a host with its switches\n", big.bytes_per_port,
           big.bytes_per_host);
    return EXIT_SUCCESS;
}
