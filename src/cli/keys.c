/* SPDX-License-Identifier: Apache-2.0 */
/* memkv exists KEY... and memkv rm KEY... */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/commands.h"
#include "src/cli/parts.h"
#include "src/cli/work.h"
#include "src/fabric/planted.h"

/* ------------------------------------------------------------------ exists */

struct exists {
    bool found[CLI_MAX_OPERANDS];
    size_t ended;
};

static void begin_exists(struct cli_work *w)
{
    const struct cli_arguments *a = w->cli->arguments;
    assert(a->operand_count <= CLI_MAX_OPERANDS);
    for (size_t i = 0; i < a->operand_count && !w->done; i++)
        cli_work_submit(w, CLIENT_EXISTS, a->operands[i], NULL, 0, i);
}

static void completed_exists(struct cli_work *w, const struct client_completion *completion)
{
    struct exists *e = w->context;
    assert(completion->cookie < CLI_MAX_OPERANDS);
    e->found[completion->cookie] = completion->found;
    if (completion->error || ++e->ended == w->cli->arguments->operand_count)
        cli_work_end_by(w, completion);
}

enum cli_exit cli_run_exists(struct cli *cli)
{
    struct exists exists = {.ended = 0};
    struct cli_work work = {
        .cli = cli, .context = &exists, .begin = begin_exists, .completed = completed_exists};
    const struct cli_arguments *a = cli->arguments;
    enum cli_exit code;
    if (!cli_work_run(&work, &code))
        return code;
    if (work.error)
        return cli_work_fail(&work, "exists");
    json_t *keys = json_object();
    for (size_t i = 0; i < a->operand_count; i++) {
        json_t *key = net_string(a->operands[i]);
        json_object_set_new(keys, json_string_value(key), json_boolean(exists.found[i]));
        json_decref(key);
        if (!a->json)
            cli_print(cli, "%s %s\n", exists.found[i] ? "found" : "missing", a->operands[i]);
        if (!exists.found[i] && !PLANTED(cli_exists_always))
            code = CLI_NOT_FOUND;
    }
    if (a->json)
        cli_print_json(cli, json_pack("{s:b, s:s, s:O}", "ok", 1, "op", "exists", "keys", keys));
    json_decref(keys);
    return code;
}

/* ------------------------------------------------------------------ rm */

/* One key after the other: a look at what is there, for a file in parts these, then the key. */
struct rm {
    char list[CLI_LIST_MAX];
    size_t key; /* position of the operand */
    uint32_t count, next;
    uint64_t removed;
};

enum { LOOK, PART, KEY };

static const char *key_of(const struct cli_work *w)
{
    const struct rm *r = w->context;
    assert(r->key < w->cli->arguments->operand_count);
    return w->cli->arguments->operands[r->key];
}

static void look(struct cli_work *w)
{
    struct rm *r = w->context;
    r->count = r->next = 0;
    cli_work_submit(w, CLIENT_GET, key_of(w), r->list, sizeof r->list, LOOK);
}

static void remove_next(struct cli_work *w)
{
    struct rm *r = w->context;
    char key[CLI_PART_KEY];
    if (r->next < r->count && cli_parts_key(key_of(w), r->next++, key))
        cli_work_submit(w, CLIENT_DELETE, key, NULL, 0, PART);
    else
        cli_work_submit(w, CLIENT_DELETE, key_of(w), NULL, 0, KEY);
}

static void completed_rm(struct cli_work *w, const struct client_completion *completion)
{
    struct rm *r = w->context;
    struct cli_parts parts;
    enum fabric_error error = completion->error;
    bool looked = completion->cookie == LOOK;
    if (error && !(looked && (error == ERR_NOT_FOUND || error == ERR_BUFFER_TOO_SMALL))) {
        cli_work_end_by(w, completion);
        return;
    }
    if (looked && !error && cli_parts_read(r->list, (size_t)completion->length, &parts))
        r->count = cli_parts_count(parts.size);
    if (completion->cookie != KEY) {
        remove_next(w);
        return;
    }
    r->removed += completion->found;
    if (++r->key == w->cli->arguments->operand_count)
        cli_work_end_by(w, completion);
    else
        look(w);
}

enum cli_exit cli_run_rm(struct cli *cli)
{
    struct rm rm = {.key = 0};
    struct cli_work work = {.cli = cli, .context = &rm, .begin = look, .completed = completed_rm};
    enum cli_exit code;
    if (!cli_work_run(&work, &code))
        return code;
    if (work.error)
        return cli_work_fail(&work, cli->arguments->operands[rm.key]);
    if (cli->arguments->json)
        cli_print_json(cli, json_pack("{s:b, s:s, s:I}", "ok", 1, "op", "rm", "removed",
                                      (json_int_t)rm.removed));
    return CLI_DONE;
}
