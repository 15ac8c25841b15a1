/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links, switches and ports. The net moves packets between ports with rate, latency, loss, virtual
 * lanes and credits (HA-2.1, 2.9); what a packet means is decided by who owns the port.
 *
 * Who includes whom: world knows nothing of HCAs. An HCA port is a net port whose owner registered
 * a receiver. Subnet management (sma.h, sm.h) sees the same struct port_info.
 */
#ifndef FABRIC_SIM_WORLD_NET_H
#define FABRIC_SIM_WORLD_NET_H

#include "fabric_sim/world/packet.h"
#include "fabric_sim/world/port_info.h"
#include "fabric_sim/world/sim.h"

struct net;
struct net_node; /* an HCA, a switch or a router */
struct net_port; /* one end of a link; port 0 of a switch is its management port */

enum net_node_kind { NET_HCA, NET_SWITCH, NET_ROUTER, NET_ETHERNET_SWITCH };

struct net *net_create(struct sim *sim);
void net_destroy(struct net *net);
struct sim *net_sim(const struct net *net);

/* ---- building; names are copied, unique; everything lives as long as the net */
struct net_node *net_add_node(struct net *net, enum net_node_kind kind, const char *name,
                              uint64_t node_guid, uint8_t port_count);
struct net_node *net_find(const struct net *net, const char *name); /* null when there is none */
size_t net_node_count(const struct net *net);
struct net_node *net_node_at(const struct net *net, size_t index); /* in the order of adding */
const char *net_node_name(const struct net_node *node);
enum net_node_kind net_node_kind(const struct net_node *node);
uint64_t net_node_guid(const struct net_node *node);
uint8_t net_node_ports(const struct net_node *node);
struct net_port *net_node_port(struct net_node *node, uint8_t port_num);
struct net_node *net_port_node(const struct net_port *port);
uint8_t net_port_num(const struct net_port *port);
struct net_port *net_port_peer(const struct net_port *port); /* cabled to, null when to nothing */

/* The port's attributes. By default they live in the net; an HCA moves them into its arena with
 * net_port_place_info (copies the present contents, does not take ownership). Whoever changes an
 * attribute calls net_port_changed afterwards with the contents from before. */
struct port_info *net_port_info(const struct net_port *port);
void net_port_place_info(struct net_port *port, struct port_info *info);
void net_port_changed(struct net_port *port, const struct port_info *before);

/* Who is told. Any member may be null. */
struct net_owner {
    void *context;
    /* a packet arrived whole; the receiver owns it now */
    void (*receive)(void *context, struct net_port *port, struct packet *packet);
    /* attributes changed (also the state); `before` is only valid during the call */
    void (*changed)(void *context, struct net_port *port, const struct port_info *before);
    /* the port could not send earlier and can again, on `vl` */
    void (*can_send)(void *context, struct net_port *port, uint8_t vl);
};
void net_node_set_owner(struct net_node *node, const struct net_owner *owner);

/* Management datagrams (is_mad) are handed to this, at every node they touch, switches too. */
typedef void (*net_mad_handler)(void *context, struct net_port *port, struct packet *packet);
void net_set_mad_handler(struct net *net, net_mad_handler handler, void *context);

/* A link. Unset members mean: 100 Gbit/s, 100 ns, MTU 4096, no loss. */
struct net_link {
    uint32_t rate_mbps;
    uint64_t latency;    /* ns, one way */
    enum fabric_mtu mtu; /* the smaller of it and both ends' mtu_cap holds */
};
/* Cables two ports; the link trains at once (DOWN to INIT, Ethernet to ACTIVE) unless either node
 * is off. */
void net_connect(struct net_port *a, struct net_port *b, const struct net_link *link);

/* ---- faults, per direction where it says `from` */
void net_link_set_up(struct net_port *end, bool up);         /* cable pulled, both ends see it */
void net_link_set_loss(struct net_port *from, uint32_t ppm); /* silently dropped */
void net_link_set_cut(struct net_port *from, bool cut);      /* everything from here vanishes */
void net_link_set_delay(struct net_port *from, uint64_t extra, uint64_t jitter); /* ns */
void net_link_set_reorder(struct net_port *from, uint32_t ppm);
void net_link_set_duplicate(struct net_port *from, uint32_t ppm);
void net_link_set_mtu(struct net_port *end, enum fabric_mtu mtu); /* packets above are discarded */
void net_node_set_power(struct net_node *node, bool on); /* off: links go down at both ends */

/* ---- switches: linear forwarding table (vol. 1, chapter 18.2.4.1) */
#define NET_LFT_SIZE 0xC000
#define NET_PORT_NONE 0xff
uint8_t net_lft_get(const struct net_node *sw, uint16_t lid); /* NET_PORT_NONE when unset */
void net_lft_set(struct net_node *sw, uint16_t lid, uint8_t port_num);

/* ---- packets */
struct packet *net_alloc(struct net *net); /* all zero */
void net_free(struct net *net, struct packet *packet);
struct payload *payload_ref(struct payload *payload);
void payload_unref(struct net *net, struct payload *payload);
struct payload *payload_new(struct net *net, const void *bytes, uint32_t length); /* by reference */
/* The memory goes back to its program: whoever still refers to it sees a private copy from now. */
void payload_detach(struct net *net, struct payload *payload);

/* Sends one packet out of `port`, its vl already chosen from its SL (net_sl_to_vl). False: no
 * credit or the lane's queue is full; the caller keeps the packet and can_send follows. A packet
 * that the port may not send (state, VL not operational, above the MTU) is taken and discarded
 * and counted, as a real port does (true). VL15 has no credits. */
bool net_send(struct net_port *port, struct packet *packet);
uint8_t net_sl_to_vl(const struct net_port *port, uint8_t sl); /* 15: not allowed */
/* Time at which the port could begin to send another packet on `vl`, if credits allow. */
uint64_t net_port_free_at(const struct net_port *port);

struct net_stats {
    uint64_t packets_delivered; /* to HCA ports */
    uint64_t hops, discards, losses;
    size_t bytes_of_memory; /* all that the net holds */
};
void net_stats(const struct net *net, struct net_stats *out);

#endif
