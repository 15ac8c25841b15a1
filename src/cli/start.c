/* SPDX-License-Identifier: Apache-2.0 */
/* memkv start: the server in this process. */
#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/commands.h"
#include "src/cli/settings.h"
#include "src/config/effective.h"
#include "src/config/yaml_edit.h"
#include "src/fabric/planted.h"
#include "src/server/program.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct cli_flag flags[] = {
    {"address", "network.address"},
    {"admin-address", "admin.address"},
    {"auth-key-file", "network.auth_key_file"},
    {"device", "rdma.devices"},
    {"log-level", "log.level"},
};

static void hex_of(const uint8_t key[CONFIG_KEY_BYTES], char out[2 * CONFIG_KEY_BYTES + 1])
{
    for (size_t i = 0; i < CONFIG_KEY_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", key[i]);
}

static void set_key(struct yaml_tree *tree, const uint8_t key[CONFIG_KEY_BYTES])
{
    char hex[2 * CONFIG_KEY_BYTES + 1];
    struct yaml_value *network = yaml_find_edit(yaml_root_edit(tree), "network");
    assert(network);
    hex_of(key, hex);
    yaml_remove(network, "auth_key_file");
    yaml_add_text(network, "auth_key", hex);
    OPENSSL_cleanse(hex, sizeof hex);
}

/* The configuration with its key, wherever that stands. */
static enum cli_exit load(struct cli *cli, struct cli_server *l)
{
    enum cli_exit code = cli_server_config(cli, flags, COUNT(flags), l);
    if (code == CLI_DONE && l->config.auth_key_file[0])
        code = cli_read_key(cli, l->config.auth_key_file, l->config.auth_key);
    return code;
}

/* ------------------------------------------------------------------ --print-config */

static const char *origin_name(const struct cli_server *l, const char *key)
{
    enum config_origin origin = config_origin_of(l->tree, &l->settings, key);
    if (origin == CONFIG_DEFAULT && strcmp(key, "rdma.devices") == 0)
        origin = config_origin_of(l->tree, &l->settings, "rdma.device");
    if (PLANTED(cli_origin_default))
        origin = CONFIG_DEFAULT;
    return config_origin_name(origin);
}

static void print_key(struct cli *cli, const struct cli_server *l, size_t i, unsigned indent)
{
    const struct config_key *key = config_key(i);
    assert(key && l->tree);
    char name[128], value[CONFIG_VALUE_MAX], line[CONFIG_VALUE_MAX + 128];
    bool secret = strcmp(key->name, "auth_key") == 0;
    bool set = config_key_value(&l->config, i, value);
    snprintf(name, sizeof name, "%s.%s", key->section, key->name);
    bool hidden = secret && l->config.auth_key_set;
    snprintf(line, sizeof line, "%*s%s%s: %s", (int)indent, "", set ? "" : "# ", key->name,
             set      ? value
             : hidden ? "(not shown)"
                      : "(not set)");
    cli_print(cli, "%*s# %s\n%-44s # %s\n", (int)indent, "", key->help, line, origin_name(l, name));
}

/* Whether a section, or one inside it, has a key with a value: an empty one is no YAML of ours. */
static bool has_values(const struct cli_server *l, const char *section)
{
    const struct config_key *key;
    size_t length = strlen(section);
    for (size_t i = 0; (key = config_key(i)) != NULL; i++) {
        char value[CONFIG_VALUE_MAX];
        bool inside = strncmp(key->section, section, length) == 0 &&
                      (key->section[length] == '\0' || key->section[length] == '.');
        if (inside && config_key_value(&l->config, i, value))
            return true;
    }
    return false;
}

static void print_text(struct cli *cli, const struct cli_server *l)
{
    const struct config_key *key;
    const char *section = "";
    cli_print(cli, "# The configuration that holds; file: %s\n", l->path ? l->path : "none");
    for (size_t i = 0; (key = config_key(i)) != NULL; i++) {
        const char *dot = strchr(key->section, '.');
        if (strcmp(section, key->section) != 0)
            cli_print(cli, "%s%s%s:\n", has_values(l, key->section) ? "" : "# ", dot ? "  " : "",
                      dot ? dot + 1 : key->section);
        section = key->section;
        print_key(cli, l, i, dot ? 4 : 2);
    }
}

static void print_json(struct cli *cli, const struct cli_server *l)
{
    const struct config_key *key;
    json_t *list = json_array();
    for (size_t i = 0; (key = config_key(i)) != NULL; i++) {
        char name[128], value[CONFIG_VALUE_MAX];
        bool set = config_key_value(&l->config, i, value);
        snprintf(name, sizeof name, "%s.%s", key->section, key->name);
        json_t *one = json_pack("{s:s, s:s, s:s}", "key", name, "origin", origin_name(l, name),
                                "text", key->help);
        json_object_set_new(one, "value", set ? net_string(value) : json_null());
        json_array_append_new(list, one);
    }
    cli_print_json(cli, list);
}

/* ------------------------------------------------------------------ serving */

struct serving {
    struct cli *cli;
    struct cli_server *loaded;
    bool ready, drained, interrupted;
    enum fabric_error failed; /* what it found after it had begun */
    unsigned ends;            /* signals that ask for the end */
    char command[256];        /* the last that a signal made */
};

static void take_report(void *context, const char *json)
{
    struct serving *s = context;
    json_t *report = json_loads(json, 0, NULL);
    const char *event = json_string_value(json_object_get(report, "event"));
    if (event && strcmp(event, "ready") == 0) {
        cli_print(s->cli, "memkv: ready data=%s admin=%s\n",
                  json_string_value(json_object_get(report, "data")),
                  json_string_value(json_object_get(report, "admin")));
        cli_flush(s->cli->host);
        if (!PLANTED(cli_ready_untold))
            s->cli->host->notify(s->cli->host->context, "READY=1");
    }
    s->ready = s->ready || (event && strcmp(event, "ready") == 0);
    s->drained = s->drained || (event && strcmp(event, "drained") == 0);
    const char *error = json_string_value(json_object_get(report, "error"));
    if (event && strcmp(event, "failed") == 0 && !error_by_name(error ? error : "", &s->failed))
        s->failed = ERR_INTERNAL;
    json_decref(report);
}

static bool is_done(void *context)
{
    const struct serving *s = context;
    return s->drained || s->failed;
}

/* Reads the configuration again: of it the key and the log level can change under way. What is
 * wrong with it was said, and then nothing changes. */
static const char *reload(struct serving *s)
{
    struct cli_server *l = calloc(1, sizeof *l);
    bool ok = l && load(s->cli, l) == CLI_DONE;
    if (ok) {
        size_t used =
            (size_t)snprintf(s->command, sizeof s->command, "{\"op\":\"reload\",\"auth_key\":\"");
        hex_of(l->config.auth_key, s->command + used);
        strcat(s->command, "\"}");
        s->cli->host->log_level(s->cli->host->context, (enum fabric_log_level)l->config.log_level);
    } else {
        cli_say(s->cli, "SIGHUP: nothing was changed");
    }
    cli_server_free(l);
    return ok && !PLANTED(cli_reload_ignored) ? s->command : "";
}

static const char *take_signal(void *context, int cli_signal)
{
    struct serving *s = context;
    assert(s);
    if (cli_signal == CLI_SIGNAL_HANGUP)
        return reload(s);
    s->interrupted = s->interrupted || cli_signal == CLI_SIGNAL_INTERRUPT;
    if (s->ends++ > 0)
        return NULL; /* whoever asks twice does not want to wait */
    s->cli->host->notify(s->cli->host->context, "STOPPING=1");
    snprintf(s->command, sizeof s->command, "{\"op\":\"drain\"}");
    return s->command;
}

/* How a run ends that was not drained. */
static enum cli_exit cut_short(const struct serving *s, enum fabric_error error)
{
    struct cli *cli = s->cli;
    assert(error);
    if (error == ERR_CANCELLED && !PLANTED(cli_second_signal_untold)) {
        cli_say(cli, "ended at once: what was under way was not finished");
        return CLI_INTERRUPTED;
    }
    const char *what = s->ready ? "ended while it served" : "not started";
    const bool asked = error == ERR_INVALID_ARGUMENT || error == ERR_RESOURCES_EXHAUSTED ||
                       error == ERR_NOT_SUPPORTED;
    if (!s->ready && asked) /* the error table speaks of operations and devices */
        return cli_fail_as(cli, error, CLI_CONFIG, "Correct the setting that the log line names.",
                           "%s; the log says what was found", what);
    enum cli_exit code = cli_fail(cli, error, "%s; the log says what was found", what);
    return error == ERR_MTU_ABOVE_ACTIVE ? CLI_CONFIG : code; /* it asks for too much */
}

static enum cli_exit serve(struct cli *cli, struct cli_server *l)
{
    struct serving serving = {.cli = cli, .loaded = l};
    assert(l->tree);
    if (l->config.auth_key_file[0])
        set_key(l->tree, l->config.auth_key);
    char *text = yaml_source(yaml_root(l->tree));
    if (!text)
        return cli_fail(cli, ERR_RESOURCES_EXHAUSTED, "no memory");
    const struct cli_node node = {
        .program = &memkv_server_program,
        .config = text,
        .config_length = strlen(text),
        .sink = {.context = &serving, .report = take_report},
        .done = is_done,
        .signal = take_signal,
        .context = &serving,
        .log_level = (enum fabric_log_level)l->config.log_level,
        .log_format = l->config.log_format,
        .busy_poll = l->config.rdma.busy_poll,
    };
    enum fabric_error error = cli->host->run(cli->host->context, &node);
    OPENSSL_cleanse(text, strlen(text));
    OPENSSL_cleanse(serving.command, sizeof serving.command); /* the last may be a new key */
    free(text);
    if ((error || serving.failed) && !serving.drained)
        return cut_short(&serving, serving.failed ? serving.failed : error);
    return serving.interrupted ? CLI_INTERRUPTED : CLI_DONE;
}

enum cli_exit cli_run_start(struct cli *cli)
{
    struct cli_server *l = calloc(1, sizeof *l);
    assert(cli);
    if (!l)
        return cli_fail(cli, ERR_RESOURCES_EXHAUSTED, "no memory");
    enum cli_exit code = load(cli, l);
    if (code == CLI_DONE && cli_has(cli->arguments, "print-config"))
        (cli->arguments->json ? print_json : print_text)(cli, l);
    else if (code == CLI_DONE && cli_has(cli->arguments, "check-config"))
        cli_print(cli, "%s: the configuration is good\n", l->path ? l->path : "settings");
    else if (code == CLI_DONE)
        code = serve(cli, l);
    cli_server_free(l);
    return code;
}
