/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the commands of this room write, and how they end.
 */
#ifndef SRC_NET_OUTPUT_H
#define SRC_NET_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/fabric/error.h"

/* A place for text: standard output, a buffer. Whether the bytes arrived is the owner's to know. */
struct net_output {
    void *context;
    void (*write)(void *context, const char *bytes, size_t length);
};

/* Some of the exit codes of memkv, which are the same for every command. */
enum net_exit {
    NET_EXIT_DONE = 0,
    NET_EXIT_INTERNAL = 1,
    NET_EXIT_USAGE = 2,
    NET_EXIT_INPUT = 3,  /* a system file cannot be used */
    NET_EXIT_FABRIC = 6, /* the driver, the mode or the system refuses */
    NET_EXIT_ABSENT = 8, /* no such device, port or interface */
    NET_EXIT_INTERRUPTED = 130,
};

/* How a command ends whose error is this one. */
enum net_exit net_exit_of(enum fabric_error error);

/* Formatted text; what is longer than 1,000 bytes is cut. */
void net_print(const struct net_output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* One line, "key               : value", the form of net show. */
void net_field(const struct net_output *out, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An object on a line of its own, or indented; takes the reference. */
void net_print_json(const struct net_output *out, json_t *object, bool pretty);
/* Sets a member; takes the reference. */
void net_set(json_t *object, const char *key, json_t *value);

#endif
