/* SPDX-License-Identifier: Apache-2.0 */
/* Programs on nodes: started, driven by their events, stopped, frozen, killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"
#include "src/fabric/layer_trace.h"
#include "src/fabric/planted.h"

#define EVENTS_AT_ONCE 16

void tb_tell(struct testbed *tb, enum testbed_event_type type, struct tb_node *node,
             const char *text, enum fabric_log_level level, enum fabric_error error)
{
    assert(node && text && type <= TESTBED_EVENT_EXITED);
    size_t length = strlen(text) + 1;
    struct tb_event *event = malloc(sizeof(*event) + length);
    assert(event);
    memcpy(event->text, text, length);
    event->next = NULL;
    event->event = (struct testbed_event){.type = type,
                                          .time = sim_now(tb->sim),
                                          .node = node->name,
                                          .text = event->text,
                                          .level = level,
                                          .error = error};
    *tb->events_end = event;
    tb->events_end = &event->next;
}

static void on_report(void *context, const char *json)
{
    struct tb_node *node = context;
    if (node->mute)
        return;
    SIM_TRACE(node->tb->sim, node->name, "report %s", json);
    tb_tell(node->tb, TESTBED_EVENT_REPORT, node, json, FABRIC_LOG_INFO, FABRIC_OK);
}

static void on_log(void *context, enum fabric_log_level level, const char *line)
{
    struct tb_node *node = context;
    if (!node->mute)
        tb_tell(node->tb, TESTBED_EVENT_LOG, node, line, level, FABRIC_OK);
}

/* Lines of the trace layer come with a time and a node of their own. */
static void on_trace(void *context, const char *text)
{
    struct tb_node *node = context;
    const char *what = strchr(text, ' ');
    what = what ? strchr(what + 1, ' ') : NULL;
    assert(what);
    SIM_TRACE(node->tb->sim, node->name, "%s", what + 1);
}

static void run(struct tb_node *node)
{
    struct fabric_event events[EVENTS_AT_ONCE];
    size_t count;
    assert(node->fabric && node->state);
    do {
        count = 0;
        (void)fabric_poll(node->fabric, events, EVENTS_AT_ONCE, 0, &count);
        for (size_t i = 0; i < count; i++)
            node->program->event(node->state, &events[i]);
    } while (count && tb_count(node->tb, node));
}

void tb_look(struct tb_node *node)
{
    if (!node->state) /* still starting */
        return;
    if (node->frozen && !PLANTED(testbed_freeze_ignored))
        node->waits = true;
    else
        run(node);
}

static void on_ready(void *context, struct fabric *f)
{
    (void)f;
    tb_look(context);
}

void tb_put_rules(struct tb_node *node)
{
    if (!node->faults)
        return;
    layer_fault_clear(node->faults);
    for (size_t i = 0; i < node->rule_count; i++)
        (void)layer_fault_add(node->faults, &node->rules[i]);
}

/* The program's fabric, under the layers that faults and the trace need. */
static bool make_fabric(struct tb_node *node)
{
    const struct sim_fabric_hooks hooks = {node, on_ready, on_log};
    const struct layer_trace_sink sink = {node, on_trace};
    node->base = sim_fabric_create(node->host, FABRIC_CAPS_ALL, &hooks);
    if (layer_fault_create(node->base, &node->faults) != FABRIC_OK)
        return false;
    node->fabric = node->faults;
    tb_put_rules(node);
    if (sim_trace_on(node->tb->sim) &&
        layer_trace_create(node->faults, node->name, &sink, &node->fabric) != FABRIC_OK)
        return false;
    return true;
}

static void drop_fabric(struct tb_node *node)
{
    assert(node->fabric && node->base);
    (void)fabric_destroy(node->fabric);
    node->fabric = node->faults = node->base = NULL;
    node->state = NULL;
    node->frozen = node->waits = false;
    while (node->commands) {
        struct tb_command *command = node->commands;
        node->commands = command->next;
        free(command);
    }
}

static void start(struct tb_node *node)
{
    void *state = NULL;
    assert(node->program && !node->fabric);
    bool made = make_fabric(node);
    assert(made);
    SIM_TRACE(node->tb->sim, node->name, "start %s", node->program->name);
    node->sink = (struct fabric_report_sink){node, on_report};
    enum fabric_error error =
        node->program->start(node->fabric, node->config, node->config_length, &node->sink, &state);
    if (error) {
        drop_fabric(node);
        tb_tell(node->tb, TESTBED_EVENT_EXITED, node, "did not start", FABRIC_LOG_ERROR, error);
        return;
    }
    assert(state);
    node->state = state;
    run(node);
}

enum testbed_result tb_start(struct tb_node *node, const struct fabric_program *program,
                             const char *config, char *detail)
{
    if (node->fabric || node->off) {
        tb_say(detail, "node '%s' %s", node->name,
               node->off ? "has no power" : "runs a program already");
        return TESTBED_WRONG;
    }
    size_t length = config ? strlen(config) : 0;
    char *copy = malloc(length + 1);
    assert(copy);
    memcpy(copy, config ? config : "", length + 1);
    free(node->config);
    node->config = copy;
    node->config_length = length;
    node->program = program;
    start(node);
    return TESTBED_DONE;
}

enum testbed_result tb_stop(struct tb_node *node, char *detail)
{
    if (!node->fabric) {
        tb_say(detail, "node '%s' runs no program", node->name);
        return TESTBED_WRONG;
    }
    SIM_TRACE(node->tb->sim, node->name, "stop");
    node->program->stop(node->state);
    drop_fabric(node);
    tb_tell(node->tb, TESTBED_EVENT_EXITED, node, "stopped", FABRIC_LOG_INFO, FABRIC_OK);
    return TESTBED_DONE;
}

enum testbed_result tb_command(struct tb_node *node, const char *json, char *detail)
{
    if (!node->fabric) {
        tb_say(detail, "node '%s' runs no program", node->name);
        return TESTBED_WRONG;
    }
    SIM_TRACE(node->tb->sim, node->name, "tell %s", json);
    if (!node->frozen) {
        node->program->command(node->state, json);
        return TESTBED_DONE;
    }
    size_t length = strlen(json) + 1;
    struct tb_command *command = malloc(sizeof(*command) + length), **place = &node->commands;
    assert(command);
    memcpy(command->json, json, length);
    command->next = NULL;
    while (*place)
        place = &(*place)->next;
    *place = command;
    return TESTBED_DONE;
}

void tb_freeze(struct tb_node *node, bool on)
{
    assert(node->fabric || !node->commands);
    node->frozen = on;
    while (!on && node->commands && node->fabric) {
        struct tb_command *command = node->commands;
        node->commands = command->next;
        node->program->command(node->state, command->json);
        free(command);
    }
    if (!on && node->waits && node->fabric)
        run(node);
    node->waits = node->waits && on;
}

/* The world forgets it first; then its memory is given back. */
void tb_release(struct tb_node *node)
{
    if (!node->fabric)
        return;
    node->mute = true;
    sim_fabric_kill(node->base);
    node->program->stop(node->state);
    drop_fabric(node);
    node->mute = false;
}

void tb_kill(struct tb_node *node)
{
    if (!node->fabric)
        return;
    SIM_TRACE(node->tb->sim, node->name, "killed");
    tb_release(node);
    tb_tell(node->tb, TESTBED_EVENT_EXITED, node, "killed", FABRIC_LOG_ERROR, ERR_CANCELLED);
}

bool tb_restart(struct tb_node *node, char *detail)
{
    if (!node->program || node->off) {
        tb_say(detail, "node '%s' %s", node->name,
               node->off ? "has no power" : "has never run a program");
        return false;
    }
    tb_kill(node);
    start(node);
    return true;
}
