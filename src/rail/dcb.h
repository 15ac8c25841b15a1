/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a RoCE port's DCB settings mean for its traffic (MK-G2, G3). Pure functions.
 */
#ifndef SRC_RAIL_DCB_H
#define SRC_RAIL_DCB_H

#include "src/fabric/types.h"

#define RAIL_DCB_DSCP 26 /* preferred, with this priority, where the port has the pair */
#define RAIL_DCB_PRIORITY 3

struct rail_dcb_choice {
    bool lossless;         /* the priority has priority flow control (PFC) */
    uint8_t priority;      /* that the traffic gets */
    uint8_t dscp;          /* where the port trusts DSCP */
    uint8_t traffic_class; /* DSCP << 2, for address vectors; 0 where the VLAN priority decides */
    uint8_t service_level; /* the VLAN priority, where the port trusts that; else 0 */
};

/* The setting that travels without loss. Trusting DSCP: DSCP 26 with priority 3 if that is what the
 * map says and PFC is on there, else the lowest DSCP whose priority has PFC. Trusting the VLAN
 * priority: 3 if it has PFC, else the lowest that has. Without any PFC: nothing but zeros. */
struct rail_dcb_choice rail_dcb_choose(const struct fabric_dcb *dcb);

/* What becomes of traffic with the configured values instead. */
struct rail_dcb_choice rail_dcb_configured(const struct fabric_dcb *dcb, uint8_t traffic_class,
                                           uint8_t service_level);

#endif
