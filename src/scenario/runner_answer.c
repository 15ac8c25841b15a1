/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/files.h"
#include "src/scenario/runner_state.h"

size_t runner_open_answer(struct runner *r, const struct scenario_step *step)
{
    struct scenario_result *result = r->result;
    assert(result->answer_count < r->scenario->step_count + r->scenario->program_count);
    result->answers[result->answer_count] = (struct scenario_answer){.step = step,
                                                                     .begin = r->ops->now(r->tb),
                                                                     .class = "",
                                                                     .error = "ok",
                                                                     .transport = "",
                                                                     .detail = ""};
    return result->answer_count++;
}

static const char *member(const json_t *report, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(report, name));
    return text ? text : otherwise;
}

static void fill(struct scenario_answer *answer, const json_t *report, uint64_t time)
{
    assert(report && !answer->answered);
    answer->answered = true;
    answer->end = time;
    answer->ok = json_is_true(json_object_get(report, "ok"));
    answer->class = member(report, "class", "");
    answer->error = member(report, "error", answer->ok ? "ok" : "internal");
    answer->transport = member(report, "transport", "");
    answer->detail = member(report, "detail", "");
    answer->bytes = (uint64_t)json_integer_value(json_object_get(report, "bytes"));
    answer->offset = (uint64_t)json_integer_value(json_object_get(report, "offset"));
}

/* The answer in words, for the line "found". */
static void describe(const struct scenario_answer *answer, struct text *out)
{
    const struct scenario_step *step = answer->step;
    assert(answer->step && out);
    text_add(out, "%s on %s: ", step->word, step->node);
    if (!answer->answered) {
        text_add(out, "no answer (hung) after ");
    } else {
        text_add(out, "%s%s%s", answer->class, *answer->class ? ", " : "",
                 answer->ok ? "ok" : answer->error);
        text_add(out, "%s%s after ", *answer->transport ? " over " : "", answer->transport);
    }
    text_add_time(out, answer->end - answer->begin);
    if (*answer->detail)
        text_add(out, " (%s)", answer->detail);
    if (strcmp(answer->class, "corrupted") == 0)
        text_add(out, " (byte %" PRIu64 " is the first that differs)", answer->offset);
}

/* The last thing that a node logged as an error usually says why its program ended. */
static void add_last_error(const struct runner *r, const char *node, struct text *out)
{
    const struct history *history = &r->result->history;
    assert(node && out);
    for (size_t i = history->count; i-- > 0;) {
        const struct history_entry *entry = &history->entries[i];
        if (entry->kind == HISTORY_LOG && entry->level == FABRIC_LOG_ERROR &&
            strcmp(entry->node, node) == 0) {
            history_line(entry, out);
            return;
        }
    }
}

static void disappoint(struct runner *r, struct yaml_mark mark,
                       const struct scenario_answer *answer, const char *what, const char *wanted)
{
    struct scenario_failure *failure = runner_fail(r, mark);
    assert(what && wanted);
    text_add(&failure->expected, "%s %s", what, wanted);
    describe(answer, &failure->found);
    if (answer->step->action == SCENARIO_START && !answer->ok)
        add_last_error(r, answer->step->node, &failure->nearest);
}

static void judge_time(struct runner *r, const struct scenario_answer *answer)
{
    const struct scenario_expect *expect = &answer->step->expect;
    uint64_t took = answer->end - answer->begin;
    struct text bound = {0};
    assert(answer->end >= answer->begin);
    if (expect->within && took > expect->within + r->slack && !PLANTED(scenario_within_unchecked)) {
        text_add_time(&bound, expect->within);
        disappoint(r, expect->within_mark, answer, "an answer within", text_data(&bound));
    } else if (took < expect->no_sooner && !PLANTED(scenario_no_sooner_unchecked)) {
        text_add_time(&bound, expect->no_sooner);
        disappoint(r, expect->no_sooner_mark, answer, "an answer no sooner than",
                   text_data(&bound));
    }
    text_free(&bound);
}

static void judge_fields(struct runner *r, const struct scenario_answer *answer,
                         const json_t *report)
{
    const struct scenario_expect *expect = &answer->step->expect;
    assert(answer->answered);
    for (size_t i = 0; i < expect->field_count && !r->over; i++) {
        const struct scenario_field *field = &expect->fields[i];
        struct text found = {0};
        bool there = history_field(report, field->path, &found);
        if ((!there || !scenario_value_fits(field->value, text_data(&found))) &&
            !PLANTED(scenario_field_unchecked)) {
            struct scenario_failure *failure = runner_fail(r, field->mark);
            text_add(&failure->expected, "%s = %s", field->path, field->value);
            text_add(&failure->found, there ? "%s = %s" : "no %s%s", field->path,
                     text_data(&found));
            describe(answer, &failure->nearest);
        }
        text_free(&found);
    }
}

/* What holds for every transfer, whether written or not: a success moved the whole file. */
static void judge_bytes(struct runner *r, const struct scenario_answer *answer,
                        const json_t *report)
{
    const struct scenario_operation *operation = &answer->step->operation;
    struct text content = {0};
    char detail[TESTBED_DETAIL], wanted[64];
    if (!answer->ok || answer->step->action != SCENARIO_OPERATION)
        return;
    const json_t *equal = json_object_get(report, "equal");
    bool compared = strcmp(operation->word->name, "verify_file") == 0 ||
                    ((strcmp(operation->word->name, "get") == 0 ||
                      strcmp(operation->word->name, "get_many") == 0) &&
                     operation->has_seed);
    if (compared && !json_is_true(equal) && !PLANTED(scenario_equal_unchecked)) {
        disappoint(r, answer->step->mark, answer, "the report to say", "\"equal\": true");
        return;
    }
    if (!operation->file)
        return;
    if (file_read_beside(r->scenario->file, operation->file, &content, detail) &&
        content.length != answer->bytes && !PLANTED(scenario_bytes_unchecked)) {
        snprintf(wanted, sizeof wanted, "%zu bytes, not %" PRIu64, content.length, answer->bytes);
        disappoint(r, answer->step->mark, answer, operation->file, wanted);
    }
    text_free(&content);
}

/* What the step says about outcome and error; without a word about them it must have succeeded. */
static void judge_outcome(struct runner *r, const struct scenario_answer *answer)
{
    const struct scenario_expect *expect = &answer->step->expect;
    const struct yaml_value *outcome = expect->outcome, *error = expect->error;
    const char *class = answer->answered ? answer->class : "hung";
    assert(answer->step);
    if (outcome && strcmp(yaml_text(outcome), class) != 0 && !PLANTED(scenario_outcome_unchecked))
        disappoint(r, yaml_mark(outcome), answer, "outcome", yaml_text(outcome));
    else if (error && strcmp(yaml_text(error), answer->error) != 0 &&
             !PLANTED(scenario_error_unchecked))
        disappoint(r, yaml_mark(error), answer, "error", yaml_text(error));
    else if (!outcome && !error && !answer->ok && !PLANTED(scenario_failure_is_fine))
        disappoint(r, answer->step->mark, answer, answer->step->word, "to succeed");
}

void runner_judge(struct runner *r, size_t position, const json_t *report)
{
    const struct scenario_answer *answer = &r->result->answers[position];
    assert(position < r->result->answer_count);
    judge_outcome(r, answer);
    if (!r->over)
        judge_time(r, answer);
    if (!r->over && answer->answered)
        judge_fields(r, answer, report);
    if (!r->over && answer->answered)
        judge_bytes(r, answer, report);
}

/* The first report of a node that was started says that it is ready. */
static void take_ready(struct runner *r, const struct history_entry *entry)
{
    struct runner_node *node = runner_node(r, entry->node);
    const char *event = member(entry->report, "event", "");
    assert(entry->report);
    if (!node || node->start == SIZE_MAX || strcmp(event, "ready") != 0)
        return;
    struct scenario_answer *answer = &r->result->answers[node->start];
    size_t position = node->start;
    answer->answered = answer->ok = true;
    answer->end = entry->time;
    node->start = SIZE_MAX;
    if (answer->step)
        runner_judge(r, position, entry->report);
}

void runner_take_report(struct runner *r, const struct history_entry *entry)
{
    const json_t *id = json_object_get(entry->report, "id");
    assert(entry->report);
    if (!json_is_integer(id)) {
        take_ready(r, entry);
        return;
    }
    json_int_t number = json_integer_value(id);
    if (number < 1 || (uint64_t)number > r->result->answer_count ||
        r->result->answers[number - 1].answered) {
        runner_break(r, SCENARIO_BROKEN, "node %s answered a command that is not open: %.200s",
                     entry->node, entry->text);
        return;
    }
    size_t position = (size_t)(number - 1);
    fill(&r->result->answers[position], entry->report, entry->time);
    runner_judge(r, position, entry->report);
}

void runner_take_exit(struct runner *r, const struct history_entry *entry)
{
    struct runner_node *node = runner_node(r, entry->node);
    assert(entry->kind == HISTORY_EXIT);
    if (!node)
        return;
    if (node->ending > 0) {
        node->ending--;
        if (!PLANTED(scenario_any_exit_is_the_new_one))
            return;
    }
    size_t position = node->start;
    node->running = false;
    node->start = SIZE_MAX;
    if (position != SIZE_MAX && r->result->answers[position].step) {
        struct scenario_answer *answer = &r->result->answers[position];
        answer->answered = true;
        answer->end = entry->time;
        answer->error = error_name(entry->error);
        runner_judge(r, position, NULL);
    } else if (!PLANTED(scenario_exit_ignored)) {
        struct scenario_failure *failure = runner_fail(r, r->scenario->programs[0].mark);
        for (size_t i = 0; i < r->scenario->program_count; i++) {
            if (strcmp(r->scenario->programs[i].node, entry->node) == 0)
                failure->mark = r->scenario->programs[i].mark;
        }
        text_add(&failure->expected, "the program of %s to run", entry->node);
        text_add(&failure->found, "it ended with %s", error_name(entry->error));
        add_last_error(r, entry->node, &failure->nearest);
    }
}

void runner_wait_answer(struct runner *r, size_t position)
{
    struct scenario_answer *answer = &r->result->answers[position];
    uint64_t patience = SCENARIO_PATIENCE;
    assert(position < r->result->answer_count);
    if (answer->step && answer->step->expect.within > patience)
        patience = answer->step->expect.within;
    patience += r->slack;
    while (!answer->answered && runner_pump(r, answer->begin + patience))
        ;
    if (answer->answered || r->over)
        return;
    answer->end = r->ops->now(r->tb);
    answer->error = "hung";
    if (answer->step)
        runner_judge(r, position, NULL);
    else
        runner_break(r, SCENARIO_BROKEN, "a program neither became ready nor ended");
}
