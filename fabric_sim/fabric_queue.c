/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and queue pairs of a fabric, and the ledger of what they owe. */
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/front.h"
#include "src/fabric/planted.h"

static struct front_device *device_of(struct sim_fabric *f, fabric_device device)
{
    return handles_get(&f->handles, device.id, HANDLE_DEVICE);
}

/* ------------------------------------------------------------------ ledgers */

static struct ledger_entry *entry_at(const struct ledger *ledger, uint64_t position)
{
    assert(position >= ledger->first && position < ledger->next);
    return &ledger->entries[position & (ledger->capacity - 1)];
}

/* The position that the next post will have, with room for it. */
static uint64_t ledger_room(struct ledger *ledger)
{
    if (ledger->next - ledger->first < ledger->capacity)
        return ledger->next;
    uint32_t capacity = ledger->capacity ? ledger->capacity * 2 : 16;
    struct ledger_entry *grown = calloc(capacity, sizeof(*grown));
    assert(grown);
    for (uint64_t i = ledger->first; i < ledger->next; i++)
        grown[i & (capacity - 1)] = *entry_at(ledger, i);
    free(ledger->entries);
    ledger->entries = grown;
    ledger->capacity = capacity;
    return ledger->next;
}

static void ledger_add(struct ledger *ledger, uint64_t wr_id)
{
    ledger->next++;
    *entry_at(ledger, ledger->next - 1) = (struct ledger_entry){wr_id, false};
}

/* One is told; of sends, those before it were covered by it. */
static void ledger_settle(struct ledger *ledger, uint64_t position, bool covers)
{
    if (position < ledger->first)
        return;
    assert(position < ledger->next);
    entry_at(ledger, position)->done = true;
    if (covers)
        ledger->first = position + 1;
    while (ledger->first < ledger->next && entry_at(ledger, ledger->first)->done)
        ledger->first++;
}

/* ------------------------------------------------------------------ completion queues */

enum fabric_error front_cq_create(struct fabric *fabric, fabric_device handle, uint32_t depth,
                                  fabric_cq *out)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_device *device = device_of(f, handle);
    hca_cq made;
    if (!device->hca)
        return ERR_DEVICE_REMOVED;
    if (depth > hca_profile(device->hca)->max_cqe)
        return ERR_RESOURCES_EXHAUSTED;
    struct front_cq *cq = calloc(1, sizeof(*cq));
    assert(cq);
    front_object_add(f, &cq->object, HANDLE_CQ, &device->things);
    enum fabric_error error =
        hca_cq_create(device->hca, depth, front_context(f, cq->object.id), &made);
    if (error) {
        front_object_drop(&cq->object);
        return error;
    }
    cq->device = device;
    cq->cq = made;
    handles_put(&device->of->cqs, made.id, HANDLE_CQ, cq);
    out->id = cq->object.id;
    return FABRIC_OK;
}

enum fabric_error front_cq_destroy(struct fabric *fabric, fabric_cq handle)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_cq *cq = handles_get(&f->handles, handle.id, HANDLE_CQ);
    assert(cq->users == 0); /* programmer error */
    if (cq->device->hca) {
        front_drain(f, cq);
        handles_remove(&cq->device->of->cqs, cq->cq.id);
        (void)hca_cq_destroy(cq->device->hca, cq->cq);
    }
    front_object_drop(&cq->object);
    return FABRIC_OK;
}

void front_on_completion(void *context, struct hca *hca, hca_cq cq, bool solicited)
{
    struct sim_device *device = context;
    struct front_cq *found = handles_find(&device->cqs, cq.id, HANDLE_CQ);
    (void)hca;
    (void)solicited;
    assert(found);
    front_push_reminder(found->object.f, (fabric_cq){found->object.id});
}

/* The caller's wr_id of a position, as long as somebody knows it. */
static struct ledger *ledger_of(const struct sim_fabric *f, uint32_t qp_id, bool is_send)
{
    struct front_qp *qp = handles_find(&f->handles, qp_id, HANDLE_QP);
    if (!qp)
        return NULL;
    if (is_send)
        return &qp->sends;
    return qp->srq ? &qp->srq->receives : &qp->receives;
}

bool front_take_completion(struct sim_fabric *f, struct front_event *entry)
{
    fabric_cq handle = entry->event.u.wc.cq;
    struct front_cq *cq = handles_find(&f->handles, handle.id, HANDLE_CQ);
    struct hca_wc wc;
    if (!cq || !cq->device->hca || hca_cq_poll(cq->device->hca, cq->cq, &wc, 1) == 0)
        return false;
    struct ledger *ledger = ledger_of(f, (uint32_t)wc.context, wc.is_send);
    assert(ledger); /* queue pairs are drained before they end */
    entry->reminder = false;
    entry->event = (struct fabric_event){.type = FABRIC_EVENT_COMPLETION, .time = wc.time};
    entry->event.u.wc = (struct fabric_wc){.wr_id = wc.wr_id,
                                           .cq = handle,
                                           .qp = {(uint32_t)wc.context},
                                           .qp_num = wc.qp_num,
                                           .status = (enum fabric_wc_status)wc.status,
                                           .is_send = wc.is_send,
                                           .vendor_err = wc.vendor_err};
    if (wc.status == FABRIC_WC_SUCCESS) {
        entry->event.u.wc.opcode = (enum fabric_wc_opcode)wc.opcode;
        entry->event.u.wc.with_imm = wc.with_imm;
        entry->event.u.wc.byte_len = wc.byte_len;
        entry->event.u.wc.imm = wc.imm;
    }
    return true;
}

/* The wr_id in the entry is a position until here. */
void front_settle(struct sim_fabric *f, struct front_event *entry)
{
    struct fabric_wc *wc = &entry->event.u.wc;
    if (entry->settled)
        return;
    struct ledger *ledger = ledger_of(f, wc->qp.id, wc->is_send);
    assert(!entry->reminder);
    uint64_t position = wc->wr_id;
    assert(ledger && position >= ledger->first);
    wc->wr_id = entry_at(ledger, position)->wr_id;
    ledger_settle(ledger, position, wc->is_send);
}

void front_drain(struct sim_fabric *f, struct front_cq *cq)
{
    assert(cq->device->hca);
    for (size_t i = 0; i < f->queue_count; i++) {
        struct front_event *entry = front_queue_at(f, i);
        if (!entry->reminder || entry->event.u.wc.cq.id != cq->object.id)
            continue;
        if (!front_take_completion(f, entry))
            continue;
        front_settle(f, entry);
        entry->settled = true;
    }
}

/* ------------------------------------------------------------------ shared receive queues */

enum fabric_error front_srq_create(struct fabric *fabric, fabric_device handle, uint32_t max_wr,
                                   uint32_t max_sge, fabric_srq *out)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_device *device = device_of(f, handle);
    if (!device->hca)
        return ERR_DEVICE_REMOVED;
    struct front_srq *srq = calloc(1, sizeof(*srq));
    assert(srq);
    front_object_add(f, &srq->object, HANDLE_SRQ, &device->things);
    enum fabric_error error = hca_srq_create(device->hca, device->pd, max_wr, max_sge,
                                             front_context(f, srq->object.id), &srq->srq);
    if (error) {
        front_object_drop(&srq->object);
        return error == ERR_INVALID_ARGUMENT ? ERR_RESOURCES_EXHAUSTED : error;
    }
    srq->device = device;
    out->id = srq->object.id;
    return FABRIC_OK;
}

enum fabric_error front_srq_destroy(struct fabric *fabric, fabric_srq handle)
{
    struct front_srq *srq = handles_get(&front_of(fabric)->handles, handle.id, HANDLE_SRQ);
    assert(srq->users == 0); /* programmer error */
    if (srq->device->hca)
        (void)hca_srq_destroy(srq->device->hca, srq->srq);
    free(srq->receives.entries);
    front_object_drop(&srq->object);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ posting */

/* Entries as the device wants them. What its key does not cover keeps an address that no region
 * covers either, so that the request fails as it should. */
static void translate(struct hca *hca, const struct fabric_sge *from, struct hca_sge *to,
                      uint32_t count, bool is_inline)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = (struct hca_sge){UINT64_MAX, from[i].length, from[i].lkey};
        if (is_inline)
            to[i].addr = (uint64_t)(uintptr_t)from[i].addr;
        else
            (void)hca_mr_iova(hca, from[i].lkey, from[i].addr, &to[i].addr);
    }
}

static enum fabric_error post_recv(struct hca *hca, const struct front_qp *qp,
                                   const struct front_srq *srq, struct ledger *ledger,
                                   const struct fabric_recv_wr *wr)
{
    struct hca_sge sges[FABRIC_MAX_SGE];
    assert((qp != NULL) != (srq != NULL) && wr->sge_count <= FABRIC_MAX_SGE);
    if (!hca)
        return ERR_DEVICE_REMOVED;
    translate(hca, wr->sges, sges, wr->sge_count, false);
    const struct hca_recv_wr post = {ledger_room(ledger), sges, wr->sge_count};
    enum fabric_error error =
        qp ? hca_post_recv(hca, qp->qp, &post) : hca_srq_post_recv(hca, srq->srq, &post);
    if (!error || PLANTED(front_refused_post_kept))
        ledger_add(ledger, wr->wr_id);
    return error;
}

enum fabric_error front_srq_post_recv(struct fabric *fabric, fabric_srq handle,
                                      const struct fabric_recv_wr *wr)
{
    struct front_srq *srq = handles_get(&front_of(fabric)->handles, handle.id, HANDLE_SRQ);
    return post_recv(srq->device->hca, NULL, srq, &srq->receives, wr);
}

enum fabric_error front_qp_post_recv(struct fabric *fabric, fabric_qp handle,
                                     const struct fabric_recv_wr *wr)
{
    struct front_qp *qp = handles_get(&front_of(fabric)->handles, handle.id, HANDLE_QP);
    if (qp->type == FABRIC_QP_DCI || qp->srq)
        return ERR_INVALID_ARGUMENT;
    return post_recv(qp->device->hca, qp, NULL, &qp->receives, wr);
}

enum fabric_error front_qp_post_send(struct fabric *fabric, fabric_qp handle,
                                     const struct fabric_send_wr *wr)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_qp *qp = handles_get(&f->handles, handle.id, HANDLE_QP);
    struct front_ah *ah =
        qp->type == FABRIC_QP_DCI ? handles_get(&f->handles, wr->ah.id, HANDLE_AH) : NULL;
    struct hca_sge sges[FABRIC_MAX_SGE];
    if (qp->type == FABRIC_QP_DCT)
        return ERR_INVALID_ARGUMENT;
    if (!qp->device->hca)
        return ERR_DEVICE_REMOVED;
    translate(qp->device->hca, wr->sges, sges, wr->sge_count, wr->flags & FABRIC_SEND_INLINE);
    struct hca_send_wr post = {.wr_id = ledger_room(&qp->sends),
                               .opcode = (enum hca_wr_opcode)wr->opcode,
                               .flags = wr->flags,
                               .sges = sges,
                               .sge_count = wr->sge_count,
                               .imm = wr->imm,
                               .remote_addr = wr->remote_iova,
                               .rkey = wr->rkey};
    if (ah) {
        post.ah = ah->ah;
        post.dest_qp = wr->dct_num;
        post.dc_access_key = wr->dc_access_key;
    }
    enum fabric_error error = hca_post_send(qp->device->hca, qp->qp, &post);
    if (!error || PLANTED(front_refused_post_kept))
        ledger_add(&qp->sends, wr->wr_id);
    return error;
}

/* ------------------------------------------------------------------ queue pairs */

static void fill_init(struct sim_fabric *f, struct front_qp *qp, const struct fabric_qp_init *init,
                      struct hca_qp_init *out)
{
    static const enum hca_qp_type types[] = {HCA_QP_RC, HCA_QP_DCI, HCA_QP_DCT};
    *out = (struct hca_qp_init){.type = types[init->type],
                                .pd = qp->device->pd,
                                .max_send_wr = init->max_send_wr,
                                .max_recv_wr = init->max_recv_wr,
                                .max_send_sge = init->max_send_sge,
                                .max_recv_sge = init->max_recv_sge,
                                .max_inline = init->max_inline,
                                .sq_sig_all = init->sq_sig_all,
                                .dc_access_key = init->dc_access_key,
                                .context = front_context(f, qp->object.id)};
    if (init->type != FABRIC_QP_DCT)
        qp->send_cq = handles_get(&f->handles, init->send_cq.id, HANDLE_CQ);
    if (init->type != FABRIC_QP_DCI)
        qp->recv_cq = handles_get(&f->handles, init->recv_cq.id, HANDLE_CQ);
    if (init->srq.id)
        qp->srq = handles_get(&f->handles, init->srq.id, HANDLE_SRQ);
    out->send_cq = qp->send_cq ? qp->send_cq->cq : qp->recv_cq->cq;
    out->recv_cq = qp->recv_cq ? qp->recv_cq->cq : qp->send_cq->cq;
    out->srq = qp->srq ? qp->srq->srq : (hca_srq){0};
}

static void count_users(struct front_qp *qp, uint32_t by)
{
    assert(by == 1 || by == (uint32_t)-1);
    if (qp->send_cq)
        qp->send_cq->users += by;
    if (qp->recv_cq)
        qp->recv_cq->users += by;
    if (qp->srq)
        qp->srq->users += by;
}

enum fabric_error front_qp_create(struct fabric *fabric, fabric_device handle,
                                  const struct fabric_qp_init *init, fabric_qp *out)
{
    struct sim_fabric *f = front_of(fabric);
    struct front_device *device = device_of(f, handle);
    struct hca_qp_init made;
    if (!device->hca)
        return ERR_DEVICE_REMOVED;
    if (init->type == FABRIC_QP_RC && !(f->caps & FABRIC_CAP_RC))
        return ERR_NOT_SUPPORTED;
    if (init->type != FABRIC_QP_RC && !(f->caps & FABRIC_CAP_DC))
        return ERR_DC_UNSUPPORTED;
    struct front_qp *qp = calloc(1, sizeof(*qp));
    assert(qp);
    qp->device = device;
    qp->type = init->type;
    qp->cookie = init->cookie;
    front_object_add(f, &qp->object, HANDLE_QP, &device->things);
    fill_init(f, qp, init, &made);
    enum fabric_error error = hca_qp_create(device->hca, &made, &qp->qp);
    if (error) {
        front_object_drop(&qp->object);
        return error;
    }
    count_users(qp, 1);
    out->id = qp->object.id;
    return FABRIC_OK;
}

/* Which of the attributes each transition carries: the required ones, and for a DCI no access. */
static uint32_t mask_of(const struct front_qp *qp, enum fabric_qp_state from,
                        enum fabric_qp_state to)
{
    static const enum hca_qp_type types[] = {HCA_QP_RC, HCA_QP_DCI, HCA_QP_DCT};
    uint32_t mask = hca_qp_required_mask(types[qp->type], from, to);
    if (from == FABRIC_QPS_INIT && to == FABRIC_QPS_INIT) {
        mask = HCA_QP_STATE | HCA_QP_PORT | HCA_QP_PKEY_INDEX;
        mask |= qp->type == FABRIC_QP_DCI ? 0u : HCA_QP_ACCESS_FLAGS;
    }
    return mask | HCA_QP_STATE;
}

static void fill_attr(const struct fabric_qp_attr *attr, struct hca_qp_attr *out)
{
    *out = (struct hca_qp_attr){.state = attr->state,
                                .port_num = attr->port_num,
                                .pkey_index = attr->pkey_index,
                                .access = attr->access,
                                .path_mtu = attr->path_mtu,
                                .av = attr->av,
                                .dest_qp_num = attr->dest_qp_num,
                                .rq_psn = attr->rq_psn,
                                .sq_psn = attr->sq_psn,
                                .max_rd_atomic = attr->max_rd_atomic,
                                .max_dest_rd_atomic = attr->max_dest_rd_atomic,
                                .min_rnr_timer = attr->min_rnr_timer,
                                .timeout = attr->timeout,
                                .retry_cnt = attr->retry_cnt,
                                .rnr_retry = attr->rnr_retry};
}

static bool offered(enum fabric_qp_type type, enum fabric_qp_state from, enum fabric_qp_state to)
{
    switch (to) {
    case FABRIC_QPS_RESET:
        return type != FABRIC_QP_DCT;
    case FABRIC_QPS_ERR:
        return type != FABRIC_QP_DCT && from != FABRIC_QPS_RESET;
    case FABRIC_QPS_INIT:
        return from == FABRIC_QPS_RESET || from == FABRIC_QPS_INIT;
    case FABRIC_QPS_RTR:
        return from == FABRIC_QPS_INIT;
    case FABRIC_QPS_RTS:
        return from == FABRIC_QPS_RTR && type != FABRIC_QP_DCT;
    default:
        return false;
    }
}

static void told_flushed(struct front_qp *qp, struct ledger *ledger, struct front_cq *cq,
                         bool is_send)
{
    for (uint64_t i = ledger->first; i < ledger->next; i++) {
        struct fabric_event event = {.type = FABRIC_EVENT_COMPLETION};
        event.u.wc = (struct fabric_wc){.wr_id = entry_at(ledger, i)->wr_id,
                                        .cq = {cq->object.id},
                                        .qp = {qp->object.id},
                                        .qp_num = qp->qp_num,
                                        .status = FABRIC_WC_WR_FLUSH_ERR,
                                        .is_send = is_send};
        if (entry_at(ledger, i)->done || PLANTED(front_flush_forgotten))
            continue;
        struct sim_fabric *f = qp->object.f;
        front_push(f, &event);
        front_queue_at(f, f->queue_count - 1)->settled = true;
    }
    ledger->first = ledger->next;
}

/* Everything accepted is flushed by the device, taken out of it, and what it lost is made up for:
 * verbs drop completions at a reset or destroy, the contract does not. */
static void flush(struct front_qp *qp)
{
    struct sim_fabric *f = qp->object.f;
    struct hca_qp_info info;
    if (qp->device->hca && hca_qp_query(qp->device->hca, qp->qp, &info) == FABRIC_OK) {
        const struct hca_qp_attr attr = {.state = FABRIC_QPS_ERR};
        qp->qp_num = info.qp_num;
        if (info.attr.state != FABRIC_QPS_RESET && info.attr.state != FABRIC_QPS_ERR)
            (void)hca_qp_modify(qp->device->hca, qp->qp, &attr, HCA_QP_STATE);
        hca_dct_drain(qp->device->hca, qp->qp);
    }
    if (qp->device->hca && qp->send_cq)
        front_drain(f, qp->send_cq);
    if (qp->device->hca && qp->recv_cq)
        front_drain(f, qp->recv_cq);
    if (qp->send_cq)
        told_flushed(qp, &qp->sends, qp->send_cq, true);
    if (qp->recv_cq)
        told_flushed(qp, &qp->receives, qp->recv_cq, false);
}

static bool is_port(const struct front_qp *qp, uint8_t port_num)
{
    return port_num > 0 && port_num <= net_node_ports(qp->device->of->node);
}

enum fabric_error front_qp_modify(struct fabric *fabric, fabric_qp handle,
                                  const struct fabric_qp_attr *attr)
{
    struct front_qp *qp = handles_get(&front_of(fabric)->handles, handle.id, HANDLE_QP);
    struct hca_qp_info info;
    struct hca_qp_attr wanted;
    if (!qp->device->hca)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = hca_qp_query(qp->device->hca, qp->qp, &info);
    if (error)
        return error;
    enum fabric_qp_state from = info.attr.state;
    if (!offered(qp->type, from, attr->state))
        return ERR_INVALID_ARGUMENT;
    if (attr->state == FABRIC_QPS_RESET && !PLANTED(front_reset_drops))
        flush(qp);
    bool to_peer = attr->state == FABRIC_QPS_RTR && qp->type == FABRIC_QP_RC;
    if (to_peer && is_port(qp, attr->av.port_num) && !front_knows_way(qp->device, &attr->av))
        return ERR_UNREACHABLE;
    fill_attr(attr, &wanted);
    return hca_qp_modify(qp->device->hca, qp->qp, &wanted, mask_of(qp, from, attr->state));
}

enum fabric_error front_qp_query(struct fabric *fabric, fabric_qp handle,
                                 struct fabric_qp_info *out)
{
    struct front_qp *qp = handles_get(&front_of(fabric)->handles, handle.id, HANDLE_QP);
    struct hca_qp_info info;
    if (!qp->device->hca)
        return ERR_DEVICE_REMOVED;
    enum fabric_error error = hca_qp_query(qp->device->hca, qp->qp, &info);
    if (error)
        return error;
    qp->qp_num = info.qp_num;
    *out = (struct fabric_qp_info){info.attr.state, info.qp_num, info.sq_outstanding,
                                   qp->srq ? 0 : info.rq_outstanding};
    return FABRIC_OK;
}

void front_qp_end(struct front_qp *qp)
{
    flush(qp);
    assert(PLANTED(front_flush_forgotten) || qp->sends.first == qp->sends.next);
    if (qp->device->hca && !PLANTED(front_destroyed_lives_on))
        hca_qp_destroy(qp->device->hca, qp->qp);
    count_users(qp, (uint32_t)-1);
    free(qp->sends.entries);
    free(qp->receives.entries);
    front_object_drop(&qp->object);
}

enum fabric_error front_qp_destroy(struct fabric *fabric, fabric_qp handle)
{
    front_qp_end(handles_get(&front_of(fabric)->handles, handle.id, HANDLE_QP));
    return FABRIC_OK;
}
