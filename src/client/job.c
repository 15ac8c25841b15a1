/* SPDX-License-Identifier: Apache-2.0 */
#include "src/client/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/fabric/planted.h"

#define ROOM_UNKNOWN (2u * 1024u * 1024u) /* of a get that names no size */

static const char *const kind_names[] = {"put",         "get",      "exists",      "delete",
                                         "put_many",    "get_many", "exists_many", "put_file",
                                         "verify_file", "get_file", "status"};

void job_fail(struct client_job *job, enum fabric_error error, const char *detail)
{
    assert(job && error && detail);
    if (job->error)
        return; /* the first one is the cause */
    job->error = error;
    snprintf(job->detail, sizeof job->detail, "%s", detail);
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

bool job_is_file(const struct client_job *job)
{
    assert(job);
    return job->kind >= JOB_PUT_FILE;
}

bool job_is_batch(const struct client_job *job)
{
    assert(job);
    return job->kind >= JOB_PUT_MANY && job->kind <= JOB_EXISTS_MANY;
}

/* A batch names its keys, or how many there are of one: k#0, k#1, ... */
static const char *read_keys(struct client_job *job)
{
    const json_t *keys = json_object_get(job->request, "keys");
    uint64_t count = json_array_size(keys);
    if (!keys && (!job->key || !*job->key || strlen(job->key) > CLIENT_MAX_KEY - 12))
        return "key: a string of 1 to 243 bytes is expected, or keys";
    if (!keys && !whole(job->request, "count", 1, JOB_MAX_KEYS, &count))
        return "count: 1 to 1000 is expected";
    if (count == 0 || count > JOB_MAX_KEYS)
        return "keys: 1 to 1000 of them are expected, or key and count";
    for (size_t i = 0; keys && i < count; i++) {
        if (!json_is_string(json_array_get(keys, i)))
            return "keys: found something else than a string";
    }
    job->blocks = (uint32_t)count;
    if (job->kind == JOB_EXISTS_MANY)
        return NULL;
    if (job->size == 0 || job->size > JOB_MAX_BATCH / count)
        return "size: of each value; 1 byte to 64 MiB in all are expected";
    return NULL;
}

/* What is wrong with the sizes; null when nothing is. The limits of a value are the client's. */
static const char *read_sizes(struct client_job *job)
{
    const json_t *r = job->request;
    uint64_t most = job_is_file(job) ? JOB_MAX_FILE : INT64_MAX;
    bool sized = json_object_get(r, "size") != NULL;
    if (!whole(r, "size", job_is_file(job) ? 1 : 0, most, &job->size))
        return "size: a number of bytes is expected";
    if (!whole(r, "seed", 0, INT64_MAX, &job->seed))
        return "seed: a whole number is expected";
    if (!whole(r, "or_seed", 0, INT64_MAX, &job->or_seed) || (job->has_or_seed && !job->has_seed))
        return "or_seed: a whole number beside seed is expected";
    if (!whole(r, "block_size", 1, CLIENT_MAX_VALUE, &job->block_size))
        return "block_size: 1 to 16 MiB are expected";
    if ((job->kind == JOB_PUT || job->kind == JOB_GET_FILE ||
         (job->kind == JOB_GET && job->has_seed)) &&
        !sized)
        return "size: it is missing";
    if (job->kind == JOB_GET && !sized)
        job->size = ROOM_UNKNOWN;
    return NULL;
}

/* What is wrong with the request; null when nothing is. */
static const char *read_request(const struct program *p, struct client_job *job)
{
    const json_t *r = job->request;
    uint64_t timeout_ms = 0;
    job->key = json_string_value(json_object_get(r, "key"));
    job->path = json_string_value(json_object_get(r, "path"));
    job->prefix = json_string_value(json_object_get(r, "namespace"));
    job->block_size = 65536;
    job->has_seed = json_object_get(r, "seed") != NULL;
    job->has_or_seed = json_object_get(r, "or_seed") != NULL;
    if (!job->key && !job_is_batch(job))
        return "key: a string of 1 to 255 bytes is expected";
    if (job_is_file(job) && (!*job->key || strlen(job->key) > CLIENT_MAX_KEY - 12))
        return "key: a string of 1 to 243 bytes is expected";
    if (job_is_file(job) && !job->path)
        return "path: the name of a file of this node is expected";
    if (!whole(r, "timeout_ms", 1, 3600000, &timeout_ms))
        return "timeout_ms: 1 to 3600000 is expected";
    job->timeout = timeout_ms ? timeout_ms * 1000000u : p->timeout;
    const char *problem = read_sizes(job);
    return problem || !job_is_batch(job) ? problem : read_keys(job);
}

static void refuse(struct program *p, json_t *request, const char *op, enum fabric_error error,
                   const char *detail)
{
    char class[CLIENT_CLASS];
    client_class(p->client, error, CLIENT_OVER_TCP, class);
    json_t *answer = json_pack("{s:s, s:b, s:s, s:s, s:s}", "op", op, "ok", 0, "error",
                               error_name(error), "detail", detail, "class", class);
    json_t *id = json_object_get(request, "id");
    if (answer && id)
        json_object_set(answer, "id", id);
    program_report(p, answer);
    json_decref(request);
}

static void begin(struct program *p, json_t *request, enum job_kind kind)
{
    uint32_t slot = 0;
    while (slot < PROGRAM_JOBS && p->jobs[slot])
        slot++;
    struct client_job *job = slot < PROGRAM_JOBS ? calloc(1, sizeof *job) : NULL;
    if (!job) {
        refuse(p, request, kind_names[kind], ERR_QUEUE_FULL, "too many commands are under way");
        return;
    }
    *job = (struct client_job){
        .slot = slot, .request = request, .kind = kind, .op = kind_names[kind], .blocks = 1};
    const char *problem = read_request(p, job);
    if (problem) {
        refuse(p, request, job->op, ERR_INVALID_ARGUMENT, problem);
        free(job);
        return;
    }
    p->jobs[slot] = job;
    job->stage = JOB_RUNNING;
    if (job_is_batch(job)) {
        job->results = calloc(job->blocks, sizeof *job->results);
        job->founds = calloc(job->blocks, sizeof *job->founds);
        if (!job->results || !job->founds)
            job_fail(job, ERR_RESOURCES_EXHAUSTED, "no memory for the results");
    }
    if (kind == JOB_PUT_FILE || kind == JOB_VERIFY_FILE)
        job_file_begin(p, job);
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

void program_command(struct program *p, const char *json)
{
    assert(p && json);
    json_error_t where;
    json_t *request = json_loads(json, JSON_REJECT_DUPLICATES, &where);
    const char *op = json_string_value(json_object_get(request, "op"));
    if (!request || !op) {
        refuse(p, request, "", ERR_INVALID_ARGUMENT,
               request ? "op: it is missing" : "the command is no JSON object");
        return;
    }
    for (unsigned i = 0; i < JOB_KIND_COUNT; i++) {
        if (strcmp(op, kind_names[i]) == 0) {
            begin(p, request, (enum job_kind)i);
            return;
        }
    }
    if (strcmp(op, "status") != 0) {
        char detail[128];
        const char *near = nearest_name(op, kind_names, sizeof kind_names / sizeof kind_names[0]);
        snprintf(detail, sizeof detail, "unknown command%s%s%s", near ? "; did you mean '" : "",
                 near ? near : "", near ? "'?" : "");
        refuse(p, request, op, ERR_NOT_SUPPORTED, detail);
        return;
    }
    json_t *answer = client_status(p->client);
    json_t *id = json_object_get(request, "id");
    if (answer && id)
        json_object_set(answer, "id", id);
    program_report(p, answer);
    json_decref(request);
}

/* ------------------------------------------------------------------ its report */

static void job_free(struct program *p, struct client_job *job)
{
    p->jobs[job->slot] = NULL;
    json_decref(job->request);
    if (job->io_pending && job->data && !PLANTED(client_lent_buffer_freed))
        fabric_leave(p->fabric, job->data, free); /* storage still has it */
    else
        free(job->data);
    free(job->batch.data);
    free(job->results);
    free(job->founds);
    free(job);
}

/* Of each key: "ok" or the error's name; of exists_many whether it is there. */
static void report_batch(const struct client_job *job, json_t *answer)
{
    json_t *results = json_array(), *founds = json_array();
    for (uint32_t i = 0; i < job->blocks && job->results && job->founds; i++) {
        json_array_append_new(results, json_string(error_name(job->results[i])));
        json_array_append_new(founds, json_boolean(job->founds[i]));
    }
    json_object_set_new(answer, "keys", json_integer(job->blocks));
    json_object_set_new(answer, "results", results);
    if (job->kind == JOB_EXISTS_MANY) {
        json_object_set(answer, "found", founds);
        json_object_set_new(answer, "found_count", json_integer(job->found_count));
    }
    json_decref(founds);
}

static void report_contents(const struct client_job *job, json_t *answer)
{
    bool get = job->kind == JOB_GET || job->kind == JOB_GET_MANY;
    bool compared = job->kind == JOB_VERIFY_FILE || (get && job->has_seed);
    if (compared && (!job->error || job->differs)) {
        json_object_set_new(answer, "equal", json_boolean(!job->differs));
        if (job->differs)
            json_object_set_new(answer, "offset", json_integer((json_int_t)job->differs_at));
    }
    if (job_is_file(job))
        json_object_set_new(answer, "blocks", json_integer(job->blocks));
    if (job->kind == JOB_EXISTS && !job->error)
        json_object_set_new(answer, "found", json_boolean(job->found));
    if (job->error == ERR_BUFFER_TOO_SMALL) {
        json_object_set_new(answer, "needed", json_integer((json_int_t)job->needed));
        if (job->kind == JOB_GET && !job->has_seed)
            json_object_set_new(answer, "written", json_boolean(job->written));
    }
    if (job_is_batch(job))
        report_batch(job, answer);
}

/* What moved its data; null when nothing did. */
static const char *transport_of(const struct client_job *job)
{
    const char *all = NULL;
    for (int i = CLIENT_OVER_TCP; i <= CLIENT_OVER_DC; i++) {
        if (!job->used[i])
            continue;
        if (all)
            return "mixed";
        all = client_transport_name((enum client_transport)i);
    }
    return all;
}

static void report_job(struct program *p, struct client_job *job)
{
    char class[CLIENT_CLASS];
    bool ok = !job->error && !job->differs;
    client_class(p->client, job->error,
                 job->used[CLIENT_OVER_TCP] ? CLIENT_OVER_TCP : CLIENT_OVER_RC, class);
    if (job->differs)
        snprintf(class, sizeof class, "corrupted");
    json_t *answer = json_pack("{s:s, s:b, s:s, s:I}", "op", job->op, "ok", (int)ok, "class", class,
                               "bytes", (json_int_t)job->bytes);
    json_t *id = json_object_get(job->request, "id");
    if (id)
        json_object_set(answer, "id", id);
    bool data = job->kind != JOB_EXISTS && job->kind != JOB_DELETE && job->kind != JOB_EXISTS_MANY;
    const char *transport = data ? transport_of(job) : NULL;
    if (transport)
        json_object_set_new(answer, "transport", json_string(transport));
    if (job->error) {
        json_object_set_new(answer, "error", json_string(error_name(job->error)));
        json_object_set_new(
            answer, "detail",
            json_string(job->detail[0] ? job->detail : error_info(job->error)->text));
    }
    report_contents(job, answer);
    program_report(p, answer);
    job_free(p, job);
}

/* True when something was done. */
static bool job_step(struct program *p, struct client_job *job)
{
    if (job->stage == JOB_FINISHED) {
        report_job(p, job);
        return true;
    }
    if (job->stage != JOB_RUNNING)
        return false;
    if (!job->error && job->next < job->blocks)
        return job_run(p, job);
    if (job->under_way)
        return false;
    if (job->kind == JOB_GET_FILE && !job->error)
        job_file_end(p, job);
    else
        job->stage = JOB_FINISHED;
    return true;
}

static bool take_completions(struct program *p)
{
    struct client_completion done;
    bool any = false;
    while (client_completions(p->client, &done, 1) == 1) {
        job_complete(p, p->jobs[done.cookie >> 32], &done);
        any = true;
    }
    return any;
}

void program_turn(struct program *p)
{
    assert(p);
    for (bool progress = true; progress;) {
        progress = take_completions(p);
        for (uint32_t i = 0; i < PROGRAM_JOBS; i++)
            progress = (p->jobs[i] && job_step(p, p->jobs[i])) || progress;
    }
}

void program_job_io(struct program *p, const struct fabric_io_done *done)
{
    assert(p && done);
    uint64_t slot = done->cookie & ~CLIENT_CALLER_COOKIE;
    struct client_job *job = slot < PROGRAM_JOBS ? p->jobs[slot] : NULL;
    if (job && job->io_pending)
        job_file_io(p, job, done);
}

void program_jobs_free(struct program *p)
{
    assert(p);
    for (uint32_t i = 0; i < PROGRAM_JOBS; i++) {
        if (p->jobs[i])
            job_free(p, p->jobs[i]);
    }
    for (uint32_t i = 0; i < PROGRAM_BUFFERS; i++)
        free(p->buffers[i].data);
}
