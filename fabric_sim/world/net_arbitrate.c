/* SPDX-License-Identifier: Apache-2.0 */
/* VL arbitration (vol. 1, chapter 7.6.9): VL15, then two tables of weights, high before low. */
#include "fabric_sim/world/net_state.h"

#include <assert.h>

#include "src/fabric/planted.h"

enum { LOW, HIGH };

#define BURST_UNIT (4096 / NET_BLOCK)
#define BURST_UNLIMITED 255

/* Round robin packet by packet, beginning after the lane that sent last. */
static uint8_t arbitrate_alike(struct net_port *port, uint16_t ready)
{
    uint8_t vl = port->next_vl;
    assert(ready & ((1u << NET_VL15) - 1)); /* else the search would not end */
    while (!(ready & 1u << vl))
        vl = (uint8_t)((vl + 1) % NET_VL15);
    return vl;
}

/* The entry whose turn it is: the present one while its weight lasts, else the next that has a
 * ready lane. Negative when the table has none. */
static int table_pick(struct net_arbiter *arbiter, int which, uint16_t ready)
{
    const struct net_vl_weight *entries = which == HIGH ? arbiter->table.high : arbiter->table.low;
    int count = which == HIGH ? arbiter->table.high_count : arbiter->table.low_count;
    int at = arbiter->at[which];
    if (at < count && arbiter->left[which] > 0 && ready & 1u << entries[at].vl)
        return entries[at].vl;
    for (int i = 1; i <= count; i++) {
        int next = (at + i) % count;
        if (entries[next].weight == 0 || !(ready & 1u << entries[next].vl))
            continue;
        arbiter->at[which] = (uint8_t)next;
        arbiter->left[which] = entries[next].weight;
        if (PLANTED(world_arb_weights))
            arbiter->left[which] = 1;
        return entries[next].vl;
    }
    return -1;
}

static uint16_t table_lanes(const struct net_vl_weight *entries, uint8_t count)
{
    unsigned lanes = 0;
    for (uint8_t i = 0; i < count; i++)
        if (entries[i].weight > 0)
            lanes |= 1u << entries[i].vl;
    return (uint16_t)lanes;
}

static void burst_refill(struct net_arbiter *arbiter)
{
    int32_t limit = arbiter->table.high_limit;
    arbiter->burst = limit == 0 ? 1 : limit * BURST_UNIT;
}

/* A lane in neither table still sends, after the others: the tables set shares and are no filter.
 */
static uint8_t arbitrate_tables(struct net_port *port, uint16_t ready)
{
    struct net_arbiter *arbiter = port->arbiter;
    const struct net_vl_arb *table = &arbiter->table;
    bool low_waits = ready & table_lanes(table->low, table->low_count);
    bool high_may = !low_waits || arbiter->burst > 0 || table->high_limit == BURST_UNLIMITED;
    int vl = -1;
    if (high_may && !PLANTED(world_arb_high))
        vl = table_pick(arbiter, HIGH, ready);
    if (vl < 0) {
        burst_refill(arbiter);
        vl = table_pick(arbiter, LOW, ready);
    }
    if (vl < 0)
        vl = table_pick(arbiter, HIGH, ready);
    return vl < 0 ? arbitrate_alike(port, ready) : (uint8_t)vl;
}

uint8_t net_arbitrate(struct net_port *port, uint16_t ready)
{
    assert(ready);
    if (ready & 1u << NET_VL15 && !PLANTED(world_vl15_waits))
        return NET_VL15;
    if ((ready & (ready - 1)) == 0 && !port->arbiter)
        return (uint8_t)__builtin_ctz(ready);
    if (PLANTED(world_vl15_waits) && ready == 1u << NET_VL15)
        return NET_VL15;
    return port->arbiter ? arbitrate_tables(port, ready) : arbitrate_alike(port, ready);
}

/* Charges what was sent to the entry that has the turn. */
void net_arbitrate_sent(struct net_port *port, uint8_t vl, uint32_t blocks)
{
    port->next_vl = (uint8_t)((vl + 1) % NET_VL15);
    struct net_arbiter *arbiter = port->arbiter;
    assert(vl < PORT_VLS && blocks > 0);
    if (!arbiter || vl == NET_VL15)
        return;
    const struct net_vl_arb *table = &arbiter->table;
    if (arbiter->at[HIGH] < table->high_count && table->high[arbiter->at[HIGH]].vl == vl) {
        arbiter->left[HIGH] -= (int32_t)blocks;
        if (arbiter->burst > 0)
            arbiter->burst -= (int32_t)blocks;
    } else if (arbiter->at[LOW] < table->low_count && table->low[arbiter->at[LOW]].vl == vl) {
        arbiter->left[LOW] -= (int32_t)blocks;
    }
}

void net_vl_arb_get(const struct net_port *port, struct net_vl_arb *out)
{
    if (port->arbiter) {
        *out = port->arbiter->table;
        return;
    }
    *out = (struct net_vl_arb){.low_count = NET_VL15};
    for (uint8_t vl = 0; vl < NET_VL15; vl++)
        out->low[vl] = (struct net_vl_weight){vl, 1};
}

void net_vl_arb_set(struct net_port *port, const struct net_vl_arb *arb)
{
    assert(arb->high_count <= NET_ARB_ENTRIES && arb->low_count <= NET_ARB_ENTRIES);
    if (!port->arbiter)
        port->arbiter = net_memory(port->node->net, sizeof(*port->arbiter));
    *port->arbiter = (struct net_arbiter){.table = *arb};
    port->arbiter->at[HIGH] = arb->high_count ? (uint8_t)(arb->high_count - 1) : 0;
    port->arbiter->at[LOW] = arb->low_count ? (uint8_t)(arb->low_count - 1) : 0;
    for (uint8_t i = 0; i < NET_ARB_ENTRIES; i++)
        assert(arb->high[i].vl <= NET_VL15 && arb->low[i].vl <= NET_VL15);
    burst_refill(port->arbiter);
}
