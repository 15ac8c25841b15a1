/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/world/sma.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sma_state.h"
#include "src/fabric/planted.h"

#define JOB_NONE UINT32_MAX

static void *grow(void *old, size_t count, size_t size)
{
    void *new = realloc(old, count * size);

    if (!new)
        abort();
    return new;
}

static bool is_switch(const struct net_port *port)
{
    return net_node_kind(net_port_node(port)) == NET_SWITCH;
}

struct sma_agent *sma_agent_of(struct sma *sma, const struct net_port *port)
{
    size_t index = net_node_index(net_port_node(port));

    assert(port);
    if (index >= sma->agent_count || !sma->agents[index])
        sma_attach(sma, net_port_node(port));
    return sma->agents[index];
}

struct sma_port *sma_port_of(struct sma *sma, const struct net_port *port)
{
    return &sma_agent_of(sma, port)->ports[net_port_num(port)];
}

struct net_port *sma_lid_port(const struct net_port *port)
{
    uint8_t num = is_switch(port) ? 0 : net_port_num(port);

    return net_node_port(net_port_node(port), num);
}

/* ---------------------------------------------------------------- delivery at this node */

static void to_manager(struct sma *sma, struct net_port *port, struct mad *mad, uint16_t slid)
{
    struct sma_port *state = sma_port_of(sma, sma_lid_port(port));

    assert(mad);
    if (state->manager)
        state->manager(state->manager_context, mad, slid);
    else
        sma->stats.discarded++;
    mad_free(mad);
}

static void answer(void *object, uint64_t index)
{
    struct sma *sma = object;
    struct sma_job *job = &sma->jobs[index];
    struct net_port *port = job->port;
    struct mad *mad = job->mad;
    uint16_t slid = job->slid, status;

    assert(index < sma->job_count && mad);
    job->mad = NULL;
    job->next_free = sma->free_job;
    sma->free_job = (uint32_t)index;
    if (!mad_version_known(mad) && !PLANTED(sm_version_unchecked)) {
        mad_make_response(mad, MAD_STATUS_BAD_VERSION);
        sma_send(sma, port, mad, slid);
        return;
    }
    if (!sma_mkey_allows(sma, port, mad, slid)) {
        sma->stats.discarded++;
        mad_free(mad);
        return;
    }
    if (mad_method(mad) == MAD_SET)
        status = sma_set(sma, port, mad);
    else if (mad_method(mad) == MAD_GET)
        status = sma_get(sma, port, mad);
    else
        status = MAD_STATUS_BAD_METHOD;
    mad_make_response(mad, status);
    sma->stats.answered++;
    sma_send(sma, port, mad, slid);
}

/* The agent works on it for a while. */
static void to_agent(struct sma *sma, struct net_port *port, struct mad *mad, uint16_t slid)
{
    uint32_t index = sma->free_job;

    assert(!mad_is_response(mad));
    if (index == JOB_NONE) {
        index = sma->job_count++;
        sma->jobs = grow(sma->jobs, sma->job_count, sizeof *sma->jobs);
    } else {
        sma->free_job = sma->jobs[index].next_free;
    }
    sma->jobs[index] = (struct sma_job){.port = port, .mad = mad, .slid = slid};
    sim_in(sma->sim, PLANTED(sm_no_latency) ? 0 : sma->answer_latency, answer, sma, index);
}

/* Requests go to the agent, but SMInfo and traps to the manager (chapter 13.5.3.3). */
static void deliver(struct sma *sma, struct net_port *port, struct mad *mad, uint16_t slid)
{
    struct sma_port *state = sma_port_of(sma, sma_lid_port(port));
    uint8_t method = mad_method(mad);

    if (method == MAD_TRAP_REPRESS) {
        sma_trap_repress(sma, port, mad);
        mad_free(mad);
    } else if (mad_is_response(mad) || method == MAD_TRAP) {
        to_manager(sma, port, mad, slid);
    } else if (mad_attribute(mad) == MAD_SM_INFO && state->manager) {
        to_manager(sma, port, mad, slid);
    } else {
        to_agent(sma, port, mad, slid);
    }
}

/* ---------------------------------------------------------------- on the way */

static void discard(struct sma *sma, struct packet *packet)
{
    sma->stats.discarded++;
    net_free(sma->net, packet);
}

static struct mad *unwrap(struct sma *sma, struct packet *packet)
{
    struct mad *mad = packet->mad;

    assert(packet->is_mad && mad);
    packet->mad = NULL;
    net_free(sma->net, packet);
    return mad;
}

static void pass_on(struct sma *sma, struct net_port *in, uint8_t out, struct packet *packet)
{
    assert(out >= 1 && out <= net_node_ports(net_port_node(in)));
    sma->stats.forwarded++;
    net_send(net_node_port(net_port_node(in), out), packet); /* VL15 is always taken */
}

static void receive_directed(struct sma *sma, struct net_port *port, struct packet *packet)
{
    uint8_t out = 0, ports = net_node_ports(net_port_node(port));

    switch (mad_hop_receive(packet->mad, net_port_num(port), ports, is_switch(port), &out)) {
    case MAD_HOP_FORWARD:
        pass_on(sma, port, out, packet);
        break;
    case MAD_HOP_AGENT:
    case MAD_HOP_MANAGER:
        deliver(sma, port, unwrap(sma, packet), LID_PERMISSIVE);
        break;
    case MAD_HOP_DISCARD:
        discard(sma, packet);
        break;
    }
}

static bool is_for(const struct net_port *port, uint16_t dlid)
{
    const struct port_info *info = net_port_info(sma_lid_port(port));

    return dlid == LID_PERMISSIVE ||
           (info->lid != 0 && dlid >> info->lmc == info->lid >> info->lmc);
}

/* A switch hands over only what is for it. */
static void receive_lid_routed(struct sma *sma, struct net_port *port, struct packet *packet)
{
    uint16_t slid = packet->slid;

    if (is_for(port, packet->dlid))
        deliver(sma, port, unwrap(sma, packet), slid);
    else
        discard(sma, packet);
}

static void receive(void *context, struct net_port *port, struct packet *packet)
{
    struct sma *sma = context;

    assert(packet->is_mad && packet->mad);
    if (mad_class(packet->mad) == MAD_CLASS_SUBN_DIRECTED)
        receive_directed(sma, port, packet);
    else
        receive_lid_routed(sma, port, packet);
}

/* ---------------------------------------------------------------- sending */

static struct packet *wrap(struct sma *sma, struct mad *mad, uint16_t slid, uint16_t dlid)
{
    struct packet *packet = net_alloc(sma->net);

    assert(mad && (dlid == LID_PERMISSIVE || dlid <= LID_UNICAST_LAST));
    packet->mad = mad;
    packet->is_mad = true;
    packet->vl = 15;
    packet->slid = slid;
    packet->dlid = dlid;
    packet->opcode = BTH_UD | BTH_SEND_ONLY;
    packet->pkey = 0xFFFF;
    packet->wire_bytes = MAD_WIRE_BYTES;
    return packet;
}

static void send_directed(struct sma *sma, struct net_port *port, struct mad *mad)
{
    uint8_t out = 0;

    switch (mad_hop_originate(mad, &out)) {
    case MAD_HOP_FORWARD:
        if (out == 0 || out > net_node_ports(net_port_node(port)))
            break;
        port = net_node_port(net_port_node(port), out);
        net_send(port, wrap(sma, mad, LID_PERMISSIVE, LID_PERMISSIVE));
        return;
    case MAD_HOP_AGENT:
    case MAD_HOP_MANAGER:
        deliver(sma, port, mad, LID_PERMISSIVE);
        return;
    case MAD_HOP_DISCARD:
        break;
    }
    sma->stats.discarded++;
    mad_free(mad);
}

void sma_send(struct sma *sma, struct net_port *port, struct mad *mad, uint16_t dlid)
{
    struct net_port *source = sma_lid_port(port);
    uint16_t slid = net_port_info(source)->lid;

    assert(mad && net_port_num(source) <= net_node_ports(net_port_node(source)));
    if (mad_class(mad) == MAD_CLASS_SUBN_DIRECTED) {
        send_directed(sma, port, mad);
        return;
    }
    if (is_for(source, dlid)) {
        deliver(sma, port, mad, slid);
        return;
    }
    net_send(source, wrap(sma, mad, slid, dlid));
}

/* ---------------------------------------------------------------- life */

/* An enforcing switch port met a key that its table does not have. */
static void switch_discarded(void *context, struct net_port *port, const struct packet *packet)
{
    struct sma_violation violation = {
        .trap = MAD_TRAP_SWITCH_BAD_PKEY,
        .slid = packet->slid,
        .dlid = packet->dlid,
        .key = packet->pkey,
        .sl = packet->sl,
        .src_qp = packet->src_qp,
        .dest_qp = packet->dest_qp,
    };

    sma_key_violation(context, port, &violation);
}

struct sma *sma_create(struct net *net)
{
    struct sma *sma = grow(NULL, 1, sizeof *sma);

    assert(net);
    *sma = (struct sma){
        .net = net,
        .sim = net_sim(net),
        .free_job = JOB_NONE,
        .answer_latency = SMA_ANSWER_LATENCY,
        .next_tid = 1,
    };
    for (size_t i = 0; i < net_node_count(net); i++)
        sma_attach(sma, net_node_at(net, i));
    net_set_mad_handler(net, receive, sma);
    net_set_pkey_handler(net, switch_discarded, sma);
    net_set_power_handler(net, sma_power_lost, sma);
    return sma;
}

static void agent_destroy(struct sma_agent *agent)
{
    if (!agent)
        return;
    for (unsigned i = 0; i <= net_node_ports(agent->node); i++)
        sim_cancel(agent->sma->sim, agent->ports[i].lease);
    free(agent->ports);
    free(agent);
}

void sma_destroy(struct sma *sma)
{
    net_set_mad_handler(sma->net, NULL, NULL);
    net_set_pkey_handler(sma->net, NULL, NULL);
    net_set_power_handler(sma->net, NULL, NULL);
    for (uint32_t i = 0; i < sma->job_count; i++)
        mad_free(sma->jobs[i].mad);
    for (size_t i = 0; i < sma->agent_count; i++) {
        if (sma->agents[i] && net_node_kind(sma->agents[i]->node) == NET_SWITCH)
            net_node_set_owner(sma->agents[i]->node, &(struct net_owner){.context = NULL});
        agent_destroy(sma->agents[i]);
    }
    sma_traps_destroy(sma);
    free(sma->agents);
    free(sma->jobs);
    free(sma);
}

struct net *sma_net(const struct sma *sma)
{
    return sma->net;
}

static void make_room(struct sma *sma, size_t index)
{
    size_t old = sma->agent_count;

    if (index < old)
        return;
    sma->agent_count = index < 2 * old ? 2 * old : index + 1;
    sma->agents = grow(sma->agents, sma->agent_count, sizeof(struct sma_agent *));
    memset(sma->agents + old, 0, (sma->agent_count - old) * sizeof(struct sma_agent *));
}

void sma_attach(struct sma *sma, struct net_node *node)
{
    size_t index = net_node_index(node);
    size_t ports = (size_t)net_node_ports(node) + 1;
    struct sma_agent *agent;

    make_room(sma, index);
    if (sma->agents[index] || net_node_kind(node) == NET_ETHERNET_SWITCH)
        return;
    agent = grow(NULL, 1, sizeof *agent);
    *agent = (struct sma_agent){.sma = sma, .node = node};
    agent->ports = grow(NULL, ports, sizeof(struct sma_port));
    memset(agent->ports, 0, ports * sizeof(struct sma_port));
    sma->agents[index] = agent;
    if (net_node_kind(node) != NET_SWITCH)
        return;
    net_lft_set_top(node, agent->linear_fdb_top);
    net_node_set_owner(node, &(struct net_owner){.context = agent, .changed = sma_link_changed});
}

void sma_set_latency(struct sma *sma, uint64_t answer_ns)
{
    sma->answer_latency = answer_ns;
}

void sma_set_manager(struct sma *sma, struct net_port *port, sma_manager handler, void *context)
{
    struct sma_port *state = sma_port_of(sma, sma_lid_port(port));

    assert(!handler || !state->manager || state->manager_context == context);
    state->manager = handler;
    state->manager_context = context;
}

void sma_stats(const struct sma *sma, struct sma_stats *out)
{
    *out = sma->stats;
}
