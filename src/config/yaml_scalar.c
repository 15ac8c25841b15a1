/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/config/yaml.h"
#include "src/fabric/planted.h"

static bool want_scalar(const struct yaml_value *value, const char *what, const char *allowed,
                        struct yaml_errors *errors)
{
    assert(value && what && errors);
    if (yaml_kind(value) == YAML_KIND_SCALAR)
        return true;
    yaml_complain(errors, yaml_mark(value), "%s: found %s; %s is expected", what,
                  yaml_kind_name(yaml_kind(value)), allowed);
    return false;
}

static bool refuse(const struct yaml_value *value, const char *what, const char *problem,
                   const char *allowed, struct yaml_errors *errors)
{
    yaml_complain(errors, yaml_mark(value), "%s: found '%.60s'%s; %s is expected", what,
                  yaml_text(value), problem, allowed);
    return false;
}

/* Why `digits` is no number of ours: null when it is one. The reasons are those that surprise
 * people who know YAML 1.1, where 010 is eight, 1_000 a thousand and 1:30 ninety. */
static const char *not_digits(const char *text, size_t length)
{
    size_t digits = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '_')
            return " with an underscore";
        if (text[i] == ':')
            return " with a colon";
        if (isdigit((unsigned char)text[i]))
            digits++;
    }
    if (length == 0 || digits != length)
        return "";
    if (length > 1 && text[0] == '0' && !PLANTED(config_leading_zero))
        return " with a leading zero";
    return NULL;
}

static bool digits_value(const char *text, size_t length, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool yaml_read_string(const struct yaml_value *value, const char *what, size_t min_bytes,
                      size_t max_bytes, const char **out, struct yaml_errors *errors)
{
    assert(out && min_bytes <= max_bytes);
    if (!want_scalar(value, what, "text", errors))
        return false;
    size_t length = strlen(yaml_text(value));
    if (length < min_bytes || length > max_bytes) {
        yaml_complain(errors, yaml_mark(value), "%s: found %zu bytes; %zu to %zu are allowed", what,
                      length, min_bytes, max_bytes);
        return false;
    }
    *out = yaml_text(value);
    return true;
}

bool yaml_read_integer(const struct yaml_value *value, const char *what, int64_t min, int64_t max,
                       int64_t *out, struct yaml_errors *errors)
{
    char allowed[96];
    assert(out && min <= max);
    snprintf(allowed, sizeof allowed, "a whole number from %" PRId64 " to %" PRId64, min, max);
    if (!want_scalar(value, what, allowed, errors))
        return false;
    const char *text = yaml_text(value);
    bool negative = text[0] == '-';
    const char *digits = text + (negative ? 1 : 0);
    size_t length = strlen(digits);
    const char *problem = not_digits(digits, length);
    if (yaml_is_quoted(value))
        problem = " in quotes";
    if (problem)
        return refuse(value, what, problem, allowed, errors);
    uint64_t magnitude;
    if (!digits_value(digits, length, &magnitude) || magnitude > INT64_MAX)
        return refuse(value, what, "", allowed, errors);
    int64_t number = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    if ((number < min || number > max) && !PLANTED(config_range_unchecked))
        return refuse(value, what, "", allowed, errors);
    *out = number;
    return true;
}

bool yaml_read_hex(const struct yaml_value *value, const char *what, uint64_t min, uint64_t max,
                   uint64_t *out, struct yaml_errors *errors)
{
    char allowed[96];
    assert(out && min <= max);
    snprintf(allowed, sizeof allowed, "a hexadecimal number from 0x%" PRIx64 " to 0x%" PRIx64, min,
             max);
    if (!want_scalar(value, what, allowed, errors))
        return false;
    const char *text = yaml_text(value);
    size_t length = strlen(text);
    if (strncmp(text, "0x", 2) != 0)
        return refuse(value, what, " without 0x in front", allowed, errors);
    if (length < 3 || length > 18 || strspn(text + 2, "0123456789abcdefABCDEF") != length - 2)
        return refuse(value, what, "", allowed, errors);
    uint64_t number = 0;
    for (size_t i = 2; i < length; i++) {
        int c = tolower((unsigned char)text[i]);
        number = number * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (number < min || number > max)
        return refuse(value, what, "", allowed, errors);
    *out = number;
    return true;
}

bool yaml_read_number(const struct yaml_value *value, const char *what, uint64_t min, uint64_t max,
                      uint64_t *out, struct yaml_errors *errors)
{
    char allowed[96];
    assert(out && min <= max);
    snprintf(allowed, sizeof allowed, "a number from %" PRIu64 " to %" PRIu64, min, max);
    if (!want_scalar(value, what, allowed, errors))
        return false;
    const char *text = yaml_text(value);
    if (strncmp(text, "0x", 2) == 0)
        return yaml_read_hex(value, what, min, max, out, errors);
    size_t length = strlen(text);
    const char *problem = not_digits(text, length);
    if (yaml_is_quoted(value))
        problem = " in quotes";
    if (problem)
        return refuse(value, what, problem, allowed, errors);
    uint64_t number;
    if (!digits_value(text, length, &number) || number < min || number > max)
        return refuse(value, what, "", allowed, errors);
    *out = number;
    return true;
}

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit sizes[] = {
    {"KiB", 1024u}, {"MiB", 1024u * 1024u}, {"GiB", 1024u * 1024u * 1024u}, {NULL, 0}};

static const struct unit durations[] = {{"ns", 1u},
                                        {"us", 1000u},
                                        {"ms", 1000000u},
                                        {"s", 1000000000u},
                                        {"m", 60u * 1000000000ull},
                                        {"h", 3600u * 1000000000ull},
                                        {NULL, 0}};

/* The factor of what follows the number; 0 when it is no unit. */
static uint64_t unit_factor(const char *text, const struct unit *units, bool plain_allowed)
{
    if (*text == 0)
        return plain_allowed ? 1 : 0;
    while (*text == ' ')
        text++;
    for (; units->name; units++) {
        if (strcmp(text, units->name) == 0)
            return units->factor;
    }
    return 0;
}

static bool read_with_unit(const struct yaml_value *value, const char *what,
                           const struct unit *units, bool plain_allowed, const char *allowed,
                           uint64_t min, uint64_t max, uint64_t *out, struct yaml_errors *errors)
{
    assert(units && out && min <= max);
    if (!want_scalar(value, what, allowed, errors))
        return false;
    const char *text = yaml_text(value);
    size_t length = strspn(text, "0123456789_:");
    const char *problem = not_digits(text, length);
    if (problem)
        return refuse(value, what, problem, allowed, errors);
    uint64_t number, factor = unit_factor(text + length, units, plain_allowed);
    if (strcmp(text, "0") == 0)
        factor = 1;
    if (factor == 0)
        return refuse(value, what, text[length] ? "" : " without a unit", allowed, errors);
    if (!digits_value(text, length, &number) || (number && factor > UINT64_MAX / number))
        return refuse(value, what, "", allowed, errors);
    if (number * factor < min || number * factor > max)
        return refuse(value, what, "", allowed, errors);
    *out = number * factor;
    return true;
}

static void unit_text(char *out, size_t room, uint64_t amount, const struct unit *units)
{
    const struct unit *best = NULL;
    for (; units->name; units++) {
        if (amount && amount % units->factor == 0)
            best = units;
    }
    snprintf(out, room, "%" PRIu64 "%s%s", best ? amount / best->factor : amount, best ? " " : "",
             best ? best->name : "");
}

bool yaml_read_size(const struct yaml_value *value, const char *what, uint64_t min, uint64_t max,
                    uint64_t *out, struct yaml_errors *errors)
{
    char allowed[128], low[40], high[40];
    unit_text(low, sizeof low, min, sizes);
    unit_text(high, sizeof high, max, sizes);
    snprintf(allowed, sizeof allowed, "a size from %s to %s in KiB, MiB or GiB", low, high);
    return read_with_unit(value, what, sizes, true, allowed, min, max, out, errors);
}

bool yaml_read_duration(const struct yaml_value *value, const char *what, uint64_t min,
                        uint64_t max, uint64_t *out, struct yaml_errors *errors)
{
    char allowed[128], low[40], high[40];
    unit_text(low, sizeof low, min, durations);
    unit_text(high, sizeof high, max, durations);
    if (max == UINT64_MAX)
        snprintf(allowed, sizeof allowed, "a time of %s or more in ns, us, ms, s, m or h", low);
    else
        snprintf(allowed, sizeof allowed, "a time from %s to %s in ns, us, ms, s, m or h", low,
                 high);
    return read_with_unit(value, what, durations, false, allowed, min, max, out, errors);
}

bool yaml_read_boolean(const struct yaml_value *value, const char *what, bool *out,
                       struct yaml_errors *errors)
{
    assert(out);
    if (!want_scalar(value, what, "true or false", errors))
        return false;
    const char *text = yaml_text(value);
    bool is_true = strcmp(text, "true") == 0;
    if (yaml_is_quoted(value) || (!is_true && strcmp(text, "false") != 0))
        return refuse(value, what, yaml_is_quoted(value) ? " in quotes" : "", "true or false",
                      errors);
    *out = is_true;
    return true;
}

bool yaml_read_enum(const struct yaml_value *value, const char *what, const char *const *names,
                    int *out, struct yaml_errors *errors)
{
    char allowed[256] = "one of ";
    size_t count = 0;
    assert(names && out);
    for (; names[count]; count++) {
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", count ? ", " : "", names[count]);
    }
    if (!want_scalar(value, what, allowed, errors))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(yaml_text(value), names[i]) == 0) {
            *out = (int)i;
            return true;
        }
    }
    const char *near = nearest_name(yaml_text(value), names, count);
    if (near) {
        yaml_complain(errors, yaml_mark(value),
                      "%s: found '%.60s'; %s is expected; did you mean '%s'?", what,
                      yaml_text(value), allowed, near);
        return false;
    }
    return refuse(value, what, "", allowed, errors);
}
