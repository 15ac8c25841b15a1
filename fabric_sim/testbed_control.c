/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control addresses that live on the interface of a port: the streams of the node pass while the
 * port is ACTIVE and, over IPoIB, once the interface is in its broadcast group (RFC 4391, chapter
 * 6), which the subnet manager of the network must let it join.
 */
#include "fabric_sim/testbed_state.h"
#include "src/fabric/planted.h"

#define JOIN_MIN UINT64_C(1000000) /* ns: a question to the subnet administrator and its answer */
#define JOIN_SPREAD UINT64_C(4000000)
#define BACKOFF UINT64_C(1000000000) /* ns, doubled up to 16 s, as Linux asks again */
#define BACKOFF_STEPS 4

static void show(struct tb_node *node, bool up)
{
    const struct tb_port *port = node->control;
    assert(port && port->node == node);
    node->control_up = up;
    sim_device_set_carrier(port->device, port->port_num, up);
    stream_host_set_link(sim_host_streams(node->host), up);
}

static bool is_ready(const struct tb_port *port)
{
    const struct port_info *info = net_port_info(tb_net_port(port));
    if (PLANTED(testbed_control_ignores_port))
        return true;
    if (info->state != FABRIC_PORT_ACTIVE)
        return false;
    return port->network->ethernet || (info->pkeys[0] & 0x7fff) != 0;
}

static void on_join(void *object, uint64_t arg);

static void ask_to_join(struct tb_node *node, uint64_t wait)
{
    struct sim *sim = node->tb->sim;
    const struct tb_sm *sm = tb_master(node->tb, node->control->network);
    assert(!node->joining && sm);
    wait += JOIN_MIN + sim_random_below(sim, JOIN_SPREAD) + sm->delay;
    node->joining = sim_in(sim, wait, on_join, node, 0);
}

static void on_join(void *object, uint64_t arg)
{
    struct tb_node *node = object;
    const struct tb_sm *sm = tb_master(node->tb, node->control->network);
    (void)arg;
    assert(!node->control_up);
    node->joining = 0;
    bool answered = sm_state(sm->sm) == SM_MASTER && !sm_refuses(sm->sm);
    if (answered || PLANTED(testbed_join_needs_nobody)) {
        show(node, true);
        return;
    }
    ask_to_join(node, BACKOFF << node->join_tries);
    node->join_tries += node->join_tries < BACKOFF_STEPS;
}

static void follow(struct tb_node *node)
{
    bool ready = is_ready(node->control);
    if (!ready && node->control_up)
        show(node, false);
    if (!ready) {
        sim_cancel(node->tb->sim, node->joining);
        node->joining = 0;
    } else if (!node->control_up && node->control->network->ethernet) {
        show(node, true);
    } else if (!node->control_up && !node->joining) {
        node->join_tries = 0;
        ask_to_join(node, 0);
    }
}

static void on_change(void *context, struct net_port *port)
{
    struct testbed *tb = context;
    assert(port);
    for (size_t i = 0; i < tb->node_count; i++) {
        struct tb_node *node = &tb->nodes[i];
        if (node->control && tb_net_port(node->control) == port)
            follow(node);
    }
}

bool tb_control_on(struct tb_node *node, const char *netdev, char *detail)
{
    struct sim_device *device = NULL;
    uint8_t number = 0;
    assert(!node->control);
    if (!sim_host_set_control(node->host, netdev, &device, &number)) {
        tb_say(detail, "node '%s' has no interface '%s'", node->name, netdev);
        return false;
    }
    node->control = tb_port(node, sim_device_name(device), number, detail);
    assert(node->control);
    if (!node->control->network) {
        tb_say(detail, "nothing is plugged in at interface '%s' of node '%s'", netdev, node->name);
        return false;
    }
    return true;
}

void tb_control_begin(struct testbed *tb)
{
    bool any = false;
    for (size_t i = 0; i < tb->node_count; i++) {
        struct tb_node *node = &tb->nodes[i];
        if (!node->control)
            continue;
        any = true;
        show(node, false);
        follow(node);
    }
    if (any)
        net_set_change_handler(sim_world_net(tb->world), on_change, tb);
}
