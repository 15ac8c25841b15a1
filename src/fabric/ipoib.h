/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP over InfiniBand as its system files have it: limits of the MTU, and what may be written to
 * `mode` and `mtu` of an interface.
 */
#ifndef SRC_FABRIC_IPOIB_H
#define SRC_FABRIC_IPOIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IPOIB_TYPE 32              /* ARPHRD_INFINIBAND, the content of `type` */
#define IPOIB_HEADER 4             /* bytes of encapsulation (RFC 4391, chapter 6) */
#define IPOIB_DATAGRAM_MTU 2044    /* 2048 less the header */
#define IPOIB_DATAGRAM_MTU_4K 4092 /* where the broadcast group allows 4096 */
#define IPOIB_CONNECTED_MTU 65520  /* the most of connected mode (RFC 4755), as Linux limits it */
#define IPOIB_MTU_LEAST 68         /* of IPv4 */

/* Reads what was written to `mode`: "connected" or "datagram" with a newline, without which Linux
 * refuses it. False for anything else. */
bool fabric_ipoib_mode(const void *data, size_t length, bool *connected);

/* Reads what was written to `mtu`: a decimal number with or without a newline, from IPOIB_MTU_LEAST
 * to `most` (bytes). False for anything else. */
bool fabric_ipoib_mtu(const void *data, size_t length, uint32_t most, uint32_t *mtu);

#endif
