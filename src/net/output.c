/* SPDX-License-Identifier: Apache-2.0 */
#include "src/net/output.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum net_exit net_exit_of(enum fabric_error error)
{
    switch (error) {
    case FABRIC_OK:
        return NET_EXIT_DONE;
    case ERR_NOT_FOUND:
        return NET_EXIT_ABSENT;
    case ERR_INVALID_ARGUMENT:
    case ERR_NOT_SUPPORTED:
    case ERR_ACCESS_DENIED:
    case ERR_READ_ONLY:
        return NET_EXIT_FABRIC;
    case ERR_TOO_LARGE:
    case ERR_SYSFILE_INVALID:
        return NET_EXIT_INPUT;
    default:
        return NET_EXIT_INTERNAL;
    }
}

static void print(const struct net_output *out, const char *format, va_list values)
    __attribute__((format(printf, 2, 0)));

static void print(const struct net_output *out, const char *format, va_list values)
{
    char text[1000];
    int length = vsnprintf(text, sizeof(text), format, values);
    assert(length >= 0);
    if ((size_t)length >= sizeof(text))
        length = (int)sizeof(text) - 1;
    out->write(out->context, text, (size_t)length);
}

void net_print(const struct net_output *out, const char *format, ...)
{
    assert(out && out->write && format);
    va_list values;
    va_start(values, format);
    print(out, format, values);
    va_end(values);
}

void net_field(const struct net_output *out, const char *key, const char *format, ...)
{
    assert(out && out->write && key && format);
    net_print(out, "%-18s: ", key);
    va_list values;
    va_start(values, format);
    print(out, format, values);
    va_end(values);
    net_print(out, "\n");
}

void net_print_json(const struct net_output *out, json_t *object, bool pretty)
{
    assert(out && out->write && object);
    char *text = json_dumps(object, pretty ? JSON_INDENT(2) : JSON_COMPACT);
    assert(text); /* all strings are ASCII */
    out->write(out->context, text, strlen(text));
    out->write(out->context, "\n", 1);
    free(text);
    json_decref(object);
}

void net_set(json_t *object, const char *key, json_t *value)
{
    assert(object && key && value);
    int failed = json_object_set_new(object, key, value);
    assert(!failed);
    (void)failed;
}
