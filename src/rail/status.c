/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/status.h"

#include <assert.h>
#include <stdio.h>

#include "src/fabric/planted.h"

/* In the order of struct fabric_port_counters. */
static const char *const counter_names[FABRIC_PORT_COUNTERS] = {
    "xmit_data",
    "rcv_data",
    "xmit_packets",
    "rcv_packets",
    "xmit_discards",
    "rcv_errors",
    "rcv_switch_relay_errors",
    "xmit_wait",
    "symbol_errors",
    "link_downed",
    "vl15_dropped",
    "bad_pkey",
    "bad_qkey",
    "rcv_constraint_errors",
    "xmit_constraint_errors",
    "ack_timeouts",
    "seq_errors",
    "rnr_retries",
};

static uint64_t nth(const struct fabric_port_counters *counters, size_t n)
{
    return ((const uint64_t *)counters)[n];
}

static bool has(const struct fabric_port_counters *counters, size_t n)
{
    return counters->present >> n & 1;
}

/* Those that the device has, as they are now; or what they grew by since the rail was READY. */
static json_t *port_counters(const struct rail *rail, const struct fabric_port_counters *now,
                             bool growth)
{
    const struct fabric_port_counters *before = &rail->counters_ready;
    json_t *out = json_object();
    for (size_t n = 0; n < FABRIC_PORT_COUNTERS; n++) {
        if (!has(now, n) || (growth && (!has(before, n) || !rail->ever_ready)))
            continue;
        uint64_t value = nth(now, n), less = growth ? nth(before, n) : 0;
        if (PLANTED(rail_counters_since_boot))
            less = 0;
        /* Somebody has set it back meanwhile. */
        less = less > value ? 0 : less;
        json_object_set_new(out, counter_names[n], json_integer((json_int_t)(value - less)));
    }
    return out;
}

json_t *rail_status(const struct rail *rail)
{
    assert(rail);
    const struct fabric_port_address *a = &rail->address;
    struct fabric_port_counters now = {0};
    uint32_t growth, violations = rail_pkey_violations(rail, &growth);
    bool there = rail->device.id && !rail->device_lost && rail->port_num;
    if (!there || fabric_counters_query(rail->fabric, rail->device, rail->port_num, &now))
        now = (struct fabric_port_counters){0};
    char pkey[8];
    snprintf(pkey, sizeof pkey, "0x%04x", a->pkey);
    return json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:i, s:s, s:i, s:i, s:I, s:I, s:o, s:o}", "device", rail->name,
        "port", (int)rail->port_num, "state", rail_state_name(rail->state), "reason",
        error_name(rail->reason), "detail", rail->detail, "lid", (int)a->lid, "pkey", pkey, "mtu",
        (int)fabric_mtu_bytes(a->mtu), "generation", (int)a->generation, "pkey_violations",
        (json_int_t)violations, "pkey_violations_growth", (json_int_t)growth, "port_counters",
        port_counters(rail, &now, false), "port_counters_growth", port_counters(rail, &now, true));
}
