/* SPDX-License-Identifier: Apache-2.0 */
/* HA-7.1: how fast a subnet manager brings a fat tree up, and what a world costs in memory. Prints
 * measured / to reach. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/subnet.h"

#define HOSTS 4096
#define RADIX 36
#define TO_REACH 1.0      /* seconds */
#define LINEAR_WITHIN 1.2 /* memory per port, a big world to one of an eighth of its hosts */

struct figures {
    double seconds;
    size_t bytes_per_port, bytes_per_host;
};

/* Of this core: a busy machine must not change the figure. */
static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct figures bring_up(size_t hosts)
{
    struct subnet s;
    struct sm_stats stats;
    struct net_stats net;
    struct figures figures;
    double start = seconds();

    subnet_open_tree(&s, hosts, RADIX, NULL);
    subnet_bring_up(&s);
    figures.seconds = seconds() - start;
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

    printf("%-36s %7.2f s / %.1f s = %.2f\n", "4,096 hosts built and brought up", big.seconds,
           TO_REACH, big.seconds / TO_REACH);
    printf("%-36s %7zu B, of %d hosts %zu B: %.2f / %.1f\n", "memory per port", big.bytes_per_port,
           HOSTS / 8, small.bytes_per_port, growth, LINEAR_WITHIN);
    printf("%-36s %7zu B\n", "memory per host with its switches", big.bytes_per_host);
    return big.seconds <= TO_REACH && growth <= LINEAR_WITHIN ? EXIT_SUCCESS : EXIT_FAILURE;
}
