/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/client/job.h"
#include "src/fabric/planted.h"

#define PAGE 4096u
#define LINE 256u      /* bytes of made contents that one hash begins */
#define UNTOUCHED 0xa5 /* what a buffer holds before a get whose contents nobody knows */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* The same bytes on every machine. */
static void put_word(uint8_t to[8], uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(to, &word, sizeof word);
#else
    for (unsigned i = 0; i < 8; i++)
        to[i] = (uint8_t)(word >> (8 * i));
#endif
}

static void fill_line(uint8_t line[LINE], uint64_t at, uint64_t seed)
{
    uint8_t place[8];
    put_word(place, at);
    uint64_t word = XXH3_64bits_withSeed(place, sizeof place, seed);
    for (size_t i = 0; i < LINE; i += 8, word += STEP)
        put_word(line + i, word);
}

/* Every line begins with a hash of its place and goes on by a step that is odd, so that no line,
 * and no word of a line, is like another. */
void job_fill(uint8_t *data, uint64_t length, uint64_t seed)
{
    assert(data || length == 0);
    uint64_t at = 0;
    for (; length - at >= LINE; at += LINE)
        fill_line(data + at, at, seed);
    if (at == length)
        return;
    uint8_t line[LINE];
    fill_line(line, at, seed);
    memcpy(data + at, line, (size_t)(length - at));
}

/* ------------------------------------------------------------------ buffers */

static void buffer_empty(struct program *p, struct job_buffer *b)
{
    if (b->memory)
        client_memory_unregister(p->client, b->memory);
    free(b->data);
    *b = (struct job_buffer){.taken = b->taken};
}

/* At least `size` bytes, registered with the client. False without memory. */
static bool reserve(struct program *p, struct job_buffer *b, uint64_t size)
{
    uint64_t larger = b->size ? b->size : PAGE;
    if (size <= b->size)
        return true;
    while (larger < size)
        larger *= 2;
    buffer_empty(p, b);
    b->data = aligned_alloc(PAGE, (size_t)larger);
    b->size = b->data ? larger : 0;
    if (b->data && client_memory_register(p->client, b->data, larger, &b->memory) == FABRIC_OK)
        return true;
    buffer_empty(p, b);
    return false;
}

/* queue_full when every one is in use. */
static enum fabric_error buffer_take(struct program *p, uint64_t size, struct job_buffer **out)
{
    for (uint32_t i = 0; i < PROGRAM_BUFFERS; i++) {
        struct job_buffer *b = &p->buffers[i];
        if (b->taken)
            continue;
        if (!reserve(p, b, size ? size : 1))
            return PLANTED(client_no_memory_waits) ? ERR_QUEUE_FULL : ERR_RESOURCES_EXHAUSTED;
        b->taken = true;
        *out = b;
        return FABRIC_OK;
    }
    return ERR_QUEUE_FULL;
}

/* ------------------------------------------------------------------ requests */

static enum client_kind kind_of(enum job_kind kind)
{
    switch (kind) {
    case JOB_PUT:
    case JOB_PUT_MANY:
    case JOB_PUT_FILE:
        return CLIENT_PUT;
    case JOB_EXISTS:
    case JOB_EXISTS_MANY:
        return CLIENT_EXISTS;
    case JOB_DELETE:
        return CLIENT_DELETE;
    default:
        return CLIENT_GET;
    }
}

/* Bytes of one block: what is put or expected, or the room of a get. */
static uint64_t block_length(const struct client_job *job, uint32_t block)
{
    if (!job_is_file(job))
        return job->size;
    uint64_t left = job->length - block * job->block_size;
    return left < job->block_size ? left : job->block_size;
}

/* The key of a block; `room` has space for the longest. */
static const char *key_of(const struct client_job *job, uint32_t block, char *room, size_t size)
{
    const json_t *keys = json_object_get(job->request, "keys");
    if (job_is_batch(job) && keys)
        return json_string_value(json_array_get(keys, block));
    if (!job_is_file(job) && !job_is_batch(job))
        return job->key;
    snprintf(room, size, "%s#%u", job->key, block);
    return room;
}

static struct client_request request_of(const struct client_job *job, uint32_t block,
                                        const char *key)
{
    return (struct client_request){.kind = kind_of(job->kind),
                                   .prefix = job->prefix,
                                   .key = key,
                                   .key_length = strlen(key),
                                   .length = block_length(job, block),
                                   .timeout = job->timeout,
                                   .cookie = (uint64_t)job->slot << 32 | block};
}

static void fill_block(const struct client_job *job, uint32_t block, uint8_t *data)
{
    uint64_t length = block_length(job, block);
    if (job_is_file(job))
        memcpy(data, job->data + block * job->block_size, (size_t)length);
    else
        job_fill(data, length, job->seed + block);
}

static enum fabric_error submit_one(struct program *p, struct client_job *job,
                                    struct job_part *part)
{
    char room[CLIENT_MAX_KEY + 16];
    struct client_request r = request_of(job, job->next, key_of(job, job->next, room, sizeof room));
    bool data = r.kind == CLIENT_PUT || r.kind == CLIENT_GET;
    uint64_t length = data && r.length <= CLIENT_MAX_VALUE ? r.length : 0; /* else it is refused */
    enum fabric_error error = buffer_take(p, length, &part->buffer);
    if (error)
        return error;
    part->block = job->next;
    r.data = part->buffer->data;
    r.memory = part->buffer->memory;
    if (r.kind == CLIENT_PUT && length)
        fill_block(job, job->next, r.data);
    else if (job->kind == JOB_GET && !job->has_seed)
        memset(r.data, UNTOUCHED, (size_t)length);
    error = client_submit(p->client, &r, 1, NULL);
    if (error) {
        part->buffer->taken = false;
        part->buffer = NULL;
    }
    return error;
}

/* False when it has to wait: every buffer or every place for a request is in use. */
static bool run_one(struct program *p, struct client_job *job)
{
    struct job_part *part = job->parts;
    while (part->buffer)
        part++;
    assert(part < job->parts + JOB_PARALLEL);
    enum fabric_error error = submit_one(p, job, part);
    if (error == ERR_QUEUE_FULL)
        return false;
    if (error) {
        job_fail(job, error, "no memory for the request");
        return true;
    }
    job->next++;
    job->under_way++;
    return true;
}

/* What is put is made once, however often the batch has to wait. */
static bool batch_contents(struct program *p, struct client_job *job)
{
    if (job->kind == JOB_EXISTS_MANY)
        return true;
    if (!reserve(p, &job->batch, job->blocks * job->size))
        return false;
    for (uint32_t i = 0; job->kind == JOB_PUT_MANY && !job->filled && i < job->blocks; i++)
        fill_block(job, i, job->batch.data + i * job->size);
    job->filled = !PLANTED(client_batch_refilled);
    return true;
}

static enum fabric_error submit_batch(struct program *p, struct client_job *job)
{
    struct client_request *requests = calloc(job->blocks, sizeof *requests);
    char(*keys)[CLIENT_MAX_KEY + 16] = calloc(job->blocks, sizeof *keys);
    bool ok = requests && keys && batch_contents(p, job);
    for (uint32_t i = 0; ok && i < job->blocks; i++) {
        requests[i] = request_of(job, i, key_of(job, i, keys[i], sizeof keys[i]));
        requests[i].data = job->batch.data ? job->batch.data + i * job->size : NULL;
        requests[i].memory = job->batch.memory;
    }
    enum fabric_error error = ERR_RESOURCES_EXHAUSTED;
    if (ok)
        error = client_submit(p->client, requests, job->blocks, NULL);
    free(requests);
    free(keys);
    return error;
}

/* All keys in one submission. False when not so many can be open now. */
static bool run_batch(struct program *p, struct client_job *job)
{
    enum fabric_error error = submit_batch(p, job);
    if (error == ERR_QUEUE_FULL)
        return false;
    if (!error) {
        job->next = job->under_way = job->blocks;
        return true;
    }
    job_fail(job, error, "no memory for the batch");
    if (!PLANTED(client_batch_stays_registered))
        buffer_empty(p, &job->batch);
    return true;
}

bool job_run(struct program *p, struct client_job *job)
{
    assert(p && job && job->stage == JOB_RUNNING);
    if (job_is_batch(job))
        return run_batch(p, job);
    return job->under_way < JOB_PARALLEL && run_one(p, job);
}

/* ------------------------------------------------------------------ completions */

/* Compares what came with what is expected; the first byte that differs, if any. */
static void compare(struct client_job *job, uint32_t block, const uint8_t *found, uint64_t length,
                    const uint8_t *expected)
{
    uint64_t base = job_is_file(job) ? block * job->block_size : block * job->size;
    uint64_t whole = block_length(job, block);
    uint64_t common = length < whole ? length : whole, at = 0;
    if (length == whole && memcmp(found, expected, (size_t)whole) == 0)
        return;
    while (at < common && found[at] == expected[at])
        at++;
    if (!job->differs || base + at < job->differs_at)
        job->differs_at = base + at;
    job->differs = true;
}

static void compare_made(struct client_job *job, uint32_t block, const uint8_t *found,
                         uint64_t length)
{
    uint64_t expected = block_length(job, block);
    uint8_t *made = malloc((size_t)expected);
    if (!made) {
        job_fail(job, ERR_RESOURCES_EXHAUSTED, "no memory to compare with");
        return;
    }
    if (job->has_or_seed)
        job_fill(made, expected, job->or_seed + block);
    bool other = job->has_or_seed && length == expected &&
                 (PLANTED(client_or_seed_blind) || memcmp(found, made, (size_t)length) == 0);
    if (!other) {
        job_fill(made, expected, job->seed + block);
        compare(job, block, found, length, made);
    }
    free(made);
}

static void take_contents(struct client_job *job, uint32_t block, const uint8_t *found,
                          uint64_t length)
{
    uint8_t *data = job->data ? job->data + block * job->block_size : NULL;
    bool get = job->kind == JOB_GET || job->kind == JOB_GET_MANY;
    if (job->kind == JOB_VERIFY_FILE && !PLANTED(client_verify_blind))
        compare(job, block, found, length, data);
    else if (get && job->has_seed)
        compare_made(job, block, found, length);
    else if (job->kind == JOB_GET_FILE && length == block_length(job, block))
        memcpy(data, found, (size_t)length);
    else if (job->kind == JOB_GET_FILE)
        job_fail(job, ERR_BUFFER_TOO_SMALL, "a block has another length");
}

static struct job_part *part_of(struct client_job *job, uint32_t block)
{
    for (uint32_t i = 0; i < JOB_PARALLEL; i++) {
        if (job->parts[i].buffer && job->parts[i].block == block)
            return &job->parts[i];
    }
    return NULL;
}

static bool untouched(const uint8_t *data, uint64_t length)
{
    for (uint64_t i = 0; i < length; i++) {
        if (data[i] != UNTOUCHED)
            return false;
    }
    return true;
}

static void take_result(struct client_job *job, uint32_t block,
                        const struct client_completion *done, const uint8_t *data)
{
    job->found = done->found;
    job->found_count += done->found && !done->error;
    if (job_is_batch(job)) {
        job->results[block] = done->error;
        job->founds[block] = done->found;
    }
    if (done->error) {
        job->needed = job->error ? job->needed : done->length;
        if (job->kind == JOB_GET && done->error == ERR_BUFFER_TOO_SMALL)
            job->written = !job->has_seed && !untouched(data, job->size);
        job_fail(job, done->error, done->detail);
        return;
    }
    job->bytes += done->length;
    job->used[done->transport] = true;
    if (done->kind == CLIENT_GET)
        take_contents(job, block, data, done->length);
}

void job_complete(struct program *p, struct client_job *job, const struct client_completion *done)
{
    assert(p && job && done && job->under_way > 0);
    uint32_t block = (uint32_t)done->cookie;
    struct job_part *part = part_of(job, block);
    job->under_way--;
    if (job_is_batch(job)) {
        take_result(job, block, done, job->batch.data ? job->batch.data + block * job->size : NULL);
        if (job->under_way == 0)
            buffer_empty(p, &job->batch);
        return;
    }
    assert(part);
    take_result(job, block, done, part->buffer->data);
    part->buffer->taken = false;
    part->buffer = NULL;
}
