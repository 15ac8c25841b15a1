/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a scenario on any fabric, through its testbed alone.
 */
#ifndef SRC_SCENARIO_RUNNER_H
#define SRC_SCENARIO_RUNNER_H

#include "src/scenario/history.h"
#include "src/scenario/scenario.h"

enum scenario_status {
    SCENARIO_PASSED,
    SCENARIO_FAILED,      /* an expectation was not met */
    SCENARIO_SKIPPED,     /* the fabric lacks a capability; `reason` names it */
    SCENARIO_BROKEN,      /* the harness could not run it; `reason` says why */
    SCENARIO_INTERRUPTED, /* the operator ended it */
};

struct scenario_options {
    uint64_t seed;
    fabric_caps caps; /* that the fabric may use */
    const struct fabric_program *const *programs;
    size_t program_count;
    const char *inventory; /* as in struct testbed_options */
    const struct remote_host *host;
    bool slow; /* also what takes longer than SCENARIO_REAL_LIMIT where time is real */
    /* Every trace line; null: none wanted. */
    void (*trace)(void *context, const char *line, size_t length);
    void *trace_context;
    /* Asked before every event and while the world goes on; null: never interrupted. */
    bool (*interrupted)(void *context);
    void *interrupt_context;
};

struct scenario_failure {
    struct yaml_mark mark; /* the expectation, in the scenario's file */
    uint64_t time;         /* when it was decided, ns since the world began */
    struct text expected, found, nearest;
};

/* What an operation, a start or a question ended in. */
struct scenario_answer {
    const struct scenario_step *step;
    uint64_t begin, end; /* ns since the world began */
    bool answered;       /* false: no answer came: the class is "hung" */
    bool ok;
    const char *class; /* outcome class of an operation; "" otherwise */
    const char *error; /* "ok" when there was none */
    const char *transport;
    const char *detail;
    uint64_t bytes;
    uint64_t offset; /* "corrupted": of the first byte that differs */
};

#define SCENARIO_MAX_FAILURES 8
#define SCENARIO_TRACE_TAIL 12

struct scenario_result {
    enum scenario_status status;
    struct text reason; /* why it was skipped or broken */
    uint64_t seed, time, trace_hash, draws;
    fabric_caps caps; /* that the fabric was allowed to use */
    bool real;        /* its time is real: no seed replays it */
    size_t failure_count;
    struct scenario_failure failures[SCENARIO_MAX_FAILURES];
    size_t answer_count;
    struct scenario_answer *answers; /* strings live in the history */
    struct history history;
    struct text tail[SCENARIO_TRACE_TAIL]; /* a ring; the oldest is at tail_next */
    size_t tail_next;
};

/* Fills *out; the caller releases it with scenario_result_free while the scenario still exists. */
void scenario_run(const struct scenario *scenario, const struct testbed_ops *ops,
                  const struct scenario_options *options, struct scenario_result *out);
void scenario_result_free(struct scenario_result *result);

/* What a run would do to machines, as lines for people: who is who, set-up, each fault and how it
 * is taken back. Nothing is done. False when the fabric cannot be this; a sentence is added then.
 */
bool scenario_plan(const struct scenario *scenario, const struct testbed_ops *ops,
                   const struct scenario_options *options, struct text *out);

#endif
