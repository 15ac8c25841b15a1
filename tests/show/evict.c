/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MK-J3 in whole worlds: a client puts groups of blocks into a store that is too small for them and
 * reads others at the same time, over RDMA or a slow TCP, in memory or from a file. The server's
 * inside is looked at after each of its events: what is being read stays visible, no two share a
 * byte of the slab, and room that was given out above 70 % means that nothing was left to evict.
 *
 *   evict FIRST COUNT      seeds
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed.h"
#include "src/client/program.h"
#include "src/server/program.h"
#include "src/server/server.h"
#include "src/store/store_state.h"
#include "tests/support/two_nodes.h"
#include "tests/support/seeded.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define GROUPS 16
#define AT_ONCE 4 /* commands */
#define KEY "5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de"
#define PIECES 512 /* of the slab that are in use at once */

struct totals {
    uint64_t worlds, operations, blocks, missed, evictions, under_transfer, violations;
};

/* ------------------------------------------------------------------ a server that is looked into
 */

struct watched {
    struct server *server;
    const struct fabric_report_sink *sink;
    uint64_t used[CONFIG_MAX_LANES], ended;
    uint64_t evictions, under_transfer; /* of them: while something was being read */
};

static void report(struct watched *w, const char *what)
{
    char json[160];
    snprintf(json, sizeof json, "{\"event\":\"violation\",\"what\":\"%s\"}", what);
    w->sink->report(w->sink->context, json);
}

struct piece {
    uint64_t begin, end;
};

static int by_begin(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void add(struct piece *pieces, size_t *count, const struct store_block *b)
{
    if (*count == PIECES)
        abort();
    pieces[(*count)++] = (struct piece){b->offset, b->offset + slab_rounded(b->length)};
}

/* A block that several read is one piece. */
static bool is_first_reader(const struct server *s, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++) {
        if (s->transfers[i] && s->transfers[i]->block == s->transfers[at]->block)
            return false;
    }
    return true;
}

static void look_at_room(struct watched *w, const struct server_lane *lane)
{
    const struct server *s = w->server;
    struct piece pieces[PIECES];
    size_t count = 0;
    for (struct store_block *b = lane->store->orders[STORE_IN_MEMORY].newest; b;
         b = b->links[STORE_IN_MEMORY].older)
        add(pieces, &count, b);
    for (uint32_t i = 0; i < s->transfer_end; i++) {
        const struct server_transfer *t = s->transfers[i];
        if (t && t->lane == lane && t->block && t->block->resident && !t->block->visible &&
            !t->stored && is_first_reader(s, i))
            add(pieces, &count, t->block);
    }
    qsort(pieces, count, sizeof pieces[0], by_begin);
    for (size_t i = 1; i < count; i++) {
        if (pieces[i].begin < pieces[i - 1].end)
            report(w, "two blocks share their room");
    }
}

/* Keys are put once and never deleted, so only eviction takes a block out of sight. */
static uint32_t look_at_readers(struct watched *w, const struct server_lane *lane)
{
    uint32_t readers = 0;
    for (uint32_t i = 0; i < w->server->transfer_end; i++) {
        const struct server_transfer *t = w->server->transfers[i];
        if (!t || t->lane != lane || t->kind != SERVER_GET || !t->block)
            continue;
        readers++;
        if (!t->block->visible || t->block->pins == 0)
            report(w, "a block was evicted under its reader");
    }
    return readers;
}

/* Transfers that are over. */
static uint64_t ended(const struct server *s)
{
    return s->read.values[0] + s->read.values[1] + s->written.values[0] + s->written.values[1];
}

/* In an event in which no transfer ended, what nobody reads now was there to be evicted. */
static void look_at_limit(struct watched *w, const struct server_lane *lane, uint64_t *used)
{
    const struct store *s = lane->store;
    const bool media = s->media_count > 0;
    const uint64_t now = media ? s->held : s->slab.used;
    struct store_counts n;
    store_counts(s, &n);
    if (now > *used && now > n.capacity * 70 / 100 && ended(w->server) == w->ended) {
        const struct store_block *b = s->orders[STORE_BY_USE].oldest;
        while (b && b->pins)
            b = b->links[STORE_BY_USE].newer;
        if (b)
            report(w, "room was given out above 70 % beside a block that nobody reads");
    }
    *used = now;
}

static void look(struct watched *w)
{
    uint64_t evictions = 0;
    uint32_t readers = 0;
    for (uint32_t i = 0; i < w->server->lane_count; i++) {
        struct server_lane *lane = &w->server->lanes[i];
        if (!lane->store)
            continue;
        readers += look_at_readers(w, lane);
        look_at_room(w, lane);
        look_at_limit(w, lane, &w->used[i]);
        evictions += lane->store->evictions;
    }
    if (readers)
        w->under_transfer += evictions - w->evictions;
    w->evictions = evictions;
    w->ended = ended(w->server);
}

static enum fabric_error start_watched(struct fabric *f, const char *config, size_t length,
                                       const struct fabric_report_sink *sink, void **state)
{
    void *server = NULL;
    enum fabric_error error = memkv_server_program.start(f, config, length, sink, &server);
    if (error)
        return error;
    struct watched *w = calloc(1, sizeof *w);
    if (!w)
        abort();
    w->server = server;
    w->sink = sink;
    *state = w;
    return FABRIC_OK;
}

static void event_watched(void *state, const struct fabric_event *event)
{
    struct watched *w = state;
    memkv_server_program.event(w->server, event);
    look(w);
}

static void command_watched(void *state, const char *json)
{
    const struct watched *w = state;
    char text[80];
    snprintf(text, sizeof text, "{\"event\":\"watched\",\"under_transfer\":%" PRIu64 "}",
             w->under_transfer);
    w->sink->report(w->sink->context, text);
    memkv_server_program.command(w->server, json);
}

static void stop_watched(void *state)
{
    struct watched *w = state;
    memkv_server_program.stop(w->server);
    free(w);
}

static const struct fabric_program watched_program = {.name = "server",
                                                      .start = start_watched,
                                                      .event = event_watched,
                                                      .command = command_watched,
                                                      .stop = stop_watched};

/* ------------------------------------------------------------------ the world */

struct run {
    struct testbed *tb;
    struct seeded seeded;
    uint64_t next_id;
    unsigned open;   /* commands without an answer */
    unsigned groups; /* that were put */
    unsigned counts[GROUPS];
    uint64_t sizes[GROUPS];
    struct totals *totals;
};

/* A full store may say so, and a block may be gone; nothing else may happen to a key. */
static void judge(struct run *r, const json_t *answer, const char *text)
{
    const json_t *results = json_object_get(answer, "results");
    const char *class = json_string_value(json_object_get(answer, "class"));
    size_t i;
    json_t *each;
    if (!results || json_is_false(json_object_get(answer, "equal")) ||
        (class && strcmp(class, "corrupted") == 0))
        seeded_violation(&r->seeded, "%s", text);
    json_array_foreach(results, i, each)
    {
        const char *one = json_string_value(each);
        r->totals->blocks++;
        r->totals->missed += strcmp(one, "not_found") == 0;
        if (strcmp(one, "ok") != 0 && strcmp(one, "not_found") != 0 &&
            strcmp(one, "store_full") != 0 && strcmp(one, "queue_full") != 0)
            seeded_violation(&r->seeded, "%s: %s", one, text);
    }
}

static void take(struct run *r, const char *text)
{
    json_t *report = json_loads(text, 0, NULL);
    const char *event = json_string_value(json_object_get(report, "event"));
    const json_t *store = json_object_get(report, "store");
    if (event && strcmp(event, "violation") == 0)
        seeded_violation(&r->seeded, "%s", json_string_value(json_object_get(report, "what")));
    if (event && strcmp(event, "watched") == 0)
        r->totals->under_transfer +=
            (uint64_t)json_integer_value(json_object_get(report, "under_transfer"));
    if (store)
        r->totals->evictions += (uint64_t)json_integer_value(json_object_get(store, "evictions"));
    if (json_object_get(report, "id")) {
        r->open--;
        if (!store)
            judge(r, report, text);
    }
    json_decref(report);
}

/* Lets the world go on until every command has its answer, or for so long. */
static void go_on(struct run *r, uint64_t time)
{
    struct testbed_event event = {.type = TESTBED_EVENT_IDLE};
    const uint64_t deadline = sim_testbed.now(r->tb) + time;
    const bool waits = r->open > 0;
    do {
        sim_testbed.next(r->tb, deadline, &event);
        if (event.type == TESTBED_EVENT_REPORT)
            take(r, event.text);
        if (event.type == TESTBED_EVENT_EXITED)
            seeded_violation(&r->seeded, "%s ended: %s", event.node, error_name(event.error));
    } while (event.type != TESTBED_EVENT_DEADLINE && event.type != TESTBED_EVENT_IDLE &&
             !(waits && r->open == 0));
    if (r->open > 0)
        seeded_violation(&r->seeded, "%u commands without an answer", r->open);
}

static void start(struct run *r)
{
    static const char *const storages[] = {
        "", "storage: {lanes: 2}\n", "", "storage: {mode: file, path: /store, max_size: 1 MiB}\n"};
    char detail[TESTBED_DETAIL] = "", config[512];
    snprintf(config, sizeof config,
             "network: {address: \"0.0.0.0:9900\", auth_key: " KEY "}\n"
             "memory: {block_size: 4 KiB, max_size: 512 KiB}\n%s",
             storages[r->seeded.seed / 2 % 4]);
    seeded_must(sim_testbed.node_start(r->tb, "store", &watched_program, config, detail), detail);
    snprintf(config, sizeof config,
             "servers: [\"10.0.0.1:9900\"]\nauth_key: " KEY "\ntransport: %s\n",
             r->seeded.seed % 2 ? "rdma" : "tcp");
    seeded_must(sim_testbed.node_start(r->tb, "host", &memkv_client_program, config, detail),
                detail);
    go_on(r, 100 * MS);
    const struct testbed_fault slow = {
        .word = TESTBED_TCP_SLOW, .node = "host", .value = 100000000};
    if (r->seeded.seed % 4 == 0)
        seeded_must(sim_testbed.apply(r->tb, &slow, detail), detail);
}

static void command(struct run *r, const char *op, unsigned group)
{
    char json[200], detail[TESTBED_DETAIL] = "";
    snprintf(json, sizeof json,
             "{\"id\":%" PRIu64 ",\"op\":\"%s\",\"key\":\"g%u\",\"count\":%u,\"size\":%" PRIu64
             ",\"seed\":%u}",
             ++r->next_id, op, group, r->counts[group], r->sizes[group], group + 1);
    seeded_must(sim_testbed.tell(r->tb, "host", json, detail), detail);
    r->open++;
    r->totals->operations++;
}

static void put(struct run *r)
{
    const unsigned group = r->groups++;
    r->counts[group] = 1 + (unsigned)seeded_draw(&r->seeded, 6);
    r->sizes[group] = 1 + seeded_draw(&r->seeded, 40000);
    command(r, "put_many", group);
}

/* Reads of what is there and puts of new blocks, together. */
static void turn(struct run *r)
{
    const unsigned known = r->groups;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        if (r->groups < GROUPS && (!known || seeded_draw(&r->seeded, 2)))
            put(r);
        else if (known)
            command(r, "get_many", (unsigned)seeded_draw(&r->seeded, known));
    }
    go_on(r, 60 * SECOND);
}

static void finish(struct run *r)
{
    char detail[TESTBED_DETAIL] = "";
    r->open++;
    seeded_must(sim_testbed.tell(r->tb, "store", "{\"id\":999999,\"op\":\"status\"}", detail),
                detail);
    go_on(r, SECOND);
    sim_testbed.destroy(r->tb);
}

static void world(uint64_t seed, struct totals *totals)
{
    char detail[TESTBED_DETAIL] = "";
    const uint64_t before = totals->violations;
    struct run r = {.seeded = {seed, seed, &totals->violations}, .totals = totals};
    r.tb = two_nodes_make("store", "host", seed, detail);
    seeded_must(r.tb ? TESTBED_DONE : TESTBED_WRONG, detail);
    start(&r);
    while (r.groups < GROUPS && totals->violations == before)
        turn(&r);
    finish(&r);
    totals->worlds++;
}

int main(int argc, char **argv)
{
    struct totals t = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: evict FIRST COUNT\n");
        return 2;
    }
    const uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    for (uint64_t seed = first; seed < first + count && t.violations == 0; seed++)
        world(seed, &t);
    printf("figures %" PRIu64 " worlds %" PRIu64 " operations %" PRIu64 " blocks %" PRIu64
           " missed %" PRIu64 " evictions %" PRIu64 " under_transfer %" PRIu64 " violations\n",
           t.worlds, t.operations, t.blocks, t.missed, t.evictions, t.under_transfer, t.violations);
    return t.violations ? 1 : 0;
}
