/* SPDX-License-Identifier: Apache-2.0 */
/* memkv get KEY FILE. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/commands.h"
#include "src/cli/parts.h"
#include "src/cli/progress.h"
#include "src/cli/work.h"
#include "src/fabric/planted.h"

#define AT_ONCE 4u /* parts under way */
#define FIRST UINT32_MAX

struct get {
    const char *key;
    char *data; /* at first one value's room, then the file's */
    uint64_t size;
    struct cli_parts parts;
    uint32_t count, next, open; /* parts; count 0: the value itself */
    enum client_transport transport;
    struct cli_progress progress;
};

static void begin(struct cli_work *w)
{
    struct get *g = w->context;
    assert(g->data && g->count == 0);
    cli_work_submit(w, CLIENT_GET, g->key, g->data, CLI_PART, FIRST);
}

static void go_on(struct cli_work *w, struct get *g)
{
    char key[CLI_PART_KEY];
    while (!w->done && g->next < g->count && g->open < AT_ONCE) {
        uint64_t at = (uint64_t)g->next * CLI_PART, left = g->size - at;
        if (!cli_parts_key(g->key, g->next, key)) {
            cli_work_end(w, ERR_NOT_FOUND);
            return;
        }
        g->open++;
        cli_work_submit(w, CLIENT_GET, key, g->data + at, left < CLI_PART ? left : CLI_PART,
                        g->next++);
    }
}

/* The value under the key is here: it is all, or names the parts. */
static void first(struct cli_work *w, struct get *g, const struct client_completion *completion)
{
    assert(completion->length <= CLI_PART);
    g->size = completion->length;
    if (!cli_parts_read(g->data, g->size, &g->parts)) {
        cli_work_end_by(w, completion);
        return;
    }
    free(g->data);
    g->size = g->parts.size;
    g->count = cli_parts_count(g->size);
    g->data = malloc((size_t)g->size);
    if (g->data) {
        cli_progress_say(&g->progress, w, g->key, 0, g->size);
        go_on(w, g);
    } else {
        cli_work_end(w, ERR_RESOURCES_EXHAUSTED);
    }
}

/* Bytes; those of the last part are fewer. */
static uint64_t through(const struct get *g)
{
    const uint64_t bytes = (uint64_t)(g->next - g->open) * CLI_PART;
    return bytes < g->size ? bytes : g->size;
}

static void completed(struct cli_work *w, const struct client_completion *completion)
{
    struct get *g = w->context;
    g->transport = completion->transport;
    if (completion->error) {
        cli_work_end_by(w, completion);
        return;
    }
    if (completion->cookie == FIRST) {
        first(w, g, completion);
        return;
    }
    uint64_t left = g->size - completion->cookie * CLI_PART;
    assert(g->open > 0);
    g->open--;
    if (completion->length != (left < CLI_PART ? left : CLI_PART)) {
        cli_work_end(w, ERR_TAG_MISMATCH); /* a part of another file */
        return;
    }
    cli_progress_say(&g->progress, w, g->key, through(g), g->size);
    go_on(w, g);
    if (!w->done && g->open == 0)
        cli_work_end_by(w, completion);
}

static bool is_whole(const struct get *g)
{
    struct cli_parts found;
    if (g->count == 0 || PLANTED(cli_parts_unchecked))
        return true;
    cli_parts_checksum(g->data, (size_t)g->size, &found);
    return found.checksum_high == g->parts.checksum_high &&
           found.checksum_low == g->parts.checksum_low;
}

static enum cli_exit deliver(struct cli_work *w, const struct get *g)
{
    struct cli *cli = w->cli;
    const char *path = cli->arguments->operands[1];
    const char *transport = client_transport_name(g->transport);
    if (strcmp(path, "-") == 0) {
        if (cli->arguments->json)
            return cli_usage(cli, "get: --json and the value do not share standard output");
        fwrite(g->data, 1, (size_t)g->size, cli->host->out);
        return CLI_DONE;
    }
    enum fabric_error error =
        cli->host->write_file(cli->host->context, path, g->data, (size_t)g->size);
    if (error)
        return cli_fail_file(cli, error, path, "the file to be written");
    if (cli->arguments->json)
        cli_print_json(cli, json_pack("{s:b, s:s, s:o, s:I, s:s, s:o}", "ok", 1, "op", "get", "key",
                                      net_string(g->key), "bytes", (json_int_t)g->size, "transport",
                                      transport, "server",
                                      net_string(w->last.server ? w->last.server : "")));
    else
        cli_say(cli, "%s: %zu bytes read over %s", g->key, (size_t)g->size, transport);
    return CLI_DONE;
}

static enum cli_exit judge(struct cli_work *w, struct get *g)
{
    cli_progress_end(&g->progress, w);
    if (w->error)
        return cli_work_fail(w, g->key);
    if (!is_whole(g))
        return cli_fail(w->cli, ERR_CHECKSUM, "%s: its parts are not those of one file", g->key);
    return deliver(w, g);
}

enum cli_exit cli_run_get(struct cli *cli)
{
    struct get get = {.key = cli->arguments->operands[0], .data = malloc(CLI_PART)};
    struct cli_work work = {.cli = cli, .context = &get, .begin = begin, .completed = completed};
    enum cli_exit code;
    assert(cli->arguments->operand_count == 2);
    if (!get.data)
        return cli_fail(cli, ERR_RESOURCES_EXHAUSTED, "no memory");
    if (cli_work_run(&work, &code))
        code = judge(&work, &get);
    free(get.data);
    return code;
}
