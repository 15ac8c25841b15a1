/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the world that a topology describes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"
#include "src/fabric/gid.h"
#include "src/fabric/ipoib.h"

/* GUIDs: what kind of thing, which one, which device of it. */
#define GUID_HOST UINT64_C(0x0c42a10300000000)
#define GUID_SWITCH UINT64_C(0x0c42a10f00000000)
#define GUID_MANAGER UINT64_C(0x0c42a10e00000000)
#define GUID_ETHERNET UINT64_C(0x0c42a10d00000000)

#define MAX_SWITCH_PORTS 254
#define ROCE_OVERHEAD 96 /* what RoCE puts around the payload of a frame, at most */
#define DEFAULT_NETDEV_MTU 4200

struct builder {
    struct testbed *tb;
    const struct topology *topology;
    struct net *net;
    char *detail;
    unsigned eth_count, ib_count; /* interfaces of the present node */
};

static void copy_name(char *to, const char *from)
{
    snprintf(to, FABRIC_NAME_MAX, "%s", from);
}

/* ------------------------------------------------------------------ what it needs */

static bool lacks(const struct builder *b, enum fabric_cap_bit bit)
{
    if (b->tb->caps & UINT64_C(1) << bit)
        return false;
    tb_say(b->detail, "the fabric lacks the capability %s, which the topology needs",
           fabric_cap_name(bit));
    return true;
}

static bool node_needs(const struct builder *b, const struct topology_node *node)
{
    for (size_t i = 0; i < node->device_count; i++) {
        for (size_t j = 0; j < node->devices[i].port_count; j++) {
            if (node->devices[i].ports[j].grh_required && lacks(b, FABRIC_CAP_BIT_GRH_REQUIRED))
                return true;
        }
    }
    return false;
}

static bool lacks_something(const struct builder *b)
{
    const struct topology *t = b->topology;
    if (t->subnet_count > 0 && lacks(b, FABRIC_CAP_BIT_LID))
        return true;
    if (t->subnet_count > 1 && lacks(b, FABRIC_CAP_BIT_SUBNET))
        return true;
    for (size_t i = 0; i < t->subnet_count; i++) {
        const struct topology_subnet *subnet = &t->subnets[i];
        if (subnet->partition_count && lacks(b, FABRIC_CAP_BIT_PKEY))
            return true;
        if (subnet->has_sl_to_vl && lacks(b, FABRIC_CAP_BIT_SL))
            return true;
    }
    for (size_t i = 0; i < t->node_count; i++) {
        if (node_needs(b, &t->nodes[i]))
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------ networks */

static struct tb_network *network_of(const struct builder *b, const char *name)
{
    for (size_t i = 0; i < b->tb->network_count; i++) {
        if (strcmp(b->tb->networks[i].name, name) == 0)
            return &b->tb->networks[i];
    }
    return NULL;
}

static size_t managers_of(const struct builder *b, const char *network)
{
    for (size_t i = 0; i < b->topology->subnet_count; i++) {
        const struct topology_subnet *subnet = &b->topology->subnets[i];
        if (strcmp(subnet->name, network) == 0)
            return subnet->sm_count ? subnet->sm_count : 1;
    }
    return 0;
}

static size_t ports_on(const struct builder *b, const char *network)
{
    size_t count = 0;
    for (size_t i = 0; i < b->topology->node_count; i++) {
        const struct topology_node *node = &b->topology->nodes[i];
        for (size_t j = 0; j < node->device_count; j++) {
            for (size_t k = 0; k < node->devices[j].port_count; k++) {
                const char *of = node->devices[j].ports[k].network;
                count += of && strcmp(of, network) == 0;
            }
        }
    }
    return count;
}

static bool add_switch(struct builder *b, struct tb_network *network, const char *name,
                       size_t ports, enum fabric_mtu mtu)
{
    struct net_node **switches =
        realloc(network->switches, (network->switch_count + 1) * sizeof(*switches));
    assert(switches);
    network->switches = switches;
    if (ports > MAX_SWITCH_PORTS || net_find(b->net, name)) {
        tb_say(b->detail, "switch '%s' needs %zu ports, or its name is taken; a switch has %d",
               name, ports, MAX_SWITCH_PORTS);
        return false;
    }
    uint64_t guid = GUID_SWITCH + ((uint64_t)net_node_count(b->net) + 1) * 256;
    struct net_node *node = net_add_node(
        b->net, network->ethernet ? NET_ETHERNET_SWITCH : NET_SWITCH, name, guid, (uint8_t)ports);
    for (uint8_t i = 0; i <= ports; i++) {
        if (mtu)
            net_port_info(net_node_port(node, i))->mtu_cap = (uint8_t)mtu;
    }
    switches[network->switch_count++] = node;
    return true;
}

static bool make_switches(struct builder *b, struct tb_network *network)
{
    const struct topology *t = b->topology;
    size_t managers = managers_of(b, network->name);
    char name[FABRIC_NAME_MAX + 8];
    for (size_t i = 0; i < t->switch_count; i++) {
        const struct topology_switch *one = &t->switches[i];
        size_t more = network->switch_count ? 0 : managers; /* beside the hosts' ports */
        if (strcmp(one->network, network->name) == 0 &&
            !add_switch(b, network, one->name, one->port_count + more, one->mtu))
            return false;
    }
    if (network->switch_count)
        return true;
    snprintf(name, sizeof(name), "%s/switch", network->name);
    return add_switch(b, network, name, ports_on(b, network->name) + managers + 1, 0);
}

static bool make_networks(struct builder *b)
{
    struct testbed *tb = b->tb;
    const struct topology *t = b->topology;
    tb->networks = calloc(t->subnet_count + t->ethernet_count + 1, sizeof(*tb->networks));
    assert(tb->networks);
    for (size_t i = 0; i < t->subnet_count + t->ethernet_count; i++) {
        struct tb_network *network = &tb->networks[tb->network_count++];
        network->ethernet = i >= t->subnet_count;
        if (network->ethernet) {
            copy_name(network->name, t->ethernets[i - t->subnet_count].name);
        } else {
            const struct topology_subnet *subnet = &t->subnets[i];
            copy_name(network->name, subnet->name);
            network->prefix = subnet->prefix;
            network->lmc = subnet->lmc;
        }
        if (!make_switches(b, network))
            return false;
    }
    return true;
}

static struct net_port *free_port(struct net_node *node, uint8_t wanted)
{
    for (uint8_t i = wanted ? wanted : 1; i <= net_node_ports(node); i++) {
        struct net_port *port = net_node_port(node, i);
        if (!net_port_peer(port))
            return port;
        if (wanted)
            break;
    }
    return NULL;
}

static bool join(struct builder *b, struct net_port *end, struct net_node *to, uint8_t wanted,
                 const struct net_link *link)
{
    struct net_port *port = free_port(to, wanted);
    if (!end || !port) {
        tb_say(b->detail, "switch '%s' has no free port %s", net_node_name(to),
               wanted ? "of that number" : "left");
        return false;
    }
    net_connect(end, port, link);
    return true;
}

static bool make_links(struct builder *b)
{
    for (size_t i = 0; i < b->topology->link_count; i++) {
        const struct topology_link *one = &b->topology->links[i];
        const struct net_link link = {one->rate_mbps, one->latency, one->mtu};
        struct net_node *a = net_find(b->net, one->a), *other = net_find(b->net, one->b);
        assert(a && other);
        if (!join(b, free_port(a, one->a_port), other, one->b_port, &link))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ nodes */

static void put_gid(struct port_info *info, uint32_t index, const union fabric_gid *gid,
                    enum fabric_gid_type type, const char *netdev)
{
    struct port_gid *entry = &info->gids[index];
    assert(index < PORT_GIDS);
    *entry = (struct port_gid){.gid = *gid, .type = (uint8_t)type};
    if (netdev)
        memcpy(entry->netdev, netdev, sizeof(entry->netdev));
}

/* What a kernel makes of an interface with one IPv4 address: both RoCE types of each. */
static void default_gids(struct port_info *info, size_t node, unsigned interface,
                         const char *netdev)
{
    union fabric_gid local =
        fabric_gid_make(UINT64_C(0xfe80) << 48, info->guid ^ UINT64_C(2) << 56);
    const union fabric_gid mapped = {{[10] = 0xff,
                                      0xff,
                                      172,
                                      (uint8_t)(16 + interface),
                                      (uint8_t)(node / 250),
                                      (uint8_t)(node % 250 + 1)}};
    put_gid(info, 0, &local, FABRIC_GID_TYPE_ROCE_V1, netdev);
    put_gid(info, 1, &local, FABRIC_GID_TYPE_ROCE_V2, netdev);
    put_gid(info, 2, &mapped, FABRIC_GID_TYPE_ROCE_V1, netdev);
    put_gid(info, 3, &mapped, FABRIC_GID_TYPE_ROCE_V2, netdev);
}

static uint8_t mtu_of_frames(uint32_t netdev_mtu)
{
    uint8_t code = FABRIC_MTU_256;
    assert(netdev_mtu > 0);
    while (code < FABRIC_MTU_4096 &&
           fabric_mtu_bytes((enum fabric_mtu)(code + 1)) + ROCE_OVERHEAD <= netdev_mtu)
        code++;
    return code;
}

/* What the port is before its cable is plugged in. */
static void prepare_port(struct builder *b, const struct topology_port *port, size_t node,
                         const struct sysfs_port *shown, struct net_port *of)
{
    struct port_info *info = net_port_info(of), before = *info;
    const struct tb_network *network = port->network ? network_of(b, port->network) : NULL;
    bool ethernet = network && network->ethernet;
    info->mtu_cap = (uint8_t)(port->mtu ? port->mtu : FABRIC_MTU_4096);
    info->grh_required = port->grh_required;
    if (ethernet) {
        uint8_t frames = mtu_of_frames(shown->netdev_mtu);
        info->link_layer = FABRIC_LINK_LAYER_ETHERNET;
        info->active_mtu = frames < info->mtu_cap ? frames : info->mtu_cap;
        memset(info->gids, 0, sizeof(info->gids));
        if (port->gid_count == 0)
            default_gids(info, node, b->eth_count, shown->netdev);
    }
    for (size_t i = 0; i < port->gid_count; i++) {
        if (port->gids[i].index < info->gid_count)
            put_gid(info, port->gids[i].index, &port->gids[i].gid, port->gids[i].type,
                    ethernet ? shown->netdev : NULL);
    }
    net_port_changed(of, &before);
}

/* In datagram mode a packet is as large as the broadcast group of the subnet allows. */
static uint32_t group_mtu(const struct builder *b, const struct topology_port *port)
{
    enum fabric_mtu mtu = FABRIC_MTU_2048;
    for (size_t i = 0; port->network && i < b->topology->subnet_count; i++) {
        const struct topology_subnet *subnet = &b->topology->subnets[i];
        if (strcmp(subnet->name, port->network) == 0 && subnet->group_mtu)
            mtu = subnet->group_mtu;
    }
    return fabric_mtu_bytes(mtu) - IPOIB_HEADER;
}

static struct sysfs_port shown_port(struct builder *b, const struct topology_port *port)
{
    const struct tb_network *network = port->network ? network_of(b, port->network) : NULL;
    bool ethernet = network && network->ethernet;
    bool connected = port->ipoib == TOPOLOGY_IPOIB_CONNECTED;
    struct sysfs_port shown = {.ipoib_qpn = 0x48 + b->ib_count,
                               .ipoib_connected = connected,
                               .ipoib_enhanced = port->ipoib == TOPOLOGY_IPOIB_ENHANCED,
                               .ipoib_group_mtu = group_mtu(b, port),
                               .dcb = port->dcb};
    if (port->netdev_mtu)
        shown.netdev_mtu = port->netdev_mtu;
    else
        shown.netdev_mtu = ethernet    ? DEFAULT_NETDEV_MTU
                           : connected ? IPOIB_CONNECTED_MTU
                                       : shown.ipoib_group_mtu;
    if (port->netdev[0])
        memcpy(shown.netdev, port->netdev, sizeof(shown.netdev));
    else
        snprintf(shown.netdev, sizeof(shown.netdev), "%s%u", ethernet ? "eth" : "ib",
                 ethernet ? b->eth_count : b->ib_count);
    *(ethernet ? &b->eth_count : &b->ib_count) += 1;
    return shown;
}

static bool plug_in(struct builder *b, struct tb_port *port, const struct topology_port *from)
{
    const struct net_link link = {from->rate_mbps, from->latency, from->link_mtu};
    if (!from->network)
        return true;
    port->network = network_of(b, from->network);
    struct net_node *to =
        from->attach ? net_find(b->net, from->attach) : port->network->switches[0];
    assert(to);
    return join(b, tb_net_port(port), to, 0, &link);
}

static bool make_device(struct builder *b, struct tb_node *node, size_t index,
                        const struct topology_device *from)
{
    size_t position = (size_t)(node - b->tb->nodes);
    struct sysfs_port *shown = calloc(from->port_count, sizeof(*shown));
    unsigned first_eth = b->eth_count;
    assert(shown);
    for (size_t i = 0; i < from->port_count; i++)
        shown[i] = shown_port(b, &from->ports[i]);
    const struct sim_device_init init = {.name = from->name,
                                         .profile = from->profile ? from->profile : "mlx5",
                                         .node_guid =
                                             GUID_HOST + ((position + 1) << 16) + (index << 8),
                                         .sys_image_guid = from->sys_image_guid,
                                         .ports = shown,
                                         .port_count = (uint8_t)from->port_count};
    struct sim_device *device = sim_device_add(node->host, &init);
    b->eth_count = first_eth;
    for (size_t i = 0; device && i < from->port_count; i++) {
        struct tb_port *port = &node->ports[node->port_count++];
        *port = (struct tb_port){.node = node, .device = device, .port_num = (uint8_t)(i + 1)};
        struct net_port *of = tb_net_port(port);
        prepare_port(b, &from->ports[i], position, &shown[i], of);
        b->eth_count += net_port_info(of)->link_layer == FABRIC_LINK_LAYER_ETHERNET;
        if (!plug_in(b, port, &from->ports[i])) {
            free(shown);
            return false;
        }
    }
    free(shown);
    if (!device)
        tb_say(b->detail, "device '%s' of node '%s': there is no profile '%s'", from->name,
               node->name, init.profile);
    return device != NULL;
}

static bool read_address(const char *text, uint32_t *out)
{
    unsigned part[4] = {0};
    *out = 0;
    for (int i = 0; text && i < 4; i++) {
        char *end;
        part[i] = (unsigned)strtoul(text, &end, 10);
        if (end == text || part[i] > 255 || *end != (i < 3 ? '.' : '\0'))
            return false;
        *out = *out << 8 | part[i];
        text = end + 1;
    }
    return true;
}

static bool make_node(struct builder *b, size_t index)
{
    const struct topology_node *from = &b->topology->nodes[index];
    struct tb_node *node = &b->tb->nodes[b->tb->node_count++];
    struct sim_host_init init = {.name = from->name, .disk_size = from->disk_size};
    size_t ports = 0;
    node->tb = b->tb;
    copy_name(node->name, from->name);
    if (!read_address(from->address, &init.address)) {
        tb_say(b->detail, "node '%s': '%.60s' is no IPv4 address", from->name, from->address);
        return false;
    }
    node->host = sim_host_add(b->tb->world, &init);
    for (size_t i = 0; i < from->device_count; i++)
        ports += from->devices[i].port_count;
    node->ports = calloc(ports + 1, sizeof(*node->ports));
    assert(node->ports);
    b->eth_count = b->ib_count = 0;
    for (size_t i = 0; i < from->device_count; i++) {
        if (!make_device(b, node, i, &from->devices[i]))
            return false;
    }
    return !from->control || tb_control_on(node, from->control, b->detail);
}

/* ------------------------------------------------------------------ subnet managers */

/* A host of its own on the first switch. */
static bool make_manager(struct builder *b, struct tb_network *network,
                         const struct topology_sm *from)
{
    struct tb_sm *sm = &b->tb->sms[b->tb->sm_count++];
    char label[2 * FABRIC_NAME_MAX];
    copy_name(sm->name, from ? from->name : "sm");
    snprintf(label, sizeof(label), "%s/%s", network->name, sm->name);
    sm->network = network;
    sm->delay = from ? from->response_delay : 0;
    sm->priority = from ? from->priority : 1;
    uint64_t guid = GUID_MANAGER + b->tb->sm_count * 256;
    struct net_node *node = net_add_node(b->net, NET_HCA, label, guid, 1);
    const struct net_link link = {0};
    for (size_t i = 0; i < network->switch_count; i++) {
        if (free_port(network->switches[i], 0))
            return join(b, net_node_port(node, 1), network->switches[i], 0, &link);
    }
    return join(b, net_node_port(node, 1), network->switches[0], 0, &link);
}

static bool make_managers(struct builder *b)
{
    const struct topology *t = b->topology;
    size_t count = 0;
    for (size_t i = 0; i < t->subnet_count; i++)
        count += managers_of(b, t->subnets[i].name);
    b->tb->sms = calloc(count + 1, sizeof(*b->tb->sms));
    assert(b->tb->sms);
    for (size_t i = 0; i < t->subnet_count; i++) {
        struct tb_network *network = network_of(b, t->subnets[i].name);
        if (t->subnets[i].sm_count == 0 && !make_manager(b, network, NULL))
            return false;
        for (size_t j = 0; j < t->subnets[i].sm_count; j++) {
            if (!make_manager(b, network, &t->subnets[i].sms[j]))
                return false;
        }
    }
    return true;
}

static bool is_member(const struct topology_member *member, const struct tb_port *port)
{
    char name[2 * FABRIC_NAME_MAX + 8];
    size_t length = strlen(member->node);
    if (strcmp(member->node, "ALL") == 0)
        return true;
    snprintf(name, sizeof(name), "%s/%s/%u", port->node->name, sim_device_name(port->device),
             port->port_num);
    return strncmp(name, member->node, length) == 0 &&
           (name[length] == '\0' || name[length] == '/');
}

/* The table of a port, when the topology lists partitions: those and no others. */
static void give_partitions(const struct topology_subnet *subnet, const struct tb_port *port,
                            struct sm *sm)
{
    uint64_t guid = tb_port_guid(port);
    assert(subnet->partition_count > 0);
    bool cleared = false;
    for (size_t i = 0; i < subnet->partition_count; i++) {
        const struct topology_partition *partition = &subnet->partitions[i];
        for (size_t j = 0; j < partition->member_count; j++) {
            const struct topology_member *member = &partition->members[j];
            if (!is_member(member, port))
                continue;
            if (!cleared)
                (void)sm_pkey_set(sm, guid, 0, 0);
            cleared = true;
            uint16_t pkey = (uint16_t)(partition->pkey | (member->full ? 0x8000 : 0));
            uint16_t index = partition->index < 0 ? SM_INDEX_ANY : (uint16_t)partition->index;
            (void)sm_pkey_set(sm, guid, pkey, index);
            break;
        }
    }
    if (!cleared)
        (void)sm_pkey_set(sm, guid, 0, 0);
}

static void start_manager(void *object, uint64_t arg)
{
    struct tb_sm *sm = object;
    assert(sm->sm);
    (void)arg;
    sm->started = true;
    sm_start(sm->sm); /* nothing when a fault word has started it already */
}

static void set_policy(struct builder *b, const struct topology_subnet *subnet, struct tb_sm *sm)
{
    struct testbed *tb = b->tb;
    for (size_t i = 0; subnet->partition_count && i < tb->node_count; i++) {
        for (size_t j = 0; j < tb->nodes[i].port_count; j++) {
            if (tb->nodes[i].ports[j].network == sm->network)
                give_partitions(subnet, &tb->nodes[i].ports[j], sm->sm);
        }
    }
    if (subnet->has_sl_to_vl)
        sm_sl_map_set(sm->sm, 0, subnet->sl_to_vl);
    if (sm->delay)
        sm_set_delay(sm->sm, sm->delay);
}

/* After every node is there, so that all have agents. */
static void run_managers(struct builder *b)
{
    struct testbed *tb = b->tb;
    const struct topology *t = b->topology;
    struct sma *sma = t->subnet_count ? sim_world_sma(tb->world) : NULL;
    struct tb_sm *sm = tb->sms;
    for (size_t i = 0; i < t->subnet_count; i++) {
        const struct topology_subnet *subnet = &t->subnets[i];
        size_t count = subnet->sm_count ? subnet->sm_count : 1;
        for (size_t j = 0; j < count; j++, sm++) {
            const struct topology_sm *from = subnet->sm_count ? &subnet->sms[j] : NULL;
            const struct sm_config config = {.priority = sm->priority,
                                             .lmc = subnet->lmc,
                                             .first_lid = subnet->first_lid,
                                             .subnet_prefix = subnet->prefix};
            char label[2 * FABRIC_NAME_MAX];
            snprintf(label, sizeof(label), "%s/%s", subnet->name, sm->name);
            sm->sm = sm_create(sma, net_node_port(net_find(b->net, label), 1), &config);
            set_policy(b, subnet, sm);
            uint64_t start = from ? from->start : 0;
            if (start != FABRIC_FOREVER)
                sim_at(tb->sim, start, start_manager, sm, 0);
        }
    }
}

bool tb_build(struct testbed *tb, const struct topology *topology, char *detail)
{
    struct builder b = {
        .tb = tb, .topology = topology, .net = sim_world_net(tb->world), .detail = detail};
    if (lacks_something(&b) || !make_networks(&b) || !make_links(&b))
        return false;
    tb->nodes = calloc(topology->node_count + 1, sizeof(*tb->nodes));
    assert(tb->nodes);
    for (size_t i = 0; i < topology->node_count; i++) {
        if (!make_node(&b, i))
            return false;
    }
    if (!make_managers(&b))
        return false;
    run_managers(&b);
    tb_control_begin(tb);
    return true;
}
