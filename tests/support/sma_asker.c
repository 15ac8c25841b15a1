/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/sma_asker.h"

#include <string.h>

const uint8_t to_switch[1] = {1}, to_host[2] = {1, 3};

#define PATIENCE UINT64_C(1000000) /* ns */

static void hear(void *context, const struct mad *mad, uint16_t slid)
{
    struct asker *a = context;

    a->last = *mad;
    a->slid = slid;
    a->received++;
}

void open_asker(struct asker *a)
{
    memset(a, 0, sizeof *a);
    subnet_open(&a->s);
    fat_tree_build(a->s.net, &(struct fat_tree_config){.hosts = 4, .radix = 4});
    a->s.sma = sma_create(a->s.net);
    sma_set_manager(a->s.sma, subnet_port(&a->s, "h0", 1), hear, a);
}

uint16_t ask(struct asker *a, uint8_t hops, uint8_t method, uint16_t attribute, uint32_t modifier,
             const uint8_t *data)
{
    struct mad *mad = mad_new();
    unsigned before = a->received;
    uint64_t end = sim_now(a->s.sim) + PATIENCE;

    mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, method, 1, attribute, modifier);
    mad_set_route(mad, hops == 1 ? to_switch : to_host, hops);
    if (data)
        memcpy(mad_data(mad), data, MAD_SMP_DATA);
    sma_send(a->s.sma, subnet_port(&a->s, "h0", 1), mad, LID_PERMISSIVE);
    while (a->received == before && sim_next_time(a->s.sim) < end)
        sim_step(a->s.sim);
    return a->received == before ? 0xFFFF : mad_status(&a->last);
}
