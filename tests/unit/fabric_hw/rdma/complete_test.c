/* SPDX-License-Identifier: Apache-2.0 */
/* Completions, and those that verbs lose. HA-1.4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>

#include "tests/support/verbs_fake.h"

static struct os_bed bed;
static fabric_device device;
static fabric_cq cq;
static fabric_qp qp;

static int setup(void **state)
{
    (void)state;
    verbs_fake_reset();
    device = verbs_fake_device(&bed);
    qp = verbs_fake_rc(&bed, device, &cq);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return verbs_fake.live;
}

static enum fabric_qp_state now_in(void)
{
    struct fabric_qp_info info;
    assert_int_equal(fabric_qp_query(bed.f, qp, &info), FABRIC_OK);
    return info.state;
}

static void a_completion_has_the_callers_number_and_what_the_device_said(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_recv(&bed, qp, 900), FABRIC_OK);
    const struct ibv_wc wc = {.wr_id = verbs_fake.received[0].wr_id,
                              .status = IBV_WC_SUCCESS,
                              .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
                              .byte_len = 44,
                              .wc_flags = IBV_WC_WITH_IMM,
                              .imm_data = 0x04030201};
    verbs_fake_complete_wc(&wc);
    struct fabric_wc got = verbs_fake_expect(&bed, 900, FABRIC_WC_SUCCESS);
    assert_int_equal(got.opcode, FABRIC_WC_RECV_RDMA_WITH_IMM);
    assert_int_equal(got.byte_len, 44);
    assert_true(got.with_imm && !got.is_send);
    assert_int_equal(got.imm, 0x01020304);
    assert_int_equal(got.cq.id, cq.id);
    assert_int_equal(got.qp.id, qp.id);
}

static void unsignaled_sends_keep_their_places_until_the_next_is_polled(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(verbs_fake_send(&bed, qp, i, i == 7), FABRIC_OK);
    assert_int_equal(verbs_fake_send(&bed, qp, 8, true), ERR_QUEUE_FULL);
    verbs_fake_complete(verbs_fake.sent[7].wr_id, IBV_WC_SUCCESS);
    verbs_fake_expect(&bed, 7, FABRIC_WC_SUCCESS);
    assert_true(verbs_fake_idle(&bed));
    assert_int_equal(verbs_fake_send(&bed, qp, 8, true), FABRIC_OK);
}

static void a_failure_moves_the_queue_pair_to_error_when_it_is_polled(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_send(&bed, qp, 1, true), FABRIC_OK);
    const struct ibv_wc wc = {
        .wr_id = verbs_fake.sent[0].wr_id, .status = IBV_WC_RETRY_EXC_ERR, .vendor_err = 129};
    verbs_fake_complete_wc(&wc);
    assert_int_equal(now_in(), FABRIC_QPS_RTS);
    assert_int_equal(verbs_fake_expect(&bed, 1, FABRIC_WC_RETRY_EXC_ERR).vendor_err, 129);
    assert_int_equal(now_in(), FABRIC_QPS_ERR);
    assert_int_equal(verbs_fake_count("modify_qp:ERR"), 1); /* so that receives are flushed */
}

static void destruction_flushes_what_the_device_forgot(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(verbs_fake_send(&bed, qp, i, i != 1), FABRIC_OK);
        assert_int_equal(verbs_fake_recv(&bed, qp, 10 + i), FABRIC_OK);
    }
    verbs_fake_complete(verbs_fake.sent[0].wr_id, IBV_WC_SUCCESS);
    assert_int_equal(fabric_qp_destroy(bed.f, qp), FABRIC_OK);
    verbs_fake_expect(&bed, 0, FABRIC_WC_SUCCESS);
    for (uint64_t i = 1; i < 3; i++)
        assert_true(verbs_fake_expect(&bed, i, FABRIC_WC_WR_FLUSH_ERR).is_send);
    for (uint64_t i = 10; i < 13; i++)
        assert_false(verbs_fake_expect(&bed, i, FABRIC_WC_WR_FLUSH_ERR).is_send);
    verbs_fake_complete(verbs_fake.sent[2].wr_id, IBV_WC_WR_FLUSH_ERR); /* late */
    assert_true(verbs_fake_idle(&bed));
}

static void a_reset_flushes_once_and_what_comes_late_is_nobodys(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_send(&bed, qp, 1, true), FABRIC_OK);
    assert_int_equal(verbs_fake_recv(&bed, qp, 2), FABRIC_OK);
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RESET), FABRIC_OK);
    verbs_fake_complete(verbs_fake.sent[0].wr_id, IBV_WC_WR_FLUSH_ERR);
    verbs_fake_expect(&bed, 1, FABRIC_WC_WR_FLUSH_ERR);
    verbs_fake_expect(&bed, 2, FABRIC_WC_WR_FLUSH_ERR);
    assert_true(verbs_fake_idle(&bed));
    assert_int_equal(now_in(), FABRIC_QPS_RESET);
    for (int to = FABRIC_QPS_INIT; to <= FABRIC_QPS_RTS; to++)
        assert_int_equal(verbs_fake_move(&bed, qp, (enum fabric_qp_state)to), FABRIC_OK);
    assert_int_equal(verbs_fake_send(&bed, qp, 3, true), FABRIC_OK);
    verbs_fake_complete(verbs_fake.sent[1].wr_id, IBV_WC_SUCCESS);
    verbs_fake_expect(&bed, 3, FABRIC_WC_SUCCESS);
}

static void in_error_receives_are_flushed_without_the_device_and_in_order(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_recv(&bed, qp, 1), FABRIC_OK);
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_ERR), FABRIC_OK);
    assert_int_equal(verbs_fake_recv(&bed, qp, 2), FABRIC_OK);
    assert_int_equal(verbs_fake.received_count, 1);
    assert_true(verbs_fake_idle(&bed)); /* the device still owes the first */
    verbs_fake_complete(verbs_fake.received[0].wr_id, IBV_WC_WR_FLUSH_ERR);
    verbs_fake_expect(&bed, 1, FABRIC_WC_WR_FLUSH_ERR);
    verbs_fake_expect(&bed, 2, FABRIC_WC_WR_FLUSH_ERR);
}

static void a_device_that_refuses_posts_in_error_is_made_up_for(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_ERR), FABRIC_OK);
    verbs_fake.fail_name = "post_send";
    assert_int_equal(verbs_fake_send(&bed, qp, 4, true), FABRIC_OK);
    verbs_fake_expect(&bed, 4, FABRIC_WC_WR_FLUSH_ERR);
}

static void a_refused_post_is_owed_nothing(void **state)
{
    (void)state;
    verbs_fake.fail_name = "post_send";
    assert_int_equal(verbs_fake_send(&bed, qp, 1, true), ERR_QUEUE_FULL);
    assert_int_equal(fabric_qp_destroy(bed.f, qp), FABRIC_OK);
    assert_true(verbs_fake_idle(&bed));
}

/* The overrun has lost the first two. */
static void completions_lost_in_an_overrun_are_made_up_for_in_order(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(verbs_fake_send(&bed, qp, i, true), FABRIC_OK);
    verbs_fake_event(IBV_EVENT_CQ_ERR);
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_ASYNC);
    assert_int_equal(event.u.async.type, FABRIC_ASYNC_CQ_ERR);
    assert_int_equal(event.u.async.cq.id, cq.id);
    assert_int_equal(now_in(), FABRIC_QPS_ERR);
    verbs_fake_complete(verbs_fake.sent[2].wr_id, IBV_WC_WR_FLUSH_ERR);
    for (uint64_t i = 0; i < 3; i++)
        verbs_fake_expect(&bed, i, FABRIC_WC_WR_FLUSH_ERR);
    assert_true(verbs_fake_idle(&bed));
    assert_int_equal(fabric_qp_destroy(bed.f, qp), FABRIC_OK);
    verbs_fake_expect(&bed, 3, FABRIC_WC_WR_FLUSH_ERR);
}

static void a_completion_wakes_who_waits(void **state)
{
    (void)state;
    struct pollfd watched = {os_fabric_descriptor(bed.f), POLLIN, 0};
    assert_int_equal(verbs_fake_send(&bed, qp, 1, true), FABRIC_OK);
    assert_true(verbs_fake_idle(&bed));
    assert_int_equal(verbs_fake_count("req_notify_cq"), 1);
    assert_int_equal(poll(&watched, 1, 0), 0);
    verbs_fake_complete(verbs_fake.sent[0].wr_id, IBV_WC_SUCCESS);
    assert_int_equal(poll(&watched, 1, 0), 1);
    verbs_fake_expect(&bed, 1, FABRIC_WC_SUCCESS);
    assert_true(verbs_fake_idle(&bed)); /* which reads the event of the channel and arms again */
    assert_true(verbs_fake_idle(&bed));
    assert_int_equal(verbs_fake_count("req_notify_cq"), 2);
    assert_int_equal(fabric_qp_destroy(bed.f, qp), FABRIC_OK);
    assert_int_equal(fabric_cq_destroy(bed.f, cq), FABRIC_OK);
    assert_int_equal(verbs_fake_count("ack_cq_events:1"), 1);
}

/* One that comes between the last look and the arming raises no event. */
static void a_completion_that_comes_while_the_queue_is_armed_is_seen(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_send(&bed, qp, 1, true), FABRIC_OK);
    verbs_fake.complete_when_armed = verbs_fake.sent[0].wr_id;
    verbs_fake_expect(&bed, 1, FABRIC_WC_SUCCESS);
}

static void completions_of_a_shared_receive_queue_find_their_queue_pair(void **state)
{
    (void)state;
    fabric_srq srq;
    fabric_qp with;
    struct fabric_qp_info info;
    struct fabric_qp_init init = {.type = FABRIC_QP_RC, .send_cq = cq, .recv_cq = cq};
    assert_int_equal(fabric_srq_create(bed.f, device, 1, 1, &srq), FABRIC_OK);
    init.srq = srq;
    assert_int_equal(fabric_qp_create(bed.f, device, &init, &with), FABRIC_OK);
    assert_int_equal(fabric_qp_query(bed.f, with, &info), FABRIC_OK);
    const struct fabric_recv_wr wr = {.wr_id = 6};
    assert_int_equal(fabric_srq_post_recv(bed.f, srq, &wr), FABRIC_OK);
    assert_int_equal(fabric_srq_post_recv(bed.f, srq, &wr), ERR_QUEUE_FULL);
    const struct ibv_wc wc = {
        .wr_id = verbs_fake.received[0].wr_id, .opcode = IBV_WC_RECV, .qp_num = info.qp_num};
    verbs_fake_complete_wc(&wc);
    assert_int_equal(verbs_fake_expect(&bed, 6, FABRIC_WC_SUCCESS).qp.id, with.id);
    assert_int_equal(fabric_srq_post_recv(bed.f, srq, &wr), FABRIC_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_completion_has_the_callers_number_and_what_the_device_said),
        TEST(unsignaled_sends_keep_their_places_until_the_next_is_polled),
        TEST(a_failure_moves_the_queue_pair_to_error_when_it_is_polled),
        TEST(destruction_flushes_what_the_device_forgot),
        TEST(a_reset_flushes_once_and_what_comes_late_is_nobodys),
        TEST(in_error_receives_are_flushed_without_the_device_and_in_order),
        TEST(a_device_that_refuses_posts_in_error_is_made_up_for),
        TEST(a_refused_post_is_owed_nothing),
        TEST(completions_lost_in_an_overrun_are_made_up_for_in_order),
        TEST(a_completion_wakes_who_waits),
        TEST(a_completion_that_comes_while_the_queue_is_armed_is_seen),
        TEST(completions_of_a_shared_receive_queue_find_their_queue_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
