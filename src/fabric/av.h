/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address-vector builder (MK-B1 to B3, D4, E1, F3). A pure function: no fabric, no time, no
 * memory. Whoever needs the way to a peer asks here, so that "reachable" and "how" are one answer.
 */
#ifndef SRC_FABRIC_AV_H
#define SRC_FABRIC_AV_H

#include "src/fabric/fabric.h"

#define FABRIC_AV_MAX_GIDS 8

struct fabric_usable_gid {
    union fabric_gid gid;
    enum fabric_gid_type type;
    uint8_t index; /* in the owner's table; a peer's is for messages only */
};

/* A port as its owner describes it to a peer. The same structure describes both ends; the wire
 * carries every member. */
struct fabric_port_address {
    enum fabric_link_layer link_layer;
    enum fabric_port_state state;
    uint8_t port_num;
    uint16_t lid;
    uint8_t lmc;
    uint64_t port_guid;
    uint64_t subnet_prefix; /* host order; InfiniBand */
    uint16_t pkey;          /* value with its membership bit */
    uint16_t pkey_index;    /* the owner's */
    enum fabric_mtu mtu;    /* the smaller of the configured and the active one */
    enum fabric_mtu active_mtu;
    uint32_t flags; /* set of enum fabric_port_flag */
    uint8_t sl;
    uint8_t traffic_class;      /* RoCE */
    uint8_t max_rd_atomic;      /* initiator depth it wants */
    uint8_t max_dest_rd_atomic; /* responder resources it offers */
    uint32_t generation;        /* grows whenever one of the above changed */
    uint8_t gid_count;
    struct fabric_usable_gid gids[FABRIC_AV_MAX_GIDS]; /* best first */
};

enum fabric_av_note { /* worth a WARN, no refusal */
                      FABRIC_AV_NOTE_MTU_DIFFERS =
                          1, /* the smaller one is used; both are in the two addresses */
                      FABRIC_AV_NOTE_GRH_BY_PEER =
                          2, /* only the peer demands a GRH: both use one */
                      FABRIC_AV_NOTE_SL_DIFFERS = 4,
};

struct fabric_path {
    struct fabric_av av;
    enum fabric_mtu path_mtu;    /* the same at both ends */
    uint16_t pkey_index;         /* local */
    uint8_t max_rd_atomic;       /* reads we may have under way towards the peer */
    uint8_t max_dest_rd_atomic;  /* reads the peer may have under way towards us */
    uint8_t local_gid, peer_gid; /* positions in the two lists, when av.is_global */
    uint32_t notes;              /* set of enum fabric_av_note */
};

/* Builds the way from `local` to `peer`, or refuses by name and builds nothing. `detail`
 * (FABRIC_AV_DETAIL bytes, may be null) gets what was found and what was expected with both
 * values. Errors: link_layer_mismatch, port_down, waiting_for_sm, no_lid, peer_no_lid,
 * subnet_mismatch, pkey_empty, pkey_mismatch, pkey_limited_pair, mtu_mismatch (a value that is no
 * MTU), rd_atomic_none, gid_none, gid_family_mismatch, grh_unavailable. */
#define FABRIC_AV_DETAIL 192
enum fabric_error fabric_av_build(const struct fabric_port_address *local,
                                  const struct fabric_port_address *peer, struct fabric_path *out,
                                  char *detail);

#endif
