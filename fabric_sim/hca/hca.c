/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/hca.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/hca/engine.h"
#include "src/fabric/planted.h"

/* ------------------------------------------------------------------ create, destroy */

/* RoCE has one P_Key, the default one (annex A16.4.3). */
void port_size_tables(struct hca_port *port)
{
    const struct hca_profile *profile = port->hca->profile;
    struct port_info *info = port->info;
    bool ethernet = info->link_layer == FABRIC_LINK_LAYER_ETHERNET;
    info->pkey_count = ethernet ? 1 : profile->pkey_count;
    info->gid_count = profile->gid_count;
    port->state->link_layer = info->link_layer;
    assert(info->pkey_count <= PORT_PKEYS && info->gid_count <= PORT_GIDS);
    if (ethernet)
        info->pkeys[0] = 0xffff;
}

static void init_ports(struct hca *hca)
{
    struct hca_arena *arena = &hca->state.arena;
    uint8_t count = net_node_ports(hca->node);
    assert(count > 0);
    hca->ports = calloc(count, sizeof(hca->ports[0]));
    if (!hca->ports)
        abort();
    hca->state.device->port_count = count;
    hca->state.device->ports = hca_arena_chunk(arena, count * sizeof(struct port_state));
    if (!hca->state.device->ports)
        abort(); /* a region of a segment holds more ports than a device has */
    for (uint8_t i = 0; i < count; i++) {
        struct hca_port *port = &hca->ports[i];
        port->hca = hca;
        port->net_port = net_node_port(hca->node, (uint8_t)(i + 1));
        port->home = net_port_info(port->net_port);
        port->state = state_port(&hca->state, (uint8_t)(i + 1));
        net_port_place_info(port->net_port, &port->state->info);
        port->info = net_port_info(port->net_port);
        port_size_tables(port);
        port->state->gid0 = port->info->gids[0].gid;
    }
}

struct hca *hca_create(struct net *net, const struct hca_init *init)
{
    assert(net && init && init->node && init->profile);
    struct hca *hca = calloc(1, sizeof(*hca));
    if (!hca)
        abort();
    hca->net = net;
    hca->sim = net_sim(net);
    hca->node = init->node;
    hca->label = net_node_name(init->node);
    state_create(&hca->state, init->memory, init->memory_size, init->profile);
    struct device_state *device = hca->state.device;
    snprintf(device->name, sizeof(device->name), "%s", init->name ? init->name : hca->label);
    hca->profile = init->profile;
    device->caps = init->profile->caps & init->caps;
    hca->discard_payload = init->discard_payload;
    hca->reach = init->reach;
    device->node_guid = net_node_guid(init->node);
    device->sys_image_guid =
        init->sys_image_guid ? init->sys_image_guid : net_node_guid(init->node);
    device->key_scramble = scramble_make(sim_random(hca->sim), 24);
    uint64_t qpns = sim_random(hca->sim);
    device->qpn_scramble = scramble_make(hca->profile->qpn_counts ? 0 : qpns, 24);
    init_ports(hca);
    struct net_owner owner = {.context = hca,
                              .receive = port_receive,
                              .changed = port_changed,
                              .can_send = port_can_send};
    net_node_set_owner(init->node, &owner);
    return hca;
}

void hca_destroy(struct hca *hca)
{
    assert(hca);
    memset(&hca->notify, 0, sizeof(hca->notify));
    struct net_owner nobody = {.context = NULL};
    net_node_set_owner(hca->node, &nobody);
    windows_cancel(hca);
    if (hca->overrun)
        sim_cancel(hca->sim, hca->overrun);
    for (uint32_t i = 0; i < hca->contexts.capacity; i++)
        if (hca->contexts.at[i])
            context_free(hca->contexts.at[i]);
    for (uint8_t i = 0; i < hca->state.device->port_count; i++) {
        struct hca_port *port = &hca->ports[i];
        port_close(port);
        net_port_place_info(port->net_port, port->home);
    }
    free(hca->contexts.at);
    free(hca->dcr_contexts.at);
    free(hca->revokes);
    free(hca->ports);
    state_close(&hca->state);
    free(hca);
}

void hca_remove(struct hca *hca)
{
    assert(hca);
    if (hca->state.device->removed)
        return;
    for (uint32_t i = 0; i < hca->contexts.capacity; i++) {
        struct qp_context *ctx = hca->contexts.at[i];
        if (ctx && ctx->qp->state != FABRIC_QPS_RESET)
            qp_enter_error(ctx);
    }
    windows_end_revoking(hca);
    struct hca_event event = {.kind = HCA_EVENT_ASYNC, .type = FABRIC_ASYNC_DEVICE_FATAL};
    event_push(hca, &event);
    hca->state.device->removed = true;
}

/* ------------------------------------------------------------------ queries */

const char *hca_name(const struct hca *hca)
{
    return hca->state.device->name;
}

struct net_node *hca_node(const struct hca *hca)
{
    return hca->node;
}

const struct hca_profile *hca_profile(const struct hca *hca)
{
    return hca->profile;
}

fabric_caps hca_caps(const struct hca *hca)
{
    return hca->state.device->caps;
}

bool hca_is_removed(const struct hca *hca)
{
    return hca->state.device->removed;
}

size_t hca_memory(const struct hca *hca)
{
    const struct device_state *device = hca->state.device;
    size_t bytes = sizeof(*hca) + hca_arena_held(&hca->state.arena);
    bytes += device->port_count * sizeof(hca->ports[0]);
    bytes += (hca->contexts.capacity + hca->dcr_contexts.capacity) * sizeof(hca->contexts.at[0]);
    bytes += hca->revoke_capacity * sizeof(hca->revokes[0]);
    bytes += (device->qps.live + device->dcrs.live) * sizeof(struct qp_context);
    for (uint32_t i = 0; i < hca->contexts.capacity; i++) {
        const struct qp_context *ctx = hca->contexts.at[i];
        if (ctx)
            bytes += ctx->qp->sq_depth * sizeof(ctx->slots[0]);
    }
    return bytes;
}

void hca_device_query(const struct hca *hca, struct fabric_device_attr *out)
{
    assert(hca && out);
    const struct hca_profile *p = hca->profile;
    *out = (struct fabric_device_attr){.node_guid = net_node_guid(hca->node),
                                       .sys_image_guid = hca->state.device->sys_image_guid,
                                       .vendor_id = p->vendor_id,
                                       .vendor_part_id = p->vendor_part_id,
                                       .hw_ver = p->hw_ver,
                                       .caps = hca->state.device->caps,
                                       .num_ports = hca->state.device->port_count,
                                       .max_rd_atomic = p->max_rd_atomic,
                                       .max_init_rd_atomic = p->max_init_rd_atomic,
                                       .local_ca_ack_delay = p->local_ca_ack_delay,
                                       .max_qp = p->max_qp,
                                       .max_qp_wr = p->max_qp_wr,
                                       .max_sge = p->max_sge,
                                       .max_cq = p->max_cq,
                                       .max_cqe = p->max_cqe,
                                       .max_mr = p->max_mr,
                                       .max_srq = p->max_srq,
                                       .max_ah = p->max_ah,
                                       .max_inline = p->max_inline,
                                       .max_mr_size = p->max_mr_size};
    snprintf(out->name, sizeof(out->name), "%s", hca->state.device->name);
    snprintf(out->fw_ver, sizeof(out->fw_ver), "%s", p->fw_ver);
    snprintf(out->driver, sizeof(out->driver), "%s", p->driver);
}

static enum fabric_error port_info_of(const struct hca *hca, uint8_t port_num,
                                      const struct hca_port **out)
{
    if (hca->state.device->removed)
        return ERR_DEVICE_REMOVED;
    if (port_num < 1 || port_num > hca->state.device->port_count)
        return ERR_INVALID_ARGUMENT;
    *out = &hca->ports[port_num - 1];
    return FABRIC_OK;
}

enum fabric_error hca_port_query(const struct hca *hca, uint8_t port_num,
                                 struct fabric_port_attr *out)
{
    assert(out);
    const struct hca_port *port;
    enum fabric_error error = port_info_of(hca, port_num, &port);
    if (error)
        return error;
    const struct port_info *info = port->info;
    *out = (struct fabric_port_attr){.port_num = port_num,
                                     .state = info->state,
                                     .link_layer = info->link_layer,
                                     .lid = info->lid,
                                     .sm_lid = info->sm_lid,
                                     .phys_state = info->disabled                    ? 3
                                                   : info->state == FABRIC_PORT_DOWN ? 2
                                                                                     : 5,
                                     .sm_sl = info->sm_sl,
                                     .lmc = info->lmc,
                                     .max_mtu = info->mtu_cap,
                                     .active_mtu = info->active_mtu,
                                     .flags = info->grh_required ? FABRIC_PORT_GRH_REQUIRED : 0u,
                                     .gid_tbl_len = info->gid_count,
                                     .pkey_tbl_len = info->pkey_count,
                                     .active_speed_mbps = info->rate_mbps,
                                     .active_width = 4,
                                     .port_guid = info->guid,
                                     .bad_pkey_cntr = (uint32_t)info->counters.bad_pkey,
                                     .qkey_viol_cntr = (uint32_t)info->counters.bad_qkey};
    return FABRIC_OK;
}

enum fabric_error hca_gid_query(const struct hca *hca, uint8_t port_num, uint32_t index,
                                struct fabric_gid_entry *out)
{
    static const union fabric_gid none;
    assert(out);
    const struct hca_port *port;
    enum fabric_error error = port_info_of(hca, port_num, &port);
    if (error)
        return error;
    if (index >= port->info->gid_count)
        return ERR_NOT_FOUND;
    const struct port_gid *entry = &port->info->gids[index];
    union fabric_gid gid = index == 0 ? port->state->gid0 : entry->gid;
    if (memcmp(&gid, &none, sizeof(gid)) == 0)
        return ERR_NOT_FOUND;
    *out = (struct fabric_gid_entry){.gid = gid, .type = entry->type, .index = index};
    snprintf(out->netdev, sizeof(out->netdev), "%s", entry->netdev);
    return FABRIC_OK;
}

enum fabric_error hca_pkey_query(const struct hca *hca, uint8_t port_num, uint32_t index,
                                 uint16_t *out)
{
    assert(out);
    const struct hca_port *port;
    enum fabric_error error = port_info_of(hca, port_num, &port);
    if (error)
        return error;
    if (index >= port->info->pkey_count)
        return ERR_PKEY_INDEX_RANGE;
    *out = port->info->pkeys[index];
    return FABRIC_OK;
}

enum fabric_error hca_counters_query(const struct hca *hca, uint8_t port_num,
                                     struct fabric_port_counters *out)
{
    assert(out);
    const struct hca_port *port;
    enum fabric_error error = port_info_of(hca, port_num, &port);
    if (error)
        return error;
    *out = port->info->counters;
    return FABRIC_OK;
}
