/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs of this machine as the part of an instance: devices, memory and queue pairs through
 * libibverbs, DC through mlx5dv. Translation only: what to do is decided in src/.
 *
 *     const struct os_fabric_options options = {..., .part = &rdma_part};
 *
 * Without the kernel's RDMA an instance with this part has no device. DC is compiled and tested
 * against recorded calls; it has not met an HCA.
 *
 * Threads: all of it runs in the thread of the instance, but for look-ups of link addresses on
 * RoCE, which the kernel answers only to who waits: a thread of their own makes and destroys an
 * address handle for each and touches nothing else.
 */
#ifndef FABRIC_HW_RDMA_RDMA_H
#define FABRIC_HW_RDMA_RDMA_H

#include "fabric_hw/os/part.h"

struct verbs_calls;

struct rdma_options {
    const struct verbs_calls *calls; /* null: libibverbs itself */
    bool busy_poll;    /* fabric_poll looks into the completion queues until its deadline instead of
                        * waiting for their descriptors: less latency for a whole core */
    bool regions_only; /* lend regions, as on a device without memory windows of type 1 */
};

/* The context is a struct rdma_options, or null for the defaults; it is copied. */
extern const struct os_part rdma_part;

#endif
