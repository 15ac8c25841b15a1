/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent (HA-4.5): one node of a scenario on the machine that it runs on. It is told by lines of
 * JSON on standard input and answers on standard output:
 *
 *   begin {node, state, place}     at first; takes back what an earlier agent of the node left
 *   file {path, offset, data}      puts a file on the node's storage; data in hexadecimal
 *   start {program, config}        the program runs in a process of its own
 *   stop, kill, freeze {on}, restart, tell {command}, rule {...}, clear
 *   act {id, commands, undo}       does something to the machine; how to take it back is on the
 * disk before (undo.h) undo {id}                      takes everything back, the latest first ask
 * {id, query}                a fact that needs no program
 *
 * It says hello {caps}, report {text}, log {level, text}, exited {error, status} and
 * answer {id, ok, detail}. When standard input ends it ends the program, takes everything back and
 * ends too.
 */
#ifndef SRC_SCENARIO_AGENT_H
#define SRC_SCENARIO_AGENT_H

#include "src/fabric/layer_place.h"
#include "src/scenario/remote_host.h"
#include "src/scenario/testbed.h"

struct agent_init {
    const struct remote_host *host; /* with the parent's lines */
    const char *const *node;        /* words that start a node's process (fabric_hw/os/node.h) */
    /* A fabric of this machine to look at; the agent destroys it. Null when there is none. */
    struct fabric *(*look)(void *context);
    void *context;
};

/* Returns the exit code: 0, or 1 when something could not be taken back. */
int agent_main(const struct agent_init *init);

#endif
