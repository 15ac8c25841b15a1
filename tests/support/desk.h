/* SPDX-License-Identifier: Apache-2.0 */
/* A desk at which memkv is typed: files and environment of the test, output that it can look at,
 * and a node of a small world to run on. */
#ifndef TESTS_SUPPORT_DESK_H
#define TESTS_SUPPORT_DESK_H

#include "src/cli/cli.h"
#include "tests/support/memkv_pair.h"

#define DESK_FILES 8

struct desk_file {
    char path[64];
    char *data; /* by malloc; the desk frees it */
    size_t length;
    uint32_t mode;
};

struct desk {
    struct fabric *fabric;     /* to look around with: the next command takes it */
    char sysfs_root[64];       /* where the last look was to be; "" at this machine */
    struct small_world *world; /* null: what runs a node must not be typed */
    uint32_t node;             /* where commands run */
    /* Runs a node in place of the small world; null: that does. */
    enum fabric_error (*run)(struct desk *desk, const struct cli_node *node);
    struct desk_file files[DESK_FILES];
    const char *variables[16][2];
    unsigned columns;
    bool progress;
    enum fabric_log_level level; /* the last that a reload set */
    bool busy_poll;              /* asked for by the last that ran a node */
    /* Called when the node has run for a moment: may give it a signal (below). Null: never. */
    void (*meanwhile)(struct desk *desk);
    char told[64];   /* the service manager, each state and a blank */
    int signal;      /* of enum cli_signal, for the node that runs; -1: none */
    char *out, *err; /* of the last command */
};

void desk_open(struct desk *desk);
void desk_close(struct desk *desk); /* and its world */
void desk_set(struct desk *desk, const char *variable, const char *value);
void desk_file(struct desk *desk, const char *path, const void *data, size_t length, uint32_t mode);
struct desk_file *desk_find(struct desk *desk, const char *path);

/* Types one line, "memkv put k FILE": words are parted by blanks. */
enum cli_exit desk_type(struct desk *desk, const char *line);
/* The same, and fails the test unless it ends so and its output holds the texts (null: nothing is
 * asked). */
void desk_expect(struct desk *desk, const char *line, enum cli_exit code, const char *out,
                 const char *err);

#endif
