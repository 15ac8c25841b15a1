/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/bench.h"
#include "src/fabric/planted.h"
#include "src/fabric/seam.h"

#define ALIGN 4096u
#define LARGE_PAGE (UINT64_C(2) << 20) /* values of that size lie on one, where there are such */
#define KEY_ROOM 80
#define STAMP (2 * sizeof(uint64_t)) /* bytes at either end of a value that say whose it is */
#define SECOND UINT64_C(1000000000)

/* ------------------------------------------------------------------ life */

bool bench_load_open(struct bench_load *load, const struct bench_plan *plan, uint32_t thread)
{
    assert(load && plan && plan->depth >= 1 && plan->depth <= BENCH_MAX_DEPTH && plan->keys);
    load->plan = plan;
    load->thread = thread;
    load->room = (plan->size + ALIGN - 1) / ALIGN * ALIGN;
    load->random = plan->seed + thread;
    load->memory = aligned_alloc(load->room % LARGE_PAGE ? ALIGN : LARGE_PAGE,
                                 (size_t)(load->room * plan->depth));
    if (!load->memory)
        return false;
    memset(load->memory, 0x5a,
           (size_t)(load->room * plan->depth)); /* it is there before it counts */
    for (uint32_t i = 0; i < plan->depth; i++)
        load->free_slots[load->free_count++] = i;
    return true;
}

void bench_load_close(struct bench_load *load)
{
    assert(load);
    free(load->memory);
    load->memory = NULL;
}

static uint64_t draw(struct bench_load *load, uint64_t below)
{
    uint64_t z = (load->random += UINT64_C(0x9e3779b97f4a7c15));
    assert(below > 0);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

static uint64_t now_of(const struct cli_work *w)
{
    uint64_t now = 0;
    fabric_now(w->fabric, &now);
    return now;
}

/* ------------------------------------------------------------------ contents */

static uint8_t *data_of(const struct bench_load *load, uint32_t slot)
{
    return load->memory + load->room * slot;
}

static void stamp(const struct bench_load *load, uint64_t key, uint8_t out[STAMP])
{
    memcpy(out, &key, sizeof key);
    memcpy(out + sizeof key, load->prefix + strlen(load->prefix) - sizeof key, sizeof key);
}

/* The first and the last bytes say whose value it is; shorter ones go without. */
static void mark(struct bench_load *load, uint32_t slot)
{
    uint8_t *data = data_of(load, slot);
    if (load->plan->size < STAMP)
        return;
    stamp(load, load->slots[slot].key, data);
    stamp(load, load->slots[slot].key, data + load->plan->size - STAMP);
}

static bool is_right(const struct bench_load *load, uint32_t slot, uint64_t length)
{
    uint8_t expected[STAMP];
    const uint8_t *data = data_of(load, slot);
    if (PLANTED(cli_bench_blind))
        return true;
    if (length != load->plan->size || length < STAMP)
        return length == load->plan->size;
    stamp(load, load->slots[slot].key, expected);
    return memcmp(data, expected, STAMP) == 0 &&
           memcmp(data + length - STAMP, expected, STAMP) == 0;
}

/* ------------------------------------------------------------------ submitting */

static enum client_kind draw_kind(struct bench_load *load)
{
    const uint64_t *mix = load->plan->mix;
    uint64_t at = draw(load, mix[CLIENT_PUT] + mix[CLIENT_GET] + mix[CLIENT_EXISTS]);
    uint32_t kind = CLIENT_PUT;
    for (; at >= mix[kind]; kind++)
        at -= mix[kind];
    assert(kind < BENCH_KINDS);
    return (enum client_kind)kind;
}

/* What the phase does next; false when it begins nothing more. */
static bool choose(struct bench_load *load, struct bench_slot *out)
{
    switch (load->phase) {
    case BENCH_FILL:
    case BENCH_CLEAN:
        if (load->next == load->plan->keys)
            return false;
        out->kind = load->phase == BENCH_FILL ? CLIENT_PUT : CLIENT_DELETE;
        out->key = load->next++;
        return true;
    case BENCH_WARM_UP:
    case BENCH_MEASURE:
        out->kind = draw_kind(load);
        out->key = draw(load, load->plan->keys);
        return true;
    default:
        return false;
    }
}

/* All that can begin, as one batch. */
static void submit(struct cli_work *w, struct bench_load *load)
{
    struct client_request requests[BENCH_MAX_DEPTH];
    char keys[BENCH_MAX_DEPTH][KEY_ROOM];
    const uint64_t now = now_of(w);
    size_t count = 0;
    struct bench_slot next = {.begun = now};
    while (load->free_count > 0 && choose(load, &next)) {
        const uint32_t slot = load->free_slots[--load->free_count];
        const bool moves = next.kind == CLIENT_PUT || next.kind == CLIENT_GET;
        load->slots[slot] = next;
        int length = snprintf(keys[count], KEY_ROOM, "%s-%" PRIu64, load->prefix, next.key);
        assert(length > 0 && length < KEY_ROOM);
        if (next.kind == CLIENT_PUT)
            mark(load, slot);
        requests[count] = (struct client_request){.kind = next.kind,
                                                  .key = keys[count],
                                                  .key_length = (size_t)length,
                                                  .data = moves ? data_of(load, slot) : NULL,
                                                  .length = moves ? load->plan->size : 0,
                                                  .memory = moves ? load->region : NULL,
                                                  .cookie = slot};
        count++;
    }
    enum fabric_error error = count ? client_submit(w->client, requests, count, NULL) : FABRIC_OK;
    if (error)
        cli_work_end(w, error);
}

/* ------------------------------------------------------------------ phases */

static void begin_phase(struct cli_work *w, enum bench_phase phase)
{
    struct bench_load *load = w->context;
    assert(phase <= BENCH_CLEAN);
    load->phase = phase;
    load->next = 0;
    if (phase <= BENCH_MEASURE)
        load->since = now_of(w);
}

static void stop_measuring(struct cli_work *w)
{
    struct bench_load *load = w->context;
    if (load->phase == BENCH_MEASURE)
        load->took = now_of(w) - load->since;
    load->phase = BENCH_DRAIN;
}

static bool is_over(const struct bench_load *load, uint64_t now)
{
    const struct bench_plan *plan = load->plan;
    if (load->phase == BENCH_WARM_UP)
        return now - load->since >= plan->warm_up;
    return plan->count ? load->ended >= plan->count : now - load->since >= plan->duration;
}

static void say_progress(struct cli_work *w, struct bench_load *load, uint64_t now)
{
    static const char *const names[] = {"filling", "warming up", "measuring", "ending", "cleaning"};
    const uint64_t took = now - load->since;
    if (load->thread != 0)
        return;
    if (load->phase != BENCH_MEASURE || took < SECOND / 10)
        cli_progress_line(&load->progress, w, now, "bench: %s", names[load->phase]);
    else
        cli_progress_line(&load->progress, w, now,
                          "bench: measuring, %" PRIu64 " s, about %" PRIu64 " operations a second",
                          took / SECOND, load->ended * load->plan->threads * SECOND / took);
}

void bench_load_drained(struct cli_work *w)
{
    struct bench_load *load = w->context;
    const uint64_t now = now_of(w);
    const bool idle = load->free_count == load->plan->depth;
    say_progress(w, load, now);
    switch (load->phase) {
    case BENCH_FILL:
        if (idle && load->next == load->plan->keys)
            begin_phase(w, BENCH_WARM_UP);
        break;
    case BENCH_WARM_UP:
        if (is_over(load, now))
            begin_phase(w, BENCH_MEASURE);
        break;
    case BENCH_MEASURE:
        if (is_over(load, now))
            stop_measuring(w);
        break;
    default:
        if (idle && load->phase == BENCH_DRAIN)
            begin_phase(w, BENCH_CLEAN);
        if (idle && (load->plan->keep || load->next == load->plan->keys))
            cli_work_end(w, FABRIC_OK);
    }
    if (!w->done)
        submit(w, load);
}

void bench_load_begin(struct cli_work *w)
{
    struct bench_load *load = w->context;
    const struct bench_plan *plan = load->plan;
    uint64_t name = 0;
    assert(load->memory && load->free_count == plan->depth);
    fabric_entropy(w->fabric, &name, sizeof name);
    snprintf(load->prefix, sizeof load->prefix, "memkv-bench-%u-%016" PRIx64, load->thread, name);
    enum fabric_error error =
        client_memory_register(w->client, load->memory, load->room * plan->depth, &load->region);
    if (error) {
        cli_work_end(w, error);
        return;
    }
    const bool reads = plan->mix[CLIENT_GET] || plan->mix[CLIENT_EXISTS];
    begin_phase(w, reads ? BENCH_FILL : BENCH_WARM_UP);
}

/* ------------------------------------------------------------------ completions */

static bool is_counted(enum fabric_error error)
{
    return !error || error == ERR_NOT_FOUND || error == ERR_STORE_FULL || error == ERR_QUEUE_FULL;
}

static void count(struct bench_load *load, const struct bench_slot *slot, uint64_t now,
                  const struct client_completion *c)
{
    struct bench_result *r = &load->results[slot->kind];
    if (slot->kind >= CLIENT_DELETE || load->phase != BENCH_MEASURE)
        return;
    load->ended++;
    if (c->error == ERR_NOT_FOUND || (slot->kind == CLIENT_EXISTS && !c->error && !c->found)) {
        r->missed++;
    } else if (c->error) {
        r->refused++;
    } else {
        histogram_add(&r->latency, now - slot->begun);
        r->bytes += slot->kind == CLIENT_EXISTS ? 0 : c->length;
    }
}

void bench_load_completed(struct cli_work *w, const struct client_completion *c)
{
    struct bench_load *load = w->context;
    const uint32_t at = (uint32_t)c->cookie;
    assert(at < load->plan->depth && load->free_count < load->plan->depth);
    const struct bench_slot *slot = &load->slots[at];
    const bool refusal = c->error == ERR_STORE_FULL || c->error == ERR_QUEUE_FULL;
    load->free_slots[load->free_count++] = at;
    if (!is_counted(c->error) || (refusal && load->phase == BENCH_FILL)) {
        cli_work_end_by(w, c);
        return;
    }
    if (!c->error && slot->kind == CLIENT_GET && !is_right(load, at, c->length)) {
        cli_work_end_by(w, c);
        w->error = ERR_CHECKSUM;
        return;
    }
    if (!c->error)
        load->over[c->transport] = true;
    count(load, slot, now_of(w), c);
}

void bench_load_interrupted(struct cli_work *w)
{
    struct bench_load *load = w->context;
    assert(load);
    if (load->interrupted) {
        cli_work_end(w, ERR_CANCELLED); /* the second signal: at once */
        return;
    }
    load->interrupted = true;
    stop_measuring(w);
}
