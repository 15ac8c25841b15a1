/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the net, shared by the files net_*.c only.
 *
 * Cost model: a packet that finds its port idle and its credits there costs one event, its arrival
 * at the next hop. Only a port that somebody waits for has an event of its own (wake). Credits that
 * come back are a sorted ring of (time, blocks) that the sender reads when it needs them. A packet
 * for which nobody waits is chosen up to NET_LOOKAHEAD early: trains whose packets differ by a few
 * bytes would else cost an event for each nanosecond that they stand in each other's way.
 */
#ifndef FABRIC_SIM_WORLD_NET_STATE_H
#define FABRIC_SIM_WORLD_NET_STATE_H

#include <assert.h>

#include "fabric_sim/world/net.h"

#define NET_VL15 15
#define NET_DEFAULT_PKEY 0xffff
#define NET_BLOCK 64            /* bytes of a credit */
#define NET_HOST_QUEUE 8        /* packets that a host's lane takes before net_send says no */
#define NET_VL15_QUEUE 4096     /* datagrams that wait at one port */
#define NET_FORWARD_LATENCY 100 /* ns through a switch */
#define NET_HOQ_LIFE 268435456  /* ns: 4.096 us * 2^16 */
#define NET_LOOKAHEAD 50        /* ns before a port is idle that its next packet may be chosen */
#define NET_NEVER UINT64_MAX

struct net_credit { /* on its way back to the sender */
    uint64_t time;
    uint64_t blocks;
};

/* What a sending port keeps of one virtual lane. */
struct net_lane {
    struct packet *first, *last;
    uint32_t length;
    bool stalled;                      /* the receiver keeps its buffers */
    uint64_t packets, waited, expired; /* as net_lane_stats tells them */
    uint64_t credits;                  /* blocks that may be sent now */
    uint64_t capacity;                 /* blocks of the receiver's buffer */
    uint64_t withheld;                 /* blocks that a stalled receiver keeps */
    struct net_credit *ring;
    uint32_t ring_first, ring_count, ring_size; /* size is a power of two */
};

struct net_arbiter {
    struct net_vl_arb table;
    uint8_t at[2];   /* entry whose turn it is: low, high */
    int32_t left[2]; /* blocks it may still send */
    int32_t burst;   /* blocks the high table may still send while low priority waits */
};

struct net_fault {
    uint64_t delay, jitter; /* ns */
    uint64_t last_arrival;
    uint32_t loss, reorder, duplicate; /* parts per million */
    bool cut;
};

struct net_port {
    struct net_node *node;
    struct net_port *peer; /* null: no cable */
    struct port_info *info;
    uint64_t busy_until;
    uint64_t latency;      /* of the cable, ns, one way */
    uint64_t pass_latency; /* of the cable and the switch at its far end */
    uint64_t wake_time;    /* NET_NEVER: no event */
    sim_event wake;
    uint32_t rate_mbps;
    uint32_t mtu_bytes;               /* the largest payload that may leave here */
    uint32_t cached_bytes, cached_ns; /* the last time on the wire that was computed */
    uint32_t link_epoch;              /* grows when the link goes down; alike at both ends */
    uint16_t usable;                  /* lanes that packets may leave by now, a bit each */
    uint16_t queued;                  /* lanes with packets waiting */
    uint16_t refused;                 /* lanes on which net_send said no */
    uint8_t num;
    uint8_t next_vl;                  /* whose turn it is where there is no arbiter */
    bool cable_up;                    /* not pulled */
    bool link_up;                     /* trained */
    bool takes_data;                  /* ARMED or ACTIVE */
    bool faulty;                      /* `fault` matters */
    uint8_t link_mtu, fault_mtu;      /* enum fabric_mtu; 0: none */
    struct net_lane *lanes[PORT_VLS]; /* null until used */
    struct net_arbiter *arbiter;      /* null: every lane alike */
    uint8_t (*sl_maps)[PORT_SLS];     /* by in_port; null: none was set */
    struct net_fault fault;
};

struct net_mft_entry {
    uint16_t mlid;
    uint16_t masks[NET_MFT_POSITIONS];
};

struct net_route {
    uint64_t prefix;
    uint8_t port_num;
    uint16_t next_lid;
};

struct net_gid_entry { /* of an Ethernet switch or a router */
    union fabric_gid gid;
    uint16_t lid;
    uint8_t port_num; /* NET_PORT_NONE: known to be nowhere */
    bool used;
};

struct net_node {
    struct net *net;
    char *name;
    size_t index;
    uint64_t guid;
    enum net_node_kind kind;
    uint8_t port_count;
    bool powered;
    struct net_port *ports; /* port_count + 1, from port 0 */
    struct port_info *infos;
    struct net_owner owner;
    uint64_t latency, hoq_life;
    uint8_t *lft;
    uint32_t lft_size;         /* entries held; those above are unset */
    uint16_t lft_top;          /* the last one in force */
    struct net_mft_entry *mft; /* sorted by mlid */
    size_t mft_count, mft_capacity;
    struct net_route *routes;
    size_t route_count, route_capacity;
    struct net_gid_entry *gids; /* open addressing; a cache */
    size_t gid_count, gid_capacity;
    uint64_t gid_epoch; /* net.address_epoch the cache was made at */
    uint64_t visited;   /* search number that saw it last */
    struct net_node *search_next;
    uint8_t search_first; /* port of the searching node that leads here */
};

struct net {
    struct sim *sim;
    struct net_node **nodes;
    size_t node_count, node_capacity;
    uint32_t *names; /* open addressing: node index + 1 */
    size_t names_size;
    struct packet *free_packets;
    struct payload *free_payloads;
    struct net_packet_chunk *packet_chunks;
    struct net_payload_chunk *payload_chunks;
    net_mad_handler mad_handler;
    void *mad_context;
    net_change_handler change_handler;
    void *change_context;
    net_power_handler power_handler;
    void *power_context;
    net_pkey_handler pkey_handler;
    void *pkey_context;
    uint64_t address_epoch; /* grows when GIDs, LIDs, states or cables changed */
    uint64_t way_epoch;     /* grows when anything else changed that packets meet on their way */
    uint64_t searches;
    uint64_t delivered, hops, discards, losses;
    size_t memory;
};

/* ---- net_pool.c: memory that counts; aborts when there is none */
void *net_memory(struct net *net, size_t size); /* zeroed */
void net_memory_free(struct net *net, void *memory, size_t size);
void *net_memory_grow(struct net *net, void *memory, size_t old_size, size_t new_size);
struct packet *net_clone(struct net *net, const struct packet *packet); /* holds no buffer */
void net_pool_destroy(struct net *net);

/* ---- net_credit.c */
struct net_lane *net_lane_of(struct net_port *port, uint8_t vl);
void net_lane_free(struct net *net, struct net_lane *lane);
void net_lane_reset(struct net_lane *lane);  /* the link went down: all credits anew */
void net_lane_resize(struct net_port *port); /* the link became longer */
void net_credit_collect(struct net_lane *lane, uint64_t now);
/* Time from which `blocks` are there, `now` when they are, NET_NEVER when not known. */
uint64_t net_credit_time(const struct net_lane *lane, uint64_t blocks, uint64_t now);
/* The buffer that the packet occupies becomes free at `time`. */
void net_release(struct packet *packet, uint64_t time);

/* ---- net_arbitrate.c: which of `ready` (a bit per lane, not 0) sends now */
uint8_t net_arbitrate(struct net_port *port, uint16_t ready);
void net_arbitrate_sent(struct net_port *port, uint8_t vl, uint32_t blocks);

/* ---- net_wire.c */
void net_fly(struct net_port *from, struct packet *packet, uint64_t arrival); /* schedules it */
void net_transmit_or_queue(struct net_port *port, uint8_t vl, struct packet *packet);
void net_wake_at(struct net_port *port, uint64_t time);
/* Drops what waits on lanes that are not usable any more and tells the owner that it may send. */
void net_purge(struct net_port *port, uint16_t lanes);
/* Takes a packet out of the world and counts it; `counter` may be null. */
void net_discard(struct net_port *port, struct packet *packet, uint64_t *counter,
                 const char *reason);
/* Whether the packet may leave by `port` on `vl`; else it was discarded and counted there. */
bool net_may_leave(struct net_port *port, uint8_t vl, struct packet *packet);
void net_mad_arrived(struct net_port *port, struct packet *packet);

/* ---- net_fault.c: the packet is on its way out of `from`, which is faulty */
void net_fly_faulty(struct net_port *from, struct packet *packet, uint64_t arrival);
/* Nothing goes wrong on the port's wire any more, and nothing that was late is still on it. */
bool net_fault_is_over(const struct net_port *port);

/* ---- net_switch.c, net_ethernet.c, net_router.c: a packet came in by `in`; taken over */
void net_switch_relay(struct net_port *in, struct packet *packet);
void net_ethernet_relay(struct net_port *in, struct packet *packet);
void net_router_relay(struct net_port *in, struct packet *packet);
/* The cached place of a GID as `node` sees it; searches where it is not known. */
const struct net_gid_entry *net_gid_find(struct net_node *node, const union fabric_gid *gid,
                                         uint8_t only_port);

/* ---- net_link.c */
void net_port_refresh(struct net_port *port);   /* recomputes what is cached from port_info */
void net_port_triggered(struct net_port *port); /* data came to an ARMED port: ACTIVE */

static inline uint64_t net_now(const struct net_port *port)
{
    return sim_now(port->node->net->sim);
}

static inline uint32_t net_blocks(const struct packet *packet)
{
    assert(packet->wire_bytes > 0);
    return ((uint32_t)packet->wire_bytes + NET_BLOCK - 1) / NET_BLOCK;
}

#endif
