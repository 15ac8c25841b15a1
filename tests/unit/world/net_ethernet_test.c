/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "fabric_sim/world/net.h"

#define HOSTS 3

/* Hosts 10.0.0.1 to .3: the first two at switch s0, the third at s1; s0 and s1 are cabled twice. */
struct lan {
    struct sim *sim;
    struct net *net;
    struct net_node *sw[2];
    struct net_port *hosts[HOSTS];
    unsigned arrived[HOSTS];
};

static union fabric_gid gid_of(const char *text)
{
    union fabric_gid gid = {{0}};
    assert_true(fabric_gid_parse(text, &gid));
    return gid;
}

static void set_gid(struct net_port *port, unsigned index, const char *text)
{
    struct port_info before = *net_port_info(port);
    struct port_gid *entry = &net_port_info(port)->gids[index];
    memset(entry, 0, sizeof(*entry));
    if (text)
        *entry = (struct port_gid){.gid = gid_of(text), .type = FABRIC_GID_TYPE_ROCE_V2};
    net_port_changed(port, &before);
}

static void receive(void *context, struct net_port *port, struct packet *packet)
{
    struct lan *lan = context;
    for (size_t i = 0; i < HOSTS; i++)
        lan->arrived[i] += lan->hosts[i] == port;
    net_free(lan->net, packet);
}

static void up(struct lan *lan)
{
    static const uint8_t ports[HOSTS] = {1, 2, 1};
    memset(lan, 0, sizeof(*lan));
    lan->sim = sim_create(1);
    lan->net = net_create(lan->sim);
    lan->sw[0] = net_add_node(lan->net, NET_ETHERNET_SWITCH, "s0", 1, 4);
    lan->sw[1] = net_add_node(lan->net, NET_ETHERNET_SWITCH, "s1", 2, 4);
    for (size_t i = 0; i < HOSTS; i++) {
        char text[32];
        snprintf(text, sizeof(text), "10.0.0.%zu", i + 1);
        struct net_node *node = net_add_node(lan->net, NET_HCA, text, 0x100 * (i + 1), 1);
        net_node_set_owner(node, &(struct net_owner){.context = lan, .receive = receive});
        lan->hosts[i] = net_node_port(node, 1);
        set_gid(lan->hosts[i], 0, text);
        net_connect(net_node_port(lan->sw[i / 2], ports[i]), lan->hosts[i], NULL);
    }
    net_connect(net_node_port(lan->sw[0], 3), net_node_port(lan->sw[1], 3), NULL);
    net_connect(net_node_port(lan->sw[0], 4), net_node_port(lan->sw[1], 4), NULL);
}

static void down(struct lan *lan)
{
    net_destroy(lan->net);
    sim_destroy(lan->sim);
}

static void send_sized(struct lan *lan, size_t from, const char *to, uint32_t length)
{
    struct packet *packet = net_alloc(lan->net);
    packet->is_global = to != NULL;
    if (to)
        packet->dgid = gid_of(to);
    packet->opcode = BTH_RC | BTH_SEND_ONLY;
    packet->payload_length = length;
    packet->wire_bytes = (uint16_t)(length + 62);
    assert_true(net_send(lan->hosts[from], packet));
    sim_run_until(lan->sim, sim_now(lan->sim) + 10000);
}

static void send_to(struct lan *lan, size_t from, const char *to)
{
    send_sized(lan, from, to, 1024);
}

static void packets_find_the_port_that_has_the_gid(void **state)
{
    struct lan lan;
    (void)state;
    up(&lan);
    send_to(&lan, 0, "10.0.0.2");
    send_to(&lan, 0, "10.0.0.3");
    send_to(&lan, 2, "10.0.0.1");
    for (size_t i = 0; i < HOSTS; i++)
        assert_int_equal(lan.arrived[i], 1);
    down(&lan);
}

static void what_nobody_has_goes_nowhere(void **state)
{
    struct lan lan;
    struct net_stats stats;
    (void)state;
    up(&lan);
    send_to(&lan, 0, "10.0.0.9");
    send_to(&lan, 0, "10.0.0.1"); /* behind the port it came from */
    send_to(&lan, 0, NULL);
    net_stats(lan.net, &stats);
    assert_int_equal(stats.discards, 3);
    assert_int_equal(stats.packets_delivered, 0);
    down(&lan);
}

static void a_gid_that_moves_is_followed(void **state)
{
    struct lan lan;
    (void)state;
    up(&lan);
    send_to(&lan, 0, "10.0.0.2");
    set_gid(lan.hosts[1], 0, NULL);
    send_to(&lan, 0, "10.0.0.2");
    assert_int_equal(lan.arrived[1], 1);
    set_gid(lan.hosts[2], 5, "10.0.0.2");
    send_to(&lan, 0, "10.0.0.2");
    assert_int_equal(lan.arrived[1], 1);
    assert_int_equal(lan.arrived[2], 1);
    down(&lan);
}

static void another_cable_serves_when_one_is_pulled(void **state)
{
    struct lan lan;
    (void)state;
    up(&lan);
    net_link_set_up(net_node_port(lan.sw[0], 3), false);
    send_to(&lan, 0, "10.0.0.3");
    assert_int_equal(lan.arrived[2], 1);
    net_link_set_up(net_node_port(lan.sw[0], 4), false);
    send_to(&lan, 0, "10.0.0.3");
    assert_int_equal(lan.arrived[2], 1);
    down(&lan);
}

static void a_packet_above_the_far_interfaces_mtu_is_dropped(void **state)
{
    struct lan lan;
    (void)state;
    up(&lan);
    struct port_info before = *net_port_info(lan.hosts[1]);
    net_port_info(lan.hosts[1])->active_mtu = FABRIC_MTU_1024;
    net_port_changed(lan.hosts[1], &before);
    send_sized(&lan, 0, "10.0.0.2", 1024);
    send_sized(&lan, 0, "10.0.0.2", 1025);
    assert_int_equal(lan.arrived[1], 1);
    down(&lan);
}

static void a_switch_knows_more_gids_than_its_first_table_held(void **state)
{
    struct lan lan;
    char text[32];
    (void)state;
    up(&lan);
    for (unsigned i = 1; i < PORT_GIDS; i++) {
        snprintf(text, sizeof(text), "10.0.1.%u", i);
        set_gid(lan.hosts[1], i, text);
    }
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 1; i < PORT_GIDS; i++) {
            snprintf(text, sizeof(text), "10.0.1.%u", i);
            send_to(&lan, 0, text);
        }
    }
    assert_int_equal(lan.arrived[1], 2 * (PORT_GIDS - 1));
    down(&lan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_find_the_port_that_has_the_gid),
        cmocka_unit_test(what_nobody_has_goes_nowhere),
        cmocka_unit_test(a_gid_that_moves_is_followed),
        cmocka_unit_test(another_cable_serves_when_one_is_pulled),
        cmocka_unit_test(a_packet_above_the_far_interfaces_mtu_is_dropped),
        cmocka_unit_test(a_switch_knows_more_gids_than_its_first_table_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
