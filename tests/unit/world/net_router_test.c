/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "fabric_sim/world/mad.h"
#include "src/fabric/gid.h"
#include "tests/support/little_net.h"

#define NEAR 0xfec0000000000001u
#define FAR 0xfec0000000000002u
#define FAR_LID 9

/* Host 0 at the switch of a little net in subnet NEAR; the router at its port 8 (LID 8); behind the
 * router one host in subnet FAR with LID 9. */
struct routed {
    struct little_net near;
    struct net_node *router;
    struct net_port *far;
    unsigned arrived;
    struct packet last;
};

static void receive(void *context, struct net_port *port, struct packet *packet)
{
    struct routed *routed = context;
    assert_ptr_equal(port, routed->far);
    routed->last = *packet;
    routed->arrived++;
    net_free(routed->near.net, packet);
}

static void activate(struct net_port *port, uint64_t prefix, uint16_t lid)
{
    net_port_info(port)->gid_prefix = prefix;
    net_port_info(port)->lid = lid;
    little_net_state(port, FABRIC_PORT_ACTIVE);
}

static void up(struct routed *routed)
{
    memset(routed, 0, sizeof(*routed));
    little_net_up(&routed->near, 1, NULL);
    struct net *net = routed->near.net;
    struct net_port *trunk = net_node_port(routed->near.sw, 8);
    routed->router = net_add_node(net, NET_ROUTER, "r", 0x5000, 2);
    struct net_node *node = net_add_node(net, NET_HCA, "far", 0x6000, 1);
    routed->far = net_node_port(node, 1);
    net_connect(trunk, net_node_port(routed->router, 1), NULL);
    net_connect(net_node_port(routed->router, 2), routed->far, NULL);
    net_lft_set(routed->near.sw, 8, 8);
    activate(trunk, NEAR, 0);
    activate(net_node_port(routed->router, 1), NEAR, 8);
    activate(net_node_port(routed->router, 2), FAR, 1);
    activate(routed->far, FAR, FAR_LID);
    net_node_set_owner(node, &(struct net_owner){.context = routed, .receive = receive});
    net_route_set(routed->router, FAR, 2, 0);
}

static struct packet *to_far(struct routed *routed, uint8_t hop_limit)
{
    struct packet *packet = little_net_packet(&routed->near, 0, 0, 0, 1, 100);
    packet->dlid = 8;
    packet->is_global = true;
    packet->hop_limit = hop_limit;
    packet->dgid = fabric_gid_make(FAR, net_port_info(routed->far)->guid);
    return packet;
}

static void send_out(struct routed *routed, struct packet *packet)
{
    assert_true(net_send(routed->near.hosts[0], packet));
    little_net_run(&routed->near, 10000);
}

static void a_router_passes_by_the_grh_and_writes_the_local_header_anew(void **state)
{
    struct routed routed;
    (void)state;
    up(&routed);
    send_out(&routed, to_far(&routed, 64));
    assert_int_equal(routed.arrived, 1);
    assert_int_equal(routed.last.hop_limit, 63);
    assert_int_equal(routed.last.dlid, FAR_LID);
    assert_int_equal(routed.last.slid, 1);
    little_net_down(&routed.near);
}

static void hop_limit_1_ends_at_a_router(void **state)
{
    struct routed routed;
    (void)state;
    up(&routed);
    send_out(&routed, to_far(&routed, 1));
    send_out(&routed, to_far(&routed, 0));
    assert_int_equal(routed.arrived, 0);
    send_out(&routed, to_far(&routed, 2));
    assert_int_equal(routed.arrived, 1);
    little_net_down(&routed.near);
}

static void without_a_grh_or_a_route_nothing_passes(void **state)
{
    struct routed routed;
    (void)state;
    up(&routed);
    struct packet *packet = to_far(&routed, 64);
    packet->is_global = false;
    send_out(&routed, packet);
    packet = to_far(&routed, 64);
    packet->dgid.raw[0] = 0x20; /* another prefix */
    send_out(&routed, packet);
    packet = to_far(&routed, 64);
    packet->dgid.raw[15] ^= 0xff; /* nobody there */
    send_out(&routed, packet);
    struct port_info *in = net_port_info(net_node_port(routed.router, 1));
    assert_int_equal(routed.arrived, 0);
    assert_int_equal(in->counters.rcv_switch_relay_errors, 3);
    little_net_down(&routed.near);
}

static void a_route_can_name_the_next_router(void **state)
{
    struct routed routed;
    (void)state;
    up(&routed);
    net_route_set(routed.router, FAR, 2, 33);
    send_out(&routed, to_far(&routed, 64));
    assert_int_equal(routed.last.dlid, 33);
    for (uint64_t other = 1; other < 10; other++)
        net_route_set(routed.router, FAR + other, 1, 0);
    net_route_set(routed.router, FAR, 2, 0);
    send_out(&routed, to_far(&routed, 64));
    assert_int_equal(routed.last.dlid, FAR_LID);
    little_net_down(&routed.near);
}

static void a_service_level_that_maps_to_15_does_not_pass(void **state)
{
    struct routed routed;
    (void)state;
    up(&routed);
    net_port_info(net_node_port(routed.router, 2))->sl_to_vl[3] = 15;
    struct packet *packet = to_far(&routed, 64);
    packet->sl = 3;
    send_out(&routed, packet);
    assert_int_equal(routed.arrived, 0);
    little_net_down(&routed.near);
}

struct mads {
    struct routed *routed;
    struct net_port *port;
};

static void mad_arrived(void *context, struct net_port *port, struct packet *packet)
{
    struct mads *mads = context;
    mads->port = port;
    net_free(mads->routed->near.net, packet);
}

static void datagrams_end_at_a_router(void **state)
{
    struct routed routed;
    struct mads mads = {.routed = &routed};
    (void)state;
    up(&routed);
    net_set_mad_handler(routed.near.net, mad_arrived, &mads);
    struct packet *packet = to_far(&routed, 64);
    packet->is_mad = true;
    packet->mad = mad_new();
    packet->vl = 15;
    send_out(&routed, packet);
    assert_ptr_equal(mads.port, net_node_port(routed.router, 1));
    little_net_down(&routed.near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_router_passes_by_the_grh_and_writes_the_local_header_anew),
        cmocka_unit_test(hop_limit_1_ends_at_a_router),
        cmocka_unit_test(without_a_grh_or_a_route_nothing_passes),
        cmocka_unit_test(a_route_can_name_the_next_router),
        cmocka_unit_test(a_service_level_that_maps_to_15_does_not_pass),
        cmocka_unit_test(datagrams_end_at_a_router),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
