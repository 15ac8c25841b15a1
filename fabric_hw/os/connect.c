/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting: a name is looked up by a thread, then its addresses are tried in order. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fabric_hw/os/stream.h"
#include "src/fabric/planted.h"

#define MOST_ADDRESSES 8
#define MOST_LOOK_UPS 4                  /* at once */
#define SYN_COUNT 4                      /* connection requests without an answer: about 30 s */
#define SAID_AGAIN UINT64_C(60000000000) /* ns, until the same unknown name is said again */

/* What is known of the peer. The look-up's thread writes `addresses`, `count` and nothing else. */
struct os_attempts {
    struct os_job job;        /* first: it is found by it */
    struct os_stream *stream; /* null: the program has let go meanwhile */
    bool looked_up;           /* the thread is through with it */
    struct os_address addresses[MOST_ADDRESSES];
    size_t count, next;
    enum fabric_error error; /* of the latest attempt */
    uint16_t port;
    char host[OS_HOST_MAX];
};

void os_connect_end(struct os_stream *stream)
{
    struct os_attempts *attempts = stream->attempts;
    if (!attempts)
        return;
    stream->attempts = NULL;
    attempts->stream = NULL;
    if (attempts->looked_up)
        free(attempts);
}

static void open_now(struct os_stream *stream)
{
    os_connect_end(stream);
    stream->state = OS_STREAM_OPEN;
    stream->writable = true;
    if (stream->shut)
        (void)shutdown(stream->fd, SHUT_WR);
    os_stream_tell(stream, FABRIC_EVENT_CONNECTED, FABRIC_OK);
}

/* Where the stream comes from; a port is chosen when it connects. Another family has no source. */
static bool bind_source(const struct os_fabric *os, int fd, const struct os_address *to)
{
    const int one = 1;
    const struct os_address *source = &os->source;
    if (source->length == 0 || source->storage.ss_family != to->storage.ss_family)
        return true;
    (void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
    return bind(fd, (const struct sockaddr *)&source->storage, source->length) == 0;
}

/* One address: true when an answer will come. */
static bool try_address(struct os_stream *stream, const struct os_address *address)
{
    const int syn_count = SYN_COUNT;
    struct os_attempts *attempts = stream->attempts;
    int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    attempts->error = ERR_RESOURCES_EXHAUSTED;
    if (fd < 0)
        return false;
    os_socket_options(fd);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &syn_count, sizeof(syn_count));
    if (bind_source(stream->os, fd, address) &&
        (connect(fd, (const struct sockaddr *)&address->storage, address->length) == 0 ||
         errno == EINPROGRESS)) {
        stream->state = OS_STREAM_CONNECTING; /* the edge tells, also of success at once */
        if (os_stream_watch(stream, fd) == FABRIC_OK)
            return true;
    } else {
        attempts->error = errno == EADDRNOTAVAIL ? ERR_RESOURCES_EXHAUSTED : os_error(errno);
    }
    close(fd);
    return false;
}

static void go_on(struct os_stream *stream)
{
    struct os_attempts *attempts = stream->attempts;
    while (attempts->next < attempts->count) {
        if (try_address(stream, &attempts->addresses[attempts->next++]))
            return;
    }
    if (attempts->error == ERR_INVALID_ARGUMENT || attempts->error == ERR_ACCESS_DENIED)
        attempts->error = ERR_UNREACHABLE; /* an address that leads nowhere, a firewall */
    os_stream_fail(stream, attempts->error);
}

void os_connect_ready(struct os_stream *stream, uint32_t events)
{
    int number = 0;
    socklen_t length = sizeof(number);
    if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) || stream->failed)
        return;
    getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &number, &length);
    if (number == 0) {
        open_now(stream);
        return;
    }
    close(stream->fd);
    stream->fd = -1;
    stream->attempts->error = os_error(number);
    if (stream->attempts->error == ERR_PEER_GONE)
        stream->attempts->error = ERR_UNREACHABLE; /* reset before it began */
    go_on(stream);
}

/* ------------------------------------------------------------------ names */

static void look_up(struct os_job *job)
{
    struct os_attempts *attempts = (struct os_attempts *)job;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    char port[8];
    snprintf(port, sizeof(port), "%u", attempts->port);
    if (getaddrinfo(attempts->host, port, &hints, &found) != 0)
        return;
    for (const struct addrinfo *one = found; one && attempts->count < MOST_ADDRESSES;
         one = one->ai_next) {
        struct os_address *address = &attempts->addresses[attempts->count++];
        memcpy(&address->storage, one->ai_addr, one->ai_addrlen);
        address->length = one->ai_addrlen;
    }
    freeaddrinfo(found);
}

/* Who connects tries again and again: the name is said once a minute. */
static void say_unknown(struct os_fabric *os, const char *host)
{
    const uint64_t now = os_clock();
    char name[sizeof(os->unknown)];
    snprintf(name, sizeof(name), "%.60s", host);
    if (os->unknown_said && now - os->unknown_said < SAID_AGAIN && strcmp(name, os->unknown) == 0 &&
        !PLANTED(os_unknown_name_repeated))
        return;
    memcpy(os->unknown, name, sizeof(name));
    os->unknown_said = now;
    os_say(os, FABRIC_LOG_WARN, "unreachable: the name %.200s is not known", host);
}

static void on_looked_up(struct os_job *job)
{
    struct os_attempts *attempts = (struct os_attempts *)job;
    attempts->looked_up = true;
    if (!attempts->stream) {
        free(attempts);
        return;
    }
    if (attempts->count == 0)
        say_unknown(attempts->stream->os, attempts->host);
    go_on(attempts->stream);
}

static void on_dropped(struct os_job *job)
{
    assert(!((struct os_attempts *)job)->stream); /* streams end before the workers */
    free(job);
}

static bool begin_look_up(struct os_fabric *os, struct os_attempts *attempts)
{
    if (!os->names)
        os->names = os_workers_create(&os->head, MOST_LOOK_UPS);
    attempts->job.work = look_up;
    attempts->job.done = on_looked_up;
    attempts->job.drop = on_dropped;
    return os->names && os_workers_submit(os->names, &attempts->job);
}

/* ------------------------------------------------------------------ the member */

static struct os_attempts *read_address(const char *text)
{
    struct os_attempts *attempts = calloc(1, sizeof(*attempts));
    if (!attempts)
        return NULL;
    attempts->error = ERR_UNREACHABLE;
    if (!os_address_split(text, attempts->host, &attempts->port) || attempts->port == 0) {
        attempts->error = ERR_INVALID_ARGUMENT;
        return attempts;
    }
    attempts->looked_up =
        os_address_literal(attempts->host, attempts->port, &attempts->addresses[0]);
    attempts->count = attempts->looked_up;
    return attempts;
}

enum fabric_error os_connect(struct fabric *f, const char *address, uint64_t cookie,
                             fabric_stream *out)
{
    struct os_fabric *os = os_of(f);
    struct os_attempts *attempts = read_address(address);
    if (!attempts || attempts->error == ERR_INVALID_ARGUMENT) {
        free(attempts);
        return attempts ? ERR_INVALID_ARGUMENT : ERR_RESOURCES_EXHAUSTED;
    }
    struct os_stream *stream = os_stream_new(os, OS_STREAM_RESOLVING, cookie);
    if (!stream) {
        free(attempts);
        return ERR_RESOURCES_EXHAUSTED;
    }
    stream->attempts = attempts;
    attempts->stream = stream;
    if (attempts->looked_up) {
        go_on(stream);
    } else if (!begin_look_up(os, attempts)) {
        attempts->looked_up = true; /* nobody works on it */
        os_stream_free(stream);
        return ERR_RESOURCES_EXHAUSTED;
    }
    out->id = stream->id;
    return FABRIC_OK;
}
