/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MK-A4 by searching: in each world a client puts and gets blocks with deadlines that often pass
 * while the fabric loses, holds up and cuts what is under way; every operation reuses the memory of
 * the one before, over RDMA or TCP. Nothing may land after the report: not in a later get, nor in
 * the bytes that a later put hands over. In the end all is healed, and every block that is visible
 * must be whole.
 *
 *   revocation FIRST COUNT [VIOLATIONS [TRANSPORT]]
 *
 * seeds; ends after so many violations (1); rdma.transport of the server (rc)
 */
#include <inttypes.h>
#include <jansson.h>
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
#define PUTS 12 /* keys of one world, each put once: its contents are known for ever */
#define ACTIONS 36
#define HEALED (40 * SECOND) /* longer than the longest back-off, 37.5 s, and building a link */
#define KEY "5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de5eedc0de"

enum put_state { NEVER_PUT, UNCERTAIN, ACKNOWLEDGED };

struct totals {
    uint64_t worlds, operations, failed, timed_out, retried, violations, virtual_time;
};

struct run {
    struct testbed *tb;
    const char *transport; /* rdma.transport */
    struct seeded seeded;
    uint64_t next_id, waiting; /* id that is waited for; 0: came */
    enum put_state puts[PUTS];
    unsigned put_count;
    struct totals *totals;
    json_t *answer;
};

static struct testbed *make(uint64_t seed)
{
    char detail[TESTBED_DETAIL] = "";
    struct testbed *tb = two_nodes_make("store", "host", seed, detail);
    seeded_must(tb ? TESTBED_DONE : TESTBED_WRONG, detail);
    return tb;
}

static void take(struct run *r, const char *text)
{
    json_t *report = json_loads(text, 0, NULL);
    uint64_t id = (uint64_t)json_integer_value(json_object_get(report, "id"));
    if (!id || id != r->waiting) {
        json_decref(report);
        return;
    }
    json_decref(r->answer);
    r->answer = report;
    r->waiting = 0;
}

/* Lets the world go on until the answer came, or for so long. */
static void go_on(struct run *r, uint64_t time, bool until_answer)
{
    struct testbed_event event = {.type = TESTBED_EVENT_IDLE};
    uint64_t deadline = sim_testbed.now(r->tb) + time;
    do {
        sim_testbed.next(r->tb, deadline, &event);
        if (event.type == TESTBED_EVENT_REPORT)
            take(r, event.text);
        if (event.type == TESTBED_EVENT_EXITED)
            seeded_violation(&r->seeded, "%s ended: %s", event.node, error_name(event.error));
    } while (event.type != TESTBED_EVENT_DEADLINE && event.type != TESTBED_EVENT_IDLE &&
             !(until_answer && !r->waiting));
}

static void start(struct run *r)
{
    static const char *const transports[] = {"auto", "rdma", "tcp"};
    char detail[TESTBED_DETAIL] = "", config[512];
    snprintf(config, sizeof config,
             "network: {address: \"0.0.0.0:9900\", auth_key: " KEY "}\n"
             "memory: {block_size: 16 KiB, max_size: 2 MiB}\nrdma: {transport: %s}\n",
             r->transport);
    seeded_must(sim_testbed.node_start(r->tb, "store", &memkv_server_program, config, detail),
                detail);
    snprintf(config, sizeof config,
             "servers: [\"10.0.0.1:9900\"]\nauth_key: " KEY "\nverify: none\ntransport: %s\n",
             transports[r->seeded.seed % 3]);
    seeded_must(sim_testbed.node_start(r->tb, "host", &memkv_client_program, config, detail),
                detail);
    go_on(r, 100 * MS, false);
}

static const char *text_of(const struct run *r, const char *name)
{
    const char *text = json_string_value(json_object_get(r->answer, name));
    return text ? text : "";
}

/* One command to its end; false when no answer came. */
static bool command(struct run *r, const char *op, unsigned key, uint64_t timeout)
{
    char json[256], detail[TESTBED_DETAIL] = "";
    uint64_t size = 1 + (r->seeded.seed * 7919 + key * 4099) % 24000;
    r->waiting = ++r->next_id;
    snprintf(json, sizeof json,
             "{\"id\":%" PRIu64 ",\"op\":\"%s\",\"key\":\"k%u\",\"size\":%" PRIu64
             ",\"seed\":%u,\"timeout_ms\":%" PRIu64 "}",
             r->next_id, op, key, size, key + 1, timeout / MS);
    seeded_must(sim_testbed.tell(r->tb, "host", json, detail), detail);
    go_on(r, timeout + 60 * SECOND, true);
    r->totals->operations++;
    if (r->waiting) {
        seeded_violation(&r->seeded, "%s of k%u: no answer", op, key);
        return false;
    }
    bool ok = json_is_true(json_object_get(r->answer, "ok"));
    r->totals->failed += !ok;
    r->totals->timed_out += strcmp(text_of(r, "error"), "timeout") == 0;
    if (strcmp(text_of(r, "error"), "tag_mismatch") == 0)
        seeded_violation(&r->seeded, "%s of k%u: the bytes changed on their way", op, key);
    if (json_is_false(json_object_get(r->answer, "equal")))
        seeded_violation(&r->seeded,
                         "%s of k%u: not the bytes that were put, from %" JSON_INTEGER_FORMAT, op,
                         key, json_integer_value(json_object_get(r->answer, "offset")));
    return true;
}

static void put(struct run *r, uint64_t timeout)
{
    unsigned key = r->put_count++;
    r->puts[key] = UNCERTAIN;
    if (command(r, "put", key, timeout) && json_is_true(json_object_get(r->answer, "ok")))
        r->puts[key] = ACKNOWLEDGED;
}

static void get(struct run *r, unsigned key, uint64_t timeout)
{
    if (!command(r, "get", key, timeout) || strcmp(text_of(r, "error"), "not_found") != 0)
        return;
    if (r->puts[key] == ACKNOWLEDGED)
        seeded_violation(&r->seeded, "k%u was acknowledged and is gone", key);
}

static void fault(struct run *r)
{
    static const uint64_t delays[] = {0, 3 * MS, 30 * MS, 900 * MS};
    static const uint32_t losses[] = {0, 50000, 400000};
    char detail[TESTBED_DETAIL] = "";
    struct testbed_fault f = {.node = seeded_draw(&r->seeded, 2) ? "store" : "host"};
    switch (seeded_draw(&r->seeded, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        f.word = TESTBED_DELAY;
        f.duration = delays[seeded_draw(&r->seeded, 4)];
        f.jitter = f.duration / 2;
        break;
    case 4:
    case 5:
        f.word = TESTBED_LOSS;
        f.value = losses[seeded_draw(&r->seeded, 3)];
        break;
    case 6:
    case 7:
        f.word = TESTBED_CUT;
        f.on = seeded_draw(&r->seeded, 3) == 0;
        break;
    case 8:
        f.word = seeded_draw(&r->seeded, 3) ? TESTBED_PORT_UP : TESTBED_PORT_DOWN;
        break;
    default:
        f.word = seeded_draw(&r->seeded, 4) ? TESTBED_TCP_SLOW : TESTBED_TCP_CUT;
        f.value = 100000000;
        f.duration = seeded_draw(&r->seeded, 3) * MS;
        break;
    }
    seeded_must(sim_testbed.apply(r->tb, &f, detail), detail);
}

/* Undoes every fault; nothing else is done to what a rail concluded from them. */
static void heal(struct run *r)
{
    char detail[TESTBED_DETAIL] = "";
    seeded_must(sim_testbed.undo(r->tb, detail), detail);
    go_on(r, HEALED, false);
}

static void judge(struct run *r)
{
    for (unsigned key = 0; key < r->put_count; key++) {
        get(r, key, 30 * SECOND);
        bool ok = json_is_true(json_object_get(r->answer, "ok"));
        if (!ok && strcmp(text_of(r, "error"), "not_found") != 0)
            seeded_violation(&r->seeded, "k%u after all is healed: %s", key, text_of(r, "error"));
    }
}

static void count_retries(struct run *r)
{
    char json[64], detail[TESTBED_DETAIL] = "";
    r->waiting = ++r->next_id;
    snprintf(json, sizeof json, "{\"id\":%" PRIu64 ",\"op\":\"status\"}", r->next_id);
    seeded_must(sim_testbed.tell(r->tb, "host", json, detail), detail);
    go_on(r, SECOND, true);
    const json_t *counters = json_object_get(r->answer, "counters");
    r->totals->retried += (uint64_t)json_integer_value(json_object_get(counters, "retries"));
}

static void world(uint64_t seed, const char *transport, struct totals *totals)
{
    struct run r = {.seeded = {seed, seed, &totals->violations},
                    .totals = totals,
                    .transport = transport,
                    .tb = make(seed)};
    start(&r);
    for (unsigned i = 0; i < ACTIONS; i++) {
        uint64_t kind = seeded_draw(&r.seeded, 3), timeout = (1 + seeded_draw(&r.seeded, 20)) * MS;
        if (seeded_draw(&r.seeded, 8) == 0)
            timeout = 2 * SECOND;
        if (kind == 0)
            fault(&r);
        else if (kind == 1 && r.put_count < PUTS)
            put(&r, timeout);
        else if (r.put_count)
            get(&r, (unsigned)seeded_draw(&r.seeded, r.put_count), timeout);
    }
    heal(&r);
    judge(&r);
    count_retries(&r);
    totals->worlds++;
    totals->virtual_time += sim_testbed.now(r.tb);
    json_decref(r.answer);
    sim_testbed.destroy(r.tb);
}

int main(int argc, char **argv)
{
    struct totals t = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: revocation FIRST COUNT [VIOLATIONS [TRANSPORT]]\n");
        return 2;
    }
    uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    uint64_t enough = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + count && t.violations < enough; seed++)
        world(seed, argc > 4 ? argv[4] : "rc", &t);
    printf("figures %" PRIu64 " worlds %" PRIu64 " operations %" PRIu64 " failed %" PRIu64
           " timed_out %" PRIu64 " retried %" PRIu64 " seconds %" PRIu64 " violations\n",
           t.worlds, t.operations, t.failed, t.timed_out, t.retried, t.virtual_time / SECOND,
           t.violations);
    return t.violations ? 1 : 0;
}
