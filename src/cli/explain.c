/* SPDX-License-Identifier: Apache-2.0 */
/* memkv explain: every named error, from the one table (MK-H4). */
#include <assert.h>
#include <string.h>

#include "src/cli/commands.h"
#include "src/config/nearest.h"
#include "src/fabric/planted.h"

static const char *const radius_names[] = {
    [ERROR_RADIUS_NONE] = "none",
    [ERROR_RADIUS_OPERATION] = "one operation",
    [ERROR_RADIUS_CONNECTION] = "one connection to one peer",
    [ERROR_RADIUS_RAIL] = "one device port, towards every peer",
    [ERROR_RADIUS_PROCESS] = "the process",
};

static json_t *as_json(enum fabric_error error)
{
    const struct error_info *info = error_info(error);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "name", info->name, "radius",
                     radius_names[info->radius], "text", info->text, "cause", info->cause, "fix",
                     info->fix, "exit", (int)cli_exit_of(error));
}

static void field(struct cli *cli, const char *title, const char *text)
{
    unsigned columns = cli->host->columns ? cli->host->columns : 100;
    cli_print(cli, "  %-9s", title);
    cli_wrap(cli->host->out, text, 11, columns);
}

static void as_text(struct cli *cli, enum fabric_error error)
{
    const struct error_info *info = error_info(error);
    cli_print(cli, "%s\n", info->name);
    field(cli, "meaning", info->text);
    field(cli, "cause", info->cause);
    field(cli, "to do", info->fix);
    field(cli, "ends", radius_names[info->radius]);
    cli_print(cli, "  %-9s%d\n", "exit", (int)cli_exit_of(error));
}

static void markdown_cell(struct cli *cli, const char *text)
{
    for (; *text; text++)
        cli_print(cli, *text == '|' ? "\\|" : "%c", *text);
    cli_print(cli, " |");
}

static void as_markdown(struct cli *cli)
{
    cli_print(cli, "| error | meaning | likely cause | what to do | ends | exit |\n");
    cli_print(cli, "|---|---|---|---|---|---|\n");
    for (int i = 1; i < ERR_COUNT; i++) {
        const struct error_info *info = error_info((enum fabric_error)i);
        cli_print(cli, "| `%s` | ", info->name);
        markdown_cell(cli, info->text);
        cli_print(cli, " ");
        markdown_cell(cli, info->cause);
        cli_print(cli, " ");
        markdown_cell(cli, info->fix);
        cli_print(cli, " %s | %d |\n", radius_names[info->radius],
                  (int)cli_exit_of((enum fabric_error)i));
    }
}

static enum cli_exit explain_all(struct cli *cli)
{
    if (cli_has(cli->arguments, "markdown")) {
        as_markdown(cli);
        return CLI_DONE;
    }
    json_t *list = json_array();
    for (int i = 1; i < ERR_COUNT; i++) {
        if (cli->arguments->json)
            json_array_append_new(list, as_json((enum fabric_error)i));
        else
            as_text(cli, (enum fabric_error)i);
    }
    if (cli->arguments->json)
        cli_print_json(cli, list);
    else
        json_decref(list);
    return CLI_DONE;
}

static enum cli_exit unknown(struct cli *cli, const char *name)
{
    assert(name);
    const char *names[ERR_COUNT];
    for (int i = 0; i < ERR_COUNT; i++)
        names[i] = error_name((enum fabric_error)i);
    const char *near = nearest_name(name, names, ERR_COUNT);
    if (near)
        return cli_usage(cli, "no error has the name '%.60s'; did you mean '%s'?", name, near);
    return cli_usage(cli, "no error has the name '%.60s'; memkv explain --all lists every one",
                     name);
}

enum cli_exit cli_run_explain(struct cli *cli)
{
    const struct cli_arguments *a = cli->arguments;
    assert(ERR_COUNT > 1);
    bool all = cli_has(a, "all") || cli_has(a, "markdown");
    if (all == (a->operand_count > 0))
        return cli_usage(cli, all ? "explain: --all and a name do not go together"
                                  : "explain: the name of an error is expected, or --all");
    if (all)
        return explain_all(cli);
    json_t *list = json_array();
    for (size_t i = 0; i < a->operand_count; i++) {
        enum fabric_error error;
        if (!error_by_name(a->operands[i], &error) ||
            (PLANTED(cli_explain_last) && (int)error == ERR_COUNT - 1)) {
            json_decref(list);
            return unknown(cli, a->operands[i]);
        }
        if (a->json)
            json_array_append_new(list, as_json(error));
        else
            as_text(cli, error);
    }
    if (a->json)
        cli_print_json(cli, json_array_size(list) == 1 ? json_incref(json_array_get(list, 0))
                                                       : json_incref(list));
    json_decref(list);
    return CLI_DONE;
}
