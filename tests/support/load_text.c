/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redis and memcached, as quick as a client can be: requests of one turn leave a connection in one
 * system call, values come and go without a copy of ours, and with a single connection nothing but
 * recv waits. Answers come in the order of the requests.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/load.h"

#define HEAD 96u     /* bytes, at most, of what goes before a value */
#define AHEAD 16384u /* bytes read beyond what was waited for */
#define NO_VALUE SIZE_MAX

/* What the two protocols differ in. */
struct dialect {
    /* The request but for the value and its line end; returns the length. */
    size_t (*head)(char out[HEAD], const struct load_request *r, size_t size);
    /* The answer's first line, without its end. The bytes of the value that follows, or NO_VALUE;
     * ends the program when the answer is none of success. */
    size_t (*answer)(const char *line, const struct load_request *r);
};

struct connection {
    int fd;
    struct load_request open[LOAD_MAX_DEPTH]; /* a ring: asked, not yet answered */
    uint32_t first, count;
    size_t value;    /* bytes of the first one's value that are still to come */
    bool value_came; /* or began to: the end of its line is to come */
    char ahead[AHEAD];
    size_t begin, end; /* of what was read ahead */
};

struct load_link {
    struct load_plan plan;
    const struct dialect *dialect;
    int epoll;
    struct connection *connections;
};

/* ------------------------------------------------------------------ the dialects */

static size_t redis_head(char out[HEAD], const struct load_request *r, size_t size)
{
    static const char *const words[] = {[LOAD_GET] = "$3\r\nGET", [LOAD_EXISTS] = "$6\r\nEXISTS"};
    char key[16];
    const size_t length = load_key(r->key, key);
    if (r->operation == LOAD_PUT)
        return (size_t)snprintf(out, HEAD, "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%zu\r\n", length, key,
                                size);
    return (size_t)snprintf(out, HEAD, "*2\r\n%s\r\n$%zu\r\n%s\r\n", words[r->operation], length,
                            key);
}

static size_t redis_answer(const char *line, const struct load_request *r)
{
    if (r->operation == LOAD_GET && line[0] == '$' && line[1] != '-')
        return (size_t)strtoul(line + 1, NULL, 10);
    if (strcmp(line, r->operation == LOAD_PUT ? "+OK" : ":1") != 0 || r->operation == LOAD_GET)
        load_die("redis answered %s", line);
    return NO_VALUE;
}

static size_t memcached_head(char out[HEAD], const struct load_request *r, size_t size)
{
    char key[16];
    load_key(r->key, key);
    if (r->operation == LOAD_PUT)
        return (size_t)snprintf(out, HEAD, "ms %s %zu\r\n", key, size);
    return (size_t)snprintf(out, HEAD, "mg %s%s\r\n", key, r->operation == LOAD_GET ? " v" : "");
}

static size_t memcached_answer(const char *line, const struct load_request *r)
{
    if (r->operation == LOAD_GET && strncmp(line, "VA ", 3) == 0)
        return (size_t)strtoul(line + 3, NULL, 10);
    if (strncmp(line, "HD", 2) != 0 || r->operation == LOAD_GET)
        load_die("memcached answered %s", line);
    return NO_VALUE;
}

/* ------------------------------------------------------------------ connecting */

static int connect_to(const char *address)
{
    char ip[INET_ADDRSTRLEN] = "";
    const char *colon = strrchr(address, ':');
    struct sockaddr_in at = {.sin_family = AF_INET};
    if (colon && (size_t)(colon - address) < sizeof ip)
        memcpy(ip, address, (size_t)(colon - address));
    const int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!colon || inet_pton(AF_INET, ip, &at.sin_addr) != 1)
        load_die("%s is no IP:PORT", address);
    at.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at))
        load_die("%s: %s", address, strerror(errno));
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
        load_die("TCP_NODELAY: %s", strerror(errno));
    return fd;
}

static struct load_link *open_link(const struct load_plan *plan, const struct dialect *dialect)
{
    struct load_link *link = calloc(1, sizeof *link);
    struct connection *connections = calloc(plan->connections, sizeof *connections);
    if (!link || !connections)
        load_die("no memory");
    *link = (struct load_link){*plan, dialect, epoll_create1(EPOLL_CLOEXEC), connections};
    if (link->epoll < 0)
        load_die("epoll_create1: %s", strerror(errno));
    for (uint32_t i = 0; i < plan->connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        connections[i].fd = connect_to(plan->address);
        if (epoll_ctl(link->epoll, EPOLL_CTL_ADD, connections[i].fd, &event))
            load_die("epoll_ctl: %s", strerror(errno));
    }
    return link;
}

static void close_link(struct load_link *link)
{
    for (uint32_t i = 0; i < link->plan.connections; i++)
        close(link->connections[i].fd);
    close(link->epoll);
    free(link->connections);
    free(link);
}

/* ------------------------------------------------------------------ asking */

/* The parts that are left when `sent` bytes are gone. */
static size_t skip(struct iovec **parts, size_t count, size_t sent)
{
    while (count && sent >= (*parts)->iov_len) {
        sent -= (*parts)->iov_len;
        (*parts)++;
        count--;
    }
    if (count) {
        (*parts)->iov_base = (char *)(*parts)->iov_base + sent;
        (*parts)->iov_len -= sent;
    }
    return count;
}

/* May block: what answers there are fits into the sockets, so the server goes on reading. */
static void send_all(int fd, struct iovec *parts, size_t count)
{
    while (count) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            load_die("sendmsg: %s", strerror(errno));
        if (sent > 0)
            count = skip(&parts, count, (size_t)sent);
    }
}

/* `count` is at most the depth. */
static void ask(struct load_link *link, struct connection *c, const struct load_request *requests,
                size_t count)
{
    static char text[LOAD_MAX_DEPTH * HEAD];
    static struct iovec parts[2 * LOAD_MAX_DEPTH + 1];
    size_t used = 0, from = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct load_request *r = &requests[i];
        at += link->dialect->head(text + at, r, link->plan.size);
        c->open[(c->first + c->count++) % LOAD_MAX_DEPTH] = *r;
        if (r->operation != LOAD_PUT)
            continue;
        parts[used++] = (struct iovec){text + from, at - from};
        parts[used++] = (struct iovec){r->data, link->plan.size};
        from = at;
        text[at++] = '\r';
        text[at++] = '\n';
    }
    parts[used++] = (struct iovec){text + from, at - from};
    send_all(c->fd, parts, used);
}

static void submit(struct load_link *link, const struct load_request *requests, size_t count)
{
    const uint32_t depth = link->plan.depth;
    for (size_t i = 0, n; i < count; i += n) {
        const uint32_t connection = requests[i].slot / depth;
        for (n = 1; i + n < count && requests[i + n].slot / depth == connection;)
            n++;
        ask(link, &link->connections[connection], &requests[i], n);
    }
}

/* ------------------------------------------------------------------ answers */

static void receive(const struct load_link *link, struct connection *c, int flags)
{
    memmove(c->ahead, c->ahead + c->begin, c->end - c->begin);
    c->end -= c->begin;
    c->begin = 0;
    const struct load_request *r = &c->open[c->first];
    struct iovec parts[2] = {{c->value ? r->data + link->plan.size - c->value : NULL, c->value},
                             {c->ahead + c->end, AHEAD - c->end}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got = recvmsg(c->fd, &message, flags);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        load_die("the server left: %s", got ? strerror(errno) : "closed");
    size_t count = got < 0 ? 0 : (size_t)got, direct = count < c->value ? count : c->value;
    c->value -= direct;
    c->end += count - direct;
}

/* What was read ahead of the value. */
static void take_value(const struct load_link *link, struct connection *c)
{
    const struct load_request *r = &c->open[c->first];
    size_t there = c->end - c->begin, count = there < c->value ? there : c->value;
    memcpy(r->data + link->plan.size - c->value, c->ahead + c->begin, count);
    c->begin += count;
    c->value -= count;
}

static const char *take_line(struct connection *c)
{
    char *line = c->ahead + c->begin, *end = memchr(line, '\n', c->end - c->begin);
    if (!end || end == line)
        return NULL;
    c->begin += (size_t)(end - line) + 1;
    end[-1] = 0; /* the CR */
    return line;
}

/* A value is followed by the end of a line, as if by an empty line. */
static size_t take_answers(const struct load_link *link, struct connection *c, uint32_t *slots)
{
    size_t count = 0;
    while (c->count) {
        const struct load_request *r = &c->open[c->first];
        take_value(link, c);
        const char *line = c->value ? NULL : take_line(c);
        if (!line)
            break;
        size_t value = c->value_came ? NO_VALUE : link->dialect->answer(line, r);
        if (value != NO_VALUE && value != link->plan.size)
            load_die("a value of %zu bytes", value);
        c->value_came = value != NO_VALUE;
        c->value = c->value_came ? value : 0;
        if (c->value_came)
            continue;
        slots[count++] = r->slot;
        c->first = (c->first + 1) % LOAD_MAX_DEPTH;
        c->count--;
    }
    return count;
}

static size_t wait_for_answers(struct load_link *link, uint32_t *slots)
{
    struct epoll_event events[LOAD_MAX_CONNECTIONS];
    size_t count = 0;
    while (!count && link->plan.connections == 1) {
        receive(link, &link->connections[0], 0);
        count = take_answers(link, &link->connections[0], slots);
    }
    while (!count) {
        int ready = epoll_wait(link->epoll, events, LOAD_MAX_CONNECTIONS, -1);
        for (int i = 0; i < ready; i++) {
            struct connection *c = &link->connections[events[i].data.u32];
            receive(link, c, MSG_DONTWAIT);
            count += take_answers(link, c, slots + count);
        }
    }
    return count;
}

/* ------------------------------------------------------------------ the peers */

static struct load_link *redis_open(const struct load_plan *plan)
{
    static const struct dialect redis = {redis_head, redis_answer};
    return open_link(plan, &redis);
}

static struct load_link *memcached_open(const struct load_plan *plan)
{
    static const struct dialect memcached = {memcached_head, memcached_answer};
    return open_link(plan, &memcached);
}

const struct load_peer load_redis = {"redis", redis_open, submit, wait_for_answers, close_link};
const struct load_peer load_memcached = {"memcached", memcached_open, submit, wait_for_answers,
                                         close_link};
