/* SPDX-License-Identifier: Apache-2.0 */
/* Completions: read, translated, and made up for where verbs lose them. */
#define _GNU_SOURCE
#include <endian.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

#define AT_ONCE 32

static enum fabric_wc_status status_of(enum ibv_wc_status status)
{
    switch ((int)status) {
#define FABRIC_WC_STATUS(name)                                                                     \
    case IBV_WC_##name:                                                                            \
        return FABRIC_WC_##name;
        FABRIC_WC_STATUSES(FABRIC_WC_STATUS)
#undef FABRIC_WC_STATUS
    default: /* of verbs that the contract does not have */
        return FABRIC_WC_GENERAL_ERR;
    }
}

static enum fabric_wc_opcode opcode_of(enum ibv_wc_opcode opcode)
{
    switch (opcode) {
    case IBV_WC_RDMA_WRITE:
        return FABRIC_WC_RDMA_WRITE;
    case IBV_WC_RDMA_READ:
        return FABRIC_WC_RDMA_READ;
    case IBV_WC_RECV:
        return FABRIC_WC_RECV;
    case IBV_WC_RECV_RDMA_WITH_IMM:
        return FABRIC_WC_RECV_RDMA_WITH_IMM;
    default:
        return FABRIC_WC_SEND;
    }
}

static struct fabric_event event_of(const struct rdma_qp *qp, bool is_send, uint64_t wr_id,
                                    enum fabric_wc_status status)
{
    const struct rdma_cq *cq = is_send ? qp->send_cq : qp->recv_cq;
    struct fabric_event event = {.type = FABRIC_EVENT_COMPLETION};
    event.u.wc = (struct fabric_wc){.wr_id = wr_id,
                                    .cq = {cq->object.id},
                                    .qp = {qp->object.id},
                                    .qp_num = qp->qp_num,
                                    .status = status,
                                    .is_send = is_send};
    return event;
}

/* What the device said of it. */
static void fill(struct fabric_wc *to, const struct ibv_wc *from)
{
    to->vendor_err = from->vendor_err;
    if (from->status != IBV_WC_SUCCESS)
        return;
    to->opcode = opcode_of(from->opcode);
    to->byte_len = from->byte_len;
    to->with_imm = (from->wc_flags & IBV_WC_WITH_IMM) && !to->is_send;
    to->imm = to->with_imm ? be32toh(from->imm_data) : 0;
}

/* ------------------------------------------------------------------ ledgers */

static void push_flush(struct rdma_qp *qp, struct rdma_ledger *ledger, bool is_send)
{
    struct rdma_entry *entry = rdma_ledger_at(ledger, ledger->pushed++);
    const struct fabric_event event = event_of(qp, is_send, entry->wr_id, FABRIC_WC_WR_FLUSH_ERR);
    entry->told = true;
    os_push(qp->object.device->rdma->f, &event);
}

void rdma_make_up(struct rdma_qp *qp, bool is_send)
{
    struct rdma_ledger *ledger = is_send ? &qp->sends : &qp->receives;
    while (ledger->pushed >= ledger->given && ledger->pushed < ledger->next)
        push_flush(qp, ledger, is_send);
}

void rdma_flush_all(struct rdma_qp *qp)
{
    while (qp->sends.pushed < qp->sends.next && !PLANTED(rdma_flush_forgotten))
        push_flush(qp, &qp->sends, true);
    while (qp->receives.pushed < qp->receives.next && !PLANTED(rdma_flush_forgotten))
        push_flush(qp, &qp->receives, false);
}

/* Signaled ones before it whose completions never came were lost by an overrun. */
static void complete(struct rdma_qp *qp, bool is_send, const struct ibv_wc *wc)
{
    struct rdma_ledger *ledger = is_send ? &qp->sends : &qp->receives;
    uint64_t position;
    if (!rdma_ledger_find(ledger, (uint32_t)wc->wr_id & RDMA_SEQUENCE_MASK, &position))
        return; /* of before a reset: it was made up for */
    while (ledger->pushed < position) {
        if (rdma_ledger_at(ledger, ledger->pushed)->signaled && !PLANTED(rdma_overrun_forgotten))
            push_flush(qp, ledger, is_send);
        else
            ledger->pushed++;
    }
    struct rdma_entry *entry = rdma_ledger_at(ledger, position);
    struct fabric_event event = event_of(qp, is_send, entry->wr_id, status_of(wc->status));
    fill(&event.u.wc, wc);
    entry->told = true;
    ledger->pushed = position + 1;
    os_push(qp->object.device->rdma->f, &event);
    if (wc->status != IBV_WC_SUCCESS)
        rdma_qp_failed(qp);
    rdma_make_up(qp, is_send);
}

/* A receive of a shared queue belongs to the queue pair that took it. */
static void complete_shared(struct rdma_srq *srq, const struct ibv_wc *wc)
{
    struct rdma_device *device = srq->object.device;
    struct rdma_qp *qp = rdma_numbers_find(&device->qp_nums, wc->qp_num);
    uint32_t place = (uint32_t)wc->wr_id & RDMA_SEQUENCE_MASK;
    uint64_t wr_id = srq->wr_ids[place];
    srq->free_places[srq->free_count++] = place;
    if (!qp)
        return; /* destroyed: the receive is its owner's again */
    struct fabric_event event = event_of(qp, false, wr_id, status_of(wc->status));
    fill(&event.u.wc, wc);
    os_push(device->rdma->f, &event);
    if (wc->status != IBV_WC_SUCCESS)
        rdma_qp_failed(qp);
}

static void take(struct rdma_cq *cq, const struct ibv_wc *wc)
{
    struct rdma_device *device = cq->object.device;
    struct rdma_handles *handles = &device->rdma->handles;
    uint32_t id = (uint32_t)(wc->wr_id >> 32);
    if (!cq->object.id) {
        rdma_window_bound(device, wc);
        return;
    }
    struct rdma_qp *qp = rdma_handles_find(handles, id, RDMA_QP);
    struct rdma_srq *srq = qp ? NULL : rdma_handles_find(handles, id, RDMA_SRQ);
    if (qp)
        complete(qp, !(wc->wr_id & (RDMA_SEQUENCE_MASK + UINT64_C(1))), wc);
    else if (srq)
        complete_shared(srq, wc);
}

uint32_t rdma_cq_drain(struct rdma_cq *cq)
{
    struct ibv_wc wcs[AT_ONCE];
    uint32_t total = 0;
    assert(cq->cq);
    while (true) {
        int count = cq->cq ? cq->object.device->rdma->calls->poll_cq(cq->cq, AT_ONCE, wcs) : 0;
        for (int i = 0; i < count; i++)
            take(cq, &wcs[i]);
        if (count <= 0)
            return total;
        total += (uint32_t)count;
    }
}

void rdma_completion_polled(struct rdma *r, const struct fabric_wc *wc)
{
    struct rdma_qp *qp = rdma_handles_find(&r->handles, wc->qp.id, RDMA_QP);
    if (!qp)
        return;
    uint32_t epoch = qp->epoch;
    if (wc->is_send)
        epoch = rdma_ledger_polled(&qp->sends)->epoch;
    else if (!qp->srq)
        epoch = rdma_ledger_polled(&qp->receives)->epoch;
    if (wc->status != FABRIC_WC_SUCCESS && epoch == qp->epoch && qp->state != FABRIC_QPS_RESET &&
        qp->type != FABRIC_QP_DCT)
        qp->state = FABRIC_QPS_ERR;
}

/* ------------------------------------------------------------------ the channel */

/* Events are acknowledged with the queue, in one go. */
static void ready(struct os_source *source, uint32_t events)
{
    struct rdma_device *device =
        (struct rdma_device *)((char *)source - offsetof(struct rdma_device, completions));
    struct ibv_cq *from;
    void *context;
    (void)events;
    /* The device may have been lost by an event that was seen in the same go. */
    while (device->channel &&
           device->rdma->calls->get_cq_event(device->channel, &from, &context) == 0) {
        struct rdma_cq *cq = context;
        cq->armed = false;
        cq->unacknowledged++;
    }
}

bool rdma_channel_watch(struct rdma_device *device)
{
    int fd = device->channel->fd, flags = fcntl(fd, F_GETFL);
    device->completions.ready = ready;
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return false;
    device->watched_channel = !os_watch(device->rdma->f, fd, EPOLLIN, &device->completions);
    return device->watched_channel;
}

/* A completion between the last look and the arming raises no event, hence the look after it. */
static void look(struct rdma_device *device, struct rdma_cq *cq)
{
    if (!cq->cq)
        return;
    (void)rdma_cq_drain(cq);
    if (device->rdma->options.busy_poll || cq->armed || !cq->cq)
        return;
    cq->armed = device->rdma->calls->req_notify_cq(cq->cq, 0) == 0;
    if (!PLANTED(rdma_arm_blind))
        (void)rdma_cq_drain(cq);
}

void rdma_collect_device(struct rdma_device *device)
{
    for (struct rdma_object *one = device->all.next; one != &device->all; one = one->next) {
        if (one->kind == RDMA_CQ)
            look(device, (struct rdma_cq *)one);
    }
    look(device, &device->bind.cq);
}
