/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include <stdlib.h>

#include "fabric_sim/world/sm_state.h"

static uint32_t add(struct sm_view *view, uint64_t guid, enum mad_node_type type, uint8_t ports)
{
    return sm_view_add(
        view,
        &(struct mad_node_info){.node_guid = guid, .node_type = (uint8_t)type, .num_ports = ports});
}

static void nodes_are_found_by_guid_and_ports_by_number(void **state)
{
    struct sm_view view = {0};
    uint32_t index;

    (void)state;
    for (uint64_t guid = 1; guid <= 500; guid++)
        add(&view, guid, guid % 5 ? MAD_NODE_CA : MAD_NODE_SWITCH, 3);
    assert_int_equal(view.switch_count, 100);
    assert_int_equal(sm_view_find(&view, 501), SM_NONE);
    index = sm_view_find(&view, 250);
    assert_true(view.nodes[index].guid == 250);
    assert_int_equal(view.switches[view.nodes[index].sw], index);
    assert_int_equal(view.ports[view.nodes[index].first_port + 3].num, 3);
    assert_int_equal(view.ports[view.nodes[index].first_port + 3].node, index);
    sm_view_clear(&view);
    assert_int_equal(view.node_count, 0);
}

static void a_route_ends_at_the_port_of_a_host(void **state)
{
    struct sm *sm = calloc(1, sizeof *sm);
    struct sim *sim = sim_create(1);
    struct net *net = net_create(sim);
    uint8_t path[MAD_MAX_HOPS];
    uint32_t host, sw;

    (void)state;
    assert_non_null(sm);
    assert_int_equal(sm_own_port(sm), SM_NONE);
    sm->port = net_node_port(net_add_node(net, NET_HCA, "h", 1, 1), 1);
    add(&sm->view, 1, MAD_NODE_CA, 1);
    sw = sm->view.nodes[add(&sm->view, 2, MAD_NODE_SWITCH, 8)].first_port;
    host = sm->view.nodes[add(&sm->view, 3, MAD_NODE_CA, 2)].first_port;
    sm->view.nodes[1].hops = 1;
    sm->view.nodes[1].path[0] = 1;
    sm_view_link(&sm->view, sm_own_port(sm), sw + 4);
    sm_view_link(&sm->view, sw + 6, host + 2);
    assert_int_equal(sm_view_route(sm, sm_own_port(sm), path), 0);
    assert_int_equal(sm_view_route(sm, sw, path), 1);
    assert_int_equal(sm_view_route(sm, host + 2, path), 2);
    assert_memory_equal(path, "\1\6", 2);
    assert_int_equal(sm_view_route(sm, host + 1, path), 0); /* behind no cable */
    assert_true(sm_has_lid(sm, sw));
    assert_false(sm_has_lid(sm, sw + 1));
    assert_false(sm_has_lid(sm, host + 2)); /* not read yet */
    sm_view_clear(&sm->view);
    free(sm);
    net_destroy(net);
    sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_found_by_guid_and_ports_by_number),
        cmocka_unit_test(a_route_ends_at_the_port_of_a_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
