/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues and shared receive queues. */
#include <errno.h>
#include <stdlib.h>

#include "fabric_hw/rdma/state.h"

/* ------------------------------------------------------------------ completion queues */

bool rdma_cq_open(struct rdma_device *device, struct rdma_cq *cq, uint32_t depth)
{
    int entries = depth > INT32_MAX ? INT32_MAX : (int)depth;
    errno = 0;
    cq->object.device = device;
    cq->cq = device->rdma->calls->create_cq(device->context, entries, cq, device->channel, 0);
    if (!cq->cq)
        (void)rdma_failed(device, "ibv_create_cq", errno);
    return cq->cq != NULL;
}

/* Its destruction waits for the acknowledgement of every event that was read. */
void rdma_cq_close(struct rdma_cq *cq)
{
    if (!cq->cq)
        return;
    const struct verbs_calls *calls = cq->object.device->rdma->calls;
    if (cq->unacknowledged)
        calls->ack_cq_events(cq->cq, cq->unacknowledged);
    int number = calls->destroy_cq(cq->cq);
    if (number)
        (void)rdma_failed(cq->object.device, "ibv_destroy_cq", number);
    cq->unacknowledged = 0;
    cq->cq = NULL;
}

enum fabric_error rdma_cq_create(struct fabric *f, fabric_device handle, uint32_t depth,
                                 fabric_cq *out)
{
    struct rdma_device *device = rdma_device_get(rdma_of(f), handle.id);
    if (device->removed)
        return ERR_DEVICE_REMOVED;
    struct rdma_cq *cq = calloc(1, sizeof(*cq));
    if (!cq || !rdma_cq_open(device, cq, depth) || !rdma_object_add(&cq->object, RDMA_CQ, device)) {
        if (cq)
            rdma_cq_close(cq);
        free(cq);
        return ERR_RESOURCES_EXHAUSTED;
    }
    out->id = cq->object.id;
    return FABRIC_OK;
}

void rdma_cq_end(struct rdma_cq *cq)
{
    if (cq->cq)
        (void)rdma_cq_drain(cq);
    rdma_cq_close(cq);
    rdma_object_drop(&cq->object);
    free(cq);
}

enum fabric_error rdma_cq_destroy(struct fabric *f, fabric_cq handle)
{
    struct rdma_cq *cq = rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_CQ);
    assert(cq->users == 0); /* programmer error */
    rdma_cq_end(cq);
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ shared receive queues */

static bool open_srq(struct rdma_device *device, struct rdma_srq *srq, uint32_t max_wr,
                     uint32_t max_sge)
{
    struct ibv_srq_init_attr init = {.srq_context = srq,
                                     .attr = {.max_wr = max_wr, .max_sge = max_sge ? max_sge : 1}};
    srq->max_sge = init.attr.max_sge;
    srq->wr_ids = calloc(max_wr, sizeof(*srq->wr_ids));
    srq->free_places = calloc(max_wr, sizeof(*srq->free_places));
    if (!srq->wr_ids || !srq->free_places)
        return false;
    for (uint32_t i = 0; i < max_wr; i++)
        srq->free_places[i] = max_wr - 1 - i;
    srq->free_count = max_wr;
    errno = 0;
    srq->srq = device->rdma->calls->create_srq(device->pd, &init);
    if (!srq->srq)
        (void)rdma_failed(device, "ibv_create_srq", errno);
    return srq->srq != NULL;
}

static void free_srq(struct rdma_srq *srq)
{
    free(srq->wr_ids);
    free(srq->free_places);
    free(srq);
}

enum fabric_error rdma_srq_create(struct fabric *f, fabric_device handle, uint32_t max_wr,
                                  uint32_t max_sge, fabric_srq *out)
{
    struct rdma_device *device = rdma_device_get(rdma_of(f), handle.id);
    if (device->removed)
        return ERR_DEVICE_REMOVED;
    struct rdma_srq *srq = max_wr <= INT32_MAX ? calloc(1, sizeof(*srq)) : NULL;
    if (!srq)
        return ERR_RESOURCES_EXHAUSTED;
    srq->object.device = device;
    if (!open_srq(device, srq, max_wr, max_sge) ||
        !rdma_object_add(&srq->object, RDMA_SRQ, device)) {
        rdma_srq_forget(srq);
        free_srq(srq);
        return ERR_RESOURCES_EXHAUSTED;
    }
    out->id = srq->object.id;
    return FABRIC_OK;
}

void rdma_srq_forget(struct rdma_srq *srq)
{
    int number = srq->srq ? srq->object.device->rdma->calls->destroy_srq(srq->srq) : 0;
    if (number)
        (void)rdma_failed(srq->object.device, "ibv_destroy_srq", number);
    srq->srq = NULL;
}

void rdma_srq_end(struct rdma_srq *srq)
{
    rdma_srq_forget(srq);
    rdma_object_drop(&srq->object);
    free_srq(srq);
}

enum fabric_error rdma_srq_destroy(struct fabric *f, fabric_srq handle)
{
    struct rdma_srq *srq = rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_SRQ);
    assert(srq->users == 0); /* programmer error */
    rdma_srq_end(srq);
    return FABRIC_OK;
}

enum fabric_error rdma_srq_post_recv(struct fabric *f, fabric_srq handle,
                                     const struct fabric_recv_wr *wr)
{
    struct rdma_srq *srq = rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_SRQ);
    struct ibv_sge sges[FABRIC_MAX_SGE];
    struct ibv_recv_wr post = {.sg_list = sges, .num_sge = (int)wr->sge_count}, *bad;
    if (!srq->srq)
        return ERR_DEVICE_REMOVED;
    if (wr->sge_count > srq->max_sge)
        return ERR_INVALID_ARGUMENT;
    if (srq->free_count == 0)
        return ERR_QUEUE_FULL;
    rdma_sges(srq->object.device, wr->sges, sges, wr->sge_count, false);
    uint32_t place = srq->free_places[srq->free_count - 1];
    post.wr_id = (uint64_t)srq->object.id << 32 | place;
    if (srq->object.device->rdma->calls->post_srq_recv(srq->srq, &post, &bad))
        return ERR_QUEUE_FULL;
    srq->free_count--;
    srq->wr_ids[place] = wr->wr_id;
    return FABRIC_OK;
}
