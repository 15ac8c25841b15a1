/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/judge.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"
#include "src/rail/log.h"
#include "src/rail/settings.h"

#define MAX_TABLE 256u /* entries of a P_Key or GID table that are looked at */

static void conclude(struct rail_verdict *v, enum rail_state state, enum fabric_error reason,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

static void conclude(struct rail_verdict *v, enum rail_state state, enum fabric_error reason,
                     const char *format, ...)
{
    v->state = state;
    v->reason = reason;
    va_list args;
    va_start(args, format);
    vsnprintf(v->detail, sizeof v->detail, format, args);
    va_end(args);
}

static const char *port_state_name(enum fabric_port_state state)
{
    static const char *const names[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"};
    return state <= FABRIC_PORT_ACTIVE ? names[state] : "unknown";
}

static void device_is_gone(struct rail *rail, struct rail_verdict *v, enum fabric_error error)
{
    rail->device_lost = true;
    conclude(v, RAIL_WAITING, ERR_DEVICE_REMOVED, "the device does not answer (%s)",
             error_name(error));
}

/* The configured port, or the first ACTIVE one; the one used so far when none is. */
static bool choose_port(struct rail *rail, struct rail_verdict *v, struct fabric_port_attr *attr)
{
    struct fabric *f = rail->fabric;
    v->port_num = rail->port_num;
    bool pinned = rail->wanted_port != 0;
    if (pinned && rail->wanted_port > rail->attr.num_ports) {
        conclude(v, RAIL_REFUSED, ERR_INVALID_ARGUMENT, "found port %u; the device has %u",
                 rail->wanted_port, rail->attr.num_ports);
        return false;
    }
    enum fabric_error error = fabric_port_query(f, rail->device, rail->port_num, attr);
    for (uint8_t n = 1; !pinned && !error && n <= rail->attr.num_ports; n++) {
        struct fabric_port_attr other;
        if (attr->state == FABRIC_PORT_ACTIVE)
            break;
        error = fabric_port_query(f, rail->device, n, &other);
        if (!error && other.state == FABRIC_PORT_ACTIVE) {
            *attr = other;
            v->port_num = n;
        }
    }
    if (error)
        device_is_gone(rail, v, error);
    return !error;
}

static bool is_active(struct rail_verdict *v, const struct fabric_port_attr *attr)
{
    bool infiniband = attr->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    if (attr->state == FABRIC_PORT_DOWN || attr->state == FABRIC_PORT_NOP || !infiniband) {
        if (attr->state == FABRIC_PORT_ACTIVE)
            return true;
        conclude(v, RAIL_WAITING, ERR_PORT_DOWN, "found port state %s; ACTIVE is expected",
                 port_state_name(attr->state));
        return false;
    }
    if (attr->state != FABRIC_PORT_ACTIVE) {
        conclude(v, RAIL_WAITING, ERR_WAITING_FOR_SM,
                 "found port state %s, LID %u; the port waits for the subnet manager",
                 port_state_name(attr->state), attr->lid);
        return false;
    }
    bool valid = PLANTED(rail_lid_multicast) ? attr->lid != 0 : fabric_lid_valid(attr->lid);
    if (!valid && !PLANTED(rail_lid_unchecked)) {
        conclude(v, RAIL_WAITING, ERR_NO_LID, "found LID %u; 1 to 49151 is expected", attr->lid);
        return false;
    }
    return true;
}

/* Finds a partition by value (MK-D5), at whatever index the subnet manager put it. */
static bool pkey_by_value(struct rail *rail, struct rail_verdict *v, uint32_t length)
{
    uint16_t table[MAX_TABLE];
    assert(rail->config->pkey && v->port_num);
    uint16_t wanted = (uint16_t)rail->config->pkey, index;
    size_t count = length < MAX_TABLE ? length : MAX_TABLE;
    for (size_t i = 0; i < count; i++) {
        enum fabric_error error =
            fabric_pkey_query(rail->fabric, rail->device, v->port_num, (uint32_t)i, &table[i]);
        if (error) {
            device_is_gone(rail, v, error);
            return false;
        }
    }
    if (!fabric_pkey_find(table, count, wanted, &index)) {
        conclude(v, RAIL_REFUSED, ERR_PKEY_NOT_FOUND,
                 "found no P_Key 0x%04x in the table of %zu entries", wanted, count);
        return false;
    }
    v->address.pkey_index = index;
    v->address.pkey = table[index];
    bool less = fabric_pkey_full(wanted) && !fabric_pkey_full(table[index]);
    if (less && !rail->limited_said && !PLANTED(rail_limited_silent)) {
        rail->limited_said = true;
        rail_log(rail->fabric, FABRIC_LOG_WARN,
                 "%s port %u: rdma.pkey 0x%04x asks for full membership, found 0x%04x (limited)",
                 rail->name, v->port_num, wanted, table[index]);
    }
    return true;
}

static bool pkey_by_index(struct rail *rail, struct rail_verdict *v, uint32_t length)
{
    uint32_t index = PLANTED(rail_pkey_index_zero) ? 0 : (uint32_t)rail->config->pkey_index;
    uint16_t pkey = 0;
    bool past = PLANTED(rail_pkey_index_past_by_one) ? index > length : index >= length;
    enum fabric_error error =
        past ? ERR_PKEY_INDEX_RANGE
             : fabric_pkey_query(rail->fabric, rail->device, v->port_num, index, &pkey);
    if (past) {
        conclude(v, RAIL_REFUSED, ERR_PKEY_INDEX_RANGE,
                 "found pkey_index %u; the table has %u entries", index, length);
        return false;
    }
    if (error) {
        device_is_gone(rail, v, error);
        return false;
    }
    if (fabric_pkey_empty(pkey) && !PLANTED(rail_pkey_empty_used)) {
        conclude(v, RAIL_REFUSED, ERR_PKEY_EMPTY,
                 "found P_Key 0x%04x at pkey_index %u; an entry with a partition is expected", pkey,
                 index);
        return false;
    }
    v->address.pkey_index = (uint16_t)index;
    v->address.pkey = pkey;
    return true;
}

static bool choose_pkey(struct rail *rail, struct rail_verdict *v,
                        const struct fabric_port_attr *attr)
{
    if (attr->link_layer != FABRIC_LINK_LAYER_INFINIBAND) {
        v->address.pkey_index = 0;
        v->address.pkey = 0xffff;
        return true;
    }
    return rail->config->pkey ? pkey_by_value(rail, v, attr->pkey_tbl_len)
                              : pkey_by_index(rail, v, attr->pkey_tbl_len);
}

static bool choose_mtu(struct rail *rail, struct rail_verdict *v,
                       const struct fabric_port_attr *attr)
{
    assert(attr->state == FABRIC_PORT_ACTIVE || PLANTED(rail_judged_early));
    uint32_t active = fabric_mtu_bytes(attr->active_mtu);
    uint32_t wanted = rail->config->mtu ? (uint32_t)rail->config->mtu : 4096;
    if (rail->config->mtu && wanted > active && !PLANTED(rail_mtu_unchecked)) {
        conclude(v, RAIL_REFUSED, ERR_MTU_ABOVE_ACTIVE,
                 "found mtu %u configured; the port's active MTU is %u", wanted, active);
        return false;
    }
    if (!rail->config->mtu && wanted > active && !rail->capped_said) {
        rail->capped_said = true;
        rail_log(rail->fabric, FABRIC_LOG_INFO,
                 "%s port %u: the default MTU 4096 is capped at the active MTU %u", rail->name,
                 v->port_num, active);
    }
    v->address.mtu = fabric_mtu_code(wanted < active ? wanted : active);
    v->address.active_mtu = attr->active_mtu;
    return true;
}

static bool choose_gids(struct rail *rail, struct rail_verdict *v,
                        const struct fabric_port_attr *attr)
{
    struct fabric_gid_entry entries[MAX_TABLE];
    size_t count = 0;
    bool infiniband = attr->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    bool pinned =
        rail->config->gid_index >= 0 && (!infiniband || (attr->flags & FABRIC_PORT_GRH_REQUIRED));
    uint32_t first = pinned ? (uint32_t)rail->config->gid_index : 0;
    uint32_t end = pinned ? first + 1 : attr->gid_tbl_len;
    for (uint32_t i = first; i < end && count < MAX_TABLE; i++) { /* holes do not end the table */
        enum fabric_error error =
            fabric_gid_query(rail->fabric, rail->device, v->port_num, i, &entries[count]);
        if (error && error != ERR_NOT_FOUND) {
            device_is_gone(rail, v, error);
            return false;
        }
        count += error == FABRIC_OK;
    }
    v->address.gid_count = fabric_gids_usable(attr->link_layer, entries, count, v->address.gids);
    if (infiniband && v->address.gid_count)
        v->address.subnet_prefix = fabric_gid_prefix(&v->address.gids[0].gid);
    if (v->address.gid_count)
        return true;
    conclude(v, RAIL_WAITING, ERR_GID_NONE, "found %zu entries in the GID table, none usable",
             count);
    return false;
}

static void fill_address(struct rail *rail, struct rail_verdict *v,
                         const struct fabric_port_attr *attr)
{
    struct fabric_port_address *a = &v->address;
    a->link_layer =
        PLANTED(rail_link_layer_assumed) ? FABRIC_LINK_LAYER_INFINIBAND : attr->link_layer;
    a->state = attr->state;
    a->port_num = v->port_num;
    a->lid = attr->lid;
    a->lmc = attr->lmc;
    a->port_guid = attr->port_guid;
    a->flags = attr->flags;
    if (rail->role == RAIL_SERVER)
        a->max_rd_atomic = PLANTED(rail_read_depth_confused) ? rail->attr.max_rd_atomic
                                                             : rail->attr.max_init_rd_atomic;
    else
        a->max_dest_rd_atomic = rail->attr.max_rd_atomic;
}

void rail_look(struct rail *rail, struct rail_verdict *out)
{
    assert(rail && out);
    struct fabric_port_attr attr;
    memset(out, 0, sizeof *out);
    out->port_num = rail->port_num;
    if (!rail->device.id) {
        const char *what = "the device cannot be opened";
        if (rail->open_error == ERR_NOT_FOUND)
            what = "found no device of this name";
        else if (rail->open_error == ERR_DEVICE_REMOVED)
            what = "the device was removed, or did not answer";
        conclude(out, RAIL_WAITING, ERR_DEVICE_REMOVED, "%s (%s)", what,
                 error_name(rail->open_error));
        return;
    }
    if (rail->attr.iwarp) {
        conclude(out, RAIL_REFUSED, ERR_NOT_SUPPORTED,
                 "found an iWARP device; InfiniBand or RoCE is expected");
        return;
    }
    if (rail->config->transport == CONFIG_RDMA_DC && !(rail->attr.caps & FABRIC_CAP_DC) &&
        !PLANTED(rail_dc_served_as_rc)) {
        conclude(out, RAIL_REFUSED, ERR_DC_UNSUPPORTED,
                 "found rdma.transport dc on a device without DC (%.31s); auto or rc is expected",
                 rail->attr.driver);
        return;
    }
    if (!choose_port(rail, out, &attr))
        return;
    rail->bad_pkey_cntr = attr.bad_pkey_cntr;
    bool judged_early = PLANTED(rail_judged_early);
    if (!is_active(out, &attr) && !judged_early)
        return;
    rail_notice_ignored(rail, out, &attr);
    fill_address(rail, out, &attr);
    if (!choose_pkey(rail, out, &attr) || !choose_mtu(rail, out, &attr) ||
        !choose_gids(rail, out, &attr) || (judged_early && out->reason)) {
        memset(&out->address, 0, sizeof out->address);
        return;
    }
    rail_choose_traffic(rail, out, &attr);
    out->state = RAIL_READY;
    out->reason = FABRIC_OK;
    snprintf(out->detail, sizeof out->detail, "ready");
}
