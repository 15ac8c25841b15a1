/* SPDX-License-Identifier: Apache-2.0 */
/* Traps, chapters 13.4.9 and 14.3.1: sent to the master and repeated until it represses them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/bytes.h"
#include "fabric_sim/world/sma_state.h"
#include "src/fabric/planted.h"

#define DEFAULT_SUBNET_TIMEOUT 18

static void transmit(void *object, uint64_t unused);

/* SubnetTimeOut: 4.096 us * 2^n, the least time between two traps of a port. */
static uint64_t repeat_after(const struct net_port *port)
{
    uint8_t exponent = net_port_info(sma_lid_port(port))->subnet_timeout;

    return UINT64_C(4096) << (exponent ? exponent : DEFAULT_SUBNET_TIMEOUT);
}

static void transmit(void *object, uint64_t unused)
{
    struct sma_trap *trap = object;
    struct sma *sma = trap->sma;
    const struct port_info *info = net_port_info(sma_lid_port(trap->port));
    struct mad *mad;

    assert(trap->port && trap->tid != 0);
    (void)unused;
    trap->timer = sim_in(sma->sim, repeat_after(trap->port), transmit, trap, 0);
    if (PLANTED(sm_trap_once))
        sim_cancel(sma->sim, trap->timer);
    if (info->sm_lid == 0 || info->lid == 0)
        return;
    mad = mad_new();
    mad_begin(mad, MAD_CLASS_SUBN_LID, MAD_TRAP, trap->tid, MAD_NOTICE, 0);
    trap->notice.issuer_lid = info->lid;
    mad_notice_encode(mad_data(mad), &trap->notice);
    trap->notice.count = (uint16_t)((trap->notice.count + 1) & 0x7FFF);
    sma->stats.traps_sent++;
    SIM_TRACE(sma->sim, net_node_name(net_port_node(trap->port)), "trap %u",
              (unsigned)trap->notice.trap_number);
    sma_send(sma, trap->port, mad, info->sm_lid);
}

static struct sma_trap *find_pending(struct sma *sma, const struct net_port *port, uint16_t number)
{
    struct sma_trap *trap = sma->traps;

    while (trap && (trap->port != port || trap->notice.trap_number != number))
        trap = trap->next;
    return trap;
}

void sma_trap_raise(struct sma *sma, struct net_port *port, const struct mad_notice *notice)
{
    struct sma_trap **at = &sma->traps, *trap;
    struct net_port *source = sma_lid_port(port);
    enum net_node_kind kind = net_node_kind(net_port_node(port));

    assert(source && notice->trap_number != 0);
    if (net_port_info(source)->sm_lid == 0) /* no manager has been here yet: nobody to tell */
        return;
    trap = find_pending(sma, source, notice->trap_number);
    if (trap) {
        trap->again = true;
        return;
    }
    trap = malloc(sizeof *trap);
    if (!trap)
        abort();
    *trap =
        (struct sma_trap){.sma = sma, .port = source, .notice = *notice, .tid = sma->next_tid++};
    trap->notice.producer_type = kind == NET_SWITCH ? MAD_NODE_SWITCH : MAD_NODE_CA;
    while (*at)
        at = &(*at)->next;
    *at = trap;
    transmit(trap, 0);
}

void sma_trap_repress(struct sma *sma, struct net_port *port, const struct mad *mad)
{
    struct sma_trap **at = &sma->traps, *trap;
    struct mad_notice again;

    assert(mad_method(mad) == MAD_TRAP_REPRESS);
    while (*at && ((*at)->tid != mad_tid(mad) || (*at)->port != sma_lid_port(port)))
        at = &(*at)->next;
    trap = *at;
    if (!trap)
        return;
    *at = trap->next;
    sim_cancel(sma->sim, trap->timer);
    sma->stats.traps_repressed++;
    again = trap->notice;
    again.toggle = !again.toggle;
    again.count = 0;
    if (trap->again)
        sma_trap_raise(sma, port, &again);
    free(trap);
}

/* Drops the traps of `node`; null: of every node. */
static void drop_traps(struct sma *sma, const struct net_node *node)
{
    struct sma_trap **at = &sma->traps;

    while (*at) {
        struct sma_trap *trap = *at;

        if (node && net_port_node(trap->port) != node) {
            at = &trap->next;
            continue;
        }
        *at = trap->next;
        sim_cancel(sma->sim, trap->timer);
        free(trap);
    }
}

void sma_traps_destroy(struct sma *sma)
{
    drop_traps(sma, NULL);
    assert(!sma->traps);
}

static void forget_switch(struct sma_agent *agent)
{
    assert(net_node_kind(agent->node) == NET_SWITCH);
    agent->linear_fdb_top = agent->multicast_fdb_top = 0;
    net_lft_set_top(agent->node, 0);
    agent->life_time = 0;
    agent->port_state_change = agent->has_sl_pairs = false;
}

void sma_power_lost(void *context, struct net_node *node)
{
    struct sma *sma = context;
    struct sma_agent *agent = sma_agent_of(sma, net_node_port(node, 0));

    if (net_node_kind(node) == NET_SWITCH)
        forget_switch(agent);
    for (unsigned i = 0; i <= net_node_ports(node); i++) {
        struct sma_port *port = &agent->ports[i];

        sim_cancel(sma->sim, port->lease);
        port->lease = 0;
        port->m_key = 0;
        port->m_key_violations = port->m_key_lease = 0;
        port->m_key_protect = port->vl_high_limit = 0;
    }
    drop_traps(sma, node);
}

/* A link of a switch came or went: the bit that light sweeps read, and trap 128. What a manager
 * itself sets is no news (14.2.5.4). */
void sma_link_changed(void *context, struct net_port *port, const struct port_info *before)
{
    struct sma_agent *agent = context;
    const struct port_info *info = net_port_info(port);
    struct mad_notice notice = {
        .type = MAD_NOTICE_URGENT,
        .trap_number = MAD_TRAP_LINK_STATE,
    };
    bool was_down = before->state == FABRIC_PORT_DOWN;
    bool is_down = info->state == FABRIC_PORT_DOWN;

    assert(agent->sma && net_port_node(port) == agent->node);
    if (agent->applying || was_down == is_down)
        return;
    if (!PLANTED(sm_change_bit))
        agent->port_state_change = true;
    notice.lid1 = net_port_info(sma_lid_port(port))->lid;
    if (!PLANTED(sm_no_link_trap))
        sma_trap_raise(agent->sma, port, &notice);
}

void sma_key_violation(struct sma *sma, struct net_port *port,
                       const struct sma_violation *violation)
{
    const struct port_info *info = net_port_info(sma_lid_port(port));
    struct mad_notice notice = {
        .type = MAD_NOTICE_SECURITY,
        .trap_number = violation->trap,
        .lid1 = violation->slid,
        .lid2 = violation->dlid,
        .key = violation->key,
        .qp1 = violation->src_qp,
        .qp2 = violation->dest_qp,
        .sl = violation->sl,
        .switch_lid = info->lid,
        .port_num = net_port_num(port),
    };

    assert(violation->trap >= MAD_TRAP_BAD_PKEY && violation->trap <= MAD_TRAP_SWITCH_BAD_PKEY);
    if (violation->trap != MAD_TRAP_SWITCH_BAD_PKEY) { /* a switch is not the destination */
        bytes_put64(notice.gid2, info->gid_prefix);
        bytes_put64(notice.gid2 + 8, info->guid);
    }
    if (!PLANTED(sm_no_pkey_trap))
        sma_trap_raise(sma, port, &notice);
}

void sma_capability_changed(struct sma *sma, struct net_port *port)
{
    const struct port_info *info = net_port_info(sma_lid_port(port));
    struct mad_notice notice = {
        .type = MAD_NOTICE_INFO,
        .trap_number = MAD_TRAP_CAPABILITY,
        .lid1 = info->lid,
        .capability_mask = sma_capability_mask(port),
    };

    sma_trap_raise(sma, port, &notice);
}
