/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/matrix.h"
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
    const struct yaml_value *matrix, *except;
    int64_t real_seconds;
};

#define FIELD(name, type, min, max, required)                                                      \
    {                                                                                              \
#name, YAML_TYPE_##type, offsetof(struct raw_scenario, name), min, max, NULL, NULL,        \
            required                                                                               \
    }
static const struct yaml_field scenario_fields[] = {
    FIELD(name, STRING, 3, 100, true),
    FIELD(proves, SEQUENCE, 0, 0, true),
    FIELD(about, STRING, 20, 600, true),
    FIELD(tags, SEQUENCE, 0, 0, false),
    FIELD(requires, SEQUENCE, 0, 0, false),
    FIELD(topology, MAPPING, 0, 0, true),
    FIELD(programs, MAPPING, 0, 0, false),
    FIELD(steps, SEQUENCE, 0, 0, true),
    FIELD(expect, SEQUENCE, 0, 0, false),
    FIELD(matrix, ANY, 0, 0, false),
    FIELD(except, ANY, 0, 0, false),
    FIELD(real_seconds, INTEGER, 1, 86400, false),
    {0},
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

/* Where a program's configuration says how it knows its peers: in a section, or at the top. */
static const struct key_place {
    const char *program, *section;
} key_places[] = {{"server", "network"}, {"client", NULL}};

/* What authentication is not about need not invent a key: all programs get the same one. */
static void supply_key(const char *program, struct yaml_value *config)
{
    size_t i = 0;
    assert(program && config);
    while (i < 2 && strcmp(key_places[i].program, program) != 0)
        i++;
    const char *section = i < 2 ? key_places[i].section : NULL;
    struct yaml_value *place = section ? yaml_find_edit(config, section) : config;
    if (i == 2)
        return;
    if (!place)
        place = yaml_add_mapping(config, section);
    if (yaml_kind(place) != YAML_KIND_MAPPING || yaml_find(place, "auth_key") ||
        yaml_find(place, "auth_key_file"))
        return; /* the program judges what was written */
    yaml_add_text(place, "auth_key", SCENARIO_AUTH_KEY);
}

const char *scenario_read_config(struct scenario_reader *reader, const char *program,
                                 const struct yaml_value *config)
{
    assert(reader && program && config);
    /* The tree belongs to the reader. */
    supply_key(program, (struct yaml_value *)(uintptr_t)config);
    char *text = yaml_source(config);
    if (!text)
        abort();
    const char *kept = arena_copy(reader->arena, text);
    free(text);
    return kept;
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
    *out = (struct scenario_program){yaml_mark(node), yaml_text(node), program,
                                     scenario_read_config(reader, program, raw.config), false};
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

/* What its waits add up to, whatever happens between them. */
static uint64_t waits_of(const struct scenario *s)
{
    uint64_t time = 0;
    for (size_t i = 0; i < s->step_count; i++) {
        const struct scenario_step *step = &s->steps[i];
        if (step->trigger == SCENARIO_AT && step->time > time)
            time = step->time;
        if (step->trigger == SCENARIO_AFTER)
            time += step->time;
        time += step->action == SCENARIO_NOTHING ? step->quiet : step->expect.no_sooner;
    }
    for (size_t i = 0; i < s->check_count; i++) {
        const struct scenario_check *check = &s->checks[i];
        bool waited = check->by != FABRIC_FOREVER && !check->never;
        if (waited && check->after > time)
            time = check->after;
    }
    return time;
}

static bool read_real(struct scenario_reader *reader, const struct yaml_value *value,
                      int64_t seconds)
{
    struct scenario *s = reader->scenario;
    uint64_t waits = waits_of(s);
    s->real = seconds ? (uint64_t)seconds * UINT64_C(1000000000) : waits;
    if (s->real >= waits || PLANTED(scenario_real_unchecked))
        return true;
    yaml_complain(reader->errors, yaml_mark(value),
                  "real_seconds: found %" PRIi64 "; the waits of its steps alone add up to %" PRIu64
                  " s",
                  seconds, (waits + 999999999) / 1000000000);
    return false;
}

static bool read_all(struct scenario_reader *reader, const struct raw_scenario *raw)
{
    struct scenario *s = reader->scenario;
    assert(reader->tree && raw->topology);
    s->name = raw->name;
    s->about = raw->about;
    s->topology = topology_read(raw->topology, reader->arena, reader->errors);
    return s->topology && read_proves(reader, raw->proves) &&
           read_texts(reader, raw->tags, "tags", &s->tags, &s->tag_count) &&
           read_requires(reader, raw->requires) && read_programs(reader, raw->programs) &&
           scenario_read_steps(reader, raw->steps) && scenario_read_checks(reader, raw->expect) &&
           read_real(reader, yaml_find(yaml_root(reader->tree), "real_seconds"), raw->real_seconds);
}

/* Everything but what names the scenario and its cells. */
static bool apply_cell(struct scenario_reader *reader, const struct matrix *matrix, size_t cell)
{
    static const char *const parts[] = {"proves",   "requires", "topology",
                                        "programs", "steps",    "expect"};
    struct yaml_value *root = yaml_root_edit(reader->tree);
    bool clean = true;
    assert(cell < matrix_cells(matrix));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct yaml_value *part = yaml_find_edit(root, parts[i]);
        clean = (!part || matrix_apply(matrix, cell, part, reader->errors)) && clean;
    }
    return clean;
}

static bool read_cell(struct scenario_reader *reader, size_t cell)
{
    struct raw_scenario raw = {0}; /* what it points to is edited in place */
    const struct yaml_value *root = yaml_root(reader->tree);
    if (!yaml_read_fields(root, scenario_fields, &raw, reader->errors))
        return false;
    struct matrix *matrix = matrix_read(root, reader->arena, reader->errors);
    if (!matrix || !apply_cell(reader, matrix, cell))
        return false;
    reader->scenario->cell = matrix_cell_name(matrix, cell);
    return read_all(reader, &raw);
}

bool scenario_read_cells(const char *text, size_t length, struct scenario_cells *out,
                         struct yaml_errors *errors)
{
    assert(text && out && errors);
    struct arena arena = {0};
    struct yaml_tree *tree = yaml_parse(text, length, errors);
    struct matrix *matrix = tree ? matrix_read(yaml_root(tree), &arena, errors) : NULL;
    *out = (struct scenario_cells){0};
    if (matrix) {
        out->count = matrix_cells(matrix);
        out->names = arena_alloc(&out->arena, out->count, sizeof *out->names);
        for (size_t i = 0; i < out->count; i++)
            out->names[i] = arena_copy(&out->arena, matrix_cell_name(matrix, i));
    }
    arena_free(&arena);
    yaml_tree_free(tree);
    return matrix != NULL;
}

struct scenario *scenario_read(const char *file, const char *text, size_t length, size_t cell,
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
    if (!read_cell(&reader, cell)) {
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
