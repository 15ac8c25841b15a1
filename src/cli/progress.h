/* SPDX-License-Identifier: Apache-2.0 */
/* One line on a terminal that says how far a file is; nothing elsewhere. */
#ifndef SRC_CLI_PROGRESS_H
#define SRC_CLI_PROGRESS_H

#include "src/cli/work.h"

struct cli_progress {
    uint64_t begin; /* ns; 0: nothing was said yet */
    uint64_t said;  /* ns: when the line was written last */
    bool shown;     /* the line is there */
};

/* So many bytes of `size` are through. */
void cli_progress_say(struct cli_progress *progress, const struct cli_work *work, const char *key,
                      uint64_t done, uint64_t size);
/* Writes a line of at most 100 bytes, unless one was written less than 0.2 s before `now` (ns). */
void cli_progress_line(struct cli_progress *progress, const struct cli_work *work, uint64_t now,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Takes the line away; before anything else is said. */
void cli_progress_end(struct cli_progress *progress, const struct cli_work *work);

#endif
