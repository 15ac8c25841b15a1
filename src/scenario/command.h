/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of memkv-scenario. The program gives what belongs to its machine (streams, clock,
 * fabrics, programs of nodes); nothing here knows a backend.
 */
#ifndef SRC_SCENARIO_COMMAND_H
#define SRC_SCENARIO_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/scenario/testbed.h"
#include "src/scenario/text.h"

enum command_exit { /* documented and stable */
                    COMMAND_PASSED = 0,
                    COMMAND_FAILED = 1,
                    COMMAND_USAGE = 2,
                    COMMAND_INVALID = 3, /* a file is no scenario */
                    COMMAND_NOTHING = 4, /* nothing ran */
                    COMMAND_INTERRUPTED = 130,
};

struct command_host {
    const struct testbed_ops *const *fabrics;
    size_t fabric_count;
    const struct fabric_program *const *programs;
    size_t program_count;
    const struct remote_host *machines; /* for fabrics of machines; null: none can be run */
    FILE *out, *err;                    /* results, talk */
    bool terminal;                      /* both go to a terminal: progress is shown */
    bool color;
    unsigned columns; /* of the terminal; 0: no terminal */
    /* Whether the operator asked to stop; may be null. */
    bool (*interrupted)(void *context);
    /* Nanoseconds of a clock that goes on while the world stands still; may be null. */
    uint64_t (*wall)(void *context);
    /* Calls work(job, i, &out[i]) for every i below `count`, at most `jobs` at a time, in other
     * processes. False when one of them died or could not be made: the others go on, and its text
     * is empty or cut off. Null: one after the other. */
    bool (*spread)(void *context, size_t count, unsigned jobs,
                   void (*work)(void *job, size_t i, struct text *out), void *job,
                   struct text *out);
    void *context;
};

/* argv[0] is the program's name. Returns the exit code. */
int command_main(const struct command_host *host, int argc, const char *const *argv);

/* Prints what there is to know about a field or a word; false when it is neither. */
bool command_help(const struct command_host *host, const char *topic);
extern const char command_usage[];

#endif
