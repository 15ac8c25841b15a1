/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

static struct hca_pair connected(void)
{
    struct hca_world_init init = {.seed = 1};
    struct hca_pair p = {.w = hca_world_create(&init)};
    struct hca_qp_attr attr[2] = {hca_world_attr(p.w, 0, 1), hca_world_attr(p.w, 1, 0)};
    for (int i = 0; i < 2; i++)
        p.qp[i] = hca_world_qp(p.w, i, HCA_QP_UC);
    for (int i = 0; i < 2; i++) {
        attr[i].dest_qp_num = hca_world_number(p.w, 1 - i, p.qp[1 - i]);
        assert_int_equal(hca_world_bring_up(p.w, i, p.qp[i], HCA_QP_UC, &attr[i]), FABRIC_OK);
    }
    return p;
}

static struct hca_wc last_wc(const struct hca_pair *p, int host)
{
    const struct hca_host *h = &p->w->host[host];
    assert_true(h->wc_count > 0);
    return h->wcs[h->wc_count - 1];
}

static void a_message_arrives_and_is_complete_without_an_answer(void **state)
{
    (void)state;
    struct hca_pair p = connected();
    const struct hca_wc *wc = p.w->host[1].wcs;
    hca_world_fill(p.w, 0, 0, 100000, 3);
    hca_world_recv(p.w, 1, p.qp[1], 0, 100000, 7);
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND_WITH_IMM, 100000, SECOND), FABRIC_WC_SUCCESS);
    assert_true(hca_world_wait(p.w, 1, 1, SECOND));
    assert_int_equal(wc->status, FABRIC_WC_SUCCESS);
    assert_int_equal(wc->wr_id, 7);
    assert_int_equal(wc->byte_len, 100000);
    assert_int_equal(wc->imm, 0x1234);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 100000));
    hca_world_destroy(p.w);
}

static void writes_land_and_with_immediate_data_take_a_receive(void **state)
{
    (void)state;
    struct hca_pair p = connected();
    hca_world_fill(p.w, 0, 0, 50000, 9);
    hca_world_recv(p.w, 1, p.qp[1], 60000, 8, 5);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 50000, SECOND), FABRIC_WC_SUCCESS);
    hca_world_run(p.w, MS);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 50000));
    assert_int_equal(p.w->host[1].wc_count, 0);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE_WITH_IMM, 0, 50000, 1);
    assert_true(hca_world_wait(p.w, 1, 1, SECOND));
    assert_int_equal(last_wc(&p, 1).opcode, HCA_WC_RECV_RDMA_WITH_IMM);
    assert_int_equal(last_wc(&p, 1).byte_len, 50000);
    hca_world_destroy(p.w);
}

static void reads_and_atomics_are_not_for_it(void **state)
{
    (void)state;
    struct hca_pair p = connected();
    static const enum hca_wr_opcode ops[] = {HCA_WR_RDMA_READ, HCA_WR_ATOMIC_CMP_AND_SWP,
                                             HCA_WR_ATOMIC_FETCH_AND_ADD};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(hca_world_send(p.w, 0, p.qp[0], ops[i], 0, 8, 1), ERR_INVALID_ARGUMENT);
    hca_world_destroy(p.w);
}

/* Some messages lose packets; each that completes is whole, and the receives come in order. */
static void a_message_with_a_lost_packet_is_dropped_whole_and_its_receive_serves_the_next(void **s)
{
    (void)s;
    struct hca_pair p = connected();
    const uint32_t size = 40000, count = 40;
    for (uint32_t i = 0; i < count; i++)
        hca_world_recv(p.w, 1, p.qp[1], 2000000 + i * size, size, i);
    hca_world_loss(p.w, 0, 30000);
    for (uint32_t i = 0; i < count; i++) {
        hca_world_fill(p.w, 0, i * size, size, (uint8_t)(i + 1));
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_SEND, i * size, size, i);
    }
    assert_true(hca_world_wait(p.w, 0, count, SECOND));
    hca_world_run(p.w, MS);
    size_t came = p.w->host[1].wc_count;
    assert_in_range(came, 5, count - 5);
    for (uint32_t i = 0, sent = 0; i < came; i++) {
        assert_int_equal(p.w->host[1].wcs[i].wr_id, i);
        assert_int_equal(p.w->host[1].wcs[i].byte_len, size);
        while (sent < count && !hca_world_same(p.w, 0, sent * size, 1, 2000000 + i * size, size))
            sent++;
        assert_in_range(sent, i, count - 1);
    }
    hca_world_loss(p.w, 0, 0);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_SEND, 0, size, 99);
    assert_true(hca_world_wait(p.w, 1, came + 1, SECOND));
    assert_int_equal(last_wc(&p, 1).wr_id, came);
    hca_world_destroy(p.w);
}

static void what_may_not_be_written_is_dropped_in_silence(void **state)
{
    (void)state;
    struct hca_pair p = connected();
    struct hca_sge sge = hca_world_sge(p.w, 0, 0, 9000);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
    wr.remote_addr = HCA_WORLD_IOVA;
    wr.rkey = p.w->host[1].key ^ 1;
    hca_world_fill(p.w, 0, 0, 9000, 4);
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    hca_world_run(p.w, MS);
    assert_int_equal(last_wc(&p, 0).status, FABRIC_WC_SUCCESS);
    assert_false(hca_world_same(p.w, 0, 0, 1, 0, 9000));
    assert_int_equal(hca_world_qp_state(p.w, 1, p.qp[1]), FABRIC_QPS_RTS);
    assert_int_equal(hca_world_events(p.w, 1, FABRIC_ASYNC_QP_ACCESS_ERR), 0);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 9000, SECOND), FABRIC_WC_SUCCESS);
    hca_world_run(p.w, MS);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 9000));
    hca_world_destroy(p.w);
}

static void a_key_taken_back_in_the_middle_stops_the_bytes(void **state)
{
    (void)state;
    struct hca_pair p = connected();
    struct hca_host *h = &p.w->host[1];
    const uint32_t size = 2000000;
    hca_world_fill(p.w, 0, 0, size, 6);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, size, 1);
    while (h->memory[0] == 0) /* until the first packets are there */
        hca_world_run(p.w, 1000);
    assert_int_equal(hca_mr_deregister(h->hca, h->mr), FABRIC_OK);
    h->memory[size - 1] = 0;
    hca_world_run(p.w, SECOND);
    assert_int_equal(h->memory[size - 1], 0);
    assert_int_equal(hca_world_qp_state(p.w, 1, p.qp[1]), FABRIC_QPS_RTS);
    hca_world_destroy(p.w);
}

static void a_message_without_a_receive_or_too_long_for_it_is_dropped(void **state)
{
    (void)state;
    struct hca_pair p = connected();
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 5000, SECOND), FABRIC_WC_SUCCESS);
    hca_world_run(p.w, MS);
    hca_world_recv(p.w, 1, p.qp[1], 0, 4500, 1);
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 5000, SECOND), FABRIC_WC_SUCCESS);
    hca_world_run(p.w, MS);
    assert_int_equal(p.w->host[1].wc_count, 0);
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 4500, SECOND), FABRIC_WC_SUCCESS);
    assert_true(hca_world_wait(p.w, 1, 1, SECOND));
    assert_int_equal(last_wc(&p, 1).byte_len, 4500);
    hca_world_destroy(p.w);
}

static void a_local_error_stops_the_send_queue_only(void **state)
{
    (void)state;
    struct hca_pair p = connected();
    struct hca_sge sge = {HCA_WORLD_IOVA, 64, p.w->host[0].key ^ 1};
    struct hca_send_wr wr = hca_world_wr(HCA_WR_SEND, &sge);
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(last_wc(&p, 0).status, FABRIC_WC_LOC_PROT_ERR);
    assert_int_equal(hca_world_qp_state(p.w, 0, p.qp[0]), FABRIC_QPS_SQE);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_RTS};
    assert_int_equal(hca_qp_modify(p.w->host[0].hca, p.qp[0], &attr, HCA_QP_STATE), FABRIC_OK);
    hca_world_recv(p.w, 1, p.qp[1], 0, 64, 1);
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 64, SECOND), FABRIC_WC_SUCCESS);
    assert_true(hca_world_wait(p.w, 1, 1, SECOND));
    hca_world_destroy(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_arrives_and_is_complete_without_an_answer),
        cmocka_unit_test(writes_land_and_with_immediate_data_take_a_receive),
        cmocka_unit_test(reads_and_atomics_are_not_for_it),
        cmocka_unit_test(
            a_message_with_a_lost_packet_is_dropped_whole_and_its_receive_serves_the_next),
        cmocka_unit_test(what_may_not_be_written_is_dropped_in_silence),
        cmocka_unit_test(a_key_taken_back_in_the_middle_stops_the_bytes),
        cmocka_unit_test(a_message_without_a_receive_or_too_long_for_it_is_dropped),
        cmocka_unit_test(a_local_error_stops_the_send_queue_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
