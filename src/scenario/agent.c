/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/agent.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/error.h"
#include "src/fabric/planted.h"
#include "src/scenario/facts.h"
#include "src/scenario/text.h"
#include "src/scenario/undo.h"

#define LOOK_ANSWER (512u << 10)            /* bytes of what a look says, at most */
#define STOP_PATIENCE UINT64_C(20000000000) /* ns that a program has to end in order */

struct agent {
    const struct agent_init *init;
    const struct remote_host *host;
    char node[64], storage[UNDO_PATH];
    json_t *place;   /* as the node's process takes it */
    json_t *setup;   /* of the program that runs or ran; null: none ever did */
    json_t *rules;   /* of calls that fail */
    json_t *waiting; /* commands for the program that is about to start */
    struct undo undo;
    bool begun;
    int child;     /* number of the program's process; 0: none */
    bool said_end; /* it told its own end */
    bool killed;   /* by us */
    bool again;    /* its end is awaited, then `setup` is started */
};

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* ------------------------------------------------------------------ saying */

static void say(struct agent *agent, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    assert(text);
    (void)agent->host->say(agent->host->context, text); /* nobody there: standard input tells */
    free(text);
    json_decref(object);
}

static void say_log(struct agent *agent, const char *level, const char *text)
{
    say(agent,
        json_pack("{s:s, s:s, s:o}", "event", "log", "level", level, "text", text_string(text)));
}

static void say_exited(struct agent *agent, enum fabric_error error, int status)
{
    say(agent, json_pack("{s:s, s:s, s:i}", "event", "exited", "error", error_name(error), "status",
                         status));
}

static void answer(struct agent *agent, const json_t *asked, bool ok, const char *detail)
{
    say(agent, json_pack("{s:s, s:I, s:b, s:o}", "event", "answer", "id",
                         json_integer_value(json_object_get(asked, "id")), "ok", ok, "detail",
                         text_string(detail)));
}

/* ------------------------------------------------------------------ the program */

static bool send(struct agent *agent, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    bool sent = text && agent->child && agent->host->send(agent->host->context, agent->child, text);
    free(text);
    json_decref(object);
    return sent;
}

static void start(struct agent *agent)
{
    char detail[REMOTE_DETAIL] = "";
    assert(agent->setup && !agent->child);
    agent->said_end = agent->killed = agent->again = false;
    agent->child = agent->host->spawn(agent->host->context, agent->init->node, detail);
    json_object_set(agent->setup, "rules", agent->rules);
    if (!agent->child) {
        say_log(agent, "error", detail);
        say_exited(agent, ERR_INTERNAL, 127);
    }
    /* Of one that has gone already its end is told. */
    (void)send(agent, json_incref(agent->setup));
    for (size_t i = 0; i < json_array_size(agent->waiting); i++)
        (void)send(agent, json_incref(json_array_get(agent->waiting, i)));
    json_array_clear(agent->waiting);
}

/* What its end means: only what it said itself tells why. */
static void take_end(struct agent *agent, int status)
{
    if (!agent->said_end)
        say_exited(agent, agent->killed ? ERR_CANCELLED : ERR_INTERNAL, status);
    agent->host->end(agent->host->context, agent->child, 0);
    agent->child = 0;
    if (agent->again)
        start(agent);
}

static void take_word(struct agent *agent, const struct remote_input *input)
{
    json_t *object = json_loads(input->line, 0, NULL);
    if (input->type == REMOTE_COMPLAINED) {
        const char *level = member(object, "level"), *text = member(object, "message");
        char lower[8] = "error";
        for (size_t i = 0; i < sizeof lower - 1 && level[i]; i++) {
            lower[i] = (char)(level[i] | 0x20);
            lower[i + 1] = '\0';
        }
        say_log(agent, lower, object ? text : input->line);
    } else if (strcmp(member(object, "event"), "exited") == 0) {
        agent->said_end = true;
        json_object_set_new(object, "status", json_integer(0));
        say(agent, json_incref(object));
    } else {
        (void)agent->host->say(agent->host->context, input->line);
    }
    json_decref(object);
}

static void kill_program(struct agent *agent)
{
    if (!agent->child)
        return;
    agent->killed = true;
    agent->host->signal(agent->host->context, agent->child, REMOTE_KILL);
}

/* ------------------------------------------------------------------ what is asked of it */

static void begin(struct agent *agent, const json_t *asked)
{
    char path[UNDO_PATH], detail[REMOTE_DETAIL] = "";
    const struct remote_host *host = agent->host;
    const char *state = member(asked, "state");
    snprintf(agent->node, sizeof agent->node, "%.60s", member(asked, "node"));
    if (!host->folder(host->context, state))
        say_log(agent, "error",
                "the folder `state` must be one that only the agent's own user may write in: the "
                "journal in it is neither read nor written");
    snprintf(path, sizeof path, "%.150s/%.60s.undo", state, agent->node);
    undo_open(&agent->undo, host, path);
    agent->begun = true;
    if (undo_count(&agent->undo) > 0) {
        bool done = undo_all(&agent->undo, detail);
        say_log(agent, "warn", done ? "took back what an earlier run had left" : detail);
    }
    snprintf(agent->storage, sizeof agent->storage, "%.150s/%.60s.storage", state, agent->node);
    host->remove(host->context, agent->storage); /* of an agent that was killed */
    (void)host->folder(host->context, agent->storage);
    json_decref(agent->place);
    agent->place = json_deep_copy(json_object_get(asked, "place"));
    if (agent->place)
        json_object_set_new(agent->place, "storage", json_string(agent->storage));
}

static int digit(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

static void put_file(struct agent *agent, const json_t *asked)
{
    char path[2 * UNDO_PATH];
    const char *hex = member(asked, "data");
    size_t length = strlen(hex) / 2;
    unsigned char *data = malloc(length + 1);
    assert(data);
    for (size_t i = 0; i < length; i++)
        data[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    snprintf(path, sizeof path, "%s%.255s", agent->storage, member(asked, "path"));
    uint64_t offset = (uint64_t)json_integer_value(json_object_get(asked, "offset"));
    bool done = !strstr(path, "/../") &&
                agent->host->write(agent->host->context, path, data, length, offset);
    free(data);
    answer(agent, asked, done, done ? "" : "the file cannot be written");
}

static void start_asked(struct agent *agent, const json_t *asked)
{
    json_decref(agent->setup);
    agent->setup = json_pack("{s:s, s:s, s:O}", "program", member(asked, "program"), "config",
                             member(asked, "config"), "place", agent->place);
    agent->again = agent->child != 0;
    if (agent->setup && !agent->again)
        start(agent);
}

static void act(struct agent *agent, const json_t *asked)
{
    char detail[REMOTE_DETAIL] =
        "how to take it back cannot be written down: what `undo` reads, or the journal";
    bool done = undo_push(&agent->undo, json_object_get(asked, "undo")) &&
                undo_run_commands(agent->host, json_object_get(asked, "commands"), detail);
    answer(agent, asked, done, done ? "" : detail);
}

static void undo(struct agent *agent, const json_t *asked)
{
    char detail[REMOTE_DETAIL] = "";
    bool done = undo_all(&agent->undo, detail);
    answer(agent, asked, done, detail);
}

/* A shell's line that changes nothing; what it says first is the answer. */
static void look_at(struct agent *agent, const json_t *asked)
{
    const char *const words[] = {"sh", "-c", member(asked, "line"), NULL};
    char *said = malloc(LOOK_ANSWER);
    assert(said);
    int status = agent->host->run(agent->host->context, words, UNDO_PATIENCE, said, LOOK_ANSWER);
    bool whole = strlen(said) + 1 < LOOK_ANSWER;
    answer(agent, asked, status == 0 && whole, whole ? said : "more than can be looked through");
    free(said);
}

/* The names of the topology, over a fabric of the machine. */
static struct fabric *look(struct agent *agent)
{
    struct layer_place place = {.device_count = 0};
    struct fabric *bare = agent->init->look(agent->init->context), *placed;
    json_t *one;
    size_t i;
    json_array_foreach(json_object_get(agent->place, "devices"), i, one)
    {
        if (i >= LAYER_PLACE_DEVICES)
            break;
        struct layer_place_device *device = &place.devices[place.device_count++];
        snprintf(device->name, sizeof device->name, "%.63s", member(one, "name"));
        snprintf(device->real, sizeof device->real, "%.63s", member(one, "real"));
    }
    if (!bare || !layer_place_create(bare, &place, &placed))
        return bare ? placed : NULL;
    fabric_destroy(bare);
    return NULL;
}

static void ask(struct agent *agent, const json_t *asked)
{
    char detail[TESTBED_DETAIL] = "no fabric to look at";
    const char *query = member(asked, "query");
    if (strcmp(query, "running") == 0) {
        answer(agent, asked, true, agent->child ? "true" : "false");
        return;
    }
    struct fabric *f = look(agent);
    bool done = f && facts_answer(f, query, detail);
    if (f)
        fabric_destroy(f);
    answer(agent, asked, done, detail);
}

static void rule(struct agent *agent, const json_t *asked)
{
    json_t *one = json_object_get(asked, "rule");
    json_array_append(agent->rules, one);
    if (agent->child)
        (void)send(agent, json_pack("{s:O}", "rule", one));
}

static void clear(struct agent *agent, const json_t *asked)
{
    (void)asked;
    json_array_clear(agent->rules);
    if (agent->child)
        (void)send(agent, json_pack("{s:b}", "clear", true));
}

static void stop(struct agent *agent, const json_t *asked)
{
    (void)asked;
    (void)send(agent, json_pack("{s:b}", "stop", true));
}

static void kill_asked(struct agent *agent, const json_t *asked)
{
    (void)asked;
    kill_program(agent);
}

static void restart(struct agent *agent, const json_t *asked)
{
    (void)asked;
    kill_program(agent);
    agent->again = agent->child != 0;
    if (agent->setup && !agent->again)
        start(agent);
}

static void freeze(struct agent *agent, const json_t *asked)
{
    bool on = json_is_true(json_object_get(asked, "on"));
    if (agent->child)
        agent->host->signal(agent->host->context, agent->child, on ? REMOTE_FREEZE : REMOTE_THAW);
}

static void tell(struct agent *agent, const json_t *asked)
{
    json_t *message = json_pack("{s:O}", "tell", json_object_get(asked, "command"));
    if (agent->again) /* whoever comes is meant, not whoever goes */
        json_array_append_new(agent->waiting, message);
    else
        (void)send(agent, message);
}

static void do_asked(struct agent *agent, const char *line)
{
    static const struct {
        const char *name;
        void (*act)(struct agent *, const json_t *);
        bool first; /* allowed before `begin` */
    } words[] = {
        {"begin", begin, true},      {"file", put_file, false},   {"start", start_asked, false},
        {"stop", stop, false},       {"kill", kill_asked, false}, {"freeze", freeze, false},
        {"restart", restart, false}, {"tell", tell, false},       {"rule", rule, false},
        {"clear", clear, false},     {"act", act, false},         {"undo", undo, false},
        {"ask", ask, false},         {"look", look_at, false}};
    json_t *asked = json_loads(line, 0, NULL);
    const char *name = member(asked, "do");
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].name, name) != 0 || (!words[i].first && !agent->begun))
            continue;
        words[i].act(agent, asked);
        found = true;
    }
    if (!found)
        say_log(agent, "error", "the agent was told something that it does not know");
    json_decref(asked);
}

/* ------------------------------------------------------------------ its life */

static void hello(struct agent *agent)
{
    struct fabric *f = agent->init->look(agent->init->context);
    char caps[24];
    snprintf(caps, sizeof caps, "%" PRIx64, f ? facts_caps(f) : 0);
    if (f)
        fabric_destroy(f);
    say(agent, json_pack("{s:s, s:i, s:s}", "event", "hello", "version", 1, "caps", caps));
}

static int finish(struct agent *agent)
{
    char detail[REMOTE_DETAIL] = "";
    bool done = true;
    if (agent->child) {
        agent->host->signal(agent->host->context, agent->child, REMOTE_THAW);
        agent->host->end(agent->host->context, agent->child, STOP_PATIENCE);
    }
    if (agent->begun) {
        done = PLANTED(scenario_agent_leaves_all) || undo_all(&agent->undo, detail);
        undo_free(&agent->undo);
        agent->host->remove(agent->host->context, agent->storage);
    }
    json_decref(agent->place);
    json_decref(agent->setup);
    json_decref(agent->rules);
    json_decref(agent->waiting);
    return done ? 0 : 1;
}

int agent_main(const struct agent_init *init)
{
    assert(init && init->host && init->node && init->look);
    struct agent agent = {
        .init = init, .host = init->host, .rules = json_array(), .waiting = json_array()};
    struct remote_input input = {.type = REMOTE_DEADLINE};
    hello(&agent);
    while (input.type != REMOTE_PARENT_ENDED) {
        agent.host->wait(agent.host->context, FABRIC_FOREVER, &input);
        if (input.type == REMOTE_PARENT_SAID)
            do_asked(&agent, input.line);
        else if (input.type == REMOTE_ENDED)
            take_end(&agent, input.status);
        else if (input.type == REMOTE_SAID || input.type == REMOTE_COMPLAINED)
            take_word(&agent, &input);
    }
    return finish(&agent);
}
