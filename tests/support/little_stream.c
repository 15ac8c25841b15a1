/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/little_stream.h"

#include <assert.h>

#define SECOND UINT64_C(1000000000)

static void on_event(void *context, struct stream *stream, enum stream_event event,
                     enum fabric_error error)
{
    struct little_stream *little = context;
    struct little_end *end = &little->ends[stream_tag(stream)];
    assert(end->stream == stream && !end->closed);
    end->time = sim_now(little->sim);
    end->connected += event == STREAM_CONNECTED;
    end->readable += event == STREAM_READABLE;
    end->writable += event == STREAM_WRITABLE;
    end->closed += event == STREAM_CLOSED;
    end->error = error;
    if (end->quits)
        little_stream_close(little, (int)stream_tag(stream), true);
}

static void on_accepted(void *context, struct stream_listener *listener, struct stream *stream)
{
    struct little_stream *little = context;
    struct little_end *end = &little->ends[1];
    assert(listener == little->listener && stream_tag(stream) == stream_listener_tag(listener));
    *end = (struct little_end){.stream = stream, .quits = end->quits};
    end->time = sim_now(little->sim);
    if (end->quits)
        little_stream_close(little, 1, true);
}

void little_stream_up(struct little_stream *little, uint64_t seed)
{
    char bound[FABRIC_NAME_MAX];
    *little = (struct little_stream){.sim = sim_create(seed)};
    little->net = stream_net_create(little->sim);
    little->a = stream_host_add(little->net, "a", 0);
    little->b = stream_host_add(little->net, "b", 0);
    little->owner = (struct stream_owner){little, on_event, on_accepted};
    enum fabric_error error =
        stream_listen(little->b, "b:7000", &little->owner, 1, &little->listener, bound);
    assert(!error);
}

void little_stream_down(struct little_stream *little)
{
    stream_net_destroy(little->net);
    sim_destroy(little->sim);
}

void little_stream_connect(struct little_stream *little)
{
    struct little_end *end = &little->ends[0];
    *end = (struct little_end){.quits = end->quits};
    enum fabric_error error = stream_connect(little->a, "b:7000", &little->owner, 0, &end->stream);
    assert(!error);
}

void little_stream_open(struct little_stream *little, uint64_t seed)
{
    little_stream_up(little, seed);
    little_stream_connect(little);
    little_stream_run(little, SECOND);
    assert(little->ends[0].connected && little->ends[1].stream);
}

void little_stream_run(struct little_stream *little, uint64_t duration)
{
    sim_run_until(little->sim, sim_now(little->sim) + duration);
}

size_t little_stream_send(struct little_stream *little, int end, const void *data, size_t length)
{
    size_t accepted = 0;
    enum fabric_error error = stream_send(little->ends[end].stream, data, length, &accepted);
    assert(!error && accepted <= length);
    return accepted;
}

size_t little_stream_recv(struct little_stream *little, int end, void *buf, size_t capacity,
                          bool *over)
{
    size_t received = 0;
    if (stream_recv(little->ends[end].stream, buf, capacity, &received, over))
        return 0;
    return received;
}

size_t little_stream_drain(struct little_stream *little, int end, void *buf, size_t capacity,
                           bool *over)
{
    size_t total = 0, more;
    *over = false;
    do {
        more = 0;
        if (total < capacity)
            more = little_stream_recv(little, end, (char *)buf + total, capacity - total, over);
        total += more;
        if (more == 0 && !*over) {
            int before = little->ends[end].readable;
            little_stream_run(little, SECOND);
            more = little->ends[end].readable - before > 0;
        }
    } while (more && total < capacity && !*over);
    return total;
}

void little_stream_close(struct little_stream *little, int end, bool reset)
{
    stream_close(little->ends[end].stream, reset);
    little->ends[end].stream = NULL;
}
