/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fabric_hw/os/io.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/fabric/planted.h"

#define MOST_THREADS 8

static void start(struct os_request *request);

/* ------------------------------------------------------------------ requests */

static struct os_request *take_free(struct os_io *io)
{
    struct os_request *request = io->free;
    if (!request)
        return calloc(1, sizeof(*request));
    io->free = request->next;
    memset(request, 0, sizeof(*request));
    return request;
}

static void give_back(struct os_request *request)
{
    struct os_io *io = request->io;
    assert(io->under_way > 0);
    io->under_way--;
    free(request->paths);
    request->paths = NULL;
    request->next = io->free;
    io->free = request;
}

/* The paths are needed beyond the call. */
static bool copy_paths(struct os_request *request)
{
    struct fabric_io *io = &request->what;
    size_t first = io->path ? strlen(io->path) + 1 : 0;
    size_t second = io->path2 ? strlen(io->path2) + 1 : 0;
    if (first + second == 0)
        return true;
    request->paths = malloc(first + second);
    if (!request->paths)
        return false;
    if (first)
        io->path = memcpy(request->paths, io->path, first);
    if (second)
        io->path2 = memcpy(request->paths + first, io->path2, second);
    return true;
}

static void tell(struct os_request *request)
{
    const struct fabric_event event = {
        .type = FABRIC_EVENT_IO_DONE,
        .u.io = {.op = request->what.op,
                 .cookie = request->what.cookie,
                 .error = request->error,
                 .file = {request->file ? request->file->id : request->what.file.id},
                 .length = request->error ? 0 : request->length}};
    os_push(&request->io->os->head, &event);
}

static void on_done(struct os_job *job)
{
    os_io_done((struct os_request *)job);
}

static void close_both(int fd, int direct_fd)
{
    if (fd >= 0)
        close(fd);
    if (direct_fd >= 0)
        close(direct_fd);
}

void os_io_drop(struct os_request *request)
{
    struct os_request *next;
    if (request->what.op == FABRIC_IO_OPEN)
        close_both(request->fd, request->direct_fd);
    if (request->what.op == FABRIC_IO_CLOSE)
        request->file->fd = request->fd;
    for (; request; request = next) { /* a flush and those that it serves too */
        next = request->next;
        give_back(request);
    }
}

static void on_dropped(struct os_job *job)
{
    os_io_drop((struct os_request *)job);
}

/* ------------------------------------------------------------------ files */

static struct os_file *file_new(struct os_io *io, const struct os_request *request)
{
    struct os_file *file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    file->id = os_handles_new(&io->os->handles, OS_FILE, file);
    if (!file->id) {
        free(file);
        return NULL;
    }
    file->io = io;
    file->fd = request->fd;
    file->direct_fd = request->direct_fd;
    file->read_only = request->what.flags & FABRIC_IO_READ_ONLY;
    file->direct = request->what.flags & FABRIC_IO_DIRECT;
    file->next = io->files;
    if (file->next)
        file->next->previous = file;
    io->files = file;
    return file;
}

static void file_free(struct os_file *file)
{
    close_both(-1, file->direct_fd);
    *(file->previous ? &file->previous->next : &file->io->files) = file->next;
    if (file->next)
        file->next->previous = file->previous;
    free(file);
}

static void opened(struct os_request *request)
{
    if (request->error)
        return;
    request->file = file_new(request->io, request);
    if (request->file)
        return;
    close_both(request->fd, request->direct_fd);
    request->error = ERR_RESOURCES_EXHAUSTED;
}

/* ------------------------------------------------------------------ flushes and ends */

/* One flush at a time, and the next serves all that came meanwhile: so that of two the later never
 * succeeds on bytes that the earlier one lost. */
static void flushed(struct os_request *request)
{
    struct os_file *file = request->file;
    struct os_request *waiting = file->flushes;
    bool sticky = file->flush_failed && !PLANTED(os_flush_forgives);
    if (request->error || sticky) {
        file->flush_failed = true;
        request->error = request->error ? request->error : ERR_MEDIA_FAILED;
    }
    for (struct os_request *one = request->next, *next; one; one = next) {
        next = one->next;
        one->error = request->error;
        file->busy--;
        tell(one);
        give_back(one);
    }
    request->next = NULL;
    file->flushing = waiting;
    file->flushes = NULL;
    if (waiting)
        start(waiting); /* carries the others in its `next` */
}

static void flush(struct os_request *request)
{
    struct os_file *file = request->file;
    if (!file->flushing) {
        file->flushing = request;
        start(request);
        return;
    }
    struct os_request **end = &file->flushes;
    while (*end)
        end = &(*end)->next;
    *end = request;
}

static void start(struct os_request *request)
{
    struct os_io *io = request->io;
    if (io->ring && os_ring_takes(request)) {
        os_ring_submit(io->ring, request);
        if (io->os->timer.fd >= 0) /* somebody else's loop: nothing calls poll before it waits */
            os_ring_flush(io->ring);
        return;
    }
    request->job.work = os_io_work;
    request->job.done = on_done;
    request->job.drop = on_dropped;
    if (os_workers_submit(io->workers, &request->job))
        return;
    request->error = ERR_RESOURCES_EXHAUSTED; /* accepted, so it is told as any other failure */
    os_io_done(request);
}

void os_io_done(struct os_request *request)
{
    struct os_file *file = request->file;
    enum fabric_io_op op = request->what.op;
    if (op == FABRIC_IO_OPEN)
        opened(request);
    if (op == FABRIC_IO_FLUSH)
        flushed(request);
    tell(request);
    give_back(request);
    if (!file)
        return;
    if (op == FABRIC_IO_CLOSE) {
        file_free(file);
        return;
    }
    file->busy--;
    if (file->busy == 0 && file->closing)
        start(file->closing);
}

/* ------------------------------------------------------------------ the member */

static struct os_io *open_io(struct os_fabric *os)
{
    struct os_io *io = calloc(1, sizeof(*io));
    if (!io)
        return NULL;
    io->os = os;
    io->workers = os_workers_create(&os->head, MOST_THREADS);
    if (!io->workers) {
        free(io);
        return NULL;
    }
    if (!os->no_io_uring)
        io->ring = os_ring_create(io);
    return io;
}

static void close_file(struct os_request *request)
{
    struct os_file *file = request->file;
    os_handles_remove(&request->io->os->handles, file->id);
    if (file->busy && !PLANTED(os_close_overtakes))
        file->closing = request;
    else
        start(request);
}

/* What the device can fetch from where it lies is not copied by the processor. */
static int descriptor_for(const struct os_file *file, const struct fabric_io *what)
{
    const uint64_t places = what->offset | what->length | (uintptr_t)what->buf;
    const bool past = file->direct_fd >= 0 && what->op == FABRIC_IO_WRITE &&
                      places % OS_IO_ALIGN == 0 && !PLANTED(os_writes_through_cache);
    return past ? file->direct_fd : file->fd;
}

bool os_io_through_cache(struct os_request *request)
{
    assert(request && request->file);
    const bool was_past = request->fd == request->file->direct_fd;
    request->fd = request->file->fd;
    return was_past;
}

enum fabric_error os_io_submit(struct fabric *f, const struct fabric_io *what)
{
    struct os_fabric *os = os_of(f);
    struct os_file *file =
        what->file.id ? os_handles_get(&os->handles, what->file.id, OS_FILE) : NULL;
    if (!os->io)
        os->io = open_io(os);
    if (!os->io || os->io->under_way == OS_IO_MOST)
        return ERR_QUEUE_FULL;
    struct os_request *request = take_free(os->io);
    if (!request)
        return ERR_QUEUE_FULL;
    request->io = os->io;
    request->what = *what;
    request->file = file;
    request->fd = file ? descriptor_for(file, what) : -1;
    request->direct_fd = -1;
    os->io->under_way++;
    if (!copy_paths(request)) {
        give_back(request);
        return ERR_QUEUE_FULL;
    }
    if (what->op == FABRIC_IO_CLOSE) {
        close_file(request);
        return FABRIC_OK;
    }
    if (file)
        file->busy++;
    if (what->op == FABRIC_IO_FLUSH)
        flush(request);
    else
        start(request);
    return FABRIC_OK;
}

bool os_io_turn(struct os_fabric *os)
{
    if (os->io && os->io->ring) {
        os_ring_flush(os->io->ring);
        os_ring_collect(os->io->ring);
    }
    return os->io && os->io->files;
}

static void free_files(struct os_io *io)
{
    while (io->files) {
        struct os_file *file = io->files;
        struct os_request *lists[] = {file->flushes, file->closing};
        for (size_t i = 0; i < 2; i++) {
            for (struct os_request *one = lists[i], *next; one; one = next) {
                next = one->next;
                give_back(one);
            }
        }
        if (file->fd >= 0)
            close(file->fd);
        file_free(file);
    }
}

/* When it returns, no buffer is touched any more. */
void os_io_close(struct os_fabric *os)
{
    struct os_io *io = os->io;
    if (!io)
        return;
    if (io->ring)
        os_ring_destroy(io->ring);
    os_workers_destroy(io->workers);
    free_files(io);
    while (io->free) {
        struct os_request *request = io->free;
        io->free = request->next;
        free(request);
    }
    free(io);
    os->io = NULL;
}
