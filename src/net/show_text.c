/* SPDX-License-Identifier: Apache-2.0 */
/* The model as text: first the lines of MK-H1, then the fields of ibstat in its order. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/pkey.h"
#include "src/fabric/planted.h"
#include "src/net/show.h"

static bool is_infiniband(const struct net_port *port)
{
    return port->link_layer == FABRIC_LINK_LAYER_INFINIBAND;
}

/* The digits of a GID, and an IPv4 address behind its mapped form. */
static const char *gid_text(const union fabric_gid *gid, char out[64])
{
    char text[FABRIC_GID_TEXT];
    fabric_gid_format(gid, text);
    if (fabric_gid_family(gid) == FABRIC_GID_IPV4)
        snprintf(out, 64, "%s (%u.%u.%u.%u)", text, gid->raw[12], gid->raw[13], gid->raw[14],
                 gid->raw[15]);
    else
        snprintf(out, 64, "%s", text);
    return out;
}

static void link_layer_line(const struct net_device *device, const struct net_port *port,
                            const struct net_output *out)
{
    static const char key[] = "link layer";
    char text[64];
    if (device->iwarp)
        net_field(out, key, "Ethernet / iWARP");
    else if (port->link_layer == FABRIC_LINK_LAYER_UNSPECIFIED)
        net_field(out, key, "unknown");
    else if (!is_infiniband(port) && port->chosen_gid >= 0)
        net_field(out, key, "Ethernet / RoCE   (GID %s, index %u)",
                  gid_text(&port->gids[port->chosen_gid].entry.gid, text),
                  port->gids[port->chosen_gid].entry.index);
    else if (!is_infiniband(port))
        net_field(out, key, "Ethernet / RoCE   (no usable GID)");
    else if (port->state <= FABRIC_PORT_DOWN)
        net_field(out, key, "InfiniBand   (no LID: the port has no link)");
    else if (!fabric_lid_valid(port->lid) || port->state != FABRIC_PORT_ACTIVE)
        net_field(out, key,
                  "InfiniBand   (no LID: the subnet manager has not configured the port; "
                  "see sminfo)");
    else
        net_field(out, key, "InfiniBand   (LID %u)", port->lid);
}

static void transport_line(const struct net_device *device, const struct net_output *out)
{
    const char *driver = device->driver[0] ? device->driver : "driver unknown";
    if (device->iwarp)
        net_field(out, "transport", "none (%s, iWARP)", driver);
    else
        net_field(out, "transport", "%s (%s)",
                  device->dc   ? "DC + RC"
                  : device->rc ? "RC"
                               : "none",
                  driver);
}

/* MK-D2 */
static void pkey_line(const struct net_port *port, const struct net_output *out)
{
    bool full = fabric_pkey_full(port->pkey) != PLANTED(net_membership_swapped);
    assert(!is_infiniband(port) || port->pkey_error || port->pkey);
    if (!is_infiniband(port))
        net_field(out, "pkey_index", "0   (RoCE has one partition)");
    else if (port->pkey_error)
        net_field(out, "pkey_index", "%u   (%s: %s)", port->pkey_index,
                  error_name(port->pkey_error), port->pkey_detail);
    else
        net_field(out, "pkey_index", "%u   (%s membership)", port->pkey_index,
                  full ? "full" : "limited");
}

static void service_level_line(const struct net_port *port, const struct net_output *out)
{
    if (is_infiniband(port))
        net_field(out, "service_level", "%u   (virtual lane, via the SM's SL-to-VL map)",
                  port->service_level);
    else if (!port->dcb.known || !port->dcb.present)
        net_field(out, "service_level", "%u   (VLAN priority)", port->service_level);
    else if (port->dcb.trusts_dscp)
        net_field(out, "service_level", "%u   (not used: the port trusts DSCP)",
                  port->service_level);
    else
        net_field(out, "service_level", "%u   (VLAN priority, which the port trusts)",
                  port->service_level);
}

static void mtu_line(const struct net_model *model, const struct net_port *port,
                     const struct net_output *out)
{
    uint32_t active = fabric_mtu_bytes(port->active_mtu);
    uint32_t wanted = model->config->mtu ? (uint32_t)model->config->mtu : 4096;
    if (port->mtu && port->mtu < wanted)
        net_field(out, "path MTU", "%u   (the default %u is capped at the active MTU)", port->mtu,
                  wanted);
    else if (port->mtu)
        net_field(out, "path MTU", "%u", port->mtu);
    else if (active && port->state == FABRIC_PORT_ACTIVE)
        net_field(out, "path MTU", "none   (mtu_above_active: %u configured, %u active)", wanted,
                  active);
    else if (port->state != FABRIC_PORT_ACTIVE)
        net_field(out, "path MTU", "unknown   (the port is not ACTIVE)");
    else
        net_field(out, "path MTU",
                  "unknown   (no system file shows the active MTU; ibv_devinfo "
                  "does)");
}

static void verdict_lines(const struct net_port *port, const struct net_output *out)
{
    if (!port->error) {
        net_field(out, "RDMA", "ready");
        return;
    }
    net_field(out, "RDMA", "%s: %s", error_name(port->error), port->detail);
    net_field(out, "what to do", "%s", error_info(port->error)->fix);
}

static void first_lines(const struct net_model *model, const struct net_device *device,
                        const struct net_port *port, const struct net_output *out)
{
    net_field(out, "device", "%s  port %u", device->name, port->port_num);
    link_layer_line(device, port, out);
    transport_line(device, out);
    pkey_line(port, out);
    service_level_line(port, out);
    mtu_line(model, port, out);
    verdict_lines(port, out);
}

static const char *or_unknown(const char *text)
{
    return text[0] ? text : "unknown";
}

static void ibstat_lines(const struct net_device *device, const struct net_port *port,
                         const struct net_output *out)
{
    net_field(out, "CA type", "%s",
              or_unknown(device->hca_type[0] ? device->hca_type : device->board_id));
    net_field(out, "Number of ports", "%u", device->port_count);
    net_field(out, "Firmware version", "%s", or_unknown(device->fw_ver));
    net_field(out, "Hardware version", "%s", or_unknown(device->hw_rev));
    net_field(out, "Node GUID", "0x%016" PRIx64, device->node_guid);
    net_field(out, "System image GUID", "0x%016" PRIx64, device->sys_image_guid);
    net_field(out, "State", "%s", net_state_text(port->state));
    net_field(out, "Physical state", "%s", or_unknown(port->phys_text));
    if (port->rate_detail[0])
        net_field(out, "Rate", "%s   (%s)", port->rate, port->rate_detail);
    else
        net_field(out, "Rate", "%s", or_unknown(port->rate));
    net_field(out, "Base lid", "%u", port->lid);
    net_field(out, "LMC", "%u", port->lmc);
    net_field(out, "SM lid", "%u", port->sm_lid);
    net_field(out, "Capability mask", "0x%08" PRIx32, port->capability_mask);
    net_field(out, "Port GUID", "0x%016" PRIx64, port->port_guid);
    net_field(out, "Link layer", "%s", net_link_layer_text(port->link_layer));
}

static void pkey_table(const struct net_port *port, const struct net_output *out)
{
    char key[24];
    if (!is_infiniband(port))
        return;
    net_field(out, "P_Key table", "%u of %u entries hold a key", port->pkey_count,
              port->pkey_tbl_len);
    for (uint32_t i = 0; i < port->pkey_count; i++) {
        const struct net_pkey *entry = &port->pkeys[i];
        snprintf(key, sizeof(key), "P_Key %u", entry->index);
        bool used = port->pkey && entry->index == port->pkey_index;
        net_field(out, key, "0x%04x   %s membership%s", entry->pkey,
                  fabric_pkey_membership(entry->pkey), used ? ", used" : "");
    }
}

/* MK-D6 */
static void violation_lines(const struct net_port *port, const struct net_output *out)
{
    if (!is_infiniband(port))
        return;
    if (port->violations_known && port->growth_known)
        net_field(out, "P_Key violations", "%u   (grown by %u while watched)", port->violations,
                  PLANTED(net_growth_is_total) ? port->violations : port->growth);
    else if (port->violations_known)
        net_field(out, "P_Key violations", "%u   (--watch 5s shows growth)", port->violations);
    else
        net_field(out, "P_Key violations",
                  "unknown   (no system file shows them; ibv_devinfo -v: "
                  "bad_pkey_cntr)");
    if (port->constraint_errors_known)
        net_field(out, "Constraint errors", "%" PRIu64 "   (port_rcv_constraint_errors)",
                  port->constraint_errors);
}

static void gid_table(const struct net_port *port, const struct net_output *out)
{
    char key[24], text[64];
    assert(port->gid_count <= NET_MAX_GIDS && port->chosen_gid < (int32_t)port->gid_count);
    net_field(out, "GID table", "%u of %u entries hold a GID", port->gid_count, port->gid_tbl_len);
    for (uint32_t i = 0; i < port->gid_count; i++) {
        const struct net_gid *gid = &port->gids[i];
        snprintf(key, sizeof(key), "GID %u", gid->entry.index);
        net_field(out, key, "%s   %s%s%s   %s: %s", gid_text(&gid->entry.gid, text),
                  fabric_gid_type_name(gid->entry.type), gid->entry.netdev[0] ? " " : "",
                  gid->entry.netdev, net_gid_verdict_text(gid->verdict), gid->reason);
    }
}

static void ipoib_lines(const struct net_model *model, const struct net_port *port,
                        const struct net_output *out)
{
    if (!is_infiniband(port))
        return;
    assert(port->ipoib_count <= NET_MAX_INTERFACES);
    for (uint32_t i = 0; i < port->ipoib_count; i++) {
        const struct ipoib_interface *interface = &port->ipoib[i];
        char pkey[24] = "";
        if (interface->pkey)
            snprintf(pkey, sizeof(pkey), "P_Key 0x%04x, ", interface->pkey);
        net_field(out, "IPoIB interface", "%s   (%s mode%s, MTU %u, %s%s)", interface->name,
                  ipoib_mode_name(interface->connected),
                  interface->enhanced ? ", enhanced: no connected mode" : "", interface->mtu, pkey,
                  interface->up ? "up" : "down");
    }
    if (port->ipoib_count == 0)
        net_field(out, "IPoIB interface", "none");
    net_field(out, "IPoIB module", "ib_ipoib %s", ipoib_module_name(model->module));
}

static void priorities(uint8_t bits, char out[32])
{
    size_t used = 0;
    snprintf(out, 32, "none");
    for (unsigned int i = 0; i < 8; i++) {
        if (bits >> i & 1)
            used += (size_t)snprintf(out + used, 32 - used, used ? ",%u" : "%u", i);
    }
}

/* MK-G3 */
static void dcb_lines(const struct net_port *port, const struct net_output *out)
{
    char text[32];
    if (is_infiniband(port) || !port->netdev[0])
        return;
    net_field(out, "Ethernet interface", "%s%s%s", port->netdev,
              strcmp(port->netdev, port->physical) && port->physical[0] ? " over " : "",
              strcmp(port->netdev, port->physical) ? port->physical : "");
    if (!port->dcb.known || !port->dcb.present)
        return;
    priorities(port->dcb.pfc_enabled, text);
    net_field(out, "DCB", "trusts %s; PFC on priority %s",
              port->dcb.trusts_dscp ? "DSCP" : "the VLAN priority", text);
    net_field(out, "traffic_class", "%u", port->traffic_class);
}

static void show_port(const struct net_model *model, const struct net_device *device,
                      const struct net_port *port, const struct net_output *out)
{
    assert(port->port_num && port->note_count <= NET_MAX_NOTES);
    first_lines(model, device, port, out);
    ibstat_lines(device, port, out);
    pkey_table(port, out);
    violation_lines(port, out);
    gid_table(port, out);
    ipoib_lines(model, port, out);
    dcb_lines(port, out);
    for (uint32_t i = 0; i < port->note_count; i++)
        net_field(out, port->notes[i].kind, "%s", port->notes[i].text);
}

void net_show_text(const struct net_model *model, const struct net_output *out)
{
    bool first = true;
    assert(model && out && !model->error);
    for (uint32_t i = 0; i < model->device_count; i++) {
        const struct net_device *device = &model->devices[i];
        for (uint8_t j = 0; j < device->shown; j++) {
            if (!first)
                net_print(out, "\n");
            first = false;
            show_port(model, device, &device->ports[j], out);
        }
        if (device->shown == 0)
            net_field(out, "device", "%s   (no port)", device->name);
    }
    for (uint32_t i = 0; i < model->fault_count && i < NET_MAX_FAULTS; i++)
        net_field(out, "system file", "%s: %s", model->faults[i].path,
                  error_name(model->faults[i].error));
    if (model->fault_count > NET_MAX_FAULTS)
        net_field(out, "system file", "%u more", model->fault_count - NET_MAX_FAULTS);
}
