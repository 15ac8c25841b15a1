/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small InfiniBand net that is up without a subnet manager: hosts "h0", "h1", ... with LIDs 1,
 * 2, ... around one switch "sw" (port i + 1 leads to host i), every port ACTIVE. Hosts note what
 * arrives.
 */
#ifndef TESTS_SUPPORT_LITTLE_NET_H
#define TESTS_SUPPORT_LITTLE_NET_H

#include "fabric_sim/world/net.h"

#define LITTLE_NET_HOSTS 8
#define LITTLE_NET_SEEN 4096

struct little_seen {
    uint64_t time;
    uint32_t psn;
    uint8_t host, vl, hop_limit;
};

struct little_net {
    struct sim *sim;
    struct net *net;
    struct net_node *sw;
    struct net_port *hosts[LITTLE_NET_HOSTS];
    size_t host_count;
    struct little_seen seen[LITTLE_NET_SEEN]; /* of all hosts, in the order of arrival */
    size_t seen_count;
    uint32_t can_send; /* lanes of which an owner was told, a bit each */
    uint32_t changes;  /* of attributes of hosts */
};

/* `link` is that of every cable, null: the default. */
void little_net_up(struct little_net *little, size_t hosts, const struct net_link *link);
void little_net_down(struct little_net *little);

/* Brings one port into a state, as its manager would. */
void little_net_state(struct net_port *port, enum fabric_port_state state);
/* A port with data VLs in use and every SL on the lane of its number. */
void little_net_lanes(struct net_port *port, uint8_t lanes);

/* A data packet from host to host on `sl`, numbered, with `length` bytes of payload. */
struct packet *little_net_packet(struct little_net *little, size_t from, size_t to, uint8_t sl,
                                 uint32_t psn, uint32_t length);
/* Makes and sends it; false when it was refused (and is gone). */
bool little_net_send(struct little_net *little, size_t from, size_t to, uint8_t sl, uint32_t psn,
                     uint32_t length);
/* Runs everything that is due within `ns` from now. */
void little_net_run(struct little_net *little, uint64_t ns);
/* How many packets arrived at one host. */
size_t little_net_arrived(const struct little_net *little, size_t host);

#endif
