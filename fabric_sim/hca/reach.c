/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes behind a key: of this process, or of a program in another one (struct hca_reach), whose
 * bytes are copied, a whole message at once.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

static bool is_elsewhere(const struct qp_context *ctx, const struct key_state *key)
{
    assert(!key->owner || ctx->hca->reach);
    return key->owner != 0;
}

/* Where the byte lies in the address space of the key's owner. */
static uint64_t host_of(const struct key_state *key, uint64_t addr)
{
    return (uint64_t)(uintptr_t)key_host(key, addr);
}

static bool reached(struct qp_context *ctx, bool done)
{
    if (!done && !PLANTED(hca_unreachable_answers))
        ctx->rsp->silent = true;
    return done;
}

bool memory_read(struct qp_context *ctx, const struct key_state *key, uint64_t addr, void *to,
                 uint32_t length)
{
    const struct hca_reach *reach = ctx->hca->reach;
    if (is_elsewhere(ctx, key))
        return reached(ctx,
                       reach->read(reach->context, key->owner, host_of(key, addr), to, length));
    memcpy(to, key_host(key, addr), length);
    return true;
}

bool memory_write(struct qp_context *ctx, const struct key_state *key, uint64_t addr,
                  const void *from, uint32_t length)
{
    const struct hca_reach *reach = ctx->hca->reach;
    if (ctx->hca->discard_payload)
        return true;
    if (is_elsewhere(ctx, key))
        return reached(ctx,
                       reach->write(reach->context, key->owner, host_of(key, addr), from, length));
    memmove(key_host(key, addr), from, length); /* a region may be its own peer */
    return true;
}

struct payload *memory_payload(struct qp_context *ctx, const struct key_state *key, uint64_t addr,
                               uint32_t length)
{
    struct net *net = ctx->hca->net;
    uint8_t *room;
    if (!is_elsewhere(ctx, key))
        return payload_new(net, key_host(key, addr), length);
    struct payload *payload = payload_room(net, length, &room);
    if (memory_read(ctx, key, addr, room, length))
        return payload;
    payload_unref(net, payload);
    return NULL;
}
