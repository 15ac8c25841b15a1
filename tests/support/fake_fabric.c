/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_fabric.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct fake_fabric *fake_of(struct fabric *f)
{
    return (struct fake_fabric *)f;
}

/* Swallows the arguments of members that do nothing with them. */
static void ignore(struct fabric *f, ...)
{
    assert(f);
}

/* Plain members: counted, with the scripted error. */
#define X(upper, lower, parameters, arguments, fault)                                              \
    static enum fabric_error plain_##lower parameters                                              \
    {                                                                                              \
        struct fabric *next = f;                                                                   \
        ignore arguments;                                                                          \
        fake_of(f)->called[FABRIC_OP_##upper]++;                                                   \
        return fake_of(f)->error[FABRIC_OP_##upper];                                               \
    }
#include "src/fabric/ops.def"
#undef X

static const struct fabric_ops plain_ops = {
#define X(upper, lower, parameters, arguments, fault) .lower = plain_##lower,
#include "src/fabric/ops.def"
#undef X
};

static enum fabric_error destroy(struct fabric *f)
{
    struct fake_fabric *fake = fake_of(f);
    if (fake->destroyed_flag)
        *fake->destroyed_flag = true;
    free(fake);
    return FABRIC_OK;
}

static enum fabric_error now(struct fabric *f, uint64_t *out)
{
    *out = fake_of(f)->now;
    return plain_now(f, out);
}

static enum fabric_error realtime(struct fabric *f, uint64_t *out)
{
    *out = fake_of(f)->realtime;
    return plain_realtime(f, out);
}

static void fire_timers(struct fake_fabric *fake)
{
    for (size_t i = 0; i < FAKE_TIMERS; i++) {
        struct fake_timer *timer = &fake->timers[i];
        if (timer->id == 0 || timer->deadline > fake->now)
            continue;
        struct fabric_event *event = fake_event(fake, fake->now, FABRIC_EVENT_TIMER);
        event->u.timer.timer.id = timer->id;
        event->u.timer.cookie = timer->cookie;
        timer->id = 0;
    }
}

static enum fabric_error poll(struct fabric *f, struct fabric_event *events, size_t capacity,
                              uint64_t deadline, size_t *count)
{
    struct fake_fabric *fake = fake_of(f);
    enum fabric_error error = plain_poll(f, events, capacity, deadline, count);
    size_t given = 0;
    if (error && !fake->touches_on_error)
        return error;
    fire_timers(fake);
    while (given < capacity && given < fake->event_count && fake->events[given].time <= fake->now) {
        events[given] = fake->events[given];
        given++;
    }
    fake->event_count -= given;
    memmove(fake->events, fake->events + given, fake->event_count * sizeof(*fake->events));
    *count = given + fake->claimed;
    return error;
}

static enum fabric_error timer_set(struct fabric *f, uint64_t deadline, uint64_t cookie,
                                   fabric_timer *out)
{
    struct fake_fabric *fake = fake_of(f);
    enum fabric_error error = plain_timer_set(f, deadline, cookie, out);
    if (error)
        return error;
    size_t i = 0;
    while (fake->timers[i].id)
        i++;
    assert(i < FAKE_TIMERS);
    fake->timers[i] = (struct fake_timer){++fake->handles, deadline, cookie};
    out->id = fake->handles;
    return FABRIC_OK;
}

static enum fabric_error timer_cancel(struct fabric *f, fabric_timer timer, bool *was_pending)
{
    struct fake_fabric *fake = fake_of(f);
    *was_pending = false;
    for (size_t i = 0; i < FAKE_TIMERS; i++) {
        if (fake->timers[i].id != timer.id)
            continue;
        fake->timers[i].id = 0;
        *was_pending = true;
    }
    return plain_timer_cancel(f, timer, was_pending);
}

/* Constructors. */
#define MAKES(name, parameters, arguments)                                                         \
    static enum fabric_error name parameters                                                       \
    {                                                                                              \
        struct fabric *next = f;                                                                   \
        struct fake_fabric *fake = fake_of(f);                                                     \
        enum fabric_error error = plain_##name arguments;                                          \
        if (!error != fake->keeps_handle)                                                          \
            out->id = ++fake->handles;                                                             \
        return error;                                                                              \
    }
MAKES(device_open, (struct fabric * f, const char *name, fabric_device *out), (next, name, out))
MAKES(cq_create, (struct fabric * f, fabric_device device, uint32_t depth, fabric_cq *out),
      (next, device, depth, out))
MAKES(srq_create,
      (struct fabric * f, fabric_device device, uint32_t max_wr, uint32_t max_sge, fabric_srq *out),
      (next, device, max_wr, max_sge, out))
MAKES(qp_create,
      (struct fabric * f, fabric_device device, const struct fabric_qp_init *init, fabric_qp *out),
      (next, device, init, out))
MAKES(window_open,
      (struct fabric * f, fabric_mr mr, uint64_t iova, uint64_t length, uint32_t access,
       uint64_t cookie, fabric_window *out),
      (next, mr, iova, length, access, cookie, out))
MAKES(ah_create,
      (struct fabric * f, fabric_device device, const struct fabric_av *av, fabric_ah *out),
      (next, device, av, out))
MAKES(listen,
      (struct fabric * f, const char *address, uint64_t cookie, fabric_listener *out, char *bound),
      (next, address, cookie, out, bound))
MAKES(http_listen,
      (struct fabric * f, const struct fabric_http_init *init, fabric_http *out, char *bound),
      (next, init, out, bound))
MAKES(connect, (struct fabric * f, const char *address, uint64_t cookie, fabric_stream *out),
      (next, address, cookie, out))

static enum fabric_error mr_register(struct fabric *f, fabric_device device,
                                     const struct fabric_mr_init *init, fabric_mr *out,
                                     struct fabric_mr_keys *keys)
{
    struct fake_fabric *fake = fake_of(f);
    enum fabric_error error = plain_mr_register(f, device, init, out, keys);
    if (!error != fake->keeps_handle)
        out->id = ++fake->handles;
    keys->lkey = 0x1111;
    keys->rkey = 0x2222;
    return error;
}

static enum fabric_error device_query(struct fabric *f, fabric_device device,
                                      struct fabric_device_attr *out)
{
    *out = (struct fabric_device_attr){.name = "fake_0", .num_ports = 1};
    return plain_device_query(f, device, out);
}

static enum fabric_error port_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                    struct fabric_port_attr *out)
{
    *out = (struct fabric_port_attr){.port_num = port_num, .state = FABRIC_PORT_ACTIVE};
    return plain_port_query(f, device, port_num, out);
}

static enum fabric_error gid_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                   uint32_t index, struct fabric_gid_entry *out)
{
    *out = (struct fabric_gid_entry){.index = index};
    return plain_gid_query(f, device, port_num, index, out);
}

static enum fabric_error pkey_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                    uint32_t index, uint16_t *out)
{
    *out = 0xffff;
    return plain_pkey_query(f, device, port_num, index, out);
}

static enum fabric_error qp_query(struct fabric *f, fabric_qp qp, struct fabric_qp_info *out)
{
    *out = (struct fabric_qp_info){.state = fake_of(f)->qp_state, .qp_num = 0x10};
    return plain_qp_query(f, qp, out);
}

static enum fabric_error qp_modify(struct fabric *f, fabric_qp qp,
                                   const struct fabric_qp_attr *attr)
{
    enum fabric_error error = plain_qp_modify(f, qp, attr);
    if (!error) {
        fake_of(f)->qp_state = attr->state;
        fake_of(f)->modified = qp;
    }
    return error;
}

static void accept_post(struct fake_fabric *fake, struct fake_post post)
{
    assert(fake->post_count < FAKE_POSTS);
    fake->posts[fake->post_count++] = post;
}

static enum fabric_error qp_post_send(struct fabric *f, fabric_qp qp,
                                      const struct fabric_send_wr *wr)
{
    enum fabric_error error = plain_qp_post_send(f, qp, wr);
    if (!error)
        accept_post(fake_of(f), (struct fake_post){qp, wr->wr_id, true,
                                                   (wr->flags & FABRIC_SEND_SIGNALED) != 0});
    return error;
}

static enum fabric_error qp_post_recv(struct fabric *f, fabric_qp qp,
                                      const struct fabric_recv_wr *wr)
{
    enum fabric_error error = plain_qp_post_recv(f, qp, wr);
    if (!error)
        accept_post(fake_of(f), (struct fake_post){qp, wr->wr_id, false, true});
    return error;
}

static enum fabric_error stream_set_cookie(struct fabric *f, fabric_stream stream, uint64_t cookie)
{
    fake_of(f)->handed_cookie = cookie;
    return plain_stream_set_cookie(f, stream, cookie);
}

static enum fabric_error stream_send(struct fabric *f, fabric_stream stream, const void *data,
                                     size_t length, size_t *accepted)
{
    struct fake_fabric *fake = fake_of(f);
    enum fabric_error error = plain_stream_send(f, stream, data, length, accepted);
    if (!error || fake->touches_on_error)
        *accepted = length + fake->claimed;
    return error;
}

static enum fabric_error stream_recv(struct fabric *f, fabric_stream stream, void *buf,
                                     size_t capacity, size_t *received, bool *end)
{
    struct fake_fabric *fake = fake_of(f);
    enum fabric_error error = plain_stream_recv(f, stream, buf, capacity, received, end);
    if (!error || fake->touches_on_error)
        *received = capacity + fake->claimed;
    *end = fake->ends_with_data;
    return error;
}

static enum fabric_error sysfile_read(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    *length = capacity + fake_of(f)->claimed;
    return plain_sysfile_read(f, path, buf, capacity, length);
}

static enum fabric_error sysfile_list(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    memset(buf, 0, capacity);
    *length = capacity + fake_of(f)->claimed;
    return plain_sysfile_list(f, path, buf, capacity, length);
}

static struct fabric_ops make_table(void)
{
    struct fabric_ops ops = plain_ops;
    ops.destroy = destroy;
    ops.poll = poll;
    ops.now = now;
    ops.realtime = realtime;
    ops.timer_set = timer_set;
    ops.timer_cancel = timer_cancel;
    ops.device_open = device_open;
    ops.device_query = device_query;
    ops.port_query = port_query;
    ops.gid_query = gid_query;
    ops.pkey_query = pkey_query;
    ops.mr_register = mr_register;
    ops.window_open = window_open;
    ops.cq_create = cq_create;
    ops.srq_create = srq_create;
    ops.qp_create = qp_create;
    ops.qp_modify = qp_modify;
    ops.qp_query = qp_query;
    ops.qp_post_send = qp_post_send;
    ops.qp_post_recv = qp_post_recv;
    ops.ah_create = ah_create;
    ops.listen = listen;
    ops.http_listen = http_listen;
    ops.connect = connect;
    ops.stream_set_cookie = stream_set_cookie;
    ops.stream_send = stream_send;
    ops.stream_recv = stream_recv;
    ops.sysfile_read = sysfile_read;
    ops.sysfile_list = sysfile_list;
    return ops;
}

struct fake_fabric *fake_fabric_new(bool *destroyed)
{
    static struct fabric_ops ops;
    struct fake_fabric *fake = calloc(1, sizeof(*fake));
    assert(fake);
    ops = make_table();
    fabric_init(&fake->head, &ops);
    fake->destroyed_flag = destroyed;
    if (destroyed)
        *destroyed = false;
    return fake;
}

struct fabric_event *fake_event(struct fake_fabric *fake, uint64_t time,
                                enum fabric_event_type type)
{
    assert(fake->event_count < FAKE_EVENTS);
    struct fabric_event *event = &fake->events[fake->event_count++];
    *event = (struct fabric_event){.type = type, .time = time};
    return event;
}

void fake_completion(struct fake_fabric *fake, uint64_t time, fabric_qp qp, uint64_t wr_id,
                     bool is_send)
{
    struct fabric_event *event = fake_event(fake, time, FABRIC_EVENT_COMPLETION);
    event->u.wc = (struct fabric_wc){.wr_id = wr_id,
                                     .cq = {1},
                                     .qp = qp,
                                     .opcode = is_send ? FABRIC_WC_SEND : FABRIC_WC_RECV,
                                     .is_send = is_send};
}
