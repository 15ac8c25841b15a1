/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of simfabric do; the words of the command line are read in
 * programs/simfabric.c. Results go to stdout, everything else, with the name of the error, to
 * stderr. Each returns an exit status.
 */
#ifndef FABRIC_SIM_SIMFABRIC_COMMAND_H
#define FABRIC_SIM_SIMFABRIC_COMMAND_H

#include "fabric_sim/simfabric/instance.h"
#include "src/fabric/error.h"
#include "src/scenario/topology.h"

enum simfabric_exit {
    SIMFABRIC_DONE = 0,
    SIMFABRIC_INTERNAL = 1,
    SIMFABRIC_USAGE = 2,
    SIMFABRIC_CONFIG = 3,        /* the topology */
    SIMFABRIC_UNREACHABLE = 4,   /* no such fabric is up */
    SIMFABRIC_REFUSED = 5,       /* ctl: the fabric refuses the fault word */
    SIMFABRIC_EXEC_FAILED = 125, /* exec: the program was not begun; the others as in a shell */
    SIMFABRIC_EXEC_UNABLE = 126,
    SIMFABRIC_EXEC_NOT_FOUND = 127,
};

struct simfabric_up {
    const struct instance *instance;
    const struct topology *topology;
    const char *source; /* the file of the topology, kept in the run folder */
    size_t source_length;
    uint64_t seed;
    bool foreground; /* does not become a process of its own */
    bool attached;   /* with foreground: ends with standard input, does not wait for ports */
};

/* Says on stderr "simfabric: NAME OF THE ERROR: ...". */
void simfabric_complain(enum fabric_error error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Brings the fabric up. Returns once it takes programs and its ports are ACTIVE, or three seconds
 * later: then it says how many are. What a killed fabric of that name left is cleaned up first. */
int simfabric_up(const struct simfabric_up *up);
/* Ends it and removes its run folder; also of one that was killed. */
int simfabric_down(const struct instance *instance);
/* A connection to the fabric, the caller's to close; -1 after a complaint: it is not up. */
int simfabric_connect(const struct instance *instance);
/* Becomes the program `arguments` (ending in null) on the node. Returns only when that fails.
 * `plugin` is the path of the verbs plug-in without its "-rdmav34.so". */
int simfabric_exec(const struct instance *instance, const char *node, const char *plugin,
                   char *const *arguments);

#endif
