/* SPDX-License-Identifier: Apache-2.0 */
/* Every GID with a verdict and the reason (MK-B2), by the rules that the address vectors use. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/net/model.h"

static void decide(struct net_gid *gid, enum net_gid_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void decide(struct net_gid *gid, enum net_gid_verdict verdict, const char *format, ...)
{
    gid->verdict = verdict;
    va_list values;
    va_start(values, format);
    vsnprintf(gid->reason, sizeof(gid->reason), format, values);
    va_end(values);
}

/* The position in the list that peers are told; -1: not in it. */
static int32_t rank_of(const struct fabric_usable_gid *list, uint8_t count, uint32_t index)
{
    for (uint8_t i = 0; i < count; i++) {
        if (list[i].index == index)
            return i;
    }
    return -1;
}

static void infiniband(struct net_gid *gid, int32_t rank, bool grh_required)
{
    if (rank == 0)
        decide(gid, NET_GID_CHOSEN, "names the subnet prefix and the port; %s",
               grh_required ? "in the GRH that this port demands"
                            : "peers are reached by LID, without a GRH");
    else
        decide(gid, NET_GID_USABLE, "another identity of the port; GIDs before it serve");
}

/* Why the best one is better. */
static void behind(struct net_gid *gid, const struct net_gid *best)
{
    enum fabric_gid_scope mine = fabric_gid_scope(&gid->entry.gid);
    enum fabric_gid_scope theirs = fabric_gid_scope(&best->entry.gid);
    if (mine != theirs)
        decide(gid, NET_GID_USABLE, "%s comes after %s (index %u)", fabric_gid_scope_name(mine),
               fabric_gid_scope_name(theirs), best->entry.index);
    else
        decide(gid, NET_GID_USABLE, "%s as index %u, which comes first in the table",
               fabric_gid_scope_name(mine), best->entry.index);
}

static void roce(struct net_gid *gid, int32_t rank, const struct net_gid *best, bool pinned)
{
    if (rank == 0 && pinned)
        decide(gid, NET_GID_CHOSEN, "RoCE v2, set by gid_index");
    else if (rank == 0)
        decide(gid, NET_GID_CHOSEN, "RoCE v2, %s: the widest scope, the lowest index of it",
               fabric_gid_scope_name(fabric_gid_scope(&gid->entry.gid)));
    else if (pinned)
        decide(gid, NET_GID_USABLE, "left out by gid_index");
    else
        behind(gid, best);
}

static uint8_t usable_of(const struct net_port *port, const struct fabric_gid_entry *entries,
                         uint32_t count, const struct config_rdma *config, bool pinned,
                         struct fabric_usable_gid *list)
{
    for (uint32_t i = 0; pinned && i < count; i++) {
        if (entries[i].index == (uint64_t)config->gid_index)
            return fabric_gids_usable(port->link_layer, &entries[i], 1, list);
    }
    return pinned ? 0 : fabric_gids_usable(port->link_layer, entries, count, list);
}

void net_judge_gids(const struct config_rdma *config, struct net_port *port)
{
    struct fabric_gid_entry entries[NET_MAX_GIDS];
    struct fabric_usable_gid list[FABRIC_AV_MAX_GIDS];
    assert(config && port && port->gid_count <= NET_MAX_GIDS);
    bool ib = port->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    bool pinned = config->gid_index >= 0 && (!ib || port->grh_required);
    if (PLANTED(net_gid_index_ignored))
        pinned = false;
    for (uint32_t i = 0; i < port->gid_count; i++)
        entries[i] = port->gids[i].entry;
    uint8_t count = usable_of(port, entries, port->gid_count, config, pinned, list);
    port->chosen_gid = -1;
    for (uint32_t i = 0; i < port->gid_count; i++) {
        if (count && port->gids[i].entry.index == list[0].index)
            port->chosen_gid = (int32_t)i;
    }
    for (uint32_t i = 0; i < port->gid_count; i++) {
        struct net_gid *gid = &port->gids[i];
        const char *why = fabric_gid_unusable(port->link_layer, &gid->entry);
        int32_t rank = rank_of(list, count, gid->entry.index);
        const struct net_gid *best = port->chosen_gid < 0 ? gid : &port->gids[port->chosen_gid];
        if (why && !PLANTED(net_gid_always_usable))
            decide(gid, NET_GID_UNUSABLE, "%s", why);
        else if (ib)
            infiniband(gid, rank, port->grh_required);
        else
            roce(gid, rank, best, pinned);
    }
}
