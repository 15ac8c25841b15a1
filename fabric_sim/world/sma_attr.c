/* SPDX-License-Identifier: Apache-2.0 */
/* Get of every attribute, and Set of all but PortInfo (sma_port.c). */
#include <assert.h>
#include <string.h>

#include "fabric_sim/world/bytes.h"
#include "fabric_sim/world/sma_state.h"
#include "src/fabric/planted.h"

#define VENDOR_ID 0x0002C9u /* the OUI that mlx5 devices answer with */
#define DEVICE_ID 4129

static bool is_switch(const struct net_port *port)
{
    return net_node_kind(net_port_node(port)) == NET_SWITCH;
}

/* The port that a modifier names at this node; null when there is none. */
static struct net_port *named_port(struct net_port *in, uint32_t number)
{
    struct net_node *node = net_port_node(in);

    if (number == 0 && !is_switch(in))
        return in;
    return number <= net_node_ports(node) ? net_node_port(node, (uint8_t)number) : NULL;
}

/* ---------------------------------------------------------------- node */

uint64_t sma_port_guid(const struct net_port *port)
{
    const struct port_info *info = net_port_info(sma_lid_port(port));
    struct net_node *node = net_port_node(port);

    if (info->guid)
        return info->guid;
    return net_node_guid(node) + (is_switch(port) ? 0 : net_port_num(port));
}

static uint16_t partition_cap(const struct net_port *port)
{
    return is_switch(port) ? SMA_SWITCH_PKEYS : net_port_info(port)->pkey_count;
}

static uint16_t get_node_info(struct net_port *port, uint8_t *data)
{
    struct net_node *node = net_port_node(port);
    struct mad_node_info info = {
        .node_type = MAD_NODE_CA,
        .num_ports = net_node_ports(node),
        .local_port_num = net_port_num(port),
        .system_image_guid = net_node_guid(node),
        .node_guid = net_node_guid(node),
        .port_guid = sma_port_guid(port),
        .partition_cap = partition_cap(port),
        .device_id = DEVICE_ID,
        .vendor_id = VENDOR_ID,
    };

    assert(net_port_num(port) <= net_node_ports(node));
    if (is_switch(port))
        info.node_type = MAD_NODE_SWITCH;
    else if (net_node_kind(node) == NET_ROUTER)
        info.node_type = MAD_NODE_ROUTER;
    mad_node_info_encode(data, &info);
    return MAD_STATUS_OK;
}

static uint16_t get_node_description(struct net_port *port, uint8_t *data)
{
    const char *name = net_node_name(net_port_node(port));
    size_t length = strlen(name);

    assert(name[0]);
    memset(data, 0, MAD_SMP_DATA);
    memcpy(data, name, length < MAD_SMP_DATA ? length : MAD_SMP_DATA);
    return MAD_STATUS_OK;
}

/* ---------------------------------------------------------------- PortInfo */

static uint8_t vl_code(uint8_t vls) /* VLCap and OperationalVLs, table 146 */
{
    return (uint8_t)(vls >= 15 ? 5 : vls >= 8 ? 4 : vls >= 4 ? 3 : vls >= 2 ? 2 : vls >= 1 ? 1 : 0);
}

/* Per lane of a 4X link: SDR 2.5 to EDR 25 Gbit/s; the extended codes from FDR on. */
static void link_speed(const struct port_info *info, struct mad_port_info *out)
{
    uint32_t lane = info->rate_mbps / 4;

    assert(info->rate_mbps > 0);
    out->link_width_enabled = out->link_width_supported = 3; /* 1X or 4X */
    out->link_width_active = 2;
    out->link_speed_supported = out->link_speed_enabled = 7;
    out->link_speed_active = lane >= 8000 ? 4 : lane >= 4000 ? 2 : 1;
    out->link_speed_ext_supported = out->link_speed_ext_enabled = 7;
    out->link_speed_ext_active = lane >= 48000 ? 4 : lane >= 24000 ? 2 : lane >= 13000 ? 1 : 0;
}

uint32_t sma_capability_mask(const struct net_port *port)
{
    const struct port_info *info = net_port_info(sma_lid_port(port));
    uint32_t mask = MAD_CAP_TRAP | MAD_CAP_SL_MAPPING | MAD_CAP_EXTENDED_SPEEDS;

    if (!is_switch(port))
        mask |= MAD_CAP_CLIENT_REREGISTER;
    if (info->is_sm)
        mask |= MAD_CAP_IS_SM;
    return mask;
}

static uint8_t phys_state(const struct port_info *info)
{
    if (info->disabled && !PLANTED(sm_disabled_polls))
        return MAD_PHYS_DISABLED;
    return info->state == FABRIC_PORT_DOWN ? MAD_PHYS_POLLING : MAD_PHYS_LINK_UP;
}

static uint16_t clamp16(uint64_t value)
{
    return value > 0xFFFF ? 0xFFFF : (uint16_t)value;
}

/* What the subnet manager may set. */
static void fill_settable(const struct port_info *info, const struct sma_port *state,
                          struct mad_port_info *out)
{
    assert(info->lmc < 8 && info->state <= FABRIC_PORT_ACTIVE);
    out->m_key = state->m_key;
    out->m_key_protect_bits = state->m_key_protect;
    out->m_key_lease_period = state->m_key_lease;
    out->gid_prefix = info->gid_prefix;
    out->lid = info->lid;
    out->lmc = info->lmc;
    out->master_sm_lid = info->sm_lid;
    out->master_sm_sl = info->sm_sl;
    out->port_state = info->state;
    out->port_phys_state = phys_state(info);
    out->link_down_default_state = MAD_PHYS_POLLING;
    out->neighbor_mtu = info->active_mtu;
    out->oper_vls = vl_code(info->oper_vls);
    out->vl_high_limit = state->vl_high_limit;
    out->partition_enforce_in = info->partition_enforce_in != 0;
    out->partition_enforce_out = info->partition_enforce_out != 0;
    out->subnet_timeout = info->subnet_timeout;
}

static uint16_t get_port_info(struct sma *sma, struct net_port *in, struct mad *mad)
{
    struct net_port *port = named_port(in, mad_modifier(mad) & 0xFF);
    const struct port_info *info;
    const struct sma_port *state;
    struct mad_port_info out = {0};

    if (!port)
        return MAD_STATUS_BAD_FIELD;
    info = net_port_info(port);
    state = sma_port_of(sma, port);
    fill_settable(info, state, &out);
    link_speed(info, &out);
    out.capability_mask = sma_capability_mask(port);
    out.local_port_num = net_port_num(in);
    out.vl_cap = vl_code(info->vl_cap);
    out.mtu_cap = info->mtu_cap;
    out.vl_arb_high_cap = out.vl_arb_low_cap = NET_ARB_ENTRIES;
    out.m_key_violations = state->m_key_violations;
    out.p_key_violations = clamp16(info->counters.bad_pkey);
    out.q_key_violations = clamp16(info->counters.bad_qkey);
    out.guid_cap = (uint8_t)(info->gid_count ? info->gid_count : 1);
    out.resp_time_value = 16;
    /* protected: the key itself is only told to who knows it (table 147) */
    if (state->m_key_protect && mad_mkey(mad) != state->m_key)
        out.m_key = 0;
    mad_port_info_encode(mad_data(mad), &out);
    return MAD_STATUS_OK;
}

/* ---------------------------------------------------------------- SwitchInfo */

static uint16_t get_switch_info(struct sma *sma, struct net_port *port, uint8_t *data)
{
    const struct sma_agent *agent = sma_agent_of(sma, port);
    struct mad_switch_info info = {
        .linear_fdb_cap = NET_LFT_SIZE,
        .multicast_fdb_cap = SMA_MFT_SIZE,
        .linear_fdb_top = agent->linear_fdb_top,
        .multicast_fdb_top = agent->multicast_fdb_top,
        .life_time_value = agent->life_time,
        .port_state_change = agent->port_state_change,
        .optimized_sl_to_vl = 1,
        .partition_enforcement_cap = SMA_SWITCH_PKEYS,
        .inbound_enforcement = true,
        .outbound_enforcement = true,
    };

    if (!is_switch(port))
        return MAD_STATUS_BAD_ATTRIBUTE;
    mad_switch_info_encode(data, &info);
    return MAD_STATUS_OK;
}

static uint16_t set_switch_info(struct sma *sma, struct net_port *port, uint8_t *data)
{
    struct sma_agent *agent = sma_agent_of(sma, port);
    struct mad_switch_info info;

    if (!is_switch(port))
        return MAD_STATUS_BAD_ATTRIBUTE;
    mad_switch_info_decode(data, &info);
    if (info.linear_fdb_top >= NET_LFT_SIZE)
        return MAD_STATUS_BAD_FIELD;
    agent->linear_fdb_top = info.linear_fdb_top;
    net_lft_set_top(net_port_node(port), info.linear_fdb_top);
    agent->multicast_fdb_top = info.multicast_fdb_top;
    agent->life_time = info.life_time_value;
    if (info.port_state_change) /* written as 1 it is cleared (table 143) */
        agent->port_state_change = false;
    return get_switch_info(sma, port, data);
}

/* ---------------------------------------------------------------- tables */

/* Tells the net that `info` of `port` was changed from `before`. */
static void changed(struct sma *sma, struct net_port *port, const struct port_info *before)
{
    struct sma_agent *agent = sma_agent_of(sma, port);

    assert(!agent->applying);
    agent->applying = true;
    net_port_changed(port, before);
    agent->applying = false;
}

static struct net_port *pkey_port(struct net_port *in, const struct mad *mad)
{
    if (!is_switch(in))
        return in;
    return named_port(in, mad_modifier(mad) >> 16);
}

static uint16_t pkey_table(struct sma *sma, struct net_port *in, struct mad *mad, bool set)
{
    struct net_port *port = pkey_port(in, mad);
    uint32_t first = (mad_modifier(mad) & 0xFFFF) * MAD_PKEYS_PER_BLOCK;
    uint16_t pkeys[MAD_PKEYS_PER_BLOCK] = {0};
    struct port_info *info, before;
    uint32_t count;

    assert(mad_attribute(mad) == MAD_PKEY_TABLE);
    if (!port || first >= partition_cap(port))
        return MAD_STATUS_BAD_FIELD;
    info = net_port_info(port);
    count = partition_cap(port) - first;
    if (count > MAD_PKEYS_PER_BLOCK)
        count = MAD_PKEYS_PER_BLOCK;
    if (set) {
        mad_pkeys_decode(mad_data(mad), pkeys);
        before = *info;
        memcpy(info->pkeys + first, pkeys, count * sizeof pkeys[0]);
        if (is_switch(port))
            info->pkey_count = SMA_SWITCH_PKEYS;
        if (memcmp(before.pkeys, info->pkeys, sizeof before.pkeys) != 0)
            changed(sma, port, &before);
    }
    memset(pkeys, 0, sizeof pkeys);
    memcpy(pkeys, info->pkeys + first, count * sizeof pkeys[0]);
    mad_pkeys_encode(mad_data(mad), pkeys);
    return MAD_STATUS_OK;
}

static uint64_t gid_interface(const struct port_info *info, size_t index)
{
    return index < PORT_GIDS ? bytes_get64(info->gids[index].gid.raw + 8) : 0;
}

/* Entry 0 is the port's own GUID and cannot be set (chapter 14.2.5.5). */
static void store_guids(struct port_info *info, uint32_t first, const uint64_t *guids)
{
    assert(first < PORT_GIDS && info->gid_count <= PORT_GIDS);
    for (uint32_t i = 0; i < MAD_GUIDS_PER_BLOCK; i++) {
        struct port_gid *gid = &info->gids[(first + i) % PORT_GIDS];

        if (first + i == 0 || first + i >= info->gid_count)
            continue;
        memset(gid, 0, sizeof *gid);
        if (!guids[i])
            continue;
        bytes_put64(gid->gid.raw, info->gid_prefix);
        bytes_put64(gid->gid.raw + 8, guids[i]);
        gid->type = FABRIC_GID_TYPE_IB;
    }
}

static uint16_t guid_info(struct sma *sma, struct net_port *in, struct mad *mad, bool set)
{
    struct net_port *port = sma_lid_port(in);
    struct port_info *info = net_port_info(port), before;
    uint32_t first = mad_modifier(mad) * MAD_GUIDS_PER_BLOCK;
    uint64_t guids[MAD_GUIDS_PER_BLOCK] = {0};

    if (mad_modifier(mad) > 31 || first >= (uint32_t)(info->gid_count ? info->gid_count : 1))
        return MAD_STATUS_BAD_FIELD;
    if (set) {
        mad_guids_decode(mad_data(mad), guids);
        before = *info;
        store_guids(info, first, guids);
        if (memcmp(before.gids, info->gids, sizeof before.gids) != 0)
            changed(sma, port, &before);
    }
    for (uint32_t i = 0; i < MAD_GUIDS_PER_BLOCK; i++)
        guids[i] = first + i == 0 ? sma_port_guid(port) : gid_interface(info, first + i);
    mad_guids_encode(mad_data(mad), guids);
    return MAD_STATUS_OK;
}

/* For packets from everywhere: the port's own map. */
static void set_sl_map(struct sma *sma, struct net_port *out, const uint8_t *vls)
{
    struct port_info *info = net_port_info(out), before = *info;
    uint8_t ports = net_node_ports(net_port_node(out));

    assert(net_port_num(out) <= ports);
    memcpy(info->sl_to_vl, vls, PORT_SLS);
    if (sma_agent_of(sma, out)->has_sl_pairs)
        for (unsigned in = 0; in <= ports; in++)
            net_sl_map_set(out, (uint8_t)in, vls);
    if (memcmp(before.sl_to_vl, vls, PORT_SLS) != 0)
        changed(sma, out, &before);
}

static void set_switch_sl_map(struct sma *sma, struct net_port *in, uint32_t modifier,
                              const uint8_t *vls)
{
    struct net_node *node = net_port_node(in);
    bool all_out = (modifier & 0x10000) != 0, all_in = (modifier & 0x20000) != 0;
    uint8_t from = (uint8_t)(modifier >> 8), to = (uint8_t)modifier;

    assert(is_switch(in));
    for (unsigned i = 0; i <= net_node_ports(node); i++) {
        if (all_out ? i == 0 : i != to)
            continue;
        if (all_in) {
            set_sl_map(sma, net_node_port(node, (uint8_t)i), vls);
            continue;
        }
        sma_agent_of(sma, in)->has_sl_pairs = true;
        net_sl_map_set(net_node_port(node, (uint8_t)i), from, vls);
    }
}

/* The modifier of a switch: input port in bits 15..8, output port in 7..0; bits 17 and 16 stand for
 * all of them (table 151). */
static uint16_t sl_to_vl(struct sma *sma, struct net_port *in, struct mad *mad, bool set)
{
    uint32_t modifier = mad_modifier(mad);
    uint8_t from = is_switch(in) ? (uint8_t)(modifier >> 8) : 0;
    struct net_port *out = is_switch(in) ? named_port(in, modifier & 0xFF) : in;
    uint8_t vls[PORT_SLS];

    assert(mad_attribute(mad) == MAD_SL_TO_VL);
    if (!out || from > net_node_ports(net_port_node(in)))
        return MAD_STATUS_BAD_FIELD;
    mad_sl_to_vl_decode(mad_data(mad), vls);
    if (set && is_switch(in))
        set_switch_sl_map(sma, in, modifier, vls);
    else if (set)
        set_sl_map(sma, out, vls);
    for (uint8_t sl = 0; !set && sl < PORT_SLS; sl++)
        vls[sl] = is_switch(in) ? net_sl_map_get(out, from, sl) : net_port_info(out)->sl_to_vl[sl];
    mad_sl_to_vl_encode(mad_data(mad), vls);
    return MAD_STATUS_OK;
}

/* Blocks 1 and 2 are the low-priority table, 3 and 4 the high one (table 152). */
static uint16_t vl_arbitration(struct net_port *in, struct mad *mad, bool set)
{
    struct net_port *port = is_switch(in) ? named_port(in, mad_modifier(mad) & 0xFF) : in;
    uint32_t block = mad_modifier(mad) >> 16;
    struct mad_vl_arb entries[MAD_VL_ARB_PER_BLOCK];
    struct net_vl_weight *table;
    struct net_vl_arb arb;

    assert(mad_attribute(mad) == MAD_VL_ARBITRATION);
    if (!port || block < 1 || block > 4)
        return MAD_STATUS_BAD_FIELD;
    net_vl_arb_get(port, &arb);
    table = (block <= 2 ? arb.low : arb.high) + (block % 2 ? 0 : MAD_VL_ARB_PER_BLOCK);
    mad_vl_arb_decode(mad_data(mad), entries);
    for (size_t i = 0; i < MAD_VL_ARB_PER_BLOCK; i++) {
        if (set)
            table[i] = (struct net_vl_weight){entries[i].vl, entries[i].weight};
        entries[i] = (struct mad_vl_arb){table[i].vl, table[i].weight};
    }
    if (set) {
        arb.low_count = arb.high_count = NET_ARB_ENTRIES;
        net_vl_arb_set(port, &arb);
    }
    mad_vl_arb_encode(mad_data(mad), entries);
    return MAD_STATUS_OK;
}

static uint16_t linear_forwarding(struct net_port *port, struct mad *mad, bool set)
{
    struct net_node *node = net_port_node(port);
    uint32_t first = (mad_modifier(mad) & 0xFFFF) * MAD_LFT_PER_BLOCK;
    uint8_t *data = mad_data(mad);

    if (!is_switch(port))
        return MAD_STATUS_BAD_ATTRIBUTE;
    if (first >= NET_LFT_SIZE)
        return MAD_STATUS_BAD_FIELD;
    for (uint32_t i = 0; i < MAD_LFT_PER_BLOCK; i++) {
        if (set)
            net_lft_set(node, (uint16_t)(first + i), data[i]);
        else
            data[i] = net_lft_get(node, (uint16_t)(first + i));
    }
    return MAD_STATUS_OK;
}

static uint16_t multicast_forwarding(struct net_port *port, struct mad *mad, bool set)
{
    struct net_node *node = net_port_node(port);
    uint32_t first = (mad_modifier(mad) & 0x1FF) * MAD_MFT_PER_BLOCK;
    uint8_t position = (uint8_t)(mad_modifier(mad) >> 28);
    uint16_t masks[MAD_MFT_PER_BLOCK];

    assert(position < NET_MFT_POSITIONS);
    if (!is_switch(port))
        return MAD_STATUS_BAD_ATTRIBUTE;
    if (first >= SMA_MFT_SIZE)
        return MAD_STATUS_BAD_FIELD;
    mad_mft_decode(mad_data(mad), masks);
    for (uint32_t i = 0; i < MAD_MFT_PER_BLOCK; i++) {
        uint16_t mlid = (uint16_t)(LID_MULTICAST_FIRST + first + i);

        if (set)
            net_mft_set(node, mlid, position, masks[i]);
        masks[i] = net_mft_get(node, mlid, position);
    }
    mad_mft_encode(mad_data(mad), masks);
    return MAD_STATUS_OK;
}

/* ---------------------------------------------------------------- by attribute */

/* Attributes that are read and written alike. */
static uint16_t get_or_set(struct sma *sma, struct net_port *port, struct mad *mad, bool set)
{
    switch (mad_attribute(mad)) {
    case MAD_GUID_INFO:
        return guid_info(sma, port, mad, set);
    case MAD_PKEY_TABLE:
        return pkey_table(sma, port, mad, set);
    case MAD_SL_TO_VL:
        return sl_to_vl(sma, port, mad, set);
    case MAD_VL_ARBITRATION:
        return vl_arbitration(port, mad, set);
    case MAD_LINEAR_FORWARDING:
        return linear_forwarding(port, mad, set);
    case MAD_MULTICAST_FORWARDING:
        return multicast_forwarding(port, mad, set);
    default:
        return MAD_STATUS_BAD_ATTRIBUTE;
    }
}

uint16_t sma_get(struct sma *sma, struct net_port *port, struct mad *mad)
{
    assert(mad_method(mad) == MAD_GET);
    switch (mad_attribute(mad)) {
    case MAD_NODE_INFO:
        return get_node_info(port, mad_data(mad));
    case MAD_NODE_DESCRIPTION:
        return get_node_description(port, mad_data(mad));
    case MAD_PORT_INFO:
        return get_port_info(sma, port, mad);
    case MAD_SWITCH_INFO:
        return get_switch_info(sma, port, mad_data(mad));
    default:
        return get_or_set(sma, port, mad, false);
    }
}

uint16_t sma_set(struct sma *sma, struct net_port *port, struct mad *mad)
{
    struct net_port *target;
    uint16_t status;

    assert(mad_method(mad) == MAD_SET);
    switch (mad_attribute(mad)) {
    case MAD_PORT_INFO:
        target = named_port(port, mad_modifier(mad) & 0xFF);
        if (!target)
            return MAD_STATUS_BAD_FIELD;
        status = sma_set_port_info(sma, target, mad_data(mad));
        get_port_info(sma, port, mad);
        return status;
    case MAD_SWITCH_INFO:
        return set_switch_info(sma, port, mad_data(mad));
    case MAD_NODE_INFO:
    case MAD_NODE_DESCRIPTION:
        return MAD_STATUS_BAD_METHOD;
    default:
        return get_or_set(sma, port, mad, true);
    }
}
