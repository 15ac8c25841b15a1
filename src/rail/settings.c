/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/settings.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/fabric/sysfile.h"
#include "src/rail/dcb.h"
#include "src/rail/log.h"

static void ignored_on_infiniband(struct rail *rail, uint8_t port_num,
                                  const struct fabric_port_attr *attr)
{
    const struct config_rdma *c = rail->config;
    bool used = (attr->flags & FABRIC_PORT_GRH_REQUIRED) && !PLANTED(rail_gid_index_called_ignored);
    if (c->gid_index >= 0 && !used)
        rail_log(rail->fabric, FABRIC_LOG_INFO,
                 "%s port %u: gid_index is ignored on InfiniBand without a GRH", rail->name,
                 port_num);
    if (c->traffic_class >= 0)
        rail_log(rail->fabric, FABRIC_LOG_INFO,
                 "%s port %u: traffic_class is ignored on InfiniBand", rail->name, port_num);
    rail_log(rail->fabric, FABRIC_LOG_INFO, "%s port %u: DCB detection is skipped on InfiniBand",
             rail->name, port_num);
    if (c->service_level > 0)
        rail_log(rail->fabric, FABRIC_LOG_INFO,
                 "%s port %u: service_level %d selects a virtual lane by the SM's SL-to-VL map; "
                 "a value carried over from RoCE is usually a mistake",
                 rail->name, port_num, (int)c->service_level);
}

void rail_notice_ignored(struct rail *rail, const struct rail_verdict *v,
                         const struct fabric_port_attr *attr)
{
    assert(rail && v && attr);
    const struct config_rdma *c = rail->config;
    bool noticed = rail->noticed && !PLANTED(rail_ignored_repeated);
    if (noticed || PLANTED(rail_ignored_unsaid))
        return;
    rail->noticed = true;
    if (attr->link_layer == FABRIC_LINK_LAYER_INFINIBAND)
        ignored_on_infiniband(rail, v->port_num, attr);
    else if (c->pkey_index_set || c->pkey)
        rail_log(rail->fabric, FABRIC_LOG_INFO, "%s port %u: %s is ignored on RoCE", rail->name,
                 v->port_num, c->pkey ? "pkey" : "pkey_index");
}

/* The Ethernet interface of a port, in `out` (FABRIC_NAME_MAX bytes): a VLAN or a bond on top of it
 * has no DCB settings of its own. */
static bool find_physical(const struct rail *rail, uint8_t port_num, char *out)
{
    char path[FABRIC_PATH_MAX], names[SYSFILE_NAMES];
    size_t length;
    assert(rail->name[0] && port_num);
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/device/net", rail->name);
    if (sysfile_names(rail->fabric, path, names, &length) != FABRIC_OK)
        return false;
    for (size_t at = 0; at < length; at += strlen(names + at) + 1) {
        uint64_t dev_port = 0;
        if (!sysfile_name_ok(names + at))
            continue;
        snprintf(path, sizeof path, "/sys/class/net/%s/dev_port", names + at);
        sysfile_number(rail->fabric, path, UINT8_MAX - 1, &dev_port); /* 0 where it is not told */
        if (dev_port + 1 == port_num) {
            snprintf(out, FABRIC_NAME_MAX, "%s", names + at);
            return true;
        }
    }
    return false;
}

/* Asks for the interface of the chosen GID, then for the one under it. */
static bool query_dcb(const struct rail *rail, const struct rail_verdict *v, struct fabric_dcb *out)
{
    struct fabric_gid_entry entry;
    struct fabric_dcb physical;
    char name[FABRIC_NAME_MAX];
    assert(v->address.gid_count);
    enum fabric_error error =
        fabric_gid_query(rail->fabric, rail->device, v->port_num, v->address.gids[0].index, &entry);
    *out = (struct fabric_dcb){.known = false};
    if (!error && entry.netdev[0] && fabric_dcb_query(rail->fabric, entry.netdev, out) != FABRIC_OK)
        *out = (struct fabric_dcb){.known = false};
    if (out->present || PLANTED(rail_dcb_of_vlan))
        return out->known;
    if (find_physical(rail, v->port_num, name) &&
        fabric_dcb_query(rail->fabric, name, &physical) == FABRIC_OK && physical.known)
        *out = physical;
    return out->known;
}

static void say_unknown(const struct rail *rail, uint8_t port_num)
{
    rail_log(rail->fabric, FABRIC_LOG_INFO,
             "%s port %u: %s; whether a priority is lossless is unknown", rail->name, port_num,
             rail->dcb.known ? "the interface has no DCB" : "the system does not tell of DCB");
}

/* MK-G2: what decides the priority, what does not, and what comes of it. */
static void say_traffic(const struct rail *rail, const struct rail_verdict *v)
{
    const struct fabric_dcb *dcb = &rail->dcb;
    unsigned traffic_class = v->address.traffic_class, sl = v->address.sl;
    if (!dcb->present) {
        say_unknown(rail, v->port_num);
        return;
    }
    struct rail_dcb_choice offered = rail_dcb_choose(dcb);
    struct rail_dcb_choice used = rail_dcb_configured(dcb, v->address.traffic_class, v->address.sl);
    const char *lossless = used.lossless ? "lossless" : "not lossless";
    char advice[128] = "";
    if (!dcb->pfc_enabled)
        snprintf(advice, sizeof advice, "; no priority has PFC: RoCE drops packets under load");
    else if (!used.lossless && offered.lossless)
        snprintf(advice, sizeof advice, "; the lossless priority is %u: %s %u is expected",
                 offered.priority, dcb->trusts_dscp ? "traffic_class" : "service_level",
                 dcb->trusts_dscp ? offered.traffic_class : offered.service_level);
    enum fabric_log_level level = advice[0] ? FABRIC_LOG_WARN : FABRIC_LOG_INFO;
    if (dcb->trusts_dscp)
        rail_log(rail->fabric, level,
                 "%s port %u: the port trusts DSCP: traffic_class %u (DSCP %u) gives priority %u, "
                 "%s; service_level %u decides nothing%s",
                 rail->name, v->port_num, traffic_class, traffic_class >> 2, used.priority,
                 lossless, sl, advice);
    else
        rail_log(rail->fabric, level,
                 "%s port %u: the port trusts the VLAN priority: service_level %u is the "
                 "priority, %s; traffic_class %u decides nothing%s",
                 rail->name, v->port_num, sl, lossless, traffic_class, advice);
}

void rail_choose_traffic(struct rail *rail, struct rail_verdict *v,
                         const struct fabric_port_attr *attr)
{
    assert(rail && v && attr);
    const struct config_rdma *c = rail->config;
    struct fabric_port_address *a = &v->address;
    struct fabric_dcb found;
    a->sl = PLANTED(rail_sl_ignored) ? 0 : (uint8_t)c->service_level;
    if (attr->link_layer != FABRIC_LINK_LAYER_ETHERNET)
        return;
    bool answered = query_dcb(rail, v, &found) || PLANTED(rail_dcb_forgotten);
    bool changed = answered && memcmp(&found, &rail->dcb, sizeof found) != 0;
    if (answered)
        rail->dcb = found;
    struct rail_dcb_choice choice = rail_dcb_choose(&rail->dcb);
    if (PLANTED(rail_dcb_unread))
        choice = (struct rail_dcb_choice){.lossless = false};
    a->traffic_class = c->traffic_class >= 0 ? (uint8_t)c->traffic_class : choice.traffic_class;
    if (!c->service_level_set)
        a->sl = choice.service_level;
    if ((changed || !rail->dcb_said) && !PLANTED(rail_dcb_unsaid))
        say_traffic(rail, v);
    rail->dcb_said = true;
}
