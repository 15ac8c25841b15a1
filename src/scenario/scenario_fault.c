/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "src/scenario/scenario_reader.h"
#include "src/scenario/topology_read.h"

static const char *const gid_type_names[] = {"ib", "roce_v1", "roce_v2", NULL};

static bool read_name(struct scenario_reader *reader, const struct word_field *field,
                      const struct yaml_value *value, struct testbed_fault *out)
{
    const struct topology *t = reader->scenario->topology;
    const char *text;
    assert(field->slot <= WORD_TEXT);
    if ((field->slot == WORD_NODE || field->slot == WORD_PEER) &&
        !scenario_check_node(reader, value))
        return false;
    if (!yaml_read_string(value, field->name, 1, 200, &text, reader->errors))
        return false;
    bool known = field->slot == WORD_SM        ? topology_sm_find(t, text) != NULL
                 : field->slot == WORD_NETWORK ? topology_has_network(t, text)
                                               : true;
    /* A subnet whose managers nobody named has one called "sm". */
    if (!known && !(field->slot == WORD_SM && strcmp(text, "sm") == 0)) {
        yaml_complain(reader->errors, yaml_mark(value),
                      "%s: found '%.60s', which the topology "
                      "does not have",
                      field->name, text);
        return false;
    }
    const char **slots[] = {
        [WORD_NODE] = &out->node, [WORD_DEVICE] = &out->device,   [WORD_PEER] = &out->peer,
        [WORD_SM] = &out->sm,     [WORD_NETWORK] = &out->network, [WORD_TEXT] = &out->text};
    *slots[field->slot] = text;
    return true;
}

static bool read_number(struct scenario_reader *reader, const struct word_field *field,
                        const struct yaml_value *value, struct testbed_fault *out)
{
    uint64_t number, max = field->max ? field->max : UINT64_MAX;
    assert(field->slot >= WORD_PORT && field->slot <= WORD_VALUE);
    if (!yaml_read_number(value, field->name, field->min, max, &number, reader->errors))
        return false;
    if (field->slot == WORD_PORT)
        out->port = (uint8_t)number;
    else if (field->slot == WORD_INDEX)
        out->index = (uint32_t)number;
    else
        out->value = number;
    return true;
}

static bool read_gid(struct scenario_reader *reader, const struct word_field *field,
                     const struct yaml_value *value, struct testbed_fault *out)
{
    const char *text;
    assert(field->slot == WORD_GID);
    if (!yaml_read_string(value, field->name, 2, 45, &text, reader->errors))
        return false;
    if (gid_parse(text, &out->gid))
        return true;
    yaml_complain(reader->errors, yaml_mark(value),
                  "%s: found '%.60s'; an IPv6 address is expected, such as fe80::1", field->name,
                  text);
    return false;
}

static bool read_parameter(struct scenario_reader *reader, const struct word_field *field,
                           const struct yaml_value *value, struct testbed_fault *out)
{
    int type;
    switch (field->slot) {
    case WORD_ON:
        return yaml_read_boolean(value, field->name, &out->on, reader->errors);
    case WORD_DURATION:
    case WORD_JITTER:
        return yaml_read_duration(value, field->name, 0, FABRIC_FOREVER - 1,
                                  field->slot == WORD_DURATION ? &out->duration : &out->jitter,
                                  reader->errors);
    case WORD_ERROR:
        return scenario_read_error(reader, value, &out->error);
    case WORD_GID:
        return read_gid(reader, field, value, out);
    case WORD_GID_TYPE:
        if (!yaml_read_enum(value, field->name, gid_type_names, &type, reader->errors))
            return false;
        out->gid_type = (enum fabric_gid_type)type;
        return true;
    case WORD_PORT:
    case WORD_INDEX:
    case WORD_VALUE:
        return read_number(reader, field, value, out);
    default:
        return read_name(reader, field, value, out);
    }
}

static bool check_device(struct scenario_reader *reader, const struct yaml_value *value,
                         const struct testbed_fault *fault)
{
    const struct topology *t = reader->scenario->topology;
    const struct topology_node *node = fault->node ? topology_node_find(t, fault->node) : NULL;
    assert(fault);
    if (!node || !fault->device || topology_device_find(node, fault->device))
        return true;
    const char **names = arena_alloc(reader->arena, node->device_count, sizeof *names);
    for (size_t i = 0; i < node->device_count; i++)
        names[i] = node->devices[i].name;
    topology_complain_unknown(reader->errors, yaml_mark(yaml_find(value, "device")), "device",
                              fault->device, names, node->device_count);
    return false;
}

static bool read_parameters(struct scenario_reader *reader, const struct fault_word *word,
                            const struct yaml_value *value, struct testbed_fault *out)
{
    const char *names[WORD_MAX_FIELDS];
    size_t count = 0;
    assert(yaml_kind(value) == YAML_KIND_MAPPING);
    while (count < WORD_MAX_FIELDS && word->fields[count].name) {
        names[count] = word->fields[count].name;
        count++;
    }
    for (size_t i = 0; i < yaml_count(value); i++) {
        const char *name = yaml_text(yaml_key(value, i));
        size_t at = 0;
        while (at < count && strcmp(names[at], name) != 0)
            at++;
        if (at == count) {
            topology_complain_unknown(reader->errors, yaml_mark(yaml_key(value, i)), word->name,
                                      name, names, count);
            return false;
        }
        if (!read_parameter(reader, &word->fields[at], yaml_item(value, i), out))
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (word->fields[i].required && !yaml_find(value, names[i])) {
            yaml_complain(reader->errors, yaml_mark(value), "%s: '%s' is missing", word->name,
                          names[i]);
            return false;
        }
    }
    return check_device(reader, value, out);
}

bool scenario_read_fault(struct scenario_reader *reader, const struct fault_word *word,
                         const struct yaml_value *value, struct testbed_fault *out)
{
    assert(word && value && out);
    *out = (struct testbed_fault){.word = word->word, .on = true, .gid_type = FABRIC_GID_TYPE_IB};
    reader->scenario->requires |= word->cap;
    if (yaml_kind(value) == YAML_KIND_MAPPING)
        return read_parameters(reader, word, value, out);
    for (size_t i = 1; i < WORD_MAX_FIELDS && word->fields[i].name; i++) {
        if (word->fields[i].required) {
            yaml_complain(reader->errors, yaml_mark(value),
                          "%s: '%s' is missing; {%s: NAME, %s: ...} is expected", word->name,
                          word->fields[i].name, word->fields[0].name, word->fields[i].name);
            return false;
        }
    }
    return read_parameter(reader, &word->fields[0], value, out);
}
