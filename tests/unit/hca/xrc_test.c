/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_sim/hca/engine.h"
#include "tests/support/hca_world.h"

#define QUEUES 2

/* Host 0 has an initiator; host 1 a target and two shared receive queues of its domain, each with a
 * completion queue and a protection domain of its own. */
struct xrc {
    struct hca_world *w;
    hca_xrcd xrcd;
    hca_qp initiator, target;
    hca_pd pd[QUEUES];
    hca_cq cq[QUEUES];
    hca_srq srq[QUEUES];
    hca_mr mr[QUEUES];
    uint32_t number[QUEUES], key[QUEUES];
};

static void make_queue(struct xrc *x, int i, hca_xrcd xrcd)
{
    struct hca_host *h = &x->w->host[1];
    const uint32_t all = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |
                         HCA_ACCESS_REMOTE_ATOMIC;
    struct hca_srq_info info;
    assert_int_equal(hca_pd_alloc(h->hca, &x->pd[i]), FABRIC_OK);
    assert_int_equal(hca_cq_create(h->hca, 16, 0, &x->cq[i]), FABRIC_OK);
    assert_int_equal(hca_srq_create_xrc(h->hca, x->pd[i], xrcd, x->cq[i], 8, 1, 0, &x->srq[i]),
                     FABRIC_OK);
    assert_int_equal(hca_mr_register(h->hca, x->pd[i], h->memory, HCA_WORLD_MEMORY, HCA_WORLD_IOVA,
                                     all, 0, &x->mr[i], &x->key[i]),
                     FABRIC_OK);
    hca_srq_query(h->hca, x->srq[i], &info);
    x->number[i] = info.number;
}

static struct xrc make(void)
{
    struct hca_world_init init = {.seed = 1};
    struct xrc x = {.w = hca_world_create(&init)};
    struct hca_host *h = &x.w->host[1];
    assert_int_equal(hca_xrcd_alloc(h->hca, &x.xrcd), FABRIC_OK);
    for (int i = 0; i < QUEUES; i++)
        make_queue(&x, i, x.xrcd);
    const struct hca_qp_init target = {.type = HCA_QP_XRC_TGT, .xrcd = x.xrcd};
    assert_int_equal(hca_qp_create(h->hca, &target, &x.target), FABRIC_OK);
    x.initiator = hca_world_qp(x.w, 0, HCA_QP_XRC_INI);
    struct hca_qp_attr a = hca_world_attr(x.w, 0, 1), b = hca_world_attr(x.w, 1, 0);
    a.dest_qp_num = hca_world_number(x.w, 1, x.target);
    b.dest_qp_num = hca_world_number(x.w, 0, x.initiator);
    assert_int_equal(hca_world_bring_up(x.w, 0, x.initiator, HCA_QP_XRC_INI, &a), FABRIC_OK);
    assert_int_equal(hca_world_bring_up(x.w, 1, x.target, HCA_QP_XRC_TGT, &b), FABRIC_OK);
    return x;
}

static void receive(struct xrc *x, int queue, uint32_t offset, uint64_t wr_id)
{
    struct hca_sge sge = {HCA_WORLD_IOVA + offset, 20000, x->key[queue]};
    const struct hca_recv_wr wr = {.wr_id = wr_id, .sges = &sge, .sge_count = 1};
    assert_int_equal(hca_srq_post_recv(x->w->host[1].hca, x->srq[queue], &wr), FABRIC_OK);
}

/* To the queue of that number, from and to that offset. */
static void post(struct xrc *x, uint32_t number, enum hca_wr_opcode opcode, uint32_t offset,
                 uint32_t length, uint32_t rkey)
{
    struct hca_sge sge = hca_world_sge(x->w, 0, offset, length);
    struct hca_send_wr wr = hca_world_wr(opcode, &sge);
    wr.dest_qp = number;
    wr.remote_addr = HCA_WORLD_IOVA + offset;
    wr.rkey = rkey;
    assert_int_equal(hca_post_send(x->w->host[0].hca, x->initiator, &wr), FABRIC_OK);
}

static int status_of(struct xrc *x, uint32_t number, enum hca_wr_opcode opcode, uint32_t length,
                     uint32_t rkey)
{
    size_t before = x->w->host[0].wc_count;
    post(x, number, opcode, 0, length, rkey);
    return hca_world_wait(x->w, 0, before + 1, SECOND) ? x->w->host[0].wcs[before].status : -1;
}

static void a_request_takes_a_receive_of_the_queue_that_it_names(void **state)
{
    (void)state;
    struct xrc x = make();
    struct hca_wc wc;
    const struct hca_notify nobody = {0}; /* who would poll */
    hca_set_notify(x.w->host[1].hca, &nobody);
    hca_world_fill(x.w, 0, 0, 40000, 3);
    receive(&x, 0, 0, 100);
    receive(&x, 1, 20000, 200);
    post(&x, x.number[1], HCA_WR_SEND, 20000, 20000, 0);
    post(&x, x.number[0], HCA_WR_SEND, 0, 20000, 0);
    assert_true(hca_world_wait(x.w, 0, 2, SECOND));
    for (int i = 0; i < QUEUES; i++) {
        assert_int_equal(x.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
        assert_int_equal(hca_cq_poll(x.w->host[1].hca, x.cq[i], &wc, 1), 1);
        assert_int_equal(wc.wr_id, 100 * (i + 1));
        assert_int_equal(wc.qp_num, hca_world_number(x.w, 1, x.target));
    }
    assert_true(hca_world_same(x.w, 0, 0, 1, 0, 40000));
    hca_world_destroy(x.w);
}

static void a_queue_of_another_domain_is_refused(void **state)
{
    (void)state;
    struct xrc x = make(), other = {.w = x.w};
    assert_int_equal(hca_xrcd_alloc(x.w->host[1].hca, &other.xrcd), FABRIC_OK);
    make_queue(&other, 0, other.xrcd);
    receive(&other, 0, 0, 1);
    assert_int_equal(status_of(&x, other.number[0], HCA_WR_SEND, 8, 0), FABRIC_WC_REM_INV_REQ_ERR);
    assert_int_equal(hca_world_qp_state(x.w, 1, x.target), FABRIC_QPS_ERR);
    hca_world_destroy(x.w);
}

static void a_queue_that_was_destroyed_is_refused(void **state)
{
    (void)state;
    struct xrc x = make();
    assert_int_equal(hca_srq_destroy(x.w->host[1].hca, x.srq[1]), FABRIC_OK);
    assert_int_equal(status_of(&x, x.number[1], HCA_WR_SEND, 8, 0), FABRIC_WC_REM_INV_REQ_ERR);
    hca_world_destroy(x.w);
}

/* Annex A14: the domain of the receive queue, not one of the target, which has none. */
static void keys_are_judged_by_the_domain_of_the_queue(void **state)
{
    (void)state;
    struct xrc x = make();
    for (int i = 0; i < QUEUES; i++) {
        assert_int_equal(status_of(&x, x.number[i], HCA_WR_RDMA_WRITE, 9000, x.key[i]),
                         FABRIC_WC_SUCCESS);
        assert_int_equal(status_of(&x, x.number[i], HCA_WR_RDMA_READ, 9000, x.key[i]),
                         FABRIC_WC_SUCCESS);
        assert_int_equal(status_of(&x, x.number[i], HCA_WR_ATOMIC_FETCH_AND_ADD, 8, x.key[i]),
                         FABRIC_WC_SUCCESS);
    }
    assert_int_equal(status_of(&x, x.number[0], HCA_WR_RDMA_WRITE, 8, x.key[1]),
                     FABRIC_WC_REM_ACCESS_ERR);
    hca_world_destroy(x.w);
}

static void loss_changes_nothing_but_time(void **state)
{
    (void)state;
    struct xrc x = make();
    hca_world_loss(x.w, 0, 20000);
    hca_world_loss(x.w, 1, 20000);
    hca_world_fill(x.w, 0, 0, 400000, 9);
    for (uint32_t i = 0; i < 8; i++) {
        receive(&x, i % 2, i * 20000, i);
        post(&x, x.number[i % 2], HCA_WR_SEND, i * 20000, 20000, 0);
    }
    for (uint32_t i = 8; i < 20; i++)
        post(&x, x.number[i % 2], HCA_WR_RDMA_WRITE, i * 20000, 20000, x.key[i % 2]);
    assert_true(hca_world_wait(x.w, 0, 20, 60 * SECOND));
    for (int i = 0; i < 20; i++)
        assert_int_equal(x.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(x.w, 0, 0, 1, 0, 400000));
    hca_world_destroy(x.w);
}

static void a_domain_stays_while_something_is_in_it(void **state)
{
    (void)state;
    struct xrc x = make();
    struct hca *hca = x.w->host[1].hca;
    hca_qp_destroy(hca, x.target);
    assert_int_equal(hca_xrcd_dealloc(hca, x.xrcd), ERR_INVALID_ARGUMENT);
    assert_int_equal(hca_cq_destroy(hca, x.cq[0]), ERR_INVALID_ARGUMENT);
    for (int i = 0; i < QUEUES; i++) {
        assert_int_equal(hca_srq_destroy(hca, x.srq[i]), FABRIC_OK);
        assert_int_equal(hca_cq_destroy(hca, x.cq[i]), FABRIC_OK);
    }
    assert_int_equal(hca_xrcd_dealloc(hca, x.xrcd), FABRIC_OK);
    hca_world_destroy(x.w);
}

static void a_target_only_receives_and_an_initiator_only_sends(void **state)
{
    (void)state;
    struct xrc x = make();
    struct hca_sge sge = hca_world_sge(x.w, 1, 0, 8);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_SEND, &sge);
    assert_int_equal(hca_post_send(x.w->host[1].hca, x.target, &wr), ERR_INVALID_ARGUMENT);
    assert_int_equal(hca_world_recv(x.w, 0, x.initiator, 0, 8, 1), ERR_INVALID_ARGUMENT);
    struct hca_host *h = &x.w->host[1];
    struct hca_qp_init init = {
        .type = HCA_QP_XRC_INI, .pd = h->pd, .send_cq = h->cq, .srq = x.srq[0], .max_send_wr = 1};
    hca_qp qp;
    assert_int_equal(hca_qp_create(h->hca, &init, &qp), ERR_INVALID_ARGUMENT);
    hca_world_destroy(x.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_takes_a_receive_of_the_queue_that_it_names),
        cmocka_unit_test(a_queue_of_another_domain_is_refused),
        cmocka_unit_test(a_queue_that_was_destroyed_is_refused),
        cmocka_unit_test(keys_are_judged_by_the_domain_of_the_queue),
        cmocka_unit_test(loss_changes_nothing_but_time),
        cmocka_unit_test(a_domain_stays_while_something_is_in_it),
        cmocka_unit_test(a_target_only_receives_and_an_initiator_only_sends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
