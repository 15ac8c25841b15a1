/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pipe2 */
#include "fabric_sim/simfabric/outbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/fabric/planted.h"

#define WHOLE 512 /* bytes that a pipe takes wholly or not at all, and records go into evenly */

bool outbox_open(struct outbox *outbox, int *reading_end)
{
    int ends[2];
    assert(outbox && reading_end);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    if (fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    *outbox = (struct outbox){.fd = ends[1]};
    *reading_end = ends[0];
    return true;
}

void outbox_close(struct outbox *outbox)
{
    assert(outbox);
    if (outbox->fd >= 0)
        close(outbox->fd);
    free(outbox->waiting);
    *outbox = (struct outbox){.fd = -1};
}

static void keep(struct outbox *outbox, const void *record, size_t size)
{
    if (outbox->length + size > outbox->capacity) {
        outbox->capacity = outbox->capacity * 2 + 64 * size;
        outbox->waiting = realloc(outbox->waiting, outbox->capacity);
        if (!outbox->waiting)
            abort();
    }
    memcpy(outbox->waiting + outbox->length, record, size);
    outbox->length += size;
}

bool outbox_put(struct outbox *outbox, const void *record, size_t size)
{
    assert(size > 0 && WHOLE % size == 0);
    if (outbox->fd < 0)
        return false;
    if (outbox->length > 0 && !PLANTED(simfabric_events_overtake)) {
        keep(outbox, record, size);
        return true;
    }
    ssize_t put;
    do
        put = write(outbox->fd, record, size); /* all of it or nothing: up to PIPE_BUF */
    while (put < 0 && errno == EINTR);
    if (put < 0 && errno == EAGAIN && !PLANTED(simfabric_events_dropped))
        keep(outbox, record, size);
    return outbox->length > 0;
}

bool outbox_flush(struct outbox *outbox)
{
    size_t done = 0;
    while (outbox->fd >= 0 && done < outbox->length) {
        size_t rest = outbox->length - done;
        ssize_t put = write(outbox->fd, outbox->waiting + done, rest < WHOLE ? rest : WHOLE);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno != EAGAIN)
            done = outbox->length; /* nobody reads any more */
        if (put <= 0)
            break;
        done += (size_t)put;
    }
    assert(done <= outbox->length);
    if (done > 0)
        memmove(outbox->waiting, outbox->waiting + done, outbox->length - done);
    outbox->length -= done;
    return outbox->length > 0;
}
