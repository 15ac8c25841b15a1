/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The testbed over a simulated fabric in real time (HA-3.7, HA-4.5): every world is a fabric of its
 * own that `simfabric` runs, each node an agent that `simfabric exec` starts on it, in a network of
 * its own. All else is that of machines.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/layer_place.h"
#include "src/fabric/planted.h"
#include "src/scenario/remote_state.h"
#include "src/scenario/topology_write.h"

#define SAY(...) snprintf(detail, TESTBED_DETAIL, __VA_ARGS__)
#define PROGRAM_PATH 1024
#define FABRIC_PATIENCE UINT64_C(30000000000) /* ns until the fabric must take programs */
#define MOST_NODES 30                         /* children of one host, beside the fabric */
#define SLACK UINT64_C(2000000000) /* ns: several such fabrics may share the processors */

/* What the simulated adapters are like, beside what agents find out by themselves. */
#define HCA_CAPS                                                                                   \
    (FABRIC_CAP_SLID_CHECK | FABRIC_CAP_SM_CHANGE_EVENT | FABRIC_CAP_GID_CACHE_STALE |             \
     FABRIC_CAP_RTR_MTU_CHECKED | FABRIC_CAP_ACK_TIMEOUT_FLOOR)

/* ------------------------------------------------------------------ what it cannot be */

static bool fits_node(const struct topology_node *node, char *detail)
{
    assert(node && detail);
    if (node->control) {
        SAY("node %s has its address on the interface %s, whose packets are not simulated",
            node->name, node->control);
        return false;
    }
    if (node->device_count > LAYER_PLACE_DEVICES) {
        SAY("node %s has %zu devices; %d are possible", node->name, node->device_count,
            LAYER_PLACE_DEVICES);
        return false;
    }
    for (size_t i = 0; i < node->device_count; i++) {
        for (size_t j = 0; j < node->devices[i].port_count; j++) {
            if (!node->devices[i].ports[j].dcb.present)
                continue;
            SAY("node %s has settings of DCB, which only a kernel's interface has", node->name);
            return false;
        }
    }
    return true;
}

static bool fits(const struct topology *topology, char *detail)
{
    if (topology->node_count > MOST_NODES) {
        SAY("%zu nodes, each of which is processes; %d are possible", topology->node_count,
            MOST_NODES);
        return false;
    }
    for (size_t i = 0; i < topology->node_count; i++) {
        if (!fits_node(&topology->nodes[i], detail))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ the inventory of its nodes */

static const char *formatted(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static const char *formatted(struct arena *arena, const char *format, ...)
{
    char text[PROGRAM_PATH + 128];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    assert(length >= 0 && (size_t)length < sizeof text);
    return arena_copy(arena, text);
}

/* The words that begin every command to the fabric, and room for the rest of them. */
static const char **to_fabric(struct inventory *inventory, const char *simfabric,
                              const char *command, size_t *count)
{
    const char *const words[] = {simfabric, command, "--name", strrchr(inventory->state, '/') + 1};
    const char **out = arena_alloc(&inventory->arena, REMOTE_WORDS, sizeof *out);
    *count = sizeof words / sizeof words[0];
    memcpy(out, words, sizeof words);
    return out;
}

static bool find_programs(const struct remote_host *host, char *simfabric, char *own, char *detail)
{
    if (host->beside(host->context, "simfabric", simfabric, PROGRAM_PATH) &&
        host->beside(host->context, "memkv-scenario", own, PROGRAM_PATH))
        return true;
    SAY("simfabric and memkv-scenario must lie in one folder");
    return false;
}

/* Addresses come from our number, so that two runs do not meet where they share a network. */
static void fill_node(struct inventory *inventory, const struct topology_node *from, size_t index,
                      uint64_t process, struct inventory_node *node)
{
    struct arena *arena = &inventory->arena;
    assert(index < MOST_NODES);
    node->name = arena_copy(arena, from->name);
    node->address = formatted(arena, "127.%u.%u.%zu", (unsigned)(1 + process / 250 % 250),
                              (unsigned)(1 + process % 250), index + 1);
    node->device_count = from->device_count;
    node->devices = arena_alloc(arena, from->device_count + 1, sizeof *node->devices);
    for (size_t i = 0; i < from->device_count; i++)
        node->devices[i].name = arena_copy(arena, from->devices[i].name);
}

static struct inventory *make_inventory(const struct topology *topology,
                                        const struct remote_host *host, char *detail)
{
    char simfabric[PROGRAM_PATH], own[PROGRAM_PATH];
    struct inventory *inventory = calloc(1, sizeof *inventory);
    size_t count;
    if (!inventory)
        abort();
    if (!find_programs(host, simfabric, own, detail)) {
        inventory_free(inventory);
        return NULL;
    }
    const char *program = arena_copy(&inventory->arena, simfabric);
    uint64_t process = host->process(host->context);
    inventory->exclusive = true;
    for (size_t i = 0; i < TESTBED_WORD_COUNT; i++)
        inventory->allowed[i] = true;
    inventory->slack = SLACK;
    inventory->state = formatted(&inventory->arena, "/tmp/memkv-scenario-%" PRIu64, process);
    inventory->simfabric = to_fabric(inventory, program, "ctl", &count);
    inventory->node_count = topology->node_count;
    inventory->nodes =
        arena_alloc(&inventory->arena, topology->node_count, sizeof *inventory->nodes);
    for (size_t i = 0; i < topology->node_count; i++) {
        struct inventory_node *node = &inventory->nodes[i];
        fill_node(inventory, &topology->nodes[i], i, process, node);
        const char **words = to_fabric(inventory, program, "exec", &count);
        words[count++] = "--node";
        words[count++] = node->name;
        words[count++] = "--";
        words[count++] = arena_copy(&inventory->arena, own);
        words[count] = "agent";
        node->agent = words;
    }
    return inventory;
}

/* ------------------------------------------------------------------ bringing it up */

static bool write_topology(struct testbed *tb, const struct topology *topology, const char *path,
                           char *detail)
{
    const struct remote_host *host = tb->host;
    struct text text = {0};
    host->remove(host->context, tb->inventory->state); /* of an earlier process of our number */
    if (!host->folder(host->context, tb->inventory->state)) {
        SAY("%.200s must be a folder that nobody else may write in", tb->inventory->state);
        return false;
    }
    topology_write(topology, &text);
    bool written = host->write(host->context, path, text_data(&text), text.length, 0);
    text_free(&text);
    if (!written)
        SAY("%.200s cannot be written", path);
    return written;
}

/* The fabric ends with its standard input, whatever becomes of us. */
static bool start_fabric(struct testbed *tb, const char *path, char *detail)
{
    char why[REMOTE_DETAIL] = "";
    size_t count;
    const struct remote_host *host = tb->host;
    uint64_t deadline = host->now(host->context) + FABRIC_PATIENCE;
    const char **words = to_fabric(tb->inventory, tb->inventory->simfabric[0], "up", &count);
    words[count++] = "--attached";
    words[count] = path;
    tb->simulated = host->spawn(host->context, words, why);
    if (!tb->simulated) {
        SAY("%.250s", why);
        return false;
    }
    while (!tb->simulated_up && tb->simulated && host->now(host->context) < deadline)
        remote_pump(tb, deadline);
    if (tb->simulated_up)
        return true;
    SAY("the fabric %s: %.200s", tb->simulated ? "does not come up" : "ended",
        remote_last_words(tb));
    return false;
}

static void fill_nodes(struct testbed *tb, const struct topology *topology)
{
    struct arena *arena = &tb->arena;
    tb->nodes = arena_alloc(arena, topology->node_count + 1, sizeof *tb->nodes);
    tb->node_count = topology->node_count;
    for (size_t i = 0; i < topology->node_count; i++) {
        const struct topology_node *from = &topology->nodes[i];
        struct remote_node *node = &tb->nodes[i];
        *node = (struct remote_node){.name = arena_copy(arena, from->name),
                                     .address = arena_copy(arena, from->address),
                                     .at = &tb->inventory->nodes[i],
                                     .device_count = from->device_count};
        node->devices = arena_alloc(arena, from->device_count + 1, sizeof *node->devices);
        for (size_t j = 0; j < from->device_count; j++) {
            node->devices[j].is = &node->at->devices[j];
            node->devices[j].name = node->devices[j].is->name;
        }
    }
}

/* Streams can be blocked and cut only in a network that is nobody else's. */
static bool bring_up(struct testbed *tb, const struct topology *topology, char *detail)
{
    char path[UNDO_PATH], why[REMOTE_DETAIL];
    const struct remote_host *host = tb->host;
    tb->inventory->ip = host->own_network(host->context, why);
    snprintf(path, sizeof path, "%.200s/topology.yaml", tb->inventory->state);
    bool up = write_topology(tb, topology, path, detail) && start_fabric(tb, path, detail);
    host->remove(host->context, path);
    return up && remote_begin(tb, detail);
}

struct testbed *emulated_create(const struct topology *topology,
                                const struct testbed_options *options, char *detail)
{
    bool ignored, *broke = options->broke ? options->broke : &ignored;
    assert(topology && options->host && detail);
    *broke = false;
    if (!fits(topology, detail))
        return NULL;
    *broke = true;
    struct inventory *inventory = make_inventory(topology, options->host, detail);
    struct testbed *tb = inventory ? remote_blank("emulated", inventory, options) : NULL;
    if (!tb)
        return NULL;
    fill_nodes(tb, topology);
    if (!tb->plan && !bring_up(tb, topology, detail)) {
        remote_leave(tb);
        return NULL;
    }
    tb->caps |=
        actuator_caps(inventory) | HCA_CAPS | FABRIC_CAP_PROCESS_KILL | FABRIC_CAP_VERB_FAULT;
    tb->caps &= options->caps & ~FABRIC_CAP_HTTP; /* the agent speaks none */
    tb->begin = tb->host->now(tb->host->context); /* the world's time 0 */
    return tb;
}
