/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: bytes over TCP. */
#define _GNU_SOURCE
#include "fabric_hw/os/stream.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/fabric/planted.h"

#define EDGES (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)
#define DRAIN_BYTES ((size_t)64 << 10) /* of a peer that talks on after our close */
#define DRAIN_TIME OS_SECOND
#define KEEP_IDLE 10        /* s until an idle peer is asked whether it lives */
#define KEEP_INTERVAL 5     /* s between the questions */
#define KEEP_COUNT 4        /* questions without an answer */
#define USER_TIMEOUT 30000u /* ms that sent bytes may stay without an acknowledgement */

void os_socket_options(int fd)
{
    const int on = 1, idle = KEEP_IDLE, interval = KEEP_INTERVAL, count = KEEP_COUNT;
    const unsigned int timeout = USER_TIMEOUT;
    /* None of these can be refused by TCP; over another protocol they would mean nothing. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

static struct os_stream *stream_of(struct fabric *f, fabric_stream handle)
{
    return os_handles_get(&os_of(f)->handles, handle.id, OS_STREAM);
}

/* ------------------------------------------------------------------ events */

void os_stream_tell(struct os_stream *stream, enum fabric_event_type type, enum fabric_error error)
{
    const struct fabric_event event = {.type = type,
                                       .u.stream = {.stream = {stream->id},
                                                    .listener = {stream->listener},
                                                    .cookie = stream->cookie,
                                                    .error = error}};
    os_push(&stream->os->head, &event);
}

void os_stream_fail(struct os_stream *stream, enum fabric_error error)
{
    assert(error && stream->id);
    if (stream->failed)
        return;
    stream->failed = true;
    os_stream_tell(stream, FABRIC_EVENT_CLOSED, error);
}

bool os_stream_keep(struct os_fabric *os, struct fabric_event *event)
{
    struct os_stream *stream = os_handles_find(&os->handles, event->u.stream.stream.id, OS_STREAM);
    if (!stream)
        return PLANTED(os_stream_talks_after_close);
    if (event->type == FABRIC_EVENT_ACCEPTED) {
        stream->listener = 0;
        return true;
    }
    if (event->type == FABRIC_EVENT_READABLE)
        stream->tells_readable = false;
    else if (event->type == FABRIC_EVENT_WRITABLE)
        stream->tells_room = false;
    event->u.stream.cookie = stream->cookie;
    event->u.stream.listener.id = 0;
    /* What CLOSED is the last of may have been queued before it was known. */
    return event->type == FABRIC_EVENT_CLOSED || !stream->failed;
}

/* ------------------------------------------------------------------ after the close */

static void on_drained(struct os_alarm *alarm)
{
    struct os_stream *stream =
        (struct os_stream *)((char *)alarm - offsetof(struct os_stream, drain));
    os_stream_free(stream);
}

/* True when there is nothing left to wait for. */
static bool drain(struct os_stream *stream)
{
    static const size_t chunk = 16384;
    uint8_t waste[16384];
    while (stream->drained <= DRAIN_BYTES) {
        ssize_t got = recv(stream->fd, waste, chunk, MSG_DONTWAIT);
        if (got < 0)
            return errno != EAGAIN;
        if (got == 0)
            return true;
        stream->drained += (size_t)got;
    }
    return true;
}

/* Closing a socket that holds unread bytes, or that gets some later, makes the kernel reset the
 * connection, and what we sent may be lost with it. So our side ends first and the rest of the
 * peer's is thrown away, for a while. */
static void begin_drain(struct os_stream *stream)
{
    struct os_fabric *os = stream->os;
    stream->state = OS_STREAM_CLOSED;
    if (shutdown(stream->fd, SHUT_WR) < 0 || stream->ended || drain(stream) ||
        PLANTED(os_close_without_drain) ||
        !os_set_alarm(os, &stream->drain, os_clock() + DRAIN_TIME, on_drained))
        os_stream_free(stream);
}

/* ------------------------------------------------------------------ edges */

static void on_error(struct os_stream *stream)
{
    int number = 0;
    socklen_t length = sizeof(number);
    getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &number, &length);
    if (number)
        os_stream_fail(stream, number == ETIMEDOUT ? ERR_TIMEOUT : ERR_PEER_GONE);
}

static void on_edge(struct os_stream *stream, uint32_t events)
{
    if (events & EPOLLERR)
        on_error(stream);
    if (stream->failed)
        return;
    if (events & (EPOLLRDHUP | EPOLLHUP))
        stream->hangs_up = true;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP)) {
        stream->readable = true;
        if (!stream->tells_readable && !stream->ended)
            os_stream_tell(stream, FABRIC_EVENT_READABLE, FABRIC_OK);
        stream->tells_readable = true;
    }
    if (events & EPOLLOUT) {
        stream->writable = true;
        if (stream->wants_room && !stream->tells_room && !PLANTED(os_stream_room_untold)) {
            os_stream_tell(stream, FABRIC_EVENT_WRITABLE, FABRIC_OK);
            stream->tells_room = true;
        }
        stream->wants_room = false;
    }
}

static void on_ready(struct os_source *source, uint32_t events)
{
    struct os_stream *stream = (struct os_stream *)source;
    if (stream->state == OS_STREAM_CONNECTING) {
        os_connect_ready(stream, events);
        if (stream->state != OS_STREAM_OPEN)
            return;
        events &= (uint32_t) ~(EPOLLERR | EPOLLHUP);
    }
    if (stream->state == OS_STREAM_OPEN)
        on_edge(stream, events);
    else if (stream->state == OS_STREAM_CLOSED && drain(stream))
        os_stream_free(stream);
}

/* ------------------------------------------------------------------ coming and going */

struct os_stream *os_stream_new(struct os_fabric *os, enum os_stream_state state, uint64_t cookie)
{
    struct os_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    stream->id = os_handles_new(&os->handles, OS_STREAM, stream);
    if (!stream->id) {
        free(stream);
        return NULL;
    }
    stream->source.ready = on_ready;
    stream->os = os;
    stream->state = state;
    stream->cookie = cookie;
    stream->fd = -1;
    stream->next = os->streams;
    if (stream->next)
        stream->next->previous = stream;
    os->streams = stream;
    return stream;
}

enum fabric_error os_stream_watch(struct os_stream *stream, int fd)
{
    assert(stream->fd < 0);
    enum fabric_error error = os_watch(&stream->os->head, fd, EDGES, &stream->source);
    if (!error)
        stream->fd = fd;
    return error;
}

static void drop_handle(struct os_stream *stream)
{
    if (stream->id)
        os_handles_remove(&stream->os->handles, stream->id);
    stream->id = 0;
}

void os_stream_free(struct os_stream *stream)
{
    struct os_fabric *os = stream->os;
    drop_handle(stream);
    os_connect_end(stream);
    os_alarm_cancel(&os->alarms, &stream->drain);
    if (stream->fd >= 0)
        close(stream->fd); /* which also ends the watch: nobody else holds the socket */
    *(stream->previous ? &stream->previous->next : &os->streams) = stream->next;
    if (stream->next)
        stream->next->previous = stream->previous;
    free(stream);
}

void os_stream_reset(struct os_stream *stream)
{
    const struct linger at_once = {1, 0};
    if (stream->fd >= 0 && !PLANTED(os_reset_is_orderly))
        (void)setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    os_stream_free(stream);
}

enum fabric_error os_stream_close(struct fabric *f, fabric_stream handle, bool reset)
{
    struct os_stream *stream = stream_of(f, handle);
    drop_handle(stream);
    if (reset)
        os_stream_reset(stream);
    else if (stream->state == OS_STREAM_OPEN && !stream->failed)
        begin_drain(stream);
    else
        os_stream_free(stream);
    return FABRIC_OK;
}

void os_streams_close(struct os_fabric *os)
{
    while (os->streams)
        os_stream_free(os->streams);
}

/* ------------------------------------------------------------------ bytes */

/* A call met the end of the connection before its edge was seen. */
static enum fabric_error broke(struct os_stream *stream, int number)
{
    os_stream_fail(stream, number == ETIMEDOUT ? ERR_TIMEOUT : ERR_PEER_GONE);
    return ERR_PEER_GONE;
}

enum fabric_error os_stream_send(struct fabric *f, fabric_stream handle, const void *data,
                                 size_t length, size_t *accepted)
{
    struct os_stream *stream = stream_of(f, handle);
    if (stream->failed || stream->shut)
        return ERR_PEER_GONE;
    if (length == 0)
        return FABRIC_OK;
    if (stream->state == OS_STREAM_OPEN && stream->writable) {
        ssize_t sent = send(stream->fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            return broke(stream, errno);
        *accepted = sent > 0 ? (size_t)sent : 0;
    }
    if (*accepted < length) { /* an edge follows, since the kernel refused some */
        stream->writable = false;
        stream->wants_room = true;
    }
    return FABRIC_OK;
}

enum fabric_error os_stream_recv(struct fabric *f, fabric_stream handle, void *buf, size_t capacity,
                                 size_t *received, bool *end)
{
    struct os_stream *stream = stream_of(f, handle);
    if (stream->failed)
        return ERR_PEER_GONE;
    *end = stream->ended;
    if (stream->state != OS_STREAM_OPEN || !stream->readable || stream->ended)
        return FABRIC_OK;
    ssize_t got;
    do {
        got = recv(stream->fd, buf, capacity, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno != EAGAIN)
        return broke(stream, errno);
    if (got == 0)
        stream->ended = true;
    *end = stream->ended;
    *received = got > 0 ? (size_t)got : 0;
    if (*received < capacity && !stream->hangs_up) /* whatever comes later makes an edge */
        stream->readable = false;
    return FABRIC_OK;
}

enum fabric_error os_stream_shutdown(struct fabric *f, fabric_stream handle)
{
    struct os_stream *stream = stream_of(f, handle);
    stream->shut = true;
    if (stream->state == OS_STREAM_OPEN && !PLANTED(os_shutdown_forgotten))
        (void)shutdown(stream->fd, SHUT_WR); /* a connection that broke meanwhile has an event */
    return FABRIC_OK;
}

enum fabric_error os_stream_set_cookie(struct fabric *f, fabric_stream handle, uint64_t cookie)
{
    stream_of(f, handle)->cookie = cookie;
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ names of the ends */

enum fabric_error os_stream_peer(struct fabric *f, fabric_stream handle, char *out)
{
    struct os_stream *stream = stream_of(f, handle);
    struct os_address address = {.length = sizeof(address.storage)};
    if (stream->fd < 0 ||
        getpeername(stream->fd, (struct sockaddr *)&address.storage, &address.length) < 0)
        return ERR_PEER_GONE;
    os_address_format(&address, out);
    return FABRIC_OK;
}

static void find_interface(const struct os_address *address, char *out)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        if (one->ifa_addr && strlen(one->ifa_name) < FABRIC_NAME_MAX &&
            os_address_same_ip(one->ifa_addr, (const struct sockaddr *)&address->storage)) {
            strcpy(out, one->ifa_name);
            break;
        }
    }
    freeifaddrs(all);
}

enum fabric_error os_stream_local(struct fabric *f, fabric_stream handle, char *text, char *netdev)
{
    struct os_stream *stream = stream_of(f, handle);
    struct os_address address = {.length = sizeof(address.storage)};
    if (stream->state != OS_STREAM_OPEN || stream->failed ||
        getsockname(stream->fd, (struct sockaddr *)&address.storage, &address.length) < 0)
        return ERR_PEER_GONE;
    os_address_format(&address, text);
    netdev[0] = '\0';
    if (stream->os->sysroot[0] == '\0')
        find_interface(&address, netdev);
    return FABRIC_OK;
}
