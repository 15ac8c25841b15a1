/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: accepted, carried out when they complete, reported once. */
#include "fabric_sim/world/disk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/disk_state.h"
#include "src/fabric/planted.h"

#define MAX_OUTSTANDING 1024
#define LATENCY_MIN 8000     /* ns */
#define LATENCY_SPREAD 80000 /* ns */
#define BYTES_PER_NS 2       /* 2 GB/s */

struct open_file {
    struct open_file *next;
    fabric_file id;
    struct disk_inode *inode;
    uint32_t flags;
    uint32_t outstanding;
    bool closing, flush_failed;
};

struct request {
    struct request *next;
    struct disk_user *user;
    struct fabric_io io;
    char path[FABRIC_PATH_MAX], path2[FABRIC_PATH_MAX];
    struct open_file *file;
    uint64_t serial; /* of the disk when it was submitted */
    uint8_t *bytes;  /* of a write; should its program die, as they were when it was submitted */
    sim_event event;
};

struct disk_user {
    struct disk_user *next;
    struct disk *disk;
    disk_done done;
    void *context;
    struct open_file *files;
    struct request *requests;
    uint32_t outstanding, last_file;
};

struct disk *disk_create(struct sim *sim, const struct disk_config *config)
{
    static const char *const folders[] = {"/etc", "/mnt", "/tmp", "/var", "/var/lib", "/var/tmp"};
    struct disk *disk = calloc(1, sizeof(*disk));
    assert(sim && disk);
    disk->sim = sim;
    disk->config = *config;
    disk->config.size = config->size ? config->size : UINT64_C(1) << 30;
    disk->config.tear_unit = config->tear_unit ? config->tear_unit : 512;
    disk->config.align = config->align ? config->align : 512;
    disk->inodes_end = &disk->inodes;
    disk->name_changes_end = &disk->name_changes;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        disk_names_add(&disk->seen, folders[i], NULL);
        disk_names_add(&disk->durable, folders[i], NULL);
    }
    return disk;
}

void disk_destroy(struct disk *disk)
{
    assert(!disk->users);
    while (disk->name_changes) {
        struct disk_name_change *change = disk->name_changes;
        disk->name_changes = change->next;
        disk_name_change_free(change);
    }
    disk_names_free(&disk->seen);
    disk_names_free(&disk->durable);
    assert(!disk->inodes);
    free(disk);
}

const struct disk_config *disk_config(const struct disk *disk)
{
    return &disk->config;
}

struct disk_user *disk_user_create(struct disk *disk, disk_done done, void *context)
{
    struct disk_user *user = calloc(1, sizeof(*user));
    assert(user && done);
    *user = (struct disk_user){.next = disk->users, .disk = disk, .done = done, .context = context};
    disk->users = user;
    return user;
}

/* ------------------------------------------------------------------ carrying out */

static struct open_file *find_file(struct disk_user *user, fabric_file id)
{
    struct open_file *file = user->files;
    while (file && file->id.id != id.id)
        file = file->next;
    assert(file); /* a file that is not open is a programmer error */
    return file;
}

/* Open with LOCK, here or in another program. */
static bool is_locked(const struct disk *disk, const struct disk_inode *inode)
{
    for (const struct disk_user *user = disk->users; user; user = user->next) {
        for (const struct open_file *file = user->files; file; file = file->next) {
            if (file->inode == inode && file->flags & FABRIC_IO_LOCK)
                return !PLANTED(world_disk_lock_ignored);
        }
    }
    return false;
}

static enum fabric_error open_file(struct disk_user *user, const struct request *request,
                                   fabric_file *out)
{
    struct disk *disk = user->disk;
    const struct disk_name *name = disk_find(&disk->seen, request->path);
    struct disk_inode *inode = name ? name->inode : NULL;
    uint32_t flags = request->io.flags;
    if (name && (flags & FABRIC_IO_EXCLUSIVE) && !PLANTED(world_disk_exclusive_ignored))
        return ERR_EXISTS;
    if (!inode && disk_is_folder(&disk->seen, request->path))
        return ERR_INVALID_ARGUMENT;
    if (inode && (flags & FABRIC_IO_LOCK) && is_locked(disk, inode))
        return ERR_BUSY;
    if (!name) {
        if (!(flags & FABRIC_IO_CREATE))
            return ERR_NOT_FOUND;
        inode = disk_inode_new(disk);
        inode->users++;
        enum fabric_error error = disk->full ? ERR_STORE_FULL : FABRIC_OK;
        error = error ? error : disk_link(disk, request->path, inode);
        if (error) {
            disk_inode_release(inode);
            return error;
        }
        inode->users--;
    }
    struct open_file *file = calloc(1, sizeof(*file));
    assert(file);
    *file = (struct open_file){
        .next = user->files, .id = {++user->last_file}, .inode = inode, .flags = flags};
    inode->users++;
    user->files = file;
    *out = file->id;
    return FABRIC_OK;
}

static void close_file(struct disk_user *user, struct open_file *file)
{
    struct open_file **place = &user->files;
    while (*place != file)
        place = &(*place)->next;
    *place = file->next;
    disk_inode_release(file->inode);
    free(file);
}

static enum fabric_error change_file(struct request *request, enum disk_change_kind kind)
{
    struct disk *disk = request->user->disk;
    if (request->file->flags & FABRIC_IO_READ_ONLY && !PLANTED(world_disk_read_only_ignored))
        return ERR_READ_ONLY;
    if (disk->broken && !PLANTED(world_disk_error_ignored))
        return ERR_MEDIA_FAILED;
    struct disk_change *change = calloc(1, sizeof(*change));
    assert(change);
    *change = (struct disk_change){.kind = kind,
                                   .offset = request->io.offset,
                                   .length = request->io.length,
                                   .bytes = request->bytes};
    request->bytes = NULL;
    return disk_inode_change(request->file->inode, change) ? FABRIC_OK : ERR_STORE_FULL;
}

static enum fabric_error flush_file(struct request *request)
{
    struct open_file *file = request->file;
    bool sticks = file->flush_failed && !PLANTED(world_disk_flush_error_forgotten);
    file->flush_failed |= request->user->disk->broken;
    if ((request->user->disk->broken && !PLANTED(world_disk_flush_error_ignored)) || sticks)
        return ERR_MEDIA_FAILED;
    disk_inode_flush(request->file->inode, request->serial);
    return FABRIC_OK;
}

static enum fabric_error read_file(struct request *request, uint64_t *length)
{
    const struct fabric_io *io = &request->io;
    if (request->user->disk->broken && !PLANTED(world_disk_read_error_ignored))
        return ERR_MEDIA_FAILED;
    *length = disk_contents_read(&request->file->inode->seen, io->buf, io->offset, io->length);
    return FABRIC_OK;
}

static enum fabric_error carry_out(struct request *request, struct fabric_io_done *done)
{
    struct disk_user *user = request->user;
    struct disk *disk = user->disk;
    done->length = request->io.length;
    switch (request->io.op) {
    case FABRIC_IO_OPEN:
        return open_file(user, request, &done->file);
    case FABRIC_IO_CLOSE:
        close_file(user, request->file);
        return FABRIC_OK;
    case FABRIC_IO_READ:
        return read_file(request, &done->length);
    case FABRIC_IO_WRITE:
        return change_file(request, DISK_WRITE);
    case FABRIC_IO_FLUSH:
        return flush_file(request);
    case FABRIC_IO_TRIM:
        return change_file(request, DISK_TRIM);
    case FABRIC_IO_TRUNCATE:
        return change_file(request, DISK_TRUNCATE);
    case FABRIC_IO_SIZE:
        done->length = request->file->inode->seen.size;
        return FABRIC_OK;
    case FABRIC_IO_MKDIR:
        return disk->full ? ERR_STORE_FULL : disk_link(disk, request->path, NULL);
    case FABRIC_IO_UNLINK:
        return disk_unlink(disk, request->path);
    case FABRIC_IO_RENAME:
        return disk_rename(disk, request->path, request->path2);
    case FABRIC_IO_SYNC_DIR:
        return disk->broken ? ERR_MEDIA_FAILED : disk_sync_folder(disk, request->path);
    case FABRIC_IO_LIST:
        return disk_list(disk, request->path, request->io.buf, request->io.length, &done->length);
    }
    assert(0 && "an operation that seam.c lets through");
    return ERR_INTERNAL;
}

static void forget(struct request *request)
{
    struct request **place = &request->user->requests;
    while (*place != request)
        place = &(*place)->next;
    *place = request->next;
    assert(!request->bytes || request->io.op == FABRIC_IO_WRITE);
    request->user->outstanding--;
    free(request->bytes);
    free(request);
}

static void on_done(void *object, uint64_t arg);

/* A close waits for what is outstanding on its file. */
static void finish_close(struct disk_user *user, const struct open_file *file)
{
    for (struct request *other = user->requests; other; other = other->next) {
        if (other->file == file && other->io.op == FABRIC_IO_CLOSE && !other->event)
            other->event = sim_in(user->disk->sim, 0, on_done, other, 0);
    }
}

static void on_done(void *object, uint64_t arg)
{
    struct request *request = object;
    struct disk_user *user = request->user;
    struct fabric_io_done done = {
        .op = request->io.op, .cookie = request->io.cookie, .file = request->io.file};
    (void)arg;
    assert(!request->file || request->file->outstanding > 0);
    request->event = 0;
    bool waits = request->io.op == FABRIC_IO_CLOSE && request->file->outstanding > 1;
    if (waits && !PLANTED(world_disk_close_hurries))
        return;
    struct open_file *file = request->io.op == FABRIC_IO_CLOSE ? NULL : request->file;
    if (request->bytes && !PLANTED(world_disk_buffer_taken_early))
        memcpy(request->bytes, request->io.buf, request->io.length); /* lent until now */
    done.error = carry_out(request, &done);
    if (done.error)
        done.length = 0;
    if (file && --file->outstanding == 1)
        finish_close(user, file);
    forget(request);
    user->done(user->context, &done);
}

/* ------------------------------------------------------------------ submitting */

static bool aligned(const struct disk *disk, const struct open_file *file,
                    const struct fabric_io *io)
{
    if (!(file->flags & FABRIC_IO_DIRECT) || PLANTED(world_disk_align_unchecked))
        return true;
    if (io->op != FABRIC_IO_READ && io->op != FABRIC_IO_WRITE)
        return true;
    return io->offset % disk->config.align == 0 && io->length % disk->config.align == 0;
}

static uint64_t latency(struct disk *disk, const struct fabric_io *io)
{
    uint64_t bytes = io->op == FABRIC_IO_READ || io->op == FABRIC_IO_WRITE ? io->length : 0;
    return LATENCY_MIN + sim_random_below(disk->sim, LATENCY_SPREAD) + bytes / BYTES_PER_NS +
           (PLANTED(world_disk_slow_ignored) ? 0 : disk->extra);
}

static void copy_path(char *to, const char *from)
{
    size_t length = from ? strlen(from) : 0;
    assert(length < FABRIC_PATH_MAX);
    while (length > 1 && from[length - 1] == '/')
        length--;
    if (length)
        memcpy(to, from, length);
}

enum fabric_error disk_submit(struct disk_user *user, const struct fabric_io *io)
{
    struct disk *disk = user->disk;
    struct open_file *file = io->file.id ? find_file(user, io->file) : NULL;
    assert(!file || !file->closing); /* the handle went with its close */
    if (file && (!aligned(disk, file, io) || io->offset > INT64_MAX - io->length))
        return ERR_INVALID_ARGUMENT;
    if (user->outstanding == MAX_OUTSTANDING)
        return ERR_QUEUE_FULL;
    struct request *request = calloc(1, sizeof(*request));
    assert(request && (io->op != FABRIC_IO_WRITE || io->buf || io->length == 0));
    request->user = user;
    request->io = *io;
    copy_path(request->path, io->path);
    copy_path(request->path2, io->path2);
    request->file = file;
    request->serial = ++disk->serial;
    if (io->op == FABRIC_IO_WRITE && io->length) {
        request->bytes = malloc(io->length);
        assert(request->bytes);
        memcpy(request->bytes, io->buf, io->length);
    }
    if (file) {
        file->outstanding++;
        file->closing = io->op == FABRIC_IO_CLOSE;
    }
    request->next = user->requests;
    user->requests = request;
    user->outstanding++;
    request->event = sim_in(disk->sim, latency(disk, io), on_done, request, 0);
    return FABRIC_OK;
}

void disk_user_destroy(struct disk_user *user)
{
    struct disk *disk = user->disk;
    while (user->requests) {
        struct request *request = user->requests;
        struct fabric_io_done done = {0};
        bool changes = request->io.op != FABRIC_IO_OPEN && request->io.op != FABRIC_IO_CLOSE &&
                       request->io.op != FABRIC_IO_READ && request->io.op != FABRIC_IO_LIST;
        if (request->event)
            sim_cancel(disk->sim, request->event);
        if (changes && (sim_random_below(disk->sim, 2) || PLANTED(world_disk_dead_finishes)))
            (void)carry_out(request, &done);
        forget(request);
    }
    assert(user->outstanding == 0);
    while (user->files)
        close_file(user, user->files);
    struct disk_user **place = &disk->users;
    while (*place != user)
        place = &(*place)->next;
    *place = user->next;
    free(user);
}

/* False, and nothing made, when a file stands where a folder should. */
static bool make_folders(struct disk *disk, const char *path)
{
    char parent[FABRIC_PATH_MAX];
    disk_parent(path, parent);
    if (disk_is_folder(&disk->seen, parent))
        return true;
    if (disk_find(&disk->seen, parent) || !make_folders(disk, parent))
        return false;
    disk_names_add(&disk->seen, parent, NULL);
    disk_names_add(&disk->durable, parent, NULL);
    return true;
}

enum fabric_error disk_place(struct disk *disk, const char *path, const void *data, size_t length)
{
    size_t path_length = strlen(path);
    if (path[0] != '/' || path[path_length - 1] == '/' || path_length >= FABRIC_PATH_MAX ||
        disk_is_folder(&disk->seen, path))
        return ERR_INVALID_ARGUMENT;
    disk_sync_names(disk); /* a rename that still waits would undo what is durable here */
    if (!make_folders(disk, path))
        return ERR_INVALID_ARGUMENT;
    if (disk_find(&disk->seen, path)) {
        disk_names_remove(&disk->seen, path);
        disk_names_remove(&disk->durable, path);
    }
    struct disk_inode *inode = disk_inode_new(disk);
    disk_names_add(&disk->seen, path, inode);
    disk_names_add(&disk->durable, path, inode);
    disk_contents_write(&inode->seen, data, 0, length);
    disk_contents_copy(&inode->durable, &inode->seen);
    assert(inode->users == 2 && inode->seen.size == length);
    disk->pages_used += (length + DISK_PAGE - 1) / DISK_PAGE;
    return FABRIC_OK;
}

void disk_set_error(struct disk *disk, bool on)
{
    disk->broken = on;
}

void disk_set_full(struct disk *disk, bool on)
{
    disk->full = on;
}

void disk_set_slow(struct disk *disk, uint64_t extra)
{
    disk->extra = extra;
}
