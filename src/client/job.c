/* SPDX-License-Identifier: Apache-2.0 */
#include "src/client/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/config/nearest.h"
#include "src/fabric/planted.h"

#define ROOM_UNKNOWN (2u * 1024u * 1024u) /* of a get that names no size */

static const char *const kind_names[] = {"put",      "get",         "exists",   "delete",
                                         "put_file", "verify_file", "get_file", "status"};

void job_fail(struct client_job *job, enum fabric_error error, const char *detail)
{
    assert(job && error && detail);
    if (job->error)
        return; /* the first one is the cause */
    job->error = error;
    snprintf(job->detail, sizeof job->detail, "%s", detail);
}

void job_fill(uint8_t *data, uint64_t length, uint64_t seed)
{
    assert(data || length == 0);
    for (uint64_t at = 0; at < length; at += 8) {
        uint8_t counter[8];
        for (unsigned i = 0; i < 8; i++)
            counter[i] = (uint8_t)(at >> (8 * i));
        uint64_t word = XXH3_64bits_withSeed(counter, sizeof counter, seed);
        for (uint64_t i = 0; i < 8 && at + i < length; i++)
            data[at + i] = (uint8_t)(word >> (8 * i));
    }
}

/* ------------------------------------------------------------------ from JSON to a job */

static bool whole(const json_t *request, const char *name, uint64_t least, uint64_t most,
                  uint64_t *out)
{
    const json_t *value = json_object_get(request, name);
    if (!value)
        return true;
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number < least ||
        (uint64_t)number > most)
        return false;
    *out = (uint64_t)number;
    return true;
}

static bool is_file(enum job_kind kind)
{
    return kind >= JOB_PUT_FILE;
}

/* What is wrong with the request; null when nothing is. */
static const char *read_request(struct client *c, struct client_job *job)
{
    const json_t *r = job->request;
    uint64_t timeout_ms = 0;
    job->key = json_string_value(json_object_get(r, "key"));
    job->path = json_string_value(json_object_get(r, "path"));
    job->block_size = 65536;
    job->has_seed = json_object_get(r, "seed") != NULL;
    if (!job->key || !*job->key || strlen(job->key) > WIRE_MAX_KEY - (is_file(job->kind) ? 12 : 0))
        return "key: a string of 1 to 255 bytes is expected";
    if (is_file(job->kind) && !job->path)
        return "path: the name of a file of this node is expected";
    if (!whole(r, "size", 1, is_file(job->kind) ? JOB_MAX_FILE : WIRE_MAX_VALUE, &job->size))
        return "size: 1 to 16 MiB are expected";
    if (!whole(r, "seed", 0, INT64_MAX, &job->seed))
        return "seed: a whole number is expected";
    if (!whole(r, "block_size", 1, WIRE_MAX_VALUE, &job->block_size))
        return "block_size: 1 to 16 MiB are expected";
    if (!whole(r, "timeout_ms", 1, 3600000, &timeout_ms))
        return "timeout_ms: 1 to 3600000 is expected";
    if ((job->kind == JOB_PUT || job->kind == JOB_GET_FILE ||
         (job->kind == JOB_GET && job->has_seed)) &&
        job->size == 0)
        return "size: it is missing";
    job->timeout = timeout_ms ? timeout_ms * 1000000u : c->config.timeout;
    return NULL;
}

static void refuse(struct client *c, json_t *request, const char *op, enum fabric_error error,
                   const char *detail)
{
    char class[80];
    client_class(c, error, WIRE_WAY_TCP, class);
    json_t *answer = json_pack("{s:s, s:b, s:s, s:s, s:s}", "op", op, "ok", 0, "error",
                               error_name(error), "detail", detail, "class", class);
    json_t *id = json_object_get(request, "id");
    if (answer && id)
        json_object_set(answer, "id", id);
    client_report(c, answer);
    json_decref(request);
}

static void begin(struct client *c, json_t *request, enum job_kind kind)
{
    uint32_t slot = 0;
    while (slot < CLIENT_JOBS && c->jobs[slot])
        slot++;
    struct client_job *job = slot < CLIENT_JOBS ? calloc(1, sizeof *job) : NULL;
    if (!job) {
        refuse(c, request, kind_names[kind], ERR_QUEUE_FULL, "too many commands are under way");
        return;
    }
    *job = (struct client_job){
        .slot = slot, .request = request, .kind = kind, .op = kind_names[kind], .blocks = 1};
    const char *problem = read_request(c, job);
    if (problem) {
        refuse(c, request, job->op, ERR_INVALID_ARGUMENT, problem);
        free(job);
        return;
    }
    c->jobs[slot] = job;
    job->stage = JOB_RUNNING;
    if (kind == JOB_PUT_FILE || kind == JOB_VERIFY_FILE)
        job_file_begin(c, job);
    if (kind != JOB_GET_FILE)
        return;
    job->length = job->size;
    job->blocks = (uint32_t)((job->length + job->block_size - 1) / job->block_size);
    job->data = malloc((size_t)job->length);
    if (!job->data) {
        job_fail(job, ERR_RESOURCES_EXHAUSTED, "no memory for the file");
        job->stage = JOB_FINISHED;
    }
}

void client_command(struct client *c, const char *json)
{
    assert(c && json);
    json_error_t where;
    json_t *request = json_loads(json, JSON_REJECT_DUPLICATES, &where);
    const char *op = json_string_value(json_object_get(request, "op"));
    if (!request || !op) {
        refuse(c, request, "", ERR_INVALID_ARGUMENT,
               request ? "op: it is missing" : "the command is no JSON object");
        return;
    }
    for (unsigned i = 0; i < JOB_KIND_COUNT; i++) {
        if (strcmp(op, kind_names[i]) == 0) {
            begin(c, request, (enum job_kind)i);
            return;
        }
    }
    if (strcmp(op, "status") != 0) {
        char detail[128];
        const char *near = nearest_name(op, kind_names, sizeof kind_names / sizeof kind_names[0]);
        snprintf(detail, sizeof detail, "unknown command%s%s%s", near ? "; did you mean '" : "",
                 near ? near : "", near ? "'?" : "");
        refuse(c, request, op, ERR_NOT_SUPPORTED, detail);
        return;
    }
    json_t *answer = client_status(c);
    json_t *id = json_object_get(request, "id");
    if (answer && id)
        json_object_set(answer, "id", id);
    client_report(c, answer);
    json_decref(request);
}

/* ------------------------------------------------------------------ its operations */

static enum wire_type type_of(enum job_kind kind)
{
    switch (kind) {
    case JOB_PUT:
    case JOB_PUT_FILE:
        return WIRE_PUT;
    case JOB_EXISTS:
        return WIRE_EXISTS;
    case JOB_DELETE:
        return WIRE_DELETE;
    default:
        return WIRE_GET;
    }
}

static uint32_t block_length(const struct client_job *job, uint32_t block)
{
    if (!is_file(job->kind))
        return job->size ? (uint32_t)job->size : ROOM_UNKNOWN;
    uint64_t left = job->length - block * job->block_size;
    return (uint32_t)(left < job->block_size ? left : job->block_size);
}

/* False when every position is in use. */
static bool start_operation(struct client *c, struct client_job *job)
{
    enum wire_type type = type_of(job->kind);
    bool data = type == WIRE_PUT || type == WIRE_GET;
    uint32_t length = block_length(job, job->next);
    struct client_operation *op = client_operation_new(c, type, data ? length : 0);
    if (!op)
        return false;
    char key[WIRE_MAX_KEY + 16];
    if (is_file(job->kind))
        snprintf(key, sizeof key, "%s#%u", job->key, job->next);
    else
        snprintf(key, sizeof key, "%s", job->key);
    op->key_length = (uint8_t)strlen(key);
    memcpy(op->key, key, op->key_length);
    op->job = job->slot;
    op->block = job->next++;
    if (type == WIRE_PUT) {
        op->length = length;
        if (is_file(job->kind))
            memcpy(op->buffer->memory, job->data + op->block * job->block_size, length);
        else
            job_fill(op->buffer->memory, length, job->seed);
    }
    job->under_way++;
    client_operation_start(c, op, job->timeout);
    return true;
}

/* Compares what came with what is expected; the first byte that differs, if any. */
static void compare(struct client_job *job, const struct client_operation *op,
                    const uint8_t *expected, uint64_t length)
{
    uint64_t base = is_file(job->kind) ? op->block * job->block_size : 0;
    uint64_t common = op->length < length ? op->length : length, at = 0;
    const uint8_t *found = op->buffer->memory;
    while (at < common && found[at] == expected[at])
        at++;
    if (at == common && op->length == length)
        return;
    if (!job->differs || base + at < job->differs_at)
        job->differs_at = base + at;
    job->differs = true;
}

static void take_contents(struct client_job *job, const struct client_operation *op)
{
    uint64_t expected = block_length(job, op->block);
    uint8_t *data = job->data ? job->data + op->block * job->block_size : NULL;
    if (job->kind == JOB_VERIFY_FILE && !PLANTED(client_verify_blind)) {
        compare(job, op, data, expected);
    } else if (job->kind == JOB_GET && job->has_seed) {
        uint8_t *made = malloc((size_t)expected);
        if (!made) {
            job_fail(job, ERR_RESOURCES_EXHAUSTED, "no memory to compare with");
            return;
        }
        job_fill(made, expected, job->seed);
        compare(job, op, made, expected);
        free(made);
    } else if (job->kind == JOB_GET_FILE) {
        if (op->length == expected)
            memcpy(data, op->buffer->memory, (size_t)expected);
        else
            job_fail(job, ERR_BUFFER_TOO_SMALL, "a block has another length");
    }
}

/* Exists and delete move no data; they count as what data would have used. */
static void note_way(const struct client *c, struct client_job *job,
                     const struct client_operation *op)
{
    bool data = op->type == WIRE_PUT || op->type == WIRE_GET;
    bool tcp = c->config.transport == CONFIG_TRANSPORT_TCP || c->peers[op->peer].fell_back;
    bool rc = data ? op->way == WIRE_WAY_RC : !tcp;
    job->used_rc = job->used_rc || rc;
    job->used_tcp = job->used_tcp || !rc;
}

void client_job_operation(struct client *c, struct client_operation *op)
{
    assert(c && op && op->state == CLIENT_DONE);
    struct client_job *job = c->jobs[op->job];
    assert(job && job->under_way > 0);
    job->under_way--;
    if (op->error) {
        job_fail(job, op->error, op->detail);
    } else {
        job->found = op->found;
        if (op->type == WIRE_PUT || op->type == WIRE_GET)
            job->bytes += op->length;
        note_way(c, job, op);
        if (op->type == WIRE_GET)
            take_contents(job, op);
    }
    op->state = CLIENT_FREE;
}

/* ------------------------------------------------------------------ its report */

static void job_free(struct client *c, struct client_job *job)
{
    c->jobs[job->slot] = NULL;
    json_decref(job->request);
    if (job->io_pending && job->data && !PLANTED(client_lent_buffer_freed))
        fabric_leave(c->fabric, job->data, free); /* storage still has it */
    else
        free(job->data);
    free(job);
}

static void report_contents(const struct client_job *job, json_t *answer)
{
    bool compared = job->kind == JOB_VERIFY_FILE || (job->kind == JOB_GET && job->has_seed);
    if (compared && (!job->error || job->differs)) {
        json_object_set_new(answer, "equal", json_boolean(!job->differs));
        if (job->differs)
            json_object_set_new(answer, "offset", json_integer((json_int_t)job->differs_at));
    }
    if (is_file(job->kind))
        json_object_set_new(answer, "blocks", json_integer(job->blocks));
    if (job->kind == JOB_EXISTS && !job->error)
        json_object_set_new(answer, "found", json_boolean(job->found));
}

static void report_job(struct client *c, struct client_job *job)
{
    char class[80];
    bool ok = !job->error && !job->differs;
    client_class(c, job->error, job->used_tcp ? WIRE_WAY_TCP : WIRE_WAY_RC, class);
    if (job->differs)
        snprintf(class, sizeof class, "corrupted");
    json_t *answer = json_pack("{s:s, s:b, s:s, s:I}", "op", job->op, "ok", (int)ok, "class", class,
                               "bytes", (json_int_t)job->bytes);
    json_t *id = json_object_get(job->request, "id");
    if (id)
        json_object_set(answer, "id", id);
    bool data = job->kind != JOB_EXISTS && job->kind != JOB_DELETE;
    if (data && (job->used_rc || job->used_tcp))
        json_object_set_new(answer, "transport",
                            json_string(job->used_rc && job->used_tcp ? "mixed"
                                        : job->used_rc                ? "rc"
                                                                      : "tcp"));
    if (job->error) {
        json_object_set_new(answer, "error", json_string(error_name(job->error)));
        json_object_set_new(
            answer, "detail",
            json_string(job->detail[0] ? job->detail : error_info(job->error)->text));
    }
    report_contents(job, answer);
    client_report(c, answer);
    job_free(c, job);
}

bool client_job_step(struct client *c, uint32_t slot)
{
    assert(c && slot < CLIENT_JOBS);
    struct client_job *job = c->jobs[slot];
    if (!job)
        return false;
    if (job->stage == JOB_FINISHED) {
        report_job(c, job);
        return true;
    }
    if (job->stage != JOB_RUNNING)
        return false;
    if (!job->error && job->next < job->blocks)
        return job->under_way < JOB_PARALLEL && start_operation(c, job);
    if (job->under_way)
        return false;
    if (job->kind == JOB_GET_FILE && !job->error)
        job_file_end(c, job);
    else
        job->stage = JOB_FINISHED;
    return true;
}

void client_job_io(struct client *c, const struct fabric_io_done *done)
{
    assert(c && done);
    struct client_job *job = c->jobs[client_cookie_slot(done->cookie)];
    if (job && job->io_pending)
        job_file_io(c, job, done);
}

void client_jobs_free(struct client *c)
{
    assert(c);
    for (uint32_t i = 0; i < CLIENT_JOBS; i++) {
        if (c->jobs[i])
            job_free(c, c->jobs[i]);
    }
}
