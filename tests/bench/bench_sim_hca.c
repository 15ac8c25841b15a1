/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the packet engine is: two devices on one switch, RC, RDMA WRITEs of 2 MiB at MTU 4096,
 * payload by reference, trace off. Prints data packets per second, with the payload copied and
 * without, as measured / limit.
 */
#include <stdio.h>

#include "tests/support/hca_world.h"
#include "tests/support/reach.h"

#define MESSAGE (2u << 20)
#define WINDOW 4
#define MESSAGES 600
#define RUNS 5    /* the best counts: other programs share the machine */
#define LIMIT 3e6 /* data packets per second, payload not copied */

static double run(bool copy, uint64_t *events)
{
    struct hca_world_init init = {.seed = 7, .discard_payload = !copy};
    struct hca_world *w = hca_world_create(&init);
    struct hca_qp_attr a = hca_world_attr(w, 0, 1), b = hca_world_attr(w, 1, 0);
    hca_qp qp[2];
    a.path_mtu = b.path_mtu = FABRIC_MTU_4096;
    hca_world_connect(w, &a, &b, qp);
    uint64_t before = sim_events_run(w->sim);
    double begin = reach_cpu_seconds();
    uint32_t posted = 0;
    for (uint32_t done = 0; done < MESSAGES; done++) {
        while (posted < MESSAGES && posted - done < WINDOW)
            hca_world_send(w, 0, qp[0], HCA_WR_RDMA_WRITE, (posted++ & 1) * MESSAGE, MESSAGE, 0);
        while (w->host[0].wc_count == 0 && sim_step(w->sim))
            continue;
        if (w->host[0].wcs[0].status != FABRIC_WC_SUCCESS)
            return 0;
        w->host[0].wc_count = 0;
    }
    double took = reach_cpu_seconds() - begin;
    *events = sim_events_run(w->sim) - before;
    hca_world_destroy(w);
    return took;
}

static double best(bool copy, uint64_t *events)
{
    double least = 0;
    for (int i = 0; i < RUNS; i++) {
        double took = run(copy, events);
        least = i == 0 || took < least ? took : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    (void)argv;
    const double packets = (double)MESSAGES * (MESSAGE / 4096);
    uint64_t events;
    double without = best(false, &events);
    if (argc > 1) /* for a profile of the engine alone */
        return 0;
    reach(REACH_AT_LEAST, "RC data packets, payload by reference", packets / without / 1e6,
          LIMIT / 1e6, "million/s");
    printf("%.2f events a packet\n", (double)events / packets);
    double with = best(true, &events);
    printf("the same with each payload copied once: %.2f million/s\n", packets / with / 1e6);
    return 0;
}
