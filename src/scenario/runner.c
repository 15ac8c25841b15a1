/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/runner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/files.h"
#include "src/scenario/runner_state.h"

struct scenario_failure *runner_fail(struct runner *r, struct yaml_mark mark)
{
    struct scenario_result *result = r->result;
    assert(r && r->tb);
    r->over = true;
    result->status = SCENARIO_FAILED;
    /* Later failures are dropped into the last one's place only when there is room. */
    size_t at = result->failure_count < SCENARIO_MAX_FAILURES ? result->failure_count++
                                                              : SCENARIO_MAX_FAILURES - 1;
    struct scenario_failure *failure = &result->failures[at];
    text_free(&failure->expected);
    text_free(&failure->found);
    text_free(&failure->nearest);
    failure->mark = mark;
    failure->time = r->ops->now(r->tb);
    return failure;
}

void runner_break(struct runner *r, enum scenario_status status, const char *format, ...)
{
    char reason[512];
    va_list arguments;
    assert(status != SCENARIO_PASSED);
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    r->over = true;
    r->result->status = status;
    text_free(&r->result->reason);
    text_add(&r->result->reason, "%s", reason);
}

bool runner_accept(struct runner *r, enum testbed_result result, const char *detail,
                   struct yaml_mark mark)
{
    assert(detail);
    if (result == TESTBED_DONE)
        return true;
    if (result == TESTBED_LACKS)
        runner_break(r, SCENARIO_SKIPPED, "fabric %s lacks the capability: %s", r->ops->name,
                     detail);
    else
        runner_break(r, SCENARIO_BROKEN, "%s:%u:%u: %s", r->scenario->file, mark.line, mark.column,
                     detail);
    return false;
}

struct runner_node *runner_node(struct runner *r, const char *name)
{
    assert(name);
    for (size_t i = 0; i < r->scenario->program_count; i++) {
        if (strcmp(r->nodes[i].name, name) == 0)
            return &r->nodes[i];
    }
    return NULL;
}

void runner_note(struct runner *r, const char *node, const char *format, ...)
{
    char line[512];
    va_list arguments;
    assert(r->tb && node);
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    struct history_entry entry = {
        .kind = HISTORY_ACTION, .time = r->ops->now(r->tb), .node = node, .text = line};
    history_add(&r->result->history, &entry);
}

void runner_expect_exit(struct runner_node *node, bool again)
{
    assert(node);
    node->ending += node->running;
    node->running = again;
}

static void take(struct runner *r, const struct testbed_event *event)
{
    static const enum history_kind kinds[] = {[TESTBED_EVENT_REPORT] = HISTORY_REPORT,
                                              [TESTBED_EVENT_LOG] = HISTORY_LOG,
                                              [TESTBED_EVENT_EXITED] = HISTORY_EXIT};
    assert(event->type <= TESTBED_EVENT_EXITED);
    struct history_entry entry = {.kind = kinds[event->type],
                                  .time = event->time,
                                  .node = event->node,
                                  .text = event->text,
                                  .level = event->level,
                                  .error = event->error};
    const struct history_entry *kept = history_add(&r->result->history, &entry);
    if (kept->kind == HISTORY_REPORT && !kept->report) {
        runner_break(r, SCENARIO_BROKEN, "node %s reported something that is no JSON: %.200s",
                     kept->node, kept->text);
        return;
    }
    runner_watch(r, kept);
    if (!r->over && kept->kind == HISTORY_REPORT)
        runner_take_report(r, kept);
    if (!r->over && kept->kind == HISTORY_EXIT)
        runner_take_exit(r, kept);
}

/* Nobody's answer will come: the scenario ends here, at the program that is named first. */
static void fail_hung(struct runner *r, const char *what)
{
    struct scenario_failure *failure = runner_fail(r, r->scenario->programs[0].mark);
    assert(what);
    text_add(&failure->expected, "time to pass");
    text_add(&failure->found, "hung: %s", what);
}

bool runner_pump(struct runner *r, uint64_t deadline)
{
    struct testbed_event event = {.type = TESTBED_EVENT_IDLE};
    assert(r->tb);
    if (r->over)
        return false;
    if (r->options->interrupted && r->options->interrupted(r->options->interrupt_context)) {
        runner_break(r, SCENARIO_INTERRUPTED, "interrupted");
        return false;
    }
    r->ops->next(r->tb, deadline, &event);
    if (event.type == TESTBED_EVENT_STOPPED) {
        runner_break(r, SCENARIO_INTERRUPTED, "interrupted");
        return false;
    }
    if (event.type == TESTBED_EVENT_HUNG) {
        fail_hung(r, event.text);
        return false;
    }
    r->idle = event.type == TESTBED_EVENT_IDLE;
    if (event.type == TESTBED_EVENT_DEADLINE || r->idle)
        return false;
    take(r, &event);
    return !r->over;
}

/* The tail ends where the run was decided: what is torn down afterwards explains nothing. */
static void keep_trace(void *context, const char *line, size_t length)
{
    struct runner *r = context;
    struct scenario_result *result = r->result;
    if (!r->over || PLANTED(scenario_tail_of_the_teardown)) {
        struct text *slot = &result->tail[result->tail_next];
        slot->length = 0;
        text_add_bytes(slot, line, length);
        result->tail_next = (result->tail_next + 1) % SCENARIO_TRACE_TAIL;
    }
    if (r->options->trace)
        r->options->trace(r->options->trace_context, line, length);
}

static const struct fabric_program *find_program(const struct scenario_options *options,
                                                 const char *name)
{
    assert(name);
    for (size_t i = 0; i < options->program_count; i++) {
        if (strcmp(options->programs[i]->name, name) == 0)
            return options->programs[i];
    }
    return NULL;
}

static bool has_capabilities(struct runner *r)
{
    fabric_caps missing = r->scenario->requires & ~r->ops->caps(r->tb);
    struct text names = {0};
    for (unsigned bit = 0; bit < FABRIC_CAP_COUNT; bit++) {
        if (missing >> bit & 1)
            text_add(&names, " %s", fabric_cap_name((enum fabric_cap_bit)bit));
    }
    if (missing)
        runner_break(r, SCENARIO_SKIPPED, "fabric %s lacks:%s", r->ops->name, text_data(&names));
    text_free(&names);
    if (missing && PLANTED(scenario_skipped_passes))
        r->result->status = SCENARIO_PASSED;
    return !missing;
}

static void place_files(struct runner *r)
{
    assert(!r->over);
    for (size_t i = 0; i < r->scenario->step_count && !r->over; i++) {
        const struct scenario_step *step = &r->scenario->steps[i];
        char detail[TESTBED_DETAIL] = "", path[FABRIC_PATH_MAX];
        struct text content = {0};
        if (step->action != SCENARIO_OPERATION || !step->operation.file)
            continue;
        if (!file_read_beside(r->scenario->file, step->operation.file, &content, detail)) {
            runner_break(r, SCENARIO_BROKEN, "%s:%u:%u: %s", r->scenario->file, step->mark.line,
                         step->mark.column, detail);
            return;
        }
        file_node_path(step->operation.file, path);
        runner_accept(r,
                      r->ops->place_file(r->tb, step->node, path, text_data(&content),
                                         content.length, detail),
                      detail, step->mark);
        text_free(&content);
    }
}

static void run_steps(struct runner *r)
{
    const struct scenario *s = r->scenario;
    assert(!r->over);
    for (size_t i = 0; i < s->program_count && !r->over; i++) {
        if (!s->programs[i].by_step)
            runner_start_program(r, &s->programs[i], NULL);
    }
    r->done = r->ops->now(r->tb);
    for (size_t i = 0; i < s->step_count && !r->over; i++)
        runner_step(r, &s->steps[i]);
    for (size_t i = 0; i < r->result->answer_count && !r->over; i++)
        runner_wait_answer(r, i);
    if (!r->over)
        runner_check_all(r);
}

void scenario_run(const struct scenario *scenario, const struct testbed_ops *ops,
                  const struct scenario_options *options, struct scenario_result *out)
{
    assert(scenario && ops && options && out);
    char detail[TESTBED_DETAIL] = "";
    bool broke = false;
    struct runner r = {.scenario = scenario, .ops = ops, .options = options, .result = out};
    *out = (struct scenario_result){.status = SCENARIO_PASSED,
                                    .seed = options->seed,
                                    .caps = options->caps,
                                    .real = ops->slack != NULL};
    const struct testbed_options made = {.seed = options->seed,
                                         .caps = options->caps,
                                         .inventory = options->inventory,
                                         .host = options->host,
                                         .interrupted = options->interrupted,
                                         .interrupt_context = options->interrupt_context,
                                         .broke = &broke};
    if (ops->slack && scenario->real > SCENARIO_REAL_LIMIT && !options->slow &&
        !PLANTED(scenario_slow_always)) {
        runner_break(&r, SCENARIO_SKIPPED,
                     "takes %" PRIu64 " s where time is real: only with --slow",
                     scenario->real / 1000000000);
        return;
    }
    r.tb = ops->create(scenario->topology, &made, detail);
    if (!r.tb && broke) {
        runner_break(&r, SCENARIO_BROKEN, "fabric %s: %s", ops->name, detail);
        return;
    }
    if (!r.tb) {
        runner_break(&r, SCENARIO_SKIPPED, "fabric %s cannot be this topology: %s", ops->name,
                     detail);
        return;
    }
    r.slack = ops->slack ? ops->slack(r.tb) : 0;
    ops->trace(r.tb, keep_trace, &r);
    r.nodes = calloc(scenario->program_count + 1, sizeof *r.nodes);
    /* One answer a step and one a program, so that positions never move. */
    out->answers = calloc(scenario->step_count + scenario->program_count, sizeof *out->answers);
    if (!r.nodes || !out->answers)
        abort();
    for (size_t i = 0; i < scenario->program_count; i++)
        r.nodes[i] =
            (struct runner_node){.name = scenario->programs[i].node,
                                 .program = find_program(options, scenario->programs[i].program),
                                 .start = SIZE_MAX};
    if (has_capabilities(&r))
        place_files(&r);
    if (!r.over)
        run_steps(&r);
    if (ops->undo(r.tb, detail) != TESTBED_DONE)
        runner_break(&r, SCENARIO_BROKEN, "what was done could not be taken back: %s", detail);
    out->time = ops->now(r.tb);
    out->trace_hash = ops->trace_hash(r.tb);
    out->draws = ops->draws(r.tb);
    ops->destroy(r.tb);
    free(r.nodes);
}

void scenario_result_free(struct scenario_result *result)
{
    assert(result);
    for (size_t i = 0; i < result->failure_count; i++) {
        text_free(&result->failures[i].expected);
        text_free(&result->failures[i].found);
        text_free(&result->failures[i].nearest);
    }
    for (size_t i = 0; i < SCENARIO_TRACE_TAIL; i++)
        text_free(&result->tail[i]);
    text_free(&result->reason);
    history_free(&result->history);
    free(result->answers);
    *result = (struct scenario_result){0};
}
