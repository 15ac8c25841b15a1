/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/cli.h"

#include <assert.h>

#include "src/cli/commands.h"
#include "src/config/version.h"

static enum cli_exit run(struct cli *cli)
{
    const struct cli_arguments *a = cli->arguments;
    if (a->version) {
        cli_print(cli, "memkv %s\n", MEMKV_VERSION);
        return CLI_DONE;
    }
    if (a->help && a->command) {
        cli_help_command(cli, a->command);
        return CLI_DONE;
    }
    if (a->object && !a->command && a->help) {
        cli_help_object(cli, a->object);
        return CLI_DONE;
    }
    if (a->object && !a->command)
        return cli_usage(cli, "%s: a command is expected; see memkv %s --help", a->object,
                         a->object);
    if (a->help) {
        cli_help_program(cli);
        return CLI_DONE;
    }
    if (!a->command)
        return cli_usage(cli, "a command is expected; see memkv --help");
    return a->command->run(cli);
}

enum cli_exit cli_main(const struct cli_host *host, int argc, const char *const *argv)
{
    struct cli_arguments arguments;
    assert(host && host->out && host->err && argv);
    struct cli cli = {.host = host, .arguments = &arguments, .commands = cli_commands};
    char problem[CLI_PROBLEM];
    bool read = cli_arguments_read(cli_commands, argc, argv, &arguments, problem);
    enum cli_exit code = read ? run(&cli) : cli_usage(&cli, "%s", problem);
    if (!cli_flush(host) && code == CLI_DONE)
        code = CLI_INTERNAL;
    return code;
}
