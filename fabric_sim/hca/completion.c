/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/completion.h"

#include <assert.h>

#include "fabric_sim/hca/header.h"
#include "src/fabric/planted.h"

static void name(struct hca_wc *wc, const struct qp_state *qp, uint64_t wr_id)
{
    wc->wr_id = wr_id;
    wc->context = qp->context;
    wc->qp.id = qp->slot.id;
    wc->qp_num = qp->qp_num;
}

struct hca_wc completion_of_send(const struct qp_state *qp, const struct send_wqe *wqe,
                                 enum fabric_wc_status status)
{
    struct hca_wc wc = {.status = (uint8_t)status, .is_send = true};
    name(&wc, qp, wqe->wr_id);
    wc.opcode = (uint8_t)rules_wc_opcode(wqe->opcode);
    if (status == FABRIC_WC_SUCCESS && rules_is_read_or_atomic(wqe->opcode))
        wc.byte_len = wqe->length;
    return wc;
}

bool completion_is_signaled(const struct qp_state *qp, const struct send_wqe *wqe)
{
    return qp->sq_sig_all || (wqe->flags & HCA_SEND_SIGNALED) || PLANTED(hca_unsignaled_completes);
}

struct hca_wc completion_of_message(const struct packet *last, bool write, uint32_t length)
{
    const struct rules_opcode *op = rules_opcode(last->opcode);
    assert(op->place & RULES_LAST);
    return (struct hca_wc){.status = FABRIC_WC_SUCCESS,
                           .opcode = write ? HCA_WC_RECV_RDMA_WITH_IMM : HCA_WC_RECV,
                           .byte_len = length,
                           .with_imm = op->imm,
                           .with_inv = op->ieth,
                           .imm = op->imm    ? last->imm
                                  : op->ieth ? last->rkey
                                             : 0,
                           .src_qp = last->src_qp,
                           .slid = last->slid,
                           .sl = last->sl};
}

struct hca_wc completion_of_datagram(const struct qp_state *qp, const struct port_info *info,
                                     const struct packet *packet)
{
    assert(qp->type == HCA_QP_UD && info->lmc <= 7);
    struct hca_wc wc = {.status = FABRIC_WC_SUCCESS,
                        .opcode = HCA_WC_RECV,
                        .byte_len = packet->payload_length + GRH_BYTES,
                        .with_imm = rules_opcode(packet->opcode)->imm,
                        .imm = packet->imm,
                        .src_qp = packet->src_qp,
                        .slid = packet->slid,
                        .sl = packet->sl,
                        .pkey_index = qp->attr.pkey_index,
                        .with_grh = packet->is_global};
    if (packet->dest_qp != 0xffffff) /* not a multicast */
        wc.dlid_path_bits = (uint8_t)(packet->dlid & ((1u << info->lmc) - 1));
    return wc;
}

void completion_name_receive(struct hca_wc *wc, const struct qp_state *qp,
                             const struct recv_wqe *recv)
{
    name(wc, qp, recv->wr_id);
}
