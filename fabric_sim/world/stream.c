/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/world/stream.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/stream_state.h"
#include "src/fabric/planted.h"

#define FIRST_ADDRESS 0x0a000001u /* 10.0.0.1 */
#define NO_HOST UINT32_MAX        /* a name that no host has */
#define SYN_TRIES 7               /* 1 + 2 + 4 ... seconds: 127 s in all, as Linux does */
#define ARP_FAILS (3 * SECOND)

struct stream_net *stream_net_create(struct sim *sim)
{
    struct stream_net *net = calloc(1, sizeof(*net));
    assert(sim && net);
    net->sim = sim;
    net->hosts_end = &net->hosts;
    net->next_address = FIRST_ADDRESS;
    return net;
}

static void sweep(void *object, uint64_t arg)
{
    struct stream_net *net = object;
    (void)arg;
    net->sweep = 0;
    while (net->gone) {
        struct stream *stream = net->gone;
        assert(stream->gone && !stream->peer);
        net->gone = stream->next_gone;
        free(stream);
    }
}

void stream_net_destroy(struct stream_net *net)
{
    while (net->first)
        stream_free(net->first);
    sim_cancel(net->sim, net->sweep);
    sweep(net, 0);
    while (net->hosts) {
        struct stream_host *host = net->hosts;
        net->hosts = host->next;
        while (host->listeners)
            stream_listener_close(host->listeners);
        free(host);
    }
    free(net->faults);
    free(net);
}

static struct stream_host *host_by_address(const struct stream_net *net, uint32_t address)
{
    struct stream_host *host = net->hosts;
    while (host && host->address != address)
        host = host->next;
    return host;
}

static struct stream_host *host_by_name(const struct stream_net *net, const char *name)
{
    assert(name);
    struct stream_host *host = net->hosts;
    while (host && strcmp(host->name, name) != 0)
        host = host->next;
    return host;
}

struct stream_host *stream_host_add(struct stream_net *net, const char *name, uint32_t address)
{
    struct stream_host *host = calloc(1, sizeof(*host));
    assert(host && strlen(name) < sizeof(host->name) && !host_by_name(net, name));
    while (address == 0) {
        if (!host_by_address(net, net->next_address))
            address = net->next_address;
        net->next_address++;
    }
    assert(!host_by_address(net, address));
    host->net = net;
    memcpy(host->name, name, strlen(name) + 1);
    host->address = address;
    host->next_port = (uint16_t)sim_random_between(net->sim, 32768, 60999);
    assert(!*net->hosts_end);
    *net->hosts_end = host;
    net->hosts_end = &host->next;
    return host;
}

const char *stream_host_name(const struct stream_host *host)
{
    return host->name;
}

uint32_t stream_host_address(const struct stream_host *host)
{
    return host->address;
}

/* ------------------------------------------------------------------ streams as things */

struct stream *stream_new(struct stream_host *host, const struct stream_owner *owner, uint64_t tag)
{
    static const size_t windows[] = {16384, 65536, 262144};
    struct stream_net *net = host->net;
    struct stream *stream = calloc(1, sizeof(*stream));
    assert(stream && owner && owner->event);
    stream->host = host;
    stream->owner = owner;
    stream->tag = tag;
    stream->wants_read = true;
    stream->window = windows[sim_random_below(net->sim, 3)];
    stream->previous = net->last;
    *(net->last ? &net->last->next : &net->first) = stream;
    net->last = stream;
    return stream;
}

void stream_cancel(struct stream *stream, sim_event *event)
{
    sim_cancel(stream->host->net->sim, *event);
    *event = 0;
}

void stream_free(struct stream *stream)
{
    struct stream_net *net = stream->host->net;
    sim_event *events[] = {&stream->arrival, &stream->writable, &stream->connecting,
                           &stream->give_up, &stream->reset};
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
        stream_cancel(stream, events[i]);
    assert(!stream->gone);
    if (stream->peer)
        stream->peer->peer = NULL;
    stream->peer = NULL;
    stream->state = STREAM_BROKEN;
    stream->closed = stream->gone = true;
    *(stream->previous ? &stream->previous->next : &net->first) = stream->next;
    *(stream->next ? &stream->next->previous : &net->last) = stream->previous;
    byte_queue_free(&stream->out);
    byte_queue_free(&stream->in);
    stream->next_gone = net->gone;
    net->gone = stream;
    if (!net->sweep)
        net->sweep = sim_in(net->sim, 0, sweep, net, 0);
}

void stream_tell(struct stream *stream, enum stream_event event, enum fabric_error error)
{
    static const char *const names[] = {"connected", "readable", "writable", "closed"};
    struct stream_host *host = stream->host;
    assert(stream->state != STREAM_BROKEN || event == STREAM_CLOSED);
    if (stream->closed)
        return;
    SIM_TRACE(host->net->sim, host->name, "stream %u->%s:%u %s%s%s", stream->port,
              stream->remote ? stream->remote->name : "?", stream->remote_port, names[event],
              error ? " " : "", error ? error_name(error) : "");
    stream->owner->event(stream->owner->context, stream, event, error);
}

void stream_set_tag(struct stream *stream, uint64_t tag)
{
    stream->tag = tag;
}

uint64_t stream_tag(const struct stream *stream)
{
    return stream->tag;
}

uint64_t stream_listener_tag(const struct stream_listener *listener)
{
    return listener->tag;
}

static void put_address(uint32_t address, uint16_t port, char *out)
{
    assert(port); /* connect refuses 0 and listen replaces it */
    snprintf(out, FABRIC_ADDRESS_MAX, "%u.%u.%u.%u:%u", address >> 24, address >> 16 & 255,
             address >> 8 & 255, address & 255, port);
}

enum fabric_error stream_peer(const struct stream *stream, char *out)
{
    if (stream->state == STREAM_BROKEN || !stream->remote)
        return ERR_PEER_GONE;
    put_address(stream->remote->address, stream->remote_port, out);
    return FABRIC_OK;
}

enum fabric_error stream_local(const struct stream *stream, char *out)
{
    assert(stream->host);
    if (stream->state != STREAM_OPEN)
        return ERR_PEER_GONE;
    put_address(stream->host->address, stream->port, out);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ addresses */

static bool parse_port(const char *text, uint16_t *out)
{
    unsigned long value = 0;
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 5 || text[length])
        return false;
    value = strtoul(text, NULL, 10);
    *out = (uint16_t)value;
    return value <= UINT16_MAX;
}

static bool parse_ipv4(const char *text, uint32_t *out)
{
    uint32_t address = 0;
    for (int part = 0; part < 4; part++) {
        size_t length = strspn(text, "0123456789");
        unsigned long value = length && length < 4 ? strtoul(text, NULL, 10) : 256;
        if (value > 255 || text[length] != (part < 3 ? '.' : '\0'))
            return false;
        address = address << 8 | (uint32_t)value;
        text += length + 1;
    }
    *out = address;
    return true;
}

/* "HOST:PORT" with HOST an IPv4 address, a name, [::] or [::1]. */
static bool parse_address(const struct stream_host *from, const char *text, uint32_t *address,
                          uint16_t *port)
{
    char host[FABRIC_NAME_MAX];
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (length == 0 || length >= sizeof(host) || !parse_port(colon + 1, port))
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    const struct stream_host *named = host_by_name(from->net, host);
    if (named || strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
        *address = named ? named->address : from->address;
    else if (strcmp(host, "[::]") == 0)
        *address = 0;
    else if (!parse_ipv4(host, address)) {
        *address = NO_HOST;
        return !strpbrk(host, ":[]/ ");
    }
    if (*address >> 24 == 127)
        *address = from->address;
    return true;
}

static struct stream_listener *find_listener(const struct stream_host *host, uint32_t address,
                                             uint16_t port)
{
    struct stream_listener *listener = host->listeners;
    while (listener && (listener->port != port ||
                        (listener->address && address && listener->address != address)))
        listener = listener->next;
    return listener;
}

static uint16_t free_port(struct stream_host *host)
{
    do {
        host->next_port = host->next_port < 60999 ? (uint16_t)(host->next_port + 1) : 32768;
    } while (find_listener(host, 0, host->next_port));
    return host->next_port;
}

enum fabric_error stream_listen(struct stream_host *host, const char *address,
                                const struct stream_owner *owner, uint64_t tag,
                                struct stream_listener **out, char *bound)
{
    uint32_t ip;
    uint16_t port;
    assert(owner && owner->accepted);
    if (!parse_address(host, address, &ip, &port) || (ip && ip != host->address))
        return ERR_INVALID_ARGUMENT;
    if (port && find_listener(host, ip, port) && !PLANTED(world_stream_port_shared))
        return ERR_ADDRESS_IN_USE;
    struct stream_listener *listener = calloc(1, sizeof(*listener));
    if (!listener)
        return ERR_RESOURCES_EXHAUSTED;
    *listener = (struct stream_listener){.next = host->listeners,
                                         .host = host,
                                         .owner = owner,
                                         .tag = tag,
                                         .address = ip,
                                         .port = port ? port : free_port(host)};
    host->listeners = listener;
    snprintf(bound, FABRIC_NAME_MAX, "%u.%u.%u.%u:%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
             ip & 255, listener->port);
    *out = listener;
    return FABRIC_OK;
}

void stream_listener_close(struct stream_listener *listener)
{
    struct stream_listener **place = &listener->host->listeners;
    while (*place != listener) {
        assert(*place); /* closed twice */
        place = &(*place)->next;
    }
    *place = listener->next;
    free(listener);
}

/* ------------------------------------------------------------------ connecting */

static void accept_from(struct stream *client, struct stream_listener *listener)
{
    struct stream *server = stream_new(listener->host, listener->owner, listener->tag);
    assert(client->remote == listener->host && !client->peer);
    server->remote = client->host;
    server->port = client->remote_port;
    server->remote_port = client->port;
    server->state = STREAM_OPEN;
    server->peer = client;
    client->peer = server;
    SIM_TRACE(server->host->net->sim, server->host->name, "stream %u accepted from %s:%u",
              server->port, client->host->name, client->port);
    listener->owner->accepted(listener->owner->context, listener, server);
}

static void on_answer(void *object, uint64_t accepted)
{
    struct stream *stream = object;
    assert(stream->state == STREAM_OPENING); /* whatever else opens or ends it cancels this */
    stream->connecting = 0;
    if (accepted)
        stream_established(stream);
    else
        stream_break(stream, ERR_UNREACHABLE);
}

/* Nobody answers the question for the link address where an interface has no link. */
static bool has_link(const struct stream *stream)
{
    assert(stream->remote);
    return stream->host == stream->remote || (!stream->host->no_link && !stream->remote->no_link);
}

/* The request to connect reaches the other host, or does not. */
static void on_syn(void *object, uint64_t arg)
{
    struct stream *stream = object;
    struct sim *sim = stream->host->net->sim;
    (void)arg;
    assert(stream->state == STREAM_OPENING && !stream->peer);
    stream->connecting = 0;
    if (!stream->remote || stream->remote->off || !has_link(stream)) {
        stream->connecting = sim_in(sim, stream->remote ? ARP_FAILS : 0, on_answer, stream, false);
    } else if (stream->attempts == SYN_TRIES && !PLANTED(world_stream_connects_forever)) {
        stream_break(stream, ERR_TIMEOUT);
    } else if (!stream_passes(stream->host, stream->remote)) {
        stream->connecting = sim_in(sim, SECOND << stream->attempts++, on_syn, stream, 0);
    } else {
        struct stream_listener *listener =
            find_listener(stream->remote, stream->remote->address, stream->remote_port);
        uint64_t back = stream_delay(stream->remote, stream->host, 0, true);
        bool yes = listener || PLANTED(world_stream_nobody_accepts);
        stream->connecting = sim_in(sim, back, on_answer, stream, yes);
        if (listener)
            accept_from(stream, listener);
    }
}

enum fabric_error stream_connect(struct stream_host *host, const char *address,
                                 const struct stream_owner *owner, uint64_t tag,
                                 struct stream **out)
{
    uint32_t ip;
    uint16_t port;
    struct sim *sim = host->net->sim;
    if (!parse_address(host, address, &ip, &port) || port == 0)
        return ERR_INVALID_ARGUMENT;
    struct stream *stream = stream_new(host, owner, tag);
    stream->remote = host_by_address(host->net, ip ? ip : host->address);
    stream->port = free_port(host);
    stream->remote_port = port;
    uint64_t delay = stream->remote ? stream_delay(host, stream->remote, 0, true) : STREAM_LATENCY;
    stream->connecting =
        sim_in(sim, delay + sim_random_below(sim, STREAM_JITTER), on_syn, stream, 0);
    *out = stream;
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ faults */

static bool concerns(const struct stream_fault *fault, const struct stream_host *a,
                     const struct stream_host *b)
{
    if (a == b)
        return false;
    if (!fault->b)
        return fault->a == a || fault->a == b;
    return (fault->a == a && fault->b == b) || (fault->a == b && fault->b == a);
}

bool stream_passes(const struct stream_host *a, const struct stream_host *b)
{
    const struct stream_net *net = a->net;
    assert(b->net == net);
    if (a->off || b->off)
        return false;
    if (a != b && (a->no_link || b->no_link) && !PLANTED(world_stream_link_ignored))
        return false;
    for (size_t i = 0; i < net->fault_count; i++) {
        if (net->faults[i].blocked && concerns(&net->faults[i], a, b))
            return false;
    }
    return true;
}

/* Packets are as large as both interfaces take; a packet costs time of its own. */
static uint64_t packet_delay(const struct stream_host *a, const struct stream_host *b, size_t bytes)
{
    uint32_t mtu = !a->mtu || (b->mtu && b->mtu < a->mtu) ? b->mtu : a->mtu;
    if (!mtu || a == b || PLANTED(world_stream_mtu_ignored))
        return 0;
    return (bytes + mtu - 1) / mtu * STREAM_NS_PER_PACKET;
}

uint64_t stream_delay(const struct stream_host *a, const struct stream_host *b, size_t bytes,
                      bool first)
{
    const struct stream_net *net = a->net;
    assert(bytes <= STREAM_SEGMENT_MAX);
    uint64_t delay = first ? STREAM_LATENCY : 0;
    uint64_t rate_delay = bytes * STREAM_NS_PER_KIB / 1024 + packet_delay(a, b, bytes);
    for (size_t i = 0; i < net->fault_count; i++) {
        const struct stream_fault *fault = &net->faults[i];
        if (!concerns(fault, a, b))
            continue;
        delay += first ? fault->latency : 0;
        if (fault->bytes_per_second && !PLANTED(world_stream_never_slow))
            rate_delay += bytes * SECOND / fault->bytes_per_second;
    }
    return delay + rate_delay;
}

static struct stream_fault *fault_between(struct stream_net *net, struct stream_host *a,
                                          struct stream_host *b)
{
    for (size_t i = 0; i < net->fault_count; i++) {
        if (net->faults[i].a == a && net->faults[i].b == b)
            return &net->faults[i];
    }
    net->faults = realloc(net->faults, (net->fault_count + 1) * sizeof(*net->faults));
    assert(net->faults);
    net->faults[net->fault_count] = (struct stream_fault){.a = a, .b = b};
    return &net->faults[net->fault_count++];
}

/* What was stalled is sent again when its back-off ends: it had doubled as long as nothing passed.
 */
static void wake_stalled(struct stream_net *net)
{
    for (struct stream *stream = net->first; stream; stream = stream->next) {
        if (stream->stalled && stream_passes(stream->host, stream->remote))
            stream_go_on(stream, true);
    }
}

void stream_block(struct stream_net *net, struct stream_host *a, struct stream_host *b, bool on)
{
    assert(a && a->net == net);
    fault_between(net, a, b)->blocked = on;
    if (!on)
        wake_stalled(net);
}

void stream_slow(struct stream_net *net, struct stream_host *a, struct stream_host *b,
                 uint64_t bytes_per_second, uint64_t latency)
{
    assert(a && a->net == net);
    struct stream_fault *fault = fault_between(net, a, b);
    fault->bytes_per_second = bytes_per_second;
    fault->latency = PLANTED(world_stream_latency_ignored) ? 0 : latency;
}

void stream_cut(struct stream_net *net, struct stream_host *a, struct stream_host *b)
{
    const struct stream_fault cut = {.a = a, .b = b};
    assert(a && a->net == net);
    for (struct stream *stream = net->first; stream; stream = stream->next) {
        if (!stream->remote || !concerns(&cut, stream->host, stream->remote))
            continue;
        if (stream->state == STREAM_OPENING && !stream->peer)
            continue;
        stream_break(stream, ERR_PEER_GONE); /* the other end is met later: it is younger */
        if (PLANTED(world_stream_cut_one_end))
            break;
    }
}

void stream_host_set_power(struct stream_host *host, bool on)
{
    assert(host);
    host->off = !on;
    if (on)
        wake_stalled(host->net);
}

void stream_host_set_link(struct stream_host *host, bool up)
{
    assert(host);
    if (host->no_link == !up)
        return;
    SIM_TRACE(host->net->sim, host->name, "link %s", up ? "up" : "down");
    host->no_link = !up;
    if (up)
        wake_stalled(host->net);
}

void stream_host_set_mtu(struct stream_host *host, uint32_t mtu)
{
    assert(host && mtu != 1);
    host->mtu = mtu;
}
