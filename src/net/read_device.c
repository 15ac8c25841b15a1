/* SPDX-License-Identifier: Apache-2.0 */
/* One device: its own files, its driver, its interfaces, and what the verbs add. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/net/model.h"

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "ec0d:9a03:007d:7d1b" */
static bool guid(struct net_reader *r, const char *file, uint64_t *out)
{
    char line[SYSFILE_LINE], path[FABRIC_PATH_MAX], text[2 + 16 + 1] = "0x";
    assert(r->port_num == 0);
    uint64_t value;
    if (!net_line(r, true, file, line))
        return false;
    bool good = strlen(line) == 19;
    for (size_t i = 0, at = 2; good && i < 19; i++) {
        if (i % 5 == 4)
            good = line[i] == ':';
        else
            text[at++] = line[i];
    }
    if (good && sysfile_parse(text, UINT64_MAX, &value)) {
        *out = value;
        return true;
    }
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", r->device, file);
    net_fault(r->model, ERR_SYSFILE_INVALID, path);
    return false;
}

/* The driver by the link of the function, or by the name that drivers of no function give. */
static void read_driver(struct net_model *model, struct net_device *device)
{
    static const char *const names[][2] = {{"mlx5_core", "mlx5"},
                                           {"mlx4_core", "mlx4"},
                                           {"ib_qib", "qib"},
                                           {"siw", "siw"},
                                           {"rxe", "rxe"}};
    char path[FABRIC_PATH_MAX], name[FABRIC_NAME_MAX];
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", device->name);
    if (sysfile_link_name(model->fabric, path, device->function) != FABRIC_OK)
        device->function[0] = '\0';
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/driver", device->name);
    if (sysfile_link_name(model->fabric, path, name) != FABRIC_OK)
        snprintf(name, sizeof(name), "%s", device->name);
    snprintf(device->driver, sizeof(device->driver), "%.31s",
             device->function[0] && strcmp(name, device->name) != 0 ? name : "");
    struct net_reader r = {model, device->name, 0};
    char parent[SYSFILE_LINE];
    if (!device->function[0] && net_line(&r, false, "parent", parent))
        snprintf(name, sizeof(name), "rxe"); /* it alone names its interface so */
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (starts_with(name, names[i][0]))
            snprintf(device->driver, sizeof(device->driver), "%s", names[i][1]);
    }
}

/* mlx5 has DC, but for the oldest and some virtual functions: the verbs know better. */
static void guess_transports(struct net_device *device)
{
    device->iwarp = starts_with(device->node_type, "4:"); /* RNIC */
    device->rc = !device->iwarp;
    device->dc = !device->iwarp && strcmp(device->driver, "mlx5") == 0;
}

static void read_files(struct net_model *model, struct net_device *device)
{
    struct net_reader r = {model, device->name, 0};
    read_driver(model, device);
    net_line(&r, true, "node_type", device->node_type);
    net_line(&r, false, "hca_type", device->hca_type);
    if (strcmp(device->driver, "rxe") != 0 || PLANTED(net_rxe_firmware))
        net_line(&r, false, "fw_ver", device->fw_ver); /* rxe has none: the file is an empty line */
    net_line(&r, false, "hw_rev", device->hw_rev);
    net_line(&r, false, "board_id", device->board_id);
    guid(&r, "node_guid", &device->node_guid);
    guid(&r, "sys_image_guid", &device->sys_image_guid);
    guess_transports(device);
}

static struct net_port *port_of(struct net_device *device, uint8_t port_num)
{
    for (uint8_t i = 0; i < device->shown; i++) {
        if (device->ports[i].port_num == port_num)
            return &device->ports[i];
    }
    return NULL;
}

/* The interface of the port itself, also where its GIDs belong to a bond or a VLAN above it. */
static void read_ethernet_interface(struct net_model *model, struct net_device *device,
                                    const char *name)
{
    char path[FABRIC_PATH_MAX];
    uint64_t dev_port = 0;
    snprintf(path, sizeof(path), "/sys/class/net/%s/dev_port", name);
    enum fabric_error error = sysfile_number(model->fabric, path, UINT8_MAX - 1, &dev_port);
    if (error && error != ERR_NOT_FOUND)
        net_fault(model, error, path);
    struct net_port *port = port_of(device, (uint8_t)(dev_port + 1));
    if (port && port->link_layer == FABRIC_LINK_LAYER_ETHERNET && !port->physical[0])
        snprintf(port->physical, sizeof(port->physical), "%s", name);
}

/* Interfaces belong to a port of their device by number (MK-L1), never by their name. */
static void read_interface(struct net_model *model, struct net_device *device, const char *name)
{
    struct ipoib_interface interface;
    char path[FABRIC_PATH_MAX];
    enum fabric_error error = ipoib_read(model->fabric, name, &interface, path);
    if (error == ERR_NOT_SUPPORTED)
        read_ethernet_interface(model, device, name);
    if (error == ERR_NOT_SUPPORTED || (error == ERR_NOT_FOUND && strstr(path, "/type")))
        return;
    if (error) {
        net_fault(model, error, path);
        return;
    }
    struct net_port *port = port_of(device, interface.port_num);
    if (port && port->link_layer == FABRIC_LINK_LAYER_INFINIBAND &&
        port->ipoib_count < NET_MAX_INTERFACES)
        port->ipoib[port->ipoib_count++] = interface;
}

static void read_interfaces(struct net_model *model, struct net_device *device)
{
    char path[FABRIC_PATH_MAX], names[SYSFILE_NAMES];
    size_t length;
    assert(device->shown <= NET_MAX_PORTS);
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/net", device->name);
    enum fabric_error error = sysfile_names(model->fabric, path, names, &length);
    if (error == ERR_NOT_FOUND || error == ERR_NOT_SUPPORTED)
        return;
    if (error) {
        net_fault(model, error, path);
        return;
    }
    for (size_t at = 0; at < length; at += strlen(names + at) + 1) {
        if (!sysfile_name_ok(names + at))
            net_fault(model, ERR_SYSFILE_INVALID, path);
        else
            read_interface(model, device, names + at);
    }
}

/* The largest InfiniBand MTU that fits an Ethernet one beside RoCE's headers: GRH 40, UDP 8, BTH
 * 12, extended headers 32, ICRC 4 (vol. 1, annex A17). */
static enum fabric_mtu mtu_on_ethernet(uint64_t mtu)
{
    static const enum fabric_mtu codes[] = {FABRIC_MTU_4096, FABRIC_MTU_2048, FABRIC_MTU_1024,
                                            FABRIC_MTU_512, FABRIC_MTU_256};
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        if (mtu >= fabric_mtu_bytes(codes[i]) + 96)
            return codes[i];
    }
    return (enum fabric_mtu)0;
}

void net_read_ethernet(struct net_model *model, struct net_port *port)
{
    char path[FABRIC_PATH_MAX];
    uint64_t mtu;
    assert(model && port);
    if (port->chosen_gid >= 0)
        memcpy(port->netdev, port->gids[port->chosen_gid].entry.netdev, sizeof(port->netdev));
    if (!port->netdev[0])
        memcpy(port->netdev, port->physical, sizeof(port->netdev));
    const char *physical = port->physical[0] ? port->physical : port->netdev;
    if (!physical[0])
        return;
    snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", port->netdev);
    enum fabric_error error = sysfile_number(model->fabric, path, UINT32_MAX, &mtu);
    if (error == FABRIC_OK && !port->asked)
        port->active_mtu = mtu_on_ethernet(mtu);
    else if (error && error != ERR_NOT_FOUND)
        net_fault(model, error, path);
    if (fabric_dcb_query(model->fabric, physical, &port->dcb) != FABRIC_OK)
        port->dcb = (struct fabric_dcb){.known = false};
}

static void add_verbs(const struct fabric_port_attr *attr, struct net_port *port)
{
    assert(attr->link_layer <= FABRIC_LINK_LAYER_ETHERNET);
    port->asked = true;
    port->max_mtu = attr->max_mtu;
    port->active_mtu = attr->active_mtu;
    port->grh_required = (attr->flags & FABRIC_PORT_GRH_REQUIRED) != 0;
    port->violations_known = port->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    port->violations = attr->bad_pkey_cntr;
}

void net_read_verbs(struct net_model *model, struct net_device *device)
{
    fabric_device handle;
    struct fabric_device_attr attr;
    struct fabric_port_attr port;
    assert(model && device);
    if (fabric_device_open(model->fabric, device->name, &handle) != FABRIC_OK)
        return;
    if (fabric_device_query(model->fabric, handle, &attr) == FABRIC_OK) {
        device->dc = (attr.caps & FABRIC_CAP_DC) != 0;
        device->rc = (attr.caps & FABRIC_CAP_RC) != 0;
        device->iwarp = attr.iwarp;
        if (attr.driver[0])
            snprintf(device->driver, sizeof(device->driver), "%s", attr.driver);
        for (uint8_t i = 0; i < device->shown; i++) {
            struct net_port *shown = &device->ports[i];
            if (shown->port_num <= attr.num_ports &&
                fabric_port_query(model->fabric, handle, shown->port_num, &port) == FABRIC_OK)
                add_verbs(&port, shown);
        }
    }
    fabric_device_close(model->fabric, handle);
}

void net_read_device(struct net_model *model, const char *name, uint8_t port,
                     struct net_device *out)
{
    uint32_t numbers[NET_MAX_PORTS], count, length;
    assert(model && name && out && sysfile_name_ok(name));
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "%s", name);
    read_files(model, out);
    struct net_reader r = {model, out->name, 0};
    net_indexes(&r, "ports", UINT8_MAX, numbers, NET_MAX_PORTS, &count, &length);
    out->port_count = (uint8_t)count;
    out->ports = calloc(count ? count : 1, sizeof(*out->ports));
    assert(out->ports);
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == 0 || (port && numbers[i] != port)) /* port 0 is a switch's own */
            continue;
        struct net_port *shown = &out->ports[out->shown++];
        shown->port_num = (uint8_t)numbers[i];
        net_read_port(model, out, shown);
    }
    read_interfaces(model, out);
    net_read_verbs(model, out);
}
