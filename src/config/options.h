/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What server and client configurations have in common: the settings of RDMA rails, and how lists
 * of names, keys and MTUs are read.
 */
#ifndef SRC_CONFIG_OPTIONS_H
#define SRC_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/config/yaml.h"

#define CONFIG_MAX_RAILS 4
#define CONFIG_NAME_MAX 64 /* with the final NUL */
#define CONFIG_KEY_BYTES 32

enum config_rdma_transport {
    CONFIG_RDMA_AUTO,
    CONFIG_RDMA_DC,
    CONFIG_RDMA_RC,
};

/* One entry of a list of devices: "mlx5_0" or "mlx5_0:2". */
struct config_device {
    char name[CONFIG_NAME_MAX];
    uint8_t port; /* 0: the first ACTIVE one */
};

struct config_rdma {
    uint32_t device_count; /* 0: every device of the node */
    struct config_device devices[CONFIG_MAX_RAILS];
    int transport; /* enum config_rdma_transport; a client's is always CONFIG_RDMA_AUTO */
    int64_t pkey_index;
    uint64_t pkey; /* 0: by index */
    int64_t mtu;   /* bytes; 0: nobody wrote one, the active MTU caps the default */
    int64_t service_level;
    int64_t traffic_class; /* -1: not set */
    int64_t gid_index;     /* -1: chosen by type and scope */
    uint64_t start_wait;   /* ns */
    bool pkey_index_set, service_level_set;
    bool busy_poll; /* look into completion queues without end: less latency for a whole core */
};

void config_rdma_defaults(struct config_rdma *rdma);

/* Each complains at the value's mark and returns false. A port is named once. */
bool config_read_devices(const struct yaml_value *list, struct config_rdma *rdma,
                         struct yaml_errors *errors);
bool config_read_device(const struct yaml_value *value, struct config_rdma *rdma,
                        struct yaml_errors *errors);
/* The rules of `pkey` and `pkey_index` of the mapping that has been read into `rdma`: pkey names a
 * partition (MK-D3), and one of the two is allowed. */
bool config_check_pkey(const struct yaml_value *section, const struct config_rdma *rdma,
                       struct yaml_errors *errors);
/* 64 hexadecimal digits; the complaint never repeats them. */
bool config_read_key(const struct yaml_value *value, uint8_t key[CONFIG_KEY_BYTES],
                     struct yaml_errors *errors);
/* 256, 512, 1024, 2048 or 4096; the complaint names mtu_invalid (MK-F1). */
bool config_read_mtu(const struct yaml_value *value, int64_t *out, struct yaml_errors *errors);
/* "IP:PORT" or "HOST:PORT" or "[IPv6]:PORT", copied to `out` (CONFIG_NAME_MAX bytes). */
bool config_read_address(const struct yaml_value *value, const char *what, char *out,
                         struct yaml_errors *errors);

#endif
