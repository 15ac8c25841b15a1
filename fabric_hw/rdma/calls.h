/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way from this room to libibverbs and libmlx5, so that tests can stand in for both and
 * make any verb fail. Each member is the function of its name (verbs_poll_cq and the like where
 * rdma-core has only an inline function) and returns what that one returns.
 */
#ifndef FABRIC_HW_RDMA_CALLS_H
#define FABRIC_HW_RDMA_CALLS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* X(result, member, parameters, arguments) of every call. */
#define VERBS_CALLS(X)                                                                             \
    X(int, fork_init, (void), ())                                                                  \
    X(struct ibv_device **, get_device_list, (int *count), (count))                                \
    X(void, free_device_list, (struct ibv_device * *list), (list))                                 \
    X(struct ibv_context *, open_device, (struct ibv_device * device), (device))                   \
    X(int, close_device, (struct ibv_context * context), (context))                                \
    X(int, query_device, (struct ibv_context * context, struct ibv_device_attr * attr),            \
      (context, attr))                                                                             \
    X(int, query_port,                                                                             \
      (struct ibv_context * context, uint8_t port_num, struct ibv_port_attr * attr),               \
      (context, port_num, attr))                                                                   \
    X(int, query_gid_ex,                                                                           \
      (struct ibv_context * context, uint32_t port_num, uint32_t index,                            \
       struct ibv_gid_entry * entry, uint32_t flags),                                              \
      (context, port_num, index, entry, flags))                                                    \
    X(int, query_pkey, (struct ibv_context * context, uint8_t port_num, int index, __be16 *pkey),  \
      (context, port_num, index, pkey))                                                            \
    X(int, get_async_event, (struct ibv_context * context, struct ibv_async_event * event),        \
      (context, event))                                                                            \
    X(void, ack_async_event, (struct ibv_async_event * event), (event))                            \
    X(struct ibv_pd *, alloc_pd, (struct ibv_context * context), (context))                        \
    X(int, dealloc_pd, (struct ibv_pd * pd), (pd))                                                 \
    X(struct ibv_mr *, reg_mr_iova,                                                                \
      (struct ibv_pd * pd, void *addr, size_t length, uint64_t iova, int access),                  \
      (pd, addr, length, iova, access))                                                            \
    X(int, dereg_mr, (struct ibv_mr * mr), (mr))                                                   \
    X(struct ibv_mw *, alloc_mw, (struct ibv_pd * pd, enum ibv_mw_type type), (pd, type))          \
    X(int, dealloc_mw, (struct ibv_mw * mw), (mw))                                                 \
    X(int, bind_mw, (struct ibv_qp * qp, struct ibv_mw * mw, struct ibv_mw_bind * bind),           \
      (qp, mw, bind))                                                                              \
    X(struct ibv_comp_channel *, create_comp_channel, (struct ibv_context * context), (context))   \
    X(int, destroy_comp_channel, (struct ibv_comp_channel * channel), (channel))                   \
    X(struct ibv_cq *, create_cq,                                                                  \
      (struct ibv_context * context, int depth, void *cq_context,                                  \
       struct ibv_comp_channel *channel, int vector),                                              \
      (context, depth, cq_context, channel, vector))                                               \
    X(int, destroy_cq, (struct ibv_cq * cq), (cq))                                                 \
    X(int, poll_cq, (struct ibv_cq * cq, int count, struct ibv_wc *wc), (cq, count, wc))           \
    X(int, req_notify_cq, (struct ibv_cq * cq, int solicited_only), (cq, solicited_only))          \
    X(int, get_cq_event,                                                                           \
      (struct ibv_comp_channel * channel, struct ibv_cq * *cq, void **cq_context),                 \
      (channel, cq, cq_context))                                                                   \
    X(void, ack_cq_events, (struct ibv_cq * cq, unsigned count), (cq, count))                      \
    X(struct ibv_srq *, create_srq, (struct ibv_pd * pd, struct ibv_srq_init_attr * init),         \
      (pd, init))                                                                                  \
    X(int, destroy_srq, (struct ibv_srq * srq), (srq))                                             \
    X(int, post_srq_recv,                                                                          \
      (struct ibv_srq * srq, struct ibv_recv_wr * wr, struct ibv_recv_wr * *bad), (srq, wr, bad))  \
    X(struct ibv_qp *, create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr * init),            \
      (pd, init))                                                                                  \
    X(int, modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr * attr, int mask), (qp, attr, mask)) \
    X(int, destroy_qp, (struct ibv_qp * qp), (qp))                                                 \
    X(int, post_send, (struct ibv_qp * qp, struct ibv_send_wr * wr, struct ibv_send_wr * *bad),    \
      (qp, wr, bad))                                                                               \
    X(int, post_recv, (struct ibv_qp * qp, struct ibv_recv_wr * wr, struct ibv_recv_wr * *bad),    \
      (qp, wr, bad))                                                                               \
    X(struct ibv_ah *, create_ah, (struct ibv_pd * pd, struct ibv_ah_attr * attr), (pd, attr))     \
    X(int, destroy_ah, (struct ibv_ah * ah), (ah))                                                 \
    X(struct ibv_qp_ex *, qp_to_qp_ex, (struct ibv_qp * qp), (qp))                                 \
    X(bool, mlx5dv_is_supported, (struct ibv_device * device), (device))                           \
    X(struct ibv_qp *, mlx5dv_create_qp,                                                           \
      (struct ibv_context * context, struct ibv_qp_init_attr_ex * init,                            \
       struct mlx5dv_qp_init_attr * dv),                                                           \
      (context, init, dv))                                                                         \
    X(struct mlx5dv_qp_ex *, mlx5dv_qp_ex_from_ibv_qp_ex, (struct ibv_qp_ex * qp), (qp))

struct verbs_calls {
#define X(result, member, parameters, arguments) result(*member) parameters;
    VERBS_CALLS(X)
#undef X
};

extern const struct verbs_calls verbs_calls_real;

#endif
