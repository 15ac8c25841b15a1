/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a DC initiator: each says what it was given. */
#define _GNU_SOURCE
#include <assert.h>
#include <endian.h>

#include "tests/support/verbs_fake.h"

static void wr_start(struct ibv_qp_ex *qp)
{
    verbs_fake_say("wr_start:%d ", qp != NULL);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
    verbs_fake_say("wr_rdma_write:%#x:%#llx:wr_flags=%#x ", rkey, (unsigned long long)addr,
                   qp->wr_flags);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
    verbs_fake_say("wr_rdma_write_imm:%#x:%#llx:%#x:%#x ", rkey, (unsigned long long)addr,
                   be32toh(imm), qp->wr_flags);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
    verbs_fake_say("wr_rdma_read:%#x:%#llx:%#x ", rkey, (unsigned long long)addr, qp->wr_flags);
}

static void wr_send(struct ibv_qp_ex *qp)
{
    verbs_fake_say("wr_send:%#x ", qp->wr_flags);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
    verbs_fake_say("wr_send_imm:%#x:%#x ", be32toh(imm), qp->wr_flags);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *sges)
{
    assert(qp);
    verbs_fake_say("wr_set_sge_list:%zu:%#llx ", count, (unsigned long long)sges[0].addr);
}

static void wr_set_inline(struct ibv_qp_ex *qp, size_t count, const struct ibv_data_buf *buffers)
{
    assert(qp);
    verbs_fake_say("wr_set_inline_data_list:%zu:%zu ", count, buffers[0].length);
}

static int wr_complete(struct ibv_qp_ex *qp)
{
    verbs_fake_say("wr_complete ");
    verbs_fake.sent[verbs_fake.sent_count++] = (struct ibv_send_wr){.wr_id = qp->wr_id};
    return 0;
}

static void wr_set_dc_addr(struct mlx5dv_qp_ex *qp, struct ibv_ah *ah, uint32_t dctn, uint64_t key)
{
    assert(qp && ah);
    verbs_fake_say("wr_set_dc_addr:%#x:%#llx ", dctn, (unsigned long long)key);
}

void verbs_fake_operations(struct ibv_qp_ex *ex, struct mlx5dv_qp_ex *mlx5)
{
    ex->wr_start = wr_start;
    ex->wr_complete = wr_complete;
    ex->wr_send = wr_send;
    ex->wr_send_imm = wr_send_imm;
    ex->wr_rdma_write = wr_rdma_write;
    ex->wr_rdma_write_imm = wr_rdma_write_imm;
    ex->wr_rdma_read = wr_rdma_read;
    ex->wr_set_sge_list = wr_set_sge_list;
    ex->wr_set_inline_data_list = wr_set_inline;
    mlx5->wr_set_dc_addr = wr_set_dc_addr;
}
