/* SPDX-License-Identifier: Apache-2.0 */
/* Set(PortInfo), chapter 14.2.5.6, and the M_Key, chapter 14.2.4. */
#include <assert.h>

#include "fabric_sim/world/bytes.h"
#include "fabric_sim/world/sma_state.h"
#include "src/fabric/planted.h"

#define SECOND UINT64_C(1000000000)

/* Whether this port's LID is its own: not on the external ports of a switch. */
static bool has_lid(const struct net_port *port)
{
    return net_node_kind(net_port_node(port)) != NET_SWITCH || net_port_num(port) == 0;
}

static bool is_external(const struct net_port *port)
{
    return net_port_num(port) != 0;
}

/* The logical port state machine as far as a manager drives it: Initialize to Armed to Active;
 * naming the present state changes nothing (chapter 7.2.7). */
static bool transition_legal(uint8_t from, uint8_t to)
{
    switch (to) {
    case FABRIC_PORT_NOP:
    case FABRIC_PORT_DOWN:
        return true;
    case FABRIC_PORT_ARMED:
        return from == FABRIC_PORT_INIT || from == FABRIC_PORT_ARMED;
    case FABRIC_PORT_ACTIVE:
        if (PLANTED(sm_init_to_active))
            return from >= FABRIC_PORT_INIT;
        return from == FABRIC_PORT_ARMED || from == FABRIC_PORT_ACTIVE;
    default:
        return false;
    }
}

static uint8_t vl_count(uint8_t code)
{
    static const uint8_t counts[] = {0, 1, 2, 4, 8, 15};

    return code < sizeof counts ? counts[code] : 0;
}

static bool lid_usable(uint16_t lid)
{
    return lid >= 1 && lid <= LID_UNICAST_LAST;
}

/* Every GID of the port is its prefix before a GUID (chapter 4.1.1). */
static void set_prefix(struct port_info *info, uint64_t prefix)
{
    info->gid_prefix = prefix;
    for (uint32_t i = 0; i < info->gid_count && i < PORT_GIDS; i++) {
        struct port_gid *gid = &info->gids[i];
        if (gid->type == FABRIC_GID_TYPE_IB && bytes_get64(gid->gid.raw + 8) &&
            !PLANTED(sm_gids_keep_prefix))
            bytes_put64(gid->gid.raw, prefix);
    }
}

static uint16_t apply_address(struct port_info *info, const struct mad_port_info *set)
{
    assert(set->lmc < 8);
    if (!lid_usable(set->lid))
        return MAD_STATUS_BAD_FIELD;
    info->lid = set->lid;
    info->lmc = set->lmc;
    info->sm_lid = set->master_sm_lid;
    info->sm_sl = set->master_sm_sl;
    if (!PLANTED(sm_prefix_ignored))
        set_prefix(info, set->gid_prefix);
    info->subnet_timeout = set->subnet_timeout;
    return MAD_STATUS_OK;
}

/* 0 means no change for both (table 146). */
static uint16_t apply_link(struct port_info *info, const struct mad_port_info *set)
{
    uint16_t status = MAD_STATUS_OK;

    assert(info->mtu_cap >= FABRIC_MTU_256 && info->mtu_cap <= FABRIC_MTU_4096);
    if (set->neighbor_mtu > info->mtu_cap)
        status = MAD_STATUS_BAD_FIELD;
    else if (set->neighbor_mtu != 0)
        info->active_mtu = set->neighbor_mtu;
    if (vl_count(set->oper_vls) > info->vl_cap)
        status = MAD_STATUS_BAD_FIELD;
    else if (set->oper_vls != 0)
        info->oper_vls = vl_count(set->oper_vls);
    info->partition_enforce_in = set->partition_enforce_in;
    info->partition_enforce_out = set->partition_enforce_out;
    return status;
}

static uint16_t apply_state(struct sma *sma, struct port_info *info, uint8_t wanted)
{
    assert(info->state >= FABRIC_PORT_DOWN && info->state <= FABRIC_PORT_ACTIVE);
    if (!transition_legal(info->state, wanted)) {
        sma->stats.illegal_transitions++;
        return MAD_STATUS_BAD_FIELD;
    }
    if (wanted == FABRIC_PORT_ARMED || wanted == FABRIC_PORT_ACTIVE)
        info->state = wanted;
    return MAD_STATUS_OK;
}

/* Down retrains a link that is up; Disabled keeps it down until Polling is set. */
static void apply_physical(struct net_port *port, const struct mad_port_info *set)
{
    bool is_up = net_port_info(port)->state != FABRIC_PORT_DOWN;

    if (!is_external(port) || !net_port_peer(port))
        return;
    if (set->port_phys_state == MAD_PHYS_DISABLED) {
        net_port_set_disabled(port, true);
    } else if (set->port_state == FABRIC_PORT_DOWN && is_up) {
        net_link_set_up(port, false);
        net_link_set_up(port, true);
    } else if (set->port_phys_state == MAD_PHYS_POLLING) {
        net_port_set_disabled(port, false);
    }
}

static bool same_attributes(const struct port_info *a, const struct port_info *b)
{
    return a->lid == b->lid && a->lmc == b->lmc && a->sm_lid == b->sm_lid && a->sm_sl == b->sm_sl &&
           a->gid_prefix == b->gid_prefix && a->subnet_timeout == b->subnet_timeout &&
           a->active_mtu == b->active_mtu && a->oper_vls == b->oper_vls && a->state == b->state &&
           a->partition_enforce_in == b->partition_enforce_in &&
           a->partition_enforce_out == b->partition_enforce_out;
}

/* Tells the others once, with everything this Set changed; re-registration is raised even when
 * nothing else is, and then over. */
static void announce(struct sma *sma, struct net_port *port, const struct port_info *before,
                     bool reregister)
{
    struct sma_agent *agent = sma_agent_of(sma, port);
    struct port_info *info = net_port_info(port);

    assert(!agent->applying);
    if (same_attributes(before, info) && !reregister)
        return;
    if (!PLANTED(sm_reregister_lost))
        info->client_reregister = reregister;
    agent->applying = true;
    net_port_changed(port, before);
    agent->applying = false;
    info->client_reregister = 0;
}

uint16_t sma_set_port_info(struct sma *sma, struct net_port *port, const uint8_t *data)
{
    struct sma_port *state = sma_port_of(sma, port);
    struct port_info *info = net_port_info(port), before = *info;
    struct mad_port_info set;
    uint16_t status = MAD_STATUS_OK;

    assert(state && info);
    mad_port_info_decode(data, &set);
    if (has_lid(port)) {
        status |= apply_address(info, &set);
        state->m_key = set.m_key;
        state->m_key_protect = set.m_key_protect_bits;
        state->m_key_lease = set.m_key_lease_period;
    }
    if (is_external(port)) {
        status |= apply_link(info, &set);
        status |= apply_state(sma, info, set.port_state);
        state->vl_high_limit = set.vl_high_limit;
    }
    announce(sma, port, &before, set.client_reregister && has_lid(port));
    apply_physical(port, &set);
    return status;
}

/* The lease ran out: whoever asks may read the key, and go on with it (chapter 14.2.4.2). */
static void lease_ended(void *object, uint64_t unused)
{
    struct sma_port *state = object;

    (void)unused;
    assert(state->lease && state->m_key_lease);
    state->lease = 0;
    if (!PLANTED(sm_lease_endless))
        state->m_key_protect = 0;
}

/* The first wrong key after a right one starts the lease's end, a right one stops it. */
static void count_lease(struct sma *sma, struct sma_port *state, bool right)
{
    assert(state->m_key != 0);
    if (right && !PLANTED(sm_lease_not_renewed)) {
        sim_cancel(sma->sim, state->lease);
        state->lease = 0;
    } else if (!right && state->m_key_lease && !state->lease) {
        state->lease = sim_in(sma->sim, state->m_key_lease * SECOND, lease_ended, state, 0);
    }
}

/* Table 147: protected Sets always need the key, Gets from level 2 on. */
bool sma_mkey_allows(struct sma *sma, struct net_port *port, const struct mad *mad, uint16_t slid)
{
    struct sma_port *state = sma_port_of(sma, sma_lid_port(port));
    struct mad_notice notice = {
        .type = MAD_NOTICE_SECURITY,
        .trap_number = MAD_TRAP_BAD_MKEY,
    };

    assert(mad_method(mad) != MAD_TRAP);
    if (state->m_key == 0)
        return true;
    if (mad_mkey(mad) == state->m_key || PLANTED(sm_mkey_unchecked)) {
        count_lease(sma, state, true);
        return true;
    }
    if (mad_method(mad) == MAD_GET && state->m_key_protect < 2)
        return true;
    count_lease(sma, state, false);
    sma->stats.mkey_violations++;
    if (state->m_key_violations < 0xFFFF)
        state->m_key_violations++;
    if (!PLANTED(sm_mkey_trap_empty))
        mad_describe_bad_mkey(mad, slid, &notice);
    sma_trap_raise(sma, port, &notice);
    return false;
}
