/* SPDX-License-Identifier: Apache-2.0 */
/* One command of the driver, from its line of JSON to its report. */
#ifndef SRC_CLIENT_JOB_H
#define SRC_CLIENT_JOB_H

#include "src/client/client.h"

#define JOB_MAX_FILE (256ull * 1024ull * 1024ull) /* bytes */
#define JOB_PARALLEL 4u                           /* operations of one job under way */

enum job_kind {
    JOB_PUT,
    JOB_GET,
    JOB_EXISTS,
    JOB_DELETE,
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
    JOB_RUNNING, /* its operations */
    JOB_TRUNCATING,
    JOB_WRITING,
    JOB_FLUSHING,
    JOB_FINISHED, /* to be reported */
};

struct client_job {
    uint32_t slot;
    json_t *request; /* owns the strings below */
    enum job_kind kind;
    enum job_stage stage;
    const char *op, *key, *path;
    uint64_t size, seed, block_size, timeout; /* bytes, bytes, ns */
    bool has_seed;

    uint8_t *data; /* the file: read, or to be written */
    uint64_t length;
    fabric_file file;
    bool io_pending, writing;

    uint32_t blocks, next, under_way;
    bool used_rc, used_tcp;
    uint64_t bytes;
    bool found;
    bool differs;
    uint64_t differs_at; /* the first byte */
    enum fabric_error error;
    char detail[WIRE_DETAIL];
};

/* Begins with the file, if the job has one. */
void job_file_begin(struct client *c, struct client_job *job);
/* The operations are done; get_file writes now. */
void job_file_end(struct client *c, struct client_job *job);
void job_file_io(struct client *c, struct client_job *job, const struct fabric_io_done *done);

/* Contents that a size and a seed stand for: the same on every machine. */
void job_fill(uint8_t *data, uint64_t length, uint64_t seed);

void job_fail(struct client_job *job, enum fabric_error error, const char *detail);

#endif
