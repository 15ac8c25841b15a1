/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/state.h"

#include <stdio.h>
#include <string.h>

#include "src/fabric/planted.h"

#define INDEX_BITS 20u
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
#define QPN_GENERATION_BITS 8u
/* A key names index and generation, scrambled so that a stranger cannot guess the next one. Its low
 * 8 bits, of the generation alone, tell the bindings of one window apart and may be chosen by its
 * program (chapter 10.6.7.2.2); the place is in the 24 above. */
#define KEY_GENERATION_BITS 12u
#define KEY_TAG_BITS 8u
#define KEY_TAG_MASK ((1u << KEY_TAG_BITS) - 1)
#define KEY_GROUP_BITS (KEY_GENERATION_BITS - KEY_TAG_BITS)
/* ns that the slot of a key rests: its generations together take the quarantine, also where
 * one is skipped (see give_value). */
#define KEY_REST (FABRIC_KEY_QUARANTINE / ((1u << KEY_GENERATION_BITS) - 2) + 1)
/* The same for a window whose program chose tags: all of them are used up at once. */
#define KEY_TAGS_REST (FABRIC_KEY_QUARANTINE / ((1u << KEY_GROUP_BITS) - 1) + 1)

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

/* The chunk that the index lies in exists afterwards, or the arena is full. */
static bool make_chunk(struct hca_arena *arena, struct table *table, uint32_t index)
{
    uint32_t offset;
    uint32_t n = chunk_of(index, &offset);
    if (!table->chunks[n])
        table->chunks[n] = hca_arena_chunk(arena, (uint64_t)table->item_size * TABLE_FIRST << n);
    return table->chunks[n] != 0;
}

static uint32_t take_rested(const struct hca_arena *arena, struct table *table)
{
    uint32_t index = table->free_head - 1;
    const struct slot *first = table_at(arena, table, index);
    table->free_head = first->next_free;
    table->free_count--;
    if (!table->free_head)
        table->free_tail = 0;
    return index;
}

/* A slot rests while others are fresh or enough of them rest: late reuse of what it names. */
static void *take(struct hca_arena *arena, struct table *table, bool rested)
{
    bool fresh = table->used < table->max && (table->free_count < 64 || !rested);
    fresh = fresh && make_chunk(arena, table, table->used);
    if (!fresh && !rested)
        return NULL;
    uint32_t index = fresh ? table->used++ : take_rested(arena, table);
    struct slot *slot = table_at(arena, table, index);
    assert(slot->id == 0);
    uint32_t generation = slot->generation + 1;
    memset(slot, 0, table->item_size);
    slot->generation = generation;
    slot->id = (generation & 0xfff) << INDEX_BITS | (index + 1);
    table->live++;
    return slot;
}

void *table_take(struct hca_arena *arena, struct table *table)
{
    return take(arena, table, table->free_count > 0);
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

/* ------------------------------------------------------------------ the device */

static void init_tables(struct device_state *device, const struct hca_profile *limits)
{
    table_init(&device->pds, sizeof(struct pd_state), limits->max_pd);
    table_init(&device->keys, sizeof(struct key_state), limits->max_mr + limits->max_mw - 2);
    table_init(&device->cqs, sizeof(struct cq_state), limits->max_cq);
    table_init(&device->srqs, sizeof(struct srq_state), limits->max_srq);
    table_init(&device->xrcds, sizeof(struct xrcd_state), limits->max_pd);
    table_init(&device->qps, sizeof(struct qp_state), limits->max_qp);
    table_init(&device->ahs, sizeof(struct ah_state), limits->max_ah);
    table_init(&device->mcasts, sizeof(struct mcast_state), limits->max_mcast_attach);
    table_init(&device->dcrs, sizeof(struct dcr_state), INDEX_MASK - 1);
}

void state_create(struct hca_state *state, void *base, size_t size,
                  const struct hca_profile *profile)
{
    assert(state && profile);
    hca_arena_create(&state->arena, base, size);
    uint32_t root = hca_arena_chunk(&state->arena, sizeof(struct device_state));
    assert(root); /* the first segment holds it */
    state->arena.head->root = root;
    state->device = hca_arena_at(&state->arena, root);
    snprintf(state->device->profile, sizeof(state->device->profile), "%s", profile->name);
    init_tables(state->device, profile);
}

bool state_open(struct hca_state *state, void *base, size_t size)
{
    assert(state);
    struct hca_arena arena;
    if (!hca_arena_open(&arena, base, size))
        return false;
    if (!arena.head->root) {
        hca_arena_close(&arena);
        return false;
    }
    state->arena = arena;
    state->device = hca_arena_at(&state->arena, arena.head->root);
    return true;
}

void state_close(struct hca_state *state)
{
    hca_arena_close(&state->arena);
    state->device = NULL;
}

struct port_state *state_port(const struct hca_state *state, uint8_t port_num)
{
    assert(port_num >= 1 && port_num <= state->device->port_count);
    struct port_state *ports = hca_arena_at(&state->arena, state->device->ports);
    return &ports[port_num - 1];
}

/* ------------------------------------------------------------------ finding, naming */

struct qp_state *state_qp(const struct hca_state *state, uint32_t id)
{
    return table_find(&state->arena, &state->device->qps, id);
}

uint32_t state_qp_index(const struct hca_state *state, uint32_t qp_num)
{
    return unscramble(&state->device->qpn_scramble, qp_num) >> QPN_GENERATION_BITS;
}

struct qp_state *state_qp_by_number(const struct hca_state *state, uint32_t qp_num)
{
    uint32_t index = state_qp_index(state, qp_num);
    if (index >= state->device->qps.used)
        return NULL;
    struct qp_state *qp = table_at(&state->arena, &state->device->qps, index);
    return qp->slot.id && qp->qp_num == qp_num ? qp : NULL;
}

struct key_state *state_key(const struct hca_state *state, uint32_t key)
{
    const struct device_state *device = state->device;
    uint32_t index = unscramble(&device->key_scramble, key >> KEY_TAG_BITS) >> KEY_GROUP_BITS;
    if (index >= device->keys.used)
        return NULL;
    struct key_state *found = table_at(&state->arena, &device->keys, index);
    if (PLANTED(hca_stale_key) && found->length)
        return found;
    return found->slot.id && !found->unbound && found->key == key ? found : NULL;
}

struct transport_state *state_transport(const struct hca_state *state, const struct qp_state *qp)
{
    assert(qp->slot.id && qp->transport);
    return hca_arena_at(&state->arena, qp->transport);
}

void state_qp_number(struct hca_state *state, struct qp_state *qp)
{
    const uint32_t mask = (1u << QPN_GENERATION_BITS) - 1;
    uint32_t index = slot_index(&qp->slot);
    do { /* 0 and 1 are the management queue pairs, all ones is multicast (chapter 9.2) */
        uint32_t generation = qp->slot.generation & mask;
        qp->qp_num =
            scramble(&state->device->qpn_scramble, index << QPN_GENERATION_BITS | generation);
        if (qp->qp_num > 1 && qp->qp_num != 0xffffff)
            break;
        qp->slot.generation++;
    } while (true);
}

uint32_t state_srq_number(const struct hca_state *state, const struct srq_state *srq)
{
    const uint32_t mask = (1u << QPN_GENERATION_BITS) - 1;
    assert(srq->slot.id);
    return scramble(&state->device->qpn_scramble,
                    slot_index(&srq->slot) << QPN_GENERATION_BITS | (srq->slot.generation & mask));
}

struct srq_state *state_srq_by_number(const struct hca_state *state, uint32_t number)
{
    uint32_t index = state_qp_index(state, number); /* one numbering of both */
    if (index >= state->device->srqs.used)
        return NULL;
    struct srq_state *srq = table_at(&state->arena, &state->device->srqs, index);
    return srq->slot.id && state_srq_number(state, srq) == number ? srq : NULL;
}

static uint32_t key_value(const struct hca_state *state, const struct key_state *key)
{
    uint32_t index = slot_index(&key->slot);
    uint32_t generation = key->slot.generation & ((1u << KEY_GENERATION_BITS) - 1);
    const struct scramble *s = &state->device->key_scramble;
    uint32_t place = scramble(s, index << KEY_GROUP_BITS | generation >> KEY_TAG_BITS);
    return place << KEY_TAG_BITS | ((generation * s->multiply + (s->add >> 24)) & KEY_TAG_MASK);
}

static void give_value(const struct hca_state *state, struct key_state *key)
{
    key->key = key_value(state, key);
    if (key->key == 0 || key->key == UINT32_MAX) { /* read as "no key" by many programs */
        key->slot.generation++;
        key->key = key_value(state, key);
    }
}

struct key_state *state_key_take(struct hca_state *state, uint64_t now)
{
    struct table *keys = &state->device->keys;
    bool rested = keys->free_count > 0;
    if (rested && !PLANTED(hca_key_rests_by_count)) {
        const struct key_state *oldest = table_at(&state->arena, keys, keys->free_head - 1);
        assert(oldest->slot.id == 0 && oldest->ended <= now);
        rested = now - oldest->ended >= oldest->rests;
    }
    struct key_state *key = take(&state->arena, keys, rested);
    if (key)
        give_value(state, key);
    return key;
}

bool state_key_same_place(const struct key_state *key, uint32_t value)
{
    return key->key >> KEY_TAG_BITS == value >> KEY_TAG_BITS;
}

void state_key_unbind(struct hca_state *state, struct key_state *window)
{
    assert(window->kind == KEY_MW);
    if (window->mr) {
        struct key_state *region = table_find(&state->arena, &state->device->keys, window->mr);
        assert(region && region->windows > 0);
        region->windows--;
    }
    window->mr = window->qp = window->owner = window->access = 0;
    window->unbound = true;
}

void state_key_end(struct hca_state *state, struct key_state *key, uint64_t now)
{
    struct device_state *device = state->device;
    key->ended = now;
    key->rests = key->type ? KEY_TAGS_REST : KEY_REST;
    if (key->type && !PLANTED(hca_window_tags_reused))
        key->slot.generation |= KEY_TAG_MASK;
    if (key->kind == KEY_MW)
        state_key_unbind(state, key);
    if (key->kind == KEY_MR || key->type) {
        struct pd_state *pd = table_find(&state->arena, &device->pds, key->pd);
        assert(pd && pd->users > 0 && key->windows == 0);
        pd->users--;
    }
    table_put(&state->arena, &device->keys, key->slot.id);
}

void state_copy_av(struct fabric_av *to, const struct fabric_av *from)
{
    to->dlid = from->dlid;
    to->sl = from->sl;
    to->src_path_bits = from->src_path_bits;
    to->port_num = from->port_num;
    to->is_global = from->is_global;
    to->grh.dgid = from->grh.dgid;
    to->grh.sgid_index = from->grh.sgid_index;
    to->grh.hop_limit = from->grh.hop_limit;
    to->grh.traffic_class = from->grh.traffic_class;
    to->grh.flow_label = from->grh.flow_label;
}

/* ------------------------------------------------------------------ events */

static bool event_grow(struct hca_state *state)
{
    struct device_state *device = state->device;
    uint32_t capacity = device->event_capacity ? device->event_capacity * 2 : 16;
    uint32_t chunk = hca_arena_chunk(&state->arena, (uint64_t)capacity * sizeof(struct hca_event));
    if (!chunk)
        return false;
    struct hca_event *events = hca_arena_at(&state->arena, chunk);
    uint32_t count = device->event_tail - device->event_head;
    if (device->events) {
        const struct hca_event *old = hca_arena_at(&state->arena, device->events);
        for (uint32_t i = 0; i < count; i++)
            memcpy(&events[i], &old[(device->event_head + i) & (device->event_capacity - 1)],
                   sizeof(events[i]));
        hca_arena_drop(&state->arena, device->events,
                       (uint64_t)device->event_capacity * sizeof(struct hca_event));
    }
    device->events = chunk;
    device->event_capacity = capacity;
    device->event_head = 0;
    device->event_tail = count;
    return true;
}

bool state_event_put(struct hca_state *state, const struct hca_event *event, uint64_t now)
{
    struct device_state *device = state->device;
    if (device->event_tail - device->event_head >= device->event_capacity && !event_grow(state))
        return false;
    struct hca_event *events = hca_arena_at(&state->arena, device->events);
    struct hca_event *entry = &events[device->event_tail++ & (device->event_capacity - 1)];
    entry->time = now;
    entry->kind = event->kind;
    entry->type = event->type;
    entry->port_num = event->port_num;
    entry->qp = event->qp;
    entry->cq = event->cq;
    entry->srq = event->srq;
    entry->mw = event->mw;
    entry->context = event->context;
    return true;
}

bool state_event_take(struct hca_state *state, struct hca_event *out)
{
    struct device_state *device = state->device;
    if (device->event_head == device->event_tail)
        return false;
    const struct hca_event *events = hca_arena_at(&state->arena, device->events);
    *out = events[device->event_head++ & (device->event_capacity - 1)];
    return true;
}
