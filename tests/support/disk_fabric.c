/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/disk_fabric.h"

#include <assert.h>
#include <stdlib.h>

#define DONE_MAX 256

struct disk_fabric {
    struct fabric head;
    struct sim *sim;
    struct disk_user *user;
    struct fabric_io_done done[DONE_MAX];
    size_t done_count, done_read;
    uint64_t points, counts[FABRIC_IO_LIST + 1];
    uint64_t refuse_in;
    uint32_t flags; /* of the latest OPEN */
    enum fabric_error refuse_with;
};

static struct disk_fabric *of(struct fabric *f)
{
    return (struct disk_fabric *)f;
}

/* Swallows the arguments of members that do nothing with them. */
static void ignore(struct fabric *f, ...)
{
    assert(f);
}

#define X(upper, lower, parameters, arguments, fault)                                              \
    static enum fabric_error no_##lower parameters                                                 \
    {                                                                                              \
        struct fabric *next = f;                                                                   \
        ignore arguments;                                                                          \
        return ERR_NOT_SUPPORTED;                                                                  \
    }
#include "src/fabric/ops.def"
#undef X

static bool is_change(enum fabric_io_op op)
{
    return op != FABRIC_IO_READ && op != FABRIC_IO_SIZE && op != FABRIC_IO_LIST;
}

static void on_done(void *context, const struct fabric_io_done *done)
{
    struct disk_fabric *f = context;
    if (f->done_read == f->done_count)
        f->done_read = f->done_count = 0;
    assert(f->done_count < DONE_MAX);
    f->done[f->done_count++] = *done;
    f->points += is_change(done->op);
}

static enum fabric_error io_submit(struct fabric *head, const struct fabric_io *io)
{
    struct disk_fabric *f = of(head);
    f->counts[io->op]++;
    if (io->op == FABRIC_IO_OPEN)
        f->flags = io->flags;
    if (is_change(io->op)) {
        f->points++;
        if (f->refuse_in && --f->refuse_in == 0)
            return f->refuse_with;
    }
    return disk_submit(f->user, io);
}

static enum fabric_error entropy(struct fabric *head, void *buf, size_t length)
{
    uint8_t *out = buf;
    for (size_t i = 0; i < length; i++)
        out[i] = (uint8_t)sim_random(of(head)->sim);
    return FABRIC_OK;
}

static enum fabric_error now(struct fabric *head, uint64_t *out)
{
    *out = sim_now(of(head)->sim);
    return FABRIC_OK;
}

static enum fabric_error destroy(struct fabric *head)
{
    disk_fabric_kill(of(head));
    free(head);
    return FABRIC_OK;
}

struct disk_fabric *disk_fabric_new(struct sim *sim, struct disk *disk)
{
    static const struct fabric_ops ops = {
#define X(upper, lower, parameters, arguments, fault) .lower = no_##lower,
#include "src/fabric/ops.def"
#undef X
    };
    static struct fabric_ops ours;
    struct disk_fabric *f = calloc(1, sizeof *f);
    assert(sim && disk && f);
    ours = ops;
    ours.io_submit = io_submit;
    ours.entropy = entropy;
    ours.now = now;
    ours.destroy = destroy;
    f->sim = sim;
    f->user = disk_user_create(disk, on_done, f);
    fabric_init(&f->head, &ours);
    return f;
}

struct fabric *disk_fabric_head(struct disk_fabric *f)
{
    return &f->head;
}

void disk_fabric_kill(struct disk_fabric *f)
{
    if (f->user)
        disk_user_destroy(f->user);
    f->user = NULL;
}

bool disk_fabric_wait(struct disk_fabric *f, struct fabric_io_done *out)
{
    while (f->done_read == f->done_count) {
        if (!sim_step(f->sim))
            return false;
    }
    *out = f->done[f->done_read++];
    return true;
}

uint64_t disk_fabric_points(const struct disk_fabric *f)
{
    return f->points;
}

void disk_fabric_refuse(struct disk_fabric *f, uint64_t nth, enum fabric_error error)
{
    f->refuse_in = nth;
    f->refuse_with = error;
}

uint64_t disk_fabric_count(const struct disk_fabric *f, enum fabric_io_op op)
{
    return f->counts[op];
}

uint32_t disk_fabric_flags(const struct disk_fabric *f)
{
    return f->flags;
}
