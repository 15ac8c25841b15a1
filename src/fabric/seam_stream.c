/* SPDX-License-Identifier: Apache-2.0 */
/* The seam's functions about control streams, the HTTP end point, storage and system files. */
#include <assert.h>
#include <string.h>

#include "src/fabric/seam.h"
#include "src/fabric/seam_check.h"

enum fabric_error fabric_listen(struct fabric *f, const char *address, uint64_t cookie,
                                fabric_listener *out, char *bound)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_LISTEN);
    fabric_listener made = {0};
    assert(address && out && bound);
    enum fabric_error error = ops->listen(f, address, cookie, &made, bound);
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_LISTEN, error);
}

enum fabric_error fabric_listener_close(struct fabric *f, fabric_listener listener)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_LISTENER_CLOSE);
    assert(listener.id);
    return seam_leave_sure(f, FABRIC_OP_LISTENER_CLOSE, ops->listener_close(f, listener));
}

enum fabric_error fabric_connect(struct fabric *f, const char *address, uint64_t cookie,
                                 fabric_stream *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_CONNECT);
    fabric_stream made = {0};
    assert(address && out);
    bool short_enough = strlen(address) < FABRIC_ADDRESS_MAX;
    enum fabric_error error =
        short_enough ? ops->connect(f, address, cookie, &made) : ERR_INVALID_ARGUMENT;
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_CONNECT, error);
}

enum fabric_error fabric_stream_peer(struct fabric *f, fabric_stream stream, char *out)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_STREAM_PEER);
    assert(stream.id && out);
    return seam_leave(f, FABRIC_OP_STREAM_PEER, ops->stream_peer(f, stream, out));
}

enum fabric_error fabric_stream_local(struct fabric *f, fabric_stream stream, char *address,
                                      char *netdev)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_STREAM_LOCAL);
    assert(stream.id && address && netdev);
    enum fabric_error error = ops->stream_local(f, stream, address, netdev);
    return seam_leave(f, FABRIC_OP_STREAM_LOCAL, error);
}

enum fabric_error fabric_stream_set_cookie(struct fabric *f, fabric_stream stream, uint64_t cookie)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_STREAM_SET_COOKIE);
    assert(stream.id);
    enum fabric_error error = ops->stream_set_cookie(f, stream, cookie);
    return seam_leave_sure(f, FABRIC_OP_STREAM_SET_COOKIE, error);
}

enum fabric_error fabric_stream_send(struct fabric *f, fabric_stream stream, const void *data,
                                     size_t length, size_t *accepted)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_STREAM_SEND);
    assert(stream.id && (data || length == 0) && accepted);
    *accepted = 0;
    enum fabric_error error = ops->stream_send(f, stream, data, length, accepted);
    assert(*accepted <= length && (!error || *accepted == 0));
    return seam_leave(f, FABRIC_OP_STREAM_SEND, error);
}

enum fabric_error fabric_stream_recv(struct fabric *f, fabric_stream stream, void *buf,
                                     size_t capacity, size_t *received, bool *end)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_STREAM_RECV);
    assert(stream.id && buf && capacity > 0 && received && end);
    *received = 0;
    *end = false;
    enum fabric_error error = ops->stream_recv(f, stream, buf, capacity, received, end);
    assert(*received <= capacity || PLANTED(fabric_seam_recv_overrun));
    assert(!error || *received == 0);
    assert(!*end || *received == 0);
    return seam_leave(f, FABRIC_OP_STREAM_RECV, error);
}

enum fabric_error fabric_stream_shutdown(struct fabric *f, fabric_stream stream)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_STREAM_SHUTDOWN);
    assert(stream.id);
    return seam_leave_sure(f, FABRIC_OP_STREAM_SHUTDOWN, ops->stream_shutdown(f, stream));
}

enum fabric_error fabric_stream_close(struct fabric *f, fabric_stream stream, bool reset)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_STREAM_CLOSE);
    assert(stream.id);
    return seam_leave_sure(f, FABRIC_OP_STREAM_CLOSE, ops->stream_close(f, stream, reset));
}

/* A certificate without its key, or the other way round, comes from a configuration. */
static bool whole(const struct fabric_http_init *init)
{
    return (!init->tls_cert) == (!init->tls_key) || PLANTED(fabric_seam_half_tls);
}

enum fabric_error fabric_http_listen(struct fabric *f, const struct fabric_http_init *init,
                                     fabric_http *out, char *bound)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_HTTP_LISTEN);
    fabric_http made = {0};
    assert(init && init->address && out && bound);
    enum fabric_error error =
        whole(init) ? ops->http_listen(f, init, &made, bound) : ERR_INVALID_ARGUMENT;
    SEAM_MADE(error, made, out);
    return seam_leave(f, FABRIC_OP_HTTP_LISTEN, error);
}

static bool is_type(const char *type)
{
    size_t length = strlen(type), plain = 0;
    while (plain < length && type[plain] >= ' ' && type[plain] <= '~')
        plain++;
    return length > 0 && length < FABRIC_HTTP_TYPE_MAX && plain == length;
}

enum fabric_error fabric_http_reply(struct fabric *f, fabric_http_request request,
                                    const struct fabric_http_answer *answer)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_HTTP_REPLY);
    assert(request.id && answer && answer->length <= FABRIC_HTTP_BODY_MAX);
    assert((answer->status >= 200 && answer->status <= 599) || PLANTED(fabric_seam_any_status));
    assert(answer->length == 0 || (answer->body && answer->type));
    assert(!answer->type || is_type(answer->type) || PLANTED(fabric_seam_any_type));
    return seam_leave_sure(f, FABRIC_OP_HTTP_REPLY, ops->http_reply(f, request, answer));
}

enum fabric_error fabric_http_close(struct fabric *f, fabric_http http)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_HTTP_CLOSE);
    assert(http.id);
    return seam_leave_sure(f, FABRIC_OP_HTTP_CLOSE, ops->http_close(f, http));
}

static bool fits(const char *path)
{
    assert(path);
    return strlen(path) < FABRIC_PATH_MAX || PLANTED(fabric_seam_long_path);
}

/* False for what comes from a configuration and cannot be; the rest is the program's. */
static bool check_io(const struct fabric_io *io)
{
    switch (io->op) {
    case FABRIC_IO_OPEN:
    case FABRIC_IO_MKDIR:
    case FABRIC_IO_UNLINK:
    case FABRIC_IO_SYNC_DIR:
        return fits(io->path);
    case FABRIC_IO_RENAME:
        return fits(io->path) && fits(io->path2);
    case FABRIC_IO_LIST:
        assert(io->buf);
        return fits(io->path);
    case FABRIC_IO_READ:
    case FABRIC_IO_WRITE:
        assert(io->file.id && (io->buf || io->length == 0 || PLANTED(fabric_seam_io_unchecked)));
        return true;
    default:
        assert(io->file.id && io->op <= FABRIC_IO_LIST);
        return true;
    }
}

enum fabric_error fabric_io_submit(struct fabric *f, const struct fabric_io *io)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_IO_SUBMIT);
    assert(io);
    enum fabric_error error = check_io(io) ? ops->io_submit(f, io) : ERR_INVALID_ARGUMENT;
    return seam_leave(f, FABRIC_OP_IO_SUBMIT, error);
}

enum fabric_error fabric_sysfile_read(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_SYSFILE_READ);
    assert(path && path[0] == '/' && (buf || capacity == 0) && length);
    enum fabric_error error = ops->sysfile_read(f, path, buf, capacity, length);
    assert(error || *length <= capacity);
    return seam_leave(f, FABRIC_OP_SYSFILE_READ, error);
}

enum fabric_error fabric_sysfile_list(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_SYSFILE_LIST);
    assert(path && path[0] == '/' && (buf || capacity == 0) && length);
    enum fabric_error error = ops->sysfile_list(f, path, buf, capacity, length);
    assert(error || *length <= capacity);
    assert(error || *length == 0 || ((const char *)buf)[*length - 1] == '\0');
    return seam_leave(f, FABRIC_OP_SYSFILE_LIST, error);
}

enum fabric_error fabric_sysfile_link(struct fabric *f, const char *path, char *buf,
                                      size_t capacity)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_SYSFILE_LINK);
    assert(path && path[0] == '/' && buf && capacity > 0);
    return seam_leave(f, FABRIC_OP_SYSFILE_LINK, ops->sysfile_link(f, path, buf, capacity));
}

enum fabric_error fabric_sysfile_write(struct fabric *f, const char *path, const void *data,
                                       size_t length)
{
    const struct fabric_ops *ops = seam_enter(f, FABRIC_OP_SYSFILE_WRITE);
    assert(path && path[0] == '/' && data && length > 0);
    return seam_leave(f, FABRIC_OP_SYSFILE_WRITE, ops->sysfile_write(f, path, data, length));
}
