/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the commands of this room write; they end with the exit codes of memkv.
 */
#ifndef SRC_NET_OUTPUT_H
#define SRC_NET_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/cli/exit.h"

/* A place for text: standard output, a buffer. Whether the bytes arrived is the owner's to know. */
struct net_output {
    void *context;
    void (*write)(void *context, const char *bytes, size_t length);
};

/* Formatted text; what is longer than 1,000 bytes is cut. */
void net_print(const struct net_output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* One line, "key               : value", the form of net show. */
void net_field(const struct net_output *out, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What went wrong and what to do, as two lines of talk. */
void net_say_error(const struct net_output *talk, enum fabric_error error, const char *detail,
                   const char *fix);

/* An object on a line of its own, or indented; takes the reference. */
void net_print_json(const struct net_output *out, json_t *object, bool pretty);
/* The form of every error in JSON: name, detail (what was found and expected), exit, text, cause,
 * fix. `fix` null: that of the error table. A new reference. */
json_t *net_error_object(enum fabric_error error, const char *detail, const char *fix);
/* A string of JSON from text of any origin: what is no UTF-8 has '?' for each of its bytes that is
 * no ASCII. A new reference. */
json_t *net_string(const char *text);
/* Sets a member; takes the reference. */
void net_set(json_t *object, const char *key, json_t *value);

#endif
