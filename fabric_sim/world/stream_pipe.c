/* SPDX-License-Identifier: Apache-2.0 */
/* How bytes get from one end of a stream to the other, and how a stream ends. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/stream_state.h"
#include "src/fabric/planted.h"

#define QUEUE_FIRST 512

static struct sim *sim_of(const struct stream *stream)
{
    return stream->host->net->sim;
}

/* ------------------------------------------------------------------ queues of bytes */

void byte_queue_put(struct byte_queue *queue, const void *bytes, size_t length)
{
    if (queue->head + queue->length + length > queue->capacity) {
        size_t capacity = queue->capacity ? queue->capacity : QUEUE_FIRST;
        while (capacity < queue->length + length)
            capacity *= 2;
        uint8_t *moved = malloc(capacity);
        assert(moved);
        if (queue->length)
            memcpy(moved, queue->bytes + queue->head, queue->length);
        free(queue->bytes);
        *queue = (struct byte_queue){moved, 0, queue->length, capacity};
    }
    if (length)
        memcpy(queue->bytes + queue->head + queue->length, bytes, length);
    queue->length += length;
    assert(queue->head + queue->length <= queue->capacity);
}

void byte_queue_take(struct byte_queue *queue, void *out, size_t length)
{
    assert(length <= queue->length);
    if (out && length)
        memcpy(out, queue->bytes + queue->head, length);
    queue->head += length;
    queue->length -= length;
    if (queue->length == 0)
        queue->head = 0;
}

void byte_queue_free(struct byte_queue *queue)
{
    free(queue->bytes);
    *queue = (struct byte_queue){0};
}

/* ------------------------------------------------------------------ the end */

void stream_settle(struct stream *stream)
{
    bool sending = stream->state == STREAM_OPEN && !stream->end_sent;
    if (!stream->gone && stream->closed && !stream->reset && !sending && !stream->connecting)
        stream_free(stream);
}

void stream_break(struct stream *stream, enum fabric_error error)
{
    struct sim *sim = sim_of(stream);
    assert(error);
    if (stream->state == STREAM_BROKEN)
        return;
    stream_cancel(stream, &stream->arrival);
    stream_cancel(stream, &stream->writable);
    stream_cancel(stream, &stream->connecting);
    stream_cancel(stream, &stream->give_up);
    stream_cancel(stream, &stream->reset);
    stream->state = STREAM_BROKEN;
    stream->stalled = 0;
    byte_queue_take(&stream->out, NULL, stream->out.length);
    if (sim_random_below(sim, 2) && !PLANTED(world_stream_reset_keeps_bytes))
        byte_queue_take(&stream->in, NULL, stream->in.length);
    if (stream->peer) { /* whatever it still sends is for nobody */
        stream->peer->peer = NULL;
        stream->peer = NULL;
    }
    if (stream->closed)
        stream_free(stream);
    else if (!PLANTED(world_stream_break_untold))
        stream_tell(stream, STREAM_CLOSED, error);
}

static void on_give_up(void *object, uint64_t arg)
{
    struct stream *stream = object;
    (void)arg;
    stream->give_up = 0;
    assert(stream->stalled);
    stream_break(stream, ERR_TIMEOUT);
}

/* A reset reaches the end that it is for. */
static void on_reset(void *object, uint64_t arg)
{
    struct stream *stream = object;
    (void)arg;
    stream->reset = 0;
    stream_break(stream, ERR_PEER_GONE);
}

/* The other host has no such connection: says so when asked. */
static void answer_reset(struct stream *stream)
{
    if (!stream->reset && stream->remote)
        stream->reset = sim_in(sim_of(stream), stream_delay(stream->remote, stream->host, 0, true),
                               on_reset, stream, 0);
}

/* ------------------------------------------------------------------ bytes under way */

static void on_writable(void *object, uint64_t arg)
{
    struct stream *stream = object;
    (void)arg;
    stream->writable = 0;
    if (!stream->wants_write || stream->state != STREAM_OPEN)
        return;
    stream->wants_write = false;
    stream_tell(stream, STREAM_WRITABLE, FABRIC_OK);
}

static size_t room(const struct stream *stream)
{
    size_t taken = stream->out.length + (stream->peer ? stream->peer->in.length : 0);
    return taken < stream->window ? stream->window - taken : 0;
}

/* Says WRITABLE later when it is owed and there is room. */
static void offer_room(struct stream *stream)
{
    struct sim *sim = sim_of(stream);
    if (!stream->wants_write || stream->writable || stream->state != STREAM_OPEN || !room(stream))
        return;
    if (PLANTED(world_stream_no_writable))
        return;
    stream->writable =
        sim_in(sim, STREAM_LATENCY + sim_random_below(sim, STREAM_JITTER), on_writable, stream, 0);
}

static void tell_readable(struct stream *stream)
{
    if (stream->wants_read && stream->state == STREAM_OPEN) {
        stream->wants_read = false;
        stream_tell(stream, STREAM_READABLE, FABRIC_OK);
    }
}

static void deliver(struct stream *stream, struct stream *peer)
{
    size_t length = stream->segment;
    assert(length <= stream->out.length);
    assert(peer->peer == stream && !peer->end_arrived); /* nothing follows an end */
    stream_established(peer); /* data says it as well as the answer, if that is still under way */
    if (stream->peer != peer || peer->closed)
        return; /* the owner that was told has ended it */
    if (length) {
        byte_queue_put(&peer->in, stream->out.bytes + stream->out.head, length);
        byte_queue_take(&stream->out, NULL, length);
        SIM_TRACE(sim_of(peer), peer->host->name, "stream %u<-%s:%u %zu bytes", peer->port,
                  stream->host->name, stream->port, length);
    }
    if (stream->shut && (stream->out.length == 0 || PLANTED(world_stream_end_overtakes))) {
        stream->end_sent = true;
        peer->end_arrived = true;
        SIM_TRACE(sim_of(peer), peer->host->name, "stream %u<-%s:%u end", peer->port,
                  stream->host->name, stream->port);
    }
    tell_readable(peer);
}

/* A segment arrives at the other host, or is lost on the way and sent again later. */
static void on_arrival(void *object, uint64_t arg)
{
    struct stream *stream = object;
    struct stream *peer = stream->peer;
    (void)arg;
    assert(stream->state == STREAM_OPEN && !stream->end_sent);
    stream->arrival = 0;
    if (!stream_passes(stream->host, stream->remote)) {
        stream_go_on(stream, false);
        return;
    }
    if (!peer || peer->closed) {
        bool nobody_cares = stream->closed || stream->out.length == 0;
        byte_queue_take(&stream->out, NULL, stream->out.length);
        stream->end_sent = stream->shut;
        if (!nobody_cares && !PLANTED(world_stream_nobody_answers))
            answer_reset(stream);
    } else {
        deliver(stream, peer);
        offer_room(stream);
        stream_go_on(stream, false);
    }
    stream_settle(stream);
}

/* Bytes of the next segment: as much as there is, or where the seed cuts it. */
static size_t cut_segment(const struct stream *stream)
{
    size_t length = stream->out.length;
    if (length > STREAM_SEGMENT_MAX)
        length = STREAM_SEGMENT_MAX;
    if (PLANTED(world_stream_never_merges) && length > 1)
        return 1;
    if (length > 1 && sim_random_below(sim_of(stream), 4) == 0 &&
        !PLANTED(world_stream_never_splits))
        length = 1 + (size_t)sim_random_below(sim_of(stream), length - 1);
    assert(length <= stream->out.length);
    return length;
}

void stream_go_on(struct stream *stream, bool first)
{
    struct sim *sim = sim_of(stream);
    bool something = stream->out.length > 0 || (stream->shut && !stream->end_sent);
    if (!something || stream->arrival || stream->state != STREAM_OPEN)
        return;
    if (!stream_passes(stream->host, stream->remote) && !PLANTED(world_stream_block_leaks)) {
        if (!stream->stalled)
            stream->stalled = sim_now(sim) ? sim_now(sim) : 1;
        if (!stream->give_up && !PLANTED(world_stream_never_gives_up))
            stream->give_up = sim_in(sim, STREAM_GIVE_UP, on_give_up, stream, 0);
        return;
    }
    uint64_t delay = sim_random_below(sim, first ? STREAM_JITTER : STREAM_JITTER / 5);
    if (stream->stalled) {
        uint64_t since = sim_now(sim) - stream->stalled;
        delay +=
            sim_random_below(sim, 1 + (since < STREAM_BACKOFF_MAX ? since : STREAM_BACKOFF_MAX));
    }
    stream_cancel(stream, &stream->give_up);
    stream->stalled = 0;
    stream->segment = cut_segment(stream);
    delay += stream_delay(stream->host, stream->remote, stream->segment, first);
    stream->arrival = sim_in(sim, delay, on_arrival, stream, 0);
}

void stream_established(struct stream *stream)
{
    if (stream->state != STREAM_OPENING)
        return;
    stream_cancel(stream, &stream->connecting);
    stream->state = STREAM_OPEN;
    if (!PLANTED(world_stream_early_shutdown_lost))
        stream_go_on(stream, true); /* it may have been shut meanwhile */
    offer_room(stream);
    if (stream->closed)
        stream_settle(stream);
    else
        stream_tell(stream, STREAM_CONNECTED, FABRIC_OK);
}

/* ------------------------------------------------------------------ what programs call */

enum fabric_error stream_send(struct stream *stream, const void *data, size_t length,
                              size_t *accepted)
{
    struct sim *sim = sim_of(stream);
    assert(!stream->closed && !stream->shut);
    if (stream->state == STREAM_BROKEN)
        return ERR_PEER_GONE;
    size_t count = stream->state == STREAM_OPEN ? room(stream) : 0;
    if (PLANTED(world_stream_no_push_back))
        count = length;
    if (count > length)
        count = length;
    if (count && sim_random_below(sim, 16) == 0 && !PLANTED(world_stream_never_short))
        count = (size_t)sim_random_below(sim, count + 1);
    assert(data || length == 0);
    bool idle = stream->out.length == 0;
    byte_queue_put(&stream->out, data, count);
    stream->wants_write |= count < length;
    offer_room(stream);
    stream_go_on(stream, idle);
    *accepted = count;
    return FABRIC_OK;
}

enum fabric_error stream_recv(struct stream *stream, void *buf, size_t capacity, size_t *received,
                              bool *end)
{
    struct sim *sim = sim_of(stream);
    size_t count = stream->in.length < capacity ? stream->in.length : capacity;
    assert(!stream->closed && capacity > 0);
    *end = false;
    *received = 0;
    if (count == 0) {
        if (stream->state == STREAM_BROKEN || (stream->shut && PLANTED(world_stream_shut_deaf)))
            return ERR_PEER_GONE;
        stream->wants_read = true;
        *end = stream->end_arrived && !PLANTED(world_stream_no_end);
        return FABRIC_OK;
    }
    if (count > 1 && sim_random_below(sim, 8) == 0 && !PLANTED(world_stream_recv_whole))
        count = 1 + (size_t)sim_random_below(sim, count - 1);
    byte_queue_take(&stream->in, buf, count);
    if (stream->peer)
        offer_room(stream->peer);
    *received = count;
    return FABRIC_OK;
}

void stream_shutdown(struct stream *stream)
{
    assert(!stream->closed);
    if (stream->shut)
        return;
    bool idle = stream->out.length == 0;
    stream->shut = true;
    stream->wants_write = false;
    stream_cancel(stream, &stream->writable);
    stream_go_on(stream, idle);
}

/* What is under way is lost but for a beginning, then the peer hears of it. */
static void send_reset(struct stream *stream)
{
    struct stream *peer = stream->peer;
    bool passes =
        stream_passes(stream->host, stream->remote) || PLANTED(world_stream_dead_host_speaks);
    if (!peer || !passes)
        return;
    answer_reset(peer);
    if (peer->state == STREAM_OPEN && !peer->closed) {
        size_t kept = (size_t)sim_random_below(sim_of(stream), stream->out.length + 1);
        if (PLANTED(world_stream_reset_keeps_flight))
            kept = stream->out.length;
        byte_queue_put(&peer->in, stream->out.bytes + stream->out.head, kept);
        if (kept)
            tell_readable(peer);
    }
}

void stream_close(struct stream *stream, bool reset)
{
    assert(!stream->closed);
    SIM_TRACE(sim_of(stream), stream->host->name, "stream %u->%s:%u %s", stream->port,
              stream->remote ? stream->remote->name : "?", stream->remote_port,
              reset ? "reset" : "close");
    if (PLANTED(world_stream_close_loses) && stream->out.length)
        reset = true;
    bool over = (stream->host->off && !PLANTED(world_stream_dead_host_speaks)) ||
                stream->state == STREAM_BROKEN ||
                (stream->state == STREAM_OPENING && !stream->peer);
    stream->closed = true;
    if (reset && !over)
        send_reset(stream);
    if (reset || over) {
        stream_free(stream);
        return;
    }
    bool idle = stream->out.length == 0;
    stream->shut = true;
    stream_go_on(stream, idle);
    stream_settle(stream);
}
