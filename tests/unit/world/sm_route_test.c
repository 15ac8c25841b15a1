/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.2: forwarding that is complete, free of loops and of deadlock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/subnet.h"

#define CHANNELS 512

/* ---- channels (a cable in one direction) and which waits for which, for host-to-host paths */
struct channels {
    struct net *net;
    bool waits[CHANNELS][CHANNELS]; /* by channel number */
    uint32_t load[CHANNELS];
    uint8_t colour[CHANNELS];
};

static uint32_t channel(const struct net_port *port)
{
    uint32_t number = (uint32_t)net_node_index(net_port_node(port)) * 8 + net_port_num(port);

    assert_true(number < CHANNELS);
    return number;
}

static void walk(struct channels *c, struct net_port *from, const struct net_port *to)
{
    uint16_t lid = net_port_info(to)->lid;
    struct net_port *out = from;

    for (unsigned hops = 0; net_port_peer(out) != to; hops++) {
        struct net_node *sw = net_port_node(net_port_peer(out));
        struct net_port *next = net_node_port(sw, net_lft_forwards(sw, lid));

        assert_true(hops < 32);
        c->waits[channel(out)][channel(next)] = true;
        c->load[channel(next)]++;
        out = next;
    }
}

static bool has_cycle(struct channels *c, uint32_t from)
{
    c->colour[from] = 1;
    for (uint32_t to = 0; to < CHANNELS; to++)
        if (c->waits[from][to] && (c->colour[to] == 1 || (c->colour[to] == 0 && has_cycle(c, to))))
            return true;
    c->colour[from] = 2;
    return false;
}

/* All pairs of hosts; true when no cycle of channels waits for itself. */
static bool deadlock_free(struct net *net, struct channels *c)
{
    memset(c, 0, sizeof *c);
    c->net = net;
    for (size_t i = 0; i < net_node_count(net); i++)
        for (size_t j = 0; j < net_node_count(net); j++) {
            struct net_node *a = net_node_at(net, i), *b = net_node_at(net, j);

            if (i != j && net_node_kind(a) == NET_HCA && net_node_kind(b) == NET_HCA)
                walk(c, net_node_port(a, 1), net_node_port(b, 1));
        }
    for (uint32_t from = 0; from < CHANNELS; from++)
        if (c->colour[from] == 0 && has_cycle(c, from))
            return false;
    return true;
}

static bool net_is_deadlock_free(struct net *net)
{
    struct channels *c = malloc(sizeof *c);
    bool is_free = deadlock_free(net, c);

    free(c);
    return is_free;
}

static void fat_trees_of_all_levels_are_loop_free_and_complete(void **state)
{
    static const size_t hosts[] = {1, 3, 4, 5, 8, 13, 16};
    struct subnet s;

    (void)state;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        subnet_open_tree(&s, hosts[i], 4, NULL);
        subnet_bring_up(&s);
        assert_true(subnet_walk_clean(s.net));
        assert_true(net_is_deadlock_free(s.net));
        subnet_close(&s);
    }
}

static void paths_of_a_fat_tree_are_shortest(void **state)
{
    struct subnet s;
    uint16_t lid;
    struct net_node *leaf;

    (void)state;
    subnet_open_tree(&s, 16, 4, NULL);
    subnet_bring_up(&s);
    lid = subnet_info(&s, "h15")->lid;
    leaf = net_find(s.net, "l0");
    /* leaf, spine, top, spine, leaf */
    for (int hops = 0; hops < 4; hops++)
        leaf = net_port_node(net_port_peer(net_node_port(leaf, net_lft_forwards(leaf, lid))));
    assert_string_equal(net_node_name(leaf), "l7");
    subnet_close(&s);
}

static void uplinks_of_a_full_fat_tree_carry_equal_loads(void **state)
{
    struct subnet s;
    struct channels *c = malloc(sizeof *c);
    uint32_t least = UINT32_MAX, most = 0;

    (void)state;
    subnet_open_tree(&s, 16, 4, NULL);
    subnet_bring_up(&s);
    assert_true(deadlock_free(s.net, c));
    for (unsigned leaf = 0; leaf < 8; leaf++)
        for (uint8_t up = 3; up <= 4; up++) {
            char name[16];
            uint32_t load;

            snprintf(name, sizeof name, "l%u", leaf);
            load = c->load[channel(subnet_port(&s, name, up))];
            least = load < least ? load : least;
            most = load > most ? load : most;
        }
    assert_true(least > 0);
    assert_true(most <= least + least / 4);
    free(c);
    subnet_close(&s);
}

static void open_ring(struct subnet *s, unsigned count)
{
    char name[16], next[16];

    subnet_open(s);
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "s%u", i);
        subnet_add_switch(s, name, 0x1000 + (i * 2) % count, 4);
        snprintf(name, sizeof name, "h%u", i);
        subnet_add_host(s, name, 0x100 + i * 16);
    }
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "s%u", i);
        snprintf(next, sizeof next, "s%u", (i + 1) % count);
        subnet_cable(s, name, 1, next, 2);
        snprintf(next, sizeof next, "h%u", i);
        subnet_cable(s, name, 3, next, 1);
    }
    subnet_manage(s, "h0", NULL);
}

static void a_ring_of_switches_does_not_deadlock(void **state)
{
    struct subnet s;

    (void)state;
    for (unsigned count = 3; count <= 7; count += 2) {
        open_ring(&s, count);
        subnet_bring_up(&s);
        assert_true(subnet_walk_clean(s.net));
        assert_true(net_is_deadlock_free(s.net));
        subnet_close(&s);
    }
}

static void a_manager_on_a_spine_does_not_spoil_the_tree(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open(&s);
    fat_tree_build(s.net, &(struct fat_tree_config){.hosts = 12, .radix = 8});
    subnet_add_host(&s, "sm", 0x999);
    subnet_cable(&s, "t0", 8, "sm", 1);
    subnet_manage(&s, "sm", NULL);
    subnet_bring_up(&s);
    assert_true(subnet_walk_clean(s.net));
    assert_true(net_is_deadlock_free(s.net));
    subnet_close(&s);
}

static void tables_follow_a_lost_and_a_returning_cable(void **state)
{
    struct subnet s;

    (void)state;
    subnet_open_tree(&s, 16, 4, NULL);
    subnet_bring_up(&s);
    for (uint8_t up = 3; up <= 4; up++) {
        net_link_set_up(subnet_port(&s, "l0", up), false);
        assert_false(subnet_walk_clean(s.net)); /* not yet */
        sm_sweep(s.sm[0]);
        assert_true(subnet_wait_up(&s, 0));
        assert_true(subnet_walk_clean(s.net));
        assert_true(net_is_deadlock_free(s.net));
        net_link_set_up(subnet_port(&s, "l0", up), true);
        sm_sweep(s.sm[0]);
        assert_true(subnet_wait_up(&s, 0));
        assert_true(subnet_walk_clean(s.net));
    }
    subnet_close(&s);
}

static void only_blocks_that_changed_are_sent_again(void **state)
{
    struct subnet s;
    struct sm_stats before, after;

    (void)state;
    subnet_open_tree(&s, 16, 4, NULL);
    subnet_bring_up(&s);
    sm_stats(s.sm[0], &before);
    sm_lid_set(s.sm[0], subnet_guid(&s, "h1"), 500);
    assert_true(subnet_wait_up(&s, 0));
    sm_stats(s.sm[0], &after);
    /* one port, and per switch the top and two blocks */
    assert_in_range(after.datagrams_sent - before.datagrams_sent, 1, 1 + 20 * 9);
    before = after;
    sm_prefix_set(s.sm[0], SM_DEFAULT_PREFIX);
    assert_true(subnet_wait_up(&s, 0));
    sm_stats(s.sm[0], &after);
    assert_int_equal(after.datagrams_sent, before.datagrams_sent);
    subnet_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fat_trees_of_all_levels_are_loop_free_and_complete),
        cmocka_unit_test(paths_of_a_fat_tree_are_shortest),
        cmocka_unit_test(uplinks_of_a_full_fat_tree_carry_equal_loads),
        cmocka_unit_test(a_ring_of_switches_does_not_deadlock),
        cmocka_unit_test(a_manager_on_a_spine_does_not_spoil_the_tree),
        cmocka_unit_test(tables_follow_a_lost_and_a_returning_cable),
        cmocka_unit_test(only_blocks_that_changed_are_sent_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
