/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/rail.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"
#include "src/rail/backoff.h"
#include "src/rail/judge.h"
#include "src/rail/log.h"

static void open_device(struct rail *rail)
{
    fabric_device device;
    struct fabric *f = rail->fabric;
    uint32_t depth = rail->role == RAIL_CLIENT ? RAIL_CLIENT_CQ_DEPTH : RAIL_CQ_DEPTH;
    rail->open_error = fabric_device_open(f, rail->name, &device);
    if (rail->open_error)
        return;
    rail->open_error = fabric_device_query(f, device, &rail->attr);
    if (!rail->open_error)
        rail->open_error = fabric_cq_create(f, device, depth, &rail->cq);
    if (rail->open_error) {
        fabric_device_close(f, device);
        return;
    }
    rail->device = device;
    rail->epoch++;
    rail->device_lost = rail->waits = false;
    fabric_now(f, &rail->opened_at);
}

static bool has_settled(const struct rail *rail, uint64_t now)
{
    return rail->device.id && now - rail->opened_at >= RAIL_SETTLED;
}

/* It could not be opened, or does not answer: the next attempt waits, each time longer, unless the
 * device had answered for long enough. */
static void put_off(struct rail *rail, uint64_t now)
{
    bool was_pending;
    if (has_settled(rail, now))
        rail->backoff = 0;
    rail->waits = true;
    rail->reopen_at = now + rail_backoff_grow(rail->fabric, &rail->backoff);
    if (PLANTED(rail_reopened_at_once))
        rail->reopen_at = now;
    if (rail->reopen.id)
        fabric_timer_cancel(rail->fabric, rail->reopen, &was_pending);
    rail->reopen = (fabric_timer){0};
    if (rail->cookie) /* without a timer the owner's slow look does it */
        (void)fabric_timer_set(rail->fabric, rail->reopen_at, rail->cookie, &rail->reopen);
}

/* Closes a lost device, opens one that is away when it is time to, and looks. */
static void look(struct rail *rail, struct rail_verdict *verdict)
{
    uint64_t now = 0;
    fabric_now(rail->fabric, &now);
    if (rail->device.id && rail->device_lost) {
        if (!rail->waits && !has_settled(rail, now))
            put_off(rail, now);
        rail->open_error = ERR_DEVICE_REMOVED;
        rail_close(rail);
    }
    bool due = now >= rail->reopen_at;
    if (!rail->device.id && due)
        open_device(rail);
    rail_look(rail, verdict);
    if (due && (!rail->device.id || rail->device_lost))
        put_off(rail, now);
}

static void rail_init(struct rail *rail, struct fabric *f, enum rail_role role,
                      const struct config_rdma *config, const char *name, uint8_t port)
{
    *rail = (struct rail){.fabric = f, .role = role, .config = config, .wanted_port = port};
    snprintf(rail->name, sizeof rail->name, "%.63s", name);
    rail->port_num = port ? port : 1;
    snprintf(rail->detail, sizeof rail->detail, "not looked at yet");
    open_device(rail);
}

uint32_t rail_open_all(struct fabric *f, enum rail_role role, const struct config_rdma *config,
                       struct rail rails[RAIL_MAX])
{
    assert(f && config && rails);
    for (uint32_t i = 0; i < config->device_count; i++)
        rail_init(&rails[i], f, role, config, config->devices[i].name, config->devices[i].port);
    if (config->device_count)
        return config->device_count;
    char names[RAIL_MAX][FABRIC_NAME_MAX];
    size_t count = 0;
    if (fabric_device_list(f, names, RAIL_MAX, &count) != FABRIC_OK)
        return 0;
    uint32_t used = count < RAIL_MAX ? (uint32_t)count : RAIL_MAX;
    for (uint32_t i = 0; i < used; i++)
        rail_init(&rails[i], f, role, config, names[i], 0);
    return used;
}

void rail_close(struct rail *rail)
{
    assert(rail);
    if (rail->device.id)
        fabric_device_close(rail->fabric, rail->device);
    rail->device = (fabric_device){0};
    rail->cq = (fabric_cq){0};
}

static bool same_but_gids(const struct fabric_port_address *a, const struct fabric_port_address *b)
{
    return a->link_layer == b->link_layer && a->state == b->state && a->port_num == b->port_num &&
           a->lid == b->lid && a->lmc == b->lmc && a->port_guid == b->port_guid &&
           a->subnet_prefix == b->subnet_prefix && a->pkey == b->pkey &&
           a->pkey_index == b->pkey_index && a->mtu == b->mtu && a->active_mtu == b->active_mtu &&
           a->flags == b->flags && a->sl == b->sl && a->traffic_class == b->traffic_class &&
           a->max_rd_atomic == b->max_rd_atomic && a->max_dest_rd_atomic == b->max_dest_rd_atomic;
}

static bool same_entry(const struct fabric_usable_gid *a, const struct fabric_usable_gid *b)
{
    return fabric_gid_equal(&a->gid, &b->gid) && a->type == b->type && a->index == b->index;
}

static bool same_address(const struct fabric_port_address *a, const struct fabric_port_address *b)
{
    if (!same_but_gids(a, b) || a->gid_count != b->gid_count)
        return false;
    for (unsigned i = 0; i < a->gid_count; i++) {
        if (!same_entry(&a->gids[i], &b->gids[i]))
            return false;
    }
    return true;
}

bool rail_path_stands(const struct rail *rail, struct fabric_path *path)
{
    assert(rail && path);
    const struct fabric_port_address *now = &rail->address;
    if (!rail->only_gids || PLANTED(rail_path_never_stands))
        return false;
    if (!path->av.is_global)
        return true;
    assert(path->local_gid < rail->before.gid_count);
    for (uint8_t i = 0; i < now->gid_count; i++) {
        if (same_entry(&now->gids[i], &rail->before.gids[path->local_gid])) {
            path->local_gid = i;
            return true;
        }
    }
    return PLANTED(rail_path_always_stands);
}

void rail_say(const struct rail *rail)
{
    assert(rail);
    const struct fabric_port_address *a = &rail->address;
    if (rail->state != RAIL_READY) {
        rail_log(rail->fabric, FABRIC_LOG_WARN, "%s port %u: RDMA %s: %s: %s", rail->name,
                 rail->port_num, rail_state_name(rail->state), error_name(rail->reason),
                 rail->detail);
        return;
    }
    if (a->link_layer == FABRIC_LINK_LAYER_INFINIBAND)
        rail_log(rail->fabric, FABRIC_LOG_INFO,
                 "%s port %u: RDMA ready: LID %u, pkey_index %u P_Key 0x%04x (%s membership), "
                 "MTU %u",
                 rail->name, rail->port_num, a->lid, a->pkey_index, a->pkey,
                 fabric_pkey_membership(a->pkey), fabric_mtu_bytes(a->mtu));
    else
        rail_log(rail->fabric, FABRIC_LOG_INFO, "%s port %u: RDMA ready: RoCE v2, MTU %u",
                 rail->name, rail->port_num, fabric_mtu_bytes(a->mtu));
}

/* What grows from now on is this rail's time. */
static void begin_counting(struct rail *rail, uint8_t port_num)
{
    rail->bad_pkey_cntr_ready = rail->bad_pkey_cntr;
    if (fabric_counters_query(rail->fabric, rail->device, port_num, &rail->counters_ready))
        rail->counters_ready = (struct fabric_port_counters){0};
}

bool rail_judge_silently(struct rail *rail)
{
    assert(rail && rail->fabric);
    uint32_t epoch = rail->epoch;
    struct rail_verdict verdict;
    look(rail, &verdict);
    if (PLANTED(rail_refusal_for_life) && rail->state == RAIL_REFUSED)
        return false;
    bool moved = verdict.state == RAIL_READY && !same_address(&verdict.address, &rail->address);
    bool waits_on = verdict.state == RAIL_WAITING && verdict.reason == rail->reason;
    bool changed = verdict.state != rail->state || verdict.reason != rail->reason || moved ||
                   (epoch && epoch != rail->epoch && verdict.state == RAIL_READY) ||
                   (!waits_on && strcmp(verdict.detail, rail->detail) != 0);
    if (!changed) { /* a port on its way up is waited for all the same: said once */
        memcpy(rail->detail, verdict.detail, sizeof rail->detail);
        return false;
    }
    uint32_t generation = rail->address.generation + 1;
    if (verdict.state == RAIL_READY && rail->state != RAIL_READY)
        begin_counting(rail, verdict.port_num);
    rail->only_gids = rail->state == RAIL_READY && verdict.state == RAIL_READY &&
                      epoch == rail->epoch && same_but_gids(&verdict.address, &rail->address);
    rail->before = rail->address;
    rail->state = verdict.state;
    rail->reason = verdict.reason;
    memcpy(rail->detail, verdict.detail, sizeof rail->detail);
    rail->address = verdict.address;
    rail->address.generation = generation;
    rail->port_num = verdict.port_num;
    rail->ever_ready = rail->ever_ready || rail->state == RAIL_READY;
    return true;
}

bool rail_judge(struct rail *rail)
{
    bool changed = rail_judge_silently(rail);
    if (changed)
        rail_say(rail);
    return changed;
}

uint32_t rail_pkey_violations(const struct rail *rail, uint32_t *growth)
{
    struct fabric_port_attr attr;
    assert(rail && growth);
    bool known = rail->device.id && !rail->device_lost && rail->port_num &&
                 !PLANTED(rail_violations_stale) &&
                 fabric_port_query(rail->fabric, rail->device, rail->port_num, &attr) == FABRIC_OK;
    uint32_t total = known ? attr.bad_pkey_cntr : rail->bad_pkey_cntr;
    uint32_t before = PLANTED(rail_growth_is_total) ? 0 : rail->bad_pkey_cntr_ready;
    *growth = rail->ever_ready ? total - before : 0; /* the counter goes round */
    return total;
}

bool rail_concerned(struct rail *rail, const struct fabric_async *event)
{
    assert(rail && event);
    if (!rail->device.id || event->device.id != rail->device.id)
        return false;
    switch (event->type) {
    case FABRIC_ASYNC_DEVICE_FATAL:
    case FABRIC_ASYNC_CQ_ERR: /* everything hangs on that queue: a new device gets a new one */
        if (event->type == FABRIC_ASYNC_CQ_ERR && PLANTED(rail_cq_error_ignored))
            return false;
        rail->device_lost = true;
        return true;
    case FABRIC_ASYNC_LID_CHANGE:
        if (PLANTED(rail_lid_kept))
            return false;
        break;
    case FABRIC_ASYNC_PKEY_CHANGE:
        if (PLANTED(rail_pkey_kept))
            return false;
        break;
    case FABRIC_ASYNC_CLIENT_REREGISTER:
        if (PLANTED(rail_reregister_ignored))
            return false;
        break;
    case FABRIC_ASYNC_SM_CHANGE:
        if (PLANTED(rail_sm_change_ignored))
            return false;
        break;
    case FABRIC_ASYNC_PORT_ACTIVE:
    case FABRIC_ASYNC_PORT_ERR:
    case FABRIC_ASYNC_GID_CHANGE:
        break;
    default:
        return false;
    }
    bool any_port = rail->wanted_port == 0 && rail->state != RAIL_READY;
    return any_port || event->port_num == rail->port_num || PLANTED(rail_event_any_port);
}

bool rail_judge_event(struct rail *rail, const struct fabric_async *event)
{
    assert(rail && event);
    bool changed = rail_judge(rail);
    if (!changed && event->type == FABRIC_ASYNC_CLIENT_REREGISTER)
        rail->reregistrations++;
    return changed;
}

const char *rail_state_name(enum rail_state state)
{
    static const char *const names[] = {"waiting", "ready", "refused"};
    assert(state <= RAIL_REFUSED);
    return names[state];
}

enum fabric_error rail_transfer_error(const struct rail *rail)
{
    assert(rail);
    return rail->reason == ERR_WAITING_FOR_SM ? ERR_NO_LID : rail->reason;
}

enum fabric_error rail_mirror(enum fabric_error error)
{
    if (error == ERR_NO_LID || error == ERR_WAITING_FOR_SM)
        return ERR_PEER_NO_LID;
    return error == ERR_PEER_NO_LID ? ERR_NO_LID : error;
}

bool rail_is_configuration(enum fabric_error error)
{
    switch (error) {
    case ERR_LINK_LAYER_MISMATCH:
    case ERR_SUBNET_MISMATCH:
    case ERR_PKEY_MISMATCH:
    case ERR_PKEY_LIMITED_PAIR:
    case ERR_PKEY_EMPTY:
    case ERR_PKEY_INDEX_RANGE:
    case ERR_PKEY_NOT_FOUND:
    case ERR_MTU_MISMATCH:
    case ERR_MTU_ABOVE_ACTIVE:
    case ERR_PATH_MTU_SMALLER:
    case ERR_RD_ATOMIC_NONE:
    case ERR_GID_NONE:
    case ERR_GID_FAMILY_MISMATCH:
    case ERR_GRH_UNAVAILABLE:
    case ERR_NOT_SUPPORTED:
    case ERR_DC_UNSUPPORTED:
        return true;
    default:
        return false;
    }
}
