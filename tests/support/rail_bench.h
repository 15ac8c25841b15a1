/* SPDX-License-Identifier: Apache-2.0 */
/* One rail of a server on the only port of a small world, with the settings of `config`. */
#ifndef TESTS_SUPPORT_RAIL_BENCH_H
#define TESTS_SUPPORT_RAIL_BENCH_H

#include "src/rail/rail.h"
#include "tests/support/small_world.h"

struct rail_bench {
    struct small_world *w;
    struct small_port *port;
    struct config_rdma config; /* defaults; the rail keeps pointing at it */
    struct rail rails[RAIL_MAX];
};

/* Opened, not yet judged: port and settings may be changed before. */
struct rail *rail_bench_open(struct rail_bench *b);
void rail_bench_close(struct rail_bench *b);

#endif
