/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/queue.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/error.h"
#include "lib/options.h"
#include "src/client/api.h"
#include "src/fabric/planted.h"
#include "src/fabric/seam.h"

#define EVENTS_AT_ONCE 64
#define COMPLETIONS_AT_ONCE 16
#define LONGEST (UINT64_C(1) << 62) /* ns: a timeout that can be added to any time */

_Static_assert(MEMKV_MAX_KEY == CLIENT_MAX_KEY, "the public header says what the client can do");
_Static_assert(MEMKV_MAX_VALUE == CLIENT_MAX_VALUE,
               "the public header says what the client can do");
_Static_assert(MEMKV_MAX_OPEN == CLIENT_OPERATIONS,
               "the public header says what the client can do");

struct memkv_memory {
    struct memkv_queue *queue;
    struct client_memory *inner;
    const uint8_t *data;
    size_t length;
    uint32_t users; /* open requests in it */
    struct memkv_memory *next, **link;
};

/* An open request. The client's cookie is its position. */
struct slot {
    uint64_t cookie; /* the user's */
    struct memkv_memory *memory;
    uint32_t next_free;
};

struct memkv_queue {
    pid_t owner; /* the process that opened it */
    struct fabric *fabric;
    struct client *client;
    struct memkv_memory *memories;
    uint64_t timeout;
    uint32_t open, first_free;
    char prefix[MEMKV_MAX_KEY + 1];
    struct slot slots[MEMKV_MAX_OPEN];
    struct client_request scratch[MEMKV_MAX_OPEN]; /* of the submission under way */
};

/* ------------------------------------------------------------------ open and close */

static int start(struct memkv_queue *q, const struct lib_options *options,
                 struct memkv_error *error)
{
    q->owner = getpid();
    q->timeout = options->config.timeout;
    memcpy(q->prefix, options->prefix, sizeof q->prefix);
    for (uint32_t i = 0; i < MEMKV_MAX_OPEN; i++)
        q->slots[i].next_free = i + 1;
    enum fabric_error failed = os_fabric_create(&options->fabric, &q->fabric);
    if (failed)
        return lib_error_set(error, failed, NULL, NULL);
    failed = client_create(q->fabric, &options->config, NULL, &q->client);
    if (!failed)
        return lib_error_none(error);
    fabric_destroy(q->fabric);
    return lib_error_set(error, failed, NULL, NULL);
}

int memkv_queue_open(const struct memkv_options *options, struct memkv_queue **out,
                     struct memkv_error *error)
{
    struct lib_options read;
    assert(out);
    int code = lib_options_read(options, &read, error);
    struct memkv_queue *q = code ? NULL : calloc(1, sizeof *q);
    if (!code && !q)
        code = lib_error_set(error, ERR_RESOURCES_EXHAUSTED, NULL, NULL);
    if (!code)
        code = start(q, &read, error);
    OPENSSL_cleanse(&read, sizeof read);
    if (code) {
        free(q);
        return code;
    }
    *out = q;
    return MEMKV_OK;
}

static bool is_ours(const struct memkv_queue *q)
{
    return q->owner == getpid() || PLANTED(lib_child_goes_on);
}

void memkv_queue_close(struct memkv_queue *queue)
{
    if (!queue || !is_ours(queue))
        return; /* taking apart what the parent shares would take it from the parent */
    client_destroy(queue->client);
    fabric_destroy(queue->fabric);
    while (queue->memories) {
        struct memkv_memory *memory = queue->memories;
        queue->memories = memory->next;
        free(memory);
    }
    free(queue);
}

bool lib_queue_is_ours(const struct memkv_queue *queue, struct memkv_error *error)
{
    assert(queue);
    if (is_ours(queue))
        return true;
    char text[160];
    snprintf(text, sizeof text,
             "process %ld opened this client; process %ld is its child and opens one of its own",
             (long)queue->owner, (long)getpid());
    lib_error_set(error, ERR_INVALID_ARGUMENT, NULL, text);
    return false;
}

/* ------------------------------------------------------------------ requests */

static const char *wrong_with(const struct memkv_queue *q, const struct memkv_request *r)
{
    const bool moves = r->operation == MEMKV_PUT || r->operation == MEMKV_GET;
    if (r->operation < MEMKV_PUT || r->operation > MEMKV_DELETE)
        return "there is no such operation";
    if (!r->key && r->key_length)
        return "key is null, its length is not 0";
    if (moves && !r->data && r->length)
        return "data is null, its length is not 0";
    for (size_t i = 0; i < sizeof r->reserved / sizeof r->reserved[0]; i++) {
        if (r->reserved[i])
            return "a member that is reserved is not 0";
    }
    if (!moves || !r->memory || PLANTED(lib_memory_unchecked))
        return NULL;
    const struct memkv_memory *memory = r->memory;
    if (memory->queue != q)
        return "memory was registered with another client";
    const uint8_t *data = r->data;
    if (data < memory->data || r->length > memory->length ||
        (size_t)(data - memory->data) > memory->length - r->length)
        return "data is not inside its memory";
    return NULL;
}

bool lib_request_check(const struct memkv_queue *queue, const struct memkv_request *requests,
                       size_t count, struct memkv_error *error)
{
    assert(queue && (requests || !count));
    for (size_t i = 0; i < count; i++) {
        const char *wrong = wrong_with(queue, &requests[i]);
        if (!wrong)
            continue;
        char text[160];
        snprintf(text, sizeof text, "request %zu: %s", i, wrong);
        lib_error_set(error, ERR_INVALID_ARGUMENT, NULL, text);
        return false;
    }
    return true;
}

static void convert(struct memkv_queue *q, const struct memkv_request *r, uint32_t position,
                    struct client_request *out)
{
    static const enum client_kind kinds[] = {[MEMKV_PUT] = CLIENT_PUT,
                                             [MEMKV_GET] = CLIENT_GET,
                                             [MEMKV_EXISTS] = CLIENT_EXISTS,
                                             [MEMKV_DELETE] = CLIENT_DELETE};
    const bool moves = r->operation == MEMKV_PUT || r->operation == MEMKV_GET;
    *out = (struct client_request){.kind = kinds[r->operation],
                                   .prefix = q->prefix,
                                   .key = r->key ? r->key : "",
                                   .key_length = r->key_length,
                                   .timeout = r->timeout < LONGEST ? r->timeout : LONGEST,
                                   .cookie = position};
    if (!moves)
        return;
    out->data = r->data;
    out->length = r->length;
    out->memory = r->memory ? r->memory->inner : NULL;
}

/* Gives the slots to the requests, or back. */
static void take_slots(struct memkv_queue *q, const struct memkv_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct memkv_request *r = &requests[i];
        struct slot *slot = &q->slots[q->first_free];
        const bool moves = r->operation == MEMKV_PUT || r->operation == MEMKV_GET;
        convert(q, r, q->first_free, &q->scratch[i]);
        slot->cookie = r->cookie;
        slot->memory = moves ? r->memory : NULL;
        if (slot->memory)
            slot->memory->users++;
        q->first_free = slot->next_free;
        q->open++;
    }
}

static struct slot give_slot(struct memkv_queue *q, uint64_t position)
{
    assert(position < MEMKV_MAX_OPEN && q->open > 0);
    struct slot *slot = &q->slots[position], kept = *slot;
    if (slot->memory)
        slot->memory->users--;
    slot->next_free = q->first_free;
    q->first_free = (uint32_t)position;
    q->open--;
    return kept;
}

/* What is completed already must not wait for an event: it becomes one. */
static void tell_of_completions(struct memkv_queue *q)
{
    if (client_completed(q->client) && !PLANTED(lib_descriptor_silent))
        fabric_wake(q->fabric);
}

int memkv_queue_submit(struct memkv_queue *queue, const struct memkv_request *requests,
                       size_t count, uint64_t *ids, struct memkv_error *error)
{
    struct memkv_queue *q = queue;
    assert(q && (requests || !count));
    if (!lib_queue_is_ours(q, error) || !lib_request_check(q, requests, count, error))
        return MEMKV_ERR_INVALID_ARGUMENT;
    if (!count)
        return lib_error_set(error, ERR_INVALID_ARGUMENT, NULL, "there is no request");
    if (count > MEMKV_MAX_OPEN - q->open)
        return lib_error_set(error, ERR_QUEUE_FULL, NULL, NULL);
    take_slots(q, requests, count);
    enum fabric_error failed = client_submit(q->client, q->scratch, count, ids);
    for (size_t i = 0; failed && i < count; i++)
        give_slot(q, q->scratch[i].cookie);
    tell_of_completions(q);
    return failed ? lib_error_set(error, failed, NULL, NULL) : lib_error_none(error);
}

bool memkv_queue_cancel(struct memkv_queue *queue, uint64_t id)
{
    assert(queue);
    bool open = is_ours(queue) && client_cancel(queue->client, id);
    if (open)
        tell_of_completions(queue);
    return open;
}

/* ------------------------------------------------------------------ completions */

static void tell(struct memkv_queue *q, const struct client_completion *c,
                 struct memkv_completion *out)
{
    static const enum memkv_operation operations[] = {[CLIENT_PUT] = MEMKV_PUT,
                                                      [CLIENT_GET] = MEMKV_GET,
                                                      [CLIENT_EXISTS] = MEMKV_EXISTS,
                                                      [CLIENT_DELETE] = MEMKV_DELETE};
    memset(out, 0, offsetof(struct memkv_completion, error));
    memset(out->reserved, 0, sizeof out->reserved);
    out->cookie = give_slot(q, c->cookie).cookie;
    out->id = c->id;
    out->operation = operations[c->kind];
    out->found = c->found;
    out->length = c->length;
    out->server = c->server;
    if (c->server)
        out->transport = c->transport == CLIENT_OVER_TCP ? MEMKV_OVER_TCP : MEMKV_OVER_RDMA;
    if (c->error)
        lib_error_set(&out->error, c->error, c->server, c->detail);
    else
        lib_error_none(&out->error);
}

size_t lib_queue_completed(const struct memkv_queue *queue)
{
    return client_completed(queue->client);
}

size_t lib_queue_take(struct memkv_queue *queue, struct memkv_completion *out, size_t capacity)
{
    struct client_completion taken[COMPLETIONS_AT_ONCE];
    size_t count = 0, got = 1;
    while (got && count < capacity) {
        size_t room = capacity - count;
        got = client_completions(queue->client, taken,
                                 room < COMPLETIONS_AT_ONCE ? room : COMPLETIONS_AT_ONCE);
        for (size_t i = 0; i < got; i++)
            tell(queue, &taken[i], &out[count++]);
    }
    return count;
}

enum fabric_error lib_queue_work(struct memkv_queue *queue, uint64_t deadline, size_t *count)
{
    struct fabric_event events[EVENTS_AT_ONCE];
    size_t got = 0;
    enum fabric_error error = fabric_poll(queue->fabric, events, EVENTS_AT_ONCE, deadline, &got);
    for (size_t i = 0; i < got; i++)
        client_event(queue->client, &events[i]);
    if (count)
        *count = got;
    return error;
}

int memkv_queue_poll(struct memkv_queue *queue, struct memkv_completion *out, size_t capacity,
                     int64_t timeout, size_t *count, struct memkv_error *error)
{
    struct memkv_queue *q = queue;
    assert(q && out && count);
    if (!lib_queue_is_ours(q, error))
        return MEMKV_ERR_INVALID_ARGUMENT;
    if (!capacity)
        return lib_error_set(error, ERR_INVALID_ARGUMENT, NULL, "there is no room");
    uint64_t deadline = timeout < 0 ? FABRIC_FOREVER : 0;
    if (timeout > 0)
        deadline = lib_deadline(lib_queue_now(q), (uint64_t)timeout);
    size_t events = 1;
    enum fabric_error failed = FABRIC_OK;
    while (!failed && events && !client_completed(q->client)) {
        failed = lib_queue_work(q, deadline, &events);
        if (deadline && lib_queue_now(q) >= deadline)
            events = 0;
    }
    if (failed)
        return lib_error_set(error, failed, NULL, NULL);
    *count = lib_queue_take(q, out, capacity);
    tell_of_completions(q);
    return lib_error_none(error);
}

int memkv_queue_descriptor(struct memkv_queue *queue)
{
    assert(queue);
    return is_ours(queue) ? os_fabric_descriptor(queue->fabric) : -1;
}

/* ------------------------------------------------------------------ memory, status */

int memkv_queue_memory_register(struct memkv_queue *queue, void *data, size_t length,
                                struct memkv_memory **out, struct memkv_error *error)
{
    assert(queue && out);
    if (!lib_queue_is_ours(queue, error))
        return MEMKV_ERR_INVALID_ARGUMENT;
    if (!data || !length)
        return lib_error_set(error, ERR_INVALID_ARGUMENT, NULL, "there is no memory");
    struct memkv_memory *memory = calloc(1, sizeof *memory);
    enum fabric_error failed = ERR_RESOURCES_EXHAUSTED;
    if (memory)
        failed = client_memory_register(queue->client, data, length, &memory->inner);
    if (failed) {
        free(memory);
        return lib_error_set(error, failed, NULL, NULL);
    }
    memory->queue = queue;
    memory->data = data;
    memory->length = length;
    memory->next = queue->memories;
    memory->link = &queue->memories;
    if (memory->next)
        memory->next->link = &memory->next;
    queue->memories = memory;
    *out = memory;
    return lib_error_none(error);
}

int memkv_queue_memory_unregister(struct memkv_queue *queue, struct memkv_memory *memory,
                                  struct memkv_error *error)
{
    assert(queue && memory);
    if (!lib_queue_is_ours(queue, error))
        return MEMKV_ERR_INVALID_ARGUMENT;
    if (memory->queue != queue)
        return lib_error_set(error, ERR_INVALID_ARGUMENT, NULL,
                             "memory was registered with another client");
    if (memory->users && !PLANTED(lib_memory_in_use_unregistered))
        return lib_error_set(error, ERR_INVALID_ARGUMENT, NULL, "a request in it is under way");
    client_memory_unregister(queue->client, memory->inner);
    *memory->link = memory->next;
    if (memory->next)
        memory->next->link = memory->link;
    free(memory);
    return lib_error_none(error);
}

int memkv_queue_status(struct memkv_queue *queue, char **out, struct memkv_error *error)
{
    assert(queue && out);
    if (!lib_queue_is_ours(queue, error))
        return MEMKV_ERR_INVALID_ARGUMENT;
    json_t *status = client_status(queue->client);
    char *text = status ? json_dumps(status, JSON_COMPACT) : NULL;
    json_decref(status);
    if (!text)
        return lib_error_set(error, ERR_RESOURCES_EXHAUSTED, NULL, NULL);
    *out = text;
    return lib_error_none(error);
}

/* ------------------------------------------------------------------ small things */

void lib_queue_wake(struct memkv_queue *queue)
{
    fabric_wake(queue->fabric);
}

uint64_t lib_queue_now(const struct memkv_queue *queue)
{
    uint64_t now = 0;
    (void)fabric_now(queue->fabric, &now);
    return now;
}

uint64_t lib_queue_timeout(const struct memkv_queue *queue)
{
    return queue->timeout;
}

uint64_t lib_deadline(uint64_t now, uint64_t span)
{
    return span < FABRIC_FOREVER - now ? now + span : FABRIC_FOREVER;
}
