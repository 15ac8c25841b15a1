/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_BITS 20u
#define INDEX_MASK ((1u << INDEX_BITS) - 1)

static void *must(void *memory)
{
    if (!memory)
        abort(); /* a world without memory cannot be judged */
    return memory;
}

void hca_arena_free(struct hca_arena *arena)
{
    for (uint32_t i = 1; i < arena->count; i++)
        free(arena->chunks[i]);
    free(arena->chunks);
    free(arena->sizes);
    memset(arena, 0, sizeof(*arena));
}

static void hca_arena_grow(struct hca_arena *arena)
{
    uint32_t capacity = arena->capacity ? arena->capacity * 2 : 32;
    arena->chunks = must(realloc(arena->chunks, capacity * sizeof(arena->chunks[0])));
    arena->sizes = must(realloc(arena->sizes, capacity * sizeof(arena->sizes[0])));
    arena->capacity = capacity;
}

uint32_t hca_arena_chunk(struct hca_arena *arena, size_t bytes)
{
    assert(bytes > 0);
    uint32_t number = arena->free_number ? arena->free_number : 1;
    while (number < arena->count && arena->chunks[number])
        number++;
    if (number >= arena->count) {
        if (number >= arena->capacity)
            hca_arena_grow(arena);
        arena->chunks[0] = NULL;
        arena->count = number + 1;
    }
    arena->chunks[number] = must(calloc(1, bytes));
    arena->sizes[number] = bytes;
    arena->bytes += bytes;
    arena->free_number = number + 1;
    return number;
}

void hca_arena_drop(struct hca_arena *arena, uint32_t chunk)
{
    assert(chunk > 0 && chunk < arena->count && arena->chunks[chunk]);
    free(arena->chunks[chunk]);
    arena->chunks[chunk] = NULL;
    arena->bytes -= arena->sizes[chunk];
    if (chunk < arena->free_number)
        arena->free_number = chunk;
}

void *hca_arena_at(const struct hca_arena *arena, uint32_t chunk)
{
    assert(chunk > 0 && chunk < arena->count && arena->chunks[chunk]);
    return arena->chunks[chunk];
}

void table_init(struct table *table, uint32_t item_size, uint32_t max)
{
    assert(item_size >= sizeof(struct slot) && max > 0 && max < INDEX_MASK);
    memset(table, 0, sizeof(*table));
    table->item_size = item_size;
    table->max = max;
}

/* Chunk n begins at item TABLE_FIRST * (2^n - 1). */
static uint32_t chunk_of(uint32_t index, uint32_t *offset)
{
    uint32_t group = index / TABLE_FIRST + 1;
    uint32_t n = 31u - (uint32_t)__builtin_clz(group);
    *offset = index - TABLE_FIRST * ((1u << n) - 1);
    assert(n < TABLE_CHUNKS && *offset < TABLE_FIRST << n);
    return n;
}

void *table_at(const struct hca_arena *arena, const struct table *table, uint32_t index)
{
    assert(index < table->used);
    uint32_t offset;
    uint32_t n = chunk_of(index, &offset);
    uint8_t *base = hca_arena_at(arena, table->chunks[n]);
    return base + (size_t)offset * table->item_size;
}

void *table_take(struct hca_arena *arena, struct table *table)
{
    uint32_t index;
    /* A slot rests while others are fresh or enough of them rest: late reuse of what it names. */
    bool fresh = table->used < table->max && table->free_count < 64;
    if (!fresh && table->free_count == 0)
        return NULL;
    if (fresh) {
        index = table->used++;
        uint32_t offset;
        uint32_t n = chunk_of(index, &offset);
        if (!table->chunks[n])
            table->chunks[n] = hca_arena_chunk(arena, (size_t)table->item_size * TABLE_FIRST << n);
    } else {
        index = table->free_head - 1;
        struct slot *first = table_at(arena, table, index);
        table->free_head = first->next_free;
        table->free_count--;
        if (!table->free_head)
            table->free_tail = 0;
    }
    struct slot *slot = table_at(arena, table, index);
    assert(slot->id == 0);
    uint32_t generation = slot->generation + 1;
    memset(slot, 0, table->item_size);
    slot->generation = generation;
    slot->id = (generation & 0xfff) << INDEX_BITS | (index + 1);
    table->live++;
    return slot;
}

uint32_t slot_index(const struct slot *slot)
{
    assert(slot->id);
    return (slot->id & INDEX_MASK) - 1;
}

void *table_find(const struct hca_arena *arena, const struct table *table, uint32_t id)
{
    uint32_t number = id & INDEX_MASK;
    if (number == 0 || number > table->used)
        return NULL;
    struct slot *slot = table_at(arena, table, number - 1);
    return slot->id == id ? slot : NULL;
}

void table_put(struct hca_arena *arena, struct table *table, uint32_t id)
{
    struct slot *slot = table_find(arena, table, id);
    assert(slot && table->live > 0);
    uint32_t number = slot_index(slot) + 1;
    slot->id = 0;
    slot->next_free = 0;
    table->live--;
    table->free_count++;
    if (table->free_tail) {
        struct slot *last = table_at(arena, table, table->free_tail - 1);
        last->next_free = number;
    } else {
        table->free_head = number;
    }
    table->free_tail = number;
}

struct scramble scramble_make(uint64_t draw, unsigned bits)
{
    assert(bits >= 8 && bits <= 32);
    struct scramble s = {.mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1};
    s.multiply = (uint32_t)draw | 1u;
    s.add = (uint32_t)(draw >> 32);
    s.inverse = s.multiply; /* Newton's iteration doubles the correct low bits each time */
    for (int i = 0; i < 5; i++)
        s.inverse *= 2u - s.multiply * s.inverse;
    assert(s.multiply * s.inverse == 1u);
    return s;
}

uint32_t scramble(const struct scramble *s, uint32_t value)
{
    return (value * s->multiply + s->add) & s->mask;
}

uint32_t unscramble(const struct scramble *s, uint32_t value)
{
    return (value - s->add) * s->inverse & s->mask;
}

uint32_t ring_depth(uint32_t limit)
{
    assert(limit <= 1u << 30);
    uint32_t depth = 1;
    while (depth < limit)
        depth *= 2;
    return depth;
}

/* wr_id, sge_count, length, then the entries. */
struct recv_head {
    uint64_t wr_id;
    uint32_t sge_count, length;
};

uint32_t recv_stride(uint32_t max_sge)
{
    assert(max_sge <= FABRIC_MAX_SGE);
    return (uint32_t)(sizeof(struct recv_head) + max_sge * sizeof(struct hca_sge));
}

void recv_ring_init(struct hca_arena *arena, struct recv_ring *rq, uint32_t max_wr,
                    uint32_t max_sge)
{
    assert(max_wr > 0);
    memset(rq, 0, sizeof(*rq));
    rq->limit = max_wr;
    rq->depth = ring_depth(max_wr);
    rq->max_sge = max_sge;
    rq->ring = hca_arena_chunk(arena, (size_t)rq->depth * recv_stride(max_sge));
}

void recv_ring_drop(struct hca_arena *arena, struct recv_ring *rq)
{
    if (rq->ring)
        hca_arena_drop(arena, rq->ring);
    memset(rq, 0, sizeof(*rq));
}

static uint8_t *recv_at(const struct hca_arena *arena, const struct recv_ring *rq, uint32_t counter)
{
    uint8_t *base = hca_arena_at(arena, rq->ring);
    return base + (size_t)(counter & (rq->depth - 1)) * recv_stride(rq->max_sge);
}

void recv_ring_put(const struct hca_arena *arena, struct recv_ring *rq,
                   const struct hca_recv_wr *wr)
{
    assert(wr->sge_count <= rq->max_sge && rq->head - rq->tail < rq->depth);
    uint8_t *at = recv_at(arena, rq, rq->head++);
    struct recv_head head = {.wr_id = wr->wr_id, .sge_count = wr->sge_count};
    for (uint32_t i = 0; i < wr->sge_count; i++)
        head.length += wr->sges[i].length;
    memcpy(at, &head, sizeof(head));
    if (wr->sge_count)
        memcpy(at + sizeof(head), wr->sges, wr->sge_count * sizeof(wr->sges[0]));
}

bool recv_ring_take(const struct hca_arena *arena, struct recv_ring *rq, struct recv_wqe *out)
{
    if (rq->head == rq->tail)
        return false;
    const uint8_t *at = recv_at(arena, rq, rq->tail++);
    struct recv_head head;
    memcpy(&head, at, sizeof(head));
    assert(head.sge_count <= FABRIC_MAX_SGE);
    out->wr_id = head.wr_id;
    out->sge_count = head.sge_count;
    out->length = head.length;
    memcpy(out->sges, at + sizeof(head), head.sge_count * sizeof(out->sges[0]));
    return true;
}

/* Bytes that the oldest receive takes; 0 when there is none. */
uint32_t recv_ring_next_length(const struct hca_arena *arena, const struct recv_ring *rq)
{
    if (rq->head == rq->tail)
        return 0;
    struct recv_head head;
    memcpy(&head, recv_at(arena, rq, rq->tail), sizeof(head));
    return head.length;
}

struct send_wqe *send_ring_at(const struct hca_arena *arena, const struct qp_state *qp,
                              uint32_t counter)
{
    uint8_t *base = hca_arena_at(arena, qp->sq);
    return (struct send_wqe *)(void *)(base +
                                       (size_t)(counter & (qp->sq_depth - 1)) * qp->sq_stride);
}

struct hca_sge *send_wqe_sges(struct send_wqe *wqe)
{
    return (struct hca_sge *)(void *)(wqe + 1);
}

uint8_t *send_wqe_inline(const struct qp_state *qp, struct send_wqe *wqe)
{
    return (uint8_t *)(send_wqe_sges(wqe) + qp->max_send_sge);
}
