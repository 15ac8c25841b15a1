/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forwarding tables by up/down routing: switches are ordered, a path goes up in that order and then
 * down, never up again. So no path loops and no cycle of waiting buffers can form. On a fat tree,
 * ordered by the distance from the switches that hold the hosts, these are its shortest paths;
 * where that order does not connect all hosts, the order is by distance from one root, which always
 * does. Among equal next hops a destination's number picks one, digit by digit per level, so that
 * the hosts of one switch spread over all of its uplinks.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/world/sm_state.h"
#include "src/fabric/planted.h"

#define FAR UINT16_MAX

struct edge {
    uint32_t to; /* switch */
    uint8_t port;
};

struct router {
    struct sm *sm;
    size_t count;       /* switches */
    struct edge *edges; /* of switch s: first[s] to first[s + 1] */
    uint32_t *first;
    uint32_t *hosts; /* HCA ports cabled to each switch */
    uint16_t *height;
    uint32_t *order;   /* switches, lowest first */
    uint32_t *place;   /* of each switch in order */
    uint32_t *divisor; /* of the destination's number, by height */
    uint16_t *down;    /* hops to the destination, going down only */
    uint16_t *value;   /* hops by a legal path */
    uint16_t *detour;  /* hops to a switch that has one; 0 where there is one */
    uint32_t *queue;
    uint8_t (*candidates)[256]; /* ports towards the destination's switch */
    uint16_t *candidate_count;
};

static const struct sm_node *switch_at(const struct router *r, size_t s)
{
    assert(s < r->count);
    return &r->sm->view.nodes[r->sm->view.switches[s]];
}

/* The switch at the other end of a switch port, SM_NONE for hosts and nothing. */
static uint32_t neighbour(const struct router *r, uint32_t port)
{
    const struct sm_vport *p = &r->sm->view.ports[port];

    assert(port < r->sm->view.port_count);
    if (p->peer == SM_NONE || !p->known || p->info.port_state < FABRIC_PORT_INIT)
        return SM_NONE;
    return r->sm->view.nodes[r->sm->view.ports[p->peer].node].sw;
}

static void find_edges(struct router *r)
{
    uint32_t count = 0;

    for (uint32_t s = 0; s < r->count; s++) {
        const struct sm_node *node = switch_at(r, s);

        r->first[s] = count;
        for (uint32_t p = 1; p <= node->num_ports; p++) {
            const struct sm_vport *port = &r->sm->view.ports[node->first_port + p];
            uint32_t to = neighbour(r, node->first_port + p);

            if (to != SM_NONE && to != s)
                r->edges[count++] = (struct edge){.to = to, .port = (uint8_t)p};
            else if (to == SM_NONE && port->peer != SM_NONE && port->peer != sm_own_port(r->sm))
                r->hosts[s]++;
        }
    }
    r->first[r->count] = count;
}

/* ---------------------------------------------------------------- the order */

static void breadth_first(struct router *r, size_t tail)
{
    assert(tail <= r->count);
    for (size_t head = 0; head < tail; head++) {
        uint32_t s = r->queue[head];

        for (uint32_t e = r->first[s]; e < r->first[s + 1]; e++) {
            uint32_t to = r->edges[e].to;

            if (r->height[to] != FAR)
                continue;
            r->height[to] = (uint16_t)(r->height[s] + 1);
            r->queue[tail++] = to;
        }
    }
}

static void heights_from_hosts(struct router *r)
{
    uint32_t most = 0;
    size_t tail = 0;

    for (size_t s = 0; s < r->count; s++)
        most = r->hosts[s] > most ? r->hosts[s] : most;
    for (uint32_t s = 0; s < r->count; s++) {
        bool is_leaf = 2 * r->hosts[s] >= most;

        r->height[s] = is_leaf ? 0 : FAR;
        if (is_leaf)
            r->queue[tail++] = s;
    }
    breadth_first(r, tail);
}

static uint32_t degree(const struct router *r, uint32_t s)
{
    return r->first[s + 1] - r->first[s];
}

static void heights_from_root(struct router *r)
{
    uint32_t root = 0;
    uint16_t deepest = 0;

    assert(r->count > 0);
    for (uint32_t s = 0; s < r->count; s++) {
        bool equal = degree(r, s) == degree(r, root);

        if (degree(r, s) > degree(r, root) ||
            (equal && switch_at(r, s)->guid < switch_at(r, root)->guid))
            root = s;
        r->height[s] = FAR;
    }
    r->height[root] = 0;
    r->queue[0] = root;
    breadth_first(r, 1);
    for (size_t s = 0; s < r->count; s++)
        if (r->height[s] != FAR && r->height[s] > deepest)
            deepest = r->height[s];
    for (size_t s = 0; s < r->count; s++)
        r->height[s] = r->height[s] == FAR ? 0 : (uint16_t)(deepest - r->height[s]);
}

struct sort_key {
    uint64_t guid;
    uint32_t s;
    uint16_t height;
};

static int by_height(const void *a, const void *b)
{
    const struct sort_key *left = a, *right = b;

    if (left->height != right->height)
        return left->height < right->height ? -1 : 1;
    return (left->guid > right->guid) - (left->guid < right->guid);
}

static void sort_switches(struct router *r)
{
    struct sort_key *keys = sm_grow(NULL, r->count, sizeof *keys);

    assert(r->count > 0);
    for (uint32_t s = 0; s < r->count; s++)
        keys[s] = (struct sort_key){switch_at(r, s)->guid, s, r->height[s]};
    qsort(keys, r->count, sizeof *keys, by_height);
    for (uint32_t i = 0; i < r->count; i++) {
        r->order[i] = keys[i].s;
        r->place[keys[i].s] = i;
    }
    free(keys);
}

static bool is_up(const struct router *r, uint32_t from, uint32_t to)
{
    assert(from < r->count && to < r->count);
    return r->place[to] > r->place[from];
}

/* divisor[h]: how many destinations in a row share the choice made at height h. */
static void find_divisors(struct router *r)
{
    uint32_t *most = calloc(r->count + 1, sizeof *most); /* uplinks of one switch, by height */

    if (!most)
        abort();
    for (uint32_t s = 0; s < r->count; s++) {
        uint32_t up = 0;

        for (uint32_t e = r->first[s]; e < r->first[s + 1]; e++)
            up += is_up(r, s, r->edges[e].to);
        if (up > most[r->height[s]])
            most[r->height[s]] = up;
    }
    r->divisor[0] = 1;
    for (uint32_t h = 0; h < r->count; h++) {
        uint64_t next = (uint64_t)r->divisor[h] * (most[h] ? most[h] : 1);

        r->divisor[h + 1] = next > LID_UNICAST_LAST ? LID_UNICAST_LAST : (uint32_t)next;
    }
    free(most);
}

/* ---------------------------------------------------------------- one destination switch */

static uint16_t least_next(const struct router *r, uint32_t s, bool up, const uint16_t *hops)
{
    uint16_t least = FAR;

    for (uint32_t e = r->first[s]; e < r->first[s + 1]; e++) {
        uint32_t to = r->edges[e].to;

        if (is_up(r, s, to) == up && hops[to] < least)
            least = hops[to];
    }
    return least == FAR ? FAR : (uint16_t)(least + 1);
}

static void measure(struct router *r, uint32_t destination)
{
    assert(destination < r->count);
    for (size_t i = 0; i < r->count; i++) {
        uint32_t s = r->order[i];

        r->down[s] = s == destination ? 0 : least_next(r, s, false, r->down);
    }
    for (size_t i = r->count; i-- > 0;) {
        uint32_t s = r->order[i];

        r->value[s] = r->down[s] != FAR ? r->down[s] : least_next(r, s, true, r->value);
    }
}

/* Switches without a legal path (a spine that lost a leaf) still need one for their own
 * management datagrams: to the nearest that has one. No host's packet gets there. */
static void find_detours(struct router *r)
{
    size_t tail = 0;

    for (uint32_t s = 0; s < r->count; s++) {
        r->detour[s] = r->value[s] == FAR ? FAR : 0;
        if (r->value[s] != FAR)
            r->queue[tail++] = s;
    }
    for (size_t head = 0; tail < r->count && head < tail; head++) {
        uint32_t s = r->queue[head];

        for (uint32_t e = r->first[s]; e < r->first[s + 1]; e++) {
            uint32_t to = r->edges[e].to;

            if (r->detour[to] != FAR)
                continue;
            r->detour[to] = (uint16_t)(r->detour[s] + 1);
            r->queue[tail++] = to;
        }
    }
}

static bool leads_on(const struct router *r, uint32_t s, uint32_t to)
{
    if (PLANTED(sm_min_hop_loop))
        return true;
    if (r->value[s] == FAR)
        return r->detour[s] != FAR && r->detour[to] + 1 == r->detour[s];
    if (r->down[s] != FAR)
        return !is_up(r, s, to) && r->down[to] + 1 == r->down[s];
    return is_up(r, s, to) && r->value[to] != FAR && r->value[to] + 1 == r->value[s];
}

static void find_candidates(struct router *r, uint32_t destination)
{
    assert(destination < r->count);
    for (uint32_t s = 0; s < r->count; s++) {
        r->candidate_count[s] = 0;
        if (s == destination)
            continue;
        for (uint32_t e = r->first[s]; e < r->first[s + 1]; e++)
            if (leads_on(r, s, r->edges[e].to))
                r->candidates[s][r->candidate_count[s]++] = r->edges[e].port;
    }
}

/* True when every switch with hosts has a legal path to this one. */
static bool all_hosts_reach(const struct router *r, uint32_t destination)
{
    for (size_t s = 0; r->hosts[destination] && s < r->count; s++)
        if (r->hosts[s] && r->value[s] == FAR)
            return false;
    return true;
}

/* ---------------------------------------------------------------- tables */

static struct sm_record *record_of(const struct router *r, size_t s)
{
    return &r->sm->records[r->sm->view.ports[switch_at(r, s)->first_port].record];
}

static void write_lid(struct router *r, uint32_t destination, uint16_t lid, uint8_t last_port,
                      uint32_t number)
{
    assert(lid <= LID_UNICAST_LAST && r->divisor[0] == 1);
    for (size_t s = 0; s < r->count; s++) {
        uint16_t count = r->candidate_count[s];
        uint32_t pick = number / r->divisor[r->height[s]];

        if (PLANTED(sm_unbalanced))
            pick = 0;
        if (s == destination)
            record_of(r, s)->lft_wanted[lid] = last_port;
        else if (count)
            record_of(r, s)->lft_wanted[lid] = r->candidates[s][pick % count];
    }
}

/* Returns how many destinations were written, besides the switch itself. */
static uint32_t write_destination(struct router *r, uint32_t destination, uint32_t number)
{
    const struct sm_node *node = switch_at(r, destination);
    uint32_t first = number;

    assert(node->type == MAD_NODE_SWITCH);
    write_lid(r, destination, record_of(r, destination)->lid, 0, number);
    for (uint32_t p = 1; p <= node->num_ports; p++) {
        const struct sm_vport *port = &r->sm->view.ports[node->first_port + p];
        const struct sm_record *host;

        if (port->peer == SM_NONE || neighbour(r, node->first_port + p) != SM_NONE ||
            r->sm->view.ports[port->peer].record == SM_NONE)
            continue;
        host = &r->sm->records[r->sm->view.ports[port->peer].record];
        for (uint32_t i = 0; host->lid && i < 1u << host->lmc; i++)
            write_lid(r, destination, (uint16_t)(host->lid + i), (uint8_t)p, number + i);
        number++;
    }
    return number - first;
}

static void size_table(struct sm_record *record, uint32_t size)
{
    assert(size % MAD_LFT_PER_BLOCK == 0);
    if (record->lft_size < size) {
        record->lft_wanted = sm_grow(record->lft_wanted, size, 1);
        if (record->lft) {
            record->lft = sm_grow(record->lft, size, 1);
            memset(record->lft + record->lft_size, NET_PORT_NONE, size - record->lft_size);
        }
        record->lft_size = size;
    }
    memset(record->lft_wanted, NET_PORT_NONE, record->lft_size);
}

static uint32_t table_size(const struct sm *sm)
{
    uint32_t last = 0;

    assert(sm->view.switch_count > 0);
    for (uint32_t i = 0; i < sm->view.port_count; i++) {
        const struct sm_record *record;
        uint32_t end;

        if (!sm_has_lid(sm, i))
            continue;
        record = &sm->records[sm->view.ports[i].record];
        end = record->lid + (1u << record->lmc) - 1;
        last = end > last ? end : last;
    }
    return last / MAD_LFT_PER_BLOCK * MAD_LFT_PER_BLOCK + MAD_LFT_PER_BLOCK;
}

static bool write_tables(struct router *r, bool must)
{
    uint32_t number = 0, size = table_size(r->sm);

    for (size_t s = 0; s < r->count; s++)
        size_table(record_of(r, s), size);
    for (size_t i = 0; i < r->count; i++) {
        measure(r, r->order[i]);
        if (!must && !all_hosts_reach(r, r->order[i]))
            return false;
        find_detours(r);
        find_candidates(r, r->order[i]);
        number += write_destination(r, r->order[i], number);
    }
    return true;
}

/* ---------------------------------------------------------------- all of it */

static void allocate(struct router *r)
{
    size_t n = r->count + 1;

    r->edges = sm_grow(NULL, r->sm->view.port_count + 1, sizeof *r->edges);
    r->first = sm_grow(NULL, n, sizeof *r->first);
    r->hosts = calloc(n, sizeof *r->hosts);
    r->height = sm_grow(NULL, n, sizeof *r->height);
    r->order = sm_grow(NULL, n, sizeof *r->order);
    r->place = sm_grow(NULL, n, sizeof *r->place);
    r->divisor = sm_grow(NULL, n, sizeof *r->divisor);
    r->down = sm_grow(NULL, n, sizeof *r->down);
    r->value = sm_grow(NULL, n, sizeof *r->value);
    r->detour = sm_grow(NULL, n, sizeof *r->detour);
    r->queue = sm_grow(NULL, n, sizeof *r->queue);
    r->candidates = sm_grow(NULL, n, sizeof *r->candidates);
    r->candidate_count = sm_grow(NULL, n, sizeof *r->candidate_count);
    if (!r->hosts)
        abort();
}

static void release(struct router *r)
{
    free(r->edges);
    free(r->first);
    free(r->hosts);
    free(r->height);
    free(r->order);
    free(r->place);
    free(r->divisor);
    free(r->down);
    free(r->value);
    free(r->detour);
    free(r->queue);
    free(r->candidates);
    free(r->candidate_count);
}

void sm_routes_compute(struct sm *sm)
{
    struct router r = {.sm = sm, .count = sm->view.switch_count};

    if (r.count == 0)
        return;
    allocate(&r);
    find_edges(&r);
    heights_from_hosts(&r);
    sort_switches(&r);
    find_divisors(&r);
    if (!write_tables(&r, false)) {
        heights_from_root(&r);
        sort_switches(&r);
        find_divisors(&r);
        write_tables(&r, true);
    }
    release(&r);
}

static bool block_differs(const struct sm_record *record, uint32_t block)
{
    size_t at = block * (size_t)MAD_LFT_PER_BLOCK;

    assert(block < record->lft_size / MAD_LFT_PER_BLOCK);
    return !record->lft ||
           memcmp(record->lft + at, record->lft_wanted + at, MAD_LFT_PER_BLOCK) != 0;
}

void sm_queue_routes(struct sm *sm)
{
    for (size_t s = 0; s < sm->view.switch_count; s++) {
        uint32_t port = sm->view.nodes[sm->view.switches[s]].first_port;
        const struct sm_record *record = &sm->records[sm->view.ports[port].record];

        if (record->lft_top != record->lft_size - 1)
            sm_request(sm, SM_OP_SET_TOP, port, 0);
        for (uint32_t block = 0; block < record->lft_size / MAD_LFT_PER_BLOCK; block++)
            if (block_differs(record, block))
                sm_request(sm, SM_OP_SET_LFT, port, (uint16_t)block);
    }
}
