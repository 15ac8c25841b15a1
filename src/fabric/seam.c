/* SPDX-License-Identifier: Apache-2.0 */
/* The instance itself, its events, time and randomness; streams and storage stand in seam_stream.c,
 * devices in seam_device.c, queue pairs in seam_queue.c. */
#include "src/fabric/seam.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/fabric/seam_check.h"

#define LOG_LINE_MAX 1000

/* The list and the table are the same operations in the same order with the same types. */
#define TABLE ((struct fabric_ops *)0)
#define SAME_TYPE(value, parameters)                                                               \
    _Generic((value), enum fabric_error(*) parameters : 1, default : 0)
#define X(upper, lower, parameters, arguments, fault)                                              \
    _Static_assert(offsetof(struct fabric_ops, lower) == FABRIC_OP_##upper * sizeof(TABLE->lower), \
                   #lower " is at another position in ops.def");                                   \
    _Static_assert(SAME_TYPE(TABLE->lower, parameters), #lower " differs in ops.def");             \
    _Static_assert(SAME_TYPE(fabric_##lower, parameters), #lower " differs in seam.h");
#include "src/fabric/ops.def"
#undef X

void fabric_init(struct fabric *f, const struct fabric_ops *ops)
{
    assert(f && ops);
#define X(upper, lower, parameters, arguments, fault) assert(ops->lower);
#include "src/fabric/ops.def"
#undef X
    memset(f, 0, sizeof(*f));
    f->ops = ops;
}

enum fabric_error fabric_guarantees(struct fabric *f, struct fabric_guarantees *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_GUARANTEES);
    assert(out);
    enum fabric_error error = ops->guarantees(f, out);
    return seam_leave_sure(f, FABRIC_OP_GUARANTEES, error);
}

struct fabric_left {
    struct fabric_left *next;
    void *memory;
    void (*release)(void *memory);
};

void fabric_leave(struct fabric *f, void *memory, void (*release)(void *memory))
{
    assert(f && f->ops && memory && release);
    struct fabric_left *left = malloc(sizeof *left);
    if (!left)
        abort();
    *left = (struct fabric_left){.next = f->left, .memory = memory, .release = release};
    f->left = left;
}

static void release_left(struct fabric_left *left)
{
    while (left) {
        struct fabric_left *next = left->next;
        left->release(left->memory);
        free(left);
        left = next;
    }
}

enum fabric_error fabric_destroy(struct fabric *f)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_DESTROY);
    struct fabric_left *left = f->left;
    if (PLANTED(fabric_left_released_early)) {
        release_left(left);
        left = NULL;
    }
    enum fabric_error error = ops->destroy(f);
    assert(error == FABRIC_OK); /* the instance is gone: nothing to count in */
    release_left(left);
    return error;
}

static void check_wc(const struct fabric_wc *wc)
{
    assert((unsigned int)wc->status < FABRIC_WC_STATUS_COUNT);
    assert(wc->qp.id && wc->cq.id);
    if (wc->status != FABRIC_WC_SUCCESS)
        return;
    assert(wc->opcode <= FABRIC_WC_RECV_RDMA_WITH_IMM);
    assert(wc->is_send == (wc->opcode < FABRIC_WC_RECV) || PLANTED(fabric_seam_wc_unchecked));
    assert(!wc->with_imm || !wc->is_send);
}

static void check_request(const struct fabric_event *event)
{
    const char *method = event->u.http.method, *path = event->u.http.path;
    assert(event->u.http.http.id && event->u.http.request.id && method && path);
    assert(method[0] && strlen(method) < FABRIC_HTTP_METHOD_MAX);
    assert((path[0] == '/' && strlen(path) < FABRIC_HTTP_PATH_MAX) ||
           PLANTED(fabric_seam_any_path));
}

static void check_event(const struct fabric_event *event)
{
    switch (event->type) {
    case FABRIC_EVENT_COMPLETION:
        check_wc(&event->u.wc);
        break;
    case FABRIC_EVENT_ASYNC:
        assert((unsigned int)event->u.async.type < FABRIC_ASYNC_COUNT && event->u.async.device.id);
        break;
    case FABRIC_EVENT_WINDOW_OPENED:
        assert((unsigned int)event->u.window.error < ERR_COUNT);
        assert(!event->u.window.error || event->u.window.rkey == 0);
        __attribute__((fallthrough));
    case FABRIC_EVENT_WINDOW_REVOKED:
        assert(event->u.window.window.id && event->u.window.device.id);
        break;
    case FABRIC_EVENT_RESOLVED:
        assert(event->u.resolved.device.id && (unsigned int)event->u.resolved.error < ERR_COUNT);
        break;
    case FABRIC_EVENT_ACCEPTED:
        assert(event->u.stream.stream.id && event->u.stream.listener.id);
        break;
    case FABRIC_EVENT_CONNECTED:
    case FABRIC_EVENT_READABLE:
    case FABRIC_EVENT_WRITABLE:
        assert(event->u.stream.stream.id);
        break;
    case FABRIC_EVENT_CLOSED:
        assert(event->u.stream.stream.id && event->u.stream.error);
        break;
    case FABRIC_EVENT_TIMER:
        assert(event->u.timer.timer.id);
        break;
    case FABRIC_EVENT_IO_DONE:
        assert((unsigned int)event->u.io.error < ERR_COUNT && event->u.io.op <= FABRIC_IO_LIST);
        break;
    case FABRIC_EVENT_HTTP_REQUEST:
        check_request(event);
        break;
    case FABRIC_EVENT_WOKEN:
        break;
    default:
        assert(0 && "an event of an unknown type");
    }
}

enum fabric_error fabric_poll(struct fabric *f, struct fabric_event *events, size_t capacity,
                              uint64_t deadline, size_t *count)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_POLL);
    assert(events && capacity && count);
    size_t got = 0;
    enum fabric_error error = ops->poll(f, events, capacity, deadline, &got);
    assert(got <= capacity && (!error || got == 0));
    for (size_t i = 0; i < got; i++) {
        check_event(&events[i]);
        assert(events[i].time >= f->last_event || PLANTED(fabric_seam_events_unordered));
        f->last_event = events[i].time;
    }
    *count = PLANTED(fabric_seam_poll_loses_one) && got > 1 ? got - 1 : got;
    return seam_leave(f, FABRIC_OP_POLL, error);
}

/* Not counted: the only call that may come from another thread or a signal handler. */
enum fabric_error fabric_wake(struct fabric *f)
{
    assert(f && f->ops);
    return f->ops->wake(f);
}

enum fabric_error fabric_now(struct fabric *f, uint64_t *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_NOW);
    assert(out);
    enum fabric_error error = ops->now(f, out);
    assert(*out >= f->last_now || PLANTED(fabric_seam_time_unchecked));
    f->last_now = *out;
    return seam_leave_sure(f, FABRIC_OP_NOW, error);
}

enum fabric_error fabric_realtime(struct fabric *f, uint64_t *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_REALTIME);
    assert(out);
    return seam_leave(f, FABRIC_OP_REALTIME, ops->realtime(f, out));
}

enum fabric_error fabric_entropy(struct fabric *f, void *buf, size_t length)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_ENTROPY);
    assert(buf || length == 0);
    return seam_leave(f, FABRIC_OP_ENTROPY, ops->entropy(f, buf, length));
}

enum fabric_error fabric_log(struct fabric *f, enum fabric_log_level level, const char *line)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_LOG);
    assert(level <= FABRIC_LOG_ERROR && line);
    assert(strlen(line) <= LOG_LINE_MAX && !strchr(line, '\n'));
    return seam_leave_sure(f, FABRIC_OP_LOG, ops->log(f, level, line));
}

enum fabric_error fabric_timer_set(struct fabric *f, uint64_t deadline, uint64_t cookie,
                                   fabric_timer *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_TIMER_SET);
    fabric_timer made = {0};
    assert(out);
    enum fabric_error error = ops->timer_set(f, deadline, cookie, &made);
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_TIMER_SET, error);
}

enum fabric_error fabric_timer_cancel(struct fabric *f, fabric_timer timer, bool *was_pending)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_TIMER_CANCEL);
    assert(timer.id && was_pending);
    return seam_leave_sure(f, FABRIC_OP_TIMER_CANCEL, ops->timer_cancel(f, timer, was_pending));
}
