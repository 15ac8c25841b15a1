/* SPDX-License-Identifier: Apache-2.0 */
/* The message engine between devices of one process: one memory, and the net at hand. */
#include "fabric_sim/hca/message.h"

#include <assert.h>
#include <string.h>

#include "fabric_sim/hca/engine.h"

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

static bool on_copy(void *context, const struct message_part *to, const struct message_part *from)
{
    (void)context;
    assert(to->length == from->length);
    if (to->owner || from->owner)
        return false; /* of another process: the packet engine has the way there */
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

void message_run_local(struct qp_context *ctx)
{
    struct hca *hca = ctx->hca;
    const struct message_world world = {
        .route = on_route, .copy = on_copy, .completed = on_completed, .now = sim_now(hca->sim)};
    assert(!hca->discard_payload);
    hca->messages += message_run(&world, &hca->state, ctx->qp);
}

void hca_use_messages(struct hca *hca, bool use)
{
    hca->use_messages = use;
}

uint64_t hca_messages(const struct hca *hca)
{
    return hca->messages;
}
