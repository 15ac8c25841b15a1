/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams under way: a bounded number at once, time-outs, retries, the manager's own delay. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

#define SLOT_BITS 6

static const struct {
    uint16_t attribute;
    uint8_t method;
} wire[] = {
    [SM_OP_NODE] = {MAD_NODE_INFO, MAD_GET},
    [SM_OP_SWITCH] = {MAD_SWITCH_INFO, MAD_GET},
    [SM_OP_PORT] = {MAD_PORT_INFO, MAD_GET},
    [SM_OP_PKEYS] = {MAD_PKEY_TABLE, MAD_GET},
    [SM_OP_SM_INFO] = {MAD_SM_INFO, MAD_GET},
    [SM_OP_CLEAR_CHANGE] = {MAD_SWITCH_INFO, MAD_SET},
    [SM_OP_SET_LID] = {MAD_PORT_INFO, MAD_SET},
    [SM_OP_SET_PKEYS] = {MAD_PKEY_TABLE, MAD_SET},
    [SM_OP_SET_ENFORCED] = {MAD_PKEY_TABLE, MAD_SET},
    [SM_OP_SET_SL_MAP] = {MAD_SL_TO_VL, MAD_SET},
    [SM_OP_SET_TOP] = {MAD_SWITCH_INFO, MAD_SET},
    [SM_OP_SET_LFT] = {MAD_LINEAR_FORWARDING, MAD_SET},
    [SM_OP_SET_MFT] = {MAD_MULTICAST_FORWARDING, MAD_SET},
    [SM_OP_SET_LINK] = {MAD_PORT_INFO, MAD_SET},
    [SM_OP_SET_ARMED] = {MAD_PORT_INFO, MAD_SET},
    [SM_OP_SET_ACTIVE] = {MAD_PORT_INFO, MAD_SET},
    [SM_OP_POLL_SWITCH] = {MAD_SWITCH_INFO, MAD_GET},
    [SM_OP_POLL_PORT] = {MAD_PORT_INFO, MAD_GET},
    [SM_OP_POLL_SM] = {MAD_SM_INFO, MAD_GET},
    [SM_OP_CONTROL] = {MAD_SM_INFO, MAD_SET},
};

void sm_request(struct sm *sm, enum sm_op op, uint32_t port, uint16_t arg)
{
    size_t mask = sm->queue_room - 1;

    assert((sm->queue_room & mask) == 0 && sm->queue_tail - sm->queue_head <= sm->queue_room);
    if (sm->queue_tail - sm->queue_head == sm->queue_room) {
        struct sm_request *bigger =
            sm_grow(NULL, sm->queue_room ? 2 * sm->queue_room : 64, sizeof *bigger);

        for (size_t i = 0; i < sm->queue_room; i++)
            bigger[i] = sm->queue[(sm->queue_head + i) & mask];
        free(sm->queue);
        sm->queue = bigger;
        sm->queue_tail -= sm->queue_head;
        sm->queue_head = 0;
        sm->queue_room = sm->queue_room ? 2 * sm->queue_room : 64;
    }
    sm->queue[sm->queue_tail++ & (sm->queue_room - 1)] =
        (struct sm_request){.port = port, .arg = arg, .op = (uint8_t)op};
}

static uint8_t route_of(const struct sm *sm, const struct sm_request *request, uint8_t *path)
{
    const struct sm_node *node;

    if (request->port == SM_NONE)
        return 0;
    if (request->op != SM_OP_NODE)
        return sm_view_route(sm, request->port, path);
    node = &sm->view.nodes[sm->view.ports[request->port].node];
    memcpy(path, node->path, node->hops);
    path[node->hops] = sm->view.ports[request->port].num;
    return (uint8_t)(node->hops + 1);
}

static void arm_timeout(struct sm *sm);

static void transmit(struct sm *sm, struct sm_slot *slot)
{
    struct mad *mad = mad_new();
    uint8_t path[MAD_MAX_HOPS + 1];
    uint8_t hops = route_of(sm, &slot->request, path);
    uint32_t modifier = 0;

    assert(hops <= MAD_MAX_HOPS);
    sm_fill(sm, &slot->request, mad_data(mad), &modifier);
    mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, wire[slot->request.op].method, slot->tid,
              wire[slot->request.op].attribute, modifier);
    mad_set_mkey(mad, sm->config.m_key);
    mad_set_route(mad, path, hops);
    slot->tries++;
    slot->deadline = sim_now(sm->sim) + sm->config.smp_timeout;
    sm->stats.datagrams_sent++;
    if (!sm->timeout_timer)
        arm_timeout(sm);
    sma_send(sm->sma, sm->port, mad, LID_PERMISSIVE);
}

static void give_up(struct sm *sm, struct sm_slot *slot)
{
    struct sm_request request = slot->request;

    assert(slot->tid != 0 && sm->outstanding > 0);
    slot->tid = 0;
    sm->outstanding--;
    sm->stats.unanswered++;
    sm_unanswered(sm, &request);
}

static uint8_t tries_allowed(const struct sm *sm, const struct sm_request *request)
{
    if (request->op == SM_OP_POLL_SM || PLANTED(sm_no_retry))
        return 1; /* every poll counts by itself */
    return (uint8_t)(sm->config.retries + 1);
}

/* One timer for all: what expired is sent again or given up. */
static void expire(void *object, uint64_t unused)
{
    struct sm *sm = object;
    uint64_t now = sim_now(sm->sim);

    assert(sm->state != SM_NOT_ACTIVE);
    (void)unused;
    sm->timeout_timer = 0;
    for (size_t i = 0; i < SM_SLOTS; i++) {
        struct sm_slot *slot = &sm->slots[i];

        if (slot->tid == 0 || slot->arrived || slot->deadline > now)
            continue;
        sm->stats.timeouts++;
        if (slot->tries < tries_allowed(sm, &slot->request))
            transmit(sm, slot);
        else
            give_up(sm, slot);
    }
    arm_timeout(sm);
    sm_pump(sm);
}

static void arm_timeout(struct sm *sm)
{
    uint64_t least = UINT64_MAX;

    if (sm->timeout_timer)
        return;
    for (size_t i = 0; i < SM_SLOTS; i++)
        if (sm->slots[i].tid && !sm->slots[i].arrived && sm->slots[i].deadline < least)
            least = sm->slots[i].deadline;
    if (least != UINT64_MAX)
        sm->timeout_timer = sim_at(sm->sim, least, expire, sm, 0);
}

static struct sm_slot *free_slot(struct sm *sm)
{
    for (size_t i = 0; i < SM_SLOTS; i++)
        if (sm->slots[i].tid == 0)
            return &sm->slots[i];
    return NULL;
}

static void send_next(struct sm *sm)
{
    struct sm_slot *slot = free_slot(sm);

    assert(slot && sm->queue_head != sm->queue_tail);
    *slot = (struct sm_slot){.request = sm->queue[sm->queue_head++ & (sm->queue_room - 1)]};
    slot->tid = sm->next_tid++ << SLOT_BITS | (uint64_t)(slot - sm->slots);
    sm->outstanding++;
    transmit(sm, slot);
}

void sm_pump(struct sm *sm)
{
    if (sm->pumping) /* the loop below is running further up */
        return;
    sm->pumping = true;
    while (sm->state != SM_NOT_ACTIVE && sm->phase != SM_PHASE_IDLE) {
        while (sm->queue_head != sm->queue_tail && sm->outstanding < sm->config.max_outstanding)
            send_next(sm);
        if (sm->outstanding > 0)
            break;
        sm_phase_next(sm);
    }
    sm->pumping = false;
}

/* ---------------------------------------------------------------- receiving */

static void take_answer(struct sm *sm, const struct mad *mad)
{
    struct sm_slot *slot = &sm->slots[mad_tid(mad) & (SM_SLOTS - 1)];
    struct sm_request request;

    if (slot->tid == 0 || slot->tid != mad_tid(mad))
        return; /* late: sent again and answered twice */
    request = slot->request;
    slot->tid = 0;
    sm->outstanding--;
    sm->stats.answers++;
    sm_answered(sm, &request, mad);
    sm_pump(sm);
}

/* The master thanks for a trap and looks what happened (chapter 14.4.9). */
static void take_trap(struct sm *sm, const struct mad *mad, uint16_t slid)
{
    struct mad *repress;
    struct mad_notice notice;

    assert(mad_method(mad) == MAD_TRAP);
    if (sm->state != SM_MASTER)
        return;
    mad_notice_decode(mad_data_const(mad), &notice);
    sm->stats.traps++;
    repress = mad_new();
    *repress = *mad;
    mad_set_method(repress, MAD_TRAP_REPRESS);
    if (PLANTED(sm_trap_not_repressed))
        mad_free(repress);
    else
        sma_send(sm->sma, sm->port, repress, slid);
    if (notice.trap_number == MAD_TRAP_LINK_STATE || notice.trap_number == MAD_TRAP_CAPABILITY) {
        if (!PLANTED(sm_trap_ignored))
            sm->heavy_wanted = true;
        sm_schedule(sm);
    } else if (notice.trap_number == MAD_TRAP_BAD_PKEY ||
               notice.trap_number == MAD_TRAP_SWITCH_BAD_PKEY) {
        sm->stats.pkey_violations++;
    }
}

static void process(struct sm *sm, const struct mad *mad, uint16_t slid)
{
    if (mad_is_response(mad))
        take_answer(sm, mad);
    else if (mad_method(mad) == MAD_TRAP)
        take_trap(sm, mad, slid);
    else if (mad_attribute(mad) == MAD_SM_INFO)
        sm_info_request(sm, mad, slid);
}

static void process_held(void *object, uint64_t unused)
{
    struct sm_held *held = object, **at = &held->sm->held;

    assert(*at);
    (void)unused;
    while (*at != held)
        at = &(*at)->next;
    *at = held->next;
    process(held->sm, &held->mad, held->slid);
    free(held);
}

static void mark_arrived(struct sm *sm, const struct mad *mad)
{
    struct sm_slot *slot = &sm->slots[mad_tid(mad) & (SM_SLOTS - 1)];

    if (mad_is_response(mad) && slot->tid == mad_tid(mad))
        slot->arrived = true;
}

void sm_receive(void *context, const struct mad *mad, uint16_t slid)
{
    struct sm *sm = context;
    struct sm_held *held;

    if (sm->delay == 0 || PLANTED(sm_delay_ignored)) {
        process(sm, mad, slid);
        return;
    }
    mark_arrived(sm, mad);
    held = sm_grow(NULL, 1, sizeof *held);
    *held = (struct sm_held){.next = sm->held, .sm = sm, .mad = *mad, .slid = slid};
    sm->held = held;
    held->event = sim_in(sm->sim, sm->delay, process_held, held, 0);
}

void sm_requests_drop(struct sm *sm)
{
    assert(sm->outstanding <= SM_SLOTS);
    while (sm->held) {
        struct sm_held *held = sm->held;

        sm->held = held->next;
        sim_cancel(sm->sim, held->event);
        free(held);
    }
    memset(sm->slots, 0, sizeof sm->slots);
    sm->outstanding = 0;
    sm->queue_head = sm->queue_tail = 0;
    if (sm->timeout_timer)
        sim_cancel(sm->sim, sm->timeout_timer);
    sm->timeout_timer = 0;
}
