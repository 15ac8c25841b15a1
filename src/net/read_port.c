/* SPDX-License-Identifier: Apache-2.0 */
/* One port, as Documentation/ABI/stable/sysfs-class-infiniband describes its files. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"
#include "src/net/model.h"

/* "4: ACTIVE" gives 4, and the text behind the colon. */
static bool coded(struct net_reader *r, const char *file, uint64_t most, uint64_t *code, char *text)
{
    char line[SYSFILE_LINE], path[FABRIC_PATH_MAX];
    assert(r->port_num);
    if (!net_line(r, true, file, line))
        return false;
    char *colon = strchr(line, ':');
    if (colon)
        *colon = '\0';
    if (!sysfile_parse(line, most, code)) {
        snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/%s", r->device, r->port_num,
                 file);
        net_fault(r->model, ERR_SYSFILE_INVALID, path);
        return false;
    }
    if (text)
        snprintf(text, SYSFILE_LINE, "%s", colon ? colon + 1 + strspn(colon + 1, " ") : "");
    return true;
}

/* Drivers before the file are InfiniBand only. */
static void read_link_layer(struct net_reader *r, struct net_port *port)
{
    char line[SYSFILE_LINE];
    port->link_layer = FABRIC_LINK_LAYER_UNSPECIFIED;
    if (!net_line(r, true, "link_layer", line))
        return;
    if (strcmp(line, "InfiniBand") == 0)
        port->link_layer = FABRIC_LINK_LAYER_INFINIBAND;
    else if (strcmp(line, "Ethernet") == 0 && !PLANTED(net_link_layer_assumed))
        port->link_layer = FABRIC_LINK_LAYER_ETHERNET;
    else if (PLANTED(net_link_layer_assumed))
        port->link_layer = FABRIC_LINK_LAYER_INFINIBAND;
}

/* "100 Gb/sec (4X EDR)": the number as ibstat prints it, and what it is made of. */
static void read_rate(struct net_reader *r, struct net_port *port)
{
    char line[SYSFILE_LINE];
    if (!net_line(r, true, "rate", line))
        return;
    size_t digits = strspn(line, "0123456789.");
    snprintf(port->rate, sizeof(port->rate), "%.*s", (int)digits, line);
    const char *open = strchr(line, '('), *close = strrchr(line, ')');
    if (open && close && close > open)
        snprintf(port->rate_detail, sizeof(port->rate_detail), "%.*s", (int)(close - open - 1),
                 open + 1);
}

static void read_attributes(struct net_reader *r, struct net_port *port)
{
    uint64_t value;
    if (coded(r, "state", FABRIC_PORT_ACTIVE + 1, &value, NULL)) /* 5: ACTIVE_DEFER */
        port->state =
            value > FABRIC_PORT_ACTIVE ? FABRIC_PORT_ARMED : (enum fabric_port_state)value;
    if (coded(r, "phys_state", 15, &value, port->phys_text))
        port->phys_state = (uint8_t)value;
    read_link_layer(r, port);
    read_rate(r, port);
    bool infiniband = port->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    if (net_number(r, infiniband, "lid", UINT32_MAX, &value))
        port->lid = (uint32_t)value;
    if (net_number(r, infiniband, "sm_lid", UINT32_MAX, &value))
        port->sm_lid = (uint32_t)value;
    if (net_number(r, infiniband, "lid_mask_count", 7, &value))
        port->lmc = (uint8_t)value;
    if (net_number(r, false, "sm_sl", 15, &value))
        port->sm_sl = (uint8_t)value;
    if (net_number(r, false, "cap_mask", UINT32_MAX, &value))
        port->capability_mask = (uint32_t)value;
    port->constraint_errors_known = net_number(r, false, "counters/port_rcv_constraint_errors",
                                               UINT64_MAX, &port->constraint_errors);
}

/* Kernels before 4.5 have no types and RoCE v1 alone. */
static void read_gid_type(struct net_reader *r, const struct net_port *port,
                          struct fabric_gid_entry *entry)
{
    char line[SYSFILE_LINE], file[64];
    bool infiniband = port->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    entry->type = infiniband ? FABRIC_GID_TYPE_IB : FABRIC_GID_TYPE_ROCE_V1;
    if (infiniband)
        return;
    snprintf(file, sizeof(file), "gid_attrs/types/%u", entry->index);
    if (net_line(r, false, file, line) && strcmp(line, "RoCE v2") == 0)
        entry->type = FABRIC_GID_TYPE_ROCE_V2;
    snprintf(file, sizeof(file), "gid_attrs/ndevs/%u", entry->index);
    if (net_line(r, false, file, line) && sysfile_name_ok(line))
        snprintf(entry->netdev, sizeof(entry->netdev), "%.*s", (int)sizeof(entry->netdev) - 1,
                 line);
}

/* Holes are all zero; they do not end the table. */
static bool read_gid(struct net_reader *r, const struct net_port *port,
                     struct fabric_gid_entry *entry)
{
    static const union fabric_gid zero;
    char line[SYSFILE_LINE], file[32], path[FABRIC_PATH_MAX];
    snprintf(file, sizeof(file), "gids/%u", entry->index);
    if (!net_line(r, false, file, line))
        return false;
    if (!fabric_gid_parse(line, &entry->gid)) {
        snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/%s", r->device, r->port_num,
                 file);
        net_fault(r->model, ERR_SYSFILE_INVALID, path);
        return false;
    }
    if (fabric_gid_equal(&entry->gid, &zero))
        return false;
    read_gid_type(r, port, entry);
    return true;
}

static void read_gids(struct net_reader *r, struct net_port *port)
{
    uint32_t indexes[NET_MAX_GIDS], count;
    net_indexes(r, "gids", NET_MAX_GIDS, indexes, NET_MAX_GIDS, &count, &port->gid_tbl_len);
    port->gids = calloc(count ? count : 1, sizeof(*port->gids));
    assert(port->gids && count <= NET_MAX_GIDS);
    for (uint32_t i = 0; i < count; i++) {
        struct fabric_gid_entry entry = {.index = indexes[i]};
        bool there = read_gid(r, port, &entry);
        if (!there && PLANTED(net_hole_ends_table))
            break;
        if (!there)
            continue;
        port->gids[port->gid_count++].entry = entry;
        for (size_t byte = 8; entry.index == 0 && byte < 16; byte++)
            port->port_guid = port->port_guid << 8 | entry.gid.raw[byte];
    }
}

static void read_pkeys(struct net_reader *r, struct net_port *port)
{
    uint32_t indexes[NET_MAX_PKEYS], count;
    uint64_t value;
    char file[32];
    net_indexes(r, "pkeys", UINT16_MAX, indexes, NET_MAX_PKEYS, &count, &port->pkey_tbl_len);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(file, sizeof(file), "pkeys/%u", indexes[i]);
        if (!net_number(r, true, file, UINT16_MAX, &value))
            continue;
        if (fabric_pkey_empty((uint16_t)value))
            continue;
        assert(port->pkey_count < NET_MAX_PKEYS);
        port->pkeys[port->pkey_count++] = (struct net_pkey){indexes[i], (uint16_t)value};
    }
}

void net_read_port(struct net_model *model, const struct net_device *device, struct net_port *port)
{
    assert(model && device && port && port->port_num);
    struct net_reader r = {model, device->name, port->port_num};
    read_attributes(&r, port);
    read_gids(&r, port);
    read_pkeys(&r, port);
}
