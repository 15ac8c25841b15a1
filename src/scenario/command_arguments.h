/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was typed after memkv-scenario.
 */
#ifndef SRC_SCENARIO_COMMAND_ARGUMENTS_H
#define SRC_SCENARIO_COMMAND_ARGUMENTS_H

#include "src/scenario/command.h"

struct arguments {
    const char *command;
    const char **paths;
    size_t path_count;
    const struct testbed_ops *fabric;
    uint64_t seed, jobs, shard, shards; /* this part, from 1, of so many */
    const char *tag, *trace, *cell, *junit, *inventory;
    fabric_caps caps;
    bool json, twice, help, plan, slow, fail_fast;
};

/* Fills in what was typed over the defaults in *a; a->paths has room for argc. Returns
 * COMMAND_PASSED, or COMMAND_USAGE after a complaint. */
int command_read_arguments(const struct command_host *host, int argc, const char *const *argv,
                           struct arguments *a);
/* Says that there is no `found` among `names`, with the nearest of them or all. COMMAND_USAGE. */
int command_no_such(const struct command_host *host, const char *what, const char *found,
                    const char *const *names, size_t count);
/* COMMAND_USAGE after a complaint about the name of a command. */
int command_unknown(const struct command_host *host, const char *name);

#endif
