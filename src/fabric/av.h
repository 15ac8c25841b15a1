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
    uint8_t max_rd_atomic;      /* initiator depth it wants; 0 = it never issues RDMA READs */
    uint8_t max_dest_rd_atomic; /* responder resources it offers; 0 = nobody can READ from it */
    uint32_t generation;        /* grows whenever one of the above changed */
    uint8_t gid_count;
    struct fabric_usable_gid gids[FABRIC_AV_MAX_GIDS]; /* best first */
};

/* Worth a WARN, no refusal. */
enum fabric_av_note {
    FABRIC_AV_NOTE_MTU_DIFFERS = 1, /* the smaller one is used; both are in the two addresses */
    FABRIC_AV_NOTE_GRH_BY_PEER = 2, /* only the peer demands a GRH: both use one */
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

/* Builds the way from `local` to `peer`, or refuses by name and leaves *out alone. `detail`
 * (FABRIC_AV_DETAIL bytes, may be null) gets what was found and what was expected with both
 * values; it is empty after success.
 *
 * Both ends come to the same path MTU, GRH use, GID pair, path bits and refusal, each from its own
 * point of view (no_lid here is peer_no_lid there). The rules, in the order in which they are
 * judged, each for the local port before the peer's:
 *  - link_layer_mismatch: InfiniBand meets Ethernet, or an end is neither.
 *  - port_down: no link. no_lid, peer_no_lid (InfiniBand): outside 1 to 0xBFFF. waiting_for_sm: has
 *    a LID but is not ACTIVE.
 *  - subnet_mismatch (InfiniBand): the prefixes differ.
 *  - pkey_empty, pkey_mismatch, pkey_limited_pair (InfiniBand): the low 15 bits identify a
 *    partition, bit 15 tells full from limited members, and one of two must be full (vol. 1,
 *    chapter 10.9.3). On RoCE the index is 0 and nothing is judged.
 *  - mtu_mismatch: a value that is no MTU. Else the smallest of the four is used.
 *  - rd_atomic_none: an end wants to issue READs and the other offers no resources, or neither
 *    wants to. In each direction the smaller of the two numbers is used; 0 stays 0 where the
 *    initiator never issues READs.
 *  - gid_none, gid_family_mismatch (RoCE): both ends need a RoCE v2 GID, of the same family; a
 *    link-local one reaches only a link-local one.
 *  - grh_unavailable (InfiniBand): either port demands a GRH and one has no GID.
 *
 * Programmer errors (abort): null pointers, gid_count above FABRIC_AV_MAX_GIDS, a local port_num of
 * 0, a local SL above 15. Everything a peer can send but the count is judged. */
#define FABRIC_AV_DETAIL 192
enum fabric_error fabric_av_build(const struct fabric_port_address *local,
                                  const struct fabric_port_address *peer, struct fabric_path *out,
                                  char *detail);

/* The vector of a DC target of `local`: how it answers, for it has no peer. A GRH with the hop
 * limit and traffic class of fabric_av_build on Ethernet (CASE-G4, G7), and on InfiniBand where the
 * port demands one. *gid is the position of its GID in the list, FABRIC_AV_MAX_GIDS without a GRH:
 * a peer whose path ends at another GID cannot use the target. Errors, with *out and *gid
 * untouched: grh_unavailable, gid_none. Programmer errors as above. */
enum fabric_error fabric_av_target(const struct fabric_port_address *local, uint8_t *gid,
                                   struct fabric_av *out);

#endif
