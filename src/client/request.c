/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/client.h"
#include "src/fabric/planted.h"

/* ------------------------------------------------------------------ memory */

static struct client_memory *memory_new(struct client *c, void *data, uint64_t length)
{
    struct client_memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    client_buffer_adopt(c, &m->buffer, data, length);
    m->link = &c->memories;
    m->next = c->memories;
    if (m->next)
        m->next->link = &m->next;
    c->memories = m;
    return m;
}

static void memory_free(struct client_memory *m)
{
    *m->link = m->next;
    if (m->next)
        m->next->link = m->link;
    free(m);
}

enum fabric_error client_memory_register(struct client *c, void *data, uint64_t length,
                                         struct client_memory **out)
{
    assert(c && data && length && out);
    struct client_memory *m = memory_new(c, data, length);
    if (!m)
        return ERR_RESOURCES_EXHAUSTED;
    for (uint32_t i = 0; i < c->rail_count; i++) {
        if (c->rails[i].state == RAIL_READY)
            client_buffer_register(c, &m->buffer, i); /* an error is named at its first use */
    }
    *out = m;
    return FABRIC_OK;
}

void client_memory_unregister(struct client *c, struct client_memory *memory)
{
    assert(c && memory && memory->users == 0);
    client_buffer_deregister(c, &memory->buffer);
    memory_free(memory);
}

enum fabric_error client_memory_for(struct client *c, struct client_operation *op)
{
    assert(c && op && op->data);
    if (op->memory && !op->memory->of_request)
        return FABRIC_OK;
    if (!op->memory) {
        op->memory = memory_new(c, op->data, op->type == WIRE_PUT ? op->length : op->room);
        if (!op->memory)
            return ERR_RESOURCES_EXHAUSTED;
        op->memory->of_request = true;
        op->memory->users = 1;
        op->memory->buffer.read_only = op->type == WIRE_PUT;
    }
    return client_buffer_register(c, &op->memory->buffer, op->rail);
}

void client_memory_end(struct client *c, struct client_operation *op)
{
    assert(c && op);
    struct client_memory *m = op->memory;
    if (!m || !m->of_request)
        return;
    m->users = 0;
    op->memory = NULL;
    client_memory_unregister(c, m);
}

void client_memories_free(struct client *c)
{
    assert(c);
    while (c->memories)
        memory_free(c->memories);
}

/* ------------------------------------------------------------------ submitting */

static enum wire_type type_of(enum client_kind kind)
{
    static const enum wire_type types[] = {[CLIENT_PUT] = WIRE_PUT,
                                           [CLIENT_GET] = WIRE_GET,
                                           [CLIENT_EXISTS] = WIRE_EXISTS,
                                           [CLIENT_DELETE] = WIRE_DELETE};
    assert(kind <= CLIENT_DELETE);
    return types[kind];
}

/* What is wrong with it; FABRIC_OK when nothing is. `detail` says what is allowed. */
static enum fabric_error judge(const struct client_request *r, size_t key_length, char *detail)
{
    if ((key_length == 0 || key_length > CLIENT_MAX_KEY) && !PLANTED(client_key_unchecked)) {
        snprintf(detail, CLIENT_DETAIL, "key: found %zu bytes; 1 to %u are allowed", key_length,
                 CLIENT_MAX_KEY);
        return ERR_INVALID_ARGUMENT;
    }
    if (r->kind != CLIENT_PUT && r->kind != CLIENT_GET)
        return FABRIC_OK;
    if (r->length == 0 || (r->kind == CLIENT_PUT && r->length > CLIENT_MAX_VALUE)) {
        snprintf(detail, CLIENT_DETAIL, "value: found %llu bytes; 1 byte to 16 MiB are allowed",
                 (unsigned long long)r->length);
        return r->length ? ERR_TOO_LARGE : ERR_INVALID_ARGUMENT;
    }
    return FABRIC_OK;
}

static void refuse(struct client *c, struct client_operation *op, enum fabric_error error)
{
    op->state = CLIENT_QUEUED;
    op->refused = true;
    op->error = error;
    c->counters.operations++;
    client_operation_done(c, op);
}

static void take_data(struct client_operation *op, const struct client_request *r)
{
    uint64_t length = r->length < CLIENT_MAX_VALUE ? r->length : CLIENT_MAX_VALUE;
    op->data = r->data;
    op->length = op->room = (uint32_t)length;
    op->memory = r->memory;
    if (!op->memory)
        return;
    const struct client_buffer *b = &op->memory->buffer;
    assert(op->data >= b->memory && (uint64_t)(op->data - b->memory) + length <= b->size);
    op->memory->users++;
}

static client_request_id submit(struct client *c, const struct client_request *r, uint32_t batch,
                                uint64_t now)
{
    struct client_operation *op = client_operation_new(c, type_of(r->kind));
    size_t before = r->prefix && !PLANTED(client_prefix_ignored) ? strlen(r->prefix) : 0;
    op->cookie = r->cookie;
    op->batch = batch;
    enum fabric_error error = judge(r, before + r->key_length, op->detail);
    if (error) {
        refuse(c, op, error);
        return op->request;
    }
    op->key_length = (uint8_t)(before + r->key_length);
    memcpy(op->key, r->prefix ? r->prefix : "", before);
    memcpy(op->key + before, r->key, op->key_length - before);
    if (r->kind == CLIENT_PUT || r->kind == CLIENT_GET)
        take_data(op, r);
    client_operation_start(c, op, now, r->timeout ? r->timeout : c->config.timeout);
    return op->request;
}

enum fabric_error client_submit(struct client *c, const struct client_request *requests,
                                size_t count, client_request_id *ids)
{
    assert(c && requests && count);
    if (count > CLIENT_OPERATIONS - c->open)
        return ERR_QUEUE_FULL;
    if (!client_operation_reserve(c, (uint32_t)count))
        return ERR_RESOURCES_EXHAUSTED;
    const uint32_t batch = c->serial + 1;
    const uint64_t now = client_now(c);
    for (size_t i = 0; i < count; i++) {
        client_request_id id = submit(c, &requests[i], batch, now);
        if (ids)
            ids[i] = id;
    }
    client_turn(c);
    return FABRIC_OK;
}

bool client_cancel(struct client *c, client_request_id id)
{
    uint32_t slot = (uint32_t)id;
    assert(c);
    struct client_operation *op = slot < c->operation_end ? client_operation_at(c, slot) : NULL;
    if (!op || op->request != id || op->state == CLIENT_FREE || op->state == CLIENT_DONE)
        return false;
    if (PLANTED(client_cancel_ignored))
        return true;
    op->cancelled = true;
    if (op->prepared || op->doubt)
        return true; /* its COMMIT is out: the server's word, or the deadline, tells */
    if (op->state == CLIENT_REVOKING)
        op->retry = false;
    else
        client_attempt_end(c, op, ERR_CANCELLED, "", false);
    client_turn(c);
    return true;
}

/* ------------------------------------------------------------------ completing */

static enum client_kind kind_of(enum wire_type type)
{
    switch (type) {
    case WIRE_PUT:
        return CLIENT_PUT;
    case WIRE_GET:
        return CLIENT_GET;
    case WIRE_EXISTS:
        return CLIENT_EXISTS;
    default:
        assert(type == WIRE_DELETE);
        return CLIENT_DELETE;
    }
}

static void complete(const struct client *c, const struct client_operation *op,
                     struct client_completion *out)
{
    memset(out, 0, offsetof(struct client_completion, detail) + 1);
    out->cookie = op->cookie;
    out->id = op->request;
    out->kind = kind_of(op->type);
    out->error = op->error;
    out->found = op->found;
    out->transport = client_operation_transport(c, op);
    if (!op->error)
        out->length = op->data ? op->length : 0;
    else if (op->error == ERR_BUFFER_TOO_SMALL)
        out->length = op->needed;
    if (!op->refused)
        out->server = client_peer_address(c, c->peers[op->peer]);
    if (op->detail[0])
        memcpy(out->detail, op->detail, sizeof out->detail);
}

size_t client_completions(struct client *c, struct client_completion *out, size_t capacity)
{
    size_t count = 0;
    assert(c && out && capacity);
    for (; count < capacity && c->done_first; count++) {
        struct client_operation *op = c->done_first;
        complete(c, op, &out[count]);
        c->done_first = op->next_done;
        if (!c->done_first)
            c->done_end = &c->done_first;
        c->done_count--;
        if (op->memory)
            op->memory->users--;
        client_operation_free(c, op);
    }
    return count;
}

size_t client_completed(const struct client *c)
{
    assert(c);
    return c->done_count;
}

static bool is_refusal(enum fabric_error error)
{
    return rail_is_configuration(error) || error == ERR_NO_LID || error == ERR_PEER_NO_LID ||
           error == ERR_WAITING_FOR_SM || error == ERR_PORT_DOWN || error == ERR_RDMA_REQUIRED ||
           error == ERR_DEVICE_REMOVED || error == ERR_AUTH_FAILED ||
           error == ERR_UNSUPPORTED_VERSION;
}

void client_class(const struct client *c, enum fabric_error error, enum client_transport transport,
                  char out[CLIENT_CLASS])
{
    assert(c && out);
    if (error == ERR_UNREACHABLE || error == ERR_PEER_GONE)
        snprintf(out, CLIENT_CLASS, "unreachable");
    else if (error == ERR_TAG_MISMATCH || error == ERR_CHECKSUM)
        snprintf(out, CLIENT_CLASS, "corrupted");
    else if (error)
        snprintf(out, CLIENT_CLASS, "%s:%s", is_refusal(error) ? "refused" : "failed",
                 error_name(error));
    else if (transport != CLIENT_OVER_TCP)
        snprintf(out, CLIENT_CLASS, "rdma");
    else
        snprintf(out, CLIENT_CLASS, "%s",
                 c->config.transport == CONFIG_TRANSPORT_TCP ? "tcp_by_choice" : "fell_back");
}
