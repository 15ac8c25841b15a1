/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

/* A key names index and generation; its value is scrambled so that a stranger cannot guess the
 * next one. */
#define KEY_GENERATION_BITS 12u

static uint32_t key_value(const struct hca *hca, struct key_state *state)
{
    uint32_t index = slot_index(&state->slot);
    uint32_t generation = state->slot.generation & ((1u << KEY_GENERATION_BITS) - 1);
    return scramble(&hca->key_scramble, index << KEY_GENERATION_BITS | generation);
}

struct key_state *key_find(const struct hca *hca, uint32_t key)
{
    uint32_t index = unscramble(&hca->key_scramble, key) >> KEY_GENERATION_BITS;
    if (index >= hca->keys.used)
        return NULL;
    struct key_state *state = table_at(&hca->arena, &hca->keys, index);
    if (PLANTED(hca_stale_key) && state->length)
        return state;
    return state->slot.id && state->key == key ? state : NULL;
}

void *key_host(const struct key_state *key, uint64_t addr)
{
    assert(addr >= key->iova && addr - key->iova <= key->length);
    return (void *)(uintptr_t)(key->host + (addr - key->iova));
}

bool key_remote(const struct qp_context *ctx, uint32_t rkey, uint64_t addr, uint32_t length,
                uint32_t access)
{
    const struct key_state *state = key_find(ctx->hca, rkey);
    if (!state || state->waits)
        return false;
    struct rules_key key = {state->iova, state->length, state->pd, state->access};
    return rules_key_allows(&key, ctx->qp->pd, addr, length, access);
}

static const struct key_state *local_key(const struct qp_context *ctx, const struct hca_sge *sge,
                                         uint32_t access)
{
    const struct key_state *state = key_find(ctx->hca, sge->lkey);
    if (!state || state->kind != KEY_MR)
        return NULL;
    struct rules_key key = {state->iova, state->length, state->pd, state->access};
    return rules_key_allows(&key, ctx->qp->pd, sge->addr, sge->length, access) ? state : NULL;
}

bool memory_local(const struct qp_context *ctx, const struct hca_sge *sges, uint32_t count,
                  uint32_t access)
{
    assert(count <= FABRIC_MAX_SGE);
    for (uint32_t i = 0; i < count; i++)
        if (sges[i].length && !local_key(ctx, &sges[i], access))
            return false;
    return true;
}

bool memory_scatter(const struct qp_context *ctx, const struct hca_sge *sges, uint32_t count,
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
        const struct key_state *key = local_key(ctx, &piece, HCA_ACCESS_LOCAL_WRITE);
        if (!key)
            return false;
        if (!ctx->hca->discard_payload)
            memmove(key_host(key, piece.addr), bytes, part); /* a region may be its own peer */
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

/* Memory goes back to its program: nothing in flight refers to it any more. */
static void detach_range(struct hca *hca, const uint8_t *from, uint64_t length)
{
    if (PLANTED(hca_payload_not_detached))
        return;
    uintptr_t first = (uintptr_t)from;
    for (uint32_t i = 0; i < hca->qps.used; i++) {
        struct qp_context *ctx = hca->contexts[i];
        for (; ctx; ctx = ctx->dcr ? ctx->dcr_next : ctx->dcr_first) {
            for (uint32_t r = 0; r < ENGINE_RESOURCES; r++) {
                struct payload *payload = ctx->rsp.resources[r].payload;
                if (payload && !payload->owned && (uintptr_t)payload->bytes - first < length)
                    payload_detach(hca->net, payload);
            }
            for (uint32_t s = ctx->qp->sq_tail; !ctx->dcr && s != ctx->qp->sq_head; s++) {
                struct payload *payload = requester_slot(ctx, s)->payload;
                if (payload && !payload->owned && (uintptr_t)payload->bytes - first < length)
                    payload_detach(hca->net, payload);
            }
        }
    }
}

/* RDMA WRITEs whose packets wait to land through this key: it is now or never. */
static void abandon_landing(struct hca *hca, uint32_t key)
{
    for (uint32_t i = 0; i < hca->qps.used; i++) {
        struct qp_context *ctx = hca->contexts[i];
        for (; ctx; ctx = ctx->dcr ? ctx->dcr_next : ctx->dcr_first)
            if (ctx->rsp.held && ctx->rsp.rkey == key)
                landing_abandon(ctx);
    }
}

static void key_end(struct hca *hca, struct key_state *state)
{
    abandon_landing(hca, state->key);
    const uint8_t *host = key_host(state, state->iova);
    uint64_t length = state->length;
    table_put(&hca->arena, &hca->keys, state->slot.id);
    detach_range(hca, host, length);
}

static struct key_state *key_take(struct hca *hca, struct pd_state *pd)
{
    struct key_state *state = table_take(&hca->arena, &hca->keys);
    if (!state)
        return NULL;
    state->pd = pd->slot.id;
    state->key = key_value(hca, state);
    if (state->key == 0 || state->key == UINT32_MAX) { /* read as "no key" by many programs */
        state->slot.generation++;
        state->key = key_value(hca, state);
    }
    return state;
}

enum fabric_error hca_pd_alloc(struct hca *hca, hca_pd *out)
{
    assert(hca && out);
    if (hca->removed)
        return ERR_DEVICE_REMOVED;
    struct pd_state *pd = table_take(&hca->arena, &hca->pds);
    if (!pd)
        return ERR_RESOURCES_EXHAUSTED;
    out->id = pd->slot.id;
    return FABRIC_OK;
}

enum fabric_error hca_pd_dealloc(struct hca *hca, hca_pd pd)
{
    struct pd_state *state = table_find(&hca->arena, &hca->pds, pd.id);
    assert(state);
    if (state->users)
        return ERR_INVALID_ARGUMENT;
    table_put(&hca->arena, &hca->pds, pd.id);
    return FABRIC_OK;
}

enum fabric_error hca_mr_register(struct hca *hca, hca_pd pd, void *addr, uint64_t length,
                                  uint64_t iova, uint32_t access, uint64_t context, hca_mr *out,
                                  uint32_t *key)
{
    assert(addr && out && key);
    struct pd_state *domain = table_find(&hca->arena, &hca->pds, pd.id);
    assert(domain);
    if (hca->removed)
        return ERR_DEVICE_REMOVED;
    uint32_t align = hca->profile->iova_align ? hca->profile->iova_align : 1;
    if (length == 0 || iova + (length - 1) < iova ||
        ((uint64_t)(uintptr_t)addr - iova) % align != 0)
        return ERR_INVALID_ARGUMENT;
    /* Chapter 10.6.3.1: remote writing and atomics need local writing. */
    if ((access & (HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC)) &&
        !(access & HCA_ACCESS_LOCAL_WRITE))
        return ERR_INVALID_ARGUMENT;
    if (length > hca->profile->max_mr_size)
        return ERR_REGISTRATION_FAILED;
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
    struct key_state *state = table_find(&hca->arena, &hca->keys, id);
    assert(state && state->kind == kind);
    return state;
}

static void pd_release(struct hca *hca, uint32_t id)
{
    struct pd_state *pd = table_find(&hca->arena, &hca->pds, id);
    assert(pd && pd->users > 0);
    pd->users--;
}

enum fabric_error hca_mr_deregister(struct hca *hca, hca_mr mr)
{
    struct key_state *state = key_of(hca, mr.id, KEY_MR);
    if (state->windows)
        return ERR_INVALID_ARGUMENT;
    pd_release(hca, state->pd);
    key_end(hca, state);
    return FABRIC_OK;
}

bool hca_mr_iova(const struct hca *hca, uint32_t lkey, const void *addr, uint64_t *iova)
{
    assert(iova);
    const struct key_state *state = key_find(hca, lkey);
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
    if (hca->removed)
        return ERR_DEVICE_REMOVED;
    if (length == 0 || (access & ~(writing | HCA_ACCESS_REMOTE_READ)) || iova < region->iova ||
        iova - region->iova > region->length || length > region->length - (iova - region->iova))
        return ERR_INVALID_ARGUMENT;
    if ((access & writing) && !(region->access & HCA_ACCESS_LOCAL_WRITE))
        return ERR_INVALID_ARGUMENT;
    struct pd_state *pd = table_find(&hca->arena, &hca->pds, region->pd);
    struct key_state *window = key_take(hca, pd);
    if (!window)
        return ERR_RESOURCES_EXHAUSTED;
    window->kind = KEY_MW;
    window->access = access;
    window->iova = iova;
    window->length = length;
    window->host = region->host + (iova - region->iova);
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
    key_of(hca, window->mr, KEY_MR)->windows--;
    if (PLANTED(hca_revoke_early))
        detach_range(hca, key_host(window, window->iova), window->length);
    else
        key_end(hca, window);
    event_push(hca, &event);
}

static void revoke_due(void *object, uint64_t id)
{
    struct hca *hca = object;
    struct key_state *window = table_find(&hca->arena, &hca->keys, (uint32_t)id);
    if (window && window->revoking)
        window_end(hca, window);
}

void hca_mw_revoke(struct hca *hca, hca_mw mw)
{
    struct key_state *window = key_of(hca, mw.id, KEY_MW);
    assert(!window->revoking);
    window->revoking = true;
    if (hca->removed) {
        window_end(hca, window);
        return;
    }
    uint64_t delay =
        sim_random_between(hca->sim, hca->profile->revoke_min, hca->profile->revoke_max);
    window->revoke_event = sim_in(hca->sim, delay, revoke_due, hca, mw.id);
}

void hca_mw_end(struct hca *hca, hca_mw mw)
{
    struct key_state *window = key_of(hca, mw.id, KEY_MW);
    if (window->revoking)
        sim_cancel(hca->sim, window->revoke_event);
    key_of(hca, window->mr, KEY_MR)->windows--;
    key_end(hca, window);
}

void windows_end_revoking(struct hca *hca)
{
    for (uint32_t i = 0; i < hca->keys.used; i++) {
        struct key_state *state = table_at(&hca->arena, &hca->keys, i);
        if (!state->slot.id || state->kind != KEY_MW || !state->revoking)
            continue;
        sim_cancel(hca->sim, state->revoke_event);
        window_end(hca, state);
    }
}

void windows_cancel(struct hca *hca)
{
    for (uint32_t i = 0; i < hca->keys.used; i++) {
        struct key_state *state = table_at(&hca->arena, &hca->keys, i);
        if (state->slot.id && state->kind == KEY_MW && state->revoking)
            sim_cancel(hca->sim, state->revoke_event);
    }
}
