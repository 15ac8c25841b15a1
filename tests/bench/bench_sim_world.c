/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short worlds a second (HA-7.1): two nodes and their subnet manager are made, brought up, connect,
 * do eight RDMA operations of 16 KiB and are destroyed again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabric_sim/testbed.h"
#include "tests/support/mover.h"
#include "tests/support/reach.h"
#include "tests/support/two_nodes.h"

#define WORLDS_TO_REACH 1000
#define SECOND UINT64_C(1000000000)
#define MEASURE 3.0 /* seconds of each figure */

/* Eight operations: four blocks, each written and read back. */
static uint64_t run(uint64_t seed)
{
    struct testbed_event event;
    char detail[TESTBED_DETAIL];
    struct testbed *tb = two_nodes_make("server", "client", seed, detail);
    reach_check(tb != NULL, detail);
    bool started =
        sim_testbed.node_start(tb, "server", &mover_program, "serve mlx5_0 1", detail) ==
            TESTBED_DONE &&
        sim_testbed.node_start(tb, "client", &mover_program, "move mlx5_0 1 10.0.0.1:7000 4 16384",
                               detail) == TESTBED_DONE;
    reach_check(started, detail);
    sim_testbed.next(tb, 10 * SECOND, &event);
    reach_check(event.type == TESTBED_EVENT_REPORT, "the blocks were not moved");
    sim_testbed.destroy(tb);
    return event.time;
}

int main(void)
{
    uint64_t worlds = 0, virtual_time = 0;
    double begin = reach_cpu_seconds(), now = begin;
    for (; now - begin < MEASURE; now = reach_cpu_seconds()) {
        virtual_time += run(worlds + 1);
        worlds++;
    }
    double rate = (double)worlds / (now - begin);
    reach(REACH_AT_LEAST, "worlds of two nodes with eight operations of 16 KiB", rate,
          WORLDS_TO_REACH, "a second");
    printf("%.2f ms of virtual time each\n", (double)virtual_time / (double)worlds / 1e6);
    return 0;
}
