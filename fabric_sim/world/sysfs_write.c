/* SPDX-License-Identifier: Apache-2.0 */
/* What can be written below /sys: mode and MTU of IPoIB interfaces (RFC 4391, RFC 4755). */
#include "fabric_sim/world/sysfs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

#define DATAGRAM_MTU 2044 /* 2048 less the encapsulation header of 4 bytes */
#define CONNECTED_MTU 65520
#define SMALLEST_MTU 68 /* of IPv4 */

static uint32_t datagram_mtu(const struct sysfs_port *port)
{
    return port->ipoib_group_mtu ? port->ipoib_group_mtu : DATAGRAM_MTU;
}

static enum fabric_error write_mode(struct sysfs_port *port, const char *text)
{
    bool connected = strcmp(text, "connected") == 0;
    if (port->ipoib_enhanced || (!connected && strcmp(text, "datagram") != 0))
        return ERR_INVALID_ARGUMENT;
    if (port->ipoib_connected == connected)
        return FABRIC_OK;
    port->ipoib_connected = connected;
    if (!PLANTED(world_sysfs_mode_keeps_mtu))
        port->netdev_mtu = connected ? CONNECTED_MTU : datagram_mtu(port);
    return FABRIC_OK;
}

static enum fabric_error write_mtu(struct sysfs_port *port, const char *text)
{
    char *end;
    unsigned long mtu = strtoul(text, &end, 10);
    unsigned long most = port->ipoib_connected ? CONNECTED_MTU : datagram_mtu(port);
    bool high = mtu > most && !PLANTED(world_sysfs_mtu_of_either_mode);
    if (end == text || *end || mtu < SMALLEST_MTU || high)
        return ERR_INVALID_ARGUMENT;
    port->netdev_mtu = (uint32_t)mtu;
    return FABRIC_OK;
}

enum fabric_error sysfs_ipoib_write(struct sysfs_port *port, const char *file, const void *data,
                                    size_t length)
{
    char text[16];
    bool is_mode = strcmp(file, "mode") == 0;
    assert(port && file && data);
    if (!is_mode && strcmp(file, "mtu") != 0)
        return ERR_ACCESS_DENIED;
    if (length && ((const char *)data)[length - 1] == '\n')
        length--;
    if (length == 0 || length >= sizeof(text))
        return ERR_INVALID_ARGUMENT;
    memcpy(text, data, length);
    text[length] = '\0';
    return is_mode ? write_mode(port, text) : write_mtu(port, text);
}
