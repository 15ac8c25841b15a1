/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run under way: what the runner's files share.
 */
#ifndef SRC_SCENARIO_RUNNER_STATE_H
#define SRC_SCENARIO_RUNNER_STATE_H

#include "src/scenario/runner.h"

struct runner_node {
    const char *name;
    const struct fabric_program *program;
    bool running;    /* it was started, and nobody stopped or killed it */
    unsigned ending; /* exits that were asked for and have not come */
    size_t start;    /* position of the answer that waits for its first word; SIZE_MAX: none */
};

struct runner {
    const struct scenario *scenario;
    const struct testbed_ops *ops;
    const struct scenario_options *options;
    struct testbed *tb;
    struct scenario_result *result;
    struct runner_node *nodes; /* one a program of the scenario */
    bool over;                 /* failed, skipped, broken or interrupted: go no further */
    bool idle;                 /* the testbed said that nothing can happen any more */
    size_t since;              /* history from here on is what `when` looks at */
    uint64_t done;             /* when the step before was done */
    uint64_t slack;            /* ns that what is bounded may be later: 0 where time is virtual */
};

/* Each ends the run. */
struct scenario_failure *runner_fail(struct runner *r, struct yaml_mark mark);
void runner_break(struct runner *r, enum scenario_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Turns what the testbed answered into the end of the run, unless it is DONE. */
bool runner_accept(struct runner *r, enum testbed_result result, const char *detail,
                   struct yaml_mark mark);

/* Lets the world go on by one event or until `deadline`; false when the run is over, the deadline
 * has passed, or nothing can happen any more. */
bool runner_pump(struct runner *r, uint64_t deadline);
struct runner_node *runner_node(struct runner *r, const char *name);
void runner_note(struct runner *r, const char *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whoever runs there now is asked to end: an exit is owed. `again`: the testbed starts it anew. */
void runner_expect_exit(struct runner_node *node, bool again);

/* Answers: runner_answer.c. Opening one returns its position; its command's id is one more. */
size_t runner_open_answer(struct runner *r, const struct scenario_step *step);
void runner_take_report(struct runner *r, const struct history_entry *entry);
void runner_take_exit(struct runner *r, const struct history_entry *entry);
void runner_wait_answer(struct runner *r, size_t position);
void runner_judge(struct runner *r, size_t position, const json_t *report);

/* Steps: runner_step.c. */
void runner_start_program(struct runner *r, const struct scenario_program *program,
                          const struct scenario_step *step);
void runner_step(struct runner *r, const struct scenario_step *step);

/* The closing list: runner_check.c. */
void runner_watch(struct runner *r, const struct history_entry *entry);
void runner_check_all(struct runner *r);

#endif
