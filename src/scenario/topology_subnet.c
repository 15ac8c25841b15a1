/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/scenario/topology_reader.h"

struct raw_subnet {
    uint64_t prefix;
    int64_t lmc, first_lid;
    const struct yaml_value *partitions, *sms, *sl_to_vl, *group_mtu;
};

static const struct yaml_field subnet_fields[] = {
    {"prefix", YAML_TYPE_HEX, offsetof(struct raw_subnet, prefix), 0, 0, NULL, NULL, false},
    {"lmc", YAML_TYPE_INTEGER, offsetof(struct raw_subnet, lmc), 0, 7, NULL, NULL, false},
    {"first_lid", YAML_TYPE_INTEGER, offsetof(struct raw_subnet, first_lid), 1, 0xbfff, NULL, NULL,
     false},
    {"partitions", YAML_TYPE_SEQUENCE, offsetof(struct raw_subnet, partitions), 0, 0, NULL, NULL,
     false},
    {"group_mtu", YAML_TYPE_SCALAR, offsetof(struct raw_subnet, group_mtu), 0, 0, NULL, NULL,
     false},
    {"sms", YAML_TYPE_ANY, offsetof(struct raw_subnet, sms), 0, 0, NULL, NULL, false},
    {"sl_to_vl", YAML_TYPE_SEQUENCE, offsetof(struct raw_subnet, sl_to_vl), 0, 0, NULL, NULL,
     false},
    {0},
};

struct raw_sm {
    int64_t priority;
    const struct yaml_value *start;
    uint64_t response_delay;
};

static const struct yaml_field sm_fields[] = {
    {"priority", YAML_TYPE_INTEGER, offsetof(struct raw_sm, priority), 0, 15, NULL, NULL, false},
    {"start", YAML_TYPE_SCALAR, offsetof(struct raw_sm, start), 0, 0, NULL, NULL, false},
    {"response_delay", YAML_TYPE_DURATION, offsetof(struct raw_sm, response_delay), 0, 0, NULL,
     NULL, false},
    {0},
};

static bool read_sms(struct topology_reader *reader, const struct yaml_value *value,
                     struct topology_subnet *subnet)
{
    struct topology_named *named;
    assert(subnet && subnet->sm_count == 0);
    if (!topology_read_named(reader, value, "sms", &named, &subnet->sm_count))
        return false;
    subnet->sms = arena_alloc(reader->arena, subnet->sm_count, sizeof *subnet->sms);
    for (size_t i = 0; i < subnet->sm_count; i++) {
        struct raw_sm raw = {.priority = 1};
        struct topology_sm *sm = &subnet->sms[i];
        if (named[i].body && !yaml_read_fields(named[i].body, sm_fields, &raw, reader->errors))
            return false;
        *sm = (struct topology_sm){named[i].name, (uint8_t)raw.priority, 0, raw.response_delay};
        if (raw.start && strcmp(yaml_text(raw.start), "never") == 0)
            sm->start = FABRIC_FOREVER;
        else if (raw.start && !yaml_read_duration(raw.start, "start (or never)", 0,
                                                  FABRIC_FOREVER - 1, &sm->start, reader->errors))
            return false;
    }
    return true;
}

static bool read_sl_to_vl(struct topology_reader *reader, const struct yaml_value *value,
                          struct topology_subnet *subnet)
{
    assert(subnet && !subnet->has_sl_to_vl);
    if (!value)
        return true;
    if (yaml_count(value) != 16) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "sl_to_vl: found %zu entries; 16 are expected", yaml_count(value));
        return false;
    }
    subnet->has_sl_to_vl = true;
    for (size_t i = 0; i < 16; i++) {
        int64_t lane;
        if (!yaml_read_integer(yaml_item(value, i), "sl_to_vl", 0, 15, &lane, reader->errors))
            return false;
        subnet->sl_to_vl[i] = (uint8_t)lane;
    }
    return true;
}

bool topology_read_subnets(struct topology_reader *reader, const struct yaml_value *value)
{
    struct topology_named *named;
    struct topology *t = reader->topology;
    assert(reader->topology->subnet_count == 0);
    if (!topology_read_named(reader, value, "subnets", &named, &t->subnet_count))
        return false;
    t->subnets = arena_alloc(reader->arena, t->subnet_count, sizeof *t->subnets);
    for (size_t i = 0; i < t->subnet_count; i++) {
        struct raw_subnet raw = {.prefix = 0xfe80000000000000, .first_lid = 1};
        struct topology_subnet *subnet = &t->subnets[i];
        if (named[i].body && !yaml_read_fields(named[i].body, subnet_fields, &raw, reader->errors))
            return false;
        subnet->name = named[i].name;
        subnet->prefix = raw.prefix;
        subnet->lmc = (uint8_t)raw.lmc;
        subnet->first_lid = (uint16_t)raw.first_lid;
        subnet->group_mtu = FABRIC_MTU_2048;
        if (!topology_read_mtu(reader, raw.group_mtu, &subnet->group_mtu))
            return false;
        if (!read_sms(reader, raw.sms, subnet) || !read_sl_to_vl(reader, raw.sl_to_vl, subnet))
            return false;
    }
    return true;
}

struct raw_partition {
    uint64_t pkey;
    int64_t index;
    const struct yaml_value *full, *limited;
};

static const struct yaml_field partition_fields[] = {
    {"pkey", YAML_TYPE_HEX, offsetof(struct raw_partition, pkey), 1, 0x7fff, NULL, NULL, true},
    {"index", YAML_TYPE_INTEGER, offsetof(struct raw_partition, index), 0, 127, NULL, NULL, false},
    {"full", YAML_TYPE_SEQUENCE, offsetof(struct raw_partition, full), 0, 0, NULL, NULL, false},
    {"limited", YAML_TYPE_SEQUENCE, offsetof(struct raw_partition, limited), 0, 0, NULL, NULL,
     false},
    {0},
};

/* "NODE", "NODE/DEVICE" or "NODE/DEVICE/PORT", or ALL. */
static bool check_member(struct topology_reader *reader, const struct yaml_value *value)
{
    const struct topology *t = reader->topology;
    char name[3][FABRIC_NAME_MAX] = {{0}};
    const char *text = yaml_text(value);
    assert(value && reader->topology->node_count > 0);
    if (strcmp(text, "ALL") == 0)
        return true;
    for (size_t part = 0; part < 3 && text; part++) {
        size_t length = strcspn(text, "/");
        memcpy(name[part], text, length < FABRIC_NAME_MAX ? length : FABRIC_NAME_MAX - 1);
        text = text[length] ? text + length + 1 : NULL;
    }
    const struct topology_node *node = topology_node_find(t, name[0]);
    if (!node) {
        topology_complain_unknown(reader->errors, yaml_mark(value), "member", name[0],
                                  topology_node_names(t, reader->arena), t->node_count);
        return false;
    }
    const struct topology_device *device = topology_device_find(node, name[1]);
    unsigned long port = strtoul(name[2], NULL, 10);
    if ((name[1][0] && !device) || (name[2][0] && (port < 1 || port > device->port_count))) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "member: found '%.120s', which node '%s' does not have; NODE/DEVICE/PORT is "
                      "expected",
                      yaml_text(value), node->name);
        return false;
    }
    return true;
}

static bool read_members(struct topology_reader *reader, const struct yaml_value *value, bool full,
                         struct topology_partition *partition)
{
    assert(partition->members);
    for (size_t i = 0; value && i < yaml_count(value); i++) {
        const char *text;
        if (!yaml_read_string(yaml_item(value, i), "member", 1, 190, &text, reader->errors) ||
            !check_member(reader, yaml_item(value, i)))
            return false;
        partition->members[partition->member_count++] =
            (struct topology_member){arena_copy(reader->arena, text), full};
    }
    return true;
}

static bool read_partition(struct topology_reader *reader, const struct yaml_value *value,
                           struct topology_partition *partition)
{
    struct raw_partition raw = {.index = -1};
    assert(value && partition);
    if (!yaml_read_fields(value, partition_fields, &raw, reader->errors))
        return false;
    size_t count =
        (raw.full ? yaml_count(raw.full) : 0) + (raw.limited ? yaml_count(raw.limited) : 0);
    if (count == 0) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "partition 0x%04x has no member; full: [...] or limited: [...] is expected",
                      (unsigned)raw.pkey);
        return false;
    }
    partition->pkey = (uint16_t)raw.pkey;
    partition->index = (int)raw.index;
    partition->members = arena_alloc(reader->arena, count, sizeof *partition->members);
    return read_members(reader, raw.full, true, partition) &&
           read_members(reader, raw.limited, false, partition);
}

bool topology_read_partitions(struct topology_reader *reader, const struct yaml_value *value)
{
    struct topology *t = reader->topology;
    if (!value || yaml_kind(value) != YAML_KIND_MAPPING)
        return true;
    assert(yaml_count(value) == t->subnet_count);
    for (size_t i = 0; i < t->subnet_count; i++) {
        const struct yaml_value *list = yaml_find(yaml_item(value, i), "partitions");
        struct topology_subnet *subnet = &t->subnets[i];
        if (!list)
            continue;
        subnet->partition_count = yaml_count(list);
        subnet->partitions =
            arena_alloc(reader->arena, subnet->partition_count, sizeof *subnet->partitions);
        for (size_t j = 0; j < subnet->partition_count; j++) {
            if (!read_partition(reader, yaml_item(list, j), &subnet->partitions[j]))
                return false;
        }
    }
    return true;
}
