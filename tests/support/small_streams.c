/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/small_world_inside.h"

#define STREAM_CHUNK 3000u /* bytes that one send takes */
#define STREAM_PART 700u   /* and one receive gives: bytes come split differently */
#define STREAM_DELAY 10000u

void small_chunk(struct small_world *w, size_t bytes)
{
    assert(w && bytes);
    w->chunk = bytes;
}

void small_tell(struct small_node *n, uint32_t pipe, enum fabric_event_type type,
                enum fabric_error error, uint64_t after)
{
    struct small_entry *e = small_schedule(n->world, n->index, after);
    e->event.type = type;
    e->event.u.stream.stream.id = pipe;
    e->event.u.stream.error = error;
}

static uint32_t pipe_new(struct small_node *n, uint64_t cookie)
{
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        if (n->pipes[i].open || n->pipes[i].data)
            continue;
        n->pipes[i] = (struct small_pipe){.open = true, .cookie = cookie, .node = n->index};
        return i;
    }
    assert(0 && "too many streams");
    return 0;
}

static enum fabric_error take_listen(struct fabric *f, const char *address, uint64_t cookie,
                                     fabric_listener *out, char *bound)
{
    struct small_node *n = small_of(f);
    if (small_fails(n, FABRIC_OP_LISTEN))
        return n->fail_error;
    n->listening = true;
    n->listen_cookie = cookie;
    out->id = 1;
    snprintf(n->listen_address, sizeof n->listen_address, "10.0.0.%u%s", n->index + 1,
             strrchr(address, ':'));
    snprintf(bound, FABRIC_NAME_MAX, "%s", n->listen_address);
    return FABRIC_OK;
}

static enum fabric_error listener_close(struct fabric *f, fabric_listener listener)
{
    (void)listener;
    small_of(f)->listening = false;
    return FABRIC_OK;
}

static enum fabric_error take_connect(struct fabric *f, const char *address, uint64_t cookie,
                                      fabric_stream *out)
{
    struct small_node *n = small_of(f);
    struct small_world *w = n->world;
    if (small_fails(n, FABRIC_OP_CONNECT))
        return n->fail_error;
    uint32_t here = pipe_new(n, cookie);
    out->id = here;
    for (uint32_t i = 0; i < w->node_count; i++) {
        struct small_node *m = w->nodes[i];
        if (!m->listening || strcmp(m->listen_address, address) != 0)
            continue;
        uint32_t there = pipe_new(m, m->listen_cookie);
        n->pipes[here].peer_node = i;
        n->pipes[here].peer = there;
        m->pipes[there].peer_node = n->index;
        m->pipes[there].peer = here;
        struct small_entry *e = small_schedule(w, i, STREAM_DELAY);
        e->event.type = FABRIC_EVENT_ACCEPTED;
        e->event.u.stream.stream.id = there;
        e->event.u.stream.listener.id = 1;
        e->event.u.stream.cookie = m->listen_cookie;
        small_tell(n, here, FABRIC_EVENT_CONNECTED, FABRIC_OK, STREAM_DELAY);
        return FABRIC_OK;
    }
    small_tell(n, here, FABRIC_EVENT_CLOSED, ERR_UNREACHABLE, STREAM_DELAY);
    return FABRIC_OK;
}

static enum fabric_error stream_peer(struct fabric *f, fabric_stream stream, char *out)
{
    struct small_node *n = small_of(f);
    snprintf(out, FABRIC_NAME_MAX, "10.0.0.%u:40000", n->pipes[stream.id].peer_node + 1);
    return FABRIC_OK;
}

static enum fabric_error stream_set_cookie(struct fabric *f, fabric_stream stream, uint64_t cookie)
{
    small_of(f)->pipes[stream.id].cookie = cookie;
    return FABRIC_OK;
}

struct small_pipe *small_other_end(struct small_node *n, const struct small_pipe *p)
{
    struct small_pipe *q = p->peer ? &n->world->nodes[p->peer_node]->pipes[p->peer] : NULL;
    bool pair = q && q->open && q->peer_node == n->index && &n->pipes[q->peer] == p;
    return pair ? q : NULL;
}

static enum fabric_error stream_send(struct fabric *f, fabric_stream stream, const void *data,
                                     size_t length, size_t *accepted)
{
    struct small_node *n = small_of(f);
    struct small_pipe *p = &n->pipes[stream.id], *q = small_other_end(n, p);
    assert(p->open);
    if (!q)
        return ERR_PEER_GONE;
    size_t most = n->world->chunk ? n->world->chunk : STREAM_CHUNK;
    size_t part = length < most ? length : most;
    if (p->stalled)
        part = 0;
    q->data = realloc(q->data, q->length + part + 1);
    memcpy(q->data + q->length, data, part);
    q->length += part;
    *accepted = part;
    if (part)
        small_tell(n->world->nodes[p->peer_node], p->peer, FABRIC_EVENT_READABLE, FABRIC_OK,
                   STREAM_DELAY);
    if (part < length && !p->stalled) {
        p->stalled = true;
        small_tell(n, stream.id, FABRIC_EVENT_WRITABLE, FABRIC_OK, STREAM_DELAY);
    }
    return FABRIC_OK;
}

static enum fabric_error stream_recv(struct fabric *f, fabric_stream stream, void *buf,
                                     size_t capacity, size_t *received, bool *end)
{
    struct small_node *n = small_of(f);
    struct small_pipe *p = &n->pipes[stream.id];
    assert(p->open);
    size_t part = p->length < capacity ? p->length : capacity;
    size_t most = n->world->chunk ? n->world->chunk : STREAM_PART;
    if (part > most)
        part = most;
    if (part) {
        memcpy(buf, p->data, part);
        memmove(p->data, p->data + part, p->length - part);
    }
    p->length -= part;
    *received = part;
    *end = part == 0 && p->peer_ended;
    return FABRIC_OK;
}

static enum fabric_error stream_close(struct fabric *f, fabric_stream stream, bool reset)
{
    struct small_node *n = small_of(f);
    struct small_pipe *p = &n->pipes[stream.id], *q = small_other_end(n, p);
    assert(p->open);
    if (q && reset)
        small_tell(n->world->nodes[p->peer_node], p->peer, FABRIC_EVENT_CLOSED, ERR_PEER_GONE,
                   STREAM_DELAY);
    if (q && !reset) {
        q->peer_ended = true;
        small_tell(n->world->nodes[p->peer_node], p->peer, FABRIC_EVENT_READABLE, FABRIC_OK,
                   STREAM_DELAY);
    }
    free(p->data);
    p->data = NULL;
    p->open = false;
    for (uint32_t i = 0; i < SMALL_QUEUE; i++) { /* no event of it follows */
        struct small_entry *e = &n->world->queue[i];
        bool is_stream =
            e->event.type == FABRIC_EVENT_READABLE || e->event.type == FABRIC_EVENT_WRITABLE ||
            e->event.type == FABRIC_EVENT_CONNECTED || e->event.type == FABRIC_EVENT_CLOSED;
        if (e->used && !e->is_post && e->node == n->index && is_stream &&
            e->event.u.stream.stream.id == stream.id)
            e->used = false;
    }
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ files */

struct small_stored *small_stored(struct small_node *n, const char *path, bool create)
{
    for (uint32_t i = 0; i < 8; i++) {
        struct small_stored *s = &n->files[i];
        if (s->path[0] == 0 && create)
            snprintf(s->path, sizeof s->path, "%s", path);
        if (s->path[0] && strcmp(s->path, path) == 0)
            return s;
    }
    return NULL;
}

static enum fabric_error do_io(struct small_node *n, const struct fabric_io *io,
                               struct fabric_io_done *done)
{
    struct small_stored *s = io->file.id ? &n->files[io->file.id - 1] : NULL;
    switch (io->op) {
    case FABRIC_IO_OPEN:
        s = small_stored(n, io->path, (io->flags & FABRIC_IO_CREATE) != 0);
        if (s)
            done->file.id = (uint32_t)(s - n->files) + 1;
        return s ? FABRIC_OK : ERR_NOT_FOUND;
    case FABRIC_IO_SIZE:
        done->length = s->length;
        return FABRIC_OK;
    case FABRIC_IO_READ:
        memcpy(io->buf, s->data, io->length);
        done->length = io->length;
        return FABRIC_OK;
    case FABRIC_IO_WRITE:
        free(s->data);
        s->data = malloc(io->length);
        memcpy(s->data, io->buf, io->length);
        s->length = done->length = io->length;
        return FABRIC_OK;
    default:
        return FABRIC_OK;
    }
}

static enum fabric_error io_submit(struct fabric *f, const struct fabric_io *io)
{
    struct small_node *n = small_of(f);
    if (small_fails(n, FABRIC_OP_IO_SUBMIT))
        return n->fail_error;
    struct small_entry *e = small_schedule(n->world, n->index, 50000);
    e->event.type = FABRIC_EVENT_IO_DONE;
    e->event.u.io = (struct fabric_io_done){.op = io->op, .cookie = io->cookie, .file = io->file};
    e->event.u.io.error = do_io(n, io, &e->event.u.io);
    return FABRIC_OK;
}

const struct fabric_ops small_streams = {
    .listen = take_listen,
    .connect = take_connect,
    .listener_close = listener_close,
    .stream_peer = stream_peer,
    .stream_set_cookie = stream_set_cookie,
    .stream_send = stream_send,
    .stream_recv = stream_recv,
    .stream_close = stream_close,
    .io_submit = io_submit,
};
