/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is master (chapter 14.4.1): the higher priority, then the lower GUID. A manager that finds a
 * master goes to standby, whatever their priorities; a master that finds a better one hands over.
 */
#include <assert.h>
#include <stdlib.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

static uint64_t own_guid(const struct sm *sm)
{
    return sma_port_guid(sm->port);
}

/* Whether the other manager outranks this one. */
static bool outranked_by(const struct sm *sm, const struct mad_sm_info *other)
{
    if (other->priority != sm->config.priority && !PLANTED(sm_priority_ignored))
        return other->priority > sm->config.priority;
    if (PLANTED(sm_higher_guid_wins))
        return other->guid > own_guid(sm);
    return other->guid < own_guid(sm);
}

void sm_peer_found(struct sm *sm, uint32_t port, const uint8_t *data)
{
    assert(port < sm->view.port_count);
    sm->peers = sm_grow(sm->peers, sm->peer_count + 1, sizeof *sm->peers);
    sm->peers[sm->peer_count].port = port;
    mad_sm_info_decode(data, &sm->peers[sm->peer_count].info);
    sm->peer_count++;
}

static const char *state_name(enum sm_state state)
{
    static const char *const names[] = {"not-active", "discovering", "standby", "master"};

    return names[state];
}

/* Nothing known of what the ports and switches are set to holds any more. */
static void forget_settings(struct sm *sm)
{
    sm->complete = false;
    for (size_t i = 0; i < sm->record_count; i++) {
        sm->records[i].seen = 0;
        free(sm->records[i].lft);
        sm->records[i].lft = NULL;
        sm->records[i].lft_top = 0;
    }
}

void sm_set_state(struct sm *sm, enum sm_state state)
{
    assert(state <= SM_MASTER);
    if (state == sm->state)
        return;
    SIM_TRACE(sm->sim, net_node_name(net_port_node(sm->port)), "sm %s", state_name(state));
    sm->state = state;
    sm->first_sweep = state == SM_MASTER;
    if (state == SM_MASTER)
        return;
    forget_settings(sm); /* another one sets the ports from now on */
}

/* The best of the others in `state`; null when there is none. */
static const struct sm_peer *best_peer(const struct sm *sm, enum sm_state state)
{
    const struct sm_peer *best = NULL;

    for (size_t i = 0; i < sm->peer_count; i++) {
        const struct sm_peer *peer = &sm->peers[i];

        if (peer->info.state != state)
            continue;
        if (!best || peer->info.priority > best->info.priority ||
            (peer->info.priority == best->info.priority && peer->info.guid < best->info.guid))
            best = peer;
    }
    return best;
}

static void stand_by(struct sm *sm, uint64_t master_guid)
{
    assert(sm->outstanding == 0);
    sm_set_state(sm, SM_STANDBY);
    sm->master_guid = master_guid;
    sm->polls_unanswered = 0;
    sm->heavy_wanted = false;
    sm->phase = SM_PHASE_IDLE;
    sm_schedule(sm);
}

static void control(struct sm *sm, uint32_t port, enum mad_sm_control what)
{
    assert(port < sm->view.port_count && what >= MAD_SM_HANDOVER && what <= MAD_SM_DISCOVER);
    sm_request(sm, SM_OP_CONTROL, port, (uint16_t)what);
}

static bool elect_while_discovering(struct sm *sm)
{
    const struct sm_peer *other = best_peer(sm, SM_MASTER);

    assert(sm->state == SM_DISCOVERING);
    if (!other)
        other = best_peer(sm, SM_STANDBY);
    if (!other)
        other = best_peer(sm, SM_DISCOVERING);
    if (other && (other->info.state == SM_MASTER || outranked_by(sm, &other->info)) &&
        !PLANTED(sm_two_masters)) {
        stand_by(sm, other->info.guid);
        return false;
    }
    sm_set_state(sm, SM_MASTER);
    return true;
}

/* A better one is waiting: it gets the subnet. A worse master will hand its part to us. */
static bool elect_as_master(struct sm *sm)
{
    const struct sm_peer *other = best_peer(sm, SM_MASTER);

    assert(sm->state == SM_MASTER);
    if (!other || !outranked_by(sm, &other->info))
        other = best_peer(sm, SM_STANDBY);
    if (!other || !outranked_by(sm, &other->info) || PLANTED(sm_keeps_subnet)) {
        other = best_peer(sm, SM_DISCOVERING);
        sm->look_again = other && outranked_by(sm, &other->info);
        return true;
    }
    sm->phase = SM_PHASE_HANDOVER;
    sm->failed = true; /* look again soon should it not acknowledge */
    sm->master_guid = other->info.guid;
    control(sm, other->port, MAD_SM_HANDOVER);
    return false;
}

bool sm_elect(struct sm *sm)
{
    uint32_t own = sm_own_port(sm);

    sm->act_count++;
    if (own == SM_NONE || !sm->view.ports[own].known) { /* not even our own agent answered */
        sm->failed = true;
        sm->phase = SM_PHASE_IDLE;
        sm_schedule(sm);
        return false;
    }
    if (sm->state == SM_MASTER)
        return elect_as_master(sm);
    return elect_while_discovering(sm);
}

/* ---------------------------------------------------------------- standby */

static uint32_t peer_port(const struct sm *sm, uint64_t guid)
{
    for (size_t i = 0; i < sm->peer_count; i++)
        if (sm->peers[i].info.guid == guid)
            return sm->peers[i].port;
    return SM_NONE;
}

static void discover_again(struct sm *sm)
{
    sm_set_state(sm, SM_DISCOVERING);
    sm->heavy_wanted = true;
}

void sm_poll_master(struct sm *sm)
{
    uint32_t port = peer_port(sm, sm->master_guid);

    assert(sm->state == SM_STANDBY);
    if (port == SM_NONE) { /* it came after our discovery */
        discover_again(sm);
        sm_schedule(sm);
        return;
    }
    sm->phase = SM_PHASE_POLL;
    sm_request(sm, SM_OP_POLL_SM, port, 0);
}

void sm_polled(struct sm *sm, const uint8_t *data)
{
    struct mad_sm_info info;

    if (sm->state == SM_MASTER && data) {
        mad_sm_info_decode(data, &info);
        sm->heavy_wanted = sm->heavy_wanted || outranked_by(sm, &info);
    }
    if (sm->state != SM_STANDBY)
        return;
    if (!data) {
        if (++sm->polls_unanswered >= sm->config.poll_retries && !PLANTED(sm_standby_sleeps))
            discover_again(sm);
        return;
    }
    sm->polls_unanswered = 0;
    mad_sm_info_decode(data, &info);
    if (info.state != SM_MASTER && (info.state != SM_DISCOVERING || !outranked_by(sm, &info)))
        discover_again(sm);
}

/* ---------------------------------------------------------------- handover */

void sm_controlled(struct sm *sm, const struct sm_request *request, bool answered)
{
    if (request->arg != MAD_SM_HANDOVER || answered)
        return;
    sm->failed = true; /* it died just now: go on as master */
    sm->heavy_wanted = true;
}

static void take_over(struct sm *sm, uint64_t from)
{
    uint32_t port = peer_port(sm, from);

    assert(sm->state == SM_STANDBY || sm->state == SM_MASTER);
    sm_requests_drop(sm);
    sm->phase = SM_PHASE_IDLE;
    if (sm->state == SM_MASTER) /* the other one was master too, of a part or of all of it */
        forget_settings(sm);
    sm_set_state(sm, SM_MASTER);
    sm->first_sweep = true;
    sm->stats.handovers++;
    sm->heavy_wanted = true;
    if (port != SM_NONE) {
        sm->phase = SM_PHASE_HANDOVER;
        if (!PLANTED(sm_no_acknowledge))
            control(sm, port, MAD_SM_ACKNOWLEDGE);
    }
    sm_schedule(sm);
    sm_pump(sm);
}

static void was_acknowledged(struct sm *sm, uint64_t by)
{
    assert(sm->state == SM_MASTER);
    sm_requests_drop(sm);
    sm->phase = SM_PHASE_IDLE;
    stand_by(sm, by);
}

void sm_rest(struct sm *sm)
{
    sm_requests_drop(sm);
    if (sm->sweep_timer)
        sim_cancel(sm->sim, sm->sweep_timer);
    sm->sweep_timer = 0;
    sm->phase = SM_PHASE_IDLE;
    sm->heavy_wanted = sm->sweeping = sm->failed = false;
    sm_set_state(sm, SM_NOT_ACTIVE);
    assert(sm->outstanding == 0);
}

/* A master takes a standby out of the election, and puts it back (chapter 14.4.1). */
static void disable(struct sm *sm)
{
    sm_rest(sm);
    sm->disabled = true;
}

static void enable(struct sm *sm, uint64_t master_guid)
{
    sm->disabled = false;
    stand_by(sm, master_guid);
}

/* Whether the control is one for a manager in this state (figure of chapter 14.4.1.4). */
static bool may_be_told(const struct sm *sm, enum mad_sm_control what)
{
    assert(sm->state <= SM_MASTER);
    switch (what) {
    case MAD_SM_HANDOVER:
        return sm->state == SM_STANDBY || sm->state == SM_MASTER;
    case MAD_SM_ACKNOWLEDGE:
        return sm->state == SM_MASTER;
    case MAD_SM_DISABLE:
        return sm->state == SM_STANDBY || sm->disabled;
    case MAD_SM_STANDBY:
        return sm->state == SM_STANDBY || sm->disabled;
    case MAD_SM_DISCOVER:
        return sm->state == SM_STANDBY;
    }
    return false;
}

static void obey(struct sm *sm, enum mad_sm_control what, const struct mad_sm_info *from)
{
    assert(may_be_told(sm, what));
    if (what == MAD_SM_HANDOVER) {
        take_over(sm, from->guid);
    } else if (what == MAD_SM_ACKNOWLEDGE) {
        was_acknowledged(sm, from->guid);
    } else if (what == MAD_SM_DISABLE && !PLANTED(sm_disable_ignored)) {
        disable(sm);
    } else if (what == MAD_SM_STANDBY && sm->disabled && !PLANTED(sm_standby_ignored)) {
        enable(sm, from->guid);
    } else if (what == MAD_SM_DISCOVER) {
        discover_again(sm);
        sm_schedule(sm);
    }
}

/* SMInfo as another manager reads and sets it. The answer leaves first. */
void sm_info_request(struct sm *sm, const struct mad *mad, uint16_t slid)
{
    struct mad_sm_info own = {
        .guid = own_guid(sm),
        .act_count = sm->act_count,
        .priority = sm->config.priority,
        .state = (uint8_t)sm->state,
    };
    struct mad_sm_info from;
    struct mad *answer = mad_new();
    enum mad_sm_control what = (enum mad_sm_control)mad_modifier(mad);
    bool is_set = mad_method(mad) == MAD_SET, may = !is_set || may_be_told(sm, what);

    assert(mad_attribute(mad) == MAD_SM_INFO && !mad_is_response(mad));
    mad_sm_info_decode(mad_data_const(mad), &from);
    *answer = *mad;
    mad_sm_info_encode(mad_data(answer), &own);
    mad_make_response(answer, may ? MAD_STATUS_OK : MAD_STATUS_BAD_FIELD);
    sma_send(sm->sma, sm->port, answer, slid);
    if (is_set && may)
        obey(sm, what, &from);
}
