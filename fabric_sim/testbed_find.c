/* SPDX-License-Identifier: Apache-2.0 */
/* Names of things, and sentences for those that do not exist. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/testbed_state.h"
#include "src/config/nearest.h"

void tb_say(char *detail, const char *format, ...)
{
    va_list values;
    assert(detail);
    va_start(values, format);
    vsnprintf(detail, TESTBED_DETAIL, format, values);
    va_end(values);
}

/* "there is no node 'a'; did you mean 'b'?", or all there are. */
static void say_missing(char *detail, const char *what, const char *name, const char **names,
                        size_t count)
{
    const char *near = name ? nearest_name(name, names, count) : NULL;
    if (near) {
        tb_say(detail, "there is no %s '%.60s'; did you mean '%s'?", what, name, near);
        return;
    }
    tb_say(detail, "there is no %s '%.60s'; there is: %s", what, name ? name : "",
           count ? "" : "none");
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(detail);
        snprintf(detail + used, TESTBED_DETAIL - used, "%s%s", i ? ", " : "", names[i]);
    }
}

struct tb_node *tb_node(struct testbed *tb, const char *name, char *detail)
{
    const char **names = calloc(tb->node_count + 1, sizeof(*names));
    struct tb_node *found = NULL;
    assert(names);
    for (size_t i = 0; i < tb->node_count; i++) {
        names[i] = tb->nodes[i].name;
        if (name && strcmp(names[i], name) == 0)
            found = &tb->nodes[i];
    }
    if (!found)
        say_missing(detail, "node", name, names, tb->node_count);
    free(names);
    return found;
}

struct tb_network *tb_network(struct testbed *tb, const char *name, char *detail)
{
    const char **names = calloc(tb->network_count + 1, sizeof(*names));
    struct tb_network *found = NULL;
    assert(names);
    for (size_t i = 0; i < tb->network_count; i++) {
        names[i] = tb->networks[i].name;
        if (name ? strcmp(names[i], name) == 0 : tb->network_count == 1)
            found = &tb->networks[i];
    }
    if (!found)
        say_missing(detail, "network", name, names, tb->network_count);
    free(names);
    return found;
}

struct tb_sm *tb_sm(struct testbed *tb, const char *name, char *detail)
{
    const char **names = calloc(tb->sm_count + 1, sizeof(*names));
    struct tb_sm *found = NULL;
    assert(names);
    for (size_t i = 0; i < tb->sm_count; i++) {
        names[i] = tb->sms[i].name;
        if (!found && (name ? strcmp(names[i], name) == 0 : tb->sm_count == 1))
            found = &tb->sms[i];
    }
    if (!found)
        say_missing(detail, "subnet manager", name, names, tb->sm_count);
    free(names);
    return found;
}

struct sim_device *tb_device(struct tb_node *node, const char *name, char *detail)
{
    size_t count = sim_device_count(node->host);
    const char **names = calloc(count + 1, sizeof(*names));
    struct sim_device *found = NULL;
    assert(names);
    for (size_t i = 0; i < count; i++) {
        struct sim_device *device = sim_device_at(node->host, i);
        names[i] = sim_device_name(device);
        if (!found && (!name || strcmp(names[i], name) == 0))
            found = device;
    }
    if (!found)
        say_missing(detail, "device", name, names, count);
    free(names);
    return found;
}

struct tb_port *tb_port(struct tb_node *node, const char *device, uint8_t port_num, char *detail)
{
    const struct sim_device *of = tb_device(node, device, detail);
    assert(node->port_count == 0 || node->ports);
    uint8_t wanted = port_num ? port_num : 1;
    for (size_t i = 0; of && i < node->port_count; i++) {
        if (node->ports[i].device == of && node->ports[i].port_num == wanted)
            return &node->ports[i];
    }
    if (of)
        tb_say(detail, "device '%s' of node '%s' has no port %u", sim_device_name(of), node->name,
               wanted);
    return NULL;
}

struct net_port *tb_net_port(const struct tb_port *port)
{
    return net_node_port(sim_device_node(port->device), port->port_num);
}

uint64_t tb_port_guid(const struct tb_port *port)
{
    return net_port_info(tb_net_port(port))->guid;
}

struct tb_sm *tb_master(struct testbed *tb, const struct tb_network *network)
{
    struct tb_sm *first = NULL;
    assert(network);
    for (size_t i = 0; i < tb->sm_count; i++) {
        struct tb_sm *sm = &tb->sms[i];
        if (sm->network != network)
            continue;
        if (sm_state(sm->sm) == SM_MASTER)
            return sm;
        if (!first)
            first = sm;
    }
    return first;
}
