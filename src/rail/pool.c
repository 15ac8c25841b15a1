/* SPDX-License-Identifier: Apache-2.0 */
#include "src/rail/pool.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/rail/ipoib.h"
#include "src/rail/log.h"

void rail_pool_used(struct rail_pool *pool, struct fabric *f, fabric_stream stream)
{
    char address[FABRIC_ADDRESS_MAX], netdev[FABRIC_NAME_MAX] = "", path[FABRIC_PATH_MAX];
    char advice[IPOIB_ADVICE];
    struct ipoib_interface interface;
    assert(pool && f && stream.id);
    if (pool->said && !PLANTED(rail_pool_said_again))
        return;
    if (fabric_stream_local(f, stream, address, netdev) != FABRIC_OK || !netdev[0])
        return;
    assert(memchr(netdev, '\0', sizeof(netdev)));
    if (strcmp(netdev, pool->seen) == 0 && !PLANTED(rail_pool_said_again))
        return;
    memcpy(pool->seen, netdev, sizeof(netdev));
    if (ipoib_read(f, netdev, &interface, path) != FABRIC_OK) /* no IPoIB: nothing to say */
        return;
    if (!ipoib_advice(&interface, advice) || PLANTED(rail_pool_unsaid))
        return;
    rail_log(f, FABRIC_LOG_WARN, "the TCP pool runs on it: %s", advice);
    pool->said = true;
}
