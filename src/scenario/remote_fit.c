/* SPDX-License-Identifier: Apache-2.0 */
/* Which machine is which node, and making its ports what the topology says. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/planted.h"
#include "src/scenario/remote_state.h"

#define SAY(...) snprintf(detail, TESTBED_DETAIL, __VA_ARGS__)
#define GREETING UINT64_C(30000000000)    /* ns until an agent must have said hello */
#define GID_PATIENCE UINT64_C(3000000000) /* ns until the kernel has made GIDs of an address */

/* ------------------------------------------------------------------ what machines cannot be */

static bool fits_port(const struct topology_node *node, const struct topology_port *port,
                      char *detail)
{
    const char *what = NULL;
    if (!port->network)
        what = "a port with nothing plugged in";
    else if (port->attach)
        what = "a port at a certain switch";
    else if (port->link_mtu)
        what = "a cable with a smaller MTU";
    else if (port->grh_required)
        what = "a port that demands a GRH";
    else if (port->netdev_mtu || port->ipoib != TOPOLOGY_IPOIB_DATAGRAM)
        what = "settings of an interface";
    else if (port->dcb.present)
        what = "settings of DCB";
    if (what)
        SAY("node %s has %s, which is not set up on machines", node->name, what);
    return what == NULL;
}

static bool fits_node(const struct topology_node *node, const struct inventory_node *at,
                      char *detail)
{
    if (node->device_count > at->device_count) {
        SAY("node %s has %zu devices, machine %s has %zu", node->name, node->device_count, at->name,
            at->device_count);
        return false;
    }
    if (node->control) {
        SAY("node %s has its address on an IPoIB interface", node->name);
        return false;
    }
    for (size_t i = 0; i < node->device_count; i++) {
        const struct topology_device *device = &node->devices[i];
        if (device->port_count != 1) {
            SAY("device %s of node %s has %zu ports", device->name, node->name, device->port_count);
            return false;
        }
        if (strcmp(device->profile, "mlx5") != 0 && strcmp(device->profile, "rxe") != 0) {
            SAY("device %s of node %s is of the kind %s", device->name, node->name,
                device->profile);
            return false;
        }
        if (!fits_port(node, &device->ports[0], detail))
            return false;
    }
    return true;
}

/* One network in which everybody reaches everybody is what an inventory promises. */
static bool fits_networks(const struct topology *t, char *detail)
{
    if (t->subnet_count + t->ethernet_count > 1) {
        SAY("%zu networks; an inventory is one", t->subnet_count + t->ethernet_count);
        return false;
    }
    if (t->switch_count || t->link_count) {
        SAY("switches and cables between them are what they are");
        return false;
    }
    const struct topology_subnet *subnet = t->subnet_count ? &t->subnets[0] : NULL;
    if (subnet &&
        (subnet->lmc || subnet->partition_count || subnet->sm_count || subnet->has_sl_to_vl)) {
        SAY("subnet %s has settings of its subnet manager", subnet->name);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ who is who */

/* The machine of the same name, else the next one that no node is called after. */
static const struct inventory_node *machine_of(const struct inventory *inventory,
                                               const struct topology *t, size_t index)
{
    size_t nameless = 0, seen = 0;
    for (size_t i = 0; i < inventory->node_count; i++) {
        if (strcmp(inventory->nodes[i].name, t->nodes[index].name) == 0)
            return &inventory->nodes[i];
    }
    for (size_t i = 0; i < index; i++) { /* nodes before that have no machine of their name */
        bool named = false;
        for (size_t j = 0; j < inventory->node_count; j++)
            named = named || strcmp(inventory->nodes[j].name, t->nodes[i].name) == 0;
        nameless += !named;
    }
    for (size_t i = 0; i < inventory->node_count; i++) {
        bool wanted = false;
        for (size_t j = 0; j < t->node_count; j++)
            wanted = wanted || strcmp(inventory->nodes[i].name, t->nodes[j].name) == 0;
        if (!wanted && seen++ == nameless)
            return &inventory->nodes[i];
    }
    return NULL;
}

static void fill_node(struct testbed *tb, const struct topology_node *from,
                      const struct inventory_node *at, struct remote_node *node)
{
    *node = (struct remote_node){.name = arena_copy(&tb->arena, from->name),
                                 .address = arena_copy(&tb->arena, from->address),
                                 .at = at,
                                 .device_count = from->device_count};
    node->devices = arena_alloc(&tb->arena, from->device_count + 1, sizeof *node->devices);
    for (size_t i = 0; i < from->device_count; i++) {
        struct remote_device *device = &node->devices[i];
        const struct topology_port *port = &from->devices[i].ports[0];
        device->name = arena_copy(&tb->arena, from->devices[i].name);
        device->is = &at->devices[i];
        for (size_t j = 0; j < port->gid_count && j < REMOTE_GIDS; j++)
            device->gids[device->gid_count++] =
                (struct remote_gid){port->gids[j].index, port->gids[j].gid, true};
    }
}

bool remote_fit(struct testbed *tb, const struct topology *topology, char *detail)
{
    assert(tb && topology && detail && !tb->nodes);
    if (!fits_networks(topology, detail))
        return false;
    tb->nodes = arena_alloc(&tb->arena, topology->node_count + 1, sizeof *tb->nodes);
    for (size_t i = 0; i < topology->node_count; i++) {
        const struct inventory_node *at = machine_of(tb->inventory, topology, i);
        if (!at) {
            SAY("%zu nodes; the inventory has %zu machines", topology->node_count,
                tb->inventory->node_count);
            return false;
        }
        if (!fits_node(&topology->nodes[i], at, detail))
            return false;
        fill_node(tb, &topology->nodes[i], at, &tb->nodes[i]);
        tb->node_count++;
    }
    return true;
}

/* ------------------------------------------------------------------ agents */

static void add_peer(json_t *peers, const char *name, const char *real)
{
    if (name)
        json_array_append_new(peers, json_pack("{s:s, s:s}", "name", name, "real", real));
}

static json_t *place_of(const struct testbed *tb, const struct remote_node *node)
{
    json_t *devices = json_array(), *peers = json_array();
    for (size_t i = 0; i < node->device_count; i++)
        json_array_append_new(devices, json_pack("{s:s, s:s}", "name", node->devices[i].name,
                                                 "real", node->devices[i].is->name));
    for (size_t i = 0; i < tb->node_count; i++)
        add_peer(peers, tb->nodes[i].address, tb->nodes[i].at->address);
    for (size_t i = 0; i < tb->node_count; i++)
        add_peer(peers, tb->nodes[i].name, tb->nodes[i].at->address);
    return json_pack("{s:s, s:o, s:o}", "address", node->at->address, "devices", devices, "peers",
                     peers);
}

/* "{node}" and "{address}" in the words of a launcher; other braces are the launcher's. */
static const char *launcher_word(struct testbed *tb, const struct inventory_node *at,
                                 const char *word)
{
    struct text out = {0};
    for (const char *open; (open = strchr(word, '{'));) {
        bool node = strncmp(open, "{node}", 6) == 0, address = strncmp(open, "{address}", 9) == 0;
        text_add_bytes(&out, word, (size_t)(open - word));
        text_add(&out, "%s", node ? at->name : address ? at->address : "{");
        word = open + (node ? 6 : address ? 9 : 1);
    }
    text_add(&out, "%s", word);
    const char *made = arena_copy(&tb->arena, text_data(&out));
    text_free(&out);
    return made;
}

bool remote_start_agent(struct testbed *tb, struct remote_node *node, char *detail)
{
    const char *words[REMOTE_WORDS + 1] = {NULL};
    char why[REMOTE_DETAIL] = "";
    for (size_t i = 0; node->at->agent[i]; i++)
        words[i] = launcher_word(tb, node->at, node->at->agent[i]);
    node->greeted = false;
    node->agent = tb->host->spawn(tb->host->context, words, why);
    if (!node->agent) {
        SAY("the agent of %s: %.200s", node->at->name, why);
        return false;
    }
    /* One that has ended already says why before its end is told. */
    (void)remote_send(tb, node,
                      json_pack("{s:s, s:s, s:s, s:o}", "do", "begin", "node", node->at->name,
                                "state", tb->inventory->state, "place", place_of(tb, node)));
    return true;
}

const char *remote_last_words(const struct testbed *tb)
{
    const char *text = "";
    for (const struct remote_told *one = tb->events; one; one = one->next) {
        if (one->event.type == TESTBED_EVENT_LOG && one->event.level == FABRIC_LOG_DEBUG)
            text = one->text;
    }
    return text;
}

bool remote_begin(struct testbed *tb, char *detail)
{
    uint64_t deadline = tb->host->now(tb->host->context) + GREETING;
    for (size_t i = 0; i < tb->node_count; i++) {
        if (!remote_start_agent(tb, &tb->nodes[i], detail))
            return false;
    }
    tb->caps = tb->node_count ? FABRIC_CAPS_ALL : 0;
    for (size_t i = 0; i < tb->node_count; i++) {
        struct remote_node *node = &tb->nodes[i];
        while (!node->greeted && node->agent && tb->host->now(tb->host->context) < deadline)
            remote_pump(tb, deadline);
        if (!node->greeted) {
            SAY("the agent of %s %s: %.120s", node->at->name,
                node->agent ? "says nothing" : "ended", remote_last_words(tb));
            return false;
        }
        /* What a node without a device has never been asked of. */
        tb->caps &= node->device_count ? node->caps : node->caps | FABRIC_CAP_RC | FABRIC_CAP_DC;
    }
    return true;
}

/* ------------------------------------------------------------------ ports */

static bool do_fault(struct testbed *tb, const struct testbed_fault *fault, char *detail)
{
    enum testbed_result result = remote_apply(tb, fault, detail);
    tb->broke = result != TESTBED_DONE && result != TESTBED_LACKS;
    return result == TESTBED_DONE;
}

/* Waits until the kernel has the GID, and compares its place with what the topology says. */
static bool await_gid(struct testbed *tb, struct remote_node *node,
                      const struct remote_device *device, const struct topology_gid *wanted,
                      char *detail)
{
    char query[FABRIC_NAME_MAX + 16], answer[TESTBED_DETAIL], text[FABRIC_GID_TEXT];
    uint64_t deadline = tb->host->now(tb->host->context) + GID_PATIENCE;
    fabric_gid_format(&wanted->gid, text);
    do {
        for (unsigned i = 0; i < REMOTE_GIDS; i++) {
            snprintf(query, sizeof query, "%s/1 gid %u", device->name, i);
            if (remote_ask(tb, node, json_pack("{s:s, s:s}", "do", "ask", "query", query),
                           answer) != TESTBED_DONE ||
                strcmp(answer, text) != 0)
                continue;
            if (wanted->anywhere || i == wanted->index)
                return true;
            SAY("GIDs of %s lie where the kernel puts them: index %u was wanted", node->name,
                wanted->index);
            return false;
        }
    } while (tb->host->now(tb->host->context) < deadline);
    tb->broke = true;
    SAY("%s has not got the GID %s", node->name, text);
    return false;
}

static bool set_up_port(struct testbed *tb, struct remote_node *node, struct remote_device *device,
                        const struct topology_port *port, char *detail)
{
    struct testbed_fault fault = {.node = node->name, .device = device->name, .port = 1};
    if (port->mtu && port->mtu != FABRIC_MTU_4096) {
        fault.word = TESTBED_MTU_SET;
        fault.value = fabric_mtu_bytes(port->mtu);
        if (!do_fault(tb, &fault, detail))
            return false;
    }
    device->gid_count = 0; /* they are counted again as they come */
    for (size_t i = 0; i < port->gid_count; i++) {
        const struct topology_gid *gid = &port->gids[i];
        fault.word = TESTBED_GID_ADD;
        fault.index = gid->index;
        fault.gid = gid->gid;
        if (gid->type != FABRIC_GID_TYPE_ROCE_V2) {
            SAY("node %s has a GID of another type than RoCE v2", node->name);
            return false;
        }
        if (!do_fault(tb, &fault, detail) ||
            (!tb->plan && !await_gid(tb, node, device, gid, detail)))
            return false;
    }
    return true;
}

bool remote_set_up(struct testbed *tb, const struct topology *topology, char *detail)
{
    bool infiniband = topology->subnet_count && !topology->subnets[0].implied;
    assert(tb && detail);
    if (infiniband && !(tb->caps & FABRIC_CAP_LID)) {
        SAY("an InfiniBand subnet; these ports are Ethernet");
        return false;
    }
    for (size_t i = 0; i < topology->node_count; i++) {
        for (size_t j = 0; j < topology->nodes[i].device_count; j++) {
            if (!set_up_port(tb, &tb->nodes[i], &tb->nodes[i].devices[j],
                             &topology->nodes[i].devices[j].ports[0], detail))
                return false;
        }
    }
    return true;
}
