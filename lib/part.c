/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/part.h"

#include <stddef.h>
#include <stdint.h>

#ifdef MEMKV_RDMA
#include "fabric_hw/rdma/rdma.h"
#endif

const struct os_part *lib_part(void)
{
    static const struct os_part *const parts[] = {
#ifdef MEMKV_RDMA
        &rdma_part,
#endif
        NULL};
    return parts[0];
}

void *lib_part_context(bool busy_poll)
{
#ifdef MEMKV_RDMA
    static const struct rdma_options busy = {.busy_poll = true};
    return busy_poll ? (void *)(uintptr_t)&busy : NULL;
#else
    (void)busy_poll; /* there is no completion queue */
    return NULL;
#endif
}
