/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's DCB netlink interface answers about an Ethernet interface (MK-G3). */
#ifndef FABRIC_HW_OS_DCB_H
#define FABRIC_HW_OS_DCB_H

#include "src/fabric/fabric.h"

/* Reads an answer to RTM_GETDCB / DCB_CMD_IEEE_GET: one netlink message, `length` bytes, from a
 * source that is not trusted. False when it is none; *out is then as before. */
bool os_dcb_read(const void *message, size_t length, struct fabric_dcb *out);

#endif
