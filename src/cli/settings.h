/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration of a command: file, environment and flags put together (MK-K1, MK-K2). */
#ifndef SRC_CLI_SETTINGS_H
#define SRC_CLI_SETTINGS_H

#include "src/cli/output.h"
#include "src/config/environment.h"

#define CLI_MAX_CONFIG (1024u * 1024u)

/* Says every complaint, one line each; the error is config_invalid or mtu_invalid. */
enum cli_exit cli_complaints(struct cli *cli, const struct yaml_errors *errors);

/* Adds the flags of the table that were given. */
struct cli_flag {
    const char *option, *key;
};
bool cli_add_flags(struct cli *cli, const struct cli_flag *flags, size_t count,
                   struct config_settings *settings);

/* The configuration of a client, with its key; `transport` unless null is above file and
 * environment. CLI_DONE, or the complaint was said. */
enum cli_exit cli_client_config(struct cli *cli, const char *transport, struct client_config *out);

/* A server's configuration as it was put together; zeroed to begin with, by calloc. */
struct cli_server {
    const char *path; /* null: no file */
    struct config_settings settings;
    char sets[CONFIG_MAX_SETTINGS][64]; /* "set SECTION.KEY" */
    struct yaml_tree *tree;             /* null: it was refused */
    struct server_config config;
};

/* Of the file (--config), the environment, --set and the flags of the table. A key that stands in a
 * file of its own is not read. CLI_DONE, or the complaint was said. */
enum cli_exit cli_server_config(struct cli *cli, const struct cli_flag *flags, size_t count,
                                struct cli_server *out);
void cli_server_free(struct cli_server *server); /* null is fine */

/* The last value of an option as the readers of the configuration take it: the key "value" of the
 * tree, which the caller frees. Null, and *given too, when the option was not given. */
struct yaml_tree *cli_option_value(struct cli *cli, const char *option, const char **given);

/* Reads a key of 64 hex digits out of a file. A file that everybody may write is refused; one that
 * others may read draws a warning. */
enum cli_exit cli_read_key(struct cli *cli, const char *path, uint8_t key[CONFIG_KEY_BYTES]);

#endif
