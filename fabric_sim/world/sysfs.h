/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /sys shows of a node's devices and interfaces (MK-L5): rendered on demand from the ports'
 * attributes, nothing is stored.
 */
#ifndef FABRIC_SIM_WORLD_SYSFS_H
#define FABRIC_SIM_WORLD_SYSFS_H

#include "fabric_sim/world/port_info.h"

struct sysfs_port {
    const struct port_info *info;
    char netdev[16]; /* the port's interface: Ethernet, or IPoIB; empty: none */
    uint32_t netdev_mtu;
    bool ipoib_connected; /* mode; enhanced IPoIB has none and answers EINVAL */
    bool ipoib_enhanced;
    bool ipoib_waits;         /* is not in its broadcast group yet: no carrier */
    uint32_t ipoib_group_mtu; /* datagram mode, at most; 0: 2044 */
    struct fabric_dcb dcb;    /* of an Ethernet interface */
    uint32_t ipoib_qpn;       /* 24 bits, part of the hardware address */
};

struct sysfs_device {
    char name[FABRIC_NAME_MAX]; /* mlx5_0 */
    uint64_t node_guid, sys_image_guid;
    uint32_t vendor_id, device_id, hw_ver;
    char fw_ver[32];
    uint32_t bus; /* number of its PCI function */
    struct sysfs_port *ports;
    uint8_t port_count;
};

struct sysfs_view {
    const char *node;
    const struct sysfs_device *devices;
    size_t device_count;
    bool ipoib_module; /* ib_ipoib is loaded */
};

/* As the operations of the same name in fabric.h: not_found, too_large, invalid_argument. */
enum fabric_error sysfs_read(const struct sysfs_view *view, const char *path, void *buf,
                             size_t capacity, size_t *length);
enum fabric_error sysfs_list(const struct sysfs_view *view, const char *path, void *buf,
                             size_t capacity, size_t *length);
enum fabric_error sysfs_link(const struct sysfs_view *view, const char *path, char *buf,
                             size_t capacity);

/* Writes "mode" or "mtu" of an IPoIB interface: access_denied (another file), invalid_argument. The
 * mode sets the MTU to the largest of connected mode or the usual one of datagram mode. */
enum fabric_error sysfs_ipoib_write(struct sysfs_port *port, const char *file, const void *data,
                                    size_t length);

#endif
