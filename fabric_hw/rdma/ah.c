/* SPDX-License-Identifier: Apache-2.0 */
/* Address handles, which DC sends name. */
#include <errno.h>
#include <stdlib.h>

#include "fabric_hw/rdma/state.h"

static enum fabric_error check(struct rdma_device *device, const struct fabric_av *av)
{
    struct fabric_port_attr port;
    const fabric_device handle = {device->id};
    enum fabric_error error = rdma_port_query(device->rdma->f, handle, av->port_num, &port);
    if (error)
        return error;
    bool demanded = port.flags & FABRIC_PORT_GRH_REQUIRED && !av->is_global;
    return demanded ? ERR_GRH_UNAVAILABLE : FABRIC_OK;
}

enum fabric_error rdma_ah_create(struct fabric *f, fabric_device handle, const struct fabric_av *av,
                                 fabric_ah *out)
{
    struct rdma *r = rdma_of(f);
    struct rdma_device *device = rdma_device_get(r, handle.id);
    struct ibv_ah_attr attr;
    enum fabric_error error = check(device, av);
    struct rdma_ah *ah = error ? NULL : calloc(1, sizeof(*ah));
    if (!ah)
        return error ? error : ERR_RESOURCES_EXHAUSTED;
    rdma_ah_attr(av, &attr);
    errno = 0;
    ah->ah = r->calls->create_ah(device->pd, &attr);
    if (!ah->ah)
        error = rdma_failed(device, "ibv_create_ah", errno);
    else if (!rdma_object_add(&ah->object, RDMA_AH, device))
        error = ERR_RESOURCES_EXHAUSTED;
    if (error) {
        if (ah->ah)
            r->calls->destroy_ah(ah->ah);
        free(ah);
        return error;
    }
    out->id = ah->object.id;
    return FABRIC_OK;
}

void rdma_ah_forget(struct rdma_ah *ah)
{
    int number = ah->ah ? ah->object.device->rdma->calls->destroy_ah(ah->ah) : 0;
    if (number)
        (void)rdma_failed(ah->object.device, "ibv_destroy_ah", number);
    ah->ah = NULL;
}

void rdma_ah_end(struct rdma_ah *ah)
{
    rdma_ah_forget(ah);
    rdma_object_drop(&ah->object);
    free(ah);
}

enum fabric_error rdma_ah_destroy(struct fabric *f, fabric_ah handle)
{
    rdma_ah_end(rdma_handles_get(&rdma_of(f)->handles, handle.id, RDMA_AH));
    return FABRIC_OK;
}
