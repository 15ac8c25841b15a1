/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrival: the checks of chapter 9.6 in its order. What fails one of them is dropped in silence;
 * the sender learns of it by its time-out alone.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "fabric_sim/hca/arrive.h"
#include "src/fabric/planted.h"

static bool gid_equal(const union fabric_gid *a, const union fabric_gid *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static bool pkey_matches(struct hca_port *port, const struct qp_context *ctx,
                         const struct packet *packet)
{
    if (arrive_pkey(ctx->qp, port->info, packet))
        return true;
    if (!PLANTED(hca_bad_pkey_uncounted))
        port->info->counters.bad_pkey++;
    event_trap(port, 257, packet, packet->pkey);
    return false;
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
    const char *reason =
        hca->state.device->removed ? "device removed" : arrive_port(port->info, packet);
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
    reason = arrive_queue_pair(ctx->qp, ctx->path, port->info, packet);
    if (!reason && !pkey_matches(port, ctx, packet))
        reason = "P_Key";
    if (!reason && ctx->qp->type != HCA_QP_UD)
        reason = arrive_peer(hca->state.device->caps, ctx->qp, ctx->path, port->info, packet);
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
