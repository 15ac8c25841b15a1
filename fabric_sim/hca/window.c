/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory windows that programs allocate, and bind and invalidate by work requests (chapters 10.6.7,
 * 10.8.3): no packet, the device does it when the request's turn comes.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>

#include "src/fabric/planted.h"

enum fabric_error hca_mw_alloc(struct hca *hca, hca_pd pd, enum hca_mw_type type, uint64_t context,
                               hca_mw *out, uint32_t *rkey)
{
    assert(hca && out && rkey);
    struct pd_state *domain = table_find(&hca->state.arena, &hca->state.device->pds, pd.id);
    assert(domain);
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    if (type != HCA_MW_TYPE_1 && type != HCA_MW_TYPE_2)
        return ERR_INVALID_ARGUMENT;
    struct key_state *window = key_take(hca, domain);
    if (!window)
        return ERR_RESOURCES_EXHAUSTED;
    window->kind = KEY_MW;
    window->type = (uint8_t)type;
    window->unbound = true;
    window->context = context;
    domain->users++;
    out->id = window->slot.id;
    *rkey = window->key;
    return FABRIC_OK;
}

/* Null: the window, or that value for its key, is not one that this request may use. */
static struct key_state *window_of(const struct qp_context *ctx, const struct send_wqe *wqe)
{
    struct hca *hca = ctx->hca;
    struct key_state *window = table_find(&hca->state.arena, &hca->state.device->keys, wqe->imm);
    if (!window || window->kind != KEY_MW || !window->type)
        return NULL;
    bool mine = window->pd == ctx->qp->pd || PLANTED(hca_window_of_any_pd);
    bool place = state_key_same_place(window, wqe->rkey) || PLANTED(hca_window_key_any);
    return mine && place ? window : NULL;
}

/* Null: it may not be bound to that range with that access. */
static struct key_state *region_of(const struct qp_context *ctx, const struct send_wqe *wqe)
{
    const uint32_t writing = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC;
    struct key_state *region = state_key(&ctx->hca->state, wqe->qkey);
    if (!region || region->kind != KEY_MR)
        return NULL;
    uint32_t access = (uint32_t)wqe->swap;
    uint32_t needed = PLANTED(hca_bind_not_granted) ? 0 : HCA_ACCESS_MW_BIND;
    if ((access & writing) && !PLANTED(hca_bind_writes))
        needed |= HCA_ACCESS_LOCAL_WRITE;
    struct rules_key key = {region->iova, region->length, region->pd, region->access};
    bool allowed = (access & ~(writing | HCA_ACCESS_REMOTE_READ)) == 0 &&
                   rules_key_allows(&key, ctx->qp->pd, wqe->remote_addr, wqe->compare_add, needed);
    return allowed ? region : NULL;
}

static enum fabric_wc_status bind(struct qp_context *ctx, const struct send_wqe *wqe)
{
    struct key_state *window = window_of(ctx, wqe);
    if (!window)
        return FABRIC_WC_MW_BIND_ERR;
    bool second = window->type == HCA_MW_TYPE_2;
    bool bound_twice = second && !window->unbound && !PLANTED(hca_window_bound_twice);
    if (bound_twice || (second && wqe->compare_add == 0))
        return FABRIC_WC_MW_BIND_ERR;
    struct key_state *region = NULL;
    if (wqe->compare_add > 0 && !(region = region_of(ctx, wqe)))
        return FABRIC_WC_MW_BIND_ERR;
    if (!PLANTED(hca_window_bound_on))
        key_unbind(ctx->hca, window);
    window->key = wqe->rkey;
    if (!region)
        return FABRIC_WC_SUCCESS;
    window->unbound = false;
    window->qp = second ? ctx->qp->slot.id : 0;
    window->access = (uint32_t)wqe->swap;
    window->iova = wqe->remote_addr;
    window->length = wqe->compare_add;
    window->host = region->host + (wqe->remote_addr - region->iova);
    window->owner = region->owner;
    window->mr = region->slot.id;
    region->windows++;
    return FABRIC_WC_SUCCESS;
}

bool window_invalidate(struct qp_context *ctx, uint32_t rkey)
{
    struct key_state *window = state_key(&ctx->hca->state, rkey);
    if (!window || window->kind != KEY_MW || window->type != HCA_MW_TYPE_2)
        return false;
    if (window->qp != ctx->qp->slot.id && !PLANTED(hca_invalidates_any))
        return false;
    key_unbind(ctx->hca, window);
    return true;
}

enum fabric_wc_status window_execute(struct qp_context *ctx, const struct send_wqe *wqe)
{
    assert(rules_is_local(wqe->opcode));
    if (wqe->opcode == HCA_WR_BIND_MW)
        return bind(ctx, wqe);
    return window_invalidate(ctx, wqe->rkey) ? FABRIC_WC_SUCCESS : FABRIC_WC_MW_BIND_ERR;
}
