/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/options.h"

#include <assert.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/error.h"
#include "lib/part.h"
#include "src/config/environment.h"
#include "src/config/key_file.h"
#include "src/fabric/planted.h"

#define KEY_NAME 64 /* bytes, of a setting's key, with the NUL */

/* What is being read, and everything that is only needed meanwhile. */
struct reading {
    struct memkv_options given;
    struct config_settings settings;
    char keys[CONFIG_MAX_SETTINGS][KEY_NAME];
    struct yaml_errors errors;
    struct memkv_error *error;
};

static int fail(struct reading *r, enum fabric_error error, const char *where, const char *detail)
{
    return lib_error_set(r->error, error, where, detail);
}

/* ------------------------------------------------------------------ the options themselves */

/* A caller compiled with fewer members has the defaults of the others; of more, they must be zero.
 */
static int take_options(struct reading *r, const struct memkv_options *given)
{
    char text[160];
    if (!given)
        return MEMKV_OK;
    if (given->size < sizeof given->size) {
        snprintf(text, sizeof text, "found %zu; sizeof(struct memkv_options) is expected",
                 given->size);
        return fail(r, ERR_INVALID_ARGUMENT, "options.size", text);
    }
    const size_t known = sizeof r->given;
    memcpy(&r->given, given, given->size < known ? given->size : known);
    for (size_t i = known; i < given->size && !PLANTED(lib_unknown_option_ignored); i++) {
        if (((const uint8_t *)given)[i] == 0)
            continue;
        snprintf(text, sizeof text, "the byte at %zu is set, but version %s knows %zu bytes", i,
                 memkv_version(), known);
        return fail(r, ERR_INVALID_ARGUMENT, "options", text);
    }
    return MEMKV_OK;
}

static int take_prefix(struct reading *r, struct lib_options *out)
{
    const char *prefix = r->given.key_prefix ? r->given.key_prefix : "";
    size_t length = strlen(prefix);
    if (length >= MEMKV_MAX_KEY)
        return fail(r, ERR_INVALID_ARGUMENT, "options.key_prefix",
                    "it leaves no room for a key: with it a key has at most 255 bytes");
    memcpy(out->prefix, prefix, length + 1);
    return MEMKV_OK;
}

static int take_log(struct reading *r, struct lib_options *out)
{
    static const enum fabric_log_level levels[] = {
        [MEMKV_LOG_WARN] = FABRIC_LOG_WARN,  [MEMKV_LOG_ERROR] = FABRIC_LOG_ERROR,
        [MEMKV_LOG_INFO] = FABRIC_LOG_INFO,  [MEMKV_LOG_DEBUG] = FABRIC_LOG_DEBUG,
        [MEMKV_LOG_NONE] = FABRIC_LOG_ERROR,
    };
    if ((unsigned)r->given.log_level > MEMKV_LOG_NONE)
        return fail(r, ERR_INVALID_ARGUMENT, "options.log_level", "there is no such level");
    if (r->given.log_fd < 0)
        return fail(r, ERR_INVALID_ARGUMENT, "options.log_fd",
                    "it is negative; 0 is standard error, and MEMKV_LOG_NONE writes nothing");
    out->fabric.part = lib_part();
    out->fabric.log_level = levels[r->given.log_level];
    out->fabric.log_fd = r->given.log_fd ? r->given.log_fd : STDERR_FILENO;
    if (r->given.log_level == MEMKV_LOG_NONE)
        out->fabric.log_fd = -1;
    return MEMKV_OK;
}

static int take_settings(struct reading *r)
{
    for (size_t i = 0; r->given.settings && r->given.settings[i]; i++) {
        const char *text = r->given.settings[i], *equals = strchr(text, '=');
        size_t length = equals ? (size_t)(equals - text) : 0;
        if (i == CONFIG_MAX_SETTINGS)
            return fail(r, ERR_INVALID_ARGUMENT, "options.settings", "there are more than 64");
        if (length == 0 || length >= KEY_NAME || !equals[1])
            return fail(r, ERR_CONFIG_INVALID, "options.settings",
                        "found something else; KEY=VALUE is expected");
        memcpy(r->keys[i], text, length);
        const struct config_setting one = {r->keys[i], equals + 1, CONFIG_FLAG, r->keys[i]};
        if (!config_setting_add(&r->settings, &one))
            return fail(r, ERR_INVALID_ARGUMENT, "options.settings", "there are too many");
    }
    return MEMKV_OK;
}

/* ------------------------------------------------------------------ files */

/* A whole file with a NUL after it, which the caller frees. `st` gets what it is. */
static int read_file(struct reading *r, const char *path, size_t max, char **out, size_t *length,
                     struct stat *st)
{
    char text[128] = "", *data = malloc(max + 2);
    FILE *file = data ? fopen(path, "re") : NULL;
    bool opened = file && fstat(fileno(file), st) == 0;
    *length = opened ? fread(data, 1, max + 1, file) : 0;
    bool ok = opened && !ferror(file);
    if (!ok && data)
        strerror_r(errno, text, sizeof text);
    if (file)
        fclose(file);
    if (ok && *length <= max) {
        data[*length] = '\0';
        *out = data;
        return MEMKV_OK;
    }
    free(data);
    if (!data)
        return fail(r, ERR_RESOURCES_EXHAUSTED, NULL, NULL);
    return fail(r, ERR_CONFIG_INVALID, path, ok ? "the file is too large" : text);
}

static int read_key(struct reading *r, struct client_config *config)
{
    const char *path = config->auth_key_file;
    struct stat st;
    char *text;
    size_t length;
    int code = read_file(r, path, CONFIG_KEY_FILE_MAX, &text, &length, &st);
    if (code)
        return code;
    if (S_ISREG(st.st_mode) && (st.st_mode & S_IWOTH) && !PLANTED(lib_key_mode_unchecked))
        code = fail(r, ERR_CONFIG_INVALID, path, "everybody may write it; mode 0600 is expected");
    else if (!config_read_key_file(text, config->auth_key))
        code = fail(r, ERR_CONFIG_INVALID, path, "64 hexadecimal digits are expected in it");
    config->auth_key_set = code == MEMKV_OK;
    OPENSSL_cleanse(text, length);
    free(text);
    return code;
}

/* ------------------------------------------------------------------ all together */

static const char *variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static int complain(struct reading *r)
{
    char text[YAML_ERROR_TEXT + 32];
    assert(r->errors.count > 0);
    const char *first = r->errors.items[0].text;
    first += strncmp(first, "--", 2) == 0 ? 2 : 0; /* a setting here is no flag */
    int length = snprintf(text, sizeof text, "%s", first);
    if (r->errors.count > 1)
        snprintf(text + length, sizeof text - (size_t)length, " (and %zu more)",
                 r->errors.count - 1);
    return fail(r, yaml_errors_error(&r->errors), NULL, text);
}

static int merge(struct reading *r, const char *text, size_t length, struct client_config *out)
{
    struct yaml_tree *tree = NULL;
    bool ok = r->given.ignore_environment ||
              config_read_environment(&r->settings, false, variable, NULL, &r->errors);
    if (ok)
        tree = config_merge(text, length, &r->settings, false, &r->errors);
    ok = tree && config_read_client(tree, &r->settings, out, &r->errors);
    yaml_tree_free(tree);
    return ok ? MEMKV_OK : complain(r);
}

static int read_config(struct reading *r, struct client_config *out)
{
    struct stat st;
    char *text = NULL;
    size_t length = 0;
    const char *path = r->given.config;
    if (!path && !r->given.ignore_environment)
        path = getenv("MEMKV_CONFIG");
    yaml_errors_init(&r->errors, path && *path ? path : "settings");
    int code = MEMKV_OK;
    if (path && *path) /* set and empty: the environment's reader complains */
        code = read_file(r, path, YAML_MAX_BYTES, &text, &length, &st);
    if (!code)
        code = merge(r, text, length, out);
    if (text)
        OPENSSL_cleanse(text, length);
    free(text);
    return code;
}

int lib_options_read(const struct memkv_options *given, struct lib_options *out,
                     struct memkv_error *error)
{
    assert(out);
    struct reading *r = calloc(1, sizeof *r);
    if (!r)
        return lib_error_set(error, ERR_RESOURCES_EXHAUSTED, NULL, NULL);
    r->error = error;
    *out = (struct lib_options){.prefix = ""};
    int code = take_options(r, given);
    code = code ? code : take_prefix(r, out);
    code = code ? code : take_log(r, out);
    code = code ? code : take_settings(r);
    code = code ? code : read_config(r, &out->config);
    if (!code && out->config.auth_key_file[0])
        code = read_key(r, &out->config);
    out->fabric.part_context = lib_part_context(!code && out->config.rdma.busy_poll);
    free(r);
    return code;
}
