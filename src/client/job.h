/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's commands, as a user of api.h: each is a job from its line of JSON to its report.
 *
 * job.c      from JSON to a job, and from a job to its report
 * job_run.c  its requests
 * file.c     the node's files that it reads and writes
 */
#ifndef SRC_CLIENT_JOB_H
#define SRC_CLIENT_JOB_H

#include "src/client/api.h"

#define PROGRAM_JOBS 64u
#define PROGRAM_BUFFERS 16u
#define JOB_MAX_FILE (256ull * 1024ull * 1024ull) /* bytes */
#define JOB_MAX_BATCH (64ull * 1024ull * 1024ull) /* bytes of all its values */
#define JOB_MAX_KEYS 1000u                        /* of a batch */
#define JOB_PARALLEL 4u                           /* blocks of one job under way */

enum job_kind {
    JOB_PUT,
    JOB_GET,
    JOB_EXISTS,
    JOB_DELETE,
    JOB_PUT_MANY,
    JOB_GET_MANY,
    JOB_EXISTS_MANY,
    JOB_PUT_FILE,
    JOB_VERIFY_FILE,
    JOB_GET_FILE,
    JOB_KIND_COUNT,
};

enum job_stage {
    JOB_OPENING, /* the file that is to be read, or written at the end */
    JOB_SIZING,
    JOB_READING,
    JOB_CLOSING,
    JOB_RUNNING, /* its requests */
    JOB_TRUNCATING,
    JOB_WRITING,
    JOB_FLUSHING,
    JOB_FINISHED, /* to be reported */
};

/* Memory for one request, or for a batch: registered once, used by one job after the other. */
struct job_buffer {
    uint8_t *data; /* page-aligned */
    uint64_t size; /* bytes */
    struct client_memory *memory;
    bool taken;
};

struct job_part {
    uint32_t block; /* which one is under way */
    struct job_buffer *buffer;
};

struct client_job {
    uint32_t slot;
    json_t *request; /* owns the strings below */
    enum job_kind kind;
    enum job_stage stage;
    const char *op, *key, *path, *prefix;
    uint64_t size, seed, or_seed, block_size, timeout; /* bytes, bytes, ns */
    bool has_seed, has_or_seed;

    uint8_t *data; /* the file: read, or to be written */
    uint64_t length;
    fabric_file file;
    bool io_pending, writing;

    uint32_t blocks, next, under_way; /* blocks: of a file, or keys of a batch */
    struct job_part parts[JOB_PARALLEL];
    struct job_buffer batch;    /* not of the pool: its size is its own */
    bool filled;                /* with what is put */
    enum fabric_error *results; /* of a batch: of each key */
    bool *founds;
    uint32_t found_count;

    bool used[CLIENT_OVER_DC + 1]; /* by enum client_transport */
    uint64_t bytes;
    bool found;
    bool differs;
    uint64_t differs_at; /* the first byte */
    uint64_t needed;     /* bytes, after buffer_too_small */
    bool written;        /* into a buffer that is too small */
    enum fabric_error error;
    char detail[CLIENT_DETAIL];
};

struct program {
    struct fabric *fabric;
    struct fabric_report_sink sink;
    struct client *client;
    uint64_t timeout; /* ns, of a request that names none */
    struct client_job *jobs[PROGRAM_JOBS];
    struct job_buffer buffers[PROGRAM_BUFFERS];
};

/* Hands the object to the driver and releases it. */
void program_report(struct program *p, json_t *object);
void program_command(struct program *p, const char *json);
/* Goes on with every job until nothing is left to do for now. */
void program_turn(struct program *p);
void program_job_io(struct program *p, const struct fabric_io_done *done);
/* After the client was destroyed. */
void program_jobs_free(struct program *p);

/* Begins with the file, if the job has one. */
void job_file_begin(struct program *p, struct client_job *job);
/* The requests are done; get_file writes now. */
void job_file_end(struct program *p, struct client_job *job);
void job_file_io(struct program *p, struct client_job *job, const struct fabric_io_done *done);

bool job_is_file(const struct client_job *job);
bool job_is_batch(const struct client_job *job);
/* Submits what can be; true when something was done. */
bool job_run(struct program *p, struct client_job *job);
/* One of its requests has completed. */
void job_complete(struct program *p, struct client_job *job, const struct client_completion *done);

/* Contents that a size and a seed stand for: the same on every machine. */
void job_fill(uint8_t *data, uint64_t length, uint64_t seed);

void job_fail(struct client_job *job, enum fabric_error error, const char *detail);

#endif
