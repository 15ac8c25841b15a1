/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

static void a_write_lands_and_completes(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 1023, 1024, 1025, 2049, 2u << 20};
    struct hca_pair p = hca_pair_connected(NULL);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        hca_world_fill(p.w, 0, 64, lengths[i], (uint8_t)i);
        assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 64, lengths[i], i),
                         FABRIC_OK);
        assert_true(hca_world_wait(p.w, 0, i + 1, SECOND));
        assert_int_equal(p.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
        assert_int_equal(p.w->host[0].wcs[i].wr_id, i);
        assert_true(hca_world_same(p.w, 0, 64, 1, 64, lengths[i]));
    }
    assert_int_equal(p.w->host[1].wc_count, 0);
    hca_world_destroy(p.w);
}

static void a_read_fetches(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 1024, 1025, 100000};
    struct hca_pair p = hca_pair_connected(NULL);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        hca_world_fill(p.w, 1, 0, lengths[i], (uint8_t)(i + 9));
        assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, lengths[i], i),
                         FABRIC_OK);
        assert_true(hca_world_wait(p.w, 0, i + 1, SECOND));
        assert_int_equal(p.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
        assert_int_equal(p.w->host[0].wcs[i].byte_len, lengths[i]);
        assert_true(hca_world_same(p.w, 0, 0, 1, 0, lengths[i]));
    }
    hca_world_destroy(p.w);
}

static void a_send_meets_its_receive(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    hca_world_fill(p.w, 0, 0, 5000, 3);
    assert_int_equal(hca_world_recv(p.w, 1, p.qp[1], 8192, 6000, 77), FABRIC_OK);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_SEND_WITH_IMM, 0, 5000, 78), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(p.w->host[1].wc_count, 1);
    const struct hca_wc *wc = &p.w->host[1].wcs[0];
    assert_int_equal(wc->status, FABRIC_WC_SUCCESS);
    assert_int_equal(wc->wr_id, 77);
    assert_int_equal(wc->byte_len, 5000);
    assert_true(wc->with_imm);
    assert_int_equal(wc->imm, 0x1234);
    assert_true(hca_world_same(p.w, 0, 0, 1, 8192, 5000));
    hca_world_destroy(p.w);
}

static void it_works_over_ethernet(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected("rxe");
    hca_world_fill(p.w, 0, 0, 50000, 3);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 50000, 0), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 50000));
    hca_world_destroy(p.w);
}

static void loss_is_repaired(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    hca_world_loss(p.w, 0, 30000);
    hca_world_loss(p.w, 1, 30000);
    for (uint32_t i = 0; i < 60; i++) {
        static const enum hca_wr_opcode ops[] = {HCA_WR_RDMA_WRITE, HCA_WR_RDMA_READ,
                                                 HCA_WR_RDMA_WRITE};
        hca_world_fill(p.w, (int)(i % 3 == 1), i * 16384, 12345, (uint8_t)i);
        assert_int_equal(hca_world_send(p.w, 0, p.qp[0], ops[i % 3], i * 16384, 12345, i),
                         FABRIC_OK);
    }
    assert_true(hca_world_wait(p.w, 0, 60, 10 * SECOND));
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(p.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
        assert_int_equal(p.w->host[0].wcs[i].wr_id, i);
        assert_true(hca_world_same(p.w, 0, i * 16384, 1, i * 16384, 12345));
    }
    hca_world_destroy(p.w);
}

static void completions_come_in_order_and_unsignaled_ones_do_not(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_sge sge = hca_world_sge(p.w, 0, 0, 100);
    for (uint32_t i = 0; i < 10; i++) {
        struct hca_send_wr wr = hca_world_wr(i % 2 ? HCA_WR_RDMA_READ : HCA_WR_RDMA_WRITE, &sge);
        wr.wr_id = i;
        wr.remote_addr = HCA_WORLD_IOVA;
        wr.rkey = p.w->host[1].key;
        wr.flags = i % 3 == 0 ? HCA_SEND_SIGNALED : 0;
        assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    }
    assert_true(hca_world_wait(p.w, 0, 4, SECOND));
    hca_world_run(p.w, SECOND);
    assert_int_equal(p.w->host[0].wc_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(p.w->host[0].wcs[i].wr_id, 3 * i);
    hca_world_destroy(p.w);
}

/* With a fence the SEND leaves only when the READ before it is done, so its bytes are the new. */
static void a_fence_waits_for_reads(void **state)
{
    (void)state;
    for (int fence = 0; fence < 2; fence++) {
        struct hca_pair p = hca_pair_connected(NULL);
        uint64_t stamps[2] = {0, 0};
        hca_world_recv(p.w, 1, p.qp[1], 3u << 20, 4096, 5);
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 2u << 20, 1);
        struct hca_sge sge = hca_world_sge(p.w, 0, 0, 64);
        struct hca_send_wr wr = hca_world_wr(HCA_WR_SEND, &sge);
        wr.flags |= fence ? HCA_SEND_FENCE : 0;
        assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
        assert_true(hca_world_wait(p.w, 0, 2, SECOND));
        stamps[0] = p.w->host[0].wcs[0].time; /* READ done */
        stamps[1] = p.w->host[1].wcs[0].time; /* SEND arrived */
        assert_int_equal(stamps[1] > stamps[0], fence);
        hca_world_destroy(p.w);
    }
}

static void a_wrong_local_key_fails_alone_and_after_what_was_before(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_sge sge = hca_world_sge(p.w, 0, 0, 100000);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
    wr.remote_addr = HCA_WORLD_IOVA;
    wr.rkey = p.w->host[1].key;
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    sge.lkey ^= 0x55;
    wr.wr_id = 1;
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    wr.wr_id = 2;
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 3, SECOND));
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    assert_int_equal(p.w->host[0].wcs[1].status, FABRIC_WC_LOC_PROT_ERR);
    assert_int_equal(p.w->host[0].wcs[2].status, FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(hca_world_qp_state(p.w, 0, p.qp[0]), FABRIC_QPS_ERR);
    hca_world_destroy(p.w);
}

static void several_entries_and_inline_data_arrive_as_one_message(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    hca_world_fill(p.w, 0, 0, 9000, 1);
    struct hca_sge sges[3] = {hca_world_sge(p.w, 0, 0, 1000), hca_world_sge(p.w, 0, 1000, 0),
                              hca_world_sge(p.w, 0, 1000, 3000)};
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, sges);
    wr.sge_count = 3;
    wr.remote_addr = HCA_WORLD_IOVA + 20000;
    wr.rkey = p.w->host[1].key;
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_true(hca_world_same(p.w, 0, 0, 1, 20000, 4000));

    char text[16] = "fifteen letters";
    struct hca_sge sge = {(uint64_t)(uintptr_t)text, sizeof(text), 0};
    wr.sges = &sge;
    wr.sge_count = 1;
    wr.flags |= HCA_SEND_INLINE;
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    memset(text, 0, sizeof(text));
    assert_true(hca_world_wait(p.w, 0, 2, SECOND));
    assert_string_equal((char *)p.w->host[1].memory + 20000, "fifteen letters");
    hca_world_destroy(p.w);
}

/* SQD (vol. 1, chapter 10.3.1.5): what began is finished, nothing new begins, the end is told. */
static void sqd_drains(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_SQD, .en_sqd_async_notify = true};
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 100000, 1);
    hca_world_run(p.w, 2000);
    assert_int_equal(
        hca_qp_modify(p.w->host[0].hca, p.qp[0], &attr, HCA_QP_STATE | HCA_QP_EN_SQD_ASYNC_NOTIFY),
        FABRIC_OK);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 100, 2);
    assert_int_equal(hca_world_events(p.w, 0, FABRIC_ASYNC_SQ_DRAINED), 0);
    hca_world_run(p.w, SECOND);
    assert_int_equal(p.w->host[0].wc_count, 1);
    assert_int_equal(hca_world_events(p.w, 0, FABRIC_ASYNC_SQ_DRAINED), 1);
    attr.state = FABRIC_QPS_RTS;
    assert_int_equal(hca_qp_modify(p.w->host[0].hca, p.qp[0], &attr, HCA_QP_STATE), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 2, SECOND));
    assert_int_equal(p.w->host[0].wcs[1].status, FABRIC_WC_SUCCESS);
    hca_world_destroy(p.w);
}

static void duplicated_and_reordered_packets_do_no_harm(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct hca_pair p = hca_pair_make(NULL, 0, seed);
        hca_pair_connect(&p);
        for (int host = 0; host < 2; host++) {
            struct net_port *port = net_node_port(p.w->host[host].node, 1);
            net_link_set_duplicate(port, 50000);
            net_link_set_reorder(port, 50000);
            net_link_set_loss(port, 10000);
        }
        uint64_t *counter = (uint64_t *)(void *)(p.w->host[1].memory + (3u << 20));
        for (uint32_t i = 0; i < 40; i++) {
            hca_world_fill(p.w, 0, i * 8192, 8000, (uint8_t)i);
            hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, i * 8192, 8000, i);
            struct hca_sge sge = hca_world_sge(p.w, 0, 3u << 20, 8);
            struct hca_send_wr wr = hca_world_wr(HCA_WR_ATOMIC_FETCH_AND_ADD, &sge);
            wr.remote_addr = HCA_WORLD_IOVA + (3u << 20);
            wr.rkey = p.w->host[1].key;
            wr.compare_add = 1;
            assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
        }
        assert_true(hca_world_wait(p.w, 0, 80, 100 * SECOND));
        assert_int_equal(p.w->host[0].wcs[79].status, FABRIC_WC_SUCCESS);
        assert_int_equal(*counter, 40);
        for (uint32_t i = 0; i < 40; i++)
            assert_true(hca_world_same(p.w, 0, i * 8192, 1, i * 8192, 8000));
        hca_world_destroy(p.w);
    }
}

/* A late packet of a write that was given up carries the bytes of then, not of now. */
static void a_late_write_lands_with_the_old_bytes(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    net_link_set_delay(net_node_port(p.w->host[0].node, 1), 10 * MS, 0);
    memset(p.w->host[0].memory, 0xaa, 512);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 512, 1);
    hca_world_run(p.w, MS);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_ERR};
    assert_int_equal(hca_qp_modify(p.w->host[0].hca, p.qp[0], &attr, HCA_QP_STATE), FABRIC_OK);
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_WR_FLUSH_ERR);
    memset(p.w->host[0].memory, 0xbb, 512);
    hca_world_run(p.w, SECOND);
    for (int i = 0; i < 512; i++)
        assert_true(p.w->host[1].memory[i] == 0xaa);
    hca_world_destroy(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_lands_and_completes),
        cmocka_unit_test(a_read_fetches),
        cmocka_unit_test(a_send_meets_its_receive),
        cmocka_unit_test(it_works_over_ethernet),
        cmocka_unit_test(loss_is_repaired),
        cmocka_unit_test(completions_come_in_order_and_unsignaled_ones_do_not),
        cmocka_unit_test(a_fence_waits_for_reads),
        cmocka_unit_test(a_wrong_local_key_fails_alone_and_after_what_was_before),
        cmocka_unit_test(several_entries_and_inline_data_arrive_as_one_message),
        cmocka_unit_test(sqd_drains),
        cmocka_unit_test(duplicated_and_reordered_packets_do_no_harm),
        cmocka_unit_test(a_late_write_lands_with_the_old_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
