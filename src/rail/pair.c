/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/pair.h"

#include <assert.h>
#include <stdio.h>

#include "src/fabric/gid.h"
#include "src/fabric/planted.h"

static enum fabric_error to_init(struct rail *rail, fabric_qp qp)
{
    bool client = rail->role == RAIL_CLIENT;
    const struct fabric_qp_attr attr = {
        .state = FABRIC_QPS_INIT,
        .port_num = rail->address.port_num,
        .pkey_index = rail->address.pkey_index,
        .access = client ? FABRIC_ACCESS_REMOTE_READ | FABRIC_ACCESS_REMOTE_WRITE : 0,
    };
    return fabric_qp_modify(rail->fabric, qp, &attr);
}

enum fabric_error rail_pair_create(struct rail *rail, uint64_t cookie, struct rail_pair *out)
{
    assert(rail && out && rail->state == RAIL_READY && rail->device.id);
    struct fabric *f = rail->fabric;
    const struct fabric_qp_init init = {
        .type = FABRIC_QP_RC,
        .send_cq = rail->cq,
        .recv_cq = rail->cq,
        .max_send_wr = RAIL_SEND_DEPTH,
        .max_recv_wr = 1,
        .max_send_sge = 1,
        .max_recv_sge = 1,
        .cookie = cookie,
    };
    struct rail_pair pair = {.qp = {0}};
    struct fabric_qp_info info;
    enum fabric_error error = fabric_qp_create(f, rail->device, &init, &pair.qp);
    if (error)
        return error;
    error = to_init(rail, pair.qp);
    if (!error)
        error = fabric_qp_query(f, pair.qp, &info);
    if (!error)
        error = fabric_entropy(f, &pair.psn, sizeof pair.psn);
    if (error) {
        fabric_qp_destroy(f, pair.qp);
        return error;
    }
    pair.psn &= PLANTED(rail_psn_fixed) ? 0 : 0xffffffu;
    pair.epoch = rail->epoch;
    pair.qp_num = info.qp_num;
    *out = pair;
    return FABRIC_OK;
}

enum fabric_error rail_pair_resolve(struct rail *rail, struct rail_pair *pair,
                                    const struct fabric_path *path, uint64_t cookie)
{
    assert(rail && pair && pair->qp.id && path);
    enum fabric_error error = fabric_resolve(rail->fabric, rail->device, &path->av, cookie);
    if (error)
        rail_pair_destroy(rail, pair);
    return error;
}

enum fabric_error rail_pair_connect(struct rail *rail, struct rail_pair *pair,
                                    const struct fabric_path *path, uint32_t peer_qp_num,
                                    uint32_t peer_psn)
{
    assert(rail && pair && pair->qp.id && path);
    const struct fabric_qp_attr to_rtr = {
        .state = FABRIC_QPS_RTR,
        .path_mtu = path->path_mtu,
        .av = path->av,
        .dest_qp_num = peer_qp_num,
        .rq_psn = peer_psn,
        .max_dest_rd_atomic = path->max_dest_rd_atomic,
        .min_rnr_timer = RAIL_MIN_RNR_TIMER,
    };
    const struct fabric_qp_attr to_rts = {
        .state = FABRIC_QPS_RTS,
        .sq_psn = pair->psn,
        .timeout = RAIL_ACK_TIMEOUT,
        .retry_cnt = RAIL_RETRY_CNT,
        .rnr_retry = RAIL_RNR_RETRY,
        .max_rd_atomic = path->max_rd_atomic,
    };
    uint32_t growth;
    pair->bad_pkey_cntr = rail_pkey_violations(rail, &growth);
    enum fabric_error error = fabric_qp_modify(rail->fabric, pair->qp, &to_rtr);
    if (!error)
        error = fabric_qp_modify(rail->fabric, pair->qp, &to_rts);
    if (error)
        rail_pair_destroy(rail, pair);
    return error;
}

void rail_pair_destroy(struct rail *rail, struct rail_pair *pair)
{
    assert(rail && pair);
    if (pair->qp.id && rail->device.id && pair->epoch == rail->epoch)
        fabric_qp_destroy(rail->fabric, pair->qp);
    pair->qp = (fabric_qp){0};
}

void rail_explain(const struct rail *rail, const struct rail_pair *pair, enum fabric_error error,
                  char *out)
{
    assert(rail && pair && out);
    out[0] = '\0';
    if (error != ERR_RETRY_EXCEEDED || PLANTED(rail_violations_unread))
        return;
    uint32_t since_ready;
    uint32_t grown = rail_pkey_violations(rail, &since_ready) - pair->bad_pkey_cntr;
    if (PLANTED(rail_violations_stuck))
        grown = 0;
    snprintf(out, RAIL_EXPLAIN, "; %u P_Key violations at the %s's port", grown,
             rail->role == RAIL_SERVER ? "server" : "client");
}

enum fabric_error rail_path(const struct rail *rail, const struct fabric_port_address *peer,
                            struct fabric_path *out, char detail[FABRIC_AV_DETAIL])
{
    assert(rail && rail->state == RAIL_READY && peer && out);
    struct fabric_port_address other = *peer;
    if (PLANTED(rail_subnet_unchecked))
        other.subnet_prefix = rail->address.subnet_prefix;
    if (PLANTED(rail_membership_ignored))
        other.pkey |= 0x8000u;
    return fabric_av_build(&rail->address, &other, out, detail);
}

void rail_path_text(const struct rail *rail, const struct fabric_path *path, char *out)
{
    assert(rail && path && out);
    uint32_t mtu = fabric_mtu_bytes(path->path_mtu);
    if (!path->av.is_global) {
        snprintf(out, RAIL_PATH_TEXT, "path MTU %u", mtu);
        return;
    }
    char here[FABRIC_GID_TEXT], there[FABRIC_GID_TEXT];
    assert(path->local_gid < FABRIC_AV_MAX_GIDS);
    fabric_gid_format(&rail->address.gids[path->local_gid].gid, here);
    fabric_gid_format(&path->av.grh.dgid, there);
    snprintf(out, RAIL_PATH_TEXT, "path MTU %u, GID %u %s to %s", mtu, path->av.grh.sgid_index,
             here, there);
}
