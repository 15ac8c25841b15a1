/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners. One that meets the limit of descriptors pauses and lives. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fabric_hw/os/stream.h"
#include "src/fabric/planted.h"

#define AT_ONCE 64 /* peers taken before others have their turn */
#define PAUSE_FIRST (50 * OS_MS)
#define PAUSE_MOST OS_SECOND

static void on_ready(struct os_source *source, uint32_t events);

static void on_pause_over(struct os_alarm *alarm)
{
    struct os_listener *listener =
        (struct os_listener *)((char *)alarm - offsetof(struct os_listener, pause));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listener->source};
    int result = epoll_ctl(listener->os->epoll, EPOLL_CTL_MOD, listener->fd, &event);
    assert(result == 0);
}

/* Said once for each time that it happens, however long it lasts. */
static void pause_listening(struct os_listener *listener, const char *what)
{
    struct os_fabric *os = listener->os;
    struct epoll_event nothing = {.events = 0, .data.ptr = &listener->source};
    if (listener->back_off == 0) {
        os_say(os, FABRIC_LOG_WARN, "resources_exhausted: %s takes no more connections for now: %s",
               listener->bound, what);
        listener->back_off = PAUSE_FIRST;
    } else if (listener->back_off < PAUSE_MOST) {
        listener->back_off *= 2;
    }
    uint64_t until = os_clock() + listener->back_off;
    if (os_set_alarm(os, &listener->pause, until, on_pause_over)) /* else the next edge is met */
        (void)epoll_ctl(os->epoll, EPOLL_CTL_MOD, listener->fd, &nothing);
}

static void go_on_listening(struct os_listener *listener)
{
    if (listener->back_off)
        os_say(listener->os, FABRIC_LOG_INFO, "%s takes connections again", listener->bound);
    listener->back_off = 0;
}

static bool adopt(struct os_listener *listener, int fd)
{
    struct os_stream *stream = os_stream_new(listener->os, OS_STREAM_OPEN, listener->cookie);
    if (stream && os_stream_watch(stream, fd) == FABRIC_OK) {
        stream->listener = listener->id;
        stream->writable = true;
        os_stream_tell(stream, FABRIC_EVENT_ACCEPTED, FABRIC_OK);
        return true;
    }
    if (stream)
        os_stream_free(stream);
    close(fd);
    return false;
}

/* Whether the failure is of this one peer, and the next can be taken. */
static bool is_of_peer(int number)
{
    return number == ECONNABORTED || number == EINTR || number == EPROTO || number == EPERM ||
           number == ENETDOWN || number == EHOSTDOWN || number == EHOSTUNREACH ||
           number == ENETUNREACH || number == ENOPROTOOPT || number == EOPNOTSUPP;
}

static void on_ready(struct os_source *source, uint32_t events)
{
    struct os_listener *listener = (struct os_listener *)source;
    (void)events;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0 && adopt(listener, fd)) {
            go_on_listening(listener);
            continue;
        }
        if (fd >= 0) {
            pause_listening(listener, "no memory or no handle is left");
            return;
        }
        if (errno == EAGAIN)
            return;
        if (!is_of_peer(errno)) {
            pause_listening(listener, strerror(errno));
            return;
        }
    }
}

/* A socket that listens; -1 and errno otherwise. */
static int open_socket(const struct os_address *address)
{
    const int on = 1, off = 0;
    int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (address->storage.ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    os_socket_options(fd);
    if (bind(fd, (const struct sockaddr *)&address->storage, address->length) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    int number = errno;
    close(fd);
    errno = number;
    return -1;
}

enum fabric_error os_listen_socket(const char *text, int *out, char *bound)
{
    char host[OS_HOST_MAX];
    uint16_t port;
    struct os_address address;
    if (!os_address_split(text, host, &port) || !os_address_literal(host, port, &address))
        return ERR_INVALID_ARGUMENT;
    int fd = open_socket(&address);
    if (fd < 0)
        return os_error(errno);
    address.length = sizeof(address.storage);
    if (getsockname(fd, (struct sockaddr *)&address.storage, &address.length) < 0) {
        close(fd);
        return ERR_RESOURCES_EXHAUSTED;
    }
    os_address_format(&address, bound);
    *out = fd;
    return FABRIC_OK;
}

static void unlink_listener(struct os_listener *listener)
{
    struct os_fabric *os = listener->os;
    os_handles_remove(&os->handles, listener->id);
    os_alarm_cancel(&os->alarms, &listener->pause);
    close(listener->fd);
    *(listener->previous ? &listener->previous->next : &os->listeners) = listener->next;
    if (listener->next)
        listener->next->previous = listener->previous;
    free(listener);
}

enum fabric_error os_listen(struct fabric *f, const char *address, uint64_t cookie,
                            fabric_listener *out, char *bound)
{
    struct os_fabric *os = os_of(f);
    struct os_listener *listener = calloc(1, sizeof(*listener));
    if (!listener)
        return ERR_RESOURCES_EXHAUSTED;
    enum fabric_error error = os_listen_socket(address, &listener->fd, listener->bound);
    if (error) {
        free(listener);
        return error;
    }
    listener->source.ready = on_ready;
    listener->os = os;
    listener->cookie = cookie;
    listener->id = os_handles_new(&os->handles, OS_LISTENER, listener);
    if (!listener->id || os_watch(f, listener->fd, EPOLLIN, &listener->source)) {
        if (listener->id)
            os_handles_remove(&os->handles, listener->id);
        close(listener->fd);
        free(listener);
        return ERR_RESOURCES_EXHAUSTED;
    }
    listener->next = os->listeners;
    if (listener->next)
        listener->next->previous = listener;
    os->listeners = listener;
    strcpy(bound, listener->bound);
    out->id = listener->id;
    return FABRIC_OK;
}

/* Peers that the program was not told of are turned away. */
enum fabric_error os_listener_close(struct fabric *f, fabric_listener handle)
{
    struct os_fabric *os = os_of(f);
    struct os_listener *listener = os_handles_get(&os->handles, handle.id, OS_LISTENER);
    for (size_t i = 0; i < os->queue.count; i++) {
        const struct fabric_event *event = os_queued(os, i);
        if (event->type != FABRIC_EVENT_ACCEPTED || event->u.stream.listener.id != handle.id)
            continue;
        struct os_stream *stream =
            os_handles_find(&os->handles, event->u.stream.stream.id, OS_STREAM);
        if (stream)
            os_stream_reset(stream);
    }
    unlink_listener(listener);
    return FABRIC_OK;
}

void os_listeners_close(struct os_fabric *os)
{
    while (os->listeners)
        unlink_listener(os->listeners);
}
