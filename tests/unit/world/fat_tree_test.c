/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "fabric_sim/world/fat_tree.h"
#include "tests/support/aborts.h"

struct world {
    struct sim *sim;
    struct net *net;
    struct fat_tree tree;
};

static struct world grow(size_t hosts, uint8_t radix)
{
    struct world world = {.sim = sim_create(1)};
    struct fat_tree_config config = {.hosts = hosts, .radix = radix};
    world.net = net_create(world.sim);
    world.tree = fat_tree_build(world.net, &config);
    return world;
}

static void fell(struct world *world)
{
    net_destroy(world->net);
    sim_destroy(world->sim);
}

/* Nodes reached from the first one over cables; the longest of the shortest ways in *depth. */
static size_t reached(struct net *net, size_t *depth)
{
    size_t count = net_node_count(net), head = 0, tail = 0;
    size_t *queue = calloc(count, sizeof(*queue)), *far = calloc(count, sizeof(*far));
    bool *seen = calloc(count, sizeof(*seen));
    seen[0] = true;
    queue[tail++] = 0;
    while (head < tail) {
        size_t at = queue[head++];
        struct net_node *node = net_node_at(net, at);
        *depth = far[at];
        for (uint8_t num = 1; num <= net_node_ports(node); num++) {
            const struct net_port *peer = net_port_peer(net_node_port(node, num));
            size_t next = peer ? net_node_index(net_port_node(peer)) : at;
            if (seen[next])
                continue;
            seen[next] = true;
            far[next] = far[at] + 1;
            queue[tail++] = next;
        }
    }
    free(queue);
    free(far);
    free(seen);
    return tail;
}

static void check(size_t hosts, uint8_t radix, uint8_t levels)
{
    struct world world = grow(hosts, radix);
    size_t depth = 0;
    assert_int_equal(world.tree.levels, levels);
    assert_int_equal(world.tree.hosts, hosts);
    assert_int_equal(net_node_count(world.net),
                     hosts + world.tree.leaves + world.tree.spines + world.tree.tops);
    assert_int_equal(reached(world.net, &depth), net_node_count(world.net));
    assert_true(depth <= 2u * levels);
    fell(&world);
}

static void every_node_is_reached_within_up_and_down(void **state)
{
    (void)state;
    check(1, 4, 1);
    check(4, 4, 1);
    check(5, 4, 2);
    check(8, 4, 2);
    check(9, 4, 3);
    check(16, 4, 3);
    check(100, 8, 3);
    check(128, 8, 3);
    check(36, 36, 1);
    check(648, 36, 2);
    check(649, 36, 3);
    check(800, 40, 2);
}

static unsigned cables_up(struct net_node *node, size_t below)
{
    unsigned count = 0;
    for (uint8_t num = 1; num <= net_node_ports(node); num++) {
        const struct net_port *peer = net_port_peer(net_node_port(node, num));
        count += peer && net_node_index(net_port_node(peer)) >= below;
    }
    return count;
}

static void every_leaf_has_as_much_up_as_down(void **state)
{
    struct world world = grow(100, 8);
    size_t above = world.tree.first + world.tree.hosts + world.tree.leaves;
    (void)state;
    for (size_t i = 0; i < world.tree.leaves; i++) {
        struct net_node *leaf = fat_tree_leaf(world.net, &world.tree, i);
        assert_int_equal(net_node_kind(leaf), NET_SWITCH);
        assert_int_equal(cables_up(leaf, above), 4);
    }
    fell(&world);
}

static void hosts_are_where_their_index_says(void **state)
{
    struct world world = grow(20, 8);
    (void)state;
    struct net_node *host = fat_tree_host(world.net, &world.tree, 19);
    assert_string_equal(net_node_name(host), "h19");
    assert_int_equal(net_node_kind(host), NET_HCA);
    const struct net_port *peer = net_port_peer(net_node_port(host, 1));
    assert_ptr_equal(net_port_node(peer), fat_tree_leaf(world.net, &world.tree, 4));
    assert_int_equal(net_port_num(peer), 4);
    fell(&world);
}

static void guids_are_unique_down_to_the_ports(void **state)
{
    struct world world = grow(64, 64);
    (void)state;
    for (size_t i = 1; i < net_node_count(world.net); i++) {
        uint64_t before = net_node_guid(net_node_at(world.net, i - 1));
        uint8_t ports = net_node_ports(net_node_at(world.net, i - 1));
        assert_true(net_node_guid(net_node_at(world.net, i)) > before + ports);
    }
    fell(&world);
}

static void memory_is_linear_in_hosts(void **state)
{
    struct world small = grow(1000, 36), large = grow(4000, 36);
    struct net_stats a, b;
    (void)state;
    net_stats(small.net, &a);
    net_stats(large.net, &b);
    assert_true(b.bytes_of_memory < a.bytes_of_memory * 5);
    fell(&small);
    fell(&large);
}

static void build_too_large(void *context)
{
    grow(*(size_t *)context, 4);
}

static void more_hosts_than_three_levels_carry_aborts(void **state)
{
    size_t hosts = fat_tree_capacity(4) + 1;
    (void)state;
    assert_int_equal(hosts, 17);
    assert_int_equal(fat_tree_capacity(36), 11664);
    assert_true(aborts(build_too_large, &hosts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_is_reached_within_up_and_down),
        cmocka_unit_test(every_leaf_has_as_much_up_as_down),
        cmocka_unit_test(hosts_are_where_their_index_says),
        cmocka_unit_test(guids_are_unique_down_to_the_ports),
        cmocka_unit_test(memory_is_linear_in_hosts),
        cmocka_unit_test(more_hosts_than_three_levels_carry_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
