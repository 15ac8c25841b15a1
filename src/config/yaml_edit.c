/* SPDX-License-Identifier: Apache-2.0 */
#include "src/config/yaml_edit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/yaml_tree.h"

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *out = malloc(size);
    if (!out)
        abort();
    return memcpy(out, text, size);
}

struct yaml_value *yaml_find_edit(struct yaml_value *mapping, const char *key)
{
    assert(mapping && key);
    for (size_t i = 0; mapping->kind == YAML_KIND_MAPPING && i < mapping->count; i++) {
        if (strcmp(mapping->keys[i]->text, key) == 0)
            return mapping->items[i];
    }
    return NULL;
}

void yaml_set_text(struct yaml_value *scalar, const char *text, bool quoted)
{
    assert(scalar && scalar->kind == YAML_KIND_SCALAR && text);
    char *kept = copy(text);
    yaml_text_free(scalar->text);
    scalar->text = kept;
    scalar->quoted = quoted;
}

static void remove_at(struct yaml_value *from, size_t i)
{
    assert(i < from->count);
    if (from->keys) {
        yaml_value_free(from->keys[i]);
        memmove(&from->keys[i], &from->keys[i + 1],
                (from->count - i - 1) * sizeof(struct yaml_value *));
    }
    yaml_value_free(from->items[i]);
    memmove(&from->items[i], &from->items[i + 1],
            (from->count - i - 1) * sizeof(struct yaml_value *));
    from->count--;
}

void yaml_remove(struct yaml_value *mapping, const char *key)
{
    assert(mapping && mapping->kind == YAML_KIND_MAPPING && key);
    for (size_t i = 0; i < mapping->count; i++) {
        if (strcmp(mapping->keys[i]->text, key) == 0) {
            remove_at(mapping, i);
            return;
        }
    }
}

static struct yaml_value *value_at(enum yaml_kind kind, struct yaml_mark mark, const char *text)
{
    struct yaml_value *value = calloc(1, sizeof *value);
    if (!value)
        abort();
    value->kind = kind;
    value->mark = mark;
    value->text = text ? copy(text) : NULL;
    return value;
}

static struct yaml_value *add(struct yaml_value *mapping, const char *key, struct yaml_value *item)
{
    struct yaml_mark mark = mapping->mark;
    assert(mapping->kind == YAML_KIND_MAPPING && !yaml_find(mapping, key));
    if (!yaml_value_append(mapping, value_at(YAML_KIND_SCALAR, mark, key), item))
        abort();
    return item;
}

struct yaml_value *yaml_add_mapping(struct yaml_value *mapping, const char *key)
{
    assert(mapping && key);
    return add(mapping, key, value_at(YAML_KIND_MAPPING, mapping->mark, NULL));
}

void yaml_add_text(struct yaml_value *mapping, const char *key, const char *text)
{
    assert(mapping && key && text);
    add(mapping, key, value_at(YAML_KIND_SCALAR, mapping->mark, text));
}

struct yaml_value *yaml_add_sequence(struct yaml_value *mapping, const char *key)
{
    assert(mapping && key);
    return add(mapping, key, value_at(YAML_KIND_SEQUENCE, mapping->mark, NULL));
}

void yaml_add_item(struct yaml_value *sequence, const char *text)
{
    assert(sequence && sequence->kind == YAML_KIND_SEQUENCE && text);
    if (!yaml_value_append(sequence, NULL, value_at(YAML_KIND_SCALAR, sequence->mark, text)))
        abort();
}

static void mark_all(struct yaml_value *value, struct yaml_mark mark)
{
    value->mark = mark;
    for (size_t i = 0; i < value->count; i++) { /* at most YAML_MAX_DEPTH deep */
        if (value->keys)
            value->keys[i]->mark = mark;
        mark_all(value->items[i], mark);
    }
}

void yaml_unmark(struct yaml_value *value)
{
    assert(value);
    mark_all(value, (struct yaml_mark){0, 0});
}

void yaml_set_mark(struct yaml_value *mapping, const char *key, struct yaml_mark mark)
{
    assert(mapping && mapping->kind == YAML_KIND_MAPPING && key);
    for (size_t i = 0; i < mapping->count; i++) {
        if (strcmp(mapping->keys[i]->text, key) != 0)
            continue;
        mapping->keys[i]->mark = mark;
        mark_all(mapping->items[i], mark);
        return;
    }
    assert(0 && "the key is there");
}

bool yaml_edit(struct yaml_value *value, const struct yaml_edit *edit)
{
    bool clean = true;
    assert(value && edit && edit->keep && edit->scalar);
    if (value->kind == YAML_KIND_SCALAR)
        return edit->scalar(edit->context, value);
    for (size_t i = 0; i < value->count;) { /* at most YAML_MAX_DEPTH deep */
        bool keep = true;
        clean = edit->keep(edit->context, value->items[i], &keep) && clean;
        if (!keep) {
            remove_at(value, i);
            continue;
        }
        if (value->keys)
            clean = edit->scalar(edit->context, value->keys[i]) && clean;
        clean = yaml_edit(value->items[i], edit) && clean;
        i++;
    }
    return clean;
}
