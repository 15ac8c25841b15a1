/* SPDX-License-Identifier: Apache-2.0 */
/* The server's configuration as it holds, key by key: its value as a file would have it, and what
 * the key means. */
#ifndef SRC_CONFIG_EFFECTIVE_H
#define SRC_CONFIG_EFFECTIVE_H

#include "src/config/server_config.h"

/* Bytes with the NUL: a list of folders, each byte of them escaped. */
#define CONFIG_VALUE_MAX (CONFIG_MAX_MEDIA * (4 * CONFIG_PATH_MAX + 4))

struct config_key {
    const char *section, *name; /* "storage.eviction", "enabled" */
    const char *help;           /* one line */
};

/* The i-th key, in the order of sections; null past the last. */
const struct config_key *config_key(size_t i);

/* The value of the i-th key, ready for YAML. False when nothing is set and there is no default; the
 * secret key itself is never told: false too. */
bool config_key_value(const struct server_config *config, size_t i, char out[CONFIG_VALUE_MAX]);

#endif
