/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's configuration file (MK-K2). Environment variables are laid over it by whoever has
 * an environment.
 */
#ifndef SRC_CONFIG_CLIENT_CONFIG_H
#define SRC_CONFIG_CLIENT_CONFIG_H

#include "src/config/options.h"

#define CONFIG_MAX_SERVERS 16

enum config_transport {
    CONFIG_TRANSPORT_AUTO, /* RDMA first, TCP with one WARN when no rail is left */
    CONFIG_TRANSPORT_RDMA, /* a named error rather than TCP */
    CONFIG_TRANSPORT_TCP,  /* no queue pair is created */
};

enum config_verify {
    CONFIG_VERIFY_NONE, /* RDMA readers trust the transport */
    CONFIG_VERIFY_FULL, /* RDMA readers check the tag of every block */
};

struct client_config {
    uint32_t server_count;
    char servers[CONFIG_MAX_SERVERS][CONFIG_NAME_MAX]; /* as configured: placement depends on it */
    struct config_rdma rdma;
    int transport; /* enum config_transport */
    uint8_t auth_key[CONFIG_KEY_BYTES];
    bool auth_key_set;
    char auth_key_file[256];
    int64_t num_connections;
    int verify;       /* enum config_verify */
    uint64_t timeout; /* ns, of one operation */
};

/* Reads `text` into *out, which is complete with defaults; false with complaints in `errors`. */
bool client_config_read(const char *text, size_t length, struct client_config *out,
                        struct yaml_errors *errors);

/* The same from the root of a tree that somebody else has parsed. */
bool client_config_read_value(const struct yaml_value *root, struct client_config *out,
                              struct yaml_errors *errors);

#endif
