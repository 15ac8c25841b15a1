/* SPDX-License-Identifier: Apache-2.0 */
/* Two hosts, a and b, with one stream between them and a note of all that they were told. */
#ifndef TESTS_SUPPORT_LITTLE_STREAM_H
#define TESTS_SUPPORT_LITTLE_STREAM_H

#include "fabric_sim/world/stream.h"

struct little_end {
    struct stream *stream; /* null: none, or closed */
    int connected, readable, writable, closed;
    enum fabric_error error; /* of CLOSED */
    bool quits;              /* resets itself at once when it is told anything */
    uint64_t time;           /* when it was last told something */
};

struct little_stream {
    struct sim *sim;
    struct stream_net *net;
    struct stream_host *a, *b;
    struct stream_owner owner;
    struct stream_listener *listener; /* of b, port 7000 */
    struct little_end ends[2];        /* the stream's tag is the index: 0 client, 1 server */
};

void little_stream_up(struct little_stream *little, uint64_t seed);
void little_stream_down(struct little_stream *little);
void little_stream_connect(struct little_stream *little); /* a to b; not awaited */
/* The same, awaited. */
void little_stream_open(struct little_stream *little, uint64_t seed);

/* Runs the world for so long. */
void little_stream_run(struct little_stream *little, uint64_t duration);
/* Sends once: bytes accepted. */
size_t little_stream_send(struct little_stream *little, int end, const void *data, size_t length);
/* Receives once; *over: the peer sends no more. */
size_t little_stream_recv(struct little_stream *little, int end, void *buf, size_t capacity,
                          bool *over);
/* Receives until nothing has come for a second: bytes got. */
size_t little_stream_drain(struct little_stream *little, int end, void *buf, size_t capacity,
                           bool *over);
void little_stream_close(struct little_stream *little, int end, bool reset);

#endif
