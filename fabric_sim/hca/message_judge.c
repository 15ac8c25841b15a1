/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which messages the message engine may carry. Each question that the packet engine would ask is
 * asked by the same function; what is answered by no, or would take time, is not for this engine.
 */
#include "fabric_sim/hca/message_state.h"

#include <assert.h>
#include <string.h>

#include "fabric_sim/hca/arrive.h"
#include "fabric_sim/hca/completion.h"
#include "fabric_sim/hca/header.h"
#include "fabric_sim/hca/keys.h"
#include "src/fabric/planted.h"

/* ------------------------------------------------------------------ both ends are idle */

/* Nothing of the queue pair is on its way, waits for an answer or for time to pass. */
static bool requester_idle(const struct message *m)
{
    const struct qp_state *qp = m->from.qp;
    const struct requester *req = m->from.req;
    if (qp->type != HCA_QP_RC && qp->type != HCA_QP_UC && qp->type != HCA_QP_UD)
        return false;
    if (m->wqe->opcode == HCA_WR_SEND_WITH_INV)
        return false; /* keys of the peer: that is for the engine that knows who uses them */
    if (qp->state != FABRIC_QPS_RTS && !PLANTED(message_sqd_begins))
        return false;
    bool quiet = req->una_psn == req->next_psn && req->tx == qp->sq_tail && req->reads == 0;
    return quiet && !req->rnr_waiting && !req->deadline && !m->wqe->started && !m->wqe->local_error;
}

/* It expects this very message, and owes no answer. */
static bool responder_idle(const struct message *m)
{
    const struct responder *rsp = m->to.rsp;
    bool expects = rsp->epsn == m->from.req->next_psn || PLANTED(message_psn_unchecked);
    bool quiet = rsp->ack == ACK_NONE && !rsp->nak_sent && !rsp->pending && !rsp->unanswered;
    bool well = !rsp->fatal && !rsp->silent;
    bool between = rsp->previous == RESPONDER_NO_OPCODE && !rsp->has_recv;
    /* The first one of all is told to the program. */
    bool told = rsp->comm_est || m->to.qp->state != FABRIC_QPS_RTR || PLANTED(message_comm_est);
    return expects && quiet && well && between && told;
}

/* ------------------------------------------------------------------ the way */

static uint8_t first_operation(const struct message *m)
{
    switch ((enum hca_wr_opcode)m->wqe->opcode) {
    case HCA_WR_RDMA_READ:
        return BTH_READ_REQUEST;
    case HCA_WR_ATOMIC_CMP_AND_SWP:
        return BTH_COMPARE_SWAP;
    case HCA_WR_ATOMIC_FETCH_AND_ADD:
        return BTH_FETCH_ADD;
    case HCA_WR_SEND:
    case HCA_WR_SEND_WITH_IMM:
    case HCA_WR_RDMA_WRITE:
    case HCA_WR_RDMA_WRITE_WITH_IMM:
    case HCA_WR_SEND_WITH_INV:
    case HCA_WR_BIND_MW:
    case HCA_WR_LOCAL_INV:
        break;
    }
    return header_operation(m->wqe->opcode, true, m->span == 1);
}

/* From one end to the other; finds the port of the other where it is not known yet. */
static bool way(const struct message *m, const struct message_end *from, const struct packet *head,
                uint32_t payload, struct message_route *out)
{
    const struct message_world *world = m->world;
    bool lane = (from->port->sl_to_vl[head->sl & (PORT_SLS - 1)] & 0xf) < 15;
    *out = (struct message_route){from->state, from->port->port_num, UINT32_MAX};
    if (!lane || from->port->state != FABRIC_PORT_ACTIVE || head->dlid == 0 ||
        head->dlid >= 0xc000 || head->dest_qp == 0xffffff)
        return false;
    if (header_loops_back(from->port, head))
        return true;
    if (!world->route(world->context, from->state, from->port->port_num, head, out))
        return false;
    return (payload <= out->mtu || PLANTED(message_way_mtu)) && !out->state->device->removed;
}

static bool reach_end(struct message_end *end, const struct message_route *route,
                      const struct packet *head)
{
    if (route->port_num < 1 || route->port_num > route->state->device->port_count)
        return false;
    end->state = route->state;
    end->port = &state_port(end->state, route->port_num)->info;
    end->qp = state_qp_by_number(end->state, head->dest_qp);
    if (!end->qp || !end->qp->transport)
        return false;
    struct transport_state *transport = state_transport(end->state, end->qp);
    end->path = &transport->path;
    end->req = &transport->req;
    end->rsp = &transport->rsp;
    return true;
}

static bool arrives(const struct message_end *end, const struct packet *head)
{
    if (arrive_port(end->port, head) || arrive_queue_pair(end->qp, end->path, end->port, head))
        return false;
    if (!arrive_pkey(end->qp, end->port, head) && !PLANTED(message_pkey_unchecked))
        return false;
    return end->qp->type == HCA_QP_UD || PLANTED(message_peer_unchecked) ||
           !arrive_peer(end->state->device->caps, end->qp, end->path, end->port, head);
}

/* An acknowledgement would come back, and to this very queue pair. */
static bool answer_arrives(const struct message *m, uint32_t payload)
{
    struct packet answer = {.opcode = 0};
    struct message_route route;
    if (m->from.qp->type != HCA_QP_RC || PLANTED(message_answer_unasked))
        return true;
    header_fill(&answer, m->to.port, m->to.qp, m->to.path, BTH_ACKNOWLEDGE, 0);
    if (!way(m, &m->to, &answer, payload, &route))
        return false;
    return route.state == m->from.state && route.port_num == m->from.port->port_num &&
           answer.dest_qp == m->from.qp->qp_num && arrives(&m->from, &answer);
}

/* ------------------------------------------------------------------ the message itself */

/* As both ends count packets: a message that both fit into one is the only one that unequal path
 * MTUs agree about. */
static bool lengths_agree(const struct message *m)
{
    uint32_t length = m->wqe->length, mine = m->path.mtu, other = m->to.path->mtu;
    if (m->from.qp->type == HCA_QP_UD)
        return length <= mine || PLANTED(message_datagram_length);
    return mine == other || (length <= mine && length <= other) || PLANTED(message_path_mtu);
}

static bool remote_granted(struct message *m, uint32_t length, uint32_t access)
{
    if (length == 0)
        return true;
    if (!(m->to.qp->attr.access & access) && !PLANTED(message_qp_access_unchecked))
        return false;
    m->remote = keys_remote(m->to.state, m->to.qp, m->to.qp->pd, m->wqe->rkey, m->wqe->remote_addr,
                            length, access);
    return m->remote != NULL;
}

static bool has_depth(const struct message *m)
{
    const struct hca_profile *profile = hca_profile_find(m->to.state->device->profile);
    assert(profile);
    return rules_responder_depth(m->to.qp->type, m->to.state->device->caps,
                                 m->to.qp->attr.max_dest_rd_atomic, profile->max_rd_atomic) > 0 ||
           PLANTED(message_depth_unchecked);
}

static bool remote_allowed(struct message *m)
{
    switch (rules_opcode(m->head.opcode)->kind) {
    case RULES_WRITE:
        return remote_granted(m, m->wqe->length, HCA_ACCESS_REMOTE_WRITE);
    case RULES_READ:
        return has_depth(m) && remote_granted(m, m->wqe->length, HCA_ACCESS_REMOTE_READ);
    case RULES_ATOMIC:
        return (m->wqe->remote_addr % 8 == 0 || PLANTED(message_atomic_unaligned)) &&
               has_depth(m) && remote_granted(m, 8, HCA_ACCESS_REMOTE_ATOMIC);
    default:
        return true;
    }
}

static bool room_for(const struct message_end *end, uint32_t id, uint32_t count)
{
    const struct cq_state *cq = message_cq(end, id);
    return cq && !cq->overrun &&
           (cq->limit - (cq->tail - cq->head) >= count || PLANTED(message_cq_room));
}

static bool has_room(const struct message *m)
{
    bool signaled = completion_is_signaled(m->from.qp, m->wqe);
    bool one =
        m->receives && m->from.state == m->to.state && m->from.qp->send_cq == m->to.qp->recv_cq;
    if (signaled && !room_for(&m->from, m->from.qp->send_cq, one ? 2 : 1))
        return false;
    return !m->receives || room_for(&m->to, m->to.qp->recv_cq, 1);
}

/* A receive that holds it, whose taking nobody is to be told of. */
static bool receivable(struct message *m)
{
    enum hca_wr_opcode opcode = m->wqe->opcode;
    bool send = opcode == HCA_WR_SEND || opcode == HCA_WR_SEND_WITH_IMM;
    m->receives = send || opcode == HCA_WR_RDMA_WRITE_WITH_IMM;
    if (!m->receives)
        return true;
    struct srq_state *srq;
    const struct recv_ring *rq = message_receives(&m->to, &srq);
    if (!rq->ring)
        return false;
    struct recv_ring look = *rq; /* taken from the copy, it stays in the ring */
    if (!recv_ring_take(&m->to.state->arena, &look, &m->recv))
        return false;
    if (srq && srq->srq_limit && look.head - look.tail < srq->srq_limit &&
        !PLANTED(message_srq_limit_untold))
        return false;
    uint64_t needed = !send ? 0 : m->wqe->length;
    if (m->from.qp->type == HCA_QP_UD)
        needed += GRH_BYTES;
    if (needed > m->recv.length)
        return false;
    return needed == 0 || keys_all_local(m->to.state, m->to.qp->pd, m->recv.sges, m->recv.sge_count,
                                         HCA_ACCESS_LOCAL_WRITE);
}

static bool local_allowed(const struct message *m)
{
    bool reads = rules_is_read_or_atomic(m->wqe->opcode);
    return (m->wqe->flags & HCA_SEND_INLINE) || PLANTED(message_local_unchecked) ||
           keys_all_local(m->from.state, m->from.qp->pd, send_wqe_sges(m->wqe), m->wqe->sge_count,
                          reads ? HCA_ACCESS_LOCAL_WRITE : 0);
}

/* ------------------------------------------------------------------ all of it */

static bool prepare(struct message *m)
{
    const struct qp_state *qp = m->from.qp;
    m->path = *m->from.path;
    if (qp->type == HCA_QP_UD) {
        m->path.av = m->wqe->av;
        m->path.dest_qp = m->wqe->dest_qp;
        m->path.mtu = fabric_mtu_bytes(m->from.port->active_mtu);
    }
    if (m->path.mtu < 256)
        return false;
    m->span = rules_psn_span(m->wqe->opcode, m->wqe->length, m->path.mtu);
    header_fill(&m->head, m->from.port, qp, &m->path, first_operation(m), m->from.req->next_psn);
    m->head.imm = m->wqe->imm;
    m->head.payload_length = m->wqe->length;
    m->head.solicited = (m->wqe->flags & HCA_SEND_SOLICITED) && !PLANTED(message_solicited_lost);
    if (qp->type == HCA_QP_UD)
        m->head.qkey = header_qkey(qp, m->wqe->qkey);
    return true;
}

bool message_reaches(struct message *m)
{
    struct message_route route;
    assert(m->wqe && m->from.port);
    if (!prepare(m))
        return false;
    uint32_t mtu = m->path.mtu;
    uint32_t payload = m->wqe->length < mtu ? m->wqe->length : mtu;
    if (!way(m, &m->from, &m->head, payload, &route) || !reach_end(&m->to, &route, &m->head) ||
        !arrives(&m->to, &m->head))
        return false;
    m->loops = m->to.port == m->from.port;
    return answer_arrives(m, payload);
}

bool message_may_carry(struct message *m)
{
    assert(m->from.qp->sq_tail != m->from.qp->sq_head);
    if (!requester_idle(m) || !message_reaches(m) || !local_allowed(m))
        return false;
    bool datagram = m->from.qp->type == HCA_QP_UD;
    if (datagram && m->head.qkey != m->to.qp->attr.qkey && !PLANTED(message_qkey_unchecked))
        return false;
    if (!datagram && !responder_idle(m))
        return false;
    return lengths_agree(m) && remote_allowed(m) && receivable(m) && has_room(m);
}

bool message_may_bind(const struct message *m, struct bind *bind)
{
    assert(rules_is_local(m->wqe->opcode));
    if (!requester_idle(m) || !bind_judge(m->from.state, m->from.qp, m->wqe, bind))
        return false;
    bool signaled = completion_is_signaled(m->from.qp, m->wqe);
    if (signaled && !room_for(&m->from, m->from.qp->send_cq, 1))
        return false;
    return !bind_ends(bind) || PLANTED(hca_window_unquiet) ||
           m->world->quiet(m->world->context, m->from.state, bind->window);
}
