/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The synchronous form: calls of any thread, carried out by one thread that has a queue.
 *
 * Threading: a call lives on the stack of its caller, who waits until it is `done`. `lock` guards
 * the calls that were made and not yet taken (`made`), what the callers ask of the thread
 * (`interrupted`, `closing`) and `done` of every call. Everything else of a call that was made, the
 * queue and the lists below belong to the thread alone. Whoever changes what is guarded for the
 * thread wakes it; it looks after every wakeup.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/queue.h"
#include "src/fabric/planted.h"
#include "src/fabric/seam.h"

#define COMPLETIONS_AT_ONCE 32

enum call_kind {
    CALL_REQUESTS,
    CALL_REGISTER,
    CALL_UNREGISTER,
    CALL_STATUS,
};

struct call {
    struct call *next;
    enum call_kind kind;
    bool done;
    pthread_cond_t ended;
    int code; /* of the kinds but CALL_REQUESTS */
    struct memkv_error *error;

    const struct memkv_request *requests;
    struct memkv_completion *out;  /* operation 0: it has none yet */
    size_t count, submitted, left; /* left: without completion */
    uint64_t since;                /* ns */
    uint64_t first_deadline;       /* ns: of those that are not submitted */

    void *data;
    size_t length;
    struct memkv_memory *memory;
    char *text;
};

/* An open request. The queue's cookie is its position. */
struct item {
    struct call *call; /* null: free */
    size_t position;   /* in the call */
    uint64_t id;
    uint32_t next_free;
};

struct memkv_client {
    struct memkv_queue *queue;
    pthread_t thread;
    pthread_mutex_t lock;
    struct call *made, **made_end;
    bool interrupted, closing;

    struct call *waiting, **waiting_end; /* not all of their requests are submitted */
    bool stops;                          /* every request is to end */
    uint32_t first_free, open;
    struct item items[MEMKV_MAX_OPEN];
    struct memkv_request chunk[MEMKV_MAX_OPEN]; /* of the submission under way */
    uint64_t ids[MEMKV_MAX_OPEN];
};

/* ------------------------------------------------------------------ the thread: ends */

static void end_call(struct memkv_client *c, struct call *call)
{
    pthread_mutex_lock(&c->lock);
    call->done = true;
    pthread_cond_signal(&call->ended);
    pthread_mutex_unlock(&c->lock);
}

/* After the last one the call is its caller's. */
static void complete(struct memkv_client *c, struct call *call, size_t position,
                     const struct memkv_completion *completion)
{
    struct memkv_completion *out = &call->out[position];
    assert(position < call->count && !out->operation && call->left > 0);
    *out = *completion;
    out->cookie = call->requests[position].cookie;
    out->operation = call->requests[position].operation;
    out->id = 0;
    call->left--;
    if (!call->left)
        end_call(c, call);
}

static void refuse(struct memkv_client *c, struct call *call, size_t position,
                   enum fabric_error error, const char *detail)
{
    struct memkv_completion completion = {.cookie = 0};
    lib_error_set(&completion.error, error, NULL, detail);
    complete(c, call, position, &completion);
}

static void drain(struct memkv_client *c)
{
    struct memkv_completion done[COMPLETIONS_AT_ONCE];
    size_t count;
    while ((count = lib_queue_take(c->queue, done, COMPLETIONS_AT_ONCE)) > 0) {
        for (size_t i = 0; i < count; i++) {
            assert(done[i].cookie < MEMKV_MAX_OPEN && c->open > 0);
            struct item *item = &c->items[done[i].cookie];
            struct call *call = item->call;
            item->call = NULL;
            item->next_free = c->first_free;
            c->first_free = (uint32_t)done[i].cookie;
            c->open--;
            complete(c, call, item->position, &done[i]);
        }
    }
}

/* ------------------------------------------------------------------ the thread: begins */

static uint64_t deadline_of(const struct memkv_client *c, const struct call *call, size_t position)
{
    uint64_t timeout = call->requests[position].timeout;
    return lib_deadline(call->since, timeout ? timeout : lib_queue_timeout(c->queue));
}

/* Of what is not submitted: all when the client stops, else what is too late. The call may be gone
 * after it; false then. */
static bool expire(struct memkv_client *c, struct call *call, uint64_t now)
{
    size_t left = call->left, end = call->count;
    uint64_t first = FABRIC_FOREVER;
    if (!c->stops && now < call->first_deadline)
        return true;
    for (size_t i = call->submitted; i < end; i++) {
        if (call->out[i].operation)
            continue;
        uint64_t deadline = deadline_of(c, call, i);
        if (!c->stops && now < deadline) {
            first = deadline < first ? deadline : first;
            continue;
        }
        enum fabric_error error = c->stops ? ERR_CANCELLED : ERR_TIMEOUT;
        left--;
        refuse(c, call, i, error,
               c->stops ? "the client was interrupted" : "its time was over before it could begin");
        if (!left)
            return false;
    }
    call->first_deadline = first;
    return true;
}

/* The next requests of a call, as many as there is room for; their number. */
static size_t fill_chunk(struct memkv_client *c, struct call *call, uint64_t now)
{
    size_t count = 0;
    for (; call->submitted < call->count; call->submitted++) {
        size_t at = call->submitted;
        if (call->out[at].operation)
            continue; /* it was too late */
        if (c->open == MEMKV_MAX_OPEN)
            break;
        uint32_t position = c->first_free;
        struct item *item = &c->items[position];
        c->first_free = item->next_free;
        c->open++;
        item->call = call;
        item->position = at;
        c->chunk[count] = call->requests[at];
        c->chunk[count].cookie = position;
        c->chunk[count].timeout = deadline_of(c, call, at) - now;
        count++;
    }
    return count;
}

static void submit_chunk(struct memkv_client *c, size_t count)
{
    struct memkv_error error;
    if (!count)
        return;
    int code = memkv_queue_submit(c->queue, c->chunk, count, c->ids, &error);
    for (size_t i = 0; i < count; i++) {
        const uint32_t position = (uint32_t)c->chunk[i].cookie;
        struct item *item = &c->items[position];
        item->id = c->ids[i];
        if (!code)
            continue;
        const struct memkv_completion failed = {.error = error};
        struct call *call = item->call;
        item->call = NULL;
        item->next_free = c->first_free;
        c->first_free = position;
        c->open--;
        complete(c, call, item->position, &failed);
    }
}

/* Calls whose requests have all gone in leave the list before anything can end them. */
static void begin_requests(struct memkv_client *c)
{
    uint64_t now = lib_queue_now(c->queue);
    struct call **link = &c->waiting;
    while (*link) {
        struct call *call = *link, *next = call->next;
        if (!expire(c, call, now)) {
            *link = next;
            continue;
        }
        size_t count = fill_chunk(c, call, now);
        if (call->submitted == call->count)
            *link = next;
        else
            link = &call->next;
        submit_chunk(c, count);
    }
    c->waiting_end = link;
}

static uint64_t first_deadline(const struct memkv_client *c)
{
    uint64_t first = FABRIC_FOREVER;
    for (const struct call *call = c->waiting; call; call = call->next)
        first = call->first_deadline < first ? call->first_deadline : first;
    return first;
}

static void begin(struct memkv_client *c, struct call *call)
{
    call->next = NULL;
    switch (call->kind) {
    case CALL_REQUESTS:
        call->since = lib_queue_now(c->queue);
        *c->waiting_end = call;
        c->waiting_end = &call->next;
        return;
    case CALL_REGISTER:
        call->code = memkv_queue_memory_register(c->queue, call->data, call->length, &call->memory,
                                                 call->error);
        break;
    case CALL_UNREGISTER:
        call->code = memkv_queue_memory_unregister(c->queue, call->memory, call->error);
        break;
    default:
        call->code = memkv_queue_status(c->queue, &call->text, call->error);
        break;
    }
    end_call(c, call);
}

static void cancel_open(struct memkv_client *c)
{
    for (size_t i = 0; i < MEMKV_MAX_OPEN; i++) {
        if (c->items[i].call && !PLANTED(lib_interrupt_forgets_open))
            memkv_queue_cancel(c->queue, c->items[i].id);
    }
}

/* What the callers asked for since the last time; false: the client ends. */
static bool hear(struct memkv_client *c)
{
    pthread_mutex_lock(&c->lock);
    struct call *made = c->made;
    bool stops = c->interrupted, closing = c->closing;
    c->made = NULL;
    c->made_end = &c->made;
    pthread_mutex_unlock(&c->lock);
    if (stops && !c->stops)
        cancel_open(c);
    c->stops = stops;
    while (made) {
        struct call *call = made;
        made = call->next;
        begin(c, call);
    }
    return !closing;
}

static void *work(void *context)
{
    struct memkv_client *c = context;
    while (hear(c)) {
        begin_requests(c);
        uint64_t until = lib_queue_completed(c->queue) ? 0 : first_deadline(c);
        enum fabric_error error = lib_queue_work(c->queue, until, NULL);
        assert(!error); /* only a layer over a fabric can make poll fail */
        (void)error;
        drain(c);
    }
    return NULL;
}

/* ------------------------------------------------------------------ open and close */

static bool start_thread(struct memkv_client *c)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&c->thread, NULL, work, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

int memkv_open(const struct memkv_options *options, struct memkv_client **out,
               struct memkv_error *error)
{
    assert(out);
    struct memkv_client *c = calloc(1, sizeof *c);
    if (!c)
        return lib_error_set(error, ERR_RESOURCES_EXHAUSTED, NULL, NULL);
    int code = memkv_queue_open(options, &c->queue, error);
    if (code) {
        free(c);
        return code;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->made_end = &c->made;
    c->waiting_end = &c->waiting;
    for (uint32_t i = 0; i < MEMKV_MAX_OPEN; i++)
        c->items[i].next_free = i + 1;
    if (!start_thread(c)) {
        memkv_queue_close(c->queue);
        pthread_mutex_destroy(&c->lock);
        free(c);
        return lib_error_set(error, ERR_RESOURCES_EXHAUSTED, NULL, NULL);
    }
    *out = c;
    return MEMKV_OK;
}

static void ask(struct memkv_client *c, bool *what)
{
    pthread_mutex_lock(&c->lock);
    *what = true;
    pthread_mutex_unlock(&c->lock);
    lib_queue_wake(c->queue);
}

void memkv_interrupt(struct memkv_client *client)
{
    assert(client);
    if (lib_queue_is_ours(client->queue, NULL))
        ask(client, &client->interrupted);
}

void memkv_close(struct memkv_client *client)
{
    if (!client || !lib_queue_is_ours(client->queue, NULL))
        return;
    ask(client, &client->closing);
    pthread_join(client->thread, NULL);
    assert(!client->made && !client->waiting && !client->open); /* a call in another thread */
    memkv_queue_close(client->queue);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

/* ------------------------------------------------------------------ calls */

/* Gives the call to the thread and waits for its end. False in the child of a fork. */
static bool make(struct memkv_client *c, struct call *call)
{
    if (!lib_queue_is_ours(c->queue, call->error))
        return false;
    pthread_cond_init(&call->ended, NULL);
    pthread_mutex_lock(&c->lock);
    *c->made_end = call;
    c->made_end = &call->next;
    pthread_mutex_unlock(&c->lock);
    if (!PLANTED(lib_call_unheard))
        lib_queue_wake(c->queue);
    pthread_mutex_lock(&c->lock);
    while (!call->done)
        pthread_cond_wait(&call->ended, &c->lock);
    pthread_mutex_unlock(&c->lock);
    pthread_cond_destroy(&call->ended);
    return true;
}

int memkv_batch(struct memkv_client *client, const struct memkv_request *requests, size_t count,
                struct memkv_completion *out, struct memkv_error *error)
{
    assert(client && ((requests && out) || !count));
    struct call call = {.kind = CALL_REQUESTS,
                        .error = error,
                        .requests = requests,
                        .out = out,
                        .count = count,
                        .left = count};
    if (!lib_queue_is_ours(client->queue, error) ||
        !lib_request_check(client->queue, requests, count, error))
        return MEMKV_ERR_INVALID_ARGUMENT;
    if (!count)
        return lib_error_none(error);
    memset(out, 0, count * sizeof *out);
    if (!make(client, &call))
        return MEMKV_ERR_INVALID_ARGUMENT;
    size_t i = 0;
    while (i < count && !out[i].error.code)
        i++;
    if (i == count)
        return lib_error_none(error);
    if (error)
        *error = out[i].error;
    return out[i].error.code;
}

/* One request. */
static int one(struct memkv_client *client, enum memkv_operation operation, const void *key,
               size_t key_length, const void *data, size_t length, struct memkv_completion *out,
               struct memkv_error *error)
{
    const struct memkv_request request = {.operation = operation,
                                          .key = key,
                                          .key_length = key_length,
                                          .data = (void *)(uintptr_t)data, /* a PUT only reads */
                                          .length = length};
    return memkv_batch(client, &request, 1, out, error);
}

int memkv_put(struct memkv_client *client, const void *key, size_t key_length, const void *data,
              size_t length, struct memkv_error *error)
{
    struct memkv_completion done;
    return one(client, MEMKV_PUT, key, key_length, data, length, &done, error);
}

int memkv_get(struct memkv_client *client, const void *key, size_t key_length, void *data,
              size_t capacity, size_t *length, struct memkv_error *error)
{
    struct memkv_completion done = {.length = 0};
    int code = one(client, MEMKV_GET, key, key_length, data, capacity, &done, error);
    if (length && (!code || code == MEMKV_ERR_BUFFER_TOO_SMALL))
        *length = done.length;
    return code;
}

int memkv_exists(struct memkv_client *client, const void *key, size_t key_length, bool *found,
                 struct memkv_error *error)
{
    struct memkv_completion done;
    assert(found);
    int code = one(client, MEMKV_EXISTS, key, key_length, NULL, 0, &done, error);
    if (!code)
        *found = done.found;
    return code;
}

int memkv_delete(struct memkv_client *client, const void *key, size_t key_length, bool *found,
                 struct memkv_error *error)
{
    struct memkv_completion done;
    int code = one(client, MEMKV_DELETE, key, key_length, NULL, 0, &done, error);
    if (!code && found)
        *found = done.found;
    return code;
}

int memkv_memory_register(struct memkv_client *client, void *data, size_t length,
                          struct memkv_memory **out, struct memkv_error *error)
{
    assert(client && out);
    struct call call = {.kind = CALL_REGISTER, .error = error, .data = data, .length = length};
    if (!make(client, &call))
        return MEMKV_ERR_INVALID_ARGUMENT;
    if (!call.code)
        *out = call.memory;
    return call.code;
}

int memkv_memory_unregister(struct memkv_client *client, struct memkv_memory *memory,
                            struct memkv_error *error)
{
    assert(client && memory);
    struct call call = {.kind = CALL_UNREGISTER, .error = error, .memory = memory};
    return make(client, &call) ? call.code : MEMKV_ERR_INVALID_ARGUMENT;
}

int memkv_status(struct memkv_client *client, char **out, struct memkv_error *error)
{
    assert(client && out);
    struct call call = {.kind = CALL_STATUS, .error = error};
    if (!make(client, &call))
        return MEMKV_ERR_INVALID_ARGUMENT;
    if (!call.code)
        *out = call.text;
    return call.code;
}
