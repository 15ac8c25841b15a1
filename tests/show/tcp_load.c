/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load on one server over TCP, for ci/show/bench-tcp:
 *
 *     tcp_load memkv|memkv-sync|redis|memcached IP:PORT put|get|exists CxD SECONDS
 *
 * C connections with D requests in flight on each. Stores every value once, warms up with the
 * operation itself, then measures and prints "operations=N seconds=S". Values are 2 MiB, for exists
 * 64 bytes. The caller's memory is a ring of buffers larger than the last cache, so it is cold for
 * everybody alike; each value is stamped with its key, and what comes back is looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/load.h"

#define MIB ((size_t)1 << 20)
#define BLOCK (2 * MIB)
#define SMALL ((size_t)64)
#define SMALL_KEYS 1024u /* as many as requests can be in flight */
#define LEAST_RING (64 * MIB)
#define MOST_RING (512 * MIB)
#define MOST_BUFFERS (SMALL_KEYS > MOST_RING / BLOCK ? SMALL_KEYS : MOST_RING / BLOCK)
#define WARM_UP 0.25 /* seconds */

struct run {
    const struct load_peer *peer;
    struct load_plan plan;
    struct load_link *link;
    enum load_operation operation;
    uint8_t *ring;
    size_t stride; /* bytes from one buffer of the ring to the next */
    uint32_t buffers, keys, next_key;
    uint32_t idle[MOST_BUFFERS], taken, given; /* buffers that nobody uses, the oldest first */
    struct load_request slots[LOAD_MAX_SLOTS], batch[LOAD_MAX_SLOTS];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ------------------------------------------------------------------ memory and stamps */

static void make_ring(struct run *run)
{
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t size = cache > 0 ? (size_t)cache / 4 * 5 : 0;
    size = size < LEAST_RING ? LEAST_RING : size > MOST_RING ? MOST_RING : size;
    run->stride = run->operation == LOAD_EXISTS ? SMALL : BLOCK;
    size = run->operation == LOAD_EXISTS ? SMALL_KEYS * SMALL : size / BLOCK * BLOCK;
    run->buffers = run->keys = (uint32_t)(size / run->stride);
    if (run->buffers < run->plan.connections * run->plan.depth)
        load_die("%u requests in flight: there are %u buffers",
                 run->plan.connections * run->plan.depth, run->buffers);
    void *memory;
    if (posix_memalign(&memory, BLOCK, size))
        load_die("no memory");
    run->ring = memory;
    for (uint32_t i = 0; i < run->buffers; i++)
        run->idle[run->given++] = i;
    for (size_t i = 0; i < size; i++)
        run->ring[i] = (uint8_t)(i * 7 + i / 251);
}

/* The first and last bytes of a value say whose it is. */
static void stamp(const struct run *run, uint8_t *data, uint64_t mark)
{
    memcpy(data, &mark, sizeof mark);
    memcpy(data + run->plan.size - sizeof mark, &mark, sizeof mark);
}

static void look(const struct run *run, const struct load_request *r)
{
    const uint64_t mark = r->key;
    if (r->operation == LOAD_GET &&
        (memcmp(r->data, &mark, sizeof mark) != 0 ||
         memcmp(r->data + run->plan.size - sizeof mark, &mark, sizeof mark) != 0))
        load_die("%s: another value came back for key %u", run->peer->name, r->key);
}

/* ------------------------------------------------------------------ load */

/* One request may take longer than all the others take to go once round the ring. */
static uint8_t *take_buffer(struct run *run)
{
    return run->ring + run->idle[run->taken++ % run->buffers] * run->stride;
}

static void give_buffer(struct run *run, const struct load_request *r)
{
    run->idle[run->given++ % run->buffers] =
        (uint32_t)((size_t)((uint8_t *)r->data - run->ring) / run->stride);
}

static void prepare(struct run *run, enum load_operation operation, uint32_t slot,
                    struct load_request *out)
{
    struct load_request *r = &run->slots[slot];
    *r = (struct load_request){
        .operation = operation, .slot = slot, .key = run->next_key, .data = take_buffer(run)};
    run->next_key = (run->next_key + 1) % run->keys;
    if (operation != LOAD_EXISTS)
        stamp(run, r->data, operation == LOAD_PUT ? r->key : ~(uint64_t)r->key);
    *out = *r;
}

/* Keeps every slot busy for `seconds` and `least` operations. What was answered until then is
 * returned, and *took are the seconds of it; the rest is awaited and not counted. */
static uint64_t load(struct run *run, enum load_operation operation, double seconds, uint64_t least,
                     double *took)
{
    const uint32_t slots = run->plan.connections * run->plan.depth;
    uint32_t freed[LOAD_MAX_SLOTS], open = slots;
    uint64_t done = 0;
    const double begin = now();
    *took = 0;
    for (uint32_t i = 0; i < slots; i++)
        prepare(run, operation, i, &run->batch[i]);
    run->peer->submit(run->link, run->batch, slots);
    while (open) {
        const size_t count = run->peer->wait(run->link, freed);
        size_t again = 0;
        for (size_t i = 0; i < count; i++) {
            look(run, &run->slots[freed[i]]);
            give_buffer(run, &run->slots[freed[i]]);
        }
        open -= (uint32_t)count;
        if (*took > 0)
            continue;
        done += count;
        const double since = now() - begin;
        if (since >= seconds && done >= least)
            *took = since;
        for (; *took <= 0 && again < count; again++)
            prepare(run, operation, freed[again], &run->batch[again]);
        run->peer->submit(run->link, run->batch, again);
        open += (uint32_t)again;
    }
    return done;
}

/* ------------------------------------------------------------------ the command line */

static const struct load_peer *find_peer(const char *name)
{
    static const struct load_peer *const peers[] = {&load_memkv_poll, &load_memkv_sync, &load_redis,
                                                    &load_memcached};
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        if (strcmp(name, peers[i]->name) == 0)
            return peers[i];
    }
    return NULL;
}

static int find_operation(const char *name)
{
    static const char *const names[] = {
        [LOAD_PUT] = "put", [LOAD_GET] = "get", [LOAD_EXISTS] = "exists"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) == 0)
            return i;
    }
    return -1;
}

static int read_shape(const char *text, struct load_plan *plan)
{
    return sscanf(text, "%ux%u", &plan->connections, &plan->depth) == 2 && plan->connections &&
           plan->connections <= LOAD_MAX_CONNECTIONS && plan->depth &&
           plan->depth <= LOAD_MAX_DEPTH && plan->connections * plan->depth <= LOAD_MAX_SLOTS;
}

int main(int argc, char **argv)
{
    static struct run run;
    double took;
    int operation = argc == 6 ? find_operation(argv[3]) : -1;
    run.peer = operation < 0 ? NULL : find_peer(argv[1]);
    if (!run.peer || !read_shape(argv[4], &run.plan)) {
        fprintf(stderr, "usage: tcp_load memkv|memkv-sync|redis|memcached IP:PORT put|get|exists "
                        "CxD SECONDS\n");
        return 2;
    }
    run.operation = (enum load_operation)operation;
    run.plan.address = argv[2];
    run.plan.size = run.operation == LOAD_EXISTS ? SMALL : BLOCK;
    make_ring(&run);
    run.link = run.peer->open(&run.plan);
    load(&run, LOAD_PUT, 0, run.keys, &took);
    load(&run, run.operation, WARM_UP, 1, &took);
    const uint64_t done = load(&run, run.operation, strtod(argv[5], NULL), 1, &took);
    run.peer->close(run.link);
    printf("operations=%llu seconds=%.6f\n", (unsigned long long)done, took);
    return 0;
}
