/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/world/sim.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "src/fabric/planted.h"

#define SLOT_BITS 24
#define SLOT_MASK ((1u << SLOT_BITS) - 1)
#define ARITY 4
#define CACHE_LINE 64
#define LINE_MAX_BYTES 512

/* Sixteen bytes, four to a cache line. The low bits of `order` name the slot; the high bits count
 * schedulings, so that comparing `order` breaks ties by the order of scheduling. */
struct entry {
    uint64_t time;
    uint64_t order;
};

struct slot {
    sim_handler handler; /* null: free, or cancelled and still in the heap */
    void *object;
    uint64_t arg;
    uint32_t generation; /* of the handle; grows when the slot is taken */
    uint32_t next_free;
};

struct sim {
    uint64_t now;
    struct entry *heap;
    void *heap_memory; /* heap begins within it */
    size_t count, capacity;
    size_t cancelled; /* entries of the heap whose event was cancelled */
    struct slot *slots;
    uint32_t slot_count, slot_capacity, free_slot; /* free_slot is index + 1, 0 when none */
    uint64_t scheduled, run;
    uint64_t random[4], draws;
    bool trace;
    sim_trace_sink sink;
    void *sink_context;
    XXH3_state_t *hash;
};

static void *grow(void *array, size_t count, size_t size)
{
    void *larger = realloc(array, count * size);
    if (!larger)
        abort();
    return larger;
}

/* The root stands alone at the end of a cache line: the children of each entry then share one. */
static void heap_grow(struct sim *sim)
{
    size_t capacity = sim->capacity ? sim->capacity * 2 : 64;
    size_t lead = CACHE_LINE - sizeof(struct entry);
    char *memory = aligned_alloc(CACHE_LINE, capacity * sizeof(struct entry) + CACHE_LINE);
    if (!memory)
        abort();
    struct entry *heap = (struct entry *)(void *)(memory + lead);
    if (sim->count > 0)
        memcpy(heap, sim->heap, sim->count * sizeof(*heap));
    free(sim->heap_memory);
    sim->heap_memory = memory;
    sim->heap = heap;
    sim->capacity = capacity;
}

/* splitmix64: spreads a seed over the whole state of the generator, never all zero. */
static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct sim *sim_create(uint64_t seed)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    if (!sim)
        abort();
    for (size_t i = 0; i < 4; i++)
        sim->random[i] = split_mix(&seed);
    return sim;
}

void sim_destroy(struct sim *sim)
{
    if (!sim)
        return;
    XXH3_freeState(sim->hash);
    free(sim->heap_memory);
    free(sim->slots);
    free(sim);
}

uint64_t sim_now(const struct sim *sim)
{
    return sim->now;
}

/* ------------------------------------------------------------------ heap */

static inline bool earlier(const struct entry *a, const struct entry *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (PLANTED(world_sim_tie))
        return a->order > b->order;
    return a->order < b->order;
}

static void sift_up(struct entry *heap, size_t at, struct entry entry)
{
    while (at > 0) {
        size_t parent = (at - 1) / ARITY;
        if (!earlier(&entry, &heap[parent]))
            break;
        heap[at] = heap[parent];
        at = parent;
    }
    heap[at] = entry;
}

static void sift_down(struct entry *heap, size_t count, size_t at, struct entry entry)
{
    for (;;) {
        size_t first = at * ARITY + 1, last = first + ARITY < count ? first + ARITY : count;
        if (first >= count)
            break;
        size_t least = first;
        for (size_t child = first + 1; child < last; child++)
            if (earlier(&heap[child], &heap[least]))
                least = child;
        if (!earlier(&heap[least], &entry))
            break;
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = entry;
}

static inline uint32_t slot_of(const struct entry *entry)
{
    return (uint32_t)entry->order & SLOT_MASK;
}

static void slot_free(struct sim *sim, uint32_t index)
{
    sim->slots[index].handler = NULL;
    sim->slots[index].next_free = sim->free_slot;
    sim->free_slot = index + 1;
}

static void heap_remove_first(struct sim *sim)
{
    struct entry last = sim->heap[--sim->count];
    if (sim->count > 0)
        sift_down(sim->heap, sim->count, 0, last);
}

/* Keeps the first entry one that will run: sim_next_time is then exact. */
static void drop_cancelled_first(struct sim *sim)
{
    while (sim->cancelled > 0 && !sim->slots[slot_of(&sim->heap[0])].handler) {
        slot_free(sim, slot_of(&sim->heap[0]));
        heap_remove_first(sim);
        sim->cancelled--;
    }
}

/* Cancelled entries stay until they would be due; where they are the majority they are swept out,
 * which costs each of them a constant. The order of what remains does not depend on it. */
static void sweep_cancelled(struct sim *sim)
{
    size_t kept = 0;
    for (size_t i = 0; i < sim->count; i++) {
        if (sim->slots[slot_of(&sim->heap[i])].handler)
            sim->heap[kept++] = sim->heap[i];
        else
            slot_free(sim, slot_of(&sim->heap[i]));
    }
    sim->count = kept;
    sim->cancelled = 0;
    for (size_t i = kept / ARITY + 1; i-- > 0;)
        if (i < kept)
            sift_down(sim->heap, kept, i, sim->heap[i]);
}

static uint32_t slot_take(struct sim *sim)
{
    if (sim->free_slot) {
        uint32_t index = sim->free_slot - 1;
        sim->free_slot = sim->slots[index].next_free;
        return index;
    }
    if (sim->slot_count == sim->slot_capacity) {
        sim->slot_capacity = sim->slot_capacity ? sim->slot_capacity * 2 : 64;
        sim->slots = grow(sim->slots, sim->slot_capacity, sizeof(*sim->slots));
    }
    assert(sim->slot_count < SLOT_MASK);
    sim->slots[sim->slot_count].generation = 0;
    return sim->slot_count++;
}

sim_event sim_at(struct sim *sim, uint64_t time, sim_handler handler, void *object, uint64_t arg)
{
    assert(handler && (time >= sim->now || PLANTED(world_sim_past)));
    assert(sim->scheduled < UINT64_MAX >> SLOT_BITS);
    if (sim->count == sim->capacity)
        heap_grow(sim);
    uint32_t index = slot_take(sim);
    struct slot *slot = &sim->slots[index];
    slot->handler = handler;
    slot->object = object;
    slot->arg = arg;
    slot->generation++;
    struct entry entry = {time, sim->scheduled++ << SLOT_BITS | index};
    sift_up(sim->heap, sim->count++, entry);
    return (uint64_t)slot->generation << 32 | (index + 1);
}

sim_event sim_in(struct sim *sim, uint64_t delay, sim_handler handler, void *object, uint64_t arg)
{
    assert(delay <= UINT64_MAX - sim->now);
    return sim_at(sim, sim->now + delay, handler, object, arg);
}

bool sim_cancel(struct sim *sim, sim_event event)
{
    uint32_t number = (uint32_t)event;
    if (number == 0 || number > sim->slot_count)
        return false;
    struct slot *slot = &sim->slots[number - 1];
    if (!slot->handler || slot->generation != (uint32_t)(event >> 32))
        return false;
    if (PLANTED(world_cancelled_runs))
        return true;
    slot->handler = NULL;
    sim->cancelled++;
    if (sim->cancelled > 64 && sim->cancelled > sim->count / 2)
        sweep_cancelled(sim);
    drop_cancelled_first(sim);
    return true;
}

uint64_t sim_next_time(const struct sim *sim)
{
    return sim->count ? sim->heap[0].time : UINT64_MAX;
}

bool sim_step(struct sim *sim)
{
    if (sim->count == 0)
        return false;
    struct entry first = sim->heap[0];
    struct slot due = sim->slots[slot_of(&first)];
    assert(first.time >= sim->now && due.handler);
    heap_remove_first(sim);
    slot_free(sim, slot_of(&first));
    drop_cancelled_first(sim);
    sim->now = first.time;
    sim->run++;
    due.handler(due.object, due.arg);
    return true;
}

void sim_run_until(struct sim *sim, uint64_t time)
{
    assert(time >= sim->now);
    while (sim->count && sim->heap[0].time <= time)
        sim_step(sim);
    sim->now = time;
}

uint64_t sim_events_run(const struct sim *sim)
{
    return sim->run;
}

/* ------------------------------------------------------------------ generator: xoshiro256** */

static inline uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

uint64_t sim_random(struct sim *sim)
{
    uint64_t *s = sim->random;
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    if (!PLANTED(world_sim_draws))
        sim->draws++;
    return result;
}

uint64_t sim_random_below(struct sim *sim, uint64_t bound)
{
    assert(bound > 0);
    /* The lowest 2^64 mod bound values would make some results likelier: drawn again. */
    uint64_t reject = (UINT64_MAX - bound + 1) % bound;
    for (;;) {
        uint64_t drawn = sim_random(sim);
        if (drawn >= reject)
            return drawn % bound;
    }
}

uint64_t sim_random_between(struct sim *sim, uint64_t low, uint64_t high)
{
    assert(low <= high);
    if (high - low == UINT64_MAX)
        return sim_random(sim);
    return low + sim_random_below(sim, high - low + 1);
}

bool sim_chance(struct sim *sim, uint32_t parts_per_million)
{
    return sim_random_below(sim, 1000000) < parts_per_million;
}

uint64_t sim_draws(const struct sim *sim)
{
    return sim->draws;
}

/* ------------------------------------------------------------------ trace */

void sim_trace_start(struct sim *sim, sim_trace_sink sink, void *context)
{
    if (!sim->hash && !(sim->hash = XXH3_createState()))
        abort();
    XXH3_64bits_reset(sim->hash);
    sim->trace = true;
    sim->sink = sink;
    sim->sink_context = context;
}

bool sim_trace_on(const struct sim *sim)
{
    return sim->trace;
}

uint64_t sim_trace_hash(const struct sim *sim)
{
    return sim->hash ? XXH3_64bits_digest(sim->hash) : 0;
}

void sim_trace_line(struct sim *sim, const char *node, const char *format, ...)
{
    if (!sim->trace)
        return;
    char line[LINE_MAX_BYTES];
    int head = snprintf(line, sizeof(line), "%llu %s ", (unsigned long long)sim->now, node);
    assert(head > 0 && (size_t)head < sizeof(line) - 1);
    va_list arguments;
    va_start(arguments, format);
    int tail = vsnprintf(line + head, sizeof(line) - (size_t)head, format, arguments);
    va_end(arguments);
    assert(tail >= 0);
    size_t length = (size_t)head + (size_t)tail;
    if (length > sizeof(line) - 1)
        length = sizeof(line) - 1;
    if (sim->sink)
        sim->sink(sim->sink_context, line, length);
    line[length] = '\n';
    XXH3_64bits_update(sim->hash, line, length + 1);
}
