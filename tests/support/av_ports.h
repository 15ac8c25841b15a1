/* SPDX-License-Identifier: Apache-2.0 */
/* Ports as peers are told of them, for tests of address vectors. */
#ifndef TESTS_SUPPORT_AV_PORTS_H
#define TESTS_SUPPORT_AV_PORTS_H

#include "src/fabric/av.h"

#define AV_PREFIX UINT64_C(0xfe80000000000000)

struct fabric_port_address av_infiniband(uint16_t lid);
struct fabric_port_address av_roce(void); /* without a GID */
/* `text` is an IPv6 or IPv4 address. */
void av_add_gid(struct fabric_port_address *port, const char *text, enum fabric_gid_type type,
                uint8_t index);

#endif
