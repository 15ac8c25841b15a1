/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/keys.h"

#include <assert.h>

#include "src/fabric/planted.h"

const struct key_state *keys_remote(const struct hca_state *state, const struct qp_state *qp,
                                    uint32_t pd, uint32_t rkey, uint64_t addr, uint32_t length,
                                    uint32_t access)
{
    assert(state && qp && length > 0);
    const struct key_state *found = state_key(state, rkey);
    if (!found || found->waits)
        return NULL;
    if (found->type == HCA_MW_TYPE_2 && found->qp != qp->slot.id && !PLANTED(hca_window_of_any_qp))
        return NULL;
    struct rules_key key = {found->iova, found->length, found->pd, found->access};
    return rules_key_allows(&key, pd, addr, length, access) ? found : NULL;
}

const struct key_state *keys_local(const struct hca_state *state, uint32_t pd,
                                   const struct hca_sge *sge, uint32_t access)
{
    assert(state && pd && sge);
    const struct key_state *found = state_key(state, sge->lkey);
    if (!found || found->kind != KEY_MR)
        return NULL;
    struct rules_key key = {found->iova, found->length, found->pd, found->access};
    return rules_key_allows(&key, pd, sge->addr, sge->length, access) ? found : NULL;
}

bool keys_all_local(const struct hca_state *state, uint32_t pd, const struct hca_sge *sges,
                    uint32_t count, uint32_t access)
{
    assert(count <= FABRIC_MAX_SGE);
    for (uint32_t i = 0; i < count; i++)
        if (sges[i].length && !keys_local(state, pd, &sges[i], access))
            return false;
    return true;
}

bool keys_quiet(const struct hca_state *state, const struct key_state *key)
{
    assert(state && key);
    return key->owner != 0 && (state->device->held == 0 || PLANTED(hca_landing_overlooked));
}
