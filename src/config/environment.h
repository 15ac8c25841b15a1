/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a setting comes from: a default, a file, a variable of the environment, a flag. The
 * environment wins over the file and flags win over both (MK-D1, MK-K2). A variable that is set but
 * empty is an error, not zero.
 *
 * The layers become one tree, so that one reader checks everything.
 */
#ifndef SRC_CONFIG_ENVIRONMENT_H
#define SRC_CONFIG_ENVIRONMENT_H

#include "src/config/client_config.h"
#include "src/config/server_config.h"

#define CONFIG_MAX_SETTINGS 64

enum config_origin {
    CONFIG_DEFAULT,
    CONFIG_FILE,
    CONFIG_ENVIRONMENT,
    CONFIG_FLAG,
};
const char *config_origin_name(enum config_origin origin); /* "default" */

/* A variable and the keys it sets. */
struct config_variable {
    const char *name;
    const char *client; /* "pkey_index"; null: none */
    const char *server; /* "rdma.pkey_index"; null: none */
    bool list;          /* items are separated by commas */
    const char *help;
};
/* The i-th, null past the last. */
const struct config_variable *config_variable(size_t i);

/* One value above the file: `key` as in struct config_variable; list items come as several. */
struct config_setting {
    const char *key;
    const char *value; /* lives as long as the settings are used */
    enum config_origin origin;
    const char *label; /* what complaints name: "MEMKV_RDMA_MTU", a flag without dashes: "mtu" */
};

struct config_settings {
    size_t count;
    struct config_setting items[CONFIG_MAX_SETTINGS];
};

/* Adds one; of several with the same key those of the highest origin hold. False when there are
 * too many. */
bool config_setting_add(struct config_settings *settings, const struct config_setting *setting);

/* Reads the variables by `lookup` (null: not set) for a client or a server. False after a complaint
 * about an empty one. */
bool config_read_environment(struct config_settings *settings, bool server,
                             const char *(*lookup)(void *context, const char *name), void *context,
                             struct yaml_errors *errors);

/* A file's text (null: none; "path:1:1" is then where complaints point) with the settings put over
 * it. What the file says keeps its place; complaints about a setting name its label. The caller
 * frees the tree. Null after a complaint. */
struct yaml_tree *config_merge(const char *text, size_t length,
                               const struct config_settings *settings, bool server,
                               struct yaml_errors *errors);
/* Reads the merged tree; false after complaints, which name labels where they are about settings.
 */
bool config_read_server(const struct yaml_tree *merged, const struct config_settings *settings,
                        struct server_config *out, struct yaml_errors *errors);
bool config_read_client(const struct yaml_tree *merged, const struct config_settings *settings,
                        struct client_config *out, struct yaml_errors *errors);

/* Where the value of `key` ("section.key" or "section.key.key" for a server) in a merged tree comes
 * from. */
enum config_origin config_origin_of(const struct yaml_tree *merged,
                                    const struct config_settings *settings, const char *key);

#endif
