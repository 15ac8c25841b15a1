/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other way to post: ibv_wr_start, a call for each request, ibv_wr_complete (ibv_wr_post(3)).
 * Requests are gathered here and posted together or not at all. A wrong one is told by
 * ibv_wr_complete.
 */
#define _DEFAULT_SOURCE /* endian.h */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/verbs/plugin.h"
#include "src/fabric/planted.h"

struct gathered {
    struct hca_send_wr wr;
    struct hca_sge sges[FABRIC_MAX_SGE];
    size_t inline_at; /* in the bytes of the batch, of inline data */
};

struct plugin_batch {
    pthread_mutex_t lock; /* from wr_start to wr_complete or wr_abort */
    struct gathered *at;
    size_t count, capacity;
    uint8_t *bytes;
    size_t length, room;
    int error;
};

static struct plugin_qp *of(struct ibv_qp_ex *qp)
{
    return (struct plugin_qp *)(void *)qp;
}

struct plugin_batch *batch_new(void)
{
    struct plugin_batch *batch = calloc(1, sizeof(*batch));
    if (batch)
        pthread_mutex_init(&batch->lock, NULL);
    return batch;
}

void batch_free(struct plugin_batch *batch)
{
    if (!batch)
        return;
    pthread_mutex_destroy(&batch->lock);
    free(batch->at);
    free(batch->bytes);
    free(batch);
}

static void *grown(void *array, size_t size)
{
    assert(size > 0);
    void *larger = realloc(array, size);
    if (!larger)
        abort(); /* these calls have no way to fail */
    return larger;
}

/* ------------------------------------------------------------------ the frame */

static void wr_start(struct ibv_qp_ex *qp)
{
    struct plugin_batch *batch = of(qp)->batch;
    assert(batch);
    pthread_mutex_lock(&batch->lock);
    batch->count = batch->length = 0;
    batch->error = 0;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
    assert(of(qp)->batch);
    pthread_mutex_unlock(&of(qp)->batch->lock);
}

static int wr_complete(struct ibv_qp_ex *qp)
{
    struct plugin_batch *batch = of(qp)->batch;
    assert(batch && batch->count <= batch->capacity && batch->length <= batch->room);
    int error = batch->error;
    for (size_t i = 0; i < batch->count; i++) {
        struct gathered *one = &batch->at[i];
        one->wr.sges = one->sges;
        if (one->wr.flags & HCA_SEND_INLINE)
            one->sges[0].addr = (uint64_t)(uintptr_t)(batch->bytes + one->inline_at);
    }
    if (!error && batch->count)
        error = plugin_post_all(of(qp), &batch->at[0].wr, batch->count, sizeof(batch->at[0]));
    pthread_mutex_unlock(&batch->lock);
    return error;
}

/* ------------------------------------------------------------------ requests */

static struct hca_send_wr *begin(struct ibv_qp_ex *qp, enum hca_wr_opcode opcode)
{
    struct plugin_batch *batch = of(qp)->batch;
    const unsigned known = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
    assert(batch && opcode <= HCA_WR_LOCAL_INV);
    if (batch->count == batch->capacity) {
        batch->capacity = batch->capacity * 2 + 16;
        batch->at = grown(batch->at, batch->capacity * sizeof(batch->at[0]));
    }
    struct gathered *one = &batch->at[batch->count++];
    memset(&one->wr, 0, sizeof(one->wr));
    one->wr.wr_id = qp->wr_id;
    one->wr.opcode = opcode;
    one->wr.flags = qp->wr_flags & known;
    if (qp->wr_flags & ~(known | IBV_SEND_INLINE))
        batch->error = EINVAL;
    return &one->wr;
}

/* The request that the setters that follow are about. */
static struct gathered *latest(struct ibv_qp_ex *qp)
{
    struct plugin_batch *batch = of(qp)->batch;
    assert(batch->count > 0);
    return &batch->at[batch->count - 1];
}

static void wr_send(struct ibv_qp_ex *qp)
{
    (void)begin(qp, HCA_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
    begin(qp, HCA_WR_SEND_WITH_IMM)->imm = be32toh(imm);
}

static struct hca_send_wr *begin_remote(struct ibv_qp_ex *qp, enum hca_wr_opcode opcode,
                                        uint32_t rkey, uint64_t addr)
{
    struct hca_send_wr *wr = begin(qp, opcode);
    wr->rkey = rkey;
    wr->remote_addr = addr;
    return wr;
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
    (void)begin_remote(qp, HCA_WR_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
    begin_remote(qp, HCA_WR_RDMA_WRITE_WITH_IMM, rkey, addr)->imm = be32toh(imm);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
    (void)begin_remote(qp, HCA_WR_RDMA_READ, rkey, addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
                              uint64_t swap)
{
    struct hca_send_wr *wr = begin_remote(qp, HCA_WR_ATOMIC_CMP_AND_SWP, rkey, addr);
    wr->compare_add = compare;
    wr->swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
    begin_remote(qp, HCA_WR_ATOMIC_FETCH_AND_ADD, rkey, addr)->compare_add = add;
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
    begin(qp, HCA_WR_SEND_WITH_INV)->rkey = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
    begin(qp, HCA_WR_LOCAL_INV)->rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
                       const struct ibv_mw_bind_info *info)
{
    struct hca_send_wr *wr = begin(qp, HCA_WR_BIND_MW);
    if (!plugin_bind_of(mw, IBV_MW_TYPE_2, rkey, info, wr))
        of(qp)->batch->error = EINVAL;
}

/* ------------------------------------------------------------------ setters */

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
    assert(ah);
    struct gathered *one = latest(qp);
    one->wr.ah.id = ((struct plugin_ah *)ah)->id;
    one->wr.dest_qp = qpn;
    one->wr.qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t number)
{
    latest(qp)->wr.dest_qp = number;
}

void batch_set_dc_addr(struct plugin_qp *qp, const struct plugin_ah *ah, uint32_t target,
                       uint64_t key)
{
    assert(qp && ah);
    struct gathered *one = latest(&qp->qp.qp_ex);
    one->wr.ah.id = ah->id;
    one->wr.dest_qp = target;
    one->wr.dc_access_key = PLANTED(verbs_dc_keyless) ? 0 : key;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *list)
{
    assert(list || count == 0);
    struct gathered *one = latest(qp);
    if (count > FABRIC_MAX_SGE) {
        of(qp)->batch->error = EINVAL;
        return;
    }
    for (size_t i = 0; i < count; i++)
        one->sges[i] = (struct hca_sge){list[i].addr, list[i].length, list[i].lkey};
    one->wr.sge_count = (uint32_t)count;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
    const struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};
    wr_set_sge_list(qp, 1, &sge);
}

/* Inline data is taken now: the caller may change it after the call. */
static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t count,
                                    const struct ibv_data_buf *list)
{
    assert(list || count == 0);
    struct plugin_batch *batch = of(qp)->batch;
    struct gathered *one = latest(qp);
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += list[i].length;
    if (total > of(qp)->cap.max_inline_data) {
        batch->error = EINVAL;
        return;
    }
    if (batch->length + total > batch->room) {
        batch->room = batch->room * 2 + total + 1024;
        batch->bytes = grown(batch->bytes, batch->room);
    }
    one->inline_at = batch->length;
    for (size_t i = 0; i < count; i++) {
        if (list[i].length)
            memcpy(batch->bytes + batch->length, list[i].addr, list[i].length);
        batch->length += list[i].length;
    }
    one->sges[0] = (struct hca_sge){.length = (uint32_t)total};
    one->wr.sge_count = total ? 1 : 0;
    one->wr.flags |= HCA_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
    const struct ibv_data_buf part = {.addr = addr, .length = length};
    wr_set_inline_data_list(qp, 1, &part);
}

/* ------------------------------------------------------------------ the table */

/* Only operations that were asked for have a function, as ibv_create_qp_ex(3) says. */
static void fill_operations(struct ibv_qp_ex *qp, uint64_t ops)
{
    if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
        qp->wr_rdma_write = wr_rdma_write;
    if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
        qp->wr_rdma_write_imm = wr_rdma_write_imm;
    if (ops & IBV_QP_EX_WITH_SEND)
        qp->wr_send = wr_send;
    if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
        qp->wr_send_imm = wr_send_imm;
    if (ops & IBV_QP_EX_WITH_RDMA_READ)
        qp->wr_rdma_read = wr_rdma_read;
    if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
        qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
        qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
    if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
        qp->wr_send_inv = wr_send_inv;
    if (ops & IBV_QP_EX_WITH_LOCAL_INV)
        qp->wr_local_inv = wr_local_inv;
    if (ops & IBV_QP_EX_WITH_BIND_MW)
        qp->wr_bind_mw = wr_bind_mw;
}

/* What the transport can do at all (vol. 1, table 90 "allowed operations per transport"). */
static uint64_t served(uint32_t type)
{
    const uint64_t sends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    const uint64_t writes = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    const uint64_t reads = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                           IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    const uint64_t windows = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
    switch (type) {
    case HCA_QP_UD:
        return sends;
    case HCA_QP_UC:
        return sends | writes | windows;
    case HCA_QP_RC:
        return sends | writes | reads | windows | IBV_QP_EX_WITH_SEND_WITH_INV;
    default:
        return sends | writes | reads;
    }
}

/* The functions of a queue pair that posts this way; false without memory. */
static bool open_batch(struct plugin_qp *qp, uint64_t ops)
{
    struct ibv_qp_ex *ex = &qp->qp.qp_ex;
    qp->batch = batch_new();
    if (!qp->batch)
        return false;
    qp->qp.comp_mask |= VERBS_QP_EX;
    fill_operations(ex, ops);
    ex->wr_start = wr_start;
    ex->wr_complete = wr_complete;
    ex->wr_abort = wr_abort;
    ex->wr_set_sge = wr_set_sge;
    ex->wr_set_sge_list = wr_set_sge_list;
    ex->wr_set_inline_data = wr_set_inline_data;
    ex->wr_set_inline_data_list = wr_set_inline_data_list;
    if (qp->type == HCA_QP_UD)
        ex->wr_set_ud_addr = wr_set_ud_addr;
    if (qp->type == HCA_QP_XRC_INI)
        ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
    return true;
}

struct ibv_qp *plugin_create_qp_of(struct ibv_context *context,
                                   const struct ibv_qp_init_attr_ex *attr,
                                   const struct plugin_kind *kind)
{
    assert(context && attr && kind);
    const uint32_t known =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    uint32_t flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr->create_flags : 0;
    /* What is sent to a group never comes back to the port it left from. */
    if (kind->type == HCA_QP_UD)
        flags &= ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
    bool ops = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || (attr->comp_mask & ~known) || flags ||
        (ops && (attr->send_ops_flags & ~served(kind->type)))) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct ibv_qp *qp = plugin_make_qp(context, attr->pd,
                                       (const struct ibv_qp_init_attr *)(const void *)attr, kind);
    if (!qp || !ops || open_batch((struct plugin_qp *)qp, attr->send_ops_flags))
        return qp;
    (void)plugin_destroy_qp(qp);
    errno = ENOMEM;
    return NULL;
}

struct ibv_qp *plugin_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    struct plugin_kind kind = {.type = HCA_QP_RC};
    assert(attr);
    if (attr->qp_type == IBV_QPT_XRC_RECV)
        return plugin_create_xrc_target(context, attr);
    if (plugin_qp_type(attr->qp_type, &kind.type))
        return plugin_create_qp_of(context, attr, &kind);
    errno = EOPNOTSUPP;
    return NULL;
}
