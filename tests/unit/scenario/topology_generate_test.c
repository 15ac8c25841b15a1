/* SPDX-License-Identifier: Apache-2.0 */
/* Proves HA-3.1: topologies of usual shapes are ones that the reader takes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/scenario/topology_generate.h"
#include "src/scenario/topology_read.h"

struct made {
    struct text text;
    struct arena arena;
    struct topology *topology;
    char detail[TOPOLOGY_DETAIL];
};

static bool generate(struct made *m, const char *shape, unsigned long nodes, unsigned long radix,
                     unsigned long rails)
{
    const struct topology_sizes sizes = {nodes, radix, rails};
    struct yaml_errors errors;
    *m = (struct made){.topology = NULL};
    if (!topology_generate(shape, &sizes, &m->text, m->detail))
        return false;
    yaml_errors_init(&errors, shape);
    struct yaml_tree *tree = yaml_parse(m->text.data, m->text.length, &errors);
    m->topology = tree ? topology_read(yaml_root(tree), &m->arena, &errors) : NULL;
    if (!m->topology)
        fail_msg("%s", errors.items[0].text);
    yaml_tree_free(tree);
    return true;
}

static void done(struct made *m)
{
    text_free(&m->text);
    arena_free(&m->arena);
}

static void counts(const char *shape, const unsigned long sizes[3], size_t nodes, size_t switches,
                   size_t links)
{
    struct made m;
    assert_true(generate(&m, shape, sizes[0], sizes[1], sizes[2]));
    assert_int_equal(m.topology->node_count, nodes);
    assert_int_equal(m.topology->switch_count, switches);
    assert_int_equal(m.topology->link_count, links);
    done(&m);
}

static void every_shape_has_the_nodes_switches_and_links_of_its_sizes(void **state)
{
    (void)state;
    counts("pair", (unsigned long[]){0, 0, 0}, 2, 1, 0);
    counts("fat-tree", (unsigned long[]){0, 0, 0}, 8, 6, 8);
    counts("fat-tree", (unsigned long[]){64, 16, 0}, 64, 16, 64);
    counts("fat-tree", (unsigned long[]){16, 8, 2}, 16, 12, 32);
    counts("rail-optimised", (unsigned long[]){0, 0, 0}, 8, 3, 2);
    counts("rail-optimised", (unsigned long[]){249, 0, 8}, 249, 9, 8);
    counts("dragonfly", (unsigned long[]){72, 8, 0}, 72, 36, 9 * 6 + 36);
    counts("dragonfly", (unsigned long[]){3, 3, 0}, 3, 4, 2 + 1);
}

static void each_rail_has_a_leaf_of_its_own(void **state)
{
    struct made m;
    (void)state;
    assert_true(generate(&m, "rail-optimised", 4, 0, 3));
    for (size_t i = 0; i < 4; i++) {
        const struct topology_node *node = &m.topology->nodes[i];
        assert_int_equal(node->device_count, 3);
        assert_string_equal(node->devices[0].ports[0].attach, "leaf0");
        assert_string_equal(node->devices[2].ports[0].attach, "leaf2");
    }
    done(&m);
}

static void what_does_not_fit_is_refused_with_the_reason(void **state)
{
    static const struct {
        const char *shape;
        unsigned long sizes[3];
        const char *reason;
    } wrong[] = {{"fat-tre", {0, 0, 0}, "did you mean fat-tree"},
                 {"pair", {3, 0, 0}, "two nodes"},
                 {"fat-tree", {33, 8, 0}, "carry 32 adapters, not 33"},
                 {"fat-tree", {8, 7, 0}, "even"},
                 {"fat-tree", {8, 8, 5}, "adapters of a node"},
                 {"rail-optimised", {250, 0, 0}, "at most 249"},
                 {"dragonfly", {73, 8, 0}, "carries 72 nodes, not 73"},
                 {"dragonfly", {8, 2, 0}, "radix of 3"},
                 {"fat-tree", {8, 65, 0}, "2 to 64"},
                 {"fat-tree", {4097, 0, 0}, "at most 4096"},
                 {"rail-optimised", {8, 0, 17}, "at most 16"}};
    struct made m;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const unsigned long *sizes = wrong[i].sizes;
        assert_false(generate(&m, wrong[i].shape, sizes[0], sizes[1], sizes[2]));
        if (!strstr(m.detail, wrong[i].reason))
            fail_msg("%s: %s", wrong[i].shape, m.detail);
        done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_has_the_nodes_switches_and_links_of_its_sizes),
        cmocka_unit_test(each_rail_has_a_leaf_of_its_own),
        cmocka_unit_test(what_does_not_fit_is_refused_with_the_reason)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
