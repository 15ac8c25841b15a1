/* SPDX-License-Identifier: Apache-2.0 */
/* What a command says: results to standard output, talk and complaints to standard error. */
#ifndef SRC_CLI_OUTPUT_H
#define SRC_CLI_OUTPUT_H

#include <jansson.h>

#include "src/cli/arguments.h"
#include "src/net/output.h"

/* One command as it runs. */
struct cli {
    const struct cli_host *host;
    const struct cli_arguments *arguments;
    const struct cli_command *commands;
};

/* A piece of the result, in text mode. */
void cli_print(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A file as the commands of src/net write to it. */
struct net_output cli_output(FILE *file);
/* The result in JSON mode; releases the object. */
void cli_print_json(struct cli *cli, json_t *object);
/* One line of talk, "memkv: ..." on standard error. */
void cli_say(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The command has failed with a named error: what was found and expected (`detail`), and from the
 * error table what it means and what to do. Under --json an object on standard output. Returns the
 * exit code. */
enum cli_exit cli_fail(struct cli *cli, enum fabric_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same where the error table speaks of other things: another exit code, and what to do. */
enum cli_exit cli_fail_as(struct cli *cli, enum fabric_error error, enum cli_exit code,
                          const char *fix, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* A file of the user's that cannot be read or written, `what` in the eyes of the command: says why,
 * returns CLI_CONFIG. */
enum cli_exit cli_fail_file(struct cli *cli, enum fabric_error error, const char *path,
                            const char *what);
const char *cli_file_reason(enum fabric_error error); /* "there is no such file" */
/* Wrong usage that the tables cannot see: one line, under --json an object too. */
enum cli_exit cli_usage(struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Everything was written out; otherwise says so once and returns false. */
bool cli_flush(const struct cli_host *host);

/* `text` in lines of at most the terminal's width, each after `indent` spaces; at most `columns`
 * when there is no terminal (0: one line). */
void cli_wrap(FILE *to, const char *text, unsigned indent, unsigned columns);

#endif
