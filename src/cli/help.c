/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of commands, variables and exit codes say to people. Needs no device. */
#include <assert.h>
#include <string.h>

#include "src/cli/commands.h"
#include "src/config/environment.h"
#include "src/config/nearest.h"

#define MARGIN 24u /* column of the second column */

static unsigned columns(const struct cli *cli)
{
    return cli->host->columns ? cli->host->columns : 100;
}

/* "  NAME       text", the text wrapped in its column; below the name on a narrow terminal. */
static void row(struct cli *cli, const char *name, const char *text)
{
    assert(name && text);
    bool narrow = columns(cli) < 60;
    unsigned indent = narrow ? 6 : MARGIN;
    cli_print(cli, "  %-*s", narrow ? 0 : (int)MARGIN - 4, name);
    if (narrow || strlen(name) > MARGIN - 4)
        cli_print(cli, "\n%*s", (int)indent, "");
    else
        cli_print(cli, "  ");
    cli_wrap(cli->host->out, text, indent, columns(cli));
}

static void command_name(const struct cli_command *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s", c->object, c->verb ? " " : "", c->verb ? c->verb : "");
}

void cli_help_program(struct cli *cli)
{
    assert(cli && cli->commands);
    cli_print(cli, "memkv: a store of KV-cache blocks over RDMA, with TCP as the fallback\n\n"
                   "usage: memkv COMMAND [OPTION...]\n\n");
    for (const struct cli_command *c = cli->commands; c->object; c++) {
        char name[64];
        command_name(c, name, sizeof name);
        row(cli, name, c->summary);
    }
    cli_print(cli, "\n");
    row(cli, "memkv COMMAND --help", "what the command takes, with examples");
    row(cli, "memkv help env", "every variable of the environment");
    row(cli, "memkv help exit", "every exit code");
    row(cli, "memkv --version", "the version");
    cli_print(cli, "\nexamples:\n  memkv start --config examples/memkv.yaml\n"
                   "  memkv net verify --server node2:9900 --auth-key-file auth.key\n");
}

void cli_help_object(struct cli *cli, const char *object)
{
    assert(cli && object);
    cli_print(cli, "usage: memkv %s COMMAND [OPTION...]\n\n", object);
    const struct cli_command *first = NULL;
    for (const struct cli_command *c = cli->commands; c->object; c++) {
        if (strcmp(c->object, object) != 0)
            continue;
        first = first ? first : c;
        row(cli, c->verb, c->summary);
    }
    assert(first);
    cli_print(cli, "\nexample:\n  %s\n", first->examples[0]);
}

static void options(struct cli *cli, const struct cli_option *option)
{
    for (; option && option->name; option++) {
        char name[96], letter[8] = "";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(name, sizeof name, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        row(cli, name, option->help);
    }
}

void cli_help_command(struct cli *cli, const struct cli_command *command)
{
    char name[64];
    assert(cli && command);
    command_name(command, name, sizeof name);
    cli_print(cli, "memkv %s: %s\n\nusage: memkv %s%s%s [OPTION...]\n", name, command->summary,
              name, command->operands[0] ? " " : "", command->operands);
    if (command->about[0]) {
        cli_print(cli, "\n");
        cli_wrap(cli->host->out, command->about, 0, columns(cli));
    }
    cli_print(cli, "\noptions:\n");
    options(cli, command->options);
    options(cli, cli_common_options);
    cli_print(cli, "\nexamples:\n");
    for (const char *const *example = command->examples; *example; example++)
        cli_print(cli, "  %s\n", *example);
}

static void help_env(struct cli *cli)
{
    const struct config_variable *v;
    json_t *list = json_array();
    for (size_t i = 0; (v = config_variable(i)) != NULL; i++) {
        if (cli->arguments->json)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", v->name, "key",
                                                  v->client ? v->client : "", "text", v->help));
        else
            row(cli, v->name, v->help);
    }
    if (cli->arguments->json) {
        cli_print_json(cli, list);
        return;
    }
    json_decref(list);
    row(cli, "SYSFS_PATH", "a folder in place of /sys, where libibverbs looks for devices, too");
    row(cli, "NO_COLOR, TERM, COLUMNS", "as everywhere: no colour, the terminal, its width");
    cli_print(cli, "\n");
    cli_wrap(cli->host->out,
             "Flags win over the environment, the environment wins over the file. A variable that "
             "is set and empty is an error.",
             0, columns(cli));
}

static void help_exit(struct cli *cli)
{
    const struct cli_exit_info *info;
    json_t *list = json_array();
    for (size_t i = 0; (info = cli_exit_info(i)) != NULL; i++) {
        char code[16];
        snprintf(code, sizeof code, "%d", (int)info->code);
        if (cli->arguments->json)
            json_array_append_new(
                list, json_pack("{s:i, s:s}", "exit", (int)info->code, "text", info->meaning));
        else
            row(cli, code, info->meaning);
    }
    if (cli->arguments->json)
        cli_print_json(cli, list);
    else
        json_decref(list);
}

static enum cli_exit help_words(struct cli *cli)
{
    const struct cli_arguments *a = cli->arguments;
    const char *names[64] = {"env", "exit"};
    const char *object = a->operands[0], *verb = a->operand_count > 1 ? a->operands[1] : NULL;
    size_t count = 2;
    bool known = false;
    for (const struct cli_command *c = cli->commands; c->object; c++) {
        if (count < sizeof names / sizeof names[0])
            names[count++] = c->object;
        bool here = strcmp(c->object, object) == 0;
        known = known || here;
        if (here && (!c->verb || (verb && strcmp(c->verb, verb) == 0))) {
            cli_help_command(cli, c);
            return CLI_DONE;
        }
    }
    if (known && !verb) {
        cli_help_object(cli, object);
        return CLI_DONE;
    }
    const char *near = nearest_name(object, names, count);
    return cli_usage(cli, "no help on '%.60s%s%.60s'%s%s%s", object, verb ? " " : "",
                     verb ? verb : "", near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "; memkv help lists the commands");
}

enum cli_exit cli_run_help(struct cli *cli)
{
    const struct cli_arguments *a = cli->arguments;
    if (a->operand_count == 0)
        cli_help_program(cli);
    else if (strcmp(a->operands[0], "env") == 0)
        help_env(cli);
    else if (strcmp(a->operands[0], "exit") == 0)
        help_exit(cli);
    else
        return help_words(cli);
    return CLI_DONE;
}
