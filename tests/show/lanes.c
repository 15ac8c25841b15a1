/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client does the same to servers of one, two and four lanes: single blocks, batches, blocks
 * that are overwritten and deleted, in memory or in files that are opened again in between, over
 * RDMA or TCP, with streams that are cut. Every answer must be the same, and so must what is stored
 * in the end, spread over all lanes.
 *
 *   lanes FIRST COUNT      seeds
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed.h"
#include "src/client/program.h"
#include "src/server/program.h"
#include "tests/support/two_nodes.h"
#include "tests/support/seeded.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define KEYS 40
#define ACTIONS 30
#define KEY "5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de"
#define ANSWERS (1u << 16) /* bytes of text */

struct totals {
    uint64_t worlds, answers, restarts, violations;
};

struct run {
    struct testbed *tb;
    struct seeded seeded;
    uint64_t next_id, waiting;
    unsigned lanes;
    uint64_t versions[KEYS]; /* of the contents that were put last; 0: not there */
    char said[ANSWERS];      /* every answer without what may differ */
    size_t length;
    struct totals *totals;
};

static void note(struct run *r, const char *text)
{
    const size_t length = strlen(text);
    if (r->length + length + 2 > sizeof r->said)
        abort();
    memcpy(r->said + r->length, text, length);
    r->length += length;
    r->said[r->length++] = '\n';
    r->said[r->length] = '\0';
}

/* What a lane may not change. */
static void note_answer(struct run *r, json_t *answer)
{
    static const char *const names[] = {"id",    "op",    "ok",      "error", "class",      "equal",
                                        "found", "bytes", "results", "keys",  "found_count"};
    json_t *kept = json_object();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        json_t *value = json_object_get(answer, names[i]);
        if (value)
            json_object_set(kept, names[i], value);
    }
    char *text = json_dumps(kept, JSON_COMPACT | JSON_SORT_KEYS);
    note(r, text);
    r->totals->answers++;
    free(text);
    json_decref(kept);
}

/* Each lane has its share: what the server stores, and that no lane is left out. */
static void note_store(struct run *r, const json_t *status)
{
    char text[64];
    size_t i;
    json_t *lane;
    const json_t *lanes = json_object_get(status, "lanes"),
                 *store = json_object_get(status, "store");
    snprintf(text, sizeof text, "blocks %" JSON_INTEGER_FORMAT " used %" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(store, "blocks")),
             json_integer_value(json_object_get(store, "used")));
    note(r, text);
    if (json_array_size(lanes) != r->lanes)
        seeded_violation(&r->seeded, "%u lanes: %s", r->lanes,
                         "the server has another number of lanes");
    json_array_foreach(lanes, i, lane)
    {
        if (json_integer_value(json_object_get(lane, "blocks")) == 0)
            seeded_violation(&r->seeded, "%u lanes: %s", r->lanes, "a lane has no block");
    }
}

static void take(struct run *r, const char *text)
{
    json_t *report = json_loads(text, 0, NULL);
    const uint64_t id = (uint64_t)json_integer_value(json_object_get(report, "id"));
    if (id && id == r->waiting) {
        r->waiting = 0;
        if (json_object_get(report, "lanes"))
            note_store(r, report);
        else
            note_answer(r, report);
    }
    json_decref(report);
}

static void go_on(struct run *r, uint64_t time)
{
    struct testbed_event event = {.type = TESTBED_EVENT_IDLE};
    const uint64_t deadline = sim_testbed.now(r->tb) + time;
    const bool waits = r->waiting != 0;
    do {
        sim_testbed.next(r->tb, deadline, &event);
        if (event.type == TESTBED_EVENT_REPORT)
            take(r, event.text);
        if (event.type == TESTBED_EVENT_EXITED && event.error)
            seeded_violation(&r->seeded, "%u lanes: %s", r->lanes, "a program ended");
    } while (event.type != TESTBED_EVENT_DEADLINE && event.type != TESTBED_EVENT_IDLE &&
             !(waits && !r->waiting));
    if (r->waiting)
        seeded_violation(&r->seeded, "%u lanes: %s", r->lanes, "no answer");
    r->waiting = 0;
}

static bool is_file(const struct run *r)
{
    return r->seeded.seed % 4 >= 2;
}

static void start_server(struct run *r)
{
    char detail[TESTBED_DETAIL] = "", config[512];
    snprintf(config, sizeof config,
             "network: {address: \"0.0.0.0:9900\", auth_key: " KEY "}\n"
             "memory: {block_size: 16 KiB, max_size: 16 MiB}\nstorage: {lanes: %u%s}\n",
             r->lanes, is_file(r) ? ", mode: file, path: /store, max_size: 32 MiB" : "");
    seeded_must(sim_testbed.node_start(r->tb, "store", &memkv_server_program, config, detail),
                detail);
}

static void start(struct run *r)
{
    char detail[TESTBED_DETAIL] = "", config[256];
    start_server(r);
    snprintf(config, sizeof config,
             "servers: [\"10.0.0.1:9900\"]\nauth_key: " KEY "\ntransport: %s\ntimeout: 60 s\n",
             r->seeded.seed % 2 ? "rdma" : "tcp");
    seeded_must(sim_testbed.node_start(r->tb, "host", &memkv_client_program, config, detail),
                detail);
    go_on(r, 500 * MS);
}

static void command(struct run *r, const char *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void command(struct run *r, const char *node, const char *format, ...)
{
    char json[256], detail[TESTBED_DETAIL] = "";
    va_list arguments;
    int length = snprintf(json, sizeof json, "{\"id\":%" PRIu64 ",", ++r->next_id);
    va_start(arguments, format);
    vsnprintf(json + length, sizeof json - (size_t)length, format, arguments);
    va_end(arguments);
    r->waiting = r->next_id;
    seeded_must(sim_testbed.tell(r->tb, node, json, detail), detail);
    go_on(r, 120 * SECOND);
}

static void put(struct run *r)
{
    const unsigned key = (unsigned)seeded_draw(&r->seeded, KEYS);
    r->versions[key] = 1 + seeded_draw(&r->seeded, 1000000);
    command(r, "host", "\"op\":\"put\",\"key\":\"k%u\",\"size\":%" PRIu64 ",\"seed\":%" PRIu64 "}",
            key, 1 + r->versions[key] % 40000, r->versions[key]);
}

static void get(struct run *r)
{
    const unsigned key = (unsigned)seeded_draw(&r->seeded, KEYS);
    const uint64_t version = r->versions[key];
    command(r, "host", "\"op\":\"get\",\"key\":\"k%u\",\"size\":%" PRIu64 ",\"seed\":%" PRIu64 "}",
            key, version ? 1 + version % 40000 : 40000, version);
}

static void drop(struct run *r)
{
    const unsigned key = (unsigned)seeded_draw(&r->seeded, KEYS);
    r->versions[key] = 0;
    command(r, "host", "\"op\":\"delete\",\"key\":\"k%u\"}", key);
}

static void batch(struct run *r)
{
    static const char *const ops[] = {"put_many", "get_many", "exists_many"};
    const uint64_t group = seeded_draw(&r->seeded, 3);
    command(r, "host",
            "\"op\":\"%s\",\"key\":\"m%" PRIu64 "\",\"count\":%" PRIu64 ",\"size\":%" PRIu64
            ",\"seed\":%" PRIu64 "}",
            ops[seeded_draw(&r->seeded, 3)], group, 20 + group, 5000 + group, group);
}

/* A store on disk is there again; what a stream that is cut had under way is tried again. */
static void disturb(struct run *r)
{
    char detail[TESTBED_DETAIL] = "";
    const struct testbed_fault cut = {.word = TESTBED_TCP_CUT, .node = "store"};
    if (!is_file(r)) {
        seeded_must(sim_testbed.apply(r->tb, &cut, detail), detail);
        return;
    }
    seeded_must(sim_testbed.node_stop(r->tb, "store", detail), detail);
    start_server(r);
    r->totals->restarts++;
    go_on(r, 40 * SECOND);
}

static void run(struct run *r, uint64_t seed, unsigned lanes, struct totals *totals)
{
    static void (*const actions[])(struct run *) = {put, put,   put,   get, get,
                                                    get, batch, batch, drop};
    char detail[TESTBED_DETAIL] = "";
    *r =
        (struct run){.seeded = {seed, seed, &totals->violations}, .lanes = lanes, .totals = totals};
    r->tb = two_nodes_make("store", "host", seed, detail);
    seeded_must(r->tb ? TESTBED_DONE : TESTBED_WRONG, detail);
    start(r);
    for (unsigned i = 0; i < ACTIONS; i++) {
        if (i == ACTIONS / 2)
            disturb(r);
        actions[seeded_draw(&r->seeded, sizeof actions / sizeof actions[0])](r);
    }
    for (unsigned i = 0; i < 3; i++)
        command(r, "host",
                "\"op\":\"put_many\",\"key\":\"m%u\",\"count\":%u,\"size\":%u,\"seed\":%u}", i,
                20 + i, 5000 + i, i);
    command(r, "store", "\"op\":\"status\"}");
    totals->worlds++;
    sim_testbed.destroy(r->tb);
}

static void compare(struct run *one, struct run *other)
{
    const char *a = one->said, *b = other->said;
    char line[200];
    if (strcmp(a, b) == 0)
        return;
    while (*a && *a == *b) {
        a++;
        b++;
    }
    while (b > other->said && b[-1] != '\n')
        b--;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(b, "\n"), b);
    seeded_violation(&other->seeded, "%u lanes: %s", other->lanes, line);
}

int main(int argc, char **argv)
{
    struct totals t = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: lanes FIRST COUNT\n");
        return 2;
    }
    struct run *runs = calloc(2, sizeof *runs);
    if (!runs)
        return 2;
    const uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    for (uint64_t seed = first; seed < first + count && t.violations == 0; seed++) {
        run(&runs[0], seed, 1, &t);
        for (unsigned lanes = 2; lanes <= 4; lanes *= 2) {
            run(&runs[1], seed, lanes, &t);
            compare(&runs[0], &runs[1]);
        }
    }
    printf("figures %" PRIu64 " worlds %" PRIu64 " answers %" PRIu64 " restarts %" PRIu64
           " violations\n",
           t.worlds, t.answers, t.restarts, t.violations);
    free(runs);
    return t.violations ? 1 : 0;
}
