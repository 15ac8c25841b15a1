/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/scenario_reader.h"
#include "src/scenario/topology_read.h"

struct scenario_owner { /* what scenario_free frees */
    struct scenario scenario;
    struct arena arena;
    struct yaml_tree *tree;
};

struct raw_scenario {
    const char *name, *about;
    const struct yaml_value *proves, *tags, *requires, *topology, *programs, *steps, *expect;
};

#define FIELD(name, type, min, max, required)                                                      \
    {                                                                                              \
#name, YAML_TYPE_##type, offsetof(struct raw_scenario, name), min, max, NULL, NULL,        \
            required                                                                               \
    }
static const struct yaml_field scenario_fields[] = {
    FIELD(name, STRING, 3, 100, true),      FIELD(proves, SEQUENCE, 0, 0, true),
    FIELD(about, STRING, 20, 600, true),    FIELD(tags, SEQUENCE, 0, 0, false),
    FIELD(requires, SEQUENCE, 0, 0, false), FIELD(topology, MAPPING, 0, 0, true),
    FIELD(programs, MAPPING, 0, 0, false),  FIELD(steps, SEQUENCE, 0, 0, true),
    FIELD(expect, SEQUENCE, 0, 0, false),   {0},
};
#undef FIELD

static const char *skip_digits(const char *text)
{
    while (isdigit((unsigned char)*text))
        text++;
    return text;
}

/* (MK|HA|CASE)-[A-Z]?[0-9]+(\.[0-9]+)? */
static bool is_requirement(const char *text)
{
    static const char *const kinds[] = {"MK-", "HA-", "CASE-"};
    size_t kind = 0;
    assert(text);
    while (kind < 3 && strncmp(text, kinds[kind], strlen(kinds[kind])) != 0)
        kind++;
    if (kind == 3)
        return false;
    text += strlen(kinds[kind]);
    text += isupper((unsigned char)*text) != 0;
    const char *end = skip_digits(text);
    if (end == text)
        return false;
    if (*end == '.') {
        text = end + 1;
        end = skip_digits(text);
        if (end == text)
            return false;
    }
    return *end == '\0';
}

static bool read_texts(struct scenario_reader *reader, const struct yaml_value *value,
                       const char *what, const char ***out, size_t *count)
{
    assert(what && out && count);
    *count = value ? yaml_count(value) : 0;
    *out = arena_alloc(reader->arena, *count, sizeof **out);
    for (size_t i = 0; i < *count; i++) {
        if (!yaml_read_string(yaml_item(value, i), what, 1, 64, &(*out)[i], reader->errors))
            return false;
    }
    return true;
}

static bool read_proves(struct scenario_reader *reader, const struct yaml_value *value)
{
    struct scenario *s = reader->scenario;
    assert(value);
    if (!read_texts(reader, value, "proves", &s->proves, &s->proves_count))
        return false;
    if (s->proves_count == 0) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "proves: found no requirement; at least one such as MK-C1 is expected");
        return false;
    }
    for (size_t i = 0; i < s->proves_count; i++) {
        if (!is_requirement(s->proves[i])) {
            yaml_complain(reader->errors, yaml_mark(yaml_item(value, i)),
                          "proves: found '%s'; an ID such as MK-C1, HA-2.2 or CASE-S10 is expected",
                          s->proves[i]);
            return false;
        }
    }
    return true;
}

static bool read_requires(struct scenario_reader *reader, const struct yaml_value *value)
{
    const char *names[FABRIC_CAP_COUNT];
    for (unsigned bit = 0; bit < FABRIC_CAP_COUNT; bit++)
        names[bit] = fabric_cap_name((enum fabric_cap_bit)bit);
    for (size_t i = 0; value && i < yaml_count(value); i++) {
        const struct yaml_value *item = yaml_item(value, i);
        const char *text;
        fabric_caps cap;
        if (!yaml_read_string(item, "requires", 1, 64, &text, reader->errors))
            return false;
        if (!capability_by_name(text, &cap)) {
            topology_complain_unknown(reader->errors, yaml_mark(item), "requires", text, names,
                                      FABRIC_CAP_COUNT);
            return false;
        }
        reader->scenario->requires |= cap;
    }
    return true;
}

bool scenario_check_node(struct scenario_reader *reader, const struct yaml_value *name)
{
    const struct topology *t = reader->scenario->topology;
    const char *text;
    assert(name && reader->scenario->topology);
    if (!yaml_read_string(name, "node", 1, FABRIC_NAME_MAX - 1, &text, reader->errors))
        return false;
    if (topology_node_find(t, text) || PLANTED(scenario_unknown_node))
        return true;
    topology_complain_unknown(reader->errors, yaml_mark(name), "node", text,
                              topology_node_names(t, reader->arena), t->node_count);
    return false;
}

struct raw_program {
    const struct yaml_value *program, *config;
};

static const struct yaml_field program_fields[] = {
    {"program", YAML_TYPE_SCALAR, offsetof(struct raw_program, program), 0, 0, NULL, NULL, true},
    {"config", YAML_TYPE_MAPPING, offsetof(struct raw_program, config), 0, 0, NULL, NULL, true},
    {0},
};

static bool read_program(struct scenario_reader *reader, const struct yaml_value *node,
                         const struct yaml_value *value, struct scenario_program *out)
{
    struct raw_program raw = {0};
    assert(node && value && out);
    if (!scenario_check_node(reader, node) ||
        !yaml_read_fields(value, program_fields, &raw, reader->errors))
        return false;
    const char *program = yaml_text(raw.program);
    bool known = false;
    for (size_t i = 0; i < reader->program_count; i++)
        known = known || strcmp(reader->program_names[i], program) == 0;
    if (!known) {
        topology_complain_unknown(reader->errors, yaml_mark(raw.program), "program", program,
                                  reader->program_names, reader->program_count);
        return false;
    }
    char *config = yaml_source(reader->tree, raw.config);
    if (!config)
        abort();
    *out = (struct scenario_program){yaml_mark(node), yaml_text(node), program,
                                     arena_copy(reader->arena, config), false};
    free(config);
    return true;
}

static bool read_programs(struct scenario_reader *reader, const struct yaml_value *value)
{
    struct scenario *s = reader->scenario;
    s->program_count = value ? yaml_count(value) : 0;
    s->programs = arena_alloc(reader->arena, s->program_count, sizeof *s->programs);
    for (size_t i = 0; i < s->program_count; i++) {
        if (!read_program(reader, yaml_key(value, i), yaml_item(value, i), &s->programs[i]))
            return false;
    }
    return true;
}

static bool read_all(struct scenario_reader *reader)
{
    struct scenario *s = reader->scenario;
    struct raw_scenario raw = {0};
    assert(reader->tree);
    if (!yaml_read_fields(yaml_root(reader->tree), scenario_fields, &raw, reader->errors))
        return false;
    s->name = raw.name;
    s->about = raw.about;
    s->topology = topology_read(raw.topology, reader->arena, reader->errors);
    return s->topology && read_proves(reader, raw.proves) &&
           read_texts(reader, raw.tags, "tags", &s->tags, &s->tag_count) &&
           read_requires(reader, raw.requires) && read_programs(reader, raw.programs) &&
           scenario_read_steps(reader, raw.steps) && scenario_read_checks(reader, raw.expect);
}

struct scenario *scenario_read(const char *file, const char *text, size_t length,
                               const char *const *program_names, size_t program_count,
                               struct yaml_errors *errors)
{
    assert(file && text && errors && program_count <= SCENARIO_MAX_PROGRAMS);
    struct yaml_tree *tree = yaml_parse(text, length, errors);
    if (!tree)
        return NULL;
    struct scenario_owner *owner = calloc(1, sizeof *owner);
    if (!owner)
        abort();
    owner->tree = tree;
    struct scenario_reader reader = {&owner->arena,    errors,        tree,
                                     &owner->scenario, program_names, program_count};
    owner->scenario.file = arena_copy(&owner->arena, file);
    if (!read_all(&reader)) {
        assert(errors->count > 0);
        scenario_free(&owner->scenario);
        return NULL;
    }
    return &owner->scenario;
}

void scenario_free(struct scenario *scenario)
{
    struct scenario_owner *owner = (struct scenario_owner *)scenario;
    if (!owner)
        return;
    yaml_tree_free(owner->tree);
    arena_free(&owner->arena);
    free(owner);
}
