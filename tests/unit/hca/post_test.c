/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

static void a_refused_post_leaves_no_trace(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca *hca = p.w->host[0].hca;
    struct hca_sge sges[5];
    for (int i = 0; i < 5; i++)
        sges[i] = hca_world_sge(p.w, 0, 0, 64);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, sges);
    wr.sge_count = 5;
    assert_int_equal(hca_post_send(hca, p.qp[0], &wr), ERR_INVALID_ARGUMENT);
    wr.sge_count = 2;
    wr.flags |= HCA_SEND_INLINE; /* 128 bytes of 64 */
    assert_int_equal(hca_post_send(hca, p.qp[0], &wr), ERR_INVALID_ARGUMENT);
    wr.sge_count = 1;
    wr.opcode = HCA_WR_RDMA_READ;
    assert_int_equal(hca_post_send(hca, p.qp[0], &wr), ERR_INVALID_ARGUMENT);
    wr.flags = 0;
    wr.opcode = HCA_WR_ATOMIC_FETCH_AND_ADD; /* not 8 bytes */
    assert_int_equal(hca_post_send(hca, p.qp[0], &wr), ERR_INVALID_ARGUMENT);
    struct hca_recv_wr recv = {.sges = sges, .sge_count = 5};
    assert_int_equal(hca_post_recv(hca, p.qp[0], &recv), ERR_INVALID_ARGUMENT);
    hca_world_run(p.w, SECOND);
    struct hca_qp_info info;
    assert_int_equal(hca_qp_query(hca, p.qp[0], &info), FABRIC_OK);
    assert_int_equal(info.sq_outstanding, 0);
    assert_int_equal(p.w->host[0].wc_count, 0);
    hca_world_destroy(p.w);
}

static void posting_follows_the_state(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    hca_qp qp = hca_world_qp(p.w, 0, HCA_QP_RC);
    assert_int_equal(hca_world_recv(p.w, 0, qp, 0, 64, 1), ERR_INVALID_ARGUMENT);
    assert_int_equal(hca_world_init_qp(p.w, 0, qp, &p.a), FABRIC_OK);
    assert_int_equal(hca_world_recv(p.w, 0, qp, 0, 64, 1), FABRIC_OK);
    assert_int_equal(hca_world_send(p.w, 0, qp, HCA_WR_SEND, 0, 64, 1), ERR_INVALID_ARGUMENT);
    hca_world_destroy(p.w);
}

/* A post holds its place until its completion, or a later one, was polled. */
static void a_full_queue_refuses_until_completions_were_polled(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *h = &p.w->host[0];
    hca_set_notify(h->hca, NULL);
    struct hca_sge sge = hca_world_sge(p.w, 0, 0, 64);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
    wr.remote_addr = HCA_WORLD_IOVA;
    wr.rkey = p.w->host[1].key;
    for (int i = 0; i < 256; i++) {
        wr.flags = i == 100 ? HCA_SEND_SIGNALED : 0;
        assert_int_equal(hca_post_send(h->hca, p.qp[0], &wr), FABRIC_OK);
    }
    assert_int_equal(hca_post_send(h->hca, p.qp[0], &wr), ERR_QUEUE_FULL);
    hca_world_run(p.w, SECOND);
    assert_int_equal(hca_post_send(h->hca, p.qp[0], &wr), ERR_QUEUE_FULL);
    struct hca_wc wc;
    assert_int_equal(hca_cq_poll(h->hca, h->cq, &wc, 1), 1);
    for (int i = 0; i < 101; i++)
        assert_int_equal(hca_post_send(h->hca, p.qp[0], &wr), FABRIC_OK);
    assert_int_equal(hca_post_send(h->hca, p.qp[0], &wr), ERR_QUEUE_FULL);
    hca_world_destroy(p.w);
}

static void a_full_receive_queue_refuses(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *h = &p.w->host[0];
    for (int i = 0; i < 256; i++)
        assert_int_equal(hca_world_recv(p.w, 0, p.qp[0], 0, 64, 1), FABRIC_OK);
    assert_int_equal(hca_world_recv(p.w, 0, p.qp[0], 0, 64, 1), ERR_QUEUE_FULL);
    hca_srq srq;
    assert_int_equal(hca_srq_create(h->hca, h->pd, 1, 1, 0, &srq), FABRIC_OK);
    struct hca_sge sge = hca_world_sge(p.w, 0, 0, 64);
    struct hca_recv_wr recv = {.sges = &sge, .sge_count = 1};
    assert_int_equal(hca_srq_post_recv(h->hca, srq, &recv), FABRIC_OK);
    assert_int_equal(hca_srq_post_recv(h->hca, srq, &recv), ERR_QUEUE_FULL);
    assert_int_equal(hca_srq_set_limit(h->hca, srq, 2), ERR_INVALID_ARGUMENT);
    hca_srq bad;
    assert_int_equal(hca_srq_create(h->hca, h->pd, 0, 1, 0, &bad), ERR_INVALID_ARGUMENT);
    hca_world_destroy(p.w);
}

static void a_read_without_initiator_depth_is_refused(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    p.a.max_rd_atomic = 0;
    hca_pair_connect(&p);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 64, 1),
                     ERR_INVALID_ARGUMENT);
    hca_world_destroy(p.w);
}

static void address_handles_are_checked(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    struct hca_host *h = &p.w->host[0];
    hca_ah ah;
    struct fabric_av av = p.a.av;
    av.port_num = 2;
    assert_int_equal(hca_ah_create(h->hca, h->pd, &av, &ah), ERR_INVALID_ARGUMENT);
    av = p.a.av;
    hca_world_port(p.w, 0)->grh_required = 1;
    assert_int_equal(hca_ah_create(h->hca, h->pd, &av, &ah), ERR_GRH_UNAVAILABLE);
    av.is_global = true;
    assert_int_equal(hca_ah_create(h->hca, h->pd, &av, &ah), FABRIC_OK);
    av.grh.sgid_index = 9; /* empty */
    assert_int_equal(hca_ah_create(h->hca, h->pd, &av, &ah), ERR_INVALID_ARGUMENT);
    hca_world_destroy(p.w);
}

/* Its PSNs must stay within half of the PSN space (chapter 9.7.1), whichever way the data goes. */
static void a_message_of_too_many_packets_is_refused(void **state)
{
    (void)state;
    static const enum hca_wr_opcode ops[] = {HCA_WR_RDMA_READ, HCA_WR_RDMA_WRITE, HCA_WR_SEND};
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    p.a.path_mtu = p.b.path_mtu = FABRIC_MTU_256;
    hca_pair_connect(&p);
    for (size_t i = 0; i < 3; i++) {
        struct hca_sge sge = hca_world_sge(p.w, 0, 0, 64);
        sge.length = 1u << 31;
        struct hca_send_wr wr = hca_world_wr(ops[i], &sge);
        assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), ERR_INVALID_ARGUMENT);
    }
    hca_world_destroy(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_post_leaves_no_trace),
        cmocka_unit_test(posting_follows_the_state),
        cmocka_unit_test(a_full_queue_refuses_until_completions_were_polled),
        cmocka_unit_test(a_full_receive_queue_refuses),
        cmocka_unit_test(a_read_without_initiator_depth_is_refused),
        cmocka_unit_test(address_handles_are_checked),
        cmocka_unit_test(a_message_of_too_many_packets_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
