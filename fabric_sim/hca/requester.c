/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requester (chapters 9.7.2, 9.7.3, 9.9.2): sends in order, takes responses, repeats from the
 * oldest unacknowledged PSN on (go-back-N), completes in order.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/hca/completion.h"
#include "src/fabric/planted.h"

#define PSN_WINDOW 0x400000 /* unacknowledged at most: far inside half of the PSN space */

struct send_slot *requester_slot(struct qp_context *ctx, uint32_t counter)
{
    return &ctx->slots[counter & (ctx->qp->sq_depth - 1)];
}

static struct send_wqe *wqe_at(struct qp_context *ctx, uint32_t counter)
{
    return send_ring_at(&ctx->hca->state.arena, ctx->qp, counter);
}

void send_slot_release(struct hca *hca, struct send_slot *slot)
{
    if (slot->payload)
        payload_give_back(hca, slot->payload);
    free(slot->gathered);
    memset(slot, 0, sizeof(*slot));
}

void requester_reset(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    req->restarting = req->rnr_waiting = req->connected = false;
    timer_stop(ctx);
    uint32_t psn = ctx->qp->attr.sq_psn;
    req->next_psn = req->una_psn = req->sent_psn = req->tx_psn = psn;
    req->awaited_psn = rules_psn_add(psn, RULES_PSN_MASK);
    req->tx = ctx->qp->sq_tail;
    req->reads = 0;
    req->retry_left = ctx->qp->attr.retry_cnt;
    req->rnr_left = ctx->qp->attr.rnr_retry;
}

/* ------------------------------------------------------------------ sending */

static bool same_route(const struct fabric_grh *a, const struct fabric_grh *b)
{
    return a->sgid_index == b->sgid_index && a->hop_limit == b->hop_limit &&
           a->traffic_class == b->traffic_class && a->flow_label == b->flow_label &&
           memcmp(&a->dgid, &b->dgid, sizeof(a->dgid)) == 0;
}

/* Over the same way, so that a connection never changes it in between. */
static bool same_target(const struct qp_context *ctx, const struct send_wqe *wqe)
{
    const struct requester *req = ctx->req;
    const struct fabric_av *av = &ctx->path->av;
    return req->dct_num == wqe->dest_qp && req->dc_key == wqe->dc_access_key &&
           av->dlid == wqe->av.dlid && av->sl == wqe->av.sl &&
           av->src_path_bits == wqe->av.src_path_bits && av->is_global == wqe->av.is_global &&
           (!av->is_global || PLANTED(hca_dc_route_ignored) || same_route(&av->grh, &wqe->av.grh));
}

/* A DC initiator has one target at a time: the next one waits until all is acknowledged. */
static bool connect_target(struct qp_context *ctx, const struct send_wqe *wqe,
                           struct packet **disconnect)
{
    struct requester *req = ctx->req;
    if (req->connected && same_target(ctx, wqe))
        return true;
    if (req->una_psn != req->next_psn && !PLANTED(hca_dc_two_targets))
        return false;
    if (req->connected) {
        *disconnect = dc_disconnect(ctx);
        return false;
    }
    ctx->path->av = wqe->av;
    ctx->path->dest_qp = req->dct_num = wqe->dest_qp;
    req->dc_key = wqe->dc_access_key;
    req->connection = sim_now(ctx->hca->sim); /* grows from one to the next */
    return true;
}

/* Whether the request at tx may start now, as its predecessors allow. */
static bool may_start(const struct qp_context *ctx, const struct send_wqe *wqe)
{
    const struct requester *req = ctx->req;
    bool begins = ctx->qp->state == FABRIC_QPS_RTS || PLANTED(hca_sqd_begins);
    if (!begins) /* SQD: what began goes on, nothing new begins */
        return false;
    if ((wqe->flags & HCA_SEND_FENCE) && req->reads > 0 && !PLANTED(hca_fence))
        return false; /* chapter 10.8.3.3 */
    if (rules_is_read_or_atomic(wqe->opcode) && req->reads >= ctx->qp->attr.max_rd_atomic &&
        !PLANTED(hca_initiator_depth_ignored))
        return false; /* chapter 9.4.1: no more than the peer has resources for */
    return rules_psn_diff(req->next_psn, req->una_psn) < PSN_WINDOW;
}

static bool start(struct qp_context *ctx, struct packet **disconnect)
{
    struct requester *req = ctx->req;
    struct send_wqe *wqe = wqe_at(ctx, req->tx);
    struct send_slot *slot = requester_slot(ctx, req->tx);
    if (wqe->local_error || !may_start(ctx, wqe))
        return false;
    bool dc = ctx->qp->type == HCA_QP_DCI;
    if (dc && !connect_target(ctx, wqe, disconnect))
        return false;
    if (!request_prepare(ctx, wqe, slot)) {
        if (req->tx == ctx->qp->sq_tail)
            requester_fail(ctx, wqe->local_error);
        return false;
    }
    if (dc)
        req->connected = true;
    if (rules_is_read_or_atomic(wqe->opcode))
        req->reads++;
    return true;
}

/* Bindings and invalidations take effect between what was before them, all of it done, and what
 * comes after (chapters 10.6.7.2.6, 10.8.3). False: nothing more can be sent now. */
static bool do_local(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    while (req->tx != ctx->qp->sq_head && rules_is_local(wqe_at(ctx, req->tx)->opcode)) {
        const struct send_wqe *wqe = wqe_at(ctx, req->tx);
        bool oldest = req->tx == ctx->qp->sq_tail || PLANTED(hca_bind_overtakes);
        if (!oldest || !may_start(ctx, wqe))
            return false;
        enum fabric_wc_status status = window_execute(ctx, wqe);
        if (status != FABRIC_WC_SUCCESS) {
            requester_fail(ctx, status);
            return false;
        }
        requester_complete(ctx, FABRIC_WC_SUCCESS);
        req->tx = ctx->qp->sq_tail;
    }
    return true;
}

struct packet *requester_next(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    uint8_t state = ctx->qp->state;
    if ((state != FABRIC_QPS_RTS && state != FABRIC_QPS_SQD) || req->rnr_waiting || !do_local(ctx))
        return NULL;
    if (req->tx == ctx->qp->sq_head) {
        bool idle = req->connected && req->una_psn == req->next_psn;
        return idle ? dc_disconnect(ctx) : NULL;
    }
    struct packet *disconnect = NULL;
    bool begins = !wqe_at(ctx, req->tx)->started;
    if (begins && (message_turn(ctx) || !start(ctx, &disconnect)))
        return disconnect;
    struct packet *packet = request_build(ctx);
    if (packet->ack_request)
        timer_await(ctx);
    return packet;
}

/* ------------------------------------------------------------------ completing */

static void cursor_not_behind(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    bool behind =
        (int32_t)(req->tx - ctx->qp->sq_tail) < 0 || rules_psn_diff(req->una_psn, req->tx_psn) > 0;
    if (!behind)
        return;
    req->tx = ctx->qp->sq_tail;
    req->tx_psn = req->una_psn;
}

void requester_complete(struct qp_context *ctx, enum fabric_wc_status status)
{
    struct qp_state *qp = ctx->qp;
    assert(qp->sq_tail != qp->sq_head);
    const struct send_wqe *wqe = wqe_at(ctx, qp->sq_tail);
    struct send_slot *slot = requester_slot(ctx, qp->sq_tail);
    if (wqe->started && rules_is_read_or_atomic(wqe->opcode)) {
        assert(ctx->req->reads > 0);
        ctx->req->reads--;
    }
    send_slot_release(ctx->hca, slot);
    qp->sq_tail++;
    if (status == FABRIC_WC_SUCCESS && !completion_is_signaled(qp, wqe))
        return;
    cq_push_send(ctx, wqe, status);
}

void requester_fail(struct qp_context *ctx, enum fabric_wc_status status)
{
    if (ctx->qp->sq_tail == ctx->qp->sq_head)
        return; /* a NAK for nothing */
    requester_complete(ctx, status);
    if (PLANTED(hca_dci_goes_on) && ctx->qp->type == HCA_QP_DCI) {
        ctx->req->una_psn = ctx->req->next_psn; /* as if only one target were lost */
        context_ready(ctx);
        return;
    }
    if (rules_error_state(ctx->qp->type) == FABRIC_QPS_SQE) {
        qp_set_state(ctx, FABRIC_QPS_SQE);
        qp_flush_sends(ctx);
        return;
    }
    qp_enter_error(ctx);
}

/* Goes back to the oldest unacknowledged PSN. Counts against retry_cnt, of which 7 means seven
 * (chapter 9.9.2.1.1). */
bool requester_rewind(struct qp_context *ctx)
{
    struct requester *req = ctx->req;
    if (req->retry_left == 0) {
        requester_fail(ctx, FABRIC_WC_RETRY_EXC_ERR);
        return false;
    }
    bool endless = ctx->qp->attr.retry_cnt == 7 && PLANTED(hca_retry_endless);
    if (!endless)
        req->retry_left--;
    if (PLANTED(hca_retry_one_less) && req->retry_left > 0)
        req->retry_left--;
    req->tx = ctx->qp->sq_tail;
    req->tx_psn = req->una_psn;
    req->awaited_psn = rules_psn_add(req->una_psn, RULES_PSN_MASK);
    timer_stop(ctx);
    return true;
}

/* A response beyond one that is still missing: the missing one is asked for again, once until
 * there is progress (chapter 9.7.5.1.2 "implied NAK"). */
static void implied_nak(struct qp_context *ctx)
{
    if (ctx->req->restarting || ctx->req->rnr_waiting)
        return;
    if (requester_rewind(ctx))
        ctx->req->restarting = true;
}

void requester_check_drained(struct qp_context *ctx)
{
    struct qp_state *qp = ctx->qp;
    if (qp->state != FABRIC_QPS_SQD || qp->sq_drained || ctx->req->una_psn != ctx->req->next_psn)
        return;
    qp->sq_drained = true;
    if (qp->attr.en_sqd_async_notify && !PLANTED(hca_drained_untold))
        event_qp(ctx, FABRIC_ASYNC_SQ_DRAINED);
}

/* The local error of a request that could not start shows once everything before it is done. */
static void fail_if_next(struct qp_context *ctx)
{
    if (ctx->qp->sq_tail == ctx->qp->sq_head)
        return;
    const struct send_wqe *wqe = wqe_at(ctx, ctx->qp->sq_tail);
    if (wqe->local_error)
        requester_fail(ctx, wqe->local_error);
}

/* Everything up to psn is acknowledged. False when a READ or atomic before it has no response yet
 * (or the queue pair went): then nothing else of the packet counts. */
static bool acknowledge(struct qp_context *ctx, uint32_t psn)
{
    struct requester *req = ctx->req;
    struct qp_state *qp = ctx->qp;
    uint32_t una = req->una_psn;
    bool complete = true;
    while (complete && qp->sq_tail != qp->sq_head) {
        const struct send_wqe *wqe = wqe_at(ctx, qp->sq_tail);
        if (!wqe->started || rules_psn_diff(psn, wqe->start_psn) < 0)
            break;
        bool reads = rules_is_read_or_atomic(wqe->opcode);
        if (reads && rules_psn_diff(psn, wqe->first_psn) >= 0 && !PLANTED(hca_implied_nak)) {
            complete = rules_psn_diff(psn, req->una_psn) < 0;
            break;
        }
        if (rules_psn_diff(psn, wqe->last_psn) < 0) {
            req->una_psn = rules_psn_add(psn, 1);
            break;
        }
        req->una_psn = rules_psn_add(wqe->last_psn, 1);
        requester_complete(ctx, FABRIC_WC_SUCCESS);
    }
    cursor_not_behind(ctx);
    assert(rules_psn_diff(req->sent_psn, req->una_psn) >= 0);
    if (req->una_psn != una)
        timer_progress(ctx);
    if (!complete)
        implied_nak(ctx);
    return complete && qp->state != FABRIC_QPS_ERR;
}

static void take_read_response(struct qp_context *ctx, const struct packet *packet)
{
    struct requester *req = ctx->req;
    struct qp_state *qp = ctx->qp;
    uint32_t psn = packet->psn;
    if (qp->sq_tail == qp->sq_head)
        return;
    struct send_wqe *wqe = wqe_at(ctx, qp->sq_tail);
    if (!wqe->started || wqe->opcode != HCA_WR_RDMA_READ ||
        rules_psn_diff(psn, wqe->first_psn) < 0 || rules_psn_diff(psn, wqe->last_psn) > 0)
        return;
    assert(psn == req->una_psn); /* everything before it is acknowledged */
    uint32_t offset = (uint32_t)rules_psn_diff(psn, wqe->first_psn) * ctx->path->mtu;
    bool last = psn == wqe->last_psn;
    uint32_t expected = last ? wqe->length - offset : ctx->path->mtu;
    if (packet->payload_length != expected) {
        requester_fail(ctx, FABRIC_WC_LOC_LEN_ERR);
        return;
    }
    if (last != ((rules_opcode(packet->opcode)->place & RULES_LAST) != 0)) {
        requester_fail(ctx, FABRIC_WC_BAD_RESP_ERR);
        return;
    }
    if (expected && !memory_scatter(ctx, send_wqe_sges(wqe), wqe->sge_count, offset,
                                    packet->payload->bytes + packet->payload_offset, expected)) {
        requester_fail(ctx, FABRIC_WC_LOC_PROT_ERR);
        return;
    }
    req->una_psn = rules_psn_add(psn, 1);
    if (last)
        requester_complete(ctx, FABRIC_WC_SUCCESS);
    cursor_not_behind(ctx);
    timer_progress(ctx);
}

static void take_atomic_response(struct qp_context *ctx, const struct packet *packet)
{
    struct qp_state *qp = ctx->qp;
    if (qp->sq_tail == qp->sq_head)
        return;
    struct send_wqe *wqe = wqe_at(ctx, qp->sq_tail);
    bool atomic = rules_is_read_or_atomic(wqe->opcode) && wqe->opcode != HCA_WR_RDMA_READ;
    if (!wqe->started || !atomic || packet->psn != wqe->first_psn)
        return;
    uint8_t bytes[8];
    memcpy(bytes, &packet->swap_add, sizeof(bytes));
    if (!memory_scatter(ctx, send_wqe_sges(wqe), wqe->sge_count, 0, bytes, sizeof(bytes))) {
        requester_fail(ctx, FABRIC_WC_LOC_PROT_ERR);
        return;
    }
    ctx->req->una_psn = rules_psn_add(packet->psn, 1);
    requester_complete(ctx, FABRIC_WC_SUCCESS);
    cursor_not_behind(ctx);
    timer_progress(ctx);
}

static void take_rnr(struct qp_context *ctx, uint8_t code)
{
    struct requester *req = ctx->req;
    if (req->rnr_waiting)
        return;
    if (!rules_rnr_endless(ctx->qp->attr.rnr_retry)) {
        if (req->rnr_left == 0) {
            requester_fail(ctx, FABRIC_WC_RNR_RETRY_EXC_ERR);
            return;
        }
        req->rnr_left--;
    }
    req->tx = ctx->qp->sq_tail;
    req->tx_psn = req->una_psn;
    req->awaited_psn = rules_psn_add(req->una_psn, RULES_PSN_MASK);
    timer_rnr(ctx, code);
}

static void take_acknowledge(struct qp_context *ctx, const struct packet *packet)
{
    uint8_t value = packet->syndrome & 0x1f;
    switch (packet->syndrome & RULES_SYNDROME_KIND) {
    case 0:
        acknowledge(ctx, packet->psn);
        return;
    case RULES_RNR_NAK:
        if (acknowledge(ctx, rules_psn_add(packet->psn, RULES_PSN_MASK)))
            take_rnr(ctx, value);
        return;
    case RULES_NAK:
        if (!acknowledge(ctx, rules_psn_add(packet->psn, RULES_PSN_MASK)))
            return;
        if (value != RULES_NAK_PSN_SEQUENCE)
            requester_fail(ctx, rules_nak_status(value));
        else if (!ctx->req->rnr_waiting || PLANTED(hca_nak_ends_rnr_wait))
            requester_rewind(ctx); /* after an RNR wait all is sent again anyway */
        return;
    default:
        return; /* reserved */
    }
}

void requester_response(struct qp_context *ctx, struct packet *packet)
{
    struct requester *req = ctx->req;
    uint8_t state = ctx->qp->state;
    bool live = state == FABRIC_QPS_RTS || state == FABRIC_QPS_SQD;
    /* Chapter 9.7.5.1.1: neither older than the oldest nor newer than what was sent. */
    bool expected = rules_psn_diff(packet->psn, req->una_psn) >= 0 &&
                    rules_psn_diff(packet->psn, req->sent_psn) < 0;
    if (!live || !expected) {
        packet_drop(ctx->hca, packet, live ? "ghost response" : "state");
        return;
    }
    if (packet->opcode % 32 == BTH_ACKNOWLEDGE)
        take_acknowledge(ctx, packet);
    else if (acknowledge(ctx, rules_psn_add(packet->psn, RULES_PSN_MASK))) {
        if (packet->opcode % 32 == BTH_ATOMIC_ACKNOWLEDGE)
            take_atomic_response(ctx, packet);
        else
            take_read_response(ctx, packet);
    }
    net_free(ctx->hca->net, packet);
    if (ctx->qp->state == FABRIC_QPS_ERR)
        return;
    fail_if_next(ctx);
    requester_check_drained(ctx);
    context_ready(ctx);
}
