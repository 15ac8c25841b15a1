/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/dcb.h"

#include <assert.h>

#include "src/fabric/planted.h"

#define PRIORITIES 8u

static bool has_pfc(const struct fabric_dcb *dcb, uint8_t priority)
{
    return priority < PRIORITIES && (dcb->pfc_enabled >> priority & 1);
}

static struct rail_dcb_choice by_dscp(const struct fabric_dcb *dcb, uint8_t dscp)
{
    assert(dscp < sizeof(dcb->dscp_prio));
    uint8_t priority = dcb->dscp_prio[dscp];
    return (struct rail_dcb_choice){
        .lossless = has_pfc(dcb, priority),
        .priority = priority,
        .dscp = dscp,
        .traffic_class = (uint8_t)(PLANTED(rail_dcb_dscp_unshifted) ? dscp : dscp << 2)};
}

static struct rail_dcb_choice by_priority(const struct fabric_dcb *dcb, uint8_t priority)
{
    return (struct rail_dcb_choice){
        .lossless = has_pfc(dcb, priority), .priority = priority, .service_level = priority};
}

struct rail_dcb_choice rail_dcb_choose(const struct fabric_dcb *dcb)
{
    assert(dcb);
    if (!dcb->known || !dcb->present)
        return (struct rail_dcb_choice){.lossless = false};
    if (!dcb->trusts_dscp && !PLANTED(rail_dcb_trust_ignored)) {
        if (has_pfc(dcb, RAIL_DCB_PRIORITY))
            return by_priority(dcb, RAIL_DCB_PRIORITY);
        for (uint8_t priority = 0; priority < PRIORITIES; priority++) {
            if (has_pfc(dcb, priority))
                return by_priority(dcb, priority);
        }
        return (struct rail_dcb_choice){.lossless = false};
    }
    bool preferred = dcb->dscp_prio[RAIL_DCB_DSCP] == RAIL_DCB_PRIORITY;
    if (preferred && has_pfc(dcb, RAIL_DCB_PRIORITY) && !PLANTED(rail_dcb_first_lossless))
        return by_dscp(dcb, RAIL_DCB_DSCP);
    for (uint8_t dscp = 0; dscp < sizeof(dcb->dscp_prio); dscp++) {
        if (has_pfc(dcb, dcb->dscp_prio[dscp]))
            return by_dscp(dcb, dscp);
    }
    return (struct rail_dcb_choice){.lossless = false};
}

struct rail_dcb_choice rail_dcb_configured(const struct fabric_dcb *dcb, uint8_t traffic_class,
                                           uint8_t service_level)
{
    assert(dcb && dcb->known && dcb->present);
    return dcb->trusts_dscp ? by_dscp(dcb, traffic_class >> 2) : by_priority(dcb, service_level);
}
