/* SPDX-License-Identifier: Apache-2.0 */
/* Whom an InfiniBand fabric belongs to (HA-4.4), and what a killed run left behind. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/planted.h"
#include "src/scenario/remote_state.h"

#define SAY(...) snprintf(detail, TESTBED_DETAIL, __VA_ARGS__)

/* Asked on the first machine that has a device; one answer a line, by semicolons. */
#define MASTER "sminfo -C {device} | sed -n 's/.*guid \\(0x[0-9a-f]*\\).*SMINFO_MASTER.*/\\1/p'"
#define HOSTS "ibhosts -C {device} | sed -n 's/^Ca[^\"]*\"\\(.*\\)\"$/\\1/p' | tr '\\n' ';'"

static bool is_known(const char *const *known, const char *name)
{
    for (; *known; known++) {
        if (strcmp(*known, name) == 0)
            return true;
    }
    return false;
}

static bool are_known(const char *const *known, char *names, const char *what, char *detail)
{
    char *rest = names;
    bool any = false;
    for (char *name; (name = strtok_r(rest, ";", &rest)); any = true) {
        if (is_known(known, name) || PLANTED(scenario_strangers_on_the_fabric))
            continue;
        SAY("the fabric has a %s that the inventory does not know: %.120s", what, name);
        return false;
    }
    if (!any)
        SAY("the fabric was asked for its %ss and did not answer", what);
    return any;
}

/* Runs a shell's line on the machine; what it says is tb->answer, however long. */
static bool look(struct testbed *tb, struct remote_node *node, const char *line, char *detail)
{
    char said[TESTBED_DETAIL] = "";
    struct text out = {0};
    const char *place = strstr(line, "{device}");
    assert(place);
    text_add_bytes(&out, line, (size_t)(place - line));
    text_add(&out, "%s%s", node->at->devices[0].name, place + strlen("{device}"));
    enum testbed_result result =
        remote_ask(tb, node, json_pack("{s:s, s:s}", "do", "look", "line", text_data(&out)), said);
    text_free(&out);
    if (result != TESTBED_DONE)
        SAY("%.60s: %.180s", node->at->name, said);
    return result == TESTBED_DONE;
}

static bool ask_fabric(struct testbed *tb, char *detail)
{
    struct remote_node *node = &tb->nodes[0];
    assert(tb->node_count == 1);
    return look(tb, node, MASTER, detail) &&
           are_known(tb->inventory->managers, tb->answer, "master subnet manager", detail) &&
           look(tb, node, HOSTS, detail) &&
           are_known(tb->inventory->hosts, tb->answer, "host", detail);
}

/* A testbed of the inventory's machines alone: nothing is set up. */
static struct testbed *visit(const struct testbed_options *options, const char *device_or_any,
                             char *detail)
{
    struct inventory *inventory = remote_inventory(options, detail);
    struct testbed *tb = inventory ? calloc(1, sizeof *tb) : NULL;
    if (!tb)
        return NULL;
    tb->host = options->host;
    tb->inventory = inventory;
    tb->events_end = &tb->events;
    tb->nodes = arena_alloc(&tb->arena, inventory->node_count, sizeof *tb->nodes);
    for (size_t i = 0; i < inventory->node_count; i++) {
        const struct inventory_node *at = &inventory->nodes[i];
        if (device_or_any && (tb->node_count > 0 || at->device_count == 0))
            continue;
        tb->nodes[tb->node_count++] = (struct remote_node){.name = at->name, .at = at};
    }
    return tb;
}

bool remote_known(const struct testbed_options *options, const struct inventory *inventory,
                  char *detail)
{
    if (!inventory->managers)
        return true;
    struct testbed *tb = visit(options, "with a device", detail);
    bool known = tb && remote_begin(tb, detail) && ask_fabric(tb, detail);
    if (tb)
        remote_leave(tb);
    return known;
}

/* An agent takes back at `begin` what it finds, and says so. */
bool remote_undo_all(const struct testbed_options *options, char *detail)
{
    char path[UNDO_PATH];
    struct testbed *tb = visit(options, NULL, detail);
    if (!tb)
        return false;
    remote_journal(tb->inventory, path);
    undo_open(&tb->undo, tb->host, path);
    size_t lines = undo_count(&tb->undo);
    bool done = remote_begin(tb, detail);
    enum testbed_result result = remote_take_back(tb, detail);
    for (const struct remote_told *one = tb->events; one; one = one->next)
        lines += one->event.level == FABRIC_LOG_WARN;
    if (done && result == TESTBED_DONE)
        SAY(lines ? "what an earlier run had left is taken back" : "there is nothing to take back");
    remote_leave(tb);
    return done && result == TESTBED_DONE;
}
