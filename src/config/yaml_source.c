/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a tree back to text: in flow style, each value padded to the line and column where it stood,
 * so that whoever parses the text reports the positions of the file. Written from the tree and not
 * copied from the file, because the tree may have been edited.
 */
#include <assert.h>
#include <ctype.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/yaml.h"
#include "src/config/yaml_tree.h"

struct writer {
    char *data;
    size_t length, room;
    struct yaml_mark at; /* where the next character stands */
    bool failed;         /* no memory */
};

static void forget(struct writer *w)
{
    if (w->data)
        OPENSSL_cleanse(w->data, w->length);
    free(w->data);
}

static void put(struct writer *w, char c)
{
    if (w->length == w->room && !w->failed) {
        size_t room = w->room ? 2 * w->room : 512;
        char *data = malloc(room); /* not by realloc, which leaves a key behind */
        w->failed = data == NULL;
        if (data) {
            if (w->data)
                memcpy(data, w->data, w->length);
            forget(w);
            w->data = data;
            w->room = room;
        }
    }
    if (w->failed)
        return;
    assert(w->length < w->room);
    w->data[w->length++] = c;
    if (c == '\n')
        w->at = (struct yaml_mark){w->at.line + 1, 1};
    else if (((unsigned char)c & 0xc0u) != 0x80u)
        w->at.column++;
}

static void put_text(struct writer *w, const char *text)
{
    assert(text);
    while (*text)
        put(w, *text++);
}

static void pad(struct writer *w, struct yaml_mark to)
{
    while (w->at.line < to.line && !w->failed)
        put(w, '\n');
    while (w->at.line == to.line && w->at.column < to.column && !w->failed)
        put(w, ' ');
}

/* Whether `text` means the same without quotes, also inside braces. */
static bool is_plain(const char *text)
{
    size_t length = strlen(text), first = strspn(text, "-./_") == 1 ? 1 : 0;
    assert(text);
    if (!isalnum((unsigned char)text[first]))
        return false;
    for (size_t i = first; i < length; i++) {
        bool colon = text[i] == ':' && text[i + 1] && text[i + 1] != ' ';
        if (!isalnum((unsigned char)text[i]) && !strchr("-./_+ ", text[i]) && !colon)
            return false;
    }
    return text[length - 1] != ' ' && text[length - 1] != '-';
}

static void put_scalar(struct writer *w, const struct yaml_value *scalar)
{
    static const char hex[] = "0123456789abcdef";
    assert(scalar->kind == YAML_KIND_SCALAR);
    if (!scalar->quoted && is_plain(scalar->text)) {
        put_text(w, scalar->text);
        return;
    }
    put(w, '"');
    for (const char *at = scalar->text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            put(w, '\\');
        if (c >= ' ' && c != 0x7f) {
            put(w, *at);
            continue;
        }
        put_text(w, "\\x");
        put(w, hex[c >> 4]);
        put(w, hex[c & 15]);
    }
    put(w, '"');
}

/* Braces of a block mapping have no place of their own: they come just before its first key. */
static struct yaml_mark opening(const struct yaml_value *value)
{
    struct yaml_mark mark = value->mark;
    assert(value->kind != YAML_KIND_SCALAR);
    bool block = value->keys && value->count && value->keys[0]->mark.line == mark.line &&
                 value->keys[0]->mark.column == mark.column;
    if (block && mark.column > 1)
        mark.column--;
    return mark;
}

static void put_value(struct writer *w, const struct yaml_value *value)
{
    bool mapping = value->kind == YAML_KIND_MAPPING;
    if (value->kind == YAML_KIND_SCALAR) {
        pad(w, value->mark);
        put_scalar(w, value);
        return;
    }
    pad(w, opening(value));
    put(w, mapping ? '{' : '[');
    for (size_t i = 0; i < value->count; i++) { /* at most YAML_MAX_DEPTH deep */
        if (i)
            put_text(w, ", ");
        if (mapping) {
            pad(w, value->keys[i]->mark);
            put_scalar(w, value->keys[i]);
            put_text(w, ": ");
        }
        put_value(w, value->items[i]);
    }
    put(w, mapping ? '}' : ']');
}

char *yaml_source(const struct yaml_value *value)
{
    struct writer w = {.at = {1, 1}};
    assert(value);
    put_value(&w, value);
    put(&w, '\n');
    put(&w, '\0');
    if (w.failed) {
        forget(&w);
        return NULL;
    }
    return w.data;
}
