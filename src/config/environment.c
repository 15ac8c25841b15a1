/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/environment.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "src/config/yaml_edit.h"
#include "src/fabric/planted.h"

static const struct config_variable variables[] = {
    {"MEMKV_CONFIG", NULL, NULL, false, "client: a YAML file with the keys below (MK-K2)"},
    {"MEMKV_SERVERS", "servers", NULL, true, "client: servers, HOST:PORT, separated by commas"},
    {"MEMKV_TRANSPORT", "transport", NULL, false, "client: auto, rdma or tcp"},
    {"MEMKV_AUTH_KEY", "auth_key", "network.auth_key", false,
     "the key of the cluster, 64 hex digits"},
    {"MEMKV_AUTH_KEY_FILE", "auth_key_file", "network.auth_key_file", false,
     "a file with the key of the cluster, readable by its owner alone"},
    {"MEMKV_NUM_CONNECTIONS", "num_connections", NULL, false, "client: connections to each server"},
    {"MEMKV_TIMEOUT", "timeout", NULL, false, "client: of one operation, such as 10 s"},
    {"MEMKV_BUSY_POLL", "busy_poll", NULL, false,
     "client: true or false: less latency over RDMA for a whole core"},
    {"MEMKV_VERIFY", "verify", NULL, false, "client: none or full: tags of blocks read by RDMA"},
    {"MEMKV_RDMA_DEVICES", "rdma_devices", "rdma.devices", true,
     "RDMA devices, mlx5_0 or mlx5_0:2, separated by commas"},
    {"MEMKV_RDMA_PKEY_INDEX", "pkey_index", "rdma.pkey_index", false,
     "entry of the port's P_Key table (InfiniBand)"},
    {"MEMKV_RDMA_PKEY", "pkey", "rdma.pkey", false, "partition by value, 0x8001 (InfiniBand)"},
    {"MEMKV_RDMA_MTU", "mtu", "rdma.mtu", false, "256, 512, 1024, 2048 or 4096"},
    {"MEMKV_RDMA_GID_INDEX", "gid_index", "rdma.gid_index", false,
     "entry of the port's GID table (RoCE)"},
    {"MEMKV_RDMA_SERVICE_LEVEL", "service_level", "rdma.service_level", false,
     "InfiniBand SL, 0 to 15"},
    {"MEMKV_RDMA_TRAFFIC_CLASS", "traffic_class", "rdma.traffic_class", false,
     "RoCE traffic class, 0 to 255"},
};

/* Keys of which one layer may name only one, and whose lower layers go with it. */
static const char *const exclusive[][2] = {
    {"auth_key", "auth_key_file"}, {"pkey", "pkey_index"}, {"device", "devices"}};

const struct config_variable *config_variable(size_t i)
{
    return i < sizeof variables / sizeof variables[0] ? &variables[i] : NULL;
}

const char *config_origin_name(enum config_origin origin)
{
    static const char *const names[] = {"default", "file", "environment", "flag"};
    assert(origin <= CONFIG_FLAG);
    return names[origin];
}

bool config_setting_add(struct config_settings *settings, const struct config_setting *setting)
{
    assert(settings && setting && setting->key && setting->value && setting->label);
    assert(setting->origin > CONFIG_FILE && setting->origin <= CONFIG_FLAG);
    if (settings->count == CONFIG_MAX_SETTINGS)
        return false;
    settings->items[settings->count++] = *setting;
    return true;
}

bool config_read_environment(struct config_settings *settings, bool server,
                             const char *(*lookup)(void *context, const char *name), void *context,
                             struct yaml_errors *errors)
{
    bool clean = true;
    assert(settings && lookup && errors);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const struct config_variable *v = &variables[i];
        const char *key = server ? v->server : v->client;
        const char *value = lookup(context, v->name);
        if (!value || (!key && (server || strcmp(v->name, "MEMKV_CONFIG") != 0)))
            continue;
        if (!*value && !PLANTED(config_empty_variable)) {
            yaml_complain_about(errors, v->name,
                                "it is set but empty; give it a value or unset it");
            clean = false;
        } else if (key) {
            const struct config_setting one = {key, value, CONFIG_ENVIRONMENT, v->name};
            clean = config_setting_add(settings, &one) && clean;
        }
    }
    return clean;
}

/* ------------------------------------------------------------------ merging */

static bool is_list(const char *key)
{
    return strcmp(key, "servers") == 0 || strcmp(key, "rdma_devices") == 0 ||
           strcmp(key, "rdma.devices") == 0 || strcmp(key, "storage.devices") == 0;
}

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

/* A complaint about a value with this mark is about the setting at this position. */
static struct yaml_mark mark_of(size_t position)
{
    return (struct yaml_mark){0, (uint32_t)position + 1};
}

/* The mapping that holds the last part of `key`, made where it is missing; null when something
 * else is in its place. */
static struct yaml_value *holder(struct yaml_value *root, const char *key, struct yaml_mark mark)
{
    struct yaml_value *at = root;
    for (const char *dot; (dot = strchr(key, '.')) != NULL; key = dot + 1) {
        char part[64];
        if ((size_t)(dot - key) >= sizeof part)
            return NULL;
        snprintf(part, sizeof part, "%.*s", (int)(dot - key), key);
        struct yaml_value *next = yaml_find_edit(at, part);
        if (!next) {
            next = yaml_add_mapping(at, part);
            yaml_set_mark(at, part, mark);
        }
        at = next;
        if (yaml_kind(at) != YAML_KIND_MAPPING)
            return NULL;
    }
    return at;
}

static bool is_of_layer(const struct yaml_value *value, const struct config_settings *settings,
                        enum config_origin origin)
{
    struct yaml_mark mark = yaml_mark(value);
    bool made = mark.line == 0 && mark.column > 0; /* column 0: no setting asked for it */
    return made && settings->items[mark.column - 1].origin == origin;
}

/* What lower layers say about this key and its rivals goes. */
static void clear(struct yaml_value *mapping, const char *name,
                  const struct config_settings *settings, enum config_origin origin)
{
    const struct yaml_value *own = yaml_find(mapping, name);
    if (own && !is_of_layer(own, settings, origin))
        yaml_remove(mapping, name);
    for (size_t i = 0; i < sizeof exclusive / sizeof exclusive[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            const char *rival = exclusive[i][1 - k];
            const struct yaml_value *other = yaml_find(mapping, rival);
            if (strcmp(exclusive[i][k], name) == 0 && other &&
                !is_of_layer(other, settings, origin) && !PLANTED(config_rival_kept))
                yaml_remove(mapping, rival);
        }
    }
}

/* False when one is too long; then an unknown number of the others were added. */
static bool add_items(struct yaml_value *list, const char *value)
{
    for (const char *at = value;; at++) {
        char item[CONFIG_PATH_MAX];
        size_t length = strcspn(at, ",");
        while (length && *at == ' ') {
            at++;
            length--;
        }
        if (length >= sizeof item && !PLANTED(config_long_item_cut))
            return false;
        snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : 255), at);
        yaml_add_item(list, item);
        at += length;
        if (!*at)
            return true;
    }
}

/* What people typed: a flag has its dashes again. */
static void label_of(const struct config_setting *s, char out[64])
{
    snprintf(out, 64, "%s%.60s", s->origin == CONFIG_FLAG ? "--" : "", s->label);
}

static bool no_key(const struct config_setting *s, struct yaml_errors *errors)
{
    char label[64];
    label_of(s, label);
    yaml_complain_about(errors, label, "'%.60s' is no key of the configuration", s->key);
    return false;
}

/* A file that is no UTF-8 is refused by the parser, what comes from elsewhere is here. */
static bool is_utf8(const char *text)
{
    json_t *string = json_string(text);
    json_decref(string);
    return string != NULL || PLANTED(config_setting_any_bytes);
}

static bool no_text(const struct config_setting *s, struct yaml_errors *errors)
{
    char label[64];
    label_of(s, label);
    for (char *c = label; *c; c++)
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    yaml_complain_about(errors, label, "found bytes that are no UTF-8");
    return false;
}

static bool put_list(struct yaml_value *mapping, struct yaml_value *value,
                     const struct config_setting *s, struct yaml_errors *errors)
{
    char label[64];
    if (!value)
        value = yaml_add_sequence(mapping, last_part(s->key));
    if (add_items(value, s->value))
        return true;
    label_of(s, label);
    yaml_complain_about(errors, label, "found an item of %u bytes or more; at most %u are allowed",
                        CONFIG_PATH_MAX, CONFIG_PATH_MAX - 1);
    return false;
}

static bool put(struct yaml_value *root, const struct config_settings *settings, size_t position,
                struct yaml_errors *errors)
{
    const struct config_setting *s = &settings->items[position];
    const char *name = last_part(s->key);
    if (!is_utf8(s->key) || !is_utf8(s->value))
        return no_text(s, errors);
    struct yaml_value *mapping = holder(root, s->key, mark_of(position));
    if (!mapping || !*name)
        return no_key(s, errors);
    clear(mapping, name, settings, s->origin);
    struct yaml_value *value = yaml_find_edit(mapping, name);
    enum yaml_kind kind = is_list(s->key) ? YAML_KIND_SEQUENCE : YAML_KIND_SCALAR;
    if (value && yaml_kind(value) != kind &&
        !PLANTED(config_kind_unchecked)) /* a setting of this layer made it a section */
        return no_key(s, errors);
    if (kind == YAML_KIND_SEQUENCE && !put_list(mapping, value, s, errors))
        return false;
    if (kind == YAML_KIND_SCALAR && value)
        yaml_set_text(value, s->value, false);
    else if (kind == YAML_KIND_SCALAR)
        yaml_add_text(mapping, name, s->value);
    yaml_set_mark(mapping, name, mark_of(position));
    return true;
}

struct yaml_tree *config_merge(const char *text, size_t length,
                               const struct config_settings *settings, bool server,
                               struct yaml_errors *errors)
{
    static const char nothing[] = "{}";
    assert(settings && errors);
    struct yaml_tree *tree =
        text ? yaml_parse(text, length, errors) : yaml_parse(nothing, sizeof nothing - 1, errors);
    if (!tree)
        return NULL;
    struct yaml_value *root = yaml_root_edit(tree);
    if (!text && !PLANTED(config_nothing_has_places))
        yaml_unmark(root);
    bool clean = yaml_kind(root) == YAML_KIND_MAPPING;
    if (!clean)
        yaml_complain(errors, yaml_mark(root), "found %s; a mapping is expected",
                      yaml_kind_name(yaml_kind(root)));
    if (clean && server && !yaml_find(root, "network"))
        yaml_add_mapping(root, "network");
    for (int origin = CONFIG_ENVIRONMENT; clean && origin <= CONFIG_FLAG; origin++) {
        for (size_t i = 0; i < settings->count; i++) {
            if ((int)settings->items[i].origin == origin)
                clean = put(root, settings, i, errors) && clean;
        }
    }
    if (clean)
        return tree;
    yaml_tree_free(tree);
    return NULL;
}

/* Complaints at marks that stand for settings: the label instead of a place. */
static void relabel(struct yaml_errors *errors, const struct config_settings *settings)
{
    for (size_t i = 0; i < errors->count; i++) {
        struct yaml_error *e = &errors->items[i];
        char place[YAML_ERROR_TEXT], text[YAML_ERROR_TEXT], label[64];
        if (e->mark.line || e->mark.column == 0 || e->mark.column > settings->count)
            continue;
        int skip = snprintf(place, sizeof place, "%.200s:0:%u: ", errors->label, e->mark.column);
        if (skip < 0 || strncmp(e->text, place, (size_t)skip) != 0)
            continue;
        label_of(&settings->items[e->mark.column - 1], label);
        snprintf(text, sizeof text, "%s: %.400s", label, e->text + skip);
        memcpy(e->text, text, sizeof text);
    }
}

bool config_read_server(const struct yaml_tree *merged, const struct config_settings *settings,
                        struct server_config *out, struct yaml_errors *errors)
{
    assert(merged && settings && out && errors);
    bool ok = server_config_read_value(yaml_root(merged), out, errors);
    relabel(errors, settings);
    return ok;
}

bool config_read_client(const struct yaml_tree *merged, const struct config_settings *settings,
                        struct client_config *out, struct yaml_errors *errors)
{
    assert(merged && settings && out && errors);
    bool ok = client_config_read_value(yaml_root(merged), out, errors);
    relabel(errors, settings);
    return ok;
}

enum config_origin config_origin_of(const struct yaml_tree *merged,
                                    const struct config_settings *settings, const char *key)
{
    assert(merged && settings && key);
    const struct yaml_value *at = yaml_root(merged);
    while (at && *key) {
        char part[64];
        size_t length = strcspn(key, ".");
        snprintf(part, sizeof part, "%.*s", (int)(length < 63 ? length : 63), key);
        at = yaml_kind(at) == YAML_KIND_MAPPING ? yaml_find(at, part) : NULL;
        key += length + (key[length] == '.');
    }
    if (!at)
        return CONFIG_DEFAULT;
    struct yaml_mark mark = yaml_mark(at);
    if (mark.line)
        return CONFIG_FILE;
    return mark.column ? settings->items[mark.column - 1].origin : CONFIG_DEFAULT;
}
