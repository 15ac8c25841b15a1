/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GIDs two RoCE ports use (MK-B2, CASE-Z15): chosen as a pair, so that one end never takes
 * IPv4 while the other takes IPv6. A part of the address-vector builder.
 */
#ifndef SRC_FABRIC_GID_PAIR_H
#define SRC_FABRIC_GID_PAIR_H

#include "src/fabric/av.h"

/* Finds the best pair and gives its positions in both lists (at most FABRIC_AV_MAX_GIDS long). Both
 * are RoCE v2 addresses of one family; a link-local one reaches only a link-local one. The widest
 * common scope wins, then the longest common prefix (which puts IPv4 before IPv6), then the bytes:
 * all of it the same whichever end looks. False, with nothing touched, when there is none. */
bool fabric_gid_pair(const struct fabric_usable_gid *local, size_t local_count,
                     const struct fabric_usable_gid *peer, size_t peer_count, uint8_t *local_out,
                     uint8_t *peer_out);

/* Leading bits that two GIDs share: the more, the nearer they are. */
size_t fabric_gid_common_bits(const union fabric_gid *a, const union fabric_gid *b);

/* How many of a list could be part of a pair. */
size_t fabric_gid_pair_usable(const struct fabric_usable_gid *gids, size_t count);

#endif
