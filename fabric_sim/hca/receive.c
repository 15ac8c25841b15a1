/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrival: the checks of chapter 9.6 in its order. What fails one of them is dropped in silence;
 * the sender learns of it by its time-out alone.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

static bool gid_equal(const union fabric_gid *a, const union fabric_gid *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static bool gid_is_own(const struct port_info *info, const union fabric_gid *gid)
{
    bool infiniband = info->link_layer != FABRIC_LINK_LAYER_ETHERNET;
    for (uint16_t i = 0; i < info->gid_count; i++)
        if (rules_gid(&info->gids[i].gid, gid, infiniband))
            return true;
    return false;
}

/* Chapter 7.11 and 8.4: the packet is for this port at all. */
static const char *not_for_port(const struct hca_port *port, const struct packet *packet)
{
    const struct port_info *info = port->info;
    bool ethernet = info->link_layer == FABRIC_LINK_LAYER_ETHERNET;
    if (info->state < FABRIC_PORT_ARMED)
        return "port state";
    assert(info->gid_count <= PORT_GIDS);
    bool multicast = ethernet ? packet->dgid.raw[0] == 0xff : packet->dlid >= 0xc000;
    if (multicast)
        return NULL;
    if (!ethernet && !rules_dlid(info, packet->dlid))
        return "DLID";
    if (packet->is_global && !gid_is_own(info, &packet->dgid))
        return "DGID";
    return NULL;
}

/* Chapter 9.6.1.2.1: the queue pair is one of this port, transport and type agree, and it receives.
 * A requester takes only responses, a target only requests. */
static const char *wrong_queue_pair(const struct qp_context *ctx, const struct hca_port *port,
                                    const struct packet *packet)
{
    uint8_t kind = rules_opcode(packet->opcode)->kind;
    assert(ctx->path->transport != BTH_RD && ctx->path->transport <= BTH_DC);
    bool response = kind == RULES_RESPONSE;
    uint8_t state = ctx->qp->state;
    if (ctx->qp->attr.port_num != port->info->port_num && !PLANTED(hca_port_unchecked))
        return "port";
    if (ctx->path->transport != (packet->opcode & 0xe0))
        return "transport";
    uint8_t type = ctx->qp->type;
    if ((type == HCA_QP_DCI || type == HCA_QP_XRC_INI) && !response)
        return "direction";
    if ((type == HCA_QP_DCT || type == HCA_QP_XRC_TGT) && response)
        return "direction";
    if (ctx->qp->type == HCA_QP_UD && kind != RULES_SEND)
        return "opcode";
    if ((state < FABRIC_QPS_RTR || state == FABRIC_QPS_ERR) && !PLANTED(hca_state_unchecked))
        return "QP state";
    return NULL;
}

/* Chapter 9.6.1.2.3 and 10.9.3: on requests, acknowledgements and responses alike. */
static bool pkey_matches(struct hca_port *port, const struct qp_context *ctx,
                         const struct packet *packet)
{
    bool response = rules_opcode(packet->opcode)->kind == RULES_RESPONSE;
    if (PLANTED(hca_pkey_not_on_acks) && (packet->opcode & 0x1f) == BTH_ACKNOWLEDGE)
        return true;
    if (PLANTED(hca_pkey_not_on_responses) && response)
        return true;
    if (rules_pkey(port->info->pkeys[ctx->qp->attr.pkey_index], packet->pkey))
        return true;
    if (!PLANTED(hca_bad_pkey_uncounted))
        port->info->counters.bad_pkey++;
    event_trap(port, 257, packet, packet->pkey);
    return false;
}

/* Chapter 9.6.1.5: a connected queue pair hears only its peer. A DC target has none; its
 * responders were made for the source they came from. */
static const char *wrong_peer(const struct hca *hca, const struct qp_context *ctx,
                              const struct hca_port *port, const struct packet *packet)
{
    if (!rules_grh(ctx->path->av.is_global, packet->is_global))
        return "GRH";
    if (ctx->qp->type == HCA_QP_DCT)
        return NULL;
    bool ethernet = port->info->link_layer == FABRIC_LINK_LAYER_ETHERNET;
    if (packet->is_global && !rules_gid(&ctx->path->av.grh.dgid, &packet->sgid, !ethernet))
        return "SGID";
    if (!ethernet && hca_has(hca, FABRIC_CAP_SLID_CHECK) &&
        !rules_slid(ctx->path->av.dlid, packet->slid))
        return "SLID";
    return NULL;
}

static void dispatch(struct qp_context *ctx, struct hca_port *port, struct packet *packet)
{
    if (ctx->qp->type == HCA_QP_DCT) {
        dc_request(ctx, port, packet);
        return;
    }
    if (ctx->qp->type == HCA_QP_UC) {
        uc_request(ctx, packet);
        return;
    }
    if (rules_opcode(packet->opcode)->kind != RULES_RESPONSE) {
        responder_request(ctx, packet);
        return;
    }
    if (ctx->path->transport == BTH_DC &&
        (!ctx->req->connected || packet->qkey != (uint32_t)ctx->req->connection)) {
        packet_drop(ctx->hca, packet, "DC connection");
        return;
    }
    requester_response(ctx, packet);
}

static void receive_multicast(struct hca *hca, struct hca_port *port, struct packet *packet)
{
    for (uint32_t i = 0; i < hca->state.device->mcasts.used; i++) {
        const struct mcast_state *member =
            table_at(&hca->state.arena, &hca->state.device->mcasts, i);
        if (!member->slot.id || !gid_equal(&member->gid, &packet->dgid))
            continue;
        const struct qp_state *qp =
            table_find(&hca->state.arena, &hca->state.device->qps, member->qp);
        if (!qp || qp->attr.port_num != port->info->port_num || qp->state < FABRIC_QPS_RTR ||
            qp->state == FABRIC_QPS_ERR || !pkey_matches(port, context_of(hca, qp), packet))
            continue;
        ud_receive(context_of(hca, qp), port, packet);
    }
    net_free(hca->net, packet);
}

void receive_packet(struct hca *hca, struct hca_port *port, struct packet *packet)
{
    assert(packet && port->hca == hca);
    if (sim_trace_on(hca->sim))
        packet_trace(hca, "rx", packet, NULL);
    const char *reason = hca->state.device->removed ? "device removed" : not_for_port(port, packet);
    if (reason) {
        packet_drop(hca, packet, reason);
        return;
    }
    if (packet->dest_qp == 0xffffff) {
        receive_multicast(hca, port, packet);
        return;
    }
    struct qp_context *ctx = context_by_number(hca, packet->dest_qp);
    if (!ctx) {
        packet_drop(hca, packet, "no such QP");
        return;
    }
    reason = wrong_queue_pair(ctx, port, packet);
    if (!reason && !pkey_matches(port, ctx, packet))
        reason = "P_Key";
    if (!reason && ctx->qp->type != HCA_QP_UD)
        reason = wrong_peer(hca, ctx, port, packet);
    if (reason) {
        packet_drop(hca, packet, reason);
        return;
    }
    if (ctx->qp->type == HCA_QP_UD) {
        ud_receive(ctx, port, packet);
        net_free(hca->net, packet);
        return;
    }
    dispatch(ctx, port, packet);
}
