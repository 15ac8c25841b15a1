/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores on drives: a program of a node that opens each drive as a medium, which lays it out. What
 * the system uses is refused twice: by what the machine's files say, and when it is opened.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/setup.h"
#include "src/fabric/planted.h"
#include "src/store/media.h"

#define BLOCK_SIZE (UINT64_C(1) << 20) /* bytes of the largest request */

struct work {
    const struct setup_format *format;
    struct media *media[CLI_MAX_OPTIONS];
    struct media_counts counts[CLI_MAX_OPTIONS];
    enum fabric_error errors[CLI_MAX_OPTIONS];
    char details[CLI_MAX_OPTIONS][CLI_PROBLEM];
    uint32_t opened;
    bool cancelled;
};

static void take_results(struct work *w)
{
    assert(w->opened <= w->format->count);
    for (uint32_t i = 0; i < w->format->count; i++) {
        struct media_result result;
        while (w->media[i] && media_next(w->media[i], &result)) {
            if (result.kind != MEDIA_OPENED)
                continue;
            w->opened++;
            w->errors[i] = result.error;
            media_counts(w->media[i], &w->counts[i]);
            snprintf(w->details[i], CLI_PROBLEM, "%s", media_detail(w->media[i]));
        }
    }
}

static enum fabric_error start(struct fabric *f, const char *config, size_t length,
                               const struct fabric_report_sink *sink, void **state)
{
    struct work *w = sink->context;
    enum fabric_error error = FABRIC_OK;
    (void)config;
    assert(w && length == 0);
    for (uint32_t i = 0; i < w->format->count && !error; i++) {
        const struct media_init init = {.fabric = f,
                                        .cookie = (uint64_t)i << 32,
                                        .path = w->format->paths[i],
                                        .direct = true,
                                        .makes = true,
                                        .overwrites = w->format->overwrites,
                                        .block_size = BLOCK_SIZE,
                                        .lane = i % w->format->lanes,
                                        .lanes = w->format->lanes,
                                        .drive = i / w->format->lanes,
                                        .drives = w->format->count / w->format->lanes};
        error = media_create(&init, &w->media[i]);
    }
    for (uint32_t i = 0; i < w->format->count && error; i++) {
        media_destroy(w->media[i]);
        w->media[i] = NULL;
    }
    *state = error ? *state : w;
    return error;
}

static void event(void *state, const struct fabric_event *e)
{
    struct work *w = state;
    assert(w && e);
    if (e->type != FABRIC_EVENT_IO_DONE)
        return;
    const uint32_t i = (uint32_t)(e->u.io.cookie >> 32);
    assert(i < w->format->count && w->media[i]);
    media_event(w->media[i], &e->u.io);
    take_results(w);
}

static void command(void *state, const char *json)
{
    (void)state;
    (void)json; /* nobody gives any */
}

static void stop(void *state)
{
    struct work *w = state;
    assert(w);
    for (uint32_t i = 0; i < w->format->count; i++) {
        media_destroy(w->media[i]);
        w->media[i] = NULL;
    }
}

static const struct fabric_program format_program = {
    .name = "format", .start = start, .event = event, .command = command, .stop = stop};

static bool is_done(void *context)
{
    const struct work *w = context;
    return w->opened == w->format->count;
}

static const char *take_signal(void *context, int cli_signal)
{
    struct work *w = context;
    (void)cli_signal;
    w->cancelled = true;
    return NULL;
}

static void drop_report(void *context, const char *json)
{
    (void)context;
    (void)json;
}

/* ------------------------------------------------------------------ */

static const struct setup_drive *drive_at(const struct setup_machine *m, const char *path)
{
    for (uint32_t i = 0; i < m->drive_count; i++) {
        if (strncmp(path, "/dev/", 5) == 0 && strcmp(path + 5, m->drives[i].name) == 0)
            return &m->drives[i];
    }
    return NULL;
}

/* All of them before anything is written. */
static enum cli_exit check(struct cli *cli, const struct setup_machine *m,
                           const struct setup_format *format)
{
    for (uint32_t i = 0; i < format->count; i++) {
        const struct setup_drive *d = drive_at(m, format->paths[i]);
        if (format->paths[i][0] != '/')
            return cli_usage(cli, "--format: found '%.60s'; an absolute path is expected",
                             format->paths[i]);
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(format->paths[k], format->paths[i]) == 0)
                return cli_usage(cli, "--format: found '%.60s' twice", format->paths[i]);
        }
        if (d && d->used[0] && !PLANTED(cli_format_used))
            return cli_fail_as(cli, ERR_BUSY, CLI_CONFIG,
                               "Name a drive that nobody uses; memkv setup lists them.",
                               "%s: it is %s; nothing was written", format->paths[i], d->used);
    }
    if (format->count % format->lanes)
        return cli_usage(cli, "--lanes: found %u drives for %u lanes; a multiple is expected",
                         format->count, format->lanes);
    return CLI_DONE;
}

static enum cli_exit show(struct cli *cli, const struct work *w)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < w->format->count; i++) {
        const struct media_counts *n = &w->counts[i];
        if (w->errors[i]) {
            json_decref(list);
            return cli_fail_as(
                cli, w->errors[i], CLI_CONFIG,
                "Look whether it is the right one. --overwrite lays a store out on a "
                "drive that is not blank: what is on it is lost.",
                "%s", w->details[i]);
        }
        json_array_append_new(
            list, json_pack("{s:o, s:I, s:I}", "path", net_string(w->format->paths[i]), "bytes",
                            (json_int_t)n->capacity, "blocks", (json_int_t)n->blocks));
        if (!cli->arguments->json)
            cli_print(cli, "%s: a store for %" PRIu64 " bytes, %" PRIu64 " blocks\n",
                      w->format->paths[i], n->capacity, n->blocks);
    }
    if (cli->arguments->json)
        cli_print_json(cli, json_pack("{s:b, s:s, s:o}", "ok", 1, "op", "format", "drives", list));
    else
        json_decref(list);
    return CLI_DONE;
}

enum cli_exit setup_format(struct cli *cli, const struct setup_machine *machine,
                           const struct setup_format *format)
{
    assert(cli && machine && format && format->count && format->lanes);
    enum cli_exit code = check(cli, machine, format);
    if (code != CLI_DONE)
        return code;
    struct work *w = calloc(1, sizeof *w);
    if (!w)
        return cli_fail(cli, ERR_RESOURCES_EXHAUSTED, "no memory");
    w->format = format;
    const struct cli_node node = {.program = &format_program,
                                  .config = "",
                                  .sink = {.context = w, .report = drop_report},
                                  .done = is_done,
                                  .signal = take_signal,
                                  .context = w,
                                  .log_level = FABRIC_LOG_WARN};
    enum fabric_error error = cli->host->run(cli->host->context, &node);
    if (is_done(w))
        code = show(cli, w);
    else if (w->cancelled || error == ERR_CANCELLED)
        code = CLI_INTERRUPTED;
    else
        code = cli_fail(cli, error ? error : ERR_INTERNAL, "the drives were not opened");
    free(w);
    return code;
}
