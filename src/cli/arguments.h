/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a command line to a command of a table, its operands and options. */
#ifndef SRC_CLI_ARGUMENTS_H
#define SRC_CLI_ARGUMENTS_H

#include "src/cli/cli.h"

struct cli;

struct cli_option {
    const char *name;  /* without its dashes; null ends a table */
    char letter;       /* 0: none */
    const char *value; /* what the help calls it, "HOST:PORT"; null: a flag */
    const char *help;
    const char *const *choices; /* all that are allowed; ends in null; null: free */
    bool repeats;
};

struct cli_command {
    const char *object; /* "net", or the command itself: "put" */
    const char *verb;   /* null: there is none */
    const char *operands;
    size_t least, most; /* operands */
    const char *summary;
    const char *about;
    const char *const *examples; /* ends in null */
    const struct cli_option *options;
    enum cli_exit (*run)(struct cli *cli);
};

struct cli_given {
    const struct cli_option *option;
    const char *value; /* null for a flag */
};

struct cli_arguments {
    const struct cli_command *command; /* null: none was named */
    const char *object;                /* an object without a verb, for its help */
    const char *operands[CLI_MAX_OPERANDS];
    size_t operand_count;
    struct cli_given given[CLI_MAX_OPTIONS];
    size_t given_count;
    bool json, pretty, help, version;
};

#define CLI_PROBLEM 1024 /* bytes */

/* Reads argv[1..]; false with the first mistake in `problem`, and then json and pretty still hold
 * whether they were asked for anywhere. `commands` ends with an object of null. */
bool cli_arguments_read(const struct cli_command *commands, int argc, const char *const *argv,
                        struct cli_arguments *out, char problem[CLI_PROBLEM]);

/* The value of the last such option, or null; whether a flag was given. */
const char *cli_value(const struct cli_arguments *arguments, const char *option);
bool cli_has(const struct cli_arguments *arguments, const char *option);

/* Options that every command has; ends in null. */
extern const struct cli_option cli_common_options[];

#endif
