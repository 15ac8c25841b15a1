/* SPDX-License-Identifier: Apache-2.0 */
/* Fault words on machines, and taking them back. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/planted.h"
#include "src/scenario/remote_state.h"
#include "src/scenario/words.h"

/* ------------------------------------------------------------------ words about our own programs
 */

static bool make_rule(const struct testbed_fault *fault, json_t **out, char *detail)
{
    enum fabric_op op = FABRIC_OP_POLL;
    int status = FABRIC_WC_SUCCESS;
    const char *text = fault->text ? fault->text : "";
    if (fault->word == TESTBED_VERB_FAILS &&
        (!fabric_op_by_name(text, &op) || fabric_op_fault(op) == FABRIC_OK)) {
        snprintf(detail, TESTBED_DETAIL, "'%.60s' is no operation that can fail, such as qp_create",
                 text);
        return false;
    }
    for (int i = FABRIC_WC_SUCCESS + 1; i < FABRIC_WC_STATUS_COUNT; i++) {
        if (fault->word == TESTBED_COMPLETION_FAILS &&
            strcmp(fabric_wc_status_name((enum fabric_wc_status)i), text) == 0)
            status = i;
    }
    if (fault->word == TESTBED_COMPLETION_FAILS && status == FABRIC_WC_SUCCESS) {
        snprintf(detail, TESTBED_DETAIL,
                 "'%.60s' is no status of a failed completion, such as RETRY_EXC_ERR", text);
        return false;
    }
    *out = json_pack("{s:s, s:I, s:I, s:i, s:i}", "op", fabric_op_name(op), "nth",
                     (json_int_t)(fault->index ? fault->index : 1), "repeat",
                     (json_int_t)fault->value, "error", (int)fault->error, "status", status);
    return true;
}

static json_t *own_message(const struct testbed_fault *fault, struct remote_node *node,
                           char *detail)
{
    json_t *rule = NULL;
    switch (fault->word) {
    case TESTBED_PROCESS_KILL:
        return json_pack("{s:s}", "do", "kill");
    case TESTBED_PROCESS_FREEZE:
        return json_pack("{s:s, s:b}", "do", "freeze", "on", fault->on);
    case TESTBED_PROCESS_RESTART:
        node->running = true;
        return json_pack("{s:s}", "do", "restart");
    default:
        return make_rule(fault, &rule, detail) ? json_pack("{s:s, s:o}", "do", "rule", "rule", rule)
                                               : NULL;
    }
}

static enum testbed_result apply_own(struct testbed *tb, const struct testbed_fault *fault,
                                     char *detail)
{
    struct remote_node *node = remote_node(tb, fault->node, detail);
    json_t *message = node ? own_message(fault, node, detail) : NULL;
    if (!message)
        return TESTBED_WRONG;
    if (tb->plan) {
        json_decref(message);
        remote_tell(tb, TESTBED_EVENT_LOG, node->name, "the agent does this to its program",
                    FABRIC_LOG_INFO, FABRIC_OK, 0);
        return TESTBED_DONE;
    }
    if (!remote_send(tb, node, message)) {
        snprintf(detail, TESTBED_DETAIL, "the agent of %s is gone", node->name);
        return TESTBED_FAILED;
    }
    /* An agent does one thing after the other: what it is asked now is answered after that, and
     * what other nodes do next comes later. */
    return remote_ask(tb, node, json_pack("{s:s, s:s}", "do", "ask", "query", "running"), detail);
}

/* ------------------------------------------------------------------ words about machines */

static struct remote_device *device_of(struct remote_node *node, const char *name)
{
    for (size_t i = 0; node && i < node->device_count; i++) {
        if (!name || strcmp(node->devices[i].name, name) == 0)
            return &node->devices[i];
    }
    return NULL;
}

/* A scenario names an entry of the table by its place; an address is named by what it is. */
static bool find_gid(struct remote_device *device, struct testbed_fault *fault, char *detail)
{
    if (fault->word == TESTBED_GID_ADD && device->gid_count < REMOTE_GIDS) {
        device->gids[device->gid_count++] = (struct remote_gid){fault->index, fault->gid, true};
        return true;
    }
    for (size_t i = 0; i < device->gid_count; i++) {
        struct remote_gid *gid = &device->gids[i];
        if (!gid->there || gid->index != fault->index)
            continue;
        fault->gid = gid->gid;
        gid->there = fault->word != TESTBED_GID_REMOVE;
        return true;
    }
    snprintf(detail, TESTBED_DETAIL, "no GID at index %" PRIu32 " that the scenario had put there",
             fault->index);
    return false;
}

static void show_plan(struct testbed *tb, const char *node, const json_t *list, const char *prefix)
{
    json_t *command, *word;
    size_t i, j;
    json_array_foreach((json_t *)(uintptr_t)list, i, command)
    {
        struct text line = {0};
        text_add(&line, "%s", prefix);
        json_array_foreach(command, j, word) text_add(&line, " %s", json_string_value(word));
        remote_tell(tb, TESTBED_EVENT_LOG, node, text_data(&line), FABRIC_LOG_INFO, FABRIC_OK, 0);
        text_free(&line);
    }
}

static enum testbed_result act(struct testbed *tb, struct remote_node *node,
                               const struct actuation *actuation, char *detail)
{
    assert(node || actuation->on_runner);
    if (tb->plan) {
        const char *name = actuation->on_runner ? "" : node->name;
        show_plan(tb, name, actuation->commands, "do:  ");
        show_plan(tb, name, actuation->undo, "undo:");
        return TESTBED_DONE;
    }
    if (!actuation->on_runner)
        return remote_ask(tb, node,
                          json_pack("{s:s, s:O, s:O}", "do", "act", "commands", actuation->commands,
                                    "undo", actuation->undo),
                          detail);
    if (!undo_push(&tb->undo, actuation->undo)) {
        snprintf(detail, TESTBED_DETAIL, "%.200s cannot be written", tb->undo.path);
        return TESTBED_FAILED;
    }
    return undo_run_commands(tb->host, actuation->commands, detail) ? TESTBED_DONE : TESTBED_FAILED;
}

enum testbed_result remote_apply(struct testbed *tb, const struct testbed_fault *fault,
                                 char *detail)
{
    char ignored[TESTBED_DETAIL];
    struct testbed_fault copy = *fault;
    struct actuation actuation = {0};
    assert(tb && detail && fault->word < TESTBED_WORD_COUNT);
    if (!(tb->caps & fault_words[fault->word].cap)) {
        snprintf(detail, TESTBED_DETAIL, "%s (%s)", fault_words[fault->word].name,
                 tb->inventory->simfabric
                     ? "what it is about is not simulated"
                     : "the inventory has no actuator for it, or does not allow it");
        return TESTBED_LACKS;
    }
    if (actuator_is_own(fault->word))
        return apply_own(tb, fault, detail);
    struct remote_node *node = fault->node ? remote_node(tb, fault->node, detail) : NULL;
    struct remote_node *peer = fault->peer ? remote_node(tb, fault->peer, ignored) : NULL;
    struct remote_device *device = device_of(node, fault->device);
    if (fault->node && !node)
        return TESTBED_WRONG;
    if (!tb->inventory->simfabric &&
        (fault->word == TESTBED_GID_ADD || fault->word == TESTBED_GID_REMOVE) &&
        (!device || !find_gid(device, &copy, detail)))
        return TESTBED_WRONG;
    struct actuator_target target = {.node = node ? node->at : NULL,
                                     .peer = peer ? peer->at : NULL,
                                     .device = device ? device->is : NULL,
                                     .cable = device ? &device->cable : NULL};
    enum testbed_result result = actuate(tb->inventory, &target, &copy, &actuation, detail);
    if (result != TESTBED_DONE)
        return result;
    if (!node && !actuation.on_runner) {
        snprintf(detail, TESTBED_DETAIL, "%s names no node: its actuator must run `on: runner`",
                 fault_words[fault->word].name);
        result = TESTBED_WRONG;
    } else {
        result = act(tb, node, &actuation, detail);
    }
    actuation_free(&actuation);
    return result;
}

/* A node whose agent died gets another one, which finds the journal of the first. */
enum testbed_result remote_take_back(struct testbed *tb, char *detail)
{
    enum testbed_result result = TESTBED_DONE;
    char why[TESTBED_DETAIL] = "";
    assert(tb && detail);
    if (tb->plan)
        return TESTBED_DONE;
    for (size_t i = tb->node_count; i-- > 0;) {
        struct remote_node *node = &tb->nodes[i];
        if (!node->at)
            continue;
        if ((!node->agent && !remote_start_agent(tb, node, why)) ||
            remote_ask(tb, node, json_pack("{s:s}", "do", "undo"), why) != TESTBED_DONE) {
            snprintf(detail, TESTBED_DETAIL, "%.60s: %.180s", node->name, why);
            result = TESTBED_FAILED;
        } else {
            (void)remote_send(tb, node, json_pack("{s:s}", "do", "clear"));
            (void)remote_send(tb, node, json_pack("{s:s, s:b}", "do", "freeze", "on", false));
        }
        for (size_t j = 0; j < node->device_count; j++)
            node->devices[j].cable = (struct actuator_cable){0};
    }
    if (!undo_all(&tb->undo, why)) {
        snprintf(detail, TESTBED_DETAIL, "%.250s", why);
        result = TESTBED_FAILED;
    }
    return result;
}
