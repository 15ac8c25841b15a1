/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/testbed.h"

#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"
#include "src/fabric/planted.h"

static void destroy(struct testbed *tb)
{
    for (size_t i = 0; i < tb->node_count; i++)
        tb_release(&tb->nodes[i]);
    while (tb->undos) {
        struct tb_undo *undo = tb->undos;
        tb->undos = undo->next;
        free(undo);
    }
    for (size_t i = 0; i < tb->sm_count; i++) {
        if (tb->sms[i].sm)
            sm_destroy(tb->sms[i].sm);
    }
    sim_world_destroy(tb->world);
    for (size_t i = 0; i < tb->node_count; i++) {
        for (size_t j = 0; j < tb->nodes[i].port_count; j++)
            free(tb->nodes[i].ports[j].lost_gids);
        free(tb->nodes[i].ports);
        free(tb->nodes[i].config);
    }
    for (size_t i = 0; i < tb->network_count; i++)
        free(tb->networks[i].switches);
    while (tb->events) {
        struct tb_event *event = tb->events;
        tb->events = event->next;
        free(event);
    }
    free(tb->told);
    free(tb->networks);
    free(tb->sms);
    free(tb->nodes);
    free(tb);
}

struct testbed *sim_testbed_create(const struct topology *topology,
                                   const struct testbed_options *options,
                                   const struct sim_outside *outside, char *detail)
{
    assert(topology && options && detail);
    if (options->inventory || options->plan) {
        tb_say(detail, "the simulator has no machines: it takes no inventory and has no plan");
        return NULL;
    }
    struct testbed *tb = calloc(1, sizeof(*tb));
    assert(tb);
    tb->events_end = &tb->events;
    tb->interrupted = options->interrupted;
    tb->interrupt_context = options->interrupt_context;
    tb->world = sim_world_create(options->seed, options->caps);
    tb->sim = sim_world_sim(tb->world);
    tb->caps = sim_world_caps(tb->world);
    if (outside)
        sim_world_set_outside(tb->world, outside);
    if (tb_build(tb, topology, detail))
        return tb;
    destroy(tb);
    return NULL;
}

static struct testbed *create(const struct topology *topology,
                              const struct testbed_options *options, char *detail)
{
    return sim_testbed_create(topology, options, NULL, detail);
}

struct sim_world *sim_testbed_world(struct testbed *tb)
{
    return tb->world;
}

static fabric_caps caps(const struct testbed *tb)
{
    return tb->caps;
}

static uint64_t now(const struct testbed *tb)
{
    return sim_now(tb->sim);
}

static void trace(struct testbed *tb, void (*sink)(void *context, const char *line, size_t length),
                  void *context)
{
    sim_trace_start(tb->sim, sink, context);
}

static uint64_t trace_hash(const struct testbed *tb)
{
    return sim_trace_hash(tb->sim);
}

static uint64_t draws(const struct testbed *tb)
{
    return sim_draws(tb->sim);
}

static enum testbed_result place_file(struct testbed *tb, const char *name, const char *path,
                                      const void *data, size_t length, char *detail)
{
    struct tb_node *node = tb_node(tb, name, detail);
    if (!node)
        return TESTBED_WRONG;
    enum fabric_error error = disk_place(sim_host_disk(node->host), path, data, length);
    if (error)
        tb_say(detail, "'%.100s' on node '%s': %s", path, node->name, error_name(error));
    return error ? TESTBED_WRONG : TESTBED_DONE;
}

static enum testbed_result node_start(struct testbed *tb, const char *name,
                                      const struct fabric_program *program, const char *config,
                                      char *detail)
{
    struct tb_node *node = tb_node(tb, name, detail);
    return node ? tb_start(node, program, config, detail) : TESTBED_WRONG;
}

static enum testbed_result node_stop(struct testbed *tb, const char *name, char *detail)
{
    struct tb_node *node = tb_node(tb, name, detail);
    return node ? tb_stop(node, detail) : TESTBED_WRONG;
}

static enum testbed_result tell(struct testbed *tb, const char *name, const char *json,
                                char *detail)
{
    struct tb_node *node = tb_node(tb, name, detail);
    return node ? tb_command(node, json, detail) : TESTBED_WRONG;
}

static enum testbed_result ask(struct testbed *tb, const char *name, const char *query,
                               char *answer)
{
    struct tb_node *node = tb_node(tb, name, answer);
    return node && tb_ask(node, query, answer) ? TESTBED_DONE : TESTBED_WRONG;
}

static enum testbed_result undo(struct testbed *tb, char *detail)
{
    assert(tb && detail);
    tb_undo_all(tb);
    return TESTBED_DONE;
}

bool tb_count(struct testbed *tb, const struct tb_node *node)
{
    assert(tb);
    if (tb->instant != now(tb) || PLANTED(testbed_circle_unnoticed))
        tb->steps = 0;
    tb->instant = now(tb);
    if (++tb->steps < TB_INSTANT)
        return true;
    if (!tb->hung[0])
        tb_say(tb->hung, "%u events %s%s while no time passed", TB_INSTANT,
               node ? "of node " : "of the world", node ? node->name : "");
    return false;
}

/* Whether the world must not go on; then *out says why. */
static bool is_over(struct testbed *tb, struct testbed_event *out)
{
    *out = (struct testbed_event){.type = TESTBED_EVENT_HUNG, .time = now(tb), .text = tb->hung};
    if (tb->hung[0])
        return true;
    out->type = TESTBED_EVENT_STOPPED;
    return tb->interrupted && tb->turns++ % TB_ASKED == 0 && tb->interrupted(tb->interrupt_context);
}

static void next(struct testbed *tb, uint64_t deadline, struct testbed_event *out)
{
    assert(out);
    free(tb->told);
    tb->told = NULL;
    while (!tb->events) {
        if (is_over(tb, out))
            return;
        uint64_t due = sim_next_time(tb->sim);
        if (due > deadline) {
            if (deadline > sim_now(tb->sim))
                sim_run_until(tb->sim, deadline);
            *out = (struct testbed_event){.type = TESTBED_EVENT_DEADLINE, .time = now(tb)};
            return;
        }
        tb_count(tb, NULL);
        if (!sim_step(tb->sim)) {
            *out = (struct testbed_event){.type = TESTBED_EVENT_IDLE, .time = now(tb)};
            return;
        }
    }
    tb->told = tb->events;
    tb->events = tb->told->next;
    if (!tb->events)
        tb->events_end = &tb->events;
    *out = tb->told->event;
}

const struct testbed_ops sim_testbed = {
    .name = "sim",
    .create = create,
    .destroy = destroy,
    .caps = caps,
    .now = now,
    .trace = trace,
    .trace_hash = trace_hash,
    .draws = draws,
    .place_file = place_file,
    .node_start = node_start,
    .node_stop = node_stop,
    .tell = tell,
    .ask = ask,
    .apply = tb_apply,
    .undo = undo,
    .next = next,
};
