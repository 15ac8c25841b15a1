/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responder resources (chapter 9.7.5.1.5): each READ and atomic holds one until its responses are
 * out, and is remembered until the resource is needed again, for duplicates.
 */
#include "fabric_sim/hca/engine.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

static uint32_t resource_limit(const struct qp_context *ctx)
{
    return rules_responder_depth(ctx->qp->type, ctx->hca->state.device->caps,
                                 ctx->qp->attr.max_dest_rd_atomic,
                                 ctx->hca->profile->max_rd_atomic);
}

static struct resource *resource_at(struct qp_context *ctx, uint32_t counter)
{
    return &ctx->rsp->resources[counter % RESPONDER_RESOURCES];
}

static uint32_t psn_count(const struct resource *resource)
{
    return (uint32_t)rules_psn_diff(resource->last_psn, resource->first_psn) + 1;
}

static struct payload **answer_of(struct qp_context *ctx, const struct resource *resource)
{
    return &ctx->answers[resource - ctx->rsp->resources];
}

static void resource_clear(struct qp_context *ctx, struct resource *resource)
{
    struct payload **answer = answer_of(ctx, resource);
    if (*answer)
        payload_give_back(ctx->hca, *answer);
    *answer = NULL;
    memset(resource, 0, sizeof(*resource));
}

void resources_drop(struct qp_context *ctx)
{
    for (uint32_t i = 0; i < RESPONDER_RESOURCES && !PLANTED(hca_resources_kept); i++)
        resource_clear(ctx, &ctx->rsp->resources[i]);
    ctx->rsp->pending = ctx->rsp->unanswered = 0;
}

/* Null: all are still busy. One whose answer is only being repeated is not: the peer had it all,
 * or it would send no new request (chapter 9.7.5.1.5). */
static struct resource *resource_take(struct qp_context *ctx, struct packet *packet)
{
    struct responder *rsp = ctx->rsp;
    uint32_t busy = PLANTED(hca_repetition_keeps_resource) ? rsp->pending : rsp->unanswered;
    if (busy >= resource_limit(ctx) && !PLANTED(hca_resources_unlimited))
        return NULL;
    struct resource *resource = resource_at(ctx, rsp->resource_head);
    rsp->pending -= resource->pending;
    rsp->unanswered -= resource->used && !resource->answered;
    resource_clear(ctx, resource);
    rsp->resource_head++;
    rsp->unanswered++;
    resource->used = true;
    resource->position = rsp->position;
    resource->first_psn = resource->cursor = packet->psn;
    resource->rkey = packet->rkey;
    resource->va = packet->va;
    resource->length = packet->dma_length;
    resource->pd = context_pd(ctx);
    return resource;
}

static void resource_answer(struct qp_context *ctx, uint32_t counter)
{
    struct responder *rsp = ctx->rsp;
    struct resource *resource = resource_at(ctx, counter);
    if (rsp->pending == 0 || (int32_t)(counter - rsp->answering) < 0)
        rsp->answering = counter;
    assert(resource->used && rsp->pending <= RESPONDER_RESOURCES);
    if (!resource->pending)
        rsp->pending++;
    resource->pending = true;
    bool covered = rules_psn_diff(rsp->ack_psn, resource->first_psn) < 0;
    if (rsp->ack == ACK_ACK && (covered || PLANTED(hca_repetition_takes_ack)))
        rsp->ack = ACK_NONE; /* the response acknowledges all before it */
    context_ready(ctx);
}

static bool remote_allowed(const struct qp_context *ctx, const struct packet *packet,
                           uint32_t length, uint32_t access)
{
    if (length == 0)
        return true;
    return ((ctx->qp->attr.access & access) || PLANTED(hca_qp_access_unchecked)) &&
           key_remote(ctx, packet->rkey, packet->va, length, access);
}

static void refuse(struct qp_context *ctx, struct packet *packet, enum rules_nak nak)
{
    responder_nak(ctx, nak);
    packet_drop(ctx->hca, packet, "refused");
}

static void executed(struct qp_context *ctx, struct packet *packet, struct resource *resource)
{
    struct responder *rsp = ctx->rsp;
    rsp->position += psn_count(resource);
    rsp->epsn = rules_psn_add(resource->last_psn, 1);
    rsp->msn = rules_psn_add(rsp->msn, 1);
    resource_answer(ctx, rsp->resource_head - 1);
    net_free(ctx->hca->net, packet);
}

void resource_read(struct qp_context *ctx, struct packet *packet)
{
    if (!remote_allowed(ctx, packet, packet->dma_length, HCA_ACCESS_REMOTE_READ)) {
        refuse(ctx, packet, RULES_NAK_REMOTE_ACCESS);
        return;
    }
    struct resource *resource = resource_take(ctx, packet);
    if (!resource) {
        refuse(ctx, packet, RULES_NAK_INVALID_REQUEST); /* chapter 9.7.4.1.7 */
        return;
    }
    uint32_t packets = rules_packet_count(packet->dma_length, ctx->path->mtu);
    resource->last_psn = rules_psn_add(packet->psn, packets - 1);
    executed(ctx, packet, resource);
}

/* False: the memory is out of reach. */
static bool execute_atomic(struct qp_context *ctx, const struct packet *packet, uint64_t *before)
{
    const struct key_state *key = state_key(&ctx->hca->state, packet->rkey);
    if (!memory_read(ctx, key, packet->va, before, sizeof(*before)))
        return false;
    uint64_t value =
        rules_atomic(packet->opcode & 0x1f, *before, packet->compare, packet->swap_add);
    return memory_write(ctx, key, packet->va, &value, sizeof(value));
}

void resource_atomic(struct qp_context *ctx, struct packet *packet)
{
    if (packet->va % 8 != 0) { /* chapter 9.4.5: naturally aligned */
        refuse(ctx, packet, RULES_NAK_INVALID_REQUEST);
        return;
    }
    if (!remote_allowed(ctx, packet, 8, HCA_ACCESS_REMOTE_ATOMIC)) {
        refuse(ctx, packet, RULES_NAK_REMOTE_ACCESS);
        return;
    }
    struct resource *resource = resource_take(ctx, packet);
    if (!resource) {
        refuse(ctx, packet, RULES_NAK_INVALID_REQUEST);
        return;
    }
    resource->atomic = true;
    resource->last_psn = packet->psn;
    if (!execute_atomic(ctx, packet, &resource->result)) {
        packet_drop(ctx->hca, packet, "memory out of reach");
        return;
    }
    executed(ctx, packet, resource);
}

/* Whether the packet asks once more for what the resource answered, or for the rest of it. A READ
 * of the same PSN a wrap of the PSN space ago is another. */
static bool is_repetition(const struct qp_context *ctx, const struct resource *resource,
                          const struct packet *packet)
{
    const struct responder *rsp = ctx->rsp;
    bool atomic = rules_opcode(packet->opcode)->kind == RULES_ATOMIC;
    if (!resource->used || resource->atomic != atomic || resource->rkey != packet->rkey)
        return false;
    int32_t ahead = rules_psn_diff(packet->psn, rsp->epsn);
    uint64_t index = rsp->position + (uint64_t)(int64_t)ahead - resource->position;
    if (PLANTED(hca_duplicate_by_psn_alone)) {
        index = (uint64_t)rules_psn_diff(packet->psn, resource->first_psn);
        return index < psn_count(resource);
    }
    if (index >= psn_count(resource))
        return false;
    uint32_t offset = (uint32_t)index * ctx->path->mtu;
    return packet->va == resource->va + offset &&
           (atomic || packet->dma_length == resource->length - offset);
}

/* Chapter 9.7.5.1.4: a READ is executed again from the PSN asked for, an atomic is not: its saved
 * result is sent. Without the resource the request is dropped. */
void resource_duplicate(struct qp_context *ctx, struct packet *packet)
{
    const uint32_t head = ctx->rsp->resource_head;
    for (uint32_t age = 1; age <= RESPONDER_RESOURCES; age++) {
        uint32_t counter = PLANTED(hca_duplicate_by_psn_alone) ? head + age : head - age;
        struct resource *resource = resource_at(ctx, counter);
        if (!is_repetition(ctx, resource, packet))
            continue;
        if (PLANTED(hca_duplicate_atomic) && resource->atomic) {
            uint64_t value;
            (void)execute_atomic(ctx, packet, &value);
        }
        resource->cursor = packet->psn;
        resource->sending = false;
        resource_answer(ctx, counter);
        return;
    }
}

static struct resource *oldest_pending(struct qp_context *ctx)
{
    struct responder *rsp = ctx->rsp;
    assert(rsp->pending > 0);
    if (rsp->resource_head - rsp->answering > RESPONDER_RESOURCES)
        rsp->answering = rsp->resource_head - RESPONDER_RESOURCES; /* those were displaced */
    while (!resource_at(ctx, rsp->answering)->pending)
        rsp->answering++;
    assert((int32_t)(rsp->resource_head - rsp->answering) > 0);
    return resource_at(ctx, rsp->answering);
}

static uint8_t read_operation(const struct resource *resource, uint32_t psn, bool first)
{
    bool last = psn == resource->last_psn;
    if (first)
        return last ? BTH_READ_RESPONSE_ONLY : BTH_READ_RESPONSE_FIRST;
    return last ? BTH_READ_RESPONSE_LAST : BTH_READ_RESPONSE_MIDDLE;
}

/* Null when the key was taken back since the request: the rest is refused. */
static struct packet *build_read_response(struct qp_context *ctx, struct resource *resource)
{
    struct hca *hca = ctx->hca;
    uint32_t psn = resource->cursor;
    if (resource->length && !key_remote_of(ctx, resource->pd, resource->rkey, resource->va,
                                           resource->length, HCA_ACCESS_REMOTE_READ)) {
        resource->pending = false;
        ctx->rsp->pending = 0;
        ctx->rsp->epsn = psn; /* the NAK names what was not answered */
        responder_nak(ctx, RULES_NAK_REMOTE_ACCESS);
        return NULL;
    }
    struct payload **answer = answer_of(ctx, resource);
    if (resource->length && !*answer) {
        const struct key_state *key = state_key(&hca->state, resource->rkey);
        *answer = memory_payload(ctx, key, resource->va, resource->length);
        if (!*answer) {
            ctx->rsp->pending = 0;
            return NULL;
        }
    }
    uint32_t offset = (uint32_t)rules_psn_diff(psn, resource->first_psn) * ctx->path->mtu;
    bool first = !resource->sending;
    struct packet *packet = context_packet(ctx, read_operation(resource, psn, first), psn);
    if (resource->length) {
        uint32_t left = resource->length - offset;
        packet->payload = payload_ref(*answer);
        packet->payload_offset = offset;
        packet->payload_length = left < ctx->path->mtu ? left : ctx->path->mtu;
    }
    packet->syndrome = RULES_ACK;
    packet->msn = ctx->rsp->msn;
    resource->sending = true;
    return packet;
}

static struct packet *build_atomic_ack(struct qp_context *ctx, const struct resource *resource)
{
    struct packet *packet = context_packet(ctx, BTH_ATOMIC_ACKNOWLEDGE, resource->first_psn);
    packet->swap_add = resource->result;
    packet->syndrome = RULES_ACK;
    packet->msn = ctx->rsp->msn;
    return packet;
}

struct packet *resource_next(struct qp_context *ctx)
{
    struct resource *resource = oldest_pending(ctx);
    struct packet *packet =
        resource->atomic ? build_atomic_ack(ctx, resource) : build_read_response(ctx, resource);
    if (!packet)
        return NULL;
    assert(ctx->rsp->pending > 0);
    if (resource->cursor == resource->last_psn) {
        resource->pending = resource->sending = false;
        ctx->rsp->unanswered -= !resource->answered;
        resource->answered = true;
        ctx->rsp->pending--;
    }
    resource->cursor = rules_psn_add(resource->cursor, 1);
    packet_finish(port_of(ctx->hca, ctx->path->port_num), packet);
    return packet;
}
