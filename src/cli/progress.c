/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/progress.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>

#include "src/fabric/planted.h"
#include "src/fabric/seam.h"

#define MIB (UINT64_C(1) << 20)
#define SECOND UINT64_C(1000000000)
#define CLEAR "\r\033[K"

void cli_progress_say(struct cli_progress *progress, const struct cli_work *work, const char *key,
                      uint64_t done, uint64_t size)
{
    const struct cli_host *host = work->cli->host;
    uint64_t now = 0;
    assert(progress && key && done <= size);
    if ((!host->progress && !PLANTED(cli_progress_in_pipes)) || fabric_now(work->fabric, &now))
        return;
    if (progress->begin == 0)
        progress->begin = now;
    const uint64_t took = now - progress->begin;
    fprintf(host->err, CLEAR "%.40s: %" PRIu64 " of %" PRIu64 " MiB", key, (done + MIB - 1) / MIB,
            (size + MIB - 1) / MIB);
    if (done > 0 && took >= SECOND / 10) /* before that a rate is a guess */
        fprintf(host->err, ", %" PRIu64 " MiB/s, %" PRIu64 " s left", done / MIB * SECOND / took,
                (size - done) / MIB * took / (done / MIB + 1) / SECOND);
    fflush(host->err);
    progress->shown = true;
}

void cli_progress_line(struct cli_progress *progress, const struct cli_work *work, uint64_t now,
                       const char *format, ...)
{
    const struct cli_host *host = work->cli->host;
    char line[100];
    va_list arguments;
    assert(progress && format);
    if (!host->progress || (progress->shown && now - progress->said < SECOND / 5))
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(host->err, CLEAR "%s", line);
    fflush(host->err);
    progress->said = now;
    progress->shown = true;
}

void cli_progress_end(struct cli_progress *progress, const struct cli_work *work)
{
    assert(progress && work);
    if (progress->shown)
        fputs(CLEAR, work->cli->host->err);
    progress->shown = false;
}
