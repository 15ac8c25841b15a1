/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "src/server/server.h"

enum fabric_error server_slab_register(struct server *server, struct server_lane *lane,
                                       uint32_t rail)
{
    struct server *s = server;
    assert(s && lane && rail < s->rail_count);
    struct rail *r = &s->rails[rail];
    if (lane->slab_epoch[rail] == r->epoch)
        return FABRIC_OK;
    uint64_t length;
    struct fabric_mr_init init = {.kind = FABRIC_MEM_HOST, .access = FABRIC_ACCESS_LOCAL_WRITE};
    struct fabric_mr_keys keys;
    init.addr = store_memory(lane->store, &length);
    init.length = length;
    init.iova = 1ull << 40;
    enum fabric_error error =
        fabric_mr_register(s->fabric, r->device, &init, &lane->slab_mr[rail], &keys);
    if (error)
        return error;
    lane->slab_lkey[rail] = keys.lkey;
    lane->slab_epoch[rail] = r->epoch;
    return FABRIC_OK;
}
