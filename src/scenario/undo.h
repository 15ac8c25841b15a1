/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A journal of how to take back what was done to a machine. A line is on the disk before what it
 * takes back is done, so that whatever happens to us, `memkv-scenario undo` finds it.
 *
 * Commands are arrays of words; one whose first word begins with '-' may fail.
 */
#ifndef SRC_SCENARIO_UNDO_H
#define SRC_SCENARIO_UNDO_H

#include <jansson.h>

#include "src/scenario/remote_host.h"

#define UNDO_PATH 256
#define UNDO_PATIENCE UINT64_C(30000000000) /* ns for one command */

struct undo {
    const struct remote_host *host;
    char path[UNDO_PATH];
    json_t *lines; /* those on the disk, in order */
};

/* A journal at `path`, with what an earlier process left there, unless others may write in its
 * folder: then there is nothing, and nothing can be pushed. undo_free releases it and leaves
 * the file alone. */
void undo_open(struct undo *undo, const struct remote_host *host, const char *path);
void undo_free(struct undo *undo);

size_t undo_count(const struct undo *undo);

/* Writes down how to take back what comes next: `commands`, run in their order. A line that is
 * there already is not written twice. "{read:PATH}" in a word becomes what the file says now.
 * False: it could not be written, or such a file not be read, and nothing may be done. */
bool undo_push(struct undo *undo, const json_t *commands);

/* Runs commands in order up to the first that fails; a sentence in `detail` (REMOTE_DETAIL bytes)
 * then. */
bool undo_run_commands(const struct remote_host *host, const json_t *commands, char *detail);

/* Takes back everything, the latest first, and removes the file. What fails stays in it; the first
 * of that is told in `detail`, and the rest is taken back all the same. */
bool undo_all(struct undo *undo, char *detail);

#endif
