/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/actuator.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/planted.h"
#include "src/scenario/text.h"
#include "src/scenario/words.h"

/* What an interface carries beside the payload of a full packet, and for 1024 bytes as much as IPv6
 * asks of every link: below it a kernel takes its addresses away, and GIDs with them. */
#define ROCE_HEADERS 256
#define REORDER_DELAY UINT64_C(1000000) /* ns that what is overtaken waits at least */

bool actuator_is_own(enum testbed_word word)
{
    return word == TESTBED_PROCESS_KILL || word == TESTBED_PROCESS_FREEZE ||
           word == TESTBED_PROCESS_RESTART || word == TESTBED_VERB_FAILS ||
           word == TESTBED_COMPLETION_FAILS;
}

/* One command; words are separated by single blanks, a word never holds one but in the last
 * argument. */
__attribute__((format(printf, 1, 0))) static json_t *words_of(const char *format, va_list arguments)
{
    char line[512], *rest = line;
    json_t *words = json_array();
    vsnprintf(line, sizeof line, format, arguments);
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        json_array_append_new(words, json_string(word));
    return words;
}

__attribute__((format(printf, 2, 3))) static void add(json_t *list, const char *format, ...)
{
    va_list arguments;
    assert(json_is_array(list));
    va_start(arguments, format);
    json_array_append_new(list, words_of(format, arguments));
    va_end(arguments);
}

/* ------------------------------------------------------------------ the set "ip" */

static void add_part(struct text *line, const char *name, uint32_t ppm)
{
    if (ppm)
        text_add(line, " %s %u.%04u%%", name, ppm / 10000, ppm % 10000);
}

/* netem is one discipline an interface, so each word says again what the others said. */
static void add_netem(struct actuation *out, const char *interface,
                      const struct actuator_cable *cable, uint32_t loss)
{
    struct text line = {0};
    uint64_t delay = cable->reorder && !cable->delay ? REORDER_DELAY : cable->delay;
    if (delay)
        text_add(&line, " delay %" PRIu64 "us", delay / 1000);
    if (delay && cable->jitter)
        text_add(&line, " %" PRIu64 "us", cable->jitter / 1000);
    add_part(&line, "loss", loss);
    add_part(&line, "duplicate", cable->duplicate);
    add_part(&line, "reorder", cable->reorder);
    if (line.length)
        add(out->commands, "tc qdisc replace dev %s root netem limit 100000%s", interface,
            text_data(&line));
    else
        add(out->commands, "-tc qdisc del dev %s root", interface);
    add(out->undo, "-tc qdisc del dev %s root", interface);
    text_free(&line);
}

static bool disturb(const struct actuator_target *target, const struct testbed_fault *fault,
                    struct actuation *out)
{
    struct actuator_cable *cable = target->cable;
    const struct inventory_device *device = target->device;
    assert(cable && fault->value <= 1000000);
    if (fault->word == TESTBED_CUT)
        cable->cut = fault->on;
    else if (fault->word == TESTBED_LOSS)
        cable->loss = (uint32_t)fault->value;
    else if (fault->word == TESTBED_REORDER)
        cable->reorder = (uint32_t)fault->value;
    else if (fault->word == TESTBED_DUPLICATE)
        cable->duplicate = (uint32_t)fault->value;
    else {
        cable->delay = fault->duration;
        cable->jitter = fault->jitter;
    }
    add_netem(out, device->netdev, cable, cable->cut ? 1000000 : cable->loss);
    if (device->far_end)
        add_netem(out, device->far_end, cable, cable->loss);
    return true;
}

static bool link_state(const char *interface, bool up, struct actuation *out)
{
    if (!interface)
        return false;
    add(out->commands, "ip link set %s %s", interface, up ? "up" : "down");
    if (!up)
        add(out->undo, "ip link set %s up", interface);
    return true;
}

static bool gid_address(const char *netdev, const struct testbed_fault *fault,
                        struct actuation *out)
{
    const uint8_t *raw = fault->gid.raw;
    char text[FABRIC_GID_TEXT], address[FABRIC_GID_TEXT + 24];
    bool add_it = fault->word == TESTBED_GID_ADD;
    if (fabric_gid_family(&fault->gid) == FABRIC_GID_IPV4) {
        snprintf(address, sizeof address, "%u.%u.%u.%u/24", raw[12], raw[13], raw[14], raw[15]);
    } else {
        fabric_gid_format(&fault->gid, text);
        snprintf(address, sizeof address, "%s/64", text);
    }
    /* An IPv6 address is of no use before its duplicate detection, which is not awaited. */
    const char *nodad = strchr(address, ':') ? " nodad" : "";
    if (add_it)
        add(out->commands, "ip address replace %s dev %s%s", address, netdev, nodad);
    else
        add(out->commands, "ip address del %s dev %s", address, netdev);
    if (add_it)
        add(out->undo, "-ip address del %s dev %s", address, netdev);
    else
        add(out->undo, "-ip address replace %s dev %s%s", address, netdev, nodad);
    return true;
}

/* Streams between two addresses; the machine's own remote access is left alone. */
static void add_rule(json_t *list, const char *table, const char *from, const char *to)
{
    const char *family = strchr(from, ':') ? "ip6" : "ip";
    struct text line = {0};
    text_add(&line, "nft add rule inet %s in %s saddr %s", table, family, from);
    if (to)
        text_add(&line, " %s daddr %s", family, to);
    add(list, "%s tcp sport != 22 tcp dport != 22 drop", text_data(&line));
    text_free(&line);
}

static bool tcp_block(const struct actuator_target *target, const struct testbed_fault *fault,
                      struct actuation *out)
{
    char table[160];
    const char *here = target->node->address, *there = target->peer ? target->peer->address : NULL;
    snprintf(table, sizeof table, "memkv_%.60s_%.60s", target->node->name,
             target->peer ? target->peer->name : "all");
    add(out->commands, "-nft delete table inet %s", table);
    if (!fault->on)
        return true;
    add(out->undo, "-nft delete table inet %s", table);
    add(out->commands, "nft add table inet %s", table);
    add(out->commands, "nft add chain inet %s in { type filter hook input priority 0 ; }", table);
    add_rule(out->commands, table, here, there);
    if (there) {
        add_rule(out->commands, table, there, here);
    } else { /* what comes to us from anywhere */
        const char *family = strchr(here, ':') ? "ip6" : "ip";
        add(out->commands,
            "nft add rule inet %s in %s daddr %s tcp sport != 22 tcp dport != 22 drop", table,
            family, here);
    }
    return true;
}

static bool tcp_cut(const struct actuator_target *target, struct actuation *out)
{
    if (target->peer)
        add(out->commands, "ss -K src %s dst %s", target->node->address, target->peer->address);
    else
        add(out->commands, "ss -K src %s sport != 22", target->node->address);
    return true;
}

static bool by_ip(const struct actuator_target *target, const struct testbed_fault *fault,
                  struct actuation *out)
{
    const struct inventory_device *device = target->device;
    if (fault->word == TESTBED_TCP_BLOCK)
        return tcp_block(target, fault, out);
    if (fault->word == TESTBED_TCP_CUT)
        return tcp_cut(target, out);
    if (!device || !device->netdev)
        return false;
    switch (fault->word) {
    case TESTBED_PORT_DOWN:
    case TESTBED_PORT_UP:
        return link_state(device->netdev, fault->word == TESTBED_PORT_UP, out);
    case TESTBED_CABLE_PULL:
    case TESTBED_CABLE_PLUG:
        return link_state(device->far_end, fault->word == TESTBED_CABLE_PLUG, out);
    case TESTBED_MTU_SET:
        add(out->commands, "ip link set %s mtu %" PRIu64, device->netdev,
            fault->value + ROCE_HEADERS);
        add(out->undo, "ip link set %s mtu {read:/sys/class/net/%s/mtu}", device->netdev,
            device->netdev);
        return true;
    case TESTBED_GID_ADD:
    case TESTBED_GID_REMOVE:
        return gid_address(device->netdev, fault, out);
    case TESTBED_LOSS:
    case TESTBED_CUT:
    case TESTBED_DELAY:
    case TESTBED_REORDER:
    case TESTBED_DUPLICATE:
        return disturb(target, fault, out);
    default:
        return false;
    }
}

/* ------------------------------------------------------------------ the set "ibportstate" */

static bool by_ibportstate(const struct actuator_target *target, const struct testbed_fault *fault,
                           struct actuation *out)
{
    const struct inventory_device *device = target->device;
    bool down = fault->word == TESTBED_PORT_DOWN || fault->word == TESTBED_CABLE_PULL;
    bool up = fault->word == TESTBED_PORT_UP || fault->word == TESTBED_CABLE_PLUG;
    if ((!down && !up) || !device || !device->switch_guid)
        return false;
    add(out->commands, "ibportstate -G %s %" PRIu64 " %s", device->switch_guid, device->switch_port,
        down ? "disable" : "enable");
    if (down)
        add(out->undo, "ibportstate -G %s %" PRIu64 " enable", device->switch_guid,
            device->switch_port);
    return true;
}

/* ------------------------------------------------------------------ a simulated fabric */

/* Words about its ports, cables, managers and events. Streams, storage and processes are real. */
static bool is_simulated(enum testbed_word word)
{
    return fault_words[word].cap != FABRIC_CAP_TCP &&
           (fault_words[word].cap != FABRIC_CAP_DISK_FAULT || PLANTED(scenario_disks_simulated)) &&
           fault_words[word].cap != FABRIC_CAP_POWER_LOSS && !actuator_is_own(word);
}

/* What the fault says about a field, as a scenario would write it; false: nothing. */
static bool value_of(const struct testbed_fault *fault, enum word_slot slot, char *out, size_t size)
{
    static const char *const types[] = {[FABRIC_GID_TYPE_IB] = "ib",
                                        [FABRIC_GID_TYPE_ROCE_V1] = "roce_v1",
                                        [FABRIC_GID_TYPE_ROCE_V2] = "roce_v2"};
    const char *const names[] = {
        [WORD_NODE] = fault->node, [WORD_DEVICE] = fault->device,   [WORD_PEER] = fault->peer,
        [WORD_SM] = fault->sm,     [WORD_NETWORK] = fault->network, [WORD_TEXT] = fault->text};
    const uint64_t numbers[] = {[WORD_PORT] = fault->port,
                                [WORD_INDEX] = fault->index,
                                [WORD_VALUE] = fault->value,
                                [WORD_DURATION] = fault->duration,
                                [WORD_JITTER] = fault->jitter};
    char gid[FABRIC_GID_TEXT];
    switch (slot) {
    case WORD_ON:
        snprintf(out, size, "%s", fault->on ? "true" : "false");
        return true;
    case WORD_GID:
        fabric_gid_format(&fault->gid, gid);
        snprintf(out, size, "'%s'", gid);
        return true;
    case WORD_GID_TYPE:
        snprintf(out, size, "%s", types[fault->gid_type]);
        return true;
    case WORD_DURATION:
    case WORD_JITTER:
        snprintf(out, size, "%" PRIu64 " ns", numbers[slot]);
        return true;
    case WORD_PORT:
    case WORD_INDEX:
    case WORD_VALUE:
        snprintf(out, size, "%" PRIu64, numbers[slot]);
        return slot != WORD_PORT || fault->port != 0;
    default:
        if (slot > WORD_TEXT || !names[slot])
            return false;
        snprintf(out, size, "'%s'", names[slot]);
        return true;
    }
}

static bool by_simfabric(const struct inventory *inventory, const struct testbed_fault *fault,
                         struct actuation *out)
{
    const struct fault_word *word = &fault_words[fault->word];
    char value[256], text[320];
    if (!inventory->simfabric || !is_simulated(fault->word))
        return false;
    json_t *command = json_array();
    for (const char *const *begin = inventory->simfabric; *begin; begin++)
        json_array_append_new(command, json_string(*begin));
    json_array_append_new(command, json_string(word->name));
    for (size_t i = 0; i < WORD_MAX_FIELDS && word->fields[i].name; i++) {
        if (!value_of(fault, word->fields[i].slot, value, sizeof value))
            continue;
        snprintf(text, sizeof text, "%s=%s", word->fields[i].name, value);
        json_array_append_new(command, json_string(text));
    }
    json_array_append_new(out->commands, command);
    out->on_runner = true; /* and the fabric ends with its world: nothing to take back */
    return true;
}

/* ------------------------------------------------------------------ the inventory's own */

const char *const actuator_places[] = {"node",  "address", "peer", "device", "netdev", "far_end",
                                       "sm",    "network", "text", "on",     "gid",    "port",
                                       "index", "value",   "us",   NULL};

/* False: there is no such place, the word means something else. */
static bool add_place(struct text *out, const char *name, const struct actuator_target *target,
                      const struct testbed_fault *fault)
{
    const struct inventory_device *device = target->device;
    char gid[FABRIC_GID_TEXT], port[24], index[24], value[24], us[24];
    const char *const values[] = {target->node ? target->node->name : "",
                                  target->node ? target->node->address : "",
                                  target->peer ? target->peer->name : "",
                                  device ? device->name : "",
                                  device && device->netdev ? device->netdev : "",
                                  device && device->far_end ? device->far_end : "",
                                  fault->sm ? fault->sm : "",
                                  fault->network ? fault->network : "",
                                  fault->text ? fault->text : "",
                                  fault->on ? "true" : "false",
                                  gid,
                                  port,
                                  index,
                                  value,
                                  us};
    static_assert(sizeof values / sizeof values[0] + 1 ==
                      sizeof actuator_places / sizeof actuator_places[0],
                  "each place has a value");
    fabric_gid_format(&fault->gid, gid);
    snprintf(port, sizeof port, "%u", fault->port ? fault->port : 1u);
    snprintf(index, sizeof index, "%" PRIu32, fault->index);
    snprintf(value, sizeof value, "%" PRIu64, fault->value);
    snprintf(us, sizeof us, "%" PRIu64, fault->duration / 1000);
    for (size_t i = 0; actuator_places[i]; i++) {
        if (strcmp(actuator_places[i], name) != 0)
            continue;
        text_add(out, "%s", values[i]);
        return true;
    }
    return false; /* "{read:PATH}" too: the node's, when it is time */
}

static json_t *fill_in(const char *word, const struct actuator_target *target,
                       const struct testbed_fault *fault)
{
    struct text out = {0};
    char name[160];
    while (*word) {
        size_t plain = strcspn(word, "{"), length = strcspn(word + plain, "}");
        text_add_bytes(&out, word, plain);
        word += plain;
        if (*word && word[length] == '}') {
            snprintf(name, sizeof name, "%.*s", (int)length - 1, word + 1);
            if (!add_place(&out, name, target, fault))
                text_add_bytes(&out, word, length + 1);
            word += length + 1;
        } else if (*word) {
            text_add(&out, "%s", word);
            break;
        }
    }
    json_t *made = json_string(text_data(&out));
    text_free(&out);
    return made;
}

static void fill_in_all(json_t *list, const char *const *const *commands,
                        const struct actuator_target *target, const struct testbed_fault *fault)
{
    for (; *commands; commands++) {
        json_t *words = json_array();
        for (const char *const *word = *commands; *word; word++)
            json_array_append_new(words, fill_in(*word, target, fault));
        json_array_append_new(list, words);
    }
}

enum testbed_result actuate(const struct inventory *inventory, const struct actuator_target *target,
                            const struct testbed_fault *fault, struct actuation *out, char *detail)
{
    const struct inventory_actuator *own = inventory->own[fault->word];
    const char *name = fault_words[fault->word].name;
    assert(target && fault && out && detail);
    if (!inventory->allowed[fault->word] && !PLANTED(scenario_every_word_allowed)) {
        snprintf(detail, TESTBED_DETAIL, "the inventory does not allow %s", name);
        return TESTBED_LACKS;
    }
    struct actuation made = {.commands = json_array(), .undo = json_array()};
    bool found = own != NULL;
    if (own) {
        made.on_runner = own->on_runner;
        fill_in_all(made.commands, own->commands, target, fault);
        fill_in_all(made.undo, own->undo, target, fault);
    }
    found = found || by_simfabric(inventory, fault, &made);
    found = found || (inventory->ip && by_ip(target, fault, &made));
    found = found || (inventory->ibportstate && by_ibportstate(target, fault, &made));
    if (found) {
        *out = made;
        return TESTBED_DONE;
    }
    actuation_free(&made);
    snprintf(detail, TESTBED_DETAIL, "no actuator for %s", name);
    return TESTBED_LACKS;
}

void actuation_free(struct actuation *actuation)
{
    assert(actuation);
    json_decref(actuation->commands);
    json_decref(actuation->undo);
    *actuation = (struct actuation){0};
}

fabric_caps actuator_caps(const struct inventory *inventory)
{
    static const enum testbed_word ip_words[] = {
        TESTBED_PORT_DOWN, TESTBED_MTU_SET,   TESTBED_GID_ADD, TESTBED_LOSS,     TESTBED_DELAY,
        TESTBED_REORDER,   TESTBED_TCP_BLOCK, TESTBED_TCP_CUT, TESTBED_DUPLICATE};
    fabric_caps caps = 0;
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++) {
        bool simulated = inventory->simfabric && is_simulated((enum testbed_word)i);
        if (inventory->allowed[i] && (inventory->own[i] || simulated))
            caps |= fault_words[i].cap;
    }
    for (size_t i = 0; i < sizeof ip_words / sizeof ip_words[0]; i++) {
        if (inventory->ip && !inventory->simfabric && inventory->allowed[ip_words[i]])
            caps |= fault_words[ip_words[i]].cap;
    }
    if (inventory->ibportstate && inventory->allowed[TESTBED_PORT_DOWN])
        caps |= FABRIC_CAP_PORT_STATE;
    return caps & ~FABRIC_CAP_TCP; /* streams are the agents' */
}
