/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/av_ports.h"

#include <assert.h>

#include "src/fabric/gid.h"

void av_add_gid(struct fabric_port_address *port, const char *text, enum fabric_gid_type type,
                uint8_t index)
{
    struct fabric_usable_gid *gid = &port->gids[port->gid_count++];
    bool parsed = fabric_gid_parse(text, &gid->gid);
    assert(parsed);
    gid->type = type;
    gid->index = index;
}

struct fabric_port_address av_infiniband(uint16_t lid)
{
    struct fabric_port_address port = {
        .link_layer = FABRIC_LINK_LAYER_INFINIBAND,
        .state = FABRIC_PORT_ACTIVE,
        .port_num = 1,
        .lid = lid,
        .port_guid = 0x0002c90300000000u + lid,
        .subnet_prefix = AV_PREFIX,
        .pkey = 0xffff,
        .mtu = FABRIC_MTU_4096,
        .active_mtu = FABRIC_MTU_4096,
        .max_rd_atomic = 16,
        .max_dest_rd_atomic = 16,
        .gid_count = 1,
    };
    port.gids[0].gid = fabric_gid_make(AV_PREFIX, port.port_guid);
    port.gids[0].type = FABRIC_GID_TYPE_IB;
    return port;
}

struct fabric_port_address av_roce(void)
{
    struct fabric_port_address port = av_infiniband(0);
    port.link_layer = FABRIC_LINK_LAYER_ETHERNET;
    port.gid_count = 0;
    return port;
}
