/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP over InfiniBand interfaces as the system files show them (MK-L1, L2, L4), and what to say of
 * one that carries the TCP pool.
 */
#ifndef SRC_RAIL_IPOIB_H
#define SRC_RAIL_IPOIB_H

#include "src/fabric/fabric.h"
#include "src/fabric/ipoib.h"

#define IPOIB_ADDRESS_BYTES 20 /* flags, queue pair number, GID (RFC 4391, chapter 9.1.1) */
#define IPOIB_ADVICE 512       /* bytes of advice with its NUL */

struct ipoib_interface {
    char name[FABRIC_NAME_MAX];
    uint8_t port_num; /* of its device, from 1 */
    bool connected;   /* the mode; false: datagram */
    bool enhanced;    /* no connected mode: bit 0x80 of the first byte of the address is clear */
    uint32_t mtu;     /* bytes */
    uint16_t pkey;    /* 0: not shown */
    bool up;
    uint8_t address[IPOIB_ADDRESS_BYTES];
};

enum ipoib_module {
    IPOIB_MODULE_MISSING,
    IPOIB_MODULE_LOADED,
    IPOIB_MODULE_BUILT_IN, /* no state of loading: kernels from 4.10 may have it built in */
};

/* Reads /sys/class/net/NETDEV. Errors, with *out untouched and the file at fault in `path`
 * (FABRIC_PATH_MAX bytes): not_found (no such interface), not_supported (it is no IPoIB
 * interface), those of sysfile_line, sysfile_invalid also for an address that is not 20 bytes. */
enum fabric_error ipoib_read(struct fabric *f, const char *netdev, struct ipoib_interface *out,
                             char *path);

/* Whether the module is there; an interface of its type without it means that it is built in. */
enum ipoib_module ipoib_module(struct fabric *f, bool has_interface);
const char *ipoib_module_name(enum ipoib_module module); /* "loaded" */

const char *ipoib_mode_name(bool connected); /* "connected" */

/* Packets that a block of 2 MiB takes over TCP and IPv4 at this MTU (40 bytes of headers). */
uint32_t ipoib_packets(uint32_t mtu);

/* One sentence on an interface that was left at a small MTU, with the expected effect, in `out`
 * (IPOIB_ADVICE bytes). False where there is nothing to say. */
bool ipoib_advice(const struct ipoib_interface *interface, char *out);

#endif
