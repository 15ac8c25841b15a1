/* SPDX-License-Identifier: Apache-2.0 */
#include "src/net/output.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"

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
    assert(text); /* every string is UTF-8 */
    out->write(out->context, text, strlen(text));
    out->write(out->context, "\n", 1);
    free(text);
    json_decref(object);
}

json_t *net_error_object(enum fabric_error error, const char *detail, const char *fix)
{
    const struct error_info *info = error_info(error);
    json_t *object = json_object();
    assert(error && detail);
    net_set(object, "name", json_string(info->name));
    net_set(object, "detail", net_string(detail));
    net_set(object, "exit", json_integer(cli_exit_of(error)));
    net_set(object, "text", json_string(info->text));
    net_set(object, "cause", json_string(info->cause));
    net_set(object, "fix", json_string(fix ? fix : info->fix));
    return object;
}

void net_say_error(const struct net_output *talk, enum fabric_error error, const char *detail,
                   const char *fix)
{
    const struct error_info *info = error_info(error);
    assert(error && detail);
    net_print(talk, "memkv: %s: %s\n", info->name, detail);
    net_print(talk, "  to do:   %s\n", fix ? fix : info->fix);
}

json_t *net_string(const char *text)
{
    assert(text);
    json_t *string = json_string(text); /* null: it is no UTF-8 */
    if (string || PLANTED(net_string_bare))
        return string;
    char *plain = strdup(text);
    assert(plain);
    for (char *c = plain; *c; c++)
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    string = json_string(plain);
    assert(string);
    free(plain);
    return string;
}

void net_set(json_t *object, const char *key, json_t *value)
{
    assert(object && key && value);
    int failed = json_object_set_new(object, key, value);
    assert(!failed);
    (void)failed;
}
