/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/report.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *checked(json_t *value)
{
    if (!value)
        abort();
    return value;
}

static void put(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, checked(value)) != 0)
        abort();
}

static void append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, checked(value)) != 0)
        abort();
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *strings(const char *const *texts, size_t count)
{
    json_t *array = checked(json_array());
    for (size_t i = 0; i < count; i++)
        append(array, text_string(texts[i]));
    return array;
}

static json_t *failure_value(const struct scenario_failure *failure)
{
    json_t *object = checked(json_object());
    assert(failure);
    put(object, "line", number(failure->mark.line));
    put(object, "column", number(failure->mark.column));
    put(object, "time", number(failure->time));
    put(object, "expected", text_string(text_data(&failure->expected)));
    put(object, "found", text_string(text_data(&failure->found)));
    if (failure->nearest.length)
        put(object, "nearest", text_string(text_data(&failure->nearest)));
    return object;
}

static json_t *answer_value(const struct scenario_answer *answer, size_t id)
{
    const struct scenario_step *step = answer->step;
    json_t *object = checked(json_object());
    assert(answer->step);
    put(object, "id", number(id));
    put(object, "line", number(step->mark.line));
    put(object, "word", json_string(step->word));
    put(object, "node", json_string(step->node));
    put(object, "begin", number(answer->begin));
    put(object, "end", number(answer->end));
    put(object, "outcome", json_string(answer->answered ? answer->class : "hung"));
    put(object, "error", json_string(answer->error));
    put(object, "transport", json_string(answer->transport));
    put(object, "detail", text_string(answer->detail));
    put(object, "bytes", number(answer->bytes));
    return object;
}

static json_t *history_value(const struct history *history)
{
    static const char *const kinds[] = {"log", "report", "exit", "action"};
    json_t *array = checked(json_array());
    for (size_t i = 0; i < history->count; i++) {
        const struct history_entry *entry = &history->entries[i];
        json_t *object = checked(json_object());
        put(object, "time", number(entry->time));
        put(object, "node", json_string(entry->node));
        put(object, "kind", json_string(kinds[entry->kind]));
        if (entry->kind == HISTORY_LOG)
            put(object, "level", json_string(history_level_name(entry->level)));
        if (entry->kind == HISTORY_EXIT)
            put(object, "error", json_string(error_name(entry->error)));
        put(object, "text", text_string(entry->text));
        append(array, object);
    }
    return array;
}

static json_t *tail_value(const struct scenario_result *result)
{
    json_t *array = checked(json_array());
    for (size_t i = 0; i < SCENARIO_TRACE_TAIL; i++) {
        const struct text *line = &result->tail[(result->tail_next + i) % SCENARIO_TRACE_TAIL];
        if (line->length)
            append(array, text_string(text_data(line)));
    }
    return array;
}

static void replay_start(struct text *line, const char *file, const char *cell)
{
    text_add(line, "memkv-scenario run %s", file);
    if (*cell)
        text_add(line, " --cell '%s'", cell);
}

static json_t *replay_value(const struct scenario *scenario, const char *fabric,
                            const struct scenario_result *result)
{
    struct text line = {0};
    replay_start(&line, scenario->file, scenario->cell);
    text_add(&line, " --fabric %s --seed %" PRIu64, fabric, result->seed);
    for (unsigned bit = 0; bit < FABRIC_CAP_COUNT; bit++) {
        if (!(result->caps >> bit & 1))
            text_add(&line, " --without %s", fabric_cap_name((enum fabric_cap_bit)bit));
    }
    json_t *value = text_string(text_data(&line));
    text_free(&line);
    return value;
}

json_t *report_run(const struct scenario *scenario, const char *fabric,
                   const struct scenario_result *result, uint64_t wall)
{
    static const char *const names[] = {"passed", "failed", "skipped", "broken", "interrupted"};
    assert(scenario && fabric && result);
    char hash[17];
    json_t *object = checked(json_object()), *failures = checked(json_array());
    json_t *answers = checked(json_array());
    snprintf(hash, sizeof hash, "%016" PRIx64, result->trace_hash);
    for (size_t i = 0; i < result->failure_count; i++)
        append(failures, failure_value(&result->failures[i]));
    for (size_t i = 0; i < result->answer_count; i++) {
        if (result->answers[i].step)
            append(answers, answer_value(&result->answers[i], i + 1));
    }
    put(object, "file", text_string(scenario->file));
    put(object, "cell", text_string(scenario->cell));
    put(object, "name", text_string(scenario->name));
    put(object, "about", text_string(scenario->about));
    put(object, "proves", strings(scenario->proves, scenario->proves_count));
    put(object, "fabric", json_string(fabric));
    put(object, "status", json_string(names[result->status]));
    if (result->reason.length)
        put(object, "reason", text_string(text_data(&result->reason)));
    put(object, "seed", number(result->seed));
    put(object, "time", number(result->time));
    if (result->real)
        put(object, "real", json_true());
    put(object, "wall", number(wall));
    put(object, "trace_hash", json_string(hash));
    put(object, "draws", number(result->draws));
    put(object, "failures", failures);
    put(object, "answers", answers);
    put(object, "history", history_value(&result->history));
    put(object, "trace_tail", tail_value(result));
    put(object, "replay", replay_value(scenario, fabric, result));
    return object;
}

json_t *report_valid(const struct scenario *scenario)
{
    json_t *object = checked(json_object());
    assert(scenario);
    put(object, "file", text_string(scenario->file));
    put(object, "cell", text_string(scenario->cell));
    put(object, "name", text_string(scenario->name));
    put(object, "status", json_string("passed"));
    return object;
}

json_t *report_invalid(const char *file, const char *cell, const struct yaml_errors *errors)
{
    assert(file && errors);
    json_t *object = checked(json_object()), *list = checked(json_array());
    for (size_t i = 0; i < errors->count; i++) {
        json_t *error = checked(json_object());
        put(error, "line", number(errors->items[i].mark.line));
        put(error, "column", number(errors->items[i].mark.column));
        put(error, "text", text_string(errors->items[i].text));
        append(list, error);
    }
    put(object, "file", text_string(file));
    put(object, "cell", text_string(cell));
    put(object, "name", json_string(""));
    put(object, "status", json_string("invalid"));
    put(object, "errors", list);
    return object;
}

json_t *report_broken(const char *file, const char *cell, const char *fabric, const char *reason)
{
    struct text replay = {0};
    json_t *object = checked(json_object());
    assert(file && cell && fabric && reason);
    replay_start(&replay, file, cell);
    text_add(&replay, " --fabric %s --jobs 1", fabric);
    put(object, "file", text_string(file));
    put(object, "cell", text_string(cell));
    put(object, "name", json_string(""));
    put(object, "fabric", json_string(fabric));
    put(object, "status", json_string("broken"));
    put(object, "reason", text_string(reason));
    put(object, "replay", text_string(text_data(&replay)));
    text_free(&replay);
    return object;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

const char *report_status(const json_t *report)
{
    return text_of(report, "status");
}

static void headline(const json_t *report, const struct report_style *style, struct text *out)
{
    static const char *const words[][3] = {
        {"passed", "PASS", "32"}, {"failed", "FAIL", "31"},  {"skipped", "SKIP", "33"},
        {"broken", "FAIL", "31"}, {"invalid", "FAIL", "31"}, {"interrupted", "STOP", "33"},
    };
    struct text line = {0};
    size_t i = 0;
    assert(report && style);
    while (i < 5 && strcmp(words[i][0], report_status(report)) != 0)
        i++;
    text_add(&line, "  %s", text_of(report, "file"));
    if (*text_of(report, "cell"))
        text_add(&line, " [%s]", text_of(report, "cell"));
    text_add(&line, "  %s", text_of(report, "name"));
    if (json_object_get(report, "time")) {
        text_add(&line, "  (");
        text_add_time(&line, (uint64_t)json_integer_value(json_object_get(report, "time")));
        text_add(&line, json_is_true(json_object_get(report, "real")) ? ")" : " virtual)");
    }
    if (style->columns > 24 && line.length + 4 > style->columns) {
        line.length = style->columns - 4 - 3;
        while (line.length > 0 && ((unsigned char)line.data[line.length] & 0xc0) == 0x80)
            line.length--; /* never cut a character in two */
        text_add(&line, "...");
    }
    text_add(out, style->color ? "\033[%sm%s\033[0m%s\n" : "%.0s%s%s\n", words[i][2], words[i][1],
             text_data(&line));
    text_free(&line);
}

static void failure_text(const json_t *report, const json_t *failure, struct text *out)
{
    text_add(out, "  %s:%" JSON_INTEGER_FORMAT ":%" JSON_INTEGER_FORMAT ": at ",
             text_of(report, "file"), json_integer_value(json_object_get(failure, "line")),
             json_integer_value(json_object_get(failure, "column")));
    text_add_time(out, (uint64_t)json_integer_value(json_object_get(failure, "time")));
    text_add(out, "\n    expected: %s\n    found:    %s\n", text_of(failure, "expected"),
             text_of(failure, "found"));
    if (*text_of(failure, "nearest"))
        text_add(out, "    nearest:  %s\n", text_of(failure, "nearest"));
}

static void context_text(const json_t *report, struct text *out)
{
    size_t i;
    json_t *item;
    const json_t *tail = json_object_get(report, "trace_tail");
    if (json_array_size(tail) > 0)
        text_add(out, "  the last lines of the trace:\n");
    json_array_foreach((json_t *)(uintptr_t)tail, i, item)
        text_add(out, "    %s\n", json_string_value(item));
    text_add(out, "  replay: %s\n", text_of(report, "replay"));
}

void report_text(const json_t *report, const struct report_style *style, struct text *out)
{
    assert(report && style && out);
    const char *status = report_status(report);
    size_t i;
    json_t *item;
    headline(report, style, out);
    json_array_foreach(json_object_get(report, "errors"), i, item)
        text_add(out, "  %s\n", text_of(item, "text"));
    json_array_foreach(json_object_get(report, "failures"), i, item)
        failure_text(report, item, out);
    if (*text_of(report, "reason"))
        text_add(out, "  %s\n", text_of(report, "reason"));
    if (strcmp(status, "failed") == 0 || strcmp(status, "broken") == 0)
        context_text(report, out);
}
