/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamically connected transport. HA-2.3, MK-A5. */
#include <string.h>

#include "tests/conformance/kit.h"

#define KEY UINT64_C(0x1122334455667788)

struct target {
    struct kit_qp qp;
    fabric_srq srq;
};

static struct target make_target(struct kit_node *node, const struct kit_node *peer)
{
    struct target target;
    struct fabric_qp_init init = kit_qp_init(node, FABRIC_QP_DCT);
    const struct kit_qp other = {.node = (struct kit_node *)(uintptr_t)peer};
    assert_int_equal(fabric_srq_create(node->f, node->device, 32, 4, &target.srq), FABRIC_OK);
    init.srq = target.srq;
    init.dc_access_key = KEY;
    target.qp = kit_qp_new(node, &init);
    assert_int_equal(target.qp.qp_num, 0);
    const struct fabric_qp_attr attr = kit_attr_init(FABRIC_QP_DCT),
                                rtr = kit_attr_rtr(&target.qp, &other);
    assert_int_equal(fabric_qp_modify(node->f, target.qp.qp, &attr), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(node->f, target.qp.qp, &rtr), FABRIC_OK);
    struct fabric_qp_info info;
    assert_int_equal(fabric_qp_query(node->f, target.qp.qp, &info), FABRIC_OK);
    target.qp.qp_num = info.qp_num;
    return target;
}

static struct kit_qp make_initiator(struct kit_node *node)
{
    const struct fabric_qp_init init = kit_qp_init(node, FABRIC_QP_DCI);
    struct kit_qp qp = kit_qp_new(node, &init);
    const struct fabric_qp_attr attr = kit_attr_init(FABRIC_QP_DCI), rts = kit_attr_rts(&qp),
                                rtr = {.state = FABRIC_QPS_RTR, .path_mtu = node->address.mtu};
    assert_int_equal(fabric_qp_modify(node->f, qp.qp, &attr), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(node->f, qp.qp, &rtr), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(node->f, qp.qp, &rts), FABRIC_OK);
    return qp;
}

static fabric_ah make_way(struct kit_node *from, const struct kit_node *to)
{
    const struct fabric_path path = kit_path(from, to);
    fabric_ah ah;
    assert_int_equal(fabric_ah_create(from->f, from->device, &path.av, &ah), FABRIC_OK);
    return ah;
}

static struct fabric_send_wr work(uint64_t wr_id, enum fabric_wr_opcode opcode, fabric_ah ah,
                                  const struct target *target)
{
    return (struct fabric_send_wr){.wr_id = wr_id,
                                   .opcode = opcode,
                                   .flags = FABRIC_SEND_SIGNALED,
                                   .remote_iova = KIT_IOVA,
                                   .rkey = target->qp.node->keys.rkey,
                                   .ah = ah,
                                   .dct_num = target->qp.qp_num,
                                   .dc_access_key = KEY};
}

static void without_dc_it_is_refused_by_name(void **state)
{
    struct kit *kit = *state = kit_new(1, 0);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_qp_init init = kit_qp_init(a, FABRIC_QP_DCI);
    fabric_qp qp = {0};
    enum fabric_error expected = kit->caps & FABRIC_CAP_DC ? FABRIC_OK : ERR_DC_UNSUPPORTED;
    struct fabric_device_attr device;
    assert_int_equal(fabric_device_query(a->f, a->device, &device), FABRIC_OK);
    assert_int_equal(device.caps & FABRIC_CAP_DC, kit->caps & FABRIC_CAP_DC);
    assert_int_equal(fabric_qp_create(a->f, a->device, &init, &qp), expected);
    init = kit_qp_init(a, FABRIC_QP_DCT);
    assert_int_equal(fabric_srq_create(a->f, a->device, 4, 1, &init.srq), FABRIC_OK);
    assert_int_equal(fabric_qp_create(a->f, a->device, &init, &qp), expected);
}

static void a_target_goes_to_rtr_and_no_further(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_DC);
    struct target target = make_target(&kit->nodes[1], &kit->nodes[0]);
    struct kit_node *b = &kit->nodes[1];
    static const enum fabric_qp_state states[] = {FABRIC_QPS_RTS, FABRIC_QPS_ERR, FABRIC_QPS_INIT,
                                                  FABRIC_QPS_RESET};
    assert_true(target.qp.qp_num > 1 && target.qp.qp_num <= 0xffffff);
    for (size_t i = 0; i < 4; i++) {
        struct fabric_qp_attr attr = kit_attr_rts(&target.qp);
        attr.state = states[i];
        attr.port_num = 1;
        assert_int_equal(fabric_qp_modify(b->f, target.qp.qp, &attr), ERR_INVALID_ARGUMENT);
        assert_int_equal(kit_state(&target.qp), FABRIC_QPS_RTR);
    }
    assert_int_equal(kit_send(&target.qp, 1, 0, 64), ERR_INVALID_ARGUMENT);
    assert_int_equal(kit_recv(&target.qp, 1, 0, 64), ERR_INVALID_ARGUMENT);
}

/* CASE-G4: also on Ethernet, where targets carry a GRH. */
static void one_initiator_reaches_many_targets(void **state)
{
    struct kit *kit = *state = kit_new(4, FABRIC_CAP_DC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp dci = make_initiator(a);
    struct target targets[3];
    fabric_ah ways[3];
    for (size_t i = 0; i < 3; i++) {
        targets[i] = make_target(&kit->nodes[i + 1], a);
        ways[i] = make_way(a, &kit->nodes[i + 1]);
    }
    kit_fill(a->buffer, 20000, 1);
    for (uint64_t i = 0; i < 30; i++) {
        const struct fabric_send_wr wr =
            work(i, FABRIC_WR_RDMA_WRITE, ways[i % 3], &targets[i % 3]);
        assert_int_equal(kit_post(&dci, &wr, 0, 20000), FABRIC_OK);
    }
    for (uint64_t i = 0; i < 30; i++)
        assert_int_equal(kit_await_wc(kit, a, i).status, FABRIC_WC_SUCCESS);
    for (size_t i = 0; i < 30; i++)
        assert_int_equal(kit_event(a, FABRIC_EVENT_COMPLETION, i)->u.wc.wr_id, i);
    for (size_t i = 1; i < 4; i++)
        assert_true(kit_filled(kit->nodes[i].buffer, 20000, 1));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fabric_ah_destroy(a->f, ways[i]), FABRIC_OK);
}

static void reads_and_sends_work_too(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_DC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    kit_need_reads(kit);
    struct kit_qp dci = make_initiator(a);
    struct target target = make_target(b, a);
    fabric_ah way = make_way(a, b);
    const struct fabric_sge sge = {b->buffer + 32768, 4096, b->keys.lkey};
    const struct fabric_recv_wr recv = {.wr_id = 50, .sges = &sge, .sge_count = 1};
    struct fabric_send_wr read = work(1, FABRIC_WR_RDMA_READ, way, &target),
                          send = work(2, FABRIC_WR_SEND_WITH_IMM, way, &target);
    send.imm = 77;
    assert_int_equal(fabric_srq_post_recv(b->f, target.srq, &recv), FABRIC_OK);
    kit_fill(b->buffer, 20000, 4);
    assert_int_equal(kit_post(&dci, &read, 0, 20000), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_SUCCESS);
    assert_true(kit_filled(a->buffer, 20000, 4));
    assert_int_equal(kit_post(&dci, &send, 0, 4096), FABRIC_OK);
    struct fabric_wc wc = kit_await_wc(kit, b, 50);
    assert_int_equal(wc.status, FABRIC_WC_SUCCESS);
    assert_int_equal(wc.qp.id, target.qp.qp.id);
    assert_int_equal(wc.byte_len, 4096);
    assert_true(wc.with_imm);
    assert_int_equal(wc.imm, 77);
    assert_true(kit_filled(b->buffer + 32768, 4096, 4));
    assert_int_equal(kit_recv(&dci, 3, 0, 64), ERR_INVALID_ARGUMENT);
}

static void many_initiators_share_a_target(void **state)
{
    struct kit *kit = *state = kit_new(4, FABRIC_CAP_DC);
    struct target target = make_target(&kit->nodes[0], &kit->nodes[1]);
    struct kit_qp dci[3];
    for (size_t i = 0; i < 3; i++) {
        struct kit_node *node = &kit->nodes[i + 1];
        fabric_ah way = make_way(node, &kit->nodes[0]);
        dci[i] = make_initiator(node);
        kit_fill(node->buffer, 10000, (uint32_t)i);
        struct fabric_send_wr wr = work(i, FABRIC_WR_RDMA_WRITE, way, &target);
        wr.remote_iova += i * 10000;
        assert_int_equal(kit_post(&dci[i], &wr, 0, 10000), FABRIC_OK);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(kit_await_wc(kit, dci[i].node, i).status, FABRIC_WC_SUCCESS);
        assert_true(kit_filled(kit->nodes[0].buffer + i * 10000, 10000, (uint32_t)i));
    }
}

/* CASE-Z3. */
static void a_wrong_key_fails_in_time_and_nothing_lands(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_DC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp dci = make_initiator(a);
    struct target target = make_target(b, a);
    struct fabric_send_wr wr = work(1, FABRIC_WR_RDMA_WRITE, make_way(a, b), &target);
    wr.dc_access_key ^= 1;
    kit_fill(a->buffer, 64, 1);
    assert_int_equal(kit_post(&dci, &wr, 0, 64), FABRIC_OK);
    assert_int_not_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_SUCCESS);
    assert_false(kit_filled(b->buffer, 64, 1));
    assert_int_equal(kit_state(&dci), FABRIC_QPS_ERR);
}

static void a_dead_target_takes_the_innocents_of_its_initiator_along(void **state)
{
    struct kit *kit = *state = kit_new(3, FABRIC_CAP_DC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp dci = make_initiator(a), other = make_initiator(a);
    struct target dead = make_target(&kit->nodes[1], a), live = make_target(&kit->nodes[2], a);
    fabric_ah to_dead = make_way(a, &kit->nodes[1]), to_live = make_way(a, &kit->nodes[2]);
    assert_int_equal(fabric_qp_destroy(kit->nodes[1].f, dead.qp.qp), FABRIC_OK);
    struct fabric_send_wr wr = work(1, FABRIC_WR_RDMA_WRITE, to_dead, &dead);
    assert_int_equal(kit_post(&dci, &wr, 0, 64), FABRIC_OK);
    wr = work(2, FABRIC_WR_RDMA_WRITE, to_live, &live);
    assert_int_equal(kit_post(&dci, &wr, 0, 64), FABRIC_OK);
    wr = work(3, FABRIC_WR_RDMA_WRITE, to_live, &live);
    assert_int_equal(kit_post(&other, &wr, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 3).status, FABRIC_WC_SUCCESS);
    enum fabric_wc_status status = kit_await_wc(kit, a, 1).status;
    assert_true(status != FABRIC_WC_SUCCESS && status != FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(kit_await_wc(kit, a, 2).status, FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(kit_state(&dci), FABRIC_QPS_ERR);
    assert_int_equal(kit_state(&other), FABRIC_QPS_RTS);
}

static void an_initiator_can_be_rebuilt_after_a_failure(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_DC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp dci = make_initiator(a);
    struct target target = make_target(b, a);
    fabric_ah way = make_way(a, b);
    struct fabric_send_wr wr = work(1, FABRIC_WR_RDMA_WRITE, way, &target);
    wr.rkey ^= 0x00ffff00;
    assert_int_equal(kit_post(&dci, &wr, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_REM_ACCESS_ERR);
    const struct fabric_qp_attr reset = {.state = FABRIC_QPS_RESET},
                                init = kit_attr_init(FABRIC_QP_DCI), rts = kit_attr_rts(&dci),
                                rtr = {.state = FABRIC_QPS_RTR, .path_mtu = a->address.mtu};
    assert_int_equal(fabric_qp_modify(a->f, dci.qp, &reset), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(a->f, dci.qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(a->f, dci.qp, &rtr), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(a->f, dci.qp, &rts), FABRIC_OK);
    wr = work(2, FABRIC_WR_RDMA_WRITE, way, &target);
    assert_int_equal(kit_post(&dci, &wr, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 2).status, FABRIC_WC_SUCCESS);
}

static void an_address_handle_may_go_once_the_post_is_accepted(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_DC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp dci = make_initiator(a);
    struct target target = make_target(b, a);
    fabric_ah way = make_way(a, b);
    const struct fabric_send_wr wr = work(1, FABRIC_WR_RDMA_WRITE, way, &target);
    assert_int_equal(kit_post(&dci, &wr, 0, 30000), FABRIC_OK);
    assert_int_equal(fabric_ah_destroy(a->f, way), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_SUCCESS);
}

/* What it consumed completes, once; what it did not is still the queue's. */
static void a_receive_of_a_destroyed_target_completes_once(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_DC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp dci = make_initiator(a);
    struct target target = make_target(b, a);
    const struct fabric_sge sge = {b->buffer, KIT_BUFFER, b->keys.lkey};
    for (uint64_t i = 50; i < 52; i++) {
        const struct fabric_recv_wr recv = {.wr_id = i, .sges = &sge, .sge_count = 1};
        assert_int_equal(fabric_srq_post_recv(b->f, target.srq, &recv), FABRIC_OK);
    }
    struct fabric_send_wr send = work(1, FABRIC_WR_SEND, make_way(a, b), &target);
    kit_fill(a->buffer, KIT_BUFFER, 9);
    assert_int_equal(kit_post(&dci, &send, 0, KIT_BUFFER), FABRIC_OK);
    for (int i = 0; i < 100000 && memcmp(a->buffer, b->buffer, 64) != 0; i++)
        kit_pass(kit, 100);
    assert_memory_equal(a->buffer, b->buffer, 64); /* in the middle, if not at the end */
    assert_int_equal(fabric_qp_destroy(b->f, target.qp.qp), FABRIC_OK);
    kit_await_wc(kit, a, 1);
    assert_int_equal(kit_await_wc(kit, b, 50).qp.id, target.qp.qp.id);
    assert_int_equal(fabric_srq_destroy(b->f, target.srq), FABRIC_OK);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_completions(b, 50), 1);
    assert_int_equal(kit_completions(b, 51), 0);
}

int kit_dc_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_dc_it_is_refused_by_name),
        CASE(a_target_goes_to_rtr_and_no_further),
        CASE(one_initiator_reaches_many_targets),
        CASE(reads_and_sends_work_too),
        CASE(many_initiators_share_a_target),
        CASE(a_wrong_key_fails_in_time_and_nothing_lands),
        CASE(a_dead_target_takes_the_innocents_of_its_initiator_along),
        CASE(an_initiator_can_be_rebuilt_after_a_failure),
        CASE(a_receive_of_a_destroyed_target_completes_once),
        CASE(an_address_handle_may_go_once_the_post_is_accepted),
    };
    return cmocka_run_group_tests_name("DC", tests, NULL, NULL);
}
