/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the bytes of an RDMA WRITE reach memory. Where the device promises no order (WRITE_ORDER is
 * off), some packets wait while later ones land; a draw per message decides which. A message that
 * fails leaves behind an arbitrary part of what waited, torn at the device's unit.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

void landing_begin(struct qp_context *ctx)
{
    assert(ctx->held == 0);
    bool ordered = hca_has(ctx->hca, FABRIC_CAP_WRITE_ORDER) || PLANTED(hca_landing_in_order);
    ctx->rsp->order = ordered ? 0 : sim_random(ctx->hca->sim) | 1;
}

/* Where the packet's bytes go stands in its va: the engine put it there on arrival. */
static void land(struct qp_context *ctx, const struct packet *packet, uint32_t from, uint32_t to)
{
    const struct key_state *key = ctx->write_key;
    assert(key && from <= to && to <= packet->payload_length);
    const uint8_t *bytes = packet->payload->bytes + packet->payload_offset;
    (void)memory_write(ctx, key, packet->va + from, bytes + from, to - from); /* or it is silent */
}

static struct packet *held_pop(struct qp_context *ctx)
{
    struct packet *packet = ctx->held_head;
    assert(packet && ctx->held > 0);
    ctx->held_head = packet->next;
    packet->next = NULL;
    ctx->held--;
    ctx->hca->state.device->held--;
    return packet;
}

static void hold(struct qp_context *ctx, struct packet *packet)
{
    packet->next = NULL;
    ctx->hca->state.device->held++;
    if (ctx->held++ == 0)
        ctx->held_head = packet;
    else
        ctx->held_tail->next = packet;
    ctx->held_tail = packet;
}

void landing_packet(struct qp_context *ctx, struct packet *packet)
{
    struct responder *rsp = ctx->rsp;
    packet->va = rsp->write_va;
    packet->rkey = rsp->rkey;
    rsp->write_va += packet->payload_length;
    if (packet->payload_length && (mix(rsp->order ^ packet->psn) & 7) == 0 && rsp->order) {
        hold(ctx, packet);
        if (ctx->held <= ENGINE_HELD)
            return;
        packet = held_pop(ctx);
    }
    if (packet->payload_length)
        land(ctx, packet, 0, packet->payload_length);
    net_free(ctx->hca->net, packet);
}

void landing_end(struct qp_context *ctx)
{
    while (ctx->held) {
        struct packet *packet = held_pop(ctx);
        land(ctx, packet, 0, packet->payload_length);
        net_free(ctx->hca->net, packet);
    }
}

void landing_abandon(struct qp_context *ctx)
{
    struct responder *rsp = ctx->rsp;
    uint32_t unit = ctx->hca->profile->write_tear_unit ? ctx->hca->profile->write_tear_unit : 1;
    if (PLANTED(hca_tear_anywhere))
        unit = 24;
    while (ctx->held) {
        struct packet *packet = held_pop(ctx);
        uint32_t at = 0;
        while (at < packet->payload_length) {
            /* up to the next address that is a multiple of the unit */
            uint32_t to = at + unit - (uint32_t)((packet->va + at) % unit);
            if (to > packet->payload_length)
                to = packet->payload_length;
            if (mix(rsp->order ^ (packet->va + at)) & 1)
                land(ctx, packet, at, to);
            at = to;
        }
        net_free(ctx->hca->net, packet);
    }
}
