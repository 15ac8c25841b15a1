/* SPDX-License-Identifier: Apache-2.0 */
/* The order of work: heavy sweeps and their phases, reconfigurations, light sweeps, polls. */
#include <assert.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

#define RETRY_SWEEP UINT64_C(1000000000) /* ns after a sweep that could not do everything */

/* ---------------------------------------------------------------- phases */

static void trace_up(struct sm *sm)
{
    SIM_TRACE(sm->sim, net_node_name(net_port_node(sm->port)), "sm subnet up, %zu nodes",
              sm->view.node_count);
}

static void finish(struct sm *sm)
{
    assert(sm->state == SM_MASTER && sm->outstanding == 0);
    sm->complete = !sm->failed;
    if (!sm->failed) {
        sm->first_sweep = false;
        sm->reassign = false;
        trace_up(sm);
    }
    if (sm->sweeping)
        sm->stats.heavy_sweeps++;
    else
        sm->stats.reconfigurations++;
    sm->sweeping = false;
    sm->phase = SM_PHASE_IDLE;
    sm_schedule(sm);
}

static void begin_lids(struct sm *sm)
{
    assert(sm->state == SM_MASTER && sm_own_port(sm) != SM_NONE);
    sm->phase = SM_PHASE_LIDS;
    sm_lids_assign(sm);
    sm_queue_lids(sm);
}

static void begin_routes(struct sm *sm)
{
    sm->phase = SM_PHASE_ROUTES;
    sm_routes_compute(sm);
    sm_queue_routes(sm);
    sm_queue_groups(sm);
}

/* Addresses and everything else first, then Armed everywhere, then Active everywhere: an Active
 * port next to one that is not ready would lose packets (chapter 14.4.6). */
void sm_phase_next(struct sm *sm)
{
    assert(sm->outstanding == 0);
    switch (sm->phase) {
    case SM_PHASE_DISCOVER:
        if (sm_elect(sm))
            begin_lids(sm);
        break;
    case SM_PHASE_LIDS:
        sm->phase = SM_PHASE_PKEYS;
        sm_queue_pkeys(sm);
        sm_queue_sl_maps(sm);
        break;
    case SM_PHASE_PKEYS:
        begin_routes(sm);
        break;
    case SM_PHASE_ROUTES:
        sm->phase = SM_PHASE_LINKS;
        sm_queue_links(sm);
        break;
    case SM_PHASE_LINKS:
        sm->phase = SM_PHASE_ARM;
        sm_queue_state(sm, SM_OP_SET_ARMED);
        break;
    case SM_PHASE_ARM:
        sm->phase = SM_PHASE_ACTIVATE;
        sm_queue_state(sm, SM_OP_SET_ACTIVE);
        break;
    case SM_PHASE_ACTIVATE:
        finish(sm);
        break;
    case SM_PHASE_LIGHT:
        sm->stats.light_sweeps++;
        sm->phase = SM_PHASE_IDLE;
        sm_schedule(sm);
        break;
    case SM_PHASE_POLL:
    case SM_PHASE_HANDOVER:
        sm->phase = SM_PHASE_IDLE;
        sm_schedule(sm);
        break;
    case SM_PHASE_IDLE:
        break;
    }
}

/* ---------------------------------------------------------------- when */

static void light_sweep(struct sm *sm)
{
    assert(sm->phase == SM_PHASE_IDLE);
    sm->phase = SM_PHASE_LIGHT;
    for (size_t i = 0; i < sm->view.switch_count; i++)
        sm_request(sm, SM_OP_POLL_SWITCH, sm->view.nodes[sm->view.switches[i]].first_port, 0);
    for (size_t i = 0; i < sm->peer_count; i++)
        sm_request(sm, SM_OP_POLL_SM, sm->peers[i].port, 0);
    /* without a switch nobody else tells that the link went and came */
    if (sm_own_port(sm) != SM_NONE)
        sm_request(sm, SM_OP_POLL_PORT, sm_own_port(sm), 0);
}

static void due(void *object, uint64_t unused)
{
    struct sm *sm = object;

    (void)unused;
    sm->sweep_timer = 0;
    assert(sm->phase == SM_PHASE_IDLE && sm->state != SM_NOT_ACTIVE);
    if (sm->state == SM_STANDBY)
        sm_poll_master(sm);
    else if (sm->state == SM_DISCOVERING || sm->failed || sm->look_again || sm->view.silent > 0)
        sm_discovery_start(sm);
    else
        light_sweep(sm);
    sm_pump(sm);
}

static uint64_t pause_before_next(const struct sm *sm)
{
    uint64_t interval = sm->config.sweep_interval;

    if (sm->state == SM_STANDBY)
        return sm->config.poll_interval;
    if (sm->failed || sm->look_again || sm->state == SM_DISCOVERING)
        return interval < RETRY_SWEEP ? interval : RETRY_SWEEP;
    return interval;
}

void sm_schedule(struct sm *sm)
{
    uint64_t pause;

    if (sm->phase != SM_PHASE_IDLE || sm->state == SM_NOT_ACTIVE)
        return;
    if (sm->sweep_timer)
        sim_cancel(sm->sim, sm->sweep_timer);
    sm->sweep_timer = 0;
    pause = pause_before_next(sm);
    if (sm->reconfigure_wanted && sm->failed) /* what failed before must not be forgotten */
        sm->heavy_wanted = true;
    if (sm->heavy_wanted && sm->state != SM_STANDBY) {
        sm_discovery_start(sm);
    } else if (sm->reconfigure_wanted && sm->state == SM_MASTER) {
        sm->reconfigure_wanted = false;
        sm->sweeping = false;
        begin_lids(sm);
    } else if (pause != UINT64_MAX) {
        sm->sweep_timer = sim_in(sm->sim, pause, due, sm, 0);
        return;
    }
    sm_pump(sm);
}

void sm_reconfigure(struct sm *sm)
{
    sm->reconfigure_wanted = true;
    sm_schedule(sm);
}

/* ---------------------------------------------------------------- answers */

static void light_switch_answer(struct sm *sm, const uint8_t *data)
{
    struct mad_switch_info info;

    mad_switch_info_decode(data, &info);
    if (info.port_state_change && !PLANTED(sm_light_sweep_blind))
        sm->heavy_wanted = true;
}

static void light_port_answer(struct sm *sm, uint32_t port, const uint8_t *data)
{
    const struct mad_port_info *last;
    struct mad_port_info info;

    assert(port < sm->view.port_count);
    mad_port_info_decode(data, &info);
    last = &sm->view.ports[port].info;
    if (info.port_state != last->port_state)
        sm->heavy_wanted = true;
    /* another master came by, and took the switches' marks of changed links away */
    if ((info.lid != last->lid || info.master_sm_lid != last->master_sm_lid) &&
        !PLANTED(sm_blind_to_master))
        sm->heavy_wanted = true;
}

/* Attributes that were asked for; Sets are sm_was_set's. */
static void take(struct sm *sm, const struct sm_request *request, const struct mad *mad)
{
    const uint8_t *data = mad_data_const(mad);

    switch ((enum sm_op)request->op) {
    case SM_OP_NODE:
        sm_discovered_node(sm, request, data);
        break;
    case SM_OP_SWITCH:
        sm_discovered_switch(sm, request->port, data);
        break;
    case SM_OP_PORT:
        sm_discovered_port(sm, request->port, data);
        break;
    case SM_OP_PKEYS:
        sm_discovered_pkeys(sm, request, data);
        break;
    case SM_OP_SM_INFO:
        sm_peer_found(sm, request->port, data);
        break;
    case SM_OP_POLL_SWITCH:
        light_switch_answer(sm, data);
        break;
    case SM_OP_POLL_PORT:
        light_port_answer(sm, request->port, data);
        break;
    case SM_OP_POLL_SM:
        sm_polled(sm, data);
        break;
    case SM_OP_CONTROL:
        sm_controlled(sm, request, true);
        break;
    default:
        sm_was_set(sm, request, mad);
        break;
    }
}

void sm_answered(struct sm *sm, const struct sm_request *request, const struct mad *mad)
{
    if (mad_status(mad) == MAD_STATUS_OK) {
        take(sm, request, mad);
        return;
    }
    sm->stats.errors++;
    sm_unanswered(sm, request);
}

void sm_unanswered(struct sm *sm, const struct sm_request *request)
{
    switch ((enum sm_op)request->op) {
    case SM_OP_NODE:
        sm->view.silent++;
        break;
    case SM_OP_SM_INFO: /* it died, or forgot to clear its mark */
        break;
    case SM_OP_POLL_SWITCH:
    case SM_OP_POLL_PORT:
        sm->heavy_wanted = true;
        break;
    case SM_OP_POLL_SM:
        sm_polled(sm, NULL);
        break;
    case SM_OP_CONTROL:
        sm_controlled(sm, request, false);
        break;
    default:
        sm->failed = true;
        break;
    }
}
