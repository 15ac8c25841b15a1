/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/inventory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/fabric/planted.h"
#include "src/scenario/actuator.h"
#include "src/scenario/words.h"

#define SLACK UINT64_C(1000000000) /* ns */

struct reader {
    struct inventory *inventory;
    struct yaml_errors *errors;
};

struct raw {
    const struct yaml_value *allowed, *actuators, *agent, *nodes, *commands, *known;
};

/* A mapping that has its members at two places: here and, by offset, in the inventory. */
struct raw_top {
    bool exclusive;
    const char *state;
    uint64_t slack;
    struct raw raw;
};

#define FIELD(name, type, member, min, max, required)                                              \
    {                                                                                              \
        name, YAML_TYPE_##type, offsetof(struct raw_top, member), min, max, NULL, NULL, required   \
    }
static const struct yaml_field top_fields[] = {
    FIELD("exclusive", BOOLEAN, exclusive, 0, 0, false),
    FIELD("state", STRING, state, 2, 200, false),
    FIELD("slack", DURATION, slack, 0, INT64_MAX, false),
    FIELD("allowed", ANY, raw.allowed, 0, 0, false),
    FIELD("actuators", SEQUENCE, raw.actuators, 0, 0, false),
    FIELD("agent", SEQUENCE, raw.agent, 0, 0, false),
    FIELD("nodes", MAPPING, raw.nodes, 0, 0, true),
    FIELD("commands", MAPPING, raw.commands, 0, 0, false),
    FIELD("known", MAPPING, raw.known, 0, 0, false),
    {0}};
#undef FIELD

/* What becomes a word of commands, a part of a path or of a shell's line is nothing else there: no
 * option, no second word, no folder above. */
static bool is_plain(struct reader *r, const struct yaml_value *at, const char *what,
                     const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:%-";
    bool fine = !text || (text[0] && text[strspn(text, plain)] == '\0' && !strchr("-.", text[0]));
    if (fine || PLANTED(scenario_any_name))
        return true;
    yaml_complain(
        r->errors, yaml_mark(at),
        "%s: letters, digits and _ . : %% - are expected, none of . and - at first, not '%s'", what,
        text);
    return false;
}

static const char *const launcher_places[] = {"node", "address", NULL};

/* A mistyped place would go to the machines as an empty word, or as itself. What a shell or awk
 * have in braces is something else: ${x}, {print $1}. */
static bool has_places(struct reader *r, const struct yaml_value *at, const char *word,
                       const char *const *places)
{
    char name[32];
    for (const char *open = word; places && (open = strchr(open, '{')); open++) {
        size_t length = strspn(open + 1, "abcdefghijklmnopqrstuvwxyz_"), count = 0;
        bool known = length == 0 || length >= sizeof name || open[1 + length] != '}' ||
                     (open > word && open[-1] == '$');
        snprintf(name, sizeof name, "%.*s", (int)length, open + 1);
        for (; places[count]; count++)
            known = known || strcmp(places[count], name) == 0;
        if (known || PLANTED(scenario_any_place))
            continue;
        const char *near = nearest_name(name, places, count);
        yaml_complain(r->errors, yaml_mark(at), "no place {%s}%s%s; docs/hardware.md lists them",
                      name, near ? ", did you mean " : "", near ? near : "");
        return false;
    }
    return true;
}

static const char *const *read_words(struct reader *r, const struct yaml_value *list,
                                     const char *what, size_t most, const char *const *places)
{
    size_t count = yaml_count(list);
    if (yaml_kind(list) != YAML_KIND_SEQUENCE || count == 0 || count >= most) {
        yaml_complain(r->errors, yaml_mark(list), "%s: a list of 1 to %zu words is expected", what,
                      most - 1);
        return NULL;
    }
    const char **words = arena_alloc(&r->inventory->arena, count + 1, sizeof *words);
    for (size_t i = 0; i < count; i++) {
        if (!yaml_read_string(yaml_item(list, i), what, 1, 1000, &words[i], r->errors) ||
            !has_places(r, yaml_item(list, i), words[i], places))
            return NULL;
        words[i] = arena_copy(&r->inventory->arena, words[i]);
    }
    return words;
}

static const struct fault_word *find_word(struct reader *r, const struct yaml_value *name)
{
    const char *names[TESTBED_WORD_COUNT];
    const struct fault_word *word = fault_word_by_name(yaml_text(name));
    if (word)
        return word;
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++)
        names[i] = fault_words[i].name;
    const char *near = nearest_name(yaml_text(name), names, TESTBED_WORD_COUNT);
    yaml_complain(r->errors, yaml_mark(name),
                  "unknown fault word '%s'%s%s; `memkv-scenario help "
                  "words` lists them",
                  yaml_text(name), near ? ", did you mean " : "", near ? near : "");
    return NULL;
}

static bool read_allowed(struct reader *r, const struct yaml_value *value)
{
    bool all = yaml_kind(value) == YAML_KIND_SCALAR && strcmp(yaml_text(value), "all") == 0;
    if (!all && yaml_kind(value) != YAML_KIND_SEQUENCE) {
        yaml_complain(r->errors, yaml_mark(value),
                      "allowed: a list of fault words, or all, is expected");
        return false;
    }
    for (size_t i = 0; i < TESTBED_WORD_COUNT && all; i++)
        r->inventory->allowed[i] = true;
    for (size_t i = 0; i < (all ? 0 : yaml_count(value)); i++) {
        const char *name;
        if (!yaml_read_string(yaml_item(value, i), "allowed", 1, 63, &name, r->errors))
            return false;
        const struct fault_word *word = find_word(r, yaml_item(value, i));
        if (!word)
            return false;
        r->inventory->allowed[word->word] = true;
    }
    return true;
}

static bool read_sets(struct reader *r, const struct yaml_value *value)
{
    static const char *const names[] = {"ip", "ibportstate", NULL};
    for (size_t i = 0; i < yaml_count(value); i++) {
        int which;
        if (!yaml_read_enum(yaml_item(value, i), "actuators", names, &which, r->errors))
            return false;
        *(which ? &r->inventory->ibportstate : &r->inventory->ip) = true;
    }
    return true;
}

/* ------------------------------------------------------------------ nodes */

static bool read_devices(struct reader *r, const struct yaml_value *value,
                         struct inventory_node *node)
{
    static const struct yaml_field fields[] = {
        {"netdev", YAML_TYPE_STRING, offsetof(struct inventory_device, netdev), 1, 15, NULL, NULL,
         false},
        {"far_end", YAML_TYPE_STRING, offsetof(struct inventory_device, far_end), 1, 15, NULL, NULL,
         false},
        {"switch_guid", YAML_TYPE_STRING, offsetof(struct inventory_device, switch_guid), 3, 18,
         NULL, NULL, false},
        {"switch_port", YAML_TYPE_NUMBER, offsetof(struct inventory_device, switch_port), 1, 254,
         NULL, NULL, false},
        {0}};
    struct arena *arena = &r->inventory->arena;
    node->device_count = yaml_count(value);
    node->devices = arena_alloc(arena, node->device_count + 1, sizeof *node->devices);
    for (size_t i = 0; i < node->device_count; i++) {
        struct inventory_device *device = &node->devices[i];
        if (!yaml_read_fields(yaml_item(value, i), fields, device, r->errors))
            return false;
        const struct yaml_value *name = yaml_key(value, i), *at = yaml_item(value, i);
        if (!is_plain(r, name, "the name of a device", yaml_text(name)) ||
            !is_plain(r, yaml_find(at, "netdev"), "netdev", device->netdev) ||
            !is_plain(r, yaml_find(at, "far_end"), "far_end", device->far_end) ||
            !is_plain(r, yaml_find(at, "switch_guid"), "switch_guid", device->switch_guid))
            return false;
        device->name = arena_copy(arena, yaml_text(name));
        device->netdev = arena_copy(arena, device->netdev);
        device->far_end = arena_copy(arena, device->far_end);
        device->switch_guid = arena_copy(arena, device->switch_guid);
    }
    return true;
}

struct raw_node {
    const char *address;
    const struct yaml_value *agent, *devices;
};

static bool read_node(struct reader *r, const struct yaml_value *value,
                      const struct yaml_value *key, const struct yaml_value *agent,
                      struct inventory_node *node)
{
    const char *name = yaml_text(key);
    static const struct yaml_field fields[] = {
        {"address", YAML_TYPE_STRING, offsetof(struct raw_node, address), 2, 60, NULL, NULL, true},
        {"agent", YAML_TYPE_SEQUENCE, offsetof(struct raw_node, agent), 0, 0, NULL, NULL, false},
        {"devices", YAML_TYPE_MAPPING, offsetof(struct raw_node, devices), 0, 0, NULL, NULL, false},
        {0}};
    struct raw_node raw = {.agent = agent};
    if (!yaml_read_fields(value, fields, &raw, r->errors) ||
        !is_plain(r, key, "the name of a node", name) ||
        !is_plain(r, yaml_find(value, "address"), "address", raw.address))
        return false;
    if (!raw.agent) {
        yaml_complain(r->errors, yaml_mark(value),
                      "node %s: no words start its agent; `agent` is expected here or at the top",
                      name);
        return false;
    }
    node->name = arena_copy(&r->inventory->arena, name);
    node->address = arena_copy(&r->inventory->arena, raw.address);
    node->agent = read_words(r, raw.agent, "agent", REMOTE_WORDS, launcher_places);
    return node->agent && (!raw.devices || read_devices(r, raw.devices, node));
}

static bool read_nodes(struct reader *r, const struct raw *raw)
{
    struct inventory *inventory = r->inventory;
    size_t count = yaml_count(raw->nodes);
    if (count == 0 || count > INVENTORY_NODES) {
        yaml_complain(r->errors, yaml_mark(raw->nodes), "nodes: 1 to %d are expected",
                      INVENTORY_NODES);
        return false;
    }
    inventory->nodes = arena_alloc(&inventory->arena, count, sizeof *inventory->nodes);
    inventory->node_count = count;
    for (size_t i = 0; i < count; i++) {
        if (!read_node(r, yaml_item(raw->nodes, i), yaml_key(raw->nodes, i), raw->agent,
                       &inventory->nodes[i]))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ actuators of one's own */

static bool read_commands(struct reader *r, const struct yaml_value *value, const char *what,
                          const char *const **out)
{
    if (value && yaml_count(value) > INVENTORY_COMMANDS) {
        yaml_complain(r->errors, yaml_mark(value), "%s: at most %d commands", what,
                      INVENTORY_COMMANDS);
        return false;
    }
    for (size_t i = 0; value && i < yaml_count(value); i++) {
        out[i] = read_words(r, yaml_item(value, i), what, REMOTE_WORDS, actuator_places);
        if (!out[i])
            return false;
    }
    return true;
}

struct raw_actuator {
    int on;
    const struct yaml_value *commands, *undo;
};

static bool read_actuators(struct reader *r, const struct yaml_value *value)
{
    static const char *const places[] = {"node", "runner", NULL};
    static const struct yaml_field fields[] = {
        {"on", YAML_TYPE_ENUM, offsetof(struct raw_actuator, on), 0, 0, places, NULL, false},
        {"do", YAML_TYPE_SEQUENCE, offsetof(struct raw_actuator, commands), 0, 0, NULL, NULL, true},
        /* Said even where it is empty: whoever writes a command thinks of what takes it back. */
        {"undo", YAML_TYPE_SEQUENCE, offsetof(struct raw_actuator, undo), 0, 0, NULL, NULL, true},
        {0}};
    for (size_t i = 0; i < yaml_count(value); i++) {
        struct raw_actuator raw = {0};
        const struct fault_word *word = find_word(r, yaml_key(value, i));
        if (!word || !yaml_read_fields(yaml_item(value, i), fields, &raw, r->errors))
            return false;
        struct inventory_actuator *own = arena_alloc(&r->inventory->arena, 1, sizeof *own);
        own->on_runner = raw.on == 1;
        r->inventory->own[word->word] = own;
        if (!read_commands(r, raw.commands, "do", own->commands) ||
            !read_commands(r, raw.undo, "undo", own->undo))
            return false;
    }
    return true;
}

static bool read_known(struct reader *r, const struct yaml_value *value)
{
    struct known {
        const struct yaml_value *managers, *hosts;
    } known = {0};
    static const struct yaml_field fields[] = {
        {"managers", YAML_TYPE_SEQUENCE, offsetof(struct known, managers), 0, 0, NULL, NULL, true},
        {"hosts", YAML_TYPE_SEQUENCE, offsetof(struct known, hosts), 0, 0, NULL, NULL, true},
        {0}};
    if (!yaml_read_fields(value, fields, &known, r->errors))
        return false;
    r->inventory->managers = read_words(r, known.managers, "managers", 1024, NULL);
    r->inventory->hosts =
        r->inventory->managers ? read_words(r, known.hosts, "hosts", 4096, NULL) : NULL;
    return r->inventory->hosts != NULL;
}

static bool read_top(struct reader *r, const struct yaml_value *root)
{
    struct raw_top top = {.state = "/var/tmp/memkv-scenario", .slack = SLACK};
    if (!yaml_read_fields(root, top_fields, &top, r->errors))
        return false;
    r->inventory->exclusive = top.exclusive;
    r->inventory->slack = top.slack;
    r->inventory->state = arena_copy(&r->inventory->arena, top.state);
    if (top.state[0] != '/') {
        yaml_complain(r->errors, yaml_mark(yaml_find(root, "state")),
                      "state: a path that begins with / is expected, not '%s'", top.state);
        return false;
    }
    const struct raw *raw = &top.raw;
    return read_nodes(r, raw) && (!raw->allowed || read_allowed(r, raw->allowed)) &&
           (!raw->actuators || read_sets(r, raw->actuators)) &&
           (!raw->commands || read_actuators(r, raw->commands)) &&
           (!raw->known || read_known(r, raw->known));
}

struct inventory *inventory_read(const char *label, const char *text, size_t length,
                                 struct yaml_errors *errors)
{
    assert(label && text && errors);
    struct yaml_tree *tree = yaml_parse(text, length, errors);
    struct inventory *inventory = tree ? calloc(1, sizeof *inventory) : NULL;
    struct reader reader = {inventory, errors};
    if (tree && !inventory)
        abort();
    if (inventory && !read_top(&reader, yaml_root(tree))) {
        inventory_free(inventory);
        inventory = NULL;
    }
    yaml_tree_free(tree);
    return inventory;
}

void inventory_free(struct inventory *inventory)
{
    if (!inventory)
        return;
    arena_free(&inventory->arena);
    free(inventory);
}
