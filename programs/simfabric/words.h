/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the simfabric program share: the words of its command line.
 */
#ifndef PROGRAMS_SIMFABRIC_WORDS_H
#define PROGRAMS_SIMFABRIC_WORDS_H

#include <stdio.h>

#include "fabric_sim/simfabric/command.h"

struct words {
    const char *command, *name, *node, *format;
    char **arguments; /* of the command, without options; `count` of them */
    size_t count;
    uint64_t seed;
    unsigned long nodes, radix, rails; /* of generate; 0: not said */
    bool has_seed, foreground, attached, json, pretty, help;
    char **program; /* behind "--"; null: no such word */
};

/* Says what is wrong with the command line; SIMFABRIC_USAGE. `word` may be null. */
int words_usage(const char *what, const char *word);

/* Each command returns the exit status. */
int words_exec(const struct instance *instance, const struct words *words);
int words_shell(const struct instance *instance, const struct words *words);
int words_completion(const struct instance *instance, const struct words *words);
int words_ctl(const struct instance *instance, const struct words *words);
int words_status(const struct instance *instance, const struct words *words);
int words_inspect(const struct instance *instance, const struct words *words);
int words_generate(const struct instance *instance, const struct words *words);
int words_validate(const struct instance *instance, const struct words *words);
int words_graph(const struct instance *instance, const struct words *words);

/* The whole help, or that of one command; false when there is no such command. */
bool help_print(const char *command);
/* The nearest command to what was typed; null when none is near. */
const char *help_nearest(const char *command);

/* All of them, with blanks between. */
void help_names(FILE *out);
void option_names(FILE *out);

#endif
