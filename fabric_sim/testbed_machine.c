/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of nodes: their devices, programs, power, disks and control streams. */
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"
#include "src/fabric/planted.h"

static bool takes_back(struct tb_target *target, enum testbed_word word, bool on)
{
    assert(word < TESTBED_WORD_COUNT && target->inverse.word == TESTBED_WORD_COUNT);
    target->inverse.word = word;
    target->inverse.on = on;
    return true;
}

/* ------------------------------------------------------------------ events, devices */

static bool find_type(const char *text, size_t length, enum fabric_async_type *out)
{
    for (int i = 0; i < FABRIC_ASYNC_COUNT; i++) {
        const char *name = fabric_async_name((enum fabric_async_type)i);
        if (strlen(name) == length && strncmp(name, text, length) == 0) {
            *out = (enum fabric_async_type)i;
            return true;
        }
    }
    return false;
}

/* "LID_CHANGE, PORT_ACTIVE", or "all". */
static bool read_types(const char *text, enum fabric_async_type *out, size_t *count, char *detail)
{
    *count = 0;
    if (!text || strcmp(text, "all") == 0) {
        for (int i = 0; i < FABRIC_ASYNC_COUNT; i++)
            out[(*count)++] = (enum fabric_async_type)i;
        return true;
    }
    while (*text) {
        size_t length = strcspn(text, ", ");
        if (length && (*count == FABRIC_ASYNC_COUNT || !find_type(text, length, &out[*count]))) {
            tb_say(detail, "'%.40s' is no asynchronous event, such as PORT_ACTIVE; or all", text);
            return false;
        }
        *count += length > 0;
        text += length + (text[length] != '\0');
    }
    return true;
}

static bool events(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    enum fabric_async_type types[FABRIC_ASYNC_COUNT];
    uint32_t set = 0, times = fault->value ? (uint32_t)fault->value : 1;
    size_t count;
    if (!read_types(fault->text, types, &count, detail))
        return false;
    for (size_t i = 0; i < count; i++)
        set |= 1u << types[i];
    switch (fault->word) {
    case TESTBED_EVENT_HOLD:
        if (!fault->text && !fault->on)
            sim_device_clear_event_faults(target->device);
        else
            sim_device_hold_events(target->device, set, fault->on);
        return fault->on ? takes_back(target, TESTBED_EVENT_HOLD, false) : true;
    case TESTBED_EVENT_LOSE:
        sim_device_lose_events(target->device, set, times);
        break;
    case TESTBED_EVENT_DUPLICATE:
        sim_device_double_events(target->device, set, times);
        break;
    default:
        sim_device_order_events(target->device, types, count);
    }
    return takes_back(target, TESTBED_EVENT_HOLD, false); /* without types: all faults of events */
}

static bool device(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    bool remove = fault->word == TESTBED_DEVICE_REMOVE;
    (void)detail;
    if (remove == (sim_device_hca(target->device) == NULL) && remove)
        return true;
    if (remove)
        sim_device_remove(target->device);
    else
        sim_device_return(target->device);
    return remove ? takes_back(target, TESTBED_DEVICE_RETURN, false) : true;
}

/* Targets live as long as their programs, so there is nothing to take back. */
static bool dc_key(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct hca *hca = sim_device_hca(target->device);
    assert(fault->word == TESTBED_DC_KEY_CHANGE);
    if (!hca || hca_dct_change_keys(hca) == 0) {
        tb_say(detail, "node '%s' has no DC target there", target->node->name);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ calls that fail */

static bool add_rule(struct tb_target *target, const struct layer_fault_rule *rule, char *detail)
{
    struct tb_node *node = target->node;
    assert(rule->nth > 0);
    if (node->rule_count == LAYER_FAULT_RULES) {
        tb_say(detail, "node '%s' has %d such rules already", node->name, LAYER_FAULT_RULES);
        return false;
    }
    node->rules[node->rule_count++] = *rule;
    if (node->faults)
        (void)layer_fault_add(node->faults, rule);
    return takes_back(target, TESTBED_VERB_FAILS, false);
}

static void clear_rules(struct tb_node *node)
{
    node->rule_count = 0;
    tb_put_rules(node);
}

/* Without an operation: every rule is taken back. */
static bool verb_fails(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct layer_fault_rule rule = {
        .nth = fault->index ? fault->index : 1, .repeat = fault->value, .error = fault->error};
    if (!fault->text) {
        clear_rules(target->node);
        return true;
    }
    if (!fabric_op_by_name(fault->text, &rule.op)) {
        tb_say(detail, "'%.60s' is no operation, such as qp_create", fault->text);
        return false;
    }
    if (fabric_op_fault(rule.op) == FABRIC_OK) {
        tb_say(detail, "%s never fails", fault->text);
        return false;
    }
    return add_rule(target, &rule, detail);
}

static bool completion_fails(struct tb_target *target, const struct testbed_fault *fault,
                             char *detail)
{
    struct layer_fault_rule rule = {
        .op = FABRIC_OP_POLL, .nth = fault->index ? fault->index : 1, .repeat = fault->value};
    for (int i = FABRIC_WC_SUCCESS + 1; fault->text && i < FABRIC_WC_STATUS_COUNT; i++) {
        if (strcmp(fabric_wc_status_name((enum fabric_wc_status)i), fault->text) == 0)
            rule.status = (enum fabric_wc_status)i;
    }
    if (rule.status == FABRIC_WC_SUCCESS) {
        tb_say(detail, "'%.60s' is no status of a failed completion, such as RETRY_EXC_ERR",
               fault->text ? fault->text : "");
        return false;
    }
    return add_rule(target, &rule, detail);
}

/* ------------------------------------------------------------------ programs, power */

static bool process(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct tb_node *node = target->node;
    if (fault->word == TESTBED_PROCESS_RESTART) /* taking a kill back: unless it runs again */
        return (fault->value == TB_AS_IT_CAME && node->fabric) || tb_restart(node, detail);
    if (!node->fabric) {
        tb_say(detail, "node '%s' runs no program", node->name);
        return false;
    }
    if (fault->word == TESTBED_PROCESS_KILL) {
        tb_kill(node);
        target->inverse.value = TB_AS_IT_CAME;
        return takes_back(target, TESTBED_PROCESS_RESTART, false);
    }
    tb_freeze(node, fault->on);
    return fault->on ? takes_back(target, TESTBED_PROCESS_FREEZE, false) : true;
}

static void set_power(struct tb_node *node, bool on)
{
    assert(node->off == on);
    node->off = !on;
    stream_host_set_power(sim_host_streams(node->host), on);
    for (size_t i = 0; i < sim_device_count(node->host); i++) {
        const struct sim_device *one = sim_device_at(node->host, i);
        if (sim_device_hca(one))
            net_node_set_power(sim_device_node(one), on);
    }
}

/* The network goes first: a machine without power says no farewell. */
static bool power_loss(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct tb_node *node = target->node;
    (void)fault;
    (void)detail;
    if (node->off)
        return true;
    target->inverse.value = node->fabric ? TB_AS_IT_CAME : 0; /* with the program that ran */
    set_power(node, false);
    tb_kill(node);
    disk_power_cut(sim_host_disk(node->host));
    return takes_back(target, TESTBED_POWER_RETURN, false);
}

/* What a machine starts when it boots is not the testbed's to know: a step starts the program
 * again, by process_restart. Taking the loss back brings back all that was there. */
static bool power_return(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct tb_node *node = target->node;
    if (node->off)
        set_power(node, true);
    bool back = fault->value == TB_AS_IT_CAME && !PLANTED(testbed_power_leaves_program);
    return !back || node->fabric || tb_restart(node, detail);
}

/* ------------------------------------------------------------------ disks, streams */

static bool disk_fault(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct disk *disk = sim_host_disk(target->node->host);
    (void)detail;
    if (fault->word == TESTBED_DISK_ERROR)
        disk_set_error(disk, fault->on);
    else if (fault->word == TESTBED_DISK_FULL)
        disk_set_full(disk, fault->on);
    else
        disk_set_slow(disk, fault->duration);
    return takes_back(target, fault->word, false);
}

static bool tcp_fault(struct tb_target *target, const struct testbed_fault *fault, char *detail)
{
    struct stream_net *net = sim_world_streams(target->tb->world);
    struct stream_host *a = sim_host_streams(target->node->host);
    struct stream_host *b = target->peer ? sim_host_streams(target->peer->host) : NULL;
    (void)detail;
    if (fault->word == TESTBED_TCP_CUT) {
        stream_cut(net, a, b);
        return true;
    }
    if (fault->word == TESTBED_TCP_BLOCK)
        stream_block(net, a, b, fault->on);
    else
        stream_slow(net, a, b, fault->value, fault->duration);
    return takes_back(target, fault->word, false);
}

tb_act tb_machine_act(enum testbed_word word)
{
    static const tb_act acts[TESTBED_WORD_COUNT] = {
        [TESTBED_EVENT_HOLD] = events,      [TESTBED_EVENT_LOSE] = events,
        [TESTBED_EVENT_DUPLICATE] = events, [TESTBED_EVENT_ORDER] = events,
        [TESTBED_VERB_FAILS] = verb_fails,  [TESTBED_COMPLETION_FAILS] = completion_fails,
        [TESTBED_DEVICE_REMOVE] = device,   [TESTBED_DEVICE_RETURN] = device,
        [TESTBED_DC_KEY_CHANGE] = dc_key,   [TESTBED_PROCESS_KILL] = process,
        [TESTBED_PROCESS_FREEZE] = process, [TESTBED_PROCESS_RESTART] = process,
        [TESTBED_POWER_LOSS] = power_loss,  [TESTBED_POWER_RETURN] = power_return,
        [TESTBED_DISK_ERROR] = disk_fault,  [TESTBED_DISK_FULL] = disk_fault,
        [TESTBED_DISK_SLOW] = disk_fault,   [TESTBED_TCP_BLOCK] = tcp_fault,
        [TESTBED_TCP_SLOW] = tcp_fault,     [TESTBED_TCP_CUT] = tcp_fault,
    };
    return acts[word];
}
