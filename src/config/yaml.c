/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/yaml.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/yaml_tree.h"
#include "src/fabric/planted.h"

void yaml_errors_init(struct yaml_errors *errors, const char *label)
{
    assert(errors && label);
    errors->label = label;
    errors->count = 0;
}

/* A new error, whose text is still to come; null when there is no room. */
static struct yaml_error *add(struct yaml_errors *errors, enum fabric_error error,
                              struct yaml_mark mark)
{
    assert(error);
    if (errors->count == YAML_MAX_ERRORS)
        return NULL;
    struct yaml_error *e = &errors->items[errors->count++];
    e->mark = mark;
    e->error = error;
    return e;
}

static void complain(struct yaml_errors *errors, enum fabric_error error, struct yaml_mark mark,
                     const char *format, va_list args) __attribute__((format(printf, 4, 0)));

static void complain(struct yaml_errors *errors, enum fabric_error error, struct yaml_mark mark,
                     const char *format, va_list args)
{
    assert(errors && errors->label && format);
    struct yaml_error *e = add(errors, error, mark);
    if (!e)
        return;
    int n = mark.line || mark.column
                ? snprintf(e->text, sizeof e->text, "%.200s:%u:%u: ", errors->label, mark.line,
                           mark.column)
                : snprintf(e->text, sizeof e->text, "%.200s: ", errors->label);
    assert(n > 0 && (size_t)n < sizeof e->text);
    vsnprintf(e->text + n, sizeof e->text - (size_t)n, format, args);
}

void yaml_complain(struct yaml_errors *errors, struct yaml_mark mark, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(errors, ERR_CONFIG_INVALID, mark, format, args);
    va_end(args);
}

void yaml_complain_as(struct yaml_errors *errors, enum fabric_error error, struct yaml_mark mark,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(errors, error, mark, format, args);
    va_end(args);
}

void yaml_complain_about(struct yaml_errors *errors, const char *about, const char *format, ...)
{
    assert(errors && about && format);
    struct yaml_error *e = add(errors, ERR_CONFIG_INVALID, (struct yaml_mark){0, 0});
    if (!e)
        return;
    int n = snprintf(e->text, sizeof e->text, "%.200s: ", about);
    assert(n > 0 && (size_t)n < sizeof e->text);
    va_list args;
    va_start(args, format);
    vsnprintf(e->text + n, sizeof e->text - (size_t)n, format, args);
    va_end(args);
}

enum fabric_error yaml_errors_error(const struct yaml_errors *errors)
{
    assert(errors && errors->count <= YAML_MAX_ERRORS);
    for (size_t i = 0; i < errors->count; i++) {
        if (errors->items[i].error != ERR_CONFIG_INVALID && !PLANTED(config_error_nameless))
            return errors->items[i].error;
    }
    return errors->count ? ERR_CONFIG_INVALID : FABRIC_OK;
}

enum yaml_kind yaml_kind(const struct yaml_value *value)
{
    assert(value);
    return value->kind;
}

const char *yaml_kind_name(enum yaml_kind kind)
{
    static const char *const names[] = {"a single value", "a list", "a mapping"};
    assert(kind <= YAML_KIND_MAPPING);
    return names[kind];
}

struct yaml_mark yaml_mark(const struct yaml_value *value)
{
    assert(value);
    return value->mark;
}

const char *yaml_text(const struct yaml_value *scalar)
{
    assert(scalar && scalar->kind == YAML_KIND_SCALAR);
    return scalar->text;
}

bool yaml_is_quoted(const struct yaml_value *scalar)
{
    assert(scalar && scalar->kind == YAML_KIND_SCALAR);
    return scalar->quoted;
}

size_t yaml_count(const struct yaml_value *value)
{
    assert(value);
    return value->count;
}

const struct yaml_value *yaml_item(const struct yaml_value *value, size_t i)
{
    assert(value && i < value->count);
    return value->items[i];
}

const struct yaml_value *yaml_key(const struct yaml_value *mapping, size_t i)
{
    assert(mapping && mapping->kind == YAML_KIND_MAPPING && i < mapping->count);
    return mapping->keys[i];
}

const struct yaml_value *yaml_find(const struct yaml_value *mapping, const char *key)
{
    assert(mapping && key);
    if (mapping->kind != YAML_KIND_MAPPING)
        return NULL;
    for (size_t i = 0; i < mapping->count; i++) {
        if (strcmp(mapping->keys[i]->text, key) == 0)
            return mapping->items[i];
    }
    return NULL;
}
