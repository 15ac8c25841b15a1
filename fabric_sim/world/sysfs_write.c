/* SPDX-License-Identifier: Apache-2.0 */
/* What can be written below /sys: mode and MTU of IPoIB interfaces (RFC 4391, RFC 4755). */
#include "fabric_sim/world/sysfs.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/ipoib.h"
#include "src/fabric/planted.h"

static uint32_t datagram_mtu(const struct sysfs_port *port)
{
    return port->ipoib_group_mtu ? port->ipoib_group_mtu : IPOIB_DATAGRAM_MTU;
}

static enum fabric_error write_mode(struct sysfs_port *port, const void *data, size_t length)
{
    bool connected;
    if (port->ipoib_enhanced || !fabric_ipoib_mode(data, length, &connected))
        return ERR_INVALID_ARGUMENT;
    if (port->ipoib_connected == connected)
        return FABRIC_OK;
    port->ipoib_connected = connected;
    if (!PLANTED(world_sysfs_mode_keeps_mtu))
        port->netdev_mtu = connected ? IPOIB_CONNECTED_MTU : datagram_mtu(port);
    return FABRIC_OK;
}

static enum fabric_error write_mtu(struct sysfs_port *port, const void *data, size_t length)
{
    bool either = PLANTED(world_sysfs_mtu_of_either_mode);
    uint32_t most = port->ipoib_connected || either ? IPOIB_CONNECTED_MTU : datagram_mtu(port);
    return fabric_ipoib_mtu(data, length, most, &port->netdev_mtu) ? FABRIC_OK
                                                                   : ERR_INVALID_ARGUMENT;
}

enum fabric_error sysfs_ipoib_write(struct sysfs_port *port, const char *file, const void *data,
                                    size_t length)
{
    bool is_mode = strcmp(file, "mode") == 0;
    assert(port && data);
    if (!is_mode && strcmp(file, "mtu") != 0)
        return ERR_ACCESS_DENIED;
    return is_mode ? write_mode(port, data, length) : write_mtu(port, data, length);
}
