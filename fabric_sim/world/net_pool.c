/* SPDX-License-Identifier: Apache-2.0 */
/* Packets and payloads come from pools: no allocation per packet once a world runs. */
#include "fabric_sim/world/net_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/mad.h"
#include "src/fabric/planted.h"

#define POOL_CHUNK 128 /* packets or payloads that are allocated at once */

struct net_packet_chunk {
    struct net_packet_chunk *next;
    struct packet packets[POOL_CHUNK];
};

/* A payload in the pool; the member before it links free ones. */
struct pooled_payload {
    struct payload payload; /* first: a payload's address is its pool entry's */
    struct pooled_payload *next;
};

struct net_payload_chunk {
    struct net_payload_chunk *next;
    struct pooled_payload payloads[POOL_CHUNK];
};

void *net_memory(struct net *net, size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        abort();
    net->memory += size;
    return memory;
}

void net_memory_free(struct net *net, void *memory, size_t size)
{
    if (!memory)
        return;
    assert(net->memory >= size);
    net->memory -= size;
    free(memory);
}

void *net_memory_grow(struct net *net, void *memory, size_t old_size, size_t new_size)
{
    assert(new_size >= old_size);
    char *larger = realloc(memory, new_size);
    if (!larger)
        abort();
    memset(larger + old_size, 0, new_size - old_size);
    net->memory += new_size - old_size;
    return larger;
}

struct packet *net_alloc(struct net *net)
{
    if (!net->free_packets) {
        struct net_packet_chunk *chunk = net_memory(net, sizeof(*chunk));
        chunk->next = net->packet_chunks;
        net->packet_chunks = chunk;
        for (size_t i = POOL_CHUNK; i-- > 0;) {
            chunk->packets[i].next = net->free_packets;
            net->free_packets = &chunk->packets[i];
        }
    }
    struct packet *packet = net->free_packets;
    net->free_packets = packet->next;
    memset(packet, 0, sizeof(*packet));
    return packet;
}

void net_free(struct net *net, struct packet *packet)
{
    assert(!packet->hold);
    if (packet->payload)
        payload_unref(net, packet->payload);
    if (packet->mad)
        mad_free(packet->mad);
    packet->payload = NULL;
    packet->mad = NULL;
    packet->next = net->free_packets;
    net->free_packets = packet;
}

struct packet *net_clone(struct net *net, const struct packet *packet)
{
    struct packet *clone = net_alloc(net);
    *clone = *packet;
    clone->next = NULL;
    clone->hold = NULL;
    if (clone->payload)
        payload_ref(clone->payload);
    if (packet->mad) {
        clone->mad = mad_new();
        *clone->mad = *packet->mad;
    }
    return clone;
}

struct payload *payload_new(struct net *net, const void *bytes, uint32_t length)
{
    assert(bytes || length == 0);
    struct pooled_payload *entry = (struct pooled_payload *)net->free_payloads;
    if (!entry) {
        struct net_payload_chunk *chunk = net_memory(net, sizeof(*chunk));
        chunk->next = net->payload_chunks;
        net->payload_chunks = chunk;
        for (size_t i = POOL_CHUNK; i-- > 0;) {
            chunk->payloads[i].next = entry;
            entry = &chunk->payloads[i];
        }
    }
    net->free_payloads = entry->next ? &entry->next->payload : NULL;
    entry->payload = (struct payload){.bytes = bytes, .length = length, .users = 1};
    return &entry->payload;
}

struct payload *payload_room(struct net *net, uint32_t length, uint8_t **bytes)
{
    assert(length > 0 && bytes);
    *bytes = net_memory(net, length);
    struct payload *payload = payload_new(net, *bytes, length);
    payload->owned = true;
    return payload;
}

struct payload *payload_ref(struct payload *payload)
{
    assert(payload->users > 0 && payload->users < UINT32_MAX);
    payload->users++;
    return payload;
}

void payload_unref(struct net *net, struct payload *payload)
{
    assert(payload->users > 0);
    if (--payload->users > 0)
        return;
    if (payload->owned)
        net_memory_free(net, (void *)(uintptr_t)payload->bytes, payload->length);
    payload->owned = false;
    struct pooled_payload *entry = (struct pooled_payload *)payload;
    entry->next = (struct pooled_payload *)net->free_payloads;
    net->free_payloads = payload;
}

void payload_detach(struct net *net, struct payload *payload)
{
    assert(payload->users > 0);
    if (payload->owned || payload->length == 0 || PLANTED(world_payload_not_copied))
        return;
    void *copy = net_memory(net, payload->length);
    memcpy(copy, payload->bytes, payload->length);
    payload->bytes = copy;
    payload->owned = true;
}

/* What is in a free list owns nothing; what is still under way may. */
void net_pool_destroy(struct net *net)
{
    while (net->packet_chunks) {
        struct net_packet_chunk *chunk = net->packet_chunks;
        net->packet_chunks = chunk->next;
        for (size_t i = 0; i < POOL_CHUNK; i++)
            if (chunk->packets[i].mad)
                mad_free(chunk->packets[i].mad);
        net_memory_free(net, chunk, sizeof(*chunk));
    }
    while (net->payload_chunks) {
        struct net_payload_chunk *chunk = net->payload_chunks;
        net->payload_chunks = chunk->next;
        for (size_t i = 0; i < POOL_CHUNK; i++) {
            struct payload *payload = &chunk->payloads[i].payload;
            if (payload->owned)
                net_memory_free(net, (void *)(uintptr_t)payload->bytes, payload->length);
        }
        net_memory_free(net, chunk, sizeof(*chunk));
    }
}
