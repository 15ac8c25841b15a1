/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libibverbs sees first: the driver, its devices, and a context of one of them.
 */
#define _GNU_SOURCE /* MAP_NORESERVE */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric_sim/verbs/plugin.h"

#define DRIVER_UNKNOWN 0 /* RDMA_DRIVER_UNKNOWN */

/* What is not here is refused by libibverbs itself (EOPNOTSUPP). */
static const struct verbs_context_ops operations = {
    .alloc_mw = plugin_alloc_mw,
    .alloc_parent_domain = plugin_alloc_parent_domain,
    .alloc_pd = plugin_alloc_pd,
    .alloc_td = plugin_alloc_td,
    .async_event = plugin_async_event,
    .attach_mcast = plugin_attach_mcast,
    .bind_mw = plugin_bind_mw,
    .cq_event = plugin_cq_event,
    .close_xrcd = plugin_close_xrcd,
    .create_ah = plugin_create_ah,
    .create_cq = plugin_create_cq,
    .create_cq_ex = plugin_create_cq_ex,
    .create_qp = plugin_create_qp,
    .create_qp_ex = plugin_create_qp_ex,
    .create_srq = plugin_create_srq,
    .create_srq_ex = plugin_create_srq_ex,
    .dealloc_mw = plugin_dealloc_mw,
    .dealloc_pd = plugin_dealloc_pd,
    .dealloc_td = plugin_dealloc_td,
    .dereg_mr = plugin_dereg_mr,
    .destroy_ah = plugin_destroy_ah,
    .destroy_cq = plugin_destroy_cq,
    .destroy_qp = plugin_destroy_qp,
    .destroy_srq = plugin_destroy_srq,
    .detach_mcast = plugin_detach_mcast,
    .get_srq_num = plugin_get_srq_num,
    .modify_qp = plugin_modify_qp,
    .modify_srq = plugin_modify_srq,
    .open_qp = plugin_open_qp,
    .open_xrcd = plugin_open_xrcd,
    .poll_cq = plugin_poll_cq,
    .post_recv = plugin_post_recv,
    .post_send = plugin_post_send,
    .post_srq_recv = plugin_post_srq_recv,
    .query_device_ex = plugin_query_device,
    .query_port = plugin_query_port,
    .query_qp = plugin_query_qp,
    .query_rt_values = plugin_query_rt_values,
    .query_srq = plugin_query_srq,
    .reg_mr = plugin_reg_mr,
    .req_notify_cq = plugin_req_notify_cq,
    .rereg_mr = plugin_rereg_mr,
    .resize_cq = plugin_resize_cq,
};

/* ------------------------------------------------------------------ calls to the daemon */

int plugin_call(struct plugin_context *context, const struct protocol_request *request,
                struct protocol_reply *reply, int *fd)
{
    assert(context && request && reply);
    int fds[PROTOCOL_FDS];
    pthread_mutex_lock(&context->lock);
    int error = client_call(context->socket, request, reply, fd ? fds : NULL);
    pthread_mutex_unlock(&context->lock);
    if (fd)
        *fd = fds[0];
    return error;
}

int plugin_create_channel(struct plugin_context *context, bool async, uint32_t *handle, int *fd)
{
    struct protocol_request request = client_request(PROTOCOL_CREATE_CHANNEL);
    struct protocol_reply reply;
    assert(handle && fd);
    request.u.channel.async = async;
    int error = plugin_call(context, &request, &reply, fd);
    if (error)
        return error;
    *handle = reply.u.made.handle;
    if (*fd >= 0)
        return 0;
    (void)plugin_end(context, PROTOCOL_DESTROY_CHANNEL, *handle);
    return EMFILE;
}

int plugin_end(struct plugin_context *context, enum protocol_op op, uint32_t handle)
{
    struct protocol_request request = client_request(op);
    struct protocol_reply reply;
    request.u.handle = handle;
    return plugin_call(context, &request, &reply, NULL);
}

void plugin_look(struct plugin_context *context)
{
    char byte;
    if (recv(context->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        context->gone = true;
}

/* ------------------------------------------------------------------ contexts */

/* The operations went where this library expects them, as far as one can see: a library of the same
 * private ABI number with another table would mix them up. */
static bool is_abi(const struct verbs_context *verbs)
{
    const struct ibv_context_ops *ops = &verbs->context.ops;
    return ops->poll_cq == plugin_poll_cq && ops->post_send == plugin_post_send &&
           ops->post_recv == plugin_post_recv && ops->post_srq_recv == plugin_post_srq_recv &&
           ops->req_notify_cq == plugin_req_notify_cq;
}

static void *map(int fd, uint64_t size)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return base == MAP_FAILED ? NULL : base;
}

/* Maps what the daemon lent; the descriptors but the doorbell are closed. */
static int take_memory(struct plugin_context *context, const struct protocol_reply *reply, int *fds)
{
    assert(reply->error == 0);
    context->shared_size = reply->u.opened.shared_size;
    context->arena_size = reply->u.opened.arena_size;
    context->device = reply->u.opened.device;
    context->owner = reply->u.opened.owner;
    context->doorbell = fds[1];
    context->shared = fds[0] >= 0 ? map(fds[0], context->shared_size) : NULL;
    context->arena = fds[2] >= 0 ? map(fds[2], context->arena_size) : NULL;
    for (int i = 0; i < PROTOCOL_FDS; i++) {
        if (fds[i] >= 0 && i != 1)
            close(fds[i]);
    }
    if (fds[0] < 0 || fds[1] < 0 || fds[2] < 0)
        return EMFILE;
    if (!context->shared || !context->arena)
        return ENOMEM;
    bool known = shared_is_page(context->shared, context->shared_size) &&
                 state_open(&context->state, context->arena, context->arena_size);
    if (known)
        context->messages = messages_new(context);
    return known ? 0 : EPROTO;
}

static int open_at_daemon(struct plugin_context *context, const char *device)
{
    const char *path = getenv("SIMFABRIC_SOCKET"), *node = getenv("SIMFABRIC_NODE");
    struct protocol_request request = client_request(PROTOCOL_OPEN);
    struct protocol_reply reply;
    int fds[PROTOCOL_FDS];
    context->socket = path ? client_connect(path) : -1;
    if (context->socket < 0)
        return path ? errno : ENODEV;
    snprintf(request.u.open.node, PROTOCOL_NAME, "%s", node ? node : "");
    snprintf(request.u.open.device, PROTOCOL_NAME, "%s", device);
    int error = client_call(context->socket, &request, &reply, fds);
    return error ? error : take_memory(context, &reply, fds);
}

static void let_go(struct plugin_context *context)
{
    assert(context);
    hook_remove(context);
    while (context->channels) {
        struct plugin_channel *channel = context->channels;
        context->channels = channel->next;
        free(channel);
    }
    messages_free(context->messages);
    if (context->arena)
        munmap(context->arena, context->arena_size);
    if (context->shared)
        munmap(context->shared, context->shared_size);
    if (context->doorbell >= 0)
        close(context->doorbell);
    if (context->socket >= 0)
        close(context->socket);
    pthread_mutex_destroy(&context->lock);
    verbs_uninit_context(&context->verbs);
    free(context);
}

static void free_context(struct ibv_context *context)
{
    let_go(context_of_plugin(context));
}

static struct verbs_context *alloc_context(struct ibv_device *device, int cmd_fd, void *unused)
{
    (void)unused;
    struct plugin_context *context = _verbs_init_and_alloc_context(
        device, cmd_fd, sizeof(*context),
        (struct verbs_context *)offsetof(struct plugin_context, verbs), DRIVER_UNKNOWN);
    if (!context)
        return NULL;
    context->socket = context->doorbell = -1;
    context->verbs.context.num_comp_vectors = 1;
    pthread_mutex_init(&context->lock, NULL);
    struct verbs_context_ops ops = operations;
    ops.free_context = free_context;
    verbs_set_ops(&context->verbs, &ops);
    /* Where a guard asks for it, the daemon may copy from and to this program. */
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    int error = is_abi(&context->verbs) ? open_at_daemon(context, device->name) : EPROTONOSUPPORT;
    if (!error && !hook_add(context))
        error = EPROTONOSUPPORT;
    uint32_t events;
    if (!error)
        error = plugin_create_channel(context, true, &events, &context->verbs.context.async_fd);
    if (!error)
        return &context->verbs;
    fprintf(stderr, "simfabric: %s cannot be opened: %s\n", device->name,
            error == EPROTONOSUPPORT ? "this libibverbs has another private ABI than 34"
            : error == EPROTO        ? "daemon and plug-in are not of one build"
                                     : strerror(error));
    let_go(context);
    errno = error;
    return NULL;
}

/* ------------------------------------------------------------------ the driver */

/* In the environment of a node every device is the fabric's; elsewhere none is, whatever led here.
 */
static bool match_device(struct verbs_sysfs_dev *sysfs)
{
    (void)sysfs;
    return getenv("SIMFABRIC_SOCKET") && getenv("SIMFABRIC_NODE");
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs)
{
    (void)sysfs;
    return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *device)
{
    free(device);
}

static const struct verbs_device_ops driver = {.name = "simfabric",
                                               .match_min_abi_version = 1,
                                               .match_max_abi_version = 1,
                                               .match_device = match_device,
                                               .alloc_context = alloc_context,
                                               .alloc_device = alloc_device,
                                               .uninit_device = uninit_device};

bool plugin_is_ours(const struct ibv_device *device)
{
    assert(device);
    return ((const struct verbs_device *)(const void *)device)->ops == &driver;
}

__attribute__((constructor)) static void begin(void)
{
    verbs_register_driver_34(&driver);
}
