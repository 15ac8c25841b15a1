/* SPDX-License-Identifier: Apache-2.0 */
/* Whether RDMA can serve on a port, by the rules that the rails go by. Until a port is ACTIVE its
 * LID, P_Key table and MTU are unknown, not wrong. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"
#include "src/net/model.h"

static void refuse(struct net_port *port, enum fabric_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The first refusal stays. */
static void refuse(struct net_port *port, enum fabric_error error, const char *format, ...)
{
    if (port->error)
        return;
    port->error = error;
    va_list values;
    va_start(values, format);
    vsnprintf(port->detail, sizeof(port->detail), format, values);
    va_end(values);
}

static void judge_device(const struct config_rdma *config, const struct net_device *device,
                         struct net_port *port)
{
    if (device->iwarp)
        refuse(port, ERR_NOT_SUPPORTED, "found an iWARP device; InfiniBand or RoCE is expected");
    else if (config->transport == CONFIG_RDMA_DC && !device->dc && !PLANTED(net_dc_unjudged))
        refuse(port, ERR_DC_UNSUPPORTED,
               "found rdma.transport dc on a device without DC (%s); auto or rc is expected",
               device->driver);
}

static void judge_state(struct net_port *port)
{
    bool infiniband = port->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
    if (port->link_layer == FABRIC_LINK_LAYER_UNSPECIFIED)
        refuse(port, ERR_SYSFILE_INVALID,
               "found no link layer; InfiniBand or Ethernet is expected");
    else if (port->state <= FABRIC_PORT_DOWN || (!infiniband && port->state != FABRIC_PORT_ACTIVE))
        refuse(port, ERR_PORT_DOWN, "found port state %s (%s); ACTIVE is expected",
               fabric_port_state_name(port->state), port->phys_text);
    else if (port->state != FABRIC_PORT_ACTIVE && !PLANTED(net_judged_before_active))
        refuse(port, ERR_WAITING_FOR_SM,
               "found port state %s; the port waits for the subnet manager",
               fabric_port_state_name(port->state));
    else if (infiniband && !fabric_lid_valid(port->lid) && !PLANTED(net_any_lid))
        refuse(port, ERR_NO_LID, "found LID %u; 1 to %u is expected", port->lid, FABRIC_LID_MAX);
}

static const struct net_pkey *entry_at(const struct net_port *port, uint32_t index)
{
    for (uint32_t i = 0; i < port->pkey_count; i++) {
        if (port->pkeys[i].index == index)
            return &port->pkeys[i];
    }
    return NULL;
}

static void pkey_refused(struct net_port *port, enum fabric_error error)
{
    assert(error && port->pkey == 0 && port->pkey_detail[0]);
    port->pkey_error = error;
    refuse(port, error, "%s", port->pkey_detail);
}

/* MK-D3: the entry at the configured index. */
static void pkey_by_index(const struct config_rdma *config, struct net_port *port)
{
    assert(config->pkey_index >= 0 && config->pkey_index <= UINT16_MAX);
    uint32_t index = (uint32_t)config->pkey_index;
    const struct net_pkey *entry = entry_at(port, index);
    port->pkey_index = index;
    if (entry) {
        port->pkey = entry->pkey;
        return;
    }
    bool past = index >= port->pkey_tbl_len && !PLANTED(net_pkey_range_is_empty);
    if (past)
        snprintf(port->pkey_detail, sizeof(port->pkey_detail),
                 "found pkey_index %u; the table has %u entries", index, port->pkey_tbl_len);
    else
        snprintf(port->pkey_detail, sizeof(port->pkey_detail),
                 "found an empty entry at pkey_index %u; one with a partition is expected", index);
    pkey_refused(port, past ? ERR_PKEY_INDEX_RANGE : ERR_PKEY_EMPTY);
}

/* MK-D5: by value, a full entry before a limited one. */
static void pkey_by_value(const struct config_rdma *config, struct net_port *port)
{
    uint16_t table[NET_MAX_PKEYS], position, wanted = (uint16_t)config->pkey;
    for (uint32_t i = 0; i < port->pkey_count; i++)
        table[i] = port->pkeys[i].pkey;
    if (fabric_pkey_find(table, port->pkey_count, wanted, &position)) {
        assert(position < port->pkey_count);
        port->pkey_index = port->pkeys[position].index;
        port->pkey = table[position];
        return;
    }
    snprintf(port->pkey_detail, sizeof(port->pkey_detail),
             "found no P_Key 0x%04x in the table of %u entries", wanted, port->pkey_tbl_len);
    pkey_refused(port, ERR_PKEY_NOT_FOUND);
}

static void judge_pkey(const struct config_rdma *config, struct net_port *port)
{
    if (port->link_layer != FABRIC_LINK_LAYER_INFINIBAND) {
        port->pkey = 0xffff; /* RoCE has one partition, at index 0 (MK-D1) */
        return;
    }
    if (port->state != FABRIC_PORT_ACTIVE && !PLANTED(net_judged_before_active)) {
        port->pkey_error = ERR_WAITING_FOR_SM;
        snprintf(port->pkey_detail, sizeof(port->pkey_detail),
                 "unknown before the subnet manager has made the port ACTIVE");
        return;
    }
    if (config->pkey)
        pkey_by_value(config, port);
    else
        pkey_by_index(config, port);
}

static void judge_mtu(const struct config_rdma *config, struct net_port *port)
{
    uint32_t active = fabric_mtu_bytes(port->active_mtu);
    uint32_t wanted = config->mtu ? (uint32_t)config->mtu : 4096;
    if (active == 0 || port->state != FABRIC_PORT_ACTIVE)
        return;
    port->mtu = wanted < active ? wanted : active;
    if (config->mtu && wanted > active && !PLANTED(net_mtu_unchecked)) {
        port->mtu = 0;
        refuse(port, ERR_MTU_ABOVE_ACTIVE, "found mtu %u configured; the port's active MTU is %u",
               wanted, active);
    }
}

void net_judge(const struct net_model *model, const struct net_device *device,
               struct net_port *port)
{
    assert(model && model->config && device && port);
    assert(port->error == FABRIC_OK && port->note_count == 0);
    judge_device(model->config, device, port);
    judge_state(port);
    judge_pkey(model->config, port);
    judge_mtu(model->config, port);
    if (port->chosen_gid < 0 && !PLANTED(net_gid_none_unjudged))
        refuse(port, ERR_GID_NONE, "found %u entries in the GID table, none usable",
               port->gid_count);
}
