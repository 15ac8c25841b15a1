/* SPDX-License-Identifier: Apache-2.0 */
/* The real calls; the functions here only give an address to what rdma-core has as macros and
 * inline functions. */
#include "fabric_hw/rdma/calls.h"

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr)
{
    return ibv_query_port(context, port_num, attr);
}

static int query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t index,
                        struct ibv_gid_entry *entry, uint32_t flags)
{
    return ibv_query_gid_ex(context, port_num, index, entry, flags);
}

static struct ibv_mr *reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                  int access)
{
    return ibv_reg_mr_iova(pd, addr, length, iova, (unsigned)access);
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    return ibv_alloc_mw(pd, type);
}

static int dealloc_mw(struct ibv_mw *mw)
{
    return ibv_dealloc_mw(mw);
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    return ibv_bind_mw(qp, mw, bind);
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    return ibv_poll_cq(cq, count, wc);
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    return ibv_req_notify_cq(cq, solicited_only);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    return ibv_post_srq_recv(srq, wr, bad);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    return ibv_post_send(qp, wr, bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    return ibv_post_recv(qp, wr, bad);
}

const struct verbs_calls verbs_calls_real = {
    .fork_init = ibv_fork_init,
    .get_device_list = ibv_get_device_list,
    .free_device_list = ibv_free_device_list,
    .open_device = ibv_open_device,
    .close_device = ibv_close_device,
    .query_device = ibv_query_device,
    .query_port = query_port,
    .query_gid_ex = query_gid_ex,
    .query_pkey = ibv_query_pkey,
    .get_async_event = ibv_get_async_event,
    .ack_async_event = ibv_ack_async_event,
    .alloc_pd = ibv_alloc_pd,
    .dealloc_pd = ibv_dealloc_pd,
    .reg_mr_iova = reg_mr_iova,
    .dereg_mr = ibv_dereg_mr,
    .alloc_mw = alloc_mw,
    .dealloc_mw = dealloc_mw,
    .bind_mw = bind_mw,
    .create_comp_channel = ibv_create_comp_channel,
    .destroy_comp_channel = ibv_destroy_comp_channel,
    .create_cq = ibv_create_cq,
    .destroy_cq = ibv_destroy_cq,
    .poll_cq = poll_cq,
    .req_notify_cq = req_notify_cq,
    .get_cq_event = ibv_get_cq_event,
    .ack_cq_events = ibv_ack_cq_events,
    .create_srq = ibv_create_srq,
    .destroy_srq = ibv_destroy_srq,
    .post_srq_recv = post_srq_recv,
    .create_qp = ibv_create_qp,
    .modify_qp = ibv_modify_qp,
    .destroy_qp = ibv_destroy_qp,
    .post_send = post_send,
    .post_recv = post_recv,
    .create_ah = ibv_create_ah,
    .destroy_ah = ibv_destroy_ah,
    .qp_to_qp_ex = ibv_qp_to_qp_ex,
    .mlx5dv_is_supported = mlx5dv_is_supported,
    .mlx5dv_create_qp = mlx5dv_create_qp,
    .mlx5dv_qp_ex_from_ibv_qp_ex = mlx5dv_qp_ex_from_ibv_qp_ex,
};
