/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs plug-in: a libibverbs provider whose devices are those of a node of a simulated fabric.
 * Control calls go to the daemon; posting and polling happen here, in the caller's thread, on the
 * arena of the device.
 *
 * Threading: as libibverbs asks, everything may be called from several threads at once. One lock of
 * a context keeps its control calls apart; the lock of the fabric keeps posts and polls apart.
 */
#ifndef FABRIC_SIM_VERBS_PLUGIN_H
#define FABRIC_SIM_VERBS_PLUGIN_H

#include <infiniband/mlx5dv.h>
#include <pthread.h>
#include <stdatomic.h>

#include "fabric_sim/hca/queue.h"
#include "fabric_sim/simfabric/client.h"
#include "fabric_sim/simfabric/shared.h"
#include "fabric_sim/verbs/messages.h"
#include "fabric_sim/verbs/private.h"

struct plugin_channel { /* of completions */
    struct plugin_channel *next;
    int fd;
    uint32_t handle;
};

struct plugin_context {
    struct verbs_context verbs;
    pthread_mutex_t lock; /* of the socket, and of what follows */
    int socket;
    struct plugin_channel *channels;
    struct plugin_context *next; /* in the list of hook.c */

    struct shared_page *shared;
    size_t shared_size;
    int doorbell;
    uint32_t device; /* its number, for doorbells */
    uint32_t owner;  /* of the memory that this program registers */
    struct plugin_messages *messages;
    void *arena;
    size_t arena_size;
    struct hca_state state;
    atomic_uint idle; /* polls that found nothing, since the daemon was last looked at */
    atomic_bool gone; /* the daemon ended */
};

struct plugin_pd {
    struct ibv_pd pd;
    uint32_t handle;      /* of a parent domain: of the one it stands for */
    struct plugin_pd *of; /* the domain that a parent domain stands for, else null */
    struct plugin_td *td; /* of a parent domain, or null */
    atomic_uint users;    /* parent domains of it */
};

struct plugin_td {
    struct ibv_td td;
    atomic_uint users;
};

struct plugin_mr {
    struct verbs_mr mr;
    uint32_t handle;
};

struct plugin_mw {
    struct ibv_mw mw;
    uint32_t handle, id;
};

struct plugin_cq {
    union {
        struct ibv_cq cq;
        struct ibv_cq_ex ex;
    };
    struct ibv_wc now; /* between start_poll and end_poll: the one that is read */
    uint64_t time;     /* of it; ns since the fabric began */
    uint32_t handle;
    struct cq_state *state;
    atomic_uint reported; /* events of it that the program read */
};

struct plugin_srq {
    struct ibv_srq srq;
    uint32_t handle;
    struct srq_state *state;
    atomic_uint reported;
};

struct plugin_qp {
    struct verbs_qp qp;
    uint32_t handle, id;
    struct qp_state *state;
    struct plugin_batch *batch; /* null: made without the ibv_wr_ interface */
    struct ibv_qp_cap cap;
    bool sq_sig_all;
    uint32_t type; /* enum hca_qp_type */
    struct mlx5dv_qp_ex mlx5;
    atomic_uint reported;
};

struct plugin_ah {
    struct ibv_ah ah;
    uint32_t handle, id;
};

static inline struct plugin_context *context_of_plugin(struct ibv_context *context)
{
    return (struct plugin_context *)(void *)((char *)context -
                                             offsetof(struct verbs_context, context));
}

/* ---- provider.c. One call to the daemon; 0 or an errno. `fd` may be null. */
int plugin_call(struct plugin_context *context, const struct protocol_request *request,
                struct protocol_reply *reply, int *fd);
/* A channel and its reading end, the caller's; EMFILE where there is no room for that, and no
 * channel then. */
int plugin_create_channel(struct plugin_context *context, bool async, uint32_t *handle, int *fd);
/* A request that only names a handle. */
int plugin_end(struct plugin_context *context, enum protocol_op op, uint32_t handle);
/* Whether the device is one of a simulated fabric. */
bool plugin_is_ours(const struct ibv_device *device);
/* Looks whether the daemon is still there; sets `gone`. */
void plugin_look(struct plugin_context *context);

/* ---- hook.c. Lets ibv_create_comp_channel of this context work; false: it cannot. */
bool hook_add(struct plugin_context *context);
void hook_remove(struct plugin_context *context);

/* ---- events.c */
uint32_t channel_handle(struct plugin_context *context, const struct ibv_comp_channel *channel);
/* Records of an object that ended at the daemon are taken out of a pipe that a program reads. */
void events_forget(const struct plugin_context *context, int fd, size_t record, const void *object);
void events_await(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
                  const atomic_uint *reported);
void plugin_cq_event(struct ibv_cq *cq);
void plugin_async_event(struct ibv_context *context, struct ibv_async_event *event);

/* ---- control.c */
struct ibv_mr *plugin_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                             int access);
int plugin_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
                    int access);
int plugin_dereg_mr(struct verbs_mr *mr);
struct ibv_ah *plugin_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int plugin_destroy_ah(struct ibv_ah *ah);
struct ibv_cq *plugin_create_cq(struct ibv_context *context, int cqe,
                                struct ibv_comp_channel *channel, int comp_vector);
int plugin_resize_cq(struct ibv_cq *cq, int cqe);
int plugin_destroy_cq(struct ibv_cq *cq);
struct ibv_srq *plugin_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int plugin_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int plugin_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int plugin_get_srq_num(struct ibv_srq *srq, uint32_t *number);
int plugin_destroy_srq(struct ibv_srq *srq);
void plugin_put_av(const struct ibv_ah_attr *from, struct protocol_av *to);
void plugin_get_av(const struct protocol_av *from, struct ibv_ah_attr *to);

/* ---- domain.c */
struct ibv_pd *plugin_alloc_pd(struct ibv_context *context);
int plugin_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *plugin_alloc_parent_domain(struct ibv_context *context,
                                          struct ibv_parent_domain_init_attr *attr);
struct ibv_td *plugin_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int plugin_dealloc_td(struct ibv_td *td);

/* ---- cq_ex.c */
struct ibv_cq_ex *plugin_create_cq_ex(struct ibv_context *context,
                                      struct ibv_cq_init_attr_ex *attr);

/* ---- window.c */
struct ibv_mw *plugin_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int plugin_dealloc_mw(struct ibv_mw *mw);
int plugin_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
/* The request that binds a window of that type so; false: EINVAL. */
bool plugin_bind_of(const struct ibv_mw *mw, enum ibv_mw_type type, uint32_t rkey,
                    const struct ibv_mw_bind_info *info, struct hca_send_wr *out);

/* ---- queue_pair.c */
struct plugin_kind {
    uint32_t type; /* enum hca_qp_type */
    uint64_t dc_access_key;
    uint32_t xrcd; /* handle, of an XRC target; it has no pd */
};
/* The kind of a queue pair that verbs have a number for; false: it is not served. */
bool plugin_qp_type(enum ibv_qp_type type, uint32_t *out);
struct ibv_qp *plugin_make_qp(struct ibv_context *context, struct ibv_pd *pd,
                              const struct ibv_qp_init_attr *attr, const struct plugin_kind *kind);
/* Of a queue pair that the daemon made or opened as `kind`: what verbs and this plug-in keep of it.
 */
struct ibv_qp *plugin_adopt_qp(struct ibv_context *context, struct plugin_qp *qp,
                               const struct plugin_kind *kind, const struct protocol_reply *reply);
struct ibv_qp *plugin_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
int plugin_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int plugin_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                    struct ibv_qp_init_attr *init);
int plugin_destroy_qp(struct ibv_qp *qp);
int plugin_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int plugin_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* ---- xrc.c */
struct plugin_xrcd {
    struct ibv_xrcd xrcd;
    uint32_t handle;
};
struct ibv_xrcd *plugin_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int plugin_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_srq *plugin_create_srq_ex(struct ibv_context *context,
                                     struct ibv_srq_init_attr_ex *attr);
struct ibv_qp *plugin_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
struct ibv_qp *plugin_create_xrc_target(struct ibv_context *context,
                                        const struct ibv_qp_init_attr_ex *attr);

/* ---- batch.c: the ibv_wr_ interface */
struct plugin_batch *batch_new(void); /* null without memory */
void batch_free(struct plugin_batch *batch);
struct ibv_qp *plugin_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/* The same of a kind that verbs have no number for. */
struct ibv_qp *plugin_create_qp_of(struct ibv_context *context,
                                   const struct ibv_qp_init_attr_ex *attr,
                                   const struct plugin_kind *kind);
/* The target of the request that was begun last. */
void batch_set_dc_addr(struct plugin_qp *qp, const struct plugin_ah *ah, uint32_t target,
                       uint64_t key);

/* ---- query.c */
int plugin_query_device(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                        struct ibv_device_attr_ex *attr, size_t size);
int plugin_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
int plugin_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);

/* ---- data.c */
/* Posts `count` requests that lie `stride` bytes apart, all of them or none; 0 or an errno. */
int plugin_post_all(struct plugin_qp *qp, const struct hca_send_wr *first, size_t count,
                    size_t stride);
int plugin_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int plugin_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int plugin_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int plugin_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
/* Into cq->now and cq->time; ENOENT: there is none, EIO: the daemon is gone. */
int plugin_take_completion(struct plugin_cq *cq);
int plugin_req_notify_cq(struct ibv_cq *cq, int solicited_only);

#endif
