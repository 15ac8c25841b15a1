/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs: made, asked, ended. */
#include <errno.h>
#include <stdlib.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/planted.h"

static enum fabric_error check(const struct rdma_device *device, const struct fabric_qp_init *init)
{
    const struct fabric_device_attr *limits = &device->attr;
    if (device->removed)
        return ERR_DEVICE_REMOVED;
    if (init->type != FABRIC_QP_RC && !device->dc)
        return ERR_DC_UNSUPPORTED;
    bool fits = init->max_send_wr <= limits->max_qp_wr && init->max_recv_wr <= limits->max_qp_wr &&
                init->max_send_sge <= limits->max_sge && init->max_recv_sge <= limits->max_sge &&
                init->max_inline <= limits->max_inline;
    return fits ? FABRIC_OK : ERR_INVALID_ARGUMENT;
}

static uint32_t least_one(uint32_t number)
{
    return number ? number : 1;
}

static struct ibv_qp *create_rc(struct rdma_device *device, const struct fabric_qp_init *init,
                                struct rdma_qp *qp)
{
    struct ibv_qp_init_attr made = {.qp_context = qp,
                                    .send_cq = qp->send_cq->cq,
                                    .recv_cq = qp->recv_cq->cq,
                                    .srq = qp->srq ? qp->srq->srq : NULL,
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = init->sq_sig_all,
                                    .cap = {.max_send_wr = least_one(init->max_send_wr),
                                            .max_recv_wr = least_one(init->max_recv_wr),
                                            .max_send_sge = least_one(init->max_send_sge),
                                            .max_recv_sge = least_one(init->max_recv_sge),
                                            .max_inline_data = init->max_inline}};
    return device->rdma->calls->create_qp(device->pd, &made);
}

/* A queue that the type does not have is told nothing: the other one stands for it. */
static void find_queues(struct rdma *r, const struct fabric_qp_init *init, struct rdma_qp *qp)
{
    if (init->type != FABRIC_QP_DCT)
        qp->send_cq = rdma_handles_get(&r->handles, init->send_cq.id, RDMA_CQ);
    if (init->type != FABRIC_QP_DCI)
        qp->recv_cq = rdma_handles_get(&r->handles, init->recv_cq.id, RDMA_CQ);
    qp->send_cq = qp->send_cq ? qp->send_cq : qp->recv_cq;
    qp->recv_cq = qp->recv_cq ? qp->recv_cq : qp->send_cq;
    if (init->srq.id)
        qp->srq = rdma_handles_get(&r->handles, init->srq.id, RDMA_SRQ);
}

static void count_users(struct rdma_qp *qp, uint32_t by)
{
    qp->send_cq->users += by;
    qp->recv_cq->users += by;
    if (qp->srq)
        qp->srq->users += by;
}

static void free_qp(struct rdma_qp *qp)
{
    rdma_ledger_close(&qp->sends);
    rdma_ledger_close(&qp->receives);
    free(qp);
}

static enum fabric_error make(struct rdma_device *device, const struct fabric_qp_init *init,
                              struct rdma_qp *qp)
{
    const struct verbs_calls *calls = device->rdma->calls;
    if (!rdma_ledger_open(&qp->sends, least_one(init->max_send_wr)) ||
        !rdma_ledger_open(&qp->receives, least_one(init->max_recv_wr)) ||
        !rdma_object_add(&qp->object, RDMA_QP, device))
        return ERR_RESOURCES_EXHAUSTED;
    errno = 0;
    qp->qp =
        init->type == FABRIC_QP_RC ? create_rc(device, init, qp) : rdma_dc_create(device, init, qp);
    if (!qp->qp)
        return rdma_failed(device, "ibv_create_qp", errno);
    qp->qp_num = qp->type == FABRIC_QP_DCT ? 0 : qp->qp->qp_num;
    if (qp->qp_num && !rdma_numbers_set(&device->qp_nums, qp->qp_num, qp)) {
        calls->destroy_qp(qp->qp);
        return ERR_RESOURCES_EXHAUSTED;
    }
    return FABRIC_OK;
}

enum fabric_error rdma_qp_create(struct fabric *f, fabric_device handle,
                                 const struct fabric_qp_init *init, fabric_qp *out)
{
    struct rdma *r = rdma_of(f);
    struct rdma_device *device = rdma_device_get(r, handle.id);
    enum fabric_error error = check(device, init);
    struct rdma_qp *qp = error ? NULL : calloc(1, sizeof(*qp));
    if (!qp)
        return error ? error : ERR_RESOURCES_EXHAUSTED;
    qp->type = init->type;
    qp->cookie = init->cookie;
    qp->max_send_sge = least_one(init->max_send_sge);
    qp->max_recv_sge = least_one(init->max_recv_sge);
    qp->max_inline = init->max_inline;
    qp->sq_sig_all = init->sq_sig_all;
    find_queues(r, init, qp);
    error = make(device, init, qp);
    if (error) {
        if (qp->object.id)
            rdma_object_drop(&qp->object);
        free_qp(qp);
        return error;
    }
    count_users(qp, 1);
    out->id = qp->object.id;
    return FABRIC_OK;
}

enum fabric_error rdma_qp_query(struct fabric *f, fabric_qp handle, struct fabric_qp_info *out)
{
    struct rdma_qp *qp = rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_QP);
    if (!qp->qp)
        return ERR_DEVICE_REMOVED;
    *out = (struct fabric_qp_info){qp->state, qp->qp_num, rdma_ledger_outstanding(&qp->sends),
                                   rdma_ledger_outstanding(&qp->receives)};
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ the end */

void rdma_qp_failed(struct rdma_qp *qp)
{
    if (qp->dead || !qp->qp || qp->type == FABRIC_QP_DCT)
        return;
    qp->dead = true;
    (void)rdma_qp_to_error(qp);
}

/* The device takes the completions of a queue pair out of their queue when it destroys it: what is
 * there is read before, and what is still owed is made. */
void rdma_qp_forget(struct rdma_qp *qp)
{
    struct rdma_device *device = qp->object.device;
    if (!qp->qp)
        return;
    if (!qp->dead && qp->type != FABRIC_QP_DCT && qp->state != FABRIC_QPS_RESET)
        (void)rdma_qp_to_error(qp);
    qp->dead = true;
    (void)rdma_cq_drain(qp->send_cq);
    if (qp->recv_cq != qp->send_cq)
        (void)rdma_cq_drain(qp->recv_cq);
    rdma_flush_all(qp);
    if (qp->qp_num)
        rdma_numbers_remove(&device->qp_nums, qp->qp_num, qp);
    int number = PLANTED(rdma_destroyed_lives_on) ? 0 : device->rdma->calls->destroy_qp(qp->qp);
    if (number)
        (void)rdma_failed(device, "ibv_destroy_qp", number);
    qp->qp = NULL;
}

void rdma_qp_end(struct rdma_qp *qp)
{
    rdma_qp_forget(qp);
    count_users(qp, (uint32_t)-1);
    rdma_object_drop(&qp->object);
    free_qp(qp);
}

enum fabric_error rdma_qp_destroy(struct fabric *f, fabric_qp handle)
{
    rdma_qp_end(rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_QP));
    return FABRIC_OK;
}
