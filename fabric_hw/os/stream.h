/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and listeners of an instance: what stream.c, connect.c and listener.c share.
 *
 * A stream's socket is watched once, for edges in both directions. `readable` and `writable` say
 * what the latest edge and the latest call left, so that a call which can only be refused costs no
 * system call.
 */
#ifndef FABRIC_HW_OS_STREAM_H
#define FABRIC_HW_OS_STREAM_H

#include "fabric_hw/os/address.h"
#include "fabric_hw/os/state.h"

enum os_stream_state {
    OS_STREAM_RESOLVING,  /* its name is being looked up; no socket */
    OS_STREAM_CONNECTING, /* the socket answers later */
    OS_STREAM_OPEN,       /* both ends may talk, until `failed` */
    OS_STREAM_CLOSED,     /* the program has let go: it only drains what the peer sends */
};

struct os_attempts; /* addresses still to be tried */

struct os_stream {
    struct os_source source; /* first: it is found by it */
    struct os_fabric *os;
    struct os_stream *previous, *next;
    struct os_attempts *attempts; /* null once connected */
    struct os_alarm drain;
    uint64_t cookie;
    size_t drained; /* bytes thrown away after the close */
    uint32_t id;
    uint32_t listener; /* of an ACCEPTED event not yet polled */
    int fd;            /* -1: none */
    enum os_stream_state state;
    bool readable, writable;
    bool hangs_up;                   /* the peer sends no more than what has arrived */
    bool ended;                      /* and all of that was received */
    bool shut;                       /* we send no more */
    bool failed;                     /* CLOSED was queued */
    bool tells_readable, tells_room; /* such an event waits in the queue */
    bool wants_room;                 /* a send was short */
};

struct os_listener {
    struct os_source source;
    struct os_fabric *os;
    struct os_listener *previous, *next;
    struct os_alarm pause; /* the system is out of descriptors */
    uint64_t cookie, back_off;
    uint32_t id;
    int fd;
    char bound[FABRIC_ADDRESS_MAX];
};

/* A socket of ours over `fd`, non-blocking; null when memory or handles are out, and then the
 * descriptor is the caller's still. */
struct os_stream *os_stream_new(struct os_fabric *os, enum os_stream_state state, uint64_t cookie);
/* Without a handle from here on; closes the socket and frees it. */
void os_stream_free(struct os_stream *stream);
/* The stream is over for the program: one CLOSED. */
void os_stream_fail(struct os_stream *stream, enum fabric_error error);
void os_stream_tell(struct os_stream *stream, enum fabric_event_type type, enum fabric_error error);
/* Watches the socket. */
enum fabric_error os_stream_watch(struct os_stream *stream, int fd);
/* Turns a peer away that the program was not told of, or never wants to hear of again. */
void os_stream_reset(struct os_stream *stream);

/* connect.c: an edge of a socket that is still connecting; and the end of the attempts. */
void os_connect_ready(struct os_stream *stream, uint32_t events);
void os_connect_end(struct os_stream *stream);

/* What every socket of ours has; those that a listener accepts inherit it. */
void os_socket_options(int fd);

#endif
