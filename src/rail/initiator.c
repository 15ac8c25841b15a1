/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/initiator.h"

#include <assert.h>

#include "src/fabric/planted.h"
#include "src/rail/pair.h"

uint8_t rail_initiator_depth(const struct rail *rail)
{
    assert(rail);
    return rail->attr.max_init_rd_atomic;
}

static enum fabric_error to_rts(struct rail *rail, enum fabric_mtu mtu, fabric_qp qp)
{
    const struct fabric_port_address *a = &rail->address;
    const struct fabric_qp_attr steps[] = {
        {.state = FABRIC_QPS_INIT,
         .port_num = a->port_num,
         .pkey_index = PLANTED(rail_initiator_pkey_zero) ? 0 : a->pkey_index},
        {.state = FABRIC_QPS_RTR,
         .path_mtu = PLANTED(rail_initiator_mtu_own) ? a->mtu : mtu,
         .min_rnr_timer = RAIL_MIN_RNR_TIMER},
        {.state = FABRIC_QPS_RTS,
         .timeout = RAIL_ACK_TIMEOUT,
         .retry_cnt = RAIL_RETRY_CNT,
         .rnr_retry = RAIL_RNR_RETRY,
         .max_rd_atomic = rail_initiator_depth(rail)},
    };
    enum fabric_error error = FABRIC_OK;
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0] && !error; i++)
        error = fabric_qp_modify(rail->fabric, qp, &steps[i]);
    return error;
}

enum fabric_error rail_initiator_create(struct rail *rail, enum fabric_mtu mtu, uint64_t cookie,
                                        fabric_qp *out)
{
    assert(rail && out && rail->state == RAIL_READY && mtu);
    const struct fabric_qp_init init = {
        .type = FABRIC_QP_DCI,
        .send_cq = rail->cq,
        .recv_cq = rail->cq,
        .max_send_wr = RAIL_SEND_DEPTH,
        .max_send_sge = 1,
        .cookie = cookie,
    };
    fabric_qp qp;
    enum fabric_error error = fabric_qp_create(rail->fabric, rail->device, &init, &qp);
    if (error)
        return error;
    error = to_rts(rail, mtu, qp);
    if (error)
        fabric_qp_destroy(rail->fabric, qp);
    else
        *out = qp;
    return error;
}

enum fabric_error rail_initiator_recover(struct rail *rail, enum fabric_mtu mtu, fabric_qp qp)
{
    assert(rail && qp.id && mtu);
    const struct fabric_qp_attr reset = {.state = FABRIC_QPS_RESET};
    enum fabric_error error = fabric_qp_modify(rail->fabric, qp, &reset);
    if (!error)
        error = to_rts(rail, mtu, qp);
    if (error)
        fabric_qp_destroy(rail->fabric, qp);
    return error;
}
