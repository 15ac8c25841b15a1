/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs on one node: the server, the client, a test. It sees the world through its
 * fabric alone and is driven by events, so the same table runs in virtual time and in a process.
 */
#ifndef SRC_FABRIC_PROGRAM_H
#define SRC_FABRIC_PROGRAM_H

#include "src/fabric/fabric.h"

/* Where a program puts what it has to tell its driver: one line of JSON, without a newline, per
 * report; in the simulator the testbed collects them, in a process they go to standard output. */
struct fabric_report_sink {
    void *context;
    void (*report)(void *context, const char *json);
};

struct fabric_program {
    const char *name; /* "server", "client"; how scenarios call it */
    /* start: begins work on `f`; `config` is the text of its configuration (YAML), `sink` lives as
     * long as the program. On an error nothing is left behind and *state is untouched. */
    enum fabric_error (*start)(struct fabric *f, const char *config, size_t config_length,
                               const struct fabric_report_sink *sink, void **state);
    /* event: one event that fabric_poll returned. */
    void (*event)(void *state, const struct fabric_event *event);
    /* command: one request of the driver as a line of JSON, with a member "id" that the report of
     * its result repeats. An unknown command is reported as an error, never ignored. */
    void (*command)(void *state, const char *json);
    /* stop: releases everything. The fabric is still there, and is destroyed by the driver. */
    void (*stop)(void *state);
};

#endif
