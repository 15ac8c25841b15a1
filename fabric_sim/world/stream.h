/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control byte streams between hosts (HA-1.8): they split, merge, write short, push back,
 * half-close, and are reset with data lost. Every boundary and every delay is drawn from the seed.
 * Addresses are IPv4; a host is also known by its name.
 */
#ifndef FABRIC_SIM_WORLD_STREAM_H
#define FABRIC_SIM_WORLD_STREAM_H

#include "fabric_sim/world/sim.h"
#include "src/fabric/fabric.h"

struct stream_net;
struct stream_host;
struct stream; /* one end of a connection */
struct stream_listener;

struct stream_net *stream_net_create(struct sim *sim);
void stream_net_destroy(struct stream_net *net); /* with every host, listener and stream */

/* `address` in host order; 0: the next free one of 10.0.0.0/8. The name is copied. */
struct stream_host *stream_host_add(struct stream_net *net, const char *name, uint32_t address);
const char *stream_host_name(const struct stream_host *host);
uint32_t stream_host_address(const struct stream_host *host);

enum stream_event {
    STREAM_CONNECTED,
    STREAM_READABLE,
    STREAM_WRITABLE,
    STREAM_CLOSED, /* with its error; the last one of a stream */
};

/* Who is told. It may call everything here but stream_net_destroy. */
struct stream_owner {
    void *context;
    void (*event)(void *context, struct stream *stream, enum stream_event event,
                  enum fabric_error error);
    void (*accepted)(void *context, struct stream_listener *listener, struct stream *stream);
};

/* A number of the owner's, so that it finds its own things. */
void stream_set_tag(struct stream *stream, uint64_t tag);
uint64_t stream_tag(const struct stream *stream);
uint64_t stream_listener_tag(const struct stream_listener *listener);

/* Meanings, errors and ownership as fabric.h states them at the operations of the same name. The
 * owner must outlive what it owns; `bound` and `out` have FABRIC_NAME_MAX bytes. */
enum fabric_error stream_listen(struct stream_host *host, const char *address,
                                const struct stream_owner *owner, uint64_t tag,
                                struct stream_listener **out, char *bound);
void stream_listener_close(struct stream_listener *listener);
enum fabric_error stream_connect(struct stream_host *host, const char *address,
                                 const struct stream_owner *owner, uint64_t tag,
                                 struct stream **out);
enum fabric_error stream_peer(const struct stream *stream, char *out);
enum fabric_error stream_local(const struct stream *stream, char *out);
enum fabric_error stream_send(struct stream *stream, const void *data, size_t length,
                              size_t *accepted);
enum fabric_error stream_recv(struct stream *stream, void *buf, size_t capacity, size_t *received,
                              bool *end);
void stream_shutdown(struct stream *stream);
void stream_close(struct stream *stream, bool reset);

/* ---- faults; `b` null: every other host */
void stream_block(struct stream_net *net, struct stream_host *a, struct stream_host *b, bool on);
/* bytes_per_second 0: no limit; both zero: as before the fault */
void stream_slow(struct stream_net *net, struct stream_host *a, struct stream_host *b,
                 uint64_t bytes_per_second, uint64_t latency);
/* Established streams between them break at both ends. */
void stream_cut(struct stream_net *net, struct stream_host *a, struct stream_host *b);
/* The interface of its address: without a link nothing leaves it and nothing reaches it (what is
 * under way stalls and goes on later); `mtu` is what a packet carries, 0: does not matter. */
void stream_host_set_link(struct stream_host *host, bool up);
void stream_host_set_mtu(struct stream_host *host, uint32_t mtu);
/* Off: nothing leaves it and it answers nothing; its own streams are closed by its owner. */
void stream_host_set_power(struct stream_host *host, bool on);

#endif
