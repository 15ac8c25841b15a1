/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/hca/state.h"

static void a_receive_ring_is_first_in_first_out(void **state)
{
    (void)state;
    struct hca_arena arena;
    struct recv_ring rq;
    struct recv_wqe out;
    struct hca_sge sges[2] = {{1, 10, 3}, {2, 20, 3}};
    hca_arena_create(&arena, NULL, 0);
    assert_true(recv_ring_init(&arena, &rq, 3, 2));
    assert_false(recv_ring_take(&arena, &rq, &out));
    for (uint64_t i = 0; i < 40; i++) {
        struct hca_recv_wr wr = {.wr_id = i, .sges = sges, .sge_count = (uint32_t)(i % 3)};
        recv_ring_put(&arena, &rq, &wr);
        assert_int_equal(recv_ring_next_length(&arena, &rq), i % 3 ? (i % 3 == 1 ? 10 : 30) : 0);
        assert_true(recv_ring_take(&arena, &rq, &out));
        assert_int_equal(out.wr_id, i);
        assert_int_equal(out.sge_count, i % 3);
        assert_memory_equal(out.sges, sges, out.sge_count * sizeof(sges[0]));
    }
    recv_ring_drop(&arena, &rq);
    recv_ring_drop(&arena, &rq);
    hca_arena_close(&arena);
}

static const struct hca_profile *mlx5(void)
{
    const struct hca_profile *profile = hca_profile_find("mlx5");
    assert_non_null(profile);
    return profile;
}

static void a_posted_send_stands_in_the_ring_without_stray_bytes(void **state)
{
    (void)state;
    struct hca_state s;
    state_create(&s, NULL, 0, mlx5());
    struct hca_qp_init init = {.max_send_wr = 2, .max_send_sge = 2, .max_inline = 16};
    struct qp_state *qp = table_take(&s.arena, &s.device->qps);
    assert_true(send_ring_init(&s.arena, qp, &init));
    char text[8] = "inline";
    struct hca_sge sges[2] = {{(uintptr_t)text, 8, 0}, {(uintptr_t)text, 3, 0}};
    struct hca_send_wr wr = {.wr_id = 7,
                             .opcode = HCA_WR_SEND_WITH_IMM,
                             .flags = HCA_SEND_INLINE | HCA_SEND_SIGNALED,
                             .sges = sges,
                             .sge_count = 2,
                             .imm = 5,
                             .dest_qp = 0x12345678};
    send_ring_put(&s, qp, &wr);
    struct send_wqe *wqe = send_ring_at(&s.arena, qp, qp->sq_tail);
    struct send_wqe expected;
    memset(&expected, 0, sizeof(expected));
    expected.wr_id = 7;
    expected.opcode = HCA_WR_SEND_WITH_IMM;
    expected.flags = HCA_SEND_INLINE | HCA_SEND_SIGNALED;
    expected.sge_count = 2;
    expected.imm = 5;
    expected.dest_qp = 0x345678;
    expected.length = 11;
    assert_memory_equal(wqe, &expected, sizeof(expected));
    assert_memory_equal(send_wqe_inline(qp, wqe), "inline\0\0inl", 11);
    assert_int_equal(send_wqe_sges(wqe)[0].addr, 0); /* the host address of inline data is gone */
    assert_int_equal(qp->sq_head - qp->sq_tail, 1);
    send_ring_drop(&s.arena, qp);
    assert_int_equal(qp->sq, 0);
    state_close(&s);
}

static void a_completion_without_room_overruns_the_queue_for_good(void **state)
{
    (void)state;
    struct hca_state s;
    struct hca_wc wc = {.wr_id = 1}, out;
    state_create(&s, NULL, 0, mlx5());
    struct cq_state *cq = table_take(&s.arena, &s.device->cqs);
    assert_true(cq_ring_init(&s.arena, cq, 3)); /* a ring of four, but three were asked for */
    for (uint64_t i = 0; i < 3; i++)
        assert_true(cq_ring_put(&s, cq, &wc, 0, 0, 100 + i));
    assert_false(cq->overrun);
    assert_false(cq_ring_put(&s, cq, &wc, 0, 0, 104));
    assert_true(cq->overrun);
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(cq_ring_take(&s, cq, &out));
        assert_int_equal(out.time, 100 + i);
    }
    assert_false(cq_ring_take(&s, cq, &out));
    assert_false(cq_ring_put(&s, cq, &wc, 0, 0, 105)); /* room again, but it takes nothing more */
    cq_ring_drop(&s.arena, cq);
    state_close(&s);
}

static void a_polled_completion_makes_room_and_never_takes_it_back(void **state)
{
    (void)state;
    struct hca_state s;
    struct hca_wc send = {.is_send = true}, recv = {.is_send = false}, out;
    state_create(&s, NULL, 0, mlx5());
    struct cq_state *cq = table_take(&s.arena, &s.device->cqs);
    struct qp_state *qp = table_take(&s.arena, &s.device->qps);
    assert_true(cq_ring_init(&s.arena, cq, 4));
    qp->sq_polled = UINT32_MAX - 1; /* counters wrap */
    cq_ring_put(&s, cq, &send, qp->slot.id, 1, 0);
    cq_ring_put(&s, cq, &recv, qp->slot.id, 5, 0);
    cq_ring_put(&s, cq, &send, qp->slot.id, UINT32_MAX, 0);
    assert_true(cq_ring_take(&s, cq, &out));
    assert_int_equal(qp->sq_polled, 1);
    assert_true(cq_ring_take(&s, cq, &out));
    assert_int_equal(qp->rq.polled, 5);
    assert_true(cq_ring_take(&s, cq, &out));
    assert_int_equal(qp->sq_polled, 1);
    state_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receive_ring_is_first_in_first_out),
        cmocka_unit_test(a_posted_send_stands_in_the_ring_without_stray_bytes),
        cmocka_unit_test(a_completion_without_room_overruns_the_queue_for_good),
        cmocka_unit_test(a_polled_completion_makes_room_and_never_takes_it_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
