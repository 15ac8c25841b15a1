/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "src/client/job.h"

static void submit(struct program *p, struct client_job *job, enum job_stage stage,
                   struct fabric_io io)
{
    io.cookie = CLIENT_CALLER_COOKIE | job->slot;
    io.file = job->file;
    job->stage = stage;
    enum fabric_error error = fabric_io_submit(p->fabric, &io);
    job->io_pending = !error;
    if (error) {
        job_fail(job, error, "the file could not be used");
        job->stage = JOB_FINISHED;
    }
}

void job_file_begin(struct program *p, struct client_job *job)
{
    assert(p && job && job->path);
    const struct fabric_io io = {
        .op = FABRIC_IO_OPEN, .path = job->path, .flags = FABRIC_IO_READ_ONLY};
    submit(p, job, JOB_OPENING, io);
}

void job_file_end(struct program *p, struct client_job *job)
{
    assert(p && job && job->path);
    const struct fabric_io io = {
        .op = FABRIC_IO_OPEN, .path = job->path, .flags = FABRIC_IO_CREATE};
    job->writing = true;
    submit(p, job, JOB_OPENING, io);
}

static void close_file(struct program *p, struct client_job *job)
{
    submit(p, job, JOB_CLOSING, (struct fabric_io){.op = FABRIC_IO_CLOSE});
}

static void sized(struct program *p, struct client_job *job, uint64_t length)
{
    if (length == 0 || length > JOB_MAX_FILE)
        job_fail(job, length ? ERR_TOO_LARGE : ERR_INVALID_ARGUMENT, "the size of the file");
    else
        job->data = malloc((size_t)length);
    if (!job->data) {
        if (!job->error)
            job_fail(job, ERR_RESOURCES_EXHAUSTED, "no memory for the file");
        close_file(p, job);
        return;
    }
    job->length = length;
    submit(p, job, JOB_READING,
           (struct fabric_io){.op = FABRIC_IO_READ, .buf = job->data, .length = length});
}

static void closed(struct client_job *job)
{
    job->file = (fabric_file){0};
    job->stage = job->writing || job->error ? JOB_FINISHED : JOB_RUNNING;
    job->blocks = (uint32_t)((job->length + job->block_size - 1) / job->block_size);
}

void job_file_io(struct program *p, struct client_job *job, const struct fabric_io_done *done)
{
    assert(p && job && done && job->io_pending);
    job->io_pending = false;
    if (done->error) {
        job_fail(job, done->error, job->path);
        if (job->stage == JOB_OPENING || job->stage == JOB_CLOSING)
            job->stage = JOB_FINISHED;
        else
            close_file(p, job);
        return;
    }
    switch (job->stage) {
    case JOB_OPENING:
        job->file = done->file;
        if (job->writing)
            submit(p, job, JOB_TRUNCATING,
                   (struct fabric_io){.op = FABRIC_IO_TRUNCATE, .length = 0});
        else
            submit(p, job, JOB_SIZING, (struct fabric_io){.op = FABRIC_IO_SIZE});
        break;
    case JOB_SIZING:
        sized(p, job, done->length);
        break;
    case JOB_TRUNCATING:
        submit(p, job, JOB_WRITING,
               (struct fabric_io){.op = FABRIC_IO_WRITE, .buf = job->data, .length = job->length});
        break;
    case JOB_WRITING:
        submit(p, job, JOB_FLUSHING, (struct fabric_io){.op = FABRIC_IO_FLUSH});
        break;
    case JOB_READING:
        if (done->length != job->length)
            job_fail(job, ERR_MEDIA_FAILED, "the file changed while it was read");
        close_file(p, job);
        break;
    case JOB_FLUSHING:
        close_file(p, job);
        break;
    default:
        assert(job->stage == JOB_CLOSING);
        closed(job);
        break;
    }
}
