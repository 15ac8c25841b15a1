/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/matrix.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/text.h"
#include "src/scenario/topology_read.h"

struct label {
    const char *name;
    const struct yaml_value *values; /* mapping from names to scalars; null: none */
};

struct dimension {
    const char *name;
    struct label labels[MATRIX_MAX_LABELS];
    size_t count;
};

struct matrix {
    struct arena *arena;
    struct dimension dimensions[MATRIX_MAX_DIMENSIONS];
    size_t dimension_count;
    uint8_t (*cells)[MATRIX_MAX_DIMENSIONS]; /* positions of their labels */
    const char **names;
    size_t cell_count;
};

struct application { /* of one cell to one value */
    const struct matrix *matrix;
    const uint8_t *cell;
    struct yaml_errors *errors;
};

static bool refuse(struct yaml_errors *errors, const struct yaml_value *value, const char *text)
{
    yaml_complain(errors, yaml_mark(value), "%s", text);
    return false;
}

static const struct dimension *find_dimension(const struct matrix *m, const struct yaml_value *name,
                                              struct yaml_errors *errors)
{
    const char *names[MATRIX_MAX_DIMENSIONS];
    assert(m->dimension_count > 0);
    for (size_t i = 0; i < m->dimension_count; i++) {
        names[i] = m->dimensions[i].name;
        if (strcmp(names[i], yaml_text(name)) == 0)
            return &m->dimensions[i];
    }
    topology_complain_unknown(errors, yaml_mark(name), "matrix", yaml_text(name), names,
                              m->dimension_count);
    return NULL;
}

/* Whether the label at `chosen` is `value`, or one of the list `value`; every label must exist. */
static bool match_labels(const struct dimension *dimension, const struct yaml_value *value,
                         size_t chosen, bool *match, struct yaml_errors *errors)
{
    const char *names[MATRIX_MAX_LABELS], *text;
    bool list = yaml_kind(value) == YAML_KIND_SEQUENCE;
    assert(chosen < dimension->count && match);
    *match = false;
    for (size_t i = 0; i < dimension->count; i++)
        names[i] = dimension->labels[i].name;
    for (size_t i = 0; i < (list ? yaml_count(value) : 1); i++) {
        const struct yaml_value *item = list ? yaml_item(value, i) : value;
        size_t at = 0;
        if (!yaml_read_string(item, dimension->name, 1, 64, &text, errors))
            return false;
        while (at < dimension->count && strcmp(names[at], text) != 0)
            at++;
        if (at == dimension->count) {
            topology_complain_unknown(errors, yaml_mark(item), dimension->name, text, names, at);
            return false;
        }
        *match = *match || at == chosen;
    }
    return true;
}

/* Whether a cell fits "{dimension: label, dimension: [label, label]}". */
static bool match_cell(const struct matrix *m, const uint8_t *cell, const struct yaml_value *value,
                       bool *match, struct yaml_errors *errors)
{
    assert(cell && value && match);
    *match = true;
    if (yaml_kind(value) != YAML_KIND_MAPPING || yaml_count(value) == 0)
        return refuse(errors, value, "a mapping from names of the matrix to labels is expected");
    for (size_t i = 0; i < yaml_count(value); i++) {
        bool one;
        const struct dimension *dimension = find_dimension(m, yaml_key(value, i), errors);
        if (!dimension)
            return false;
        if (!match_labels(dimension, yaml_item(value, i), cell[dimension - m->dimensions], &one,
                          errors))
            return false;
        *match = *match && one;
    }
    return true;
}

static bool read_label(const struct yaml_value *name, const struct yaml_value *values,
                       struct dimension *dimension, struct yaml_errors *errors)
{
    const char *text;
    assert(dimension->count < MATRIX_MAX_LABELS);
    if (!yaml_read_string(name, dimension->name, 1, 64, &text, errors))
        return false;
    if (strpbrk(text, " =,${}"))
        return refuse(errors, name, "a label without blanks, '=', ',', '$' and braces is expected");
    for (size_t i = 0; i < dimension->count; i++) {
        if (strcmp(dimension->labels[i].name, text) == 0)
            return refuse(errors, name, "found a label again; each stands once");
    }
    bool fits = !values || yaml_kind(values) == YAML_KIND_MAPPING;
    for (size_t i = 0; fits && values && i < yaml_count(values); i++)
        fits = yaml_kind(yaml_item(values, i)) == YAML_KIND_SCALAR;
    if (!fits)
        return refuse(errors, values, "a mapping from names to single values is expected");
    dimension->labels[dimension->count++] = (struct label){text, values};
    return true;
}

static bool read_dimension(const struct yaml_value *name, const struct yaml_value *value,
                           struct dimension *out, struct yaml_errors *errors)
{
    bool mapping = yaml_kind(value) == YAML_KIND_MAPPING;
    assert(name && out);
    out->name = yaml_text(name);
    if (strpbrk(out->name, " =,.${}"))
        return refuse(errors, name,
                      "a name without blanks, '=', ',', '.', '$', braces is expected");
    if (yaml_kind(value) == YAML_KIND_SCALAR || yaml_count(value) == 0)
        return refuse(errors, value, "a list of labels, or a mapping from labels, is expected");
    if (yaml_count(value) > MATRIX_MAX_LABELS)
        return refuse(errors, value, "found more than 64 labels; that many are allowed");
    for (size_t i = 0; i < yaml_count(value); i++) {
        if (!read_label(mapping ? yaml_key(value, i) : yaml_item(value, i),
                        mapping ? yaml_item(value, i) : NULL, out, errors))
            return false;
    }
    return true;
}

static const char *name_of(const struct matrix *m, const uint8_t *cell)
{
    struct text name = {0};
    for (size_t i = 0; i < m->dimension_count; i++)
        text_add(&name, "%s%s=%s", i ? " " : "", m->dimensions[i].name,
                 m->dimensions[i].labels[cell[i]].name);
    const char *kept = arena_copy(m->arena, text_data(&name));
    text_free(&name);
    return kept;
}

static bool is_excepted(const struct matrix *m, const uint8_t *cell,
                        const struct yaml_value *except, bool *excepted, struct yaml_errors *errors)
{
    *excepted = false;
    for (size_t i = 0; except && i < yaml_count(except); i++) {
        bool match;
        if (!match_cell(m, cell, yaml_item(except, i), &match, errors))
            return false;
        *excepted = *excepted || match;
    }
    return true;
}

/* The last dimension changes fastest; false when it was the last combination. */
static bool next_cell(const struct matrix *m, uint8_t *cell)
{
    assert(m->dimension_count > 0);
    for (size_t i = m->dimension_count; i-- > 0;) {
        if (++cell[i] < m->dimensions[i].count)
            return true;
        cell[i] = 0;
    }
    return false;
}

static bool make_cells(struct matrix *m, const struct yaml_value *matrix,
                       const struct yaml_value *except, struct yaml_errors *errors)
{
    size_t all = 1;
    uint8_t cell[MATRIX_MAX_DIMENSIONS] = {0};
    for (size_t i = 0; i < m->dimension_count && all <= MATRIX_MAX_CELLS; i++)
        all *= m->dimensions[i].count;
    if (all > MATRIX_MAX_CELLS)
        return refuse(errors, matrix, "found more than 2048 combinations; that many are allowed");
    m->cells = arena_alloc(m->arena, all, sizeof *m->cells);
    m->names = arena_alloc(m->arena, all, sizeof *m->names);
    do {
        bool excepted;
        if (!is_excepted(m, cell, except, &excepted, errors))
            return false;
        if (excepted && !PLANTED(scenario_except_ignored))
            continue;
        m->names[m->cell_count] = name_of(m, cell);
        memcpy(m->cells[m->cell_count++], cell, sizeof cell);
    } while (next_cell(m, cell));
    if (m->cell_count == 0)
        return refuse(errors, except, "except: nothing is left of the matrix");
    return true;
}

static bool read_matrix(struct matrix *m, const struct yaml_value *matrix,
                        const struct yaml_value *except, struct yaml_errors *errors)
{
    if (yaml_kind(matrix) != YAML_KIND_MAPPING || yaml_count(matrix) == 0)
        return refuse(errors, matrix, "matrix: a mapping from names to labels is expected");
    if (yaml_count(matrix) > MATRIX_MAX_DIMENSIONS)
        return refuse(errors, matrix, "matrix: found more than 8 names; that many are allowed");
    if (except && yaml_kind(except) != YAML_KIND_SEQUENCE)
        return refuse(errors, except, "except: a list of combinations is expected");
    for (size_t i = 0; i < yaml_count(matrix); i++) {
        struct dimension *dimension = &m->dimensions[m->dimension_count++];
        if (!read_dimension(yaml_key(matrix, i), yaml_item(matrix, i), dimension, errors))
            return false;
    }
    return make_cells(m, matrix, except, errors);
}

struct matrix *matrix_read(const struct yaml_value *root, struct arena *arena,
                           struct yaml_errors *errors)
{
    assert(root && arena && errors);
    struct matrix *m = arena_alloc(arena, 1, sizeof *m);
    const struct yaml_value *matrix = yaml_find(root, "matrix");
    const struct yaml_value *except = yaml_find(root, "except");
    static const char *const no_name[] = {""};
    m->arena = arena;
    m->cell_count = 1;
    if (!matrix) {
        m->cells = arena_alloc(arena, 1, sizeof *m->cells);
        m->names = arena_alloc(arena, 1, sizeof *m->names);
        m->names[0] = no_name[0];
        if (!except)
            return m;
        refuse(errors, except, "except: found without matrix");
        return NULL;
    }
    m->cell_count = 0;
    return read_matrix(m, matrix, except, errors) ? m : NULL;
}

size_t matrix_cells(const struct matrix *matrix)
{
    assert(matrix);
    return matrix->cell_count;
}

const char *matrix_cell_name(const struct matrix *matrix, size_t cell)
{
    assert(matrix && cell < matrix->cell_count);
    return matrix->names[cell];
}

/* The value of the variable "dimension" or "dimension.name"; null when there is none. */
static const char *variable(const struct application *a, const char *name, size_t length)
{
    const struct matrix *m = a->matrix;
    for (size_t i = 0; i < m->dimension_count; i++) {
        const struct label *label = &m->dimensions[i].labels[a->cell[i]];
        size_t own = strlen(m->dimensions[i].name);
        if (strncmp(m->dimensions[i].name, name, own) != 0 || own > length)
            continue;
        if (own == length)
            return label->name;
        if (name[own] != '.')
            continue;
        for (size_t k = 0; label->values && k < yaml_count(label->values); k++) {
            const char *key = yaml_text(yaml_key(label->values, k));
            if (strlen(key) == length - own - 1 && strncmp(key, name + own + 1, strlen(key)) == 0)
                return yaml_text(yaml_item(label->values, k));
        }
    }
    return NULL;
}

static bool complain_variable(const struct application *a, const struct yaml_value *scalar,
                              const char *found, size_t length)
{
    const struct matrix *m = a->matrix;
    const char *names[MATRIX_MAX_DIMENSIONS * 17];
    char name[80];
    size_t count = 0;
    struct text full = {0};
    for (size_t i = 0; i < m->dimension_count; i++) {
        const struct label *label = &m->dimensions[i].labels[a->cell[i]];
        names[count++] = m->dimensions[i].name;
        for (size_t k = 0; label->values && k < yaml_count(label->values) && k < 16; k++) {
            full.length = 0;
            text_add(&full, "%s.%s", m->dimensions[i].name, yaml_text(yaml_key(label->values, k)));
            names[count++] = arena_copy(m->arena, text_data(&full));
        }
    }
    text_free(&full);
    length = length < sizeof name ? length : sizeof name - 1;
    memcpy(name, found, length);
    name[length] = '\0';
    if (count)
        topology_complain_unknown(a->errors, yaml_mark(scalar), "variable", name, names, count);
    else
        yaml_complain(a->errors, yaml_mark(scalar), "found the variable '%s' without a matrix",
                      name);
    return false;
}

/* A scalar that is nothing but a variable takes its value as if it had been written plainly. */
static bool apply_scalar(void *context, struct yaml_value *scalar)
{
    const struct application *a = context;
    struct text out = {0};
    bool clean = true;
    const char *text = yaml_text(scalar), *at = text, *open;
    assert(a->matrix && a->cell);
    while (clean && (open = strstr(at, "${"))) {
        const char *close = strchr(open, '}');
        const char *value = close ? variable(a, open + 2, (size_t)(close - open - 2)) : NULL;
        if (!close)
            clean = refuse(a->errors, scalar, "found '${' without '}'");
        else if (!value)
            clean = complain_variable(a, scalar, open + 2, (size_t)(close - open - 2));
        else
            text_add(&out, "%.*s%s", (int)(open - at), at, value);
        at = close ? close + 1 : at;
    }
    if (clean && at != text) {
        bool whole = strncmp(text, "${", 2) == 0 && strchr(text, '}')[1] == '\0';
        text_add(&out, "%s", at);
        yaml_set_text(scalar, text_data(&out), yaml_is_quoted(scalar) && !whole);
    }
    text_free(&out);
    return clean;
}

static bool apply_only(void *context, struct yaml_value *item, bool *keep)
{
    const struct application *a = context;
    const struct yaml_value *only = yaml_find(item, "only");
    assert(keep);
    if (!only)
        return true;
    if (a->matrix->dimension_count == 0)
        return refuse(a->errors, only, "only: found without matrix");
    if (!match_cell(a->matrix, a->cell, only, keep, a->errors))
        return false;
    if (PLANTED(scenario_only_ignored))
        *keep = true;
    if (*keep)
        yaml_remove(item, "only");
    return true;
}

bool matrix_apply(const struct matrix *matrix, size_t cell, struct yaml_value *value,
                  struct yaml_errors *errors)
{
    assert(matrix && cell < matrix->cell_count && value && errors);
    struct application a = {matrix, matrix->cells[cell], errors};
    const struct yaml_edit edit = {apply_only, apply_scalar, &a};
    return yaml_edit(value, &edit) && yaml_check_keys(value, errors);
}
