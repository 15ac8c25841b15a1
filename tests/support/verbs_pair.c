/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "tests/support/verbs_pair.h"

#include <stdlib.h>

#include "tests/support/verbs_node.h"

bool pair_open(struct pair_end *end, const char *node)
{
    end->context = end->context ? end->context : node_open(node);
    end->bytes = aligned_alloc(4096, PAIR_BYTES);
    end->pd = end->context ? ibv_alloc_pd(end->context) : NULL;
    if (end->pd && !end->cq)
        end->cq = ibv_create_cq(end->context, 16, NULL, NULL, 0);
    end->mr = end->cq ? ibv_reg_mr(end->pd, end->bytes, PAIR_BYTES,
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND)
                      : NULL;
    return end->mr && ibv_query_port(end->context, 1, &end->port) == 0;
}

static bool create(struct pair_end *end)
{
    struct ibv_qp_init_attr init = {
        .send_cq = end->cq,
        .recv_cq = end->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}};
    end->qp = ibv_create_qp(end->pd, &init);
    return end->qp != NULL;
}

static bool connect_to(const struct pair_end *end, const struct pair_end *peer)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
                               .path_mtu = IBV_MTU_1024,
                               .dest_qp_num = peer->qp->qp_num,
                               .max_rd_atomic = 1,
                               .max_dest_rd_atomic = 1,
                               .min_rnr_timer = 1,
                               .timeout = 14,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .ah_attr = {.dlid = peer->port.lid, .port_num = 1}};
    if (ibv_modify_qp(end->qp, &attr,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
        return false;
    attr.qp_state = IBV_QPS_RTR;
    if (ibv_modify_qp(end->qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
        return false;
    attr.qp_state = IBV_QPS_RTS;
    return ibv_modify_qp(end->qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

bool pair_connect(struct pair_end *a, struct pair_end *b)
{
    return create(a) && create(b) && connect_to(a, b) && connect_to(b, a);
}

bool pair_post(struct pair_end *end, struct ibv_send_wr *wr, uint32_t length)
{
    struct ibv_sge sge = {.addr = (uintptr_t)end->bytes, .length = length, .lkey = end->mr->lkey};
    struct ibv_send_wr *bad;
    wr->send_flags |= IBV_SEND_SIGNALED;
    wr->sg_list = &sge;
    wr->num_sge = length ? 1 : 0;
    return ibv_post_send(end->qp, wr, &bad) == 0;
}

bool pair_receive(struct pair_end *end, uint32_t length)
{
    struct ibv_sge sge = {.addr = (uintptr_t)end->bytes, .length = length, .lkey = end->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    return ibv_post_recv(end->qp, &wr, &bad) == 0;
}

struct ibv_wc pair_completion(const struct pair_end *end)
{
    struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
    while (ibv_poll_cq(end->cq, 1, &wc) == 0)
        continue;
    return wc;
}

enum ibv_wc_status pair_write(struct pair_end *from, const struct pair_end *to, uint32_t rkey)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE};
    wr.wr.rdma.remote_addr = (uintptr_t)to->bytes;
    wr.wr.rdma.rkey = rkey;
    return pair_post(from, &wr, 64) ? pair_completion(from).status : IBV_WC_GENERAL_ERR;
}
