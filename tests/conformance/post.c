/* SPDX-License-Identifier: Apache-2.0 */
/* Posts: exactly one completion, whatever happens. HA-1.4. */
#include <string.h>

#include "tests/conformance/kit.h"

static struct fabric_wc nth_wc(const struct kit_node *node, size_t nth)
{
    const struct fabric_event *event = kit_event(node, FABRIC_EVENT_COMPLETION, nth);
    assert_non_null(event);
    return event->u.wc;
}

static void to_error(const struct kit_qp *qp)
{
    const struct fabric_qp_attr attr = {.state = FABRIC_QPS_ERR};
    assert_int_equal(fabric_qp_modify(qp->node->f, qp->qp, &attr), FABRIC_OK);
}

/* Puts eight writes and eight receives under way: wr_ids 100 to 107 and 200 to 207. */
static void put_under_way(const struct kit_qp *qp, const struct kit_node *to)
{
    for (uint64_t i = 0; i < 8; i++) {
        assert_int_equal(kit_recv(qp, 200 + i, 0, 64), FABRIC_OK);
        assert_int_equal(kit_write(qp, 100 + i, to, 0, 32768), FABRIC_OK);
    }
}

/* All sixteen completed once, each queue in order, the receives flushed. */
static void expect_all_owed(struct kit *kit, struct kit_node *node, fabric_qp qp)
{
    uint64_t next_send = 100, next_recv = 200;
    bool failed = false;
    kit_await_wc(kit, node, 107);
    kit_await_wc(kit, node, 207);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(node, FABRIC_EVENT_COMPLETION), 16);
    for (size_t i = 0; i < 16; i++) {
        struct fabric_wc wc = nth_wc(node, i);
        assert_int_equal(wc.qp.id, qp.id);
        assert_int_equal(wc.wr_id, wc.is_send ? next_send++ : next_recv++);
        if (!wc.is_send) {
            assert_int_equal(wc.status, FABRIC_WC_WR_FLUSH_ERR);
            continue;
        }
        assert_true(!failed || wc.status != FABRIC_WC_SUCCESS); /* nothing succeeds after it */
        failed = failed || wc.status != FABRIC_WC_SUCCESS;
    }
    assert_int_equal(nth_wc(node, 15).status, FABRIC_WC_WR_FLUSH_ERR);
}

static void completions_come_once_and_in_order(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    kit_need_reads(kit);
    kit_pair(kit, 0, 1, &qa, &qb);
    for (uint64_t i = 0; i < KIT_DEPTH; i++) {
        const struct fabric_send_wr wr = {.wr_id = i,
                                          .opcode =
                                              i % 3 ? FABRIC_WR_RDMA_WRITE : FABRIC_WR_RDMA_READ,
                                          .flags = FABRIC_SEND_SIGNALED,
                                          .remote_iova = KIT_IOVA,
                                          .rkey = kit->nodes[1].keys.rkey};
        assert_int_equal(kit_post(&qa, &wr, 0, (uint32_t)(i * 997 % 20000)), FABRIC_OK);
    }
    kit_await_wc(kit, a, KIT_DEPTH - 1);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_COMPLETION), KIT_DEPTH);
    for (uint64_t i = 0; i < KIT_DEPTH; i++) {
        struct fabric_wc wc = nth_wc(a, i);
        assert_int_equal(wc.wr_id, i);
        assert_int_equal(wc.status, FABRIC_WC_SUCCESS);
        assert_int_equal(wc.opcode, i % 3 ? FABRIC_WC_RDMA_WRITE : FABRIC_WC_RDMA_READ);
        assert_int_equal(wc.qp.id, qa.qp.id);
        assert_int_equal(wc.qp_num, qa.qp_num);
        assert_int_equal(wc.cq.id, a->cq.id);
    }
}

static void below_rts_a_send_is_refused_and_never_left(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    const struct fabric_qp_init init_a = kit_qp_init(a, FABRIC_QP_RC),
                                init_b = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    struct kit_qp qa = kit_qp_new(a, &init_a), qb = kit_qp_new(&kit->nodes[1], &init_b);
    const struct fabric_qp_attr attr = kit_attr_init(FABRIC_QP_RC), rtr = kit_attr_rtr(&qa, &qb);
    kit_fill(a->buffer, 64, 1);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), ERR_INVALID_ARGUMENT);
    assert_int_equal(kit_recv(&qa, 2, 0, 64), ERR_INVALID_ARGUMENT);
    assert_int_equal(fabric_qp_modify(a->f, qa.qp, &attr), FABRIC_OK);
    assert_int_equal(kit_write(&qa, 3, &kit->nodes[1], 0, 64), ERR_INVALID_ARGUMENT);
    assert_int_equal(kit_recv(&qa, 4, 0, 64), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(a->f, qa.qp, &rtr), FABRIC_OK);
    assert_int_equal(kit_write(&qa, 5, &kit->nodes[1], 0, 64), ERR_INVALID_ARGUMENT);
    assert_int_equal(fabric_qp_destroy(a->f, qa.qp), FABRIC_OK);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_COMPLETION), 1); /* the receive's */
    assert_int_equal(kit_completions(a, 4), 1);
    assert_false(kit_filled(kit->nodes[1].buffer, 64, 1));
}

static void a_full_queue_refuses_and_completes_what_it_took(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    uint64_t sends = 0, recvs = 0;
    while (sends < 100000 && kit_write(&qa, sends, &kit->nodes[1], 0, 64) == FABRIC_OK)
        sends++;
    while (recvs < 100000 && kit_recv(&qa, recvs, 0, 64) == FABRIC_OK)
        recvs++;
    assert_true(sends >= KIT_DEPTH && sends < 100000);
    assert_true(recvs >= KIT_DEPTH && recvs < 100000);
    assert_int_equal(kit_write(&qa, 5, &kit->nodes[1], 0, 64), ERR_QUEUE_FULL);
    assert_int_equal(kit_recv(&qa, 5, 0, 64), ERR_QUEUE_FULL);
    kit_await_wc(kit, a, sends - 1);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_COMPLETION), sends);
    assert_int_equal(kit_write(&qa, sends, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(fabric_qp_destroy(a->f, qa.qp), FABRIC_OK);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_COMPLETION), sends + 1 + recvs);
}

static void what_is_too_big_for_the_queue_pair_is_refused(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    struct fabric_device_attr device;
    struct fabric_sge sges[FABRIC_MAX_SGE];
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(fabric_device_query(a->f, a->device, &device), FABRIC_OK);
    const struct fabric_send_wr inlined = {
        .wr_id = 1, .opcode = FABRIC_WR_SEND, .flags = FABRIC_SEND_SIGNALED | FABRIC_SEND_INLINE};
    assert_true(device.max_inline >= 64 && device.max_inline < KIT_BUFFER);
    assert_int_equal(kit_post(&qa, &inlined, 0, device.max_inline + 1), ERR_INVALID_ARGUMENT);
    for (size_t i = 0; i < FABRIC_MAX_SGE; i++)
        sges[i] = (struct fabric_sge){a->buffer, 1, a->keys.lkey};
    const struct fabric_send_wr send = {.sges = sges, .sge_count = FABRIC_MAX_SGE};
    const struct fabric_recv_wr recv = {.sges = sges, .sge_count = FABRIC_MAX_SGE};
    assert_int_equal(fabric_qp_post_send(a->f, qa.qp, &send), ERR_INVALID_ARGUMENT);
    assert_int_equal(fabric_qp_post_recv(a->f, qa.qp, &recv), ERR_INVALID_ARGUMENT);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_COMPLETION), 0);
}

static void unsignaled_sends_are_covered_by_the_next_completion(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    struct fabric_qp_info info;
    struct fabric_send_wr wr = {
        .opcode = FABRIC_WR_RDMA_WRITE, .remote_iova = KIT_IOVA, .rkey = kit->nodes[1].keys.rkey};
    kit_pair(kit, 0, 1, &qa, &qb);
    for (wr.wr_id = 0; wr.wr_id < 10; wr.wr_id++)
        assert_int_equal(kit_post(&qa, &wr, 0, 64), FABRIC_OK);
    assert_int_equal(kit_write(&qa, 10, &kit->nodes[1], 0, 64), FABRIC_OK);
    kit_await_wc(kit, a, 10);
    assert_int_equal(kit_count(a, FABRIC_EVENT_COMPLETION), 1);
    assert_int_equal(fabric_qp_query(a->f, qa.qp, &info), FABRIC_OK);
    assert_int_equal(info.sq_outstanding, 0);
}

static void an_unsignaled_send_that_fails_has_a_completion(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    const struct fabric_send_wr wr = {.wr_id = 1,
                                      .opcode = FABRIC_WR_RDMA_WRITE,
                                      .remote_iova = KIT_IOVA,
                                      .rkey = kit->nodes[1].keys.rkey ^ 0x00ffff00};
    const struct fabric_send_wr next = {.wr_id = 2, .opcode = FABRIC_WR_SEND};
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_post(&qa, &wr, 0, 64), FABRIC_OK);
    assert_int_equal(kit_post(&qa, &next, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_REM_ACCESS_ERR);
    assert_int_equal(kit_await_wc(kit, a, 2).status, FABRIC_WC_WR_FLUSH_ERR);
}

static void a_queue_pair_made_to_signal_all_does(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct fabric_qp_init init_a = kit_qp_init(&kit->nodes[0], FABRIC_QP_RC),
                          init_b = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    init_a.sq_sig_all = true;
    struct kit_qp qa = kit_qp_new(&kit->nodes[0], &init_a),
                  qb = kit_qp_new(&kit->nodes[1], &init_b);
    const struct fabric_send_wr wr = {.wr_id = 1,
                                      .opcode = FABRIC_WR_RDMA_WRITE,
                                      .remote_iova = KIT_IOVA,
                                      .rkey = kit->nodes[1].keys.rkey};
    kit_connect(&qa, &qb);
    assert_int_equal(kit_post(&qa, &wr, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_SUCCESS);
}

static void moving_to_error_flushes_everything_in_order(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    put_under_way(&qa, &kit->nodes[1]);
    to_error(&qa);
    expect_all_owed(kit, qa.node, qa.qp);
}

static void moving_to_reset_flushes_the_same(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    const struct fabric_qp_attr attr = {.state = FABRIC_QPS_RESET};
    kit_pair(kit, 0, 1, &qa, &qb);
    put_under_way(&qa, &kit->nodes[1]);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &attr), FABRIC_OK);
    expect_all_owed(kit, qa.node, qa.qp);
}

static void destroying_the_queue_pair_flushes_the_same(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    put_under_way(&qa, &kit->nodes[1]);
    assert_int_equal(fabric_qp_destroy(qa.node->f, qa.qp), FABRIC_OK);
    assert_int_equal(fabric_cq_destroy(qa.node->f, qa.node->cq), FABRIC_OK);
    expect_all_owed(kit, qa.node, qa.qp);
}

static void closing_the_device_flushes_the_same(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    put_under_way(&qa, &kit->nodes[1]);
    assert_int_equal(fabric_device_close(qa.node->f, qa.node->device), FABRIC_OK);
    expect_all_owed(kit, qa.node, qa.qp);
}

static void losing_the_device_flushes_the_same(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_DEVICE_REMOVE);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    put_under_way(&qa, &kit->nodes[1]);
    kit_inject(kit, 0, BENCH_DEVICE_REMOVE);
    expect_all_owed(kit, qa.node, qa.qp);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), ERR_DEVICE_REMOVED);
    assert_int_equal(kit_recv(&qa, 2, 0, 64), ERR_DEVICE_REMOVED);
}

static void losing_the_device_and_then_destroying_completes_nothing_twice(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_DEVICE_REMOVE);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    put_under_way(&qa, &kit->nodes[1]);
    kit_inject(kit, 0, BENCH_DEVICE_REMOVE);
    assert_int_equal(fabric_qp_destroy(qa.node->f, qa.qp), FABRIC_OK);
    assert_int_equal(fabric_device_close(qa.node->f, qa.node->device), FABRIC_OK);
    expect_all_owed(kit, qa.node, qa.qp);
}

static void in_error_posts_are_accepted_and_flushed(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    to_error(&qa);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(kit_recv(&qa, 2, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(kit_await_wc(kit, a, 2).status, FABRIC_WC_WR_FLUSH_ERR);
    assert_true(kit_await_wc(kit, a, 1).is_send);
    assert_false(kit_await_wc(kit, a, 2).is_send);
}

static void completions_not_yet_polled_outlive_their_queue(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    uint64_t deadline = kit_now(a) + KIT_SECOND;
    while (kit_now(a) < deadline && bench_backend.advance(kit->bench, deadline))
        continue; /* the completion is there, nobody polls it */
    assert_int_equal(fabric_qp_destroy(a->f, qa.qp), FABRIC_OK);
    assert_int_equal(fabric_cq_destroy(a->f, a->cq), FABRIC_OK);
    struct fabric_wc wc = kit_await_wc(kit, a, 1);
    assert_int_equal(wc.cq.id, a->cq.id);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_COMPLETION), 1);
}

static void inline_data_is_taken_by_the_call(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    uint8_t bytes[64];
    const struct fabric_sge sge = {bytes, 64, 0};
    const struct fabric_send_wr wr = {.wr_id = 1,
                                      .opcode = FABRIC_WR_RDMA_WRITE,
                                      .flags = FABRIC_SEND_SIGNALED | FABRIC_SEND_INLINE,
                                      .sges = &sge,
                                      .sge_count = 1,
                                      .remote_iova = KIT_IOVA,
                                      .rkey = kit->nodes[1].keys.rkey};
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_fill(bytes, 64, 9);
    assert_int_equal(fabric_qp_post_send(qa.node->f, qa.qp, &wr), FABRIC_OK);
    memset(bytes, 0, 64);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_SUCCESS);
    assert_true(kit_filled(kit->nodes[1].buffer, 64, 9));
}

static void a_shared_receive_queue_serves_its_queue_pairs_in_order(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct fabric_qp_init init_a = kit_qp_init(a, FABRIC_QP_RC),
                          init_b = kit_qp_init(b, FABRIC_QP_RC);
    assert_int_equal(fabric_srq_create(b->f, b->device, 16, 4, &init_b.srq), FABRIC_OK);
    struct kit_qp qa[2], qb[2];
    for (size_t i = 0; i < 2; i++) {
        qa[i] = kit_qp_new(a, &init_a);
        qb[i] = kit_qp_new(b, &init_b);
        kit_connect(&qa[i], &qb[i]);
    }
    assert_int_equal(kit_recv(&qb[0], 1, 0, 64), ERR_INVALID_ARGUMENT);
    for (uint64_t i = 0; i < 16; i++) {
        const struct fabric_sge sge = {b->buffer + 1024 * i, 1024, b->keys.lkey};
        const struct fabric_recv_wr wr = {.wr_id = i, .sges = &sge, .sge_count = 1};
        assert_int_equal(fabric_srq_post_recv(b->f, init_b.srq, &wr), FABRIC_OK);
    }
    const struct fabric_recv_wr one_more = {.wr_id = 99};
    assert_int_equal(fabric_srq_post_recv(b->f, init_b.srq, &one_more), ERR_QUEUE_FULL);
    for (uint64_t i = 0; i < 8; i++) {
        assert_int_equal(kit_send(&qa[i % 2], 100 + i, 0, 64), FABRIC_OK);
        struct fabric_wc wc = kit_await_wc(kit, b, i);
        assert_int_equal(wc.status, FABRIC_WC_SUCCESS);
        assert_int_equal(wc.qp.id, qb[i % 2].qp.id);
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fabric_qp_destroy(b->f, qb[i].qp), FABRIC_OK);
    assert_int_equal(fabric_srq_destroy(b->f, init_b.srq), FABRIC_OK);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(b, FABRIC_EVENT_COMPLETION), 8); /* the rest is ours again */
}

int kit_post_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(completions_come_once_and_in_order),
        CASE(below_rts_a_send_is_refused_and_never_left),
        CASE(a_full_queue_refuses_and_completes_what_it_took),
        CASE(what_is_too_big_for_the_queue_pair_is_refused),
        CASE(unsignaled_sends_are_covered_by_the_next_completion),
        CASE(an_unsignaled_send_that_fails_has_a_completion),
        CASE(a_queue_pair_made_to_signal_all_does),
        CASE(moving_to_error_flushes_everything_in_order),
        CASE(moving_to_reset_flushes_the_same),
        CASE(destroying_the_queue_pair_flushes_the_same),
        CASE(closing_the_device_flushes_the_same),
        CASE(losing_the_device_flushes_the_same),
        CASE(losing_the_device_and_then_destroying_completes_nothing_twice),
        CASE(in_error_posts_are_accepted_and_flushed),
        CASE(completions_not_yet_polled_outlive_their_queue),
        CASE(inline_data_is_taken_by_the_call),
        CASE(a_shared_receive_queue_serves_its_queue_pairs_in_order),
    };
    return cmocka_run_group_tests_name("posts", tests, NULL, NULL);
}
