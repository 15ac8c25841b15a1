/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of a scenario in a process of its own: a program on this machine's fabric, seen through
 * the topology's names, that whoever started the process drives by lines.
 *
 * Standard input, one JSON object a line: first {"program", "config", "place"}, then {"tell":
 * COMMAND}, {"rule": {"op", "nth", "repeat", "error", "status"}}, {"stop": true}. Standard output:
 * {"event": "report", "text": LINE} for every report and at last {"event": "exited", "error":
 * NAME}. Standard error: log lines as JSON. The end of standard input ends the program in order.
 */
#ifndef FABRIC_HW_OS_NODE_H
#define FABRIC_HW_OS_NODE_H

#include "fabric_hw/os/os.h"
#include "src/fabric/program.h"

#define OS_NODE_LINE (1u << 20) /* bytes of a line, at most */

struct os_node_init {
    const struct fabric_program *const *programs;
    size_t program_count;
    const struct os_part *part; /* the verbs; null: there is no device */
    void *part_context;
};

/* Returns the exit code: 0 when the program ended in order, 1 when it could not start or the
 * machine failed it, 2 for lines that make no sense. */
int os_node_main(const struct os_node_init *init);

#endif
