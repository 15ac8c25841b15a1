/* SPDX-License-Identifier: Apache-2.0 */
/* A rail in the status of a server or a client. */
#ifndef SRC_RAIL_STATUS_H
#define SRC_RAIL_STATUS_H

#include <jansson.h>

#include "src/rail/rail.h"

/* A new object: device, port, state, reason, detail, lid, pkey, mtu (bytes), generation,
 * pkey_violations and their growth since the rail became READY (MK-D6); port_counters, those that
 * the device has by the names of struct fabric_port_counters (data in bytes), and
 * port_counters_growth since then. Null without memory. */
json_t *rail_status(const struct rail *rail);

#endif
