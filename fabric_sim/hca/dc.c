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
#define IDLE_LIMIT                                                                                 \
    UINT64_C(60000000000) /* ns; beyond what an initiator waits between two tries                  \
                           */

struct packet *dc_disconnect(struct qp_context *ctx)
{
    struct requester *req = &ctx->req;
    assert(req->connected && req->una_psn == req->next_psn);
    struct packet *packet = context_packet(ctx, DC_DISCONNECT, req->next_psn);
    packet_finish(port_of(ctx->hca, ctx->port_num), packet);
    req->connected = false;
    return packet;
}

static bool same_initiator(const struct qp_context *dcr, const struct packet *packet)
{
    if (dcr->dcr_initiator != packet->src_qp || dcr->av.is_global != packet->is_global ||
        dcr->av.dlid != packet->slid)
        return false;
    return !packet->is_global ||
           memcmp(&dcr->av.grh.dgid, &packet->sgid, sizeof(packet->sgid)) == 0;
}

static struct qp_context *find_responder(struct qp_context *target, const struct packet *packet)
{
    if (target->dcr_recent && same_initiator(target->dcr_recent, packet))
        return target->dcr_recent;
    struct qp_context *dcr = target->dcr_first;
    while (dcr && !same_initiator(dcr, packet))
        dcr = dcr->dcr_next;
    if (dcr)
        target->dcr_recent = dcr;
    return dcr;
}

static void responder_free(struct qp_context *dcr)
{
    context_unqueue(dcr);
    if (dcr->dcr_timer)
        sim_cancel(dcr->hca->sim, dcr->dcr_timer);
    landing_abandon(dcr);
    resources_drop(dcr);
    free(dcr);
}

static void drop_after(struct qp_context *target, struct qp_context *before)
{
    struct qp_context **link = before ? &before->dcr_next : &target->dcr_first;
    struct qp_context *dcr = *link;
    *link = dcr->dcr_next;
    if (target->dcr_last == dcr)
        target->dcr_last = before;
    assert(target->dcr_count > 0);
    target->dcr_count--;
    target->dcr_recent = NULL;
    responder_free(dcr);
}

static bool goes_before(const struct qp_context *a, const struct qp_context *b)
{
    if (PLANTED(hca_dc_oldest_goes))
        return false;
    if (a->dcr_closed != b->dcr_closed)
        return a->dcr_closed;
    return a->dcr_used < b->dcr_used;
}

/* A closed connection if there is one, else the one that was idle longest. */
static void make_room(struct qp_context *target)
{
    struct qp_context *before = NULL, *chosen = target->dcr_first;
    for (struct qp_context *at = target->dcr_first; at->dcr_next; at = at->dcr_next) {
        if (!goes_before(at->dcr_next, chosen))
            continue;
        before = at;
        chosen = at->dcr_next;
    }
    qp_flush_recvs(chosen);
    drop_after(target, before);
}

/* What an initiator had taken from the SRQ is given up without a completion. */
void dc_drop_all(struct qp_context *target)
{
    while (target->dcr_first)
        drop_after(target, NULL);
}

/* The way back is the way the connect came (chapter 9.6.1.5, for want of an own rule). */
static void address_back(struct qp_context *dcr, const struct qp_context *target,
                         const struct hca_port *port, const struct packet *packet)
{
    dcr->av = target->av;
    dcr->av.dlid = packet->slid;
    dcr->av.sl = packet->sl;
    dcr->av.port_num = port->info->port_num;
    dcr->av.src_path_bits = (uint8_t)(packet->dlid & ((1u << port->info->lmc) - 1));
    dcr->av.is_global = packet->is_global;
    if (packet->is_global)
        dcr->av.grh.dgid = packet->sgid;
}

static struct qp_context *new_responder(struct qp_context *target, const struct hca_port *port,
                                        const struct packet *packet)
{
    if (target->dcr_count >= MAX_RESPONDERS)
        make_room(target);
    struct qp_context *dcr = calloc(1, sizeof(*dcr));
    if (!dcr)
        abort();
    dcr->hca = target->hca;
    dcr->qp = target->qp;
    dcr->dcr = true;
    dcr->transport = BTH_DC;
    dcr->port_num = target->port_num;
    dcr->mtu = target->mtu;
    dcr->dest_qp = dcr->dcr_initiator = packet->src_qp;
    address_back(dcr, target, port, packet);
    if (target->dcr_last)
        target->dcr_last->dcr_next = dcr;
    else
        target->dcr_first = dcr;
    target->dcr_last = dcr;
    target->dcr_count++;
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
        dcr->dcr_closed = true;
}

static void connect(struct qp_context *target, const struct hca_port *port, struct packet *packet)
{
    struct hca *hca = target->hca;
    struct qp_context *dcr = find_responder(target, packet);
    /* Numbers grow, so a connect from the past changes nothing. */
    if (dcr && packet->va <= dcr->dcr_connection) {
        packet_drop(hca, packet, "duplicate");
        return;
    }
    if (!dcr)
        dcr = new_responder(target, port, packet);
    qp_flush_recvs(dcr);
    responder_reset(dcr);
    address_back(dcr, target, port, packet);
    dcr->dcr_connection = packet->va;
    dcr->dcr_used = sim_now(hca->sim);
    dcr->dcr_connect_psn = packet->psn;
    dcr->dcr_closed = false;
    dcr->rsp.epsn = rules_psn_add(packet->psn, 1);
    SIM_TRACE(hca->sim, hca->label, "dc connect target=0x%06x initiator=0x%06x",
              (unsigned)target->qp->qp_num, (unsigned)packet->src_qp);
    if (packet->dc_key != target->qp->dc_access_key && !PLANTED(hca_dc_key_unchecked))
        refuse_key(dcr);
    net_free(hca->net, packet);
}

static bool is_unfinished(const struct qp_context *dcr)
{
    return !dcr->dcr_closed && dcr->rsp.previous != ENGINE_NO_OPCODE;
}

static void idle_due(void *object, uint64_t unused)
{
    (void)unused;
    struct qp_context *dcr = object;
    struct sim *sim = dcr->hca->sim;
    dcr->dcr_timer = 0;
    if (!is_unfinished(dcr))
        return;
    if (sim_now(sim) - dcr->dcr_used < IDLE_LIMIT) {
        dcr->dcr_timer = sim_at(sim, dcr->dcr_used + IDLE_LIMIT, idle_due, dcr, 0);
        return;
    }
    SIM_TRACE(sim, dcr->hca->label, "dc idle target=0x%06x initiator=0x%06x",
              (unsigned)dcr->qp->qp_num, (unsigned)dcr->dcr_initiator);
    dcr->dcr_closed = true;
    landing_abandon(dcr);
    resources_drop(dcr);
    qp_flush_recvs(dcr);
}

/* An initiator that dies in the middle of a message says no word: what it holds of the SRQ would
 * never come back. */
static void watch(struct qp_context *dcr)
{
    if (!dcr->dcr_timer && is_unfinished(dcr) && !PLANTED(hca_dc_idle_kept))
        dcr->dcr_timer = sim_in(dcr->hca->sim, IDLE_LIMIT, idle_due, dcr, 0);
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
    if (!dcr || dcr->dcr_closed || packet->qkey != (uint32_t)dcr->dcr_connection) {
        packet_drop(hca, packet, "DC connection");
        return;
    }
    dcr->dcr_used = sim_now(hca->sim);
    if (operation == DC_DISCONNECT) {
        /* Kept, closed, so that late packets of the connection are recognised. */
        bool whole = packet->psn == dcr->rsp.epsn;
        dcr->dcr_closed = whole;
        if (whole)
            resources_drop(dcr);
        packet_drop(hca, packet, "disconnect");
        return;
    }
    responder_request(dcr, packet);
    watch(dcr);
}
