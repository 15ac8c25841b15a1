/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/hca/keys.h"
#include "src/fabric/planted.h"

void *key_host(const struct key_state *key, uint64_t addr)
{
    assert(addr >= key->iova && addr - key->iova <= key->length);
    return (void *)(uintptr_t)(key->host + (addr - key->iova));
}

bool key_remote(const struct qp_context *ctx, uint32_t rkey, uint64_t addr, uint32_t length,
                uint32_t access)
{
    return key_remote_of(ctx, context_pd(ctx), rkey, addr, length, access);
}

bool key_remote_of(const struct qp_context *ctx, uint32_t pd, uint32_t rkey, uint64_t addr,
                   uint32_t length, uint32_t access)
{
    return keys_remote(&ctx->hca->state, ctx->qp, pd, rkey, addr, length, access) != NULL;
}

bool memory_local(const struct qp_context *ctx, const struct hca_sge *sges, uint32_t count,
                  uint32_t access)
{
    return keys_all_local(&ctx->hca->state, context_pd(ctx), sges, count, access);
}

bool memory_scatter(struct qp_context *ctx, const struct hca_sge *sges, uint32_t count,
                    uint32_t offset, const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0; i < count && length > 0; i++) {
        if (offset >= sges[i].length) {
            offset -= sges[i].length;
            continue;
        }
        uint32_t part = sges[i].length - offset;
        if (part > length)
            part = length;
        struct hca_sge piece = {sges[i].addr + offset, part, sges[i].lkey};
        const struct key_state *key =
            keys_local(&ctx->hca->state, context_pd(ctx), &piece, HCA_ACCESS_LOCAL_WRITE);
        if (!key)
            return false;
        if (!memory_write(ctx, key, piece.addr, bytes, part))
            return false;
        bytes += part;
        length -= part;
        offset = 0;
    }
    return length == 0;
}

void payload_give_back(struct hca *hca, struct payload *payload)
{
    assert(payload->users >= 1);
    if (payload->users > 1 && !PLANTED(hca_payload_not_detached))
        payload_detach(hca->net, payload);
    payload_unref(hca->net, payload);
}

static void detach(struct hca *hca, struct payload *payload, uintptr_t first, uint64_t length)
{
    if (payload && !payload->owned && (uintptr_t)payload->bytes - first < length)
        payload_detach(hca->net, payload);
}

static void detach_context(struct qp_context *ctx, uintptr_t first, uint64_t length)
{
    for (uint32_t i = 0; i < RESPONDER_RESOURCES; i++)
        detach(ctx->hca, ctx->answers[i], first, length);
    for (uint32_t i = ctx->qp->sq_tail; !ctx->dcr && i != ctx->qp->sq_head; i++)
        detach(ctx->hca, requester_slot(ctx, i)->payload, first, length);
}

/* Memory goes back to its program: nothing in flight refers to it any more. */
static void detach_range(struct hca *hca, const uint8_t *from, uint64_t length)
{
    const struct context_list *lists[] = {&hca->contexts, &hca->dcr_contexts};
    if (PLANTED(hca_payload_not_detached))
        return;
    for (int list = 0; list < 2; list++)
        for (uint32_t i = 0; i < lists[list]->capacity; i++)
            if (lists[list]->at[i])
                detach_context(lists[list]->at[i], (uintptr_t)from, length);
}

/* RDMA WRITEs whose packets wait to land through this key: it is now or never. */
static void abandon_landing(struct hca *hca, uint32_t key)
{
    const struct context_list *lists[] = {&hca->contexts, &hca->dcr_contexts};
    for (int list = 0; list < 2; list++)
        for (uint32_t i = 0; i < lists[list]->capacity; i++) {
            struct qp_context *ctx = lists[list]->at[i];
            if (ctx && ctx->held && ctx->rsp->rkey == key)
                landing_abandon(ctx);
        }
}

void key_quiet(struct hca *hca, const struct key_state *state)
{
    abandon_landing(hca, state->key);
    if (state->owner == 0)
        detach_range(hca, key_host(state, state->iova), state->length);
}

static void key_end(struct hca *hca, struct key_state *state)
{
    key_quiet(hca, state);
    state_key_end(&hca->state, state, sim_now(hca->sim));
}

struct key_state *key_take(struct hca *hca, const struct pd_state *pd)
{
    struct key_state *state = state_key_take(&hca->state, sim_now(hca->sim));
    if (state)
        state->pd = pd->slot.id;
    return state;
}

enum fabric_error hca_pd_alloc(struct hca *hca, hca_pd *out)
{
    assert(hca && out);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    struct pd_state *pd = table_take(&hca->state.arena, &hca->state.device->pds);
    if (!pd)
        return ERR_RESOURCES_EXHAUSTED;
    out->id = pd->slot.id;
    return FABRIC_OK;
}

enum fabric_error hca_pd_dealloc(struct hca *hca, hca_pd pd)
{
    struct pd_state *state = table_find(&hca->state.arena, &hca->state.device->pds, pd.id);
    assert(state);
    if (state->users)
        return ERR_INVALID_ARGUMENT;
    table_put(&hca->state.arena, &hca->state.device->pds, pd.id);
    return FABRIC_OK;
}

static enum fabric_error region_error(const struct hca *hca, uint64_t host, uint64_t length,
                                      uint64_t iova, uint32_t access)
{
    uint32_t align = hca->profile->iova_align ? hca->profile->iova_align : 1;
    if (length == 0 || iova + (length - 1) < iova || (host - iova) % align != 0)
        return ERR_INVALID_ARGUMENT;
    /* Chapter 10.6.3.1: remote writing and atomics need local writing. */
    if ((access & (HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC)) &&
        !(access & HCA_ACCESS_LOCAL_WRITE))
        return ERR_INVALID_ARGUMENT;
    return length > hca->profile->max_mr_size ? ERR_REGISTRATION_FAILED : FABRIC_OK;
}

enum fabric_error hca_mr_register(struct hca *hca, hca_pd pd, void *addr, uint64_t length,
                                  uint64_t iova, uint32_t access, uint64_t context, hca_mr *out,
                                  uint32_t *key)
{
    assert(addr && out && key);
    struct pd_state *domain = table_find(&hca->state.arena, &hca->state.device->pds, pd.id);
    assert(domain);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = region_error(hca, (uint64_t)(uintptr_t)addr, length, iova, access);
    if (error)
        return error;
    struct key_state *state = key_take(hca, domain);
    if (!state)
        return ERR_RESOURCES_EXHAUSTED;
    state->kind = KEY_MR;
    state->access = access;
    state->iova = iova;
    state->length = length;
    state->host = (uint64_t)(uintptr_t)addr;
    state->context = context;
    domain->users++;
    out->id = state->slot.id;
    *key = state->key;
    return FABRIC_OK;
}

static struct key_state *key_of(const struct hca *hca, uint32_t id, enum key_kind kind)
{
    struct key_state *state = table_find(&hca->state.arena, &hca->state.device->keys, id);
    assert(state && state->kind == kind);
    return state;
}

void hca_mr_give(struct hca *hca, hca_mr mr, uint32_t owner)
{
    assert(owner && hca->reach);
    key_of(hca, mr.id, KEY_MR)->owner = owner;
}

static void change_domain(struct hca *hca, struct key_state *state, hca_pd pd)
{
    struct hca_arena *arena = &hca->state.arena;
    struct pd_state *old = table_find(arena, &hca->state.device->pds, state->pd);
    struct pd_state *new = table_find(arena, &hca->state.device->pds, pd.id);
    assert(old && new && old->users > 0);
    old->users--;
    new->users++;
    state->pd = pd.id;
}

enum fabric_error hca_mr_reregister(struct hca *hca, hca_mr mr, const struct hca_mr_new *to)
{
    struct key_state *state = key_of(hca, mr.id, KEY_MR);
    bool moves = (to->changes & HCA_MR_TRANSLATION) != 0;
    uint64_t host = moves ? (uint64_t)(uintptr_t)to->addr : state->host;
    uint64_t length = moves ? to->length : state->length;
    uint64_t iova = moves ? to->iova : state->iova;
    uint32_t access = to->changes & HCA_MR_ACCESS ? to->access : state->access;
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = region_error(hca, host, length, iova, access);
    bool bound = state->windows > 0 && !PLANTED(hca_changed_under_windows);
    if (error || bound)
        return error ? error : ERR_INVALID_ARGUMENT;
    key_quiet(hca, state);
    if (to->changes & HCA_MR_PD)
        change_domain(hca, state, to->pd);
    state->host = host;
    state->length = length;
    state->iova = iova;
    if (!PLANTED(hca_access_kept))
        state->access = access;
    return FABRIC_OK;
}

enum fabric_error hca_mr_deregister(struct hca *hca, hca_mr mr)
{
    struct key_state *state = key_of(hca, mr.id, KEY_MR);
    if (state->windows)
        return ERR_INVALID_ARGUMENT;
    key_end(hca, state);
    return FABRIC_OK;
}

bool hca_mr_iova(const struct hca *hca, uint32_t lkey, const void *addr, uint64_t *iova)
{
    assert(iova);
    const struct key_state *state = state_key(&hca->state, lkey);
    if (!state || state->kind != KEY_MR)
        return false;
    uint64_t offset = (uint64_t)(uintptr_t)addr - state->host;
    if (offset > state->length)
        return false;
    *iova = state->iova + offset;
    return true;
}

enum fabric_error hca_mw_open(struct hca *hca, hca_mr mr, uint64_t iova, uint64_t length,
                              uint32_t access, uint64_t context, hca_mw *out, uint32_t *rkey)
{
    assert(out && rkey);
    const uint32_t writing = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC;
    struct key_state *region = key_of(hca, mr.id, KEY_MR);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    if (length == 0 || (access & ~(writing | HCA_ACCESS_REMOTE_READ)) || iova < region->iova ||
        iova - region->iova > region->length || length > region->length - (iova - region->iova))
        return ERR_INVALID_ARGUMENT;
    if ((access & writing) && !(region->access & HCA_ACCESS_LOCAL_WRITE))
        return ERR_INVALID_ARGUMENT;
    struct pd_state *pd = table_find(&hca->state.arena, &hca->state.device->pds, region->pd);
    struct key_state *window = key_take(hca, pd);
    if (!window)
        return ERR_RESOURCES_EXHAUSTED;
    window->kind = KEY_MW;
    window->access = access;
    window->iova = iova;
    window->length = length;
    window->host = region->host + (iova - region->iova);
    window->owner = region->owner;
    window->mr = mr.id;
    window->context = context;
    region->windows++;
    out->id = window->slot.id;
    *rkey = window->key;
    return FABRIC_OK;
}

void hca_mw_grant(struct hca *hca, hca_mw mw, bool grants)
{
    struct key_state *window = key_of(hca, mw.id, KEY_MW);
    assert(!window->revoking);
    window->waits = !grants;
}

static void window_end(struct hca *hca, struct key_state *window)
{
    struct hca_event event = {
        .kind = HCA_EVENT_MW_REVOKED, .mw = {window->slot.id}, .context = window->context};
    if (PLANTED(hca_revoke_early))
        detach_range(hca, key_host(window, window->iova), window->length);
    else
        key_end(hca, window);
    event_push(hca, &event);
}

static sim_event *revoke_event(struct hca *hca, const struct key_state *window)
{
    uint32_t index = slot_index(&window->slot);
    if (index < hca->revoke_capacity)
        return &hca->revokes[index];
    uint32_t capacity = hca->revoke_capacity ? hca->revoke_capacity : 16;
    while (capacity <= index)
        capacity *= 2;
    hca->revokes = realloc(hca->revokes, capacity * sizeof(hca->revokes[0]));
    if (!hca->revokes)
        abort();
    memset(hca->revokes + hca->revoke_capacity, 0,
           (capacity - hca->revoke_capacity) * sizeof(hca->revokes[0]));
    hca->revoke_capacity = capacity;
    return &hca->revokes[index];
}

static void revoke_due(void *object, uint64_t id)
{
    struct hca *hca = object;
    struct key_state *window =
        table_find(&hca->state.arena, &hca->state.device->keys, (uint32_t)id);
    if (window && window->revoking)
        window_end(hca, window);
}

void hca_mw_revoke(struct hca *hca, hca_mw mw)
{
    struct key_state *window = key_of(hca, mw.id, KEY_MW);
    assert(!window->revoking);
    window->revoking = true;
    if (hca->state.device->removed) {
        window_end(hca, window);
        return;
    }
    uint64_t delay =
        sim_random_between(hca->sim, hca->profile->revoke_min, hca->profile->revoke_max);
    *revoke_event(hca, window) = sim_in(hca->sim, delay, revoke_due, hca, mw.id);
}

void hca_mw_end(struct hca *hca, hca_mw mw)
{
    struct key_state *window = key_of(hca, mw.id, KEY_MW);
    if (window->revoking)
        sim_cancel(hca->sim, *revoke_event(hca, window));
    key_end(hca, window);
}

void windows_end_revoking(struct hca *hca)
{
    for (uint32_t i = 0; i < hca->state.device->keys.used; i++) {
        struct key_state *state = table_at(&hca->state.arena, &hca->state.device->keys, i);
        if (!state->slot.id || state->kind != KEY_MW || !state->revoking)
            continue;
        sim_cancel(hca->sim, *revoke_event(hca, state));
        window_end(hca, state);
    }
}

void windows_cancel(struct hca *hca)
{
    for (uint32_t i = 0; i < hca->state.device->keys.used; i++) {
        struct key_state *state = table_at(&hca->state.arena, &hca->state.device->keys, i);
        if (state->slot.id && state->kind == KEY_MW && state->revoking)
            sim_cancel(hca->sim, *revoke_event(hca, state));
    }
}
