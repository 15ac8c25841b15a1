/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From libyaml's events to our tree. The depth is watched here, event by event, because libyaml
 * 0.2.5 needs quadratic time for deep nesting.
 */
#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "src/config/yaml.h"
#include "src/config/yaml_edit.h"
#include "src/config/yaml_tree.h"

struct yaml_tree {
    char *text;
    size_t length;
    struct yaml_value *root;
};

struct reader {
    yaml_parser_t parser;
    struct yaml_tree *tree;
    struct yaml_errors *errors;
    struct yaml_value *open[YAML_MAX_DEPTH]; /* containers being filled */
    struct yaml_value *key[YAML_MAX_DEPTH];  /* of a mapping, when its value is due */
    size_t depth;
};

void yaml_text_free(char *text)
{
    if (text)
        OPENSSL_cleanse(text, strlen(text));
    free(text);
}

void yaml_value_free(struct yaml_value *value)
{
    if (!value)
        return;
    for (size_t i = 0; i < value->count; i++) { /* at most YAML_MAX_DEPTH deep */
        if (value->keys)
            yaml_value_free(value->keys[i]);
        yaml_value_free(value->items[i]);
    }
    free(value->keys);
    free(value->items);
    yaml_text_free(value->text);
    free(value);
}

static struct yaml_mark mark_of(const yaml_mark_t *mark)
{
    return (struct yaml_mark){(uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
}

/* libyaml gives no mark for bytes that are no UTF-8, only their offset. */
static struct yaml_mark mark_at(const char *text, size_t offset)
{
    struct yaml_mark mark = {1, 1};
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 1;
        } else if (((unsigned char)text[i] & 0xc0u) != 0x80u) {
            mark.column++;
        }
    }
    return mark;
}

/* Where a line is indented with a TAB, or false. Lines with nothing but white space do not count.
 */
static bool tab_indent(const char *text, size_t length, size_t *offset)
{
    bool indent = true, seen = false;
    size_t tab = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '\n') {
            indent = true;
            seen = false;
        } else if (indent && c == '\t') {
            tab = seen ? tab : i;
            seen = true;
        } else if (indent && c != ' ' && c != '\r') {
            indent = false;
            if (seen) {
                *offset = tab;
                return true;
            }
        }
    }
    return false;
}

static void complain_parser(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    struct yaml_mark mark = mark_of(&p->problem_mark);
    const char *problem = p->problem ? p->problem : "no memory";
    if (p->error == YAML_READER_ERROR) {
        size_t at = p->problem_offset < r->tree->length ? p->problem_offset : r->tree->length;
        yaml_complain(r->errors, mark_at(r->tree->text, at), "%s; only UTF-8 is allowed", problem);
    } else if (p->context) {
        yaml_complain(r->errors, mark, "%s (%s that began at line %u, column %u)", problem,
                      p->context, (unsigned)p->context_mark.line + 1,
                      (unsigned)p->context_mark.column + 1);
    } else {
        yaml_complain(r->errors, mark, "%s", problem);
    }
}

static struct yaml_value *value_new(enum yaml_kind kind, const yaml_event_t *event)
{
    struct yaml_value *value = calloc(1, sizeof *value);
    if (!value)
        return NULL;
    value->kind = kind;
    value->mark = mark_of(&event->start_mark);
    value->begin = event->start_mark.index;
    return value;
}

bool yaml_value_append(struct yaml_value *to, struct yaml_value *key, struct yaml_value *item)
{
    if (to->count == to->room) {
        size_t room = to->room ? to->room * 2 : 4;
        struct yaml_value **items = realloc(to->items, room * sizeof(struct yaml_value *));
        struct yaml_value **keys = NULL;
        if (items)
            to->items = items;
        if (items && key)
            keys = realloc(to->keys, room * sizeof(struct yaml_value *));
        if (keys)
            to->keys = keys;
        if (!items || (key && !keys)) {
            yaml_value_free(key);
            yaml_value_free(item);
            return false;
        }
        to->room = room;
    }
    if (key)
        to->keys[to->count] = key;
    to->items[to->count++] = item;
    return true;
}

/* Puts a finished or just opened value where it belongs. */
static bool place(struct reader *r, struct yaml_value *value)
{
    if (r->depth == 0) {
        r->tree->root = value;
        return true;
    }
    assert(r->depth <= YAML_MAX_DEPTH);
    struct yaml_value *parent = r->open[r->depth - 1];
    if (parent->kind == YAML_KIND_SEQUENCE)
        return yaml_value_append(parent, NULL, value);
    struct yaml_value *key = r->key[r->depth - 1];
    if (key) {
        r->key[r->depth - 1] = NULL;
        return yaml_value_append(parent, key, value);
    }
    if (value->kind != YAML_KIND_SCALAR) {
        yaml_complain(r->errors, value->mark, "found %s as a key; a key is a single word",
                      yaml_kind_name(value->kind));
        yaml_value_free(value);
        return false;
    }
    r->key[r->depth - 1] = value;
    return true;
}

static bool refuse_marks(struct reader *r, const yaml_event_t *event, const void *anchor,
                         const void *tag, const char *tag_text)
{
    struct yaml_mark mark = mark_of(&event->start_mark);
    if (anchor)
        yaml_complain(r->errors, mark, "found an anchor (&); anchors are not allowed");
    if (tag)
        yaml_complain(r->errors, mark, "found the tag '%.60s'; tags are not allowed", tag_text);
    return !anchor && !tag;
}

static bool is_key_next(const struct reader *r)
{
    return r->depth && r->open[r->depth - 1]->kind == YAML_KIND_MAPPING && !r->key[r->depth - 1];
}

static bool take_scalar(struct reader *r, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    struct yaml_mark mark = mark_of(&event->start_mark);
    if (!refuse_marks(r, event, event->data.scalar.anchor, event->data.scalar.tag,
                      (const char *)event->data.scalar.tag))
        return false;
    const char *problem = NULL;
    if (memchr(text, 0, length))
        problem = "found a NUL character; it is not allowed";
    else if (!quoted && (length == 0 || strcmp(text, "~") == 0))
        problem = "found an empty value; write it, or leave the key out";
    else if (!quoted && strcmp(text, "<<") == 0 && is_key_next(r))
        problem = "found a merge key (<<); merging is not allowed";
    if (problem) {
        yaml_complain(r->errors, mark, "%s", problem);
        return false;
    }
    struct yaml_value *value = value_new(YAML_KIND_SCALAR, event);
    if (!value)
        return false;
    value->quoted = quoted;
    value->text = malloc(length + 1);
    if (!value->text) {
        yaml_value_free(value);
        return false;
    }
    memcpy(value->text, text, length);
    value->text[length] = 0;
    return place(r, value);
}

static bool open_container(struct reader *r, const yaml_event_t *event, enum yaml_kind kind)
{
    const yaml_char_t *anchor = kind == YAML_KIND_SEQUENCE ? event->data.sequence_start.anchor
                                                           : event->data.mapping_start.anchor;
    const yaml_char_t *tag =
        kind == YAML_KIND_SEQUENCE ? event->data.sequence_start.tag : event->data.mapping_start.tag;
    if (!refuse_marks(r, event, anchor, tag, (const char *)tag))
        return false;
    if (r->depth == YAML_MAX_DEPTH) {
        yaml_complain(r->errors, mark_of(&event->start_mark),
                      "found more than %d levels of nesting; that many are allowed",
                      YAML_MAX_DEPTH);
        return false;
    }
    struct yaml_value *value = value_new(kind, event);
    if (!value || !place(r, value))
        return false;
    r->open[r->depth] = value;
    r->key[r->depth] = NULL;
    r->depth++;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const struct yaml_value *x = *(struct yaml_value *const *)a;
    const struct yaml_value *y = *(struct yaml_value *const *)b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sorting a copy keeps a file of 100,000 keys from taking quadratic time. */
static bool refuse_duplicates(const struct yaml_value *mapping, struct yaml_errors *errors)
{
    if (mapping->count < 2)
        return true;
    struct yaml_value **sorted = malloc(mapping->count * sizeof(struct yaml_value *));
    if (!sorted)
        return false;
    memcpy(sorted, mapping->keys, mapping->count * sizeof(struct yaml_value *));
    qsort(sorted, mapping->count, sizeof(struct yaml_value *), compare_keys);
    bool clean = true;
    for (size_t i = 1; i < mapping->count; i++) {
        if (strcmp(sorted[i - 1]->text, sorted[i]->text) != 0)
            continue;
        yaml_complain(errors, sorted[i]->mark,
                      "found the key '%.60s' again; it stands at line %u, column %u already",
                      sorted[i]->text, sorted[i - 1]->mark.line, sorted[i - 1]->mark.column);
        clean = false;
    }
    free(sorted);
    return clean;
}

bool yaml_check_keys(const struct yaml_value *value, struct yaml_errors *errors)
{
    bool clean = value->kind != YAML_KIND_MAPPING || refuse_duplicates(value, errors);
    assert(value && errors);
    for (size_t i = 0; i < value->count; i++) /* at most YAML_MAX_DEPTH deep */
        clean = yaml_check_keys(value->items[i], errors) && clean;
    return clean;
}

static bool close_container(struct reader *r)
{
    assert(r->depth > 0);
    struct yaml_value *value = r->open[--r->depth];
    return value->kind != YAML_KIND_MAPPING || refuse_duplicates(value, r->errors);
}

/* One event; false ends the reading. */
static bool take(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        yaml_complain(r->errors, mark_of(&event->start_mark),
                      "found the alias '*%.60s'; aliases are not allowed",
                      (const char *)event->data.alias.anchor);
        return false;
    case YAML_DOCUMENT_START_EVENT:
        if (!r->tree->root)
            return true;
        yaml_complain(r->errors, mark_of(&event->start_mark),
                      "found a second document; one is allowed");
        return false;
    case YAML_SCALAR_EVENT:
        return take_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(r, event, YAML_KIND_SEQUENCE);
    case YAML_MAPPING_START_EVENT:
        return open_container(r, event, YAML_KIND_MAPPING);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_container(r);
    default:
        return true;
    }
}

static void read_events(struct reader *r)
{
    for (bool more = true; more;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event)) {
            complain_parser(r);
            break;
        }
        more = event.type != YAML_STREAM_END_EVENT && take(r, &event);
        yaml_event_delete(&event);
    }
    for (size_t i = 0; i < r->depth; i++) /* keys whose value never came */
        yaml_value_free(r->key[i]);
}

static bool acceptable(const char *text, size_t length, struct yaml_errors *errors)
{
    size_t tab;
    if (length > YAML_MAX_BYTES) {
        yaml_complain(errors, (struct yaml_mark){1, 1}, "found %zu bytes; at most %u are allowed",
                      length, YAML_MAX_BYTES);
        return false;
    }
    if (tab_indent(text, length, &tab)) {
        yaml_complain(errors, mark_at(text, tab),
                      "found a TAB in the indentation; only spaces are allowed");
        return false;
    }
    return true;
}

static struct yaml_tree *tree_new(const char *text, size_t length)
{
    struct yaml_tree *tree = calloc(1, sizeof *tree);
    char *copy = malloc(length + 1);
    if (!tree || !copy) {
        free(tree);
        free(copy);
        return NULL;
    }
    if (length)
        memcpy(copy, text, length);
    copy[length] = 0;
    tree->text = copy;
    tree->length = length;
    return tree;
}

struct yaml_tree *yaml_parse(const char *text, size_t length, struct yaml_errors *errors)
{
    assert((text || length == 0) && errors);
    size_t before = errors->count;
    if (!acceptable(text, length, errors))
        return NULL;
    struct reader r = {.tree = tree_new(text, length), .errors = errors};
    if (r.tree && yaml_parser_initialize(&r.parser)) {
        yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.tree->text, length);
        read_events(&r);
        yaml_parser_delete(&r.parser);
    } else {
        yaml_complain(errors, (struct yaml_mark){1, 1}, "no memory");
    }
    if (errors->count == before && !r.tree->root)
        yaml_complain(errors, (struct yaml_mark){1, 1}, "found nothing; a mapping is expected");
    if (errors->count == before)
        return r.tree;
    yaml_tree_free(r.tree);
    return NULL;
}

void yaml_tree_free(struct yaml_tree *tree)
{
    if (!tree)
        return;
    yaml_value_free(tree->root);
    if (tree->text)
        OPENSSL_cleanse(tree->text, tree->length);
    free(tree->text);
    free(tree);
}

struct yaml_value *yaml_root_edit(struct yaml_tree *tree)
{
    assert(tree && tree->root);
    return tree->root;
}

const struct yaml_value *yaml_root(const struct yaml_tree *tree)
{
    assert(tree && tree->root);
    return tree->root;
}
