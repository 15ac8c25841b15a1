/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/bind.h"

#include <assert.h>

#include "fabric_sim/hca/rules.h"
#include "src/fabric/planted.h"

/* Null: the window, or that value for its key, is not one that this request may use. */
static struct key_state *window_of(const struct hca_state *state, const struct qp_state *qp,
                                   const struct send_wqe *wqe)
{
    struct key_state *window = table_find(&state->arena, &state->device->keys, wqe->imm);
    if (!window || window->kind != KEY_MW || !window->type)
        return NULL;
    bool mine = window->pd == qp->pd || PLANTED(hca_window_of_any_pd);
    bool place = state_key_same_place(window, wqe->rkey) || PLANTED(hca_window_key_any);
    return mine && place ? window : NULL;
}

/* Null: it may not be bound to that range with that access. */
static struct key_state *region_of(const struct hca_state *state, const struct qp_state *qp,
                                   const struct send_wqe *wqe)
{
    const uint32_t writing = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC;
    struct key_state *region = state_key(state, wqe->qkey);
    if (!region || region->kind != KEY_MR)
        return NULL;
    uint32_t access = (uint32_t)wqe->swap;
    uint32_t needed = PLANTED(hca_bind_not_granted) ? 0 : HCA_ACCESS_MW_BIND;
    if ((access & writing) && !PLANTED(hca_bind_writes))
        needed |= HCA_ACCESS_LOCAL_WRITE;
    struct rules_key key = {region->iova, region->length, region->pd, region->access};
    bool allowed = (access & ~(writing | HCA_ACCESS_REMOTE_READ)) == 0 &&
                   rules_key_allows(&key, qp->pd, wqe->remote_addr, wqe->compare_add, needed);
    return allowed ? region : NULL;
}

static bool judge_binding(const struct hca_state *state, const struct qp_state *qp,
                          const struct send_wqe *wqe, struct bind *out)
{
    struct key_state *window = window_of(state, qp, wqe);
    if (!window)
        return false;
    bool second = window->type == HCA_MW_TYPE_2;
    bool bound_twice = second && !window->unbound && !PLANTED(hca_window_bound_twice);
    if (bound_twice || (second && wqe->compare_add == 0))
        return false;
    *out = (struct bind){.window = window, .key = wqe->rkey, .qp = second ? qp->slot.id : 0};
    if (wqe->compare_add > 0)
        out->region = region_of(state, qp, wqe);
    return wqe->compare_add == 0 || out->region;
}

bool bind_judge_invalidation(const struct hca_state *state, const struct qp_state *qp,
                             uint32_t rkey, struct bind *out)
{
    assert(state && qp && out);
    struct key_state *window = state_key(state, rkey);
    if (!window || window->kind != KEY_MW || window->type != HCA_MW_TYPE_2)
        return false;
    if (window->qp != qp->slot.id && !PLANTED(hca_invalidates_any))
        return false;
    *out = (struct bind){.window = window, .key = window->key};
    return true;
}

bool bind_judge(const struct hca_state *state, const struct qp_state *qp,
                const struct send_wqe *wqe, struct bind *out)
{
    assert(state && qp && out && rules_is_local(wqe->opcode));
    if (wqe->opcode == HCA_WR_BIND_MW)
        return judge_binding(state, qp, wqe, out);
    return bind_judge_invalidation(state, qp, wqe->rkey, out);
}

bool bind_ends(const struct bind *bind)
{
    return !bind->window->unbound && !PLANTED(hca_window_bound_on);
}

void bind_execute(struct hca_state *state, const struct send_wqe *wqe, const struct bind *bind)
{
    struct key_state *window = bind->window, *region = bind->region;
    assert(window && window->type);
    if (bind_ends(bind))
        state_key_unbind(state, window);
    window->key = bind->key;
    if (!region)
        return;
    window->unbound = false;
    window->qp = bind->qp;
    window->access = (uint32_t)wqe->swap;
    window->iova = wqe->remote_addr;
    window->length = wqe->compare_add;
    window->host = region->host + (wqe->remote_addr - region->iova);
    window->owner = region->owner;
    window->mr = region->slot.id;
    region->windows++;
}
