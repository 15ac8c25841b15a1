/* SPDX-License-Identifier: Apache-2.0 */
/* MemKV as others use it: the public header and nothing else. The key is that of the environment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/memkv/memkv.h"
#include "tests/support/load.h"

struct load_link {
    struct load_plan plan;
    struct memkv_queue *queue;
    struct memkv_client *client;
    struct load_request done; /* sync: what was carried out last */
};

static struct load_link *begin(const struct load_plan *plan, struct memkv_options *options)
{
    static char servers[80], connections[40];
    static const char *settings[] = {servers, connections, "transport=tcp", NULL};
    struct load_link *link = calloc(1, sizeof *link);
    if (!link)
        load_die("no memory");
    snprintf(servers, sizeof servers, "servers=%s", plan->address);
    snprintf(connections, sizeof connections, "num_connections=%u", plan->connections);
    *options = (struct memkv_options){.size = sizeof *options, .settings = settings};
    link->plan = *plan;
    return link;
}

static void judge(const struct load_link *link, const struct load_request *r,
                  const struct memkv_completion *c)
{
    if (c->error.code)
        load_die("memkv: %s: %s", c->error.name, c->error.text);
    if (r->operation == LOAD_EXISTS ? !c->found : c->length != link->plan.size)
        load_die("memkv: found %d, %zu bytes", c->found, c->length);
}

static void convert(const struct load_link *link, const struct load_request *r, char text[16],
                    struct memkv_request *out)
{
    static const enum memkv_operation operations[] = {
        [LOAD_PUT] = MEMKV_PUT, [LOAD_GET] = MEMKV_GET, [LOAD_EXISTS] = MEMKV_EXISTS};
    *out = (struct memkv_request){.operation = operations[r->operation],
                                  .key = text,
                                  .key_length = load_key(r->key, text),
                                  .cookie = r->slot};
    if (r->operation == LOAD_EXISTS)
        return;
    out->data = r->data;
    out->length = link->plan.size;
}

/* ------------------------------------------------------------------ the poll form */

static struct load_link *poll_open(const struct load_plan *plan)
{
    struct memkv_options options;
    struct memkv_error error;
    struct load_link *link = begin(plan, &options);
    if (memkv_queue_open(&options, &link->queue, &error))
        load_die("memkv: %s: %s", error.name, error.text);
    return link;
}

static void poll_submit(struct load_link *link, const struct load_request *requests, size_t count)
{
    static struct memkv_request converted[LOAD_MAX_SLOTS];
    static char keys[LOAD_MAX_SLOTS][16];
    struct memkv_error error;
    for (size_t i = 0; i < count; i++)
        convert(link, &requests[i], keys[i], &converted[i]);
    if (count && memkv_queue_submit(link->queue, converted, count, NULL, &error))
        load_die("memkv: %s: %s", error.name, error.text);
}

static size_t poll_wait(struct load_link *link, uint32_t *slots)
{
    static struct memkv_completion completions[LOAD_MAX_SLOTS];
    struct memkv_error error;
    size_t count = 0;
    if (memkv_queue_poll(link->queue, completions, LOAD_MAX_SLOTS, -1, &count, &error))
        load_die("memkv: %s: %s", error.name, error.text);
    for (size_t i = 0; i < count; i++) {
        const struct memkv_completion *c = &completions[i];
        const struct load_request r = {.operation =
                                           c->operation == MEMKV_EXISTS ? LOAD_EXISTS : LOAD_GET};
        judge(link, &r, c);
        slots[i] = (uint32_t)c->cookie;
    }
    return count;
}

static void poll_close(struct load_link *link)
{
    memkv_queue_close(link->queue);
    free(link);
}

const struct load_peer load_memkv_poll = {"memkv", poll_open, poll_submit, poll_wait, poll_close};

/* ------------------------------------------------------------------ the synchronous form */

static struct load_link *sync_open(const struct load_plan *plan)
{
    struct memkv_options options;
    struct memkv_error error;
    if (plan->connections * plan->depth != 1)
        load_die("memkv-sync: one thread has one request at a time");
    struct load_link *link = begin(plan, &options);
    if (memkv_open(&options, &link->client, &error))
        load_die("memkv: %s: %s", error.name, error.text);
    return link;
}

static void sync_submit(struct load_link *link, const struct load_request *requests, size_t count)
{
    if (count)
        link->done = requests[0];
}

static size_t sync_wait(struct load_link *link, uint32_t *slots)
{
    const struct load_request *r = &link->done;
    struct memkv_completion c = {.length = link->plan.size, .found = true};
    char key[16];
    const size_t length = load_key(r->key, key);
    if (r->operation == LOAD_PUT)
        memkv_put(link->client, key, length, r->data, link->plan.size, &c.error);
    else if (r->operation == LOAD_GET)
        memkv_get(link->client, key, length, r->data, link->plan.size, &c.length, &c.error);
    else
        memkv_exists(link->client, key, length, &c.found, &c.error);
    judge(link, r, &c);
    slots[0] = r->slot;
    return 1;
}

static void sync_close(struct load_link *link)
{
    memkv_close(link->client);
    free(link);
}

const struct load_peer load_memkv_sync = {"memkv-sync", sync_open, sync_submit, sync_wait,
                                          sync_close};
