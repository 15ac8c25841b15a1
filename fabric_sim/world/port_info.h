/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a port knows of itself: the attributes that subnet management reads and sets (vol. 1,
 * chapter 14.2.5) and its counters (chapter 16.1). Plain fixed-layout data without pointers, so
 * that it can live in an arena that other processes map.
 */
#ifndef FABRIC_SIM_WORLD_PORT_INFO_H
#define FABRIC_SIM_WORLD_PORT_INFO_H

#include "src/fabric/fabric.h"

#define PORT_PKEYS 128 /* entries of a P_Key table, at most (mlx5) */
#define PORT_GIDS 32   /* entries of a GID table, at most */
#define PORT_VLS 16    /* virtual lanes, VL15 included */
#define PORT_SLS 16

struct port_gid { /* empty when all of raw is zero */
    union fabric_gid gid;
    uint8_t type; /* enum fabric_gid_type */
    char netdev[16];
};

struct port_info {
    uint64_t guid;
    uint64_t gid_prefix; /* host order */
    uint8_t link_layer;  /* enum fabric_link_layer */
    uint8_t state;       /* enum fabric_port_state */
    uint8_t port_num;
    uint8_t lmc;
    uint16_t lid;
    uint16_t sm_lid;
    uint8_t sm_sl;
    uint8_t mtu_cap;           /* enum fabric_mtu: what the port can */
    uint8_t active_mtu;        /* NeighborMTU once set, else min of both ends' mtu_cap at link up */
    uint8_t vl_cap;            /* data VLs supported: 1, 2, 4, 8 or 15 */
    uint8_t oper_vls;          /* data VLs in use; 0 before the SM set it */
    uint8_t client_reregister; /* set by the SM, cleared when the event was raised */
    uint8_t grh_required;
    uint8_t is_sm;
    uint8_t disabled; /* PortPhysicalState Disabled: no link, cable or not */
    uint8_t subnet_timeout;
    uint8_t partition_enforce_in, partition_enforce_out; /* switch ports */
    uint32_t rate_mbps;                                  /* data rate, Mbit/s */
    uint32_t attributes_epoch;  /* grows with every change of the above or of the tables */
    uint16_t pkey_count;        /* entries in use by this device, up to PORT_PKEYS */
    uint16_t gid_count;         /* entries of the GID table, up to PORT_GIDS; 0 on switch ports */
    uint16_t pkeys[PORT_PKEYS]; /* 0x0000 = empty */
    struct port_gid gids[PORT_GIDS];
    uint8_t sl_to_vl[PORT_SLS]; /* 15 = the SL may not be used here */
    struct fabric_port_counters counters;
};

#endif
