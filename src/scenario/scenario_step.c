/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/fabric/planted.h"
#include "src/scenario/scenario_reader.h"

static const char *const control_names[] = {"at",         "after", "when", "within", "expect",
                                            "background", "start", "stop", "ask",    "nothing"};
#define CONTROL_COUNT 6 /* the rest are actions */
#define CONTROL_NAMES (sizeof control_names / sizeof control_names[0])

static const struct yaml_field expect_fields[] = {
    {"outcome", YAML_TYPE_SCALAR, offsetof(struct scenario_expect, outcome), 0, 0, NULL, NULL,
     false},
    {"error", YAML_TYPE_SCALAR, offsetof(struct scenario_expect, error), 0, 0, NULL, NULL, false},
    {"within", YAML_TYPE_DURATION, offsetof(struct scenario_expect, within), 1, INT64_MAX, NULL,
     NULL, false},
    {"no_sooner", YAML_TYPE_DURATION, offsetof(struct scenario_expect, no_sooner), 1, INT64_MAX,
     NULL, NULL, false},
    {0},
};

/* Everything in `expect` that is none of the four above is a field of the answer. */
static bool is_expect_word(const char *name)
{
    for (size_t i = 0; expect_fields[i].name; i++) {
        if (strcmp(expect_fields[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool read_outcome(struct scenario_reader *reader, const struct yaml_value *value)
{
    static const char *const names[] = {"rdma",         "tcp_by_choice", "fell_back",
                                        "unreachable",  "corrupted",     "hung",
                                        "refused:NAME", "failed:NAME"};
    const char *text, *colon;
    enum fabric_error error;
    assert(value);
    if (!yaml_read_string(value, "outcome", 1, 80, &text, reader->errors))
        return false;
    colon = strchr(text, ':');
    for (size_t i = 0; i < 6; i++) {
        if (strcmp(names[i], text) == 0)
            return true;
    }
    bool named = colon && (strncmp(text, "refused:", 8) == 0 || strncmp(text, "failed:", 7) == 0);
    if (named && error_by_name(colon + 1, &error))
        return true;
    const char *error_names[ERR_COUNT];
    for (int i = 0; i < ERR_COUNT; i++)
        error_names[i] = error_name((enum fabric_error)i);
    const char *near =
        named ? nearest_name(colon + 1, error_names, ERR_COUNT) : nearest_name(text, names, 8);
    yaml_complain(reader->errors, yaml_mark(value),
                  "outcome: found '%s'%s%s%s; one of rdma, tcp_by_choice, fell_back, refused:NAME, "
                  "failed:NAME, unreachable, corrupted, hung is expected",
                  text, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    return false;
}

static bool read_answer_fields(struct scenario_reader *reader, const struct yaml_value *value,
                               struct scenario_expect *out)
{
    assert(yaml_kind(value) == YAML_KIND_MAPPING);
    out->fields = arena_alloc(reader->arena, yaml_count(value), sizeof *out->fields);
    for (size_t i = 0; i < yaml_count(value); i++) {
        const char *name = yaml_text(yaml_key(value, i));
        const struct yaml_value *item = yaml_item(value, i);
        struct scenario_field *field = &out->fields[out->field_count];
        if (is_expect_word(name))
            continue;
        *field = (struct scenario_field){name, NULL, yaml_mark(item)};
        if (!yaml_read_string(item, name, 0, 1024, &field->value, reader->errors))
            return false;
        out->field_count++;
    }
    return true;
}

bool scenario_read_expect(struct scenario_reader *reader, const struct yaml_value *value,
                          struct scenario_expect *out)
{
    assert(value && out);
    *out = (struct scenario_expect){.mark = yaml_mark(value)};
    if (yaml_kind(value) != YAML_KIND_MAPPING) {
        yaml_complain(reader->errors, yaml_mark(value), "expect: found %s; a mapping is expected",
                      yaml_kind_name(yaml_kind(value)));
        return false;
    }
    for (size_t i = 0; expect_fields[i].name; i++) {
        const struct yaml_field *field = &expect_fields[i];
        const struct yaml_value *item = yaml_find(value, field->name);
        void *to = (char *)out + field->offset;
        enum fabric_error error;
        if (!item)
            continue;
        if (field->type == YAML_TYPE_DURATION) {
            if (!yaml_read_duration(item, field->name, 1, INT64_MAX, to, reader->errors))
                return false;
        } else if (strcmp(field->name, "error") == 0 ? !scenario_read_error(reader, item, &error)
                                                     : !read_outcome(reader, item)) {
            return false;
        } else {
            memcpy(to, &item, sizeof item);
        }
    }
    const struct yaml_value *within = yaml_find(value, "within");
    const struct yaml_value *no_sooner = yaml_find(value, "no_sooner");
    out->within_mark = within ? yaml_mark(within) : out->mark;
    out->no_sooner_mark = no_sooner ? yaml_mark(no_sooner) : out->mark;
    return read_answer_fields(reader, value, out);
}

struct raw_operation {
    const struct yaml_value *node;
    struct scenario_operation operation;
};

#define FIELD(name, type, min, max)                                                                \
    {                                                                                              \
#name, YAML_TYPE_##type, offsetof(struct raw_operation, operation.name), min, max, NULL,   \
            NULL, false                                                                            \
    }
static const struct yaml_field operation_fields[] = {
    {"node", YAML_TYPE_SCALAR, offsetof(struct raw_operation, node), 0, 0, NULL, NULL, true},
    FIELD(key, STRING, 1, 255),
    FIELD(size, SIZE, 1, INT64_MAX),
    FIELD(seed, NUMBER, 0, 0),
    FIELD(file, STRING, 1, 200),
    FIELD(path, STRING, 1, FABRIC_PATH_MAX - 1),
    FIELD(block_size, SIZE, 1, 1 << 24),
    FIELD(timeout, DURATION, 1000000, INT64_MAX),
    FIELD(count, NUMBER, 1, 1000),
    {"namespace", YAML_TYPE_STRING, offsetof(struct raw_operation, operation.name_space), 1, 200,
     NULL, NULL, false},
    FIELD(or_seed, NUMBER, 0, 0),
    FIELD(auth_key, STRING, 1, 200),
    {0},
};
#undef FIELD

/* In the order of enum operation_parameter. */
static const char *const parameter_names[] = {"key",       "size",       "seed",    "file",
                                              "path",      "block_size", "timeout", "count",
                                              "namespace", "or_seed",    "auth_key"};

static bool read_operation(struct scenario_reader *reader, const struct operation_word *word,
                           const struct yaml_value *value, struct scenario_step *step)
{
    struct raw_operation raw = {.operation = {.word = word, .block_size = 65536}};
    assert(word && value && step);
    if (word->required == 0 && yaml_kind(value) == YAML_KIND_SCALAR) {
        raw.node = value;
    } else if (!yaml_read_fields(value, operation_fields, &raw, reader->errors)) {
        return false;
    }
    bool mapping = yaml_kind(value) == YAML_KIND_MAPPING;
    for (unsigned i = 0; i < OPERATION_PARAMETERS; i++) {
        unsigned bit = 1u << i, allowed = word->required | word->allowed | OPERATION_TIMEOUT;
        const struct yaml_value *item = mapping ? yaml_find(value, parameter_names[i]) : NULL;
        if (item && !(allowed & bit)) {
            yaml_complain(reader->errors, yaml_mark(item), "%s: '%s' means nothing here",
                          word->name, parameter_names[i]);
            return false;
        }
        if (!item && (word->required & bit)) {
            yaml_complain(reader->errors, yaml_mark(value), "%s: '%s' is missing", word->name,
                          parameter_names[i]);
            return false;
        }
    }
    if ((word->allowed & OPERATION_FILE) && !raw.operation.file == !raw.operation.path) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "%s: exactly one of 'file' (of this machine) and 'path' (of the node) is "
                      "expected",
                      word->name);
        return false;
    }
    step->operation = raw.operation;
    step->operation.has_seed = mapping && yaml_find(value, "seed");
    step->operation.has_or_seed = mapping && yaml_find(value, "or_seed");
    if (step->operation.has_or_seed && !step->operation.has_seed) {
        yaml_complain(reader->errors, yaml_mark(yaml_find(value, "or_seed")),
                      "%s: 'or_seed' goes with 'seed'", word->name);
        return false;
    }
    step->action = SCENARIO_OPERATION;
    step->node = yaml_text(raw.node);
    return scenario_check_node(reader, raw.node);
}

struct raw_action {
    const struct yaml_value *node, *config, *query;
    uint64_t duration;
};

static const struct yaml_field start_fields[] = {
    {"node", YAML_TYPE_SCALAR, offsetof(struct raw_action, node), 0, 0, NULL, NULL, true},
    {"config", YAML_TYPE_MAPPING, offsetof(struct raw_action, config), 0, 0, NULL, NULL, false},
    {0},
};
static const struct yaml_field ask_fields[] = {
    {"node", YAML_TYPE_SCALAR, offsetof(struct raw_action, node), 0, 0, NULL, NULL, true},
    {"query", YAML_TYPE_SCALAR, offsetof(struct raw_action, query), 0, 0, NULL, NULL, true},
    {0},
};
static const struct yaml_field nothing_fields[] = {
    {"node", YAML_TYPE_SCALAR, offsetof(struct raw_action, node), 0, 0, NULL, NULL, false},
    {"for", YAML_TYPE_DURATION, offsetof(struct raw_action, duration), 1, INT64_MAX, NULL, NULL,
     true},
    {0},
};

static bool check_program(struct scenario_reader *reader, const struct yaml_value *node)
{
    struct scenario *s = reader->scenario;
    assert(node);
    for (size_t i = 0; i < s->program_count; i++) {
        if (strcmp(s->programs[i].node, yaml_text(node)) == 0)
            return true;
    }
    yaml_complain(reader->errors, yaml_mark(node), "node '%s' has no program (see programs)",
                  yaml_text(node));
    return false;
}

static bool read_start(struct scenario_reader *reader, const struct yaml_value *value,
                       struct scenario_step *step)
{
    struct scenario *s = reader->scenario;
    struct raw_action raw = {.node = value};
    const char *program = NULL;
    assert(value && step);
    step->action = SCENARIO_START;
    if (yaml_kind(value) != YAML_KIND_SCALAR &&
        !yaml_read_fields(value, start_fields, &raw, reader->errors))
        return false;
    if (!scenario_check_node(reader, raw.node) || !check_program(reader, raw.node))
        return false;
    step->node = yaml_text(raw.node);
    for (size_t i = 0; i < s->program_count; i++) {
        if (strcmp(s->programs[i].node, step->node) == 0) {
            s->programs[i].by_step = true;
            program = s->programs[i].program;
        }
    }
    if (raw.config)
        step->config = scenario_read_config(reader, program, raw.config);
    return true;
}

static bool read_ask(struct scenario_reader *reader, const struct yaml_value *value,
                     struct scenario_step *step)
{
    struct raw_action raw = {0};
    assert(value && step);
    step->action = SCENARIO_ASK;
    if (!yaml_read_fields(value, ask_fields, &raw, reader->errors) ||
        !scenario_check_node(reader, raw.node))
        return false;
    step->node = yaml_text(raw.node);
    step->query = yaml_text(raw.query);
    return true;
}

static bool read_nothing(struct scenario_reader *reader, const struct yaml_value *value,
                         struct scenario_step *step)
{
    struct raw_action raw = {0};
    assert(value && step);
    step->action = SCENARIO_NOTHING;
    if (yaml_kind(value) == YAML_KIND_SCALAR
            ? !yaml_read_duration(value, "nothing", 1, INT64_MAX, &raw.duration, reader->errors)
            : !yaml_read_fields(value, nothing_fields, &raw, reader->errors))
        return false;
    if (raw.node && !scenario_check_node(reader, raw.node))
        return false;
    step->quiet = raw.duration;
    step->quiet_on = raw.node ? yaml_text(raw.node) : NULL;
    return true;
}

static bool read_action(struct scenario_reader *reader, const char *word,
                        const struct yaml_value *value, struct scenario_step *step)
{
    const struct operation_word *operation = operation_word_by_name(word);
    const struct fault_word *fault = fault_word_by_name(word);
    assert(word && value);
    step->word = word;
    if (operation)
        return read_operation(reader, operation, value, step);
    if (fault) {
        step->action = SCENARIO_FAULT;
        return scenario_read_fault(reader, fault, value, &step->fault);
    }
    if (strcmp(word, "start") == 0)
        return read_start(reader, value, step);
    if (strcmp(word, "ask") == 0)
        return read_ask(reader, value, step);
    if (strcmp(word, "nothing") == 0)
        return read_nothing(reader, value, step);
    assert(strcmp(word, "stop") == 0);
    step->action = SCENARIO_STOP;
    step->node = yaml_kind(value) == YAML_KIND_SCALAR ? yaml_text(value) : NULL;
    return scenario_check_node(reader, value) && check_program(reader, value);
}

static bool is_action(const char *name)
{
    assert(name);
    for (size_t i = CONTROL_COUNT; i < CONTROL_NAMES; i++) {
        if (strcmp(control_names[i], name) == 0)
            return true;
    }
    return operation_word_by_name(name) || fault_word_by_name(name);
}

static bool is_control(const char *name)
{
    for (size_t i = 0; i < CONTROL_COUNT; i++) {
        if (strcmp(control_names[i], name) == 0)
            return true;
    }
    return false;
}

static void complain_word(struct scenario_reader *reader, const struct yaml_value *key)
{
    const char *names[CONTROL_NAMES + OPERATION_WORD_COUNT + TESTBED_WORD_COUNT];
    size_t count = 0;
    assert(key);
    for (size_t i = 0; i < CONTROL_NAMES; i++)
        names[count++] = control_names[i];
    for (size_t i = 0; i < OPERATION_WORD_COUNT; i++)
        names[count++] = operation_words[i].name;
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++)
        names[count++] = fault_words[i].name;
    const char *near = nearest_name(yaml_text(key), names, count);
    yaml_complain(reader->errors, yaml_mark(key),
                  near ? "found the unknown word '%.60s'; did you mean '%s'?"
                       : "found the unknown word '%.60s'; `memkv-scenario help words` lists "
                         "them%s",
                  yaml_text(key), near ? near : "");
}

/* The one key of a step that says what is done. */
static bool find_action(struct scenario_reader *reader, const struct yaml_value *value,
                        struct scenario_step *step)
{
    assert(yaml_kind(value) == YAML_KIND_MAPPING);
    for (size_t i = 0; i < yaml_count(value); i++) {
        const struct yaml_value *key = yaml_key(value, i);
        const char *name = yaml_text(key);
        if (is_control(name))
            continue;
        if (!is_action(name)) {
            if (PLANTED(scenario_unknown_word))
                continue;
            complain_word(reader, key);
            return false;
        }
        if (step->word) {
            yaml_complain(reader->errors, yaml_mark(key),
                          "found '%s' beside '%s'; a step does one thing", name, step->word);
            return false;
        }
        if (!read_action(reader, name, yaml_item(value, i), step))
            return false;
    }
    return true;
}

static bool read_trigger(struct scenario_reader *reader, const struct yaml_value *value,
                         struct scenario_step *step)
{
    const struct yaml_value *at = yaml_find(value, "at"), *after = yaml_find(value, "after");
    const struct yaml_value *when = yaml_find(value, "when");
    const struct yaml_value *within = yaml_find(value, "within");
    assert(step->trigger == SCENARIO_NEXT);
    step->limit = SCENARIO_WHEN_LIMIT;
    if ((at != NULL) + (after != NULL) + (when != NULL) > 1) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "found several of at, after, when; one is "
                      "allowed");
        return false;
    }
    if (within && !when) {
        yaml_complain(reader->errors, yaml_mark(within),
                      "within: found without when; the bound of an answer stands in expect");
        return false;
    }
    if (at || after) {
        step->trigger = at ? SCENARIO_AT : SCENARIO_AFTER;
        return yaml_read_duration(at ? at : after, at ? "at" : "after", 0, INT64_MAX, &step->time,
                                  reader->errors);
    }
    if (!when)
        return true;
    step->trigger = SCENARIO_WHEN;
    return scenario_read_match(reader, when, &step->when) &&
           (!within ||
            yaml_read_duration(within, "within", 1, INT64_MAX, &step->limit, reader->errors));
}

static bool read_step(struct scenario_reader *reader, const struct yaml_value *value,
                      struct scenario_step *step)
{
    assert(value && step);
    step->mark = yaml_mark(value);
    if (yaml_kind(value) != YAML_KIND_MAPPING) {
        yaml_complain(reader->errors, step->mark, "steps: found %s; a mapping is expected",
                      yaml_kind_name(yaml_kind(value)));
        return false;
    }
    if (!find_action(reader, value, step) || !read_trigger(reader, value, step))
        return false;
    if (!step->word && step->trigger == SCENARIO_NEXT && !PLANTED(scenario_unknown_word)) {
        yaml_complain(reader->errors, step->mark,
                      "found a step that does nothing and waits for "
                      "nothing");
        return false;
    }
    const struct yaml_value *expect = yaml_find(value, "expect");
    const struct yaml_value *background = yaml_find(value, "background");
    bool answers = step->action == SCENARIO_OPERATION || step->action == SCENARIO_ASK ||
                   step->action == SCENARIO_START;
    if (expect && !answers) {
        yaml_complain(reader->errors, yaml_mark(expect),
                      "expect: found beside %s, which has no answer; the closing expect list looks "
                      "at logs and reports",
                      step->word ? step->word : "no action");
        return false;
    }
    const struct yaml_value *outcome =
        expect && yaml_kind(expect) == YAML_KIND_MAPPING ? yaml_find(expect, "outcome") : NULL;
    if (outcome && step->action != SCENARIO_OPERATION) {
        yaml_complain(reader->errors, yaml_mark(outcome),
                      "outcome: found beside %s; only an operation has an outcome, say error: NAME",
                      step->word);
        return false;
    }
    step->has_expect = expect != NULL;
    return (!background ||
            yaml_read_boolean(background, "background", &step->background, reader->errors)) &&
           (!expect || scenario_read_expect(reader, expect, &step->expect));
}

bool scenario_read_steps(struct scenario_reader *reader, const struct yaml_value *value)
{
    struct scenario *s = reader->scenario;
    assert(value);
    s->step_count = yaml_count(value);
    s->steps = arena_alloc(reader->arena, s->step_count, sizeof *s->steps);
    if (s->step_count == 0) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "steps: found none; at least one is "
                      "expected");
        return false;
    }
    for (size_t i = 0; i < s->step_count; i++) {
        if (!read_step(reader, yaml_item(value, i), &s->steps[i]))
            return false;
    }
    return true;
}
