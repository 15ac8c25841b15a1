/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DC initiator of a server's rail: a queue pair that works for one target at a time. Port, P_Key
 * index and path MTU are its own and not its target's, so it serves one class of targets.
 */
#ifndef SRC_RAIL_INITIATOR_H
#define SRC_RAIL_INITIATOR_H

#include "src/rail/rail.h"

/* READs that it has under way; a target must offer as many resources. */
uint8_t rail_initiator_depth(const struct rail *rail);
/* In RTS. On an error nothing is left. The rail must be READY. Errors: those of fabric_qp_create
 * and fabric_qp_modify. */
enum fabric_error rail_initiator_create(struct rail *rail, enum fabric_mtu mtu, uint64_t cookie,
                                        fabric_qp *out);
/* From ERR, when everything that was posted has been polled, through RESET, INIT and RTR to RTS. On
 * an error it is destroyed. */
enum fabric_error rail_initiator_recover(struct rail *rail, enum fabric_mtu mtu, fabric_qp qp);

#endif
