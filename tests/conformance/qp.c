/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs: the state machine and every refusal. Vol. 1, chapter 10.3.1. */
#include "tests/conformance/kit.h"

static enum fabric_error modify(const struct kit_qp *qp, enum fabric_qp_state state,
                                const struct kit_qp *peer)
{
    struct fabric_qp_attr attr = {.state = state};
    if (state == FABRIC_QPS_INIT)
        attr = kit_attr_init(FABRIC_QP_RC);
    else if (state == FABRIC_QPS_RTR)
        attr = kit_attr_rtr(qp, peer);
    else if (state == FABRIC_QPS_RTS)
        attr = kit_attr_rts(qp);
    return fabric_qp_modify(qp->node->f, qp->qp, &attr);
}

static struct kit_qp make_in_state(struct kit_node *node, enum fabric_qp_state state,
                                   const struct kit_qp *peer)
{
    const struct fabric_qp_init init = kit_qp_init(node, FABRIC_QP_RC);
    struct kit_qp qp = kit_qp_new(node, &init);
    static const enum fabric_qp_state way[] = {FABRIC_QPS_INIT, FABRIC_QPS_RTR, FABRIC_QPS_RTS};
    for (size_t i = 0; i < 3 && state != FABRIC_QPS_RESET; i++) {
        if (state >= way[i])
            assert_int_equal(modify(&qp, way[i], peer), FABRIC_OK);
    }
    if (state == FABRIC_QPS_ERR)
        assert_int_equal(modify(&qp, FABRIC_QPS_ERR, peer), FABRIC_OK);
    assert_int_equal(kit_state(&qp), state);
    return qp;
}

static bool offered(enum fabric_qp_state from, enum fabric_qp_state to)
{
    if (to == FABRIC_QPS_RESET)
        return true;
    if (to == FABRIC_QPS_ERR)
        return from != FABRIC_QPS_RESET;
    if (to == FABRIC_QPS_INIT)
        return from == FABRIC_QPS_RESET || from == FABRIC_QPS_INIT;
    if (to == FABRIC_QPS_RTR)
        return from == FABRIC_QPS_INIT;
    return to == FABRIC_QPS_RTS && from == FABRIC_QPS_RTR;
}

static void a_new_queue_pair_is_in_reset_and_has_its_own_number(void **state)
{
    struct kit *kit = *state = kit_new(1, FABRIC_CAP_RC);
    const struct fabric_qp_init init = kit_qp_init(&kit->nodes[0], FABRIC_QP_RC);
    uint32_t numbers[16];
    for (size_t i = 0; i < 16; i++) {
        struct kit_qp qp = kit_qp_new(&kit->nodes[0], &init);
        numbers[i] = qp.qp_num;
        assert_int_equal(kit_state(&qp), FABRIC_QPS_RESET);
        assert_true(qp.qp_num > 1 && qp.qp_num <= 0xffffff);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(numbers[j], qp.qp_num);
    }
}

static void the_offered_transitions_work_and_no_other_changes_anything(void **state)
{
    static const enum fabric_qp_state states[] = {FABRIC_QPS_RESET, FABRIC_QPS_INIT, FABRIC_QPS_RTR,
                                                  FABRIC_QPS_RTS, FABRIC_QPS_ERR};
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    const struct fabric_qp_init init = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    struct kit_qp peer = kit_qp_new(&kit->nodes[1], &init);
    for (size_t from = 0; from < 5; from++) {
        for (size_t to = 0; to < 5; to++) {
            if (states[from] == FABRIC_QPS_RTS && states[to] == FABRIC_QPS_RTS)
                continue; /* verbs change optional attributes this way */
            struct kit_qp qp = make_in_state(&kit->nodes[0], states[from], &peer);
            bool expected = offered(states[from], states[to]);
            enum fabric_error error = modify(&qp, states[to], &peer);
            assert_int_equal(error, expected ? FABRIC_OK : ERR_INVALID_ARGUMENT);
            assert_int_equal(kit_state(&qp), expected ? states[to] : states[from]);
            assert_int_equal(fabric_qp_destroy(qp.node->f, qp.qp), FABRIC_OK);
        }
    }
}

static void wrong_values_are_refused_and_change_nothing(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    const struct fabric_qp_init init = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    struct kit_qp peer = kit_qp_new(&kit->nodes[1], &init);
    struct kit_qp qp = make_in_state(a, FABRIC_QPS_RESET, &peer);
    struct fabric_qp_attr attr = kit_attr_init(FABRIC_QP_RC);
    attr.port_num = 0;
    assert_int_equal(fabric_qp_modify(a->f, qp.qp, &attr), ERR_INVALID_ARGUMENT);
    attr.port_num = 99;
    assert_int_equal(fabric_qp_modify(a->f, qp.qp, &attr), ERR_INVALID_ARGUMENT);
    attr = kit_attr_init(FABRIC_QP_RC);
    attr.pkey_index = UINT16_MAX;
    assert_int_equal(fabric_qp_modify(a->f, qp.qp, &attr), ERR_PKEY_INDEX_RANGE);
    assert_int_equal(kit_state(&qp), FABRIC_QPS_RESET);
    assert_int_equal(modify(&qp, FABRIC_QPS_INIT, &peer), FABRIC_OK);
    attr = kit_attr_rtr(&qp, &peer);
    attr.path_mtu = (enum fabric_mtu)0;
    assert_int_equal(fabric_qp_modify(a->f, qp.qp, &attr), ERR_INVALID_ARGUMENT);
    attr = kit_attr_rtr(&qp, &peer);
    attr.av.port_num = 99;
    assert_int_equal(fabric_qp_modify(a->f, qp.qp, &attr), ERR_INVALID_ARGUMENT);
    assert_int_equal(kit_state(&qp), FABRIC_QPS_INIT);
    assert_int_equal(modify(&qp, FABRIC_QPS_RTR, &peer), FABRIC_OK);
}

static void an_empty_partition_cannot_be_joined(void **state)
{
    struct kit *kit = *state = kit_new(1, FABRIC_CAP_RC | FABRIC_CAP_LID);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qp = make_in_state(a, FABRIC_QPS_RESET, NULL);
    struct fabric_port_attr port = kit_port(a);
    struct fabric_qp_attr attr = kit_attr_init(FABRIC_QP_RC);
    uint16_t pkey = 0xffff;
    for (uint32_t i = 0; i < port.pkey_tbl_len && (pkey & 0x7fff) != 0; i++) {
        assert_int_equal(fabric_pkey_query(a->f, a->device, 1, i, &pkey), FABRIC_OK);
        attr.pkey_index = (uint16_t)i;
    }
    if ((pkey & 0x7fff) != 0)
        kit_skip(kit, "has a P_Key table without an empty entry");
    assert_int_equal(fabric_qp_modify(a->f, qp.qp, &attr), ERR_PKEY_EMPTY);
    assert_int_equal(kit_state(&qp), FABRIC_QPS_RESET);
}

static void a_path_mtu_above_the_active_one_is_refused_or_not_as_said(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_MTU_CHANGE);
    const struct fabric_qp_init init = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    struct kit_qp peer = kit_qp_new(&kit->nodes[1], &init);
    struct kit_qp qp = make_in_state(&kit->nodes[0], FABRIC_QPS_INIT, &peer);
    struct fabric_device_attr device;
    kit_inject(kit, 0, BENCH_MTU_1024);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_port(&kit->nodes[0]).active_mtu, FABRIC_MTU_1024);
    assert_int_equal(fabric_device_query(qp.node->f, qp.node->device, &device), FABRIC_OK);
    struct fabric_qp_attr attr = kit_attr_rtr(&qp, &peer);
    attr.path_mtu = FABRIC_MTU_2048;
    bool checked = device.caps & kit->caps & FABRIC_CAP_RTR_MTU_CHECKED;
    enum fabric_error error = fabric_qp_modify(qp.node->f, qp.qp, &attr);
    assert_int_equal(error, checked ? ERR_MTU_ABOVE_ACTIVE : FABRIC_OK);
}

static void a_port_that_demands_a_grh_refuses_a_vector_without(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_LID | FABRIC_CAP_GRH_REQUIRED);
    const struct fabric_qp_init init = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    struct kit_qp peer = kit_qp_new(&kit->nodes[1], &init);
    struct kit_qp qp = make_in_state(&kit->nodes[0], FABRIC_QPS_INIT, &peer);
    kit_inject(kit, 0, BENCH_GRH_REQUIRED);
    kit_pass(kit, KIT_SECOND);
    assert_true(kit_port(&kit->nodes[0]).flags & FABRIC_PORT_GRH_REQUIRED);
    struct fabric_qp_attr attr = kit_attr_rtr(&qp, &peer);
    assert_false(attr.av.is_global); /* the address is the old one */
    assert_int_equal(fabric_qp_modify(qp.node->f, qp.qp, &attr), ERR_GRH_UNAVAILABLE);
    qp.node->address.flags = FABRIC_PORT_GRH_REQUIRED;
    attr = kit_attr_rtr(&qp, &peer);
    assert_int_equal(fabric_qp_modify(qp.node->f, qp.qp, &attr), FABRIC_OK);
}

static void more_than_the_device_has_is_refused(void **state)
{
    struct kit *kit = *state = kit_new(1, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_qp_init init = kit_qp_init(a, FABRIC_QP_RC);
    fabric_qp qp = {0};
    init.max_send_wr = UINT32_MAX;
    enum fabric_error error = fabric_qp_create(a->f, a->device, &init, &qp);
    assert_true(error == ERR_INVALID_ARGUMENT || error == ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(qp.id, 0);
}

static void accepted_posts_are_counted_until_they_were_polled(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    struct fabric_qp_info info;
    kit_pair(kit, 0, 1, &qa, &qb);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(kit_recv(&qa, i, 0, 64), FABRIC_OK);
    assert_int_equal(kit_write(&qa, 10, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(fabric_qp_query(qa.node->f, qa.qp, &info), FABRIC_OK);
    assert_int_equal(info.rq_outstanding, 5);
    assert_int_equal(info.sq_outstanding, 1);
    kit_await_wc(kit, qa.node, 10);
    assert_int_equal(fabric_qp_query(qa.node->f, qa.qp, &info), FABRIC_OK);
    assert_int_equal(info.sq_outstanding, 0);
    assert_int_equal(info.rq_outstanding, 5);
}

static void a_queue_pair_that_was_reset_can_be_connected_again(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_SUCCESS);
    assert_int_equal(modify(&qa, FABRIC_QPS_ERR, &qb), FABRIC_OK);
    assert_int_equal(modify(&qa, FABRIC_QPS_RESET, &qb), FABRIC_OK);
    assert_int_equal(modify(&qb, FABRIC_QPS_RESET, &qa), FABRIC_OK);
    qa.psn = 7;
    qb.psn = 0xfffffe;
    kit_connect(&qa, &qb);
    for (uint64_t i = 2; i < 12; i++) /* across the wrap of the PSN at the other end */
        assert_int_equal(kit_write(&qb, i, &kit->nodes[0], 0, 8192), FABRIC_OK);
    for (uint64_t i = 2; i < 12; i++)
        assert_int_equal(kit_await_wc(kit, qb.node, i).status, FABRIC_WC_SUCCESS);
}

static void without_rc_a_queue_pair_is_refused_by_name(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    const struct fabric_qp_init init = kit_qp_init(a, FABRIC_QP_RC);
    fabric_qp qp = {0};
    enum fabric_error error = fabric_qp_create(a->f, a->device, &init, &qp);
    assert_int_equal(error, kit->caps & FABRIC_CAP_RC ? FABRIC_OK : ERR_NOT_SUPPORTED);
    assert_int_equal(qp.id != 0, error == FABRIC_OK);
}

int kit_qp_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_new_queue_pair_is_in_reset_and_has_its_own_number),
        CASE(the_offered_transitions_work_and_no_other_changes_anything),
        CASE(wrong_values_are_refused_and_change_nothing),
        CASE(an_empty_partition_cannot_be_joined),
        CASE(a_path_mtu_above_the_active_one_is_refused_or_not_as_said),
        CASE(a_port_that_demands_a_grh_refuses_a_vector_without),
        CASE(more_than_the_device_has_is_refused),
        CASE(accepted_posts_are_counted_until_they_were_polled),
        CASE(a_queue_pair_that_was_reset_can_be_connected_again),
        CASE(without_rc_a_queue_pair_is_refused_by_name),
    };
    return cmocka_run_group_tests_name("queue pairs", tests, NULL, NULL);
}
