/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links, switches and ports. The net moves packets between ports with rate, latency, loss, virtual
 * lanes and credits (HA-2.1, 2.9); what a packet means is decided by who owns the port.
 *
 * How a link behaves:
 *  - Store and forward: a packet arrives when its last bit does. One packet at a time; who waits
 *    is chosen by VL arbitration.
 *  - Credits per data lane in blocks of 64 bytes (vol. 1, chapter 7.9); a buffer is free again when
 *    its packet left the switch, or reached the host, and the sender knows one latency later. A
 *    packet that a fault swallowed gives its credit back too. Ethernet ports behave alike (lossless
 *    classes; the priority is the lane).
 *  - A port does not leave ARMED by itself on data; only who manages it makes it ACTIVE.
 *  - Without a cable fault nothing overtakes on one lane, jitter included; reorder does.
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

struct net *net_create(struct sim *sim); /* aborts when memory is out, here and below */
/* Packets under way go with it; their events stay in the sim, which must not run on afterwards. */
void net_destroy(struct net *net);
struct sim *net_sim(const struct net *net);

/* ---- building; names are copied, unique; everything lives as long as the net */
struct net_node *net_add_node(struct net *net, enum net_node_kind kind, const char *name,
                              uint64_t node_guid, uint8_t port_count);
struct net_node *net_find(const struct net *net, const char *name); /* null when there is none */
size_t net_node_count(const struct net *net);
struct net_node *net_node_at(const struct net *net, size_t index); /* in the order of adding */
size_t net_node_index(const struct net_node *node); /* net_node_at finds it by this */
const char *net_node_name(const struct net_node *node);
enum net_node_kind net_node_kind(const struct net_node *node);
uint64_t net_node_guid(const struct net_node *node);
uint8_t net_node_ports(const struct net_node *node);
struct net_port *net_node_port(struct net_node *node, uint8_t port_num);
struct net_node *net_port_node(const struct net_port *port);
uint8_t net_port_num(const struct net_port *port);
/* Whether a port with this GID answers over the Ethernet network behind the port, as things are. */
bool net_port_reaches_gid(struct net_port *port, const union fabric_gid *gid);
struct net_port *net_port_peer(const struct net_port *port); /* cabled to, null when to nothing */

/* The port's attributes. By default they live in the net; an HCA moves them into its arena with
 * net_port_place_info (copies the present contents, does not take ownership). Whoever changes an
 * attribute calls net_port_changed afterwards with the contents from before; it only tells: a port
 * set to DOWN keeps its link (net_link_set_up takes that away). */
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
const struct net_owner *net_node_owner(const struct net_node *node);
/* Told after the owner of every change of a port's attributes: for who looks on. */
typedef void (*net_change_handler)(void *context, struct net_port *port);
void net_set_change_handler(struct net *net, net_change_handler handler, void *context);
/* Told when an InfiniBand node lost its power, and with it what it was set to. */
typedef void (*net_power_handler)(void *context, struct net_node *node);
void net_set_power_handler(struct net *net, net_power_handler handler, void *context);

/* Management datagrams (is_mad) are handed to this where they end: at every port of a host or a
 * router, and at a switch when it is the destination or the route is directed (DLID 0xFFFF). A
 * switch forwards the others by its table as any packet. The handler owns the packet. Without a
 * handler they are discarded. */
typedef void (*net_mad_handler)(void *context, struct net_port *port, struct packet *packet);
void net_set_mad_handler(struct net *net, net_mad_handler handler, void *context);

/* A link. Unset members mean: 100 Gbit/s, 100 ns, MTU 4096. */
struct net_link {
    uint32_t rate_mbps;
    uint64_t latency;    /* ns, one way */
    enum fabric_mtu mtu; /* the smaller of it and both ends' mtu_cap holds */
};
/* Cables two free ports; the link trains at once (DOWN to INIT, Ethernet to ACTIVE) unless either
 * node is off. Both ends' active_mtu becomes the smaller mtu_cap, on Ethernet only where it was not
 * set. A port cabled to an Ethernet switch becomes an Ethernet port. */
void net_connect(struct net_port *a, struct net_port *b, const struct net_link *link);

/* ---- faults, per direction where it says `from` */
void net_link_set_up(struct net_port *end, bool up);         /* cable pulled, both ends see it */
void net_link_set_loss(struct net_port *from, uint32_t ppm); /* silently dropped */
void net_link_set_cut(struct net_port *from, bool cut);      /* everything from here vanishes */
void net_link_set_delay(struct net_port *from, uint64_t extra, uint64_t jitter); /* ns */
void net_link_set_reorder(struct net_port *from, uint32_t ppm);
void net_link_set_duplicate(struct net_port *from, uint32_t ppm);
void net_link_set_mtu(struct net_port *end, enum fabric_mtu mtu); /* packets above are discarded */
/* PortPhysicalState Disabled (vol. 1, chapter 14.2.5.6): the link stays down, whatever is plugged,
 * until it is taken back or the power goes. */
void net_port_set_disabled(struct net_port *port, bool disabled);
/* Off: links go down at both ends; LIDs and all tables are lost: a port begins anew with the
 * default P_Key alone. */
void net_node_set_power(struct net_node *node, bool on);
/* A dead lane: what arrives at `receiver` on `vl` keeps its buffer, so the credits run out. */
void net_lane_set_stalled(struct net_port *receiver, uint8_t vl, bool stalled);

/* ---- switches. All tables begin unset. */
void net_switch_set_latency(struct net_node *sw, uint64_t latency); /* ns; default 100 */
/* A packet that waited this long at the head of its lane is discarded (HOQLife, vol. 1, chapter
 * 18.2.5.4); ns, default 268 ms. */
void net_switch_set_hoq_life(struct net_node *sw, uint64_t life);

/* Linear forwarding table (vol. 1, chapter 18.2.4.1). Packets to a LID that is unset, or would
 * leave by the port they came in, are discarded. */
#define NET_LFT_SIZE 0xC000
#define NET_PORT_NONE 0xff
uint8_t net_lft_get(const struct net_node *sw, uint16_t lid); /* NET_PORT_NONE when unset */
/* The same as far as the table is in force, up to LinearFDBTop (vol. 1, chapter 18.2.4.1): where
 * packets go. */
uint8_t net_lft_forwards(const struct net_node *sw, uint16_t lid);
void net_lft_set(struct net_node *sw, uint16_t lid, uint8_t port_num);
/* Entries above `top` are kept but forward nothing (LinearFDBTop); at first there is no limit. */
void net_lft_set_top(struct net_node *sw, uint16_t top);

/* Multicast forwarding table, LIDs 0xC000 to 0xFFFE: bit n of position p is port 16 * p + n
 * (chapter 18.2.4.3). A packet never returns by the port it came in. */
#define NET_MFT_POSITIONS 16
uint16_t net_mft_get(const struct net_node *sw, uint16_t mlid, uint8_t position);
void net_mft_set(struct net_node *sw, uint16_t mlid, uint8_t position, uint16_t mask);

/* SL-to-VL of packets that came in by `in_port` and leave by `out` (chapter 18.2.4.6; 0: from the
 * switch itself). Where none was set, port_info.sl_to_vl of `out` holds for every in_port. */
void net_sl_map_set(struct net_port *out, uint8_t in_port, const uint8_t sl_to_vl[PORT_SLS]);
uint8_t net_sl_map_get(const struct net_port *out, uint8_t in_port, uint8_t sl);

/* VL arbitration (chapter 7.6.9), of switch and host ports. A weight counts units of 64 bytes; 0
 * skips the entry. `high_limit` counts units of 4096 bytes that the high table may send while low
 * priority waits; 0: one packet, 255: no limit. Default: every lane in the low table, alike. VL15
 * goes first always. Entries beyond a count are as if they had weight 0. */
#define NET_ARB_ENTRIES 64
struct net_vl_weight {
    uint8_t vl, weight;
};
struct net_vl_arb {
    struct net_vl_weight high[NET_ARB_ENTRIES], low[NET_ARB_ENTRIES];
    uint8_t high_count, low_count, high_limit;
};
void net_vl_arb_get(const struct net_port *port, struct net_vl_arb *out);
void net_vl_arb_set(struct net_port *port, const struct net_vl_arb *arb);

/* Told when an enforcing switch port (partition_enforce_in, _out) discards a packet because its
 * P_Key matches none of the port's table: the reason of trap 259. The packet is only lent. */
typedef void (*net_pkey_handler)(void *context, struct net_port *port, const struct packet *packet);
void net_set_pkey_handler(struct net *net, net_pkey_handler handler, void *context);

/* ---- routers (chapter 19). A packet with a GRH whose destination prefix is `prefix` leaves by
 * `port_num`, its hop limit one less, to `next_lid`, or, where that is 0, to the LID of the port
 * with that GID, which must be in the subnet of that port. Hop limit 0 or 1 does not pass. */
void net_route_set(struct net_node *router, uint64_t prefix, uint8_t port_num, uint16_t next_lid);

/* ---- packets */
struct packet *net_alloc(struct net *net); /* all zero */
void net_free(struct net *net, struct packet *packet);
struct payload *payload_ref(struct payload *payload);
void payload_unref(struct net *net, struct payload *payload);
/* Refers to the bytes, does not copy them; the caller has the first reference. */
struct payload *payload_new(struct net *net, const void *bytes, uint32_t length);
/* One with memory of its own, to be filled through *bytes before anybody else sees it. */
struct payload *payload_room(struct net *net, uint32_t length, uint8_t **bytes);
/* The memory goes back to its program: whoever still refers to it sees a private copy from now. The
 * caller keeps its own reference and gives it up with payload_unref. */
void payload_detach(struct net *net, struct payload *payload);

/* Sends one packet out of `port`, its vl already chosen from its SL (net_sl_to_vl; 15 for subnet
 * management). False: the lane's queue is full, for want of credits or because the port is busy;
 * the caller keeps the packet and can_send follows. A packet that the port may not send is taken,
 * discarded and counted (true), as a real port does: link down; not ACTIVE (ARMED receives data but
 * sends none; INIT carries VL15 alone: vol. 1, chapter 7.2.7); a lane that is not operational;
 * payload above the link's or the port's MTU. VL15 has no credits and never returns false: what
 * does not fit is dropped and counted. From port 0 of a switch the packet is forwarded by the
 * switch's tables. */
bool net_send(struct net_port *port, struct packet *packet);
uint8_t net_sl_to_vl(const struct net_port *port, uint8_t sl); /* 15: not allowed */
/* Time at which the port could begin to send another packet on `vl`, if credits allow. */
uint64_t net_port_free_at(const struct net_port *port);

/* One data lane of a sending port: how a starved or a dead lane shows. */
struct net_lane_stats {
    uint64_t packets; /* sent */
    uint64_t waited;  /* ns that packets stood at the head of the queue, together */
    uint64_t expired; /* discarded there for age (hoq_life) */
    uint64_t credits; /* blocks of 64 bytes that may be sent now */
    uint32_t queued;  /* packets waiting */
};
void net_lane_stats(const struct net_port *port, uint8_t vl, struct net_lane_stats *out);

/* The way that packets out of `from` to `dlid` would take now. False where it is not plain: a hop
 * that loses, delays, checks or refuses them, is slow (below 100 Gbit/s, or a cable of more than a
 * microsecond), or leads through anything but InfiniBand switches. Then only packets tell. */
struct net_way {
    struct net_port *to; /* where they arrive; whether they are for it, it judges by itself */
    uint32_t mtu;        /* bytes of payload that pass everywhere */
};
bool net_plain_way(const struct net_port *from, uint16_t dlid, uint8_t sl, struct net_way *out);
/* Grows with everything that may change the answer, but for the end of a delay by time alone. */
uint64_t net_way_epoch(const struct net *net);

struct net_stats {
    uint64_t packets_delivered; /* to HCA ports */
    uint64_t hops;              /* packets put on a wire */
    uint64_t discards;          /* by ports and switches */
    uint64_t losses;            /* by faults of links */
    size_t bytes_of_memory;     /* all that the net holds */
};
void net_stats(const struct net *net, struct net_stats *out);

#endif
