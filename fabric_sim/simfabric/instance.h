/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run folder of one fabric: its socket, the trees of its nodes, and who runs it. Clean-up
 * touches this folder and the recorded process only: a process number without its start time is
 * not believed.
 */
#ifndef FABRIC_SIM_SIMFABRIC_INSTANCE_H
#define FABRIC_SIM_SIMFABRIC_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define INSTANCE_NAME 32  /* with the final NUL: letters, digits, '-', '_', '.' but not first */
#define INSTANCE_PATH 160 /* with the final NUL */

struct instance {
    char name[INSTANCE_NAME];
    char folder[INSTANCE_PATH];
    char socket[INSTANCE_PATH + 16];
    char record[INSTANCE_PATH + 16];
    char log[INSTANCE_PATH + 16];
    char topology[INSTANCE_PATH + 16]; /* the file that it was brought up with */
};

/* Names the places of the fabric `name`; makes nothing. `runtime` is XDG_RUNTIME_DIR or null; root
 * uses /run. False when the name is none, or the path is too long for a socket. */
bool instance_at(struct instance *instance, const char *name, const char *runtime);
/* Makes the folder, for this user alone, and writes down that this process runs it; what a killed
 * fabric left there is removed first. False, errno says why; EBUSY: somebody runs it. */
bool instance_claim(const struct instance *instance);
/* Writes down that process `pid` runs it, in place of the one that did. */
bool instance_write(const struct instance *instance, pid_t pid);
/* The process that runs it; 0 when none does (any more). */
pid_t instance_runner(const struct instance *instance);
/* Whether there is a folder, of a fabric that runs or of one that was killed. */
bool instance_is_there(const struct instance *instance);
/* Removes the folder of a fabric that nobody runs. False, errno says why; EBUSY: somebody does. */
bool instance_clean(const struct instance *instance);
/* Keeps the text of the topology in the folder of the fabric that this process claimed. */
bool instance_keep(const struct instance *instance, const char *text, size_t length);
/* Removes the folder of the fabric that this process runs. */
bool instance_end(const struct instance *instance);
/* The folder of a node's /sys; false when it does not fit. */
bool instance_tree(const struct instance *instance, const char *node, char *out, size_t size);

#endif
