/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a topology, read for a command.
 */
#ifndef PROGRAMS_SIMFABRIC_MAKE_H
#define PROGRAMS_SIMFABRIC_MAKE_H

#include "fabric_sim/testbed.h"
#include "programs/simfabric/words.h"
#include "src/scenario/files.h"
#include "src/scenario/topology_read.h"

struct topology_file {
    struct text text;
    struct arena arena;
    struct topology *topology;
    struct yaml_errors errors;
};

/* Reads the file, the only one of a folder, or standard input for "-". False after complaints, with
 * nothing to free. */
bool topology_file_read(const char *given, struct topology_file *out);
void topology_file_free(struct topology_file *file);

#endif
