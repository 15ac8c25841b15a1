/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/part.h"

#include <stddef.h>

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
