/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libibverbs and its providers agree on beside the public headers: private ABI 34, that of
 * rdma-core 39 to 56. It has no installed header, so the layouts are declared here; their sizes are
 * checked when this is built (the numbers are those of rdma-core 44 on 64-bit machines), and where
 * the operations went is checked when the plug-in is loaded (provider.c).
 */
#ifndef FABRIC_SIM_VERBS_PRIVATE_H
#define FABRIC_SIM_VERBS_PRIVATE_H

#include <infiniband/verbs.h>

struct verbs_sysfs_dev; /* of libibverbs alone */
struct verbs_device_ops;

struct verbs_device {
    struct ibv_device device;
    const struct verbs_device_ops *ops;
    int refcount;
    void *entry[2];
    struct verbs_sysfs_dev *sysfs;
    uint64_t core_support;
};
_Static_assert(sizeof(struct verbs_device) == 712, "verbs_device of private ABI 34");

struct verbs_device_ops {
    const char *name;
    uint32_t match_min_abi_version, match_max_abi_version;
    const void *match_table;
    const void *static_providers;
    bool (*match_device)(struct verbs_sysfs_dev *sysfs);
    struct verbs_context *(*alloc_context)(struct ibv_device *device, int cmd_fd, void *unused);
    struct verbs_context *(*import_context)(struct ibv_device *device, int cmd_fd);
    struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs);
    void (*uninit_device)(struct verbs_device *device);
};
_Static_assert(sizeof(struct verbs_device_ops) == 72, "verbs_device_ops of private ABI 34");

struct verbs_mr {
    struct ibv_mr ibv_mr;
    int mr_type; /* 0: ordinary */
    int access;
};
_Static_assert(sizeof(struct verbs_mr) == 56, "verbs_mr of private ABI 34");

#define VERBS_QP_EX 2u /* in comp_mask: qp_ex holds */

struct verbs_qp {
    union {
        struct ibv_qp qp;
        struct ibv_qp_ex qp_ex;
    };
    uint32_t comp_mask;
    void *xrcd;
};
_Static_assert(sizeof(struct verbs_qp) == 368, "verbs_qp of private ABI 34");

/* Every operation of a context, in alphabetical order; those that are not served have no type. */
struct verbs_context_ops {
    void *advise_mr, *alloc_dm;
    struct ibv_mw *(*alloc_mw)(struct ibv_pd *pd, enum ibv_mw_type type);
    void *alloc_null_mr;
    struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *context,
                                          struct ibv_parent_domain_init_attr *attr);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    struct ibv_td *(*alloc_td)(struct ibv_context *context, struct ibv_td_init_attr *attr);
    void (*async_event)(struct ibv_context *context, struct ibv_async_event *event);
    void *attach_counters_point_flow;
    int (*attach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
    int (*bind_mw)(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
    int (*close_xrcd)(struct ibv_xrcd *xrcd);
    void (*cq_event)(struct ibv_cq *cq);
    struct ibv_ah *(*create_ah)(struct ibv_pd *pd, struct ibv_ah_attr *attr);
    void *create_counters;
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe,
                                struct ibv_comp_channel *channel, int comp_vector);
    struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *context,
                                      struct ibv_cq_init_attr_ex *attr);
    void *create_flow, *create_flow_action_esp;
    struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
    struct ibv_qp *(*create_qp_ex)(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
    void *create_rwq_ind_table;
    struct ibv_srq *(*create_srq)(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
    struct ibv_srq *(*create_srq_ex)(struct ibv_context *context,
                                     struct ibv_srq_init_attr_ex *attr);
    void *create_wq;
    int (*dealloc_mw)(struct ibv_mw *mw);
    int (*dealloc_pd)(struct ibv_pd *pd);
    int (*dealloc_td)(struct ibv_td *td);
    int (*dereg_mr)(struct verbs_mr *mr);
    int (*destroy_ah)(struct ibv_ah *ah);
    void *destroy_counters;
    int (*destroy_cq)(struct ibv_cq *cq);
    void *destroy_flow, *destroy_flow_action;
    int (*destroy_qp)(struct ibv_qp *qp);
    void *destroy_rwq_ind_table;
    int (*destroy_srq)(struct ibv_srq *srq);
    void *destroy_wq;
    int (*detach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
    void (*free_context)(struct ibv_context *context);
    void *free_dm;
    int (*get_srq_num)(struct ibv_srq *srq, uint32_t *srq_num);
    void *import_dm, *import_mr, *import_pd, *modify_cq;
    void *modify_flow_action_esp;
    int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
    void *modify_qp_rate_limit;
    int (*modify_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
    void *modify_wq;
    struct ibv_qp *(*open_qp)(struct ibv_context *context, struct ibv_qp_open_attr *attr);
    struct ibv_xrcd *(*open_xrcd)(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
    int (*poll_cq)(struct ibv_cq *cq, int count, struct ibv_wc *wc);
    int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
    int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
    void *post_srq_ops;
    int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
    int (*query_device_ex)(struct ibv_context *context,
                           const struct ibv_query_device_ex_input *input,
                           struct ibv_device_attr_ex *attr, size_t size);
    void *query_ece;
    int (*query_port)(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
    int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                    struct ibv_qp_init_attr *init);
    void *query_qp_data_in_order;
    int (*query_rt_values)(struct ibv_context *context, struct ibv_values_ex *values);
    int (*query_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr);
    void *read_counters, *reg_dm_mr, *reg_dmabuf_mr;
    struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                             int access);
    int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
    int (*rereg_mr)(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
                    int access);
    int (*resize_cq)(struct ibv_cq *cq, int cqe);
    void *set_ece, *unimport_dm, *unimport_mr, *unimport_pd;
};
_Static_assert(sizeof(struct verbs_context_ops) == 608, "verbs_context_ops of private ABI 34");

/* Takes over cmd_fd, also when it fails. `offset` is where the verbs_context lies in the `size`
 * bytes that are allocated, as a pointer. */
void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd, size_t size,
                                    struct verbs_context *offset, uint32_t driver_id);
void verbs_uninit_context(struct verbs_context *context);
void verbs_set_ops(struct verbs_context *context, const struct verbs_context_ops *ops);
void verbs_register_driver_34(const struct verbs_device_ops *ops);

#endif
