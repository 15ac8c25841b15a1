/* SPDX-License-Identifier: Apache-2.0 */
/* The exit codes of memkv, and which of them an error has. They never change (MK-H3). */
#ifndef SRC_CLI_EXIT_H
#define SRC_CLI_EXIT_H

#include <stddef.h>

#include "src/fabric/error.h"

enum cli_exit {
    CLI_DONE = 0,
    CLI_INTERNAL = 1, /* also: standard output could not be written */
    CLI_USAGE = 2,
    CLI_CONFIG = 3, /* configuration or input file */
    CLI_CANNOT_REACH = 4,
    CLI_AUTHENTICATION = 5,
    CLI_FABRIC = 6, /* the fabric or a port refuses, or failed */
    CLI_MISMATCH = 7,
    CLI_NOT_FOUND = 8,
    CLI_STORE = 9, /* the store refuses: full, read-only, too large */
    CLI_INTERRUPTED = 130,
};

/* Never CLI_DONE but for FABRIC_OK. */
enum cli_exit cli_exit_of(enum fabric_error error);

/* What a code means, for the help: entry `i`, or null past the last. */
struct cli_exit_info {
    enum cli_exit code;
    const char *meaning;
};
const struct cli_exit_info *cli_exit_info(size_t i);

#endif
