/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subnet management agents: what every port of a net answers to a subnet manager (vol. 1, chapters
 * 14.2 and 14.3). One struct sma serves all nodes of one net; it registers itself as the net's MAD
 * and P_Key handler and as the owner of the switches.
 *
 * Who else changes a port's attributes tells the net (net_port_changed); the agents learn of link
 * states of switches from there and send the traps.
 */
#ifndef FABRIC_SIM_WORLD_SMA_H
#define FABRIC_SIM_WORLD_SMA_H

#include "fabric_sim/world/mad.h"
#include "fabric_sim/world/net.h"

struct sma;

struct sma *sma_create(struct net *net); /* agents for all nodes present; aborts without memory */
void sma_destroy(struct sma *sma);       /* after the managers, before the net */
struct net *sma_net(const struct sma *sma);

/* Serves a node that was added to the net later. */
void sma_attach(struct sma *sma, struct net_node *node);

/* Time an agent takes to answer, ns (default 5 us). Passing a directed route on takes none. */
void sma_set_latency(struct sma *sma, uint64_t answer);

/* PortGUID as NodeInfo tells it: of a switch its node's. */
uint64_t sma_port_guid(const struct net_port *port);

/* ---- managers */
/* Answers, traps and SMInfo requests that arrive at `port`; the datagram is only lent. `slid` is
 * the sender's LID, LID_PERMISSIVE on a directed route. A null handler takes the manager away. */
typedef void (*sma_manager)(void *context, const struct mad *mad, uint16_t slid);
void sma_set_manager(struct sma *sma, struct net_port *port, sma_manager handler, void *context);
/* Sends a datagram from `port`; takes it over. A directed route needs no LID; a LID-routed one
 * (dlid) goes out with the port's LID as source. */
void sma_send(struct sma *sma, struct net_port *port, struct mad *mad, uint16_t dlid);

/* ---- traps. Each is repeated until the master represses it; with no SM LID nothing is sent. */
/* A receiver (or, with 259, an enforcing switch) found a packet's key wrong. */
struct sma_violation {
    uint16_t trap; /* MAD_TRAP_BAD_PKEY, MAD_TRAP_BAD_QKEY, MAD_TRAP_SWITCH_BAD_PKEY */
    uint16_t slid, dlid;
    uint32_t key;
    uint8_t sl;
    uint32_t src_qp, dest_qp;
};
void sma_key_violation(struct sma *sma, struct net_port *port,
                       const struct sma_violation *violation);
/* The port's capabilities changed (a manager came or went). */
void sma_capability_changed(struct sma *sma, struct net_port *port);

struct sma_stats {
    uint64_t answered;
    uint64_t forwarded; /* directed-route datagrams passed on by switches */
    uint64_t discarded;
    uint64_t traps_sent, traps_repressed;
    uint64_t mkey_violations, illegal_transitions;
};
void sma_stats(const struct sma *sma, struct sma_stats *out);

#endif
