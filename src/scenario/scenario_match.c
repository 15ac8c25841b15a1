/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/scenario_reader.h"
#include "src/scenario/topology_read.h"

static const char *const level_names[] = {"debug", "info", "warn", "error", NULL};

/* A condition, with the bounds that only the closing list may set. */
struct raw_match {
    const struct yaml_value *node, *log, *report, *exit, *order;
    int level;
    bool never;
    int64_t count;
    uint64_t after, by;
};

#define FIELD(name, type)                                                                          \
    {                                                                                              \
#name, YAML_TYPE_##type, offsetof(struct raw_match, name), 0, 0, NULL, NULL, false         \
    }
#define MATCH_FIELDS                                                                               \
    FIELD(node, SCALAR), FIELD(log, ANY), FIELD(report, MAPPING), FIELD(exit, SCALAR),             \
    {                                                                                              \
        "level", YAML_TYPE_ENUM, offsetof(struct raw_match, level), 0, 0, level_names, NULL, false \
    }
static const struct yaml_field match_fields[] = {MATCH_FIELDS, {0}};
static const struct yaml_field check_fields[] = {
    MATCH_FIELDS,
    FIELD(order, SEQUENCE),
    FIELD(never, BOOLEAN),
    {"count", YAML_TYPE_INTEGER, offsetof(struct raw_match, count), 1, 1000000, NULL, NULL, false},
    FIELD(after, DURATION),
    FIELD(by, DURATION),
    {0},
};
#undef FIELD

bool scenario_read_error(struct scenario_reader *reader, const struct yaml_value *value,
                         enum fabric_error *out)
{
    const char *text, *names[ERR_COUNT];
    assert(value && out);
    if (!yaml_read_string(value, "error", 1, 64, &text, reader->errors))
        return false;
    if (strcmp(text, "ok") == 0) {
        *out = FABRIC_OK;
        return true;
    }
    if (error_by_name(text, out))
        return true;
    for (int i = 0; i < ERR_COUNT; i++)
        names[i] = error_name((enum fabric_error)i);
    topology_complain_unknown(reader->errors, yaml_mark(value), "error", text, names, ERR_COUNT);
    return false;
}

bool scenario_read_fields(struct scenario_reader *reader, const struct yaml_value *value,
                          const char *what, struct scenario_field **out, size_t *count)
{
    assert(value && out && count);
    *count = yaml_count(value);
    *out = arena_alloc(reader->arena, *count, sizeof **out);
    if (yaml_kind(value) != YAML_KIND_MAPPING || *count == 0) {
        yaml_complain(reader->errors, yaml_mark(value), "%s: a mapping from fields is expected",
                      what);
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        struct scenario_field *field = &(*out)[i];
        field->path = yaml_text(yaml_key(value, i));
        field->mark = yaml_mark(yaml_item(value, i));
        if (!yaml_read_string(yaml_item(value, i), field->path, 0, 1024, &field->value,
                              reader->errors))
            return false;
    }
    return true;
}

/* "TEXT" or [TEXT, TEXT]: all of them in one line. */
static bool read_log(struct scenario_reader *reader, const struct yaml_value *value,
                     struct scenario_match *out)
{
    bool list = yaml_kind(value) == YAML_KIND_SEQUENCE;
    assert(value && out);
    out->type = SCENARIO_LOG;
    out->text_count = list ? yaml_count(value) : 1;
    out->texts = arena_alloc(reader->arena, out->text_count, sizeof *out->texts);
    if (out->text_count == 0) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "log: found an empty list; a text, or "
                      "several of one line, are expected");
        return false;
    }
    for (size_t i = 0; i < out->text_count; i++) {
        if (!yaml_read_string(list ? yaml_item(value, i) : value, "log", 1, 400, &out->texts[i],
                              reader->errors))
            return false;
    }
    return true;
}

static bool take_match(struct scenario_reader *reader, const struct yaml_value *value,
                       const struct raw_match *raw, struct scenario_match *out)
{
    int kinds = (raw->log != NULL) + (raw->report != NULL) + (raw->exit != NULL);
    assert(raw && out);
    if (kinds != 1) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "found %s; exactly one of log, report, exit is expected",
                      kinds ? "several conditions in one" : "no condition");
        return false;
    }
    *out = (struct scenario_match){.mark = yaml_mark(value), .level = raw->level};
    if (raw->node && !scenario_check_node(reader, raw->node))
        return false;
    out->node = raw->node ? yaml_text(raw->node) : NULL;
    if (raw->level >= 0 && !raw->log) {
        yaml_complain(reader->errors, yaml_mark(yaml_find(value, "level")),
                      "level: found without log; only log lines have a level");
        return false;
    }
    if (raw->log)
        return read_log(reader, raw->log, out);
    if (raw->report) {
        out->type = SCENARIO_REPORT;
        return scenario_read_fields(reader, raw->report, "report", &out->fields, &out->field_count);
    }
    out->type = SCENARIO_EXIT;
    return scenario_read_error(reader, raw->exit, &out->error);
}

bool scenario_read_match(struct scenario_reader *reader, const struct yaml_value *value,
                         struct scenario_match *out)
{
    struct raw_match raw = {.level = -1};
    assert(value && out);
    return yaml_read_fields(value, match_fields, &raw, reader->errors) &&
           take_match(reader, value, &raw, out);
}

static bool read_order(struct scenario_reader *reader, const struct yaml_value *value,
                       struct scenario_check *out)
{
    assert(value && out);
    out->match_count = yaml_count(value);
    out->matches = arena_alloc(reader->arena, out->match_count, sizeof *out->matches);
    if (out->match_count < 2) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "order: found %zu condition; two or more are expected", out->match_count);
        return false;
    }
    for (size_t i = 0; i < out->match_count; i++) {
        if (!scenario_read_match(reader, yaml_item(value, i), &out->matches[i]))
            return false;
    }
    return true;
}

static bool read_check(struct scenario_reader *reader, const struct yaml_value *value,
                       struct scenario_check *out)
{
    struct raw_match raw = {.level = -1, .by = FABRIC_FOREVER};
    assert(value && out);
    if (!yaml_read_fields(value, check_fields, &raw, reader->errors))
        return false;
    *out = (struct scenario_check){.mark = yaml_mark(value),
                                   .never = raw.never,
                                   .count = (uint64_t)raw.count,
                                   .after = raw.after,
                                   .by = raw.by};
    if (raw.never && raw.count) {
        yaml_complain(reader->errors, yaml_mark(value), "found never and count; one is allowed");
        return false;
    }
    if (raw.after > raw.by) {
        yaml_complain(reader->errors, yaml_mark(value), "after is later than by");
        return false;
    }
    if (raw.order) {
        if (yaml_count(value) != 1) {
            yaml_complain(reader->errors, yaml_mark(value),
                          "order: found beside other keys; it stands alone");
            return false;
        }
        return read_order(reader, raw.order, out);
    }
    out->match_count = 1;
    out->matches = arena_alloc(reader->arena, 1, sizeof *out->matches);
    return take_match(reader, value, &raw, out->matches);
}

bool scenario_read_checks(struct scenario_reader *reader, const struct yaml_value *value)
{
    struct scenario *s = reader->scenario;
    s->check_count = value ? yaml_count(value) : 0;
    s->checks = arena_alloc(reader->arena, s->check_count, sizeof *s->checks);
    for (size_t i = 0; i < s->check_count; i++) {
        if (!read_check(reader, yaml_item(value, i), &s->checks[i]))
            return false;
    }
    return true;
}

static bool read_int(const char *text, long long *out)
{
    char *end;
    assert(text && out);
    if (*text == '\0')
        return false;
    *out = strtoll(text, &end, 10);
    return *end == '\0';
}

bool scenario_value_fits(const char *wanted, const char *found)
{
    assert(wanted && found);
    size_t operator_length = strcspn(wanted, " ");
    const char *operand = wanted + operator_length + (wanted[operator_length] ? 1 : 0);
    long long limit, number;
    if (operator_length == 2 && strncmp(wanted, "!=", 2) == 0)
        return strcmp(operand, found) != 0;
    bool comparison = operator_length > 0 && operator_length <= 2 && strchr("<>", wanted[0]) &&
                      (operator_length == 1 || wanted[1] == '=');
    if (!comparison)
        return strcmp(wanted, found) == 0;
    if (!read_int(operand, &limit) || !read_int(found, &number))
        return false;
    if (operator_length == 2 && number == limit && !PLANTED(scenario_bound_strict))
        return true;
    return wanted[0] == '<' ? number < limit : number > limit;
}
