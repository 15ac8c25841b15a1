/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every node is an instance of its own on the loopback interface, with a folder of its own for its
 * storage. The environment variable CONFORMANCE_THREADS switches io_uring off.
 */
#include "tests/conformance/machine_bench.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/http_client.h"
#include "tests/support/os_bed.h"

#define CLIENTS 128

struct client {
    struct http_client *http;
    struct bench_answer *answer;
};

struct bench {
    size_t node_count;
    struct fabric *fabrics[BENCH_NODES]; /* with the layers over them */
    struct fabric *bare[BENCH_NODES];
    char folders[BENCH_NODES][OS_FOLDER];
    fabric_caps caps;
    struct client clients[CLIENTS];
    size_t client_count;
};

static void start_fabric(struct bench *bench, size_t node)
{
    struct os_fabric_options options = {.log_fd = -1,
                                        .no_io_uring = getenv("CONFORMANCE_THREADS") != NULL};
    machine.options(node, bench->folders[node], &options);
    enum fabric_error error = os_fabric_create(&options, &bench->bare[node]);
    assert(!error);
    bench->fabrics[node] = bench->bare[node];
}

struct bench *machine_create(const struct bench_setup *setup, char *reason)
{
    if (setup->caps != FABRIC_CAPS_ALL) {
        snprintf(reason, BENCH_REASON, "what this machine can do cannot be masked off");
        return NULL;
    }
    struct bench *bench = calloc(1, sizeof(*bench));
    assert(bench && setup->nodes >= 1 && setup->nodes <= BENCH_NODES);
    bench->node_count = setup->nodes;
    bench->caps = setup->caps;
    for (size_t i = 0; i < setup->nodes; i++) {
        os_folder_make(bench->folders[i]);
        os_folder_file(bench->folders[i], "/storage/", "");
        start_fabric(bench, i);
        (void)os_fabric_descriptor(bench->bare[i]); /* so that one call can wait for all of them */
    }
    return bench;
}

void machine_destroy(struct bench *bench)
{
    for (size_t i = 0; i < bench->client_count; i++)
        http_client_free(bench->clients[i].http);
    for (size_t i = 0; i < bench->node_count; i++) {
        if (bench->fabrics[i])
            fabric_destroy(bench->fabrics[i]);
        os_folder_remove(bench->folders[i]);
    }
    if (machine.mend)
        machine.mend();
    free(bench);
}

struct fabric *machine_fabric(struct bench *bench, size_t node)
{
    assert(node < bench->node_count);
    return bench->fabrics[node];
}

void machine_adopt(struct bench *bench, size_t node, struct fabric *f)
{
    assert(node < bench->node_count);
    bench->fabrics[node] = f;
}

const char *machine_address(struct bench *bench, size_t node)
{
    static const char *const addresses[BENCH_NODES] = {"127.0.0.1", "127.0.0.2", "127.0.0.3",
                                                       "127.0.0.4"};
    (void)bench;
    return addresses[node];
}

const char *machine_folder(struct bench *bench, size_t node)
{
    static char path[BENCH_NODES][80];
    snprintf(path[node], sizeof(path[node]), "%s/storage", bench->folders[node]);
    return path[node];
}

fabric_caps machine_caps(struct bench *bench)
{
    struct fabric_guarantees guarantees;
    enum fabric_error error = fabric_guarantees(bench->fabrics[0], &guarantees);
    assert(!error);
    return (guarantees.caps | FABRIC_CAP_PROCESS_KILL | machine.gives) & bench->caps;
}

bool machine_ask(struct bench *bench, size_t node, const char *where, const char *method,
                 const char *path, struct bench_answer *answer)
{
    (void)node;
    *answer = (struct bench_answer){0};
    struct http_client *http = http_client_new(where, method, path);
    if (!http)
        return false;
    assert(bench->client_count < CLIENTS);
    bench->clients[bench->client_count++] = (struct client){http, answer};
    return true;
}

static void look_at_clients(struct bench *bench)
{
    for (size_t i = 0; i < bench->client_count; i++) {
        struct bench_answer *answer = bench->clients[i].answer;
        struct http_client_answer given;
        if (answer->done || !http_client_read(bench->clients[i].http, &given))
            continue;
        answer->done = true;
        answer->status = given.status;
        answer->length = given.length;
        snprintf(answer->type, sizeof(answer->type), "%s", given.type);
        if (given.length)
            memcpy(answer->body, given.body, given.length < BENCH_BODY ? given.length : BENCH_BODY);
    }
}

bool machine_advance(struct bench *bench, uint64_t deadline)
{
    struct pollfd watched[BENCH_NODES + CLIENTS];
    nfds_t count = 0;
    uint64_t now = deadline;
    for (size_t i = 0; i < bench->node_count; i++) {
        if (!bench->fabrics[i])
            continue;
        (void)fabric_now(bench->fabrics[i], &now);
        watched[count++] = (struct pollfd){os_fabric_descriptor(bench->bare[i]), POLLIN, 0};
    }
    for (size_t i = 0; i < bench->client_count; i++) {
        if (!bench->clients[i].answer->done)
            watched[count++] =
                (struct pollfd){http_client_descriptor(bench->clients[i].http), POLLIN, 0};
    }
    uint64_t left = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
    poll(watched, count, left > 1000 ? 1000 : (int)left);
    look_at_clients(bench);
    return true;
}

bool machine_inject(struct bench *bench, size_t node, enum bench_word word)
{
    if (word != BENCH_KILL)
        return machine.inject && machine.inject(node, word);
    fabric_destroy(bench->fabrics[node]);
    bench->fabrics[node] = NULL;
    return true;
}
