/* SPDX-License-Identifier: Apache-2.0 */
/* What a storage request is to the operating system, waited for. Runs in any thread and touches
 * the request alone. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric_hw/os/io.h"
#include "src/fabric/planted.h"

#define NEW_FILE 0640
#define NEW_FOLDER 0750
#define LARGE_PAGE (UINT64_C(2) << 20) /* bytes, where pages have 4 KiB; elsewhere a multiple */

static enum fabric_error result(int returned)
{
    return returned < 0 ? os_io_error(errno) : FABRIC_OK;
}

static int open_flags(uint32_t flags)
{
    int out = O_CLOEXEC | (flags & FABRIC_IO_READ_ONLY ? O_RDONLY : O_RDWR);
    if (flags & FABRIC_IO_CREATE)
        out |= O_CREAT;
    if (flags & FABRIC_IO_EXCLUSIVE)
        out |= O_EXCL;
    if (flags & FABRIC_IO_DIRECT)
        out |= O_DIRECT;
    return out;
}

/* Of a block device O_EXCL asks whether the system uses it: mounted, swap, part of another one. */
static int exclusion(const struct fabric_io *io)
{
    struct stat about;
    return io->flags & FABRIC_IO_LOCK && !(io->flags & FABRIC_IO_CREATE) &&
                   stat(io->path, &about) == 0 && S_ISBLK(about.st_mode)
               ? O_EXCL
               : 0;
}

/* A block in one large page is one segment of a request to a device; in small ones it can be more
 * than the device takes at once, which are then requests that wait for each other. It is a wish. */
static void prepare_memory(const struct fabric_io *io)
{
    const uintptr_t begin = (uintptr_t)io->buf, page = LARGE_PAGE;
    const uintptr_t first = (begin + page - 1) / page * page,
                    end = (begin + io->length) / page * page;
    if (io->buf && first < end && !PLANTED(os_small_pages))
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
}

/* The same open file once more; where a file system has no such thing, one must do. */
static int open_past_cache(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
}

static enum fabric_error open_file(struct os_request *request)
{
    uint32_t flags = request->what.flags;
    int fd = open(request->what.path, open_flags(flags) | exclusion(&request->what), NEW_FILE);
    if (fd < 0)
        return os_io_error(errno);
    if (flags & FABRIC_IO_LOCK && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        enum fabric_error error = errno == EWOULDBLOCK ? ERR_BUSY : os_io_error(errno);
        close(fd);
        return error;
    }
    request->fd = fd;
    if (flags & FABRIC_IO_DIRECT_WRITES && !(flags & FABRIC_IO_READ_ONLY))
        request->direct_fd = open_past_cache(fd);
    prepare_memory(&request->what);
    return FABRIC_OK;
}

/* The descriptor is gone whatever close says. */
static enum fabric_error close_file(struct os_request *request)
{
    int fd = request->fd;
    request->fd = -1;
    return result(close(fd));
}

static enum fabric_error read_bytes(struct os_request *request)
{
    const struct fabric_io *io = &request->what;
    while (request->moved < io->length) {
        ssize_t got = pread(request->fd, (uint8_t *)io->buf + request->moved,
                            io->length - request->moved, (off_t)(io->offset + request->moved));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return os_io_error(errno);
        request->moved += (uint64_t)got;
        if (got == 0 || request->file->direct) /* past the cache a short one is the end */
            break;
    }
    request->length = request->moved;
    return FABRIC_OK;
}

static enum fabric_error write_bytes(struct os_request *request)
{
    const struct fabric_io *io = &request->what;
    if (request->file->read_only)
        return ERR_READ_ONLY;
    while (request->moved < io->length) {
        ssize_t put = pwrite(request->fd, (const uint8_t *)io->buf + request->moved,
                             io->length - request->moved, (off_t)(io->offset + request->moved));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EINVAL && os_io_through_cache(request))
            continue;
        if (put < 0)
            return os_io_error(errno);
        request->moved += (uint64_t)put;
    }
    request->length = request->moved;
    return FABRIC_OK;
}

/* A file system or a device that cannot keeps the contents, which is allowed. */
static enum fabric_error trim(const struct os_request *request)
{
    const struct fabric_io *io = &request->what;
    struct stat about;
    uint64_t range[2] = {io->offset, io->length};
    if (request->file->read_only)
        return ERR_READ_ONLY;
    if (fstat(request->fd, &about) < 0)
        return os_io_error(errno);
    int returned = S_ISBLK(about.st_mode)
                       ? ioctl(request->fd, BLKDISCARD, range)
                       : fallocate(request->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                   (off_t)io->offset, (off_t)io->length);
    return returned < 0 && errno == EOPNOTSUPP ? FABRIC_OK : result(returned);
}

static enum fabric_error size(struct os_request *request)
{
    struct stat about;
    if (fstat(request->fd, &about) < 0)
        return os_io_error(errno);
    request->length = (uint64_t)about.st_size;
    return S_ISBLK(about.st_mode) ? result(ioctl(request->fd, BLKGETSIZE64, &request->length))
                                  : FABRIC_OK;
}

static enum fabric_error sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return os_io_error(errno);
    enum fabric_error error = result(fsync(fd));
    close(fd);
    return error;
}

static int is_name(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

enum fabric_error os_list_folder(int at, const char *path, char *buf, size_t capacity,
                                 size_t *length)
{
    struct dirent **entries = NULL;
    size_t used = 0;
    bool fits = true;
    int count = scandirat(at, path, &entries, is_name, by_bytes);
    if (count < 0)
        return os_io_error(errno);
    for (int i = 0; i < count; i++)
        used += strlen(entries[i]->d_name) + 1;
    fits = used <= capacity;
    *length = fits ? used : 0;
    for (int i = 0; i < count; i++) {
        size_t one = strlen(entries[i]->d_name) + 1;
        if (fits) {
            memcpy(buf, entries[i]->d_name, one);
            buf += one;
        }
        free(entries[i]);
    }
    free(entries);
    return fits ? FABRIC_OK : ERR_TOO_LARGE;
}

static enum fabric_error list(struct os_request *request)
{
    size_t length = 0;
    enum fabric_error error = os_list_folder(AT_FDCWD, request->what.path, request->what.buf,
                                             request->what.length, &length);
    request->length = length;
    return error;
}

static enum fabric_error on_path(struct os_request *request)
{
    const struct fabric_io *io = &request->what;
    switch (io->op) {
    case FABRIC_IO_OPEN:
        return open_file(request);
    case FABRIC_IO_MKDIR:
        return result(mkdir(io->path, NEW_FOLDER));
    case FABRIC_IO_UNLINK:
        return result(unlink(io->path));
    case FABRIC_IO_RENAME:
        return result(rename(io->path, io->path2));
    case FABRIC_IO_SYNC_DIR:
        return sync_folder(io->path);
    default:
        assert(io->op == FABRIC_IO_LIST);
        return list(request);
    }
}

static enum fabric_error on_file(struct os_request *request)
{
    switch (request->what.op) {
    case FABRIC_IO_CLOSE:
        return close_file(request);
    case FABRIC_IO_READ:
        return read_bytes(request);
    case FABRIC_IO_WRITE:
        return write_bytes(request);
    case FABRIC_IO_FLUSH:
        return result(fdatasync(request->fd));
    case FABRIC_IO_TRIM:
        return trim(request);
    case FABRIC_IO_TRUNCATE:
        return request->file->read_only
                   ? ERR_READ_ONLY
                   : result(ftruncate(request->fd, (off_t)request->what.length));
    default:
        assert(request->what.op == FABRIC_IO_SIZE);
        return size(request);
    }
}

void os_io_work(struct os_job *job)
{
    struct os_request *request = (struct os_request *)job;
    request->error = request->file ? on_file(request) : on_path(request);
}
