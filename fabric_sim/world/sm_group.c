/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast groups: all of them use one tree over the switches, pruned to the members. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

uint16_t sm_group_create(struct sm *sm, const union fabric_gid *mgid)
{
    size_t i = 0;

    assert(mgid->raw[0] == 0xff);
    while (i < sm->group_count && memcmp(&sm->groups[i].mgid, mgid, sizeof *mgid) != 0)
        i++;
    if (i == SM_GROUPS)
        return 0;
    if (i == sm->group_count) {
        sm->groups = sm_grow(sm->groups, i + 1, sizeof *sm->groups);
        sm->groups[sm->group_count++] = (struct sm_group){.mgid = *mgid};
    }
    return (uint16_t)(LID_MULTICAST_FIRST + i);
}

static struct sm_group *group_of(struct sm *sm, uint16_t mlid)
{
    size_t i = (size_t)(mlid - LID_MULTICAST_FIRST);

    return mlid >= LID_MULTICAST_FIRST && i < sm->group_count ? &sm->groups[i] : NULL;
}

/* Where the GUID is or belongs among the members. */
static size_t find_member(const struct sm_group *group, uint64_t guid)
{
    size_t i = 0;

    while (i < group->member_count && group->members[i] < guid)
        i++;
    return i;
}

bool sm_group_join(struct sm *sm, uint16_t mlid, uint64_t port_guid)
{
    struct sm_group *group = group_of(sm, mlid);
    size_t at;

    if (!group)
        return false;
    at = find_member(group, port_guid);
    if (at < group->member_count && group->members[at] == port_guid)
        return true;
    group->members = sm_grow(group->members, group->member_count + 1, sizeof *group->members);
    memmove(group->members + at + 1, group->members + at,
            (group->member_count - at) * sizeof *group->members);
    group->members[at] = port_guid;
    group->member_count++;
    sm->groups_dirty = true;
    sm_reconfigure(sm);
    return true;
}

bool sm_group_leave(struct sm *sm, uint16_t mlid, uint64_t port_guid)
{
    struct sm_group *group = group_of(sm, mlid);
    size_t at;

    if (!group)
        return false;
    at = find_member(group, port_guid);
    if (at == group->member_count || group->members[at] != port_guid)
        return false;
    group->member_count--;
    memmove(group->members + at, group->members + at + 1,
            (group->member_count - at) * sizeof *group->members);
    sm->groups_dirty = true;
    sm_reconfigure(sm);
    return true;
}

void sm_groups_destroy(struct sm *sm)
{
    for (size_t i = 0; i < sm->group_count; i++)
        free(sm->groups[i].members);
    free(sm->groups);
}

/* ---------------------------------------------------------------- forwarding */

/* The port by which discovery came to a switch: the link to its parent in the tree. */
static uint32_t parent_port(const struct sm *sm, const struct sm_node *node)
{
    assert(node->type == MAD_NODE_SWITCH);
    for (uint32_t p = 1; p <= node->num_ports; p++) {
        uint32_t peer = sm->view.ports[node->first_port + p].peer;
        const struct sm_node *other;

        if (peer == SM_NONE)
            continue;
        other = &sm->view.nodes[sm->view.ports[peer].node];
        if (other->type == MAD_NODE_SWITCH && other->hops + 1 == node->hops &&
            memcmp(other->path, node->path, other->hops) == 0 &&
            node->path[other->hops] == sm->view.ports[peer].num)
            return node->first_port + p;
    }
    return SM_NONE;
}

static bool is_member(const struct sm *sm, const struct sm_group *group, uint32_t port)
{
    const struct sm_vport *end = &sm->view.ports[port];
    uint64_t guid;
    size_t at;

    assert(port < sm->view.port_count);
    if (end->record == SM_NONE)
        return false;
    guid = sm->records[end->record].guid;
    at = find_member(group, guid);
    return at < group->member_count && group->members[at] == guid;
}

/* ports[p] is set for every port of the view that the group's packets leave a switch by. Children
 * are found after their parents, so one pass backwards carries membership up to the root. */
static void mark_tree(const struct sm *sm, const struct sm_group *group, bool *ports)
{
    for (size_t s = sm->view.switch_count; s-- > 0;) {
        const struct sm_node *node = &sm->view.nodes[sm->view.switches[s]];
        bool any = false;
        uint32_t up;

        for (uint32_t p = node->first_port + 1; p <= node->first_port + node->num_ports; p++) {
            uint32_t peer = sm->view.ports[p].peer;

            if (peer != SM_NONE && is_member(sm, group, peer))
                ports[p] = true;
            any = any || ports[p];
        }
        up = any ? parent_port(sm, node) : SM_NONE;
        if (up == SM_NONE)
            continue;
        ports[sm->view.ports[up].peer] = true; /* the parent sends down */
        if (!PLANTED(sm_group_no_uplink))
            ports[up] = true; /* and the child up */
    }
}

void sm_group_masks(struct sm *sm, uint32_t node_index, uint8_t block, uint8_t position,
                    uint16_t *out)
{
    const struct sm_node *node = &sm->view.nodes[node_index];
    bool *ports = calloc(sm->view.port_count, sizeof *ports);

    assert(node_index < sm->view.node_count && position < 16);
    if (!ports)
        abort();
    for (size_t i = 0; i < MAD_MFT_PER_BLOCK; i++) {
        size_t group = block * (size_t)MAD_MFT_PER_BLOCK + i;

        out[i] = 0;
        if (group >= sm->group_count)
            continue;
        memset(ports, 0, sm->view.port_count * sizeof *ports);
        mark_tree(sm, &sm->groups[group], ports);
        for (uint32_t bit = 0; bit < 16; bit++) {
            uint32_t num = position * 16u + bit;

            if (num != 0 && num <= node->num_ports && ports[node->first_port + num])
                out[i] = (uint16_t)(out[i] | 1u << bit);
        }
    }
    free(ports);
}

void sm_queue_groups(struct sm *sm)
{
    size_t blocks = (sm->group_count + MAD_MFT_PER_BLOCK - 1) / MAD_MFT_PER_BLOCK;

    assert(blocks <= SM_GROUP_BLOCKS);
    if (!sm->groups_dirty && !sm->sweeping)
        return;
    sm->groups_dirty = false;
    for (size_t s = 0; s < sm->view.switch_count; s++) {
        const struct sm_node *node = &sm->view.nodes[sm->view.switches[s]];

        for (size_t block = 0; block < blocks; block++)
            for (size_t position = 0; position <= node->num_ports / 16u; position++)
                sm_request(sm, SM_OP_SET_MFT, node->first_port, (uint16_t)(position << 8 | block));
    }
}
