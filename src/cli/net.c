/* SPDX-License-Identifier: Apache-2.0 */
/* memkv net show and memkv net ipoib: the commands of src/net with arguments and a fabric. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/commands.h"
#include "src/cli/settings.h"
#include "src/fabric/planted.h"
#include "src/net/ipoib.h"
#include "src/net/show.h"

static enum cli_exit read_watch(struct cli *cli, uint64_t *out)
{
    const char *given;
    struct yaml_errors errors;
    struct yaml_tree *tree = cli_option_value(cli, "watch", &given);
    if (!given)
        return CLI_DONE;
    yaml_errors_init(&errors, "--watch");
    bool ok = yaml_read_duration(yaml_find(yaml_root(tree), "value"), "watch", 1000000,
                                 3600ull * 1000000000ull, out, &errors);
    yaml_tree_free(tree);
    return ok ? CLI_DONE
              : cli_usage(cli, "--watch: found '%.60s'; a time such as 5s is expected", given);
}

static enum cli_exit read_mtu(struct cli *cli, uint32_t *out)
{
    const char *given;
    int64_t number = 0;
    struct yaml_errors errors;
    struct yaml_tree *tree = cli_option_value(cli, "mtu", &given);
    if (!given)
        return CLI_DONE;
    yaml_errors_init(&errors, "--mtu");
    bool ok = yaml_read_integer(yaml_find(yaml_root(tree), "value"), "mtu", IPOIB_MTU_LEAST, 65535,
                                &number, &errors);
    yaml_tree_free(tree);
    *out = (uint32_t)number;
    return ok ? CLI_DONE
              : cli_usage(cli, "--mtu: found '%.60s'; %d to 65535 bytes are expected", given,
                          IPOIB_MTU_LEAST);
}

/* "mlx5_0" or "mlx5_0:2" */
static enum cli_exit read_device(struct cli *cli, struct config_device *out)
{
    const char *given;
    struct yaml_errors errors;
    struct config_rdma rdma;
    assert(cli && out);
    struct yaml_tree *tree = cli_option_value(cli, "device", &given);
    if (!given)
        return CLI_DONE;
    config_rdma_defaults(&rdma);
    yaml_errors_init(&errors, "--device");
    bool ok = config_read_device(yaml_find(yaml_root(tree), "value"), &rdma, &errors);
    yaml_tree_free(tree);
    *out = rdma.devices[0];
    return ok ? CLI_DONE
              : cli_usage(cli, "--device: found '%.60s'; mlx5_0 or mlx5_0:2 is expected", given);
}

/* Runs on a fabric to look around with. */
static enum cli_exit look(struct cli *cli, const struct net_show_options *show,
                          const struct net_ipoib_options *ipoib)
{
    const struct net_output out = cli_output(cli->host->out), talk = cli_output(cli->host->err);
    const char *root = cli_value(cli->arguments, "sysfs-root");
    struct fabric *f = NULL;
    enum fabric_error error =
        cli->host->look(cli->host->context, PLANTED(cli_sysfs_root_ignored) ? NULL : root, &f);
    if (root && error == ERR_NOT_FOUND)
        return cli_fail(cli, ERR_CONFIG_INVALID,
                        "--sysfs-root %s: found no folder %s/sys; what stands for / is expected",
                        root, root);
    if (error)
        return cli_fail(cli, error, "the system gives no fabric");
    enum cli_exit code =
        show ? net_show_run(f, show, &out, &talk) : net_ipoib_run(f, ipoib, &out, &talk);
    fabric_destroy(f);
    return code;
}

static enum cli_exit show(struct cli *cli, struct net_show_options *options)
{
    struct config_device device = {.port = 0};
    enum cli_exit code = read_watch(cli, &options->watch);
    if (code == CLI_DONE)
        code = read_device(cli, &device);
    if (code != CLI_DONE)
        return code;
    options->device = cli_value(cli->arguments, "device") ? device.name : NULL;
    options->port = device.port;
    return look(cli, options, NULL);
}

/* Whether a server's settings are to judge by, not the defaults. */
static bool has_settings(const struct cli_arguments *a)
{
    return cli_value(a, "config") || cli_value(a, "set");
}

enum cli_exit cli_run_net_show(struct cli *cli)
{
    const struct cli_arguments *a = cli->arguments;
    assert(cli->host->look);
    struct net_show_options options = {.json = a->json, .pretty = a->pretty};
    if (!has_settings(a))
        return show(cli, &options);
    struct cli_server *server = calloc(1, sizeof *server);
    if (!server)
        return cli_fail(cli, ERR_RESOURCES_EXHAUSTED, "no memory");
    options.config = &server->config.rdma;
    enum cli_exit code = cli_server_config(cli, NULL, 0, server);
    if (code == CLI_DONE)
        code = show(cli, &options);
    cli_server_free(server);
    return code;
}

enum cli_exit cli_run_net_ipoib(struct cli *cli)
{
    const struct cli_arguments *a = cli->arguments;
    struct net_ipoib_options options = {
        .interface = cli_value(a, "interface"),
        .connected = cli_has(a, "connected"),
        .apply = cli_has(a, "apply"),
        .persist = cli_has(a, "persist"),
        .json = a->json,
        .pretty = a->pretty,
    };
    const struct net_installer installer = {cli->host->context, cli->host->write_file};
    enum cli_exit code = read_mtu(cli, &options.mtu);
    if (code != CLI_DONE)
        return code;
    if (!options.interface)
        return cli_usage(cli, "net ipoib: --interface NAME is expected; memkv net show lists them");
    if (!cli_value(a, "sysfs-root") ||
        PLANTED(cli_root_installs)) /* which stands for another machine */
        options.installer = &installer;
    return look(cli, NULL, &options);
}
