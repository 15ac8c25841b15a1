/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/topology_read.h"

#include <assert.h>
#include <string.h>

#include "src/config/options.h"
#include "src/scenario/topology_reader.h"

#define CABLE_RATE_MBPS 100000
#define CABLE_LATENCY 100 /* ns */
#define SWITCH_PORTS 36

struct raw_topology {
    const struct yaml_value *subnets, *ethernets, *switches, *links, *nodes;
};

#define ANY(name, required)                                                                        \
    {                                                                                              \
#name, YAML_TYPE_ANY, offsetof(struct raw_topology, name), 0, 0, NULL, NULL, required      \
    }
static const struct yaml_field topology_fields[] = {
    ANY(subnets, false), ANY(ethernets, false), ANY(switches, false),
    ANY(links, false),   ANY(nodes, true),      {0},
};
#undef ANY

static bool read_one_name(struct topology_reader *reader, const struct yaml_value *name,
                          const char *what, struct topology_named *out)
{
    const char *text;
    assert(reader && name && out);
    if (!yaml_read_string(name, what, 1, FABRIC_NAME_MAX - 1, &text, reader->errors))
        return false;
    if (strpbrk(text, "/, \t")) {
        yaml_complain(reader->errors, yaml_mark(name),
                      "%s: found '%.60s'; a name without '/', ',' or blanks is expected", what,
                      text);
        return false;
    }
    out->name = arena_copy(reader->arena, text);
    out->mark = yaml_mark(name);
    return true;
}

bool topology_read_named(struct topology_reader *reader, const struct yaml_value *value,
                         const char *what, struct topology_named **out, size_t *count)
{
    assert(reader && what && out && count);
    *count = value ? yaml_count(value) : 0;
    *out = arena_alloc(reader->arena, *count, sizeof **out);
    if (!value)
        return true;
    if (yaml_kind(value) == YAML_KIND_SCALAR) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "%s: found '%.60s'; a list of names or a mapping from names is expected",
                      what, yaml_text(value));
        return false;
    }
    bool mapping = yaml_kind(value) == YAML_KIND_MAPPING, clean = true;
    for (size_t i = 0; i < *count; i++) {
        struct topology_named *one = &(*out)[i];
        const struct yaml_value *name = mapping ? yaml_key(value, i) : yaml_item(value, i);
        if (!read_one_name(reader, name, what, one))
            return false;
        one->body = mapping ? yaml_item(value, i) : NULL;
        for (size_t j = 0; j < i; j++) {
            if (strcmp((*out)[j].name, one->name) == 0) {
                yaml_complain(reader->errors, one->mark,
                              "%s: found '%s' again; it stands at line %u already", what, one->name,
                              (*out)[j].mark.line);
                clean = false;
            }
        }
    }
    return clean;
}

bool topology_read_mtu(struct topology_reader *reader, const struct yaml_value *value,
                       enum fabric_mtu *out)
{
    int64_t bytes;
    assert(reader && out);
    if (!value)
        return true;
    if (!config_read_mtu(value, &bytes, reader->errors))
        return false;
    *out = fabric_mtu_code((uint32_t)bytes);
    assert(*out != 0);
    return true;
}

bool topology_check_network(struct topology_reader *reader, struct yaml_mark mark, const char *name)
{
    const struct topology *t = reader->topology;
    assert(name && reader->topology);
    if (topology_has_network(t, name))
        return true;
    const char **names =
        arena_alloc(reader->arena, t->subnet_count + t->ethernet_count, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < t->subnet_count; i++)
        names[count++] = t->subnets[i].name;
    for (size_t i = 0; i < t->ethernet_count; i++)
        names[count++] = t->ethernets[i].name;
    topology_complain_unknown(reader->errors, mark, "network", name, names, count);
    return false;
}

static bool read_ethernets(struct topology_reader *reader, const struct yaml_value *value)
{
    struct topology_named *named;
    struct topology *t = reader->topology;
    assert(reader->topology->ethernet_count == 0);
    if (!topology_read_named(reader, value, "ethernets", &named, &t->ethernet_count))
        return false;
    t->ethernets = arena_alloc(reader->arena, t->ethernet_count, sizeof *t->ethernets);
    for (size_t i = 0; i < t->ethernet_count; i++) {
        if (named[i].body) {
            yaml_complain(reader->errors, yaml_mark(named[i].body),
                          "ethernets: found settings of '%s'; a list of names is expected",
                          named[i].name);
            return false;
        }
        t->ethernets[i].name = named[i].name;
    }
    return true;
}

struct raw_switch {
    const char *network;
    int64_t ports;
    const struct yaml_value *mtu;
};

static const struct yaml_field switch_fields[] = {
    {"network", YAML_TYPE_STRING, offsetof(struct raw_switch, network), 1, 63, NULL, NULL, false},
    {"ports", YAML_TYPE_INTEGER, offsetof(struct raw_switch, ports), 1, 254, NULL, NULL, false},
    {"mtu", YAML_TYPE_SCALAR, offsetof(struct raw_switch, mtu), 0, 0, NULL, NULL, false},
    {0},
};

/* The only network there is, for those who name none; null when there are several. */
static const char *only_network(const struct topology *t)
{
    assert(t);
    if (t->subnet_count + t->ethernet_count != 1)
        return NULL;
    return t->subnet_count ? t->subnets[0].name : t->ethernets[0].name;
}

static bool read_switches(struct topology_reader *reader, const struct yaml_value *value)
{
    struct topology_named *named;
    struct topology *t = reader->topology;
    assert(reader->topology->switch_count == 0);
    if (!topology_read_named(reader, value, "switches", &named, &t->switch_count))
        return false;
    t->switches = arena_alloc(reader->arena, t->switch_count, sizeof *t->switches);
    for (size_t i = 0; i < t->switch_count; i++) {
        struct raw_switch raw = {.network = only_network(t), .ports = SWITCH_PORTS};
        struct topology_switch *one = &t->switches[i];
        if (named[i].body && !yaml_read_fields(named[i].body, switch_fields, &raw, reader->errors))
            return false;
        if (!raw.network) {
            yaml_complain(reader->errors, named[i].mark,
                          "switch '%s' names no network; there are several", named[i].name);
            return false;
        }
        *one = (struct topology_switch){named[i].name, arena_copy(reader->arena, raw.network),
                                        (uint8_t)raw.ports, FABRIC_MTU_4096};
        if (!topology_check_network(reader, named[i].mark, raw.network) ||
            !topology_read_mtu(reader, raw.mtu, &one->mtu))
            return false;
    }
    return true;
}

struct raw_link {
    const struct yaml_value *between, *ports, *mtu;
    int64_t rate_mbps;
    uint64_t latency;
};

static const struct yaml_field link_fields[] = {
    {"between", YAML_TYPE_SEQUENCE, offsetof(struct raw_link, between), 0, 0, NULL, NULL, true},
    {"ports", YAML_TYPE_SEQUENCE, offsetof(struct raw_link, ports), 0, 0, NULL, NULL, false},
    {"mtu", YAML_TYPE_SCALAR, offsetof(struct raw_link, mtu), 0, 0, NULL, NULL, false},
    {"rate_mbps", YAML_TYPE_INTEGER, offsetof(struct raw_link, rate_mbps), 1, 1600000, NULL, NULL,
     false},
    {"latency", YAML_TYPE_DURATION, offsetof(struct raw_link, latency), 0, 0, NULL, NULL, false},
    {0},
};

static bool read_link_end(struct topology_reader *reader, const struct raw_link *raw, size_t end,
                          const char **name, uint8_t *port)
{
    struct topology *t = reader->topology;
    const struct yaml_value *value = yaml_item(raw->between, end);
    assert(end < yaml_count(raw->between));
    if (!yaml_read_string(value, "between", 1, FABRIC_NAME_MAX - 1, name, reader->errors))
        return false;
    const char **names = arena_alloc(reader->arena, t->switch_count, sizeof *names);
    bool known = false;
    for (size_t i = 0; i < t->switch_count; i++) {
        names[i] = t->switches[i].name;
        known = known || strcmp(names[i], *name) == 0;
    }
    if (!known) {
        topology_complain_unknown(reader->errors, yaml_mark(value), "between", *name, names,
                                  t->switch_count);
        return false;
    }
    *name = arena_copy(reader->arena, *name);
    int64_t number = 0;
    if (raw->ports &&
        !yaml_read_integer(yaml_item(raw->ports, end), "ports", 1, 254, &number, reader->errors))
        return false;
    *port = (uint8_t)number;
    return true;
}

static bool read_link(struct topology_reader *reader, const struct yaml_value *value,
                      struct topology_link *link)
{
    struct raw_link raw = {.rate_mbps = CABLE_RATE_MBPS, .latency = CABLE_LATENCY};
    assert(value && link);
    if (!yaml_read_fields(value, link_fields, &raw, reader->errors))
        return false;
    if (yaml_count(raw.between) != 2 || (raw.ports && yaml_count(raw.ports) != 2)) {
        yaml_complain(reader->errors, yaml_mark(value), "a link joins two switches: [A, B]");
        return false;
    }
    link->mtu = FABRIC_MTU_4096;
    link->rate_mbps = (uint32_t)raw.rate_mbps;
    link->latency = raw.latency;
    return read_link_end(reader, &raw, 0, &link->a, &link->a_port) &&
           read_link_end(reader, &raw, 1, &link->b, &link->b_port) &&
           topology_read_mtu(reader, raw.mtu, &link->mtu);
}

static bool read_links(struct topology_reader *reader, const struct yaml_value *value)
{
    struct topology *t = reader->topology;
    assert(reader->topology->link_count == 0);
    if (!value)
        return true;
    if (yaml_kind(value) != YAML_KIND_SEQUENCE) {
        yaml_complain(reader->errors, yaml_mark(value), "links: found %s; a list is expected",
                      yaml_kind_name(yaml_kind(value)));
        return false;
    }
    t->link_count = yaml_count(value);
    t->links = arena_alloc(reader->arena, t->link_count, sizeof *t->links);
    for (size_t i = 0; i < t->link_count; i++) {
        if (!read_link(reader, yaml_item(value, i), &t->links[i]))
            return false;
    }
    return true;
}

/* A topology without any network has one subnet with every default. */
static void imply_subnet(struct topology_reader *reader)
{
    struct topology *t = reader->topology;
    if (t->subnet_count + t->ethernet_count > 0)
        return;
    t->subnets = arena_alloc(reader->arena, 1, sizeof *t->subnets);
    t->subnet_count = 1;
    t->subnets[0] = (struct topology_subnet){.name = "ib",
                                             .implied = true,
                                             .prefix = 0xfe80000000000000,
                                             .first_lid = 1,
                                             .group_mtu = FABRIC_MTU_2048};
}

struct topology *topology_read(const struct yaml_value *value, struct arena *arena,
                               struct yaml_errors *errors)
{
    assert(value && arena && errors);
    struct raw_topology raw = {0};
    struct topology_reader reader = {arena, errors, arena_alloc(arena, 1, sizeof(struct topology))};
    if (!yaml_read_fields(value, topology_fields, &raw, errors))
        return NULL;
    if (!topology_read_subnets(&reader, raw.subnets) || !read_ethernets(&reader, raw.ethernets))
        return NULL;
    imply_subnet(&reader);
    if (!read_switches(&reader, raw.switches) || !read_links(&reader, raw.links) ||
        !topology_read_nodes(&reader, raw.nodes) || !topology_read_partitions(&reader, raw.subnets))
        return NULL;
    assert(errors->count == 0);
    return reader.topology;
}
