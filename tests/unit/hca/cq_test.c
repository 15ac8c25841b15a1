/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues without room (HA-2.3, chapter 11.6.3.1). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

static void an_overrun_cq_takes_its_queue_pairs_along(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    struct hca_host *h = &p.w->host[0];
    hca_set_notify(h->hca, NULL); /* nobody polls */
    hca_cq whole = h->cq;
    assert_int_equal(hca_cq_create(h->hca, 2, 66, &h->cq), FABRIC_OK);
    hca_pair_connect(&p);
    for (uint32_t i = 0; i < 3; i++)
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, i);
    hca_world_run(p.w, SECOND);
    struct hca_event event;
    assert_true(hca_event_poll(h->hca, &event));
    assert_int_equal(event.type, FABRIC_ASYNC_CQ_ERR);
    assert_int_equal(event.cq.id, h->cq.id);
    assert_int_equal(event.context, 66);
    assert_int_equal(hca_world_qp_state(p.w, 0, p.qp[0]), FABRIC_QPS_ERR);
    struct hca_wc wcs[4];
    assert_int_equal(hca_cq_poll(h->hca, h->cq, wcs, 4), 2);
    assert_int_equal(hca_cq_destroy(h->hca, h->cq), ERR_INVALID_ARGUMENT);
    hca_qp_destroy(h->hca, p.qp[0]);
    assert_int_equal(hca_cq_destroy(h->hca, h->cq), FABRIC_OK);
    assert_int_equal(hca_cq_create(h->hca, 0, 0, &h->cq), ERR_INVALID_ARGUMENT);
    assert_int_equal(hca_cq_destroy(h->hca, whole), FABRIC_OK);
    hca_world_destroy(p.w);
}

static void an_overrun_cq_ends_whatever_completes_to_it_later(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    struct hca_host *h = &p.w->host[0];
    hca_set_notify(h->hca, NULL); /* nobody polls */
    hca_cq whole = h->cq;
    assert_int_equal(hca_cq_create(h->hca, 1, 0, &h->cq), FABRIC_OK);
    hca_qp first = hca_world_qp(p.w, 0, HCA_QP_RC), late = hca_world_qp(p.w, 0, HCA_QP_RC);
    assert_int_equal(hca_world_init_qp(p.w, 0, first, &p.a), FABRIC_OK);
    for (uint64_t i = 0; i < 3; i++)
        hca_world_recv(p.w, 0, first, 0, 64, i);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_ERR};
    assert_int_equal(hca_qp_modify(h->hca, first, &attr, HCA_QP_STATE), FABRIC_OK);
    hca_world_run(p.w, MS);
    struct hca_qp_init init = {.type = HCA_QP_RC, .pd = h->pd, .send_cq = whole, .recv_cq = h->cq};
    hca_qp refused;
    assert_int_equal(hca_qp_create(h->hca, &init, &refused), ERR_INVALID_ARGUMENT);
    hca_qp peer = hca_world_qp(p.w, 1, HCA_QP_RC);
    p.a.dest_qp_num = hca_world_number(p.w, 1, peer);
    p.b.dest_qp_num = hca_world_number(p.w, 0, late);
    assert_int_equal(hca_world_bring_up(p.w, 0, late, HCA_QP_RC, &p.a), FABRIC_OK);
    assert_int_equal(hca_world_bring_up(p.w, 1, peer, HCA_QP_RC, &p.b), FABRIC_OK);
    hca_world_send(p.w, 0, late, HCA_WR_RDMA_WRITE, 0, 64, 9);
    hca_world_run(p.w, SECOND);
    assert_int_equal(hca_world_qp_state(p.w, 0, late), FABRIC_QPS_ERR);
    struct hca_event event;
    assert_true(hca_event_poll(h->hca, &event));
    assert_int_equal(event.type, FABRIC_ASYNC_CQ_ERR);
    assert_false(hca_event_poll(h->hca, &event));
    hca_world_destroy(p.w);
}

/* The queue pair of host 0 completes to a CQ of `depth` that nobody polls. */
static struct hca_pair unpolled(uint32_t depth)
{
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    struct hca_host *h = &p.w->host[0];
    hca_set_notify(h->hca, NULL);
    assert_int_equal(hca_cq_create(h->hca, depth, 66, &h->cq), FABRIC_OK);
    hca_pair_connect(&p);
    return p;
}

static size_t cq_errors(struct hca_host *h)
{
    struct hca_event event;
    size_t count = 0;
    while (hca_event_poll(h->hca, &event))
        count += event.kind == HCA_EVENT_ASYNC && event.type == FABRIC_ASYNC_CQ_ERR;
    return count;
}

static void write_some(struct hca_pair *p, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++)
        assert_int_equal(hca_world_send(p->w, 0, p->qp[0], HCA_WR_RDMA_WRITE, 0, 64, i), FABRIC_OK);
    hca_world_run(p->w, MS);
}

static void a_cq_that_is_just_full_has_not_overrun(void **state)
{
    (void)state;
    struct hca_pair p = unpolled(3); /* its ring has four places, but three were asked for */
    struct hca_host *h = &p.w->host[0];
    struct hca_wc wcs[4];
    write_some(&p, 0, 3);
    assert_int_equal(cq_errors(h), 0);
    assert_int_equal(hca_cq_poll(h->hca, h->cq, wcs, 2), 2);
    write_some(&p, 3, 2); /* as many as were polled */
    assert_int_equal(cq_errors(h), 0);
    assert_int_equal(hca_cq_poll(h->hca, h->cq, wcs, 4), 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(wcs[i].wr_id, 2 + i);
    write_some(&p, 5, 4);
    assert_int_equal(cq_errors(h), 1);
    assert_int_equal(hca_cq_poll(h->hca, h->cq, wcs, 4), 3);
    hca_world_destroy(p.w);
}

static void an_overrun_cq_takes_nothing_even_when_it_was_polled_empty(void **state)
{
    (void)state;
    struct hca_pair p = unpolled(2);
    struct hca_host *h = &p.w->host[0];
    struct hca_wc wcs[8];
    write_some(&p, 0, 3);
    assert_int_equal(cq_errors(h), 1);
    assert_int_equal(hca_cq_poll(h->hca, h->cq, wcs, 8), 2);
    assert_int_equal(wcs[1].wr_id, 1);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 9), FABRIC_OK);
    hca_world_run(p.w, SECOND); /* flushed into a CQ that takes nothing */
    assert_int_equal(hca_cq_poll(h->hca, h->cq, wcs, 8), 0);
    assert_int_equal(cq_errors(h), 0); /* told once */
    hca_world_destroy(p.w);
}

static void a_queue_pair_of_another_cq_lives_on(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    struct hca_host *h = &p.w->host[0];
    hca_pair_connect(&p);
    hca_cq small;
    assert_int_equal(hca_cq_create(h->hca, 1, 0, &small), FABRIC_OK);
    struct hca_qp_init init = {.type = HCA_QP_RC,
                               .pd = h->pd,
                               .send_cq = h->cq,
                               .recv_cq = small,
                               .max_send_wr = 1,
                               .max_recv_wr = 4,
                               .max_recv_sge = 1};
    hca_qp qp;
    hca_set_notify(h->hca, NULL);
    assert_int_equal(hca_qp_create(h->hca, &init, &qp), FABRIC_OK);
    assert_int_equal(hca_world_init_qp(p.w, 0, qp, &p.a), FABRIC_OK);
    for (uint64_t i = 0; i < 2; i++)
        assert_int_equal(hca_world_recv(p.w, 0, qp, 0, 64, i), FABRIC_OK);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_ERR};
    assert_int_equal(hca_qp_modify(h->hca, qp, &attr, HCA_QP_STATE), FABRIC_OK);
    hca_world_run(p.w, MS);
    assert_int_equal(cq_errors(h), 1);
    assert_int_equal(hca_world_qp_state(p.w, 0, p.qp[0]), FABRIC_QPS_RTS);
    write_some(&p, 0, 1);
    struct hca_wc wc;
    assert_int_equal(hca_cq_poll(h->hca, h->cq, &wc, 1), 1);
    assert_int_equal(wc.status, FABRIC_WC_SUCCESS);
    hca_world_destroy(p.w);
}

static void a_cq_grows_and_shrinks_around_what_is_in_it(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *h = &p.w->host[0];
    const uint32_t depths[] = {9, 600, 5};
    struct hca_wc wc;
    hca_set_notify(h->hca, NULL);
    assert_int_equal(hca_cq_resize(h->hca, h->cq, 7), FABRIC_OK);
    write_some(&p, 0, 7);
    assert_int_equal(hca_cq_poll(h->hca, h->cq, &wc, 1), 1); /* the ring begins in the middle */
    assert_int_equal(hca_cq_poll(h->hca, h->cq, &wc, 1), 1);
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
        assert_int_equal(hca_cq_resize(h->hca, h->cq, depths[i]), FABRIC_OK);
    assert_int_equal(hca_cq_resize(h->hca, h->cq, 4), ERR_INVALID_ARGUMENT);
    assert_int_equal(hca_cq_resize(h->hca, h->cq, 0), ERR_INVALID_ARGUMENT);
    for (uint64_t i = 2; i < 7; i++) {
        assert_int_equal(hca_cq_poll(h->hca, h->cq, &wc, 1), 1);
        assert_int_equal(wc.wr_id, i);
        assert_int_equal(wc.status, FABRIC_WC_SUCCESS);
    }
    write_some(&p, 7, 5);
    assert_int_equal(hca_cq_poll(h->hca, h->cq, &wc, 1), 1);
    assert_int_equal(wc.wr_id, 7);
    hca_world_destroy(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_overrun_cq_takes_its_queue_pairs_along),
        cmocka_unit_test(an_overrun_cq_ends_whatever_completes_to_it_later),
        cmocka_unit_test(a_cq_that_is_just_full_has_not_overrun),
        cmocka_unit_test(an_overrun_cq_takes_nothing_even_when_it_was_polled_empty),
        cmocka_unit_test(a_queue_pair_of_another_cq_lives_on),
        cmocka_unit_test(a_cq_grows_and_shrinks_around_what_is_in_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
