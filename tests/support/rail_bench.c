/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/rail_bench.h"

#include <assert.h>
#include <string.h>

struct rail *rail_bench_open(struct rail_bench *b)
{
    memset(b, 0, sizeof *b);
    b->w = small_world_new(1);
    b->port = small_port(b->w, 0);
    config_rdma_defaults(&b->config);
    uint32_t count = rail_open_all(small_fabric(b->w, 0), RAIL_SERVER, &b->config, b->rails);
    assert(count == 1);
    return &b->rails[0];
}

void rail_bench_close(struct rail_bench *b)
{
    rail_close(&b->rails[0]);
    small_world_free(b->w);
}
