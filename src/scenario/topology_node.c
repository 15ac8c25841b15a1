/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "src/scenario/topology_reader.h"
#include "src/scenario/words.h"

#define CABLE_RATE_MBPS 100000
#define CABLE_LATENCY 100 /* ns */

struct raw_port {
    const char *network, *attach, *netdev;
    const struct yaml_value *mtu, *link_mtu, *gids, *dcb;
    int64_t rate_mbps, netdev_mtu;
    int ipoib;
    uint64_t latency;
    bool grh_required;
};

/* A node in the short form is a device and a port at the same time. */
struct raw_node {
    struct raw_port port;
    const char *address, *profile, *control;
    const struct yaml_value *devices, *ports;
    uint64_t disk, sys_image_guid;
};

static const char *const ipoib_modes[] = {"datagram", "connected", "enhanced", NULL};

#define FIELD(name, type, member, min, max)                                                        \
    {                                                                                              \
        name, YAML_TYPE_##type, offsetof(struct raw_node, member), min, max, NULL, NULL, false     \
    }
#define PORT_FIELDS                                                                                \
    FIELD("network", STRING, port.network, 1, 63), FIELD("switch", STRING, port.attach, 1, 63),    \
        FIELD("netdev", STRING, port.netdev, 1, 15), FIELD("mtu", SCALAR, port.mtu, 0, 0),         \
        FIELD("link_mtu", SCALAR, port.link_mtu, 0, 0), FIELD("gids", SEQUENCE, port.gids, 0, 0),  \
        FIELD("rate_mbps", INTEGER, port.rate_mbps, 1, 1600000),                                   \
        FIELD("netdev_mtu", INTEGER, port.netdev_mtu, 256, 65535),                                 \
        FIELD("latency", DURATION, port.latency, 0, 0), FIELD("dcb", MAPPING, port.dcb, 0, 0),     \
        {"ipoib", YAML_TYPE_ENUM, offsetof(struct raw_node, port.ipoib), 0, 0, ipoib_modes,        \
         NULL,    false},                                                                          \
        FIELD("grh_required", BOOLEAN, port.grh_required, 0, 0)
#define DEVICE_FIELDS                                                                              \
    FIELD("profile", STRING, profile, 1, 63), FIELD("sys_image_guid", HEX, sys_image_guid, 1, -1)

static const struct yaml_field port_fields[] = {PORT_FIELDS, {0}};
static const struct yaml_field device_fields[] = {
    DEVICE_FIELDS, PORT_FIELDS, FIELD("ports", SEQUENCE, ports, 0, 0), {0}};
static const struct yaml_field node_fields[] = {DEVICE_FIELDS,
                                                PORT_FIELDS,
                                                FIELD("devices", ANY, devices, 0, 0),
                                                FIELD("address", STRING, address, 7, 15),
                                                FIELD("control", STRING, control, 1, 15),
                                                FIELD("disk", SIZE, disk, 4096, INT64_MAX),
                                                {0}};

static const struct raw_node raw_defaults = {
    .port = {.rate_mbps = CABLE_RATE_MBPS, .latency = CABLE_LATENCY},
    .profile = "mlx5",
};

struct raw_gid {
    int64_t index;
    const char *gid;
    int type;
};

static const char *const gid_types[] = {"ib", "roce_v1", "roce_v2", NULL};
static const struct yaml_field gid_fields[] = {
    {"index", YAML_TYPE_INTEGER, offsetof(struct raw_gid, index), 0, 255, NULL, NULL, false},
    {"gid", YAML_TYPE_STRING, offsetof(struct raw_gid, gid), 2, 45, NULL, NULL, true},
    {"type", YAML_TYPE_ENUM, offsetof(struct raw_gid, type), 0, 0, gid_types, NULL, false},
    {0},
};

static bool read_gids(struct topology_reader *reader, const struct yaml_value *value,
                      struct topology_port *port)
{
    assert(port && port->gid_count == 0);
    port->gid_count = value ? yaml_count(value) : 0;
    port->gids = arena_alloc(reader->arena, port->gid_count, sizeof *port->gids);
    for (size_t i = 0; i < port->gid_count; i++) {
        const struct yaml_value *item = yaml_item(value, i);
        struct raw_gid raw = {.index = -1, .type = FABRIC_GID_TYPE_ROCE_V2};
        if (!yaml_read_fields(item, gid_fields, &raw, reader->errors))
            return false;
        if (!gid_parse(raw.gid, &port->gids[i].gid)) {
            yaml_complain(reader->errors, yaml_mark(yaml_find(item, "gid")),
                          "gid: found '%.60s'; an IPv6 address is expected, such as "
                          "fe80::1 or ::ffff:10.0.0.1",
                          raw.gid);
            return false;
        }
        port->gids[i].anywhere = raw.index < 0;
        port->gids[i].index = raw.index < 0 ? (uint32_t)i : (uint32_t)raw.index;
        port->gids[i].type = (enum fabric_gid_type)raw.type;
    }
    return true;
}

static bool check_switch(struct topology_reader *reader, struct yaml_mark mark,
                         const struct topology_port *port)
{
    const struct topology *t = reader->topology;
    const char **names = arena_alloc(reader->arena, t->switch_count, sizeof *names);
    size_t count = 0;
    assert(port && port->mtu != 0);
    if (!port->attach)
        return true;
    for (size_t i = 0; i < t->switch_count; i++) {
        bool here = port->network && strcmp(t->switches[i].network, port->network) == 0;
        if (here && strcmp(t->switches[i].name, port->attach) == 0)
            return true;
        if (here)
            names[count++] = t->switches[i].name;
    }
    topology_complain_unknown(reader->errors, mark, "switch", port->attach, names, count);
    return false;
}

/* `body` (null: every default) is where the port was written, for the marks. */
static bool make_port(struct topology_reader *reader, const struct raw_port *raw,
                      struct yaml_mark mark, uint8_t number, struct topology_port *port)
{
    const struct topology *t = reader->topology;
    const char *network = raw->network;
    bool single = t->subnet_count + t->ethernet_count == 1;
    assert(raw && number >= 1);
    if (!network && single)
        network = t->subnet_count ? t->subnets[0].name : t->ethernets[0].name;
    if (!network) {
        yaml_complain(reader->errors, mark,
                      "network is missing; there are several (none: nothing is plugged in)");
        return false;
    }
    *port = (struct topology_port){
        .port_num = number,
        .network = strcmp(network, "none") == 0 ? NULL : arena_copy(reader->arena, network),
        .attach = arena_copy(reader->arena, raw->attach),
        .mtu = FABRIC_MTU_4096,
        .rate_mbps = (uint32_t)raw->rate_mbps,
        .latency = raw->latency,
        .grh_required = raw->grh_required,
        .netdev_mtu = (uint32_t)raw->netdev_mtu,
        .ipoib = (enum topology_ipoib)raw->ipoib,
    };
    if (raw->netdev)
        memcpy(port->netdev, raw->netdev, strlen(raw->netdev));
    return (!port->network || topology_check_network(reader, mark, port->network)) &&
           check_switch(reader, mark, port) && topology_read_mtu(reader, raw->mtu, &port->mtu) &&
           topology_read_mtu(reader, raw->link_mtu, &port->link_mtu) &&
           read_gids(reader, raw->gids, port) && topology_read_dcb(reader, raw->dcb, &port->dcb) &&
           topology_check_interface(reader, mark, port);
}

static struct yaml_mark member_mark(const struct yaml_value *body, const char *name,
                                    struct yaml_mark otherwise)
{
    const struct yaml_value *value =
        body && yaml_kind(body) == YAML_KIND_MAPPING ? yaml_find(body, name) : NULL;
    return value ? yaml_mark(value) : otherwise;
}

/* A device whose body is `raw`: the ports it lists, or one port in the short form. */
static bool make_device(struct topology_reader *reader, const struct raw_node *raw,
                        const struct yaml_value *body, struct yaml_mark mark,
                        struct topology_device *device)
{
    assert(raw && raw->profile);
    device->profile = arena_copy(reader->arena, raw->profile);
    device->sys_image_guid = raw->sys_image_guid;
    device->port_count = raw->ports ? yaml_count(raw->ports) : 1;
    device->ports = arena_alloc(reader->arena, device->port_count, sizeof *device->ports);
    if (!raw->ports)
        return make_port(reader, &raw->port, member_mark(body, "network", mark), 1, device->ports);
    if (device->port_count < 1 || device->port_count > 255) {
        yaml_complain(reader->errors, yaml_mark(raw->ports), "ports: 1 to 255 are allowed");
        return false;
    }
    for (size_t i = 0; i < device->port_count; i++) {
        const struct yaml_value *item = yaml_item(raw->ports, i);
        struct raw_node port = *raw;
        if (!yaml_read_fields(item, port_fields, &port, reader->errors) ||
            !make_port(reader, &port.port, member_mark(item, "network", yaml_mark(item)),
                       (uint8_t)(i + 1), &device->ports[i]))
            return false;
    }
    return true;
}

static bool read_devices(struct topology_reader *reader, const struct yaml_value *value,
                         const struct raw_node *defaults, struct topology_node *node)
{
    struct topology_named *named;
    assert(value && defaults);
    if (!topology_read_named(reader, value, "devices", &named, &node->device_count))
        return false;
    node->devices = arena_alloc(reader->arena, node->device_count, sizeof *node->devices);
    for (size_t i = 0; i < node->device_count; i++) {
        struct raw_node raw = *defaults;
        const struct yaml_value *body = named[i].body;
        if (body && yaml_kind(body) == YAML_KIND_SCALAR)
            raw.port.network = yaml_text(body);
        else if (body && !yaml_read_fields(body, device_fields, &raw, reader->errors))
            return false;
        node->devices[i].name = named[i].name;
        if (!make_device(reader, &raw, body, body ? yaml_mark(body) : named[i].mark,
                         &node->devices[i]))
            return false;
    }
    return true;
}

static bool check_address(struct topology_reader *reader, struct yaml_mark mark, size_t position)
{
    struct topology *t = reader->topology;
    const char *address = t->nodes[position].address;
    union fabric_gid mapped;
    char text[64] = "::";
    assert(position < reader->topology->node_count);
    if (!address)
        return true;
    if (!gid_parse(strcat(text, address), &mapped) || strchr(address, ':')) {
        yaml_complain(reader->errors, mark, "address: found '%.60s'; an IPv4 address is expected",
                      address);
        return false;
    }
    for (size_t i = 0; i < position; i++) {
        if (t->nodes[i].address && strcmp(t->nodes[i].address, address) == 0) {
            yaml_complain(reader->errors, mark, "address: found %s again; node '%s' has it",
                          address, t->nodes[i].name);
            return false;
        }
    }
    return true;
}

static bool read_node(struct topology_reader *reader, const struct topology_named *named,
                      size_t position)
{
    struct raw_node raw = raw_defaults;
    struct topology_node *node = &reader->topology->nodes[position];
    assert(named && position < reader->topology->node_count);
    node->name = named->name;
    if (named->body && yaml_kind(named->body) == YAML_KIND_SCALAR)
        raw.port.network = yaml_text(named->body);
    else if (named->body && !yaml_read_fields(named->body, node_fields, &raw, reader->errors))
        return false;
    node->address = arena_copy(reader->arena, raw.address);
    node->control = arena_copy(reader->arena, raw.control);
    node->disk_size = raw.disk;
    if (!check_address(reader, member_mark(named->body, "address", named->mark), position))
        return false;
    if (raw.devices)
        return read_devices(reader, raw.devices, &raw, node);
    node->device_count = 1;
    node->devices = arena_alloc(reader->arena, 1, sizeof *node->devices);
    node->devices[0].name = "mlx5_0";
    return make_device(reader, &raw, named->body,
                       named->body ? yaml_mark(named->body) : named->mark, node->devices);
}

bool topology_read_nodes(struct topology_reader *reader, const struct yaml_value *value)
{
    struct topology_named *named;
    struct topology *t = reader->topology;
    assert(value);
    if (!topology_read_named(reader, value, "nodes", &named, &t->node_count))
        return false;
    if (t->node_count == 0) {
        yaml_complain(reader->errors, yaml_mark(value), "nodes: at least one is expected");
        return false;
    }
    t->nodes = arena_alloc(reader->arena, t->node_count, sizeof *t->nodes);
    for (size_t i = 0; i < t->node_count; i++) {
        if (!read_node(reader, &named[i], i))
            return false;
    }
    return true;
}
