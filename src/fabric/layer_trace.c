/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fabric/layer_trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/layer.h"
#include "src/fabric/planted.h"

struct trace {
    struct layer layer;
    char node[FABRIC_NAME_MAX];
    struct layer_trace_sink sink;
};

struct line {
    char text[LAYER_TRACE_LINE];
    size_t length;
};

/* Handles are structures around one number, which is their first and only member. */
enum argument {
    ARGUMENT_HIDDEN,
    ARGUMENT_HANDLE,
    ARGUMENT_NEW_HANDLE,
    ARGUMENT_U8,
    ARGUMENT_U16,
    ARGUMENT_U32,
    ARGUMENT_U64,
    ARGUMENT_BOOL,
    ARGUMENT_TEXT,
    ARGUMENT_U16_OUT,
    ARGUMENT_U64_OUT,
    ARGUMENT_BOOL_OUT,
    ARGUMENT_QP_ATTR,
    ARGUMENT_QP_INIT,
    ARGUMENT_MR_INIT,
    ARGUMENT_SEND_WR,
    ARGUMENT_RECV_WR,
    ARGUMENT_IO,
    ARGUMENT_HTTP_INIT,
    ARGUMENT_HTTP_ANSWER,
};

#define HANDLES(X, kind)                                                                           \
    fabric_device X : kind,                                                                        \
                      fabric_mr X : kind,                                                          \
                                    fabric_window X : kind,                                        \
                                                      fabric_cq X : kind,                          \
                                                                    fabric_srq X : kind,           \
                                                                                   fabric_qp X     \
        : kind,                                                                                    \
          fabric_ah X : kind,                                                                      \
                        fabric_listener X : kind,                                                  \
                                            fabric_stream X : kind,                                \
                                                              fabric_timer X : kind,               \
                                                                               fabric_http X       \
        : kind,                                                                                    \
          fabric_http_request X : kind

#define NOTHING
#define ARGUMENT_KIND(value)                                                                       \
    _Generic((value), HANDLES(NOTHING, ARGUMENT_HANDLE), HANDLES(*, ARGUMENT_NEW_HANDLE),          \
             uint8_t: ARGUMENT_U8,                                                                 \
             uint16_t: ARGUMENT_U16,                                                               \
             uint32_t: ARGUMENT_U32,                                                               \
             uint64_t: ARGUMENT_U64,                                                               \
             bool: ARGUMENT_BOOL,                                                                  \
             const char *: ARGUMENT_TEXT,                                                          \
             uint16_t *: ARGUMENT_U16_OUT,                                                         \
             uint64_t *: ARGUMENT_U64_OUT,                                                         \
             bool *: ARGUMENT_BOOL_OUT,                                                            \
             const struct fabric_qp_attr *: ARGUMENT_QP_ATTR,                                      \
             const struct fabric_qp_init *: ARGUMENT_QP_INIT,                                      \
             const struct fabric_mr_init *: ARGUMENT_MR_INIT,                                      \
             const struct fabric_send_wr *: ARGUMENT_SEND_WR,                                      \
             const struct fabric_recv_wr *: ARGUMENT_RECV_WR,                                      \
             const struct fabric_io *: ARGUMENT_IO,                                                \
             const struct fabric_http_init *: ARGUMENT_HTTP_INIT,                                  \
             const struct fabric_http_answer *: ARGUMENT_HTTP_ANSWER,                              \
             default: ARGUMENT_HIDDEN)

__attribute__((format(printf, 2, 3))) static void put(struct line *line, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    size_t room = sizeof(line->text) - line->length;
    int written = vsnprintf(line->text + line->length, room, format, values);
    va_end(values);
    assert(written >= 0);
    line->length += (size_t)written < room ? (size_t)written : room - 1;
}

static uint64_t bytes_of(const struct fabric_sge *sges, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += sges[i].length;
    return bytes;
}

static const char *opcode_name(enum fabric_wr_opcode opcode)
{
    static const char *const names[] = {"SEND", "SEND_WITH_IMM", "RDMA_WRITE",
                                        "RDMA_WRITE_WITH_IMM", "RDMA_READ"};
    assert(opcode <= FABRIC_WR_RDMA_READ);
    return names[opcode];
}

static const char *qp_type_name(enum fabric_qp_type type)
{
    static const char *const names[] = {"RC", "DCI", "DCT"};
    assert(type <= FABRIC_QP_DCT);
    return names[type];
}

static const char *io_name(enum fabric_io_op op)
{
    static const char *const names[] = {
        "open", "close", "read",   "write",  "flush",    "trim", "truncate",
        "size", "mkdir", "unlink", "rename", "sync_dir", "list",
    };
    assert(op <= FABRIC_IO_LIST);
    return names[op];
}

static void put_send_wr(struct line *line, const struct fabric_send_wr *wr)
{
    put(line, " %s bytes=%" PRIu64 " flags=0x%x", opcode_name(wr->opcode),
        bytes_of(wr->sges, wr->sge_count), wr->flags);
    if (wr->opcode >= FABRIC_WR_RDMA_WRITE)
        put(line, " remote_iova=0x%" PRIx64, wr->remote_iova);
    if (wr->ah.id)
        put(line, " ah=%u dct_num=0x%06x", wr->ah.id, wr->dct_num);
    if (PLANTED(fabric_trace_tells_keys))
        put(line, " rkey=0x%x", wr->rkey);
}

static void put_io(struct line *line, const struct fabric_io *io)
{
    put(line, " %s", io_name(io->op));
    if (io->file.id)
        put(line, " file=%u", io->file.id);
    if (io->path)
        put(line, " path=%s", io->path);
    put(line, " offset=%" PRIu64 " length=%" PRIu64, io->offset, io->length);
}

static void put_http(struct line *line, enum argument kind, const void *value)
{
    const struct fabric_http_init *init = value;
    const struct fabric_http_answer *answer = value;
    if (kind == ARGUMENT_HTTP_INIT)
        put(line, " address=%s tls=%d", init->address, init->tls_cert != NULL);
    else
        put(line, " status=%u length=%zu", answer->status, answer->length);
}

/* A structure that is an argument: what identifies and sizes the operation. */
static void put_structure(struct line *line, enum argument kind, const void *value)
{
    const struct fabric_qp_attr *attr = value;
    const struct fabric_qp_init *init = value;
    const struct fabric_mr_init *mr = value;
    const struct fabric_recv_wr *recv = value;
    if (kind == ARGUMENT_QP_ATTR)
        put(line, " state=%s", fabric_qp_state_name(attr->state));
    else if (kind == ARGUMENT_QP_INIT)
        put(line, " type=%s", qp_type_name(init->type));
    else if (kind == ARGUMENT_MR_INIT)
        put(line, " length=%" PRIu64 " access=0x%x", mr->length, mr->access);
    else if (kind == ARGUMENT_RECV_WR)
        put(line, " bytes=%" PRIu64, bytes_of(recv->sges, recv->sge_count));
    else if (kind == ARGUMENT_SEND_WR)
        put_send_wr(line, value);
    else if (kind == ARGUMENT_IO)
        put_io(line, value);
    else
        put_http(line, kind, value);
}

/* What comes out holds only after success. */
static void put_result(struct line *line, const char *name, enum argument kind, const void *value)
{
    if (kind == ARGUMENT_NEW_HANDLE)
        put(line, " %s=%u", name, *(const uint32_t *)value);
    else if (kind == ARGUMENT_U16_OUT)
        put(line, " %s=0x%04x", name, *(const uint16_t *)value);
    else if (kind == ARGUMENT_U64_OUT)
        put(line, " %s=%" PRIu64, name, *(const uint64_t *)value);
    else
        put(line, " %s=%d", name, *(const bool *)value);
}

static bool is_result(enum argument kind)
{
    return kind == ARGUMENT_NEW_HANDLE || kind == ARGUMENT_U16_OUT || kind == ARGUMENT_U64_OUT ||
           kind == ARGUMENT_BOOL_OUT;
}

/* One argument; `place` is the address of the parameter. */
static void put_argument(struct line *line, const char *name, enum argument kind, const void *place,
                         enum fabric_error error)
{
    if (kind == ARGUMENT_HIDDEN || (strcmp(name, "cookie") == 0 && !PLANTED(fabric_trace_cookie)))
        return;
    if (kind == ARGUMENT_HANDLE || kind == ARGUMENT_U32)
        put(line, " %s=%u", name, *(const uint32_t *)place);
    else if (kind == ARGUMENT_U8)
        put(line, " %s=%u", name, *(const uint8_t *)place);
    else if (kind == ARGUMENT_U16)
        put(line, " %s=0x%04x", name, *(const uint16_t *)place);
    else if (kind == ARGUMENT_U64)
        put(line, " %s=%" PRIu64, name, *(const uint64_t *)place);
    else if (kind == ARGUMENT_BOOL)
        put(line, " %s=%d", name, *(const bool *)place);
    else if (kind == ARGUMENT_TEXT)
        put(line, " %s=%s", name, *(const char *const *)place);
    else if (!is_result(kind))
        put_structure(line, kind, *(const void *const *)place);
    else if (!error)
        put_result(line, name, kind, *(const void *const *)place);
}

static void begin_line(struct trace *trace, struct line *line, uint64_t time)
{
    line->length = 0;
    put(line, "%012" PRIu64 " %s ", time, trace->node);
}

static void end_line(struct trace *trace, const struct line *line)
{
    assert(line->length < sizeof(line->text));
    trace->sink.line(trace->sink.context, line->text);
}

/* One to eight arguments, of which the first is the fabric below. */
#define PUT(value) put_argument(&entry, #value, ARGUMENT_KIND(value), &(value), error);
#define PUT0(next)
#define PUT1(next, a) PUT(a)
#define PUT2(next, a, b) PUT(a) PUT(b)
#define PUT3(next, a, b, c) PUT(a) PUT(b) PUT(c)
#define PUT4(next, a, b, c, d) PUT2(next, a, b) PUT2(next, c, d)
#define PUT5(next, a, b, c, d, e) PUT3(next, a, b, c) PUT2(next, d, e)
#define PUT6(next, a, b, c, d, e, f) PUT3(next, a, b, c) PUT3(next, d, e, f)
#define PUT7(next, a, b, c, d, e, f, g) PUT4(next, a, b, c, d) PUT3(next, e, f, g)
#define CHOOSE(n0, n1, n2, n3, n4, n5, n6, n7, chosen, ...) chosen
#define PUT_ALL(...)                                                                               \
    CHOOSE(__VA_ARGS__, PUT7, PUT6, PUT5, PUT4, PUT3, PUT2, PUT1, PUT0, )(__VA_ARGS__)

#define X(upper, lower, parameters, arguments, fault)                                              \
    static enum fabric_error trace_##lower parameters                                              \
    {                                                                                              \
        struct fabric *next = layer_next(f);                                                       \
        struct line entry;                                                                         \
        uint64_t time;                                                                             \
        (void)fabric_now(next, &time);                                                             \
        enum fabric_error error = fabric_##lower arguments;                                        \
        begin_line((struct trace *)f, &entry, time);                                               \
        put(&entry, "%s", #lower);                                                                 \
        PUT_ALL arguments put(&entry, " -> %s", error_name(error));                                \
        end_line((struct trace *)f, &entry);                                                       \
        return error;                                                                              \
    }
#include "src/fabric/ops.def"
#undef X

static const struct fabric_ops trace_ops = {
#define X(upper, lower, parameters, arguments, fault) .lower = trace_##lower,
#include "src/fabric/ops.def"
#undef X
};

static void put_wc(struct line *line, const struct fabric_wc *wc)
{
    put(line, " qp=%u %s %s", wc->qp.id, wc->is_send ? "send" : "recv",
        fabric_wc_status_name(wc->status));
    if (wc->status == FABRIC_WC_SUCCESS && wc->opcode >= FABRIC_WC_RDMA_READ)
        put(line, " bytes=%u", wc->byte_len);
}

static void put_async(struct line *line, const struct fabric_async *async)
{
    put(line, " %s device=%u", fabric_async_name(async->type), async->device.id);
    if (async->port_num)
        put(line, " port_num=%u", async->port_num);
    if (async->qp.id)
        put(line, " qp=%u", async->qp.id);
}

static void put_stream(struct line *line, const struct fabric_event *event)
{
    put(line, " stream=%u", event->u.stream.stream.id);
    if (event->type == FABRIC_EVENT_ACCEPTED)
        put(line, " listener=%u", event->u.stream.listener.id);
    if (event->type == FABRIC_EVENT_CLOSED)
        put(line, " -> %s", error_name(event->u.stream.error));
}

static void put_event(struct line *line, const struct fabric_event *event)
{
    put(line, "event:%s", fabric_event_name(event->type));
    if (event->type == FABRIC_EVENT_COMPLETION)
        put_wc(line, &event->u.wc);
    else if (event->type == FABRIC_EVENT_ASYNC)
        put_async(line, &event->u.async);
    else if (event->type == FABRIC_EVENT_WINDOW_OPENED)
        put(line, " window=%u -> %s", event->u.window.window.id, error_name(event->u.window.error));
    else if (event->type == FABRIC_EVENT_WINDOW_REVOKED)
        put(line, " window=%u", event->u.window.window.id);
    else if (event->type == FABRIC_EVENT_RESOLVED)
        put(line, " device=%u -> %s", event->u.resolved.device.id,
            error_name(event->u.resolved.error));
    else if (event->type >= FABRIC_EVENT_ACCEPTED && event->type <= FABRIC_EVENT_CLOSED)
        put_stream(line, event);
    else if (event->type == FABRIC_EVENT_TIMER)
        put(line, " timer=%u", event->u.timer.timer.id);
    else if (event->type == FABRIC_EVENT_IO_DONE)
        put(line, " %s length=%" PRIu64 " -> %s", io_name(event->u.io.op), event->u.io.length,
            error_name(event->u.io.error));
    else if (event->type == FABRIC_EVENT_HTTP_REQUEST)
        put(line, " request=%u %s %.200s", event->u.http.request.id, event->u.http.method,
            event->u.http.path);
}

static enum fabric_error poll(struct fabric *f, struct fabric_event *events, size_t capacity,
                              uint64_t deadline, size_t *count)
{
    struct trace *trace = (struct trace *)f;
    enum fabric_error error = fabric_poll(trace->layer.next, events, capacity, deadline, count);
    for (size_t i = 0; !error && i < *count; i++) {
        struct line line;
        begin_line(trace, &line, events[i].time);
        put_event(&line, &events[i]);
        if (!PLANTED(fabric_trace_silent_events))
            end_line(trace, &line);
    }
    return error;
}

static enum fabric_error destroy(struct fabric *f)
{
    struct trace *trace = (struct trace *)f;
    enum fabric_error error = trace_destroy(f);
    free(trace);
    return error;
}

enum fabric_error layer_trace_create(struct fabric *next, const char *node,
                                     const struct layer_trace_sink *sink, struct fabric **out)
{
    assert(next && node && strlen(node) < FABRIC_NAME_MAX && sink && sink->line && out);
    struct trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return ERR_RESOURCES_EXHAUSTED;
    memcpy(trace->node, node, strlen(node));
    trace->sink = *sink;
    layer_init(&trace->layer, next);
    struct fabric_ops *ops = &trace->layer.ops;
    const struct fabric_ops pass = *ops;
    *ops = trace_ops;
    ops->wake = pass.wake; /* other threads: writes nothing */
    ops->now = pass.now;
    ops->poll = poll;
    ops->destroy = destroy;
    *out = &trace->layer.head;
    return FABRIC_OK;
}
