/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pipe2 */
#include "fabric_sim/simfabric/outbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

/* Moves the records that stay to the front; their bytes. */
static size_t sift(uint8_t *bytes, size_t length, size_t size, uint64_t first)
{
    size_t kept = 0;
    uint64_t of;
    assert(size >= sizeof(of));
    for (size_t at = 0; at + size <= length; at += size) {
        memcpy(&of, bytes + at, sizeof(of));
        if (of == first && !PLANTED(simfabric_events_outlive))
            continue;
        memmove(bytes + kept, bytes + at, size);
        kept += size;
    }
    return kept;
}

void outbox_drop(struct outbox *outbox, size_t size, uint64_t first)
{
    assert(outbox);
    outbox->length = sift(outbox->waiting, outbox->length, size, first);
}

/* All records are taken out before any goes back: a pipe has room by pages, not by bytes. */
void outbox_forget(int reading_end, size_t size, uint64_t first)
{
    char path[64];
    int waiting = 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", reading_end);
    /* Both ends, and a way to read that never waits, whatever the program's own descriptor does. */
    int both = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (both < 0)
        return;
    bool some = ioctl(both, FIONREAD, &waiting) == 0 && waiting > 0;
    uint8_t *bytes = some ? malloc((size_t)waiting) : NULL;
    ssize_t length = bytes ? read(both, bytes, (size_t)waiting) : 0;
    size_t kept = length > 0 ? sift(bytes, (size_t)length, size, first) : 0;
    ssize_t put = kept > 0 ? write(both, bytes, kept) : 0;
    assert(put == (ssize_t)kept); /* there is room: it was just taken out */
    (void)put;
    free(bytes);
    close(both);
}
