/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DC target of a client's rail. It is shared by every server, so nothing but the end of its
 * class (port, P_Key index, path MTU, GID) tears it down: rights are taken back by key (MK-A4).
 */
#ifndef SRC_RAIL_TARGET_H
#define SRC_RAIL_TARGET_H

#include "src/rail/rail.h"

struct rail_target {
    fabric_qp qp; /* id 0: none */
    fabric_srq srq;
    uint32_t epoch; /* the rail's when it was made: a closed device took it along */
    uint32_t dct_num;
    uint64_t access_key; /* unpredictable; whoever has it may connect */
    uint8_t port_num;
    uint16_t pkey_index;
    enum fabric_mtu mtu; /* an initiator's must be the same */
    uint8_t gid;         /* position in the rail's list; FABRIC_AV_MAX_GIDS: it has no GRH */
    struct fabric_usable_gid own_gid;
};

/* Whether the rail's device has the DC transport. */
bool rail_has_dc(const struct rail *rail);
/* In RTR, of the class that the rail is of now; its MTU is the smaller of the configured and the
 * active one. Peers may do what a window lends. Nothing is ever received: the SRQ stays empty. On
 * an error nothing is left and *out is untouched. The rail must be READY. Errors: dc_unsupported,
 * those of fabric_av_target, of fabric_srq_create, fabric_qp_create and fabric_qp_modify. */
enum fabric_error rail_target_create(struct rail *rail, uint64_t cookie, struct rail_target *out);
/* Whether it is there and still of the rail's class. Where only the list of GIDs changed, its
 * position there is the one of now. */
bool rail_target_stands(const struct rail *rail, struct rail_target *target);
/* Whether its GID is the best of those that the port has now, or it needs none. */
bool rail_target_is_best(const struct rail *rail, const struct rail_target *target);
/* Fine without a target, and after its device was closed. */
void rail_target_destroy(struct rail *rail, struct rail_target *target);

#endif
