/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/little_disk.h"

#include <assert.h>
#include <string.h>

static void on_done(void *context, const struct fabric_io_done *done)
{
    struct little_disk *little = context;
    assert(little->done_count < LITTLE_DISK_DONE_MAX);
    little->times[little->done_count] = sim_now(little->sim);
    little->done[little->done_count++] = *done;
}

void little_disk_up(struct little_disk *little, uint64_t seed, const struct disk_config *config)
{
    const struct disk_config plain = {0};
    *little = (struct little_disk){.sim = sim_create(seed)};
    little->disk = disk_create(little->sim, config ? config : &plain);
    little->user = disk_user_create(little->disk, on_done, little);
}

void little_disk_down(struct little_disk *little)
{
    disk_user_destroy(little->user);
    disk_destroy(little->disk);
    sim_destroy(little->sim);
}

struct fabric_io_done little_disk_do(struct little_disk *little, const struct fabric_io *io)
{
    size_t before = little->done_count;
    enum fabric_error error = disk_submit(little->user, io);
    while (!error && little->done_count == before && sim_step(little->sim))
        ;
    assert(error || little->done_count == before + 1);
    if (error)
        return (struct fabric_io_done){.op = io->op, .error = error};
    return little->done[--little->done_count];
}

void little_disk_drain(struct little_disk *little)
{
    while (sim_step(little->sim))
        ;
}

fabric_file little_disk_open(struct little_disk *little, const char *path, uint32_t flags)
{
    const struct fabric_io io = {.op = FABRIC_IO_OPEN, .path = path, .flags = flags};
    return little_disk_do(little, &io).file;
}

enum fabric_error little_disk_close(struct little_disk *little, fabric_file file)
{
    return little_disk_do(little, &(struct fabric_io){.op = FABRIC_IO_CLOSE, .file = file}).error;
}

enum fabric_error little_disk_write(struct little_disk *little, fabric_file file, uint64_t offset,
                                    const void *bytes, size_t length)
{
    uint8_t copy[65536];
    assert(length <= sizeof(copy));
    memcpy(copy, bytes, length);
    const struct fabric_io io = {
        .op = FABRIC_IO_WRITE, .file = file, .buf = copy, .length = length, .offset = offset};
    return little_disk_do(little, &io).error;
}

size_t little_disk_read(struct little_disk *little, fabric_file file, uint64_t offset, void *buf,
                        size_t length)
{
    const struct fabric_io io = {
        .op = FABRIC_IO_READ, .file = file, .buf = buf, .length = length, .offset = offset};
    return (size_t)little_disk_do(little, &io).length;
}

enum fabric_error little_disk_flush(struct little_disk *little, fabric_file file)
{
    return little_disk_do(little, &(struct fabric_io){.op = FABRIC_IO_FLUSH, .file = file}).error;
}

enum fabric_error little_disk_truncate(struct little_disk *little, fabric_file file,
                                       uint64_t length)
{
    const struct fabric_io io = {.op = FABRIC_IO_TRUNCATE, .file = file, .length = length};
    return little_disk_do(little, &io).error;
}

uint64_t little_disk_size(struct little_disk *little, fabric_file file)
{
    return little_disk_do(little, &(struct fabric_io){.op = FABRIC_IO_SIZE, .file = file}).length;
}

enum fabric_error little_disk_name(struct little_disk *little, enum fabric_io_op op,
                                   const char *path, const char *path2)
{
    const struct fabric_io io = {.op = op, .path = path, .path2 = path2};
    return little_disk_do(little, &io).error;
}

void little_disk_put(struct little_disk *little, const char *path, const char *text, bool flush)
{
    fabric_file file = little_disk_open(little, path, FABRIC_IO_CREATE);
    assert(file.id);
    enum fabric_error error = little_disk_truncate(little, file, 0);
    error = error ? error : little_disk_write(little, file, 0, text, strlen(text));
    if (!error && flush)
        error = little_disk_flush(little, file);
    assert(!error);
    (void)little_disk_close(little, file);
}

bool little_disk_holds(struct little_disk *little, const char *path, const char *text)
{
    char read[4096];
    fabric_file file = little_disk_open(little, path, FABRIC_IO_READ_ONLY);
    if (!file.id)
        return false;
    size_t length = little_disk_read(little, file, 0, read, sizeof(read));
    (void)little_disk_close(little, file);
    return length == strlen(text) && memcmp(read, text, length) == 0;
}

bool little_disk_exists(struct little_disk *little, const char *path)
{
    fabric_file file = little_disk_open(little, path, FABRIC_IO_READ_ONLY);
    if (file.id)
        (void)little_disk_close(little, file);
    return file.id != 0;
}

void little_disk_restart(struct little_disk *little)
{
    disk_user_destroy(little->user);
    little->user = disk_user_create(little->disk, on_done, little);
}

void little_disk_power_cut(struct little_disk *little)
{
    disk_user_destroy(little->user);
    disk_power_cut(little->disk);
    little->user = disk_user_create(little->disk, on_done, little);
}
