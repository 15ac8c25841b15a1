/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memkv bench. Each thread is a client with keys of its own and keeps `depth` operations under way;
 * whatever ends is followed by another one.
 *
 * bench.c        options, the command
 * bench_load.c   one thread: filling, warming up, measuring, cleaning up
 * bench_report.c what was measured, as text or JSON
 */
#ifndef SRC_CLI_BENCH_H
#define SRC_CLI_BENCH_H

#include "src/cli/histogram.h"
#include "src/cli/progress.h"
#include "src/cli/work.h"

#define BENCH_MAX_DEPTH 512u
#define BENCH_KINDS 3u /* PUT, GET, EXISTS: enum client_kind up to there */
#define BENCH_WAYS ((unsigned)CLIENT_OVER_DC + 1)

struct bench_plan {
    uint64_t size;  /* bytes of a value, 1 to CLIENT_MAX_VALUE */
    uint64_t depth; /* operations under way, of each thread */
    uint64_t threads;
    uint64_t mix[BENCH_KINDS];  /* weights */
    uint64_t keys;              /* of each thread */
    uint64_t warm_up, duration; /* ns */
    uint64_t count;             /* operations of each thread; 0: for `duration` */
    uint64_t seed;              /* of the order of keys and operations */
    bool keep;                  /* the blocks stay */
};

struct bench_result {         /* of one kind of operation */
    struct histogram latency; /* ns, of what succeeded */
    uint64_t bytes;
    uint64_t missed;  /* not found: evicted, or deleted by others */
    uint64_t refused; /* the store was full, or had no memory */
};

enum bench_phase {
    BENCH_FILL,
    BENCH_WARM_UP,
    BENCH_MEASURE,
    BENCH_DRAIN, /* what is under way ends */
    BENCH_CLEAN, /* the blocks go */
};

struct bench_slot { /* an operation under way */
    enum client_kind kind;
    uint64_t key, begun; /* ns */
};

struct bench_load {
    const struct bench_plan *plan;
    uint32_t thread;
    enum bench_phase phase;
    char prefix[48];
    uint8_t *memory; /* a value's room for each slot */
    uint64_t room;   /* bytes of it */
    struct client_memory *region;
    struct bench_slot slots[BENCH_MAX_DEPTH];
    uint32_t free_slots[BENCH_MAX_DEPTH], free_count;
    uint64_t random, next; /* next: key to be put or deleted */
    uint64_t since;        /* ns: the phase began; of MEASURE and later: measuring began */
    uint64_t took;         /* ns of measuring; 0: not over */
    uint64_t ended;        /* operations that were measured */
    bool interrupted;
    bool over[BENCH_WAYS]; /* an operation went this way: enum client_transport */
    struct bench_result results[BENCH_KINDS];
    struct cli_progress progress;
};

/* False without memory. */
bool bench_load_open(struct bench_load *load, const struct bench_plan *plan, uint32_t thread);
void bench_load_close(struct bench_load *load);
/* Of struct cli_work, whose context is the load. */
void bench_load_begin(struct cli_work *work);
void bench_load_completed(struct cli_work *work, const struct client_completion *completion);
void bench_load_drained(struct cli_work *work);
void bench_load_interrupted(struct cli_work *work);

/* What all threads measured; `config` is theirs. */
void bench_report(struct cli *cli, const struct bench_plan *plan,
                  const struct client_config *config, const struct bench_load *loads);

#endif
