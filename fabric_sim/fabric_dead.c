/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed program's fabric answers, while what is left of the program is released. */
#include <string.h>

#include "fabric_sim/front.h"

/* Looks at nothing but who asks. */
static void ignore(struct fabric *f, ...)
{
    assert(((const struct sim_fabric *)f)->killed);
}

#define X(upper, lower, parameters, arguments, fault)                                              \
    static enum fabric_error dead_##lower parameters                                               \
    {                                                                                              \
        struct fabric *next = f;                                                                   \
        ignore arguments;                                                                          \
        return fault;                                                                              \
    }
#include "src/fabric/ops.def"
#undef X

/* Those that cannot fail and have an answer. */

static enum fabric_error destroy(struct fabric *f)
{
    (void)dead_destroy(f);
    return front_destroy(f);
}

static enum fabric_error guarantees(struct fabric *f, struct fabric_guarantees *out)
{
    (void)dead_guarantees(f, out);
    return front_guarantees(f, out);
}

static enum fabric_error now(struct fabric *f, uint64_t *out)
{
    (void)dead_now(f, out);
    return front_now(f, out);
}

static enum fabric_error realtime(struct fabric *f, uint64_t *out)
{
    *out = 0;
    return dead_realtime(f, out);
}

static enum fabric_error entropy(struct fabric *f, void *buf, size_t length)
{
    memset(buf, 0, length);
    return dead_entropy(f, buf, length);
}

static enum fabric_error timer_cancel(struct fabric *f, fabric_timer timer, bool *was_pending)
{
    *was_pending = false;
    return dead_timer_cancel(f, timer, was_pending);
}

static enum fabric_error device_list(struct fabric *f, char (*names)[FABRIC_NAME_MAX],
                                     size_t capacity, size_t *count)
{
    *count = 0;
    return dead_device_list(f, names, capacity, count);
}

static enum fabric_error dcb_query(struct fabric *f, const char *netdev, struct fabric_dcb *out)
{
    *out = (struct fabric_dcb){.known = false};
    return dead_dcb_query(f, netdev, out);
}

#define ANSWERS                                                                                    \
    .destroy = destroy, .guarantees = guarantees, .now = now, .realtime = realtime,                \
    .entropy = entropy, .timer_cancel = timer_cancel, .device_list = device_list,                  \
    .dcb_query = dcb_query

const struct fabric_ops front_dead_ops = {
    .poll = dead_poll,
    .wake = dead_wake,
    .log = dead_log,
    .timer_set = dead_timer_set,
    .device_open = dead_device_open,
    .device_close = dead_device_close,
    .device_query = dead_device_query,
    .port_query = dead_port_query,
    .gid_query = dead_gid_query,
    .pkey_query = dead_pkey_query,
    .counters_query = dead_counters_query,
    .mr_register = dead_mr_register,
    .mr_deregister = dead_mr_deregister,
    .window_open = dead_window_open,
    .window_revoke = dead_window_revoke,
    .cq_create = dead_cq_create,
    .cq_destroy = dead_cq_destroy,
    .srq_create = dead_srq_create,
    .srq_destroy = dead_srq_destroy,
    .srq_post_recv = dead_srq_post_recv,
    .qp_create = dead_qp_create,
    .qp_modify = dead_qp_modify,
    .qp_query = dead_qp_query,
    .qp_destroy = dead_qp_destroy,
    .qp_post_send = dead_qp_post_send,
    .qp_post_recv = dead_qp_post_recv,
    .resolve = dead_resolve,
    .ah_create = dead_ah_create,
    .ah_destroy = dead_ah_destroy,
    .listen = dead_listen,
    .listener_close = dead_listener_close,
    .connect = dead_connect,
    .stream_peer = dead_stream_peer,
    .stream_local = dead_stream_local,
    .stream_set_cookie = dead_stream_set_cookie,
    .stream_send = dead_stream_send,
    .stream_recv = dead_stream_recv,
    .stream_shutdown = dead_stream_shutdown,
    .stream_close = dead_stream_close,
    .http_listen = dead_http_listen,
    .http_reply = dead_http_reply,
    .http_close = dead_http_close,
    .io_submit = dead_io_submit,
    .sysfile_read = dead_sysfile_read,
    .sysfile_list = dead_sysfile_list,
    .sysfile_link = dead_sysfile_link,
    .sysfile_write = dead_sysfile_write,
    ANSWERS,
};
