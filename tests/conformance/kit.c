/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/layer_delay.h"
#include "src/fabric/layer_fault.h"
#include "src/fabric/layer_trace.h"
#include "tests/conformance/deviations.h"

#define PAGE 4096

static fabric_caps caps_on(void)
{
    const char *off = getenv("CONFORMANCE_OFF");
    fabric_caps caps = FABRIC_CAPS_ALL;
    for (int bit = 0; off && bit < FABRIC_CAP_COUNT; bit++) {
        if (strcmp(off, fabric_cap_name((enum fabric_cap_bit)bit)) == 0)
            caps &= ~(UINT64_C(1) << bit);
    }
    return caps;
}

/* Ends the case. */
static void skip_kit(struct kit *kit)
{
    void *state = kit;
    kit_free(&state);
    skip();
}

void kit_skip(const struct kit *kit, const char *why)
{
    assert_non_null(kit);
    fprintf(stderr, "# %s %s\n", bench_backend.name, why);
    skip();
}

/* Says which bit is missing and ends the case. */
static void skip_without(struct kit *kit, fabric_caps missing)
{
    for (int bit = 0; bit < FABRIC_CAP_COUNT; bit++) {
        if (missing >> bit & 1)
            fprintf(stderr, "# needs the capability %s\n",
                    fabric_cap_name((enum fabric_cap_bit)bit));
    }
    skip_kit(kit);
}

static const char *running; /* the case */

int kit_begin(void **state)
{
    running = *state;
    *state = NULL;
    return 0;
}

static const struct deviation *deviation(enum fabric_wc_status due)
{
    const char *driver = bench_backend.driver ? bench_backend.driver() : "";
    const struct deviation *found = deviation_find(driver, running, due);
    if (found)
        fprintf(stderr, "# %s %s\n", driver, found->why);
    return found;
}

enum fabric_wc_status kit_due(enum fabric_wc_status due)
{
    const struct deviation *found = deviation(due);
    assert_int_not_equal(due, FABRIC_WC_SUCCESS);
    return found ? found->given : due;
}

void kit_adopt(struct kit *kit, size_t node, struct fabric *f)
{
    bench_backend.adopt(kit->bench, node, f);
    kit->nodes[node].f = f;
}

static void read_nothing(void *context, const char *text)
{
    (void)context;
    assert_true(text[0] != '\0');
}

/* Layers without rules change nothing. */
static void add_layers(struct kit *kit, size_t node)
{
    const struct layer_trace_sink sink = {NULL, read_nothing};
    struct fabric *f = bench_backend.fabric(kit->bench, node);
    kit->nodes[node].f = f;
    if (!getenv("CONFORMANCE_LAYERS"))
        return;
    assert_int_equal(layer_fault_create(f, &f), FABRIC_OK);
    assert_int_equal(layer_delay_create(f, &f), FABRIC_OK);
    assert_int_equal(layer_trace_create(f, "node", &sink, &f), FABRIC_OK);
    kit_adopt(kit, node, f);
}

struct kit *kit_new_bare(size_t nodes, fabric_caps caps)
{
    if (deviation(FABRIC_WC_SUCCESS))
        skip();
    char reason[BENCH_REASON] = "";
    struct bench_setup setup = {nodes, FABRIC_LINK_LAYER_INFINIBAND, caps_on()};
    if (!(setup.caps & FABRIC_CAP_LID))
        setup.link_layer = FABRIC_LINK_LAYER_ETHERNET;
    struct kit *kit = calloc(1, sizeof(*kit));
    assert_non_null(kit);
    kit->bench = bench_backend.create(&setup, reason);
    if (!kit->bench) {
        fprintf(stderr, "# %s: %s\n", bench_backend.name, reason);
        free(kit);
        skip();
        return NULL;
    }
    kit->caps = bench_backend.caps(kit->bench);
    if (caps & ~kit->caps) {
        skip_without(kit, caps & ~kit->caps);
        return NULL;
    }
    kit->node_count = nodes;
    for (size_t i = 0; i < nodes; i++) {
        kit->nodes[i].index = i;
        add_layers(kit, i);
        kit->nodes[i].events = calloc(KIT_EVENTS, sizeof(struct fabric_event));
        kit->nodes[i].buffer = aligned_alloc(PAGE, KIT_BUFFER);
        assert_non_null(kit->nodes[i].events);
        assert_non_null(kit->nodes[i].buffer);
        memset(kit->nodes[i].buffer, 0, KIT_BUFFER);
    }
    return kit;
}

struct kit *kit_new(size_t nodes, fabric_caps caps)
{
    struct kit *kit = kit_new_bare(nodes, caps);
    char names[1][FABRIC_NAME_MAX];
    size_t count = 0;
    assert_int_equal(fabric_device_list(kit->nodes[0].f, names, 1, &count), FABRIC_OK);
    if (count == 0) {
        fprintf(stderr, "# %s has no RDMA device\n", bench_backend.name);
        skip_kit(kit);
        return NULL;
    }
    for (size_t i = 0; i < nodes; i++)
        kit_open(&kit->nodes[i]);
    return kit;
}

void kit_need_reads(struct kit *kit)
{
    for (size_t i = 0; i < kit->node_count; i++) {
        const struct fabric_port_address *address = &kit->nodes[i].address;
        if (address->max_rd_atomic && address->max_dest_rd_atomic)
            continue;
        fprintf(stderr, "# needs devices that ask for and answer RDMA READs\n");
        skip();
    }
}

int kit_free(void **state)
{
    struct kit *kit = *state;
    if (!kit)
        return 0;
    bench_backend.destroy(kit->bench);
    for (size_t i = 0; i < BENCH_NODES; i++) {
        free(kit->nodes[i].events);
        free(kit->nodes[i].buffer);
    }
    free(kit);
    *state = NULL;
    return 0;
}

static void describe_gids(struct kit_node *node, const struct fabric_port_attr *port)
{
    struct fabric_gid_entry entries[256];
    size_t count = 0;
    for (uint32_t i = 0; i < port->gid_tbl_len && count < 256; i++) {
        enum fabric_error error = fabric_gid_query(node->f, node->device, 1, i, &entries[count]);
        assert_true(error == FABRIC_OK || error == ERR_NOT_FOUND);
        count += error == FABRIC_OK;
    }
    node->address.gid_count =
        fabric_gids_usable(port->link_layer, entries, count, node->address.gids);
}

static void describe(struct kit_node *node)
{
    struct fabric_port_attr port = kit_port(node);
    struct fabric_device_attr device;
    uint16_t pkey;
    assert_int_equal(fabric_device_query(node->f, node->device, &device), FABRIC_OK);
    assert_int_equal(fabric_pkey_query(node->f, node->device, 1, 0, &pkey), FABRIC_OK);
    node->address = (struct fabric_port_address){
        .link_layer = port.link_layer,
        .state = port.state,
        .port_num = 1,
        .lid = port.lid,
        .lmc = port.lmc,
        .port_guid = port.port_guid,
        .pkey = pkey,
        .mtu = port.active_mtu,
        .active_mtu = port.active_mtu,
        .flags = port.flags,
        .max_rd_atomic = device.max_init_rd_atomic < 4 ? device.max_init_rd_atomic : 4,
        .max_dest_rd_atomic = device.max_rd_atomic < 4 ? device.max_rd_atomic : 4,
    };
    describe_gids(node, &port);
    if (node->address.gid_count > 0)
        node->address.subnet_prefix = fabric_gid_prefix(&node->address.gids[0].gid);
}

void kit_open(struct kit_node *node)
{
    char names[4][FABRIC_NAME_MAX];
    size_t count = 0;
    const struct fabric_mr_init init = {
        .addr = node->buffer, .length = KIT_BUFFER, .iova = KIT_IOVA, .access = KIT_ACCESS_ALL};
    assert_int_equal(fabric_device_list(node->f, names, 4, &count), FABRIC_OK);
    assert_true(count >= 1);
    assert_int_equal(fabric_device_open(node->f, names[0], &node->device), FABRIC_OK);
    assert_int_equal(fabric_cq_create(node->f, node->device, 1024, &node->cq), FABRIC_OK);
    assert_int_equal(fabric_mr_register(node->f, node->device, &init, &node->mr, &node->keys),
                     FABRIC_OK);
    describe(node);
}

struct fabric_port_attr kit_port(struct kit_node *node)
{
    struct fabric_port_attr port;
    assert_int_equal(fabric_port_query(node->f, node->device, 1, &port), FABRIC_OK);
    return port;
}

void kit_inject(struct kit *kit, size_t node, enum bench_word word)
{
    if (!bench_backend.inject(kit->bench, node, word)) {
        fprintf(stderr, "# %s cannot do fault %d\n", bench_backend.name, (int)word);
        skip();
    }
    if (word == BENCH_KILL)
        kit->nodes[node].gone = true;
    if (word == BENCH_POWER_CUT)
        add_layers(kit, node);
}

static size_t poll_node(struct kit_node *node)
{
    size_t before = node->event_count, count;
    do {
        size_t room = KIT_EVENTS - node->event_count;
        assert_true(room > 64);
        assert_int_equal(fabric_poll(node->f, node->events + node->event_count, 64, 0, &count),
                         FABRIC_OK);
        node->event_count += count;
    } while (count > 0);
    return node->event_count - before;
}

size_t kit_poll(struct kit *kit)
{
    size_t total = 0;
    for (size_t i = 0; i < kit->node_count; i++) {
        if (!kit->nodes[i].gone)
            total += poll_node(&kit->nodes[i]);
    }
    return total;
}

uint64_t kit_now(const struct kit_node *node)
{
    uint64_t now;
    assert_int_equal(fabric_now(node->f, &now), FABRIC_OK);
    return now;
}

static struct kit_node *alive(struct kit *kit)
{
    size_t i = 0;
    while (kit->nodes[i].gone)
        i++;
    assert_true(i < kit->node_count);
    return &kit->nodes[i];
}

bool kit_until(struct kit *kit, bool (*done)(void *context), void *context)
{
    uint64_t deadline = kit_now(alive(kit)) + KIT_PATIENCE;
    for (;;) {
        kit_poll(kit);
        if (done(context))
            return true;
        if (kit_now(alive(kit)) >= deadline || !bench_backend.advance(kit->bench, deadline)) {
            kit_poll(kit);
            return done(context);
        }
    }
}

/* Where time is real, what never happens is waited for less long. */
void kit_pass(struct kit *kit, uint64_t ns)
{
    if (!(kit->caps & FABRIC_CAP_VIRTUAL_TIME) && ns > KIT_REAL_PASS)
        ns = KIT_REAL_PASS;
    uint64_t deadline = kit_now(alive(kit)) + ns;
    kit_poll(kit);
    while (kit_now(alive(kit)) < deadline && bench_backend.advance(kit->bench, deadline))
        kit_poll(kit);
    kit_poll(kit);
}

const struct fabric_event *kit_event(const struct kit_node *node, enum fabric_event_type type,
                                     size_t nth)
{
    for (size_t i = 0; i < node->event_count; i++) {
        if (node->events[i].type == type && nth-- == 0)
            return &node->events[i];
    }
    return NULL;
}

size_t kit_count(const struct kit_node *node, enum fabric_event_type type)
{
    size_t count = 0;
    for (size_t i = 0; i < node->event_count; i++)
        count += node->events[i].type == type;
    return count;
}

struct awaited {
    struct kit_node *node;
    enum fabric_event_type type;
    size_t nth;
    uint64_t wr_id;
};

static bool has_event(void *context)
{
    const struct awaited *a = context;
    return kit_event(a->node, a->type, a->nth) != NULL;
}

const struct fabric_event *kit_await(struct kit *kit, struct kit_node *node,
                                     enum fabric_event_type type, size_t nth)
{
    struct awaited a = {.node = node, .type = type, .nth = nth};
    if (!kit_until(kit, has_event, &a))
        fail_msg("no event:%s %zu at node %zu", fabric_event_name(type), nth, node->index);
    return kit_event(node, type, nth);
}

static const struct fabric_wc *find_wc(const struct kit_node *node, uint64_t wr_id)
{
    for (size_t i = 0; i < node->event_count; i++) {
        const struct fabric_event *event = &node->events[i];
        if (event->type == FABRIC_EVENT_COMPLETION && event->u.wc.wr_id == wr_id)
            return &event->u.wc;
    }
    return NULL;
}

static bool has_wc(void *context)
{
    const struct awaited *a = context;
    return find_wc(a->node, a->wr_id) != NULL;
}

struct fabric_wc kit_await_wc(struct kit *kit, struct kit_node *node, uint64_t wr_id)
{
    struct awaited a = {.node = node, .wr_id = wr_id};
    if (!kit_until(kit, has_wc, &a))
        fail_msg("no completion of wr_id %u at node %zu", (unsigned int)wr_id, node->index);
    return *find_wc(node, wr_id);
}

size_t kit_completions(const struct kit_node *node, uint64_t wr_id)
{
    size_t count = 0;
    for (size_t i = 0; i < node->event_count; i++) {
        const struct fabric_event *event = &node->events[i];
        count += event->type == FABRIC_EVENT_COMPLETION && event->u.wc.wr_id == wr_id;
    }
    return count;
}

bool kit_has_async(const struct kit_node *node, enum fabric_async_type type)
{
    for (size_t i = 0; i < node->event_count; i++) {
        const struct fabric_event *event = &node->events[i];
        if (event->type == FABRIC_EVENT_ASYNC && event->u.async.type == type)
            return true;
    }
    return false;
}

void kit_fill(uint8_t *bytes, size_t length, uint32_t seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

bool kit_filled(const uint8_t *bytes, size_t length, uint32_t seed)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != (uint8_t)(seed * 31 + i * 7 + (i >> 8)))
            return false;
    }
    return true;
}
