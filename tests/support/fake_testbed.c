/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_testbed.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EVENTS 64

struct fake_due {
    struct testbed_event event;
    char text[512];
    bool told;
};

struct testbed {
    uint64_t now, hash;
    struct fake_due due[MAX_EVENTS];
    size_t count;
    void (*sink)(void *context, const char *line, size_t length);
    void *context;
};

struct fake_script fake_script;
struct fake_log fake_log;

static const struct fabric_program fake_server = {.name = "server"};
static const struct fabric_program fake_client = {.name = "client"};
const struct fabric_program *const fake_programs[2] = {&fake_server, &fake_client};

void fake_reset(void)
{
    memset(&fake_script, 0, sizeof fake_script);
    memset(&fake_log, 0, sizeof fake_log);
    fake_script.caps = FABRIC_CAPS_ALL;
}

static void note(struct testbed *tb, const char *line)
{
    size_t used = strlen(fake_log.text);
    snprintf(fake_log.text + used, sizeof fake_log.text - used, "%s\n", line);
    for (const char *at = line; *at; at++)
        tb->hash = (tb->hash ^ (unsigned char)*at) * 1099511628211u;
    if (tb->sink)
        tb->sink(tb->context, line, strlen(line));
}

static void schedule(struct testbed *tb, const struct fake_reply *reply, const char *id)
{
    assert(tb->count < MAX_EVENTS);
    struct fake_due *due = &tb->due[tb->count++];
    const char *text = reply->text ? reply->text : "";
    const char *at = strstr(text, "%id");
    snprintf(due->text, sizeof due->text, "%.*s%s%s", at ? (int)(at - text) : 400, text,
             at ? id : "", at ? at + 3 : "");
    due->event = (struct testbed_event){.type = reply->type,
                                        .time = tb->now + reply->delay,
                                        .node = reply->node,
                                        .level = reply->level,
                                        .error = reply->error};
}

static unsigned react(struct testbed *tb, const char *on, const char *id)
{
    unsigned count = 0;
    for (size_t i = 0; i < FAKE_MAX_REPLIES && fake_script.replies[i].on; i++) {
        if (strcmp(fake_script.replies[i].on, on) == 0) {
            schedule(tb, &fake_script.replies[i], id);
            count++;
        }
    }
    return count;
}

static struct testbed *fake_create(const struct topology *topology,
                                   const struct testbed_options *options, char *detail)
{
    assert(topology->node_count > 0);
    if (fake_script.refuse) {
        snprintf(detail, TESTBED_DETAIL, "%s", fake_script.refuse);
        return NULL;
    }
    struct testbed *tb = calloc(1, sizeof *tb);
    assert(tb);
    fake_script.caps &= options->caps;
    fake_log.text[0] = '\0';
    tb->hash = options->seed + (fake_script.unstable ? ++fake_log.worlds : 0);
    react(tb, "create", "");
    return tb;
}

static void fake_destroy(struct testbed *tb)
{
    fake_log.destroyed++;
    free(tb);
}

static fabric_caps fake_caps(const struct testbed *tb)
{
    (void)tb;
    return fake_script.caps;
}

static uint64_t fake_now(const struct testbed *tb)
{
    return tb->now;
}

static void fake_trace(struct testbed *tb,
                       void (*sink)(void *context, const char *line, size_t length), void *context)
{
    tb->sink = sink;
    tb->context = context;
}

static uint64_t fake_trace_hash(const struct testbed *tb)
{
    return tb->hash;
}

static uint64_t fake_draws(const struct testbed *tb)
{
    return tb->count;
}

static enum testbed_result fake_place_file(struct testbed *tb, const char *node, const char *path,
                                           const void *data, size_t length, char *detail)
{
    (void)tb, (void)node, (void)data, (void)detail;
    fake_log.placed += length;
    snprintf(fake_log.placed_path, sizeof fake_log.placed_path, "%s", path);
    return TESTBED_DONE;
}

static enum testbed_result fake_node_start(struct testbed *tb, const char *node,
                                           const struct fabric_program *program, const char *config,
                                           char *detail)
{
    char line[128];
    const struct fake_reply ready = {
        "", 1000, TESTBED_EVENT_REPORT, node, "{\"event\":\"ready\"}", FABRIC_LOG_INFO, FABRIC_OK};
    (void)config, (void)detail;
    snprintf(line, sizeof line, "start %s %s", node, program->name);
    note(tb, line);
    snprintf(line, sizeof line, "start %s", node);
    if (react(tb, line, "") == 0 && !fake_script.silent_start)
        schedule(tb, &ready, "");
    return TESTBED_DONE;
}

static enum testbed_result fake_node_stop(struct testbed *tb, const char *node, char *detail)
{
    char line[128];
    (void)detail;
    snprintf(line, sizeof line, "stop %s", node);
    note(tb, line);
    react(tb, line, "");
    return TESTBED_DONE;
}

static enum testbed_result fake_tell(struct testbed *tb, const char *node, const char *json,
                                     char *detail)
{
    char op[64] = "", id[16] = "";
    (void)node, (void)detail;
    note(tb, json);
    const char *at = strstr(json, "\"op\":\"");
    if (at)
        snprintf(op, sizeof op, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
    at = strstr(json, "\"id\":");
    if (at)
        snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 5, ",}"), at + 5);
    react(tb, op, id);
    return TESTBED_DONE;
}

static enum testbed_result fake_ask(struct testbed *tb, const char *node, const char *query,
                                    char *answer)
{
    (void)node;
    note(tb, query);
    snprintf(answer, TESTBED_DETAIL, "%s", fake_script.answer ? fake_script.answer : "");
    return TESTBED_DONE;
}

static enum testbed_result fake_apply(struct testbed *tb, const struct testbed_fault *fault,
                                      char *detail)
{
    static const char *const words[] = {
#define NAME(upper, lower, cap) #lower,
        TESTBED_WORDS(NAME)
#undef NAME
    };
    char line[256];
    const char *problem = fake_script.wrong ? fake_script.wrong : fake_script.lacks;
    if (problem) {
        snprintf(detail, TESTBED_DETAIL, "%s", problem);
        return fake_script.wrong ? TESTBED_WRONG : TESTBED_LACKS;
    }
    snprintf(line, sizeof line, "%s node=%s sm=%s port=%u index=%u value=%" PRIu64 " on=%d",
             words[fault->word], fault->node ? fault->node : "", fault->sm ? fault->sm : "",
             fault->port, fault->index, fault->value, fault->on);
    note(tb, line);
    react(tb, words[fault->word], "");
    return TESTBED_DONE;
}

static enum testbed_result fake_undo(struct testbed *tb, char *detail)
{
    fake_log.undone++;
    if (fake_script.farewell)
        note(tb, fake_script.farewell);
    if (!fake_script.stuck)
        return TESTBED_DONE;
    snprintf(detail, TESTBED_DETAIL, "%s", fake_script.stuck);
    return TESTBED_FAILED;
}

static void fake_next(struct testbed *tb, uint64_t deadline, struct testbed_event *out)
{
    struct fake_due *first = NULL;
    for (size_t i = 0; i < tb->count; i++) {
        if (!tb->due[i].told && (!first || tb->due[i].event.time < first->event.time))
            first = &tb->due[i];
    }
    *out = (struct testbed_event){.type = first ? TESTBED_EVENT_DEADLINE : TESTBED_EVENT_IDLE};
    if (!first)
        return;
    if (first->event.time > deadline) {
        tb->now = out->time = deadline;
        return;
    }
    first->told = true;
    tb->now = first->event.time;
    *out = first->event;
    out->text = first->text;
    note(tb, first->text);
}

const struct testbed_ops fake_testbed_ops = {
    .name = "fake",
    .create = fake_create,
    .destroy = fake_destroy,
    .caps = fake_caps,
    .now = fake_now,
    .trace = fake_trace,
    .trace_hash = fake_trace_hash,
    .draws = fake_draws,
    .place_file = fake_place_file,
    .node_start = fake_node_start,
    .node_stop = fake_node_stop,
    .tell = fake_tell,
    .ask = fake_ask,
    .apply = fake_apply,
    .undo = fake_undo,
    .next = fake_next,
};
