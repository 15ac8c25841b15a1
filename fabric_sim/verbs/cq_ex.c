/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues whose entries are read member by member (ibv_create_cq_ex(3)). What the device
 * has no value for is refused: wall clocks, VLANs, flow tags, tag matching.
 */
#include <assert.h>
#include <errno.h>

#include "fabric_sim/verbs/plugin.h"
#include "src/fabric/planted.h"

static struct plugin_cq *of(struct ibv_cq_ex *cq)
{
    assert(cq);
    return (struct plugin_cq *)(void *)cq;
}

static int next_poll(struct ibv_cq_ex *cq)
{
    int error = plugin_take_completion(of(cq));
    if (error)
        return error;
    cq->wr_id = of(cq)->now.wr_id;
    cq->status = of(cq)->now.status;
    return 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
    return attr->comp_mask ? EINVAL : next_poll(cq);
}

/* Each completion was taken whole: there is nothing to give back. */
static void end_poll(struct ibv_cq_ex *cq)
{
    assert(cq);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
    return of(cq)->now.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
    return of(cq)->now.vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq)
{
    return of(cq)->now.wc_flags;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
    return of(cq)->now.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
    return of(cq)->now.imm_data; /* or the key that is not valid any more */
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
    return of(cq)->now.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
    return of(cq)->now.src_qp;
}

static uint32_t read_slid(struct ibv_cq_ex *cq)
{
    return of(cq)->now.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
    return of(cq)->now.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
    return of(cq)->now.dlid_path_bits;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
    return PLANTED(verbs_completion_untimed) ? 0 : of(cq)->time;
}

/* Only what was asked for has a function. */
static void fill_functions(struct ibv_cq_ex *cq, uint64_t flags)
{
    cq->start_poll = start_poll;
    cq->next_poll = next_poll;
    cq->end_poll = end_poll;
    cq->read_opcode = read_opcode;
    cq->read_vendor_err = read_vendor_err;
    cq->read_wc_flags = read_wc_flags;
    if (flags & IBV_WC_EX_WITH_BYTE_LEN)
        cq->read_byte_len = read_byte_len;
    if (flags & IBV_WC_EX_WITH_IMM)
        cq->read_imm_data = read_imm_data;
    if (flags & IBV_WC_EX_WITH_QP_NUM)
        cq->read_qp_num = read_qp_num;
    if (flags & IBV_WC_EX_WITH_SRC_QP)
        cq->read_src_qp = read_src_qp;
    if (flags & IBV_WC_EX_WITH_SLID)
        cq->read_slid = read_slid;
    if (flags & IBV_WC_EX_WITH_SL)
        cq->read_sl = read_sl;
    if (flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
        cq->read_dlid_path_bits = read_dlid_path_bits;
    if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
        cq->read_completion_ts = read_completion_ts;
}

struct ibv_cq_ex *plugin_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
    const uint64_t served = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    const uint32_t masks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
    bool single = !(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) ||
                  (attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED) == 0;
    const struct plugin_pd *parent = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
                                         ? (const struct plugin_pd *)attr->parent_domain
                                         : NULL;
    if ((attr->wc_flags & ~served) || (attr->comp_mask & ~masks) || !single) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    if (parent && !parent->of) {
        errno = EINVAL;
        return NULL;
    }
    struct ibv_cq *cq =
        plugin_create_cq(context, (int)attr->cqe, attr->channel, (int)attr->comp_vector);
    if (!cq)
        return NULL;
    struct ibv_cq_ex *ex = &((struct plugin_cq *)(void *)cq)->ex;
    fill_functions(ex, attr->wc_flags);
    return ex;
}
