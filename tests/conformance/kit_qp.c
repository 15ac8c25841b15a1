/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs and posts of the kit. */
#include "tests/conformance/kit.h"

struct fabric_qp_init kit_qp_init(const struct kit_node *node, enum fabric_qp_type type)
{
    return (struct fabric_qp_init){.type = type,
                                   .send_cq = node->cq,
                                   .recv_cq = node->cq,
                                   .max_send_wr = KIT_DEPTH,
                                   .max_recv_wr = KIT_DEPTH,
                                   .max_send_sge = 4,
                                   .max_recv_sge = 4,
                                   .max_inline = 64,
                                   .dc_access_key = UINT64_C(0x1122334455667788),
                                   .cookie = 0xc0 + node->index};
}

static void learn_number(struct kit_qp *qp)
{
    struct fabric_qp_info info;
    assert_int_equal(fabric_qp_query(qp->node->f, qp->qp, &info), FABRIC_OK);
    qp->qp_num = info.qp_num;
}

struct kit_qp kit_qp_new(struct kit_node *node, const struct fabric_qp_init *init)
{
    struct kit_qp qp = {.node = node, .psn = (uint32_t)(0x123456 + node->index)};
    assert_int_equal(fabric_qp_create(node->f, node->device, init, &qp.qp), FABRIC_OK);
    learn_number(&qp);
    return qp;
}

struct fabric_qp_attr kit_attr_init(enum fabric_qp_type type)
{
    return (struct fabric_qp_attr){.state = FABRIC_QPS_INIT,
                                   .port_num = 1,
                                   .access = type == FABRIC_QP_DCI ? 0 : KIT_ACCESS_ALL};
}

/* A port's address as if it could READ and be READ from. */
static struct fabric_port_address with_reads(const struct kit_node *node)
{
    struct fabric_port_address address = node->address;
    address.max_rd_atomic = address.max_dest_rd_atomic = 4;
    return address;
}

struct fabric_path kit_path(const struct kit_node *from, const struct kit_node *to)
{
    struct fabric_port_address here = with_reads(from), there = with_reads(to);
    struct fabric_path path;
    char detail[FABRIC_AV_DETAIL];
    enum fabric_error error = fabric_av_build(&here, &there, &path, detail);
    if (error)
        fail_msg("%s: %s", error_name(error), detail);
    if (path.max_dest_rd_atomic > from->address.max_dest_rd_atomic)
        path.max_dest_rd_atomic = from->address.max_dest_rd_atomic;
    return path;
}

struct fabric_qp_attr kit_attr_rtr(const struct kit_qp *from, const struct kit_qp *to)
{
    struct fabric_path path = kit_path(from->node, to->node);
    return (struct fabric_qp_attr){.state = FABRIC_QPS_RTR,
                                   .path_mtu = path.path_mtu,
                                   .av = path.av,
                                   .dest_qp_num = to->qp_num,
                                   .rq_psn = to->psn,
                                   .max_dest_rd_atomic = path.max_dest_rd_atomic,
                                   .min_rnr_timer = 1};
}

struct fabric_qp_attr kit_attr_rts(const struct kit_qp *qp)
{
    return (struct fabric_qp_attr){.state = FABRIC_QPS_RTS,
                                   .sq_psn = qp->psn,
                                   .timeout = 10,
                                   .retry_cnt = 2,
                                   .rnr_retry = 2,
                                   .max_rd_atomic = qp->node->address.max_rd_atomic};
}

static void take_to_rts(struct kit_qp *qp, const struct kit_qp *peer)
{
    const struct fabric_qp_attr init = kit_attr_init(FABRIC_QP_RC), rtr = kit_attr_rtr(qp, peer),
                                rts = kit_attr_rts(qp);
    assert_int_equal(fabric_qp_modify(qp->node->f, qp->qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qp->node->f, qp->qp, &rtr), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qp->node->f, qp->qp, &rts), FABRIC_OK);
}

void kit_connect(struct kit_qp *a, struct kit_qp *b)
{
    take_to_rts(a, b);
    take_to_rts(b, a);
}

void kit_pair(struct kit *kit, size_t a, size_t b, struct kit_qp *qa, struct kit_qp *qb)
{
    const struct fabric_qp_init init_a = kit_qp_init(&kit->nodes[a], FABRIC_QP_RC),
                                init_b = kit_qp_init(&kit->nodes[b], FABRIC_QP_RC);
    *qa = kit_qp_new(&kit->nodes[a], &init_a);
    *qb = kit_qp_new(&kit->nodes[b], &init_b);
    kit_connect(qa, qb);
}

enum fabric_qp_state kit_state(const struct kit_qp *qp)
{
    struct fabric_qp_info info;
    assert_int_equal(fabric_qp_query(qp->node->f, qp->qp, &info), FABRIC_OK);
    return info.state;
}

enum fabric_error kit_post(const struct kit_qp *qp, const struct fabric_send_wr *wr,
                           uint64_t offset, uint32_t length)
{
    const struct fabric_sge sge = {qp->node->buffer + offset, length, qp->node->keys.lkey};
    struct fabric_send_wr full = *wr;
    full.sges = &sge;
    full.sge_count = 1;
    return fabric_qp_post_send(qp->node->f, qp->qp, &full);
}

enum fabric_error kit_write(const struct kit_qp *qp, uint64_t wr_id, const struct kit_node *to,
                            uint64_t offset, uint32_t length)
{
    const struct fabric_send_wr wr = {.wr_id = wr_id,
                                      .opcode = FABRIC_WR_RDMA_WRITE,
                                      .flags = FABRIC_SEND_SIGNALED,
                                      .remote_iova = KIT_IOVA + offset,
                                      .rkey = to->keys.rkey};
    return kit_post(qp, &wr, offset, length);
}

enum fabric_error kit_send(const struct kit_qp *qp, uint64_t wr_id, uint64_t offset,
                           uint32_t length)
{
    const struct fabric_send_wr wr = {
        .wr_id = wr_id, .opcode = FABRIC_WR_SEND, .flags = FABRIC_SEND_SIGNALED};
    return kit_post(qp, &wr, offset, length);
}

enum fabric_error kit_recv(const struct kit_qp *qp, uint64_t wr_id, uint64_t offset,
                           uint32_t length)
{
    const struct fabric_sge sge = {qp->node->buffer + offset, length, qp->node->keys.lkey};
    const struct fabric_recv_wr wr = {.wr_id = wr_id, .sges = &sge, .sge_count = 1};
    return fabric_qp_post_recv(qp->node->f, qp->qp, &wr);
}
