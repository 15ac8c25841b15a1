/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/topology_write.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/planted.h"

#define DSCPS 64
#define PRIORITIES 8

/* Names may be anything that a scenario wrote in quotes. */
static void add_string(struct text *out, const char *string)
{
    text_add(out, "\"");
    for (const char *c = string; *c; c++) {
        if (*c > 0 && *c < ' ')
            text_add(out, "\\x%02x", (unsigned)*c);
        else
            text_add(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    }
    text_add(out, "\"");
}

static void add_member(struct text *out, const char *name, const char *string)
{
    assert(name && string);
    text_add(out, ", %s: ", name);
    add_string(out, string);
}

static void add_mtu(struct text *out, const char *name, enum fabric_mtu mtu)
{
    if (mtu)
        text_add(out, ", %s: %u", name, fabric_mtu_bytes(mtu));
}

/* ------------------------------------------------------------------ networks */

static void write_members(const struct topology_partition *partition, bool full, struct text *out)
{
    size_t count = 0;
    for (size_t i = 0; i < partition->member_count; i++) {
        bool is_full = partition->members[i].full || PLANTED(scenario_limited_written_full);
        if (is_full != full)
            continue;
        text_add(out, count++ ? ", " : full ? ", full: [" : ", limited: [");
        add_string(out, partition->members[i].node);
    }
    if (count)
        text_add(out, "]");
}

static void write_partitions(const struct topology_subnet *subnet, struct text *out)
{
    if (!subnet->partition_count)
        return;
    text_add(out, ", partitions: [");
    for (size_t i = 0; i < subnet->partition_count; i++) {
        const struct topology_partition *partition = &subnet->partitions[i];
        text_add(out, "%s{pkey: 0x%04x", i ? ", " : "", partition->pkey);
        if (partition->index >= 0)
            text_add(out, ", index: %d", partition->index);
        write_members(partition, true, out);
        write_members(partition, false, out);
        text_add(out, "}");
    }
    text_add(out, "]");
}

static void write_sms(const struct topology_subnet *subnet, struct text *out)
{
    if (!subnet->sm_count)
        return;
    text_add(out, ", sms: {");
    for (size_t i = 0; i < subnet->sm_count; i++) {
        const struct topology_sm *sm = &subnet->sms[i];
        text_add(out, "%s", i ? ", " : "");
        add_string(out, sm->name);
        text_add(out, ": {priority: %u, response_delay: %" PRIu64 " ns, start: ", sm->priority,
                 sm->response_delay);
        if (sm->start == FABRIC_FOREVER)
            text_add(out, "never}");
        else
            text_add(out, "%" PRIu64 " ns}", sm->start);
    }
    text_add(out, "}");
}

static void write_subnet(const struct topology_subnet *subnet, struct text *out)
{
    assert(subnet->name && subnet->group_mtu);
    text_add(out, "  ");
    add_string(out, subnet->name);
    text_add(out, ": {prefix: 0x%016" PRIx64 ", lmc: %u, first_lid: %u", subnet->prefix,
             subnet->lmc, subnet->first_lid);
    add_mtu(out, "group_mtu", subnet->group_mtu);
    write_partitions(subnet, out);
    write_sms(subnet, out);
    for (size_t i = 0; subnet->has_sl_to_vl && i < 16; i++)
        text_add(out, "%s%u", i ? ", " : ", sl_to_vl: [", subnet->sl_to_vl[i]);
    text_add(out, subnet->has_sl_to_vl ? "]}\n" : "}\n");
}

static void write_networks(const struct topology *t, struct text *out)
{
    if (t->subnet_count)
        text_add(out, "subnets:\n");
    for (size_t i = 0; i < t->subnet_count; i++)
        write_subnet(&t->subnets[i], out);
    if (t->ethernet_count)
        text_add(out, "ethernets:\n");
    for (size_t i = 0; i < t->ethernet_count; i++) {
        text_add(out, "  - ");
        add_string(out, t->ethernets[i].name);
        text_add(out, "\n");
    }
}

static void write_switches(const struct topology *t, struct text *out)
{
    if (t->switch_count)
        text_add(out, "switches:\n");
    for (size_t i = 0; i < t->switch_count; i++) {
        const struct topology_switch *one = &t->switches[i];
        text_add(out, "  ");
        add_string(out, one->name);
        text_add(out, ": {ports: %u", one->port_count);
        add_member(out, "network", one->network);
        add_mtu(out, "mtu", one->mtu);
        text_add(out, "}\n");
    }
    if (t->link_count)
        text_add(out, "links:\n");
    for (size_t i = 0; i < t->link_count; i++) {
        const struct topology_link *link = &t->links[i];
        text_add(out, "  - {rate_mbps: %u, latency: %" PRIu64 " ns, between: [", link->rate_mbps,
                 link->latency);
        add_string(out, link->a);
        text_add(out, ", ");
        add_string(out, link->b);
        text_add(out, "]");
        if (link->a_port && link->b_port)
            text_add(out, ", ports: [%u, %u]", link->a_port, link->b_port);
        add_mtu(out, "mtu", link->mtu);
        text_add(out, "}\n");
    }
}

/* ------------------------------------------------------------------ nodes */

static void write_gids(const struct topology_port *port, struct text *out)
{
    static const char *const types[] = {[FABRIC_GID_TYPE_IB] = "ib",
                                        [FABRIC_GID_TYPE_ROCE_V1] = "roce_v1",
                                        [FABRIC_GID_TYPE_ROCE_V2] = "roce_v2"};
    char gid[FABRIC_GID_TEXT];
    for (size_t i = 0; i < port->gid_count; i++) {
        const struct topology_gid *one = &port->gids[i];
        fabric_gid_format(&one->gid, gid);
        text_add(out, "%s{gid: \"%s\", type: %s", i ? ", " : ", gids: [", gid, types[one->type]);
        if (!one->anywhere)
            text_add(out, ", index: %u", one->index);
        text_add(out, "}");
    }
    if (port->gid_count)
        text_add(out, "]");
}

static void write_dcb(const struct fabric_dcb *dcb, struct text *out)
{
    const char *comma = "";
    if (!dcb->present)
        return;
    text_add(out, ", dcb: {trust: %s, pfc: [", dcb->trusts_dscp ? "dscp" : "pcp");
    for (unsigned i = 0; i < PRIORITIES; i++) {
        if (!(dcb->pfc_enabled >> i & 1))
            continue;
        text_add(out, "%s%u", comma, i);
        comma = ", ";
    }
    text_add(out, "], ets: [");
    for (unsigned i = 0; i < PRIORITIES; i++)
        text_add(out, "%s%u", i ? ", " : "", dcb->ets_tc[i]);
    text_add(out, "], dscp: [");
    for (unsigned i = 0; i < DSCPS; i++)
        text_add(out, "%s{dscp: %u, priority: %u}", i ? ", " : "", i, dcb->dscp_prio[i]);
    text_add(out, "]}");
}

static void write_port(const struct topology_port *port, struct text *out)
{
    static const char *const modes[] = {[TOPOLOGY_IPOIB_DATAGRAM] = "datagram",
                                        [TOPOLOGY_IPOIB_CONNECTED] = "connected",
                                        [TOPOLOGY_IPOIB_ENHANCED] = "enhanced"};
    text_add(out, "{rate_mbps: %u, latency: %" PRIu64 " ns, grh_required: %s, ipoib: %s",
             port->rate_mbps, port->latency, port->grh_required ? "true" : "false",
             modes[port->ipoib]);
    add_member(out, "network", port->network ? port->network : "none");
    if (port->attach)
        add_member(out, "switch", port->attach);
    if (port->netdev[0])
        add_member(out, "netdev", port->netdev);
    if (port->netdev_mtu)
        text_add(out, ", netdev_mtu: %u", port->netdev_mtu);
    add_mtu(out, "mtu", port->mtu);
    add_mtu(out, "link_mtu", port->link_mtu);
    write_gids(port, out);
    write_dcb(&port->dcb, out);
    text_add(out, "}");
}

static void write_device(const struct topology_device *device, struct text *out)
{
    assert(device->name && device->profile && device->port_count);
    text_add(out, "      ");
    add_string(out, device->name);
    text_add(out, ":\n        profile: ");
    add_string(out, device->profile);
    if (device->sys_image_guid)
        text_add(out, "\n        sys_image_guid: 0x%" PRIx64, device->sys_image_guid);
    text_add(out, "\n        ports:\n");
    for (size_t i = 0; i < device->port_count; i++) {
        text_add(out, "          - ");
        write_port(&device->ports[i], out);
        text_add(out, "\n");
    }
}

static void write_node(const struct topology_node *node, struct text *out)
{
    assert(node->name);
    text_add(out, "  ");
    add_string(out, node->name);
    text_add(out, ":\n");
    if (node->address)
        text_add(out, "    address: %s\n", node->address);
    if (node->control) {
        text_add(out, "    control: ");
        add_string(out, node->control);
        text_add(out, "\n");
    }
    if (node->disk_size)
        text_add(out, "    disk: %" PRIu64 "\n", node->disk_size);
    text_add(out, node->device_count ? "    devices:\n" : "    devices: {}\n");
    for (size_t i = 0; i < node->device_count; i++)
        write_device(&node->devices[i], out);
}

void topology_write(const struct topology *topology, struct text *out)
{
    assert(topology && out && topology->node_count);
    write_networks(topology, out);
    write_switches(topology, out);
    text_add(out, "nodes:\n");
    for (size_t i = 0; i < topology->node_count; i++)
        write_node(&topology->nodes[i], out);
}
