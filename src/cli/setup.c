/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/setup.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/commands.h"
#include "src/cli/settings.h"

static enum cli_exit read_lanes(struct cli *cli, uint64_t *out)
{
    const char *given;
    int64_t number = 1;
    struct yaml_errors errors;
    struct yaml_tree *tree = cli_option_value(cli, "lanes", &given);
    *out = 1;
    if (!tree)
        return CLI_DONE;
    yaml_errors_init(&errors, "--lanes");
    bool ok = yaml_read_integer(yaml_find(yaml_root(tree), "value"), "lanes", 1, CONFIG_MAX_LANES,
                                &number, &errors);
    yaml_tree_free(tree);
    *out = (uint64_t)number;
    return ok ? CLI_DONE
              : cli_usage(cli, "--lanes: found '%.60s'; 1 to %d is expected", given,
                          CONFIG_MAX_LANES);
}

static enum cli_exit print(struct cli *cli, const struct setup_machine *machine, uint64_t lanes)
{
    const struct cli_arguments *a = cli->arguments;
    const char *mode = cli_value(a, "mode"), *path = cli_value(a, "path");
    const char *key = cli_value(a, "auth-key-file");
    const struct setup_plan plan = {.mode = mode ? mode : "memory",
                                    .path = path ? path : "/var/lib/memkv",
                                    .key_file = key ? key : "/etc/memkv/auth.key",
                                    .lanes = lanes};
    char problem[CLI_PROBLEM], *text = malloc(SETUP_TEXT);
    if (!text)
        return cli_fail(cli, ERR_RESOURCES_EXHAUSTED, "no memory");
    enum cli_exit code = CLI_DONE;
    if (!setup_configuration(machine, &plan, text, problem))
        code = cli_fail_as(cli, ERR_NOT_FOUND, CLI_CONFIG,
                           "memkv setup without --mode lists the drives, and who uses them.", "%s",
                           problem);
    else if (a->json)
        cli_print_json(cli, setup_json(machine, text));
    else
        cli_print(cli, "%s", text);
    free(text);
    return code;
}

static enum cli_exit format(struct cli *cli, const struct setup_machine *machine, uint64_t lanes)
{
    const struct cli_arguments *a = cli->arguments;
    struct setup_format drives = {.lanes = (uint32_t)lanes, .overwrites = cli_has(a, "overwrite")};
    for (size_t i = 0; i < a->given_count; i++) {
        if (strcmp(a->given[i].option->name, "format") == 0)
            drives.paths[drives.count++] = a->given[i].value;
    }
    if (!cli_has(a, "force"))
        return cli_usage(cli, "--format: nothing was written; --force lays a store out");
    if (cli_value(a, "sysfs-root"))
        return cli_usage(cli,
                         "--format and --sysfs-root: the drives of another machine are not here");
    return setup_format(cli, machine, &drives);
}

enum cli_exit cli_run_setup(struct cli *cli)
{
    const char *root = cli_value(cli->arguments, "sysfs-root");
    struct fabric *f = NULL;
    uint64_t lanes;
    assert(cli->host->look);
    enum cli_exit code = read_lanes(cli, &lanes);
    if (code != CLI_DONE)
        return code;
    enum fabric_error error = cli->host->look(cli->host->context, root, &f);
    if (error)
        return root ? cli_fail(cli, ERR_CONFIG_INVALID,
                               "--sysfs-root %s: found no folder %s/sys; what stands for / is "
                               "expected",
                               root, root)
                    : cli_fail(cli, error, "the system gives no fabric");
    struct setup_machine *machine = calloc(1, sizeof *machine);
    if (machine) {
        setup_read(f, machine);
        code = cli_value(cli->arguments, "format") ? format(cli, machine, lanes)
                                                   : print(cli, machine, lanes);
        setup_free(machine);
    } else {
        code = cli_fail(cli, ERR_RESOURCES_EXHAUSTED, "no memory");
    }
    free(machine);
    fabric_destroy(f);
    return code;
}
