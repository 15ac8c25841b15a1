/* SPDX-License-Identifier: Apache-2.0 */
/* memkv put KEY FILE. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/commands.h"
#include "src/cli/parts.h"
#include "src/cli/progress.h"
#include "src/cli/work.h"
#include "src/fabric/planted.h"

#define AT_ONCE 4u /* parts under way */
#define LIST UINT32_MAX
#define LOOKS (UINT64_C(1) << 32) /* from here on cookies are looks at parts */

struct put {
    const char *key;
    struct cli_file file;
    uint32_t parts, next, open;
    char list[CLI_LIST_MAX];
    size_t list_length;
    bool list_sent, looked, evicted;
    enum client_transport transport;
    struct cli_progress progress;
};

static void submit_part(struct cli_work *w, struct put *p)
{
    char key[CLI_PART_KEY];
    uint64_t at = (uint64_t)p->next * CLI_PART, left = p->file.length - at;
    bool fits = cli_parts_key(p->key, p->next, key);
    assert(fits);
    p->open++;
    cli_work_submit(w, CLIENT_PUT, key, p->file.data + at, left < CLI_PART ? left : CLI_PART,
                    p->next++);
}

/* A store that makes room by itself may have given away the first parts for the last ones. */
static void look_at_parts(struct cli_work *w, struct put *p)
{
    char key[CLI_PART_KEY];
    p->looked = true;
    for (uint32_t i = 0; !w->done && i < p->parts; i++) {
        bool fits = cli_parts_key(p->key, i, key);
        assert(fits);
        p->open++;
        cli_work_submit(w, CLIENT_EXISTS, key, NULL, 0, LOOKS + i);
    }
}

static void go_on(struct cli_work *w, struct put *p)
{
    if (p->parts == 1)
        return;
    while (!w->done && p->next < p->parts && p->open < AT_ONCE)
        submit_part(w, p);
    if (w->done || p->open > 0 || p->list_sent)
        return;
    if (!p->looked && !PLANTED(cli_parts_evicted_unseen)) {
        look_at_parts(w, p);
        return;
    }
    p->list_sent = true;
    cli_work_submit(w, CLIENT_PUT, p->key, p->list, p->list_length, LIST);
}

static void begin(struct cli_work *w)
{
    struct put *p = w->context;
    assert(p->parts >= 1 && p->file.length > 0);
    if (p->parts == 1)
        cli_work_submit(w, CLIENT_PUT, p->key, p->file.data, p->file.length, LIST);
    else
        go_on(w, p);
    if (p->parts > 1)
        cli_progress_say(&p->progress, w, p->key, 0, p->file.length);
}

/* Bytes; those of the last part are fewer. */
static uint64_t through(const struct put *p)
{
    const uint64_t bytes = (uint64_t)(p->next - p->open) * CLI_PART;
    return bytes < p->file.length ? bytes : p->file.length;
}

static void completed(struct cli_work *w, const struct client_completion *completion)
{
    struct put *p = w->context;
    if (completion->cookie < LOOKS)
        p->transport = completion->transport;
    if (completion->error || completion->cookie == LIST) {
        cli_work_end_by(w, completion);
        return;
    }
    if (completion->cookie >= LOOKS && !completion->found) {
        p->evicted = true;
        cli_work_end(w, ERR_STORE_FULL);
        return;
    }
    assert(p->open > 0);
    p->open--;
    if (completion->cookie < LOOKS)
        cli_progress_say(&p->progress, w, p->key, through(p), p->file.length);
    go_on(w, p);
}

static void show(struct cli_work *w, const struct put *p)
{
    struct cli *cli = w->cli;
    const char *transport = client_transport_name(p->transport);
    if (cli->arguments->json)
        cli_print_json(cli,
                       json_pack("{s:b, s:s, s:o, s:I, s:I, s:s, s:o}", "ok", 1, "op", "put", "key",
                                 net_string(p->key), "bytes", (json_int_t)p->file.length, "parts",
                                 (json_int_t)p->parts, "transport", transport, "server",
                                 net_string(w->last.server ? w->last.server : "")));
    else
        cli_say(cli, "%s: %zu bytes stored over %s%s", p->key, p->file.length, transport,
                p->parts > 1 ? ", in parts" : "");
}

static enum cli_exit run(struct cli *cli, struct put *p)
{
    char key[CLI_PART_KEY];
    struct cli_parts parts;
    enum cli_exit code;
    assert(p->key && p->parts == 0);
    p->parts = cli_parts_count(p->file.length);
    if (p->file.length == 0)
        return cli_fail_as(cli, ERR_INVALID_ARGUMENT, CLI_CONFIG,
                           "Name a file with something in it.",
                           "%s is empty: a value has at least 1 byte", cli->arguments->operands[1]);
    if (strlen(p->key) == 0 || strlen(p->key) > CLIENT_MAX_KEY ||
        (p->parts > 1 && !cli_parts_key(p->key, p->parts, key)))
        return cli_usage(cli, "KEY: found %zu bytes; 1 to %u are expected", strlen(p->key),
                         p->parts > 1 ? CLIENT_MAX_KEY - 5 : CLIENT_MAX_KEY);
    if (p->parts > 1) {
        cli_parts_checksum(p->file.data, p->file.length, &parts);
        p->list_length = cli_parts_write(&parts, p->list);
    }
    struct cli_work work = {.cli = cli, .context = p, .begin = begin, .completed = completed};
    if (!cli_work_run(&work, &code))
        return code;
    cli_progress_end(&p->progress, &work);
    if (p->evicted)
        return cli_fail_as(cli, ERR_STORE_FULL, CLI_STORE,
                           "Raise memory.max_size, or store a smaller file.",
                           "%s: the store gave its first parts away for the last ones: it has too "
                           "little room for %zu bytes",
                           p->key, p->file.length);
    if (work.error && !PLANTED(cli_put_blind))
        return cli_work_fail(&work, p->key);
    show(&work, p);
    return CLI_DONE;
}

enum cli_exit cli_run_put(struct cli *cli)
{
    const char *path = cli->arguments->operands[1];
    struct put put = {.key = cli->arguments->operands[0]};
    assert(cli->arguments->operand_count == 2);
    enum fabric_error error =
        cli->host->read_file(cli->host->context, path, CLI_MAX_FILE, &put.file);
    if (error)
        return cli_fail_file(cli, error, path, "the file to be stored");
    enum cli_exit code = run(cli, &put);
    free(put.file.data);
    return code;
}
