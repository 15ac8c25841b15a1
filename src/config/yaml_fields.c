/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/config/yaml.h"
#include "src/fabric/planted.h"

#define MAX_FIELDS 64

static const struct yaml_field *field_find(const struct yaml_field *fields, const char *name)
{
    for (; fields->name; fields++) {
        if (strcmp(fields->name, name) == 0)
            return fields;
    }
    return NULL;
}

static void complain_unknown(const struct yaml_value *key, const struct yaml_field *fields,
                             struct yaml_errors *errors)
{
    const char *names[MAX_FIELDS];
    size_t count = 0;
    char allowed[320] = "";
    for (; fields[count].name; count++) {
        assert(count < MAX_FIELDS);
        size_t used = strlen(allowed);
        names[count] = fields[count].name;
        snprintf(allowed + used, sizeof allowed - used, "%s%s", count ? ", " : "", names[count]);
    }
    const char *near = nearest_name(yaml_text(key), names, count);
    if (near)
        yaml_complain(errors, yaml_mark(key), "found the unknown key '%.60s'; did you mean '%s'?",
                      yaml_text(key), near);
    else
        yaml_complain(errors, yaml_mark(key), "found the unknown key '%.60s'; allowed: %s",
                      yaml_text(key), allowed);
}

static bool read_kind(const struct yaml_value *value, const struct yaml_field *field, void *to,
                      struct yaml_errors *errors)
{
    enum yaml_kind want = field->type == YAML_TYPE_SCALAR     ? YAML_KIND_SCALAR
                          : field->type == YAML_TYPE_SEQUENCE ? YAML_KIND_SEQUENCE
                                                              : YAML_KIND_MAPPING;
    if (field->type != YAML_TYPE_ANY && yaml_kind(value) != want) {
        yaml_complain(errors, yaml_mark(value), "%s: found %s; %s is expected", field->name,
                      yaml_kind_name(yaml_kind(value)), yaml_kind_name(want));
        return false;
    }
    memcpy(to, &value, sizeof value);
    return true;
}

static bool read_unsigned(const struct yaml_value *value, const struct yaml_field *field,
                          uint64_t *to, struct yaml_errors *errors)
{
    bool open = field->min == 0 && field->max == 0;
    uint64_t min = (uint64_t)field->min, max = open ? UINT64_MAX : (uint64_t)field->max;
    switch (field->type) {
    case YAML_TYPE_HEX:
        return yaml_read_hex(value, field->name, min, max, to, errors);
    case YAML_TYPE_NUMBER:
        return yaml_read_number(value, field->name, min, max, to, errors);
    case YAML_TYPE_SIZE:
        return yaml_read_size(value, field->name, min, max, to, errors);
    default:
        assert(field->type == YAML_TYPE_DURATION);
        return yaml_read_duration(value, field->name, min, max, to, errors);
    }
}

static bool read_field(const struct yaml_value *value, const struct yaml_field *field, void *out,
                       struct yaml_errors *errors)
{
    void *to = (char *)out + field->offset;
    bool open = field->min == 0 && field->max == 0;
    switch (field->type) {
    case YAML_TYPE_STRING:
        return yaml_read_string(value, field->name, (size_t)field->min,
                                field->max ? (size_t)field->max : 1024, to, errors);
    case YAML_TYPE_INTEGER:
        return yaml_read_integer(value, field->name, open ? INT64_MIN : field->min,
                                 open ? INT64_MAX : field->max, to, errors);
    case YAML_TYPE_HEX:
    case YAML_TYPE_NUMBER:
    case YAML_TYPE_SIZE:
    case YAML_TYPE_DURATION:
        return read_unsigned(value, field, to, errors);
    case YAML_TYPE_BOOLEAN:
        return yaml_read_boolean(value, field->name, to, errors);
    case YAML_TYPE_ENUM:
        return yaml_read_enum(value, field->name, field->names, to, errors);
    case YAML_TYPE_SECTION:
        return yaml_read_fields(value, field->fields, out, errors);
    default:
        return read_kind(value, field, to, errors);
    }
}

bool yaml_read_fields(const struct yaml_value *mapping, const struct yaml_field *fields, void *out,
                      struct yaml_errors *errors)
{
    assert(mapping && fields && out && errors);
    if (yaml_kind(mapping) != YAML_KIND_MAPPING) {
        yaml_complain(errors, yaml_mark(mapping), "found %s; a mapping is expected",
                      yaml_kind_name(yaml_kind(mapping)));
        return false;
    }
    bool clean = true;
    for (size_t i = 0; i < yaml_count(mapping); i++) {
        const struct yaml_value *key = yaml_key(mapping, i);
        const struct yaml_field *field = field_find(fields, yaml_text(key));
        if (field) {
            clean = read_field(yaml_item(mapping, i), field, out, errors) && clean;
        } else if (!PLANTED(config_unknown_key)) {
            complain_unknown(key, fields, errors);
            clean = false;
        }
    }
    for (; fields->name; fields++) {
        if (fields->required && !yaml_find(mapping, fields->name)) {
            yaml_complain(errors, yaml_mark(mapping), "the key '%s' is missing here", fields->name);
            clean = false;
        }
    }
    return clean;
}
