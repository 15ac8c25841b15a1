/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/settings.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/key_file.h"
#include "src/config/yaml_edit.h"
#include "src/fabric/planted.h"

#define SERVER_CONFIG "/etc/memkv/config.yaml"
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct cli_flag client_flags[] = {
    {"server", "servers"},
    {"device", "rdma_devices"},
    {"auth-key", "auth_key"},
    {"auth-key-file", "auth_key_file"},
    {"transport", "transport"},
    {"connections", "num_connections"},
    {"timeout", "timeout"},
    {"pkey-index", "pkey_index"},
    {"pkey", "pkey"},
    {"mtu", "mtu"},
    {"gid-index", "gid_index"},
    {"service-level", "service_level"},
    {"traffic-class", "traffic_class"},
};

/* `fix` null: as the error table says. */
static enum cli_exit complain(struct cli *cli, const struct yaml_errors *errors, const char *fix)
{
    assert(cli && errors && errors->count > 0);
    enum fabric_error error = yaml_errors_error(errors);
    size_t main = errors->count - 1; /* the last of those that it is about */
    while (errors->items[main].error != error)
        main--;
    for (size_t i = 0; i < errors->count; i++) {
        if (i != main)
            cli_say(cli, "%s: %s", error_name(errors->items[i].error), errors->items[i].text);
    }
    const char *text = errors->items[main].text;
    return fix ? cli_fail_as(cli, error, cli_exit_of(error), fix, "%s", text)
               : cli_fail(cli, error, "%s", text);
}

enum cli_exit cli_complaints(struct cli *cli, const struct yaml_errors *errors)
{
    return complain(cli, errors, NULL);
}

bool cli_add_flags(struct cli *cli, const struct cli_flag *flags, size_t count,
                   struct config_settings *settings)
{
    assert(cli && settings && (flags || count == 0));
    for (size_t i = 0; i < cli->arguments->given_count; i++) {
        const struct cli_given *given = &cli->arguments->given[i];
        for (size_t k = 0; k < count; k++) {
            if (strcmp(given->option->name, flags[k].option) != 0)
                continue;
            const struct config_setting one = {flags[k].key, given->value, CONFIG_FLAG,
                                               given->option->name};
            if (!config_setting_add(settings, &one))
                return false;
        }
    }
    return true;
}

struct yaml_tree *cli_option_value(struct cli *cli, const char *option, const char **given)
{
    static const char nothing[] = "{value: 0}";
    struct yaml_errors errors;
    *given = cli_value(cli->arguments, option);
    if (!*given)
        return NULL;
    yaml_errors_init(&errors, option);
    struct yaml_tree *tree = yaml_parse(nothing, sizeof nothing - 1, &errors);
    assert(tree);
    yaml_set_text(yaml_find_edit(yaml_root_edit(tree), "value"), *given, false);
    return tree;
}

/* A file that may hold a key. */
static void forget(struct cli_file *file)
{
    if (file->data)
        OPENSSL_cleanse(file->data, file->length);
    free(file->data);
}

/* ------------------------------------------------------------------ the key */

static enum cli_exit check_mode(struct cli *cli, const char *path, const struct cli_file *file)
{
    if (!file->is_regular || file->mode == 0)
        return CLI_DONE;
    if ((file->mode & 02) && !PLANTED(cli_key_mode_unchecked))
        return cli_fail(cli, ERR_CONFIG_INVALID,
                        "%s: found mode %04o: everybody may write it; 0600 is expected", path,
                        (unsigned)file->mode);
    if (file->mode & 077)
        cli_say(cli, "warning: %s: found mode %04o: others may use the key; 0600 is expected", path,
                (unsigned)file->mode);
    return CLI_DONE;
}

enum cli_exit cli_read_key(struct cli *cli, const char *path, uint8_t key[CONFIG_KEY_BYTES])
{
    struct cli_file file;
    assert(cli && path && key);
    enum fabric_error error =
        cli->host->read_file(cli->host->context, path, CONFIG_KEY_FILE_MAX, &file);
    if (error)
        return cli_fail(cli, ERR_CONFIG_INVALID, "%s: the file with the key: %s (%s)", path,
                        cli_file_reason(error), error_name(error));
    enum cli_exit code = check_mode(cli, path, &file);
    uint8_t found[CONFIG_KEY_BYTES] = {0};
    if (code == CLI_DONE && !config_read_key_file(file.data, found))
        code =
            cli_fail(cli, ERR_CONFIG_INVALID, "%s: 64 hexadecimal digits are expected in it", path);
    if (code == CLI_DONE)
        memcpy(key, found, sizeof found);
    OPENSSL_cleanse(found, sizeof found);
    forget(&file);
    return code;
}

/* ------------------------------------------------------------------ what both have */

static const char *environment(void *context, const char *name)
{
    const struct cli *cli = context;
    return cli->host->environment(cli->host->context, name);
}

static enum cli_exit unreadable(struct cli *cli, const char *path, enum fabric_error error)
{
    return cli_fail(cli, ERR_CONFIG_INVALID, "%s: the configuration: %s (%s)", path,
                    cli_file_reason(error), error_name(error));
}

/* ------------------------------------------------------------------ a server's configuration */

/* "--set memory.max_size=4GiB" */
static enum cli_exit add_sets(struct cli *cli, struct cli_server *l)
{
    for (size_t i = 0; i < cli->arguments->given_count; i++) {
        const struct cli_given *given = &cli->arguments->given[i];
        if (strcmp(given->option->name, "set") != 0)
            continue;
        size_t length = strcspn(given->value, "="), at = l->settings.count;
        const size_t before = sizeof "set " - 1;
        if (!given->value[length] || length == 0 || before + length >= sizeof l->sets[0] ||
            at == CONFIG_MAX_SETTINGS)
            return cli_usage(cli, "--set: found '%.60s'; SECTION.KEY=VALUE is expected",
                             given->value);
        snprintf(l->sets[at], sizeof l->sets[0], "set %.*s", (int)length, given->value);
        const struct config_setting one = {l->sets[at] + before, given->value + length + 1,
                                           CONFIG_FLAG, l->sets[at]};
        config_setting_add(&l->settings, &one);
    }
    return CLI_DONE;
}

/* No file where nobody named one is no error: the environment and flags may say enough. */
static enum cli_exit read_server_file(struct cli *cli, struct cli_server *l, struct cli_file *out)
{
    const char *named = cli_value(cli->arguments, "config");
    l->path = named ? named : SERVER_CONFIG;
    enum fabric_error error =
        cli->host->read_file(cli->host->context, l->path, CLI_MAX_CONFIG, out);
    if (error != ERR_NOT_FOUND || named)
        return error ? unreadable(cli, l->path, error) : CLI_DONE;
    l->path = NULL;
    return CLI_DONE;
}

enum cli_exit cli_server_config(struct cli *cli, const struct cli_flag *flags, size_t count,
                                struct cli_server *l)
{
    assert(cli && l && !l->tree && l->settings.count == 0);
    struct cli_file file = {.data = NULL};
    struct yaml_errors errors;
    enum cli_exit code = read_server_file(cli, l, &file);
    yaml_errors_init(&errors, l->path ? l->path : "settings (there is no " SERVER_CONFIG ")");
    if (code == CLI_DONE && !cli_add_flags(cli, flags, count, &l->settings))
        code = cli_usage(cli, "too many options");
    if (code == CLI_DONE)
        code = add_sets(cli, l);
    bool ok = code == CLI_DONE &&
              (PLANTED(cli_server_environment_ignored) ||
               config_read_environment(&l->settings, true, environment, cli, &errors));
    if (ok)
        l->tree = config_merge(file.data, file.length, &l->settings, true, &errors);
    forget(&file);
    ok = l->tree && config_read_server(l->tree, &l->settings, &l->config, &errors);
    return code == CLI_DONE && !ok ? cli_complaints(cli, &errors) : code;
}

void cli_server_free(struct cli_server *server)
{
    if (!server)
        return;
    yaml_tree_free(server->tree);
    OPENSSL_cleanse(server, sizeof *server);
    free(server);
}

/* ------------------------------------------------------------------ a client's configuration */

static enum cli_exit merge(struct cli *cli, const char *path, const struct cli_file *file,
                           const char *transport, struct client_config *out)
{
    struct config_settings settings = {.count = 0};
    assert(file && out);
    const struct config_setting way = {"transport", transport, CONFIG_FLAG, "transport"};
    if (transport)
        config_setting_add(&settings, &way);
    struct yaml_errors errors;
    yaml_errors_init(&errors, path ? path : "settings without a file");
    bool ok = config_read_environment(&settings, false, environment, cli, &errors);
    if (ok && !cli_add_flags(cli, client_flags, COUNT(client_flags), &settings))
        return cli_usage(cli, "too many options");
    struct yaml_tree *tree =
        ok ? config_merge(file->data, file->length, &settings, false, &errors) : NULL;
    ok = tree && config_read_client(tree, &settings, out, &errors);
    yaml_tree_free(tree);
    return ok     ? CLI_DONE
           : path ? cli_complaints(cli, &errors)
                  : complain(cli, &errors,
                             "Correct what is named. Without a file the server comes from "
                             "--server HOST:PORT or MEMKV_SERVERS, the key from --auth-key-file "
                             "FILE or MEMKV_AUTH_KEY_FILE; memkv help env lists the rest.");
}

enum cli_exit cli_client_config(struct cli *cli, const char *transport, struct client_config *out)
{
    struct cli_file file = {.data = NULL};
    enum fabric_error error = FABRIC_OK;
    assert(cli && out);
    const char *path = cli_value(cli->arguments, "config");
    if (!path)
        path = cli->host->environment(cli->host->context, "MEMKV_CONFIG");
    if (path && *path) /* set and empty: the environment's reader complains */
        error = cli->host->read_file(cli->host->context, path, CLI_MAX_CONFIG, &file);
    enum cli_exit code = error ? unreadable(cli, path, error) : CLI_DONE;
    if (code == CLI_DONE)
        code = merge(cli, path, &file, transport, out);
    forget(&file);
    if (code == CLI_DONE && out->auth_key_file[0]) {
        code = cli_read_key(cli, out->auth_key_file, out->auth_key);
        out->auth_key_set = code == CLI_DONE;
    }
    return code;
}
