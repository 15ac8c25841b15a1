/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/files.h"
#include "src/scenario/runner_state.h"

/* Lets the world go on until `time`, or until nothing can happen any more. */
static void run_until(struct runner *r, uint64_t time)
{
    assert(r->tb);
    while (!r->over && r->ops->now(r->tb) < time && (runner_pump(r, time) || !r->idle))
        ;
}

static void wait_for(struct runner *r, const struct scenario_step *step)
{
    struct history *history = &r->result->history;
    uint64_t deadline = r->ops->now(r->tb) + step->limit + r->slack;
    size_t from = PLANTED(scenario_when_sees_the_past) ? 0 : r->since;
    assert(step->trigger == SCENARIO_WHEN);
    while (history_find(history, from, &step->when) == SIZE_MAX) {
        if (runner_pump(r, deadline))
            continue;
        if (r->over || history_find(history, from, &step->when) != SIZE_MAX)
            return;
        if (PLANTED(scenario_when_gives_up))
            return;
        struct scenario_failure *failure = runner_fail(r, step->when.mark);
        history_describe(&step->when, &failure->expected);
        text_add(&failure->expected, " within ");
        text_add_time(&failure->expected, step->limit);
        text_add(&failure->found, r->idle ? "nothing can happen any more" : "none in that time");
        history_nearest(history, &step->when, &failure->nearest);
        return;
    }
}

static void wait_trigger(struct runner *r, const struct scenario_step *step)
{
    switch (step->trigger) {
    case SCENARIO_NEXT:
        return;
    case SCENARIO_AT:
        run_until(r, step->time);
        return;
    case SCENARIO_AFTER:
        run_until(r, r->done + step->time);
        return;
    case SCENARIO_WHEN:
        wait_for(r, step);
        return;
    }
    assert(0 && "a trigger of none of these kinds");
}

void runner_start_program(struct runner *r, const struct scenario_program *program,
                          const struct scenario_step *step)
{
    char detail[TESTBED_DETAIL] = "";
    struct runner_node *node = runner_node(r, program->node);
    const char *config = step && step->config ? step->config : program->config;
    struct yaml_mark mark = step ? step->mark : program->mark;
    assert(node);
    if (!node->program) {
        runner_break(r, SCENARIO_BROKEN, "there is no program '%s'", program->program);
        return;
    }
    runner_note(r, program->node, "start %s", program->program);
    node->running = true;
    node->start = runner_open_answer(r, step);
    size_t position = node->start;
    if (runner_accept(r, r->ops->node_start(r->tb, program->node, node->program, config, detail),
                      detail, mark))
        runner_wait_answer(r, position);
}

static void start(struct runner *r, const struct scenario_step *step)
{
    const struct scenario *s = r->scenario;
    for (size_t i = 0; i < s->program_count; i++) {
        if (strcmp(s->programs[i].node, step->node) == 0)
            runner_start_program(r, &s->programs[i], step);
    }
}

static void stop(struct runner *r, const struct scenario_step *step)
{
    char detail[TESTBED_DETAIL] = "";
    struct runner_node *node = runner_node(r, step->node);
    assert(node);
    runner_expect_exit(node, false);
    runner_note(r, step->node, "stop");
    if (!runner_accept(r, r->ops->node_stop(r->tb, step->node, detail), detail, step->mark) ||
        PLANTED(scenario_stop_not_awaited))
        return;
    uint64_t deadline = r->ops->now(r->tb) + SCENARIO_PATIENCE;
    while (node->ending && runner_pump(r, deadline))
        ;
    if (!node->ending || r->over)
        return;
    struct scenario_failure *failure = runner_fail(r, step->mark);
    text_add(&failure->expected, "the program of %s to end", step->node);
    text_add(&failure->found, "it still ran after ");
    text_add_time(&failure->found, SCENARIO_PATIENCE);
}

/* A parameter of a fault as it was written, for the story. */
static void add_parameter(const struct testbed_fault *f, const struct word_field *field,
                          struct text *out)
{
    const char *const names[] = {
        [WORD_DEVICE] = f->device, [WORD_PEER] = f->peer, [WORD_TEXT] = f->text};
    assert(field->name);
    switch (field->slot) {
    case WORD_DEVICE:
    case WORD_PEER:
    case WORD_TEXT:
        if (names[field->slot])
            text_add(out, " %s=%s", field->name, names[field->slot]);
        return;
    case WORD_PORT:
        if (f->port)
            text_add(out, " %s=%u", field->name, (unsigned)f->port);
        return;
    case WORD_INDEX:
        text_add(out, " %s=%" PRIu32, field->name, f->index);
        return;
    case WORD_VALUE:
        text_add(out, field->max == 0 ? " %s=0x%" PRIx64 : " %s=%" PRIu64, field->name, f->value);
        return;
    case WORD_ON:
        text_add(out, " %s=%s", field->name, f->on ? "true" : "false");
        return;
    case WORD_DURATION:
    case WORD_JITTER:
        text_add(out, " %s=", field->name);
        text_add_time(out, field->slot == WORD_DURATION ? f->duration : f->jitter);
        return;
    case WORD_ERROR:
        text_add(out, " %s=%s", field->name, error_name(f->error));
        return;
    default: /* the place stands in front of the line; a GID speaks for itself in the trace */
        return;
    }
}

static void note_fault(struct runner *r, const struct scenario_step *step, const char *where)
{
    const struct fault_word *word = &fault_words[step->fault.word];
    struct text line = {0};
    assert(word->word == step->fault.word);
    text_add(&line, "%s", step->word);
    for (size_t i = 0; i < WORD_MAX_FIELDS && word->fields[i].name; i++)
        add_parameter(&step->fault, &word->fields[i], &line);
    runner_note(r, where, "%s", text_data(&line));
    text_free(&line);
}

static void fault(struct runner *r, const struct scenario_step *step)
{
    char detail[TESTBED_DETAIL] = "";
    const struct testbed_fault *f = &step->fault;
    const char *where = f->node ? f->node : f->sm ? f->sm : f->network ? f->network : "";
    struct runner_node *node = f->node ? runner_node(r, f->node) : NULL;
    assert(step->action == SCENARIO_FAULT);
    if (node && (f->word == TESTBED_PROCESS_KILL || f->word == TESTBED_PROCESS_RESTART ||
                 f->word == TESTBED_POWER_LOSS))
        runner_expect_exit(node, f->word == TESTBED_PROCESS_RESTART);
    note_fault(r, step, where);
    runner_accept(r, r->ops->apply(r->tb, f, detail), detail, step->mark);
}

static char *command_text(const struct scenario_operation *operation, size_t id)
{
    char path[FABRIC_PATH_MAX];
    unsigned given = operation->word->required | operation->word->allowed;
    json_t *command = json_object();
    assert(operation->word && id >= 1);
    json_object_set_new(command, "id", json_integer((json_int_t)id));
    json_object_set_new(command, "op", json_string(operation->word->name));
    if (given & OPERATION_KEY)
        json_object_set_new(command, "key", json_string(operation->key));
    if (operation->file)
        file_node_path(operation->file, path);
    if (operation->file || operation->path)
        json_object_set_new(command, "path", json_string(operation->file ? path : operation->path));
    if (given & OPERATION_BLOCK_SIZE)
        json_object_set_new(command, "block_size", json_integer((json_int_t)operation->block_size));
    if (given & OPERATION_SIZE)
        json_object_set_new(command, "size", json_integer((json_int_t)operation->size));
    if (operation->has_seed)
        json_object_set_new(command, "seed", json_integer((json_int_t)operation->seed));
    if (operation->has_or_seed)
        json_object_set_new(command, "or_seed", json_integer((json_int_t)operation->or_seed));
    if (operation->count)
        json_object_set_new(command, "count", json_integer((json_int_t)operation->count));
    if (operation->name_space)
        json_object_set_new(command, "namespace", json_string(operation->name_space));
    if (operation->auth_key)
        json_object_set_new(command, "auth_key", json_string(operation->auth_key));
    if (operation->timeout)
        json_object_set_new(command, "timeout_ms",
                            json_integer((json_int_t)(operation->timeout / 1000000)));
    char *text = json_dumps(command, JSON_COMPACT);
    json_decref(command);
    if (!text)
        abort();
    return text;
}

static void operate(struct runner *r, const struct scenario_step *step)
{
    char detail[TESTBED_DETAIL] = "";
    const struct scenario_operation *operation = &step->operation;
    const char *subject = operation->file ? operation->file : operation->key;
    size_t position = runner_open_answer(r, step);
    char *command = command_text(operation, position + 1);
    assert(step->action == SCENARIO_OPERATION);
    runner_note(r, step->node, "%s%s%s", step->word, subject ? " " : "", subject ? subject : "");
    bool told =
        runner_accept(r, r->ops->tell(r->tb, step->node, command, detail), detail, step->mark);
    free(command);
    if (told && !step->background)
        runner_wait_answer(r, position);
}

static void ask(struct runner *r, const struct scenario_step *step)
{
    char answer[TESTBED_DETAIL] = "";
    size_t position = runner_open_answer(r, step);
    struct scenario_answer *open = &r->result->answers[position];
    enum testbed_result result = r->ops->ask(r->tb, step->node, step->query, answer);
    assert(step->query);
    if (!runner_accept(r, result, answer, step->mark))
        return;
    open->answered = open->ok = true;
    open->end = r->ops->now(r->tb);
    json_t *report = json_pack("{s:s}", "answer", answer);
    if (!report)
        abort();
    runner_note(r, step->node, "ask %s: %s", step->query, answer);
    runner_judge(r, position, report);
    json_decref(report);
}

static bool disturbs(const struct history_entry *entry, const struct scenario_step *step)
{
    assert(entry && step);
    if (step->quiet_on && strcmp(step->quiet_on, entry->node) != 0)
        return false;
    if (entry->kind == HISTORY_LOG)
        return entry->level != FABRIC_LOG_DEBUG;
    return entry->kind != HISTORY_ACTION;
}

static void expect_nothing(struct runner *r, const struct scenario_step *step)
{
    struct history *history = &r->result->history;
    uint64_t end = r->ops->now(r->tb) + step->quiet;
    size_t seen = history->count;
    assert(step->quiet > 0);
    while (!r->over && r->ops->now(r->tb) < end && (runner_pump(r, end) || !r->idle)) {
        for (; seen < history->count && !r->over; seen++) {
            if (!disturbs(&history->entries[seen], step) || PLANTED(scenario_noise_is_nothing))
                continue;
            struct scenario_failure *failure = runner_fail(r, step->mark);
            text_add(&failure->expected, "nothing for ");
            text_add_time(&failure->expected, step->quiet);
            history_line(&history->entries[seen], &failure->found);
        }
    }
}

void runner_step(struct runner *r, const struct scenario_step *step)
{
    static void (*const actions[])(struct runner *, const struct scenario_step *) = {
        [SCENARIO_START] = start,       [SCENARIO_STOP] = stop, [SCENARIO_FAULT] = fault,
        [SCENARIO_OPERATION] = operate, [SCENARIO_ASK] = ask,   [SCENARIO_NOTHING] = expect_nothing,
    };
    assert(r && step);
    wait_trigger(r, step);
    if (r->over)
        return;
    if (step->action != SCENARIO_NONE) {
        r->since = r->result->history.count;
        actions[step->action](r, step);
    }
    r->done = r->ops->now(r->tb);
}
