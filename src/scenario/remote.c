/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/remote.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/remote_state.h"

#define INVENTORY_BYTES (1u << 20)
#define LOOK_PERIOD UINT64_C(100000000) /* ns: so soon at the latest an interrupt is seen */
#define FILE_PIECE (128u << 10)         /* bytes of a file in one line */

/* ------------------------------------------------------------------ events */

void remote_tell(struct testbed *tb, enum testbed_event_type type, const char *node,
                 const char *text, enum fabric_log_level level, enum fabric_error error, int status)
{
    size_t length = strlen(text) + 1;
    struct remote_told *told = calloc(1, sizeof *told + length);
    if (!told)
        abort();
    memcpy(told->text, text, length);
    told->event = (struct testbed_event){.type = type,
                                         .time = tb->host->now(tb->host->context) - tb->begin,
                                         .node = node,
                                         .text = told->text,
                                         .level = level,
                                         .error = error,
                                         .status = status};
    *tb->events_end = told;
    tb->events_end = &told->next;
}

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static enum fabric_log_level level_of(const char *name)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(names[i], name) == 0)
            return (enum fabric_log_level)i;
    }
    return FABRIC_LOG_ERROR;
}

static void take_exited(struct testbed *tb, struct remote_node *node, const json_t *said)
{
    enum fabric_error error = ERR_INTERNAL;
    (void)error_by_name(member(said, "error"), &error);
    node->running = false;
    remote_tell(tb, TESTBED_EVENT_EXITED, node->name, "", FABRIC_LOG_INFO, error,
                (int)json_integer_value(json_object_get(said, "status")));
}

static void take_line(struct testbed *tb, struct remote_node *node, const char *line)
{
    json_t *said = json_loads(line, 0, NULL);
    const char *event = member(said, "event");
    if (strcmp(event, "hello") == 0) {
        node->greeted = true;
        node->caps = strtoull(member(said, "caps"), NULL, 16);
    } else if (strcmp(event, "report") == 0) {
        remote_tell(tb, TESTBED_EVENT_REPORT, node->name, member(said, "text"), FABRIC_LOG_INFO,
                    FABRIC_OK, 0);
    } else if (strcmp(event, "log") == 0) {
        remote_tell(tb, TESTBED_EVENT_LOG, node->name, member(said, "text"),
                    level_of(member(said, "level")), FABRIC_OK, 0);
    } else if (strcmp(event, "exited") == 0) {
        take_exited(tb, node, said);
    } else if (strcmp(event, "answer") == 0) {
        if ((uint64_t)json_integer_value(json_object_get(said, "id")) == tb->asked) {
            tb->answered = true;
            tb->answer_ok = json_is_true(json_object_get(said, "ok"));
            free(tb->answer);
            tb->answer = strdup(member(said, "detail"));
            assert(tb->answer);
        }
    } else { /* a launcher's greeting, perhaps */
        remote_tell(tb, TESTBED_EVENT_LOG, node->name, line, FABRIC_LOG_DEBUG, FABRIC_OK, 0);
    }
    json_decref(said);
}

static void take_death(struct testbed *tb, struct remote_node *node, int status)
{
    char text[80];
    snprintf(text, sizeof text, "the agent of this node ended with %d", status);
    tb->host->end(tb->host->context, node->agent, 0);
    node->agent = 0;
    remote_tell(tb, TESTBED_EVENT_LOG, node->name, text, FABRIC_LOG_ERROR, FABRIC_OK, 0);
    if (node->running)
        remote_tell(tb, TESTBED_EVENT_EXITED, node->name, text, FABRIC_LOG_ERROR, ERR_INTERNAL,
                    status);
    node->running = false;
}

/* What the process that runs a simulated fabric has to say. */
static void take_simulated(struct testbed *tb, const struct remote_input *input)
{
    char text[80];
    if (input->type == REMOTE_ENDED) {
        snprintf(text, sizeof text, "the simulated fabric ended with %d", input->status);
        tb->host->end(tb->host->context, tb->simulated, 0);
        tb->simulated = 0;
        remote_tell(tb, TESTBED_EVENT_LOG, "", text, FABRIC_LOG_ERROR, FABRIC_OK, 0);
    } else if (input->line) {
        tb->simulated_up = tb->simulated_up || input->type == REMOTE_SAID;
        remote_tell(tb, TESTBED_EVENT_LOG, "", input->line, FABRIC_LOG_DEBUG, FABRIC_OK, 0);
    }
}

void remote_pump(struct testbed *tb, uint64_t deadline)
{
    struct remote_input input;
    struct remote_node *node = NULL;
    uint64_t look = tb->host->now(tb->host->context) + LOOK_PERIOD;
    tb->host->wait(tb->host->context, deadline < look ? deadline : look, &input);
    for (size_t i = 0; i < tb->node_count; i++) {
        if (tb->nodes[i].agent && tb->nodes[i].agent == input.child)
            node = &tb->nodes[i];
    }
    if (tb->simulated && tb->simulated == input.child)
        take_simulated(tb, &input);
    if (!node)
        return;
    if (input.type == REMOTE_SAID)
        take_line(tb, node, input.line);
    else if (input.type == REMOTE_COMPLAINED)
        remote_tell(tb, TESTBED_EVENT_LOG, node->name, input.line, FABRIC_LOG_DEBUG, FABRIC_OK, 0);
    else if (input.type == REMOTE_ENDED)
        take_death(tb, node, input.status);
}

/* ------------------------------------------------------------------ talking to agents */

struct remote_node *remote_node(struct testbed *tb, const char *name, char *detail)
{
    for (size_t i = 0; name && i < tb->node_count; i++) {
        if (strcmp(tb->nodes[i].name, name) == 0)
            return &tb->nodes[i];
    }
    snprintf(detail, TESTBED_DETAIL, "no node '%.60s'", name ? name : "");
    return NULL;
}

bool remote_send(struct testbed *tb, struct remote_node *node, json_t *message)
{
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    bool sent = text && node->agent && tb->host->send(tb->host->context, node->agent, text);
    free(text);
    json_decref(message);
    return sent;
}

static bool is_interrupted(const struct testbed *tb)
{
    return tb->interrupted && tb->interrupted(tb->interrupt_context);
}

enum testbed_result remote_ask(struct testbed *tb, struct remote_node *node, json_t *message,
                               char *detail)
{
    uint64_t deadline = tb->host->now(tb->host->context) + REMOTE_ANSWER;
    json_object_set_new(message, "id", json_integer((json_int_t)++tb->asked));
    tb->answered = false;
    if (!remote_send(tb, node, message)) {
        snprintf(detail, TESTBED_DETAIL, "the agent of %s is gone", node->name);
        return TESTBED_FAILED;
    }
    while (!tb->answered && node->agent && tb->host->now(tb->host->context) < deadline)
        remote_pump(tb, deadline);
    if (!tb->answered)
        snprintf(detail, TESTBED_DETAIL, "the agent of %s %s", node->name,
                 node->agent ? "did not answer" : "ended");
    else if (tb->answer[0] || tb->answer_ok)
        snprintf(detail, TESTBED_DETAIL, "%s", tb->answer);
    return tb->answered && tb->answer_ok ? TESTBED_DONE : TESTBED_FAILED;
}

/* ------------------------------------------------------------------ the members */

struct inventory *remote_inventory(const struct testbed_options *options, char *detail)
{
    struct yaml_errors errors;
    assert(detail);
    if (!options->inventory || !options->host) {
        snprintf(detail, TESTBED_DETAIL, "which machines? --inventory FILE says it");
        return NULL;
    }
    char *text = malloc(INVENTORY_BYTES);
    if (!text)
        abort();
    struct inventory *inventory = NULL;
    yaml_errors_init(&errors, options->inventory);
    if (!options->host->read(options->host->context, options->inventory, text, INVENTORY_BYTES))
        snprintf(detail, TESTBED_DETAIL, "%.200s cannot be read", options->inventory);
    else
        inventory = inventory_read(options->inventory, text, strlen(text), &errors);
    if (!inventory && errors.count > 0)
        snprintf(detail, TESTBED_DETAIL, "%.250s", errors.items[0].text);
    free(text);
    return inventory;
}

static void free_events(struct testbed *tb)
{
    while (tb->events) {
        struct remote_told *told = tb->events;
        tb->events = told->next;
        free(told);
    }
    free(tb->told);
    tb->told = NULL;
    tb->events_end = &tb->events;
}

void remote_leave(struct testbed *tb)
{
    assert(tb);
    for (size_t i = 0; i < tb->node_count; i++) {
        if (tb->nodes[i].agent) /* all at once */
            tb->host->hang_up(tb->host->context, tb->nodes[i].agent);
    }
    for (size_t i = 0; i < tb->node_count; i++) {
        if (tb->nodes[i].agent)
            tb->host->end(tb->host->context, tb->nodes[i].agent, REMOTE_PARTING);
    }
    if (tb->simulated)
        tb->host->end(tb->host->context, tb->simulated, REMOTE_PARTING);
    if (tb->inventory->simfabric) /* all in it was ours */
        tb->host->remove(tb->host->context, tb->inventory->state);
    free_events(tb);
    free(tb->answer);
    if (tb->undo.lines)
        undo_free(&tb->undo);
    arena_free(&tb->arena);
    inventory_free(tb->inventory);
    free(tb);
}

/* Whoever runs a scenario has undone before and knows what that came to. */
static void destroy(struct testbed *tb)
{
    char detail[TESTBED_DETAIL] = "";
    (void)remote_take_back(tb, detail);
    remote_leave(tb);
}

void remote_journal(const struct inventory *inventory, char path[UNDO_PATH])
{
    int length = snprintf(path, UNDO_PATH, "%s/runner.undo", inventory->state);
    assert(length > 0 && length < UNDO_PATH);
}

struct testbed *remote_blank(const char *fabric, struct inventory *inventory,
                             const struct testbed_options *options)
{
    char path[UNDO_PATH];
    struct testbed *tb = calloc(1, sizeof *tb);
    assert(fabric && inventory && options && options->host);
    if (!tb)
        abort();
    tb->fabric = fabric;
    tb->host = options->host;
    tb->inventory = inventory;
    tb->plan = options->plan;
    tb->events_end = &tb->events;
    tb->interrupted = options->interrupted;
    tb->interrupt_context = options->interrupt_context;
    tb->begin = tb->host->now(tb->host->context);
    tb->caps = FABRIC_CAP_RC | FABRIC_CAP_TCP; /* of a plan */
    remote_journal(inventory, path);
    undo_open(&tb->undo, tb->host, path);
    return tb;
}

static struct testbed *create(const char *fabric, const struct topology *topology,
                              const struct testbed_options *options, char *detail)
{
    struct inventory *inventory = remote_inventory(options, detail);
    bool ignored, *broke = options->broke ? options->broke : &ignored;
    assert(topology && detail);
    *broke = true;
    if (!inventory)
        return NULL;
    struct testbed *tb = remote_blank(fabric, inventory, options);
    if (!remote_fit(tb, topology, detail)) { /* nobody was called, nothing was done */
        *broke = false;
        remote_leave(tb);
        return NULL;
    }
    bool made = tb->plan || remote_begin(tb, detail);
    tb->caps |= actuator_caps(inventory) | FABRIC_CAP_PROCESS_KILL | FABRIC_CAP_VERB_FAULT;
    tb->caps &= options->caps & ~FABRIC_CAP_HTTP; /* the agent speaks none */
    if (made && remote_set_up(tb, topology, detail)) {
        tb->begin = tb->host->now(tb->host->context); /* the world's time 0 */
        return tb;
    }
    *broke = !PLANTED(scenario_broken_is_skipped) && (!made || tb->broke);
    destroy(tb);
    return NULL;
}

static struct testbed *create_soft_roce(const struct topology *topology,
                                        const struct testbed_options *options, char *detail)
{
    return create("soft-roce", topology, options, detail);
}

static struct testbed *create_lab(const struct topology *topology,
                                  const struct testbed_options *options, char *detail)
{
    return create("lab", topology, options, detail);
}

static fabric_caps caps(const struct testbed *tb)
{
    return tb->caps;
}

static uint64_t now(const struct testbed *tb)
{
    return tb->host->now(tb->host->context) - tb->begin;
}

static uint64_t slack(const struct testbed *tb)
{
    return tb->inventory->slack;
}

/* Nothing of a machine is traced: its log is its story. */
static void trace(struct testbed *tb, void (*sink)(void *context, const char *line, size_t length),
                  void *context)
{
    assert(tb && sink);
    (void)context;
}

static uint64_t nothing(const struct testbed *tb)
{
    (void)tb;
    return 0;
}

static enum testbed_result place_file(struct testbed *tb, const char *name, const char *path,
                                      const void *data, size_t length, char *detail)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    struct remote_node *node = remote_node(tb, name, detail);
    enum testbed_result result = node ? TESTBED_DONE : TESTBED_WRONG;
    char *hex = malloc(2 * FILE_PIECE + 1);
    size_t offset = 0;
    if (!hex)
        abort();
    do { /* an empty file is a piece too */
        size_t piece = length - offset < FILE_PIECE ? length - offset : FILE_PIECE;
        for (size_t i = 0; i < piece; i++) {
            hex[2 * i] = digits[bytes[offset + i] >> 4];
            hex[2 * i + 1] = digits[bytes[offset + i] & 15];
        }
        hex[2 * piece] = '\0';
        if (result == TESTBED_DONE && !tb->plan)
            result = remote_ask(tb, node,
                                json_pack("{s:s, s:s, s:I, s:s}", "do", "file", "path", path,
                                          "offset", (json_int_t)offset, "data", hex),
                                detail);
        offset += piece;
    } while (offset < length && result == TESTBED_DONE);
    free(hex);
    return result;
}

static enum testbed_result told(struct remote_node *node, bool sent, char *detail)
{
    if (!sent)
        snprintf(detail, TESTBED_DETAIL, "the agent of %s is gone", node->name);
    return sent ? TESTBED_DONE : TESTBED_FAILED;
}

static enum testbed_result node_start(struct testbed *tb, const char *name,
                                      const struct fabric_program *program, const char *config,
                                      char *detail)
{
    struct remote_node *node = remote_node(tb, name, detail);
    if (!node)
        return TESTBED_WRONG;
    node->running = true;
    return told(node,
                remote_send(tb, node,
                            json_pack("{s:s, s:s, s:s}", "do", "start", "program", program->name,
                                      "config", config ? config : "")),
                detail);
}

static enum testbed_result node_stop(struct testbed *tb, const char *name, char *detail)
{
    struct remote_node *node = remote_node(tb, name, detail);
    if (!node)
        return TESTBED_WRONG;
    return told(node, remote_send(tb, node, json_pack("{s:s}", "do", "stop")), detail);
}

static enum testbed_result tell(struct testbed *tb, const char *name, const char *json,
                                char *detail)
{
    struct remote_node *node = remote_node(tb, name, detail);
    json_t *command = json_loads(json, 0, NULL);
    enum testbed_result result = node && command ? TESTBED_DONE : TESTBED_WRONG;
    if (result == TESTBED_DONE)
        result = told(
            node, remote_send(tb, node, json_pack("{s:s, s:O}", "do", "tell", "command", command)),
            detail);
    json_decref(command);
    return result;
}

static enum testbed_result ask(struct testbed *tb, const char *name, const char *query,
                               char *answer)
{
    struct remote_node *node = remote_node(tb, name, answer);
    if (!node)
        return TESTBED_WRONG;
    if (strcmp(query, "address") == 0) {
        snprintf(answer, TESTBED_DETAIL, "%s", node->address ? node->address : node->at->address);
        return TESTBED_DONE;
    }
    if (strncmp(query, "http ", 5) == 0) {
        snprintf(answer, TESTBED_DETAIL, "http");
        return TESTBED_LACKS;
    }
    return remote_ask(tb, node, json_pack("{s:s, s:s}", "do", "ask", "query", query), answer);
}

static void next(struct testbed *tb, uint64_t deadline, struct testbed_event *out)
{
    uint64_t until = deadline > UINT64_MAX - tb->begin ? UINT64_MAX : deadline + tb->begin;
    free(tb->told);
    tb->told = NULL;
    while (!tb->events) {
        *out = (struct testbed_event){.type = TESTBED_EVENT_STOPPED, .time = now(tb)};
        if (is_interrupted(tb))
            return;
        out->type = TESTBED_EVENT_DEADLINE;
        if (tb->plan || now(tb) >= deadline)
            return;
        remote_pump(tb, until);
    }
    tb->told = tb->events;
    tb->events = tb->told->next;
    if (!tb->events)
        tb->events_end = &tb->events;
    *out = tb->told->event;
}

/* ------------------------------------------------------------------ before a run, after a kill */

static bool take_lock(const struct inventory *inventory, const struct remote_host *host,
                      char *detail)
{
    char path[UNDO_PATH];
    if (!host->folder(host->context, inventory->state)) {
        snprintf(detail, TESTBED_DETAIL,
                 "state: %.120s must be a folder that only the user of this run may write in",
                 inventory->state);
        return false;
    }
    snprintf(path, sizeof path, "%.200s/lock", inventory->state);
    if (PLANTED(scenario_two_runs_at_once) || host->lock(host->context, path))
        return true;
    snprintf(detail, TESTBED_DETAIL, "another run holds %.200s", path);
    return false;
}

/* Agents look at theirs when they begin. */
static bool take_back_earlier(const struct inventory *inventory, const struct remote_host *host,
                              char *detail)
{
    char path[UNDO_PATH];
    struct undo undo;
    remote_journal(inventory, path);
    undo_open(&undo, host, path);
    bool done = PLANTED(scenario_runner_forgets) || undo_all(&undo, detail);
    undo_free(&undo);
    return done;
}

static bool open_run(const struct testbed_options *options, char *detail)
{
    struct inventory *inventory = remote_inventory(options, detail);
    bool fine = inventory != NULL;
    if (fine && !inventory->exclusive && !PLANTED(scenario_shared_machines)) {
        snprintf(detail, TESTBED_DETAIL,
                 "%.120s does not say `exclusive: true`: machines that others use are left alone",
                 options->inventory);
        fine = false;
    }
    if (fine && !options->plan)
        fine = take_lock(inventory, options->host, detail) &&
               take_back_earlier(inventory, options->host, detail) &&
               remote_known(options, inventory, detail);
    inventory_free(inventory);
    return fine;
}

bool remote_undo(const struct testbed_options *options, char *detail)
{
    struct inventory *inventory = remote_inventory(options, detail);
    bool free = inventory && take_lock(inventory, options->host, detail);
    inventory_free(inventory);
    return free && remote_undo_all(options, detail);
}

#define OPS(label, begin, make)                                                                    \
    {                                                                                              \
        .name = label, .open = begin, .create = make, .destroy = destroy, .caps = caps,            \
        .now = now, .slack = slack, .trace = trace, .trace_hash = nothing, .draws = nothing,       \
        .place_file = place_file, .node_start = node_start, .node_stop = node_stop, .tell = tell,  \
        .ask = ask, .apply = remote_apply, .undo = remote_take_back, .next = next                  \
    }

const struct testbed_ops soft_roce_testbed = OPS("soft-roce", open_run, create_soft_roce);
const struct testbed_ops lab_testbed = OPS("lab", open_run, create_lab);
/* Every world is its own: nothing to open, and several can be at a time. */
const struct testbed_ops emulated_testbed = OPS("emulated", NULL, emulated_create);
