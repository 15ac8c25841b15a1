/* SPDX-License-Identifier: Apache-2.0 */
/* What the configured values mean on a port's fabric (MK-G1 to G3), and advice. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"
#include "src/net/model.h"

void net_note(struct net_port *port, const char *kind, const char *format, ...)
{
    assert(port && kind && format);
    if (port->note_count == NET_MAX_NOTES)
        return;
    struct net_note *note = &port->notes[port->note_count++];
    note->kind = kind;
    va_list values;
    va_start(values, format);
    vsnprintf(note->text, sizeof(note->text), format, values);
    va_end(values);
}

static void infiniband_settings(const struct config_rdma *c, struct net_port *port)
{
    if (c->gid_index >= 0 && !port->grh_required)
        net_note(port, "ignored",
                 "gid_index %d: InfiniBand addresses by LID, this port needs no GRH",
                 (int)c->gid_index);
    if (c->traffic_class >= 0 && !PLANTED(net_ignored_unsaid))
        net_note(port, "ignored", "traffic_class %d: InfiniBand has service levels instead",
                 (int)c->traffic_class);
    net_note(port, "ignored", "DCB detection: InfiniBand has no DCB");
    if (c->service_level > 0 && !PLANTED(net_service_level_unsaid))
        net_note(
            port, "notice",
            "service_level %d selects a virtual lane by the SM's SL-to-VL map; a value carried "
            "over from RoCE is usually a mistake",
            (int)c->service_level);
    if (port->pkey && !fabric_pkey_full(port->pkey))
        net_note(port, "notice",
                 "limited membership: this port reaches full members of partition 0x%04x alone; "
                 "two limited members are refused as pkey_limited_pair",
                 port->pkey & FABRIC_PKEY_PARTITION);
    if (c->pkey && fabric_pkey_full((uint16_t)c->pkey) && port->pkey &&
        !fabric_pkey_full(port->pkey))
        net_note(port, "notice", "pkey 0x%04x asks for full membership, found 0x%04x (limited)",
                 (unsigned int)c->pkey, port->pkey);
}

static void waiting(const struct net_device *device, struct net_port *port)
{
    if (port->error == ERR_WAITING_FOR_SM || port->error == ERR_NO_LID)
        net_note(port, "advice",
                 "no subnet manager has configured this port: sminfo shows whether one answers, "
                 "opensm or a managed switch provides it; memkv waits and reads the LID again");
    else if (port->error == ERR_PORT_DOWN)
        net_note(port, "advice", "cable, far end and port: ibstat %s, iblinkinfo, ip link",
                 device->name);
}

/* MK-L1, L2 of what belongs to the port. */
static void ipoib(const struct net_model *model, struct net_port *port)
{
    char text[IPOIB_ADVICE];
    if (port->ipoib_count == 0 && model->module == IPOIB_MODULE_MISSING)
        net_note(port, "advice",
                 "the module ib_ipoib is not loaded, so there is no IPoIB interface: "
                 "modprobe ib_ipoib");
    for (uint32_t i = 0; i < port->ipoib_count; i++) {
        if (ipoib_advice(&port->ipoib[i], text) && !PLANTED(net_ipoib_advice_unsaid))
            net_note(port, "advice", "%s", text);
    }
}

static bool has_pfc(const struct fabric_dcb *dcb)
{
    return dcb->known && dcb->present && dcb->pfc_enabled;
}

/* MK-G2, G3: what decides the priority of RoCE traffic, and whether it is a lossless one. */
static void roce_traffic(const struct config_rdma *c, struct net_port *port)
{
    const struct fabric_dcb *dcb = &port->dcb;
    port->lossless = rail_dcb_choose(dcb);
    port->traffic_class =
        c->traffic_class >= 0 ? (uint8_t)c->traffic_class : port->lossless.traffic_class;
    port->service_level =
        c->service_level_set ? (uint8_t)c->service_level : port->lossless.service_level;
    if (!dcb->known || !dcb->present) {
        net_note(port, "notice", "DCB: %s; whether a priority is lossless is unknown",
                 dcb->known ? "this interface has none" : "the system does not say");
        return;
    }
    if (!has_pfc(dcb))
        net_note(port, "advice",
                 "no priority has PFC: RoCE drops packets under load unless the "
                 "switches are lossless (mlnx_qos -i %s --pfc 0,0,0,1,0,0,0,0)",
                 port->physical[0] ? port->physical : port->netdev);
    struct rail_dcb_choice used =
        rail_dcb_configured(dcb, port->traffic_class, port->service_level);
    if (dcb->trusts_dscp)
        net_note(port, "notice",
                 "the port trusts DSCP: traffic_class %u (DSCP %u) gives priority %u, %s; "
                 "service_level decides nothing",
                 port->traffic_class, port->traffic_class >> 2, used.priority,
                 used.lossless ? "lossless" : "not lossless");
    else
        net_note(port, "notice",
                 "the port trusts the VLAN priority: service_level %u is the priority, %s; "
                 "traffic_class decides nothing",
                 port->service_level, used.lossless ? "lossless" : "not lossless");
    if (has_pfc(dcb) && !used.lossless && !PLANTED(net_lossy_unsaid))
        net_note(port, "advice", "the lossless priority is %u: %s %u", port->lossless.priority,
                 dcb->trusts_dscp ? "traffic_class" : "service_level",
                 dcb->trusts_dscp ? port->lossless.traffic_class : port->lossless.service_level);
}

/* MK-H1: an adapter that can do both is turned by its firmware. */
static void link_type(const struct net_device *device, struct net_port *port)
{
    if (strcmp(device->driver, "mlx5") != 0 && strcmp(device->driver, "mlx4") != 0)
        return;
    net_note(port, "advice",
             "if InfiniBand was expected: mlxconfig -d %s set LINK_TYPE_P%u=1, then reboot; an "
             "adapter that is Ethernet alone refuses",
             device->function[0] ? device->function : device->name, port->port_num);
}

static void roce_settings(const struct net_device *device, const struct config_rdma *c,
                          struct net_port *port)
{
    if (c->pkey_index_set && !PLANTED(net_ignored_unsaid))
        net_note(port, "ignored", "pkey_index %d: RoCE has one partition, at index 0",
                 (int)c->pkey_index);
    if (c->pkey)
        net_note(port, "ignored", "pkey 0x%04x: RoCE has one partition, at index 0",
                 (unsigned int)c->pkey);
    roce_traffic(c, port);
    link_type(device, port);
}

void net_judge_settings(const struct net_model *model, const struct net_device *device,
                        struct net_port *port)
{
    assert(model && model->config && device && port);
    const struct config_rdma *c = model->config;
    port->service_level = (uint8_t)c->service_level;
    port->traffic_class = c->traffic_class >= 0 ? (uint8_t)c->traffic_class : 0;
    if (port->link_layer == FABRIC_LINK_LAYER_INFINIBAND) {
        infiniband_settings(c, port);
        waiting(device, port);
        ipoib(model, port);
    } else if (port->link_layer == FABRIC_LINK_LAYER_ETHERNET && !device->iwarp) {
        waiting(device, port);
        roce_settings(device, c, port);
    }
}
