/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a look at the port finds, for rail.c and the tests: the rules of "when port attributes
 * count" in one place.
 */
#ifndef SRC_RAIL_JUDGE_H
#define SRC_RAIL_JUDGE_H

#include "src/rail/rail.h"

struct rail_verdict {
    enum rail_state state;
    enum fabric_error reason;
    char detail[RAIL_DETAIL];
    uint8_t port_num;
    struct fabric_port_address address; /* zero, with zero padding, unless READY; no generation */
};

/* Queries the device and fills *out; logs only what is said once (ignored settings, a capped
 * default). In order: device_removed, port_down, waiting_for_sm, no_lid, pkey_index_range,
 * pkey_empty, pkey_not_found, mtu_above_active, gid_none. */
void rail_look(struct rail *rail, struct rail_verdict *out);

#endif
