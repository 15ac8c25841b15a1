/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynamically connected transport. No public specification describes its wire form; this is ours:
 * a connect takes one PSN before the first request to a target, every packet carries the DC key
 * and the low bits of the connection's number, a disconnect follows the last acknowledgement. A
 * target keeps one responder per initiator.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

#define MAX_RESPONDERS 4096 /* of one target */
/* ns; beyond what an initiator waits between two tries */
#define IDLE_LIMIT UINT64_C(60000000000)

struct packet *dc_disconnect(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    assert(req->connected && req->una_psn == req->next_psn);
    struct packet *packet = context_packet(ctx, DC_DISCONNECT, req->next_psn);
    packet_finish(port_of(ctx->hca, ctx->path->port_num), packet);
    req->connected = false;
    return packet;
}

struct qp_context *dcr_context(const struct hca *hca, uint32_t number)
{
    assert(number <= hca->dcr_contexts.capacity);
    return number ? hca->dcr_contexts.at[number - 1] : NULL;
}

static struct dcr_name name_of(const struct qp_context *target, const struct packet *packet)
{
    return (struct dcr_name){.target = target->qp->slot.id,
                             .initiator = packet->src_qp,
                             .is_global = packet->is_global,
                             .dlid = packet->slid,
                             .dgid = packet->sgid};
}

/* Most packets come from the initiator that the one before came from. */
static bool is_from(const struct qp_context *dcr, const struct packet *packet)
{
    const struct fabric_av *av = &dcr->path->av;
    if (dcr->dcr->initiator != packet->src_qp || av->is_global != packet->is_global ||
        av->dlid != packet->slid)
        return false;
    return !packet->is_global || memcmp(&av->grh.dgid, &packet->sgid, sizeof(packet->sgid)) == 0;
}

static struct qp_context *find_responder(struct qp_context *target, const struct packet *packet)
{
    if (target->dcr_recent && is_from(target->dcr_recent, packet))
        return target->dcr_recent;
    struct dcr_name name = name_of(target, packet);
    const struct dcr_state *dcr = state_dcr_find(&target->hca->state, &name);
    if (!dcr)
        return NULL;
    target->dcr_recent = dcr_context(target->hca, slot_index(&dcr->slot) + 1);
    return target->dcr_recent;
}

static void drop_responder(struct qp_context *target, struct qp_context *dcr)
{
    struct dcr_state *state = dcr->dcr;
    assert(state->target == target->qp->slot.id);
    target->dcr_recent = NULL;
    context_free(dcr);
    state_dcr_drop(&target->hca->state, state);
}

static bool goes_before(const struct dcr_state *a, const struct dcr_state *b)
{
    if (PLANTED(hca_dc_oldest_goes))
        return false;
    if (a->closed != b->closed)
        return a->closed;
    return a->used < b->used;
}

/* A closed connection if there is one, else the one that was idle longest. */
static void make_room(struct qp_context *target)
{
    struct qp_context *chosen = dcr_context(target->hca, target->qp->dcr_first);
    assert(chosen);
    struct qp_context *at = dcr_context(target->hca, chosen->dcr->next);
    for (; at; at = dcr_context(target->hca, at->dcr->next))
        if (goes_before(at->dcr, chosen->dcr))
            chosen = at;
    qp_flush_recvs(chosen);
    drop_responder(target, chosen);
}

/* What an initiator had taken from the SRQ is given up without a completion. */
void dc_drop_all(struct qp_context *target)
{
    while (target->qp->dcr_first)
        drop_responder(target, dcr_context(target->hca, target->qp->dcr_first));
}

/* The way back is the way the connect came (chapter 9.6.1.5, for want of an own rule). */
static void address_back(struct qp_context *dcr, const struct qp_context *target,
                         const struct hca_port *port, const struct packet *packet)
{
    dcr->path->av = target->path->av;
    dcr->path->av.dlid = packet->slid;
    dcr->path->av.sl = packet->sl;
    dcr->path->av.port_num = port->info->port_num;
    dcr->path->av.src_path_bits = (uint8_t)(packet->dlid & ((1u << port->info->lmc) - 1));
    dcr->path->av.is_global = packet->is_global;
    if (packet->is_global)
        dcr->path->av.grh.dgid = packet->sgid;
}

/* Null when memory is out and the target has no other responder to give up. */
static struct qp_context *new_responder(struct qp_context *target, const struct hca_port *port,
                                        const struct packet *packet)
{
    struct hca *hca = target->hca;
    struct dcr_name name = name_of(target, packet);
    if (target->qp->dcr_count >= MAX_RESPONDERS)
        make_room(target);
    struct dcr_state *state = state_dcr_add(&hca->state, &name);
    if (!state && target->qp->dcr_count > 0) {
        make_room(target);
        state = state_dcr_add(&hca->state, &name);
    }
    if (!state)
        return NULL;
    struct qp_context *dcr = context_make(hca, target->qp, state);
    dcr->path->transport = BTH_DC;
    dcr->path->port_num = target->path->port_num;
    dcr->path->mtu = target->path->mtu;
    address_back(dcr, target, port, packet);
    return dcr;
}

/* How a wrong key fails is the device's affair: in silence or by a NAK, but nothing lands. */
static void refuse_key(struct qp_context *dcr)
{
    static const enum rules_nak naks[] = {RULES_NAK_INVALID_REQUEST, RULES_NAK_REMOTE_ACCESS};
    uint64_t how = sim_random_below(dcr->hca->sim, 4);
    if (how < 2)
        responder_nak(dcr, naks[how]);
    else
        dcr->dcr->closed = true;
}

static void connect(struct qp_context *target, const struct hca_port *port, struct packet *packet)
{
    struct hca *hca = target->hca;
    struct qp_context *dcr = find_responder(target, packet);
    /* Numbers grow, so a connect from the past changes nothing. */
    if (dcr && packet->va <= dcr->dcr->connection) {
        packet_drop(hca, packet, "duplicate");
        return;
    }
    if (!dcr)
        dcr = new_responder(target, port, packet);
    if (!dcr) {
        packet_drop(hca, packet, "no responder");
        return;
    }
    qp_flush_recvs(dcr);
    responder_reset(dcr);
    address_back(dcr, target, port, packet);
    dcr->dcr->connection = packet->va;
    dcr->dcr->used = sim_now(hca->sim);
    dcr->dcr->connect_psn = packet->psn;
    dcr->dcr->closed = false;
    dcr->rsp->epsn = rules_psn_add(packet->psn, 1);
    SIM_TRACE(hca->sim, hca->label, "dc connect target=0x%06x initiator=0x%06x",
              (unsigned)target->qp->qp_num, (unsigned)packet->src_qp);
    if (packet->dc_key != target->qp->dc_access_key && !PLANTED(hca_dc_key_unchecked))
        refuse_key(dcr);
    net_free(hca->net, packet);
}

static bool is_unfinished(const struct qp_context *dcr)
{
    return !dcr->dcr->closed && dcr->rsp->previous != RESPONDER_NO_OPCODE;
}

static void idle_due(void *object, uint64_t unused)
{
    (void)unused;
    struct qp_context *dcr = object;
    struct sim *sim = dcr->hca->sim;
    dcr->timer = 0;
    if (!is_unfinished(dcr))
        return;
    if (sim_now(sim) - dcr->dcr->used < IDLE_LIMIT) {
        dcr->timer = sim_at(sim, dcr->dcr->used + IDLE_LIMIT, idle_due, dcr, 0);
        return;
    }
    SIM_TRACE(sim, dcr->hca->label, "dc idle target=0x%06x initiator=0x%06x",
              (unsigned)dcr->qp->qp_num, (unsigned)dcr->dcr->initiator);
    dcr->dcr->closed = true;
    landing_abandon(dcr);
    resources_drop(dcr);
    qp_flush_recvs(dcr);
}

/* An initiator that dies in the middle of a message says no word: what it holds of the SRQ would
 * never come back. */
static void watch(struct qp_context *dcr)
{
    if (!dcr->timer && is_unfinished(dcr) && !PLANTED(hca_dc_idle_kept))
        dcr->timer = sim_in(dcr->hca->sim, IDLE_LIMIT, idle_due, dcr, 0);
}

void dc_request(struct qp_context *target, struct hca_port *port, struct packet *packet)
{
    struct hca *hca = target->hca;
    assert(target->qp->type == HCA_QP_DCT && !target->dcr);
    uint8_t operation = packet->opcode & 0x1f;
    if (operation == DC_CONNECT) {
        connect(target, port, packet);
        return;
    }
    struct qp_context *dcr = find_responder(target, packet);
    if (!dcr || dcr->dcr->closed || packet->qkey != (uint32_t)dcr->dcr->connection) {
        packet_drop(hca, packet, "DC connection");
        return;
    }
    dcr->dcr->used = sim_now(hca->sim);
    if (operation == DC_DISCONNECT) {
        /* Kept, closed, so that late packets of the connection are recognised. */
        bool whole = packet->psn == dcr->rsp->epsn;
        dcr->dcr->closed = whole;
        if (whole)
            resources_drop(dcr);
        packet_drop(hca, packet, "disconnect");
        return;
    }
    responder_request(dcr, packet);
    watch(dcr);
}

uint32_t hca_dct_change_keys(struct hca *hca)
{
    uint32_t count = 0;
    assert(hca);
    for (uint32_t i = 0; i < hca->state.device->qps.used; i++) {
        struct qp_state *qp = table_at(&hca->state.arena, &hca->state.device->qps, i);
        if (!qp->slot.id || qp->type != HCA_QP_DCT)
            continue;
        qp->dc_access_key ^= UINT64_C(1);
        count++;
    }
    return count;
}
