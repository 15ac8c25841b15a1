/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

static void text_reserve(struct text *text, size_t more)
{
    size_t need = text->length + more + 1;
    assert(need > more);
    if (need <= text->capacity)
        return;
    size_t capacity = text->capacity ? text->capacity : 128;
    while (capacity < need)
        capacity *= 2;
    text->data = realloc(text->data, capacity);
    if (!text->data)
        abort();
    text->capacity = capacity;
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    assert(text && (bytes || length == 0));
    text_reserve(text, length);
    if (length)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
    assert(text && format);
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    assert(length >= 0);
    text_reserve(text, (size_t)length);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    va_end(again);
    text->length += (size_t)length;
}

void text_add_time(struct text *text, uint64_t ns)
{
    static const struct {
        uint64_t unit;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    size_t i = 0;
    while (i < 3 && ns < units[i].unit)
        i++;
    uint64_t unit = ns ? units[i].unit : 1;
    uint64_t rest = ns % unit * 1000 / unit;
    if (rest)
        text_add(text, "%" PRIu64 ".%03" PRIu64 " %s", ns / unit, rest, units[i].name);
    else
        text_add(text, "%" PRIu64 " %s", ns / unit, ns ? units[i].name : "s");
}

const char *text_data(const struct text *text)
{
    assert(text);
    return text->data ? text->data : "";
}

void text_free(struct text *text)
{
    assert(text);
    free(text->data);
    *text = (struct text){0};
}

json_t *text_string(const char *text)
{
    assert(text);
    json_t *value = json_string(text);
    if (value || PLANTED(scenario_any_bytes))
        return value;
    struct text plain = {0};
    text_add(&plain, "%s", text);
    for (size_t i = 0; i < plain.length; i++) {
        if ((unsigned char)plain.data[i] >= 0x80)
            plain.data[i] = '?';
    }
    value = json_string(text_data(&plain));
    text_free(&plain);
    return value;
}
