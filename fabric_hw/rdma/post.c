/* SPDX-License-Identifier: Apache-2.0 */
/* Posts. What the device knows of one is the handle of its queue pair, which queue, and the low
 * bits of its position in the ledger. */
#define _GNU_SOURCE
#include <endian.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

static uint64_t wr_id_of(const struct rdma_qp *qp, const struct rdma_ledger *ledger, bool is_send)
{
    uint64_t queue = is_send ? 0 : RDMA_SEQUENCE_MASK + UINT64_C(1);
    return (uint64_t)qp->object.id << 32 | queue | (ledger->next & RDMA_SEQUENCE_MASK);
}

static bool may_send(enum fabric_qp_state state)
{
    return state == FABRIC_QPS_RTS || state == FABRIC_QPS_ERR;
}

static enum fabric_error check_send(const struct rdma_qp *qp, const struct fabric_send_wr *wr)
{
    uint64_t length = 0;
    if (!qp->qp)
        return ERR_DEVICE_REMOVED;
    if (qp->type == FABRIC_QP_DCT || !may_send(qp->state) || wr->sge_count > qp->max_send_sge)
        return ERR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < wr->sge_count; i++)
        length += wr->sges[i].length;
    if (wr->flags & FABRIC_SEND_INLINE &&
        (length > qp->max_inline || wr->opcode == FABRIC_WR_RDMA_READ))
        return ERR_INVALID_ARGUMENT;
    return rdma_ledger_full(&qp->sends) ? ERR_QUEUE_FULL : FABRIC_OK;
}

static unsigned flags_of(uint32_t flags)
{
    unsigned to = flags & FABRIC_SEND_FENCE ? IBV_SEND_FENCE : 0;
    to |= flags & FABRIC_SEND_SIGNALED ? IBV_SEND_SIGNALED : 0;
    to |= flags & FABRIC_SEND_SOLICITED ? IBV_SEND_SOLICITED : 0;
    to |= flags & FABRIC_SEND_INLINE ? IBV_SEND_INLINE : 0;
    return to;
}

static int post_rc(struct rdma_qp *qp, uint64_t wr_id, const struct fabric_send_wr *wr)
{
    static const enum ibv_wr_opcode opcodes[] = {
        [FABRIC_WR_SEND] = IBV_WR_SEND,
        [FABRIC_WR_SEND_WITH_IMM] = IBV_WR_SEND_WITH_IMM,
        [FABRIC_WR_RDMA_WRITE] = IBV_WR_RDMA_WRITE,
        [FABRIC_WR_RDMA_WRITE_WITH_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
        [FABRIC_WR_RDMA_READ] = IBV_WR_RDMA_READ,
    };
    struct rdma_device *device = qp->object.device;
    struct ibv_sge sges[FABRIC_MAX_SGE];
    struct ibv_send_wr post = {.wr_id = wr_id,
                               .sg_list = sges,
                               .num_sge = (int)wr->sge_count,
                               .opcode = opcodes[wr->opcode],
                               .send_flags = flags_of(wr->flags),
                               .imm_data = htobe32(wr->imm),
                               .wr.rdma = {wr->remote_iova, wr->rkey}};
    struct ibv_send_wr *bad;
    rdma_sges(device, wr->sges, sges, wr->sge_count, wr->flags & FABRIC_SEND_INLINE);
    return device->rdma->calls->post_send(qp->qp, &post, &bad);
}

/* A device may refuse a post in ERR, where the contract has it flushed: then we do it. */
enum fabric_error rdma_qp_post_send(struct fabric *f, fabric_qp handle,
                                    const struct fabric_send_wr *wr)
{
    struct rdma *r = rdma_of(f);
    struct rdma_qp *qp = rdma_handles_get(&r->handles, handle.id, RDMA_QP);
    const struct rdma_ah *ah =
        qp->type == FABRIC_QP_DCI ? rdma_handles_get(&r->handles, wr->ah.id, RDMA_AH) : NULL;
    enum fabric_error error = check_send(qp, wr);
    if (error)
        return error;
    bool given = qp->sends.given == qp->sends.next;
    uint64_t wr_id = wr_id_of(qp, &qp->sends, true);
    int number = !given ? 0 : ah ? rdma_dc_post(qp, wr_id, wr, ah->ah) : post_rc(qp, wr_id, wr);
    if (number && !qp->dead && !PLANTED(rdma_refused_post_kept))
        return ERR_QUEUE_FULL;
    struct rdma_entry entry = {
        .wr_id = wr->wr_id,
        .epoch = qp->epoch,
        .signaled = qp->sq_sig_all || wr->flags & FABRIC_SEND_SIGNALED,
    };
    rdma_ledger_add(&qp->sends, entry, given && !number);
    rdma_make_up(qp, true);
    return FABRIC_OK;
}

/* In ERR the device is not asked: some take a receive there and never look at it. */
enum fabric_error rdma_qp_post_recv(struct fabric *f, fabric_qp handle,
                                    const struct fabric_recv_wr *wr)
{
    struct rdma *r = rdma_of(f);
    struct rdma_qp *qp = rdma_handles_get(&r->handles, handle.id, RDMA_QP);
    struct ibv_sge sges[FABRIC_MAX_SGE];
    struct ibv_recv_wr post = {.sg_list = sges, .num_sge = (int)wr->sge_count}, *bad;
    if (!qp->qp)
        return ERR_DEVICE_REMOVED;
    if (qp->type != FABRIC_QP_RC || qp->srq || qp->state == FABRIC_QPS_RESET ||
        wr->sge_count > qp->max_recv_sge)
        return ERR_INVALID_ARGUMENT;
    if (rdma_ledger_full(&qp->receives))
        return ERR_QUEUE_FULL;
    bool given =
        (!qp->dead || PLANTED(rdma_error_receive_given)) && qp->receives.given == qp->receives.next;
    rdma_sges(qp->object.device, wr->sges, sges, wr->sge_count, false);
    post.wr_id = wr_id_of(qp, &qp->receives, false);
    if (given && r->calls->post_recv(qp->qp, &post, &bad))
        return ERR_QUEUE_FULL;
    const struct rdma_entry entry = {.wr_id = wr->wr_id, .epoch = qp->epoch, .signaled = true};
    rdma_ledger_add(&qp->receives, entry, given);
    rdma_make_up(qp, false);
    return FABRIC_OK;
}
