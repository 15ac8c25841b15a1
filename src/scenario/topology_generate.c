/* SPDX-License-Identifier: Apache-2.0 */
#include "src/scenario/topology_generate.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/config/nearest.h"
#include "src/fabric/planted.h"

#define MAX_RADIX 64ul
#define MAX_RAILS 16ul
#define MAX_PORTS 250ul /* of one switch, beside that of the subnet manager */

struct generator {
    struct topology_sizes sizes;
    struct text *out;
    char *detail;
};

static bool refuse(const struct generator *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool refuse(const struct generator *g, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(g->detail, TOPOLOGY_DETAIL, format, values);
    va_end(values);
    return false;
}

static void begin(struct generator *g)
{
    text_add(g->out, "subnets: [ib]\nswitches:\n");
}

static void add_switch(struct generator *g, const char *name, unsigned long number,
                       unsigned long ports)
{
    assert(ports > 0 && ports < 255);
    text_add(g->out, "  %s%lu: {ports: %lu}\n", name, number, ports);
}

static void link_up(struct generator *g, const char *a, unsigned long a_number, const char *b,
                    unsigned long b_number)
{
    text_add(g->out, "  - {between: [%s%lu, %s%lu]}\n", a, a_number, b, b_number);
}

/* A node with all of its adapters at one switch. */
static void add_node(struct generator *g, unsigned long number, const char *at,
                     unsigned long at_number)
{
    text_add(g->out, "  n%lu: {devices: {", number);
    for (unsigned long i = 0; i < g->sizes.rails; i++)
        text_add(g->out, "%smlx5_%lu: {network: ib, switch: %s%lu}", i ? ", " : "", i, at,
                 at_number);
    text_add(g->out, "}}\n");
}

/* ------------------------------------------------------------------ the shapes */

static bool pair(struct generator *g)
{
    if (g->sizes.nodes != 2 || g->sizes.radix != 8)
        return refuse(g, "a pair has two nodes and one switch");
    begin(g);
    add_switch(g, "switch", 1, 2 * g->sizes.rails + 1);
    text_add(g->out, "nodes:\n");
    add_node(g, 1, "switch", 1);
    add_node(g, 2, "switch", 1);
    return true;
}

static bool fat_tree(struct generator *g)
{
    unsigned long half = g->sizes.radix / 2, hosts = g->sizes.nodes * g->sizes.rails;
    unsigned long a_leaf = half / g->sizes.rails; /* nodes at a leaf */
    if (g->sizes.radix % 2 || a_leaf == 0)
        return refuse(g, "the radix is even, and half of it holds the %lu adapters of a node",
                      g->sizes.rails);
    unsigned long leaves = (g->sizes.nodes + a_leaf - 1) / a_leaf;
    if (leaves > g->sizes.radix)
        return refuse(g, "two levels of radix %lu carry %lu adapters, not %lu", g->sizes.radix,
                      g->sizes.radix * a_leaf * g->sizes.rails, hosts);
    begin(g);
    for (unsigned long i = 1; i <= leaves; i++)
        add_switch(g, "leaf", i, g->sizes.radix);
    for (unsigned long i = 1; i <= half; i++)
        add_switch(g, "spine", i, g->sizes.radix);
    text_add(g->out, "links:\n");
    for (unsigned long leaf = 1; leaf <= leaves; leaf++) {
        for (unsigned long spine = 1; spine <= half; spine++)
            link_up(g, "leaf", leaf, "spine", spine);
    }
    text_add(g->out, "nodes:\n");
    for (unsigned long i = 0; i < g->sizes.nodes; i++)
        add_node(g, i + 1, "leaf", i / a_leaf + 1);
    return true;
}

static bool rail_optimised(struct generator *g)
{
    if (g->sizes.nodes > MAX_PORTS - 1 || g->sizes.radix != 8)
        return refuse(g, "each leaf holds every node: at most %lu, whatever the radix",
                      MAX_PORTS - 1);
    begin(g);
    for (unsigned long i = 0; i < g->sizes.rails; i++)
        add_switch(g, "leaf", i, g->sizes.nodes + 1);
    add_switch(g, "spine", 0, g->sizes.rails);
    text_add(g->out, "links:\n");
    for (unsigned long i = 0; i < g->sizes.rails; i++)
        link_up(g, "leaf", i, "spine", 0);
    text_add(g->out, "nodes:\n");
    for (unsigned long i = 1; i <= g->sizes.nodes; i++) {
        text_add(g->out, "  n%lu: {devices: {", i);
        for (unsigned long j = 0; j < g->sizes.rails; j++)
            text_add(g->out, "%smlx5_%lu: {network: ib, switch: leaf%lu}", j ? ", " : "", j,
                     PLANTED(topology_rails_mixed) ? 0 : j);
        text_add(g->out, "}}\n");
    }
    return true;
}

/* With p adapters at a router: 2p routers in a group, each with p links to other groups. */
static bool dragonfly(struct generator *g)
{
    unsigned long p = (g->sizes.radix + 1) / 4, a = 2 * p;
    if (p == 0 || g->sizes.rails != 1)
        return refuse(g, "a dragonfly needs a radix of 3 or more, and one adapter a node");
    unsigned long groups = (g->sizes.nodes + a * p - 1) / (a * p);
    if (groups > a * p + 1)
        return refuse(g, "a dragonfly of radix %lu carries %lu nodes, not %lu", g->sizes.radix,
                      (a * p + 1) * a * p, g->sizes.nodes);
    begin(g);
    for (unsigned long i = 0; i < groups * a; i++)
        add_switch(g, "router", i, 4 * p - 1);
    text_add(g->out, "links:\n");
    for (unsigned long group = 0; group < groups; group++) {
        for (unsigned long i = 0; i < a; i++) {
            for (unsigned long j = i + 1; j < a; j++)
                link_up(g, "router", group * a + i, "router", group * a + j);
        }
        for (unsigned long other = group + 1; other < groups; other++)
            link_up(g, "router", group * a + (other - 1) / p, "router", other * a + group / p);
    }
    text_add(g->out, "nodes:\n");
    for (unsigned long i = 0; i < g->sizes.nodes; i++)
        add_node(g, i + 1, "router", i / p);
    return true;
}

/* ------------------------------------------------------------------ */

static bool fits(const struct generator *g)
{
    if (g->sizes.nodes > TOPOLOGY_MAX_NODES)
        return refuse(g, "at most %lu nodes", TOPOLOGY_MAX_NODES);
    if (g->sizes.radix < 2 || g->sizes.radix > MAX_RADIX)
        return refuse(g, "a radix is 2 to %lu", MAX_RADIX);
    if (g->sizes.rails > MAX_RAILS)
        return refuse(g, "at most %lu rails", MAX_RAILS);
    return true;
}

bool topology_generate(const char *shape, const struct topology_sizes *sizes, struct text *out,
                       char *detail)
{
#define NAME(name, about) name,
    static const char *const names[] = {TOPOLOGY_SHAPES(NAME)};
#undef NAME
    static bool (*const makers[])(struct generator * g) = {pair, fat_tree, rail_optimised,
                                                           dragonfly};
    struct generator g = {*sizes, out, detail};
    assert(shape && sizes && out && detail);
    size_t i = 0, count = sizeof names / sizeof names[0];
    while (i < count && strcmp(names[i], shape) != 0)
        i++;
    if (i == count) {
        const char *near = nearest_name(shape, names, count);
        return refuse(&g, "there is no shape '%.40s'%s%s", shape, near ? "; did you mean " : "",
                      near ? near : "");
    }
    if (!g.sizes.nodes)
        g.sizes.nodes = makers[i] == pair ? 2 : 8;
    if (!g.sizes.radix)
        g.sizes.radix = 8;
    if (!g.sizes.rails)
        g.sizes.rails = makers[i] == rail_optimised ? 2 : 1;
    return fits(&g) && makers[i](&g);
}
