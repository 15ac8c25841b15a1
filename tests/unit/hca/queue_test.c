/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_sim/hca/queue.h"
#include "tests/support/hca_world.h"

#define ARENA (4u << 20)

/* A connected pair whose host 0 is worked by a program that sees nothing but the shared state. */
struct bench {
    struct hca_world *w;
    hca_qp qp[2];
    uint8_t *arena;
    struct hca_state state;
    struct qp_state *sender;
};

static void bench_make(struct bench *b)
{
    b->arena = aligned_alloc(64, ARENA);
    assert_non_null(b->arena);
    memset(b->arena, 0, ARENA);
    struct hca_world_init init = {.seed = 5, .arena_size = ARENA};
    init.arena[0] = b->arena;
    b->w = hca_world_create(&init);
    struct hca_qp_attr a = hca_world_attr(b->w, 0, 1), back = hca_world_attr(b->w, 1, 0);
    hca_world_connect(b->w, &a, &back, b->qp);
    assert_true(state_open(&b->state, b->arena, ARENA));
    b->sender = state_qp(&b->state, b->qp[0].id);
    assert_non_null(b->sender);
    hca_world_run(b->w, MS); /* what connecting has scheduled is over */
}

static void bench_end(struct bench *b)
{
    state_close(&b->state);
    hca_world_destroy(b->w);
    free(b->arena);
}

static enum fabric_error post(struct bench *b, uint64_t wr_id)
{
    struct hca_sge sge = hca_world_sge(b->w, 0, 0, 100);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
    wr.wr_id = wr_id;
    wr.remote_addr = HCA_WORLD_IOVA;
    wr.rkey = b->w->host[1].key;
    return queue_post_send(&b->state, b->sender, &wr);
}

static void what_is_posted_into_shared_state_goes_when_the_doorbell_rings(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    hca_world_fill(b.w, 0, 0, 100, 0x21);
    assert_int_equal(post(&b, 8), FABRIC_OK);
    assert_true(queue_send_rings(b.sender));
    assert_false(hca_world_wait(b.w, 0, 1, MS));
    hca_qp_doorbell(b.w->host[0].hca, b.qp[0]);
    assert_true(hca_world_wait(b.w, 0, 1, MS));
    assert_int_equal(b.w->host[0].wcs[0].wr_id, 8);
    assert_true(hca_world_same(b.w, 0, 0, 1, 0, 100));
    assert_false(queue_send_rings(b.sender));
    bench_end(&b);
}

static void all_doorbells_together_find_what_was_posted(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    b.sender->rung = true;
    assert_int_equal(post(&b, 9), FABRIC_OK);
    hca_doorbells(b.w->host[0].hca);
    assert_false(b.sender->rung);
    assert_true(hca_world_wait(b.w, 0, 1, MS));
    bench_end(&b);
}

static void a_doorbell_of_a_queue_pair_in_error_flushes_both_queues(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    const struct hca_qp_attr error = {.state = FABRIC_QPS_ERR};
    assert_int_equal(hca_qp_modify(b.w->host[0].hca, b.qp[0], &error, HCA_QP_STATE), FABRIC_OK);
    assert_int_equal(post(&b, 1), FABRIC_OK);
    struct hca_sge sge = hca_world_sge(b.w, 0, 0, 100);
    const struct hca_recv_wr recv = {.wr_id = 2, .sges = &sge, .sge_count = 1};
    assert_int_equal(queue_post_recv(&b.state, b.sender, &recv), FABRIC_OK);
    assert_true(queue_recv_rings(b.sender));
    hca_qp_doorbell(b.w->host[0].hca, b.qp[0]);
    assert_int_equal(b.w->host[0].wc_count, 2);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(b.w->host[0].wcs[i].wr_id, i + 1);
        assert_int_equal(b.w->host[0].wcs[i].status, FABRIC_WC_WR_FLUSH_ERR);
    }
    hca_qp_doorbell(b.w->host[0].hca, (hca_qp){b.qp[0].id + (1u << 20)}); /* nobody's */
    bench_end(&b);
}

static void a_removed_device_takes_no_posts(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    hca_remove(b.w->host[0].hca);
    assert_int_equal(post(&b, 1), ERR_DEVICE_REMOVED);
    const struct hca_recv_wr recv = {.wr_id = 2};
    assert_int_equal(queue_post_recv(&b.state, b.sender, &recv), ERR_DEVICE_REMOVED);
    bench_end(&b);
}

static void a_completion_is_told_once_to_who_asked(void **state)
{
    (void)state;
    struct cq_state cq = {.depth = 1};
    assert_false(queue_tells(&cq, true));
    queue_arm(&cq, false);
    assert_true(queue_tells(&cq, false));
    assert_false(queue_tells(&cq, true));
    queue_arm(&cq, true);
    assert_false(queue_tells(&cq, false));
    assert_true(queue_tells(&cq, true));
    assert_false(queue_tells(&cq, true));
}

static void asking_for_less_does_not_take_back_asking_for_any(void **state)
{
    (void)state;
    struct cq_state cq = {.depth = 1};
    queue_arm(&cq, false);
    queue_arm(&cq, true);
    assert_true(queue_tells(&cq, false));
}

static void completions_of_a_purged_queue_pair_go_and_the_others_stay_in_order(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    struct hca_host *h = &b.w->host[0];
    hca_qp others[2];
    struct hca_qp_attr a = hca_world_attr(b.w, 0, 1), back = hca_world_attr(b.w, 1, 0);
    hca_world_connect(b.w, &a, &back, others);
    hca_set_notify(h->hca, NULL); /* nobody polls */
    for (uint64_t i = 0; i < 6; i++) {
        hca_qp qp = i % 2 ? others[0] : b.qp[0];
        assert_int_equal(hca_world_send(b.w, 0, qp, HCA_WR_RDMA_WRITE, 0, 64, i), FABRIC_OK);
        hca_world_run(b.w, MS);
    }
    struct cq_state *cq = table_find(&b.state.arena, &b.state.device->cqs, h->cq.id);
    struct hca_wc wcs[8];
    assert_int_equal(queue_poll(&b.state, cq, wcs, 1), 1);
    queue_purge(&b.state, cq, b.qp[0].id);
    assert_int_equal(queue_poll(&b.state, cq, wcs, 8), 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(wcs[i].wr_id, 2 * i + 1);
    assert_true(queue_is_empty(cq));
    bench_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_posted_into_shared_state_goes_when_the_doorbell_rings),
        cmocka_unit_test(all_doorbells_together_find_what_was_posted),
        cmocka_unit_test(a_doorbell_of_a_queue_pair_in_error_flushes_both_queues),
        cmocka_unit_test(a_removed_device_takes_no_posts),
        cmocka_unit_test(a_completion_is_told_once_to_who_asked),
        cmocka_unit_test(asking_for_less_does_not_take_back_asking_for_any),
        cmocka_unit_test(completions_of_a_purged_queue_pair_go_and_the_others_stay_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
