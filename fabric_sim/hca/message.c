/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/message.h"

#include <assert.h>
#include <string.h>

#include "fabric_sim/hca/completion.h"
#include "fabric_sim/hca/header.h"
#include "fabric_sim/hca/message_state.h"
#include "fabric_sim/hca/queue.h"
#include "src/fabric/planted.h"

struct recv_ring *message_receives(struct message_end *end, struct srq_state **srq)
{
    *srq = end->qp->srq ? table_find(&end->state->arena, &end->state->device->srqs, end->qp->srq)
                        : NULL;
    return *srq ? &(*srq)->rq : &end->qp->rq;
}

struct cq_state *message_cq(const struct message_end *end, uint32_t id)
{
    return table_find(&end->state->arena, &end->state->device->cqs, id);
}

/* ------------------------------------------------------------------ counters */

static uint64_t weight(const struct message *m, uint8_t operation, uint32_t payload)
{
    struct packet packet = {.is_global = m->head.is_global, .payload_length = payload};
    packet.opcode = (uint8_t)((m->head.opcode & 0xe0) | operation);
    return header_wire_bytes(&packet, m->from.port->link_layer == FABRIC_LINK_LAYER_ETHERNET);
}

static void count(struct port_info *from, struct port_info *to, uint64_t packets, uint64_t bytes)
{
    if (PLANTED(message_uncounted))
        return;
    from->counters.xmit_packets += packets;
    from->counters.xmit_data += bytes;
    to->counters.rcv_packets += packets;
    to->counters.rcv_data += bytes;
}

/* The packets of a message or of the responses to a READ, that begin, go on and end by these. */
static void count_train(const struct message *m, struct port_info *from, struct port_info *to,
                        const uint8_t operations[4])
{
    uint32_t length = m->wqe->length, mtu = m->path.mtu;
    if (m->span == 1) {
        count(from, to, 1, weight(m, operations[3], length));
        return;
    }
    uint64_t bytes = weight(m, operations[0], mtu) + weight(m, operations[1], mtu) * (m->span - 2) +
                     weight(m, operations[2], length - mtu * (m->span - 1));
    count(from, to, m->span, bytes);
}

static void count_packets(const struct message *m)
{
    struct port_info *from = m->from.port, *to = m->to.port;
    enum hca_wr_opcode opcode = m->wqe->opcode;
    static const uint8_t responses[4] = {BTH_READ_RESPONSE_FIRST, BTH_READ_RESPONSE_MIDDLE,
                                         BTH_READ_RESPONSE_LAST, BTH_READ_RESPONSE_ONLY};
    if (m->loops)
        return; /* the wire never saw them */
    if (rules_is_read_or_atomic(opcode)) {
        count(from, to, 1, weight(m, m->head.opcode & 0x1f, 0));
        if (opcode == HCA_WR_RDMA_READ)
            count_train(m, to, from, responses);
        else
            count(to, from, 1, weight(m, BTH_ATOMIC_ACKNOWLEDGE, 0));
        return;
    }
    const uint8_t requests[4] = {
        header_operation(opcode, true, false), header_operation(opcode, false, false),
        header_operation(opcode, false, true), header_operation(opcode, true, true)};
    count_train(m, from, to, requests);
    if (m->from.qp->type == HCA_QP_RC)
        count(to, from, 1, weight(m, BTH_ACKNOWLEDGE, 0));
}

/* ------------------------------------------------------------------ both ends go on */

static void complete(const struct message *m, const struct message_end *end, uint32_t cq_id,
                     const struct hca_wc *wc, uint32_t release, bool solicited)
{
    struct cq_state *cq = message_cq(end, cq_id);
    bool put = cq_ring_put(end->state, cq, wc, end->qp->slot.id, release, m->world->now);
    assert(put || PLANTED(message_cq_room)); /* there was room */
    (void)put;
    if (m->world->completed)
        m->world->completed(m->world->context, end->state, cq, solicited,
                            queue_tells(cq, solicited));
}

/* A receive belongs to the responder between leaving its ring and completing: who dies there loses
 * none. */
static void receive(struct message *m)
{
    struct srq_state *srq;
    struct recv_ring *rq = message_receives(&m->to, &srq);
    struct responder *rsp = m->to.rsp;
    bool datagram = m->from.qp->type == HCA_QP_UD;
    bool write = rules_opcode(m->head.opcode)->kind == RULES_WRITE;
    bool taken = recv_ring_take(&m->to.state->arena, rq, &rsp->recv);
    assert(taken);
    rsp->has_recv = taken;
    struct packet last = m->head;
    last.opcode =
        (uint8_t)((m->head.opcode & 0xe0) | header_operation(m->wqe->opcode, false, true));
    struct hca_wc wc = datagram ? completion_of_datagram(m->to.qp, m->to.port, &m->head)
                                : completion_of_message(&last, write, m->wqe->length);
    if (PLANTED(message_imm_lost))
        wc.imm = 0;
    completion_name_receive(&wc, m->to.qp, &rsp->recv);
    complete(m, &m->to, m->to.qp->recv_cq, &wc, m->to.qp->rq.tail, m->head.solicited);
    rsp->has_recv = false;
}

static void responder_goes_on(const struct message *m)
{
    struct responder *rsp = m->to.rsp;
    rsp->epsn = rules_psn_add(rsp->epsn, PLANTED(message_psn_one) ? 1 : m->span);
    rsp->msn = rules_psn_add(rsp->msn, 1);
    rsp->comm_est = true;
    if (m->from.qp->type == HCA_QP_RC)
        rsp->position += m->span;
}

static void request_is_done(struct message *m)
{
    struct qp_state *qp = m->from.qp;
    bool signaled = completion_is_signaled(qp, m->wqe) || PLANTED(message_always_signaled);
    struct hca_wc wc = completion_of_send(qp, m->wqe, FABRIC_WC_SUCCESS);
    m->from.req->tx = ++qp->sq_tail;
    if (signaled)
        complete(m, &m->from, qp->send_cq, &wc, qp->sq_tail, false);
}

static void requester_goes_on(struct message *m)
{
    struct requester *req = m->from.req;
    const struct qp_state *qp = m->from.qp;
    *m->from.path = m->path;
    req->next_psn = rules_psn_add(req->next_psn, m->span);
    req->una_psn = req->sent_psn = req->tx_psn = req->next_psn;
    req->awaited_psn = rules_psn_add(req->next_psn, RULES_PSN_MASK);
    req->retry_left = qp->attr.retry_cnt;
    req->rnr_left = qp->attr.rnr_retry;
    req->restarting = false;
    request_is_done(m);
}

/* A window is bound or invalidated between what was before, all of it done, and what comes after
 * (chapters 10.6.7.2.6, 10.8.3). */
static bool bind_one(struct message *m)
{
    struct bind bind;
    if (!message_may_bind(m, &bind))
        return false;
    bind_execute(m->from.state, m->wqe, &bind);
    request_is_done(m);
    return true;
}

static bool begin(struct message *m, const struct message_world *world, struct hca_state *state,
                  struct qp_state *qp, uint32_t counter)
{
    struct transport_state *transport = state_transport(state, qp);
    *m = (struct message){.world = world,
                          .from = {.state = state,
                                   .qp = qp,
                                   .path = &transport->path,
                                   .req = &transport->req,
                                   .rsp = &transport->rsp},
                          .wqe = send_ring_at(&state->arena, qp, counter)};
    if (qp->attr.port_num < 1 || qp->attr.port_num > state->device->port_count)
        return false;
    m->from.port = &state_port(state, qp->attr.port_num)->info;
    return true;
}

/* False: the oldest request is not for this engine. */
static bool carry_one(const struct message_world *world, struct hca_state *state,
                      struct qp_state *qp)
{
    struct message m;
    if (!begin(&m, world, state, qp, qp->sq_tail))
        return false;
    if (rules_is_local(m.wqe->opcode))
        return bind_one(&m);
    if (!message_may_carry(&m) || !message_copy(&m))
        return false;
    count_packets(&m);
    if (m.receives)
        receive(&m);
    if (qp->type != HCA_QP_UD)
        responder_goes_on(&m);
    requester_goes_on(&m);
    return true;
}

bool message_passes(const struct message_world *world, struct hca_state *state, struct qp_state *qp)
{
    struct message m;
    uint32_t next = state_transport(state, qp)->req.tx;
    assert(next != qp->sq_head);
    return begin(&m, world, state, qp, next) && !rules_is_local(m.wqe->opcode) &&
           message_reaches(&m) && m.path.mtu == m.to.path->mtu;
}

uint32_t message_run(const struct message_world *world, struct hca_state *state,
                     struct qp_state *qp, uint32_t most)
{
    assert(world && world->route && world->copy && world->quiet && state && qp);
    uint32_t carried = 0;
    while (carried < most && qp->sq_tail != qp->sq_head && carry_one(world, state, qp))
        carried++;
    return carried;
}
