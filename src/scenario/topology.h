/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world as a scenario or a simfabric file describes it: plain data, made by the reader of the
 * YAML grammar, consumed by a testbed. All strings and arrays belong to the topology.
 */
#ifndef SRC_SCENARIO_TOPOLOGY_H
#define SRC_SCENARIO_TOPOLOGY_H

#include "src/fabric/fabric.h"

struct topology_gid { /* RoCE, and additional InfiniBand entries */
    uint32_t index;
    union fabric_gid gid;
    enum fabric_gid_type type;
    bool anywhere; /* its place was not said: where the fabric has it; the simulator: index */
};

enum topology_ipoib { /* mode of the IPoIB interface of an InfiniBand port */
                      TOPOLOGY_IPOIB_DATAGRAM,
                      TOPOLOGY_IPOIB_CONNECTED,
                      TOPOLOGY_IPOIB_ENHANCED, /* datagram, and the mode cannot be written */
};

struct topology_port {
    uint8_t port_num;    /* from 1 */
    const char *network; /* name of a subnet or an ethernet network; null: nothing is plugged in */
    const char *attach;  /* switch it is cabled to; null: the network's first (implied) switch */
    enum fabric_mtu mtu; /* what the port can */
    uint32_t rate_mbps;
    uint64_t latency;         /* of its cable, ns */
    enum fabric_mtu link_mtu; /* of its cable; 0: not smaller */
    bool grh_required;
    uint32_t netdev_mtu; /* of the interface, bytes; 0: the usual one */
    char netdev[16];     /* Ethernet or IPoIB interface */
    enum topology_ipoib ipoib;
    struct fabric_dcb dcb; /* Ethernet */
    struct topology_gid *gids;
    size_t gid_count;
};

struct topology_device {
    const char *name;        /* mlx5_0 */
    const char *profile;     /* how its kind behaves; "mlx5" (default), others in help_fields.c */
    uint64_t sys_image_guid; /* 0: its own */
    struct topology_port *ports;
    size_t port_count;
};

struct topology_node {
    const char *name;
    const char *address; /* IPv4 of the control network; null: one is chosen */
    struct topology_device *devices;
    size_t device_count;
    uint64_t disk_size;  /* 0: the default of 1 GiB */
    const char *control; /* interface that the address lives on; null: none of these */
};

struct topology_member {
    const char *node; /* "n1", or "n1/mlx5_0/1" for one port; "ALL" for every port */
    bool full;
};

struct topology_partition {
    uint16_t pkey; /* low 15 bits */
    int index;     /* wanted position in the tables; -1: the next free one */
    struct topology_member *members;
    size_t member_count;
};

struct topology_sm {
    const char *name;
    uint8_t priority;        /* the highest is master, then the lowest GUID */
    uint64_t start;          /* ns after the world began; FABRIC_FOREVER: only by a fault word */
    uint64_t response_delay; /* extra ns per datagram it answers or sends */
};

struct topology_subnet {
    const char *name;
    uint64_t prefix; /* default fe80000000000000 */
    uint8_t lmc;
    uint16_t first_lid;                    /* default 1 */
    enum fabric_mtu group_mtu;             /* of the IPoIB broadcast group; default 2048 */
    struct topology_partition *partitions; /* none: 0x7fff with every port full at index 0 */
    size_t partition_count;
    struct topology_sm *sms; /* none: one named "sm" with priority 1 from the beginning */
    size_t sm_count;
    bool has_sl_to_vl;
    uint8_t sl_to_vl[16];
    bool implied; /* no network was written: any fabric's will do */
};

struct topology_ethernet {
    const char *name;
};

struct topology_switch {
    const char *name;
    const char *network; /* subnet or ethernet network */
    uint8_t port_count;
    enum fabric_mtu mtu;
};

struct topology_link { /* between switches */
    const char *a, *b;
    uint8_t a_port, b_port; /* 0: the next free one */
    enum fabric_mtu mtu;
    uint32_t rate_mbps;
    uint64_t latency;
};

struct topology {
    struct topology_subnet *subnets;
    size_t subnet_count;
    struct topology_ethernet *ethernets;
    size_t ethernet_count;
    struct topology_switch *switches; /* a network without one gets one implied */
    size_t switch_count;
    struct topology_link *links;
    size_t link_count;
    struct topology_node *nodes;
    size_t node_count;
};

#endif
