/* SPDX-License-Identifier: Apache-2.0 */
/* The message engine between devices of one process: one memory, and the net at hand. */
#include "fabric_sim/hca/message.h"

#include <assert.h>
#include <string.h>

#include "fabric_sim/hca/engine.h"
#include "fabric_sim/hca/queue.h"
#include "src/fabric/planted.h"

#define BOUNCE 65536u /* bytes copied at once from program to program */
#define PAUSE 20000   /* ns in which a program may take over what is left of its queue */

static struct hca *hca_of(const struct hca_state *state)
{
    return (struct hca *)((uintptr_t)state - offsetof(struct hca, state));
}

static bool on_route(void *context, const struct hca_state *from, uint8_t port_num,
                     const struct packet *packet, struct message_route *out)
{
    const struct hca_port *port = port_of(hca_of(from), port_num);
    struct net_way way;
    (void)context;
    if (!net_plain_way(port->net_port, packet->dlid, packet->sl, &way))
        return false;
    const struct net_owner *owner = net_node_owner(net_port_node(way.to));
    if (owner->receive != port_receive)
        return false;
    struct hca *hca = owner->context;
    *out = (struct message_route){&hca->state, net_port_num(way.to), way.mtu};
    return true;
}

/* Between programs, by way of this one. */
static bool copy_far(const struct hca_reach *reach, const struct message_part *to,
                     const struct message_part *from)
{
    uint8_t bounce[BOUNCE];
    assert(reach);
    for (uint32_t at = 0; at < to->length; at += BOUNCE) {
        uint32_t part = to->length - at < BOUNCE ? to->length - at : BOUNCE;
        uint8_t *source = (uint8_t *)(uintptr_t)from->host + at, *target;
        if (from->owner) {
            if (!reach->read(reach->context, from->owner, from->host + at, bounce, part))
                return false;
            source = bounce;
        }
        target = (uint8_t *)(uintptr_t)to->host + at;
        if (!to->owner)
            memmove(target, source, part);
        else if (!reach->write(reach->context, to->owner, to->host + at, source, part))
            return false;
    }
    return true;
}

static bool on_copy(void *context, const struct message_part *to, const struct message_part *from)
{
    const struct hca *hca = context;
    assert(to->length == from->length);
    if (to->owner || from->owner)
        return copy_far(hca->reach, to, from);
    memmove((void *)(uintptr_t)to->host, (const void *)(uintptr_t)from->host, to->length);
    return true;
}

static void on_completed(void *context, struct hca_state *state, struct cq_state *cq,
                         bool solicited, bool asked)
{
    struct hca *hca = hca_of(state);
    (void)context;
    if (hca->notify.completion)
        hca->notify.completion(hca->notify.context, hca, (hca_cq){cq->slot.id}, solicited);
    if (asked && hca->notify.asked)
        hca->notify.asked(hca->notify.context, hca, cq->context);
}

static bool on_quiet(void *context, struct hca_state *state, const struct key_state *window)
{
    (void)context;
    key_quiet(hca_of(state), window);
    return true;
}

static struct message_world world_of(struct hca *hca)
{
    assert(!hca->discard_payload);
    return (struct message_world){.context = hca,
                                  .route = on_route,
                                  .copy = on_copy,
                                  .completed = on_completed,
                                  .quiet = on_quiet,
                                  .now = sim_now(hca->sim)};
}

static uint32_t run(struct qp_context *ctx, uint32_t most)
{
    const struct message_world world = world_of(ctx->hca);
    uint32_t carried = message_run(&world, &ctx->hca->state, ctx->qp, most);
    ctx->hca->messages += carried;
    return carried;
}

void message_run_local(struct qp_context *ctx)
{
    (void)run(ctx, UINT32_MAX);
}

static void turn_due(void *object, uint64_t unused)
{
    struct qp_context *ctx = object;
    (void)unused;
    ctx->turn = 0;
    context_ready(ctx);
}

bool message_turn(struct qp_context *ctx)
{
    const struct requester *req = ctx->req;
    if (!ctx->hca->use_messages || ctx->dcr || ctx->qp->type != HCA_QP_RC)
        return false;
    const struct message_world world = world_of(ctx->hca);
    if (req->una_psn != req->next_psn) /* what is under way is over soon, or comes back here */
        return message_passes(&world, &ctx->hca->state, ctx->qp) &&
               !PLANTED(hca_message_never_back);
    if (run(ctx, 1) == 0)
        return false;
    if (queue_send_rings(ctx->qp) && !ctx->turn)
        ctx->turn = sim_in(ctx->hca->sim, PAUSE, turn_due, ctx, 0);
    return true;
}

void hca_use_messages(struct hca *hca, bool use)
{
    hca->use_messages = use;
}

uint64_t hca_messages(const struct hca *hca)
{
    return hca->messages;
}
