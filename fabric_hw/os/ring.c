/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, writes and flushes through io_uring: collected, handed over with one system call before
 * the loop waits. */
#define _GNU_SOURCE
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "fabric_hw/os/io.h"

#define PIECE (UINT64_C(1) << 30) /* bytes of one entry, at most: its length has 32 bits */

struct os_ring {
    struct os_source source;
    struct os_io *io;
    struct io_uring ring;
    unsigned prepared; /* not yet handed over */
    unsigned under_way;
};

bool os_ring_takes(const struct os_request *request)
{
    switch (request->what.op) {
    case FABRIC_IO_READ:
    case FABRIC_IO_FLUSH:
        return true;
    case FABRIC_IO_WRITE:
        return !request->file->read_only;
    default:
        return false;
    }
}

void os_ring_flush(struct os_ring *ring)
{
    while (ring->prepared > 0) {
        int submitted = io_uring_submit(&ring->ring);
        if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY)
            assert(0 && "io_uring_submit failed");
        if (submitted < 0) /* the kernel wants its completions taken first */
            return;
        ring->prepared -= (unsigned)submitted;
    }
}

static void prepare(struct os_ring *ring, struct os_request *request)
{
    const struct fabric_io *io = &request->what;
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring->ring);
    if (!entry) {
        os_ring_flush(ring);
        entry = io_uring_get_sqe(&ring->ring);
    }
    assert(entry); /* as many entries as may be under way */
    uint64_t left = io->length - request->moved;
    unsigned piece = (unsigned)(left < PIECE ? left : PIECE);
    uint8_t *place = io->buf ? (uint8_t *)io->buf + request->moved : NULL;
    if (io->op == FABRIC_IO_READ)
        io_uring_prep_read(entry, request->fd, place, piece, io->offset + request->moved);
    else if (io->op == FABRIC_IO_WRITE)
        io_uring_prep_write(entry, request->fd, place, piece, io->offset + request->moved);
    else
        io_uring_prep_fsync(entry, request->fd, IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data(entry, request);
    ring->prepared++;
}

void os_ring_submit(struct os_ring *ring, struct os_request *request)
{
    ring->under_way++;
    prepare(ring, request);
}

/* True when the request is over; its rest goes on otherwise. */
static bool take_result(struct os_request *request, int result)
{
    const struct fabric_io *io = &request->what;
    if (result == -EINTR || result == -EAGAIN)
        return false;
    if (result == -EINVAL && io->op == FABRIC_IO_WRITE && os_io_through_cache(request))
        return false;
    if (result < 0) {
        request->error = os_io_error(-result);
        return true;
    }
    request->moved += (uint64_t)result;
    request->length = io->op == FABRIC_IO_FLUSH ? 0 : request->moved;
    if (io->op == FABRIC_IO_FLUSH || request->moved == io->length)
        return true;
    /* A short read: the end, except that one without O_DIRECT may have been interrupted. */
    return io->op == FABRIC_IO_READ && (result == 0 || request->file->direct);
}

static void collect(struct os_ring *ring, bool tell)
{
    struct io_uring_cqe *entry;
    while (io_uring_peek_cqe(&ring->ring, &entry) == 0) {
        struct os_request *request = io_uring_cqe_get_data(entry);
        int result = entry->res;
        io_uring_cqe_seen(&ring->ring, entry);
        if (tell && !take_result(request, result)) {
            prepare(ring, request);
            continue;
        }
        ring->under_way--;
        if (tell)
            os_io_done(request);
        else
            os_io_drop(request);
    }
}

void os_ring_collect(struct os_ring *ring)
{
    collect(ring, true);
}

static void on_ready(struct os_source *source, uint32_t events)
{
    (void)events;
    collect((struct os_ring *)source, true);
}

struct os_ring *os_ring_create(struct os_io *io)
{
    struct os_ring *ring = calloc(1, sizeof(*ring));
    if (!ring)
        return NULL;
    ring->source.ready = on_ready;
    ring->io = io;
    int result = io_uring_queue_init(OS_IO_MOST, &ring->ring, 0);
    if (result == 0 &&
        os_watch(&io->os->head, ring->ring.ring_fd, EPOLLIN, &ring->source) == FABRIC_OK)
        return ring;
    os_say(io->os, FABRIC_LOG_INFO, "not_supported: io_uring (%s); threads do the storage I/O",
           strerror(result < 0 ? -result : ENOMEM));
    if (result == 0)
        io_uring_queue_exit(&ring->ring);
    free(ring);
    return NULL;
}

/* Buffers of what is under way are lent until the kernel has let go of them. */
void os_ring_destroy(struct os_ring *ring)
{
    struct io_uring_cqe *entry;
    os_ring_flush(ring);
    collect(ring, false);
    while (ring->under_way > 0) {
        (void)io_uring_submit(&ring->ring);
        if (io_uring_wait_cqe(&ring->ring, &entry) == 0)
            collect(ring, false);
    }
    os_unwatch(&ring->io->os->head, ring->ring.ring_fd);
    io_uring_queue_exit(&ring->ring);
    free(ring);
}
