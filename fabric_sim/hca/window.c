/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory windows that programs allocate, and bind and invalidate by work requests (chapters 10.6.7,
 * 10.8.3): no packet, the device does it when the request's turn comes.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>

#include "fabric_sim/hca/bind.h"

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

static void execute(struct qp_context *ctx, const struct send_wqe *wqe, const struct bind *bind)
{
    if (bind_ends(bind))
        key_quiet(ctx->hca, bind->window);
    bind_execute(&ctx->hca->state, wqe, bind);
}

bool window_invalidate(struct qp_context *ctx, uint32_t rkey)
{
    struct bind bind;
    if (!bind_judge_invalidation(&ctx->hca->state, ctx->qp, rkey, &bind))
        return false;
    execute(ctx, NULL, &bind);
    return true;
}

enum fabric_wc_status window_execute(struct qp_context *ctx, const struct send_wqe *wqe)
{
    struct bind bind;
    assert(rules_is_local(wqe->opcode));
    if (!bind_judge(&ctx->hca->state, ctx->qp, wqe, &bind))
        return FABRIC_WC_MW_BIND_ERR;
    execute(ctx, wqe, &bind);
    return FABRIC_WC_SUCCESS;
}
