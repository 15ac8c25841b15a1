/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program memkv without a process around it: arguments come in, text goes out, and all that a
 * command needs of its surroundings stands in a struct cli_host. So every command runs in a test as
 * it runs at a desk.
 *
 * arguments.c  from words to a command with its options
 * commands.c   the table of commands
 * help.c       what the table says to people
 * output.c     results, complaints and errors as text or JSON
 * exit.c       exit codes
 */
#ifndef SRC_CLI_CLI_H
#define SRC_CLI_CLI_H

#include <stdio.h>

#include "src/cli/exit.h"
#include "src/fabric/program.h"

#define CLI_MAX_OPERANDS 64
#define CLI_MAX_OPTIONS 64
#define CLI_MAX_NODES 64u /* that run at once */

/* A file as the host has read it. */
struct cli_file {
    char *data;      /* by malloc, the reader frees it; a NUL follows */
    size_t length;   /* bytes without it */
    uint32_t mode;   /* permission bits; 0 where nobody knows */
    bool is_regular; /* a pipe has no permissions worth checking */
};

/* A program to run in this process until it is done; the CLI fills it in, the host runs it. */
struct cli_node {
    const struct fabric_program *program;
    const char *config;
    size_t config_length;
    struct fabric_report_sink sink;
    /* Whether it is to end now. Asked after every event. */
    bool (*done)(void *context);
    /* A signal came: how the program is told, as one line of JSON for its command; "": there is
     * nothing to tell; null: it is to end at once. */
    const char *(*signal)(void *context, int cli_signal);
    void *context; /* of the two above */
    enum fabric_log_level log_level;
    int log_format; /* 0: text on a terminal and JSON elsewhere; 1: text; 2: JSON */
    bool busy_poll; /* completion queues are looked into without end */
};

enum cli_signal {
    CLI_SIGNAL_INTERRUPT, /* SIGINT */
    CLI_SIGNAL_TERMINATE, /* SIGTERM */
    CLI_SIGNAL_HANGUP,    /* SIGHUP */
};

struct cli_host {
    FILE *out, *err;
    bool terminal;    /* `out` is one: colour may be used */
    bool progress;    /* `err` is one: a line may be written over */
    bool color;       /* unless this is false */
    unsigned columns; /* of the terminal; 0: none, nothing is wrapped */
    void *context;    /* of what follows */
    /* A variable of the environment, null when it is not set. */
    const char *(*environment)(void *context, const char *name);
    /* At most `max` bytes; not_found, access_denied, too_large, invalid_argument (a folder),
     * media_failed. "-" is standard input. */
    enum fabric_error (*read_file)(void *context, const char *path, size_t max,
                                   struct cli_file *out);
    /* All or nothing: a file is there under its name only when it is whole. */
    enum fabric_error (*write_file)(void *context, const char *path, const void *data,
                                    size_t length);
    /* Runs a node to its end. An error of its start, or FABRIC_OK; cancelled when a signal ended
     * it. */
    enum fabric_error (*run)(void *context, const struct cli_node *node);
    /* Runs `count` nodes (1 to CLI_MAX_NODES), each on a thread and a fabric of its own, to their
     * ends. A signal is told to the first, and then its command to all of them; it may not be null.
     * Returns the first error. */
    enum fabric_error (*run_several)(void *context, const struct cli_node *nodes, size_t count);
    /* From which level on the node that runs logs. */
    void (*log_level)(void *context, enum fabric_log_level level);
    /* A fabric to look around with: system files and devices; with `sysfs_root` the files below
     * that folder in place of this machine's, and no device. The caller destroys it. not_found: the
     * folder holds no sys; resources_exhausted. */
    enum fabric_error (*look)(void *context, const char *sysfs_root, struct fabric **out);
    /* Tells the service manager, where there is one, how far the server is, as in "READY=1". */
    void (*notify)(void *context, const char *state);
};

/* Runs one command. argv[0] is the program's name. */
enum cli_exit cli_main(const struct cli_host *host, int argc, const char *const *argv);

#endif
