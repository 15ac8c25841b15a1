/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/little_net.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define HEADERS 30 /* LRH, BTH, ICRC, VCRC */

static void receive(void *context, struct net_port *port, struct packet *packet)
{
    struct little_net *little = context;
    size_t host = 0;
    while (little->hosts[host] != port)
        host++;
    assert(little->seen_count < LITTLE_NET_SEEN);
    little->seen[little->seen_count++] = (struct little_seen){
        .time = sim_now(little->sim),
        .psn = packet->psn,
        .host = (uint8_t)host,
        .vl = packet->vl,
        .hop_limit = packet->hop_limit,
    };
    net_free(little->net, packet);
}

static void changed(void *context, struct net_port *port, const struct port_info *before)
{
    struct little_net *little = context;
    assert(port && before);
    little->changes++;
}

static void can_send(void *context, struct net_port *port, uint8_t vl)
{
    struct little_net *little = context;
    assert(port);
    little->can_send |= 1u << vl;
}

void little_net_state(struct net_port *port, enum fabric_port_state state)
{
    struct port_info before = *net_port_info(port);
    net_port_info(port)->state = (uint8_t)state;
    net_port_changed(port, &before);
}

void little_net_lanes(struct net_port *port, uint8_t lanes)
{
    struct port_info before = *net_port_info(port);
    net_port_info(port)->oper_vls = lanes;
    for (uint8_t sl = 0; sl < PORT_SLS; sl++)
        net_port_info(port)->sl_to_vl[sl] = sl;
    net_port_changed(port, &before);
}

static void add_host(struct little_net *little, size_t index, const struct net_link *link)
{
    char name[16];
    snprintf(name, sizeof(name), "h%zu", index);
    struct net_node *node = net_add_node(little->net, NET_HCA, name, 0x1000 + index * 16, 1);
    struct net_owner owner = {
        .context = little, .receive = receive, .changed = changed, .can_send = can_send};
    struct net_port *port = net_node_port(node, 1);
    struct net_port *end = net_node_port(little->sw, (uint8_t)(index + 1));
    little->hosts[index] = port;
    net_connect(port, end, link);
    net_port_info(port)->lid = (uint16_t)(index + 1);
    net_lft_set(little->sw, (uint16_t)(index + 1), (uint8_t)(index + 1));
    little_net_state(port, FABRIC_PORT_ACTIVE);
    little_net_state(end, FABRIC_PORT_ACTIVE);
    net_node_set_owner(node, &owner);
}

void little_net_up(struct little_net *little, size_t hosts, const struct net_link *link)
{
    assert(hosts <= LITTLE_NET_HOSTS);
    memset(little, 0, sizeof(*little));
    little->sim = sim_create(1);
    little->net = net_create(little->sim);
    little->sw = net_add_node(little->net, NET_SWITCH, "sw", 0x100, LITTLE_NET_HOSTS);
    little->host_count = hosts;
    for (size_t i = 0; i < hosts; i++)
        add_host(little, i, link);
}

void little_net_down(struct little_net *little)
{
    net_destroy(little->net);
    sim_destroy(little->sim);
}

struct packet *little_net_packet(struct little_net *little, size_t from, size_t to, uint8_t sl,
                                 uint32_t psn, uint32_t length)
{
    struct packet *packet = net_alloc(little->net);
    packet->slid = (uint16_t)(from + 1);
    packet->dlid = (uint16_t)(to + 1);
    packet->sl = sl;
    packet->vl = net_sl_to_vl(little->hosts[from], sl);
    packet->opcode = BTH_RC | BTH_SEND_ONLY;
    packet->pkey = 0xffff;
    packet->psn = psn;
    packet->payload_length = length;
    packet->wire_bytes = (uint16_t)(length + HEADERS);
    return packet;
}

bool little_net_send(struct little_net *little, size_t from, size_t to, uint8_t sl, uint32_t psn,
                     uint32_t length)
{
    struct packet *packet = little_net_packet(little, from, to, sl, psn, length);
    if (net_send(little->hosts[from], packet))
        return true;
    net_free(little->net, packet);
    return false;
}

void little_net_run(struct little_net *little, uint64_t ns)
{
    sim_run_until(little->sim, sim_now(little->sim) + ns);
}

size_t little_net_arrived(const struct little_net *little, size_t host)
{
    size_t count = 0;
    for (size_t i = 0; i < little->seen_count; i++)
        count += little->seen[i].host == host;
    return count;
}
