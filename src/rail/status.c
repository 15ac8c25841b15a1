/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/status.h"

#include <assert.h>
#include <stdio.h>

json_t *rail_status(const struct rail *rail)
{
    assert(rail);
    const struct fabric_port_address *a = &rail->address;
    uint32_t growth, violations = rail_pkey_violations(rail, &growth);
    char pkey[8];
    snprintf(pkey, sizeof pkey, "0x%04x", a->pkey);
    return json_pack("{s:s, s:i, s:s, s:s, s:s, s:i, s:s, s:i, s:i, s:I, s:I}", "device",
                     rail->name, "port", (int)rail->port_num, "state", rail_state_name(rail->state),
                     "reason", error_name(rail->reason), "detail", rail->detail, "lid", (int)a->lid,
                     "pkey", pkey, "mtu", (int)fabric_mtu_bytes(a->mtu), "generation",
                     (int)a->generation, "pkey_violations", (json_int_t)violations,
                     "pkey_violations_growth", (json_int_t)growth);
}
