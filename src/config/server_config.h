/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's configuration (MK-K1): every key is known and checked here, also those that a build
 * does not act on.
 */
#ifndef SRC_CONFIG_SERVER_CONFIG_H
#define SRC_CONFIG_SERVER_CONFIG_H

#include "src/config/options.h"

#define CONFIG_PATH_MAX 256
#define CONFIG_MAX_MEDIA 8
#define CONFIG_MAX_LANES 64

enum config_storage_mode {
    CONFIG_STORAGE_MEMORY,
    CONFIG_STORAGE_FILE,
    CONFIG_STORAGE_DIRECT,
};

enum config_durability {
    CONFIG_DURABILITY_ACK,
    CONFIG_DURABILITY_INTERVAL,
    CONFIG_DURABILITY_NONE,
};

struct server_config {
    /* network */
    char address[CONFIG_NAME_MAX];
    uint8_t auth_key[CONFIG_KEY_BYTES];
    bool auth_key_set;
    char auth_key_file[CONFIG_PATH_MAX];
    int64_t num_connections;
    /* admin */
    char admin_address[CONFIG_NAME_MAX]; /* empty: the data IP, port + 1 */
    char tls_cert[CONFIG_PATH_MAX], tls_key[CONFIG_PATH_MAX];
    /* memory */
    uint64_t memory_block_size; /* bytes: the largest single RDMA operation */
    uint64_t memory_max_size;   /* bytes */
    /* rdma */
    struct config_rdma rdma;
    int64_t num_dcis;
    /* storage */
    int storage_mode; /* enum config_storage_mode */
    char storage_path[CONFIG_PATH_MAX];
    uint32_t media_count;
    char media[CONFIG_MAX_MEDIA][CONFIG_PATH_MAX];
    uint64_t storage_max_size, storage_block_size;
    int durability; /* enum config_durability */
    bool eviction_enabled;
    int64_t eviction_start_percent, eviction_stop_percent;
    int64_t lanes;
    /* log */
    int log_level;    /* 0 debug, 1 info, 2 warn, 3 error */
    int log_format;   /* 0 auto, 1 text, 2 json */
    uint32_t ignored; /* bit i: server_config_ignored(i) was written */
};

/* A key that means nothing to this server, though it is known. */
struct server_config_ignored {
    const char *section, *key, *reason;
};

/* The i-th key that somebody wrote in vain; null after the last (CASE-Q3). */
const struct server_config_ignored *server_config_ignored(const struct server_config *config,
                                                          size_t i);

/* Reads `text` into *out, which is complete with defaults; false with complaints in `errors`. */
bool server_config_read(const char *text, size_t length, struct server_config *out,
                        struct yaml_errors *errors);

/* The same from the root of a tree that somebody else has parsed. */
bool server_config_read_value(const struct yaml_value *root, struct server_config *out,
                              struct yaml_errors *errors);

#endif
