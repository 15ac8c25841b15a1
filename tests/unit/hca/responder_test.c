/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

/* Posts one request with a remote address and key of the caller's choice; its status. */
static int remote(struct hca_pair *p, enum hca_wr_opcode opcode, uint64_t addr, uint32_t rkey,
                  uint32_t length)
{
    size_t before = p->w->host[0].wc_count;
    struct hca_sge sge = hca_world_sge(p->w, 0, 0, length);
    struct hca_send_wr wr = hca_world_wr(opcode, &sge);
    wr.remote_addr = addr;
    wr.rkey = rkey;
    assert_int_equal(hca_post_send(p->w->host[0].hca, p->qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(p->w, 0, before + 1, 100 * SECOND));
    return p->w->host[0].wcs[before].status;
}

static void outside_the_region_or_with_a_wrong_key_is_an_access_error(void **state)
{
    (void)state;
    const uint64_t end = HCA_WORLD_IOVA + HCA_WORLD_MEMORY;
    static const enum hca_wr_opcode ops[] = {HCA_WR_RDMA_WRITE, HCA_WR_RDMA_READ};
    for (size_t op = 0; op < 2; op++)
        for (int i = 0; i < 4; i++) {
            struct hca_pair p = hca_pair_connected(NULL);
            uint32_t key = p.w->host[1].key;
            const struct {
                uint64_t addr;
                uint32_t key;
            } wrong[] = {
                {end - 63, key}, {HCA_WORLD_IOVA - 1, key}, {HCA_WORLD_IOVA, key ^ 1}, {0, key}};
            assert_int_equal(remote(&p, ops[op], end - 64, key, 64), FABRIC_WC_SUCCESS);
            assert_int_equal(remote(&p, ops[op], wrong[i].addr, wrong[i].key, 64),
                             FABRIC_WC_REM_ACCESS_ERR);
            assert_int_equal(hca_world_events(p.w, 1, FABRIC_ASYNC_QP_ACCESS_ERR), 1);
            assert_int_equal(hca_world_qp_state(p.w, 1, p.qp[1]), FABRIC_QPS_ERR);
            assert_int_equal(hca_world_qp_state(p.w, 0, p.qp[0]), FABRIC_QPS_ERR);
            hca_world_destroy(p.w);
        }
}

static void an_empty_write_needs_no_key(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    assert_int_equal(remote(&p, HCA_WR_RDMA_WRITE, 0, 0, 0), FABRIC_WC_SUCCESS);
    hca_world_destroy(p.w);
}

static void rights_of_the_queue_pair_count_too(void **state)
{
    (void)state;
    static const struct {
        enum hca_wr_opcode opcode;
        uint32_t access;
    } cases[] = {{HCA_WR_RDMA_WRITE, HCA_ACCESS_REMOTE_WRITE},
                 {HCA_WR_RDMA_READ, HCA_ACCESS_REMOTE_READ},
                 {HCA_WR_ATOMIC_FETCH_AND_ADD, HCA_ACCESS_REMOTE_ATOMIC}};
    for (size_t i = 0; i < 3; i++)
        for (int allowed = 0; allowed < 2; allowed++) {
            struct hca_pair p = hca_pair_make(NULL, 0, 1);
            p.b.access = allowed ? cases[i].access : p.b.access & ~cases[i].access;
            hca_pair_connect(&p);
            assert_int_equal(remote(&p, cases[i].opcode, HCA_WORLD_IOVA, p.w->host[1].key, 8),
                             allowed ? FABRIC_WC_SUCCESS : FABRIC_WC_REM_ACCESS_ERR);
            hca_world_destroy(p.w);
        }
}

static void rights_of_the_region_count(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hca_pair p = hca_pair_connected(NULL);
        struct hca_host *peer = &p.w->host[1];
        hca_mr mr;
        uint32_t key;
        assert_int_equal(hca_mr_register(peer->hca, peer->pd, peer->memory, 4096, 0,
                                         i ? HCA_ACCESS_LOCAL_WRITE : HCA_ACCESS_REMOTE_READ, 0,
                                         &mr, &key),
                         FABRIC_OK);
        assert_int_equal(remote(&p, i ? HCA_WR_RDMA_READ : HCA_WR_RDMA_WRITE, 0, key, 64),
                         FABRIC_WC_REM_ACCESS_ERR);
        hca_world_destroy(p.w);
    }
}

static void a_key_of_another_protection_domain_is_no_key(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *peer = &p.w->host[1];
    hca_pd other;
    hca_mr mr;
    uint32_t key;
    assert_int_equal(hca_pd_alloc(peer->hca, &other), FABRIC_OK);
    assert_int_equal(hca_mr_register(peer->hca, other, peer->memory, 4096, 0,
                                     HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE, 0, &mr,
                                     &key),
                     FABRIC_OK);
    assert_int_equal(remote(&p, HCA_WR_RDMA_WRITE, 0, key, 64), FABRIC_WC_REM_ACCESS_ERR);
    hca_world_destroy(p.w);
}

static void a_message_longer_than_its_receive_is_an_invalid_request(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    hca_world_recv(p.w, 1, p.qp[1], 0, 1500, 5);
    hca_world_recv(p.w, 1, p.qp[1], 0, 1500, 6);
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 1501, SECOND), FABRIC_WC_REM_INV_REQ_ERR);
    assert_int_equal(p.w->host[1].wcs[0].wr_id, 5);
    assert_int_equal(p.w->host[1].wcs[0].status, FABRIC_WC_LOC_LEN_ERR);
    assert_int_equal(p.w->host[1].wcs[1].wr_id, 6);
    assert_int_equal(p.w->host[1].wcs[1].status, FABRIC_WC_WR_FLUSH_ERR);
    hca_world_destroy(p.w);
}

static void a_receive_with_a_wrong_key_is_a_remote_operation_error(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_sge sge = hca_world_sge(p.w, 1, 0, 100);
    struct hca_recv_wr wr = {.wr_id = 5, .sges = &sge, .sge_count = 1};
    sge.lkey ^= 3;
    assert_int_equal(hca_post_recv(p.w->host[1].hca, p.qp[1], &wr), FABRIC_OK);
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 50, SECOND), FABRIC_WC_REM_OP_ERR);
    assert_int_equal(p.w->host[1].wcs[0].status, FABRIC_WC_LOC_PROT_ERR);
    hca_world_destroy(p.w);
}

static void a_write_with_immediate_consumes_a_receive(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 700, 5000};
    for (size_t i = 0; i < 3; i++) {
        struct hca_pair p = hca_pair_connected(NULL);
        hca_world_fill(p.w, 0, 0, lengths[i], 9);
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE_WITH_IMM, 0, lengths[i], 1);
        hca_world_run(p.w, MS / 4); /* meets no receive */
        assert_int_equal(p.w->host[1].wc_count, 0);
        hca_world_recv(p.w, 1, p.qp[1], 1u << 20, 0, 44);
        assert_true(hca_world_wait(p.w, 0, 1, SECOND));
        assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
        const struct hca_wc *wc = &p.w->host[1].wcs[0];
        assert_int_equal(wc->opcode, HCA_WC_RECV_RDMA_WITH_IMM);
        assert_int_equal(wc->byte_len, lengths[i]);
        assert_int_equal(wc->imm, 0x1234);
        assert_int_equal(wc->wr_id, 44);
        assert_true(hca_world_same(p.w, 0, 0, 1, 0, lengths[i]));
        hca_world_destroy(p.w);
    }
}

static void one_acknowledgement_may_stand_for_many(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    uint64_t before = hca_world_port(p.w, 1)->counters.xmit_packets;
    for (uint32_t i = 0; i < 50; i++)
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 4096, i);
    assert_true(hca_world_wait(p.w, 0, 50, SECOND));
    assert_true(hca_world_port(p.w, 1)->counters.xmit_packets - before <= 50);
    hca_world_destroy(p.w);
}

static void the_first_packet_in_rtr_is_told(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    p.qp[0] = hca_world_qp(p.w, 0, HCA_QP_RC);
    p.qp[1] = hca_world_qp(p.w, 1, HCA_QP_RC);
    p.a.dest_qp_num = hca_world_number(p.w, 1, p.qp[1]);
    p.b.dest_qp_num = hca_world_number(p.w, 0, p.qp[0]);
    assert_int_equal(hca_world_bring_up(p.w, 0, p.qp[0], HCA_QP_RC, &p.a), FABRIC_OK);
    p.b.state = FABRIC_QPS_INIT;
    struct hca *hca = p.w->host[1].hca;
    assert_int_equal(
        hca_qp_modify(hca, p.qp[1], &p.b,
                      hca_qp_required_mask(HCA_QP_RC, FABRIC_QPS_RESET, FABRIC_QPS_INIT)),
        FABRIC_OK);
    p.b.state = FABRIC_QPS_RTR;
    assert_int_equal(
        hca_qp_modify(hca, p.qp[1], &p.b,
                      hca_qp_required_mask(HCA_QP_RC, FABRIC_QPS_INIT, FABRIC_QPS_RTR)),
        FABRIC_OK);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 100, SECOND), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 100, SECOND), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_world_events(p.w, 1, FABRIC_ASYNC_COMM_EST), 1);
    hca_world_destroy(p.w);
}

/* Posting order of sends, then receives; the failed one first (chapter 10.3.1.7). */
static void after_an_error_everything_is_flushed_in_order(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    for (uint32_t i = 0; i < 3; i++)
        hca_world_recv(p.w, 0, p.qp[0], 0, 64, 100 + i);
    for (uint32_t i = 0; i < 3; i++) {
        struct hca_sge sge = hca_world_sge(p.w, 0, 0, 64);
        struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
        wr.wr_id = i;
        wr.flags = 0;
        wr.remote_addr = HCA_WORLD_IOVA;
        wr.rkey = p.w->host[1].key + (i == 0);
        assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    }
    assert_true(hca_world_wait(p.w, 0, 6, SECOND));
    static const uint64_t ids[] = {0, 1, 2, 100, 101, 102};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(p.w->host[0].wcs[i].wr_id, ids[i]);
        assert_int_equal(p.w->host[0].wcs[i].status,
                         i ? FABRIC_WC_WR_FLUSH_ERR : FABRIC_WC_REM_ACCESS_ERR);
        assert_int_equal(p.w->host[0].wcs[i].is_send, i < 3);
    }
    assert_int_equal(hca_world_recv(p.w, 0, p.qp[0], 0, 64, 103), FABRIC_OK);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_SEND, 0, 64, 3), FABRIC_OK);
    assert_int_equal(p.w->host[0].wc_count, 8);
    hca_world_destroy(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_the_region_or_with_a_wrong_key_is_an_access_error),
        cmocka_unit_test(an_empty_write_needs_no_key),
        cmocka_unit_test(rights_of_the_queue_pair_count_too),
        cmocka_unit_test(rights_of_the_region_count),
        cmocka_unit_test(a_key_of_another_protection_domain_is_no_key),
        cmocka_unit_test(a_message_longer_than_its_receive_is_an_invalid_request),
        cmocka_unit_test(a_receive_with_a_wrong_key_is_a_remote_operation_error),
        cmocka_unit_test(a_write_with_immediate_consumes_a_receive),
        cmocka_unit_test(one_acknowledgement_may_stand_for_many),
        cmocka_unit_test(the_first_packet_in_rtr_is_told),
        cmocka_unit_test(after_an_error_everything_is_flushed_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
