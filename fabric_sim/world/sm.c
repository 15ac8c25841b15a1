/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/world/sm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

#define MS UINT64_C(1000000)

static void set_defaults(struct sm_config *config)
{
    if (!config->first_lid)
        config->first_lid = 1;
    if (!config->subnet_prefix)
        config->subnet_prefix = SM_DEFAULT_PREFIX;
    if (!config->subnet_timeout)
        config->subnet_timeout = 18;
    if (!config->max_outstanding)
        config->max_outstanding = 4;
    if (!config->retries)
        config->retries = 3;
    if (!config->smp_timeout)
        config->smp_timeout = 200 * MS;
    if (!config->sweep_interval)
        config->sweep_interval = 10000 * MS;
    if (!config->poll_interval)
        config->poll_interval = 1000 * MS;
    if (!config->poll_retries)
        config->poll_retries = 4;
}

struct sm *sm_create(struct sma *sma, struct net_port *port, const struct sm_config *config)
{
    struct sm *sm = sm_grow(NULL, 1, sizeof *sm);

    assert(net_node_kind(net_port_node(port)) == NET_HCA && net_port_num(port) != 0);
    memset(sm, 0, sizeof *sm);
    sm->sma = sma;
    sm->sim = net_sim(sma_net(sma));
    sm->port = port;
    if (config)
        sm->config = *config;
    set_defaults(&sm->config);
    assert(sm->config.lmc <= 7 && sm->config.priority <= 15);
    assert(sm->config.max_outstanding <= SM_SLOTS);
    sm->state = SM_NOT_ACTIVE;
    sm->next_tid = 1;
    memset(sm->sl_lanes, SM_SL_BY_MAP, sizeof sm->sl_lanes);
    return sm;
}

void sm_destroy(struct sm *sm)
{
    sm_stop(sm);
    sm_view_clear(&sm->view);
    sm_records_destroy(sm);
    sm_groups_destroy(sm);
    free(sm->partitions);
    free(sm->peers);
    free(sm->queue);
    free(sm);
}

/* The IsSM mark, by which other managers find this one. */
static void mark_port(struct sm *sm, bool is_sm)
{
    struct port_info *info = net_port_info(sm->port), before = *info;

    info->is_sm = is_sm;
    net_port_changed(sm->port, &before);
}

void sm_start(struct sm *sm)
{
    if (sm->state != SM_NOT_ACTIVE || sm->disabled)
        return;
    assert(sm->phase == SM_PHASE_IDLE && sm->outstanding == 0);
    sma_set_manager(sm->sma, sm->port, sm_receive, sm);
    mark_port(sm, true);
    sma_capability_changed(sm->sma, sm->port); /* a master that is there looks at us */
    sm_set_state(sm, SM_DISCOVERING);
    sm->heavy_wanted = true;
    sm_schedule(sm);
}

void sm_stop(struct sm *sm)
{
    if (sm->state == SM_NOT_ACTIVE && !sm->disabled)
        return;
    sm->disabled = false;
    if (!PLANTED(sm_stop_answers))
        sma_set_manager(sm->sma, sm->port, NULL, sm);
    mark_port(sm, false);
    sm_rest(sm);
}

void sm_restart(struct sm *sm, bool keep_lids)
{
    assert(sm);
    sm_stop(sm);
    for (size_t i = 0; i < sm->record_count && (!keep_lids || PLANTED(sm_forgets_lids)); i++)
        sm->records[i].lid = 0;
    sm->reassign = !keep_lids || PLANTED(sm_forgets_lids);
    sm_start(sm);
}

static bool outranks(const struct sm *a, const struct sm *b)
{
    if (a->config.priority != b->config.priority)
        return a->config.priority > b->config.priority;
    return sma_port_guid(a->port) < sma_port_guid(b->port);
}

bool sm_handover(struct sm *from, struct sm *to)
{
    uint8_t priority = from->config.priority;

    assert(from != to);
    if (from->state != SM_MASTER || to->state != SM_STANDBY)
        return false;
    if (outranks(from, to)) {
        from->config.priority = to->config.priority;
        to->config.priority = priority;
    }
    if (outranks(from, to)) { /* equal priorities: only the GUID decided */
        if (to->config.priority < 15)
            to->config.priority++;
        else
            from->config.priority--;
    }
    sm_sweep(from);
    return true;
}

void sm_set_priority(struct sm *sm, uint8_t priority)
{
    assert(priority <= 15);
    sm->config.priority = priority;
}

void sm_set_delay(struct sm *sm, uint64_t delay)
{
    sm->delay = delay;
}

void sm_refuse(struct sm *sm, bool refuse)
{
    sm->refuses = refuse && !PLANTED(sm_refuse_forgotten);
}

bool sm_refuses(const struct sm *sm)
{
    return sm->refuses;
}

void sm_sweep(struct sm *sm)
{
    if (sm->state != SM_MASTER && sm->state != SM_DISCOVERING)
        return;
    sm->heavy_wanted = true;
    sm_schedule(sm);
}

enum sm_state sm_state(const struct sm *sm)
{
    return sm->state;
}

bool sm_subnet_up(const struct sm *sm)
{
    return sm->state == SM_MASTER && sm->complete && !sm->heavy_wanted && !sm->reconfigure_wanted &&
           (sm->phase == SM_PHASE_IDLE || sm->phase == SM_PHASE_LIGHT);
}

struct net_port *sm_port(const struct sm *sm)
{
    return sm->port;
}

static void count_view(const struct sm *sm, struct sm_stats *out)
{
    out->nodes = sm->view.node_count;
    out->switches = sm->view.switch_count;
    for (size_t i = 0; i < sm->view.port_count; i++) {
        uint32_t peer = sm->view.ports[i].peer;

        out->ports += sm->view.ports[i].num != 0 && sm->view.ports[i].known;
        out->links += peer != SM_NONE && i < peer;
    }
}

static size_t memory_of(const struct sm *sm)
{
    size_t bytes =
        sizeof *sm + sm->queue_room * sizeof *sm->queue +
        sm->view.node_room * sizeof *sm->view.nodes + sm->view.port_room * sizeof *sm->view.ports +
        sm->view.switch_room * sizeof *sm->view.switches + sm->record_room * sizeof *sm->records +
        (sm->by_guid.capacity + sm->view.by_guid.capacity) * sizeof *sm->by_guid.slots;

    for (size_t i = 0; i < sm->record_count; i++) {
        const struct sm_record *record = &sm->records[i];

        bytes += (record->pkeys ? PORT_PKEYS * sizeof *record->pkeys : 0) +
                 (record->sl_map ? (size_t)PORT_SLS : 0) +
                 (record->lft ? 2 * (size_t)record->lft_size : record->lft_size);
    }
    return bytes;
}

void sm_stats(const struct sm *sm, struct sm_stats *out)
{
    *out = sm->stats;
    count_view(sm, out);
    out->bytes_of_memory = memory_of(sm);
}
