/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/target.h"

#include <assert.h>

#include "src/fabric/gid.h"
#include "src/fabric/planted.h"
#include "src/rail/pair.h"

bool rail_has_dc(const struct rail *rail)
{
    assert(rail);
    return rail->device.id && (rail->attr.caps & FABRIC_CAP_DC) != 0;
}

/* A DC target goes RESET, INIT, RTR, and has its number only then. */
static enum fabric_error to_rtr(struct rail *rail, struct rail_target *t,
                                const struct fabric_av *av)
{
    struct fabric *f = rail->fabric;
    const struct fabric_qp_attr init = {
        .state = FABRIC_QPS_INIT,
        .port_num = t->port_num,
        .pkey_index = t->pkey_index,
        .access = FABRIC_ACCESS_REMOTE_READ | FABRIC_ACCESS_REMOTE_WRITE,
    };
    const struct fabric_qp_attr rtr = {
        .state = FABRIC_QPS_RTR,
        .path_mtu = t->mtu,
        .av = *av,
        .min_rnr_timer = RAIL_MIN_RNR_TIMER,
    };
    struct fabric_qp_info info;
    enum fabric_error error = fabric_qp_modify(f, t->qp, &init);
    if (!error)
        error = fabric_qp_modify(f, t->qp, &rtr);
    if (!error)
        error = fabric_qp_query(f, t->qp, &info);
    if (!error)
        t->dct_num = info.qp_num;
    return error;
}

/* The queue pair on an SRQ that is there. */
static enum fabric_error make(struct rail *rail, uint64_t cookie, struct rail_target *t)
{
    struct fabric *f = rail->fabric;
    struct fabric_av av;
    enum fabric_error error = fabric_av_target(&rail->address, &t->gid, &av);
    if (error)
        return error;
    if (t->gid < rail->address.gid_count)
        t->own_gid = rail->address.gids[t->gid];
    error = fabric_entropy(f, &t->access_key, sizeof t->access_key);
    if (error)
        return error;
    if (PLANTED(rail_dc_key_fixed))
        t->access_key = 1;
    const struct fabric_qp_init init = {
        .type = FABRIC_QP_DCT,
        .send_cq = rail->cq,
        .recv_cq = rail->cq,
        .srq = t->srq,
        .max_recv_sge = 1,
        .dc_access_key = t->access_key,
        .cookie = cookie,
    };
    error = fabric_qp_create(f, rail->device, &init, &t->qp);
    if (error)
        return error;
    error = to_rtr(rail, t, &av);
    if (error)
        fabric_qp_destroy(f, t->qp);
    return error;
}

enum fabric_error rail_target_create(struct rail *rail, uint64_t cookie, struct rail_target *out)
{
    assert(rail && out && rail->state == RAIL_READY);
    struct rail_target t = {.epoch = rail->epoch,
                            .port_num = rail->address.port_num,
                            .pkey_index = rail->address.pkey_index,
                            .mtu = rail->address.mtu};
    if (!rail_has_dc(rail))
        return ERR_DC_UNSUPPORTED;
    enum fabric_error error = fabric_srq_create(rail->fabric, rail->device, 1, 1, &t.srq);
    if (error)
        return error;
    error = make(rail, cookie, &t);
    if (error) {
        fabric_srq_destroy(rail->fabric, t.srq);
        return error;
    }
    *out = t;
    return FABRIC_OK;
}

bool rail_target_stands(const struct rail *rail, struct rail_target *t)
{
    assert(rail && t);
    const struct fabric_port_address *a = &rail->address;
    bool same = t->qp.id && rail->state == RAIL_READY && t->epoch == rail->epoch &&
                t->port_num == a->port_num && t->mtu == a->mtu &&
                (t->pkey_index == a->pkey_index || PLANTED(rail_target_pkey_kept));
    bool demanded =
        a->link_layer == FABRIC_LINK_LAYER_ETHERNET || (a->flags & FABRIC_PORT_GRH_REQUIRED) != 0;
    if (!same || demanded != (t->gid < FABRIC_AV_MAX_GIDS))
        return false;
    for (uint8_t i = 0; demanded && i < a->gid_count; i++) {
        const struct fabric_usable_gid *g = &a->gids[i];
        if (g->type == t->own_gid.type && g->index == t->own_gid.index &&
            fabric_gid_equal(&g->gid, &t->own_gid.gid)) {
            t->gid = i;
            return true;
        }
    }
    return !demanded || PLANTED(rail_target_gid_kept);
}

bool rail_target_is_best(const struct rail *rail, const struct rail_target *t)
{
    uint8_t best;
    struct fabric_av av;
    assert(rail && t && t->qp.id && rail->state == RAIL_READY);
    return fabric_av_target(&rail->address, &best, &av) != FABRIC_OK || best == t->gid;
}

void rail_target_destroy(struct rail *rail, struct rail_target *t)
{
    assert(rail && t);
    if (t->qp.id && rail->device.id && t->epoch == rail->epoch) {
        fabric_qp_destroy(rail->fabric, t->qp);
        fabric_srq_destroy(rail->fabric, t->srq);
    }
    *t = (struct rail_target){.epoch = 0};
}
