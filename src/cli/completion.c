/* SPDX-License-Identifier: Apache-2.0 */
/* memkv completion bash: a script made from the table of commands. What it completes for
 * memkv-scenario it asks that program itself, as it asks the machine for devices and interfaces. */
#include <assert.h>
#include <string.h>

#include "src/cli/commands.h"

static void options(struct cli *cli, const struct cli_option *option)
{
    assert(cli && cli->commands);
    for (; option && option->name; option++)
        cli_print(cli, " --%s", option->name);
}

static void choices(struct cli *cli, const struct cli_command *c)
{
    for (const struct cli_option *o = c->options; o && o->name; o++) {
        if (!o->choices)
            continue;
        cli_print(cli, "    '%s%s%s --%s') words=\"", c->object, c->verb ? " " : "",
                  c->verb ? c->verb : "", o->name);
        for (size_t i = 0; o->choices[i]; i++)
            cli_print(cli, "%s%s", i ? " " : "", o->choices[i]);
        cli_print(cli, "\" ;;\n");
    }
}

static void objects(struct cli *cli, const char *name, const char *more)
{
    const char *last = "";
    assert(cli && name && more);
    cli_print(cli, "    '%s') words=\"", name);
    for (const struct cli_command *c = cli->commands; c->object; c++) {
        if (strcmp(c->object, last) != 0)
            cli_print(cli, "%s ", c->object);
        last = c->object;
    }
    cli_print(cli, "%s\" ;;\n", more);
}

static void verbs(struct cli *cli)
{
    for (const struct cli_command *c = cli->commands; c->object; c++) {
        bool first = c->verb != NULL;
        for (const struct cli_command *b = cli->commands; b < c; b++)
            first = first && strcmp(b->object, c->object) != 0;
        if (!first)
            continue;
        cli_print(cli, "    '%s'|'help %s') words=\"", c->object, c->object);
        for (const struct cli_command *v = c; v->object; v++) {
            if (strcmp(v->object, c->object) == 0)
                cli_print(cli, "%s ", v->verb);
        }
        cli_print(cli, "--help\" ;;\n");
    }
}

static void errors(struct cli *cli)
{
    cli_print(cli, "    'explain') words=\"--all --markdown --json --help");
    for (int i = 1; i < ERR_COUNT; i++)
        cli_print(cli, " %s", error_name((enum fabric_error)i));
    cli_print(cli, "\" ;;\n");
}

static const char beginning[] =
    "# bash completion for memkv and memkv-scenario\n"
    "_memkv() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} name='' word words=''\n"
    "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
    "    case $word in -*) continue ;; esac\n"
    "    case \"$name\" in ''|help|net|admin) name=\"${name:+$name }$word\" ;; esac\n"
    "  done\n"
    "  case $prev in\n"
    "  --config|--auth-key-file) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
    "  --sysfs-root) COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n"
    "  --device) words=$(ls /sys/class/infiniband 2>/dev/null)\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); return ;;\n"
    "  --interface) words=$(ls /sys/class/net 2>/dev/null)\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); return ;;\n"
    "  esac\n"
    "  case \"$name $prev\" in\n";

static const char end[] =
    "  esac\n"
    "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "}\n"
    "complete -F _memkv memkv\n"
    "_memkv_scenario() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} first=${COMP_WORDS[1]} words=''\n"
    "  if [ \"$COMP_CWORD\" = 1 ]; then words='run check undo help --help'\n"
    "  elif [ \"$first\" = help ]; then\n"
    "    words=$(\"${COMP_WORDS[0]}\" help words 2>/dev/null | sed -n 's/^  \\([a-z_]*\\) "
    ".*/\\1/p')\n"
    "  else case $cur in -*)\n"
    "    words=$(\"${COMP_WORDS[0]}\" --help 2>/dev/null | grep -o -- '--[a-z]*' | sort -u) ;; "
    "esac\n"
    "  fi\n"
    "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -X '!*.yaml' -- \"$cur\")\n"
    "                                           $(compgen -d -- \"$cur\"))\n"
    "}\n"
    "complete -F _memkv_scenario memkv-scenario\n";

enum cli_exit cli_run_completion(struct cli *cli)
{
    assert(cli && cli->arguments->operand_count == 1);
    if (strcmp(cli->arguments->operands[0], "bash") != 0)
        return cli_usage(cli, "completion: found '%.40s'; bash is expected",
                         cli->arguments->operands[0]);
    cli_print(cli, "%s", beginning);
    for (const struct cli_command *c = cli->commands; c->object; c++)
        choices(cli, c);
    cli_print(cli, "  esac\n  [ -n \"$words\" ] || case \"$name\" in\n");
    objects(cli, "", "--help --version");
    objects(cli, "help", "env exit");
    verbs(cli);
    errors(cli);
    cli_print(cli, "    'completion') words=bash ;;\n");
    for (const struct cli_command *c = cli->commands; c->object; c++) {
        if (strcmp(c->object, "explain") == 0 || strcmp(c->object, "completion") == 0 ||
            strcmp(c->object, "help") == 0)
            continue;
        cli_print(cli, "    '%s%s%s') words=\"", c->object, c->verb ? " " : "",
                  c->verb ? c->verb : "");
        options(cli, c->options);
        options(cli, cli_common_options);
        cli_print(cli, "\" ;;\n");
    }
    cli_print(cli, "%s", end);
    return CLI_DONE;
}
