/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of ports, cables, tables and subnet managers. */
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"
#include "src/fabric/planted.h"

static const uint8_t zero_gid[16];

/* Everybody who might manage the network must know. */
#define EACH_MANAGER(target, sm)                                                                   \
    for (struct tb_sm *sm = (target)->tb->sms; sm < (target)->tb->sms + (target)->tb->sm_count;    \
         sm++)                                                                                     \
        if (sm->network == (target)->network)

static bool is_managed(const struct tb_target *target, char *detail)
{
    if (target->network && !target->network->ethernet)
        return true;
    tb_say(detail, "%s is no InfiniBand subnet",
           target->network ? target->network->name : "what is plugged in nowhere");
    return false;
}

static bool takes_back(struct tb_target *target, enum testbed_word word, uint64_t value, bool on)
{
    assert(word < TESTBED_WORD_COUNT);
    target->inverse.word = word;
    target->inverse.value = value;
    target->inverse.on = on;
    return true;
}

/* ------------------------------------------------------------------ ports and cables */

void tb_port_show_link(struct tb_port *port)
{
    struct net_port *end = tb_net_port(port);
    assert(end);
    if (net_port_peer(end))
        net_link_set_up(end, !port->down && !port->pulled);
}

/* The kernel takes the addresses of an interface that goes down out of the GID table. */
static void lose_gids(struct tb_port *port)
{
    struct net_port *end = tb_net_port(port);
    struct port_info *info = net_port_info(end), before = *info;
    if (info->link_layer != FABRIC_LINK_LAYER_ETHERNET || port->lost_gids)
        return;
    port->lost_gids = malloc(sizeof(info->gids));
    assert(port->lost_gids);
    memcpy(port->lost_gids, info->gids, sizeof(info->gids));
    memset(info->gids, 0, sizeof(info->gids));
    net_port_changed(end, &before);
}

static void regain_gids(struct tb_port *port)
{
    struct net_port *end = tb_net_port(port);
    struct port_info *info = net_port_info(end), before = *info;
    if (!port->lost_gids)
        return;
    for (size_t i = 0; i < PORT_GIDS; i++) {
        if (memcmp(info->gids[i].gid.raw, zero_gid, sizeof(zero_gid)) == 0)
            info->gids[i] = port->lost_gids[i];
    }
    free(port->lost_gids);
    port->lost_gids = NULL;
    net_port_changed(end, &before);
}

static bool port_down(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    bool down = fault->word == TESTBED_PORT_DOWN;
    assert(target->port && (down || fault->word == TESTBED_PORT_UP));
    (void)detail;
    if (target->port->down == down)
        return true;
    target->port->down = down;
    if (down)
        lose_gids(target->port);
    tb_port_show_link(target->port);
    if (!down)
        regain_gids(target->port);
    return takes_back(target, down ? TESTBED_PORT_UP : TESTBED_PORT_DOWN, 0, false);
}

static bool cable(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    bool pull = fault->word == TESTBED_CABLE_PULL;
    assert(target->port && (pull || fault->word == TESTBED_CABLE_PLUG));
    if (!net_port_peer(tb_net_port(target->port))) {
        tb_say(detail, "no cable is plugged into %s of node '%s'", sim_device_name(target->device),
               target->node->name);
        return false;
    }
    if (target->port->pulled == pull)
        return true;
    target->port->pulled = pull;
    tb_port_show_link(target->port);
    return takes_back(target, pull ? TESTBED_CABLE_PLUG : TESTBED_CABLE_PULL, 0, false);
}

/* The link faults of one direction: from the port outwards. */
static bool link_fault(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct tb_port *port = target->port;
    struct net_port *from = tb_net_port(port);
    assert(port && port->node == target->node);
    uint32_t ppm = fault->value < 1000000 ? (uint32_t)fault->value : 1000000;
    if (!net_port_peer(from)) {
        tb_say(detail, "nothing is plugged into %s of node '%s'", sim_device_name(target->device),
               target->node->name);
        return false;
    }
    switch (fault->word) {
    case TESTBED_LOSS:
        takes_back(target, fault->word, port->loss, false);
        net_link_set_loss(from, port->loss = ppm);
        break;
    case TESTBED_CUT:
        takes_back(target, fault->word, 0, port->cut);
        net_link_set_cut(from, port->cut = fault->on);
        break;
    case TESTBED_REORDER:
        takes_back(target, fault->word, port->reorder, false);
        net_link_set_reorder(from, port->reorder = ppm);
        break;
    case TESTBED_DUPLICATE:
        takes_back(target, fault->word, port->duplicate, false);
        net_link_set_duplicate(from, port->duplicate = ppm);
        break;
    default:
        takes_back(target, fault->word, 0, false);
        target->inverse.duration = port->delay;
        target->inverse.jitter = port->jitter;
        net_link_set_delay(from, port->delay = fault->duration, port->jitter = fault->jitter);
    }
    return true;
}

static bool read_mtu(const struct testbed_fault *fault, enum fabric_mtu *out, char *detail)
{
    *out = fabric_mtu_code((uint32_t)fault->value);
    if (!*out)
        tb_say(detail, "%llu is no MTU; 256, 512, 1024, 2048 or 4096 is",
               (unsigned long long)fault->value);
    return *out != 0;
}

static bool mtu_set(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct net_port *port = tb_net_port(target->port);
    struct port_info *info = net_port_info(port), before = *info;
    enum fabric_mtu mtu;
    if (!read_mtu(fault, &mtu, detail))
        return false;
    enum fabric_mtu old =
        target->port->active_mtu ? target->port->active_mtu : (enum fabric_mtu)info->mtu_cap;
    if (info->link_layer == FABRIC_LINK_LAYER_ETHERNET) {
        old = (enum fabric_mtu)info->active_mtu;
        info->active_mtu = (uint8_t)mtu;
        net_port_changed(port, &before);
    } else if (is_managed(target, detail)) {
        EACH_MANAGER(target, sm)
        {
            sm_mtu_set(sm->sm, info->guid, (uint8_t)mtu);
        }
    } else
        return false;
    target->port->active_mtu = mtu;
    return takes_back(target, fault->word, fabric_mtu_bytes(old), false);
}

static bool link_mtu(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    enum fabric_mtu mtu, old = target->port->link_mtu ? target->port->link_mtu : FABRIC_MTU_4096;
    struct net_port *end = tb_net_port(target->port);
    if (!read_mtu(fault, &mtu, detail))
        return false;
    if (!net_port_peer(end)) {
        tb_say(detail, "no cable is plugged in");
        return false;
    }
    target->port->link_mtu = mtu;
    net_link_set_mtu(end, mtu);
    return takes_back(target, fault->word, fabric_mtu_bytes(old), false);
}

static bool grh_required(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct net_port *port = tb_net_port(target->port);
    struct port_info *info = net_port_info(port), before = *info;
    (void)detail;
    info->grh_required = fault->on;
    net_port_changed(port, &before);
    return takes_back(target, fault->word, 0, before.grh_required);
}

/* ------------------------------------------------------------------ GIDs */

static bool gid_change(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct net_port *port = tb_net_port(target->port);
    struct port_info *info = net_port_info(port), before = *info;
    struct tb_undo undo = {.kind = UNDO_GIDS, .port = target->port};
    if (fault->index >= info->gid_count ||
        (fault->word == TESTBED_GID_MOVE && fault->value >= info->gid_count)) {
        tb_say(detail, "the GID table has %u entries", info->gid_count);
        return false;
    }
    struct port_gid *entry = &info->gids[fault->index];
    if (fault->word != TESTBED_GID_ADD && memcmp(entry->gid.raw, zero_gid, sizeof(zero_gid)) == 0) {
        tb_say(detail, "entry %u of the GID table is empty", fault->index);
        return false;
    }
    memcpy(undo.gids, info->gids, sizeof(undo.gids));
    undo.prefix = info->gid_prefix;
    undo.gids_touched = 1u << fault->index;
    if (fault->word == TESTBED_GID_MOVE)
        undo.gids_touched |= 1u << fault->value;
    if (fault->word == TESTBED_GID_ADD) {
        memcpy(entry->netdev,
               target->port->network && target->port->network->ethernet ? info->gids[0].netdev
                                                                        : (char[16]){0},
               sizeof(entry->netdev));
        entry->gid = fault->gid;
        entry->type = (uint8_t)fault->gid_type;
    } else {
        const struct port_gid moved = *entry;
        *entry = (struct port_gid){0};
        if (fault->word == TESTBED_GID_MOVE)
            info->gids[fault->value] = moved;
    }
    net_port_changed(port, &before);
    tb_undo_later(target->tb, &undo);
    return true;
}

/* ------------------------------------------------------------------ what managers decide */

static bool lid_set(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    uint64_t guid = tb_port_guid(target->port);
    if (!is_managed(target, detail))
        return false;
    uint16_t old = sm_lid_of(tb_master(target->tb, target->network)->sm, guid);
    EACH_MANAGER(target, sm)
    {
        if (fault->value > UINT16_MAX || !sm_lid_set(sm->sm, guid, (uint16_t)fault->value)) {
            tb_say(detail, "%llu is no usable LID (1 to 49151, a multiple of 2^LMC)",
                   (unsigned long long)fault->value);
            return false;
        }
    }
    return old ? takes_back(target, fault->word, old, false) : true;
}

static bool lid_swap(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    bool done = false;
    if (!is_managed(target, detail))
        return false;
    EACH_MANAGER(target, sm)
    {
        done |= sm_lid_swap(sm->sm, tb_port_guid(target->port), tb_port_guid(target->peer_port));
    }
    if (!done)
        tb_say(detail, "not both ports have a LID yet");
    return done && takes_back(target, fault->word, 0, false);
}

static bool lmc_set(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    uint8_t old = target->network->lmc;
    if (!is_managed(target, detail))
        return false;
    EACH_MANAGER(target, sm)
    {
        if (fault->value > 7 || !sm_lmc_set(sm->sm, (uint8_t)fault->value)) {
            tb_say(detail, "an LMC is 0 to 7");
            return false;
        }
    }
    target->network->lmc = (uint8_t)fault->value;
    return takes_back(target, fault->word, old, false);
}

static bool change_pkey(struct sm *sm, uint64_t guid, const struct testbed_fault *fault)
{
    uint16_t pkey = (uint16_t)fault->value, index = (uint16_t)fault->index;
    switch (fault->word) {
    case TESTBED_PKEY_SET:
        return sm_pkey_set(sm, guid, pkey, index);
    case TESTBED_PKEY_REMOVE:
        return sm_pkey_remove(sm, guid, pkey);
    case TESTBED_PKEY_MOVE:
        return sm_pkey_move(sm, guid, pkey, index);
    default:
        return sm_pkey_limited(sm, guid, pkey, fault->on);
    }
}

static bool pkey_change(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct tb_undo undo = {.kind = UNDO_PKEYS, .port = target->port};
    uint64_t guid = tb_port_guid(target->port);
    if (!is_managed(target, detail))
        return false;
    sm_pkey_table(tb_master(target->tb, target->network)->sm, guid, undo.pkeys);
    EACH_MANAGER(target, sm)
    {
        if (fault->value > UINT16_MAX || !change_pkey(sm->sm, guid, fault)) {
            tb_say(detail, "the port has no P_Key 0x%04x, or no entry %u",
                   (unsigned)fault->value & 0xffff, fault->index);
            return false;
        }
    }
    tb_undo_later(target->tb, &undo);
    return true;
}

static bool prefix_set(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    uint64_t old = target->network->prefix;
    if (!is_managed(target, detail))
        return false;
    EACH_MANAGER(target, sm)
    {
        sm_prefix_set(sm->sm, fault->value);
    }
    target->network->prefix = fault->value;
    return takes_back(target, fault->word, old, false);
}

/* One SL of every map; taking it back gives each port what its own map says. */
static bool sl_map(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    bool back = fault->value == TB_AS_IT_CAME;
    if (!is_managed(target, detail))
        return false;
    if (fault->index > 15 || (fault->value > 15 && !back)) {
        tb_say(detail, "service levels and virtual lanes are 0 to 15");
        return false;
    }
    if (back && PLANTED(testbed_sl_map_stays))
        return true;
    EACH_MANAGER(target, sm)
    {
        sm_sl_set(sm->sm, (uint8_t)fault->index, back ? SM_SL_BY_MAP : (uint8_t)fault->value);
    }
    takes_back(target, fault->word, TB_AS_IT_CAME, false);
    target->inverse.index = fault->index;
    return true;
}

/* ------------------------------------------------------------------ managers */

static bool sm_life(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct tb_sm *sm = target->sm;
    assert(sm->sm);
    (void)detail;
    if (fault->word == TESTBED_SM_RESTART) {
        sm_restart(sm->sm, true);
        sm->started = true;
        return true;
    }
    bool start = fault->word == TESTBED_SM_START;
    if (sm->started == start)
        return true;
    sm->started = start;
    if (start)
        sm_start(sm->sm);
    else
        sm_stop(sm->sm);
    return takes_back(target, start ? TESTBED_SM_STOP : TESTBED_SM_START, 0, false);
}

/* The priorities of the topology again, and the best of them is master. */
static bool hand_back(struct tb_target *target, struct tb_sm *master)
{
    EACH_MANAGER(target, sm)
    {
        sm_set_priority(sm->sm, sm->priority);
    }
    sm_sweep(master->sm);
    return true;
}

/* A handover between equals, or to a lesser one, changes priorities: else it would not last. */
static bool sm_take_over(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct tb_sm *master = tb_master(target->tb, target->network);
    if (fault->value == TB_AS_IT_CAME && !PLANTED(testbed_priority_stays))
        return hand_back(target, master);
    if (master == target->sm)
        return true;
    if (!sm_handover(master->sm, target->sm->sm)) {
        tb_say(detail, "'%s' is no running standby, or '%s' is no master yet", target->sm->name,
               master->name);
        return false;
    }
    target->inverse.sm = master->name;
    return takes_back(target, TESTBED_SM_HANDOVER, TB_AS_IT_CAME, false);
}

static bool sm_service(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct tb_sm *sm = target->sm;
    (void)detail;
    takes_back(target, fault->word, 0, sm_refuses(sm->sm));
    if (fault->word == TESTBED_SM_REFUSE) {
        sm_refuse(sm->sm, fault->on);
        return true;
    }
    target->inverse.duration = sm->delay;
    sm->delay = fault->duration;
    sm_set_delay(sm->sm, sm->delay);
    return true;
}

tb_act tb_fabric_act(enum testbed_word word)
{
    static const tb_act acts[TESTBED_WORD_COUNT] = {
        [TESTBED_PORT_DOWN] = port_down,
        [TESTBED_PORT_UP] = port_down,
        [TESTBED_CABLE_PULL] = cable,
        [TESTBED_CABLE_PLUG] = cable,
        [TESTBED_SM_START] = sm_life,
        [TESTBED_SM_STOP] = sm_life,
        [TESTBED_SM_RESTART] = sm_life,
        [TESTBED_SM_HANDOVER] = sm_take_over,
        [TESTBED_SM_SLOW] = sm_service,
        [TESTBED_SM_REFUSE] = sm_service,
        [TESTBED_LID_SET] = lid_set,
        [TESTBED_LID_SWAP] = lid_swap,
        [TESTBED_LMC_SET] = lmc_set,
        [TESTBED_PKEY_SET] = pkey_change,
        [TESTBED_PKEY_REMOVE] = pkey_change,
        [TESTBED_PKEY_MOVE] = pkey_change,
        [TESTBED_PKEY_LIMITED] = pkey_change,
        [TESTBED_GID_ADD] = gid_change,
        [TESTBED_GID_REMOVE] = gid_change,
        [TESTBED_GID_MOVE] = gid_change,
        [TESTBED_MTU_SET] = mtu_set,
        [TESTBED_LINK_MTU] = link_mtu,
        [TESTBED_GRH_REQUIRED] = grh_required,
        [TESTBED_PREFIX_SET] = prefix_set,
        [TESTBED_SL_MAP] = sl_map,
        [TESTBED_LOSS] = link_fault,
        [TESTBED_CUT] = link_fault,
        [TESTBED_DELAY] = link_fault,
        [TESTBED_REORDER] = link_fault,
        [TESTBED_DUPLICATE] = link_fault,
    };
    return acts[word];
}
