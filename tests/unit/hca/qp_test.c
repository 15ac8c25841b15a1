/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

static void numbers_come_from_the_seed_and_are_not_reused_soon(void **state)
{
    (void)state;
    struct hca_world_init init = {.seed = 1};
    struct hca_world *w = hca_world_create(&init);
    static uint32_t seen[300];
    for (size_t i = 0; i < 300; i++) {
        hca_qp qp = hca_world_qp(w, 0, HCA_QP_RC);
        seen[i] = hca_world_number(w, 0, qp);
        assert_true(seen[i] > 1 && seen[i] < 0xffffff);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(seen[i], seen[j]);
        hca_qp_destroy(w->host[0].hca, qp);
    }
    assert_int_not_equal(seen[1], seen[0] + 1);
    hca_world_destroy(w);
}

static void limits_are_refused(void **state)
{
    (void)state;
    struct hca_world_init init = {.seed = 1};
    struct hca_world *w = hca_world_create(&init);
    struct hca_host *h = &w->host[0];
    const struct hca_qp_init good = {
        .type = HCA_QP_RC, .pd = h->pd, .send_cq = h->cq, .recv_cq = h->cq, .max_send_wr = 1};
    struct hca_qp_init bad = good;
    hca_qp qp;
    bad.max_send_wr = 1u << 20;
    assert_int_equal(hca_qp_create(h->hca, &bad, &qp), ERR_INVALID_ARGUMENT);
    bad = good;
    bad.max_recv_sge = FABRIC_MAX_SGE + 1;
    assert_int_equal(hca_qp_create(h->hca, &bad, &qp), ERR_INVALID_ARGUMENT);
    bad = good;
    bad.max_inline = 1u << 16;
    assert_int_equal(hca_qp_create(h->hca, &bad, &qp), ERR_INVALID_ARGUMENT);
    hca_world_destroy(w);
}

/* With an SRQ the receives stay in it; the queue pair tells that it holds none of them. */
static void an_srq_keeps_its_receives_and_the_last_wqe_is_told(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    struct hca_host *h = &p.w->host[1];
    hca_srq srq;
    assert_int_equal(hca_srq_create(h->hca, h->pd, 8, 1, 55, &srq), FABRIC_OK);
    struct hca_qp_init init = {.type = HCA_QP_RC,
                               .pd = h->pd,
                               .send_cq = h->cq,
                               .recv_cq = h->cq,
                               .srq = srq,
                               .max_send_wr = 8,
                               .max_send_sge = 1};
    p.qp[0] = hca_world_qp(p.w, 0, HCA_QP_RC);
    assert_int_equal(hca_qp_create(h->hca, &init, &p.qp[1]), FABRIC_OK);
    p.a.dest_qp_num = hca_world_number(p.w, 1, p.qp[1]);
    p.b.dest_qp_num = hca_world_number(p.w, 0, p.qp[0]);
    assert_int_equal(hca_world_bring_up(p.w, 0, p.qp[0], HCA_QP_RC, &p.a), FABRIC_OK);
    assert_int_equal(hca_world_bring_up(p.w, 1, p.qp[1], HCA_QP_RC, &p.b), FABRIC_OK);
    assert_int_equal(hca_world_recv(p.w, 1, p.qp[1], 0, 64, 1), ERR_INVALID_ARGUMENT);
    struct hca_sge sge = hca_world_sge(p.w, 1, 0, 64);
    struct hca_recv_wr recv = {.wr_id = 9, .sges = &sge, .sge_count = 1};
    for (int i = 0; i < 3; i++)
        assert_int_equal(hca_srq_post_recv(h->hca, srq, &recv), FABRIC_OK);
    assert_int_equal(hca_srq_set_limit(h->hca, srq, 3), FABRIC_OK);
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 64, SECOND), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_world_events(p.w, 1, FABRIC_ASYNC_SRQ_LIMIT_REACHED), 1);
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 64, SECOND), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_world_events(p.w, 1, FABRIC_ASYNC_SRQ_LIMIT_REACHED), 1);
    assert_int_equal(hca_srq_destroy(h->hca, srq), ERR_INVALID_ARGUMENT);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_ERR};
    assert_int_equal(hca_qp_modify(h->hca, p.qp[1], &attr, HCA_QP_STATE), FABRIC_OK);
    assert_int_equal(hca_world_events(p.w, 1, FABRIC_ASYNC_QP_LAST_WQE_REACHED), 1);
    assert_int_equal(h->wc_count, 2); /* the third stays in the SRQ */
    hca_qp_destroy(h->hca, p.qp[1]);
    assert_int_equal(hca_srq_destroy(h->hca, srq), FABRIC_OK);
    hca_world_destroy(p.w);
}

static void a_reset_drops_what_was_posted_and_starts_anew(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca *hca = p.w->host[0].hca;
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 1);
    hca_world_recv(p.w, 0, p.qp[0], 0, 64, 2);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_RESET};
    assert_int_equal(hca_qp_modify(hca, p.qp[0], &attr, HCA_QP_STATE), FABRIC_OK);
    assert_int_equal(hca_qp_modify(p.w->host[1].hca, p.qp[1], &attr, HCA_QP_STATE), FABRIC_OK);
    hca_world_run(p.w, SECOND);
    assert_int_equal(p.w->host[0].wc_count, 0);
    struct hca_qp_info info;
    assert_int_equal(hca_qp_query(hca, p.qp[0], &info), FABRIC_OK);
    assert_int_equal(info.sq_outstanding, 0);
    assert_int_equal(info.rq_outstanding, 0);
    assert_int_equal(hca_world_bring_up(p.w, 0, p.qp[0], HCA_QP_RC, &p.a), FABRIC_OK);
    assert_int_equal(hca_world_bring_up(p.w, 1, p.qp[1], HCA_QP_RC, &p.b), FABRIC_OK);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 5000, SECOND), FABRIC_WC_SUCCESS);
    hca_world_destroy(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_from_the_seed_and_are_not_reused_soon),
        cmocka_unit_test(limits_are_refused),
        cmocka_unit_test(an_srq_keeps_its_receives_and_the_last_wqe_is_told),
        cmocka_unit_test(a_reset_drops_what_was_posted_and_starts_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
