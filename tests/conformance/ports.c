/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, ports, tables and their asynchronous events. HA-1.1, CASE-L2, CASE-I3. */
#include <string.h>

#include "src/fabric/gid.h"
#include "src/fabric/pkey.h"
#include "tests/conformance/kit.h"

static void devices_are_listed_and_opened_by_name(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct fabric *f = kit->nodes[0].f;
    char names[2][FABRIC_NAME_MAX];
    size_t count = 9;
    fabric_device device = {0};
    struct fabric_device_attr attr;
    assert_int_equal(fabric_device_list(f, names, 2, &count), FABRIC_OK);
    if (count == 0) { /* an adapter without its verbs */
        assert_int_equal(fabric_device_open(f, "mlx5_0", &device), ERR_NOT_FOUND);
        kit_skip(kit, "has no RDMA device");
    }
    assert_int_equal(count, 1);
    assert_string_equal(names[0], bench_backend.device(kit->bench, 0));
    assert_int_equal(fabric_device_list(f, NULL, 0, &count), FABRIC_OK);
    assert_int_equal(count, 1);
    assert_int_equal(fabric_device_open(f, "no_such_device", &device), ERR_NOT_FOUND);
    assert_int_equal(device.id, 0);
    assert_int_equal(fabric_device_open(f, names[0], &device), FABRIC_OK);
    assert_int_equal(fabric_device_query(f, device, &attr), FABRIC_OK);
    assert_string_equal(attr.name, names[0]);
    assert_int_equal(attr.num_ports, 1);
    assert_true(attr.node_guid != 0 && attr.sys_image_guid != 0);
    assert_true(attr.max_qp > 0 && attr.max_cqe > 0 && attr.max_sge > 0 && attr.max_qp_wr > 0);
    assert_int_equal(fabric_device_close(f, device), FABRIC_OK);
    assert_int_equal(fabric_device_open(f, names[0], &device), FABRIC_OK);
}

static void an_active_port_has_what_makes_it_reachable(void **state)
{
    struct kit *kit = *state = kit_new(2, 0);
    for (size_t i = 0; i < 2; i++) {
        struct fabric_port_attr port = kit_port(&kit->nodes[i]);
        assert_int_equal(port.state, FABRIC_PORT_ACTIVE);
        assert_true(fabric_mtu_bytes(port.active_mtu) && port.active_mtu <= port.max_mtu);
        assert_true(port.gid_tbl_len > 0 && port.pkey_tbl_len > 0);
        assert_true(port.active_speed_mbps > 0);
        if (port.link_layer == FABRIC_LINK_LAYER_INFINIBAND) {
            assert_true(fabric_lid_valid(port.lid) && fabric_lid_valid(port.sm_lid));
            assert_true(port.port_guid != 0);
        } else {
            assert_int_equal(port.lid, 0);
        }
    }
}

static void ports_and_indexes_that_do_not_exist_are_refused(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_port_attr port = kit_port(a), other;
    struct fabric_gid_entry gid;
    uint16_t pkey;
    assert_int_equal(fabric_port_query(a->f, a->device, 0, &other), ERR_INVALID_ARGUMENT);
    assert_int_equal(fabric_port_query(a->f, a->device, 2, &other), ERR_INVALID_ARGUMENT);
    assert_int_equal(fabric_gid_query(a->f, a->device, 2, 0, &gid), ERR_INVALID_ARGUMENT);
    assert_int_equal(fabric_pkey_query(a->f, a->device, 2, 0, &pkey), ERR_INVALID_ARGUMENT);
    assert_int_equal(fabric_gid_query(a->f, a->device, 1, port.gid_tbl_len, &gid), ERR_NOT_FOUND);
    assert_int_equal(fabric_gid_query(a->f, a->device, 1, UINT32_MAX, &gid), ERR_NOT_FOUND);
    assert_int_equal(fabric_pkey_query(a->f, a->device, 1, port.pkey_tbl_len, &pkey),
                     ERR_PKEY_INDEX_RANGE);
}

static void tables_can_be_read_to_their_end(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_port_attr port = kit_port(a);
    struct fabric_gid_entry gid;
    uint16_t pkey;
    size_t gids = 0;
    bool usable = false;
    for (uint32_t i = 0; i < port.pkey_tbl_len; i++) {
        assert_int_equal(fabric_pkey_query(a->f, a->device, 1, i, &pkey), FABRIC_OK);
        usable = usable || !fabric_pkey_empty(pkey);
    }
    for (uint32_t i = 0; i < port.gid_tbl_len; i++) {
        enum fabric_error error = fabric_gid_query(a->f, a->device, 1, i, &gid);
        assert_true(error == FABRIC_OK || error == ERR_NOT_FOUND);
        gids += error == FABRIC_OK;
    }
    assert_true(usable && gids > 0);
    if (port.link_layer != FABRIC_LINK_LAYER_INFINIBAND)
        return;
    assert_int_equal(fabric_gid_query(a->f, a->device, 1, 0, &gid), FABRIC_OK);
    assert_int_equal(gid.type, FABRIC_GID_TYPE_IB);
    union fabric_gid expected = fabric_gid_make(fabric_gid_prefix(&gid.gid), port.port_guid);
    assert_true(fabric_gid_equal(&gid.gid, &expected));
}

#define COUNTED(counters, member)                                                                  \
    ((counters)->present >> (offsetof(struct fabric_port_counters, member) / 8) & 1)

static void counters_grow_with_the_traffic(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_port_counters before, after;
    struct kit_qp qa, qb;
    enum fabric_error error = fabric_counters_query(a->f, a->device, 1, &before);
    if (error == ERR_NOT_SUPPORTED)
        kit_skip(kit, "has no counters");
    assert_int_equal(error, FABRIC_OK);
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 50000), FABRIC_OK);
    kit_await_wc(kit, a, 1);
    assert_int_equal(fabric_counters_query(a->f, a->device, 1, &after), FABRIC_OK);
    assert_int_equal(after.present, before.present);
    assert_true(after.present != 0);
    if (COUNTED(&after, xmit_data))
        assert_true(after.xmit_data >= before.xmit_data + 50000);
    if (COUNTED(&after, xmit_packets))
        assert_true(after.xmit_packets > before.xmit_packets);
    if (COUNTED(&after, rcv_packets))
        assert_true(after.rcv_packets > before.rcv_packets);
    assert_int_equal(after.bad_pkey, before.bad_pkey);
}

static size_t position_of(const struct kit_node *node, enum fabric_async_type type, size_t from)
{
    for (size_t i = from; i < node->event_count; i++) {
        const struct fabric_event *event = &node->events[i];
        if (event->type == FABRIC_EVENT_ASYNC && event->u.async.type == type) {
            assert_int_equal(event->u.async.device.id, node->device.id);
            return i;
        }
    }
    return SIZE_MAX;
}

/* CASE-S13: events are polled until none is left. */
static void a_port_that_goes_and_comes_is_told(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_PORT_STATE | FABRIC_CAP_EVENTS_RELIABLE);
    struct kit_node *a = &kit->nodes[0];
    kit_inject(kit, 0, BENCH_PORT_DOWN);
    kit_pass(kit, KIT_SECOND);
    assert_int_not_equal(kit_port(a).state, FABRIC_PORT_ACTIVE);
    size_t down = position_of(a, FABRIC_ASYNC_PORT_ERR, 0);
    assert_true(down != SIZE_MAX);
    assert_int_equal(a->events[down].u.async.port_num, 1);
    kit_inject(kit, 0, BENCH_PORT_UP);
    for (size_t i = 0; i < 60 && kit_port(a).state != FABRIC_PORT_ACTIVE; i++)
        kit_pass(kit, KIT_SECOND);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_port(a).state, FABRIC_PORT_ACTIVE);
    size_t up = position_of(a, FABRIC_ASYNC_PORT_ACTIVE, down);
    assert_true(up != SIZE_MAX);
    assert_int_equal(a->events[up].u.async.port_num, 1);
    assert_false(kit_has_async(&kit->nodes[1], FABRIC_ASYNC_PORT_ERR));
}

/* MK-C3. */
static void another_lid_is_told_and_shown(void **state)
{
    struct kit *kit = *state =
        kit_new(2, FABRIC_CAP_LID | FABRIC_CAP_SM | FABRIC_CAP_EVENTS_RELIABLE);
    struct kit_node *a = &kit->nodes[0];
    uint16_t before = kit_port(a).lid;
    kit_inject(kit, 0, BENCH_LID_CHANGE);
    for (size_t i = 0; i < 60 && !kit_has_async(a, FABRIC_ASYNC_LID_CHANGE); i++)
        kit_pass(kit, KIT_SECOND);
    assert_true(kit_has_async(a, FABRIC_ASYNC_LID_CHANGE));
    struct fabric_port_attr port = kit_port(a);
    assert_int_not_equal(port.lid, before);
    assert_true(fabric_lid_valid(port.lid));
    assert_false(kit_has_async(&kit->nodes[1], FABRIC_ASYNC_LID_CHANGE));
}

static void a_removed_device_says_so_once_and_then_nothing(void **state)
{
    struct kit *kit = *state =
        kit_new(2, FABRIC_CAP_DEVICE_REMOVE | FABRIC_CAP_RC | FABRIC_CAP_EVENTS_RELIABLE);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    struct fabric_port_attr port;
    struct fabric_device_attr attr;
    struct fabric_qp_info info;
    fabric_cq cq = {0};
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_inject(kit, 0, BENCH_DEVICE_REMOVE);
    kit_pass(kit, KIT_SECOND);
    size_t fatal = position_of(a, FABRIC_ASYNC_DEVICE_FATAL, 0);
    assert_true(fatal != SIZE_MAX);
    kit_inject(kit, 0, BENCH_DEVICE_RETURN); /* not for the old handle */
    kit_pass(kit, 10 * KIT_SECOND);
    for (size_t i = fatal + 1; i < a->event_count; i++)
        assert_int_not_equal(a->events[i].type, FABRIC_EVENT_ASYNC);
    assert_int_equal(fabric_port_query(a->f, a->device, 1, &port), ERR_DEVICE_REMOVED);
    assert_int_equal(fabric_device_query(a->f, a->device, &attr), ERR_DEVICE_REMOVED);
    assert_int_equal(fabric_cq_create(a->f, a->device, 1, &cq), ERR_DEVICE_REMOVED);
    assert_int_equal(fabric_qp_query(a->f, qa.qp, &info), ERR_DEVICE_REMOVED);
    const struct fabric_qp_attr reset = {.state = FABRIC_QPS_RESET};
    assert_int_equal(fabric_qp_modify(a->f, qa.qp, &reset), ERR_DEVICE_REMOVED);
    assert_int_equal(fabric_qp_destroy(a->f, qa.qp), FABRIC_OK);
    assert_int_equal(fabric_mr_deregister(a->f, a->mr), FABRIC_OK);
    assert_int_equal(fabric_device_close(a->f, a->device), FABRIC_OK);
}

/* CASE-S12. */
static void a_device_that_returns_can_be_opened_and_used(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_DEVICE_REMOVE | FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    size_t count = 9;
    kit_inject(kit, 0, BENCH_DEVICE_REMOVE);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(fabric_device_list(a->f, NULL, 0, &count), FABRIC_OK);
    assert_int_equal(count, 0);
    assert_int_equal(fabric_device_close(a->f, a->device), FABRIC_OK);
    kit_inject(kit, 0, BENCH_DEVICE_RETURN);
    for (size_t i = 0; i < 60; i++) {
        kit_pass(kit, KIT_SECOND);
        assert_int_equal(fabric_device_list(a->f, NULL, 0, &count), FABRIC_OK);
    }
    assert_int_equal(count, 1);
    kit_open(a);
    assert_int_equal(a->address.state, FABRIC_PORT_ACTIVE);
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_SUCCESS);
}

static void a_closed_device_has_no_events_any_more(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_PORT_STATE);
    struct kit_node *a = &kit->nodes[0];
    kit_inject(kit, 0, BENCH_PORT_DOWN);
    while (bench_backend.advance(kit->bench, kit_now(a) + KIT_SECOND) &&
           kit_port(a).state == FABRIC_PORT_ACTIVE)
        continue; /* the event waits to be polled */
    assert_int_equal(fabric_device_close(a->f, a->device), FABRIC_OK);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_ASYNC), 0);
}

static void an_overrun_completion_queue_is_told(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_qp_init init_a = kit_qp_init(a, FABRIC_QP_RC),
                          init_b = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    fabric_cq small;
    assert_int_equal(fabric_cq_create(a->f, a->device, 1, &small), FABRIC_OK);
    init_a.send_cq = small;
    struct kit_qp qa = kit_qp_new(a, &init_a), qb = kit_qp_new(&kit->nodes[1], &init_b);
    kit_connect(&qa, &qb);
    for (uint64_t i = 0; i < KIT_DEPTH; i++)
        assert_int_equal(kit_write(&qa, i, &kit->nodes[1], 0, 64), FABRIC_OK);
    uint64_t until = kit_now(a) + KIT_SECOND;
    while (kit_now(a) < until && bench_backend.advance(kit->bench, until))
        continue; /* nobody polls */
    kit_pass(kit, KIT_SECOND);
    if (!kit_has_async(a, FABRIC_ASYNC_CQ_ERR))
        kit_skip(kit, "rounded the depth up, or drained by itself");
    assert_int_equal(kit_state(&qa), FABRIC_QPS_ERR);
    assert_int_equal(fabric_qp_destroy(a->f, qa.qp), FABRIC_OK);
    kit_await_wc(kit, a, KIT_DEPTH - 1);
    kit_pass(kit, KIT_SECOND);
    for (uint64_t i = 0; i < KIT_DEPTH; i++)
        assert_int_equal(kit_completions(a, i), 1); /* owed all the same */
}

static enum fabric_error resolved(struct kit *kit, struct kit_node *node, uint64_t cookie)
{
    size_t before = kit_count(node, FABRIC_EVENT_RESOLVED);
    const struct fabric_event *event = kit_await(kit, node, FABRIC_EVENT_RESOLVED, before);
    assert_int_equal(event->u.resolved.device.id, node->device.id);
    assert_int_equal(event->u.resolved.cookie, cookie);
    return event->u.resolved.error;
}

static void a_peer_that_answers_is_resolved_once(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    const struct fabric_av av = kit_path(a, &kit->nodes[1]).av;
    struct kit_qp qa, qb;
    assert_int_equal(fabric_resolve(a->f, a->device, &av, 5), FABRIC_OK);
    assert_int_equal(resolved(kit, a, 5), FABRIC_OK);
    uint64_t before = kit_now(a);
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_true(kit_now(a) - before < KIT_SECOND / 2);
    kit_pass(kit, 5 * KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_RESOLVED), 1);
}

/* On InfiniBand there is nobody to ask. */
static void a_gid_that_nobody_has_is_unreachable(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    bool asks = kit_port(a).link_layer == FABRIC_LINK_LAYER_ETHERNET;
    struct fabric_av av = kit_path(a, &kit->nodes[1]).av;
    av.grh.dgid.raw[15] ^= 0x40;
    av.dlid = asks ? 0 : 0xbff0;
    uint64_t before = kit_now(a);
    assert_int_equal(fabric_resolve(a->f, a->device, &av, 6), FABRIC_OK);
    assert_int_equal(resolved(kit, a, 6), asks ? ERR_UNREACHABLE : FABRIC_OK);
    assert_true(asks || kit_now(a) - before < KIT_SECOND / 100);
    if (!asks)
        return;
    const struct fabric_qp_init init = kit_qp_init(a, FABRIC_QP_RC);
    struct kit_qp qp = kit_qp_new(a, &init), peer = {.node = &kit->nodes[1], .qp_num = 1};
    const struct fabric_qp_attr to_init = kit_attr_init(FABRIC_QP_RC);
    struct fabric_qp_attr to_rtr = kit_attr_rtr(&qp, &peer);
    to_rtr.av = av;
    assert_int_equal(fabric_qp_modify(a->f, qp.qp, &to_init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(a->f, qp.qp, &to_rtr), ERR_UNREACHABLE);
    assert_int_equal(kit_state(&qp), FABRIC_QPS_INIT);
}

static void a_look_up_ends_with_its_device(void **state)
{
    for (int closed = 0; closed < 2; closed++) {
        struct kit *kit = *state = kit_new(2, closed ? 0 : FABRIC_CAP_DEVICE_REMOVE);
        struct kit_node *a = &kit->nodes[0];
        bool asks = kit_port(a).link_layer == FABRIC_LINK_LAYER_ETHERNET;
        struct fabric_av av = kit_path(a, &kit->nodes[1]).av;
        if (asks)
            av.grh.dgid.raw[15] ^= 0x40; /* takes long */
        assert_int_equal(fabric_resolve(a->f, a->device, &av, 7), FABRIC_OK);
        if (closed) {
            assert_int_equal(fabric_device_close(a->f, a->device), FABRIC_OK);
            kit_pass(kit, 5 * KIT_SECOND);
            assert_int_equal(kit_count(a, FABRIC_EVENT_RESOLVED), 0);
        } else {
            kit_inject(kit, 0, BENCH_DEVICE_REMOVE);
            enum fabric_error error = resolved(kit, a, 7);
            assert_true(error == ERR_DEVICE_REMOVED || (!asks && error == FABRIC_OK));
            assert_int_equal(fabric_resolve(a->f, a->device, &av, 8), ERR_DEVICE_REMOVED);
        }
        kit_free(state);
    }
}

int kit_port_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(devices_are_listed_and_opened_by_name),
        CASE(an_active_port_has_what_makes_it_reachable),
        CASE(ports_and_indexes_that_do_not_exist_are_refused),
        CASE(tables_can_be_read_to_their_end),
        CASE(counters_grow_with_the_traffic),
        CASE(a_port_that_goes_and_comes_is_told),
        CASE(another_lid_is_told_and_shown),
        CASE(a_removed_device_says_so_once_and_then_nothing),
        CASE(a_device_that_returns_can_be_opened_and_used),
        CASE(a_closed_device_has_no_events_any_more),
        CASE(an_overrun_completion_queue_is_told),
        CASE(a_peer_that_answers_is_resolved_once),
        CASE(a_gid_that_nobody_has_is_unreachable),
        CASE(a_look_up_ends_with_its_device),
    };
    return cmocka_run_group_tests_name("ports", tests, NULL, NULL);
}
